/* SPDX-License-Identifier: Apache-2.0 */
/* Building BSR on the GPU, and decoding it: a thread for each block row. The sums are of integers, so the result does
   not depend on their order. */
#include "device/gpu/scan.cuh"
#include "format/bsr/bsr_rows.h"
#include "format/decode_entries.cuh"

/* ---- counts ---- */

/* numbers[0] += blocks, numbers[1] += entries, of a sample. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_kernel(const csr_view csr, int64_t nblock_rows, int block, int64_t stride, unsigned long long *numbers)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    unsigned long long blocks = 0, entries = 0;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nblock_rows; i += step) {
        if (!bsr_is_sampled(i, stride)) { continue; }
        blocks += (unsigned long long)bsr_count_row(&csr, block, block, i);
        entries += (unsigned long long)bsr_count_entries(&csr, block, i);
    }
    if (entries > 0) {
        atomicAdd(&numbers[0], blocks);
        atomicAdd(&numbers[1], entries);
    }
}

/* numbers[0]: the greatest reach of all block rows. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    reach_kernel(const csr_view csr, int64_t nblock_rows, int block, int64_t stride, unsigned long long *numbers)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    unsigned long long own = 0;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nblock_rows; i += stride * step) {
        own = max(own, (unsigned long long)bsr_reach_row(&csr, block, i));
    }
    if (own > 0) { atomicMax(numbers, own); }
}

typedef void (*finding_kernel)(const csr_view, int64_t, int, int64_t, unsigned long long *);

/* The two numbers that a kernel finds. */
static tess_status find_numbers(tess_context *ctx, const csr_view *csr, int block, int64_t stride, const char *doing,
                                finding_kernel kernel, unsigned long long *found)
{
    gpu_scope scope(ctx);
    const int64_t nblock_rows = (csr->nrows + block - 1) / block;
    unsigned long long *device = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 2, sizeof *device, (void **)&device));
    TESS_TRY(ctx->backend->zero(ctx, device, 2 * sizeof *device));
    TESS_TRY(
        gpu_launch(ctx, doing, kernel, gpu_grid(ctx, nblock_rows, 8), 0, *csr, nblock_rows, block, stride, device));
    status = ctx->backend->download(ctx, found, device, 2 * sizeof *device);
cleanup:
    tess_device_release(ctx, device, 2, sizeof *device);
    return status;
}

extern "C" tess_status bsr_gpu_count_blocks(tess_context *ctx, const csr_view *csr, int block, int64_t stride,
                                            int64_t *blocks, int64_t *entries)
{
    unsigned long long found[2] = {0, 0};
    const tess_status status = find_numbers(ctx, csr, block, stride, "counting blocks", count_kernel, found);

    *blocks = (int64_t)found[0];
    *entries = (int64_t)found[1];
    return status;
}

extern "C" tess_status bsr_gpu_measure_reach(tess_context *ctx, const csr_view *csr, int block, int64_t *reach)
{
    unsigned long long found[2] = {0, 0};
    const tess_status status = find_numbers(ctx, csr, block, 1, "measuring the columns of blocks", reach_kernel, found);

    *reach = (int64_t)found[0];
    return status;
}

/* ---- offsets ---- */

/* Runs of as many block rows as a block has threads: the number of blocks of run r goes to counts[r]; or with places,
   the runs' first blocks are in `counts`, and the offsets of their block rows are written. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    offsets_kernel(const csr_view csr, const bsr_view v, int64_t *counts, bool places)
{
    const int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    const int64_t own = i < v.nblock_rows ? bsr_count_row(&csr, v.height, v.width, i) : 0;
    int64_t all = 0, before = scan_block<GPU_BLOCK>(own, &all);

    if (!places) {
        if (threadIdx.x == 0) { counts[blockIdx.x] = all; }
        return;
    }
    before += counts[blockIdx.x];
    if (i < v.nblock_rows) { tess_row_offset_set(v.row_ptr, v.row_ptr_bits, i, before); }
    if (i == v.nblock_rows - 1) { tess_row_offset_set(v.row_ptr, v.row_ptr_bits, i + 1, before + own); }
}

extern "C" tess_status bsr_gpu_fill_offsets(tess_context *ctx, const csr_view *csr, const bsr_view *v, int64_t *nblocks)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t nruns = (v->nblock_rows + GPU_BLOCK - 1) / GPU_BLOCK;
    const series_base base = {};
    double *workspace = NULL;
    int64_t *counts = NULL;
    tess_status status = TESS_SUCCESS;

    *nblocks = 0;
    if (nruns == 0) { return ctx->backend->zero(ctx, v->row_ptr, (size_t)v->row_ptr_bits / 8); }
    TESS_TRY(gpu_parts(ctx, nruns + 1, &workspace));
    counts = (int64_t *)(void *)workspace;
    offsets_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*csr, *v, counts, false);
    TESS_TRY(gpu_check_launch(ctx, "counting the blocks of rows"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(nruns, base, counts, counts + nruns);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of block rows"));
    offsets_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*csr, *v, counts, true);
    TESS_TRY(gpu_check_launch(ctx, "placing block rows"));
    status = ctx->backend->download(ctx, nblocks, counts + nruns, sizeof *nblocks);
cleanup:
    return status;
}

/* ---- columns and values ---- */

