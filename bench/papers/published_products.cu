/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge-based CSR and balanced CSR, written anew from their publications; no line of it is their authors'.
 *
 * Merge-based (Merrill, Garland 2016): a product consumes nonzeros and ends of rows; a path through both lists, merged
 * by the number of the nonzero, is cut into tiles of equal length, and these into equal lengths for threads. Where a
 * diagonal of the grid of both lists cuts the path is found by bisection. Sums of rows that go on beyond a thread are
 * added up by a segmented scan; those that go on beyond a tile by a second kernel.
 *
 * Balanced (Flegar, Quintana-Orti 2017): each warp takes the same number of nonzeros; its threads sum up on their own
 * while none of them gets to another row, and then add their sums to y, one atomic operation for each row that the warp
 * holds.
 */
#include <cub/block/block_scan.cuh>

#include <algorithm>

#include "format/csr/csr.h"
#include "harness/cuda_check.h"
#include "papers/published_products.h"

namespace {

struct csr_arrays {
    int nrows, nnz;
    const int *row_ptr, *col_ind;
    const double *val;
};

/* First place in [from, to) of the ascending `list` with a value above `key`; `to` where there is none. */
__device__ int first_above(const int *list, int from, int to, int key)
{
    while (from < to) {
        const int middle = from + (to - from) / 2;

        if (list[middle] > key) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
}

int blocks_for(int64_t items, int per_block)
{
    return static_cast<int>((items + per_block - 1) / per_block);
}

/* ---- merge-based ---- */

constexpr int merge_threads = 128, merge_steps = 7, merge_tile = merge_threads * merge_steps;

/* A row, and what is still to be added to it. Segmented sum: what comes later in the same row goes on. */
struct carry {
    int row;
    double sum;
};

struct add_carries {
    __device__ carry operator()(const carry &before, const carry &after) const
    {
        return {after.row, before.row == after.row ? before.sum + after.sum : after.sum};
    }
};

/*
 * Ends of rows on the path before a diagonal, where `ends` has `rows` ends in ascending order and the nonzeros are
 * numbered from `first` on, `entries` of them. An end comes before the nonzero whose number it is.
 */
__device__ int ends_before(int diagonal, const int *ends, int rows, int first, int entries)
{
    int low = max(diagonal - entries, 0), high = min(diagonal, rows);

    while (low < high) {
        const int middle = low + (high - low) / 2;

        if (ends[middle] - first <= diagonal - 1 - middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first row of each tile, and the last place of all. */
__global__ void merge_search_kernel(csr_arrays a, int tiles, int *__restrict__ tile_row)
{
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);

    if (t > tiles) { return; }
    const int64_t diagonal = min(static_cast<int64_t>(t) * merge_tile, static_cast<int64_t>(a.nrows) + a.nnz);
    int64_t low = max(diagonal - a.nnz, static_cast<int64_t>(0)), high = min(diagonal, static_cast<int64_t>(a.nrows));

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (a.row_ptr[middle + 1] <= diagonal - 1 - middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    tile_row[t] = static_cast<int>(low);
}

/* One tile: rows that end in it are written whole but for what earlier tiles hold; the rest is the tile's carry. */
__global__ void __launch_bounds__(merge_threads)
    merge_kernel(csr_arrays a, const int *__restrict__ tile_row, const double *__restrict__ x, double *__restrict__ y,
                 carry *__restrict__ tile_carry)
{
    using block_scan = cub::BlockScan<carry, merge_threads>;
    __shared__ double product[merge_tile];
    __shared__ int ends[merge_tile + 1];
    __shared__ typename block_scan::TempStorage scan;
    const int64_t from = static_cast<int64_t>(blockIdx.x) * merge_tile;
    const int64_t to = min(from + merge_tile, static_cast<int64_t>(a.nrows) + a.nnz);
    const int row0 = tile_row[blockIdx.x], rows = tile_row[blockIdx.x + 1] - row0;
    const int first = static_cast<int>(from - row0), entries = static_cast<int>(to - from) - rows;
    const int thread = static_cast<int>(threadIdx.x);

    double term[merge_steps]; /* all loads at once, then all stores */
#pragma unroll
    for (int step = 0; step < merge_steps; step++) {
        const int k = thread + step * merge_threads;

        term[step] = k < entries ? a.val[first + k] * x[a.col_ind[first + k]] : 0.0;
    }
#pragma unroll
    for (int step = 0; step < merge_steps; step++) {
        product[thread + step * merge_threads] = term[step];
    }
    for (int i = thread; i < rows; i += merge_threads) {
        ends[i] = a.row_ptr[row0 + i + 1];
    }
    __syncthreads();

    const int begin = min(thread * merge_steps, rows + entries), end = min(begin + merge_steps, rows + entries);
    const int begin_row = ends_before(begin, ends, rows, first, entries);
    const int end_row = ends_before(end, ends, rows, first, entries);
    double sum = 0.0;
    int k = begin - begin_row;

    /* A row that ends here and did not begin here lacks the carries before: they are its own thread's to add. */
    double total[merge_steps];
#pragma unroll
    for (int step = 0; step < merge_steps; step++) {
        const int row = begin_row + step;

        total[step] = 0.0;
        if (row < end_row) {
            for (; k < ends[row] - first; k++) {
                sum += product[k];
            }
            total[step] = sum;
            sum = 0.0;
        }
    }
    for (; k < end - end_row; k++) {
        sum += product[k];
    }

    carry own = {end_row, sum}, before = {0, 0.0}, all = {0, 0.0};

    block_scan(scan).ExclusiveScan(own, before, carry{0, 0.0}, add_carries(), all);
    if (thread > 0 && end_row > begin_row && before.row == begin_row) { total[0] += before.sum; }
#pragma unroll
    for (int step = 0; step < merge_steps; step++) {
        if (begin_row + step < end_row) { y[row0 + begin_row + step] = total[step]; }
    }
    if (thread == 0) { tile_carry[blockIdx.x] = {row0 + all.row, all.sum}; }
}

/* Adds the carries of consecutive tiles to their row: the first of them is the owner. */
__global__ void merge_fix_kernel(int tiles, int nrows, const carry *__restrict__ tile_carry, double *__restrict__ y)
{
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);

    if (t >= tiles) { return; }
    const int row = tile_carry[t].row;
    double sum = 0.0;

    if (row >= nrows || (t > 0 && tile_carry[t - 1].row == row)) { return; }
    for (int s = t; s < tiles && tile_carry[s].row == row; s++) {
        sum += tile_carry[s].sum;
    }
    y[row] += sum;
}

/* ---- balanced ---- */

constexpr int warp = 32, balanced_threads = 128, times_full = 8; /* of these an NVIDIA GPU */
constexpr unsigned all_lanes = 0xffffffffU;

/* The row of the first nonzero of each warp. */
__global__ void balanced_rows_kernel(csr_arrays a, int warps, int per_warp, int *__restrict__ warp_row)
{
    const int w = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);

    if (w < warps) { warp_row[w] = first_above(a.row_ptr + 1, 0, a.nrows, w * per_warp); }
}

/* The row of nonzero k for each lane; none is before row `from`, which is the same in all. */
__device__ int row_of(const csr_arrays &a, int from, int k, int lane)
{
    int row = -1;

    for (; __any_sync(all_lanes, row < 0); from += warp) {
        const int end = a.row_ptr[min(from + 1 + lane, a.nrows)];
        int below = 0; /* ends up to k, of the 32 */

        for (int step = warp / 2; step > 0; step /= 2) {
            if (__shfl_sync(all_lanes, end, below + step - 1) <= k) { below += step; }
        }
        if (__shfl_sync(all_lanes, end, below) <= k) { below += 1; }
        if (row < 0 && below < warp) { row = from + below; }
    }
    return row;
}

/* Sums of the lanes that hold the same row, rows ascending, to y. */
__device__ void flush(int row, double sum, int lane, double *y)
{
    for (int step = 1; step < warp; step *= 2) {
        const double left = __shfl_up_sync(all_lanes, sum, step);
        const int left_row = __shfl_up_sync(all_lanes, row, step);

        if (lane >= step && left_row == row) { sum += left; }
    }
    const int right_row = __shfl_down_sync(all_lanes, row, 1);

    if (lane == warp - 1 || right_row != row) { atomicAdd(&y[row], sum); }
}

/* y holds zeros. */
__global__ void __launch_bounds__(balanced_threads)
    balanced_kernel(csr_arrays a, int warps, int per_warp, const int *__restrict__ warp_row,
                    const double *__restrict__ x, double *y)
{
    const int w = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / warp);
    const int lane = static_cast<int>(threadIdx.x % warp);

    if (w >= warps) { return; }
    const int begin = w * per_warp, end = begin + min(per_warp, a.nnz - begin);
    int from = warp_row[w], row = -1;
    double sum = 0.0;

    for (int at = begin; at < end; at += warp) {
        const int k = min(at + lane, end - 1); /* beyond the end: the last row, and nothing to add */
        const int next = row_of(a, from, k, lane);

        from = __shfl_sync(all_lanes, next, warp - 1);
        if (__any_sync(all_lanes, next != row)) {
            if (at > begin) { flush(row, sum, lane, y); }
            sum = 0.0;
            row = next;
        }
        if (at + lane < end) { sum += a.val[k] * x[a.col_ind[k]]; }
    }
    flush(row, sum, lane, y);
}

} // namespace

/* ---- both ---- */

struct bench_peer {
    bench_peer_kind kind = BENCH_PEER_MERGE;
    csr_arrays a = {};
    cudaStream_t stream = nullptr;
    int pairs = 0;
    void *const *x = nullptr, *const *y = nullptr;
    int parts = 0, per_part = 0; /* tiles, or warps with their nonzeros */
    int *part_row = nullptr;
    carry *tile_carry = nullptr;
    int64_t bytes = 0;
};

static void prepare_merge(bench_peer *p)
{
    p->parts = blocks_for(static_cast<int64_t>(p->a.nrows) + p->a.nnz, merge_tile);
    BENCH_CUDA_CHECK(cudaMalloc(&p->part_row, (static_cast<size_t>(p->parts) + 1) * sizeof *p->part_row));
    BENCH_CUDA_CHECK(cudaMalloc(&p->tile_carry, static_cast<size_t>(p->parts) * sizeof *p->tile_carry));
    /* written and read */
    p->bytes += 2 * static_cast<int64_t>(p->parts) * static_cast<int64_t>(sizeof *p->part_row + sizeof *p->tile_carry);
}

static void prepare_balanced(bench_peer *p)
{
    cudaDeviceProp device;
    int number = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&number));
    BENCH_CUDA_CHECK(cudaGetDeviceProperties(&device, number));
    const int64_t full = static_cast<int64_t>(device.multiProcessorCount) * device.maxThreadsPerMultiProcessor / warp;
    const int64_t each = (p->a.nnz + times_full * full - 1) / (times_full * full);

    p->per_part = static_cast<int>((each + warp - 1) / warp * warp);
    p->parts = blocks_for(p->a.nnz, p->per_part);
    BENCH_CUDA_CHECK(cudaMalloc(&p->part_row, static_cast<size_t>(p->parts) * sizeof *p->part_row));
    balanced_rows_kernel<<<blocks_for(p->parts, balanced_threads), balanced_threads, 0, p->stream>>>(
        p->a, p->parts, p->per_part, p->part_row);
    BENCH_CUDA_CHECK(cudaGetLastError());
    /* y is cleared first, and read where it is added to */
    p->bytes += static_cast<int64_t>(p->parts) * static_cast<int64_t>(sizeof *p->part_row) +
                2 * static_cast<int64_t>(p->a.nrows) * 8;
}

