/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole solves in one kernel: compared with the plain engine for many sizes, precisions and both exchanges; limits,
 * breakdowns, NaN, history, cancellation; refused requests, and the engine that auto takes then.
 */
#include "solver/method_solver.h"
#include "solver/single_kernel/single_kernel.h"
#include "support/incomplete.h"
#include "support/papers.h"
#include "support/precond_of.h"
#include "support/solve.h"
#include "support/tiles.h"

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

/* The edge of a square grid that has too many rows for a cluster, 16 blocks of 1,024 or 4 of the emulated GPU. */
static int64_t beyond_clusters(void)
{
    return on_gpu_or_emulated(132, 66);
}

/* How matrices are stored: CSR, tiles without loss, tiles of which some lose, in FP16 with scales and in FP8. */
enum { STORAGES = 4 };

static tess_storage_options stored_as(int which)
{
    static const tess_precision_level fp16 = {.precision = TESS_PRECISION_FP16, .scaled = 1};
    static const tess_precision_level fp8 = {.precision = TESS_PRECISION_E4M3, .scaled = 1};
    tess_storage_options options;

    tess_storage_options_init(&options);
    if (which == 1) { options = resident_lossless("fp64,fp32,fp16,e4m3"); }
    if (which > 1) { options = tiles_of(16, 16, 2.0, TESS_PRECISION_FP64, which == 2 ? fp16 : fp8); }
    if (which > 1) { options.papers = &papers_resident; }
    return options;
}

/* The systems to solve. */
typedef struct solve_way {
    const char *name;
    tess_solver_kind kind;
    tess_recurrence recurrence;
} solve_way;

/* On the emulated GPU half the turns of the same loop will do for systems beyond a cluster. */
static void need_fewer_turns(tess_solve_options *options)
{
    if (gpu_is_emulated()) { options->rtol = 1e-5; }
}

enum { WAYS = 4 };
static const solve_way ways[WAYS] = {{"bicgstab", TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO},
                                     {"cg", TESS_SOLVER_CG, TESS_RECURRENCE_STANDARD},
                                     {"cg, one reduction", TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION},
                                     {"cg, predicting", TESS_SOLVER_CG, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE}};

static void all_sizes_agree_with_the_plain_engine(void **state)
{
    static const int64_t orders[] = {1, 15, 17, 513, 2395, 4099};

    (void)state;
    for (size_t o = 0; o < 2 * (sizeof orders / sizeof *orders); o++) {
        oracle_csr a = scattered(orders[o / 2], o % 2 == 1);

        for (int k = 0; k < 2 * WAYS * STORAGES; k++) {
            const solve_way *way = &ways[k / 2 % WAYS];
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
            const solve_way *way = &ways[k % WAYS];
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
            tess_solve_options options = single_options(ways[k / 2].kind, ways[k / 2].recurrence);

            options.precond.kind = k % 2 == 1 ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE;
            options.storage.precision = e == 1 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
            check_against_plain(&a, options, ways[k / 2].name);
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

static void iteration_limits_are_exact(void **state)
{
    const int64_t edges[] = {20, beyond_clusters()};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);
        double *b = random_values(a.nrows, 3, -1.0, 1.0);

        for (int k = 0; k < 2 * WAYS; k++) {
            /* each way once, each storage with half of them */
            if (gpu_is_emulated() && (k + k / 2 + e) % 2 == 1) { continue; }
            tess_solve_options options = single_options(ways[k / 2].kind, ways[k / 2].recurrence);

            options.storage = stored_as(k % 2);
            check_limits_are_exact(gpu, &a, b, options);
        }
        oracle_free(&a);
        free(b);
    }
}

static void nothing_to_do_is_done_at_once(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = test_allocate(a.nrows, sizeof *b), *x = random_values(a.nrows, 5, -1.0, 1.0);
    tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);
    tess_solve_result result = solve_once(gpu, &a, &options, b, x);

    (void)state;
    assert_true(result.converged && result.iterations == 0);
    for (int64_t i = 0; i < a.nrows; i++) {
        assert_true(x[i] == 0.0);
        x[i] = 1.0;
    }
    for (int64_t i = 0; i < a.nrows; i++) { /* b = A 1, exactly */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            b[i] += a.val[k];
        }
    }
    result = solve_once(gpu, &a, &options, b, x);
    assert_true(result.converged && result.iterations == 0);
    oracle_free(&a);
    free(b);
    free(x);
}

