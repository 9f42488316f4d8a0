/* SPDX-License-Identifier: Apache-2.0 */
/* Split and composite storage over a backend's functions: options, the order of rows, freeing, bytes. */
#include <string.h>

#include "base/precision_traits.h"
#include "format/split/split_parts.h"
#include "matrix/matrix.h"

split_shape split_shape_of(const split_storage *s, int part)
{
    const tess_assignment_summary *summary = &s->summary;
    const split_order *order = &s->order;
    split_shape shape = {.rows = {NULL, s->nrows, part}, .level = part, .nnz = 0};

    if (!s->layered) {
        shape.empty = part == summary->options.nlevels;
        shape.level = shape.empty ? 0 : summary->options.nlevels - 1 - part;
        shape.begin = order->begin[part];
        shape.rows = (split_rows){order->row_of + shape.begin, order->begin[part + 1] - shape.begin, -1};
    }
    if (!shape.empty) { shape.nnz = summary->nonzeros_at[shape.level]; }
    return shape;
}

bool split_is_csr(const split_storage *s)
{
    return s->base[0] == TESS_FORMAT_CSR;
}

tess_format split_level_base(const split_storage *s, int level)
{
    const int last = s->summary.options.nlevels - 1, l = level < last ? level : last;

    return s->base[s->layered ? l : last - l];
}

bool split_is_scaled(const split_storage *s, int level)
{
    return s->exponent && s->summary.options.level[level].scaled != 0;
}

tess_status split_open_source(const split_storage *s, const tess_matrix *assembled, split_source *out)
{
    tess_context *ctx = assembled->ctx;
    const csr_view *csr = &csr_of(assembled)->view;
    tess_status status = TESS_SUCCESS;

    *out = (split_source){.csr = csr,
                          .level = s->assignment->level,
                          .exponent = s->assignment->exponent,
                          .without_diagonal = s->summary.options.without_diagonal != 0};
    if (s->own_assignment && s->own_assignment->of_entry) { /* the assignment does not need them otherwise */
        out->own_level = s->own_assignment->of_entry;
        s->own_assignment->of_entry = NULL;
        out->level = out->own_level;
    } else if (s->summary.options.granularity == TESS_GRANULARITY_BLOCK) {
        TESS_TRY(tess_device_allocate(ctx, csr->nnz, sizeof *out->own_level, (void **)&out->own_level));
        TESS_TRY(split_ops_of(ctx)->spread(ctx, csr, &s->assignment->grid, s->assignment->level, out->own_level));
        out->level = out->own_level;
    }
cleanup:
    if (status != TESS_SUCCESS) { split_close_source(ctx, out); }
    return status;
}

void split_close_source(tess_context *ctx, split_source *source)
{
    if (source->csr) { tess_device_release(ctx, source->own_level, source->csr->nnz, sizeof *source->own_level); }
    source->own_level = NULL;
}

/* ---- options ---- */

bool split_has_one_base(const tess_storage_options *o)
{
    return o->split.low_base == TESS_FORMAT_CSR || o->split.low_base == o->split.base;
}

/* The caller's assignment, or one made by the policy of the options. */
static tess_status take_assignment(const tess_matrix *a, const tess_assignment *given, split_storage *s)
{
    tess_policy_options policy = s->options.policy;
    tess_status status = TESS_SUCCESS;

    if (given) {
        s->assignment = given;
    } else {
        policy.arithmetic = s->options.arithmetic;
        TESS_TRY(tess_assignment_create_by_entry(a, &policy, &s->own_assignment));
        s->assignment = s->own_assignment;
    }
    s->summary = s->assignment->summary;
    s->options.policy = s->summary.options;
cleanup:
    return status;
}

/* ---- the order of rows ---- */

/* First positions of the parts: lowest level first. */
static void place_parts(split_storage *s)
{
    split_order *order = &s->order;
    int nlevels = s->summary.options.nlevels;

    order->nparts = nlevels + 1;
    for (int p = 0; p < nlevels; p++) {
        order->begin[p + 1] = order->begin[p] + s->summary.items_at[nlevels - 1 - p];
    }
    order->filled = order->begin[nlevels];
    for (int p = nlevels; p < SPLIT_MAX_PARTS; p++) {
        order->begin[p + 1] = order->nrows;
    }
}

