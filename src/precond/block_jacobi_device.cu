/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block Jacobi on the GPU. Inverses are read once, and their bytes are the time that it takes: a block of threads copies a tile,
 * some neighbouring diagonal blocks, to shared memory as it lies, in words of 16 bytes, and r beside it. There each thread sums
 * up a few rows, or a part of their columns; then each thread adds the parts of a row and writes z.
 */
#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "precond/block_storage.h"

namespace {

/* Bytes and rows of a tile at most (a block that is larger is a tile); blocks on a multiprocessor; columns of a part at least. */
enum { TILE_BYTES = 16384, TILE_ROWS = 1024, APPLY_BLOCKS = 8, PART_COLUMNS = 4, WORD = 16 };

struct apply_task {
    tess_block_diagonal m;
    const void *r;
    void *z;
    tess_precision vectors;
    int tile;  /* diagonal blocks of a tile */
    int parts; /* threads that share the columns of a row */
    int64_t tile_bytes;
    tess_reduction reduction;
    loop_gate gate;
    reduce_target target;
};

/* A tile in shared memory. */
template <typename T>
struct open_tile {
    int64_t first; /* block */
    int count;     /* blocks */
    const char *blocks;
    T *x;
    T *sums; /* [part][row] */
};

/* ---- rows in and out ---- */

template <typename T>
__device__ inline T read_row(const apply_task &task, int64_t row)
{
    return task.vectors == TESS_PRECISION_FP64 ? static_cast<T>(static_cast<const double *>(task.r)[row])
                                               : static_cast<T>(static_cast<const float *>(task.r)[row]);
}

/* The scale is applied in FP64: the sum over it may be out of FP32's range. */
template <typename T>
__device__ inline void write_row(const apply_task &task, int64_t row, int64_t block, T sum, double (&dots)[2])
{
    const double value = static_cast<double>(sum) * block_scale(&task.m, block);

    if (task.vectors == TESS_PRECISION_FP32) {
        static_cast<float *>(task.z)[row] = static_cast<float>(value);
        return;
    }
    static_cast<double *>(task.z)[row] = value;
    TESS_UNROLL
    for (int d = 0; d < 2; d++) {
        if (d < task.reduction.ndots) {
            const double *with = task.reduction.with[d];

            dots[d] += value * (with == task.z ? value : with[row]);
        }
    }
}

__device__ inline bool enter(const apply_task &task)
{
    tess_scalars scalars;

    return loop_enter<false>(task.gate, task.reduction.ndots > 0, &scalars);
}

__device__ inline void reduce_dots(const apply_task &task, double (&dots)[2])
{
    double one[1] = {dots[0]};

    if (task.reduction.ndots == 2) {
        grid_reduce(dots, task.target);
    } else if (task.reduction.ndots == 1) {
        grid_reduce(one, task.target);
    }
}

/* ---- a tile ---- */

/* Copies the tile's inverses; returns where in `room` they begin. */
__device__ inline const char *stage_blocks(const tess_block_diagonal &m, int64_t first, int count, char *room)
{
    const char *from = block_place(&m, first);
    const char *end = m.places ? m.places[first + count] : from + count * block_bytes(&m, m.storage);
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(from) % WORD);
    const int words = static_cast<int>((end - from + skew + WORD - 1) / WORD);
    const uint4 *source = reinterpret_cast<const uint4 *>(from - skew);

#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < words; i += GPU_BLOCK) {
        reinterpret_cast<uint4 *>(room)[i] = gpu_load_once(source + i);
    }
    return room + skew;
}

template <typename T>
__device__ inline open_tile<T> stage_tile(const apply_task &task, int64_t first, char *room)
{
    const int64_t nblocks = block_count(&task.m), left = nblocks - first;
    const int k = task.m.block_size, count = left < task.tile ? static_cast<int>(left) : task.tile;
    T *x = reinterpret_cast<T *>(room + task.tile_bytes);

    for (int i = static_cast<int>(threadIdx.x); i < count * k; i += GPU_BLOCK) {
        const int64_t row = first * k + i;

        x[i] = row < task.m.n ? read_row<T>(task, row) : T(0);
    }
    return {first, count, stage_blocks(task.m, first, count, room), x, x + task.tile * k};
}

