/* SPDX-License-Identifier: Apache-2.0 */
/* Building ELLPACK-R and SELL-C-sigma on the GPU, and reading them back. Atomics here are of integers: no order shows. */
#include "backend/gpu/gpu.h"
#include "format/ellr/ellr_rows.h"

/* Threads that turn widths into places; rows that a block measures where nothing is sorted. */
enum { PLACE_BLOCK = 1024, PLAIN_WINDOW = 256, WINDOW_SLICES = ELLR_LARGEST_WINDOW / ELLR_SLICE };

/* What the kernels leave for the host. */
struct ellr_totals {
    unsigned long long entries, value_units, column_units;
    unsigned permuted;
    int longest;
};

/* ---- row lengths ---- */

__global__ static void __launch_bounds__(GPU_BLOCK) longest_row_kernel(const csr_view csr, ellr_totals *totals)
{
    int longest = 0;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < csr.nrows;
         i += (int64_t)gridDim.x * GPU_BLOCK) {
        longest = max(longest, ellr_csr_length(&csr, i));
    }
    atomicMax(&totals->longest, longest);
}

extern "C" tess_status ellr_gpu_longest_row(tess_context *ctx, const csr_view *csr, int32_t *longest)
{
    gpu_scope scope(ctx);
    ellr_totals *device = NULL, totals;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *device, (void **)&device));
    TESS_TRY(ctx->backend->zero(ctx, device, sizeof *device));
    longest_row_kernel<<<gpu_grid(ctx, csr->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, device);
    TESS_TRY(gpu_check_launch(ctx, "measuring rows"));
    TESS_TRY(ctx->backend->download(ctx, &totals, device, sizeof totals));
    *longest = totals.longest;
cleanup:
    tess_device_release(ctx, device, 1, sizeof *device);
    return status;
}

/* ---- order, widths ---- */

/* What a block knows of its window. */
struct window_notes {
    int length[ELLR_LARGEST_WINDOW]; /* of the rows in their order */
    int width[WINDOW_SLICES], sorted_width[WINDOW_SLICES];
    int wide[WINDOW_SLICES]; /* whether columns need 32 bits */
    int pays;
};

/* Place of row i in its window: after the longer ones, and after those of its length that come before it. */
__device__ static inline int rank_of(const window_notes &notes, int count, int i)
{
    int own = notes.length[i], rank = 0;

    for (int j = 0; j < count; j++) {
        rank += notes.length[j] > own || (notes.length[j] == own && j < i);
    }
    return rank;
}

/* All threads: reads the lengths of rows first .. first + count - 1, and the widths that they need in this order. */
__device__ static inline void read_lengths(const csr_view &csr, int64_t first, int count, window_notes *notes)
{
    for (int s = (int)threadIdx.x; s < count / ELLR_SLICE; s += GPU_BLOCK) {
        notes->width[s] = 0;
        notes->sorted_width[s] = 0;
        notes->wide[s] = 0;
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count; i += GPU_BLOCK) {
        int length = ellr_csr_length(&csr, first + i);

        notes->length[i] = length;
        atomicMax(&notes->width[i / ELLR_SLICE], length);
    }
    __syncthreads();
}

/* All threads: whether the window is sorted; its order is in v.order then, which is all zero otherwise. */
__device__ static inline bool sort_window(const ellr_view &v, int64_t first, int count, window_notes *notes)
{
    for (int i = (int)threadIdx.x; i < count; i += GPU_BLOCK) {
        int rank = rank_of(*notes, count, i), place = (int)ellr_position_of(rank);

        v.order[first + place] = (int16_t)(i - place);
        if (rank % ELLR_SLICE == 0) { notes->sorted_width[rank / ELLR_SLICE] = notes->length[i]; }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int64_t in_order = 0, sorted = 0;

        for (int s = 0; s < count / ELLR_SLICE; s++) {
            in_order += notes->width[s];
            sorted += notes->sorted_width[s];
        }
        notes->pays = in_order > 0 && ellr_sorting_pays(in_order, sorted);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count && !notes->pays; i += GPU_BLOCK) {
        v.order[first + i] = 0;
    }
    __syncthreads();
    return notes->pays;
}

