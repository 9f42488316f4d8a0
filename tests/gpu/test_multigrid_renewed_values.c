/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New values for levels of the GPU are right. Each level is judged by itself, from the matrix of the GPU: a weight
 * divides by a sum that may nearly cancel, so that rounding of one level may be far more on the next.
 */
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/device.h"
#include "support/renewals.h"
#include "support/solve.h"
#include "support/weights.h"

static tess_context *gpu, *cpu;

/* ---- copies ---- */

static host_csr copy_of(const device_csr *a)
{
    host_csr out = {0};

    assert_ok(gpu, device_csr_download(gpu, a, &out));
    return out;
}

static uint8_t *bytes_of(const uint8_t *device, int64_t n)
{
    uint8_t *out = test_allocate(n, 1);

    assert_ok(gpu, gpu->backend->download(gpu, out, device, (size_t)n));
    return out;
}

/* The pattern alone: the GPU keeps no values of it. */
static host_csr pattern_of(const device_csr *a)
{
    host_csr out = {.nrows = a->nrows, .ncols = a->ncols};
    int32_t *offsets = test_allocate(a->nrows + 1, sizeof *offsets);

    out.row_ptr = test_allocate(a->nrows + 1, sizeof *out.row_ptr);
    out.col_ind = test_allocate(a->nnz, sizeof *out.col_ind);
    assert_ok(gpu, gpu->backend->download(gpu, offsets, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *offsets));
    assert_ok(gpu, gpu->backend->download(gpu, out.col_ind, a->col_ind, (size_t)a->nnz * sizeof *out.col_ind));
    for (int64_t i = 0; i <= a->nrows; i++) {
        out.row_ptr[i] = offsets[i];
    }
    free(offsets);
    return out;
}

static void free_pattern(host_csr *a)
{
    free(a->row_ptr);
    free(a->col_ind);
}

/* ---- interpolation ---- */

/* Bounds of P = P_1 P_2; `first` is of P_1. */
static void bound_twice(const amg_device_level *own, const weights_of *first, const host_csr *p, bounded *out)
{
    host_csr p1 = pattern_of(&own->p1), p2 = pattern_of(&own->p2);
    uint8_t *split = bytes_of(own->second, own->a.nrows);
    int32_t *rows = test_allocate(own->a.nrows, sizeof *rows);
    bounded *val1 = test_allocate(own->p1.nnz, sizeof *val1), *val2 = test_allocate(own->p2.nnz, sizeof *val2);
    weights_of second = *first;

    for (int64_t i = 0, count = 0; i < own->a.nrows; i++) {
        if (first->split[i] == AMG_COARSE) { rows[count++] = (int32_t)i; }
    }
    second.split = split;
    second.rows = rows;
    bound_weights(first, &p1, val1);
    bound_weights(&second, &p2, val2);
    bound_joined(&p1, val1, &p2, val2, p, out);
    free(val1);
    free(val2);
    free(rows);
    free(split);
    free_pattern(&p1);
    free_pattern(&p2);
}

/* Returns how many weights have a bound: sums of some nearly cancel. */
static int64_t check_weights(const amg_device_level *own, const host_csr *a, const host_csr *p)
{
    uint8_t *strong = bytes_of(own->strong, own->a.nnz), *split = bytes_of(own->split, own->a.nrows);
    const weights_of w = {a, strong, split, NULL};
    bounded *expected = test_allocate(own->p.nnz, sizeof *expected);
    int64_t known = 0;

    if (own->second) {
        bound_twice(own, &w, p, expected);
    } else {
        bound_weights(&w, p, expected);
    }
    for (int64_t k = 0; k < own->p.nnz; k++) {
        if (!isfinite((double)expected[k].error)) { continue; }
        assert_at_most((double)fabsl((long double)p->val[k] - expected[k].value), (double)expected[k].error);
        known++;
    }
    free(expected);
    free(strong);
    free(split);
    return known;
}

/* ---- products ---- */

static int64_t longest_row(const host_csr *a)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        longest = a->row_ptr[i + 1] - a->row_ptr[i] > longest ? a->row_ptr[i + 1] - a->row_ptr[i] : longest;
    }
    return longest;
}

static void take_magnitudes(host_csr *a)
{
    for (int64_t k = 0; k < host_csr_nnz(a); k++) {
        a->val[k] = fabs(a->val[k]);
    }
}

