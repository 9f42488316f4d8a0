/* SPDX-License-Identifier: Apache-2.0 */
/* Building DIA on the GPU, and decoding it. Atomics here are on integers, so the result does not depend on their order.
 */
#include "device/gpu/scan.cuh"
#include "format/decode_entries.cuh"
#include "format/dia/dia_tiles.cuh"

/* ---- which diagonals there are ---- */

/* One thread per row. Nearly all marks are set already, so that reading is enough; a stale read costs only an atomic.
 */
__global__ static void __launch_bounds__(GPU_BLOCK) mark_kernel(const csr_view csr, uint32_t *marks)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < csr.nrows;
         i += (int64_t)gridDim.x * GPU_BLOCK) {
        const dia_cursor c = dia_open_row(&csr, i);

        for (int64_t k = c.next; k < c.end; k++) {
            const int64_t mark = dia_mark_of(csr.nrows, csr.col_ind[k] - i);
            const uint32_t bit = 1U << (mark % DIA_WORD);

            if (!(GPU_LOAD_L2(&marks[mark / DIA_WORD]) & bit)) { atomicOr(&marks[mark / DIA_WORD], bit); }
        }
    }
}

extern "C" tess_status dia_gpu_mark(tess_context *ctx, const csr_view *csr, uint32_t *marks)
{
    gpu_scope scope(ctx);

    if (csr->nnz == 0) { return TESS_SUCCESS; }
    mark_kernel<<<gpu_grid(ctx, csr->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, marks);
    return gpu_check_launch(ctx, "marking diagonals");
}

__device__ static inline uint32_t marks_at(int64_t words, const uint32_t *marks, int64_t word)
{
    return word < words ? marks[word] : 0;
}

/* Runs of as many words as a block has threads: counts[r] is the number of marks of run r. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_marks_kernel(int64_t words, const uint32_t *marks, int64_t *counts)
{
    const uint32_t own = marks_at(words, marks, (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x);
    int64_t all = 0;

    (void)scan_block<GPU_BLOCK>(__popc(own), &all);
    if (threadIdx.x == 0) { counts[blockIdx.x] = all; }
}

/* The same runs list their marks, from the places of the runs on. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    list_marks_kernel(int64_t words, const uint32_t *marks, const int64_t *first, const dia_view v)
{
    const int64_t word = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    uint32_t left = marks_at(words, marks, word);
    int64_t all = 0, d = first[blockIdx.x] + scan_block<GPU_BLOCK>(__popc(left), &all);

    for (; left != 0; left &= left - 1) {
        v.diagonal[d].offset = dia_offset_of(v.nrows, word * DIA_WORD + __ffs((int)left) - 1);
        v.diagonal[d].bitmap = -1;
        d += 1;
    }
}

/* Places of the runs, in a workspace of the context; total, on the device, receives the number of marks. NULL: not
   needed. */
static tess_status place_runs(tess_context *ctx, int64_t words, const uint32_t *marks, int64_t nruns, int64_t **places,
                              int64_t *total)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const series_base base = {};
    double *workspace = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, nruns, &workspace));
    *places = (int64_t *)(void *)workspace;
    count_marks_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(words, marks, *places);
    TESS_TRY(gpu_check_launch(ctx, "counting diagonals"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(nruns, base, *places, total);
    status = gpu_check_launch(ctx, "placing diagonals");
cleanup:
    return status;
}

static int64_t runs_of(int64_t words)
{
    return (words + GPU_BLOCK - 1) / GPU_BLOCK;
}

extern "C" tess_status dia_gpu_count_marks(tess_context *ctx, int64_t words, const uint32_t *marks, int64_t *count)
{
    gpu_scope scope(ctx);
    int64_t *places = NULL, *total = NULL;
    tess_status status = TESS_SUCCESS;

    *count = 0;
    if (words == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *total, (void **)&total));
    TESS_TRY(place_runs(ctx, words, marks, runs_of(words), &places, total));
    status = ctx->backend->download(ctx, count, total, sizeof *total);
cleanup:
    tess_device_release(ctx, total, 1, sizeof *total);
    return status;
}

extern "C" tess_status dia_gpu_list_marks(tess_context *ctx, int64_t words, const uint32_t *marks, const dia_view *v)
{
    gpu_scope scope(ctx);
    int64_t *places = NULL;
    tess_status status = TESS_SUCCESS;

    if (words == 0) { return TESS_SUCCESS; }
    TESS_TRY(place_runs(ctx, words, marks, runs_of(words), &places, NULL));
    list_marks_kernel<<<(unsigned)runs_of(words), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(words, marks, places, *v);
    status = gpu_check_launch(ctx, "listing diagonals");
cleanup:
    return status;
}

/* ---- entries and holes: a thread takes a row, and a block goes through the diagonals with all of its rows ---- */

__global__ static void __launch_bounds__(GPU_BLOCK)
    count_entries_kernel(const csr_view csr, const dia_view v, uint32_t *entries)
{
    for (int64_t first = (int64_t)blockIdx.x * GPU_BLOCK; first < v.nrows; first += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t row = first + threadIdx.x;
        dia_cursor c = dia_open_row(&csr, row);

        for (int64_t d = 0; d < v.ndiagonals; d++) {
            const int found = __syncthreads_count(dia_take(&csr, row, v.diagonal[d].offset, &c));

            if (threadIdx.x == 0 && found > 0) { atomicAdd(&entries[d], (uint32_t)found); }
        }
    }
}

