/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tiles left of the diagonal in a triangular solve's block row: how a thread block reads one and multiplies it by the
 * part of the solution that belongs to it.
 *
 * Thread t holds packs of V neighbouring rows (of A) from K columns: rows V (t mod RG) ..., columns t / RG + CG k. Not
 * transposed, rows of A belong to sums and columns to the solution; transposed the other way round. Either way a thread adds
 * its own sums over all tiles, and they meet those of other threads once, at the end.
 */
#ifndef TESS_DENSE_TRSV_TILES_CUH
#define TESS_DENSE_TRSV_TILES_CUH

#include <tessera/storage.cuh>

#include "backend/gpu/gpu.h"
#include "dense/trsv.h"
#include "dense/trsv_letters.cuh"

/* What the kernel gets. */
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
    void *letters; /* of TRSV_BLOCK values a block */
    int64_t letter_bytes;
};

/* Bytes of each column that a transposed solve asks for together. */
#ifndef GPU_PREFETCHED
#define GPU_PREFETCHED 1024
#endif

template <typename S, bool TRANSPOSED>
struct tile_shape {
    /* Values of a pack: 16 bytes where registers allow. */
    static constexpr int V = sizeof(S) == 8 ? 2 : sizeof(S) == 2 && !TRANSPOSED ? 8 : 4;
    static constexpr int RG = TRSV_BLOCK / V, CG = GPU_BLOCK / RG, K = TRSV_BLOCK / CG;
    static constexpr int SUMS = TRANSPOSED ? K : V;    /* of a thread */
    static constexpr int FACTORS = TRANSPOSED ? V : K; /* values of the solution that a thread needs for a tile */
    static_assert(RG <= GPU_WAVE && K >= 1, "sums over rows stay within a wave");
};

/* Rows or columns of the block that begins at `first` < n. */
__device__ static inline int left_of(int64_t n, int64_t first)
{
    return n - first < TRSV_BLOCK ? static_cast<int>(n - first) : static_cast<int>(TRSV_BLOCK);
}

/* This thread's part of the tile that begins at (row, column) of A; 0 outside A. */
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

/* sums += tile (or its transpose) times the factors */
template <typename S, typename T, bool TRANSPOSED>
__device__ static inline void
add_tile(const tess::pack<S, tile_shape<S, TRANSPOSED>::V> (&tile)[tile_shape<S, TRANSPOSED>::K],
         const T (&factor)[tile_shape<S, TRANSPOSED>::FACTORS], T (&sum)[tile_shape<S, TRANSPOSED>::SUMS])
{
    typedef tile_shape<S, TRANSPOSED> shape;

#pragma unroll
    for (int k = 0; k < shape::K; k++) {
        T value[shape::V];

        tess::decode_pack(tile[k], value);
#pragma unroll
        for (int v = 0; v < shape::V; v++) {
            sum[TRANSPOSED ? k : v] += value[v] * factor[TRANSPOSED ? v : k];
        }
    }
}

/* Adds the threads' sums: total[l] for row (transposed: column) l of the block. `room` holds TRSV_BLOCK values per wave; the
   result is in the first TRSV_BLOCK of it after the caller's barrier, in WAVES parts where WAVES > 1. */
template <typename S, typename T, bool TRANSPOSED, int SUMS>
__device__ static inline void gather_sums(T (&sum)[SUMS], T (*room)[TRSV_BLOCK])
{
    typedef tile_shape<S, TRANSPOSED> shape;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % GPU_WAVE, wave = thread / GPU_WAVE;
    const int group = thread % shape::RG, first = thread / shape::RG;

#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        if constexpr (TRANSPOSED) { /* over the groups of rows: neighbouring lanes */
#pragma unroll
            for (int distance = shape::RG / 2; distance > 0; distance /= 2) {
                sum[i] += GPU_SHUFFLE_DOWN(sum[i], distance, shape::RG);
            }
            if (group == 0) { room[0][first + shape::CG * i] = sum[i]; }
        } else { /* over the columns: lanes RG apart, then the waves */
#pragma unroll
            for (int distance = GPU_WAVE / 2; distance >= shape::RG; distance /= 2) {
                sum[i] += GPU_SHUFFLE_DOWN(sum[i], distance, GPU_WAVE);
            }
            if (lane < shape::RG) { room[wave][group * shape::V + i] = sum[i]; }
        }
    }
}

/*
 * A thread's sums over the tiles of steps 0 .. step - 2, in that order. Two tiles are on their way while it waits for the
 * solution of a third. The last tile is left for finish(), so that the caller can get ready in the meantime.
 *
 * Transposed, the blocks that run side by side read the same rows of different columns, far apart: the memory delivers that at a
 * fraction of its bandwidth. So there each asks for GPU_PREFETCHED bytes of its columns at once, a chunk of tiles ahead.
 */