/* A block takes a window: order and lengths of its positions, widths and flags of its slices. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    arrange_kernel(const csr_view csr, const ellr_view v, int window, bool sorting, int common_width, bool uniform,
                   ellr_totals *totals)
{
    __shared__ window_notes notes;
    int64_t positions = v.nslices * ELLR_SLICE;

    for (int64_t first = (int64_t)blockIdx.x * window; first < positions; first += (int64_t)gridDim.x * window) {
        int count = (int)(positions - first < window ? positions - first : window);
        bool sorted = false;

        read_lengths(csr, first, count, &notes);
        if (sorting) { sorted = sort_window(v, first, count, &notes); }
        for (int i = (int)threadIdx.x; i < count; i += GPU_BLOCK) {
            int row = (int)(ellr_row_at(&v, sorted, first + i) - first);

            ellr_set_length(&v, first + i, notes.length[row]);
            atomicOr(&notes.wide[i / ELLR_SLICE], ellr_is_narrow(&csr, first + row) ? 0 : 1);
        }
        __syncthreads();
        for (int s = (int)threadIdx.x; s < count / ELLR_SLICE; s += GPU_BLOCK) {
            int64_t begin = first + (int64_t)s * ELLR_SLICE;
            int64_t rows = csr.nrows - begin < ELLR_SLICE ? csr.nrows - begin : ELLR_SLICE;
            int width = sorted ? notes.sorted_width[s] : notes.width[s];
            ellr_slice *slice = &v.slice[begin / ELLR_SLICE];

            slice->width = (uint32_t)(uniform ? common_width : width);
            slice->flags = (sorted ? (uint32_t)ELLR_PERMUTED : 0U) | (notes.wide[s] ? (uint32_t)ELLR_WIDE : 0U);
            atomicAdd(&totals->entries, (unsigned long long)((common_width >= 0 ? common_width : width) * rows));
        }
        if (threadIdx.x == 0 && sorted) { atomicAdd(&totals->permuted, 1U); }
        __syncthreads();
    }
}

/* Exclusive sums over a block of PLACE_BLOCK threads; *total receives the whole. */
__device__ static inline unsigned long long scan_block(unsigned long long value, unsigned long long *total)
{
    __shared__ unsigned long long sum[PLACE_BLOCK];
    unsigned long long inclusive;

    sum[threadIdx.x] = value;
    __syncthreads();
    for (int distance = 1; distance < PLACE_BLOCK; distance *= 2) {
        unsigned long long before = (int)threadIdx.x >= distance ? sum[threadIdx.x - distance] : 0;

        __syncthreads();
        sum[threadIdx.x] += before;
        __syncthreads();
    }
    inclusive = sum[threadIdx.x];
    *total = sum[PLACE_BLOCK - 1];
    __syncthreads();
    return inclusive - value;
}

/* One block finds the slices' places; each thread takes a run of slices. */
__global__ static void __launch_bounds__(PLACE_BLOCK)
    place_kernel(const ellr_view v, int common_width, ellr_totals *totals)
{
    int64_t run = (v.nslices + PLACE_BLOCK - 1) / PLACE_BLOCK;
    int64_t begin = min((int64_t)threadIdx.x * run, v.nslices), end = min(begin + run, v.nslices);
    unsigned long long values = 0, columns = 0, all_values, all_columns;

#pragma unroll 4
    for (int64_t s = begin; s < end; s++) {
        unsigned long long room = common_width >= 0 ? (unsigned)common_width : v.slice[s].width;

        values += room;
        columns += ellr_has_wide_columns(v.slice[s]) ? 2 * room : room;
    }
    values = scan_block(values, &all_values);
    columns = scan_block(columns, &all_columns);
    for (int64_t s = begin; s < end; s++) {
        unsigned long long room = common_width >= 0 ? (unsigned)common_width : v.slice[s].width;

        v.slice[s].first_value = (uint32_t)values;
        v.slice[s].first_column = (uint32_t)columns;
        values += room;
        columns += ellr_has_wide_columns(v.slice[s]) ? 2 * room : room;
    }
    if (threadIdx.x == 0) {
        totals->value_units = all_values;
        totals->column_units = all_columns;
    }
}

