/* SPDX-License-Identifier: Apache-2.0 */
/* Building tiles in layout resident on the GPU: half a wave has a block row, a lane a row. Atomics here are of
 * integers: no order shows. */
#include "device/gpu/store_value.cuh"
#include "format/tiles/tiles_build.cuh"
#include "format/tiles/tiles_places.cuh"
#include "papers/tiles/resident_device.cuh"

/* A block row's lane on its way from tile to tile. */
struct block_row_walk {
    int64_t first, last; /* the block row's blocks */
    int64_t next, end;   /* of the lane's row: its next entry, and where the row ends */

    __device__ inline block_row_walk(const tiles_source &source, const tiles_view &v, bool has, int64_t block_row,
                                     int lane)
        : first(has ? source.grid->first[block_row] : 0), last(has ? source.grid->first[block_row + 1] : 0), next(0),
          end(0)
    {
        const int64_t row = block_row * RESIDENT_SIDE + lane;

        if (has && row < v.nrows) {
            next = tess_row_offset(source.csr->row_ptr, source.csr->row_ptr_bits, row);
            end = tess_row_offset(source.csr->row_ptr, source.csr->row_ptr_bits, row + 1);
        }
    }

    __device__ inline int64_t tiles(void) const
    {
        return last - first;
    }
};

/* A tile as its lanes know it: the lane's entries, and those of the rows before. */
struct walked_tile {
    resident_header header;
    int64_t at; /* the lane's first entry in the matrix */
    int length;
};

/* Takes the tile's entries off the row. Lanes whose block row has no such tile get one without entries, whose header
   means nothing. All lanes of the wave take part. */
__device__ static inline walked_tile take_tile(const tiles_source &source, const tiles_view &v,
                                               const tiles_lanes<16> &lanes, block_row_walk &walk, int64_t number)
{
    const int64_t block = walk.first + number;
    const bool has = block < walk.last;
    const int32_t column = has ? source.grid->column[block] : 0;
    const int level = has && source.level ? source.level[block] : 0;
    walked_tile t = {{0, 0}, walk.next, 0};

    if (has) {
        const int64_t high = min(walk.end, walk.next + RESIDENT_SIDE);

        walk.next = find_column(source.csr->col_ind, walk.next, high,
                                ((int64_t)column << RESIDENT_COLUMN_BITS) + RESIDENT_SIDE);
        t.length = (int)(walk.next - t.at);
    }
    const int entries = gpu_group_sum<RESIDENT_SIDE>(t.length);
    const unsigned rows = lanes.group_part(GPU_BALLOT(t.length > 0));

    if (has) { t.header = resident_header_of(column, v.precision[level], rows, entries, source.scaled[level]); }
    return t;
}

/* ---- places ---- */

/* units[block_row]: what each takes. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    measure_kernel(const source_argument argument, const tiles_view v, uint32_t *units, block_row_totals *totals)
{
    enum { GROUPS = GPU_BLOCK / RESIDENT_SIDE };
    const tiles_lanes<16> at;
    const tiles_source source = source_in(argument);
    unsigned long long most = 0;

    for (int64_t s0 = (int64_t)blockIdx.x * GROUPS; s0 < v.nblock_rows; s0 += (int64_t)gridDim.x * GROUPS) {
        const int64_t block_row = s0 + (int)threadIdx.x / RESIDENT_SIDE;
        const bool has = block_row < v.nblock_rows;
        block_row_walk walk(source, v, has, block_row, at.lane);
        int64_t bytes = resident_data((int)walk.tiles());

        for (int64_t t = 0; GPU_BALLOT(t < walk.tiles()); t++) {
            const walked_tile tile = take_tile(source, v, at, walk, t);

            if (t < walk.tiles()) { bytes += resident_parts_of(tile.header).bytes; }
        }
        if (has && at.lane == 0) {
            const unsigned long long own = (unsigned long long)(bytes + TILES_UNIT - 1) / TILES_UNIT;

            units[block_row] = (uint32_t)own;
            most = own > most ? own : most;
        }
    }
    if (most > 0) { atomicMax(&totals->longest, most); }
}

extern "C" tess_status resident_gpu_measure(tess_context *ctx, const tiles_source *source, const tiles_view *v,
                                            uint32_t *start, int64_t *units, int64_t *longest)
{
    gpu_scope scope(ctx);

    return place_block_rows(ctx, v->nblock_rows, start, units, longest, [&](block_row_totals *totals) {
        measure_kernel<<<gpu_grid(ctx, v->nblock_rows * RESIDENT_SIDE, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
            source_argument(source), *v, start, totals);
    });
}

/* ---- records ---- */

