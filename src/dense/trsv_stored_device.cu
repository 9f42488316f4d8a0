/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense triangular solves on the GPU in one kernel, after Hogg, A fast dense triangular solve in CUDA, SIAM J. Sci.
 * Comput. 35 (2013), section 3, with one step more. A thread block takes the next block row from a ticket, so that the
 * blocks it waits for have begun. With D the diagonal block and L_j the tiles left of it, it computes x_i in the order
 *   Y = D^-1, W = Y L_(i-1)                                  while others solve
 *   c = Y (b_i - sum of L_j x_j over j < i - 1)              as the x_j arrive, with tiles read ahead
 *   x_i = c - W x_(i-1)
 * so that between two blocks of the solution there is only one product of 64 by 64, from registers. Sums have a fixed
 * order: the bits are the same on every run. Compiled separately for each precision of A.
 */
#include "dense/trsv_inverse.cuh"
#include "dense/trsv_tiles.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"

enum {
    TRSV_PARTS = GPU_BLOCK / TRSV_BLOCK,             /* threads that share a row of a product from registers */
    TRSV_PAIRS = TRSV_BLOCK / (2 * TRSV_PARTS),      /* pairs of columns per thread */
    TRSV_EACH = TRSV_BLOCK * TRSV_BLOCK / GPU_BLOCK, /* elements of a tile per thread */
    TRSV_CHUNK = 16,                                 /* rows of L_(i-1) in shared memory at a time */
    TRSV_WAVES = GPU_BLOCK / GPU_WAVE
};

/* Shared memory of a thread block. */
template <typename T>
struct solve_workspace {
    alignas(16) double inverse[TRSV_BLOCK * TRSV_PITCH]; /* D, then Y: in the inversion's precision, then as T */
    union {
        T chunk[TRSV_CHUNK][TRSV_PITCH];
        T sums[TRSV_WAVES][TRSV_BLOCK];
    };
    solution_workspace<T> solution;
    double scale[TRSV_BLOCK];         /* of the block's columns of A */
    alignas(16) T right[TRSV_BLOCK];  /* b_i - ... */
    alignas(16) T before[TRSV_BLOCK]; /* x_(i-1) */
    solve_turn turn;
};

template <typename T>
__device__ static inline T read_value(tess_precision precision, const void *data, int64_t i)
{
    if constexpr (sizeof(T) == 8) {
        return tess_load(precision, data, i);
    } else {
        return tess_load_float(precision, data, i);
    }
}

template <typename T>
__device__ static inline void write_value(tess_precision precision, void *data, int64_t i, T value)
{
    if constexpr (sizeof(T) == 8) {
        tess_store(precision, data, i, value, TESS_OVERFLOW_INFINITY);
    } else {
        tess_store_float(precision, data, i, value, TESS_OVERFLOW_INFINITY);
    }
}

/* Place of a row or column within its block in the order of the solution, and back. */
__device__ static inline int in_order(const solve_job &job, int local)
{
    return job.backward ? TRSV_BLOCK - 1 - local : local;
}

/* The thread's elements of the tile of A that begins at (row, column), as stored; 0 outside A. All loads are issued
   before the first is used. `below` loads only elements below and on the diagonal, `unit` only off the diagonal. */
template <typename S, bool DIAGONAL>
__device__ static inline void load_elements(const solve_job &job, int64_t row, int64_t column, bool transposed,
                                            S (&tile)[TRSV_EACH])
{
    const int i = static_cast<int>(threadIdx.x) % TRSV_BLOCK, rows = left_of(job.n, row),
              columns = left_of(job.n, column);
    const S *from = static_cast<const S *>(job.a) + column * job.ld + row + i;

#pragma unroll
    for (int s = 0; s < TRSV_EACH; s++) {
        const int j = (static_cast<int>(threadIdx.x) + s * GPU_BLOCK) / TRSV_BLOCK;
        bool wanted = i < rows && j < columns;

        if (DIAGONAL) { wanted = wanted && (i == j ? !job.unit : (i > j) != (job.backward != transposed)); }
        tile[s] = S{};
        if (wanted) { tile[s] = gpu_load_once(from + j * job.ld); }
    }
}

/* Stores the diagonal block as a lower triangle, padded with the identity. */
template <typename S, typename I, bool TRANSPOSED>
__device__ static inline void place_diagonal(const solve_job &job, int64_t first, const S (&tile)[TRSV_EACH],
                                             const double *scale, I (*d)[TRSV_PITCH])
{
    I value[TRSV_EACH];

#pragma unroll
    for (int s = 0; s < TRSV_EACH; s++) {
        value[s] = tess::decode<I>(tile[s]) * static_cast<I>(scale[(threadIdx.x + s * GPU_BLOCK) / TRSV_BLOCK]);
    }
#pragma unroll
    for (int s = 0; s < TRSV_EACH; s++) {
        const int index = static_cast<int>(threadIdx.x) + s * GPU_BLOCK;
        const int i = index % TRSV_BLOCK, j = index / TRSV_BLOCK;
        const int row = in_order(job, i), column = in_order(job, j);

        if (i == j && (job.unit || first + i >= job.n)) { value[s] = I(1); }
        d[TRANSPOSED ? column : row][TRANSPOSED ? row : column] = value[s];
    }
}

