/* SPDX-License-Identifier: Apache-2.0 */
/* A triangle solved by merged groups of level sets: choice of blocks and groups, values. */
#include "triangular/merged_triangle.h"

#include <string.h>

#include <tessera/codec.h>

#include "base/stages.h"
#include "device/host/host.h"
#include "format/csr/csr.h"
#include "triangular/merged_layout.h"

/* Level sets are not merged, but shared by all multiprocessors of the device, if there are no more than this, or if
   they have more entries on average for each block here: then they would take longer here than there. */
enum { FEW_LEVEL_SETS = 16, WIDE_LEVEL_SET = 4096 };
/* With fewer entries than this, counting those of b, one block takes everything: its steps cost less. */
enum { ENTRIES_OF_ONE_BLOCK = 50000 };
/* Cost of a step, in entries that one block multiplies in that time, and the addition for every block. */
enum { STEP_ENTRIES = 2000, STEP_ENTRIES_OF_BLOCK = 600 };
/* The magnitudes of a rewritten row may add up to so many times those of the original row: the loss of products, in
   units of rounding. Below FP32 this would be an error of the matrix. */
#define MAX_GROWTH 1e3
#define MAX_GROWTH_OF_HALVES 8.0
/* The least bytes of a slot, when the number of blocks is chosen. */
enum { SHORT_SLOT = 4096 };

struct merged_triangle {
    tess_context *ctx;
    merged_limits limits;
    triangle_pattern pattern;
    int64_t nnz;
    int64_t *source; /* the pattern's, on the device; NULL: values came from the host */
    merged_rows rows;
    merged_layout layout;
    merged_view view;
    bool filled;
    uint64_t moves;
};

/* ---- memory ---- */

static void release_view(tess_context *ctx, merged_view *v)
{
    tess_device_release(ctx, v->records, v->record_bytes, 1);
    tess_device_release(ctx, v->streams, v->blocks, sizeof *v->streams);
    tess_device_release(ctx, v->row, v->blocks * v->local, sizeof *v->row);
    tess_device_release(ctx, v->workspace, v->blocks * 2 * v->local, sizeof *v->workspace);
    *v = (merged_view){0};
}

void merged_destroy(merged_triangle *t)
{
    if (!t) { return; }
    release_view(t->ctx, &t->view);
    merged_layout_release(t->ctx, &t->layout);
    merge_release(t->ctx, &t->rows);
    tess_device_release(t->ctx, t->source, t->nnz, sizeof *t->source);
    tess_host_release(t->ctx, t->pattern.row_ptr, t->pattern.n + 1, sizeof *t->pattern.row_ptr);
    tess_host_release(t->ctx, t->pattern.col_ind, t->nnz, sizeof *t->pattern.col_ind);
    tess_host_release(t->ctx, t->pattern.source, t->nnz, sizeof *t->pattern.source);
    tess_host_release(t->ctx, t, 1, sizeof *t);
}

/* ---- blocks ---- */

/* Rows of a block, for n rows and so many blocks: about the same number each. */
static int64_t rows_of_block(int64_t n, int blocks)
{
    const int64_t even = (n + blocks - 1) / blocks;

    return blocks == 1 ? n : even + even / 16 + MERGED_LANES;
}

static bool fits_device(const merged_limits *limits, int64_t n, int blocks)
{
    return merged_shared_bytes(rows_of_block(n, blocks), SHORT_SLOT) <= limits->shared_bytes;
}

/* One block for little work, else as many as possible; 0: too many rows. */
static int choose_blocks(const merged_limits *limits, int64_t n, int64_t entries)
{
    if (limits->blocks < 1) { return 0; }
    if (entries < ENTRIES_OF_ONE_BLOCK && fits_device(limits, n, 1)) { return 1; }
    return fits_device(limits, n, limits->blocks) ? limits->blocks : 0;
}

static bool pays(const merged_triangle *t, int64_t entries)
{
    return t->rows.level_sets > FEW_LEVEL_SETS &&
           entries / t->rows.level_sets <= WIDE_LEVEL_SET * (int64_t)t->view.blocks;
}

tess_status merged_create(tess_context *ctx, triangle_pattern *p, const level_schedule *level_sets,
                          tess_precision precision, merged_triangle **out)
{
    merged_limits limits = {0};
    merged_triangle *t = NULL;
    const int64_t entries = p->n + p->row_ptr[p->n];
    int blocks = 0;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(merged_ops_of(ctx)->limits(ctx, &limits));
    blocks = choose_blocks(&limits, p->n, entries);
    if (blocks == 0) { goto cleanup; }
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *t, (void **)&t));
    *t = (merged_triangle){.ctx = ctx,
                           .limits = limits,
                           .nnz = p->row_ptr[p->n],
                           .view = {.n = p->n, .blocks = blocks, .precision = precision}};
    TESS_TRY(merge_open(ctx, p, level_sets, &t->rows));
    TESS_TRY(tess_stage_end(ctx, "levels of triangles"));
    if (!pays(t, entries)) { goto cleanup; }
    t->pattern = *p;
    *p = (triangle_pattern){0};
    *out = t;
cleanup:
    if (!*out) { merged_destroy(t); }
    return status;
}

/* ---- values ---- */

static double largest_value(tess_precision precision)
{
#define MAX(NAME, value, name, type, bits, emin, emax, max) [value] = (max),
    static const double largest[] = {TESS_PRECISION_LIST(MAX)};
#undef MAX

    return largest[precision];
}

