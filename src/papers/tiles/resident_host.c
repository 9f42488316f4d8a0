/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout resident on the host: building, products, decoding. */
#include <string.h>

#include "device/host/host.h"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_host.h"
#include "papers/narrowing/narrowing_rules.h"
#include "papers/tiles/resident.h"
#include "papers/tiles/resident_record.h"

/* ---- building ---- */

static int level_of(const tiles_source *source, int64_t block)
{
    return source->level ? source->level[block] : 0;
}

static block_entries take_tile(const tiles_source *source, int64_t block_row, int64_t block, int64_t *cursor)
{
    return tiles_host_take_block(source->csr, block_row, RESIDENT_SIDE, RESIDENT_COLUMN_BITS,
                                 source->grid->column[block], cursor);
}

static resident_header make_header(const tiles_source *source, const tiles_view *v, int64_t block,
                                   const block_entries *e)
{
    const int level = level_of(source, block);
    unsigned rows = 0;
    int entries = 0;

    for (int r = 0; r < RESIDENT_SIDE; r++) {
        rows |= (e->length[r] > 0 ? 1U : 0U) << r;
        entries += e->length[r];
    }
    return resident_header_of(source->grid->column[block], v->precision[level], rows, entries, source->scaled[level]);
}

static int tiles_of(const tiles_source *source, int64_t block_row)
{
    return (int)(source->grid->first[block_row + 1] - source->grid->first[block_row]);
}

static int64_t block_row_units(const tiles_source *source, const tiles_view *v, int64_t block_row)
{
    int64_t bytes = resident_data(tiles_of(source, block_row)), cursor[RESIDENT_SIDE];

    tiles_host_open_block_row(source->csr, block_row, RESIDENT_SIDE, cursor);
    for (int64_t b = source->grid->first[block_row]; b < source->grid->first[block_row + 1]; b++) {
        const block_entries e = take_tile(source, block_row, b, cursor);

        bytes += resident_parts_of(make_header(source, v, b, &e)).bytes;
    }
    return (bytes + TILES_UNIT - 1) / TILES_UNIT;
}

static tess_status measure(tess_context *ctx, const tiles_source *source, const tiles_view *v, uint32_t *start,
                           int64_t *units, int64_t *longest)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        start[block_row] = (uint32_t)block_row_units(source, v, block_row);
    }
    *units = tiles_host_place_block_rows(v, start, longest);
    return TESS_SUCCESS;
}

/* The low half of a byte of index is written before the high half. */
static void write_index(uint8_t *index, int place, int column)
{
    index[place / 2] = (uint8_t)(place % 2 == 0 ? column : index[place / 2] | column << 4);
}

static void write_tile(const tiles_source *source, int64_t block, resident_header h, const block_entries *e, char *data)
{
    const resident_parts p = resident_parts_of(h);
    const csr_view *csr = source->csr;
    const double *val = csr->val;
    const int exponent = resident_is_scaled(h) ? source->exponent[block] : 0;
    const double scale = tess_power_of_two(-exponent);
    int place = 0, number = 0;

    if (resident_is_scaled(h)) { *(int16_t *)(void *)(data + p.exponent) = (int16_t)exponent; }
    for (int r = 0; r < RESIDENT_SIDE; r++) {
        for (int k = 0; k < e->length[r]; k++, place++) {
            const int64_t entry = e->at[r] + k;

            tess_store(resident_precision(h), data, place, val[entry] * scale, TESS_OVERFLOW_INFINITY);
            write_index((uint8_t *)data + p.index, place, csr->col_ind[entry] & (RESIDENT_SIDE - 1));
        }
        if (e->length[r] == 0) { continue; }
        number++;
        if (p.has_ends && number < p.nrows) { ((uint8_t *)data)[p.ends + (uint32_t)number - 1U] = (uint8_t)place; }
    }
}

static void write_block_row(const tiles_source *source, const tiles_view *v, int64_t block_row, char *record)
{
    const int ntiles = tiles_of(source, block_row);
    resident_header *headers = (resident_header *)(void *)(record + RESIDENT_UNIT);
    char *data = record + resident_data(ntiles);
    int64_t first = source->grid->first[block_row], cursor[RESIDENT_SIDE];

    *(uint32_t *)(void *)record = (uint32_t)ntiles;
    tiles_host_open_block_row(source->csr, block_row, RESIDENT_SIDE, cursor);
    for (int t = 0; t < ntiles; t++) {
        const block_entries e = take_tile(source, block_row, first + t, cursor);

        headers[t] = make_header(source, v, first + t, &e);
        write_tile(source, first + t, headers[t], &e, data);
        data += resident_parts_of(headers[t]).bytes;
    }
}

static tess_status fill(tess_context *ctx, const tiles_source *source, const tiles_view *v, char *record)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        write_block_row(source, v, block_row, tiles_host_open_record(v, block_row, record));
    }
    return TESS_SUCCESS;
}

/* ---- products ---- */

/* Adds a tile's products to the sums of the block row's rows. Precision and kind of x are constants of the functions
 * below. */
