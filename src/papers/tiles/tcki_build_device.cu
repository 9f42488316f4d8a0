/* SPDX-License-Identifier: Apache-2.0 */
/* Building tiles with kernel paper on the GPU: a thread for each row of a block. Atomics here are of integers: no order
 * shows. */
#include "format/tiles/tiles_build.cuh"
#include "format/tiles/tiles_places.cuh"
#include "papers/tiles/tcki_device.cuh"
#include "policy/assign_device.cuh"

/* ---- blocks ---- */

/* What the kernels get by value: a source whose parts are in host memory. */
struct block_source {
    csr_view csr;
    const uint8_t *level;
    const int16_t *exponent;
    unsigned scaled; /* bit l: level l is */

    explicit block_source(const tiles_source *from)
        : csr(*from->csr), level(from->level), exponent(from->exponent), scaled(0)
    {
        for (int l = 0; l < TESS_MAX_LEVELS; l++) {
            scaled |= (from->scaled[l] ? 1U : 0U) << l;
        }
    }
};

/* A wave takes a block row: each of its blocks learns where it is. */
__global__ static void __launch_bounds__(GPU_BLOCK) number_kernel(const tcki_view v)
{
    const int64_t step = (int64_t)gridDim.x * (GPU_BLOCK / GPU_WAVE);
    const int lane = (int)threadIdx.x % GPU_WAVE;

    for (int64_t block_row = (int64_t)blockIdx.x * (GPU_BLOCK / GPU_WAVE) + (int)threadIdx.x / GPU_WAVE;
         block_row < v.nblock_rows; block_row += step) {
        const int64_t last = v.first[block_row + 1];

        for (int64_t b = v.first[block_row] + lane; b < last; b += GPU_WAVE) {
            v.row[b] = (int32_t)block_row;
        }
    }
}

/* A lane's entries of a block: where they begin in the matrix, and how many they are. */
struct row_entries {
    int64_t at;
    int length;
};

template <int ROWS>
__device__ static inline row_entries find_entries(const csr_view &csr, const tcki_view &v, int64_t block, int lane)
{
    const int64_t row = (int64_t)v.row[block] * ROWS + lane, columns = (int64_t)1 << v.column_bits;
    const int64_t column = (int64_t)v.column[block] << v.column_bits;
    row_entries e = {0, 0};

    if (row < v.nrows) {
        const int64_t end = tess_row_offset(csr.row_ptr, csr.row_ptr_bits, row + 1);

        e.at = find_column(csr.col_ind, tess_row_offset(csr.row_ptr, csr.row_ptr_bits, row), end, column);
        e.length =
            (int)(find_column(csr.col_ind, e.at, end - e.at < columns ? end : e.at + columns, column + columns) - e.at);
    }
    return e;
}

/* The largest over the lanes of a group. All lanes of the wave take part. */
template <int ROWS>
__device__ static inline int group_most(int value)
{
#pragma unroll
    for (int mask = ROWS / 2; mask > 0; mask /= 2) {
        value = max(value, GPU_SHUFFLE_XOR(value, mask));
    }
    return value;
}

/* The largest width that is common among the group's rows. All lanes of the wave take part. */
template <int ROWS>
__device__ static inline int hybrid_width(const tiles_lanes<ROWS> &at, int length)
{
    int width = 0;
    bool common = true;

    for (int next = 1; next <= TILES_SIDE && GPU_BALLOT(common); next++) {
        const int count = __popc(at.group_part(GPU_BALLOT(length >= next)));

        common = common && count > 0 && tcki_is_common(count, ROWS);
        width += common ? 1 : 0;
    }
    return width;
}

struct tcki_totals {
    int64_t units;
    unsigned long long counts[TESS_TCKI_FORMATS];
};

