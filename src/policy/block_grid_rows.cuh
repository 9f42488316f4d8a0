/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block rows on the GPU, one wave for each. Threads take the entries as they lie in memory, whatever their row. Block
 * columns with entries are bits of a window in shared memory, and the number of bits before one is its block's number,
 * so that nothing is sorted. The statistics of a block's entries are combined in shared memory.
 */
#ifndef TESS_POLICY_BLOCK_GRID_ROWS_CUH
#define TESS_POLICY_BLOCK_GRID_ROWS_CUH

#include "policy/assign_device.cuh"

enum {
    CHUNK = GPU_BLOCK,     /* block rows whose blocks move together */
    LONG_BLOCK_ROW = 4096, /* entries; longer block rows are left to a kernel that gives them a block of threads */
    WORDS = 256,           /* a wave's window: 32 block columns each */
    SLOTS = 128,           /* blocks of a window that a wave processes together */
    AT_ONCE = 4            /* entries of a thread that are loaded before the first is used */
};

/* Shared by the passes; separate ranges of words in one array. */
typedef struct grid_scratch {
    uint64_t *word;    /* nnz: a block row's words begin at the place of its entries */
    int32_t *count;    /* nblock_rows: blocks in each */
    int64_t *chunk;    /* nchunks: blocks in each CHUNK of block rows, then those before it */
    int32_t *long_row; /* block rows that were left to the other kernel */
    uint8_t *of_entry; /* nnz: levels; NULL: not wanted */
    int64_t nblock_rows, nchunks;
} grid_scratch;

/* Called by one thread for each block row. */
__device__ static inline void keep_count(const grid_scratch &scratch, int64_t block_row, int32_t nblocks)
{
    scratch.count[block_row] = nblocks;
    if (nblocks > 0) {
        atomicAdd((unsigned long long *)&scratch.chunk[block_row / CHUNK], (unsigned long long)nblocks);
    }
}

/* ---- words ---- */

__device__ static inline uint64_t pack_block(int32_t column, const assign_outcome &o)
{
    return (uint64_t)(uint32_t)column | (uint64_t)(uint32_t)o.nonzeros << 32 | (uint64_t)o.level << 48 |
           (uint64_t)(o.exponent + 1024) << 52;
}

__device__ static inline int32_t column_of(uint64_t word)
{
    return (int32_t)(uint32_t)word;
}

__device__ static inline uint16_t count_of(uint64_t word)
{
    return (uint16_t)(word >> 32);
}

__device__ static inline uint8_t level_of(uint64_t word)
{
    return (uint8_t)(word >> 48 & 15);
}

__device__ static inline int16_t exponent_of(uint64_t word)
{
    return (int16_t)((int)(word >> 52) - 1024);
}

/* ---- what the entries of a block say together ---- */

/* In shared memory. Without scales a level takes the block if it takes all its entries, so a flag for each level is
   enough. An exponent needs the extremes, which are ordered as their bits are. */
template <int COUNT, bool SCALED>
struct block_slots {
    unsigned count[COUNT]; /* with the flags below; at last the level */
    unsigned long long smallest[SCALED ? COUNT : 1], largest[SCALED ? COUNT : 1];
};

enum {
    COUNT_MASK = 0xffff,
    FLAG_NOT_FINITE = 1 << 16,
    FLAG_LEVEL = 1 << 16 /* times 2^level: the level does not take it, or it is out of range */
};

template <int COUNT, bool SCALED>
__device__ static inline void clear_slot(block_slots<COUNT, SCALED> *slots, int i)
{
    slots->count[i] = 0;
    if constexpr (SCALED) {
        const item_statistics none = item_start();

        slots->smallest[i] = tess_double_bits(none.smallest);
        slots->largest[i] = tess_double_bits(none.largest);
    }
}

/* What a value adds to its block. Without scales, two comparisons tell whether a level takes it, unless digits count.
 */
template <typename KNOWN, bool SCALED>
struct value_judge {
    static constexpr bool BY_SPAN = !SCALED && !KNOWN::LOSSLESS && !KNOWN::BOUNDED;
    const policy_rules &rules;
    const policy_ranges ranges;
    policy_span span[BY_SPAN ? KNOWN::LEVELS : 1];