/* The lanes write their entries; columns by way of `columns`, since two entries have one byte. All lanes of the wave
   take part; those without a tile write nothing. */
__device__ static inline void write_tile(const tiles_source &source, const tiles_lanes<16> &at, bool has,
                                         const walked_tile &tile, int exponent, uint8_t *columns, char *data)
{
    const double *val = (const double *)source.csr->val;
    const int first = at.before(tile.length);
    const resident_parts p = resident_parts_of(tile.header);
    const unsigned rows = resident_rows(tile.header);
    const int entries = has ? resident_entries(tile.header) : 0;
    const double scale = tess_power_of_two(-exponent);

    for (int k = 0; k < tile.length; k++) {
        columns[first + k] = (uint8_t)(source.csr->col_ind[tile.at + k] & (RESIDENT_SIDE - 1));
        store_value(resident_precision(tile.header), data, first + k, val[tile.at + k] * scale);
    }
    if (tile.length > 0 && p.has_ends) {
        const int number = __popc(rows & at.below());

        if (number + 1 < p.nrows) { ((uint8_t *)data)[p.ends + (uint32_t)number] = (uint8_t)(first + tile.length); }
    }
    if (has && at.lane == 0 && resident_is_scaled(tile.header)) {
        *(int16_t *)(void *)(data + p.exponent) = (int16_t)exponent;
    }
    GPU_SYNC_WAVE();
    for (int i = at.lane; 2 * i < entries; i += RESIDENT_SIDE) {
        const int high = 2 * i + 1 < entries ? columns[2 * i + 1] : 0;

        ((uint8_t *)data)[p.index + (uint32_t)i] = (uint8_t)(columns[2 * i] | high << 4);
    }
    GPU_SYNC_WAVE();
}

__global__ static void __launch_bounds__(FILL_BLOCK)
    fill_kernel(const source_argument argument, const tiles_view v, char *records, int capacity)
{
    enum { GROUPS = FILL_BLOCK / RESIDENT_SIDE };
    extern __shared__ __align__(16) char stages[];
    __shared__ uint8_t all_columns[GROUPS][RESIDENT_SIDE * RESIDENT_SIDE];
    const tiles_lanes<16> at;
    const tiles_source source = source_in(argument);
    const int group = (int)threadIdx.x / RESIDENT_SIDE;

    for (int64_t s0 = (int64_t)blockIdx.x * GROUPS; s0 < v.nblock_rows; s0 += (int64_t)gridDim.x * GROUPS) {
        const int64_t block_row = s0 + group;
        const bool has = block_row < v.nblock_rows;
        block_row_walk walk(source, v, has, block_row, at.lane);
        const int64_t ntiles = walk.tiles();
        const record_place<RESIDENT_SIDE> place_of(v, records, has, block_row, stages + group * capacity, capacity,
                                                   at.lane);
        char *data = place_of.record + resident_data((int)ntiles);

        if (has && at.lane == 0) { *(uint32_t *)(void *)place_of.record = (uint32_t)ntiles; }
        for (int64_t t = 0; GPU_BALLOT(t < ntiles); t++) {
            const walked_tile tile = take_tile(source, v, at, walk, t);
            const bool own = t < ntiles;
            const int exponent = own && resident_is_scaled(tile.header) ? source.exponent[walk.first + t] : 0;

            if (own && at.lane == 0) {
                ((resident_header *)(void *)(place_of.record + RESIDENT_UNIT))[t] = tile.header;
            }
            write_tile(source, at, own, tile, exponent, all_columns[group], data);
            if (own) { data += resident_parts_of(tile.header).bytes; }
        }
        place_of.bring(at.lane);
    }
}

extern "C" tess_status resident_gpu_fill(tess_context *ctx, const tiles_source *source, const tiles_view *v,
                                         char *record)
{
    enum { GROUPS = FILL_BLOCK / RESIDENT_SIDE, OWN = 4096 /* bytes of shared memory that a block has besides */ };
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    if (v->nblock_rows == 0) { return TESS_SUCCESS; }
    const int capacity = record_capacity(ctx, v, GROUPS, OWN);
    const unsigned grid = (unsigned)((v->nblock_rows + GROUPS - 1) / GROUPS);

    TESS_TRY(gpu_allow_shared(ctx, (const void *)fill_kernel));
    fill_kernel<<<grid, FILL_BLOCK, (size_t)capacity * GROUPS, gpu_stream_of(ctx)>>>(source_argument(source), *v,
                                                                                     record, capacity);
    status = gpu_check_launch(ctx, "filling block rows of tiles");
cleanup:
    return status;
}
