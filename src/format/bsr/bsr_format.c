/* SPDX-License-Identifier: Apache-2.0 */
/* BSR over a backend's functions: the size of the blocks, building, renewing. The same for all backends. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "format/bsr/bsr_rows.h"
#include "format/padded.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"

static const bsr_view *view_of(const tess_matrix *a)
{
    const bsr_storage *s = a->storage;

    return &s->view;
}

/* ---- arrays ---- */

static int64_t count_values(const bsr_view *v)
{
    return v->nblocks > 0 ? v->nblocks * bsr_values(v) + BSR_BEYOND : 0;
}

static int64_t mask_bytes(const bsr_view *v)
{
    return v->mask ? v->nblocks * bsr_mask_bytes(v->height) : 0;
}

static void release_view(tess_context *ctx, bsr_view *v)
{
    tess_device_release(ctx, v->row_ptr, v->nblock_rows + 1, (size_t)v->row_ptr_bits / 8);
    tess_device_release(ctx, v->column, v->nblocks, (size_t)v->column_bits / 8);
    tess_device_release(ctx, v->mask, mask_bytes(v), 1);
    tess_device_release(ctx, v->val, count_values(v), tess_precision_bytes(v->precision));
    tess_device_release(ctx, v->long_row, v->nlong, sizeof *v->long_row);
    tess_device_release(ctx, v->long_segment, v->nlong > 0 ? v->nlong + 1 : 0, sizeof *v->long_segment);
    tess_device_release(ctx, v->segment_sum, v->nsegments * v->height, sizeof *v->segment_sum);
}

static void bsr_destroy(tess_context *ctx, void *storage)
{
    bsr_storage *s = storage;

    release_view(ctx, &s->view);
    tess_host_release(ctx, s, 1, sizeof *s);
}

static int64_t bytes_of(const bsr_view *v)
{
    return (v->nblock_rows + 1) * (int64_t)v->row_ptr_bits / 8 + v->nblocks * (int64_t)v->column_bits / 8 +
           mask_bytes(v) + v->nblocks * bsr_values(v) * (int64_t)tess_precision_bytes(v->precision);
}

/* ---- the size of the blocks ---- */

static tess_status check_options(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    const int64_t block = o->slices.bsr_block_size;
    tess_status status = padded_check_options(ctx, nrows, ncols, o);

    if (status != TESS_SUCCESS || block == 0 || (block >= BSR_LEAST_BLOCK && block <= BSR_MOST_BLOCK)) {
        return status;
    }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                     block == 1 ? "choose csr, which has blocks of 1" : "0 (auto) lets the library find it",
                     "the block size (--bsr-block-size) is %lld, but it must be %d to %d", (long long)block,
                     (int)BSR_LEAST_BLOCK, (int)BSR_MOST_BLOCK);
}

/* Sizes that may be taken, and values that they store for a nonzero. */
typedef struct sizes {
    int least, most;
    double stored[BSR_MOST_BLOCK + 1];
} sizes;

/* Matrices with more rows are judged by a sample. */
enum { MOST_JUDGED_ROWS = 1 << 16, SAMPLE_STRIDE = 16 };

/* Counts blocks of each size: all, or those of a sample. */
static tess_status count_sizes(tess_context *ctx, const csr_view *csr, int64_t stride, sizes *s)
{
    tess_status status = TESS_SUCCESS;

    for (int b = s->least; b <= s->most; b++) {
        int64_t blocks = 0, entries = 0;

        TESS_TRY(bsr_ops_of(ctx)->count_blocks(ctx, csr, b, stride, &blocks, &entries));
        s->stored[b] = entries > 0 ? (double)blocks * b * b / (double)entries : 0.0;
    }
cleanup:
    return status;
}

/* Bytes for a nonzero, without row offsets. Masks are needed where a place is no entry. */
static double bytes_with(tess_precision precision, const sizes *s, int block)
{
    const double mask = s->stored[block] > 1.0 ? bsr_mask_bytes(block) : 0.0;

    return s->stored[block] * ((double)tess_precision_bytes(precision) + (4.0 + mask) / (block * block));
}