/* Shapes, and what each block takes: units[block]. */
template <int ROWS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    measure_kernel(const block_source source, const tcki_rules rules, const tcki_view v, uint32_t *units,
                   tcki_totals *totals)
{
    enum { GROUPS = GPU_BLOCK / ROWS };
    const tiles_lanes<ROWS> at;
    unsigned counts[TESS_TCKI_FORMATS] = {};

    for (int64_t b0 = (int64_t)blockIdx.x * GROUPS; b0 < v.nblocks; b0 += (int64_t)gridDim.x * GROUPS) {
        const int64_t block = b0 + (int)threadIdx.x / ROWS;
        const bool has = block < v.nblocks;
        const int length = has ? find_entries<ROWS>(source.csr, v, block, at.lane).length : 0;
        const int entries = gpu_group_sum<ROWS>(length), squares = gpu_group_sum<ROWS>(length * length);
        const int longest = group_most<ROWS>(length), hybrid = hybrid_width<ROWS>(at, length);
        const int format = tcki_choose(&rules, ROWS, entries, squares);
        const int width = format == TESS_TCKI_ELL ? longest : format == TESS_TCKI_HYB ? hybrid : 0;
        const int rest = gpu_group_sum<ROWS>(max(length - width, 0));

        if (has && at.lane == 0) {
            const int level = source.level ? source.level[block] : 0;
            const uint32_t shape = tcki_shape(entries, rest, width, format, level);

            v.shape[block] = shape;
            units[block] = tcki_parts_in(&v, shape).end / TCKI_UNIT;
#pragma unroll
            for (int f = 0; f < TESS_TCKI_FORMATS; f++) {
                counts[f] += f == format ? 1U : 0U;
            }
        }
    }
#pragma unroll
    for (int f = 0; f < TESS_TCKI_FORMATS; f++) {
        add_wave(&totals->counts[f], counts[f]);
    }
}

template <int ROWS>
static tess_status launch_measure(tess_context *ctx, const tiles_source *source, const tcki_rules *rules,
                                  const tcki_view *v, tcki_totals *totals)
{
    const unsigned grid = gpu_grid(ctx, v->nblocks * ROWS, 8);

    measure_kernel<ROWS>
        <<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(block_source(source), *rules, *v, v->start, totals);
    return gpu_check_launch(ctx, "measuring blocks");
}

extern "C" tess_status tcki_gpu_measure(tess_context *ctx, const tiles_source *source, const tcki_rules *rules,
                                        const tcki_view *v, int64_t *counts, int64_t *units)
{
    gpu_scope scope(ctx);
    const int64_t words = (int64_t)(sizeof(tcki_totals) / sizeof(int64_t));
    double *workspace = NULL;
    tcki_totals *totals = NULL, out = {};
    tess_status status = TESS_SUCCESS;

    if (v->nblocks == 0) {
        TESS_TRY(ctx->backend->zero(ctx, v->start, sizeof *v->start));
    } else {
        TESS_TRY(gpu_parts(ctx, words + place_units_words(v->nblocks), &workspace));
        totals = (tcki_totals *)(void *)workspace;
        TESS_TRY(ctx->backend->zero(ctx, totals, sizeof *totals));
        number_kernel<<<gpu_grid(ctx, v->nblock_rows * GPU_WAVE, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*v);
        TESS_TRY(gpu_check_launch(ctx, "numbering blocks"));
        TESS_TRY(v->rows == 16 ? launch_measure<16>(ctx, source, rules, v, totals)
                               : launch_measure<32>(ctx, source, rules, v, totals));
        TESS_TRY(place_units(ctx, v->start, v->nblocks, (int64_t *)(void *)(workspace + words), &totals->units));
        TESS_TRY(ctx->backend->download(ctx, &out, totals, sizeof out));
    }
    *units = out.units;
    for (int f = 0; f < TESS_TCKI_FORMATS; f++) {
        counts[f] = (int64_t)out.counts[f];
    }
cleanup:
    return status;
}

/* ---- records ---- */

/* The lanes of a group write their entries; columns of 4 bits by way of shared memory, since two places have one byte.
   All lanes of the wave take part; those of a group that has no block have the shape 0, which has no places. */
