/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles with kernel paper over a backend's functions: options, building, renewing, decoding. */
#include <string.h>

#include <tessera/names.h>

#include "matrix/matrix.h"
#include "matrix/storage_options.h"
#include "papers/tiles/tcki_record.h"

extern const tess_format_ops tiles_tcki_format;

const tcki_storage *tcki_of(const tess_matrix *a)
{
    return a->ops == &tiles_tcki_format ? a->storage : NULL;
}

/* ---- thresholds ---- */

static bool is_threshold(double value)
{
    return value >= 0.0; /* not NaN */
}

/* The rules of the options for a block with that many elements; INVALID_ARGUMENT if thresholds are unusable. */
static tess_status rules_of(tess_context *ctx, const tess_tcki_thresholds *thresholds, int places, tcki_rules *rules)
{
    /* Zhao et al. 2024, section 3.2.2 */
    const double density = thresholds->density != 0.0 ? thresholds->density : 0.02;
    const double low = thresholds->low != 0.0 ? thresholds->low : 0.2;
    const double high = thresholds->high != 0.0 ? thresholds->high : 0.9;

    if (!is_threshold(density) || !is_threshold(low) || !is_threshold(high) || low > high) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give three numbers, none negative, the second at most the third",
                         "the thresholds %g,%g,%g (--tcki-thresholds) cannot choose a format for a block", density, low,
                         high);
    }
    *rules = (tcki_rules){.fewest = density * (double)places, .low = low, .high = high};
    return TESS_SUCCESS;
}

static bool is_asked_for(const tess_storage_options *options)
{
    return storage_papers(options)->kernel == TESS_KERNEL_PAPER;
}

static tess_status check_options(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    const tess_papers_storage *papers = storage_papers(o);
    const int rows = o->policy.block_rows ? o->policy.block_rows : 16;
    const int cols = o->policy.block_cols ? o->policy.block_cols : 16;
    tcki_rules rules;

    (void)nrows;
    (void)ncols;
    if (papers->layout == TESS_LAYOUT_RESIDENT) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "use layout grouped, or kernel default",
                         "kernel paper cannot use layout resident");
    }
    return rules_of(ctx, &papers->tcki_thresholds, rows * cols, &rules);
}

/* ---- building ---- */

static tcki_view view_of(const tiles_source *source, const tiles_view *like)
{
    tcki_view v = {.nrows = like->nrows,
                   .ncols = like->ncols,
                   .nnz = like->nnz,
                   .nblock_rows = like->nblock_rows,
                   .nblocks = source->grid->nblocks,
                   .rows = like->rows,
                   .column_bits = like->column_bits,
                   .first = source->grid->first,
                   .column = source->grid->column,
                   .exponent = source->exponent};

    for (int l = 0; l < like->nlevels; l++) {
        v.precisions |= (unsigned)like->precision[l] << (4 * l);
    }
    return v;
}

static tess_status make_blocks(tess_context *ctx, const tiles_source *source, tcki_storage *s)
{
    const tcki_ops *backend = tcki_ops_of(ctx);
    tcki_view *v = &s->view;
    char *record = NULL;
    int64_t units = 0;
    tess_status status = TESS_SUCCESS;

    *v = view_of(source, &s->tiles.view);
    TESS_TRY(tess_device_allocate(ctx, v->nblocks, sizeof *v->row, (void **)&v->row));
    TESS_TRY(tess_device_allocate(ctx, v->nblocks, sizeof *v->shape, (void **)&v->shape));
    TESS_TRY(tess_device_allocate(ctx, v->nblocks + 1, sizeof *v->start, (void **)&v->start));
    TESS_TRY(backend->measure(ctx, source, &s->rules, v, s->counts, &units));
    if (units > (int64_t)UINT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "choose csr",
                         "format tiles with kernel paper would take %s, which is too many",
                         tess_count(units * TCKI_UNIT, "byte").text);
    }
    TESS_TRY(tess_device_allocate(ctx, units, TCKI_UNIT, (void **)&record));
    v->record = s->record = record;
    v->units = units;
    TESS_TRY(ctx->backend->zero(ctx, record, (size_t)units * TCKI_UNIT));
    TESS_TRY(backend->fill(ctx, source, v, record));
    if (backend->adds_atomically) { TESS_TRY(tess_device_allocate(ctx, v->nrows, sizeof *s->sums, (void **)&s->sums)); }
cleanup:
    return status;
}

