/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix on a pattern with fill: by rows on the host, or in rounds where the matrix is. */
#include <math.h>
#include <string.h>

#include "base/stages.h"
#include "matrix/device_csr.h"
#include "precond/incomplete/fill.h"
#include "precond/incomplete/fill_rounds.h"
#include "precond/incomplete/incomplete.h"

/* A GPU finds the levels of so many rows where the caller leaves it to us. */
enum { LEVELED_ROWS = 65536 };

/* ---- by rows ---- */

/* A matrix decoded on the host; val may be NULL. */
typedef struct decoded {
    tess_context *ctx;
    int64_t n, nnz, *row_ptr;
    int32_t *col_ind;
    double *val;
} decoded;

static tess_status decode(const tess_matrix *a, decoded *d)
{
    tess_status status = TESS_SUCCESS;

    *d = (decoded){.ctx = a->ctx, .n = a->nrows, .nnz = a->nnz};
    TESS_TRY(tess_host_allocate(a->ctx, d->n + 1, sizeof *d->row_ptr, (void **)&d->row_ptr));
    TESS_TRY(tess_host_allocate(a->ctx, d->nnz, sizeof *d->col_ind, (void **)&d->col_ind));
    TESS_TRY(tess_host_allocate(a->ctx, d->nnz, sizeof *d->val, (void **)&d->val));
    status = a->ops->decode(a, d->row_ptr, d->col_ind, d->val);
cleanup:
    return status;
}

static void release_decoded(decoded *d)
{
    tess_host_release(d->ctx, d->row_ptr, d->n + 1, sizeof *d->row_ptr);
    tess_host_release(d->ctx, d->col_ind, d->nnz, sizeof *d->col_ind);
    tess_host_release(d->ctx, d->val, d->nnz, sizeof *d->val);
}

static int64_t find_bad_row(const decoded *d)
{
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t k = d->row_ptr[i]; k < d->row_ptr[i + 1]; k++) {
            if (!isfinite(d->val[k])) { return i; }
        }
    }
    return -1;
}

/* The pattern takes the arrays of the rows; columns in an array of their length. */
static tess_status take_pattern(fill_rows *rows, incomplete_pattern *p)
{
    tess_status status = TESS_SUCCESS;

    *p = (incomplete_pattern){.n = rows->n, .nnz = rows->nnz};
    TESS_TRY(tess_host_allocate(rows->ctx, p->nnz, sizeof *p->col_ind, (void **)&p->col_ind));
    memcpy(p->col_ind, rows->col_ind, (size_t)p->nnz * sizeof *p->col_ind);
    p->row_ptr = rows->row_ptr;
    p->diagonal = rows->diagonal;
    rows->row_ptr = NULL;
    rows->diagonal = NULL;
cleanup:
    return status;
}

/* The rows of L alone: the columns of the rows of U. */
static tess_status take_lower_pattern(const fill_rows *rows, incomplete_pattern *p)
{
    const fill_input upper = {.n = rows->n, .row_ptr = rows->row_ptr, .col_ind = rows->col_ind};
    tess_status status = TESS_SUCCESS;

    *p = (incomplete_pattern){.n = rows->n, .nnz = rows->nnz};
    TESS_TRY(tess_host_allocate(rows->ctx, p->n + 1, sizeof *p->row_ptr, (void **)&p->row_ptr));
    TESS_TRY(tess_host_allocate(rows->ctx, p->n, sizeof *p->diagonal, (void **)&p->diagonal));
    TESS_TRY(tess_host_allocate(rows->ctx, p->nnz, sizeof *p->col_ind, (void **)&p->col_ind));
    fill_transpose(&upper, false, p->row_ptr, p->col_ind, NULL);
    for (int64_t i = 0; i < p->n; i++) {
        p->diagonal[i] = p->row_ptr[i + 1] - 1;
    }
cleanup:
    return status;
}

/* The pattern becomes a matrix, which takes its arrays. */
static tess_status make_matrix(tess_context *ctx, incomplete_pattern *p, tess_matrix **filled)
{
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, p->nnz, sizeof *val, (void **)&val));
    memset(val, 0, (size_t)p->nnz * sizeof *val);
    status = tess_matrix_adopt_csr(ctx, p->n, p->n, p->nnz, p->row_ptr, 64, p->col_ind, val, filled);
    p->row_ptr = NULL; /* taken */
    p->col_ind = NULL;
cleanup:
    return status;
}

