/* SPDX-License-Identifier: Apache-2.0 */
/* Whole solves in one kernel compared with the plain engine, for many sizes, rows, precisions and both exchanges. */
#include "solver/single_kernel/single_kernel.h"
#include "support/incomplete.h"
#include "support/papers.h"
#include "support/single_kernel.h"

static tess_context *gpu = NULL;

/* No entries are in these rows and columns: some all over, and block rows of 16. */
static bool is_hole(int64_t i)
{
    return i % 7 == 3 || (i >= 96 && i < 144);
}

/* Symmetric, diagonally dominant, with entries all over: many columns for each block. */
static oracle_csr scattered(int64_t n, bool holes)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t step[4] = {1, 7, 101 % n, 977 % n};

        for (int64_t j = 0; j < n; j++) {
            const int64_t distance = j > i ? j - i : i - j;
            double value = j == i ? 9.0 + (double)(i % 5) : 0.0;

            for (int k = 0; k < 4; k++) {
                if (distance > 0 && distance == step[k]) { value = -1.0; }
            }
            if (value != 0.0 && !(holes && (is_hole(i) || is_hole(j)))) { oracle_push(&a, j, value); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* x and the iterations equal those of the plain engine, except for the order of summation. */
static void check_against_plain(const oracle_csr *a, tess_solve_options options, const char *what)
{
    double *b = random_values(a->nrows, 3, -1.0, 1.0);
    solved single, plain;

    for (int64_t i = 0; i < a->nrows; i++) {
        if (a->row_ptr[i] == a->row_ptr[i + 1]) { b[i] = 0.0; }
    }
    single = solve_here(gpu, a, &options, b);
    options.engine = TESS_ENGINE_PLAIN;
    plain = solve_here(gpu, a, &options, b);
    print_message("%s, n = %lld, format %d, precond %d, precision %d: %lld iterations, plain %lld\n", what,
                  (long long)a->nrows, (int)options.storage.format, (int)options.precond.kind,
                  (int)options.storage.precision, (long long)single.result.iterations,
                  (long long)plain.result.iterations);
    assert_int_equal(single.result.engine, TESS_ENGINE_SINGLE_KERNEL);
    assert_int_equal(single.result.reason, plain.result.reason);
    assert_int_equal(single.result.history_length, single.result.iterations + 1);
    assert_true(llabs(single.result.iterations - plain.result.iterations) <=
                2 + plain.result.iterations / (options.solver == TESS_SOLVER_CG ? 20 : 5));
    check_honest(a, b, single.x, &options, &single.result);
    for (int64_t i = 0; i < single.result.history_length; i++) {
        assert_true(single.history[i] >= 0.0 && isfinite(single.history[i]));
    }
    discard(&single);
    discard(&plain);
    free(b);
}

/* On the emulated GPU half the turns of the same loop will do for systems beyond a cluster. */
static void need_fewer_turns(tess_solve_options *options)
{
    if (gpu_is_emulated()) { options->rtol = 1e-5; }
}

static void all_sizes_agree_with_the_plain_engine(void **state)
{
    static const int64_t orders[] = {1, 15, 17, 513, 2395, 4099};

    (void)state;
    for (size_t o = 0; o < 2 * (sizeof orders / sizeof *orders); o++) {
        oracle_csr a = scattered(orders[o / 2], o % 2 == 1);

        for (int k = 0; k < 2 * WAYS * STORAGES; k++) {
            const solve_way *way = &solve_ways[k / 2 % WAYS];
            tess_solve_options options = single_options(way->kind, way->recurrence);

            /* each way and each storage with one of eight sizes */
            if (gpu_is_emulated() && orders[o / 2] > 17 && (k / 2 + 3 * (int)o) % 8 != 0) { continue; }
            /* a diagonal that is not there has no inverse */
            if (k % 2 == 1 && o % 2 == 1) { continue; }
            options.precond.kind = k % 2 == 1 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
            options.storage = stored_as(k / (2 * WAYS));
            check_against_plain(&a, options, way->name);
        }
        oracle_free(&a);
    }
}

static void larger_systems_use_the_whole_device(void **state)
{
    static const int64_t edges[] = {64, 65, 181, 256};
    const int step = (int)on_gpu_or_emulated(1, 5);
    const int count = gpu_is_emulated() ? 2 : 4; /* what fits */

    (void)state;
    for (int e = 0; e < count; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]), c = oracle_convection2d(edges[e], 0.5);

        for (int k = e % step; k < WAYS * STORAGES; k += step) {
            const solve_way *way = &solve_ways[k % WAYS];
            tess_solve_options options = single_options(way->kind, way->recurrence);

            options.storage = stored_as(k / WAYS);
            need_fewer_turns(&options);
            check_against_plain(way->kind == TESS_SOLVER_CG ? &a : &c, options, way->name);
        }
        oracle_free(&a);
        oracle_free(&c);
    }
}

/* Block rows of which one is far heavier than the others: one with a tile in each block column. */
static void heavy_block_rows_are_shared(void **state)
{
    oracle_csr a = arrow(3001, true);

    (void)state;
    for (int k = 0; k < STORAGES; k++) {
        tess_solve_options options = single_options(TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO);

        options.storage = stored_as(k);
        check_against_plain(&a, options, "an arrow");
    }
    oracle_free(&a);
}

