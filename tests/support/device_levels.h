/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of multigrid that the GPU builds beside those of the host. */
#ifndef TESS_TESTS_SUPPORT_DEVICE_LEVELS_H
#define TESS_TESTS_SUPPORT_DEVICE_LEVELS_H

#include "precond/multigrid/aggregation/aggregation_device.h"
#include "support/test.h"

/* Values of a level differ by the rounding of the levels above, whose sums have some tens of terms. */
static const double level_rounding = 1e-10;

static inline amg_hierarchy build_levels(tess_context *ctx, const tess_matrix *a, const tess_amg_options *options)
{
    amg_hierarchy h = {.ctx = ctx, .options = *options};

    assert_ok(ctx, amg_hierarchy_build(&h, a));
    return h;
}

/* The same pattern, and values within `rounding` of the row's largest. */
static inline void check_same_csr(tess_context *gpu, const host_csr *expected, const device_csr *computed,
                                  double rounding)
{
    host_csr c = {0};

    assert_int_equal(computed->nrows, expected->nrows);
    assert_int_equal(computed->ncols, expected->ncols);
    assert_int_equal(computed->nnz, host_csr_nnz(expected));
    assert_ok(gpu, device_csr_download(gpu, computed, &c));
    assert_memory_equal(c.row_ptr, expected->row_ptr, (size_t)(c.nrows + 1) * sizeof *c.row_ptr);
    assert_memory_equal(c.col_ind, expected->col_ind, (size_t)computed->nnz * sizeof *c.col_ind);
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

static inline void check_same_levels(tess_context *gpu, const amg_hierarchy *expected, const amg_hierarchy *computed)
{
    assert_non_null(computed->device);
    assert_int_equal(computed->count, expected->count);
    for (int l = 0; l < computed->count; l++) {
        const amg_device_level *own = &computed->device->level[l];

        check_same_csr(gpu, &expected->level[l].a, &own->a, level_rounding);
        if (l + 1 == computed->count) { continue; }
        check_same_csr(gpu, &expected->level[l].p, &own->p, level_rounding);
        check_same_csr(gpu, &expected->level[l].r, &own->r, level_rounding);
    }
}

#endif
