/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles on the host: building, and products. */
#include <string.h>

#include <omp.h>

#include "base/offsets.h"
#include "device/host/host.h"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_host.h"
#include "format/tiles/tiles_record.h"

enum { CHUNK = 16, /* block rows per unit of work */ LONGEST_ROW = 255 /* entries of a row in a group */ };

/* ---- building ---- */

/* The blocks of a run, and the header of each of its groups. */
typedef struct tiles_run {
    int64_t first; /* block of the grid */
    int nblocks;
    uint32_t header[TESS_MAX_LEVELS];
} tiles_run;

static int level_of(const tiles_source *source, int64_t block)
{
    return source->level ? source->level[block] : 0;
}

static tiles_run find_run(const tiles_source *source, const tiles_view *v, int64_t block_row, int number)
{
    const block_grid *grid = source->grid;
    const int32_t diagonal = tiles_diagonal_column(v, block_row);
    int64_t left = grid->first[block_row + 1] - grid->first[block_row] - (int64_t)number * v->slots;
    tiles_run run = {.first = grid->first[block_row] + (int64_t)number * v->slots,
                     .nblocks = left < v->slots ? (int)left : v->slots};

    for (int l = 0; l < v->nlevels; l++) {
        int slots = 0, entries = 0;
        bool wide = false;

        for (int64_t b = run.first; b < run.first + run.nblocks; b++) {
            if (level_of(source, b) != l) { continue; }
            slots++;
            entries += grid->count[b];
            wide = wide || !tiles_fits_narrow(grid->column[b], diagonal);
        }
        run.header[l] = slots > 0 ? tiles_header(entries, slots, wide, source->scaled[l]) : 0U;
    }
    return run;
}

static int runs_of(const tiles_source *source, const tiles_view *v, int64_t block_row)
{
    int64_t nblocks = source->grid->first[block_row + 1] - source->grid->first[block_row];

    return (int)((nblocks + v->slots - 1) / v->slots);
}

static int64_t block_row_units(const tiles_source *source, const tiles_view *v, int64_t block_row)
{
    const int nruns = runs_of(source, v, block_row);
    uint32_t at = tiles_head_bytes(nruns, v->nlevels);

    for (int number = 0; number < nruns; number++) {
        const tiles_run run = find_run(source, v, block_row, number);

        for (int l = v->nlevels - 1; l >= 0; l--) {
            if (run.header[l] == 0) { continue; }
            at = tiles_group_at(run.header[l], at, v->rows, (int)tess_precision_bytes(v->precision[l])).end;
        }
    }
    return ((int64_t)at + TILES_UNIT - 1) / TILES_UNIT;
}

int64_t tiles_host_place_block_rows(const tiles_view *v, uint32_t *start, int64_t *longest)
{
    int64_t place = 0, most = 0;

    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        int64_t own = start[block_row];

        start[block_row] = (uint32_t)place;
        place += own;
        most = own > most ? own : most;
    }
    start[v->nblock_rows] = (uint32_t)place;
    *longest = most * TILES_UNIT;
    return place;
}

static tess_status measure(tess_context *ctx, const tiles_source *source, const tiles_view *v, uint32_t *start,
                           int64_t *units, int64_t *longest)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        start[block_row] = (uint32_t)block_row_units(source, v, block_row);
    }
    *units = tiles_host_place_block_rows(v, start, longest);
    return TESS_SUCCESS;
}

/* The entries of a group, row by row: the place of each in the matrix, and its slot. */
typedef struct group_entries {
    uint8_t length[TILES_SIDE];
    uint8_t slot[TILES_SIDE][LONGEST_ROW + 1];
    int64_t entry[TILES_SIDE][LONGEST_ROW + 1];
} group_entries;

