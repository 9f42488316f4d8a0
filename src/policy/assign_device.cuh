/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the passes over rows, entries and blocks: ranges, counts, statistics of neighbouring threads. */
#ifndef TESS_POLICY_ASSIGN_DEVICE_CUH
#define TESS_POLICY_ASSIGN_DEVICE_CUH

#include "device/gpu/gpu.h"
#include "device/gpu/wave_sums.cuh"
#include "policy/assign.h"

/* ---- what kernels know of a policy ---- */

/* Kernels that know the number of levels, and whether the policy is lossless, leave out the code of other cases. */
template <int MOST, bool DIGITS, bool ERRORS = false>
struct known_policy {
    static constexpr int LEVELS = MOST;
    static constexpr bool LOSSLESS = DIGITS;
    static constexpr bool BOUNDED = ERRORS; /* blocks only: task.fits says which levels an entry may have */
};

/* Calls use(a known_policy) for the rules. */
template <typename USE>
static inline tess_status with_known_policy(const policy_rules &rules, USE use)
{
    if (rules.lossless) { return use(known_policy<TESS_MAX_LEVELS, true>()); }
    return rules.nlevels <= 2 ? use(known_policy<2, false>()) : use(known_policy<TESS_MAX_LEVELS, false>());
}

/* ---- ranges ---- */

/* Words of 8 bytes that magnitudes_launch uses from `totals` on. */
int64_t magnitudes_words(const assign_task *task);
/* Clears totals, on the device, and finds mean, std and ranges, without waiting. */
tess_status magnitudes_launch(tess_context *ctx, const assign_task *task, assign_totals *totals);

/* ---- blocks ---- */

tess_status assign_blocks_gpu(tess_context *ctx, const assign_task *task, tess_assignment *out, assign_totals *totals);

/* ---- errors ---- */

/* As bound_assign_host and bound_measure_host of error_bound.h. */
tess_status bound_assign_gpu(tess_context *ctx, const assign_task *task, uint8_t *fits, assign_totals *out);
tess_status bound_measure_gpu(tess_context *ctx, const assign_task *task, double *out);

/* ---- accuracy ---- */

tess_status choice_count_gpu(tess_context *ctx, const assign_task *task, int rounds, unsigned long long *inaccurate);

/* ---- counts ---- */

/* The counts of one thread so far: of each level, and of rows without entries. No thread sees 2^32 entries. */
template <int LEVELS>
struct thread_counts {
    unsigned items[LEVELS], nonzeros[LEVELS], scaled[LEVELS], empty;
};

template <int LEVELS>
__device__ static inline void count_in_thread(thread_counts<LEVELS> *own, const assign_outcome &o)
{
    own->empty += o.level == TESS_LEVEL_NONE;
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        own->items[l] += o.level == l;
        own->nonzeros[l] += o.level == l ? (unsigned)o.nonzeros : 0U;
        own->scaled[l] += o.scaled_level == l && o.exponent != 0;
    }
}

/* Sums over the wave of all its threads' counts, added to counters in memory. */
__device__ static inline void add_wave(unsigned long long *counter, unsigned long long value)
{
    value = lanes_sum_down(value, GPU_WAVE);
    if (threadIdx.x % GPU_WAVE == 0 && value > 0) { atomicAdd(counter, value); }
}

/* All threads of a block call it. */
template <int LEVELS>
__device__ static inline void add_counts(const thread_counts<LEVELS> &own, assign_totals *totals)
{
    __shared__ unsigned long long count[ASSIGN_COUNTS];

    if (threadIdx.x < ASSIGN_COUNTS) { count[threadIdx.x] = 0; }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        add_wave(&count[ASSIGN_ITEMS + l], own.items[l]);
        add_wave(&count[ASSIGN_NONZEROS + l], own.nonzeros[l]);
        add_wave(&count[ASSIGN_SCALED + l], own.scaled[l]);
    }
    add_wave(&count[ASSIGN_EMPTY], own.empty);
    __syncthreads();
    if (threadIdx.x < ASSIGN_COUNTS && count[threadIdx.x] > 0) {
        atomicAdd(&totals->count[threadIdx.x], count[threadIdx.x]);
    }
}

/* ---- statistics ---- */

template <int LEVELS>
__device__ static inline void item_join(item_statistics *s, const item_statistics &other)
{
    s->count += other.count;
    s->not_finite += other.not_finite;
#pragma unroll
    for (int l = 1; l < LEVELS; l++) {
        s->outside[l] += other.outside[l];
    }
    s->smallest = other.smallest < s->smallest ? other.smallest : s->smallest;
    s->largest = other.largest > s->largest ? other.largest : s->largest;
}

/* The statistics of `group` neighbouring threads together, in the first of them. All threads of the wave call it. */
template <int LEVELS>
__device__ static inline void join_group(item_statistics *s, int group)
{
    for (int distance = group / 2; distance > 0; distance /= 2) {
        item_statistics other;

        other.count = GPU_SHUFFLE_DOWN(s->count, distance, group);
        other.not_finite = GPU_SHUFFLE_DOWN(s->not_finite, distance, group);
#pragma unroll
        for (int l = 1; l < LEVELS; l++) {
            other.outside[l] = GPU_SHUFFLE_DOWN(s->outside[l], distance, group);
        }
        other.smallest = GPU_SHUFFLE_DOWN(s->smallest, distance, group);
        other.largest = GPU_SHUFFLE_DOWN(s->largest, distance, group);
        item_join<LEVELS>(s, other);
    }
}

#endif