static tess_status make_order(const tess_matrix *assembled, split_storage *s)
{
    tess_context *ctx = assembled->ctx;
    split_order *order = &s->order;
    split_source source;
    split_rows all;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(split_open_source(s, assembled, &source));
    place_parts(s);
    TESS_TRY(tess_device_allocate(ctx, s->nrows, sizeof *order->row_of, (void **)&order->row_of));
    if (s->options.split.row_order == TESS_ROW_ORDER_SYMMETRIC) {
        TESS_TRY(tess_device_allocate(ctx, s->nrows, sizeof *order->position_of, (void **)&order->position_of));
    }
    TESS_TRY(split_ops_of(ctx)->order(ctx, &source, s->summary.options.nlevels, order));
    if (source.exponent) {
        all = (split_rows){order->row_of, s->nrows, -1};
        TESS_TRY(tess_device_allocate(ctx, s->nrows, sizeof *s->exponent, (void **)&s->exponent));
        TESS_TRY(split_ops_of(ctx)->exponents(ctx, &source, &all, s->exponent));
    }
cleanup:
    split_close_source(ctx, &source);
    return status;
}

/* ---- life ---- */

static void split_destroy(tess_context *ctx, void *storage);

static tess_status split_build(const tess_matrix *assembled, const tess_storage_options *options,
                               const tess_assignment *assignment, void **out)
{
    tess_context *ctx = assembled->ctx;
    split_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    s->options = *options;
    s->options.papers = NULL; /* the caller's */
    s->composite = options->format == TESS_FORMAT_COMPOSITE;
    s->nrows = assembled->nrows;
    s->ncols = assembled->ncols;
    s->order.nrows = assembled->nrows;
    TESS_TRY(take_assignment(assembled, assignment, s));
    s->layered = s->summary.options.granularity != TESS_GRANULARITY_ROW;
    if (!s->layered) { TESS_TRY(make_order(assembled, s)); }
    s->nparts = s->summary.options.nlevels + (!s->layered && s->order.filled < s->nrows);
    TESS_TRY(split_build_parts(assembled, s));
    if (!s->composite) { s->multiply = split_find_product(ctx, options); }
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { split_destroy(ctx, s); }
    return status;
}

static void split_destroy(tess_context *ctx, void *storage)
{
    split_storage *s = storage;

    split_release_parts(ctx, s);
    tess_device_release(ctx, s->order.row_of, s->nrows, sizeof *s->order.row_of);
    tess_device_release(ctx, s->order.position_of, s->nrows, sizeof *s->order.position_of);
    tess_device_release(ctx, s->exponent, s->nrows, sizeof *s->exponent);
    tess_device_release(ctx, s->x_shadow, s->ncols, sizeof *s->x_shadow);
    tess_assignment_destroy(s->own_assignment);
    tess_host_release(ctx, s, 1, sizeof *s);
}

/* ---- bytes: Tezcan et al. 2022, Table I, for any number of levels ---- */

/* Bytes of the offsets and columns of a matrix of nrows rows. */
static int64_t index_bytes(const csr_view *v)
{
    return (v->nrows + 1) * (int64_t)(v->row_ptr_bits / 8) + v->nnz * (int64_t)sizeof *v->col_ind;
}

/* Bytes of all copies of `count` values in a composite. */
static int64_t copies_bytes(const split_storage *s, int64_t count)
{
    int64_t bytes = 0;

    for (int l = 0; l < s->summary.options.nlevels; l++) {
        bytes += count * (int64_t)tess_precision_bytes(s->summary.options.level[l].precision);
    }
    return bytes;
}

static int64_t slices_bytes(const split_storage *s, const ellr_view *v)
{
    int64_t count = v->value_units * ELLR_SLICE;

    if (!s->composite) { return ellr_view_bytes(v); }
    return ellr_view_bytes(v) - count * (int64_t)tess_precision_bytes(v->precision) + copies_bytes(s, count);
}

int64_t split_parts_bytes(const split_storage *s)
{
    int64_t bytes = 0;

    for (int p = 0; p < s->nparts; p++) {
        const csr_view *v = &s->part[p].view;

        bytes += slices_bytes(s, &s->slices[p]) + dia_view_bytes(&s->diagonals[p]); /* 0 except for the part's base */
        if (!s->composite && v->row_ptr) {
            bytes += index_bytes(v) + v->nnz * (int64_t)tess_precision_bytes(v->precision);
        }
    }
    if (s->composite && split_is_csr(s)) { bytes += index_bytes(&s->whole) + copies_bytes(s, s->whole.nnz); }
    return bytes;
}

