/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing the entries of a matrix back from the GPU. */
#ifndef TESS_FORMAT_DECODE_ENTRIES_CUH
#define TESS_FORMAT_DECODE_ENTRIES_CUH

#include "device/gpu/gpu.h"

/* Host arrays of nnz columns and values, either NULL, from those on the GPU that launch(columns, values) writes. */
template <typename LAUNCH>
static inline tess_status gpu_decode_entries(tess_context *ctx, int64_t nnz, int32_t *col_ind, double *val,
                                             LAUNCH launch)
{
    int32_t *columns = NULL;
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    if (nnz == 0) { return TESS_SUCCESS; }
    if (col_ind) { TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *columns, (void **)&columns)); }
    if (val) { TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *values, (void **)&values)); }
    TESS_TRY(launch(columns, values));
    if (col_ind) { TESS_TRY(ctx->backend->download(ctx, col_ind, columns, (size_t)nnz * sizeof *columns)); }
    if (val) { TESS_TRY(ctx->backend->download(ctx, val, values, (size_t)nnz * sizeof *values)); }
cleanup:
    tess_device_release(ctx, columns, nnz, sizeof *columns);
    tess_device_release(ctx, values, nnz, sizeof *values);
    return status;
}

#endif