static void breakdowns_have_the_same_reasons(void **state)
{
    static const double indefinite[] = {1.0, 2.0, -3.0, 4.0};
    oracle_csr d = oracle_diagonal(4, indefinite), a = oracle_laplace2d(30);
    double *b = random_values(900, 3, -1.0, 1.0), *x = test_allocate(900, sizeof *x);
    const double ones[4] = {1.0, 1.0, 1.0, 1.0};
    tess_matrix *m = make_matrix(gpu, &a);

    (void)state;
    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE; recurrence++) {
        tess_solve_options options = single_options(TESS_SOLVER_CG, (tess_recurrence)recurrence);
        tess_solver *solver = NULL;
        tess_solve_result result;
        solved clean = solve_here(gpu, &a, &options, b), s;
        const double kept = b[450];

        options.guard = TESS_GUARD_REPORT;
        s = solve_here(gpu, &d, &options, ones);
        assert_int_equal(s.result.reason, TESS_REASON_INDEFINITE_MATRIX);
        discard(&s);
        options.guard = TESS_GUARD_REPAIR;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        b[450] = (double)NAN;
        memset(x, 0, 900 * sizeof *x);
        result = solve_with(solver, gpu, 900, b, x);
        assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
        b[450] = kept;
        memset(x, 0, 900 * sizeof *x);
        result = solve_with(solver, gpu, 900, b, x);
        assert_true(result.converged && same_bits(x, clean.x, 900));
        tess_solver_destroy(solver);
        discard(&clean);
    }
    tess_matrix_destroy(m);
    a.val[100] = (double)NAN;
    for (int kind = TESS_SOLVER_CG; kind <= TESS_SOLVER_BICGSTAB; kind++) {
        tess_solve_options options = single_options((tess_solver_kind)kind, TESS_RECURRENCE_AUTO);
        tess_solve_result result;

        memset(x, 0, 900 * sizeof *x);
        result = solve_once(gpu, &a, &options, b, x);
        assert_false(result.converged);
        assert_true(result.iterations <= 32);
    }
    oracle_free(&a);
    oracle_free(&d);
    free(b);
    free(x);
}

/* The start ends a cycle, and the kernel has nothing to do: the correction is zero, not that of the last solve, which
   would be the solution here. */
