/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of interpolation on the GPU: the space that they are found in, and interpolation in two stages. */
#include "precond/multigrid/row_set_device.cuh"

namespace {

__global__ void __launch_bounds__(GPU_BLOCK) compact_kernel(const row_output out)
{
    const int64_t entries = out.p.nrows * out.truncation;

    for (int64_t e = first_thread(); e < entries; e += all_threads()) {
        const int64_t r = e / out.truncation;
        const int32_t s = static_cast<int32_t>(e % out.truncation), begin = out.p.row_ptr[r];

        if (s < out.p.row_ptr[r + 1] - begin) {
            out.p.col_ind[begin + s] = out.column[e];
            out.p.val[begin + s] = out.value[e];
        }
    }
}

__global__ void __launch_bounds__(ROW_THREADS)
    join_kernel(const device_csr p1, const device_csr p2, const row_output out)
{
    __shared__ double weights[SMALL_SET][ROW_THREADS];
    __shared__ int32_t columns[SMALL_SET][ROW_THREADS];
    const int64_t step = static_cast<int64_t>(gridDim.x) * ROW_THREADS;

    static_assert(AMG_DEVICE_TRUNCATION * AMG_DEVICE_TRUNCATION <= SMALL_SET, "a row's products have space");
    for (int64_t r = static_cast<int64_t>(blockIdx.x) * ROW_THREADS + threadIdx.x; r < p1.nrows; r += step) {
        small_set set = {&columns[0][threadIdx.x], &weights[0][threadIdx.x], 0};

        for (int32_t k = p1.row_ptr[r]; k < p1.row_ptr[r + 1]; k++) {
            const int32_t row = p1.col_ind[k];

            for (int32_t m = p2.row_ptr[row]; m < p2.row_ptr[row + 1]; m++) {
                set.add(p2.col_ind[m]);
                double &weight = set.weight(set.find(p2.col_ind[m]));

                weight = __dadd_rn(weight, __dmul_rn(p1.val[k], p2.val[m])); /* rounded as on the host */
            }
        }
        write_set(out, set, r);
    }
}

} // namespace

tess_status row_output_open(tess_context *ctx, int64_t nrows, int64_t ncols, device_csr *p, row_output *out)
{
    tess_status status = TESS_SUCCESS;

    if (!out->known) {
        const int64_t entries = nrows * out->truncation;

        *p = {};
        TESS_TRY(device_csr_allocate_rows(ctx, nrows, ncols, p));
        TESS_TRY(tess_device_allocate(ctx, entries, sizeof *out->column, reinterpret_cast<void **>(&out->column)));
        TESS_TRY(tess_device_allocate(ctx, entries, sizeof *out->value, reinterpret_cast<void **>(&out->value)));
    } else if (!p->val) {
        TESS_TRY(tess_device_allocate(ctx, p->nnz, sizeof *p->val, reinterpret_cast<void **>(&p->val)));
    }
    out->p = *p;
cleanup:
    return status;
}

tess_status row_output_take(tess_context *ctx, row_output *out, device_csr *p)
{
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    if (out->known) { return TESS_SUCCESS; }
    TESS_TRY(gpu_sum_lengths(ctx, p->nrows, p->row_ptr, &nnz));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, true, p));
    out->p = *p;
    compact_kernel<<<gpu_grid(ctx, p->nrows * out->truncation, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*out);
    status = gpu_check_launch(ctx, "rows of the interpolation");
cleanup:
    return status;
}

void row_output_close(tess_context *ctx, int64_t nrows, const row_output *out)
{
    tess_device_release(ctx, out->column, nrows * out->truncation, sizeof *out->column);
    tess_device_release(ctx, out->value, nrows * out->truncation, sizeof *out->value);
}

unsigned row_output_grid(const tess_context *ctx, int64_t nrows)
{
    return gpu_grid(ctx, nrows * (GPU_BLOCK / ROW_THREADS), PASS_BLOCKS);
}

tess_status amg_device_join(tess_context *ctx, const device_csr *p1, const device_csr *p2, int truncation, bool known,
                            device_csr *p)
{
    gpu_scope scope(ctx);
    row_output out = {};
    tess_status status = TESS_SUCCESS;

    out.known = known;
    out.truncation = truncation;
    TESS_TRY(row_output_open(ctx, p1->nrows, p2->ncols, p, &out));
    join_kernel<<<row_output_grid(ctx, p1->nrows), ROW_THREADS, 0, gpu_stream_of(ctx)>>>(*p1, *p2, out);
    TESS_TRY(gpu_check_launch(ctx, "interpolation in two stages"));
    status = row_output_take(ctx, &out, p);
cleanup:
    row_output_close(ctx, p1->nrows, &out);
    if (status != TESS_SUCCESS && !known) { device_csr_release(ctx, p); }
    return status;
}
