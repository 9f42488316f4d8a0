/* SPDX-License-Identifier: Apache-2.0 */
/* An order by clusters, what a product fetches of x, and solves of systems in that order. */
#include <tessera/automatic.h>
#include <tessera/gallery.h>
#include <tessera/order.h>

#include "support/heap.h"
#include "support/incomplete.h"
#include "support/permutation.h"
#include "support/product.h"
#include "support/solve.h"

/* ---- the measure, by its definition ---- */

static int compare_lines(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Lines of 16 columns that 32 rows read, over their entries; of at most 1,024 slices. perm NULL: as they stand. */
static double fetched(const oracle_csr *a, const int32_t *perm)
{
    int64_t *place = test_allocate(a->ncols, sizeof *place), *line = test_allocate(a->nnz, sizeof *line);
    double lines = 0.0, entries = 0.0;

    for (int64_t j = 0; j < a->ncols; j++) {
        place[perm ? perm[j] : j] = j;
    }
    for (int64_t first = 0; first < a->nrows; first += 32) {
        int64_t count = 0;

        for (int64_t r = first; r < first + 32 && r < a->nrows; r++) {
            const int64_t i = perm ? perm[r] : r;

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && count < 4096; k++) {
                line[count++] = place[a->col_ind[k]] / 16;
            }
        }
        qsort(line, (size_t)count, sizeof *line, compare_lines);
        for (int64_t k = 0; k < count; k++) {
            lines += k == 0 || line[k] != line[k - 1];
        }
        entries += (double)count;
    }
    free(line);
    free(place);
    return entries > 0.0 ? lines / entries : 0.0;
}

/* ---- matrices of all shapes ---- */

/* Small and large, disconnected, with dense and empty rows, long ones, no symmetry of the pattern, a diagonal or none.
 */
static oracle_csr shape(int k)
{
    static const double ones[] = {1.0, 1.0, 1.0, 1.0, 1.0};

    switch (k) {
    case 0: return oracle_open(0, 0);
    case 1: return oracle_tridiagonal(1, 0.0, 1.0, 0.0);
    case 2: return oracle_diagonal(5, ones);
    case 3: return oracle_tridiagonal(3000, -1.0, 2.0, -1.0);
    case 4: return oracle_laplace2d(40);
    case 5: return arrow(5000, true); /* a slice with more entries than the measure reads */
    case 6: return arrow(700, false);
    case 7: return oracle_convection2d(30, 2.0);
    case 8: return oracle_random(900, 900, 5, 3);
    case 9: return oracle_power_law(800, 4);
    case 10: return oracle_with_empty_rows(300);
    case 11: return random_dominant(300, 80, false, 7); /* rows that a GPU sorts by a block */
    default: return (oracle_csr){.nrows = -1};
    }
}

static tess_matrix *shuffle(tess_matrix *m, uint64_t seed)
{
    int32_t *perm = random_permutation(tess_matrix_nrows(m), seed);
    tess_matrix *b = NULL;

    assert_ok(tess_matrix_context(m), tess_matrix_reorder_symmetric(m, perm, &b));
    tess_matrix_destroy(m);
    free(perm);
    return b;
}

/* The device of this program, and one thread of a host. */
static void orders_are_permutations_with_the_same_bits(void **state)
{
    tess_context *contexts[] = {open_device(3), open_cpu(1)};
    oracle_csr a;

    (void)state;
    for (int k = 0; (a = shape(k)).nrows >= 0; k++) {
        int32_t *perm[2];
        double given[2], ordered[2];

        for (int c = 0; c < 2; c++) {
            tess_matrix *m = make_matrix(contexts[c], &a);

            perm[c] = test_allocate(a.nrows, sizeof *perm[c]);
            assert_ok(contexts[c], tess_order_clusters(m, perm[c]));
            assert_ok(contexts[c], tess_order_fetch(m, NULL, &given[c]));
            assert_ok(contexts[c], tess_order_fetch(m, perm[c], &ordered[c]));
            tess_matrix_destroy(m);
        }
        assert_permutation(a.nrows, perm[0]);
        assert_memory_equal(perm[0], perm[1], (size_t)a.nrows * sizeof *perm[0]);
        assert_true(same_bits(&given[0], &given[1], 1) && same_bits(&ordered[0], &ordered[1], 1));
        assert_true(given[0] == fetched(&a, NULL) && ordered[0] == fetched(&a, perm[0]));
        free(perm[0]);
        free(perm[1]);
        oracle_free(&a);
    }
    tess_context_destroy(contexts[0]);
    tess_context_destroy(contexts[1]);
}