static int64_t split_bytes(const tess_matrix *a)
{
    const split_storage *s = a->storage;
    int64_t bytes = split_parts_bytes(s);

    if (s->layered) { return bytes; }
    bytes += (int64_t)(s->summary.options.nlevels - 1) * (int64_t)sizeof(int32_t); /* where two levels meet */
    if (split_scatters(s)) { bytes += s->nrows * (int64_t)sizeof *s->order.row_of; }
    if (s->exponent) { bytes += s->nrows * (int64_t)sizeof *s->exponent; }
    return bytes;
}

/* ---- public ---- */

tess_status tess_matrix_row_permutation(const tess_matrix *a, int32_t *perm)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, perm);
    const split_storage *s = a->storage;

    if (!a->ops || !tess_in_set(a->ops->can.row_orders, TESS_ROW_ORDER_PERMUTED)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "only split and composite by rows permute their rows",
                         "a matrix in format %s has no row permutation", tess_format_name(a->format));
    }
    if (s->layered) {
        for (int64_t i = 0; i < s->nrows; i++) {
            perm[i] = (int32_t)i;
        }
        return TESS_SUCCESS;
    }
    return a->ctx->backend->download(a->ctx, perm, s->order.row_of, (size_t)s->nrows * sizeof *perm);
}

static const tess_assignment_summary *summary_of(const tess_matrix *a)
{
    return &((const split_storage *)a->storage)->summary;
}

static bool rounds_products(const tess_matrix *a)
{
    return ((const split_storage *)a->storage)->options.arithmetic != TESS_ARITHMETIC_FP64;
}

/* Entries in FP64 need FP64 vectors, and so do layers. */
static bool takes_fp32(const tess_matrix *a)
{
    const split_storage *s = a->storage;

    return !s->layered && s->summary.nonzeros_at[0] == 0;
}

static tess_format base_of(const tess_matrix *a, int level)
{
    return split_level_base(a->storage, level);
}

enum { SPLIT_GPU_PRECISIONS = PRECISIONS_OF_BYTES(2) };

const tess_format_ops split_format = {
    .can =
        {
            .description = "parts by precision, each in a format of its own",
            .shorthand = "pbp",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = SPLIT_GPU_PRECISIONS,
            .policies = TESS_EVERY_POLICY,
            .granularities = 1U << TESS_GRANULARITY_ROW | 1U << TESS_GRANULARITY_ENTRY | 1U << TESS_GRANULARITY_BLOCK,
            .granularity = TESS_GRANULARITY_ROW,
            .scales = 1U << TESS_GRANULARITY_ROW,
            .arithmetics = TESS_PLAIN_ARITHMETICS,
            .row_orders =
                1U << TESS_ROW_ORDER_ORIGINAL | 1U << TESS_ROW_ORDER_PERMUTED | 1U << TESS_ROW_ORDER_SYMMETRIC,
            .takes_parts = 1,
            .takes_bases = 1,
            .omits_diagonal = 1,
            .rounds_products = 1,
        },
    .role = TESS_ROLE_PARTS,
    .takes_fp32 = takes_fp32,
    .summary = summary_of,
    .rounds_products = rounds_products,
    .base_of = base_of,
    .build = split_build,
    .refresh = split_refresh,
    .destroy = split_destroy,
    .prepare = split_prepare,
    .spmv = split_spmv,
    .takes_columns = split_takes_columns,
    .multiply_columns = split_multiply_columns,
    .decode = split_decode,
    .bytes = split_bytes,
};

const tess_format_ops composite_format = {
    .can =
        {
            .description = "one index structure with values in several precisions",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = SPLIT_GPU_PRECISIONS,
            .policies = TESS_EVERY_POLICY,
            .granularities = 1U << TESS_GRANULARITY_ROW,
            .granularity = TESS_GRANULARITY_ROW,
            .scales = 1U << TESS_GRANULARITY_ROW,
            .arithmetics = TESS_PLAIN_ARITHMETICS,
            .row_orders =
                1U << TESS_ROW_ORDER_ORIGINAL | 1U << TESS_ROW_ORDER_PERMUTED | 1U << TESS_ROW_ORDER_SYMMETRIC,
            .takes_parts = 1,
            .takes_bases = 1,
            .copies_levels = 1,
            .omits_diagonal = 1,
            .rounds_products = 1,
        },
    .role = TESS_ROLE_COPIES,
    .takes_fp32 = takes_fp32,
    .summary = summary_of,
    .rounds_products = rounds_products,
    .base_of = base_of,
    .build = split_build,
    .refresh = split_refresh,
    .destroy = split_destroy,
    .prepare = split_prepare,
    .spmv = split_spmv,
    .takes_columns = split_takes_columns,
    .multiply_columns = split_multiply_columns,
    .decode = split_decode,
    .bytes = split_bytes,
};
