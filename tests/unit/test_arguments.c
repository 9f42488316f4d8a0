/* SPDX-License-Identifier: Apache-2.0 */
/* Every public function with wrong arguments: a status and a message, never a crash. The calls are in
   tests/support/entry_points.def. Then each option that is an enum, out of range; and objects destroyed in any order.
 */
#include <glob.h>

#include <tessera/automatic.h>
#include <tessera/checkpoint.h>
#include <tessera/dense.h>
#include <tessera/digits.h>
#include <tessera/estimate.h>
#include <tessera/findings.h>
#include <tessera/papers.h>
#include <tessera/sequence.h>
#include <tessera/tessera.h>
#include <tessera/timestep.h>
#include <tessera/verify.h>

#include "support/solve.h"

enum { N = 25, BAD = 4242 };

/* One object of each kind, and arrays that are large enough for all calls. */
static struct {
    tess_context *ctx;
    tess_matrix *a, *split, *composite;
    tess_vector *b, *x;
    tess_solver *solver;
    tess_precond *m;
    tess_assignment *assignment;
    tess_timestep *ts;
    tess_sequence *q;
    double array[8 * N];
    double *values;
    int64_t sizes[2];
    int flag;
    int32_t indices[8 * N];
    double number;
    const char *text, *no_text;
    char word[8];
    tess_csr_arrays csr;
    tess_coo_arrays coo;
    tess_shell_operator shell;
    tess_shell_precond shell_precond;
    tess_dense_view view;
    tess_trsv_options trsv;
    tess_storage_options storage;
    tess_policy_options policy;
    tess_precond_options precond;
    tess_solve_options solve;
    tess_advice advice;
    tess_device device;
    tess_timestep_options steps;
    tess_role_precision role;
    tess_precision_schedule schedule;
    tess_digit_counts digits;
    tess_assignment_summary summary;
    tess_matrix_analysis analysis;
    tess_papers_result papers;
    tess_findings findings;
    tess_verification verified;
    tess_verify_row verified_row;
    tess_precond_factors factors;
    tess_amg_levels hierarchy;
    tess_saddle_parts parts;
    tess_precond_sweeps sweeps;
    tess_solve_result result;
    tess_batch batch; /* of one system */
    tess_batch_result of_batch;
    tess_timestep_result stepped;
    tess_sequence_step stepped_on;
    const tess_attempt *attempts;
    tess_checkpoint checkpoint;
    tess_amg_levels levels;
    tess_solve_estimate estimate;
    uint64_t fingerprint;
    struct {
        tess_vector *vector;
        tess_matrix *matrix;
        tess_precond *precond;
        tess_solver *solver;
        tess_assignment *assignment;
        tess_timestep *ts;
        tess_sequence *q;
    } made; /* stays empty: every call is refused */
} e;

static oracle_csr laplacian;

static tess_matrix *converted(tess_format format)
{
    tess_storage_options o;
    tess_matrix *out = NULL;

    tess_storage_options_init(&o);
    o.format = format;
    o.policy.policy = TESS_POLICY_MEAN_RANGE;
    assert_ok(e.ctx, tess_matrix_convert(e.a, &o, &out));
    return out;
}

static void set_options(void)
{
    tess_storage_options_init(&e.storage);
    tess_policy_options_init(&e.policy);
    tess_precond_options_init(&e.precond);
    tess_solve_options_init(&e.solve);
    tess_timestep_options_init(&e.steps);
    tess_solve_result_init(&e.result);
    tess_timestep_result_init(&e.stepped);
    tess_sequence_step_init(&e.stepped_on);
    tess_papers_result_init(&e.papers);
    tess_findings_init(&e.findings);
    tess_verification_init(&e.verified);
    tess_checkpoint_init(&e.checkpoint);
    tess_solve_estimate_init(&e.estimate);
    tess_batch_init(&e.batch);
    e.batch.systems = 1;
    e.csr = csr_arrays_of(&laplacian);
    e.coo = (tess_coo_arrays){.size = sizeof(tess_coo_arrays), .nrows = N, .ncols = N, .nnz = N, .index_bits = 32};
    e.coo.row_ind = e.coo.col_ind = e.indices;
    e.coo.val = e.array;
    e.text = "5";
    e.view = (tess_dense_view){.nrows = 1, .ncols = 1, .ld = 1, .data = e.array};
}