/* V rows of one diagonal block times its columns begin .. end - 1, the first of them `j`. */
template <int V, typename S, typename T>
__device__ inline void add_columns(const S *rows, int k, const T *x, int begin, int end, int j, T (&sum)[V])
{
#pragma unroll 4
    for (int c = begin; c < end; c++) {
        const T factor = x[j];
        T value[V];

        tess::decode_pack(tess::load_pack<V>(rows + j * k), value);
        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            sum[v] += factor * value[v];
        }
        j = j + 1 == end ? begin : j + 1;
    }
}

/* Where a diagonal block lies in the tile, and the sums of V of its rows. */
template <typename S, int V>
struct one_precision {
    static constexpr int rows = V;

    template <typename T>
    __device__ static void add(const apply_task &task, const open_tile<T> &t, int block, int row, int begin, int end,
                               int start, T (&sum)[V])
    {
        const int k = task.m.block_size;
        const S *a = reinterpret_cast<const S *>(t.blocks) + block * k * k + row;

        add_columns<V>(a, k, t.x + block * k, begin, end, start, sum);
    }
};

struct many_precisions {
    static constexpr int rows = 1;

    template <typename T>
    __device__ static void add(const apply_task &task, const open_tile<T> &t, int block, int row, int begin, int end,
                               int start, T (&sum)[1])
    {
        const int k = task.m.block_size;
        const int64_t number = t.first + block;
        const char *place = t.blocks + (task.m.places[number] - task.m.places[t.first]);

        switch (block_precision(&task.m, number)) {
#define CASE(type, NAME)                                                                                         \
    case TESS_PRECISION_##NAME:                                                                                  \
        add_columns<1>(reinterpret_cast<const type *>(place) + row, k, t.x + block * k, begin, end, start, sum); \
        break;
            STORAGE_TYPES(CASE)
#undef CASE
        }
    }
};

/* Neighbouring diagonal blocks begin with different columns: theirs may all lie in the same banks. */
template <typename BLOCKS, typename T>
__device__ inline void sum_tile(const apply_task &task, const open_tile<T> &t)
{
    constexpr int V = BLOCKS::rows;
    const int k = task.m.block_size, parts = task.parts, packs = k / V, items = t.count * packs;

    for (int item = static_cast<int>(threadIdx.x); item < items * parts; item += GPU_BLOCK) {
        const int part = item / items, rest = item - part * items, block = rest / packs;
        const int row = (rest - block * packs) * V, begin = part * k / parts, end = (part + 1) * k / parts;
        T sum[V] = {};

        BLOCKS::add(task, t, block, row, begin, end, begin + block % (end - begin), sum);
        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            t.sums[(part * t.count + block) * k + row + v] = sum[v];
        }
    }
}

template <typename T>
__device__ inline void write_tile(const apply_task &task, const open_tile<T> &t, double (&dots)[2])
{
    const int k = task.m.block_size, rows = t.count * k;

    for (int i = static_cast<int>(threadIdx.x); i < rows; i += GPU_BLOCK) {
        const int64_t row = t.first * k + i;
        T sum = t.sums[i];

        if (row >= task.m.n) { break; }
        for (int part = 1; part < task.parts; part++) {
            sum += t.sums[part * rows + i];
        }
        write_row(task, row, t.first + i / k, sum, dots);
    }
}

template <typename BLOCKS, typename T>
__global__ void __launch_bounds__(GPU_BLOCK) apply_blocks(const apply_task task)
{
    extern __shared__ uint4 tile_room[];
    const int64_t nblocks = block_count(&task.m), step = static_cast<int64_t>(gridDim.x) * task.tile;
    double dots[2] = {};

    if (!enter(task)) { return; }
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * task.tile; first < nblocks; first += step) {
        const open_tile<T> t = stage_tile<T>(task, first, reinterpret_cast<char *>(tile_room));

        __syncthreads();
        sum_tile<BLOCKS>(task, t);
        __syncthreads(); /* the next tile overwrites inverses and x, which no thread reads from here on */
        write_tile(task, t, dots);
    }
    reduce_dots(task, dots);
}

/* Blocks of one row. */
template <typename S, typename T>
__global__ void __launch_bounds__(GPU_BLOCK) apply_diagonal(const apply_task task)
{
    const S *inverse = static_cast<const S *>(task.m.inverse);
    double dots[2] = {};

    if (!enter(task)) { return; }
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < task.m.n;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        write_row(task, i, i, tess::decode<T>(gpu_load_once(inverse + i)) * read_row<T>(task, i), dots);
    }
    reduce_dots(task, dots);
}