/* Removes the entries of the run's blocks from the rows; cursor[r] is the next entry of row r. */
static void gather_groups(const tiles_source *source, const tiles_view *v, int64_t block_row, const tiles_run *run,
                          int64_t *cursor, group_entries *groups)
{
    const csr_view *csr = source->csr;
    int slots[TESS_MAX_LEVELS] = {0};

    for (int l = 0; l < v->nlevels; l++) {
        memset(groups[l].length, 0, sizeof groups[l].length);
    }
    for (int64_t b = run->first; b < run->first + run->nblocks; b++) {
        const int level = level_of(source, b);
        group_entries *g = &groups[level];

        for (int r = 0; r < v->rows && block_row * v->rows + r < v->nrows; r++) {
            const int64_t end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, block_row * v->rows + r + 1);

            for (; cursor[r] < end && csr->col_ind[cursor[r]] >> v->column_bits == source->grid->column[b];
                 cursor[r]++) {
                g->slot[r][g->length[r]] = (uint8_t)slots[level];
                g->entry[r][g->length[r]++] = cursor[r];
            }
        }
        slots[level]++;
    }
}

static void write_slots(const tiles_source *source, const tiles_view *v, int64_t block_row, const tiles_run *run,
                        int level, const tiles_group *g, char *record)
{
    const bool wide = tiles_is_wide(run->header[level]);
    int slot = 0;

    for (int64_t b = run->first; b < run->first + run->nblocks; b++) {
        if (level_of(source, b) != level) { continue; }
        if (wide) {
            ((int32_t *)(void *)(record + g->slots))[slot] = source->grid->column[b];
        } else {
            ((int16_t *)(void *)(record + g->slots))[slot] =
                (int16_t)(source->grid->column[b] - tiles_diagonal_column(v, block_row));
        }
        if (source->scaled[level]) { ((int16_t *)(void *)(record + g->exponents))[slot] = source->exponent[b]; }
        slot++;
    }
}

static void write_entries(const tiles_source *source, const tiles_view *v, const group_entries *entries, int level,
                          uint32_t header, const tiles_group *g, char *record)
{
    const double *val = source->csr->val;
    const int16_t *exponents = (const int16_t *)(const void *)(record + g->exponents);
    const int32_t mask = (1 << v->column_bits) - 1;
    uint8_t *index = (uint8_t *)record + g->index;
    int place = 0;

    for (int r = 0; r < v->rows; r++) {
        for (int i = 0; i < entries->length[r]; i++, place++) {
            const int slot = entries->slot[r][i];
            const int64_t k = entries->entry[r][i];
            const double value = source->scaled[level] ? val[k] * tess_power_of_two(-exponents[slot]) : val[k];

            index[place] = (uint8_t)(slot << v->column_bits | (source->csr->col_ind[k] & mask));
            tess_store(v->precision[level], record + g->values, place, value, TESS_OVERFLOW_INFINITY);
        }
        tiles_set_row_end(record, g, header, r, place);
    }
}

char *tiles_host_open_record(const tiles_view *v, int64_t block_row, char *records)
{
    char *record = records + (int64_t)v->start[block_row] * TILES_UNIT;

    memset(record, 0, (size_t)(v->start[block_row + 1] - v->start[block_row]) * TILES_UNIT);
    return record;
}

void tiles_host_open_block_row(const csr_view *csr, int64_t block_row, int rows, int64_t *cursor)
{
    for (int r = 0; r < rows && block_row * rows + r < csr->nrows; r++) {
        cursor[r] = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, block_row * rows + r);
    }
}

block_entries tiles_host_take_block(const csr_view *csr, int64_t block_row, int rows, int column_bits, int32_t column,
                                    int64_t *cursor)
{
    block_entries e = {{0}, {0}};

    for (int r = 0; r < rows && block_row * rows + r < csr->nrows; r++) {
        const int64_t end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, block_row * rows + r + 1);

        e.at[r] = cursor[r];
        while (cursor[r] < end && csr->col_ind[cursor[r]] >> column_bits == column) {
            cursor[r] += 1;
        }
        e.length[r] = (int)(cursor[r] - e.at[r]);
    }
    return e;
}

