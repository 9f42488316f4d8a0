/* SPDX-License-Identifier: Apache-2.0 */
/* Products of CSR in pairs of FP32 numbers on the host, in the order of the GPU (csr_pairs_device.cu). */
#include "device/host/host.h"
#include "format/csr/csr_host.h"
#include "format/pairs.h"
#include "format/row_epilogue.h"

enum { MOST_LANES = 32 };

TESS_INLINE double sum_row(const csr_view *v, const tess_spmv_args *args, int64_t i, int width)
{
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1);
    float_pair lane[MOST_LANES] = {{0.0F, 0.0F}};

    for (int64_t k = begin; k < end; k++) {
        float_pair *const sum = &lane[(k - begin) & (width - 1)];

        *sum = float_pair_plus(
            *sum, float_pair_times(pairs_value(v->precision, v->val, k), pairs_factor(args, v->col_ind[k])));
    }
    for (int half = width / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) {
            lane[l] = float_pair_plus(lane[l], lane[l + half]);
        }
    }
    return float_pair_value(lane[0]);
}

/* A function of its own, for processors with FMA. */
HOST_CLONES static void sum_rows(const csr_view *v, const tess_spmv_args *args, int64_t first, int64_t last, int width,
                                 double *sum)
{
    for (int64_t i = first; i < last; i++) {
        sum[i - first] = sum_row(v, args, i, width);
    }
}

tess_status csr_host_multiply_pairs(tess_context *ctx, const csr_view *v, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int width = pairs_width(v->nrows, v->nnz);
    const int64_t blocks = (v->nrows + HOST_BLOCK - 1) / HOST_BLOCK;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    TESS_TRY(host_partials(ctx, 2 * blocks, &partials));
#pragma omp parallel for num_threads(host_threads_for(ctx, v->nnz)) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t last = (b + 1) * HOST_BLOCK < v->nrows ? (b + 1) * HOST_BLOCK : v->nrows;
        double dots[2] = {0.0, 0.0}, sum[HOST_BLOCK];

        sum_rows(v, args, b * HOST_BLOCK, last, width, sum);
        for (int64_t i = b * HOST_BLOCK; i < last; i++) {
            spmv_finish_single(args, i, sum[i - b * HOST_BLOCK], dots);
        }
        partials[b] = dots[0];
        partials[blocks + b] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, blocks, reduction->ndots, reduction->scalar, reduction->state);
    }
cleanup:
    return status;
}
