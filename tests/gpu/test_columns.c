/* SPDX-License-Identifier: Apache-2.0 */
/* Several columns on a GPU: the methods' common loops against solves of one. */
#include <math.h>
#include <string.h>

#include <tessera/many.h>
#include <tessera/names.h>

#include "base/context.h"
#include "matrix/matrix.h"
#include "solver/block_cg/block_ops.h"
#include "support/product.h"
#include "support/solve.h"

static tess_context *gpu;

/* ---- solves ---- */

enum { SIDE = 9, N = SIDE * SIDE, MOST = 11 };

/* Right-hand sides that take from no iteration to as many as the method needs: column c is the sum of c % 6
   eigenvectors of the Laplacian of the grid; from the sixth column on, random. */
static double *make_sides(int columns)
{
    double *b = random_values((int64_t)N * columns, 9, -1.0, 1.0);

    for (int c = 0; c < columns && c < 6; c++) {
        for (int i = 0; i < N; i++) {
            double sum = 0.0;

            for (int e = 1; e <= c; e++) {
                sum +=
                    sin(acos(-1.0) * e * (i % SIDE + 1) / (SIDE + 1)) * sin(acos(-1.0) * (i / SIDE + 1) / (SIDE + 1));
            }
            b[(int64_t)c * N + i] = sum;
        }
    }
    return b;
}

/* x by columns, from zero. */
static void solve_many(const tess_matrix *m, const tess_solve_options *options, int columns, const double *b, double *x,
                       tess_solve_result *results)
{
    const tess_columns vb = tess_columns_by_column(N, columns, (double *)(uintptr_t)b, TESS_MEMORY_HOST);
    const tess_columns vx = tess_columns_by_column(N, columns, x, TESS_MEMORY_HOST);
    tess_solver *solver = NULL;

    memset(x, 0, (size_t)columns * N * sizeof *x);
    for (int c = 0; c < columns; c++) {
        tess_solve_result_init(&results[c]);
    }
    assert_ok(gpu, tess_solver_create((tess_matrix *)(uintptr_t)m, options, &solver));
    assert_int_equal(tess_solver_columns_together(solver, columns), columns);
    assert_ok(gpu, tess_solver_solve_many(solver, &vb, &vx, results));
    tess_solver_destroy(solver);
}

/* A column as a solve of its own would end; the order of sums differs, so that iterations may. */
static void check_column(const oracle_csr *a, const tess_solve_options *options, const double *b, const double *x,
                         const tess_solve_result *many)
{
    double *alone = test_allocate(N, sizeof *alone);
    tess_solve_result one;

    memset(alone, 0, N * sizeof *alone);
    one = solve_once(gpu, a, options, b, alone);
    assert_int_equal(many->reason, one.reason);
    assert_int_equal(many->converged, one.converged);
    if (many->iterations > one.iterations + 2 || one.iterations > many->iterations + 2 ||
        many->refinements != one.refinements) {
        fail_msg("%lld iterations with %lld refinements beside others, %lld with %lld alone",
                 (long long)many->iterations, (long long)many->refinements, (long long)one.iterations,
                 (long long)one.refinements);
    }
    if (many->converged) { check_honest(a, b, x, options, many); }
    free(alone);
}

/* Plain, recorded and recorded again: the same bits, and each column as it would be alone. */
static void check_many(const oracle_csr *a, tess_solve_options options, int columns, const double *b)
{
    tess_matrix *m = make_matrix(gpu, a);
    double *x = test_allocate((int64_t)columns * N, sizeof *x), *again = test_allocate((int64_t)columns * N, sizeof *x);
    tess_solve_result results[MOST], repeated[MOST];

    options.engine = TESS_ENGINE_PLAIN;
    solve_many(m, &options, columns, b, x, results);
    for (int c = 0; c < columns; c++) {
        check_column(a, &options, b + (int64_t)c * N, x + (int64_t)c * N, &results[c]);
    }
    if (options.solver != TESS_SOLVER_FGMRES) { options.engine = TESS_ENGINE_GRAPH; } /* its iterations differ */
    for (int turn = 0; turn < 2; turn++) {
        solve_many(m, &options, columns, b, again, repeated);
        assert_true(same_bits(x, again, (int64_t)columns * N));
        for (int c = 0; c < columns; c++) {
            assert_int_equal(repeated[c].iterations, results[c].iterations);
            assert_int_equal(repeated[c].reason, results[c].reason);
        }
    }
    free(x);
    free(again);
    tess_matrix_destroy(m);
}