static int open_all(void **state)
{
    tess_precond_options factors;

    (void)state;
    laplacian = oracle_laplace2d(5);
    e.ctx = open_cpu(1);
    e.a = make_matrix(e.ctx, &laplacian);
    e.b = make_vector(e.ctx, N, e.array);
    e.x = make_zeros(e.ctx, N);
    set_options();
    e.split = converted(TESS_FORMAT_SPLIT);
    e.composite = converted(TESS_FORMAT_COMPOSITE);
    tess_precond_options_init(&factors);
    factors.kind = TESS_PRECOND_ILU0;
    assert_ok(e.ctx, tess_precond_create(e.a, &factors, &e.m));
    assert_ok(e.ctx, tess_assignment_create(e.a, NULL, &e.assignment));
    assert_ok(e.ctx, tess_solver_create(e.a, NULL, &e.solver));
    assert_ok(e.ctx, tess_timestep_create(e.a, NULL, &e.ts));
    assert_ok(e.ctx, tess_sequence_create(e.a, NULL, NULL, &e.q));
    return 0;
}

/* The matrix and the context first: what is made from them keeps them. */
static int close_all(void **state)
{
    (void)state;
    tess_context_destroy(e.ctx);
    tess_matrix_destroy(e.a);
    tess_assignment_destroy(e.assignment);
    tess_matrix_destroy(e.split);
    tess_matrix_destroy(e.composite);
    tess_vector_destroy(e.b);
    tess_vector_destroy(e.x);
    tess_precond_destroy(e.m);
    tess_solver_destroy(e.solver);
    tess_timestep_destroy(e.ts);
    tess_sequence_destroy(e.q);
    oracle_free(&laplacian);
    return 0;
}

/* ---- every function ---- */

enum { ROW_PTR, COL_IND, VAL, WHERE, OWNERSHIP, PRECISION, BITS };

static tess_status with_csr(int wrong)
{
    tess_csr_arrays csr = e.csr;

    if (wrong == ROW_PTR) { csr.row_ptr = NULL; }
    if (wrong == COL_IND) { csr.col_ind = NULL; }
    if (wrong == VAL) { csr.val = NULL; }
    if (wrong == WHERE) { csr.where = (tess_memory)BAD; }
    if (wrong == OWNERSHIP) { csr.ownership = (tess_ownership)BAD; }
    if (wrong == PRECISION) { csr.val_precision = (tess_precision)BAD; }
    if (wrong == BITS) { csr.row_ptr_bits = BAD; }
    return tess_matrix_create_csr(e.ctx, &csr, &e.made.matrix);
}

static tess_status with_coo(int wrong)
{
    tess_coo_arrays coo = e.coo;

    if (wrong == ROW_PTR) { coo.row_ind = NULL; }
    if (wrong == COL_IND) { coo.col_ind = NULL; }
    if (wrong == VAL) { coo.val = NULL; }
    if (wrong == WHERE) { coo.where = (tess_memory)BAD; }
    if (wrong == PRECISION) { coo.val_precision = (tess_precision)BAD; }
    if (wrong == BITS) { coo.index_bits = BAD; }
    return tess_matrix_create_coo(e.ctx, &coo, &e.made.matrix);
}

/* Another error than the expected one, so that an old message is not taken for a new one. */
static void forget_error(void)
{
    tess_vector *none = NULL;

    (void)tess_vector_create(e.ctx, -1, TESS_PRECISION_FP64, &none);
    assert_int_equal(tess_context_last_error(e.ctx)->status, TESS_OUT_OF_RANGE);
}

