/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No false convergence on real matrices: the small ones of class spd with CG and of class unsym with BiCGSTAB, at three
 * tolerances, with each claim checked in wide arithmetic; and policy lossless on all small ones. Skipped visibly if the
 * matrices are absent.
 */
#include <tessera/io.h>

#include "support/product.h"
#include "support/solve.h"

enum { LARGEST = 3000, MAX_NONZEROS = 60000, ITERATIONS = 600 };

/* The counts of one pass over the manifest. */
typedef struct tally {
    int matrices, solves, converged;
} tally;

static void check_one(tess_context *ctx, const char *path, tess_solver_kind kind, tess_precond_kind precond, tally *t)
{
    static const double tolerances[] = {1e-5, 1e-8, 1e-10};
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_options options = solve_options(kind);
    oracle_csr a;
    double *b = NULL, *x = NULL;

    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    a = decode_matrix(m);
    b = test_allocate(a.nrows, sizeof *b);
    x = test_allocate(a.nrows, sizeof *x);
    for (int64_t i = 0; i < a.nrows; i++) { /* b = A * ones, as in the papers */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            b[i] += a.val[k];
        }
    }
    options.max_iterations = ITERATIONS;
    options.history_capacity = 0;
    options.precond.kind = precond;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int k = 0; k < 3; k++) {
        tess_solve_result result;

        options.rtol = tolerances[k];
        assert_ok(ctx, tess_solver_set_limits(solver, &options));
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_with(solver, ctx, a.nrows, b, x);
        if (result.reason != TESS_REASON_NAN_OR_INF) { check_honest(&a, b, x, &options, &result); }
        assert_true(result.converged == (result.reason > 0));
        t->solves += 1;
        t->converged += result.converged;
    }
    t->matrices += 1;
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
}

/* One line of the manifest: name, rows, columns, nonzeros, class, tab by tab. */
static bool read_line(FILE *manifest, char *name, size_t size, long *rows, long *nonzeros, char *class_name)
{
    char line[1024], format[64];

    snprintf(format, sizeof format, "%%%zu[^\t]\t%%ld\t%%*d\t%%ld\t%%31[^\t]", size - 1);
    while (fgets(line, sizeof line, manifest)) {
        if (sscanf(line, format, name, rows, nonzeros, class_name) == 4) { return true; }
    }
    return false;
}

/* MANIFEST.tsv, opened, and where it is; skips the test where it is not there. */
static FILE *open_manifest(const char **directory)
{
    char path[512];
    FILE *manifest = NULL;

    *directory = getenv("TESSERA_MATRICES");
    if (!*directory || !(*directory)[0]) { *directory = TESS_MATRICES_DIR; }
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", *directory);
    manifest = (*directory)[0] ? fopen(path, "r") : NULL;
    if (!manifest) {
        print_message("SKIPPED: no real matrices (set TESSERA_MATRICES)\n");
        skip();
    }
    return manifest;
}

static void no_false_convergence(void **state)
{
    const char *directory = NULL;
    char name[128], path[512], class_name[32];
    long rows = 0, nonzeros = 0;
    tally t = {0, 0, 0};
    FILE *manifest = open_manifest(&directory);
    tess_context *ctx = open_cpu(1);

    (void)state;
    while (read_line(manifest, name, sizeof name, &rows, &nonzeros, class_name)) {
        bool spd = strcmp(class_name, "spd") == 0, unsym = strcmp(class_name, "unsym") == 0;

        if ((!spd && !unsym) || rows > LARGEST || nonzeros > MAX_NONZEROS) { continue; }
        snprintf(path, sizeof path, "%s/%s.mtx.gz", directory, name);
        check_one(ctx, path, spd ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, &t);
        check_one(ctx, path, spd ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI, &t);
        check_one(ctx, path, spd ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB, spd ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0,
                  &t);
    }
    fclose(manifest);
    print_message("             %d systems, %d solves, %d converged, none of them falsely\n", t.matrices, t.solves,
                  t.converged);
    assert_true(t.matrices > 10 && t.converged > t.solves / 10);
    tess_context_destroy(ctx);
}

/* ---- policy lossless ---- */

/* The values in tiles are the matrix up to the loss; with loss 0, every bit. Returns whether any value is below FP64.
 */
static bool check_lossless(tess_context *ctx, const char *path, const char *policy)
{
    tess_storage_options o;
    tess_assignment_summary s = {.size = sizeof s};
    tess_assignment *made = NULL;
    tess_matrix *m = NULL, *stored = NULL;
    oracle_csr a, held;
    bool below;

    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_TILES;
    o.policy.granularity = TESS_GRANULARITY_BLOCK;
    assert_int_equal(tess_policy_options_parse(policy, &o.policy), TESS_SUCCESS);
    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    assert_ok(ctx, tess_assignment_create(m, &o.policy, &made));
    assert_ok(ctx, tess_assignment_measure_error(made, m));
    assert_ok(ctx, tess_matrix_convert_assigned(m, &o, made, &stored));
    tess_assignment_get_summary(made, &s);
    assert_at_most(s.largest_relative_error, s.options.parameter);
    a = decode_matrix(m);
    held = decode_matrix(stored);
    assert_int_equal(held.nnz, a.nnz);
    for (int64_t k = 0; k < a.nnz; k++) {
        assert_at_most(fabs(held.val[k] - a.val[k]), s.options.parameter * fabs(a.val[k]));
    }
    if (s.options.parameter == 0.0) { assert_true(same_bits(held.val, a.val, a.nnz)); }
    below = s.nonzeros_at[0] < a.nnz;
    oracle_free(&a);
    oracle_free(&held);
    tess_assignment_destroy(made);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    return below;
}

static void nothing_is_lost_without_loss(void **state)
{
    const char *directory = NULL;
    char name[128], path[512], class_name[32];
    long rows = 0, nonzeros = 0;
    int matrices = 0, low = 0;
    FILE *manifest = open_manifest(&directory);
    tess_context *ctx = open_cpu(2);

    (void)state;
    while (read_line(manifest, name, sizeof name, &rows, &nonzeros, class_name)) {
        if (nonzeros > MAX_NONZEROS || strcmp(class_name, "complex") == 0) { continue; }
        snprintf(path, sizeof path, "%s/%s.mtx.gz", directory, name);
        low += check_lossless(ctx, path, "lossless");
        (void)check_lossless(ctx, path, "lossless:1e-15");
        matrices += 1;
    }
    fclose(manifest);
    print_message("             %d matrices, %d of them partly below FP64\n", matrices, low);
    assert_true(matrices > 10 && low > 0 && low < matrices);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_false_convergence),
                                       cmocka_unit_test(nothing_is_lost_without_loss)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
