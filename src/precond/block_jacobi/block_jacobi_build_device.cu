/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Set-up of block Jacobi on the GPU: a group of threads inverts a block in shared memory, one thread per row.
 * Operations and their order are those of invert_block.h, and nothing is contracted: host and device give the same
 * bits.
 */
#include <limits.h>

#include "device/gpu/gpu.h"
#include "format/csr/csr.h"
#include "precond/block_jacobi/block_storage.h"

namespace {

/* Threads of a block of the grid. A group has the next power of two from the block size on. */
enum { SETUP_THREADS = 64, SETUP_BLOCKS = 16 };

struct setup_task {
    tess_block_diagonal m;
    csr_view v;
    tess_block_stage stage;
    int group;
    unsigned long long *first_bad;
};

/* A block in shared memory, column-major, and the data that its group shares. The leading dimension is odd, so that the
   threads' rows and columns use different banks. */
struct open_block {
    double *a;
    double *workspace; /* a value of each thread of the group */
    int *swapped;      /* the row that step s exchanged with row s */
    int *bad; /* bad[0]: the first step without a pivot, or k; bad[1]: the first entry that is not finite, or INT_MAX */
    int k, ld, lane;
};

/* Rows beyond the end are those of the identity. */
template <typename OFFSET>
__device__ void extract_row(const setup_task &task, const open_block &o, int64_t block)
{
    const int64_t first = block * o.k, row = first + o.lane;
    const OFFSET *row_ptr = static_cast<const OFFSET *>(task.v.row_ptr);
    const double *val = static_cast<const double *>(task.v.val);

    if (o.lane >= o.k) { return; }
    for (int j = 0; j < o.k; j++) {
        o.a[o.lane + o.ld * j] = 0.0;
    }
    if (row >= task.v.nrows) {
        o.a[o.lane + o.ld * o.lane] = 1.0;
        return;
    }
    const int64_t end = row_ptr[row + 1];

    for (int64_t e = csr_column_from(task.v.col_ind, row_ptr[row], end, first); e < end; e++) {
        const int64_t j = task.v.col_ind[e] - first;

        if (j >= o.k) { break; }
        o.a[o.lane + o.ld * static_cast<int>(j)] = val[e];
    }
    if (task.m.mends_zeros && o.a[o.lane + o.ld * o.lane] == 0.0) { o.a[o.lane + o.ld * o.lane] = 1.0; }
}

/* The largest of the group's first k values, for all its threads. All threads of the grid's block call it. */
__device__ double group_largest(const open_block &o, double value)
{
    double largest = 0.0;

    o.workspace[o.lane] = value;
    __syncthreads();
    for (int i = 0; i < o.k; i++) {
        largest = larger_of(largest, o.workspace[i]);
    }
    __syncthreads();
    return largest;
}

__device__ double norm_1(const open_block &o, int rows)
{
    return group_largest(o, o.lane < rows ? column_sum(o.a, o.ld, rows, o.lane) : 0.0);
}

/* Every thread computes it for itself: the reads of a group are of one place at a time. */
__device__ int find_pivot(const open_block &o, int s)
{
    const double *column = o.a + o.ld * s;
    double largest = fabs(column[s]);
    int pivot = s;

    for (int i = s + 1; i < o.k; i++) {
        const double magnitude = fabs(column[i]);

        if (magnitude > largest) {
            largest = magnitude;
            pivot = i;
        }
    }
    return pivot;
}

/* Exchanges rows s and pivot in the thread's column, and divides the new row s by the pivot, which is first replaced by
   1. */
__device__ void exchange_and_divide(const open_block &o, int s, int pivot, double value)
{
    double *column = o.a + o.ld * o.lane;
    const double given = column[pivot], taken = column[s];

    column[pivot] = taken;
    column[s] = (o.lane == s ? 1.0 : given) / value;
}

__device__ void eliminate_row(const open_block &o, int s)
{
    double *row = o.a + o.lane;
    const double *pivot_row = o.a + s, factor = row[o.ld * s];

    if (o.lane == s || factor == 0.0) { return; }
    row[o.ld * s] = 0.0;
#pragma unroll 4
    for (int j = 0; j < o.k; j++) {
        row[o.ld * j] = __dsub_rn(row[o.ld * j], __dmul_rn(factor, pivot_row[o.ld * j]));
    }
}

/* Undoes the exchanges of rows in the thread's row of the inverse, and looks for values there that are not finite. */
__device__ void finish_row(const open_block &o)
{
    double *row = o.a + o.lane;

    for (int s = o.k - 1; s >= 0; s--) {
        const double t = row[o.ld * s];

        row[o.ld * s] = row[o.ld * o.swapped[s]];
        row[o.ld * o.swapped[s]] = t;
    }
    for (int j = 0; j < o.k; j++) {
        if (row[o.ld * j] - row[o.ld * j] != 0.0) {
            atomicMin(&o.bad[1], o.lane + o.k * j);
            break;
        }
    }
}

/* Inverts the blocks of all groups. Returns, to all threads, the first row without a usable pivot, or -1. */
__device__ int invert(const open_block &o)
{
    if (o.lane == 0) {
        o.bad[0] = o.k;
        o.bad[1] = INT_MAX;
    }
    for (int s = 0; s < o.k; s++) {
        const int pivot = find_pivot(o, s);
        const double value = o.a[pivot + o.ld * s];

        __syncthreads();
        if (o.lane == 0) {
            o.swapped[s] = pivot;
            if (!(fabs(value) > 0.0) || value - value != 0.0) { o.bad[0] = min(o.bad[0], s); }
        }
        if (o.lane < o.k) { exchange_and_divide(o, s, pivot, value); }
        __syncthreads();
        if (o.lane < o.k) { eliminate_row(o, s); }
        __syncthreads();
    }
    if (o.lane < o.k) { finish_row(o); }
    __syncthreads();
    return o.bad[0] < o.k ? o.bad[0] : o.bad[1] < INT_MAX ? o.bad[1] % o.k : -1;
}

__device__ void store_inverse(const tess_block_diagonal &m, const open_block &o, int64_t block, int rows)
{
    const tess_precision precision = rows > 0 ? block_precision(&m, block) : TESS_PRECISION_FP64;
    double largest = 0.0, factor = 1.0;

    for (int j = 0; o.lane < rows && j < rows; j++) {
        largest = larger_of(largest, fabs(o.a[o.lane + o.ld * j]));
    }
    largest = group_largest(o, largest);
    if (rows == 0 || o.lane >= o.k) { return; }
    if (m.exponents) {
        const int exponent = block_exponent(precision, largest);

        if (o.lane == 0) { m.exponents[block] = static_cast<int16_t>(exponent); }
        factor = tess_power_of_two(-exponent);
    }
    for (int j = 0; j < o.k; j++) {
        const double value = o.lane < rows && j < rows ? o.a[o.lane + o.ld * j] * factor : 0.0;

        tess_store(precision, block_place(&m, block), o.lane + o.k * j, value, TESS_OVERFLOW_INFINITY);
    }
}

__device__ open_block open_shared(const setup_task &task, double *blocks)
{
    __shared__ double workspace[SETUP_THREADS];
    __shared__ int swapped[SETUP_THREADS], bad[2 * SETUP_THREADS];
    const int number = static_cast<int>(threadIdx.x) / task.group, k = task.m.block_size, ld = k | 1;
    const int at = number * task.group;

    return {blocks + number * ld * k,          workspace + at, swapped + at, bad + 2 * number, k, ld,
            static_cast<int>(threadIdx.x) - at};
}

/* The block of one group of threads. A group beyond the end takes part in the barriers only. */
template <typename OFFSET>
__device__ void build_block(const setup_task &task, const open_block &o, int64_t block)
{
    const int rows = block_rows(&task.m, block);
    double condition = 0.0;
    int bad = -1;

    extract_row<OFFSET>(task, o, block);
    __syncthreads();
    if (task.stage == TESS_BLOCKS_JUDGE) { condition = norm_1(o, rows); }
    bad = invert(o);
    if (bad >= 0 && o.lane == 0) { atomicMin(task.first_bad, static_cast<unsigned long long>(block * o.k + bad)); }
    if (task.stage == TESS_BLOCKS_STORE) {
        store_inverse(task.m, o, block, rows);
    } else {
        condition *= norm_1(o, rows);
        if (o.lane == 0 && rows > 0) {
            task.m.precisions[block] = static_cast<uint8_t>(choose_block_precision(task.m.storage, condition));
        }
    }
    __syncthreads();
}

template <typename OFFSET>
__global__ void __launch_bounds__(SETUP_THREADS) build_blocks(const setup_task task)
{
    extern __shared__ double shared_blocks[];
    const open_block o = open_shared(task, shared_blocks);
    const int groups = SETUP_THREADS / task.group;
    const int64_t nblocks = block_count(&task.m);

    for (int64_t b = static_cast<int64_t>(blockIdx.x) * groups; b < nblocks;
         b += static_cast<int64_t>(gridDim.x) * groups) {
        build_block<OFFSET>(task, o, b + threadIdx.x / static_cast<unsigned>(task.group));
    }
}

tess_status launch_build(tess_context *ctx, const setup_task &task)
{
    const int k = task.m.block_size, groups = SETUP_THREADS / task.group;
    const int64_t needed = (block_count(&task.m) + groups - 1) / groups;
    const int64_t most = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * SETUP_BLOCKS;
    const unsigned grid = static_cast<unsigned>(needed < 1 ? 1 : needed < most ? needed : most);
    const size_t shared = static_cast<size_t>(groups) * static_cast<size_t>((k | 1) * k) * sizeof(double);

    if (task.v.row_ptr_bits == 32) {
        build_blocks<int32_t><<<grid, SETUP_THREADS, shared, gpu_stream_of(ctx)>>>(task);
    } else {
        build_blocks<int64_t><<<grid, SETUP_THREADS, shared, gpu_stream_of(ctx)>>>(task);
    }
    return gpu_check_launch(ctx, "inverting diagonal blocks");
}

} // namespace

extern "C" tess_status gpu_block_jacobi_build(const tess_matrix *assembled, const tess_block_diagonal *m,
                                              tess_block_stage stage, int64_t *singular_row)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    unsigned long long first = ULLONG_MAX;
    setup_task task = {*m, csr_of(assembled)->view, stage, 1, nullptr};
    tess_status status = TESS_SUCCESS;

    while (task.group < m->block_size) {
        task.group *= 2;
    }
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof first, reinterpret_cast<void **>(&task.first_bad)));
    TESS_TRY(ctx->backend->upload(ctx, task.first_bad, &first, sizeof first));
    TESS_TRY(launch_build(ctx, task));
    TESS_TRY(ctx->backend->download(ctx, &first, task.first_bad, sizeof first));
    *singular_row = first == ULLONG_MAX ? -1 : static_cast<int64_t>(first);
cleanup:
    tess_device_release(ctx, task.first_bad, 1, sizeof first);
    return status;
}
