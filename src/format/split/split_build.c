/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of split and composite storage: makes, renews and frees their arrays. */
#include <string.h>

#include <tessera/names.h>

#include "base/offsets.h"
#include "format/split/split_parts.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"

/* A matrix of fewer nonzeros has 32-bit offsets. */
static const int64_t wide_from = INT64_C(1) << 31;

static tess_precision precision_at(const split_storage *s, int level)
{
    return s->summary.options.level[level].precision;
}

bool split_scatters(const split_storage *s)
{
    const split_order *order = &s->order;

    if (s->layered || s->options.split.row_order != TESS_ROW_ORDER_ORIGINAL) { return false; }
    for (int p = 0; p < order->nparts; p++) {
        if (order->begin[p] == 0 && order->begin[p + 1] == order->nrows) {
            return false;
        } /* the arrays have not moved
           */
    }
    return true;
}

/* All offsets of a matrix have the same width, because kernels take all parts at once. */
static int offset_bits(const split_storage *s)
{
    int64_t nnz = 0;

    for (int l = 0; l < s->summary.options.nlevels; l++) {
        nnz += s->summary.nonzeros_at[l];
    }
    return nnz < wide_from ? 32 : 64;
}

csr_view split_bare_view(const split_storage *s, const split_shape *shape)
{
    csr_view v = {.nrows = shape->rows.count,
                  .ncols = s->ncols,
                  .nnz = shape->nnz,
                  .row_ptr_bits = offset_bits(s),
                  .precision = precision_at(s, shape->level),
                  .row_shift = shape->begin,
                  .unsorted = s->options.split.row_order == TESS_ROW_ORDER_SYMMETRIC && !s->layered};

    if (split_scatters(s)) { v.row_of = shape->rows.rows; }
    if (!shape->empty && split_is_scaled(s, shape->level)) { v.exponent = s->exponent + shape->begin; }
    return v;
}

/* ---- arrays ---- */

static tess_status check_count(tess_context *ctx, int64_t assigned, int64_t found)
{
    if (assigned == found) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "make the assignment from the matrix that is converted",
                     "the assignment counts %s, but the matrix has %lld", tess_count(assigned, "nonzero").text,
                     (long long)found);
}

static tess_status allocate_offsets(tess_context *ctx, csr_view *v, void **row_ptr)
{
    tess_status status = tess_device_allocate(ctx, v->nrows + 1, (size_t)v->row_ptr_bits / 8, row_ptr);

    v->row_ptr = *row_ptr;
    return status;
}

tess_status split_make_offsets(tess_context *ctx, const split_storage *s, const split_source *source,
                               const split_rows *rows, csr_view *v)
{
    int64_t nnz = v->nnz;
    void *row_ptr = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_offsets(ctx, v, &row_ptr));
    /* An assignment made here counted this matrix, so there is no need to wait for the device. */
    status = split_ops_of(ctx)->offsets(ctx, source, rows, v->row_ptr_bits, row_ptr, s->own_assignment ? NULL : &nnz);
    if (status == TESS_SUCCESS) { status = check_count(ctx, v->nnz, nnz); }
cleanup:
    return status;
}

/* Space for the values of v's rows, and for columns at v->col_ind on request. */
static tess_status make_workspace(tess_context *ctx, csr_view *v, bool with_columns, void **val, split_target *target)
{
    tess_status status = TESS_SUCCESS;

    if (with_columns) {
        TESS_TRY(tess_device_allocate(ctx, v->nnz, sizeof *target->col_ind, (void **)&target->col_ind));
        v->col_ind = target->col_ind;
    }
    TESS_TRY(tess_device_allocate(ctx, v->nnz, tess_precision_bytes(v->precision), val));
    target->val = *val;
cleanup:
    return status;
}