/*
 * A slice of a randomly numbered grid of K^2 points has 32 entries of the diagonal in 2 lines, and 128 others in as
 * many lines, but for 128^2 / 2 pairs of which each shares one of K^2 / 16: 0.76 lines for an entry at 128^2 points. In
 * a cell of some 256 rows, about 10 passes deep, the neighbours of a slice are in a run of its 32 rows and the two
 * rings of 40 beside them: 7 lines. A quarter of the rows, 8, are at the rim with one or two neighbours beyond it: 12
 * lines. Together 19 lines of 160 entries, a sixth of 0.76; a quarter allows for cells of uneven size.
 */
static void shuffled_grid_is_fetched_in_lines(void **state)
{
    enum { K = 128, N = K * K, PAIRS = 128 * 127 / 2 };
    const double random = (2.0 + 128.0 - PAIRS * 16.0 / N) / 160.0;
    tess_context *ctx = open_device(2);
    oracle_csr grid = oracle_laplace2d((int64_t)K);
    tess_matrix *m = shuffle(make_matrix(ctx, &grid), 3);
    int32_t *perm = test_allocate(N, sizeof *perm);
    double given = 0.0, ordered = 1.0;

    (void)state;
    assert_ok(ctx, tess_order_clusters(m, perm));
    assert_ok(ctx, tess_order_fetch(m, NULL, &given));
    assert_ok(ctx, tess_order_fetch(m, perm, &ordered));
    assert_true(fabs(given - random) < 0.02);
    assert_at_most(4.0 * ordered, given);
    free(perm);
    oracle_free(&grid);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void wrong_inputs_are_refused(void **state)
{
    static const int32_t wrong[][3] = {{0, 1, 1}, {0, 1, 3}, {0, -1, 2}};
    tess_context *ctx = open_device(1);
    oracle_csr rectangle = oracle_random(4, 5, 1, 1), square = oracle_tridiagonal(3, -1.0, 2.0, -1.0);
    tess_matrix *wide_matrix = make_matrix(ctx, &rectangle), *m = make_matrix(ctx, &square), *stored = NULL;
    tess_storage_options options;
    int32_t perm[5] = {0, 1, 2, 3, 4};
    double lines = 0.0;

    (void)state;
    tess_storage_options_init(&options);
    assert_ok(ctx, tess_matrix_convert(m, &options, &stored));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_order_clusters(wide_matrix, perm));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_order_fetch(wide_matrix, perm, &lines));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_order_clusters(stored, perm));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_order_fetch(stored, NULL, &lines));
    for (int i = 0; i < 3; i++) {
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_order_fetch(m, wrong[i], &lines));
    }
    assert_ok(ctx, tess_order_fetch(wide_matrix, NULL, &lines));
    assert_true(lines == fetched(&rectangle, NULL));
    oracle_free(&rectangle);
    oracle_free(&square);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_matrix_destroy(wide_matrix);
    tess_context_destroy(ctx);
}

/* ---- solves ---- */

/* x is in the caller's order, also of a system that is scaled before it is ordered, and with rows that a GPU sorts by a
   block. */