static void write_block_row(const tiles_source *source, const tiles_view *v, int64_t block_row, group_entries *groups,
                            char *record)
{
    uint32_t *words = (uint32_t *)(void *)record;
    const int nruns = runs_of(source, v, block_row);
    uint32_t at = tiles_head_bytes(nruns, v->nlevels);
    int64_t cursor[TILES_SIDE];

    tiles_host_open_block_row(source->csr, block_row, v->rows, cursor);
    words[0] = (uint32_t)nruns;
    for (int number = 0; number < nruns; number++) {
        const tiles_run run = find_run(source, v, block_row, number);

        gather_groups(source, v, block_row, &run, cursor, groups);
        for (int l = v->nlevels - 1; l >= 0; l--) {
            tiles_group g;

            words[1 + tiles_header_place(number, l, v->nlevels)] = run.header[l];
            if (run.header[l] == 0) { continue; }
            g = tiles_group_at(run.header[l], at, v->rows, (int)tess_precision_bytes(v->precision[l]));
            write_slots(source, v, block_row, &run, l, &g, record);
            write_entries(source, v, &groups[l], l, run.header[l], &g, record);
            at = g.end;
        }
    }
}

static tess_status fill(tess_context *ctx, const tiles_source *source, const tiles_view *v, char *record)
{
    group_entries *groups = NULL;
    tess_status status =
        tess_host_allocate(ctx, (int64_t)ctx->threads * TESS_MAX_LEVELS, sizeof *groups, (void **)&groups);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        write_block_row(source, v, block_row, groups + (ptrdiff_t)omp_get_thread_num() * TESS_MAX_LEVELS,
                        tiles_host_open_record(v, block_row, record));
    }
    tess_host_release(ctx, groups, (int64_t)ctx->threads * TESS_MAX_LEVELS, sizeof *groups);
    return TESS_SUCCESS;
}

/* ---- products ---- */

/* Adds a group's products to the sums of the block row's rows. x is in FP64 or FP32; both are constants of the
 * functions below. */
TESS_INLINE void add_group(const tiles_view *v, const char *record, uint32_t header, const tiles_group *g,
                           tess_precision precision, int32_t diagonal, const void *x, bool fp32, double *sum)
{
    const uint8_t *index = (const uint8_t *)record + g->index;
    const int nslots = tiles_slots(header), mask = (1 << v->column_bits) - 1;
    int64_t base[TILES_SLOTS];
    double scale[TILES_SLOTS];
    int place = 0;

    for (int s = 0; s < nslots; s++) {
        base[s] = (int64_t)tiles_slot_column(record, g, header, s, diagonal) << v->column_bits;
        scale[s] = tiles_is_scaled(header) ? tess_power_of_two(tiles_slot_exponent(record, g, s)) : 1.0;
    }
    for (int r = 0; r < v->rows; r++) {
        double own = 0.0;

        for (const int end = tiles_row_end(record, g, header, r); place < end; place++) {
            const int slot = index[place] >> v->column_bits;

            own += tess_load(precision, record + g->values, place) *
                   spmv_element(x, fp32, base[slot] + (index[place] & mask)) * scale[slot];
        }
        sum[r] += own;
    }
}

typedef void (*group_function)(const tiles_view *v, const char *record, uint32_t header, const tiles_group *g,
                               int32_t diagonal, const void *x, double *sum);

#define GROUP_FUNCTION(name, stored, fp32)                                                                             \
    static void name(const tiles_view *v, const char *record, uint32_t header, const tiles_group *g, int32_t diagonal, \
                     const void *x, double *sum)                                                                       \
    {                                                                                                                  \
        add_group(v, record, header, g, stored, diagonal, x, fp32, sum);                                               \
    }