/* Values of v's rows, and columns to v->col_ind on request. */
static tess_status make_entries(tess_context *ctx, const split_storage *s, const split_source *source,
                                const split_rows *rows, csr_view *v, bool with_columns, bool scaled, void **val)
{
    split_target target = {.position_of = s->order.position_of, .scaled = scaled};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_workspace(ctx, v, with_columns, val, &target));
    status = split_ops_of(ctx)->copy(ctx, source, rows, v, &target);
cleanup:
    return status;
}

/* ---- CSR ---- */

static tess_status build_split_csr(tess_context *ctx, split_storage *s, const split_source *source, int p)
{
    const split_shape shape = split_shape_of(s, p);
    csr_view *v = &s->part[p].view;
    tess_status status = TESS_SUCCESS;

    *v = split_bare_view(s, &shape);
    if (shape.empty) { return TESS_SUCCESS; }
    TESS_TRY(split_make_offsets(ctx, s, source, &shape.rows, v));
    status = make_entries(ctx, s, source, &shape.rows, v, true, split_is_scaled(s, shape.level), &s->values[p]);
    v->val = s->values[p];
cleanup:
    return status;
}

/* Whether layers have the nonzeros that the caller's assignment counts. An assignment made here counted this matrix. */
static tess_status check_layers(tess_context *ctx, const split_storage *s, const split_source *source)
{
    int64_t found[TESS_MAX_LEVELS] = {0};
    tess_status status = TESS_SUCCESS;

    if (s->own_assignment) { return TESS_SUCCESS; }
    TESS_TRY(split_ops_of(ctx)->count_layers(ctx, source, s->nparts, found));
    for (int l = 0; l < s->nparts; l++) {
        TESS_TRY(check_count(ctx, s->summary.nonzeros_at[l], found[l]));
    }
cleanup:
    return status;
}

/* Layers: the entries of all of them are copied at once. */
static tess_status build_layers_csr(tess_context *ctx, split_storage *s, const split_source *source)
{
    csr_view to[TESS_MAX_LEVELS];
    split_target target[TESS_MAX_LEVELS] = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_layers(ctx, s, source));
    for (int p = 0; p < s->nparts; p++) {
        const split_shape shape = split_shape_of(s, p);
        csr_view *v = &s->part[p].view;

        *v = split_bare_view(s, &shape);
        TESS_TRY(allocate_offsets(ctx, v, &target[p].row_ptr));
        status = make_workspace(ctx, v, true, &s->values[p], &target[p]);
        v->val = s->values[p];
        if (status != TESS_SUCCESS) { goto cleanup; }
        to[p] = *v;
    }
    status = split_ops_of(ctx)->copy_layers(ctx, source, s->nparts, to, target, true);
cleanup:
    return status;
}

/* All filled rows of a composite. */
static split_shape whole_shape(const split_storage *s)
{
    split_shape shape = {.rows = {s->order.row_of, s->order.filled, -1}};

    for (int l = 0; l < s->summary.options.nlevels; l++) {
        shape.nnz += s->summary.nonzeros_at[l];
    }
    return shape;
}

/* The view for the values of copy `level`. */
static csr_view copy_view(const split_storage *s, int level)
{
    csr_view v = s->whole;

    v.precision = precision_at(s, level);
    return v;
}

/* Whether the parts of a composite have the nonzeros that the caller's assignment counts for them. */
static tess_status check_parts(tess_context *ctx, const split_storage *s)
{
    const int bits = s->whole.row_ptr_bits;
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < s->nparts && !s->own_assignment; p++) {
        const split_shape shape = split_shape_of(s, p);
        const int64_t end[2] = {shape.begin, shape.begin + shape.rows.count};
        int64_t place[2] = {0};

        if (shape.empty) { continue; }
        for (int e = 0; e < 2; e++) {
            int64_t word = 0;

            TESS_TRY(ctx->backend->download(ctx, &word, (const char *)s->whole.row_ptr + end[e] * (bits / 8),
                                            (size_t)bits / 8));
            place[e] = tess_row_offset(&word, bits, 0);
        }
        TESS_TRY(check_count(ctx, shape.nnz, place[1] - place[0]));
    }
