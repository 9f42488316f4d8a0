/* SPDX-License-Identifier: Apache-2.0 */
/* Building tiles on the GPU. Atomics here are on integers, so the result does not depend on their order. */
#include "base/offsets.h"
#include "device/gpu/store_value.cuh"
#include "format/tiles/tiles_build.cuh"
#include "format/tiles/tiles_places.cuh"

enum { COPIES = 4 /* entries of a thread that are loaded before the first is used */ };

/* ---- runs ---- */

/* The data of one lane's block, and the headers that all lanes share. Lanes from `nblocks` on have no block. */
struct lane_block {
    int32_t column;
    int entries, level, slot; /* level < 0: no block */
};

/* The lane's block of run `number` of a block row; `first` and `last` are the block row's blocks. */
__device__ static inline lane_block find_block(const tiles_source &source, const tiles_view &v, int64_t first,
                                               int64_t last, int number, int lane)
{
    const int64_t block = first + (int64_t)number * v.slots + lane;
    lane_block own = {0, 0, -1, 0};

    if (lane < v.slots && block < last) {
        own.column = source.grid->column[block];
        own.entries = source.grid->count[block];
        own.level = source.level ? source.level[block] : 0;
    }
    return own;
}

/* Header of the group of level l; 0 if there is none. Sets the slot of lanes that have a block in it. All lanes call
   it. */
template <int ROWS>
__device__ static inline uint32_t make_header(const tiles_lanes<ROWS> &at, lane_block *own, int l, int32_t diagonal,
                                              bool scaled)
{
    const bool member = own->level == l;
    const uint32_t members = at.group_part(GPU_BALLOT(member));
    const uint32_t far = at.group_part(GPU_BALLOT(member && !tiles_fits_narrow(own->column, diagonal)));
    const int entries = gpu_group_sum<ROWS>(member ? own->entries : 0);

    if (member) { own->slot = __popc(members & at.below()); }
    return members ? tiles_header(entries, __popc(members), far != 0, scaled) : 0U;
}

/* ---- places ---- */

/* units[block_row]: units of each block row. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    measure_kernel(const source_argument argument, const tiles_view v, uint32_t *units, block_row_totals *totals)
{
    const tiles_lanes<16> at;
    const tiles_source source = source_in(argument);
    const int64_t step = (int64_t)gridDim.x * (GPU_BLOCK / 16), begin = (int64_t)blockIdx.x * (GPU_BLOCK / 16);
    unsigned long long most = 0;

    for (int64_t s0 = begin; s0 < v.nblock_rows; s0 += step) {
        const int64_t block_row = s0 + (int)threadIdx.x / 16;
        const bool has = block_row < v.nblock_rows;
        const int64_t first = has ? source.grid->first[block_row] : 0,
                      last = has ? source.grid->first[block_row + 1] : 0;
        const int nruns = (int)((last - first + v.slots - 1) / v.slots);
        uint32_t end = tiles_head_bytes(nruns, v.nlevels);

        for (int run = 0; GPU_BALLOT(run < nruns); run++) {
            lane_block own = find_block(source, v, first, last, run, at.lane);

#pragma unroll
            for (int l = TESS_MAX_LEVELS - 1; l >= 0; l--) {
                if (l >= v.nlevels) { continue; }
                const uint32_t header =
                    make_header<16>(at, &own, l, tiles_diagonal_column(&v, block_row), source.scaled[l]);

                if (header) { end = tiles_group_at(header, end, v.rows, (int)tess_storage_bytes(v.precision[l])).end; }
            }
        }
        if (has && at.lane == 0) {
            const uint32_t own_units = (end + TILES_UNIT - 1) / TILES_UNIT;

            units[block_row] = own_units;
            most = own_units > most ? own_units : most;
        }
    }
    if (most > 0) { atomicMax(&totals->longest, most); }
}

extern "C" tess_status tiles_gpu_measure(tess_context *ctx, const tiles_source *source, const tiles_view *v,
                                         uint32_t *start, int64_t *units, int64_t *longest)
{
    gpu_scope scope(ctx);

    return place_block_rows(ctx, v->nblock_rows, start, units, longest, [&](block_row_totals *totals) {
        measure_kernel<<<gpu_grid(ctx, v->nblock_rows * 16, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
            source_argument(source), *v, start, totals);
    });
}

/* ---- records ---- */

/* A run's blocks, for the lanes of a group, and the places of its levels' groups. */
struct run_blocks {
    int32_t column[TILES_SLOTS];
    int16_t exponent[TILES_SLOTS];
    uint8_t level[TILES_SLOTS], slot[TILES_SLOTS];
    uint8_t precision[TESS_MAX_LEVELS];
    uint32_t index[TESS_MAX_LEVELS], values[TESS_MAX_LEVELS];
};

/* A lane's way along its row: entries from `next` on, below `end`. */
struct row_cursor {
    int64_t next, end;
};

/* The block of the entry, from `block` on. */
__device__ static inline int block_of(const run_blocks &run, int32_t block_column, int block)
{
    while (run.column[block] < block_column) {
        block++;
    }
    return block;
}