extern "C" tess_status bench_peer_create(const tess_matrix *a, bench_peer_kind kind, int pairs, void *const *x,
                                         void *const *y, bench_peer **out, double *setup_seconds)
{
    const csr_view &v = csr_of(a)->view;
    bench_peer *p = nullptr;
    double start = 0.0;

    *out = nullptr;
    if (v.row_ptr_bits != 32) { return TESS_UNSUPPORTED; }
    p = new bench_peer;
    p->kind = kind;
    p->a = {static_cast<int>(v.nrows), static_cast<int>(v.nnz), static_cast<const int *>(v.row_ptr), v.col_ind,
            static_cast<const double *>(v.val)};
    p->stream = static_cast<cudaStream_t>(tess_context_stream(tess_matrix_context(a)));
    p->pairs = pairs;
    p->x = x;
    p->y = y;
    p->bytes = bench_spmv_bytes(v.nrows, v.ncols, v.nnz, 8);
    BENCH_CUDA_CHECK(cudaStreamSynchronize(p->stream));
    start = bench_wall_seconds();
    (kind == BENCH_PEER_MERGE ? prepare_merge : prepare_balanced)(p);
    BENCH_CUDA_CHECK(cudaStreamSynchronize(p->stream));
    *setup_seconds = bench_wall_seconds() - start;
    *out = p;
    return TESS_SUCCESS;
}