static void ordered_solves_are_honest(void **state)
{
    static const int shapes[] = {7, 11};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4; k++) {
        oracle_csr a = shape(shapes[k / 2]);
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
        tess_solve_result result;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        options.reorder = TESS_REORDERING_CLUSTERS;
        options.scale = k % 2 ? TESS_SCALING_MAX_PRODUCT : TESS_SCALING_NONE;
        result = solve_once(ctx, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.converged);
        assert_int_equal(result.reorder, TESS_REORDERING_CLUSTERS);
        free(b);
        free(x);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

#ifndef TESTS_ON_GPU /* matrices of the size that an order of the solver's own begins at */

/* ---- the solver's own choice ---- */

/* A solve to 0.5 of a grid of 2^18 points, with entries of 4 and -1. */
typedef struct choice {
    tess_solver_kind solver;
    tess_format format;
    tess_reordering reorder;
    int keep, shuffled, iterations;
    tess_reordering expected;
} choice;

/* What the monitor of a solve sees in its tenth iteration. */
typedef struct watcher {
    const tess_matrix *m;
    tess_solver *solver;
    tess_vector *residual; /* b before */
    double told, found;
} watcher;

static int watch_iterate(void *user, const tess_progress *progress)
{
    watcher *w = user;
    tess_context *ctx = tess_matrix_context(w->m);
    const int64_t n = tess_matrix_nrows(w->m);
    double *values = NULL;
    tess_vector *x = NULL;

    if (progress->iteration != 10) { return 0; }
    values = test_allocate(n, sizeof *values);
    assert_ok(ctx, tess_solver_get_iterate(w->solver, values));
    x = make_vector(ctx, n, values);
    assert_ok(ctx, tess_matrix_spmv(w->m, TESS_OP_NONE, -1.0, x, 1.0, w->residual));
    assert_ok(ctx, tess_vector_norm2(w->residual, TESS_ARITHMETIC_FP64, &w->found));
    w->told = progress->residual_norm;
    tess_vector_destroy(x);
    free(values);
    return 1;
}

/* The caller's monitor has the iterate in the caller's order. Recurrences drift by some roundings of the largest
   residual, as in test_iterate.c. */
static void check_iterate(tess_context *ctx, const tess_matrix *m)
{
    const int64_t n = tess_matrix_nrows(m);
    double *values = random_values(n, 3, -1.0, 1.0);
    tess_vector *b = make_vector(ctx, n, values), *x = make_zeros(ctx, n);
    watcher w = {.m = m, .residual = make_vector(ctx, n, values)};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;

    options.storage.format = TESS_FORMAT_AUTO;
    options.monitor = watch_iterate;
    options.monitor_user = &w;
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_create(m, &options, &w.solver));
    assert_int_equal(tess_solver_get_iterate(w.solver, values), TESS_UNSUPPORTED); /* no monitor is running */
    assert_ok(ctx, tess_solver_solve(w.solver, b, x, &result));
    assert_int_equal(result.reorder, TESS_REORDERING_CLUSTERS);
    assert_true(w.found > 0.0 && fabs(w.found - w.told) <= 1e-12 * result.rhs_norm);
    tess_solver_destroy(w.solver);
    tess_vector_destroy(w.residual);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    free(values);
}

static void check_choice(tess_context *ctx, const tess_matrix *m, const choice *c)
{
    const int64_t n = tess_matrix_nrows(m);
    tess_solve_options options = solve_options(c->solver), chosen;
    double *values = random_values(n, 3, -1.0, 1.0);
    tess_vector *b = make_vector(ctx, n, values), *x = make_zeros(ctx, n);
    tess_solver *solver = NULL;
    tess_solve_result result;

    options.storage.format = c->format;
    options.reorder = c->reorder;
    options.keep_order = c->keep;
    options.max_iterations = c->iterations;
    options.rtol = 0.5;
    if (c->solver == TESS_SOLVER_AUTO) { options.precond.kind = TESS_PRECOND_JACOBI; } /* no levels of multigrid */
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    assert_true(result.converged && result.verified);
    assert_int_equal(result.reorder, c->expected);
    assert_int_equal(strstr(tess_solver_why(solver), "reordered inside by clusters") != NULL,
                     c->expected == TESS_REORDERING_CLUSTERS && c->reorder == TESS_REORDERING_NONE);
    tess_solve_options_init(&chosen);
    assert_ok(ctx, tess_solver_chosen_options(solver, &chosen));
    assert_int_equal(chosen.reorder, c->expected);
    assert_int_equal(chosen.keep_order, c->keep);
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    free(values);
}

