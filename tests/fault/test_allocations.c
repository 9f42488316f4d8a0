/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The k-th allocation fails, for k = 0, 1, 2, ... until the call succeeds: after every failure the status says so, the
 * context has a message, all memory is back, and the context still works. On the host, and on the device where there is
 * one.
 */
#include <unistd.h>

#include "support/heap.h"
#include "support/solve.h"

enum { N = 64, MOST_ALLOCATIONS = 2000 };

/* What every scenario starts from, made without failures. */
typedef struct scene {
    tess_context *ctx;
    oracle_csr a, unsymmetric;
    tess_matrix *m, *other; /* of a and of unsymmetric */
    tess_vector *b, *x;
    double values[N];
    char path[64];
} scene;

/* A call under test. It undoes what it did when it succeeds. */
typedef tess_status (*scenario)(scene *s);

static tess_status keep_or_destroy_matrix(tess_status status, tess_matrix **made)
{
    assert_true((status == TESS_SUCCESS) == (*made != NULL));
    tess_matrix_destroy(*made);
    return status;
}

static tess_status create_csr(scene *s)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_csr(s->ctx, &arrays, &made), &made);
}

/* Rows in descending order of columns, so that sorting is needed. */
static tess_status create_unsorted_csr(scene *s)
{
    static const int32_t row_ptr[] = {0, 3, 5}, col_ind[] = {2, 1, 1, 2, 0};
    static const double val[] = {1.0, 2.0, 3.0, 4.0, 5.0};
    tess_csr_arrays arrays = {2, 3, 5, row_ptr, col_ind, val, 32, 32, TESS_MEMORY_HOST, TESS_COPY};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_csr(s->ctx, &arrays, &made), &made);
}

static tess_status create_coo(scene *s)
{
    static const int64_t row[] = {1, 0, 1, 1}, col[] = {2, 1, 0, 2};
    static const double val[] = {1.0, 2.0, 3.0, 4.0};
    tess_coo_arrays arrays = {2, 3, 4, row, col, val, 64, TESS_MEMORY_HOST};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_coo(s->ctx, &arrays, &made), &made);
}

static tess_status convert_to(scene *s, tess_format format)
{
    const tess_storage_options narrow = {.format = format, .precision = TESS_PRECISION_FP32};
    tess_matrix *fresh = NULL, *made = NULL;
    tess_csr_arrays arrays = csr_arrays_of(&s->a);
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = keep_or_destroy_matrix(tess_matrix_convert(fresh, &narrow, &made), &made); }
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status convert(scene *s)
{
    return convert_to(s, TESS_FORMAT_CSR);
}

static tess_status convert_to_slices(scene *s)
{
    return convert_to(s, TESS_FORMAT_SELL);
}

static tess_status assign_precisions(scene *s)
{
    tess_policy_options options;
    tess_assignment *made = NULL;
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&options);
    options.policy = TESS_POLICY_MEAN_RANGE;
    options.level[1] = (tess_level){TESS_PRECISION_FP16, 1};
    options.without_diagonal = 1;
    status = tess_assignment_create(s->m, &options, &made);
    assert_true((status == TESS_SUCCESS) == (made != NULL));
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(made, s->m); }
    tess_assignment_destroy(made);
    return status;
}

/* Parts of two levels, the room of products, new values, and the values back. */
static tess_status split_matrix(scene *s, tess_storage_options options)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL, *made = NULL;
    double *val = test_allocate(s->unsymmetric.nnz, sizeof *val);
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.arithmetic = TESS_ARITHMETIC_FP32;
    options.max_padding = 100.0;
    options.policy.policy = TESS_POLICY_FIXED_RANGE;
    options.policy.parameter = 2.0;
    options.policy.share = 50.0;
    options.policy.without_diagonal = 1;
    if (status == TESS_SUCCESS) {
        status = tess_matrix_convert(fresh, &options, &made);
        assert_true((status == TESS_SUCCESS) == (made != NULL));
    }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(made, TESS_OP_NONE, 1.5, s->b, 0.5, s->x); }
    if (status == TESS_SUCCESS) { status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_matrix_get_csr(made, NULL, NULL, val); }
    tess_matrix_destroy(made);
    tess_matrix_destroy(fresh);
    free(val);
    return status;
}