/* The size of fewest bytes within max_padding, of equal ones the largest; 0: none. */
static int best_size(const tess_storage_options *o, const sizes *s)
{
    int best = 0;

    for (int b = s->least; b <= s->most; b++) {
        if (s->stored[b] > storage_max_padding(o)) { continue; }
        if (best == 0 || bytes_with(o->precision, s, b) <= bytes_with(o->precision, s, best)) { best = b; }
    }
    return best;
}

static tess_status refuse_padding(tess_context *ctx, const tess_storage_options *o, const sizes *s)
{
    char text[96];
    size_t used = 0;

    for (int b = s->least; b <= s->most && used < sizeof text; b++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%d: %.3g", b > s->least ? ", " : "", b, s->stored[b]);
    }
    return tess_fail_here(ctx, "choose csr or sell, or raise max_padding (--max-padding)",
                          "format bsr would store more than max_padding, %g, entries per nonzero (by block size: %s)",
                          storage_max_padding(o), text);
}

/* ---- building ---- */

/* Rows in blocks of a size. */
static tess_status make_offsets(tess_context *ctx, const csr_view *csr, int height, int width, bsr_view *v)
{
    tess_status status = TESS_SUCCESS;

    v->height = height;
    v->width = width;
    v->nblock_rows = (v->nrows + height - 1) / height;
    TESS_TRY(tess_device_allocate(ctx, v->nblock_rows + 1, (size_t)v->row_ptr_bits / 8, &v->row_ptr));
    status = bsr_ops_of(ctx)->fill_offsets(ctx, csr, v, &v->nblocks);
cleanup:
    return status;
}

static bool pads_too_much(const tess_storage_options *o, const bsr_view *v)
{
    return (double)v->nblocks * v->height * v->width > storage_max_padding(o) * (double)v->nnz;
}

/* Chooses the size, and makes the offsets. What a sample promised is checked. */
static tess_status choose_block(tess_context *ctx, const csr_view *csr, const tess_storage_options *o, bsr_view *v)
{
    const int given = (int)o->slices.bsr_block_size;
    const int64_t stride = csr->nrows > MOST_JUDGED_ROWS ? SAMPLE_STRIDE : 1;
    sizes s = {.least = given > 0 ? given : BSR_LEAST_BLOCK, .most = given > 0 ? given : BSR_MOST_BLOCK};
    int block = given;
    tess_status status = TESS_SUCCESS;

    if (block == 0) {
        TESS_TRY(count_sizes(ctx, csr, stride, &s));
        block = best_size(o, &s);
    }
    if (block > 0) {
        TESS_TRY(make_offsets(ctx, csr, block, block, v));
        if (!pads_too_much(o, v)) { return TESS_SUCCESS; }
        tess_device_release(ctx, v->row_ptr, v->nblock_rows + 1, (size_t)v->row_ptr_bits / 8);
        v->row_ptr = NULL;
    }
    if (stride > 1 || given > 0) { TESS_TRY(count_sizes(ctx, csr, 1, &s)); }
    block = best_size(o, &s);
    status = block > 0 ? make_offsets(ctx, csr, block, block, v) : refuse_padding(ctx, o, &s);
cleanup:
    return status;
}

/* Arrays of the blocks, whose number is known; masks where they are asked for and a place is no entry. */
static tess_status allocate_blocks(tess_context *ctx, bool masks, bsr_view *v)
{
    const size_t bytes = tess_precision_bytes(v->precision);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, v->nblocks, (size_t)v->column_bits / 8, &v->column));
    if (masks && v->nblocks * v->height * v->width > v->nnz) {
        TESS_TRY(tess_device_allocate(ctx, v->nblocks * bsr_mask_bytes(v->height), 1, &v->mask));
    }
    TESS_TRY(tess_device_allocate(ctx, count_values(v), bytes, &v->val));
    /* places without an entry; and values beyond the last block, which should be the same on every run */
    status = ctx->backend->zero(ctx, v->val, (size_t)count_values(v) * bytes);