static void cg_solves_columns_of_very_different_length(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = make_sides(MOST);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    options.history_capacity = 50;
    check_many(&a, options, MOST, b);
    options.precond.kind = TESS_PRECOND_JACOBI;
    options.storage.format = TESS_FORMAT_CSR;
    options.storage.precision = TESS_PRECISION_FP32;
    check_many(&a, options, 3, b + 5 * N);
    free(b);
    oracle_free(&a);
}

/* Dot products of every format: one in CG, two in BiCGSTAB. */
static void solves_by_every_format(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_SELL, TESS_FORMAT_ELLR, TESS_FORMAT_DIA};
    enum { FORMATS = (int)(sizeof formats / sizeof *formats) };
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = make_sides(MOST);

    (void)state;
    for (int k = 0; k < 2 * FORMATS + 4; k++) {
        const bool parts = k >= 2 * FORMATS;
        tess_solve_options options = solve_options(k % 2 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);

        options.storage.format = parts ? (k < 2 * FORMATS + 2 ? TESS_FORMAT_SPLIT : TESS_FORMAT_TILES) : formats[k / 2];
        if (!parts) { options.storage.precision = k % 3 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32; }
        if (k >= 2 && !parts) { options.storage.slices.max_padding = 100.0; }
        check_many(&a, options, 3, b + 5 * N);
    }
    free(b);
    oracle_free(&a);
}

/* Cycles V and W; levels in FP16, FP64 and FP32, whose vectors are FP32 or FP64; a coarsest level that is inverted.
   Groups that are not smoothed converge slowly, so that loops of later solves are recorded. */
static void multigrid_of_columns(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = make_sides(MOST);

    (void)state;
    for (int k = TESS_AMG_PRECISION_AUTO; k <= TESS_AMG_PRECISION_FP32; k++) {
        tess_solve_options options = solve_options(k > 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);

        options.rtol = 1e-11;
        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg.precision = (tess_amg_precision)k;
        options.precond.amg.cycle = k % 2 ? TESS_AMG_V : TESS_AMG_W;
        options.precond.amg.coarsening = TESS_AMG_PLAIN;
        options.precond.amg.smoother = k == 2 ? TESS_AMG_BLOCK_JACOBI : TESS_AMG_CHEBYSHEV;
        options.precond.amg.degree = 1;
        options.precond.amg.coarsest = 8;
        check_many(&a, options, k == 0 ? 9 : 2, b + (k == 0 ? 2 : 6) * N);
    }
    free(b);
    oracle_free(&a);
}

static void minres_solves_indefinite_columns(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = make_sides(MOST);
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] -= 0.75; }
        }
    }
    options.precond.kind = TESS_PRECOND_JACOBI;
    check_many(&a, options, 7, b + N);
    free(b);
    oracle_free(&a);
}

static void bicgstab_solves_unsymmetric_columns(void **state)
{
    oracle_csr a = oracle_convection2d(SIDE, 3.0);
    double *b = make_sides(MOST);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);

    (void)state;
    check_many(&a, options, 4, b + 4 * N);
    options.precond.kind = TESS_PRECOND_JACOBI;
    check_many(&a, options, 2, b + 7 * N);
    free(b);
    oracle_free(&a);
}

/* Columns with bases of their own: restarts, both ways to make them orthogonal, a basis of fewer bits than the vectors,
   columns that need no iteration and few. */
static void gmres_restarts_columns_together(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE), skew = oracle_convection2d(SIDE, 3.0);
    double *b = make_sides(MOST);

    (void)state;
    for (int k = 0; k < 4; k++) {
        tess_solve_options options = solve_options(k == 3 ? TESS_SOLVER_FGMRES : TESS_SOLVER_GMRES);

        options.gmres.restart = k == 2 ? 30 : 7;
        options.gmres.orthogonalization = k % 2 ? TESS_ORTHOGONALIZATION_CGS2 : TESS_ORTHOGONALIZATION_CGS2_DELAYED;
        options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
        options.gmres.basis = options.gmres.inner;
        if (k == 1) { options.gmres.basis.storage = TESS_PRECISION_FP32; }
        options.precond.kind = k == 0   ? TESS_PRECOND_NONE
                               : k == 1 ? TESS_PRECOND_JACOBI
                               : k == 2 ? TESS_PRECOND_POLYNOMIAL
                                        : TESS_PRECOND_ILU0;
        check_many(k % 2 ? &skew : &a, options, k == 0 ? 5 : 3, b + (k == 0 ? 0 : 4) * N);
    }
    free(b);
    oracle_free(&a);
    oracle_free(&skew);
}