static tess_status convert_to_split(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .row_order = TESS_ROW_ORDER_SYMMETRIC});
}

static tess_status convert_to_split_entries(scene *s)
{
    return split_matrix(
        s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .policy = {.granularity = TESS_GRANULARITY_ENTRY}});
}

static tess_status convert_to_split_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .base = TESS_FORMAT_ELLR});
}

static tess_status convert_to_composite(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_COMPOSITE});
}

static tess_status convert_to_composite_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_COMPOSITE, .base = TESS_FORMAT_ELLR});
}

/* A matrix of its own, since products keep plans and transposes with the matrix. */
static tess_status product(scene *s, tess_operation operation)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(fresh, operation, 1.5, s->b, 0.5, s->x); }
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status plain_product(scene *s)
{
    return product(s, TESS_OP_NONE);
}

static tess_status transposed_product(scene *s)
{
    return product(s, TESS_OP_TRANSPOSE);
}

static tess_status vector_operations(scene *s)
{
    tess_vector *v = NULL, *narrow = NULL;
    double value = 0.0;
    tess_status status = tess_vector_create(s->ctx, 20000, TESS_PRECISION_FP64, &v);

    if (status == TESS_SUCCESS) { status = tess_vector_add_shadow(v, TESS_PRECISION_FP32); }
    if (status == TESS_SUCCESS) { status = tess_vector_dot(v, v, TESS_ARITHMETIC_FP64, &value); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, N, TESS_PRECISION_FP32, &narrow); }
    if (status == TESS_SUCCESS) { status = tess_vector_set_random(narrow, 1, 0.0, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(narrow, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_vector_set(narrow, s->values, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(narrow, s->values, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    tess_vector_destroy(v);
    tess_vector_destroy(narrow);
    return status;
}

static tess_status precond(scene *s, tess_precond_kind kind)
{
    const tess_precond_options options = {kind, 5};
    tess_precond *made = NULL;
    tess_status status = tess_precond_create(s->m, &options, &made);

    assert_true((status == TESS_SUCCESS) == (made != NULL));
    if (status == TESS_SUCCESS) { status = tess_precond_apply(made, s->b, s->x); }
    tess_precond_destroy(made);
    return status;
}

static tess_status jacobi(scene *s)
{
    return precond(s, TESS_PRECOND_JACOBI);
}

static tess_status block_jacobi(scene *s)
{
    return precond(s, TESS_PRECOND_BLOCK_JACOBI);
}

static tess_status solve(scene *s, tess_solver_kind kind, tess_precision precision, tess_precond_kind preconditioner)
{
    tess_solve_options options = solve_options(kind);
    tess_matrix *fresh = NULL;
    tess_csr_arrays arrays = csr_arrays_of(kind == TESS_SOLVER_CG ? &s->a : &s->unsymmetric);
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.storage.precision = precision;
    options.precond.kind = preconditioner;
    options.history_capacity = 100;
    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, &options, &solver); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 0.0); }
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
    if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status solve_cg(scene *s)
{
    return solve(s, TESS_SOLVER_CG, TESS_PRECISION_FP64, TESS_PRECOND_NONE);
}

static tess_status solve_cg_fp32(scene *s)
{
    return solve(s, TESS_SOLVER_CG, TESS_PRECISION_FP32, TESS_PRECOND_BLOCK_JACOBI);
}

static tess_status solve_bicgstab(scene *s)
{
    return solve(s, TESS_SOLVER_BICGSTAB, TESS_PRECISION_FP64, TESS_PRECOND_JACOBI);
}

static tess_status solve_auto(scene *s)
{
    return solve(s, TESS_SOLVER_AUTO, TESS_PRECISION_FP64, TESS_PRECOND_BLOCK_JACOBI);
}

static tess_status solve_transformed(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.reorder = TESS_REORDERING_RCM;
    options.history_capacity = 100;
    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, &options, &solver); }
    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) { /* and once more with values that are new */
        status = tess_vector_fill(s->x, 0.0);
        if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
        if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
        if (status == TESS_SUCCESS) { status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_MEMORY_HOST); }
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status solve_by_steps(scene *s, tess_format format)
{
    tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.storage.format = format;
    options.storage.policy.policy = TESS_POLICY_FIXED_RANGE;
    options.storage.policy.parameter = 100.0; /* all of it is low */
    options.max_iterations = 20000;
    options.history_capacity = 100;
    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, &options, &solver); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 0.0); }
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
    if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status solve_jacobi(scene *s)
{
    return solve_by_steps(s, TESS_FORMAT_COMPOSITE);
}