template <int ROWS>
__device__ static inline void write_block(const block_source &source, const tcki_view &v, const tiles_lanes<ROWS> &at,
                                          uint32_t shape, double scale, const row_entries &e, uint8_t *columns,
                                          char *record)
{
    const double *val = (const double *)source.csr.val;
    const tess_precision precision = tcki_precision(&v, shape);
    const int width = tcki_width(shape), own = min(e.length, width);
    const bool coo = tcki_format(shape) == TESS_TCKI_COO, wide = tcki_row_bits(ROWS) + v.column_bits > 8;
    const tcki_parts p = tcki_parts_in(&v, shape);
    uint8_t *const index = (uint8_t *)record + p.index;
    const int before = at.before(e.length - own);

    for (int i = at.lane; i <= p.count && i < ROWS * TILES_SIDE; i += ROWS) { /* one more: half a byte may be left */
        columns[i] = 0;
    }
    GPU_SYNC_WAVE();
    for (int k = 0; k < e.length; k++) {
        const int place = tcki_place(&p, ROWS, width, at.lane, before, k);
        const int column = source.csr.col_ind[e.at + k] & ((1 << v.column_bits) - 1);

        if (coo && wide) {
            ((uint16_t *)(void *)index)[place] = (uint16_t)(at.lane << v.column_bits | column);
        } else if (coo) {
            index[place] = (uint8_t)(at.lane << v.column_bits | column);
        } else {
            columns[place] = (uint8_t)column;
        }
        tess_store(precision, record + p.values, place, val[e.at + k] * scale, TESS_OVERFLOW_INFINITY);
    }
    if (p.has_ends) { tcki_set_end(record, &p, at.lane, before + e.length - own); }
    if (p.has_lengths) { ((uint8_t *)record)[p.lengths + (uint32_t)at.lane] = (uint8_t)own; }
    GPU_SYNC_WAVE();
    if (coo) { return; }
    if (v.column_bits > 4) {
        for (int i = at.lane; i < p.count; i += ROWS) {
            index[i] = columns[i];
        }
    } else {
        for (int i = at.lane; 2 * i < p.count; i += ROWS) { /* p.count is even, or below the space of a group */
            index[i] = (uint8_t)(columns[2 * i] | columns[2 * i + 1] << 4);
        }
    }
}

template <int ROWS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    fill_kernel(const block_source source, const tcki_view v, char *records)
{
    enum { GROUPS = GPU_BLOCK / ROWS };
    __shared__ uint8_t all_columns[GROUPS][ROWS * TILES_SIDE];
    const tiles_lanes<ROWS> at;
    const int group = (int)threadIdx.x / ROWS;

    for (int64_t b0 = (int64_t)blockIdx.x * GROUPS; b0 < v.nblocks; b0 += (int64_t)gridDim.x * GROUPS) {
        const int64_t block = b0 + group;
        uint32_t shape = 0;
        row_entries e = {0, 0};
        double scale = 1.0;
        char *record = records;

        if (block < v.nblocks) {
            shape = v.shape[block];
            e = find_entries<ROWS>(source.csr, v, block, at.lane);
            if (source.scaled >> tcki_level(shape) & 1U) { scale = tess_power_of_two(-source.exponent[block]); }
            record += (int64_t)v.start[block] * TCKI_UNIT;
        }
        write_block<ROWS>(source, v, at, shape, scale, e, all_columns[group], record);
        GPU_SYNC_WAVE();
    }
}

extern "C" tess_status tcki_gpu_fill(tess_context *ctx, const tiles_source *source, const tcki_view *v, char *record)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, v->nblocks * v->rows, 8);

    if (v->nblocks == 0) { return TESS_SUCCESS; }
    if (v->rows == 16) {
        fill_kernel<16><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(block_source(source), *v, record);
    } else {
        fill_kernel<32><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(block_source(source), *v, record);
    }
    return gpu_check_launch(ctx, "filling blocks");
}
