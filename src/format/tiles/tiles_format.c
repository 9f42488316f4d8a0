/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles over a backend's functions: options, building, renewing, decoding. */
#include <stdlib.h>
#include <string.h>

#include <tessera/names.h>

#include "format/tiles/tiles_record.h"
#include "matrix/matrix.h"
#include "policy/rules.h"

enum { SLACK_UNITS = TILES_SLACK / TILES_UNIT };

static const tiles_storage *storage_of(const tess_matrix *a)
{
    return a->storage;
}

static void free_longs(tess_context *ctx, const tiles_view *v)
{
    const tiles_long *l = &v->longs;

    tess_device_release(ctx, l->row, l->rows, sizeof *l->row);
    tess_device_release(ctx, l->first, l->rows + 1, sizeof *l->first);
    tess_device_release(ctx, l->chunk, l->chunks, sizeof *l->chunk);
    tess_device_release(ctx, l->sum, (int64_t)l->chunks * v->rows, sizeof *l->sum);
}

void tiles_free(tess_context *ctx, tiles_storage *s, size_t size)
{
    tiles_view *v = &s->view;

    if (v->record) { tess_device_release(ctx, v->record, v->units + SLACK_UNITS, TILES_UNIT); }
    tess_device_release(ctx, v->start, v->nblock_rows + 1, sizeof *v->start);
    free_longs(ctx, v);
    tess_assignment_destroy(s->own_assignment);
    tess_host_release(ctx, s, 1, size);
}

static void tiles_destroy(tess_context *ctx, void *pointer)
{
    tiles_free(ctx, pointer, sizeof(tiles_storage));
}

/* ---- building ---- */

tiles_source tiles_source_of(const tiles_storage *s, const tess_matrix *assembled)
{
    tiles_source source = {.csr = &csr_of(assembled)->view,
                           .grid = &s->assignment->grid,
                           .level = s->assignment->level,
                           .exponent = s->assignment->exponent};

    for (int l = 0; l < s->summary.options.nlevels; l++) {
        source.scaled[l] = s->assignment->exponent && s->summary.options.level[l].scaled != 0;
    }
    return source;
}

/* The caller's assignment, or one made by the policy of the options. */
static tess_status take_assignment(const tess_matrix *a, const tess_storage_options *options,
                                   const tess_assignment *given, tiles_storage *s)
{
    tess_status status = TESS_SUCCESS;

    if (given) {
        s->assignment = given;
    } else {
        TESS_TRY(tess_assignment_create(a, &options->policy, &s->own_assignment));
        s->assignment = s->own_assignment;
    }
    s->summary = s->assignment->summary;
cleanup:
    return status;
}

static tiles_view bare_view(const tess_matrix *a, const tiles_storage *s)
{
    const block_grid *grid = &s->assignment->grid;
    tiles_view v = {.nrows = a->nrows,
                    .ncols = a->ncols,
                    .nnz = a->nnz,
                    .nblock_rows = grid->nblock_rows,
                    .rows = grid->rows,
                    .column_bits = grid->cols == 32 ? 5 : 4,
                    .nlevels = s->summary.options.nlevels};

    v.slots = tiles_slots_of(v.column_bits);
    for (int l = 0; l < v.nlevels; l++) {
        v.precision[l] = s->summary.options.level[l].precision;
    }
    return v;
}

tess_status tiles_begin(const tess_matrix *assembled, const tess_storage_options *options,
                        const tess_assignment *assignment, size_t size, tiles_storage **out)
{
    tiles_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(assembled->ctx, 1, size, (void **)&s));
    memset(s, 0, size);
    *out = s;
    TESS_TRY(take_assignment(assembled, options, assignment, s));
    s->view = bare_view(assembled, s);
cleanup:
    return status;
}

tess_status tiles_make_records(const tess_matrix *assembled, const tiles_ops *ops, tiles_storage *s)
{
    tess_context *ctx = assembled->ctx;
    const tiles_source source = tiles_source_of(s, assembled);
    tiles_view *v = &s->view;
    uint32_t *start = NULL;
    char *record = NULL;
    int64_t units = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, v->nblock_rows + 1, sizeof *start, (void **)&start));
    v->start = start;
    TESS_TRY(ops->measure(ctx, &source, v, start, &units, &s->longest));
    if (units > (int64_t)UINT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "choose csr", "format tiles would take %s, which is too many",
                         tess_count(units * TILES_UNIT, "byte").text);
    }
    TESS_TRY(tess_device_allocate(ctx, units + SLACK_UNITS, TILES_UNIT, (void **)&record));
    v->record = s->record = record;
    v->units = units;
    TESS_TRY(ctx->backend->zero(ctx, record + units * TILES_UNIT, TILES_SLACK));
    TESS_TRY(ops->fill(ctx, &source, v, record));
    if (ops->divide) { status = ops->divide(ctx, &source, s->longest, v); }