cleanup:
    return status;
}

static tess_status build_view(const tess_matrix *a, const tess_storage_options *o, bsr_view *v)
{
    tess_context *ctx = a->ctx;
    const csr_view *csr = &csr_of(a)->view;
    const bsr_ops *backend = bsr_ops_of(ctx);
    int64_t reach = 0;
    tess_status status = TESS_SUCCESS;

    *v = (bsr_view){.nrows = csr->nrows,
                    .ncols = csr->ncols,
                    .nnz = csr->nnz,
                    .is_complex = a->is_complex && (o->slices.bsr_block_size == 0 || o->slices.bsr_block_size == 2),
                    .row_ptr_bits = csr->nnz > INT32_MAX ? 64 : 32,
                    .column_bits = 32,
                    .precision = o->precision,
                    .arithmetic = o->arithmetic};
    if (v->is_complex) {
        TESS_TRY(make_offsets(ctx, csr, 2, 2, v));
    } else {
        TESS_TRY(choose_block(ctx, csr, o, v));
    }
    TESS_TRY(backend->measure_reach(ctx, csr, v->height, &reach));
    if (v->is_complex) { reach += (BSR_STRIP - 1) * v->height; }
    if (reach <= INT16_MAX) { v->column_bits = 16; }
    TESS_TRY(allocate_blocks(ctx, !v->is_complex, v));
    TESS_TRY(backend->fill_columns(ctx, csr, v));
    TESS_TRY(backend->fill_values(ctx, csr, v));
    status = backend->plan(ctx, v);
cleanup:
    return status;
}

static tess_status bsr_build(const tess_matrix *assembled, const tess_storage_options *options,
                             const tess_assignment *assignment, void **out)
{
    (void)assignment; /* one precision */
    tess_context *ctx = assembled->ctx;
    bsr_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    TESS_TRY(build_view(assembled, options, &s->view));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { bsr_destroy(ctx, s); }
    return status;
}

/* ---- nodes, for levels of multigrid ---- */

/* Values stored for an entry, at most: beyond that zeros cost a product more than indices do. */
static const double nodes_most_padding = 1.5;

static bool nodes_pay(const bsr_nodes *nodes, const bsr_view *v)
{
    return (double)(v->nblocks * bsr_values(v)) <= nodes_most_padding * (double)v->nnz &&
           bytes_of(v) <= nodes->most_bytes;
}

/* Columns of 16 bits are relative to the diagonal, or the numbers themselves. */
static tess_status choose_column_bits(tess_context *ctx, const csr_view *csr, bsr_view *v)
{
    int64_t reach = v->ncols - v->width;
    tess_status status = TESS_SUCCESS;

    v->column_bits = 16;
    if (v->height == v->width) { status = bsr_ops_of(ctx)->measure_reach(ctx, csr, v->height, &reach); }
    if (reach > INT16_MAX) { v->column_bits = 32; }
    return status;
}

/* *pays false: it is not finished. */
static tess_status build_nodes(tess_context *ctx, const csr_view *csr, const bsr_nodes *nodes, bsr_view *v, bool *pays)
{
    const bsr_ops *backend = bsr_ops_of(ctx);
    tess_status status = TESS_SUCCESS;

    *v = (bsr_view){.nrows = csr->nrows,
                    .ncols = csr->ncols,
                    .nnz = csr->nnz,
                    .row_ptr_bits = csr->nnz > INT32_MAX ? 64 : 32,
                    .column_bits = 16,
                    .precision = nodes->precision,
                    .arithmetic = nodes->arithmetic};
    TESS_TRY(make_offsets(ctx, csr, nodes->height, nodes->width, v));
    *pays = nodes_pay(nodes, v); /* with columns of 16 bits */
    if (!*pays) { return TESS_SUCCESS; }
    TESS_TRY(choose_column_bits(ctx, csr, v));
    *pays = nodes_pay(nodes, v);
    if (!*pays) { return TESS_SUCCESS; }
    TESS_TRY(allocate_blocks(ctx, false, v));
    TESS_TRY(backend->fill_columns(ctx, csr, v));
    if (csr->val) { TESS_TRY(backend->fill_values(ctx, csr, v)); }
    status = backend->plan(ctx, v);
cleanup:
    return status;
}