static tess_status solve_jacobi_split(scene *s)
{
    return solve_by_steps(s, TESS_FORMAT_SPLIT);
}

static tess_status make_time_steps(scene *s)
{
    tess_timestep *ts = NULL;
    tess_timestep_result result;
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_timestep_create(fresh, NULL, &ts); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_timestep_run(ts, s->x, 5, NULL, NULL, 2, &result); }
    if (status == TESS_SUCCESS) { assert_int_equal(result.count, 5); }
    tess_timestep_destroy(ts);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status verify(scene *s)
{
    double norm = 0.0, bound = 0.0;

    return tess_verify_residual(s->m, s->b, s->x, NULL, &norm, &bound);
}

static tess_status analyze(scene *s)
{
    tess_matrix_analysis facts;

    return tess_matrix_analyze(s->other, &facts);
}

static int apply_identity(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    (void)y; /* arrays of the device: what is in y stays */
    return 0;
}

static tess_status shell_product(scene *s)
{
    const tess_shell_operator shell = {apply_identity, NULL, NULL};
    tess_matrix *made = NULL;
    tess_status status = tess_matrix_create_shell(s->ctx, N, N, &shell, &made);

    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(made, TESS_OP_NONE, 2.0, s->b, 1.0, s->x); }
    tess_matrix_destroy(made);
    return status;
}

static tess_status write_and_read(scene *s)
{
    tess_matrix *made = NULL;
    tess_status status = tess_matrix_write(s->m, s->path, 1);

    if (status == TESS_SUCCESS) {
        status = keep_or_destroy_matrix(tess_matrix_read(s->ctx, s->path, &made, NULL), &made);
    }
    return status;
}

static tess_status cache_and_read(scene *s)
{
    tess_matrix *made = NULL;
    tess_status status = tess_matrix_write_cache(s->other, s->path);

    if (status == TESS_SUCCESS) {
        status = keep_or_destroy_matrix(tess_matrix_read(s->ctx, s->path, &made, NULL), &made);
    }
    return status;
}

static tess_status write_and_read_vector(scene *s)
{
    tess_vector *made = NULL;
    tess_status status = tess_vector_write(s->b, s->path);

    if (status == TESS_SUCCESS) {
        status = tess_vector_read(s->ctx, s->path, &made);
        assert_true((status == TESS_SUCCESS) == (made != NULL));
    }
    tess_vector_destroy(made);
    return status;
}

static tess_status gallery(scene *s)
{
    static const char *const size[] = {"6"};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_gallery_create(s->ctx, "laplace3d", 1, size, &made), &made);
}

typedef struct named_scenario {
    const char *name;
    scenario run;
} named_scenario;