static void tcki_destroy(tess_context *ctx, void *storage)
{
    tcki_storage *s = storage;
    tcki_view *v = &s->view;

    tess_device_release(ctx, v->row, v->nblocks, sizeof *v->row);
    tess_device_release(ctx, v->shape, v->nblocks, sizeof *v->shape);
    tess_device_release(ctx, v->start, v->nblocks + 1, sizeof *v->start);
    tess_device_release(ctx, v->record, v->units, TCKI_UNIT);
    tess_device_release(ctx, s->sums, v->nrows, sizeof *s->sums);
    tiles_free(ctx, &s->tiles, sizeof *s);
}

static tess_status build(const tess_matrix *assembled, const tess_storage_options *options,
                         const tess_assignment *assignment, void **out)
{
    tess_context *ctx = assembled->ctx;
    tiles_storage *tiles = NULL;
    tcki_storage *s = NULL;
    tiles_source source;
    int places = 0;
    tess_status status = TESS_SUCCESS;

    status = tiles_begin(assembled, options, assignment, sizeof *s, &tiles);
    s = (tcki_storage *)(void *)tiles; /* it begins with it */
    if (status != TESS_SUCCESS) { goto cleanup; }
    source = tiles_source_of(tiles, assembled);
    places = tiles->view.rows << tiles->view.column_bits;
    TESS_TRY(rules_of(ctx, &storage_papers(options)->tcki_thresholds, places, &s->rules));
    TESS_TRY(make_blocks(ctx, &source, s));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { tcki_destroy(ctx, s); }
    return status;
}

/* Blocks keep their shapes, levels and scales. */
static tess_status refresh(const tess_matrix *assembled, void *storage)
{
    tcki_storage *s = storage;
    const tiles_source source = tiles_source_of(&s->tiles, assembled);

    return tcki_ops_of(assembled->ctx)->fill(assembled->ctx, &source, &s->view, s->record);
}

/* ---- products ---- */

static tess_status prepare(const tess_matrix *a)
{
    return tcki_ops_of(a->ctx)->prepare(a->ctx, &tcki_of(a)->view);
}

static tess_status spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const tcki_storage *s = tcki_of(a);

    if (args->operation == TESS_OP_TRANSPOSE) { return tiles_multiply_transposed(a, args); }
    return tcki_ops_of(a->ctx)->spmv(a->ctx, &s->view, s->sums, args);
}

static int64_t bytes(const tess_matrix *a)
{
    const tcki_view *v = &tcki_of(a)->view;
    const int64_t block = (int64_t)(sizeof *v->row + sizeof *v->column + sizeof *v->shape + sizeof *v->start) +
                          (v->exponent ? (int64_t)sizeof *v->exponent : 0);

    return v->nblocks * block + (int64_t)sizeof *v->start + v->units * TCKI_UNIT;
}

/* ---- back to the host ---- */

/* Where decoded entries go: `next` place of each row of the block row. */
typedef struct decoder {
    const tcki_view *view;
    int64_t next[TILES_SIDE];
    int32_t *col_ind;
    double *val;
} decoder;

static void put(decoder *d, int64_t block, const tcki_parts *p, int row, int column, int place)
{
    const tcki_view *v = d->view;
    const char *record = v->record + (int64_t)v->start[block] * TCKI_UNIT;
    const int64_t k = d->next[row]++;

    if (d->col_ind) { d->col_ind[k] = (v->column[block] << v->column_bits) + column; }
    if (d->val) {
        d->val[k] = tess_load(tcki_precision(v, v->shape[block]), record + p->values, place) * tcki_scale(v, block);
    }
}

static void decode_block(decoder *d, int64_t block)
{
    const tcki_view *v = d->view;
    const uint32_t shape = v->shape[block];
    const char *record = v->record + (int64_t)v->start[block] * TCKI_UNIT;
    const tcki_parts p = tcki_parts_in(v, shape);
    const uint8_t *index = (const uint8_t *)record + p.index;
    int before = 0;

    for (int i = 0; tcki_format(shape) == TESS_TCKI_COO && i < p.count; i++) {
        const int both = tcki_row_and_column(index, v->rows, v->column_bits, i);

        put(d, block, &p, both >> v->column_bits, both & ((1 << v->column_bits) - 1), i);
    }
    for (int r = 0; tcki_format(shape) != TESS_TCKI_COO && r < v->rows; r++) {
        const int own = tcki_length(record, &p, shape, r), end = tcki_end(record, &p, r);
        const int count = own + end - before;

        for (int k = 0; k < count; k++) {
            const int place = tcki_place(&p, v->rows, own, r, before, k);

            put(d, block, &p, r, tcki_column(index, v->column_bits, place), place);
        }
        before = end;
    }
}