/* Preconditioners that take one column, in the loop of all: factors, products alone, and levels whose scalars the host
   reads. */
static void one_column_after_another_is_preconditioned(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE), skew = oracle_convection2d(SIDE, 3.0);
    double *b = make_sides(MOST);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);

    (void)state;
    options.precond.kind = TESS_PRECOND_ILU0;
    check_many(&skew, options, 3, b + 4 * N);
    options.solver = TESS_SOLVER_CG;
    options.precond.kind = TESS_PRECOND_POLYNOMIAL;
    check_many(&a, options, 2, b + 5 * N);
    options.solver = TESS_SOLVER_FGMRES;
    options.precond.kind = TESS_PRECOND_AMG;
    options.precond.amg.cycle = TESS_AMG_K;
    options.precond.amg.coarsest = 8;
    check_many(&a, options, 2, b + 6 * N);
    free(b);
    oracle_free(&a);
    oracle_free(&skew);
}

static void a_column_that_is_no_number_leaves_the_others_alone(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    double *b = make_sides(MOST);

    (void)state;
    b[8 * N + 17] = NAN;
    check_many(&a, solve_options(TESS_SOLVER_CG), 4, b + 6 * N);
    free(b);
    oracle_free(&a);
}

/* ---- block CG ---- */

/* q := q f, p := -diag(s) q + p f, then q^T q and q^T diag(s) p, of 203 rows: p, q and the products, on the device that
   the context has. */
static void run_pass(tess_context *ctx, int width, double *out)
{
    enum { ROWS = 203 };
    const int64_t values = (int64_t)ROWS * width, small = (int64_t)width * width, all = 2 * values + 3 * small + ROWS;
    double *host = random_values(all, 4, -1.0, 1.0), *q = NULL;

    assert_ok(ctx, tess_device_allocate(ctx, all, sizeof *q, (void **)&q));
    assert_ok(ctx, ctx->backend->upload(ctx, q, host, (size_t)all * sizeof *q));
    double *const p = q + values, *const f = p + values, *const s = f + 3 * small;
    const block_pass pass = {.n = ROWS,
                             .width = width,
                             .combinations = 2,
                             .products = 2,
                             .combine = {{.to = q, .from = q, .factor = f},
                                         {.to = p, .from = p, .factor = f, .base = q, .scale = s, .sign = -1.0}},
                             .multiply = {{.x = q, .y = q}, {.x = q, .y = p, .scale = s}},
                             .sums = f + small};

    assert_ok(ctx, block_ops_of(ctx)->run(ctx, &pass));
    assert_ok(ctx, ctx->backend->download(ctx, out, q, (size_t)(2 * values + 3 * small) * sizeof *q));
    tess_device_release(ctx, q, all, sizeof *q);
    free(host);
}

/* Of products the upper triangle is computed. A sum of w terms below 4 w, or of 203 products of such sums. */
static void block_passes_match_those_of_the_host(void **state)
{
    tess_context *host = open_device(2);

    (void)state;
    for (int width = 2; width <= TESS_MAX_COLUMNS; width *= 2) {
        const int64_t sums = 2 * 203 * width + width * width, all = sums + 2 * width * width;
        double *here = test_allocate(all, sizeof *here), *there = test_allocate(all, sizeof *there);
        const double size = 1.0 + width;

        run_pass(host, width, here);
        run_pass(gpu, width, there);
        for (int64_t i = 0; i < all; i++) {
            const int64_t element = (i - sums) % (width * width);

            if (i >= sums && element % width < element / width) { continue; }
            assert_at_most(fabs(here[i] - there[i]), i < sums ? gamma_of(2.0 * width + 4.0) * size * size
                                                              : gamma_of(4.0 * width + 210.0) * 203 * pow(size, 3.0));
        }
        free(here);
        free(there);
    }
    tess_context_destroy(host);
}