/* Y in shared memory, as T. */
template <typename S, typename T, typename I, bool TRANSPOSED>
__device__ static inline void make_inverse(const solve_job &job, int64_t first, const S (&tile)[TRSV_EACH],
                                           const double *scale, double *workspace)
{
    I(*d)[TRSV_PITCH] = reinterpret_cast<I(*)[TRSV_PITCH]>(workspace);
    T(*y)[TRSV_PITCH] = reinterpret_cast<T(*)[TRSV_PITCH]>(workspace);

    place_diagonal<S, I, TRANSPOSED>(job, first, tile, scale, d);
    invert_lower<I>(d);
    if constexpr (sizeof(I) != sizeof(T)) {
        T value[TRSV_EACH];

#pragma unroll
        for (int s = 0; s < TRSV_EACH; s++) {
            const int index = static_cast<int>(threadIdx.x) + s * GPU_BLOCK;

            value[s] = static_cast<T>(d[index / TRSV_BLOCK][index % TRSV_BLOCK]);
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < TRSV_EACH; s++) {
            const int index = static_cast<int>(threadIdx.x) + s * GPU_BLOCK;

            y[index / TRSV_BLOCK][index % TRSV_BLOCK] = value[s];
        }
        __syncthreads();
    }
}

/* This thread's part of W = Y L_(i-1): of row q the columns (2 (PARTS m + part), ... + 1). Each chunk of L's rows
   passes through shared memory. */
template <typename S, typename T, bool TRANSPOSED>
__device__ static inline void fold(const solve_job &job, const S (&tile)[TRSV_EACH], solve_workspace<T> *workspace,
                                   int q, int part, T (&w)[2 * TRSV_PAIRS])
{
    const T *y = reinterpret_cast<const T(*)[TRSV_PITCH]>(workspace->inverse)[q];

#pragma unroll 1
    for (int first = 0; first < TRSV_BLOCK; first += TRSV_CHUNK) {
        int thread = static_cast<int>(threadIdx.x);

        __syncthreads();
        GPU_NOT_BEFORE(thread);
#pragma unroll
        for (int s = 0; s < TRSV_EACH; s++) {
            const int index = thread + s * GPU_BLOCK;
            const int i = index % TRSV_BLOCK, j = index / TRSV_BLOCK;
            const int row = in_order(job, i), column = in_order(job, j);
            const int k = (TRANSPOSED ? column : row) - first, c = TRANSPOSED ? row : column;

            if (k >= 0 && k < TRSV_CHUNK) { workspace->chunk[k][c] = tess::decode<T>(tile[s]); }
        }
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < TRSV_CHUNK && first + k <= q; k++) {
            T factor = y[first + k];

            if (TRANSPOSED) { /* A's columns are L's rows */
                factor *= static_cast<T>(workspace->scale[in_order(job, first + k)]);
            }

#pragma unroll
            for (int m = 0; m < TRSV_PAIRS; m++) {
                const trsv_pair<T> two = pair_of(workspace->chunk[k], m * TRSV_PARTS + part);

                w[2 * m] += factor * two.first;
                w[2 * m + 1] += factor * two.second;
            }
        }
    }
    __syncthreads(); /* the workspace of the sums is that of the chunk */
}

/* This thread's part of a row times a vector in shared memory; elements right of column `last` count as absent. */
template <typename T>
__device__ static inline T part_of_product(const T (&row)[2 * TRSV_PAIRS], const T *vector, int part, int last)
{
    T even = T(0), odd = T(0);

#pragma unroll
    for (int m = 0; m < TRSV_PAIRS; m++) {
        const int p = m * TRSV_PARTS + part;
        const trsv_pair<T> two = pair_of(vector, p);

        even += row[2 * m] * (2 * p <= last ? two.first : T(0));
        odd += row[2 * m + 1] * (2 * p + 1 <= last ? two.second : T(0));
    }
    return even + odd;
}

/* b_i - sum, for the thread of row `local`. */
template <typename T, bool TRANSPOSED>
__device__ static inline void subtract_sums(const solve_job &job, solve_workspace<T> *workspace, int local)
{
    T sum = workspace->sums[0][local];

    if (!TRANSPOSED) {
#pragma unroll
        for (int w = 1; w < TRSV_WAVES; w++) {
            sum += workspace->sums[w][local];
        }
    } else {
        sum *= static_cast<T>(workspace->scale[local]);
    }
    workspace->right[in_order(job, local)] -= sum;
}

/* Sends x_i to the other blocks (transposed, they get it without the column's scale), then stores it. */
template <typename T, bool TRANSPOSED>
__device__ static inline void deliver(const solve_job &job, int64_t i, T x, T scale, unsigned call)
{
    post_message(static_cast<message<T> *>(job.messages) + i, TRANSPOSED ? x : x * scale, call);
    if (i < job.n) { write_value(job.x_precision, job.x, i, x); }
}

