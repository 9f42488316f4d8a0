/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate inverses on the GPU: the table of functions, and what becomes of the rows. */
#include <tessera/names.h>

#include "matrix/assembled.h"
#include "precond/inverse/inverse_device.cuh"

tess_status inverse_require_offsets(tess_context *ctx, int64_t nnz)
{
    if (nnz <= INT32_MAX) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_OUT_OF_RANGE, "use a CPU context (--device cpu), or shorter rows (--inverse-row)",
                     "an approximate inverse has %s; a GPU takes up to %d", tess_count(nnz, "nonzero").text, INT32_MAX);
}

namespace {

/* ---- patterns of the host ---- */

tess_status take_pattern(tess_context *ctx, host_csr *host, inverse_rows *rows)
{
    const int64_t nnz = host_csr_nnz(host);
    device_csr *out = &rows->device;
    int32_t *row_ptr = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(inverse_require_offsets(ctx, nnz));
    TESS_TRY(device_csr_allocate_rows(ctx, host->nrows, host->ncols, out));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, false, out));
    TESS_TRY(tess_host_allocate(ctx, host->nrows + 1, sizeof *row_ptr, reinterpret_cast<void **>(&row_ptr)));
    for (int64_t i = 0; i <= host->nrows; i++) {
        row_ptr[i] = static_cast<int32_t>(host->row_ptr[i]);
    }
    TESS_TRY(ctx->backend->upload(ctx, out->row_ptr, row_ptr, static_cast<size_t>(host->nrows + 1) * sizeof *row_ptr));
    status = ctx->backend->upload(ctx, out->col_ind, host->col_ind, static_cast<size_t>(nnz) * sizeof *out->col_ind);
cleanup:
    tess_host_release(ctx, row_ptr, host->nrows + 1, sizeof *row_ptr);
    return status;
}

/* ---- matrices ---- */

tess_status scale_values(tess_context *ctx, double factor, const device_csr *rows)
{
    tess_fused op = {};

    if (factor == 1.0 || rows->nnz == 0) { return TESS_SUCCESS; }
    op.op = TESS_FUSED_SCALE;
    op.n = rows->nnz;
    op.x.data = rows->val;
    op.y.data = rows->val;
    op.result = rows->val;
    op.a = factor;
    return ctx->backend->fused(ctx, &op);
}

tess_status to_matrices(tess_context *ctx, inverse_rows *rows, double factor, tess_matrix **m, tess_matrix **transpose)
{
    gpu_scope scope(ctx);
    device_csr turned = {}, own = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(scale_values(ctx, factor, &rows->device));
    if (transpose) {
        TESS_TRY(device_csr_ops_of(ctx)->transpose(ctx, &rows->device, &turned, nullptr));
        TESS_TRY(device_csr_to_matrix(ctx, &turned, transpose));
    }
    TESS_TRY(device_csr_copy_pattern(ctx, &rows->device, &own));
    own.val = rows->device.val;
    rows->device.val = nullptr;
    status = device_csr_to_matrix(ctx, &own, m);
cleanup:
    device_csr_release(ctx, &turned);
    device_csr_release(ctx, &own);
    return status;
}

int64_t entries(const inverse_rows *rows)
{
    return rows->device.nnz;
}

int64_t bytes(const inverse_rows *rows)
{
    return device_csr_bytes(&rows->device);
}

void release(tess_context *ctx, inverse_rows *rows)
{
    gpu_scope scope(ctx);

    device_csr_release(ctx, &rows->device);
}

const inverse_ops operations = {inverse_pattern_on_device,
                                take_pattern,
                                inverse_rows_on_device,
                                inverse_drop_small_on_device,
                                to_matrices,
                                entries,
                                bytes,
                                release};

} // namespace

extern "C" const inverse_ops *inverse_gpu_ops(void)
{
    return &operations;
}
