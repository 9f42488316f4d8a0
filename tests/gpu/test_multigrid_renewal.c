/* SPDX-License-Identifier: Apache-2.0 */
/* New values for levels of the GPU: by plans, on kept patterns, into kept matrices. */
#include "base/stages.h"
#include "precond/multigrid/device.h"
#include "support/heap.h"
#include "support/precond.h"
#include "support/renewals.h"
#include "support/solve.h"

static tess_context *gpu;

/* As in test_multigrid_levels.c. */
static const double level_rounding = 1e-10;

/* ---- helpers ---- */

static host_csr copy_of(const device_csr *a)
{
    host_csr out = {0};

    assert_ok(gpu, device_csr_download(gpu, a, &out));
    return out;
}

/* The same pattern, and values within `rounding` of the row's largest; 0: the same bits. */
static void check_same(const host_csr *expected, const device_csr *computed, double rounding)
{
    host_csr c = copy_of(computed);

    assert_int_equal(computed->nnz, host_csr_nnz(expected));
    assert_memory_equal(c.row_ptr, expected->row_ptr, (size_t)(c.nrows + 1) * sizeof *c.row_ptr);
    assert_memory_equal(c.col_ind, expected->col_ind, (size_t)computed->nnz * sizeof *c.col_ind);
    if (rounding == 0.0) { assert_true(same_bits(c.val, expected->val, computed->nnz)); }
    for (int64_t i = 0; i < c.nrows; i++) {
        double largest = 0.0;

        for (int64_t k = c.row_ptr[i]; k < c.row_ptr[i + 1]; k++) {
            largest = fmax(largest, fabs(expected->val[k]));
        }
        for (int64_t k = c.row_ptr[i]; k < c.row_ptr[i + 1]; k++) {
            assert_at_most(fabs(c.val[k] - expected->val[k]), rounding * largest);
        }
    }
    host_csr_release(gpu, &c);
}

/* ---- levels ---- */

/* A renewal with the first values gives the levels of the set-up, whatever was between; again, the same bits. */
static void old_values_come_back(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * LARGE_SETS; k++) {
        const tess_amg_options options = renewed_options(k % 2);
        oracle_csr a = renewed_problem(k / 2), other = oracle_copy(&a);
        tess_matrix *m = make_matrix(gpu, &a);
        amg_hierarchy h = {.ctx = gpu, .options = options};
        host_csr before[2], between[2];

        change_values(&other, 8, 0.5);
        assert_ok(gpu, amg_hierarchy_build(&h, m));
        before[0] = copy_of(&h.device->level[0].p);
        before[1] = copy_of(&h.device->level[1].a);
        for (int turn = 0; turn < 2; turn++) {
            give_values(m, &other);
            assert_ok(gpu, amg_hierarchy_renew(&h, m));
            give_values(m, &a);
            assert_ok(gpu, amg_hierarchy_renew(&h, m));
            check_same(&before[0], &h.device->level[0].p, level_rounding);
            check_same(&before[1], &h.device->level[1].a, level_rounding);
            if (turn == 0) {
                between[0] = copy_of(&h.device->level[0].p);
                between[1] = copy_of(&h.device->level[1].a);
            }
            check_same(&between[0], &h.device->level[0].p, 0.0);
            check_same(&between[1], &h.device->level[1].a, 0.0);
        }
        for (int part = 0; part < 2; part++) {
            host_csr_release(gpu, &before[part]);
            host_csr_release(gpu, &between[part]);
        }
        amg_hierarchy_close(&h);
        tess_matrix_destroy(m);
        oracle_free(&a);
        oracle_free(&other);
    }
}

/* ---- stored levels ---- */

static amg_cycle open_cycle(const amg_hierarchy *h, tess_amg_precision precision)
{
    amg_cycle c = {.ctx = gpu, .options = h->options};

    assert_ok(gpu, amg_cycle_open(&c, h, precision, false));
    return c;
}

/* Both cycles map a random vector to the same bits. */
static void check_cycles(const amg_cycle *kept, const amg_cycle *fresh)
{
    const amg_cycle *const cycles[] = {fresh, kept};
    double *r = random_values(kept->n, 5, -1.0, 1.0), *z[2] = {NULL}, *on_device[2] = {NULL};

    assert_int_equal(kept->count, fresh->count);
    for (int l = 0; l < kept->count; l++) {
        assert_int_equal(kept->level[l].precision, fresh->level[l].precision);
        assert_int_equal(kept->level[l].a->format, fresh->level[l].a->format);
    }
    for (int k = 0; k < 2; k++) {
        const size_t bytes = (size_t)kept->n * sizeof *r;

        z[k] = test_allocate(kept->n, sizeof *r);
        assert_ok(gpu, tess_device_upload(gpu, r, kept->n, sizeof *r, (void **)&on_device[0]));
        assert_ok(gpu, tess_device_allocate(gpu, kept->n, sizeof *r, (void **)&on_device[1]));
        assert_ok(gpu, amg_cycle_apply(cycles[k], TESS_PRECISION_FP64, on_device[0], on_device[1], NULL));
        assert_ok(gpu, gpu->backend->download(gpu, z[k], on_device[1], bytes));
        tess_device_release(gpu, on_device[0], kept->n, sizeof *r);
        tess_device_release(gpu, on_device[1], kept->n, sizeof *r);
    }
    assert_true(same_bits(z[0], z[1], kept->n));
    free(z[0]);
    free(z[1]);
    free(r);
}

