/* SPDX-License-Identifier: Apache-2.0 */
/* Products of split and composite storage. */
#include "format/split/split_parts.h"

#include <tessera/names.h>

#include "matrix/matrix.h"

/* ---- plans ---- */

/* Prepares all parts at once. Empty rows need a plan only if parts are prepared together. */
static tess_status make_plans(tess_context *ctx, split_storage *s)
{
    const csr_ops *backend = csr_ops_of(ctx);
    const csr_view *views[SPLIT_MAX_PARTS];
    csr_plan *plans[SPLIT_MAX_PARTS] = {NULL};
    csr_part *lacking[SPLIT_MAX_PARTS];
    int count = 0;
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < s->nparts; p++) {
        csr_part *part = &s->part[p];

        if (part->plan || (!part->view.row_ptr && !backend->prepare_parts)) { continue; }
        lacking[count] = part;
        views[count++] = &part->view;
    }
    status = backend->make_plans(ctx, count, views, plans);
    for (int k = 0; k < count; k++) {
        lacking[k]->plan = plans[k];
    }
    return status;
}

/* ---- what is multiplied ---- */

/* The parts of a product, in CSR or in other bases. */
typedef struct chosen_parts {
    int count;
    bool any_diagonals;
    csr_part part[SPLIT_MAX_PARTS];
    split_layer layer[SPLIT_MAX_PARTS];
} chosen_parts;

static void open_choice(chosen_parts *chosen)
{
    chosen->count = 0;
    chosen->any_diagonals = false;
}

/* Adds part p with the values of a level. */
static void choose(const split_storage *s, int p, int level, chosen_parts *chosen)
{
    const split_shape shape = split_shape_of(s, p);
    csr_part part = s->part[p];

    if (!split_is_csr(s)) {
        split_layer *layer = &chosen->layer[chosen->count++];

        layer->in_diagonals = s->base[p] == TESS_FORMAT_DIA;
        chosen->any_diagonals = chosen->any_diagonals || layer->in_diagonals;
        if (layer->in_diagonals) {
            layer->diagonals = s->diagonals[p];
        } else {
            layer->slices = split_slices_at(s, p, level);
        }
        return;
    }
    if (s->composite && !shape.empty) {
        part.view.precision = s->summary.options.level[level].precision;
        part.view.val = s->copies[level];
        part.view.exponent = split_is_scaled(s, level) ? s->exponent + shape.begin : NULL;
    }
    chosen->part[chosen->count++] = part;
}

/* Adds all parts that have rows; if none has, adds one, because a product must announce its end. */
static void choose_by_rows(const split_storage *s, int copy, chosen_parts *chosen)
{
    open_choice(chosen);
    for (int p = 0; p < s->nparts; p++) {
        const split_shape shape = split_shape_of(s, p);

        if (shape.rows.count == 0 && (p + 1 < s->nparts || chosen->count > 0)) { continue; }
        choose(s, p, copy == TESS_COPY_ASSIGNED || shape.empty ? shape.level : copy - TESS_COPY_LEVEL, chosen);
    }
}

static bool has_entries(const split_storage *s, const chosen_parts *chosen, int k)
{
    const split_layer *layer = &chosen->layer[k];

    if (split_is_csr(s)) { return chosen->part[k].view.nnz > 0; }
    return (layer->in_diagonals ? layer->diagonals.nnz : layer->slices.nnz) > 0;
}

/* The layers with entries, lowest level first; if none has entries, the lowest. */
static void choose_layers(const split_storage *s, chosen_parts *chosen)
{
    open_choice(chosen);
    for (int l = s->nparts - 1; l >= 0; l--) {
        if (s->summary.nonzeros_at[l] > 0) { choose(s, l, l, chosen); }
    }
    if (chosen->count == 0) { choose(s, s->nparts - 1, s->nparts - 1, chosen); }
}

/* ---- preparing what is multiplied ---- */

/* The parts that are multiplied together, unless the caller wants one copy. */
static void choose_assigned(const split_storage *s, chosen_parts *chosen)
{
    if (s->layered) {
        choose_layers(s, chosen);
    } else {
        choose_by_rows(s, TESS_COPY_ASSIGNED, chosen);
    }
}

