/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout resident over a backend's functions: options, building, renewing, decoding. */
#include "matrix/matrix.h"
#include "matrix/storage_options.h"
#include "papers/tiles/resident.h"

enum { SIDE = 16 /* rows and columns of a tile */ };

extern const tess_format_ops tiles_resident_format;

static const tiles_storage *storage_of(const tess_matrix *a)
{
    return a->storage;
}

static bool is_asked_for(const tess_storage_options *options)
{
    const tess_papers_storage *papers = storage_papers(options);

    return papers->layout == TESS_LAYOUT_RESIDENT && papers->kernel == TESS_KERNEL_DEFAULT;
}

static tess_status check_options(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    const int rows = o->policy.block_rows ? o->policy.block_rows : SIDE;
    const int cols = o->policy.block_cols ? o->policy.block_cols : SIDE;

    (void)nrows;
    (void)ncols;
    if (rows == SIDE && cols == SIDE) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "use --block 16x16, or layout grouped",
                     "layout resident cannot use blocks of %dx%d", rows, cols);
}

static void resident_destroy(tess_context *ctx, void *storage)
{
    tiles_free(ctx, storage, sizeof(tiles_storage));
}

static tess_status build(const tess_matrix *assembled, const tess_storage_options *options,
                         const tess_assignment *assignment, void **out)
{
    tiles_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tiles_begin(assembled, options, assignment, sizeof *s, &s));
    TESS_TRY(tiles_make_records(assembled, resident_ops_of(assembled->ctx), s));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { resident_destroy(assembled->ctx, s); }
    return status;
}

/* Blocks keep their levels and scales; the records have the same places. */
static tess_status refresh(const tess_matrix *assembled, void *storage)
{
    tiles_storage *s = storage;
    const tiles_source source = tiles_source_of(s, assembled);

    return resident_ops_of(assembled->ctx)->fill(assembled->ctx, &source, &s->view, s->record);
}

static tess_status prepare(const tess_matrix *a)
{
    return resident_ops_of(a->ctx)->prepare(a->ctx, &storage_of(a)->view);
}

static tess_status spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const tiles_storage *s = storage_of(a);

    if (args->operation == TESS_OP_TRANSPOSE) { return tiles_multiply_transposed(a, args); }
    return resident_ops_of(a->ctx)->spmv(a->ctx, &s->view, s->longest, args);
}

static void decode_all(const tiles_view *v, const tiles_copy *copy, int32_t *col_ind, double *val)
{
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        int64_t next[SIDE] = {0};

        for (int r = 0; r < v->rows && block_row * v->rows + r < v->nrows; r++) {
            next[r] = copy->row_ptr[block_row * v->rows + r];
        }
        resident_decode_block_row(copy->record + (int64_t)copy->start[block_row] * TILES_UNIT, next, col_ind, val);
    }
}

static tess_status decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const bool entries = col_ind || val;
    tiles_copy copy = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tiles_copy_make(a, entries, row_ptr, &copy));
    if (entries) { decode_all(&storage_of(a)->view, &copy, col_ind, val); }
cleanup:
    tiles_copy_free(a, &copy);
    return status;
}

tess_layout tess_matrix_layout(const tess_matrix *a)
{
    if (!a) { return (tess_layout)0; }
    return a->ops == &tiles_resident_format ? TESS_LAYOUT_RESIDENT : TESS_LAYOUT_GROUPED;
}

const tess_format_ops tiles_resident_format = {
    .can = TILES_CAPABILITIES,
    .is_asked_for = is_asked_for,
    .check_options = check_options,
    .summary = tiles_summary,
    .build = build,
    .refresh = refresh,
    .destroy = resident_destroy,
    .prepare = prepare,
    .spmv = spmv,
    .decode = decode,
    .bytes = tiles_record_bytes,
};