/* Symmetric, diagonally dominant: every `every`-th row and column is full. */
static oracle_csr crossed(int64_t n, int64_t every)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (i == j) {
                oracle_push(&a, j, 2.0 + 1.0 / (double)(1 + i % 7));
            } else if (i % every == 0 || j % every == 0) {
                oracle_push(&a, j, -1.0 / (double)n);
            }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* In CSR order: none, eight, four and one of a block's rows are far longer than its others. */
static void long_rows_are_shared_by_waves(void **state)
{
    static const int64_t every[] = {2, 20, 40, 1500};

    (void)state;
    for (size_t e = 0; e < sizeof every / sizeof *every; e++) {
        oracle_csr a = crossed(e == 3 ? 3000 : 300, every[e]);

        for (int k = 0; k < 2 * WAYS; k++) {
            tess_solve_options options = single_options(solve_ways[k / 2].kind, solve_ways[k / 2].recurrence);

            options.precond.kind = k % 2 == 1 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
            options.storage.precision = e == 1 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
            check_against_plain(&a, options, solve_ways[k / 2].name);
        }
        oracle_free(&a);
    }
}

/* One block needs all columns, and has no space for its entries: these are few enough to be read in each product. */
static void auto_streams_what_is_little(void **state)
{
    oracle_csr a = crossed(10001, 20000);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    double *b = random_values(a.nrows, 3, -1.0, 1.0);
    solved s;

    (void)state;
    options.rtol = 1e-10;
    s = solve_here(gpu, &a, &options, b);
    assert_int_equal(s.result.engine, TESS_ENGINE_SINGLE_KERNEL);
    assert_true(s.result.converged);
    check_honest(&a, b, s.x, &options, &s.result);
    discard(&s);
    free(b);
    oracle_free(&a);
}

/* Values in lower precision, and up again by the guard: FP64 rows take more space, and are streamed where they do not
 * fit. */
static void low_precisions_are_read(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP16};
    const int64_t edges[] = {on_gpu_or_emulated(40, 24), beyond_clusters()};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);

        for (int k = 0; k < 3; k++) {
            for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
                tess_solve_options options = single_options((tess_solver_kind)kind, TESS_RECURRENCE_AUTO);

                options.storage.precision = precisions[k];
                if (e == 1) { need_fewer_turns(&options); }
                check_against_plain(&a, options, "low precision");
            }
        }
        for (int64_t k = 0; k < a.nnz; k++) { /* no longer exact in 24 bits */
            a.val[k] *= 1.0 + 1e-9;
        }
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);

        options.storage.precision = TESS_PRECISION_FP32;
        options.rtol = 1e-12;
        check_against_plain(&a, options, "repaired");
        options.storage = stored_as(2); /* up to FP64 in CSR order, on a plan for tiles */
        check_against_plain(&a, options, "repaired");
        oracle_free(&a);
    }
}

/* Symmetric, diagonally dominant: 61 entries in a row, beside one another, which no lower precision holds. */
static oracle_csr banded(int64_t n)
{
    enum { HALF = 30 };
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > HALF ? i - HALF : 0; j < n && j <= i + HALF; j++) {
            oracle_push(&a, j, j == i ? 2.0 * HALF / 3.0 + 1.0 : -1.0 / 3.0);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Rows that do not fit into shared memory are read from device memory if the engine is requested by name: 232 KB of
   values for each of 132 blocks. */
static void large_matrices_are_streamed(void **state)
{
    oracle_csr a = banded(on_gpu_or_emulated(60000, 4500));
    single_limits limits = {0};

    (void)state;
    assert_ok(gpu, single_kernel_ops_of(gpu)->limits(gpu, &limits));
    assert_true(limits.blocks > 0 && limits.shared_bytes >= 40000);
    tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION);

    options.rtol = 1e-6;
    check_against_plain(&a, options, "large");
    options.storage = stored_as(1);
    check_against_plain(&a, options, "large, in tiles");
    ask_recurrence(&options, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
    check_against_plain(&a, options, "large, in tiles, predicting");
    ask_recurrence(&options, TESS_RECURRENCE_STANDARD);
    options.papers = papers_narrowing(TESS_NARROWING_SAFE);
    check_against_plain(&a, options, "large, in tiles that are narrowed");
    /* those block rows that have space are narrowed in place */
    options.papers = papers_narrowing(TESS_NARROWING_PAPER);
    check_against_plain(&a, options, "large, in tiles that are narrowed for good");
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_agree_with_the_plain_engine), cmocka_unit_test(larger_systems_use_the_whole_device),
        cmocka_unit_test(heavy_block_rows_are_shared),           cmocka_unit_test(long_rows_are_shared_by_waves),
        cmocka_unit_test(auto_streams_what_is_little),           cmocka_unit_test(low_precisions_are_read),
        cmocka_unit_test(large_matrices_are_streamed),
    };

    return run_gpu_tests(tests, &gpu);
}