cleanup:
    return status;
}

static tess_status build_composite_csr(tess_context *ctx, split_storage *s, const split_source *source)
{
    const split_shape whole = whole_shape(s);
    tess_status status = TESS_SUCCESS;

    s->whole = split_bare_view(s, &whole);
    TESS_TRY(split_make_offsets(ctx, s, source, &whole.rows, &s->whole));
    TESS_TRY(check_parts(ctx, s));
    for (int l = 0; l < s->summary.options.nlevels; l++) {
        csr_view v = copy_view(s, l);

        status = make_entries(ctx, s, source, &whole.rows, &v, l == 0, split_is_scaled(s, l), &s->copies[l]);
        s->whole.col_ind = v.col_ind; /* columns come with the first copy */
        if (status != TESS_SUCCESS) { return status; }
    }
    s->whole.val = s->copies[0];
    for (int p = 0; p < s->nparts; p++) {
        const split_shape shape = split_shape_of(s, p);
        csr_view *v = &s->part[p].view;

        *v = split_bare_view(s, &shape);
        v->row_ptr_bits = s->whole.row_ptr_bits;
        if (shape.empty) { continue; }
        v->row_ptr = (const char *)s->whole.row_ptr + shape.begin * (s->whole.row_ptr_bits / 8);
        v->col_ind = s->whole.col_ind;
        v->val = s->copies[shape.level];
    }
cleanup:
    return status;
}

/* Values of v's rows again. */
static tess_status renew_values(tess_context *ctx, const split_source *source, const split_rows *rows,
                                const csr_view *v, bool scaled, void *val)
{
    const split_target target = {.val = val, .scaled = scaled};

    return split_ops_of(ctx)->copy(ctx, source, rows, v, &target);
}

static tess_status refresh_layers(tess_context *ctx, const split_storage *s, const split_source *source)
{
    csr_view to[TESS_MAX_LEVELS];
    split_target target[TESS_MAX_LEVELS] = {0};

    for (int p = 0; p < s->nparts; p++) {
        to[p] = s->part[p].view;
        target[p].val = s->values[p];
    }
    return split_ops_of(ctx)->copy_layers(ctx, source, s->nparts, to, target, false);
}

static tess_status refresh_csr(tess_context *ctx, const split_storage *s, const split_source *source)
{
    const split_shape whole = whole_shape(s);
    tess_status status = TESS_SUCCESS;

    if (s->layered) { return refresh_layers(ctx, s, source); }
    for (int l = 0; s->composite && l < s->summary.options.nlevels; l++) {
        const csr_view v = copy_view(s, l);

        TESS_TRY(renew_values(ctx, source, &whole.rows, &v, split_is_scaled(s, l), s->copies[l]));
    }
    for (int p = 0; !s->composite && p < s->nparts; p++) {
        const split_shape shape = split_shape_of(s, p);
        const csr_view *v = &s->part[p].view;
        const bool scaled = split_is_scaled(s, shape.level);

        if (shape.empty) { continue; }
        TESS_TRY(renew_values(ctx, source, &shape.rows, v, scaled, s->values[p]));
    }
cleanup:
    return status;
}

/* ---- slices and diagonals ---- */

/* A part's rows with FP64 values, from which slices and diagonals are made; columns only on request. The caller
   releases them. */
static tess_status make_rows(tess_context *ctx, const split_storage *s, const split_source *source, int p,
                             bool with_columns, csr_view *out)
{
    const split_shape shape = split_shape_of(s, p);
    void *val = NULL;
    tess_status status = TESS_SUCCESS;

    *out = split_bare_view(s, &shape);
    out->precision = TESS_PRECISION_FP64;
    if (s->exponent && !shape.empty) { out->exponent = s->exponent + shape.begin; }
    if (shape.empty) { return TESS_SUCCESS; }
    TESS_TRY(split_make_offsets(ctx, s, source, &shape.rows, out));
    status = make_entries(ctx, s, source, &shape.rows, out, with_columns, false, &val);
    out->val = val;
cleanup:
    return status;
}