static merge_rule rule_of(const merged_triangle *t)
{
    const merged_view *v = &t->view;
    const bool halves = tess_precision_bytes(v->precision) < sizeof(float);

    return (merge_rule){
        .step = STEP_ENTRIES + STEP_ENTRIES_OF_BLOCK * (v->blocks - 1),
        .growth = halves ? MAX_GROWTH_OF_HALVES : MAX_GROWTH,
        .largest = largest_value(v->precision),
        .longest = merged_longest_row(&t->limits, rows_of_block(v->n, v->blocks), v->precision, v->blocks > 1)};
}

static tess_status download_values(merged_triangle *t, const double *values, double *val)
{
    tess_context *ctx = t->ctx;
    double *gathered = NULL;
    tess_status status = TESS_SUCCESS;

    if (!t->source) {
        TESS_TRY(tess_device_upload(ctx, t->pattern.source, t->nnz, sizeof *t->source, (void **)&t->source));
    }
    TESS_TRY(tess_device_allocate(ctx, t->nnz, sizeof *gathered, (void **)&gathered));
    TESS_TRY(csr_ops_of(ctx)->gather(ctx, t->nnz, values, t->source, gathered));
    status = ctx->backend->download(ctx, val, gathered, (size_t)t->nnz * sizeof *val);
cleanup:
    tess_device_release(ctx, gathered, t->nnz, sizeof *gathered);
    return status;
}

static tess_status take_values(merged_triangle *t, const triangle_values *values, double *val)
{
    const int threads = host_threads_for(t->ctx, t->nnz);

    if (!values->host) { return download_values(t, values->device, val); }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t k = 0; k < t->nnz; k++) {
        val[k] = values->host[t->pattern.source[k]];
    }
    return TESS_SUCCESS;
}

/* The layout of new groups, on the device. */
static tess_status lay_out(merged_triangle *t)
{
    tess_context *ctx = t->ctx;
    merged_layout *l = &t->layout;
    merged_view *v = &t->view;
    const int blocks = v->blocks;
    const tess_precision precision = v->precision;
    tess_status status = TESS_SUCCESS;

    merged_layout_release(ctx, l);
    release_view(ctx, v);
    *v = (merged_view){.n = t->rows.n, .groups = t->rows.groups, .blocks = blocks, .precision = precision};
    TESS_TRY(merged_layout_make(ctx, &t->rows, &t->limits, blocks, precision, l));
    TESS_TRY(tess_stage_end(ctx, "laying out merged rows"));
    if (!l->fits) { goto cleanup; }
    v->local = l->local;
    v->slot_bytes = l->slot_bytes;
    v->wide = l->wide;
    v->record_bytes = l->record_bytes;
    TESS_TRY(tess_device_upload(ctx, l->records, l->record_bytes, 1, (void **)&v->records));
    TESS_TRY(tess_device_upload(ctx, l->streams, blocks, sizeof *l->streams, (void **)&v->streams));
    TESS_TRY(tess_device_upload(ctx, l->row, blocks * l->local, sizeof *l->row, (void **)&v->row));
    if (ctx->device == TESS_DEVICE_CPU) {
        TESS_TRY(tess_device_allocate(ctx, blocks * 2 * l->local, sizeof *v->workspace, (void **)&v->workspace));
        memset(v->workspace, 0, (size_t)(blocks * 2 * l->local) * sizeof *v->workspace);
    }
    t->moves += 1;
cleanup:
    return status;
}

/* New values for groups that stay. *kept false: rows grow too much. */
static tess_status renew(merged_triangle *t, const double *val, const merge_rule *rule, bool *kept)
{
    tess_context *ctx = t->ctx;
    tess_status status = TESS_SUCCESS;

    *kept = false;
    TESS_TRY(merge_rewrite(ctx, &t->pattern, val, rule, true, &t->rows));
    if (!merge_keeps(&t->rows, rule)) { goto cleanup; }
    TESS_TRY(merged_layout_fill(ctx, &t->layout));
    TESS_TRY(ctx->backend->upload(ctx, t->view.records, t->layout.records, (size_t)t->layout.record_bytes));
    *kept = true;
cleanup:
    return status;
}

tess_status merged_fill(merged_triangle *t, const triangle_values *values, bool *fits)
{
    tess_context *ctx = t->ctx;
    const merge_rule rule = rule_of(t);
    bool kept = false;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, t->nnz, sizeof *val, (void **)&val));
    TESS_TRY(take_values(t, values, val));
    if (t->filled) { TESS_TRY(renew(t, val, &rule, &kept)); }
    if (!kept) {
        t->filled = false;
        TESS_TRY(merge_rewrite(ctx, &t->pattern, val, &rule, false, &t->rows));
        TESS_TRY(tess_stage_end(ctx, "rewriting merged rows"));
        TESS_TRY(lay_out(t));
        t->filled = t->layout.fits;
    }
    *fits = t->filled;
cleanup:
    merge_release_entries(ctx, &t->rows);
    merged_layout_release_records(ctx, &t->layout);
    tess_host_release(ctx, val, t->nnz, sizeof *val);
    return status;
}

/* ---- questions ---- */

const merged_view *merged_view_of(const merged_triangle *t)
{
    return t->filled ? &t->view : NULL;
}

const triangle_pattern *merged_pattern(const merged_triangle *t)
{
    return &t->pattern;
}

int64_t merged_level_sets(const merged_triangle *t)
{
    return t->rows.level_sets;
}

int64_t merged_entries(const merged_triangle *t)
{
    return t->rows.entries;
}

uint64_t merged_moves(const merged_triangle *t)
{
    return t->moves;
}

int64_t merged_bytes(const merged_triangle *t)
{
    const merged_view *v = &t->view;

    return (t->source ? t->nnz * (int64_t)sizeof *t->source : 0) + v->record_bytes +
           v->blocks * (int64_t)sizeof *v->streams +
           v->blocks * v->local * (int64_t)(sizeof *v->row + (v->workspace ? 2 * sizeof *v->workspace : 0));
}