/* Whether the parts' products are added; else the parts own their rows. */
static bool adds_up(const split_storage *s, const chosen_parts *chosen)
{
    return s->layered && chosen->count > 1;
}

/* The layers as views; returns how many there are. */
static int views_of(const chosen_parts *chosen, csr_view *views)
{
    for (int k = 0; k < chosen->count; k++) {
        views[k] = chosen->part[k].view;
    }
    return chosen->count;
}

static tess_status prepare_csr(tess_context *ctx, split_storage *s)
{
    const csr_ops *backend = csr_ops_of(ctx);
    csr_view views[SPLIT_MAX_PARTS];
    chosen_parts chosen;
    tess_status status = TESS_SUCCESS;

    choose_assigned(s, &chosen);
    if (adds_up(s, &chosen)) {
        if (s->layers) { return TESS_SUCCESS; }
        return backend->make_layers(ctx, views_of(&chosen, views), views, &s->layers);
    }
    TESS_TRY(make_plans(ctx, s));
    choose_assigned(s, &chosen); /* with their plans */
    if (backend->prepare_parts) { status = backend->prepare_parts(ctx, chosen.count, chosen.part); }
cleanup:
    return status;
}

static tess_status prepare(tess_context *ctx, split_storage *s)
{
    tess_status status = TESS_SUCCESS;

    if (s->prepared) { return TESS_SUCCESS; }
    if (split_is_csr(s)) { TESS_TRY(prepare_csr(ctx, s)); }
    for (int p = 0; p < s->nparts && !split_is_csr(s); p++) {
        if (s->slices[p].slice) { TESS_TRY(ellr_ops_of(ctx)->prepare(ctx, &s->slices[p])); }
        if (s->base[p] == TESS_FORMAT_DIA) { TESS_TRY(dia_ops_of(ctx)->prepare(ctx, &s->diagonals[p])); }
    }
    if (s->options.arithmetic == TESS_ARITHMETIC_FP32 && !s->x_shadow) {
        TESS_TRY(tess_device_allocate(ctx, s->ncols, sizeof *s->x_shadow, (void **)&s->x_shadow));
    }
    s->prepared = true;
cleanup:
    return status;
}

tess_status split_prepare(const tess_matrix *a)
{
    return prepare(a->ctx, a->storage);
}

static bool is_below_fp64(const split_storage *s, const chosen_parts *chosen, int k)
{
    const split_layer *layer = &chosen->layer[k];

    if (split_is_csr(s)) { return chosen->part[k].view.precision != TESS_PRECISION_FP64; }
    return (layer->in_diagonals ? layer->diagonals.precision : layer->slices.precision) != TESS_PRECISION_FP64;
}

static tess_status multiply_slices(tess_context *ctx, const split_storage *s, const chosen_parts *chosen,
                                   const tess_spmv_args *args)
{
    const ellr_ops *backend = ellr_ops_of(ctx);
    ellr_view slices[SPLIT_MAX_PARTS];

    for (int k = 0; k < chosen->count; k++) {
        slices[k] = chosen->layer[k].slices;
    }
    return adds_up(s, chosen) ? backend->spmv_layers(ctx, chosen->count, slices, args)
                              : backend->spmv_parts(ctx, chosen->count, slices, args);
}

static tess_status multiply(tess_context *ctx, const split_storage *s, const chosen_parts *chosen,
                            const tess_spmv_args *args)
{
    csr_view views[SPLIT_MAX_PARTS];
    bool done = false;

    if (s->multiply && split_is_csr(s)) {
        const tess_status status = s->multiply(ctx, chosen->count, chosen->part, adds_up(s, chosen), args, &done);

        if (status != TESS_SUCCESS || done) { return status; }
    }
    if (chosen->any_diagonals) { return split_ops_of(ctx)->spmv_layers(ctx, chosen->count, chosen->layer, args); }
    if (!split_is_csr(s)) { return multiply_slices(ctx, s, chosen, args); }
    if (adds_up(s, chosen)) {
        return csr_ops_of(ctx)->spmv_layers(ctx, views_of(chosen, views), views, s->layers, args);
    }
    return csr_ops_of(ctx)->spmv_parts(ctx, chosen->count, chosen->part, args);
}