cleanup:
    return status;
}

static tess_status tiles_build(const tess_matrix *assembled, const tess_storage_options *options,
                               const tess_assignment *assignment, void **out)
{
    tiles_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tiles_begin(assembled, options, assignment, sizeof *s, &s));
    TESS_TRY(tiles_make_records(assembled, tiles_ops_of(assembled->ctx), s));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { tiles_destroy(assembled->ctx, s); }
    return status;
}

/* Blocks keep their levels and scales, so that the records keep their places. */
static tess_status tiles_refresh(const tess_matrix *assembled, void *storage)
{
    tiles_storage *s = storage;
    const tiles_source source = tiles_source_of(s, assembled);

    return tiles_ops_of(assembled->ctx)->fill(assembled->ctx, &source, &s->view, s->record);
}

/* ---- products ---- */

static tess_status tiles_prepare(const tess_matrix *a)
{
    return tiles_ops_of(a->ctx)->prepare(a->ctx, &storage_of(a)->view);
}

/* The transpose of the assembled matrix holds exactly the values stored here, if all are in FP64. */
tess_status tiles_multiply_transposed(const tess_matrix *a, const tess_spmv_args *args)
{
    const tess_assignment_summary *summary = &storage_of(a)->summary;
    tess_status status = tess_spmv_require_fp64_vectors(a, args);

    if (status != TESS_SUCCESS) { return status; }
    if (a->precision != TESS_PRECISION_FP64 || summary->nonzeros_at[0] != a->nnz) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "multiply with the FP64 matrix",
                         "tiles below fp64 have no transposed product");
    }
    return a->original->ops->spmv(a->original, args);
}

static tess_status tiles_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const tiles_storage *s = storage_of(a);

    if (args->operation == TESS_OP_TRANSPOSE) { return tiles_multiply_transposed(a, args); }
    return tiles_ops_of(a->ctx)->spmv(a->ctx, &s->view, s->longest, args);
}

static bool tiles_takes_columns(const tess_matrix *a, bool steps)
{
    (void)a;
    return !steps;
}

static tess_status tiles_multiply_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    return tiles_ops_of(a->ctx)->multiply_columns(a->ctx, &storage_of(a)->view, args);
}

/* ---- back to the host ---- */

/* One decoded entry. */
typedef struct tiles_entry {
    int32_t column;
    double value;
} tiles_entry;

static int by_column(const void *left, const void *right)
{
    const tiles_entry *a = left, *b = right;

    return (a->column > b->column) - (a->column < b->column);
}

/* Adds the entries of a group to those of their rows: `taken` counts those of each row so far. */
static void decode_group(const tiles_view *v, int64_t block_row, const char *record, uint32_t header,
                         const tiles_group *g, tess_precision precision, tiles_entry *const *row, int *taken)
{
    const uint8_t *index = (const uint8_t *)record + g->index;
    const int32_t diagonal = tiles_diagonal_column(v, block_row);
    int place = 0;

    for (int r = 0; r < v->rows; r++) {
        for (const int end = tiles_row_end(record, g, header, r); place < end; place++) {
            const int slot = index[place] >> v->column_bits;
            tiles_entry *e = &row[r][taken[r]++];

            e->column = (tiles_slot_column(record, g, header, slot, diagonal) << v->column_bits) +
                        (index[place] & ((1 << v->column_bits) - 1));
            e->value = tess_load(precision, record + g->values, place);
            if (tiles_is_scaled(header)) { e->value *= tess_power_of_two(tiles_slot_exponent(record, g, slot)); }
        }
    }
}

/* The entries of a block row, row by row, to `entries`, which has space for them; row r begins at row[r]. */
static void decode_block_row(const tiles_view *v, int64_t block_row, const char *record, tiles_entry *const *row)
{
    const uint32_t *words = (const uint32_t *)(const void *)record;
    const int nruns = (int)words[0];
    uint32_t at = tiles_head_bytes(nruns, v->nlevels);
    int taken[TILES_SIDE] = {0};

    for (int run = 0; run < nruns; run++) {
        for (int l = v->nlevels - 1; l >= 0; l--) {
            const uint32_t header = words[1 + tiles_header_place(run, l, v->nlevels)];
            tiles_group g;

            if (header == 0) { continue; }
            g = tiles_group_at(header, at, v->rows, (int)tess_precision_bytes(v->precision[l]));
            decode_group(v, block_row, record, header, &g, v->precision[l], row, taken);
            at = g.end;
        }
    }
}