    __device__ inline value_judge(const policy_rules &of, const policy_ranges &within) : rules(of), ranges(within)
    {
        if constexpr (BY_SPAN) {
#pragma unroll
            for (int l = 1; l < KNOWN::LEVELS; l++) { /* a level that does not exist refuses nothing */
                span[l] = l < rules.nlevels ? policy_span_of(&rules, &ranges, l) : policy_span{1, UINT64_MAX};
            }
        }
    }

    /* What flags_of asks of entry k: its value, or the levels that it may have as a number. */
    __device__ static inline double load(const assign_task &task, int64_t k)
    {
        if constexpr (KNOWN::BOUNDED) {
            return (double)task.fits[k];
        } else {
            return assign_value(&task.csr, k);
        }
    }

    /* Flags, also of NaN and Inf if there are scales, with the value's part in the extremes. */
    __device__ inline unsigned flags_of(double value, item_statistics *s) const
    {
        unsigned flags = 0;

        if constexpr (KNOWN::BOUNDED) { return (~(unsigned)value & 14U) * (unsigned)FLAG_LEVEL; }
        if constexpr (!BY_SPAN) { item_add(s, &ranges, KNOWN::LOSSLESS, value); }
#pragma unroll
        for (int l = 1; l < KNOWN::LEVELS; l++) {
            bool refused;

            if constexpr (BY_SPAN) {
                refused = !policy_span_takes(&span[l], value);
            } else {
                refused = l < rules.nlevels && (s->outside[l] > 0 || (!SCALED && !policy_fits_at(&rules, l, s, 0)));
            }
            flags |= refused ? (unsigned)FLAG_LEVEL << l : 0U;
        }
        return SCALED && s->not_finite > 0 ? flags | (unsigned)FLAG_NOT_FINITE : flags;
    }
};

template <typename KNOWN, int COUNT, bool SCALED>
__device__ static inline void add_to_slot(block_slots<COUNT, SCALED> *slots, int i,
                                          const value_judge<KNOWN, SCALED> &judge, double value)
{
    item_statistics s = item_start();
    const unsigned flags = judge.flags_of(value, &s);

    atomicAdd(&slots->count[i], 1U);
    if constexpr (SCALED) {
        atomicMin(&slots->smallest[i], (unsigned long long)tess_double_bits(s.smallest));
        atomicMax(&slots->largest[i], (unsigned long long)tess_double_bits(s.largest));
    }
    if (flags != 0) { atomicOr(&slots->count[i], flags); }
}

/* Whether any value is outside; enough for a rule about every value. */
template <int LEVELS, int COUNT, bool SCALED>
__device__ static inline assign_outcome judge_slot(const block_slots<COUNT, SCALED> &slots, int i,
                                                   const policy_rules &rules)
{
    const unsigned word = slots.count[i];
    assign_outcome o = {0, 0, 0, (int32_t)(word & COUNT_MASK)};

    if constexpr (SCALED) {
        item_statistics s = item_start();

        s.count = o.nonzeros;
        s.not_finite = (word & FLAG_NOT_FINITE) != 0;
#pragma unroll
        for (int l = 1; l < LEVELS; l++) {
            s.outside[l] = (word & (unsigned)FLAG_LEVEL << l) != 0;
        }
        s.smallest = tess_double_of_bits(slots.smallest[i]);
        s.largest = tess_double_of_bits(slots.largest[i]);
        o = assign_block(&rules, LEVELS, &s);
    } else {
#pragma unroll
        for (int l = 1; l < LEVELS; l++) {
            if (l < rules.nlevels && (word & (unsigned)FLAG_LEVEL << l) == 0) { o.level = l; }
        }
        o.scaled_level = o.level;
    }
    return o;
}

/* ---- a wave's window ---- */

/* Block columns from `base` on, in shared memory. */
template <bool SCALED>
struct wave_window {
    uint32_t bits[WORDS];   /* bits of the columns that hold entries */
    uint16_t before[WORDS]; /* number of bits in earlier words */
    int32_t column[SLOTS];
    block_slots<SLOTS, SCALED> slots;
};

/* The entries of a block row. */
struct block_row_entries {
    const int32_t *columns;
    int64_t begin;
    int count, shift;

    /* Block columns of the lane's next entries, from number first + lane on; past the last entry, the last's. */
    __device__ inline void load(int first, int lane, int32_t (&column)[AT_ONCE]) const
    {
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            column[u] = columns[min(first + u * GPU_WAVE + lane, count - 1)] >> shift;
        }
    }
};

