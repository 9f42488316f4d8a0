/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles in shared memory whose values are narrowed for good (Yang et al. 2024, section III-D, on-chip conversion):
 * once, when a product first uses them so, in place of those that were there. Headers in shared memory say what a tile
 * holds now: of the column, which takes 27 bits in a matrix, a block needs 12 for the place of the segment among its
 * own.
 */
#ifndef TESS_PAPERS_SINGLE_KERNEL_KEPT_TILES_CUH
#define TESS_PAPERS_SINGLE_KERNEL_KEPT_TILES_CUH

#include <type_traits>

#include "papers/tiles/resident_row.cuh"

/* In `where` of a header: the segment, then an exponent with a bias, a precision, and whether these two say what is
 * held. */
enum {
    KEPT_SEGMENT_BITS = 12, /* a block has up to 65,535 columns */
    KEPT_SEGMENT = (1 << KEPT_SEGMENT_BITS) - 1,
    KEPT_EXPONENT_BITS = 11, /* of -1022 to 1022 */
    KEPT_BIAS = 1 << (KEPT_EXPONENT_BITS - 1)
};

/* What values are in now; narrowed: over 2^exponent, else as they were stored. */
struct kept_values {
    tess_precision precision;
    bool narrowed;
    int exponent;
};

__device__ static inline kept_values kept_values_of(resident_header h)
{
    const uint32_t held = h.where >> KEPT_SEGMENT_BITS;
    kept_values v = {resident_precision(h), (held >> (KEPT_EXPONENT_BITS + 3) & 1U) != 0, 0};

    if (v.narrowed) {
        v.precision = (tess_precision)(held >> KEPT_EXPONENT_BITS & 7U);
        v.exponent = (int)(held & ((1U << KEPT_EXPONENT_BITS) - 1U)) - KEPT_BIAS;
    }
    return v;
}

__device__ static inline uint32_t kept_where(resident_header h, const kept_values &v)
{
    const uint32_t held = (uint32_t)(v.exponent + KEPT_BIAS) | (uint32_t)v.precision << KEPT_EXPONENT_BITS |
                          1U << (KEPT_EXPONENT_BITS + 3);

    return (h.where >> 27 << 27) | held << KEPT_SEGMENT_BITS | (h.where & (uint32_t)KEPT_SEGMENT);
}

/*
 * Puts values in `narrow` in place of those of a tile, where `converts`, and says so in its header, which stands at
 * `in_place`. Not where the largest of them is 0 or not finite. Values that are written end before those that are still
 * to be read begin: they are narrower. All lanes of the wave; the 16 of a block row have one tile. Others that share
 * the block row may read its header meanwhile, for its size and segment, which stay.
 */
[[maybe_unused]] __device__ static __noinline__ kept_values convert_tile(const open_tile &t, bool converts,
                                                                         kept_values now, tess_precision narrow,
                                                                         resident_header *in_place)
{
    char *const values = (char *)(uintptr_t)t.data;
    const int lane = (int)threadIdx.x % RESIDENT_SIDE;
    int entries = converts ? resident_entries(t.header) : 0;
    double scale = 1.0, largest = 0.0;

    if (converts) {
        scale = now.narrowed ? tess_power_of_two(now.exponent) : resident_scale(values, &t.parts, t.header);
    }
    for (int k = lane; k < entries; k += RESIDENT_SIDE) {
        largest = fmax(largest, fabs(tess_load(now.precision, values, k) * scale));
    }
    largest = block_row_largest(largest);
    if (!narrowing_has_scale(largest)) { entries = 0; }

    const kept_values next = {narrow, true, entries > 0 ? narrowing_exponent(narrow, largest) : 0};
    const double factor = tess_power_of_two(-next.exponent);
    const int most = GPU_WAVE_MAX(entries);

    for (int first = 0; first < most; first += RESIDENT_SIDE) {
        const int k = first + lane;
        const double value = k < entries ? tess_load(now.precision, values, k) * scale * factor : 0.0;

        GPU_SYNC_WAVE();
        if (k < entries) { tess_store(narrow, values, k, value, TESS_OVERFLOW_INFINITY); }
        GPU_SYNC_WAVE();
    }
    if (entries == 0) { return now; }
    if (lane == 0) { in_place->where = kept_where(t.header, next); }
    return next;
}

/* The precisions of narrowing_precision: those of the paper. */
struct narrowed_storage {
    template <typename STORAGE>
    static constexpr bool has =
        std::is_same_v<STORAGE, float> || std::is_same_v<STORAGE, tess::fp16> || std::is_same_v<STORAGE, tess::e4m3>;
};

/* As add_used_row, for a tile whose header stands at `in_place`: what it is narrowed to stays so. */
template <typename X>
__device__ static inline double add_kept_row(const open_tile &t, resident_header *in_place, bool has, int use,
                                             const X &x, double sum)
{
    const tess_precision narrow = narrowing_precision(resident_precision(t.header), use);
    const bool made = has && use != NARROWING_BYPASS;
    kept_values now = kept_values_of(t.header);
    const bool converts = made && narrow != now.precision;

    if (GPU_BALLOT(converts)) { now = convert_tile(t, converts, now, narrow, in_place); }
    if (!made) { return sum; }
    if (!now.narrowed) { return add_any_tile_row(t, x, sum); }
    const double scale = tess_power_of_two(now.exponent);

    return gpu_value_by_storage<narrowed_storage>(
        now.precision, sum,
        [](auto stored, const auto &...arguments) {
            return add_tile_row<typename decltype(stored)::type>(arguments...);
        },
        t, scale, x, sum);
}

#endif