tess_status tiles_copy_make(const tess_matrix *a, bool records, int64_t *row_ptr, tiles_copy *copy)
{
    const tiles_view *v = &storage_of(a)->view;
    tess_context *ctx = a->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->nrows + 1, sizeof *copy->row_ptr, (void **)&copy->row_ptr));
    TESS_TRY(a->original->ops->decode(a->original, copy->row_ptr, NULL, NULL));
    if (row_ptr) { memcpy(row_ptr, copy->row_ptr, (size_t)(v->nrows + 1) * sizeof *row_ptr); }
    if (!records) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, v->nblock_rows + 1, sizeof *copy->start, (void **)&copy->start));
    TESS_TRY(tess_host_allocate(ctx, v->units, TILES_UNIT, (void **)&copy->record));
    TESS_TRY(ctx->backend->download(ctx, copy->start, v->start, (size_t)(v->nblock_rows + 1) * sizeof *copy->start));
    TESS_TRY(ctx->backend->download(ctx, copy->record, v->record, (size_t)v->units * TILES_UNIT));
cleanup:
    return status;
}

void tiles_copy_free(const tess_matrix *a, tiles_copy *copy)
{
    const tiles_view *v = &storage_of(a)->view;

    tess_host_release(a->ctx, copy->row_ptr, v->nrows + 1, sizeof *copy->row_ptr);
    tess_host_release(a->ctx, copy->start, v->nblock_rows + 1, sizeof *copy->start);
    tess_host_release(a->ctx, copy->record, v->units, TILES_UNIT);
}

static void decode_all(const tiles_view *v, const tiles_copy *copy, tiles_entry *entry, int32_t *col_ind, double *val)
{
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        tiles_entry *row[TILES_SIDE];
        int64_t first = block_row * v->rows, last = first + v->rows < v->nrows ? first + v->rows : v->nrows;

        for (int64_t i = first; i < last; i++) {
            row[i - first] = entry + copy->row_ptr[i];
        }
        decode_block_row(v, block_row, copy->record + (int64_t)copy->start[block_row] * TILES_UNIT, row);
        for (int64_t i = first; i < last; i++) {
            qsort(row[i - first], (size_t)(copy->row_ptr[i + 1] - copy->row_ptr[i]), sizeof(tiles_entry), by_column);
        }
    }
    for (int64_t k = 0; k < v->nnz; k++) {
        if (col_ind) { col_ind[k] = entry[k].column; }
        if (val) { val[k] = entry[k].value; }
    }
}

static tess_status tiles_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const tiles_view *v = &storage_of(a)->view;
    const bool entries = col_ind || val;
    tiles_entry *entry = NULL;
    tiles_copy copy = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tiles_copy_make(a, entries, row_ptr, &copy));
    if (entries) {
        TESS_TRY(tess_host_allocate(a->ctx, v->nnz, sizeof *entry, (void **)&entry));
        decode_all(v, &copy, entry, col_ind, val);
    }
cleanup:
    tiles_copy_free(a, &copy);
    tess_host_release(a->ctx, entry, v->nnz, sizeof *entry);
    return status;
}

int64_t tiles_record_bytes(const tess_matrix *a)
{
    const tiles_view *v = &storage_of(a)->view;

    return v->units * TILES_UNIT + (v->nblock_rows + 1) * (int64_t)sizeof *v->start;
}

const tess_assignment_summary *tiles_summary(const tess_matrix *a)
{
    return &storage_of(a)->summary;
}

const tess_format_ops tiles_format = {
    .can = TILES_CAPABILITIES,
    .role = TESS_ROLE_BLOCKS,
    .summary = tiles_summary,
    .build = tiles_build,
    .refresh = tiles_refresh,
    .destroy = tiles_destroy,
    .prepare = tiles_prepare,
    .spmv = tiles_spmv,
    .takes_columns = tiles_takes_columns,
    .multiply_columns = tiles_multiply_columns,
    .decode = tiles_decode,
    .bytes = tiles_record_bytes,
};
