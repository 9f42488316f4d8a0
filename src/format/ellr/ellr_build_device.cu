/* SPDX-License-Identifier: Apache-2.0 */
/* Building ELLPACK-R and SELL-C-sigma on the GPU, and decoding them. Atomics here are on integers, so the result does
   not depend on their order. */
#include "device/gpu/scan.cuh"
#include "format/decode_entries.cuh"
#include "format/ellr/ellr_rows.h"

/* PLAIN_WINDOW: rows that a block measures if nothing is sorted. */
enum { PLAIN_WINDOW = 256, WINDOW_SLICES = ELLR_LARGEST_WINDOW / ELLR_SLICE };

/* The kernels' results for the host. */
struct ellr_totals {
    unsigned long long entries;
    int64_t units[2]; /* of values, of columns */
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

/* Place of row i in its window: after the longer rows, and after the earlier rows of its length. */
__device__ static inline int rank_of(const window_notes &notes, int count, int i)
{
    int own = notes.length[i], rank = 0;

    for (int j = 0; j < count; j++) {
        rank += notes.length[j] > own || (notes.length[j] == own && j < i);
    }
    return rank;
}

/* All threads: reads the lengths of rows first .. first + count - 1, and computes the widths that they need in this
   order. */
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

/* All threads: decides whether the window is sorted. If so, its order is in v.order, which is otherwise zero. */
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

/* One block per window: order and lengths of its positions, widths and flags of its slices. */
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
            int64_t rows = csr.nrows - begin < ELLR_SLICE ? csr.nrows - begin : (int64_t)ELLR_SLICE;
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

/* Places of a slice, in units of columns or of values. */
struct slice_size {
    int64_t values, columns;
};

__device__ static inline slice_size size_of(const ellr_view &v, int64_t s, int common_width)
{
    const ellr_slice slice = v.slice[s];
    const int64_t width = common_width >= 0 ? common_width : (int64_t)slice.width;

    return {width, ellr_has_wide_columns(slice) ? 2 * width : width};
}

/* Runs of as many slices as a block has threads: the places of run r go to counts[r] and counts[nruns + r]. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_places_kernel(const ellr_view v, int common_width, int64_t nruns, int64_t *counts)
{
    const int64_t s = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    slice_size own = {0, 0}, all;

    if (s < v.nslices) { own = size_of(v, s, common_width); }
    (void)scan_block<GPU_BLOCK>(own.values, &all.values);
    (void)scan_block<GPU_BLOCK>(own.columns, &all.columns);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = all.values;
        counts[nruns + blockIdx.x] = all.columns;
    }
}

/* The same runs compute the slices' places from those of the runs. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    place_slices_kernel(const ellr_view v, int common_width, int64_t nruns, const int64_t *first)
{
    const int64_t s = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    slice_size own = {0, 0}, before, all;

    if (s < v.nslices) { own = size_of(v, s, common_width); }
    before.values = scan_block<GPU_BLOCK>(own.values, &all.values);
    before.columns = scan_block<GPU_BLOCK>(own.columns, &all.columns);
    if (s < v.nslices) {
        v.slice[s].first_value = (uint32_t)(first[blockIdx.x] + before.values);
        v.slice[s].first_column = (uint32_t)(first[nruns + blockIdx.x] + before.columns);
    }
}

/* Places of all slices; totals[0] and [1], on the device, receive the totals of values and of columns. */
static tess_status place_slices(tess_context *ctx, const ellr_view *v, int common_width, int64_t *totals)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t nruns = (v->nslices + GPU_BLOCK - 1) / GPU_BLOCK;
    const series_base base = {};
    double *workspace = NULL;
    int64_t *counts = NULL;
    tess_status status = TESS_SUCCESS;

    if (nruns == 0) { return TESS_SUCCESS; }
    TESS_TRY(gpu_parts(ctx, 2 * nruns, &workspace));
    counts = (int64_t *)(void *)workspace;
    count_places_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*v, common_width, nruns, counts);
    TESS_TRY(gpu_check_launch(ctx, "measuring slices"));
    scan_series_kernel<<<2, SCAN_BLOCK, 0, stream>>>(nruns, base, counts, totals);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of slices"));
    place_slices_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*v, common_width, nruns, counts);
    status = gpu_check_launch(ctx, "placing slices");
cleanup:
    return status;
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
    TESS_TRY(place_slices(ctx, v, a->common_width, device->units));
    TESS_TRY(ctx->backend->download(ctx, &totals, device, sizeof totals));
    a->entries = (int64_t)totals.entries;
    a->permuted = totals.permuted;
    a->value_units = totals.units[0];
    a->column_units = totals.units[1];
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

    return gpu_decode_entries(ctx, v->nnz, col_ind, val, [&](int32_t *columns, double *values) {
        decode_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v, columns, values);
        return gpu_check_launch(ctx, "decoding slices");
    });
}
