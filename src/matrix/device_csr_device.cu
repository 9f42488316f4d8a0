/* SPDX-License-Identifier: Apache-2.0 */
/* Products and transposes of plain CSR matrices on a GPU. */
#include "device/gpu/scan_grid.cuh"
#include "matrix/product_table.cuh"

enum { PASS_BLOCKS = 16, RANK_GROUP = 8, MOST_RANKED = 96 };

/* ---- products ---- */

static tess_status multiply(tess_context *ctx, const device_csr *a, const device_csr *b, device_csr *c)
{
    gpu_scope scope(ctx);
    product_task t = {*a, *b, {}, a->val != NULL && b->val != NULL};
    tess_status status = TESS_SUCCESS;

    *c = {};
    TESS_TRY(device_csr_allocate_rows(ctx, a->nrows, b->ncols, c));
    t.c = *c;
    status = product_compute(ctx, t, c);
cleanup:
    if (status != TESS_SUCCESS) { device_csr_release(ctx, c); }
    return status;
}

/* plan NULL: none. */
static tess_status multiply_planned(tess_context *ctx, const device_csr *a, const device_csr *b,
                                    const device_csr_plan *plan, device_csr *c)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    if (!c->val) { TESS_TRY(tess_device_allocate(ctx, c->nnz, sizeof *c->val, (void **)&c->val)); }
    status =
        plan ? product_compute_planned(ctx, {*a, *b, *c, true}, plan) : product_compute_again(ctx, {*a, *b, *c, true});
cleanup:
    return status;
}

static tess_status multiply_again(tess_context *ctx, const device_csr *a, const device_csr *b, device_csr *c)
{
    return multiply_planned(ctx, a, b, NULL, c);
}

/* ---- transposes ---- */

/* Entries of the transpose in any order within their rows. */
struct unsorted {
    int32_t *col_ind, *source;
};