extern "C" void bench_peer_destroy(bench_peer *p)
{
    if (!p) { return; }
    cudaFree(p->part_row);
    cudaFree(p->tile_carry);
    delete p;
}

static void run_merge(const bench_peer *p, const double *x, double *y)
{
    merge_search_kernel<<<blocks_for(p->parts + 1, merge_threads), merge_threads, 0, p->stream>>>(p->a, p->parts,
                                                                                                  p->part_row);
    merge_kernel<<<p->parts, merge_threads, 0, p->stream>>>(p->a, p->part_row, x, y, p->tile_carry);
    merge_fix_kernel<<<blocks_for(p->parts, merge_threads), merge_threads, 0, p->stream>>>(p->parts, p->a.nrows,
                                                                                           p->tile_carry, y);
}

static void run_balanced(const bench_peer *p, const double *x, double *y)
{
    BENCH_CUDA_CHECK(cudaMemsetAsync(y, 0, static_cast<size_t>(p->a.nrows) * sizeof *y, p->stream));
    balanced_kernel<<<blocks_for(static_cast<int64_t>(p->parts) * warp, balanced_threads), balanced_threads, 0,
                      p->stream>>>(p->a, p->parts, p->per_part, p->part_row, x, y);
}

extern "C" tess_status bench_peer_call(void *user, int k)
{
    const bench_peer *p = static_cast<const bench_peer *>(user);
    const double *x = static_cast<const double *>(p->x[k % p->pairs]);
    double *y = static_cast<double *>(p->y[k % p->pairs]);

    (p->kind == BENCH_PEER_MERGE ? run_merge : run_balanced)(p, x, y);
    return cudaGetLastError() == cudaSuccess ? TESS_SUCCESS : TESS_DEVICE;
}

extern "C" int64_t bench_peer_bytes(const bench_peer *p)
{
    return p->bytes;
}