/* A copy of `count` elements in host memory. */
static tess_status read_array(tess_context *ctx, const void *device, int64_t count, size_t size, const void **out)
{
    void *copy = NULL;
    const tess_status status = tess_host_allocate(ctx, count, size, &copy);

    *out = copy;
    return status == TESS_SUCCESS ? ctx->backend->download(ctx, copy, device, (size_t)count * size) : status;
}

/* The view with host copies of its arrays; free_copies releases whatever was allocated. */
static tess_status copy_view(tess_context *ctx, const tcki_view *v, tcki_view *copy)
{
    tess_status status = TESS_SUCCESS;

    *copy = *v;
    copy->first = NULL;
    copy->column = NULL;
    copy->exponent = NULL;
    copy->row = NULL;
    copy->shape = copy->start = NULL;
    copy->record = NULL;
    TESS_TRY(read_array(ctx, v->first, v->nblock_rows + 1, sizeof *v->first, (const void **)&copy->first));
    TESS_TRY(read_array(ctx, v->column, v->nblocks, sizeof *v->column, (const void **)&copy->column));
    if (v->exponent) {
        TESS_TRY(read_array(ctx, v->exponent, v->nblocks, sizeof *v->exponent, (const void **)&copy->exponent));
    }
    TESS_TRY(read_array(ctx, v->shape, v->nblocks, sizeof *v->shape, (const void **)&copy->shape));
    TESS_TRY(read_array(ctx, v->start, v->nblocks + 1, sizeof *v->start, (const void **)&copy->start));
    TESS_TRY(read_array(ctx, v->record, v->units, TCKI_UNIT, (const void **)&copy->record));
cleanup:
    return status;
}

static void free_copies(tess_context *ctx, tcki_view *copy)
{
    tess_host_release(ctx, copy->first, copy->nblock_rows + 1, sizeof *copy->first);
    tess_host_release(ctx, copy->column, copy->nblocks, sizeof *copy->column);
    tess_host_release(ctx, copy->exponent, copy->nblocks, sizeof *copy->exponent);
    tess_host_release(ctx, copy->shape, copy->nblocks, sizeof *copy->shape);
    tess_host_release(ctx, copy->start, copy->nblocks + 1, sizeof *copy->start);
    tess_host_release(ctx, copy->record, copy->units, TCKI_UNIT);
}

/* row_ptr: of the host; col_ind or val may be NULL. */
static tess_status decode_blocks(tess_context *ctx, const tcki_storage *s, const int64_t *row_ptr, int32_t *col_ind,
                                 double *val)
{
    tcki_view copy;
    decoder d = {.view = &copy, .col_ind = col_ind, .val = val};
    tess_status status = copy_view(ctx, &s->view, &copy);

    for (int64_t block_row = 0; status == TESS_SUCCESS && block_row < copy.nblock_rows; block_row++) {
        for (int r = 0; r < copy.rows && block_row * copy.rows + r < copy.nrows; r++) {
            d.next[r] = row_ptr[block_row * copy.rows + r];
        }
        for (int64_t block = copy.first[block_row]; block < copy.first[block_row + 1]; block++) {
            decode_block(&d, block);
        }
    }
    free_copies(ctx, &copy);
    return status;
}

static tess_status decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    tiles_copy copy = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tiles_copy_make(a, false, row_ptr, &copy));
    if (col_ind || val) { status = decode_blocks(a->ctx, tcki_of(a), copy.row_ptr, col_ind, val); }
cleanup:
    tiles_copy_free(a, &copy);
    return status;
}

tess_status tess_matrix_tcki_counts(const tess_matrix *a, int64_t counts[TESS_TCKI_FORMATS])
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, counts);
    const tcki_storage *s = tcki_of(a);

    if (!s) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "convert the matrix to tiles with kernel paper",
                         "the matrix has no formats of blocks to count");
    }
    memcpy(counts, s->counts, sizeof s->counts);
    return TESS_SUCCESS;
}

const tess_format_ops tiles_tcki_format = {
    .can = TILES_CAPABILITIES,
    .is_asked_for = is_asked_for,
    .check_options = check_options,
    .summary = tiles_summary,
    .build = build,
    .refresh = refresh,
    .destroy = tcki_destroy,
    .prepare = prepare,
    .spmv = spmv,
    .decode = decode,
    .bytes = bytes,
};