/* FP64 storage keeps more of A in registers: one block per multiprocessor has as many bytes in flight as two of another
   storage. */
template <typename S, typename T, bool TRANSPOSED>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (sizeof(S) == 8 ? 1 : 2)) trsv_kernel(const solve_job job)
{
    __shared__ solve_workspace<T> workspace;
    const T(*y)[TRSV_PITCH] = reinterpret_cast<const T(*)[TRSV_PITCH]>(workspace.inverse);
    const int thread = static_cast<int>(threadIdx.x), q = thread / TRSV_PARTS, part = thread % TRSV_PARTS;
    S tile[TRSV_EACH];
    T row[2 * TRSV_PAIRS], w[2 * TRSV_PAIRS] = {};
    T x = T(0);

    take_turn(job.head, job.timeout, &workspace.turn);
    const unsigned call = workspace.turn.call;
    const int step = static_cast<int>(workspace.turn.step), block = job.backward ? job.blocks - 1 - step : step;
    const int64_t first = static_cast<int64_t>(block) * TRSV_BLOCK,
                  previous = first + (job.backward ? TRSV_BLOCK : -TRSV_BLOCK);

    if (workspace.turn.idle) {
        end_turn(job.head, job.messages, job.message_bytes, call);
        return;
    }
    load_elements<S, true>(job, first, first, TRANSPOSED, tile);
    if (thread < TRSV_BLOCK) {
        const bool inside = first + thread < job.n;

        workspace.scale[thread] = job.scale && inside ? job.scale[first + thread] : 1.0;
        workspace.right[in_order(job, thread)] = inside ? read_value<T>(job.x_precision, job.x, first + thread) : T(0);
    }
    __syncthreads();
    if (job.narrow_inverse) {
        make_inverse<S, T, float, TRANSPOSED>(job, first, tile, workspace.scale, workspace.inverse);
    } else {
        make_inverse<S, T, double, TRANSPOSED>(job, first, tile, workspace.scale, workspace.inverse);
    }
    if (step > 0) {
        load_elements<S, false>(job, TRANSPOSED ? previous : first, TRANSPOSED ? first : previous, false, tile);
        fold<S, T, TRANSPOSED>(job, tile, &workspace, q, part, w);
    }

    tile_stream<S, T, TRANSPOSED> stream(job, &workspace.solution, call, step, block);
    stream.run();
#pragma unroll
    for (int m = 0; m < TRSV_PAIRS; m++) {
        const trsv_pair<T> two = pair_of(y[q], m * TRSV_PARTS + part);

        row[2 * m] = two.first;
        row[2 * m + 1] = two.second;
    }
    stream.finish();
    gather_sums<S, T, TRANSPOSED>(stream.sum, workspace.sums);
    __syncthreads();
    if (thread < TRSV_BLOCK) { subtract_sums<T, TRANSPOSED>(job, &workspace, thread); }
    __syncthreads();
    x = part_of_product(row, workspace.right, part, q);
    if (step > 0) {
        if (thread < TRSV_BLOCK) {
            const message<T> *from = static_cast<const message<T> *>(job.messages) + previous + thread;
            message<T> seen[1];
            T value[1];

            peek_messages(from, 0, seen);
            await_messages(from, 0, call, 0U, job.timeout, seen, value);
            workspace.before[in_order(job, thread)] = value[0];
        }
        __syncthreads();
        x -= part_of_product(w, workspace.before, part, TRSV_BLOCK);
    }
    x = lanes_sum_down(x, TRSV_PARTS);
    if (part == 0) {
        const int local = in_order(job, q);

        deliver<T, TRANSPOSED>(job, first + local, x, static_cast<T>(workspace.scale[local]), call);
    }
    __syncthreads();
    end_turn(job.head, job.messages, job.message_bytes, call);
}

template <typename S, typename T>
static tess_status launch(tess_context *ctx, const tess_trsv_args *args, const solve_job &job)
{
    const unsigned blocks = static_cast<unsigned>(job.blocks);

    if (args->options.operation == TESS_OP_TRANSPOSE) {
        trsv_kernel<S, T, true><<<blocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(job);
    } else {
        trsv_kernel<S, T, false><<<blocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(job);
    }
    return gpu_check_launch(ctx, "a triangular solve");
}

template <typename S>
tess_status trsv_launch(tess_context *ctx, const tess_trsv_args *args, solve_job *job)
{
    const size_t bytes = sizeof(S);

    job->aligned = reinterpret_cast<uintptr_t>(job->a) % 16 == 0 && static_cast<size_t>(job->ld) * bytes % 16 == 0;
    return args->options.arithmetic == TESS_ARITHMETIC_FP32 ? launch<S, float>(ctx, args, *job)
                                                            : launch<S, double>(ctx, args, *job);
}

#define LAUNCH(S) template tess_status trsv_launch<S>(tess_context *, const tess_trsv_args *, solve_job *);
STORED_TYPES(LAUNCH)
#undef LAUNCH