/* Adds 1 to count[j] for each entry of column j. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_columns_kernel(int64_t nnz, const int32_t *col_ind, int32_t *count)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * GPU_BLOCK) {
        atomicAdd(&count[col_ind[k]], 1);
    }
}

/* Each entry takes a place in its row of the transpose. taken: zeros before. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    place_entries_kernel(const device_csr a, const int32_t *row_ptr, int32_t *taken, const unsorted to)
{
    const int64_t teams = (int64_t)gridDim.x * GPU_BLOCK / RANK_GROUP;

    for (int64_t i = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / RANK_GROUP; i < a.nrows; i += teams) {
        for (int32_t k = a.row_ptr[i] + (int)threadIdx.x % RANK_GROUP; k < a.row_ptr[i + 1]; k += RANK_GROUP) {
            const int32_t j = a.col_ind[k];
            const int32_t at = row_ptr[j] + atomicAdd(&taken[j], 1);

            to.col_ind[at] = (int32_t)i;
            to.source[at] = k;
        }
    }
}

/* Places in the order of the entries' rows. A later entry of A has a larger number too. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    order_short_rows_kernel(const int32_t *list, int64_t rows, const unsorted from, const device_csr out,
                            int32_t *source)
{
    const int64_t teams = (int64_t)gridDim.x * GPU_BLOCK / RANK_GROUP;

    for (int64_t r = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / RANK_GROUP; r < rows; r += teams) {
        const int64_t i = list ? list[r] : r;
        const int32_t begin = out.row_ptr[i], end = out.row_ptr[i + 1];

        for (int32_t k = begin + (int)threadIdx.x % RANK_GROUP; k < end; k += RANK_GROUP) {
            const int32_t column = from.col_ind[k];
            int32_t to = begin;

            for (int32_t other = begin; other < end; other++) {
                to += from.col_ind[other] < column;
            }
            out.col_ind[to] = column;
            source[to] = from.source[k];
        }
    }
}

/* Columns and numbers ascend together, so that each is sorted by itself. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    order_long_rows_kernel(const int32_t *list, int64_t rows, const unsorted from, const device_csr out,
                           int32_t *source)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const int64_t i = list ? list[r] : r;
        const int32_t begin = out.row_ptr[i], end = out.row_ptr[i + 1];

        for (int32_t k = begin + (int)threadIdx.x; k < end; k += GPU_BLOCK) {
            out.col_ind[k] = from.col_ind[k];
            source[k] = from.source[k];
        }
        __syncthreads();
        sort_by_block(out.col_ind + begin, end - begin);
        sort_by_block(source + begin, end - begin);
        __syncthreads();
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    gather_kernel(int64_t n, const double *from, const int32_t *source, double *values)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < n; k += (int64_t)gridDim.x * GPU_BLOCK) {
        values[k] = from[source[k]];
    }
}

static tess_status gather(tess_context *ctx, int64_t n, const double *from, const int32_t *source, double *values)
{
    gpu_scope scope(ctx);

    gather_kernel<<<gpu_grid(ctx, n, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, from, source, values);
    return gpu_check_launch(ctx, "values of a transpose");
}

static tess_status count_columns(tess_context *ctx, const device_csr *a, device_csr *out)
{
    const unsigned grid = gpu_grid(ctx, a->nnz, PASS_BLOCKS);
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->zero(ctx, out->row_ptr, (size_t)(out->nrows + 1) * sizeof *out->row_ptr));
    count_columns_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(a->nnz, a->col_ind, out->row_ptr + 1);
    TESS_TRY(gpu_check_launch(ctx, "counting columns"));
    status = gpu_sum_lengths(ctx, out->nrows, out->row_ptr, &nnz);
cleanup:
    return status;
}

static tess_status order_rows(tess_context *ctx, const unsorted &from, const device_csr *out, int32_t *source)
{
    const bin_limits limits = {2, {MOST_RANKED, INT32_MAX}};
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    row_bins bins = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(row_bins_make(ctx, out->nrows, {out->row_ptr, true}, limits, &bins));
    if (bins.rows[0] > 0) {
        const unsigned grid = gpu_grid(ctx, bins.rows[0] * RANK_GROUP, PASS_BLOCKS);

        order_short_rows_kernel<<<grid, GPU_BLOCK, 0, stream>>>(row_bins_list(&bins, 0), bins.rows[0], from, *out,
                                                                source);
    }
    if (bins.rows[1] > 0) {
        const unsigned grid = gpu_grid(ctx, bins.rows[1] * GPU_BLOCK, PASS_BLOCKS);

        order_long_rows_kernel<<<grid, GPU_BLOCK, 0, stream>>>(row_bins_list(&bins, 1), bins.rows[1], from, *out,
                                                               source);
    }
    status = gpu_check_launch(ctx, "sorting a transpose");
cleanup:
    row_bins_free(ctx, &bins);
    return status;
}

/* out has its offsets. */
static tess_status place_entries(tess_context *ctx, const device_csr *a, const device_csr *out, int32_t *source)
{
    const unsigned grid = gpu_grid(ctx, a->nrows * RANK_GROUP, PASS_BLOCKS);
    int32_t *taken = NULL;
    unsorted places = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, out->nrows, sizeof *taken, (void **)&taken));
    TESS_TRY(tess_device_allocate(ctx, out->nnz, sizeof *places.col_ind, (void **)&places.col_ind));
    TESS_TRY(tess_device_allocate(ctx, out->nnz, sizeof *places.source, (void **)&places.source));
    TESS_TRY(ctx->backend->zero(ctx, taken, (size_t)out->nrows * sizeof *taken));
    place_entries_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*a, out->row_ptr, taken, places);
    TESS_TRY(gpu_check_launch(ctx, "placing the entries of a transpose"));
    status = order_rows(ctx, places, out, source);
cleanup:
    tess_device_release(ctx, places.source, out->nnz, sizeof *places.source);
    tess_device_release(ctx, places.col_ind, out->nnz, sizeof *places.col_ind);
    tess_device_release(ctx, taken, out->nrows, sizeof *taken);
    return status;
}

static tess_status transpose(tess_context *ctx, const device_csr *a, device_csr *out, int32_t **source)
{
    gpu_scope scope(ctx);
    int32_t *own = NULL;
    tess_status status = TESS_SUCCESS;

    *out = {};
    TESS_TRY(device_csr_allocate_rows(ctx, a->ncols, a->nrows, out));
    TESS_TRY(count_columns(ctx, a, out));
    TESS_TRY(device_csr_allocate_entries(ctx, a->nnz, a->val != NULL, out));
    TESS_TRY(tess_device_allocate(ctx, a->nnz, sizeof *own, (void **)&own));
    TESS_TRY(place_entries(ctx, a, out, own));
    if (a->val) { TESS_TRY(gather(ctx, a->nnz, a->val, own, out->val)); }
    if (source) {
        *source = own;
        own = NULL;
    }
cleanup:
    tess_device_release(ctx, own, a->nnz, sizeof *own);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, out); }
    return status;
}

extern "C" const device_csr_ops *device_csr_gpu_ops(void)
{
    static const device_csr_ops table = {multiply,         multiply_again, product_make_plan,
                                         multiply_planned, transpose,      gather};

    return &table;
}