/*
 * Entries that slices of part p may store per nonzero: as in the options. A layer with less than an equal share of the
 * nonzeros may store as many as that share, so that a few scattered entries do not exclude slices for the rest.
 */
static double slices_padding(const split_storage *s, int p)
{
    const split_shape shape = split_shape_of(s, p), whole = whole_shape(s);
    const double share = (double)whole.nnz / s->nparts;

    if (!s->layered || s->base[p] != TESS_FORMAT_SELL || shape.nnz == 0 || (double)shape.nnz >= share) {
        return s->options.slices.max_padding;
    }
    return storage_max_padding(&s->options) * share / (double)shape.nnz;
}

/* Slices of part p, made of its rows; for a composite, the values of every level too. */
static tess_status build_slices(tess_context *ctx, split_storage *s, const csr_view *part_rows, int p)
{
    const split_shape shape = split_shape_of(s, p);
    const tess_storage_options options = {
        .format = s->base[p],
        .precision = precision_at(s, shape.level),
        .slices.max_padding = slices_padding(s, p),
        .slices.window = s->layered ? 1 : s->options.slices.window}; /* layers have the same rows at the same positions
                                                                      */
    const csr_view rows = *part_rows;
    csr_view own = rows;
    tess_status status = TESS_SUCCESS;

    if (!split_is_scaled(s, shape.level)) { own.exponent = NULL; }
    TESS_TRY(ellr_build_view(ctx, &own, &options, &s->slices[p]));
    for (int l = 0; s->composite && l < s->summary.options.nlevels; l++) {
        if (l == shape.level) { continue; }
        TESS_TRY(ellr_make_values(ctx, &rows, &s->slices[p], precision_at(s, l), split_is_scaled(s, l),
                                  &s->slice_copies[p][l]));
    }
cleanup:
    return status;
}

static tess_status build_diagonals(tess_context *ctx, split_storage *s, const csr_view *rows, int p, double max_padding)
{
    const tess_storage_options options = {
        .format = TESS_FORMAT_DIA, .precision = precision_at(s, p), .slices.max_padding = max_padding};

    return dia_build_view(ctx, rows, &options, &s->diagonals[p]);
}

/* Part p in the base that the options name. */
static tess_status build_rows(tess_context *ctx, split_storage *s, const split_source *source, int p)
{
    csr_view rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_rows(ctx, s, source, p, true, &rows));
    status = s->base[p] == TESS_FORMAT_DIA ? build_diagonals(ctx, s, &rows, p, s->options.slices.max_padding)
                                           : build_slices(ctx, s, &rows, p);
cleanup:
    csr_release_view(ctx, &rows);
    return status;
}

ellr_view split_slices_at(const split_storage *s, int p, int level)
{
    const split_shape shape = split_shape_of(s, p);
    ellr_view v = s->slices[p];

    if (shape.empty || level == shape.level) { return v; }
    v.precision = precision_at(s, level);
    v.val = s->slice_copies[p][level];
    v.exponent = split_is_scaled(s, level) ? s->exponent + shape.begin : NULL;
    return v;
}

static tess_status refresh_slices(tess_context *ctx, const split_storage *s, const split_source *source, int p)
{
    const split_shape shape = split_shape_of(s, p);
    csr_view rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_rows(ctx, s, source, p, false, &rows));
    for (int l = 0; l < s->summary.options.nlevels; l++) {
        const ellr_view v = split_slices_at(s, p, l);

        if (s->composite || l == shape.level) { TESS_TRY(ellr_fill_values(ctx, &rows, &v)); }
    }
cleanup:
    csr_release_view(ctx, &rows);
    return status;
}