template <typename S, typename T, bool TRANSPOSED>
class tile_stream {
    typedef tile_shape<S, TRANSPOSED> shape;

  public:
    T sum[shape::SUMS] = {};

    /* For the block row solved at `step`, which is the block row `block` of A (transposed: block column). */
    __device__ tile_stream(const solve_job &job, unsigned call, int step, int block)
        : job_(job), call_(call), step_(step), block_(block), count_(step - 1)
    {
        const int thread = static_cast<int>(threadIdx.x);

        letter_ = static_cast<const letter<T> *>(job.letters) +
                  (TRANSPOSED ? thread % shape::RG * shape::V : thread / shape::RG);
        if (TRANSPOSED) { prefetch(0); }
        if (count_ > 0) {
            load(0, now_);
            if (EARLY) { peek_letters(letters_of(0), STRIDE, seen_); }
        }
        if (count_ > 1) { load(1, next_); }
    }

    __device__ void run()
    {
        for (int j = 0; j + 1 < count_; j++) {
            T factor[shape::FACTORS];

            if (TRANSPOSED && j % CHUNK == 0) { prefetch(j + CHUNK); }
            if (!EARLY) { peek_letters(letters_of(j), STRIDE, seen_); }
            await_letters(letters_of(j), STRIDE, call_, pause(j), seen_, factor);
            if (EARLY) { peek_letters(letters_of(j + 1), STRIDE, seen_); }
            add_tile<S, T, TRANSPOSED>(now_, factor, sum);
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
            T factor[shape::FACTORS];

            if (!EARLY) { peek_letters(letters_of(count_ - 1), STRIDE, seen_); }
            await_letters(letters_of(count_ - 1), STRIDE, call_, pause(count_ - 1), seen_, factor);
            add_tile<S, T, TRANSPOSED>(now_, factor, sum);
        }
    }

  private:
    static constexpr int STRIDE = TRANSPOSED ? 1 : shape::CG;
    /* Letters of the next tile are looked at while this one is added, where registers allow. */
    static constexpr bool EARLY = !TRANSPOSED || sizeof(T) == 4 || sizeof(S) == 8;

    static constexpr int LINE = 128 / static_cast<int>(sizeof(S)); /* values of a line of the cache */
    static constexpr int CHUNK = GPU_PREFETCHED / (TRSV_BLOCK * static_cast<int>(sizeof(S)));

    /* The tiles of steps step .. step + CHUNK - 1: 64 columns, the threads of a column on lines one after another. */
    __device__ void prefetch(int step) const
    {
        constexpr int THREADS = GPU_BLOCK / TRSV_BLOCK;
        const int last = min(step + CHUNK, count_) - 1, thread = static_cast<int>(threadIdx.x);
        const int64_t column = static_cast<int64_t>(block_) * TRSV_BLOCK + thread / THREADS;

        if (step > last || column >= job_.n) { return; }
        const int64_t low = first_of(job_.backward ? last : step),
                      high = min(first_of(job_.backward ? step : last) + TRSV_BLOCK, job_.n);

#pragma unroll 1
        for (int64_t row = low + thread % THREADS * LINE; row < high; row += THREADS * LINE) {
            GPU_PREFETCH(static_cast<const S *>(job_.a) + column * job_.ld + row);
        }
    }
    __device__ int64_t first_of(int step) const /* row or column of the block solved at that step */
    {
        return static_cast<int64_t>(job_.backward ? job_.blocks - 1 - step : step) * TRSV_BLOCK;
    }
    __device__ const letter<T> *letters_of(int step) const
    {
        return letter_ + first_of(step);
    }
    __device__ void load(int step, tess::pack<S, shape::V> (&to)[shape::K]) const
    {
        const int64_t other = first_of(step), own = static_cast<int64_t>(block_) * TRSV_BLOCK;

        load_tile<S, TRANSPOSED>(job_, TRANSPOSED ? other : own, TRANSPOSED ? own : other, to);
    }
    /* Blocks whose turn is far off look seldom. */
    __device__ unsigned pause(int j) const
    {
        const int distance = step_ - j;

        return distance < 3 ? 0U : distance < 32 ? static_cast<unsigned>(distance) * 32U : 1024U;
    }

    const solve_job &job_;
    const unsigned call_;
    const int step_, block_, count_;
    const letter<T> *letter_;
    tess::pack<S, shape::V> now_[shape::K], next_[shape::K];
    letter<T> seen_[shape::FACTORS];
};

#endif