static void check_told(tess_status status, const char *call)
{
    const tess_error *error = tess_context_last_error(e.ctx);

    if (status != TESS_INVALID_ARGUMENT) { fail_msg("%s returns %s", call, tess_status_name(status)); }
    if (error->status != TESS_INVALID_ARGUMENT || error->message[0] == '\0' || error->hint[0] == '\0') {
        fail_msg("%s leaves no message", call);
    }
    if (e.made.vector || e.made.matrix || e.made.precond || e.made.solver || e.made.assignment || e.made.ts ||
        e.made.q) {
        fail_msg("%s makes an object although it fails", call);
    }
}

#define REFUSED(call) assert_int_equal(call, TESS_INVALID_ARGUMENT);
#define TOLD(call)  \
    forget_error(); \
    check_told(call, #call);
#define GIVES(call, value) assert_int_equal(call, value);
#define CALL(call) (void)(call);
#define ENTRY(name, checks)       \
    static void call_##name(void) \
    {                             \
        checks                    \
    }
#define NAMED(noun)                                                                                  \
    static void call_##noun##_names(void)                                                            \
    {                                                                                                \
        tess_##noun out = (tess_##noun)0;                                                            \
                                                                                                     \
        assert_string_equal(tess_##noun##_name((tess_##noun)BAD), "?");                              \
        assert_int_equal(tess_##noun##_parse(NULL, &out), TESS_INVALID_ARGUMENT);                    \
        assert_int_equal(tess_##noun##_parse("no such name", &out), TESS_INVALID_ARGUMENT);          \
        assert_int_equal(tess_##noun##_parse(tess_##noun##_name(out), NULL), TESS_INVALID_ARGUMENT); \
    }
#include "support/entry_points.def"
#undef ENTRY
#undef NAMED

typedef struct entry_point {
    const char *name;
    void (*check)(void);
} entry_point;

#define ENTRY(name, checks) {#name, call_##name},
#define NAMED(noun) {"tess_" #noun "_name", call_##noun##_names}, {"tess_" #noun "_parse", call_##noun##_names},
static const entry_point entries[] = {
#include "support/entry_points.def"
};
enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

static void null_and_bad_enums_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < ENTRY_COUNT; i++) {
        entries[i].check();
    }
}

/* ---- no function is forgotten ---- */

static bool is_listed(const char *name)
{
    for (int i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].name, name) == 0) { return true; }
    }
    return false;
}

/* The word before the first '(' after TESS_EXPORT. */
static void exported_name(const char *declaration, char name[64])
{
    const char *end = strchr(declaration, '('), *begin = end;

    while (begin > declaration &&
           (begin[-1] == '_' || (begin[-1] >= 'a' && begin[-1] <= 'z') || (begin[-1] >= '0' && begin[-1] <= '9'))) {
        begin--;
    }
    snprintf(name, 64, "%.*s", (int)(end - begin), begin);
}

static int count_exports(const char *path)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "r");
    int count = 0;

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (const char *at = strstr(text, "\nTESS_EXPORT "); at; at = strstr(at + 1, "\nTESS_EXPORT ")) {
        char name[64];

        exported_name(at, name);
        if (!is_listed(name)) { fail_msg("%s exports %s, which tests/support/entry_points.def lacks", path, name); }
        count += 1;
    }
    return count;
}