#define GROUP_FUNCTIONS(NAME, ...)                           \
    GROUP_FUNCTION(add_##NAME, TESS_PRECISION_##NAME, false) \
    GROUP_FUNCTION(add_##NAME##_fp32, TESS_PRECISION_##NAME, true)
TESS_PRECISION_LIST(GROUP_FUNCTIONS)
#undef GROUP_FUNCTIONS
#undef GROUP_FUNCTION

static group_function select_group_function(tess_precision precision, bool fp32)
{
#define GROUP_ROW(NAME, ...) {add_##NAME, add_##NAME##_fp32},
    static const group_function functions[TESS_PRECISION_COUNT][2] = {TESS_PRECISION_LIST(GROUP_ROW)};
#undef GROUP_ROW

    return functions[precision][fp32];
}

/* Sums of all rows of a block row. */
static void sum_block_row(const void *view, int64_t block_row, const void *x, bool fp32, double *sum)
{
    const tiles_view *v = view;
    const char *record = v->record + (int64_t)v->start[block_row] * TILES_UNIT;
    const uint32_t *words = (const uint32_t *)(const void *)record;
    const int32_t diagonal = tiles_diagonal_column(v, block_row);
    const int nruns = (int)words[0];
    uint32_t at = tiles_head_bytes(nruns, v->nlevels);

    memset(sum, 0, (size_t)v->rows * sizeof *sum);
    for (int run = 0; run < nruns; run++) {
        for (int l = v->nlevels - 1; l >= 0; l--) {
            const uint32_t header = words[1 + tiles_header_place(run, l, v->nlevels)];
            tiles_group g;

            if (header == 0) { continue; }
            g = tiles_group_at(header, at, v->rows, (int)tess_precision_bytes(v->precision[l]));
            select_group_function(v->precision[l], fp32)(v, record, header, &g, diagonal, x, sum);
            at = g.end;
        }
    }
}

static void finish_block_row(const tiles_block_rows *block_rows, int64_t block_row, const tess_spmv_args *args,
                             const double *sum, double *dots)
{
    const int64_t first = block_row * block_rows->rows;

    for (int r = 0; r < block_rows->rows && first + r < block_rows->nrows; r++) {
        spmv_finish_single(args, first + r, sum[r], dots);
    }
}

tess_status tiles_host_product(tess_context *ctx, const tiles_block_rows *block_rows, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const void *x = fp32 ? (const void *)args->x_fp32 : args->x;
    const int64_t nchunks = (block_rows->nblock_rows + CHUNK - 1) / CHUNK;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (block_rows->nnz > HOST_SERIAL_WORK)
    for (int64_t c = 0; c < nchunks; c++) {
        const int64_t end = (c + 1) * CHUNK < block_rows->nblock_rows ? (c + 1) * CHUNK : block_rows->nblock_rows;
        double sum[TILES_SIDE], dots[2] = {0.0, 0.0};

        for (int64_t block_row = c * CHUNK; block_row < end; block_row++) {
            block_rows->sum(block_rows->view, block_row, x, fp32, sum);
            finish_block_row(block_rows, block_row, args, sum, dots);
        }
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

tess_status tiles_host_prepare(tess_context *ctx, int64_t nblock_rows)
{
    double *partials = NULL;

    return host_partials(ctx, 2 * ((nblock_rows + CHUNK - 1) / CHUNK), &partials);
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    const tiles_block_rows block_rows = {.view = v,
                                         .sum = sum_block_row,
                                         .nrows = v->nrows,
                                         .nnz = v->nnz,
                                         .nblock_rows = v->nblock_rows,
                                         .rows = v->rows};

    (void)longest;
    return tiles_host_product(ctx, &block_rows, args);
}

static tess_status prepare(tess_context *ctx, const tiles_view *v)
{
    return tiles_host_prepare(ctx, v->nblock_rows);
}

const tiles_ops tiles_host_ops = {measure, fill, NULL, prepare, spmv, tiles_host_multiply_columns};