/* ---- choice of kernel and tiles ---- */

struct apply_choice {
    void (*kernel)(const apply_task task);
    int rows; /* of a thread */
};

/* Narrow values are read from shared memory several at once, where columns are a multiple of that. */
template <typename S, typename T>
apply_choice choose_width(int k)
{
    constexpr int V = sizeof(S) == 8 ? 1 : sizeof(S) == 4 ? 2 : 4;

    if (k == 1) { return {apply_diagonal<S, T>, 1}; }
    if (k % V == 0) { return {apply_blocks<one_precision<S, V>, T>, V}; }
    return {apply_blocks<one_precision<S, 1>, T>, 1};
}

apply_choice choose_kernel(const tess_block_diagonal &m)
{
    const bool fp32 = m.arithmetic == TESS_ARITHMETIC_FP32;

    if (m.precisions) {
        return {fp32 ? apply_blocks<many_precisions, float> : apply_blocks<many_precisions, double>, 1};
    }
    switch (m.storage) {
#define CASE(type, NAME)        \
    case TESS_PRECISION_##NAME: \
        return fp32 ? choose_width<type, float>(m.block_size) : choose_width<type, double>(m.block_size);
        STORAGE_TYPES(CASE)
#undef CASE
    }
    return {nullptr, 0};
}

/* Tiles of TILE_BYTES; smaller ones where multiprocessors would have less than two each. Threads that a tile has no rows for
   share columns. Returns the shared memory's bytes. */
size_t plan_tiles(const tess_context *ctx, int rows_of_thread, apply_task *task)
{
    const tess_block_diagonal *m = &task->m;
    const int64_t bytes = block_bytes(m, m->precisions ? TESS_PRECISION_FP64 : m->storage);
    const int64_t enough = 2 * static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors);
    const size_t value = m->arithmetic == TESS_ARITHMETIC_FP32 ? sizeof(float) : sizeof(double);
    const int k = m->block_size, by_rows = TILE_ROWS / k;
    const int by_bytes = bytes < TILE_BYTES ? static_cast<int>(TILE_BYTES / bytes) : 1;

    task->tile = by_bytes < by_rows ? by_bytes : by_rows;
    while (task->tile > 1 && task->tile * k > GPU_BLOCK && block_count(m) / task->tile < enough) {
        task->tile /= 2;
    }
    task->parts = 1;
    while (2 * task->parts * task->tile * k <= GPU_BLOCK * rows_of_thread && 2 * task->parts * PART_COLUMNS <= k) {
        task->parts *= 2;
    }
    task->tile_bytes = (task->tile * bytes + 2 * WORD - 2) / WORD * WORD; /* it may begin and end within a word */
    return static_cast<size_t>(task->tile_bytes) + static_cast<size_t>((1 + task->parts) * task->tile * k) * value;
}

} // namespace

extern "C" tess_status gpu_block_jacobi_apply(tess_context *ctx, const tess_block_diagonal *m, tess_precision vectors,
                                              const void *r, void *z, const tess_reduction *reduction)
{
    gpu_scope scope(ctx);
    const apply_choice choice = choose_kernel(*m);
    apply_task task = {};
    tess_status status = TESS_SUCCESS;
    unsigned grid = gpu_grid(ctx, m->n, APPLY_BLOCKS);
    size_t shared = 0;

    task.m = *m;
    task.r = r;
    task.z = z;
    task.vectors = vectors;
    task.reduction = *reduction;
    if (m->block_size > 1) {
        shared = plan_tiles(ctx, choice.rows, &task);
        grid = gpu_grid(ctx, (block_count(m) + task.tile - 1) / task.tile * GPU_BLOCK, APPLY_BLOCKS);
    }
    task.gate = open_gate(ctx, reduction->state, false);
    status = prepare_reduction(ctx, grid, reduction->ndots, reduction->step, reduction->state, &task.target);
    if (status != TESS_SUCCESS) { return status; }
    return end_reduction(ctx, gpu_launch(ctx, "block Jacobi", choice.kernel, grid, shared, task), task.target);
}