TESS_INLINE void add_tile(resident_header h, const char *data, tess_precision stored, const void *x, bool fp32,
                          double *sum)
{
    const resident_parts p = resident_parts_of(h);
    const int64_t base = (int64_t)resident_column(h) * RESIDENT_SIDE;
    const double scale = resident_scale(data, &p, h);

    for (unsigned rows = resident_rows(h); rows != 0; rows &= rows - 1U) {
        const int r = __builtin_ctz(rows);
        const resident_row row = resident_row_of(data, &p, h, r);
        double own = sum[r];

        for (int k = row.first; k < row.end; k++) {
            own += tess_load(stored, data, k) * scale * spmv_element(x, fp32, base + resident_index(data, &p, k));
        }
        sum[r] = own;
    }
}

typedef void (*tile_function)(resident_header h, const char *data, const void *x, double *sum);

#define TILE_FUNCTION(name, stored, fp32)                                             \
    static void name(resident_header h, const char *data, const void *x, double *sum) \
    {                                                                                 \
        add_tile(h, data, stored, x, fp32, sum);                                      \
    }
#define TILE_FUNCTIONS(NAME, ...)                           \
    TILE_FUNCTION(add_##NAME, TESS_PRECISION_##NAME, false) \
    TILE_FUNCTION(add_##NAME##_fp32, TESS_PRECISION_##NAME, true)
TESS_PRECISION_LIST(TILE_FUNCTIONS)
#undef TILE_FUNCTIONS
#undef TILE_FUNCTION

/* The same for a tile whose values are used in a narrower precision. */
static void add_narrowed_tile(resident_header h, const char *data, tess_precision narrow, const void *x, bool fp32,
                              double *sum)
{
    const resident_parts p = resident_parts_of(h);
    const int64_t base = (int64_t)resident_column(h) * RESIDENT_SIDE;
    const double largest = resident_largest(data, &p, h, 0, resident_entries(h));
    const int exponent = narrowing_exponent(narrow, largest);

    for (int r = 0; r < RESIDENT_SIDE; r++) {
        const resident_row row = resident_row_of(data, &p, h, r);

        for (int k = row.first; k < row.end; k++) {
            const double value = resident_value(data, &p, h, k);
            const double factor = spmv_element(x, fp32, base + resident_index(data, &p, k));

            sum[r] += (narrowing_has_scale(largest) ? narrowing_round(narrow, exponent, value) : value) * factor;
        }
    }
}

/* What block rows are multiplied from. */
typedef struct resident_product {
    const tiles_view *view;
    const uint8_t *segments;
} resident_product;

static void sum_block_row(const void *product, int64_t block_row, const void *x, bool fp32, double *sum)
{
#define TILE_ROW(NAME, ...) {add_##NAME, add_##NAME##_fp32},
    static const tile_function functions[TESS_PRECISION_COUNT][2] = {TESS_PRECISION_LIST(TILE_ROW)};
#undef TILE_ROW
    const tiles_view *v = ((const resident_product *)product)->view;
    const uint8_t *segments = ((const resident_product *)product)->segments;
    const char *record = v->record + (int64_t)v->start[block_row] * TILES_UNIT;
    const resident_header *headers = resident_headers(record);
    const int ntiles = resident_tiles(record);
    const char *data = record + resident_data(ntiles);

    memset(sum, 0, RESIDENT_SIDE * sizeof *sum);
    for (int t = 0; t < ntiles; t++) {
        const resident_header h = headers[t];
        const int use = segments ? segments[resident_column(h)] : NARROWING_NONE;
        const tess_precision narrow = narrowing_precision(resident_precision(h), use);

        if (use != NARROWING_BYPASS && narrow == resident_precision(h)) {
            functions[narrow][fp32](h, data, x, sum);
        } else if (use != NARROWING_BYPASS) {
            add_narrowed_tile(h, data, narrow, x, fp32, sum);
        }
        data += resident_parts_of(h).bytes;
    }
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    const resident_product product = {v, args->segments};
    const tiles_block_rows block_rows = {.view = &product,
                                         .sum = sum_block_row,
                                         .nrows = v->nrows,
                                         .nnz = v->nnz,
                                         .nblock_rows = v->nblock_rows,
                                         .rows = RESIDENT_SIDE};

    (void)longest;
    return tiles_host_product(ctx, &block_rows, args);
}

static tess_status prepare(tess_context *ctx, const tiles_view *v)
{
    return tiles_host_prepare(ctx, v->nblock_rows);
}

const tiles_ops resident_host_ops = {measure, fill, NULL, prepare, spmv, NULL};

/* ---- decoding ---- */

void resident_decode_block_row(const char *record, int64_t *next, int32_t *col_ind, double *val)
{
    const resident_header *headers = resident_headers(record);
    const int ntiles = resident_tiles(record);
    const char *data = record + resident_data(ntiles);

    for (int t = 0; t < ntiles; t++) {
        const resident_header h = headers[t];
        const resident_parts p = resident_parts_of(h);
        const double scale = resident_scale(data, &p, h);

        for (int r = 0; r < RESIDENT_SIDE; r++) {
            const resident_row row = resident_row_of(data, &p, h, r);

            for (int k = row.first; k < row.end; k++) {
                const int64_t entry = next[r]++;

                if (col_ind) { col_ind[entry] = resident_column(h) * RESIDENT_SIDE + resident_index(data, &p, k); }
                if (val) { val[entry] = tess_load(resident_precision(h), data, k) * scale; }
            }
        }
        data += p.bytes;
    }
}