/* R (A P) by the GPU and by the host: each is off by at most the longest sums' terms and two products, times the unit
   roundoff and |R| |A| |P|. */
static void check_product(host_csr *r, host_csr *a, host_csr *p, const host_csr *coarse)
{
    const double terms = (double)(longest_row(r) + longest_row(a) + 2);
    host_csr expected = {0}, magnitudes = {0};

    assert_ok(cpu, host_csr_multiply_triple(cpu, r, a, p, &expected));
    take_magnitudes(r);
    take_magnitudes(a);
    take_magnitudes(p);
    assert_ok(cpu, host_csr_multiply_triple(cpu, r, a, p, &magnitudes));
    assert_int_equal(host_csr_nnz(coarse), host_csr_nnz(&expected));
    assert_memory_equal(coarse->row_ptr, expected.row_ptr, (size_t)(coarse->nrows + 1) * sizeof *coarse->row_ptr);
    assert_memory_equal(coarse->col_ind, expected.col_ind, (size_t)host_csr_nnz(coarse) * sizeof *coarse->col_ind);
    for (int64_t k = 0; k < host_csr_nnz(coarse); k++) {
        assert_at_most(fabs(coarse->val[k] - expected.val[k]), 2.0 * terms * 0x1p-53 * magnitudes.val[k]);
    }
    host_csr_release(cpu, &expected);
    host_csr_release(cpu, &magnitudes);
}

static void check_transpose(const host_csr *p, const host_csr *r)
{
    host_csr expected = {0};

    assert_ok(cpu, host_csr_transpose(cpu, p, &expected));
    assert_memory_equal(r->col_ind, expected.col_ind, (size_t)host_csr_nnz(p) * sizeof *r->col_ind);
    assert_true(same_bits(r->val, expected.val, host_csr_nnz(p)));
    host_csr_release(cpu, &expected);
}

/* ---- levels ---- */

static void check_level(const amg_device_level *own, int64_t *known, int64_t *all)
{
    host_csr a = copy_of(&own->a), p = copy_of(&own->p), r = copy_of(&own->r), coarse = copy_of(&own[1].a);

    *known += check_weights(own, &a, &p);
    *all += own->p.nnz;
    check_transpose(&p, &r);
    check_product(&r, &a, &p, &coarse);
    host_csr_release(gpu, &a);
    host_csr_release(gpu, &p);
    host_csr_release(gpu, &r);
    host_csr_release(gpu, &coarse);
}

static void check_plans(const amg_hierarchy *h, int problem)
{
    for (int l = 0; l + 1 < h->count; l++) {
        const amg_device_level *own = &h->device->level[l];

        assert_true(own->plan.made && own->ap_plan.made && own->coarse_plan.made);
        if (problem != LONG_ROW) {
            assert_non_null(own->plan.code);
            assert_non_null(own->ap_plan.code);
            assert_non_null(own->coarse_plan.code);
            assert_true(!own->second || own->second_plan.code);
        }
    }
    if (problem == LONG_ROW) { assert_null(h->device->level[0].plan.code); }
}

/* The first renewal makes plans, the second has them. */
static void new_values_are_right(void **state)
{
    (void)state;
    for (int k = 0; k < 3 * LARGE_SETS + 2; k++) {
        const int problem = k < 3 * LARGE_SETS ? k / 3 : k - 2 * LARGE_SETS;
        oracle_csr a = renewed_problem(problem);
        tess_matrix *m = make_matrix(gpu, &a);
        amg_hierarchy h = {.ctx = gpu, .options = renewed_options(problem < LARGE_SETS ? k % 3 : 0)};

        assert_ok(gpu, amg_hierarchy_build(&h, m));
        assert_true(h.count >= 2 && h.device);
        for (int turn = 0; turn < 2; turn++) {
            int64_t known = 0, all = 0;

            change_values(&a, (uint64_t)(3 + turn), 0.05);
            give_values(m, &a);
            assert_ok(gpu, amg_hierarchy_renew(&h, m));
            check_plans(&h, problem);
            for (int l = 0; l + 1 < h.count; l++) {
                check_level(&h.device->level[l], &known, &all);
            }
            assert_true(100 * known >= 99 * all);
        }
        amg_hierarchy_close(&h);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(new_values_are_right)};
    int failed;

    cpu = open_cpu(2);
    failed = run_gpu_tests(tests, &gpu);
    tess_context_destroy(cpu);
    return failed;
}
