/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of plain CSR matrices on a GPU, and their ways to matrices and to the host. */
#include "matrix/device_csr.h"

#include <tessera/names.h>

#include "matrix/assembled.h"

tess_status device_csr_allocate_rows(tess_context *ctx, int64_t nrows, int64_t ncols, device_csr *out)
{
    *out = (device_csr){.nrows = nrows, .ncols = ncols};
    return tess_device_allocate(ctx, nrows + 1, sizeof *out->row_ptr, (void **)&out->row_ptr);
}

tess_status device_csr_allocate_entries(tess_context *ctx, int64_t nnz, bool values, device_csr *a)
{
    tess_status status = TESS_SUCCESS;

    if (nnz > INT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "multiply copies in a CPU context (tess_matrix_copy_to)",
                         "a product of matrices has %s; a GPU computes products of up to %d",
                         tess_count(nnz, "nonzero").text, INT32_MAX);
    }
    a->nnz = nnz;
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *a->col_ind, (void **)&a->col_ind));
    if (values) { status = tess_device_allocate(ctx, nnz, sizeof *a->val, (void **)&a->val); }
cleanup:
    return status;
}

tess_status device_csr_copy_pattern(tess_context *ctx, const device_csr *a, device_csr *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, a->nrows, a->ncols, out));
    TESS_TRY(device_csr_allocate_entries(ctx, a->nnz, false, out));
    TESS_TRY(ctx->backend->copy(ctx, out->row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *out->row_ptr));
    status = ctx->backend->copy(ctx, out->col_ind, a->col_ind, (size_t)a->nnz * sizeof *out->col_ind);
cleanup:
    return status;
}

void device_csr_release_values(tess_context *ctx, device_csr *a)
{
    if (!a->borrowed) { tess_device_release(ctx, a->val, a->nnz, sizeof *a->val); }
    a->val = NULL;
}

void device_csr_release(tess_context *ctx, device_csr *a)
{
    device_csr_release_values(ctx, a);
    if (!a->borrowed) {
        tess_device_release(ctx, a->col_ind, a->nnz, sizeof *a->col_ind);
        tess_device_release(ctx, a->row_ptr, a->nrows + 1, sizeof *a->row_ptr);
    }
    *a = (device_csr){0};
}

int64_t device_csr_bytes(const device_csr *a)
{
    if (a->borrowed || !a->row_ptr) { return 0; }
    return (a->nrows + 1) * (int64_t)sizeof *a->row_ptr + a->nnz * (int64_t)sizeof *a->col_ind +
           (a->val ? a->nnz * (int64_t)sizeof *a->val : 0);
}

void device_csr_plan_release(tess_context *ctx, device_csr_plan *plan)
{
    tess_device_release(ctx, plan->code, plan->units * 4, sizeof *plan->code);
    tess_device_release(ctx, plan->first, plan->nrows + 1, sizeof *plan->first);
    *plan = (device_csr_plan){0};
}

int64_t device_csr_plan_bytes(const device_csr_plan *plan)
{
    return plan->code ? plan->units * 4 + (plan->nrows + 1) * (int64_t)sizeof *plan->first : 0;
}

bool device_csr_takes(const tess_matrix *a)
{
    return a->ctx->device == TESS_DEVICE_GPU && csr_of(a)->view.row_ptr_bits == 32;
}

/* The arrays are read only, whatever the pointers say. */
void device_csr_borrow(const tess_matrix *a, device_csr *out)
{
    const csr_view *v = &csr_of(a)->view;

    *out = (device_csr){.nrows = v->nrows,
                        .ncols = v->ncols,
                        .nnz = v->nnz,
                        .row_ptr = (int32_t *)(uintptr_t)v->row_ptr,
                        .col_ind = (int32_t *)(uintptr_t)v->col_ind,
                        .val = (double *)(uintptr_t)v->val,
                        .borrowed = true};
}

tess_status device_csr_to_matrix(tess_context *ctx, device_csr *a, tess_matrix **out)
{
    const device_csr taken = *a;

    *a = (device_csr){0};
    return tess_matrix_adopt_device_csr(ctx, taken.nrows, taken.ncols, taken.nnz, taken.row_ptr, 32, taken.col_ind,
                                        taken.val, out);
}

/* Offsets arrive in 32 bits. */
static tess_status download_offsets(tess_context *ctx, const device_csr *a, int64_t *row_ptr)
{
    int32_t *narrow = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, sizeof *narrow, (void **)&narrow));
    TESS_TRY(ctx->backend->download(ctx, narrow, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *narrow));
    for (int64_t i = 0; i <= a->nrows; i++) {
        row_ptr[i] = narrow[i];
    }
cleanup:
    tess_host_release(ctx, narrow, a->nrows + 1, sizeof *narrow);
    return status;
}

tess_status device_csr_download(tess_context *ctx, const device_csr *a, host_csr *out)
{
    const size_t nnz = (size_t)a->nnz;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, a->nrows, a->ncols, out));
    out->row_ptr[a->nrows] = 0;
    TESS_TRY(download_offsets(ctx, a, out->row_ptr));
    TESS_TRY(host_csr_allocate_entries(ctx, out));
    TESS_TRY(ctx->backend->download(ctx, out->col_ind, a->col_ind, nnz * sizeof *out->col_ind));
    status = ctx->backend->download(ctx, out->val, a->val, nnz * sizeof *out->val);
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(ctx, out); }
    return status;
}