static void what_does_not_begin_corrects_nothing(void **state)
{
    static const double above[] = {1.0, 2.0, 3.0, 4.0}, below[] = {-1.0, -2.0, -3.0, -4.0};
    const double ones[4] = {1.0, 1.0, 1.0, 1.0}, minus[4] = {-1.0, -1.0, -1.0, -1.0};
    oracle_csr a = oracle_diagonal(4, above);

    (void)state;
    for (int recurrence = TESS_RECURRENCE_STANDARD; recurrence <= TESS_RECURRENCE_PREDICT_AND_RECOMPUTE; recurrence++) {
        tess_matrix *m = make_matrix(gpu, &a);
        tess_solve_options options = single_options(TESS_SOLVER_CG, (tess_recurrence)recurrence);
        tess_solver *solver = NULL;
        tess_solve_result result;
        double x[4] = {0.0};

        options.precond.kind = TESS_PRECOND_JACOBI;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        result = solve_with(solver, gpu, 4, ones, x);
        assert_true(result.converged && x[1] == 0.5);
        assert_ok(gpu, tess_matrix_update_values(m, below, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        memset(x, 0, sizeof x);
        result = solve_with(solver, gpu, 4, minus, x);
        assert_int_equal(result.reason, TESS_REASON_INDEFINITE_PRECOND);
        for (int i = 0; i < 4; i++) {
            assert_true(x[i] == 0.0);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
    }
    oracle_free(&a);
}

/* ||A|| from 2^-560 to 2^560: (A p, A p) is not in range by itself, and the iterations are those of A. */
static void any_norm_of_the_matrix_will_do(void **state)
{
    oracle_csr a = oracle_laplace2d(30);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *val = test_allocate(a.nnz, sizeof *val);

    (void)state;
    memcpy(val, a.val, (size_t)a.nnz * sizeof *val);
    for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_JACOBI; precond++) {
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_AUTO);
        int64_t iterations = 0;

        options.precond.kind = (tess_precond_kind)precond;
        for (int k = 0; k < 3; k++) {
            for (int64_t i = 0; i < a.nnz; i++) {
                a.val[i] = ldexp(val[i], k == 0 ? 0 : k == 1 ? -560 : 560);
            }
            solved s = solve_here(gpu, &a, &options, b);

            assert_int_equal(s.result.cg.recurrence, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
            assert_true(s.result.converged);
            if (k == 0) { iterations = s.result.iterations; }
            /* the second direction may be lost */
            assert_true(llabs(s.result.iterations - iterations) <= 2);
            discard(&s);
        }
    }
    oracle_free(&a);
    free(b);
    free(val);
}

/* In passes it has one pass more; recorded in a graph, the bits of the plain engine. */
static void recomputing_runs_in_a_graph_too(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI,
                                              TESS_PRECOND_IC0};
    oracle_csr a = oracle_laplace2d(40);
    double *b = random_values(a.nrows, 3, -1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solve_options options = single_options(TESS_SOLVER_CG, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
        solved s[2];

        options.precond = kinds[k] == TESS_PRECOND_IC0 ? factor_options(kinds[k]) : precond_of(kinds[k], 5);
        for (int e = 0; e < 2; e++) {
            options.engine = e == 0 ? TESS_ENGINE_PLAIN : TESS_ENGINE_GRAPH;
            s[e] = solve_here(gpu, &a, &options, b);
            assert_int_equal(s[e].result.engine, options.engine);
            assert_int_equal(s[e].result.cg.recurrence, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE);
            assert_true(s[e].result.converged);
            check_honest(&a, b, s[e].x, &options, &s[e].result);
        }
        assert_int_equal(s[0].result.iterations, s[1].result.iterations);
        assert_true(same_bits(s[0].x, s[1].x, a.nrows));
        discard(&s[0]);
        discard(&s[1]);
    }
    oracle_free(&a);
    free(b);
}

static int cancel_at_once(void *user, const tess_progress *progress)
{
    *(int64_t *)user += 1;
    return progress->iteration >= 20;
}

static void monitor_cancels(void **state)
{
    const int64_t edges[] = {40, on_gpu_or_emulated(150, beyond_clusters())};

    (void)state;
    for (int e = 0; e < 2; e++) {
        oracle_csr a = oracle_laplace2d(edges[e]);
        double *b = random_values(a.nrows, 3, -1.0, 1.0);
        int64_t calls = 0;
        tess_solve_options options =
            single_options(TESS_SOLVER_CG, e == 0 ? TESS_RECURRENCE_STANDARD : TESS_RECURRENCE_AUTO);
        solved s;

        options.rtol = 0.0; /* would run for very long */
        options.max_iterations = 50000000;
        options.history_capacity = 100;
        options.monitor = cancel_at_once;
        options.monitor_user = &calls;
        s = solve_here(gpu, &a, &options, b);
        assert_int_equal(s.result.reason, TESS_REASON_CANCELLED);
        assert_true(s.result.history_length > 20 && s.result.history_length <= 100);
        assert_true(calls > 0);
        check_honest(&a, b, s.x, &options, &s.result);
        discard(&s);
        oracle_free(&a);
        free(b);
    }
}

static void auto_takes_it_where_all_is_resident(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI};
    oracle_csr small = oracle_laplace2d(60), large = oracle_laplace2d(900);
    tess_matrix *m = make_matrix(gpu, &small), *big = make_matrix(gpu, &large);
    tess_solver *solver = NULL;

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);

        options.precond = precond_of(kinds[k], 5);
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(method_of(solver)->engine, k == 0 ? TESS_ENGINE_SINGLE_KERNEL : TESS_ENGINE_GRAPH);
        tess_solver_destroy(solver);
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        if (k == 1) { assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver)); }
        options = solve_options(TESS_SOLVER_CG);
        options.storage = stored_as(1);
        options.papers = papers_narrowing(k == 0 ? TESS_NARROWING_OFF : TESS_NARROWING_SAFE);
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        assert_int_equal(method_of(solver)->engine, TESS_ENGINE_SINGLE_KERNEL);
        assert_int_equal(method_of(solver)->recurrence,
                         k == 0 ? TESS_RECURRENCE_PREDICT_AND_RECOMPUTE : TESS_RECURRENCE_STANDARD);
        tess_solver_destroy(solver);
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        options.storage.papers = NULL;
        options.papers = NULL;
        assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
        options = solve_options(TESS_SOLVER_CG);
        options.storage.format = k == 0 ? TESS_FORMAT_ELLR : TESS_FORMAT_CSR;
        options.storage.precision = k == 0 ? TESS_PRECISION_FP64 : TESS_PRECISION_E4M3;
        options.engine = TESS_ENGINE_SINGLE_KERNEL;
        assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    }
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    assert_ok(gpu, tess_solver_create(big, &options, &solver));
    assert_int_equal(method_of(solver)->engine, TESS_ENGINE_GRAPH);
    tess_solver_destroy(solver);
    options = solve_options(TESS_SOLVER_GMRES);
    options.engine = TESS_ENGINE_SINGLE_KERNEL;
    assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    tess_matrix_destroy(m);
    tess_matrix_destroy(big);
    oracle_free(&small);
    oracle_free(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_agree_with_the_plain_engine), cmocka_unit_test(larger_systems_use_the_whole_device),
        cmocka_unit_test(heavy_block_rows_are_shared),           cmocka_unit_test(long_rows_are_shared_by_waves),
        cmocka_unit_test(auto_streams_what_is_little),           cmocka_unit_test(low_precisions_are_read),
        cmocka_unit_test(large_matrices_are_streamed),           cmocka_unit_test(iteration_limits_are_exact),
        cmocka_unit_test(nothing_to_do_is_done_at_once),         cmocka_unit_test(breakdowns_have_the_same_reasons),
        cmocka_unit_test(what_does_not_begin_corrects_nothing),  cmocka_unit_test(any_norm_of_the_matrix_will_do),
        cmocka_unit_test(recomputing_runs_in_a_graph_too),       cmocka_unit_test(monitor_cancels),
        cmocka_unit_test(auto_takes_it_where_all_is_resident),
    };

    return run_gpu_tests(tests, &gpu);
}