/* Counts the lane's entries of each level in the run; returns the place after them. */
__device__ static inline int64_t count_entries(const csr_view &csr, const tiles_view &v, const run_blocks &run,
                                               int nblocks, row_cursor at, int (&length)[TESS_MAX_LEVELS])
{
    const int32_t last = nblocks > 0 ? run.column[nblocks - 1] : -1, *const columns = csr.col_ind + at.next;
    const int most = (int)min(at.end - at.next, (int64_t)nblocks << v.column_bits);
    int block = 0, count = 0;
    bool goes_on = most > 0;

    while (goes_on) {
        const int first = count;
        int32_t column[COPIES];

#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            column[c] = columns[min(first + c, most - 1)] >> v.column_bits;
        }
#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            goes_on = goes_on && first + c < most && column[c] <= last;
            if (goes_on) {
                block = block_of(run, column[c], block);
#pragma unroll
                for (int l = 0; l < TESS_MAX_LEVELS; l++) {
                    length[l] += run.level[block] == l;
                }
                count++;
            }
        }
    }
    return at.next + count;
}

/* Writes the lane's entries; place[l] is the place of its first entry of level l. */
__device__ static inline void write_entries(const csr_view &csr, const tiles_view &v, const run_blocks &run,
                                            unsigned scaled, row_cursor row, int (&place)[TESS_MAX_LEVELS],
                                            char *record)
{
    const double *const values = (const double *)csr.val + row.next;
    const int32_t *const columns = csr.col_ind + row.next;
    const int32_t mask = (1 << v.column_bits) - 1;
    const int count = (int)(row.end - row.next);
    int block = 0;

    for (int first = 0; first < count; first += COPIES) {
        int32_t column[COPIES];
        double value[COPIES];

#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            const int k = min(first + c, count - 1);

            column[c] = columns[k];
            value[c] = values[k];
        }
#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            int level, own = 0;

            if (first + c >= count) { continue; }
            block = block_of(run, column[c] >> v.column_bits, block);
            level = run.level[block];
#pragma unroll
            for (int l = 0; l < TESS_MAX_LEVELS; l++) {
                if (level == l) { own = place[l]++; }
            }
            if (scaled >> level & 1U) { value[c] *= tess_power_of_two(-run.exponent[block]); }
            ((uint8_t *)record)[run.index[level] + (uint32_t)own] =
                (uint8_t)(run.slot[block] << v.column_bits | (column[c] & mask));
            store_value((tess_precision)run.precision[level], record + run.values[level], own, value[c]);
        }
    }
}

/* A run while its record is made: the lane's part, and the part that the group shares. */
template <int ROWS>
struct open_run {
    const tiles_lanes<ROWS> at;
    const tiles_source &source;
    const tiles_view &v;
    run_blocks &run;
    const int32_t diagonal;
    lane_block own;
    uint32_t header[TESS_MAX_LEVELS];

    __device__ inline open_run(const tiles_lanes<ROWS> &lanes, const tiles_source &from, const tiles_view &view,
                               run_blocks &blocks, int64_t block_row)
        : at(lanes), source(from), v(view), run(blocks), diagonal(tiles_diagonal_column(&view, block_row))
    {
    }

    /* Headers of the groups of run `number` of a block row with these blocks; `run` gets the data that lanes need of
       blocks. All lanes of the wave call it. */
    __device__ inline void open(int64_t first, int64_t last, int number)
    {
        own = find_block(source, v, first, last, number, at.lane);
#pragma unroll
        for (int l = 0; l < TESS_MAX_LEVELS; l++) {
            header[l] = l < v.nlevels ? make_header<ROWS>(at, &own, l, diagonal, source.scaled[l]) : 0U;
        }
        if (own.level >= 0) {
            run.column[at.lane] = own.column;
            run.level[at.lane] = (uint8_t)own.level;
            run.slot[at.lane] = (uint8_t)own.slot;
            run.exponent[at.lane] =
                source.exponent ? source.exponent[first + (int64_t)number * v.slots + at.lane] : (int16_t)0;
        }
        GPU_SYNC_WAVE();
    }

    /* The lane's slot of a group. */
    __device__ inline void write_slot(char *record, const tiles_group &g, int l) const
    {
        if (tiles_is_wide(header[l])) {
            ((int32_t *)(void *)(record + g.slots))[own.slot] = own.column;
        } else {
            ((int16_t *)(void *)(record + g.slots))[own.slot] = (int16_t)(own.column - diagonal);
        }
        if (source.scaled[l]) { ((int16_t *)(void *)(record + g.exponents))[own.slot] = run.exponent[at.lane]; }
    }