/* The lanes of a wave are one or two words of rows; the first lane of each word writes it. */
__global__ static void __launch_bounds__(GPU_BLOCK) fill_bitmaps_kernel(const csr_view csr, const dia_view v)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;

    static_assert(GPU_WAVE % DIA_WORD == 0 && GPU_BLOCK % GPU_WAVE == 0, "whole words");
    for (int64_t first = (int64_t)blockIdx.x * GPU_BLOCK; first < v.nrows; first += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t row = first + threadIdx.x;
        dia_cursor c = dia_open_row(&csr, row);

        for (int64_t d = 0; d < v.ndiagonals; d++) {
            const dia_diagonal diagonal = v.diagonal[d];
            const uint64_t found = GPU_BALLOT(dia_take(&csr, row, diagonal.offset, &c));

            if (diagonal.bitmap >= 0 && lane % DIA_WORD == 0 && row < v.nrows) {
                v.bitmap[dia_word(&v, diagonal, row)] = (uint32_t)(found >> lane);
            }
        }
    }
}

static bool is_empty(const dia_view *v)
{
    return v->nrows == 0 || v->ndiagonals == 0;
}

extern "C" tess_status dia_gpu_count_entries(tess_context *ctx, const csr_view *csr, const dia_view *v,
                                             uint32_t *entries)
{
    gpu_scope scope(ctx);

    if (is_empty(v)) { return TESS_SUCCESS; }
    count_entries_kernel<<<gpu_grid(ctx, v->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v, entries);
    return gpu_check_launch(ctx, "counting entries of diagonals");
}

extern "C" tess_status dia_gpu_fill_bitmaps(tess_context *ctx, const csr_view *csr, const dia_view *v)
{
    gpu_scope scope(ctx);

    if (v->nbitmaps == 0) { return TESS_SUCCESS; }
    fill_bitmaps_kernel<<<gpu_grid(ctx, v->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v);
    return gpu_check_launch(ctx, "storing holes of diagonals");
}

/* ---- values ---- */

/* The rows of a matrix for tiles. */
struct csr_rows {
    csr_view csr;

    __device__ inline int64_t begin(int64_t row) const
    {
        return row < csr.nrows ? tess_row_offset(csr.row_ptr, csr.row_ptr_bits, row) : 0;
    }
    __device__ inline int64_t end(int64_t row) const
    {
        return row < csr.nrows ? tess_row_offset(csr.row_ptr, csr.row_ptr_bits, row + 1) : 0;
    }
    __device__ inline int64_t column(int64_t k) const
    {
        return csr.col_ind[k];
    }
    __device__ inline double value(int64_t row, int64_t k) const
    {
        (void)row;
        return ((const double *)csr.val)[k];
    }
    __device__ inline void see(double most) const
    {
        (void)most;
    }
};

__global__ static void __launch_bounds__(GPU_BLOCK) fill_tiles_kernel(const csr_view csr, const dia_view v)
{
    csr_rows rows = {csr};

    dia_store_tiles(v, rows);
}

/* Of many diagonals: a thread takes a row, so that the threads of a wave write neighbouring places. */
__global__ static void __launch_bounds__(GPU_BLOCK) fill_values_kernel(const csr_view csr, const dia_view v)
{
    const double *val = (const double *)csr.val;

    for (int64_t row = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; row < v.stride;
         row += (int64_t)gridDim.x * GPU_BLOCK) {
        dia_cursor c = dia_open_row(&csr, row);

        for (int64_t d = 0; d < v.ndiagonals; d++) {
            const int64_t k = c.next;
            const double value = dia_take(&csr, row, v.diagonal[d].offset, &c) ? val[k] : 0.0;

            tess_store(v.precision, v.val, dia_place(&v, d, row), value, TESS_OVERFLOW_INFINITY);
        }
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    decode_kernel(const csr_view csr, const dia_view v, int32_t *col_ind, double *val)
{
    for (int64_t row = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; row < v.nrows;
         row += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t k = dia_open_row(&csr, row).next;

        for (int64_t d = 0; d < v.ndiagonals; d++) {
            const dia_diagonal diagonal = v.diagonal[d];

            if (!dia_has_entry(&v, diagonal, row)) { continue; }
            if (col_ind) { col_ind[k] = (int32_t)(row + diagonal.offset); }
            if (val) { val[k] = tess_load(v.precision, v.val, dia_place(&v, d, row)); }
            k += 1;
        }
    }
}

extern "C" tess_status dia_gpu_fill_values(tess_context *ctx, const csr_view *csr, const dia_view *v)
{
    gpu_scope scope(ctx);

    if (is_empty(v)) { return TESS_SUCCESS; }
    if (v->ndiagonals <= DIA_MOST_TILED) {
        fill_tiles_kernel<<<dia_tile_grid(ctx, v, 8), GPU_BLOCK, dia_tile_space(v), gpu_stream_of(ctx)>>>(*csr, *v);
        return gpu_check_launch(ctx, "storing values of diagonals");
    }
    fill_values_kernel<<<gpu_grid(ctx, v->stride, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v);
    return gpu_check_launch(ctx, "storing values of diagonals");
}

extern "C" tess_status dia_gpu_decode(tess_context *ctx, const csr_view *csr, const dia_view *v, int32_t *col_ind,
                                      double *val)
{
    gpu_scope scope(ctx);

    return gpu_decode_entries(ctx, v->nnz, col_ind, val, [&](int32_t *columns, double *values) {
        decode_kernel<<<gpu_grid(ctx, v->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*csr, *v, columns, values);
        return gpu_check_launch(ctx, "decoding diagonals");
    });
}