static void solver_orders_what_is_fetched_badly(void **state)
{
    static const choice choices[] = {
        {TESS_SOLVER_CG, TESS_FORMAT_AUTO, TESS_REORDERING_NONE, 0, 1, 1000, TESS_REORDERING_CLUSTERS},
        {TESS_SOLVER_AUTO, TESS_FORMAT_CSR, TESS_REORDERING_NONE, 0, 1, 1000, TESS_REORDERING_CLUSTERS},
        {TESS_SOLVER_CG, TESS_FORMAT_CSR, TESS_REORDERING_NONE, 0, 1, 1000, TESS_REORDERING_NONE},  /* a named format */
        {TESS_SOLVER_CG, TESS_FORMAT_AUTO, TESS_REORDERING_NONE, 1, 1, 1000, TESS_REORDERING_NONE}, /* as it is */
        {TESS_SOLVER_CG, TESS_FORMAT_AUTO, TESS_REORDERING_NONE, 0, 1, 99, TESS_REORDERING_NONE},   /* too short */
        {TESS_SOLVER_CG, TESS_FORMAT_AUTO, TESS_REORDERING_NONE, 0, 0, 1000, TESS_REORDERING_NONE}, /* by lines */
    };
    static const char *const size[] = {"512"};
    tess_context *ctx = open_cpu(1);
    tess_matrix *grid[2] = {NULL, NULL};

    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, size, &grid[k]));
    }
    grid[1] = shuffle(grid[1], 9);
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        check_choice(ctx, grid[choices[k].shuffled], &choices[k]);
    }
    check_iterate(ctx, grid[1]);
    tess_matrix_destroy(grid[0]);
    tess_matrix_destroy(grid[1]);
    tess_context_destroy(ctx);
}

/* Without memory for an order of its own, a solver keeps the one that the matrix has. */
static void order_without_memory_is_left_out(void **state)
{
    static const char *const size[] = {"512"};
    static const int64_t failing[] = {9};
    heap h = {.fail_at = -1};
    tess_solve_options options = solve_options(TESS_SOLVER_CG), chosen;
    tess_context_options settings;
    tess_context *ctx = NULL;
    tess_matrix *m = NULL;

    (void)state;
    tess_context_options_init(&settings);
    settings.device = TESS_DEVICE_CPU;
    settings.threads = 1;
    settings.host_allocator = heap_allocator(&h);
    assert_int_equal(tess_context_create(&settings, &ctx), TESS_SUCCESS);
    assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, size, &m));
    m = shuffle(m, 9);
    options.storage.format = TESS_FORMAT_AUTO;
    for (size_t k = 0; k <= sizeof failing / sizeof *failing; k++) {
        const bool fails = k < sizeof failing / sizeof *failing;
        tess_solver *solver = NULL;

        heap_fail_at(&h, fails ? failing[k] : -1);
        assert_ok(ctx, tess_solver_create(m, &options, &solver)); /* its first allocation is the solver */
        heap_fail_at(&h, -1);
        tess_solve_options_init(&chosen);
        assert_ok(ctx, tess_solver_chosen_options(solver, &chosen));
        assert_int_equal(chosen.reorder, fails ? TESS_REORDERING_NONE : TESS_REORDERING_CLUSTERS);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    assert_int_equal(h.live, 0);
}

/* A power law has hubs and no neighbourhoods: the order stays. */
static void order_that_helps_nobody_is_not_taken(void **state)
{
    static const char *const size[] = {"262144", "600000"};
    static const choice none = {TESS_SOLVER_CG, TESS_FORMAT_AUTO,    TESS_REORDERING_NONE, 0, 0,
                                1000,           TESS_REORDERING_NONE};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    double given = 0.0;

    (void)state;
    assert_ok(ctx, tess_gallery_create(ctx, "powerlaw", 2, size, &m));
    assert_ok(ctx, tess_order_fetch(m, NULL, &given));
    assert_true(given > 0.5);
    check_choice(ctx, m, &none);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_permutations_with_the_same_bits),
        cmocka_unit_test(shuffled_grid_is_fetched_in_lines),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(ordered_solves_are_honest),
#ifndef TESTS_ON_GPU
        cmocka_unit_test(solver_orders_what_is_fetched_badly),
        cmocka_unit_test(order_that_helps_nobody_is_not_taken),
        cmocka_unit_test(order_without_memory_is_left_out),
#endif
    };

#ifdef TESTS_ON_GPU
    return run_gpu_tests(tests, NULL);
#else
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
