/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tiles left of the diagonal in a block row of a triangular solve: how a thread block reads a tile and multiplies
 * it by its part of the solution.
 *
 * Thread t holds packs of V neighbouring rows (of A) from K columns: rows V (t mod RG) ..., columns t / RG + CG k. Not
 * transposed, rows of A belong to sums and columns to the solution; transposed, the other way round. Either way a
 * thread adds its own sums over all tiles; the threads' sums are added once, at the end.
 */
#ifndef TESS_DENSE_TRSV_TILES_CUH
#define TESS_DENSE_TRSV_TILES_CUH

#include <tessera/storage.cuh>

#include "dense/trsv.h"
#include "dense/trsv_messages.cuh"
#include "device/gpu/gpu.h"
#include "device/gpu/wave_sums.cuh"

/* The arguments of the kernel. */
struct solve_job {
    int64_t n, ld;
    int blocks;
    const void *a;
    const double *scale; /* of A's columns, or NULL */
    void *x;
    tess_precision x_precision;
    bool backward, unit, narrow_inverse;
    bool aligned; /* every column of A begins at a multiple of 16 bytes */
    solve_head *head;
    void *messages; /* of TRSV_BLOCK values a block */
    int64_t message_bytes;
    gpu_timeout timeout;
};

template <typename S, bool TRANSPOSED>
struct tile_shape {
    /* Values of a pack: 16 bytes where registers allow. */
    static constexpr int V = sizeof(S) == 8 ? 2 : sizeof(S) == 2 && !TRANSPOSED ? 8 : 4;
    static constexpr int RG = TRSV_BLOCK / V, CG = GPU_BLOCK / RG, K = TRSV_BLOCK / CG;
    static constexpr int SUMS = TRANSPOSED ? K : V; /* of a thread */
    static_assert(RG <= GPU_WAVE && K >= 1, "sums over rows stay within a wave");
};

/* Number of rows or columns of the block that begins at `first` < n. */
__device__ static inline int left_of(int64_t n, int64_t first)
{
    return n - first < TRSV_BLOCK ? static_cast<int>(n - first) : static_cast<int>(TRSV_BLOCK);
}

/* The thread's part of the tile that begins at (row, column) of A; 0 outside A. */
template <typename S, bool TRANSPOSED>
__device__ static inline void
load_tile(const solve_job &job, int64_t row, int64_t column,
          tess::pack<S, tile_shape<S, TRANSPOSED>::V> (&tile)[tile_shape<S, TRANSPOSED>::K])
{
    typedef tile_shape<S, TRANSPOSED> shape;
    typedef tess::pack<S, shape::V> pack;
    int i = static_cast<int>(threadIdx.x) % shape::RG * shape::V, j = static_cast<int>(threadIdx.x) / shape::RG;
    const int rows = left_of(job.n, row), columns = left_of(job.n, column);
    const S *from = static_cast<const S *>(job.a) + (column + j) * job.ld + (row + i);

    if (job.aligned && rows == TRSV_BLOCK && columns == TRSV_BLOCK) {
#pragma unroll
        for (int k = 0; k < shape::K; k++) {
            tile[k] = gpu_load_once(reinterpret_cast<const pack *>(from + k * shape::CG * job.ld));
        }
        return;
    }
    GPU_NOT_BEFORE(i);
    GPU_NOT_BEFORE(j);
    from = static_cast<const S *>(job.a) + (column + j) * job.ld + (row + i);
#pragma unroll
    for (int k = 0; k < shape::K; k++) {
#pragma unroll
        for (int v = 0; v < shape::V; v++) {
            tile[k].value[v] = S{};
            if (i + v < rows && j + shape::CG * k < columns) {
                tile[k].value[v] = gpu_load_once(from + k * shape::CG * job.ld + v);
            }
        }
    }
}

/* sums += tile (or its transpose) times the block of the solution that belongs to its columns (rows) */
template <typename S, typename T, bool TRANSPOSED>
__device__ static inline void
add_tile(const tess::pack<S, tile_shape<S, TRANSPOSED>::V> (&tile)[tile_shape<S, TRANSPOSED>::K],
         const T (&solution)[TRSV_BLOCK], T (&sum)[tile_shape<S, TRANSPOSED>::SUMS])
{
    typedef tile_shape<S, TRANSPOSED> shape;
    const int thread = static_cast<int>(threadIdx.x), i = thread % shape::RG * shape::V, j = thread / shape::RG;

#pragma unroll
    for (int k = 0; k < shape::K; k++) {
        T value[shape::V];

        tess::decode_pack(tile[k], value);
#pragma unroll
        for (int v = 0; v < shape::V; v++) {
            sum[TRANSPOSED ? k : v] += value[v] * solution[TRANSPOSED ? i + v : j + shape::CG * k];
        }
    }
}

