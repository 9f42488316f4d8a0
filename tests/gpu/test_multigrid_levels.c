/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of classical multigrid that the GPU builds: the host's splits and patterns, values within rounding. */
#include "precond/multigrid/classical/split.h"
#include "support/device_levels.h"
#include "support/gallery.h"
#include "support/heap.h"
#include "support/precond.h"
#include "support/solve.h"

static tess_context *gpu;

/* ---- helpers ---- */

static tess_amg_options options_of(int aggressive)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.amg.aggressive = aggressive;
    options.amg.coarsest = 20;
    return options.amg;
}

/* Rows of layers first[0] to first[layers]: a row has `neighbours` random negative couplings, to rows of the next
   layer, or of its own if it is in the last one, and a dominant diagonal. */
static oracle_csr layered(int layers, const int64_t *first, const int *neighbours)
{
    const int64_t n = first[layers];
    uint64_t state = 9;
    double *row = test_allocate(n, sizeof *row);
    oracle_csr a = oracle_open(n, n);

    for (int l = 0; l < layers; l++) {
        const int64_t begin = l + 1 < layers ? first[l + 1] : first[l], end = l + 1 < layers ? first[l + 2] : n;

        for (int64_t i = first[l]; i < first[l + 1]; i++) {
            memset(row, 0, (size_t)n * sizeof *row);
            for (int k = 0; k < neighbours[l]; k++) {
                row[begin + (int64_t)(oracle_random_bits(&state) % (uint64_t)(end - begin))] =
                    -oracle_uniform(&state, 0.5, 1.0);
            }
            row[i] = neighbours[l];
            for (int64_t j = 0; j < n; j++) {
                if (row[j] != 0.0) { oracle_push(&a, j, row[j]); }
            }
            oracle_end_row(&a, i);
        }
    }
    free(row);
    return a;
}

/* Some 80 unknowns are coarse, and a row has most of them within two couplings: too many for a team of a few threads.
 */
static oracle_csr for_waves(void)
{
    return layered(1, (const int64_t[]){0, 1200}, (const int[]){30});
}

/* Many depend on the last layer, so that most of its rows are coarse, and the first rows have nearly all of them within
   two couplings: too many for a wave. */
static oracle_csr for_tables(void)
{
    return layered(3, (const int64_t[]){0, 20, 120, 520}, (const int[]){20, 60, 2});
}

static oracle_csr problem_of(int k)
{
    const bool small = on_gpu_or_emulated(0, 1);
    const char *const names[] = {small ? "laplace3d 9" : "laplace3d 24",
                                 small ? "randomdiffusion3d 8 2.5" : "randomdiffusion3d 20 2.5",
                                 small ? "anisotropic2d 20 1e-3" : "anisotropic2d 80 1e-3",
                                 small ? "unstructured2d 400" : "unstructured2d 6000"};

    return k < 4 ? generate_problem(names[k], 2) : k == 4 ? for_waves() : for_tables();
}

enum { PROBLEMS = 6 };

/* ---- parts ---- */

/* Bit by bit, with all the options that strong couplings have. */
static void splits_are_those_of_the_host(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * PROBLEMS; k++) {
        const double max_row_sum = k % 2 ? 0.5 : 1.0;
        oracle_csr a = problem_of(k / 2);
        tess_matrix *m = make_matrix(gpu, &a);
        uint8_t *strong = test_allocate(a.nnz, 1), *split = test_allocate(a.nrows, 1), *own_strong = NULL,
                *own_split = NULL, *copy = test_allocate(a.nnz + a.nrows, 1);
        host_csr h = {.nrows = a.nrows, .ncols = a.ncols, .row_ptr = a.row_ptr, .col_ind = a.col_ind, .val = a.val};
        device_csr d = {0};
        int64_t count = 0, expected = 0;

        device_csr_borrow(m, &d);
        amg_find_strong(gpu, &h, 0.25, max_row_sum, strong);
        assert_ok(gpu, amg_split(gpu, &(amg_graph){a.nrows, a.row_ptr, a.col_ind, strong}, 7, split));
        assert_ok(gpu, tess_device_allocate(gpu, a.nnz, 1, (void **)&own_strong));
        assert_ok(gpu, tess_device_allocate(gpu, a.nrows, 1, (void **)&own_split));
        assert_ok(gpu, amg_device_ops_of(gpu)->find_strong(gpu, &d, 0.25, max_row_sum, own_strong, &count));
        assert_ok(gpu, amg_device_ops_of(gpu)->split(
                           gpu, &(amg_device_graph){a.nrows, d.row_ptr, d.col_ind, own_strong}, 7, own_split));
        assert_ok(gpu, gpu->backend->download(gpu, copy, own_strong, (size_t)a.nnz));
        assert_ok(gpu, gpu->backend->download(gpu, copy + a.nnz, own_split, (size_t)a.nrows));
        for (int64_t e = 0; e < a.nnz; e++) {
            expected += strong[e];
        }
        assert_int_equal(count, expected);
        assert_memory_equal(copy, strong, (size_t)a.nnz);
        assert_memory_equal(copy + a.nnz, split, (size_t)a.nrows);
        tess_device_release(gpu, own_strong, a.nnz, 1);
        tess_device_release(gpu, own_split, a.nrows, 1);
        tess_matrix_destroy(m);
        free(strong);
        free(split);
        free(copy);
        oracle_free(&a);
    }
}

