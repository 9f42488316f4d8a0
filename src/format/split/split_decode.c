/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes split and composite storage on the host, to the order of the assembled matrix. */
#include <string.h>

#include "format/split/split_parts.h"
#include "matrix/matrix.h"
#include "policy/rules.h"

/* Host copies of the arrays that say where values go, and the values of one part. */
typedef struct decoder {
    const split_storage *s;
    split_source source;
    int64_t nnz;       /* of the matrix */
    int64_t *row_ptr;  /* of the matrix */
    int32_t *col_ind;  /* of the matrix; NULL unless the diagonal is left out */
    int32_t *row_of;   /* by position; NULL: in layers */
    int16_t *exponent; /* by position; NULL: none */
    uint8_t *level;    /* by entry, in layers; NULL: row-wise */
    double *part;      /* nnz */
} decoder;

static void close_decoder(tess_context *ctx, decoder *d)
{
    split_close_source(ctx, &d->source);
    tess_host_release(ctx, d->row_ptr, d->s->nrows + 1, sizeof *d->row_ptr);
    tess_host_release(ctx, d->col_ind, d->nnz, sizeof *d->col_ind);
    tess_host_release(ctx, d->row_of, d->s->nrows, sizeof *d->row_of);
    tess_host_release(ctx, d->exponent, d->s->nrows, sizeof *d->exponent);
    tess_host_release(ctx, d->level, d->nnz, sizeof *d->level);
    tess_host_release(ctx, d->part, d->nnz, sizeof *d->part);
}

/* A host copy of `count` elements of a device array; NULL for NULL. */
static tess_status fetch(tess_context *ctx, const void *device, int64_t count, size_t size, void **out)
{
    tess_status status = TESS_SUCCESS;

    if (!device) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, count, size, out));
    status = ctx->backend->download(ctx, *out, device, (size_t)count * size);
cleanup:
    return status;
}

static tess_status open_decoder(const tess_matrix *a, decoder *d)
{
    tess_context *ctx = a->ctx;
    const split_storage *s = d->s;
    const tess_matrix *original = a->original;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(split_open_source(s, original, &d->source));
    TESS_TRY(tess_host_allocate(ctx, s->nrows + 1, sizeof *d->row_ptr, (void **)&d->row_ptr));
    if (s->summary.options.without_diagonal && !s->layered) {
        TESS_TRY(tess_host_allocate(ctx, d->nnz, sizeof *d->col_ind, (void **)&d->col_ind));
    }
    TESS_TRY(original->ops->decode(original, d->row_ptr, d->col_ind, NULL));
    TESS_TRY(fetch(ctx, s->order.row_of, s->nrows, sizeof *d->row_of, (void **)&d->row_of));
    TESS_TRY(fetch(ctx, s->exponent, s->nrows, sizeof *d->exponent, (void **)&d->exponent));
    if (s->layered) { TESS_TRY(fetch(ctx, d->source.level, d->nnz, sizeof *d->level, (void **)&d->level)); }
    status = tess_host_allocate(ctx, d->nnz, sizeof *d->part, (void **)&d->part);
cleanup:
    return status;
}

/* Where part p of a composite begins in the values. */
static int64_t first_value(const split_storage *s, int p)
{
    int64_t first = 0;

    for (int q = 0; s->composite && q < p; q++) {
        first += split_shape_of(s, q).nnz;
    }
    return first;
}

/* The values of part p in the order of its rows, as CSR stores them: over their scales. */
static tess_status read_csr(tess_context *ctx, const decoder *d, int p)
{
    const csr_view *v = &d->s->part[p].view;
    const char *val = (const char *)v->val + (size_t)first_value(d->s, p) * tess_precision_bytes(v->precision);
    const tess_value_array from = {val, v->precision, ctx->device == TESS_DEVICE_GPU};
    const tess_value_place to = {d->part, TESS_PRECISION_FP64, false};

    return tess_move_values(ctx, v->nnz, from, to);
}

/* The same from slices, whose decoding removes the scales, or from diagonals. */
static tess_status read_rows(const tess_matrix *a, const decoder *d, int p)
{
    tess_context *ctx = a->ctx;
    const split_shape shape = split_shape_of(d->s, p);
    csr_view rows = split_bare_view(d->s, &shape);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(split_make_offsets(ctx, d->s, &d->source, &shape.rows, &rows));
    status = d->s->base[p] == TESS_FORMAT_DIA ? dia_ops_of(ctx)->decode(ctx, &rows, &d->s->diagonals[p], NULL, d->part)
                                              : ellr_ops_of(ctx)->decode(ctx, &rows, &d->s->slices[p], NULL, d->part);
cleanup:
    csr_release_view(ctx, &rows);
    return status;
}

static bool keeps(const decoder *d, int p, int64_t row, int64_t k)
{
    if (d->level) { return d->level[k] == p; }
    return !(d->col_ind && d->col_ind[k] == row);
}

/* Copies the part's values to their places. */
static void place_values(const decoder *d, int p, double *val)
{
    const split_shape shape = split_shape_of(d->s, p);
    const bool scaled = split_is_csr(d->s) && split_is_scaled(d->s, shape.level);
    int64_t place = 0;

    for (int64_t i = 0; i < shape.rows.count; i++) {
        int64_t row = d->row_of ? d->row_of[shape.begin + i] : i;
        double scale = scaled ? tess_power_of_two(d->exponent[shape.begin + i]) : 1.0;

        for (int64_t k = d->row_ptr[row]; k < d->row_ptr[row + 1]; k++) {
            if (keeps(d, p, row, k)) { val[k] = d->part[place++] * scale; }
        }
    }
}

static tess_status decode_values(const tess_matrix *a, double *val)
{
    decoder d = {.s = a->storage, .nnz = a->nnz};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_decoder(a, &d));
    memset(val, 0, (size_t)a->nnz * sizeof *val); /* an entry that is left out */
    for (int p = 0; p < d.s->nparts; p++) {
        if (split_shape_of(d.s, p).nnz == 0) { continue; }
        TESS_TRY(split_is_csr(d.s) ? read_csr(a->ctx, &d, p) : read_rows(a, &d, p));
        place_values(&d, p, val);
    }
cleanup:
    close_decoder(a->ctx, &d);
    return status;
}

tess_status split_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    tess_status status = TESS_SUCCESS;

    if (row_ptr || col_ind) { TESS_TRY(a->original->ops->decode(a->original, row_ptr, col_ind, NULL)); }
    if (val && a->nnz > 0) { status = decode_values(a, val); }
cleanup:
    return status;
}