    /* Places the groups from byte `end` of the record on and writes everything except entries; returns where the last
       ends. The lane has length[l] entries of level l; the first gets place[l]. All lanes of the wave call it. */
    __device__ inline uint32_t place_groups(char *record, int number, int nruns, uint32_t end,
                                            const int (&length)[TESS_MAX_LEVELS], int (&place)[TESS_MAX_LEVELS]) const
    {
#pragma unroll
        for (int l = TESS_MAX_LEVELS - 1; l >= 0; l--) {
            tiles_group g = {};

            if (l >= v.nlevels) { continue; }
            if (header[l]) {
                g = tiles_group_at(header[l], end, ROWS, (int)tess_storage_bytes(v.precision[l]));
                end = g.end;
            }
            if (own.level == l) { write_slot(record, g, l); }
            if (at.lane == 0 && number < nruns) {
                ((uint32_t *)(void *)record)[1 + tiles_header_place(number, l, v.nlevels)] = header[l];
            }
            place[l] = at.before(length[l]);
            if (header[l]) { tiles_set_row_end(record, &g, header[l], at.lane, place[l] + length[l]); }
            if (at.lane == 0) {
                run.index[l] = g.index;
                run.values[l] = g.values;
                run.precision[l] = (uint8_t)v.precision[l];
            }
        }
        GPU_SYNC_WAVE();
        return end;
    }
};

/* Bit l: level l has scales. */
__device__ static inline unsigned scaled_levels(const tiles_source &source, const tiles_view &v)
{
    unsigned scaled = 0;

#pragma unroll
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        scaled |= (l < v.nlevels && source.scaled[l] ? 1U : 0U) << l;
    }
    return scaled;
}

template <int ROWS>
__global__ static void __launch_bounds__(FILL_BLOCK)
    fill_kernel(const source_argument argument, const tiles_view v, char *records, int capacity)
{
    enum { GROUPS = FILL_BLOCK / ROWS };
    extern __shared__ __align__(16) char stages[];
    __shared__ run_blocks all_runs[GROUPS];
    const tiles_lanes<ROWS> at;
    const tiles_source source = source_in(argument);
    const csr_view &csr = argument.csr;

    for (int64_t s0 = (int64_t)blockIdx.x * GROUPS; s0 < v.nblock_rows; s0 += (int64_t)gridDim.x * GROUPS) {
        const int64_t block_row = s0 + (int)threadIdx.x / ROWS, row = block_row * ROWS + at.lane;
        const bool has = block_row < v.nblock_rows;
        const int64_t first = has ? source.grid->first[block_row] : 0,
                      last = has ? source.grid->first[block_row + 1] : 0;
        const int nruns = (int)((last - first + v.slots - 1) / v.slots);
        const record_place<ROWS> place_of(v, records, has, block_row, stages + (int)threadIdx.x / ROWS * capacity,
                                          capacity, at.lane);
        char *const record = place_of.record;
        uint32_t *const words = (uint32_t *)(void *)record;
        uint32_t end = tiles_head_bytes(nruns, v.nlevels);
        open_run<ROWS> open(at, source, v, all_runs[(int)threadIdx.x / ROWS], block_row);
        row_cursor cursor = {0, 0};

        if (has && row < v.nrows) {
            cursor.next = tess_row_offset(csr.row_ptr, csr.row_ptr_bits, row);
            cursor.end = tess_row_offset(csr.row_ptr, csr.row_ptr_bits, row + 1);
        }
        if (has && at.lane == 0) { words[0] = (uint32_t)nruns; }
        for (int number = 0; GPU_BALLOT(number < nruns); number++) {
            const int64_t left = last - first - (int64_t)number * v.slots;
            const int nblocks = left <= 0 ? 0 : left < v.slots ? (int)left : v.slots;
            int length[TESS_MAX_LEVELS] = {}, place[TESS_MAX_LEVELS] = {};
            int64_t after;

            open.open(first, last, number);
            after = count_entries(csr, v, open.run, nblocks, cursor, length);
            end = open.place_groups(record, number, nruns, end, length, place);
            write_entries(csr, v, open.run, scaled_levels(source, v), {cursor.next, after}, place, record);
            cursor.next = after;
            GPU_SYNC_WAVE();
        }
        place_of.bring(at.lane);
    }
}

template <int ROWS>
static tess_status launch_fill(tess_context *ctx, const tiles_source *source, const tiles_view *v, char *record)
{
    enum { OWN = 4096 /* other bytes of shared memory of a block */ };
    const int capacity = record_capacity(ctx, v, FILL_BLOCK / ROWS, OWN);
    const unsigned grid = (unsigned)((v->nblock_rows * ROWS + FILL_BLOCK - 1) / FILL_BLOCK);
    const size_t shared = (size_t)capacity * (FILL_BLOCK / ROWS);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)fill_kernel<ROWS>));
    fill_kernel<ROWS><<<grid, FILL_BLOCK, shared, gpu_stream_of(ctx)>>>(source_argument(source), *v, record, capacity);
    status = gpu_check_launch(ctx, "filling block rows of tiles");
cleanup:
    return status;
}

extern "C" tess_status tiles_gpu_fill(tess_context *ctx, const tiles_source *source, const tiles_view *v, char *record)
{
    gpu_scope scope(ctx);

    if (v->nblock_rows == 0) { return TESS_SUCCESS; }
    return v->rows == 16 ? launch_fill<16>(ctx, source, v, record) : launch_fill<32>(ctx, source, v, record);
}
