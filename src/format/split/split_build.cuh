/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the builders of split storage on the GPU: their input, places within a run, entries in flight. */
#ifndef TESS_FORMAT_SPLIT_SPLIT_BUILD_CUH
#define TESS_FORMAT_SPLIT_SPLIT_BUILD_CUH

#include "device/gpu/store_value.cuh"
#include "format/split/split.h"
#include "format/split/split_rows.h"
#include "policy/assign.h"

enum {
    RUN_ROUNDS = 4,               /* rows or entries of a run are taken in rounds, one per thread */
    RUN = RUN_ROUNDS * GPU_BLOCK, /* rows or entries that a block counts and places */
    WAVES = GPU_BLOCK / GPU_WAVE,
    BLOCKS_PER_MULTIPROCESSOR = 8
};

/* The input of the builder's functions, as kernel arguments. */
struct device_source {
    csr_view csr;
    split_source source; /* source.csr points into host memory; with_csr() replaces it */
    split_rows rows;

    __device__ inline split_source with_csr() const
    {
        split_source own = source;

        own.csr = &csr;
        return own;
    }
};

static inline device_source make_source(const split_source *source, const split_rows *rows)
{
    device_source s = {*source->csr, *source, {NULL, 0, -1}};

    if (rows) { s.rows = *rows; }
    return s;
}

/* An offset from its 32-bit words. With a branch between two loads, each would be waited for before the next begins. */
__device__ static inline int64_t load_offset(const void *row_ptr, int bits, int64_t i)
{
    const int32_t *word = (const int32_t *)row_ptr + (bits == 64 ? 2 * i : i);
    uint32_t low = (uint32_t)word[0];
    int32_t high = bits == 64 ? word[1] : 0; /* 32-bit offsets are not negative */

    return (int64_t)((uint64_t)(uint32_t)high << 32 | low);
}

/* split_span_of with such loads. */
__device__ static inline split_span load_span(const device_source &s, int64_t i)
{
    const int64_t row = split_row(&s.rows, i);

    return {row, load_offset(s.csr.row_ptr, s.csr.row_ptr_bits, row),
            load_offset(s.csr.row_ptr, s.csr.row_ptr_bits, row + 1)};
}

/* ---- sums within a block ---- */

/*
 * The threads of a block hold RUN_ROUNDS items each, of series 0 to SERIES - 1 or of none (-1), in the order of rounds
 * and of threads within a round. In shared memory, by round and wave: which lanes have an item of a series, and how
 * many items come before.
 */
template <int SERIES>
struct run_counts {
    enum { COUNTS = RUN_ROUNDS * WAVES };
    int before[SERIES][COUNTS], all[SERIES];
    gpu_lanes same[SERIES][COUNTS];

    /* Items of a series before place `place` of the run. */
    __device__ inline int count_before(int series, int place) const
    {
        const gpu_lanes earlier = ((gpu_lanes)1 << place % GPU_WAVE) - 1;

        return before[series][place / GPU_WAVE] + GPU_COUNT_LANES(same[series][place / GPU_WAVE] & earlier);
    }
};

/* Sets rank[round] to the number of earlier items of the same series. All threads of the block call it; a barrier must
   come before `run` is used again. */
template <int SERIES>
__device__ static inline void rank_in_run(const int (&series)[RUN_ROUNDS], int (&rank)[RUN_ROUNDS],
                                          run_counts<SERIES> *run)
{
    enum { COUNTS = run_counts<SERIES>::COUNTS };
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    const gpu_lanes earlier = ((gpu_lanes)1 << lane) - 1;

    static_assert((int)COUNTS <= (int)GPU_WAVE, "a wave adds up the counts of a series");
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        rank[round] = 0;
#pragma unroll
        for (int p = 0; p < SERIES; p++) {
            gpu_lanes same = GPU_BALLOT(series[round] == p);

            if (series[round] == p) { rank[round] = GPU_COUNT_LANES(same & earlier); }
            if (lane == 0) {
                run->before[p][round * WAVES + wave] = GPU_COUNT_LANES(same);
                run->same[p][round * WAVES + wave] = same;
            }
        }
    }
    __syncthreads();
    for (int p = wave; p < SERIES; p += WAVES) {
        int own = lane < COUNTS ? run->before[p][lane] : 0, inclusive = own;

        for (int distance = 1; distance < COUNTS; distance *= 2) {
            int other = GPU_SHUFFLE_UP(inclusive, distance, GPU_WAVE);

            if (lane >= distance) { inclusive += other; }
        }
        if (lane < COUNTS) { run->before[p][lane] = inclusive - own; }
        if (lane == COUNTS - 1) { run->all[p] = inclusive; }
    }
    __syncthreads();
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        if (series[round] >= 0) { rank[round] += run->before[series[round]][round * WAVES + wave]; }
    }
}

/* ---- entries ---- */

enum { COPIES = RUN_ROUNDS }; /* entries in flight per thread */

struct copied_entries {
    int32_t column[COPIES];
    double value[COPIES];
};

/* Entries from[c] of the assembled matrix, if not negative: all loads at once. */
__device__ static inline void load_entries(const csr_view &csr, const split_target &target,
                                           const int64_t (&from)[COPIES], copied_entries *e)
{
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
        e->column[c] = target.col_ind && from[c] >= 0 ? gpu_load_once(csr.col_ind + from[c]) : 0;
        e->value[c] = target.val && from[c] >= 0 ? gpu_load_once((const double *)csr.val + from[c]) : 0.0;
    }
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
        if (target.position_of && target.col_ind && from[c] >= 0) { e->column[c] = target.position_of[e->column[c]]; }
    }
}

/* ---- layers (split_layers_build_device.cu) ---- */

extern "C" tess_status split_gpu_count_layers(tess_context *ctx, const split_source *source, int nlevels, int64_t *nnz);
extern "C" tess_status split_gpu_copy_layers(tess_context *ctx, const split_source *source, int nlevels,
                                             const csr_view *to, const split_target *target, bool with_offsets);
/* Entries of one level, to the places in to->row_ptr. */
extern "C" tess_status split_gpu_copy_layer(tess_context *ctx, const split_source *source, int level,
                                            const csr_view *to, const split_target *target);

#endif