/* ---- products ---- */

/*
 * x for products in FP32: the caller's shadow, or x rounded into a workspace of the format. The caller may pass only a
 * shadow if no part needs more.
 */
static tess_status provide_x(tess_context *ctx, const split_storage *s, const chosen_parts *chosen,
                             tess_spmv_args *args)
{
    bool low = false, high = false;

    for (int k = 0; k < chosen->count; k++) {
        bool takes_shadow = args->low_arithmetic == TESS_ARITHMETIC_FP32 && is_below_fp64(s, chosen, k);

        if (!has_entries(s, chosen, k)) { continue; }
        low = low || takes_shadow;
        high = high || !takes_shadow;
    }
    if (high && !args->x) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass an FP64 vector, or choose levels without fp64",
                         "parts in FP64 cannot multiply a vector that is stored in FP32 only");
    }
    if (!low || args->x_shadow) { return TESS_SUCCESS; }
    args->x_shadow = s->x_shadow;
    return ctx->backend->convert(ctx, s->ncols, TESS_PRECISION_FP64, args->x, TESS_PRECISION_FP32, s->x_shadow);
}

/* FP32 vectors are passed as shadows without an FP64 vector. Parts in FP64 cannot use them, and beta must be 0. */
static tess_status adopt_fp32_vectors(const tess_matrix *a, const split_storage *s, const chosen_parts *chosen,
                                      tess_spmv_args *args)
{
    if (args->beta != 0.0) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use FP64 vectors, or format csr",
                         "a mixed matrix cannot add its product to a vector in FP32");
    }
    for (int k = 0; k < chosen->count; k++) {
        if (has_entries(s, chosen, k) && !is_below_fp64(s, chosen, k)) {
            return tess_spmv_require_fp64_vectors(a, args);
        }
    }
    args->x = NULL;
    args->y = NULL;
    args->x_shadow = args->x_fp32;
    args->y_shadow = args->y_fp32;
    args->low_arithmetic = TESS_ARITHMETIC_FP32;
    args->vectors = TESS_PRECISION_FP64;
    return TESS_SUCCESS;
}

static tess_status check_copy(const tess_matrix *a, const split_storage *s, int copy)
{
    if (copy == TESS_COPY_ASSIGNED) { return TESS_SUCCESS; }
    if (!s->composite) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use format composite, which stores all values at each level",
                         "a matrix in format %s has no product at one precision level", tess_format_name(a->format));
    }
    if (copy < TESS_COPY_LEVEL || copy >= TESS_COPY_LEVEL + s->summary.options.nlevels) {
        return tess_fail(a->ctx, TESS_OUT_OF_RANGE, "levels count from 0",
                         "precision level %d does not exist; the matrix has %s", copy - TESS_COPY_LEVEL,
                         tess_count(s->summary.options.nlevels, "level").text);
    }
    return TESS_SUCCESS;
}

/* The transpose of the FP64 matrix holds exactly the values stored here, if all are FP64 and in their places. */
static tess_status multiply_transposed(const tess_matrix *a, const split_storage *s, const tess_spmv_args *args)
{
    const tess_assignment_summary *summary = &s->summary;
    int level = args->copy == TESS_COPY_ASSIGNED ? 0 : args->copy - TESS_COPY_LEVEL;
    bool exact = summary->options.level[level].precision == TESS_PRECISION_FP64 && !split_is_scaled(s, level) &&
                 !summary->options.without_diagonal;

    if (args->copy == TESS_COPY_ASSIGNED) { exact = exact && summary->nonzeros_at[0] == a->nnz; }
    if (!exact || (!s->layered && s->options.split.row_order != TESS_ROW_ORDER_ORIGINAL)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "multiply with the FP64 matrix",
                         "a matrix in format %s has a transposed product only if it is all FP64 in the original order",
                         tess_format_name(a->format));
    }
    return a->original->ops->spmv(a->original, args);
}