/* In each precision and format that levels are stored in. */
static void stored_levels_are_those_of_a_fresh_store(void **state)
{
    static const tess_amg_precision precisions[] = {TESS_AMG_PRECISION_AUTO, TESS_AMG_PRECISION_FP32,
                                                    TESS_AMG_PRECISION_FP64, TESS_AMG_PRECISION_FP8};

    (void)state;
    for (int k = 0; k < 4 * LARGE_SETS; k++) {
        const tess_amg_precision precision = precisions[k % 4];
        tess_amg_options options = renewed_options(0);
        oracle_csr a = renewed_problem(k / 4);
        tess_matrix *m = make_matrix(gpu, &a);
        amg_hierarchy h = {.ctx = gpu};
        amg_cycle kept, fresh;
        const tess_matrix *first = NULL;

        options.smoother = k % 3 == 2 ? TESS_AMG_JACOBI : TESS_AMG_CHEBYSHEV;
        h.options = options;
        assert_ok(gpu, amg_hierarchy_build(&h, m));
        kept = open_cycle(&h, precision);
        first = kept.level[0].p;
        change_values(&a, 4, 0.1);
        give_values(m, &a);
        assert_ok(gpu, amg_hierarchy_renew(&h, m));
        assert_ok(gpu, amg_device_renew_cycle(&kept, &h, precision));
        assert_ptr_equal(kept.level[0].p, first); /* kept */
        fresh = open_cycle(&h, precision);
        check_cycles(&kept, &fresh);
        amg_cycle_close(&kept);
        amg_cycle_close(&fresh);
        amg_hierarchy_close(&h);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
}

/* Rows of different magnitudes: the finest level is in FP32 then, and in FP16 again. */
static void other_magnitudes_get_another_precision(void **state)
{
    tess_amg_options options = renewed_options(0);
    oracle_csr a = renewed_problem(0), uneven = oracle_copy(&a);
    tess_matrix *m = make_matrix(gpu, &a);
    amg_hierarchy h = {.ctx = gpu, .options = options};
    amg_cycle kept;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            uneven.val[k] *= (i % 7 == 0 ? 1e3 : 1.0) * (a.col_ind[k] % 7 == 0 ? 1e3 : 1.0);
        }
    }
    assert_ok(gpu, amg_hierarchy_build(&h, m));
    kept = open_cycle(&h, TESS_AMG_PRECISION_AUTO);
    for (int turn = 0; turn < 4; turn++) {
        amg_cycle fresh;

        assert_int_equal(kept.level[0].precision, turn % 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP16);
        give_values(m, turn % 2 ? &a : &uneven);
        assert_ok(gpu, amg_hierarchy_renew(&h, m));
        assert_ok(gpu, amg_device_renew_cycle(&kept, &h, TESS_AMG_PRECISION_AUTO));
        fresh = open_cycle(&h, TESS_AMG_PRECISION_AUTO);
        check_cycles(&kept, &fresh);
        amg_cycle_close(&fresh);
    }
    amg_cycle_close(&kept);
    amg_hierarchy_close(&h);
    tess_matrix_destroy(m);
    oracle_free(&a);
    oracle_free(&uneven);
}

/* ---- what is not repeated ---- */

static int count_of(const tess_stages *stages, const char *name)
{
    for (int s = 0; s < stages->count; s++) {
        if (strcmp(stages->of[s].name, name) == 0) { return stages->of[s].count; }
    }
    return 0;
}

static tess_precond *make_precond(const tess_matrix *m, const tess_amg_options *options)
{
    tess_precond_options all;
    tess_precond *precond = NULL;

    tess_precond_options_init(&all);
    all.kind = TESS_PRECOND_AMG;
    all.amg = *options;
    assert_ok(gpu, tess_precond_create(m, &all, &precond));
    return precond;
}