static void every_export_is_in_the_table(void **state)
{
    glob_t found;
    int count = 0;

    (void)state;
    assert_int_equal(glob(TESS_TEST_DIR "/../include/tessera/*.h", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        count += count_exports(found.gl_pathv[i]);
    }
    globfree(&found);
    assert_int_equal(count, ENTRY_COUNT);
}

/* ---- options ---- */

/* Sets an int of a struct out of range, makes an object, and sets it back. */
#define CHECK_FIELD(field, call)                                      \
    do {                                                              \
        const int before = (int)(field);                              \
                                                                      \
        for (int k = 0; k < 2; k++) {                                 \
            memcpy(&(field), &(int){k == 0 ? BAD : -7}, sizeof(int)); \
            TOLD(call)                                                \
        }                                                             \
        memcpy(&(field), &before, sizeof before);                     \
    } while (0)

static void options_of_solves_have_known_values(void **state)
{
    tess_solve_options *o = &e.solve;
    tess_papers_solve papers;

    (void)state;
    tess_papers_solve_init(&papers);
    o->papers = &papers;
    o->gmres.inner.given = o->gmres.basis.given = o->precond.role.given = 1;
    CHECK_FIELD(o->solver, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->engine, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->guard, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->guard, tess_solver_set_limits(e.solver, o));
    CHECK_FIELD(o->scale, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->reorder, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->cg.recurrence, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->stop_norm, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->gmres.orthogonalization, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->gmres.inner.storage, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->gmres.inner.arithmetic, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->gmres.basis.storage, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.kind, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.role.storage, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.polynomial.form, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.incomplete.triangular, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.incomplete.factorization, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.amg.coarsening, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.amg.precision, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.amg.cycle, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(o->precond.amg.smoother, tess_solver_create(e.a, o, &e.made.solver));
    CHECK_FIELD(papers.narrowing, tess_solver_create(e.a, o, &e.made.solver));
    o->solver = TESS_SOLVER_JACOBI;
    o->precond.kind = TESS_PRECOND_NONE;
    CHECK_FIELD(o->jacobi.schedule.count, tess_solver_create(e.a, o, &e.made.solver));
    o->jacobi.schedule.count = 1;
    CHECK_FIELD(o->jacobi.schedule.entry[0].what, tess_solver_create(e.a, o, &e.made.solver));
    set_options();
}

static void options_of_storage_have_known_values(void **state)
{
    tess_storage_options *o = &e.storage;
    tess_papers_storage papers;

    (void)state;
    tess_papers_storage_init(&papers);
    o->papers = &papers;
    CHECK_FIELD(o->format, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(o->precision, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(o->arithmetic, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(o->split.base, tess_storage_options_check(e.ctx, N, N, o));
    CHECK_FIELD(o->split.low_base, tess_storage_options_check(e.ctx, N, N, o));
    CHECK_FIELD(o->split.row_order, tess_storage_options_check(e.ctx, N, N, o));
    CHECK_FIELD(o->policy.policy, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(o->policy.granularity, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(o->policy.arithmetic, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(papers.kernel, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(papers.layout, tess_matrix_convert(e.a, o, &e.made.matrix));
    CHECK_FIELD(e.policy.policy, tess_assignment_create(e.a, &e.policy, &e.made.assignment));
    CHECK_FIELD(e.policy.nlevels, tess_assignment_create(e.a, &e.policy, &e.made.assignment));
    e.policy.nlevels = 1;
    CHECK_FIELD(e.policy.level[0].precision, tess_assignment_create(e.a, &e.policy, &e.made.assignment));
    CHECK_FIELD(e.steps.engine, tess_timestep_create(e.a, &e.steps, &e.made.ts));
    CHECK_FIELD(e.steps.schedule.count, tess_timestep_create(e.a, &e.steps, &e.made.ts));
    e.steps.storage.format = TESS_FORMAT_AUTO;
    CHECK_FIELD(e.steps.schedule.count, tess_timestep_create(e.a, &e.steps, &e.made.ts));
    set_options();
}

static void options_of_contexts_have_known_values(void **state)
{
    tess_context_options o;
    tess_context *made = NULL;

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_context_options_init(&o);
        if (k == 0) { memcpy(&o.device, &(int){BAD}, sizeof(int)); }
        if (k == 1) { memcpy(&o.log_level, &(int){BAD}, sizeof(int)); }
        if (k == 2) { o.threads = -1; }
        assert_int_equal(tess_context_create(&o, &made), TESS_INVALID_ARGUMENT);
        assert_null(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_export_is_in_the_table), cmocka_unit_test(null_and_bad_enums_are_refused),
        cmocka_unit_test(options_of_solves_have_known_values), cmocka_unit_test(options_of_storage_have_known_values),
        cmocka_unit_test(options_of_contexts_have_known_values)};

    return cmocka_run_group_tests(tests, open_all, close_all);
}