__global__ static void __launch_bounds__(GPU_BLOCK) fill_columns_kernel(const csr_view csr, const bsr_view v)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < v.nblock_rows; i += step) {
        bsr_fill_row_columns(&csr, &v, v.height, v.width, i);
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK) fill_values_kernel(const csr_view csr, const bsr_view v)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < v.nblock_rows; i += step) {
        bsr_fill_row_values(&csr, &v, v.precision, v.height, v.width, i);
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    decode_kernel(const csr_view csr, const bsr_view v, int32_t *col_ind, double *val)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < v.nblock_rows; i += step) {
        bsr_decode_row(&csr, &v, i, col_ind, val);
    }
}

static unsigned grid_of(const tess_context *ctx, const bsr_view *v)
{
    return gpu_grid(ctx, v->nblock_rows, 8);
}

extern "C" tess_status bsr_gpu_fill_columns(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
    gpu_scope scope(ctx);

    fill_columns_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v);
    return gpu_check_launch(ctx, "storing the columns of blocks");
}

extern "C" tess_status bsr_gpu_fill_values(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
    gpu_scope scope(ctx);

    fill_values_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v);
    return gpu_check_launch(ctx, "storing the values of blocks");
}

extern "C" tess_status bsr_gpu_decode(tess_context *ctx, const csr_view *csr, const bsr_view *v, int32_t *col_ind,
                                      double *val)
{
    gpu_scope scope(ctx);

    return gpu_decode_entries(ctx, v->nnz, col_ind, val, [&](int32_t *columns, double *values) {
        decode_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v, columns, values);
        return gpu_check_launch(ctx, "decoding blocks");
    });
}

/* ---- the plan of products ---- */

/* Threads that share a block row: two complex entries each, or eight columns, in a row of mean length. */
static int choose_group(const bsr_view *v)
{
    const double mean = v->nblock_rows > 0 ? (double)v->nblocks / (double)v->nblock_rows : 0.0;
    const double loads = v->is_complex ? mean / 2.0 : mean * v->width / 8.0;
    int group = v->is_complex ? 2 : 8;

    while (group < GPU_WAVE && group < loads) {
        group *= 2;
    }
    return group;
}

/* Lists block rows that are long, and their segments; `list` and `segment` NULL: counts them. */
static int64_t list_long_rows(const bsr_view *v, const void *row_ptr, int32_t *list, int32_t *segment,
                              int64_t *nsegments)
{
    const int64_t most = bsr_most_of_group(v), each = bsr_segment(v);
    int64_t count = 0, before = 0;

    for (int64_t i = 0; i < v->nblock_rows; i++) {
        const int64_t blocks =
            tess_row_offset(row_ptr, v->row_ptr_bits, i + 1) - tess_row_offset(row_ptr, v->row_ptr_bits, i);

        if (blocks <= most) { continue; }
        if (list) {
            list[count] = (int32_t)i;
            segment[count] = (int32_t)before;
        }
        before += (blocks + each - 1) / each;
        count += 1;
    }
    if (segment) { segment[count] = (int32_t)before; }
    *nsegments = before;
    return count;
}

/* The lists of long rows to the device. */
static tess_status store_long_rows(tess_context *ctx, const void *row_ptr, bsr_view *v)
{
    const int64_t nlong = v->nlong;
    int32_t *list = NULL, *segment = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, nlong, sizeof *list, (void **)&list));
    TESS_TRY(tess_host_allocate(ctx, nlong + 1, sizeof *segment, (void **)&segment));
    (void)list_long_rows(v, row_ptr, list, segment, &v->nsegments);
    TESS_TRY(tess_device_allocate(ctx, nlong, sizeof *list, (void **)&v->long_row));
    TESS_TRY(tess_device_allocate(ctx, nlong + 1, sizeof *segment, (void **)&v->long_segment));
    TESS_TRY(tess_device_allocate(ctx, v->nsegments * v->height, sizeof *v->segment_sum, (void **)&v->segment_sum));
    TESS_TRY(ctx->backend->upload(ctx, v->long_row, list, (size_t)nlong * sizeof *list));
    status = ctx->backend->upload(ctx, v->long_segment, segment, (size_t)(nlong + 1) * sizeof *segment);
cleanup:
    tess_host_release(ctx, list, nlong, sizeof *list);
    tess_host_release(ctx, segment, nlong + 1, sizeof *segment);
    return status;
}

extern "C" tess_status bsr_gpu_plan(tess_context *ctx, bsr_view *v)
{
    gpu_scope scope(ctx);
    const size_t each = (size_t)v->row_ptr_bits / 8;
    void *row_ptr = NULL;
    int64_t nsegments = 0;
    tess_status status = TESS_SUCCESS;

    v->group = choose_group(v);
    TESS_TRY(tess_host_allocate(ctx, v->nblock_rows + 1, each, &row_ptr));
    TESS_TRY(ctx->backend->download(ctx, row_ptr, v->row_ptr, (size_t)(v->nblock_rows + 1) * each));
    v->nlong = list_long_rows(v, row_ptr, NULL, NULL, &nsegments);
    if (nsegments > INT32_MAX) { v->nlong = 0; } /* their groups sum all */
    if (v->nlong > 0) { status = store_long_rows(ctx, row_ptr, v); }
cleanup:
    tess_host_release(ctx, row_ptr, v->nblock_rows + 1, each);
    return status;
}