static void patterns_and_formats_are_not_repeated(void **state)
{
    static const char *const once[] = {"strong couplings",  "split",
                                       "offsets of rows",   "coarse neighbours",
                                       "the interpolation", "numbering coarse unknowns",
                                       "sizes of rows",     "new values of a product of matrices",
                                       "scaling a level",   "magnitudes of a level"};
    static const char *const by_inverse[] = {"marking diagonals", "arranging rows", "measuring rows"};
    const tess_amg_options options = renewed_options(1);
    oracle_csr a = renewed_problem(0);
    tess_matrix *m = make_matrix(gpu, &a);
    tess_precond *precond = make_precond(m, &options);
    tess_stages stages;

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        change_values(&a, (uint64_t)(6 + turn), 0.05);
        give_values(m, &a);
        assert_ok(gpu, tess_stages_begin(gpu, &stages));
        assert_ok(gpu, tess_precond_update(precond));
        tess_stages_end(gpu);
    }
    for (size_t k = 0; k < sizeof once / sizeof *once; k++) {
        assert_int_equal(count_of(&stages, once[k]), 0);
    }
    for (size_t k = 0; k < sizeof by_inverse / sizeof *by_inverse; k++) { /* the coarsest level's inverse is new */
        assert_in_range(count_of(&stages, by_inverse[k]), 0, 1);
    }
    assert_true(count_of(&stages, "planned values of a product") >= 2);
    assert_true(count_of(&stages, "planned values of the interpolation") >= 2);
    assert_int_equal(count_of(&stages, "new values of interpolation in two stages"), 1);
    assert_true(count_of(&stages, "new values of slices") + count_of(&stages, "new values of rows") > 0);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* Aggregation's levels too are stored in place, and one set of launches estimates their spectra. */
static void levels_of_aggregation_are_kept(void **state)
{
    static const char *const once[] = {"aggregates", "patterns of products", "scaling a level"};
    tess_amg_options options = renewed_options(1);
    oracle_csr a = renewed_problem(0);
    tess_matrix *m = make_matrix(gpu, &a);
    tess_precond *precond = NULL;
    tess_stages stages;

    (void)state;
    options.coarsening = TESS_AMG_AGGREGATION;
    options.aggressive = -1;
    precond = make_precond(m, &options);
    change_values(&a, 6, 0.05);
    give_values(m, &a);
    assert_ok(gpu, tess_stages_begin(gpu, &stages));
    assert_ok(gpu, tess_precond_update(precond));
    tess_stages_end(gpu);
    for (size_t k = 0; k < sizeof once / sizeof *once; k++) {
        assert_int_equal(count_of(&stages, once[k]), 0);
    }
    assert_in_range(count_of(&stages, "a vector operation"), 0, 1); /* the sign of the trace */
    assert_in_range(count_of(&stages, "marking diagonals"), 0, 1);  /* of the coarsest level's inverse */
    assert_true(count_of(&stages, "new values of slices") + count_of(&stages, "new values of rows") +
                    count_of(&stages, "new values of diagonals") >=
                4);
    assert_true(count_of(&stages, "spectra of levels") >= 2); /* of one P or more, and of all levels */
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* ---- failures ---- */

/* Each allocation of two renewals fails once, on the host and on the device. Nothing is lost, and a later renewal
   works. */
static void failing_allocations_lose_nothing(void **state)
{
    oracle_csr a = generate_problem("laplace2d 12", 1);
    const tess_amg_options options = renewed_options(1);

    (void)state;
    for (int64_t k = 0, failed = 1; failed > 0; k++) {
        heap host = {.fail_at = -1};
        tess_context_options of_context;
        tess_context *ctx = NULL;
        tess_matrix *m = NULL;
        tess_precond_options all;
        tess_precond *precond = NULL;

        tess_context_options_init(&of_context);
        of_context.device = TESS_DEVICE_GPU;
        of_context.host_allocator = heap_allocator(&host);
        assert_ok(NULL, tess_context_create(&of_context, &ctx));
        m = make_matrix(ctx, &a);
        tess_precond_options_init(&all);
        all.kind = TESS_PRECOND_AMG;
        all.amg = options;
        assert_ok(ctx, tess_precond_create(m, &all, &precond));
        failed = 0;
        heap_fail_at(&host, k);
        for (int turn = 0; turn < 2; turn++) {
            give_values(m, &a);
            failed += tess_precond_update(precond) != TESS_SUCCESS;
        }
        heap_fail_at(&host, -1);
        give_values(m, &a);
        assert_ok(ctx, tess_precond_update(precond));
        tess_precond_destroy(precond);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        assert_int_equal(host.live, 0);
        assert_int_equal(host.wrong_releases, 0);
        assert_true(k < 1000);
    }
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_values_come_back),
        cmocka_unit_test(stored_levels_are_those_of_a_fresh_store),
        cmocka_unit_test(other_magnitudes_get_another_precision),
        cmocka_unit_test(patterns_and_formats_are_not_repeated),
        cmocka_unit_test(levels_of_aggregation_are_kept),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };

    return run_gpu_tests(tests, &gpu);
}