/* Adds the threads' sums: total[l] for row (transposed: column) l of the block. `workspace` holds TRSV_BLOCK values per
   wave; after the caller's barrier its first TRSV_BLOCK values are the result, in WAVES parts if WAVES > 1. */
template <typename S, typename T, bool TRANSPOSED, int SUMS>
__device__ static inline void gather_sums(T (&sum)[SUMS], T (*workspace)[TRSV_BLOCK])
{
    typedef tile_shape<S, TRANSPOSED> shape;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % GPU_WAVE, wave = thread / GPU_WAVE;
    const int group = thread % shape::RG, first = thread / shape::RG;

#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        if constexpr (TRANSPOSED) { /* over the groups of rows: neighbouring lanes */
            sum[i] = lanes_sum_down(sum[i], shape::RG);
            if (group == 0) { workspace[0][first + shape::CG * i] = sum[i]; }
        } else { /* over the columns: lanes RG apart, then the waves */
            sum[i] = lanes_sum_down(sum[i], GPU_WAVE, shape::RG);
            if (lane < shape::RG) { workspace[wave][group * shape::V + i] = sum[i]; }
        }
    }
}

/* Blocks of the solution in a thread block's shared memory: the one that is multiplied and the next one. */
template <typename T>
struct solution_workspace {
    alignas(16) T block[2][TRSV_BLOCK];
};

/*
 * A thread's sums over the tiles of steps 0 .. step - 2, in that order. Two tiles are in flight while it waits for the
 * solution of a third. The last tile is left for finish(), so that the caller can prepare meanwhile.
 *
 * TRSV_BLOCK threads read one message each and share the result. All blocks read the same few cache lines; if every
 * thread read for itself, these lines would be the bottleneck.
 */
template <typename S, typename T, bool TRANSPOSED>
class tile_stream {
    typedef tile_shape<S, TRANSPOSED> shape;

  public:
    T sum[shape::SUMS] = {};

    /* For the block row solved at `step`, which is the block row `block` of A (transposed: block column). */
    __device__ tile_stream(const solve_job &job, solution_workspace<T> *workspace, unsigned call, int step, int block)
        : job_(job), workspace_(workspace), call_(call), step_(step), block_(block), count_(step - 1)
    {
        message_ = static_cast<const message<T> *>(job.messages) + threadIdx.x;
        if (count_ > 0) {
            load(0, now_);
            look(0);
        }
        if (count_ > 1) { load(1, next_); }
    }

    __device__ void run()
    {
        for (int j = 0; j + 1 < count_; j++) {
            await(j);
            look(j + 1);
            add_tile<S, T, TRANSPOSED>(now_, workspace_->block[j % 2], sum);
#pragma unroll
            for (int k = 0; k < shape::K; k++) {
                now_[k] = next_[k];
            }
            if (j + 2 < count_) { load(j + 2, next_); }
        }
    }

    __device__ void finish()
    {
        if (count_ > 0) {
            await(count_ - 1);
            add_tile<S, T, TRANSPOSED>(now_, workspace_->block[(count_ - 1) % 2], sum);
        }
    }

  private:
    __device__ int64_t first_of(int step) const /* row or column of the block solved at that step */
    {
        return static_cast<int64_t>(job_.backward ? job_.blocks - 1 - step : step) * TRSV_BLOCK;
    }
    __device__ void load(int step, tess::pack<S, shape::V> (&to)[shape::K]) const
    {
        const int64_t other = first_of(step), own = static_cast<int64_t>(block_) * TRSV_BLOCK;

        load_tile<S, TRANSPOSED>(job_, TRANSPOSED ? other : own, TRANSPOSED ? own : other, to);
    }
    __device__ void look(int step)
    {
        if (threadIdx.x < TRSV_BLOCK) { peek_messages(message_ + first_of(step), 0, seen_); }
    }
    /* All threads call it: the solution of that step is in its half of the workspace. No thread still reads that half,
       because all have since been here for the other half. */
    __device__ void await(int step)
    {
        if (threadIdx.x < TRSV_BLOCK) {
            T value[1];

            await_messages(message_ + first_of(step), 0, call_, pause(step), job_.timeout, seen_, value);
            workspace_->block[step % 2][threadIdx.x] = value[0];
        }
        __syncthreads();
    }
    /* Blocks whose turn is far off read less often. */
    __device__ unsigned pause(int j) const
    {
        const int distance = step_ - j;

        return distance < 3 ? 0U : distance < 32 ? static_cast<unsigned>(distance) * 32U : 1024U;
    }

    const solve_job &job_;
    solution_workspace<T> *const workspace_;
    const unsigned call_;
    const int step_, block_, count_;
    const message<T> *message_;
    tess::pack<S, shape::V> now_[shape::K], next_[shape::K];
    message<T> seen_[1];
};

/* Launches the solve for a matrix stored as S (trsv_stored_device.cu). */
template <typename S>
tess_status trsv_launch(tess_context *ctx, const tess_trsv_args *args, solve_job *job);

#endif