/* If values are not finite, the pattern is that of the matrix with all diagonal entries. */
static tess_status fill_by_rows(const tess_matrix *a, const tess_precond_options *options, tess_matrix **filled)
{
    decoded d;
    fill_rows rows = {.ctx = a->ctx};
    fill_work work = {.ctx = a->ctx};
    fill_input input;
    incomplete_pattern p = {0};
    const fill_limits limits = {options->threshold.drop, options->threshold.fill};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(decode(a, &d));
    TESS_TRY(fill_open(a->ctx, d.n, d.nnz + d.n, &rows, &work));
    input = (fill_input){d.n, d.row_ptr, d.col_ind, d.val};
    if (options->kind == TESS_PRECOND_ILUK || find_bad_row(&d) >= 0) {
        TESS_TRY(
            fill_by_levels(&input, options->kind == TESS_PRECOND_ILUK ? options->threshold.level : 0, &rows, &work));
        TESS_TRY(take_pattern(&rows, &p));
    } else if (options->kind == TESS_PRECOND_ICT) {
        TESS_TRY(fill_symmetric(&input, &limits, &rows, &work));
        TESS_TRY(take_lower_pattern(&rows, &p));
    } else {
        TESS_TRY(fill_by_threshold(&input, &limits, &rows, &work));
        TESS_TRY(take_pattern(&rows, &p));
    }
    status = make_matrix(a->ctx, &p, filled);
cleanup:
    incomplete_release_pattern(a->ctx, &p);
    fill_close(&rows, &work);
    release_decoded(&d);
    return status;
}

/* ---- all ---- */

/* Whether rounds find the pattern. A GPU finds levels itself, where there are many rows or the caller says so; rounds
   of thresholds drop other entries than rows do, and so are for factors by sweeps, and for a GPU by name. */
static bool takes_rounds(const tess_matrix *a, const tess_precond_options *o, bool swept)
{
    const bool on_gpu = a->ctx->device == TESS_DEVICE_GPU;
    const bool by_device = on_gpu && o->incomplete.factorization == TESS_FACTORIZATION_DEVICE;
    const bool left_to_us = o->incomplete.factorization == TESS_FACTORIZATION_AUTO && a->nrows >= LEVELED_ROWS;

    if (on_gpu && !device_csr_takes(a)) { return false; }
    if (o->kind != TESS_PRECOND_ILUK) { return swept || by_device; }
    return on_gpu && o->threshold.level <= FILL_MOST_LEVEL && (swept || by_device || left_to_us);
}

static fill_rule rule_of(const tess_precond_options *o)
{
    const bool levels = o->kind == TESS_PRECOND_ILUK;

    return (fill_rule){.by_levels = levels,
                       .symmetric = o->kind == TESS_PRECOND_ICT,
                       .level = o->threshold.level,
                       .rounds = levels ? o->threshold.level : o->incomplete.factorization_sweeps,
                       .drop = o->threshold.drop,
                       .fill = o->threshold.fill};
}

/* Products of a GPU have fewer than 2^31 entries, and its memory ends: then *filled stays NULL, and the host takes the
   rows. */
static tess_status fill_by_rounds(const tess_matrix *a, const tess_precond_options *o, tess_matrix **filled)
{
    const tess_error before = a->ctx->error;
    const fill_rule rule = rule_of(o);
    const tess_status status = incomplete_ops_of(a->ctx)->find_fill(a, &rule, filled);

    if (status != TESS_OUT_OF_RANGE && status != TESS_OUT_OF_DEVICE_MEMORY) { return status; }
    a->ctx->error = before;
    tess_log(a->ctx, TESS_LOG_INFO, "%s: too much fill for the device's products: the host finds it row by row",
             tess_precond_kind_name(o->kind));
    return TESS_SUCCESS;
}

tess_status incomplete_filled_open(const tess_matrix *a, const tess_precond_options *options, bool swept,
                                   tess_matrix **filled)
{
    tess_status status = TESS_SUCCESS;

    *filled = NULL;
    if (takes_rounds(a, options, swept)) { TESS_TRY(fill_by_rounds(a, options, filled)); }
    if (!*filled) { TESS_TRY(fill_by_rows(a, options, filled)); }
    status = tess_stage_end(a->ctx, "pattern of the factors");
cleanup:
    return status;
}

tess_status incomplete_filled_renew(const tess_matrix *a, tess_matrix *filled)
{
    filled->values_version += 1;
    return incomplete_ops_of(a->ctx)->spread(a->ctx, &csr_of(a)->view, &csr_of(filled)->view,
                                             csr_own_values(filled->storage));
}