/* Extremes of the block columns beyond `past`. least: BLOCK_GRID_NO_COLUMN if there is none. All lanes call it. */
struct column_span {
    int32_t least, most;

    __device__ inline column_span(const block_row_entries &entries, int lane, int32_t past)
        : least(BLOCK_GRID_NO_COLUMN), most(0)
    {
        for (int first = 0; first < entries.count; first += AT_ONCE * GPU_WAVE) {
            int32_t column[AT_ONCE];

            entries.load(first, lane, column);
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                least = column[u] > past ? min(least, column[u]) : least;
                most = max(most, column[u]);
            }
        }
        least = GPU_WAVE_MIN(least);
        most = GPU_WAVE_MAX(most);
    }
};

/* Sets the bits of the block columns with entries, from `base` on. All lanes call it. */
template <bool SCALED>
__device__ static inline void mark_columns(const block_row_entries &entries, int lane, int32_t base, int nwords,
                                           wave_window<SCALED> &window)
{
    for (int w = lane; w < nwords; w += GPU_WAVE) {
        window.bits[w] = 0;
    }
    GPU_SYNC_WAVE();
    for (int first = 0; first < entries.count; first += AT_ONCE * GPU_WAVE) {
        int32_t column[AT_ONCE];

        entries.load(first, lane, column);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const unsigned offset = (unsigned)(column[u] - base);
            const int32_t previous =
                GPU_SHUFFLE_UP(column[u], 1, GPU_WAVE); /* a row's entries in a block are neighbours */

            if (offset < 32U * (unsigned)nwords && (lane == 0 || previous != column[u])) {
                atomicOr(&window.bits[offset / 32], 1U << offset % 32);
            }
        }
    }
    GPU_SYNC_WAVE();
}

/* Numbers the window's blocks, as far as there are slots, and clears these; returns the number of blocks, also those
   without a slot. All lanes call it. */
template <bool SCALED>
__device__ static inline int number_blocks(int lane, int32_t base, int nwords, wave_window<SCALED> &window)
{
    const int run = (nwords + GPU_WAVE - 1) / GPU_WAVE | 1; /* words of a lane: an odd number, so that lanes use
                                                               different banks */
    const int first = min(lane * run, nwords), last = min(first + run, nwords);
    int own = 0, place;

    for (int w = first; w < last; w++) {
        own += __popc(window.bits[w]);
    }
    place = own;
    for (int distance = 1; distance < GPU_WAVE; distance *= 2) {
        const int other = GPU_SHUFFLE_UP(place, distance, GPU_WAVE);

        if (lane >= distance) { place += other; }
    }
    const int total = GPU_SHUFFLE(place, GPU_WAVE - 1, GPU_WAVE);

    place -= own;
    for (int w = first; w < last; w++) {
        window.before[w] = (uint16_t)place;
        for (uint32_t left = window.bits[w]; left != 0; left &= left - 1, place++) {
            if (place < SLOTS) { window.column[place] = base + 32 * w + __ffs((int)left) - 1; }
        }
    }
    for (int i = lane; i < min(total, (int)SLOTS); i += GPU_WAVE) {
        clear_slot(&window.slots, i);
    }
    GPU_SYNC_WAVE();
    return total;
}

/* The number of an entry's block; at least SLOTS if it is not in the window, or has no slot. */
template <bool SCALED>
__device__ static inline int slot_of(const wave_window<SCALED> &window, int nwords, unsigned offset)
{
    if (offset >= 32U * (unsigned)nwords) { return SLOTS; }
    return window.before[offset / 32] + __popc(window.bits[offset / 32] & ((1U << offset % 32) - 1U));
}

/* Adds the entries to their blocks. All lanes call it. */
template <typename KNOWN, bool SCALED>
__device__ static inline void add_entries(const assign_task &task, const value_judge<KNOWN, SCALED> &judge,
                                          const block_row_entries &entries, int lane, int32_t base, int nwords,
                                          wave_window<SCALED> &window)
{
    for (int first = 0; first < entries.count; first += AT_ONCE * GPU_WAVE) {
        int32_t column[AT_ONCE];
        double value[AT_ONCE];

        entries.load(first, lane, column);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            value[u] = judge.load(task, entries.begin + min(first + u * GPU_WAVE + lane, entries.count - 1));
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int slot = slot_of(window, nwords, (unsigned)(column[u] - base));

            if (first + u * GPU_WAVE + lane < entries.count && slot < SLOTS) {
                add_to_slot(&window.slots, slot, judge, value[u]);
            }
        }
    }
    GPU_SYNC_WAVE();
}