/* Against the same on the host: as many iterations but for rounding, and the same bits each time. */
static void block_cg_ends_as_on_the_host(void **state)
{
    static const tess_precond_kind preconds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_IC0};
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_context *host = open_device(2);
    tess_matrix *m = make_matrix(gpu, &a), *of_host = make_matrix(host, &a);
    double *b = make_sides(MOST), *x = test_allocate((int64_t)MOST * N, sizeof *x),
           *again = test_allocate((int64_t)MOST * N, sizeof *again);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
    tess_solve_result results[MOST], expected[MOST];

    (void)state;
    memcpy(b + 9 * N, b + 8 * N, N * sizeof *b); /* a dependent column */
    for (int i = 0; i < 3; i++) {
        const int columns = i == 0 ? 8 : i == 1 ? 2 : 4; /* as many as a host takes at once */
        double *const from = b + (MOST - columns) * N;

        options.precond.kind = preconds[i];
        solve_many(of_host, &options, columns, from, x, expected);
        solve_many(m, &options, columns, from, x, results);
        solve_many(m, &options, columns, from, again, results);
        assert_true(same_bits(x, again, (int64_t)columns * N));
        for (int c = 0; c < columns; c++) {
            assert_int_equal(results[c].verified, 1);
            assert_int_equal(results[c].history_length, results[c].iterations + 1);
            assert_in_range(results[c].iterations + 2, expected[c].iterations, expected[c].iterations + 4);
            check_honest(&a, from + c * N, x + c * N, &options, &results[c]);
        }
    }
    free(b);
    free(x);
    free(again);
    tess_matrix_destroy(m);
    tess_matrix_destroy(of_host);
    tess_context_destroy(host);
    oracle_free(&a);
}

/* ---- monitors ---- */

typedef struct watched {
    int calls, until;
    int64_t last;
    double tolerance;
} watched;

static int watch(void *user, const tess_progress *progress)
{
    watched *w = user;

    assert_true(progress->tolerance > 0.0 && isfinite(progress->residual_norm));
    assert_true(progress->iteration >= w->last);
    w->last = progress->iteration;
    w->calls += 1;
    return w->until > 0 && w->calls >= w->until;
}

/* A recorded loop of a device may end before the host has looked; that of the emulated one is told in time. */
static void monitors_see_and_end_loops_of_several_columns(void **state)
{
    static const tess_engine engines[] = {TESS_ENGINE_PLAIN, TESS_ENGINE_GRAPH};
    oracle_csr a = oracle_tridiagonal(N, -1.0, 2.0, -1.0); /* of as many iterations as rows */
    tess_matrix *m = make_matrix(gpu, &a);
    double *b = make_sides(MOST), *x = test_allocate((int64_t)MOST * N, sizeof *x);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result results[MOST];

    (void)state;
    options.monitor = watch;
    for (int turn = 0; turn < 4; turn++) {
        watched w = {.until = turn < 2 ? 0 : turn == 2 ? 4 : (int)on_gpu_or_emulated(4, 10)};

        options.monitor_user = &w;
        options.engine = engines[turn % 2];
        solve_many(m, &options, 4, b + 7 * N, x, results);
        assert_true(w.calls > (turn < 2 ? 5 : 3));
        for (int c = 0; c < 4; c++) {
            assert_int_equal(results[c].reason, turn < 2 ? TESS_REASON_RTOL : TESS_REASON_CANCELLED);
            assert_true(turn < 2 || results[c].iterations < 3 * N / 4);
        }
    }
    free(b);
    free(x);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* Few columns of a system that a single kernel solves are solved alone; columns of others are not. */
static void few_columns_keep_their_single_kernel(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_matrix *m = make_matrix(gpu, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;

    (void)state;
    options.precond.kind = TESS_PRECOND_JACOBI;
    for (int k = 0; k < 2; k++) {
        options.engine = k == 0 ? TESS_ENGINE_AUTO : TESS_ENGINE_GRAPH;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(tess_solver_columns_together(solver, 15), k == 0 ? 1 : 15);
        assert_int_equal(tess_solver_columns_together(solver, 16), 16);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_solves_columns_of_very_different_length),
        cmocka_unit_test(solves_by_every_format),
        cmocka_unit_test(multigrid_of_columns),
        cmocka_unit_test(minres_solves_indefinite_columns),
        cmocka_unit_test(bicgstab_solves_unsymmetric_columns),
        cmocka_unit_test(gmres_restarts_columns_together),
        cmocka_unit_test(one_column_after_another_is_preconditioned),
        cmocka_unit_test(a_column_that_is_no_number_leaves_the_others_alone),
        cmocka_unit_test(block_passes_match_those_of_the_host),
        cmocka_unit_test(block_cg_ends_as_on_the_host),
        cmocka_unit_test(monitors_see_and_end_loops_of_several_columns),
        cmocka_unit_test(few_columns_keep_their_single_kernel),
    };

    return run_gpu_tests(tests, &gpu);
}