tess_status bsr_make_nodes(const tess_matrix *pattern, const bsr_nodes *nodes, tess_matrix **out)
{
    tess_context *ctx = pattern->ctx;
    tess_matrix *m = NULL;
    bsr_storage *s = NULL;
    bool pays = false;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_matrix_make(ctx, pattern->nrows, pattern->ncols, pattern->nnz, &m));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    m->format = TESS_FORMAT_BSR;
    m->ops = tess_find_format(TESS_FORMAT_BSR);
    m->storage = s;
    m->precision = nodes->precision;
    m->arithmetic = nodes->arithmetic;
    m->loss = INFINITY;
    TESS_TRY(build_nodes(ctx, &csr_of(pattern)->view, nodes, &s->view, &pays));
    if (pays) {
        *out = m;
        m = NULL;
    }
cleanup:
    tess_matrix_destroy(m);
    return status;
}

/* ---- new values ---- */

static tess_status bsr_refresh(const tess_matrix *assembled, void *storage)
{
    const bsr_storage *s = storage;

    return bsr_ops_of(assembled->ctx)->fill_values(assembled->ctx, &csr_of(assembled)->view, &s->view);
}

/* ---- products ---- */

static tess_status bsr_prepare(const tess_matrix *a)
{
    return bsr_ops_of(a->ctx)->prepare(a->ctx, view_of(a));
}

static tess_status bsr_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const bsr_view *v = view_of(a);
    tess_status status = padded_check_product(a, v->arithmetic, args);

    if (status != TESS_SUCCESS) { return status; }
    if (args->operation == TESS_OP_TRANSPOSE) { return tess_spmv_of_original(a, args); }
    return bsr_ops_of(a->ctx)->spmv(a->ctx, v, args);
}

static bool bsr_takes_columns(const tess_matrix *a, bool steps)
{
    return steps || view_of(a)->arithmetic == TESS_ARITHMETIC_FP64;
}

static tess_status bsr_multiply_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    return bsr_ops_of(a->ctx)->multiply_columns(a->ctx, view_of(a), args);
}

/* ---- back to the host ---- */

static tess_status bsr_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const csr_view *csr = &csr_of(a->original)->view;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(padded_decode_offsets(a, row_ptr));
    if (col_ind || val) { status = bsr_ops_of(a->ctx)->decode(a->ctx, csr, view_of(a), col_ind, val); }
cleanup:
    return status;
}

static int bsr_block_size(const tess_matrix *a)
{
    return view_of(a)->height;
}

static int64_t bsr_bytes(const tess_matrix *a)
{
    return bytes_of(view_of(a));
}

const tess_format_ops bsr_format = {
    .can =
        {
            .description = "blocks of 2 to 6 rows and columns, and of complex numbers",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = TESS_EVERY_PRECISION,
            .policies = TESS_WHOLE_POLICIES,
            .granularities = 1U << TESS_GRANULARITY_MATRIX,
            .granularity = TESS_GRANULARITY_MATRIX,
            .arithmetics = TESS_PLAIN_ARITHMETICS,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
            .pads = 1,
        },
    .role = TESS_ROLE_NODES,
    .check_options = check_options,
    .block_size = bsr_block_size,
    .build = bsr_build,
    .refresh = bsr_refresh,
    .destroy = bsr_destroy,
    .prepare = bsr_prepare,
    .spmv = bsr_spmv,
    .takes_columns = bsr_takes_columns,
    .multiply_columns = bsr_multiply_columns,
    .decode = bsr_decode,
    .bytes = bsr_bytes,
};