tess_status split_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    split_storage *s = a->storage;
    tess_spmv_args local = *args;
    chosen_parts chosen;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_copy(a, s, args->copy));
    if (args->operation == TESS_OP_TRANSPOSE || s->layered) { TESS_TRY(tess_spmv_require_fp64_vectors(a, args)); }
    if (args->operation == TESS_OP_TRANSPOSE) { return multiply_transposed(a, s, args); }
    TESS_TRY(prepare(a->ctx, s));
    local.low_arithmetic = s->options.arithmetic;
    if (s->layered) {
        choose_layers(s, &chosen);
    } else {
        choose_by_rows(s, args->copy, &chosen);
    }
    if (args->vectors == TESS_PRECISION_FP32) { TESS_TRY(adopt_fp32_vectors(a, s, &chosen, &local)); }
    TESS_TRY(provide_x(a->ctx, s, &chosen, &local));
    status = multiply(a->ctx, s, &chosen, &local);
cleanup:
    return status;
}

/* ---- several columns ---- */

bool split_takes_columns(const tess_matrix *a, bool steps)
{
    const split_storage *s = a->storage;

    return !steps && !s->multiply && s->options.arithmetic == TESS_ARITHMETIC_FP64;
}

/* Plans for each part by itself. */
static tess_status prepare_columns(tess_context *ctx, split_storage *s)
{
    const tess_status status = prepare(ctx, s);

    return status == TESS_SUCCESS && split_is_csr(s) ? make_plans(ctx, s) : status;
}

static tess_status multiply_part_columns(tess_context *ctx, const split_storage *s, const chosen_parts *chosen, int k,
                                         const tess_spmv_args *args)
{
    const split_layer *layer = &chosen->layer[k];
    const ellr_view *slices = &layer->slices;

    if (split_is_csr(s)) {
        return csr_ops_of(ctx)->multiply_columns(ctx, &chosen->part[k].view, chosen->part[k].plan, args);
    }
    if (layer->in_diagonals) { return dia_ops_of(ctx)->multiply_columns(ctx, &layer->diagonals, args); }
    if (!slices->slice) {
        const csr_view empty = {.nrows = slices->nrows, .row_of = slices->row_of, .row_shift = slices->row_shift};

        return csr_ops_of(ctx)->multiply_columns(ctx, &empty, NULL, args);
    }
    return ellr_ops_of(ctx)->multiply_columns(ctx, slices, args);
}

/* The dot products of y, as a pass of their own. */
static tess_status reduce_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const tess_fused op = {.op = reduction->ndots == 1 ? TESS_FUSED_DOT_ONE : TESS_FUSED_DOT_TWO,
                           .n = a->nrows * args->columns,
                           .columns = args->columns,
                           .in = {args->y, reduction->with[0], reduction->with[1]},
                           .scalar = reduction->scalar,
                           .state = reduction->state};

    return reduction->ndots > 0 ? a->ctx->backend->fused(a->ctx, &op) : TESS_SUCCESS;
}

/*
 * One part after another. A row belongs to one part; layers add to the first one's sums.
 *
 * One thread of an AMD EPYC, half of the rows or entries in FP32, over one column after another: 27 points of 64^3 rows
 * and 7 of 100^3, parts in csr, sell or dia: at least 1.2 times as fast with 2 columns, 1.7 with 4, 1.9 with 8.
 */
tess_status split_multiply_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    split_storage *s = a->storage;
    tess_spmv_args local = *args;
    chosen_parts chosen;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(prepare_columns(a->ctx, s));
    choose_assigned(s, &chosen);
    local.reduction.ndots = 0;
    for (int k = 0; k < chosen.count; k++) {
        TESS_TRY(multiply_part_columns(a->ctx, s, &chosen, k, &local));
        if (!s->layered) { continue; }
        local.alpha = args->residual ? -1.0 : args->alpha;
        local.beta = 1.0;
        local.residual = NULL;
    }
    status = reduce_columns(a, args);
cleanup:
    return status;
}