static void levels_are_those_of_the_host(void **state)
{
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int k = 0; k < PROBLEMS; k++) {
        for (int aggressive = k >= 4 ? 0 : -1; aggressive <= (k >= 4 ? 0 : 2); aggressive++) {
            const tess_amg_options options = options_of(aggressive);
            oracle_csr a = problem_of(k);
            tess_matrix *on_cpu = make_matrix(cpu, &a), *on_gpu = make_matrix(gpu, &a);
            amg_hierarchy expected = build_levels(cpu, on_cpu, &options),
                          computed = build_levels(gpu, on_gpu, &options);

            assert_true(expected.count >= 2);
            check_same_levels(gpu, &expected, &computed);
            amg_hierarchy_close(&expected);
            amg_hierarchy_close(&computed);
            tess_matrix_destroy(on_cpu);
            tess_matrix_destroy(on_gpu);
            oracle_free(&a);
        }
    }
    tess_context_destroy(cpu);
}

/* Values change, but no strong coupling changes its sign; splits and patterns stay. */
static void new_values_keep_the_patterns(void **state)
{
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int aggressive = 0; aggressive <= 1; aggressive++) {
        const tess_amg_options options = options_of(aggressive);
        oracle_csr a = problem_of(0);
        double *factor = random_values(a.nnz, 3, 0.95, 1.05);
        tess_matrix *on_cpu = make_matrix(cpu, &a), *on_gpu = make_matrix(gpu, &a);
        amg_hierarchy expected = build_levels(cpu, on_cpu, &options), computed = build_levels(gpu, on_gpu, &options);

        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] *= factor[k];
        }
        assert_ok(cpu, tess_matrix_update_values(on_cpu, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(gpu, tess_matrix_update_values(on_gpu, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(cpu, amg_hierarchy_renew(&expected, on_cpu));
        assert_ok(gpu, amg_hierarchy_renew(&computed, on_gpu));
        check_same_levels(gpu, &expected, &computed);
        amg_hierarchy_close(&expected);
        amg_hierarchy_close(&computed);
        tess_matrix_destroy(on_cpu);
        tess_matrix_destroy(on_gpu);
        free(factor);
        oracle_free(&a);
    }
    tess_context_destroy(cpu);
}

/* ---- where levels are built ---- */

static tess_amg_levels levels_of(tess_context *ctx, const oracle_csr *a, const tess_amg_options *options)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_precond_options all;
    tess_amg_levels levels = {.size = sizeof levels};
    tess_precond *precond = NULL;

    tess_precond_options_init(&all);
    all.kind = TESS_PRECOND_AMG;
    all.amg = *options;
    assert_ok(ctx, tess_precond_create(m, &all, &precond));
    assert_ok(ctx, tess_precond_get_levels(precond, &levels));
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    return levels;
}

static void reports_say_where(void **state)
{
    oracle_csr a = generate_problem("laplace2d 20", 1), blocks = generate_problem("elasticity3d 3", 1);
    tess_amg_options options = options_of(0);
    tess_amg_levels levels = levels_of(gpu, &a, &options);

    (void)state;
    assert_int_equal(levels.coarsening, TESS_AMG_CLASSICAL);
    assert_int_equal(levels.setup_device, TESS_DEVICE_GPU);
    assert_true(levels.product_seconds > 0.0 && levels.storing_seconds > 0.0);
    assert_true(levels.strength_seconds > 0.0 && levels.split_seconds > 0.0 && levels.interpolation_seconds > 0.0);
    assert_at_most(
        fabs(levels.strength_seconds + levels.split_seconds + levels.interpolation_seconds - levels.coarsening_seconds),
        1e-12 * levels.coarsening_seconds);
    options.truncation = 0; /* rows of any length are the host's */
    levels = levels_of(gpu, &a, &options);
    assert_int_equal(levels.setup_device, TESS_DEVICE_CPU);
    levels = levels_of(gpu, &blocks, &options); /* nodes of three unknowns are seen in the pattern */
    assert_int_equal(levels.coarsening, TESS_AMG_AGGREGATION);
    assert_int_equal(levels.setup_device, TESS_DEVICE_GPU);
    options.smoother = TESS_AMG_ILU0;
    levels = levels_of(gpu, &blocks, &options);
    assert_int_equal(levels.setup_device, TESS_DEVICE_CPU);
    options.smoother = TESS_AMG_FSAI;
    levels = levels_of(gpu, &blocks, &options);
    assert_int_equal(levels.setup_device, TESS_DEVICE_GPU);
    oracle_free(&a);
    oracle_free(&blocks);
}

/* Iterations with levels of the GPU are those with levels of the host, +- 1. */
static void iterations_are_those_of_the_host(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        oracle_csr a = problem_of(k % 4);
        double *b = random_values(a.nrows, 5, -1.0, 1.0);
        tess_context *cpu = open_cpu(2);
        solved by[2];

        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg.precision = TESS_AMG_PRECISION_FP32;
        options.precond.amg.aggressive = k == 4 ? 1 : 0;
        options.precond.amg.smoother = k == 5 ? TESS_AMG_FSAI : TESS_AMG_CHEBYSHEV;
        by[0] = solve_here(cpu, &a, &options, b);
        by[1] = solve_here(gpu, &a, &options, b);
        assert_true(by[0].result.converged && by[1].result.converged);
        check_honest(&a, b, by[1].x, &options, &by[1].result);
        assert_in_range(by[1].result.iterations + 1, by[0].result.iterations, by[0].result.iterations + 2);
        discard(&by[0]);
        discard(&by[1]);
        tess_context_destroy(cpu);
        free(b);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_those_of_the_host),     cmocka_unit_test(levels_are_those_of_the_host),
        cmocka_unit_test(new_values_keep_the_patterns),     cmocka_unit_test(reports_say_where),
        cmocka_unit_test(iterations_are_those_of_the_host),
    };

    return run_gpu_tests(tests, &gpu);
}