static const named_scenario scenarios[] = {
    {"create_csr", create_csr},
    {"create_unsorted_csr", create_unsorted_csr},
    {"create_coo", create_coo},
    {"convert", convert},
    {"convert to slices", convert_to_slices},
    {"convert to split", convert_to_split},
    {"convert to split entries", convert_to_split_entries},
    {"convert to split slices", convert_to_split_slices},
    {"convert to composite", convert_to_composite},
    {"convert to composite slices", convert_to_composite_slices},
    {"assign precisions", assign_precisions},
    {"plain_product", plain_product},
    {"transposed_product", transposed_product},
    {"vector_operations", vector_operations},
    {"jacobi", jacobi},
    {"block_jacobi", block_jacobi},
    {"solve_cg", solve_cg},
    {"solve_cg_fp32", solve_cg_fp32},
    {"solve_bicgstab", solve_bicgstab},
    {"solve_auto", solve_auto},
    {"solve_transformed", solve_transformed},
    {"solve_jacobi", solve_jacobi},
    {"solve_jacobi_split", solve_jacobi_split},
    {"make_time_steps", make_time_steps},
    {"verify", verify},
    {"analyze", analyze},
    {"shell_product", shell_product},
    {"write_and_read", write_and_read},
    {"cache_and_read", cache_and_read},
    {"write_and_read_vector", write_and_read_vector},
    {"gallery", gallery},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static scene open_scene(tess_context *ctx)
{
    scene s = {.ctx = ctx, .a = oracle_laplace2d(8), .unsymmetric = oracle_convection2d(8, 1.0)};
    int file = -1;

    for (int i = 0; i < N; i++) {
        s.values[i] = 1.0 + i % 5;
    }
    s.m = make_matrix(ctx, &s.a);
    s.other = make_matrix(ctx, &s.unsymmetric);
    s.b = make_vector(ctx, N, s.values);
    s.x = make_zeros(ctx, N);
    snprintf(s.path, sizeof s.path, "/tmp/tessera-fault-XXXXXX");
    file = mkstemp(s.path);
    assert_true(file >= 0);
    close(file);
    return s;
}

static void close_scene(scene *s)
{
    unlink(s->path);
    tess_vector_destroy(s->b);
    tess_vector_destroy(s->x);
    tess_matrix_destroy(s->m);
    tess_matrix_destroy(s->other);
    oracle_free(&s->a);
    oracle_free(&s->unsymmetric);
}

/* The context does what it did before. */
static void assert_usable(scene *s)
{
    double dot = 0.0;

    assert_ok(s->ctx, tess_matrix_spmv(s->m, TESS_OP_NONE, 1.0, s->b, 0.0, s->x));
    assert_ok(s->ctx, tess_vector_dot(s->b, s->x, TESS_ARITHMETIC_FP64, &dot));
    assert_true(dot > 0.0);
}

/*
 * Fails call after call of `failing`. What the context keeps between calls (room for partial sums) may grow while the
 * scenario runs, so that memory is compared with a context that has been through it once.
 */
static int64_t run_scenario(const named_scenario *test, scene *s, heap *failing, heap *host, tess_status expected)
{
    int64_t live = 0, bytes = 0, device_live = 0, k = 0;
    tess_status status = TESS_INTERNAL;

    for (k = 0; k < MOST_ALLOCATIONS; k++) {
        live = host->live;
        bytes = host->live_bytes;
        device_live = failing->live;
        heap_fail_at(failing, k);
        status = test->run(s);
        failing->fail_at = -1;
        if (status == TESS_SUCCESS && failing->calls <= k) { break; }
        if (status != TESS_SUCCESS) {
            const tess_error *error = tess_context_last_error(s->ctx);

            if (status != expected) {
                fail_msg("%s, allocation %lld: %s: %s", test->name, (long long)k, tess_status_string(status),
                         error->message);
            }
            assert_int_equal(error->status, expected);
            assert_true(error->message[0] != '\0');
        }
        if (host->live > live + 1 || failing->live > device_live + 1) { /* one room may have grown */
            fail_msg("%s, allocation %lld: %lld allocations of %lld bytes are lost", test->name, (long long)k,
                     (long long)(host->live - live), (long long)(host->live_bytes - bytes));
        }
        assert_int_equal(host->wrong_releases, 0);
        assert_int_equal(failing->wrong_releases, 0);
        assert_usable(s);
    }
    assert_true(k < MOST_ALLOCATIONS);
    live = host->live;
    device_live = failing->live;
    assert_ok(s->ctx, test->run(s)); /* once more: nothing may be left behind now */
    assert_int_equal(host->live, live);
    assert_int_equal(failing->live, device_live);
    assert_usable(s);
    return k;
}

/* Each failed attempt, one after the other on one context, must not lose memory in sum either. */
static void fail_each(tess_context *ctx, heap *failing, heap *host, tess_status expected, bool must_allocate)
{
    scene s = open_scene(ctx);

    assert_usable(&s);
    for (int t = 0; t < SCENARIOS; t++) {
        int64_t before = host->live + (failing != host ? failing->live : 0);
        int64_t count = run_scenario(&scenarios[t], &s, failing, host, expected);
        int64_t after = host->live + (failing != host ? failing->live : 0);

        if (after > before + 2) {
            fail_msg("%s: %lld allocations are lost", scenarios[t].name, (long long)(after - before));
        }
        if (must_allocate && count == 0 && scenarios[t].run != verify && scenarios[t].run != analyze) {
            fail_msg("%s: allocates nothing through the context", scenarios[t].name);
        }
    }
    close_scene(&s);
}

static void host_allocations(void **state)
{
    heap host = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        tess_context_options_init(&options);
        options.device = TESS_DEVICE_CPU;
        options.threads = threads;
        options.host_allocator = heap_allocator(&host);
        assert_ok(NULL, tess_context_create(&options, &ctx));
        fail_each(ctx, &host, &host, TESS_OUT_OF_MEMORY, true);
        tess_context_destroy(ctx);
        assert_int_equal(host.live, 0);
        assert_int_equal(host.live_bytes, 0);
        assert_int_equal(host.wrong_releases, 0);
    }
}