static tess_status refresh_diagonals(tess_context *ctx, const split_storage *s, const split_source *source, int p)
{
    csr_view rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_rows(ctx, s, source, p, true, &rows)); /* columns tell which diagonal a value is on */
    status = dia_ops_of(ctx)->fill_values(ctx, &rows, &s->diagonals[p]);
cleanup:
    csr_release_view(ctx, &rows);
    return status;
}

/* ---- all bases ---- */

/* One base for the highest level, one for the levels below it. Row-wise, parts begin with the lowest level, and empty
   rows come last. */
static void set_bases(split_storage *s, tess_format high, tess_format low)
{
    for (int p = 0; p < SPLIT_MAX_PARTS; p++) {
        const bool highest = s->layered ? p == 0 : p >= s->summary.options.nlevels - 1;

        s->base[p] = highest ? high : low;
    }
}

/* In s->base. */
static tess_status build_in_bases(tess_context *ctx, split_storage *s, const split_source *source)
{
    const bool csr = split_is_csr(s);
    tess_status status = TESS_SUCCESS;

    if (csr && s->composite) { return build_composite_csr(ctx, s, source); }
    if (csr && s->layered) { return build_layers_csr(ctx, s, source); }
    for (int p = 0; p < s->nparts; p++) {
        TESS_TRY(csr ? build_split_csr(ctx, s, source, p) : build_rows(ctx, s, source, p));
    }
cleanup:
    return status;
}

/* Bytes of the parts in CSR: rows + 1 offsets for each part, or for all parts of a composite together; a column for
   each entry. */
static int64_t csr_parts_bytes(const split_storage *s)
{
    const int64_t offset = offset_bits(s) / 8;
    int64_t copies = 0, bytes = s->composite ? (s->order.filled + 1) * offset : 0;

    for (int l = 0; l < s->summary.options.nlevels; l++) {
        copies += (int64_t)tess_precision_bytes(precision_at(s, l));
    }
    for (int p = 0; p < s->nparts; p++) {
        const split_shape shape = split_shape_of(s, p);
        const int64_t value = (int64_t)tess_precision_bytes(precision_at(s, shape.level));

        if (!s->composite && !shape.empty) { bytes += (shape.rows.count + 1) * offset; }
        bytes += shape.nnz * ((int64_t)sizeof(int32_t) + (s->composite ? copies : value));
    }
    return bytes;
}

/* The fewest bytes of a layer in slices: values, columns of 16 bits, lengths. */
static int64_t least_slices_bytes(const split_storage *s, int p)
{
    const split_shape shape = split_shape_of(s, p);

    return shape.nnz * (int64_t)(sizeof(int16_t) + tess_precision_bytes(precision_at(s, p))) + shape.rows.count;
}

/* Diagonals of layer p, if they take fewer bytes than slices may; otherwise none, which is not a failure. */
static tess_status try_diagonals(tess_context *ctx, split_storage *s, const csr_view *rows, int p)
{
    const tess_error before = ctx->error;
    const double least = (double)least_slices_bytes(s, p), asked = s->options.slices.max_padding;
    const double values = (double)rows->nnz * (double)tess_precision_bytes(precision_at(s, p));
    const double most = rows->nnz > 0 && (asked == 0.0 || asked > least / values) ? least / values : asked;
    const tess_status status = build_diagonals(ctx, s, rows, p, most);

    if (status == TESS_SUCCESS && (double)dia_view_bytes(&s->diagonals[p]) < least) {
        s->base[p] = TESS_FORMAT_DIA;
        return TESS_SUCCESS;
    }
    if (status != TESS_SUCCESS && status != TESS_UNSUPPORTED) { return status; }
    ctx->error = before;
    dia_release_view(ctx, &s->diagonals[p]);
    memset(&s->diagonals[p], 0, sizeof s->diagonals[p]);
    return TESS_SUCCESS;
}