extern "C" tess_status ellr_gpu_arrange(tess_context *ctx, const csr_view *csr, const ellr_view *v, ellr_arrangement *a)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    int64_t window = a->window > 0 ? a->window : (int64_t)PLAIN_WINDOW;
    int64_t nwindows = (v->nslices * ELLR_SLICE + window - 1) / window;
    int64_t most = (int64_t)gpu_state_of(ctx)->multiprocessors * 8;
    unsigned grid = (unsigned)(nwindows < 1 ? 1 : nwindows < most ? nwindows : most);
    ellr_totals *device = NULL, totals;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *device, (void **)&device));
    TESS_TRY(ctx->backend->zero(ctx, device, sizeof *device));
    arrange_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*csr, *v, (int)window, a->window > 0, a->common_width, a->uniform,
                                                   device);
    TESS_TRY(gpu_check_launch(ctx, "arranging rows"));
    place_kernel<<<1, PLACE_BLOCK, 0, stream>>>(*v, a->common_width, device);
    TESS_TRY(gpu_check_launch(ctx, "placing slices"));
    TESS_TRY(ctx->backend->download(ctx, &totals, device, sizeof totals));
    a->entries = (int64_t)totals.entries;
    a->permuted = totals.permuted;
    a->value_units = (int64_t)totals.value_units;
    a->column_units = (int64_t)totals.column_units;
cleanup:
    tess_device_release(ctx, device, 1, sizeof *device);
    return status;
}

/* ---- columns and values ---- */

__global__ static void __launch_bounds__(GPU_BLOCK) fill_columns_kernel(const csr_view csr, const ellr_view v)
{
    int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t p = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; p < v.nslices * ELLR_SLICE; p += step) {
        ellr_fill_row_columns(&csr, &v, p);
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK) fill_values_kernel(const csr_view csr, const ellr_view v)
{
    int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t p = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; p < v.nslices * ELLR_SLICE; p += step) {
        ellr_fill_row_values(&csr, &v, p);
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    decode_kernel(const csr_view csr, const ellr_view v, int32_t *col_ind, double *val)
{
    int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t p = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; p < v.nslices * ELLR_SLICE; p += step) {
        ellr_decode_row(&csr, &v, p, col_ind, val);
    }
}

static unsigned grid_of(const tess_context *ctx, const ellr_view *v)
{
    return gpu_grid(ctx, v->nslices * ELLR_SLICE, 8);
}

extern "C" tess_status ellr_gpu_fill_columns(tess_context *ctx, const csr_view *csr, const ellr_view *v)
{
    gpu_scope scope(ctx);

    fill_columns_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v);
    return gpu_check_launch(ctx, "storing columns in slices");
}

extern "C" tess_status ellr_gpu_fill_values(tess_context *ctx, const csr_view *csr, const ellr_view *v)
{
    gpu_scope scope(ctx);

    fill_values_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v);
    return gpu_check_launch(ctx, "storing values in slices");
}

extern "C" tess_status ellr_gpu_decode(tess_context *ctx, const csr_view *csr, const ellr_view *v, int32_t *col_ind,
                                       double *val)
{
    gpu_scope scope(ctx);
    int32_t *device_columns = NULL;
    double *device_values = NULL;
    tess_status status = TESS_SUCCESS;

    if (col_ind) { TESS_TRY(tess_device_allocate(ctx, v->nnz, sizeof *col_ind, (void **)&device_columns)); }
    if (val) { TESS_TRY(tess_device_allocate(ctx, v->nnz, sizeof *val, (void **)&device_values)); }
    decode_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v, device_columns, device_values);
    TESS_TRY(gpu_check_launch(ctx, "decoding slices"));
    if (col_ind) { TESS_TRY(ctx->backend->download(ctx, col_ind, device_columns, (size_t)v->nnz * sizeof *col_ind)); }
    if (val) { TESS_TRY(ctx->backend->download(ctx, val, device_values, (size_t)v->nnz * sizeof *val)); }
cleanup:
    tess_device_release(ctx, device_columns, v->nnz, sizeof *col_ind);
    tess_device_release(ctx, device_values, v->nnz, sizeof *val);
    return status;
}