/* Device memory that a test can fail comes from vectors of a second context. */
typedef struct loan {
    struct loan *next;
    tess_vector *vector;
    void *pointer;
} loan;

typedef struct lender {
    tess_context *ctx;
    loan *loans;
} lender;

static void *lend(void *user, size_t bytes)
{
    lender *l = user;
    tess_vector *v = NULL;
    loan *note = NULL;

    if (tess_vector_create(l->ctx, (int64_t)(bytes + 7) / 8, TESS_PRECISION_FP64, &v) != TESS_SUCCESS) { return NULL; }
    assert_ok(l->ctx, tess_context_synchronize(l->ctx)); /* before another stream uses it */
    note = test_allocate(1, sizeof *note);
    *note = (loan){l->loans, v, tess_vector_data(v)};
    l->loans = note;
    return note->pointer;
}

static void take_back(void *user, void *pointer, size_t bytes)
{
    lender *l = user;

    (void)bytes;
    for (loan **place = &l->loans; *place; place = &(*place)->next) {
        loan *note = *place;

        if (note->pointer == pointer) {
            *place = note->next;
            tess_vector_destroy(note->vector);
            free(note);
            return;
        }
    }
    fail_msg("device memory was released that was not lent");
}

static void device_allocations(void **state)
{
    lender l = {open_gpu(), NULL};
    heap host = {.fail_at = -1}, device = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    if (!l.ctx) {
        print_message("SKIPPED: device allocations need a GPU\n");
        skip();
    }
    device.beneath = (tess_allocator){lend, take_back, &l};
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    options.host_allocator = heap_allocator(&host);
    options.device_allocator = heap_allocator(&device);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    fail_each(ctx, &device, &host, TESS_OUT_OF_DEVICE_MEMORY, false);
    fail_each(ctx, &host, &host, TESS_OUT_OF_MEMORY, true);
    tess_context_destroy(ctx);
    assert_int_equal(host.live, 0);
    assert_int_equal(device.live, 0);
    assert_int_equal(device.live_bytes, 0);
    assert_null(l.loans);
    tess_context_destroy(l.ctx);
}

/* Creating a context on the device with the k-th device allocation failing: an error, never the CPU in silence. */
static void device_context_creation(void **state)
{
    lender l = {open_gpu(), NULL};
    heap device = {.fail_at = -1};
    tess_context_options options;
    tess_status status = TESS_INTERNAL;

    (void)state;
    if (!l.ctx) {
        print_message("SKIPPED: device allocations need a GPU\n");
        skip();
    }
    device.beneath = (tess_allocator){lend, take_back, &l};
    for (int64_t k = 0; status != TESS_SUCCESS; k++) {
        tess_context *ctx = NULL;

        tess_context_options_init(&options);
        options.device = k % 2 ? TESS_DEVICE_GPU : TESS_DEVICE_AUTO;
        options.device_allocator = heap_allocator(&device);
        heap_fail_at(&device, k / 2);
        status = tess_context_create(&options, &ctx);
        if (device.calls > k / 2) {
            assert_int_equal(status, TESS_OUT_OF_DEVICE_MEMORY);
            assert_null(ctx);
        }
        tess_context_destroy(ctx);
        assert_int_equal(device.live, 0);
    }
    tess_context_destroy(l.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_allocations),
        cmocka_unit_test(device_allocations),
        cmocka_unit_test(device_context_creation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