static tess_status build_chosen_rows(tess_context *ctx, split_storage *s, const split_source *source, int p)
{
    csr_view rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_rows(ctx, s, source, p, true, &rows));
    if (s->layered) { TESS_TRY(try_diagonals(ctx, s, &rows, p)); }
    if (s->base[p] != TESS_FORMAT_DIA) { status = build_slices(ctx, s, &rows, p); }
cleanup:
    csr_release_view(ctx, &rows);
    return status;
}

/* Builds diagonals and slices. Builds CSR instead if slices are refused for their padding, or if all parts together
   take no fewer bytes than CSR. */
static tess_status build_in_smallest_bases(tess_context *ctx, split_storage *s, const split_source *source)
{
    const tess_error before = ctx->error;
    tess_status status = TESS_SUCCESS;

    set_bases(s, TESS_FORMAT_SELL, TESS_FORMAT_SELL);
    for (int p = 0; p < s->nparts && status == TESS_SUCCESS; p++) {
        status = build_chosen_rows(ctx, s, source, p);
    }
    if (status == TESS_SUCCESS && split_parts_bytes(s) < csr_parts_bytes(s)) { return TESS_SUCCESS; }
    if (status != TESS_SUCCESS && status != TESS_UNSUPPORTED) { return status; }
    ctx->error = before; /* refused slices are not a failure */
    split_release_parts(ctx, s);
    memset(s->slices, 0, sizeof s->slices);
    memset(s->slice_copies, 0, sizeof s->slice_copies);
    memset(s->diagonals, 0, sizeof s->diagonals);
    set_bases(s, TESS_FORMAT_CSR, TESS_FORMAT_CSR);
    return build_in_bases(ctx, s, source);
}

tess_status split_build_parts(const tess_matrix *assembled, split_storage *s)
{
    tess_context *ctx = assembled->ctx;
    split_source source;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(split_open_source(s, assembled, &source));
    if (s->options.split.base == TESS_FORMAT_AUTO) {
        status = build_in_smallest_bases(ctx, s, &source);
    } else {
        set_bases(s, s->options.split.base,
                  split_has_one_base(&s->options) ? s->options.split.base : s->options.split.low_base);
        status = build_in_bases(ctx, s, &source);
    }
cleanup:
    split_close_source(ctx, &source);
    return status;
}

tess_status split_refresh(const tess_matrix *assembled, void *storage)
{
    const split_storage *s = storage;
    split_source source;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(split_open_source(s, assembled, &source));
    if (split_is_csr(s)) { TESS_TRY(refresh_csr(assembled->ctx, s, &source)); }
    for (int p = 0; p < s->nparts && !split_is_csr(s); p++) {
        TESS_TRY(s->base[p] == TESS_FORMAT_DIA ? refresh_diagonals(assembled->ctx, s, &source, p)
                                               : refresh_slices(assembled->ctx, s, &source, p));
    }
cleanup:
    split_close_source(assembled->ctx, &source);
    return status;
}

void split_release_parts(tess_context *ctx, split_storage *s)
{
    if (s->layers) { csr_ops_of(ctx)->free_layers(ctx, s->layers); }
    for (int p = 0; p < s->nparts; p++) {
        if (s->part[p].plan) { csr_ops_of(ctx)->free_plan(ctx, s->part[p].plan); }
        if (!s->composite) { csr_release_view(ctx, &s->part[p].view); }
        for (int l = 0; l < s->summary.options.nlevels; l++) {
            ellr_release_values(ctx, &s->slices[p], precision_at(s, l), s->slice_copies[p][l]);
        }
        ellr_release_view(ctx, &s->slices[p]);
        dia_release_view(ctx, &s->diagonals[p]);
    }
    for (int l = 0; l < s->summary.options.nlevels; l++) {
        tess_device_release(ctx, s->copies[l], s->whole.nnz, tess_precision_bytes(precision_at(s, l)));
    }
    s->whole.val = NULL;
    csr_release_view(ctx, &s->whole);
}
