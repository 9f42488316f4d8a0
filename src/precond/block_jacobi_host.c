/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi on the host. */
#include <string.h>

#include "backend/host/host.h"
#include "format/csr/csr_host.h"
#include "precond/invert_block.h"

/* Copies diagonal block number `block` to `a`; rows past the end are those of the identity. */
static void extract_block(const csr_view *v, int64_t block, int k, double *a)
{
    const double *val = v->val;
    int64_t first = block * k;

    memset(a, 0, (size_t)(k * k) * sizeof *a);
    for (int i = 0; i < k; i++) {
        if (first + i >= v->nrows) {
            a[i + k * i] = 1.0;
            continue;
        }
        for (int64_t e = csr_offset(v, first + i); e < csr_offset(v, first + i + 1); e++) {
            int64_t j = v->col_ind[e] - first;

            if (j >= 0 && j < k) { a[i + k * j] = val[e]; }
        }
    }
}

tess_status host_block_jacobi_build(const tess_matrix *assembled, tess_block_diagonal *blocks, int64_t *singular_row)
{
    const csr_view *v = &csr_of(assembled)->view;
    int k = blocks->block_size;
    int64_t nblocks = (blocks->n + k - 1) / k, first_bad = INT64_MAX;

#pragma omp parallel for num_threads(assembled->ctx->threads) schedule(static) \
    reduction(min                                                              \
              : first_bad) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        double *a = blocks->inverse + b * k * k;
        int bad;

        extract_block(v, b, k, a);
        bad = invert_block(a, k);
        if (bad >= 0 && b * k + bad < first_bad) { first_bad = b * k + bad; }
    }
    *singular_row = first_bad == INT64_MAX ? -1 : first_bad;
    return TESS_SUCCESS;
}

/* z = inverse * r for one block; returns its share of the dot products in dots. */
static void apply_block(const tess_block_diagonal *m, int64_t block, const double *r, double *z,
                        const tess_reduction *reduction, double *dots)
{
    int k = m->block_size;
    int64_t first = block * k;
    int rows = m->n - first < k ? (int)(m->n - first) : k;
    const double *a = m->inverse + block * k * k;

    for (int i = 0; i < rows; i++) {
        double sum = 0.0;

        for (int j = 0; j < rows; j++) {
            sum += a[i + k * j] * r[first + j];
        }
        z[first + i] = sum;
        for (int d = 0; d < reduction->ndots; d++) {
            dots[d] += sum * (reduction->with[d] == z ? sum : reduction->with[d][first + i]);
        }
    }
}

tess_status host_block_jacobi_apply(tess_context *ctx, const tess_block_diagonal *m, tess_precision vectors,
                                    const void *r, void *z, const tess_reduction *reduction)
{
    int64_t nblocks = (m->n + m->block_size - 1) / m->block_size;
    int64_t per_group = HOST_BLOCK / m->block_size, ngroups = (nblocks + per_group - 1) / per_group;
    double *partials = NULL;
    tess_status status = host_partials(ctx, 2 * ngroups, &partials);

    (void)vectors;

    if (status != TESS_SUCCESS) { return status; }
    if (!host_enter(reduction->state, false, reduction->ndots > 0)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (m->n * m->block_size > HOST_SERIAL_WORK)
    for (int64_t g = 0; g < ngroups; g++) {
        int64_t end = (g + 1) * per_group < nblocks ? (g + 1) * per_group : nblocks;
        double dots[2] = {0.0, 0.0};

        for (int64_t b = g * per_group; b < end; b++) {
            apply_block(m, b, r, z, reduction, dots);
        }
        partials[g] = dots[0];
        partials[ngroups + g] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, ngroups, reduction->ndots, reduction->step, reduction->state);
    }
    return TESS_SUCCESS;
}