/* The levels of the entries whose blocks have slots. All lanes call it. */
template <bool SCALED>
__device__ static inline void spread_levels(const block_row_entries &entries, int lane, int32_t base, int nwords,
                                            const wave_window<SCALED> &window, uint8_t *of_entry)
{
    for (int first = 0; first < entries.count; first += AT_ONCE * GPU_WAVE) {
        int32_t column[AT_ONCE];

        entries.load(first, lane, column);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int k = first + u * GPU_WAVE + lane, slot = slot_of(window, nwords, (unsigned)(column[u] - base));

            if (k < entries.count && slot < SLOTS) { of_entry[k] = (uint8_t)window.slots.count[slot]; }
        }
    }
}

/* Stores the words of the block row's blocks, and on request their entries' levels; returns the number of blocks. All
   lanes call it. */
template <typename KNOWN, bool SCALED>
__device__ static inline int assign_block_row(const assign_task &task, const value_judge<KNOWN, SCALED> &judge,
                                              const block_row_entries &entries, int lane, const grid_scratch &scratch,
                                              wave_window<SCALED> &window, thread_counts<KNOWN::LEVELS> *own)
{
    int32_t past = -1;
    int nblocks = 0;

    for (;;) {
        const column_span span(entries, lane, past);
        const int32_t base = span.least;
        int nwords, total, here;

        if (base == BLOCK_GRID_NO_COLUMN) { return nblocks; }
        nwords = min((span.most - base) / 32 + 1, (int)WORDS);
        mark_columns(entries, lane, base, nwords, window);
        total = number_blocks(lane, base, nwords, window);
        here = min(total, (int)SLOTS);
        add_entries(task, judge, entries, lane, base, nwords, window);
        for (int i = lane; i < here; i += GPU_WAVE) {
            const assign_outcome o = judge_slot<KNOWN::LEVELS>(window.slots, i, task.rules);

            scratch.word[entries.begin + nblocks + i] = pack_block(window.column[i], o);
            window.slots.count[i] = (unsigned)o.level;
            count_in_thread(own, o);
        }
        past = total > here ? window.column[here - 1] : base + 32 * nwords - 1;
        GPU_SYNC_WAVE();
        if (scratch.of_entry) { spread_levels(entries, lane, base, nwords, window, scratch.of_entry + entries.begin); }
        GPU_SYNC_WAVE(); /* the window may be used again */
        nblocks += here;
    }
}

template <typename KNOWN, bool SCALED>
__global__ static void __launch_bounds__(GPU_BLOCK)
    assign_block_rows_kernel(const assign_task task, const grid_scratch scratch, assign_totals *totals)
{
    enum { WAVES = GPU_BLOCK / GPU_WAVE };
    __shared__ wave_window<SCALED> windows[WAVES];
    const value_judge<KNOWN, SCALED> judge(task.rules, totals->ranges);
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE, rows = task.grid.rows;
    thread_counts<KNOWN::LEVELS> own = {};

    for (int64_t block_row = (int64_t)blockIdx.x * WAVES + wave; block_row < scratch.nblock_rows;
         block_row += (int64_t)gridDim.x * WAVES) {
        const int64_t begin = assign_row_start(&task.csr, block_row * rows);
        const int64_t end = assign_row_start(&task.csr, min((block_row + 1) * rows, task.csr.nrows));
        const block_row_entries entries = {task.csr.col_ind + begin, begin, (int)min(end - begin, (int64_t)INT32_MAX),
                                           block_grid_shift(task.grid.cols)};
        int nblocks = 0;

        if (entries.count > LONG_BLOCK_ROW) {
            if (lane == 0) { scratch.long_row[atomicAdd(&totals->long_rows, 1ULL)] = (int32_t)block_row; }
            continue;
        }
        if (entries.count > 0) { nblocks = assign_block_row(task, judge, entries, lane, scratch, windows[wave], &own); }
        if (lane == 0) { keep_count(scratch, block_row, nblocks); }
    }
    add_counts(own, totals);
}

#endif
