/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners of any kind, through the table of each: set-up, renewal, application. */
#include "precond/precond.h"

#include <string.h>

#include <tessera/names.h>

#include "base/options.h"
#include "dense/columns.h"
#include "precond/precond_options.h"
#include "precond/turned.h"

tess_precond *tess_precond_hold(const tess_precond *m)
{
    tess_precond *held = (tess_precond *)(uintptr_t)m;

    if (held) { held->holders += 1; }
    return held;
}

void tess_precond_destroy(tess_precond *m)
{
    tess_context *ctx = m ? m->ctx : NULL;
    const tess_matrix *matrix = m ? m->matrix : NULL;

    if (!m) { return; }
    m->holders -= 1;
    if (m->holders > 0) { return; }
    if (m->ops->destroy) { m->ops->destroy(m); }
    tess_host_release(ctx, m, 1, sizeof *m);
    tess_matrix_release(matrix);
    tess_context_destroy(ctx);
}

static tess_status make_precond(tess_context *ctx, const tess_precond_ops *ops, int64_t n, tess_precond **out)
{
    tess_status status = tess_host_allocate(ctx, 1, sizeof **out, (void **)out);

    if (status != TESS_SUCCESS) { return status; }
    memset(*out, 0, sizeof **out);
    (*out)->ctx = ctx;
    (*out)->holders = 1;
    tess_context_hold(ctx);
    (*out)->ops = ops;
    (*out)->kind = ops->kind;
    (*out)->n = n;
    return TESS_SUCCESS;
}

tess_status tess_precond_make(const tess_matrix *a, const tess_precond_ops *ops, tess_precond **out)
{
    const tess_status status = make_precond(a->ctx, ops, a->nrows, out);

    if (status != TESS_SUCCESS) { return status; }
    (*out)->matrix = a;
    tess_matrix_hold(a);
    return TESS_SUCCESS;
}

const tess_precond *tess_precond_inmost(const tess_precond *m)
{
    return m && m->ops->inside ? m->ops->inside(m) : m;
}

/* ---- none, and the user's own ---- */

static tess_status check_none(const tess_matrix *a, const tess_precond_options *options)
{
    (void)a;
    (void)options;
    return TESS_SUCCESS;
}

const tess_precond_ops precond_none = {.kind = TESS_PRECOND_NONE, .check = check_none};

static tess_status apply_shell(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                               const tess_reduction *reduction)
{
    int code = 0;

    (void)reduction;
    if (vectors != TESS_PRECISION_FP64) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "use --inner-precision fp64",
                         "a user's preconditioner cannot take %s vectors", tess_precision_name(vectors));
    }
    code = m->shell.apply(m->shell.user, r, z);
    if (code == 0) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_CALLBACK, "see what the function reports",
                     "the preconditioner's apply function returned the error %d", code);
}

static const tess_precond_ops precond_shell = {.kind = TESS_PRECOND_SHELL, .on_host = true, .apply = apply_shell};

/* ---- set-up ---- */

static tess_status check_request(const tess_matrix *a, const tess_precond_options *options)
{
    if (a->nrows != a->ncols) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass a square matrix",
                         "a preconditioner needs a square matrix, but this one is %lld by %lld", (long long)a->nrows,
                         (long long)a->ncols);
    }
    if (a->original) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix that it was made from",
                         "a preconditioner needs an assembled matrix, not a stored one");
    }
    if (!tess_find_precond(options->kind)) {
        return tess_fail(
            a->ctx, TESS_UNSUPPORTED,
            "choose none, jacobi, block-jacobi, polynomial, ilu0, ic0, ilut, ict, iluk, lu, cholesky, jacobi-sweeps, "
            "amg, fsai, isai or saddle",
            "preconditioner %s cannot be made from a matrix", tess_precond_kind_name(options->kind));
    }
    return tess_find_precond(options->kind)->check(a, options);
}

tess_status tess_precond_examine(const tess_matrix *a, const tess_precond_options *options)
{
    const tess_status status = check_request(a, options);
    const tess_precond_ops *ops = tess_find_precond(options->kind);

    return status == TESS_SUCCESS && ops->examine && a->ops ? ops->examine(a, options) : status;
}

static tess_status require_fit(tess_context *ctx, const tess_precond_options *options)
{
    tess_precond_options taken;
    tess_papers_storage papers;
    const tess_status status = precond_options_take(ctx, options, &taken, &papers);

    return status == TESS_SUCCESS ? precond_options_require_fit(ctx, &taken) : status;
}

tess_status tess_precond_create(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    tess_status status = require_fit(a->ctx, options);

    if (status == TESS_SUCCESS) { status = tess_precond_create_renewable(a, options, out); }
    if (status != TESS_SUCCESS) {
        tess_precond_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* The options fit the matrix. */
static tess_status create_of(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    tess_precond *m = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_precond_make(a, tess_find_precond(options->kind), &m));
    m->role = options->role;
    if (m->ops->create) { status = m->ops->create(m, options); }
    if (status == TESS_SUCCESS) { m->values_version = a->values_version; }
    if (status != TESS_SUCCESS && status != TESS_SINGULAR && status != TESS_OUT_OF_RANGE) { goto cleanup; }
    *out = m;
    return status;
cleanup:
    tess_precond_destroy(m);
    return status;
}

static tess_status create(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    bool turned = false;
    tess_status status = check_request(a, options);

    if (status == TESS_SUCCESS) { status = turned_is_wanted(a, options->kind, &turned); }
    if (status != TESS_SUCCESS) { return status; }
    return turned ? turned_create(a, options, create_of, out) : create_of(a, options, out);
}

tess_status tess_precond_create_renewable(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    tess_precond_options taken;
    tess_papers_storage papers;
    const tess_status status = precond_options_take(a->ctx, options, &taken, &papers);

    *out = NULL;
    return status == TESS_SUCCESS ? create(a, &taken, out) : status;
}

tess_status tess_precond_create_shell(tess_context *ctx, int64_t n, const tess_shell_precond *shell, tess_precond **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    tess_status status = TESS_SUCCESS;

    if (!shell || !shell->apply) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set tess_shell_precond.apply",
                         "a shell preconditioner needs a function that applies it");
    }
    status = options_require_reserved(ctx, "tess_shell_precond", shell->reserved);
    if (status == TESS_SUCCESS) { status = make_precond(ctx, &precond_shell, n, out); }
    if (status == TESS_SUCCESS) { (*out)->shell = *shell; }
    return status;
}

bool tess_precond_is_old(const tess_precond *m)
{
    return m && m->matrix && m->values_version != m->matrix->values_version;
}

tess_status tess_precond_update(tess_precond *m)
{
    TESS_REQUIRE(NULL, m);
    tess_status status = TESS_SUCCESS;

    if (!tess_precond_is_old(m)) { return TESS_SUCCESS; }
    m->changes += 1;
    if (m->ops->renew) { status = m->ops->renew(m); }
    if (status == TESS_SUCCESS) { m->values_version = m->matrix->values_version; }
    return status;
}

/* A change that fails, such as for memory, may leave nothing to apply: the next update sets up anew. */
static tess_status note_change(tess_precond *m, tess_status status, bool changed)
{
    m->changes += changed;
    if (status != TESS_SUCCESS && m->matrix) { m->values_version = m->matrix->values_version - 1; }
    return status;
}

tess_status tess_precond_mend(tess_precond *m, bool *mended)
{
    tess_status status = TESS_SUCCESS;

    *mended = false;
    if (!m || !m->ops->mend) { return TESS_SUCCESS; }
    status = m->ops->mend(m, mended);
    return note_change(m, status, *mended);
}

tess_status tess_precond_widen(tess_precond *m, bool *widened)
{
    tess_status status = TESS_SUCCESS;

    *widened = false;
    if (!m || !m->ops->widen) { return TESS_SUCCESS; }
    status = m->ops->widen(m, widened);
    return note_change(m, status, *widened);
}

bool tess_precond_can_widen(const tess_precond *m)
{
    return m && m->ops->can_widen && m->ops->can_widen(m);
}

void tess_precond_settle(tess_precond *m)
{
    if (!m->ops->settle) { return; }
    m->ops->settle(m);
    tess_matrix_release(m->matrix);
    m->matrix = NULL;
}

uint64_t tess_precond_revision(const tess_precond *m)
{
    return m && m->ops->revision ? m->ops->revision(m) : 0;
}

uint64_t tess_precond_changes(const tess_precond *m)
{
    return m ? m->changes : 0;
}

bool tess_precond_takes_columns(const tess_precond *m)
{
    return m->ops->takes_columns && m->ops->takes_columns(m);
}

const double *tess_precond_scale(const tess_precond *m)
{
    return m && m->ops->scale ? m->ops->scale(m) : NULL;
}

bool tess_precond_is_recordable(const tess_precond *m)
{
    return !m || !m->ops->on_host;
}

tess_role_precision tess_precond_default_role(tess_precond_kind kind, tess_role_precision inner)
{
    const tess_precond_ops *ops = tess_find_precond(kind);

    return ops && ops->default_role ? ops->default_role(inner) : inner;
}

bool tess_precond_is_identity(const tess_precond *m)
{
    return !m || (m->kind == TESS_PRECOND_NONE && !m->ops->inside);
}

/* ---- application ---- */

/* The dot products of z, in a pass of their own. */
static tess_status reduce_apart(const tess_precond *m, const double *z, const tess_reduction *reduction)
{
    tess_fused dots = {.op = TESS_FUSED_DOT_TWO, .n = m->n, .scalar = reduction->scalar, .state = reduction->state};

    if (reduction->ndots == 0) { return TESS_SUCCESS; }
    dots.in[0] = z;
    dots.in[1] = reduction->with[0];
    dots.in[2] = reduction->with[reduction->ndots - 1];
    if (reduction->ndots == 1) {
        dots.op = TESS_FUSED_DOT;
        dots.x.data = z;
        dots.y.data = reduction->with[0];
    }
    return m->ctx->backend->fused(m->ctx, &dots);
}

tess_status tess_precond_apply_fused(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                                     const tess_reduction *reduction)
{
    const tess_status status = m->ops->apply(m, vectors, r, z, reduction);

    return status == TESS_SUCCESS && !m->ops->reduces ? reduce_apart(m, z, reduction) : status;
}

tess_status tess_precond_apply(const tess_precond *m, const tess_vector *r, tess_vector *z)
{
    TESS_REQUIRE(NULL, m);
    tess_context *ctx = m->ctx;
    tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(ctx, r, m->n, "r"));
    TESS_TRY(tess_vector_require(ctx, z, m->n, "z"));
    if (m->n > 0 && r->data == z->data) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass two vectors",
                         "r and z of a preconditioner are the same array");
    }
    if (tess_precond_is_identity(m)) { return tess_vector_copy(r, z); }
    busy_adapt(ctx);
    TESS_TRY(tess_precond_apply_fused(m, TESS_PRECISION_FP64, r->data, z->data, &none));
    status = tess_vector_refresh_shadow(z);
cleanup:
    return status;
}

/* ---- several columns ---- */

/* On a host more columns leave the caches, unless the factors decide (solver/many_loop.c). */
enum { HOST_MOST = 8 };

/* As many of the columns that are left as one pass takes: a power of two. */
static int columns_at_once(const tess_precond *m, int64_t left)
{
    const bool takes = m->ops->takes_columns && m->ops->takes_columns(m);
    const bool narrow = m->ctx->device == TESS_DEVICE_CPU && !m->ops->solve_on_host;
    const int most = !takes ? 1 : narrow ? (int)HOST_MOST : (int)TESS_MAX_COLUMNS;
    int columns = 1;

    while (columns < most && 2 * columns <= left) {
        columns *= 2;
    }
    return columns;
}

/* Vectors by rows. */
static tess_status apply_slice(const tess_precond *m, int columns, const double *r, double *z)
{
    const tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    if (columns == 1) { return tess_precond_apply_fused(m, TESS_PRECISION_FP64, r, z, &none); }
    if (m->ops->prepare_columns) { TESS_TRY(m->ops->prepare_columns(m, columns)); }
    status = m->ops->apply_columns(m, columns, r, z);
cleanup:
    return status;
}

static tess_status check_columns(const tess_precond *m, const tess_columns *r, const tess_columns *z)
{
    tess_context *ctx = m->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(columns_require(ctx, r, m->n, "r"));
    TESS_TRY(columns_require(ctx, z, m->n, "z"));
    if (r->columns != z->columns) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "pass as many columns in z as in r", "r has %s, z %s",
                         tess_count(r->columns, "column").text, tess_count(z->columns, "column").text);
    }
    if (r->columns > 0 && m->n > 0 && r->data == z->data) {
        status =
            tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass two arrays", "r and z of a preconditioner are the same array");
    }
cleanup:
    return status;
}

tess_status tess_precond_apply_columns(const tess_precond *m, const tess_columns *r, const tess_columns *z)
{
    TESS_REQUIRE(NULL, m);
    TESS_REQUIRE(m->ctx, r);
    TESS_REQUIRE(m->ctx, z);
    tess_context *ctx = m->ctx;
    const bool identity = tess_precond_is_identity(m);
    double *from = NULL, *to = NULL;
    int64_t most = 0;
    bool done = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_columns(m, r, z));
    busy_adapt(ctx);
    if (m->ops->apply_where_they_are && !identity) { TESS_TRY(m->ops->apply_where_they_are(m, r, z, &done)); }
    if (done) { return TESS_SUCCESS; }
    most = m->n * columns_at_once(m, r->columns);
    TESS_TRY(tess_device_allocate(ctx, most, sizeof *from, (void **)&from));
    TESS_TRY(tess_device_allocate(ctx, most, sizeof *to, (void **)&to));
    for (int64_t first = 0, columns = 0; first < r->columns; first += columns) {
        columns = columns_at_once(m, r->columns - first);
        TESS_TRY(columns_get(ctx, r, first, (int)columns, from));
        if (!identity) { TESS_TRY(apply_slice(m, (int)columns, from, to)); }
        TESS_TRY(columns_set(ctx, identity ? from : to, z, first, (int)columns));
    }
    status = ctx->backend->synchronize(ctx);
cleanup:
    tess_device_release(ctx, from, most, sizeof *from);
    tess_device_release(ctx, to, most, sizeof *to);
    return status;
}

/* ---- questions ---- */

int64_t tess_precond_bytes(const tess_precond *m)
{
    if (!m) { return 0; }
    return m->ops->bytes ? m->ops->bytes(m) : 0;
}

void tess_precond_blocks_per_precision(const tess_precond *m, int64_t counts[TESS_MAX_PRECISIONS])
{
    if (!m || !counts) { return; }
    memset(counts, 0, TESS_MAX_PRECISIONS * sizeof *counts);
    if (m->ops->count_blocks) { m->ops->count_blocks(m, counts); }
}

void tess_precond_factors_init_sized(tess_precond_factors *factors, size_t size)
{
    result_init(factors, size);
}

bool tess_precond_has_factors(const tess_precond *m)
{
    return turned_inside(m)->ops->factors != NULL;
}

tess_status tess_precond_get_factors(const tess_precond *m, tess_precond_factors *out)
{
    TESS_REQUIRE(NULL, m);
    TESS_REQUIRE(m->ctx, out);
    m = turned_inside(m);
    if (!m->ops->factors) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "choose ilu0, ic0, ilut, ict, iluk, lu or cholesky",
                         "preconditioner %s has no factors", tess_precond_kind_name(m->kind));
    }
    tess_precond_factors full = {.size = sizeof full};
    const tess_status status = result_require_size(m->ctx, "tess_precond_factors", out->size, sizeof full);

    if (status != TESS_SUCCESS) { return status; }
    m->ops->factors(m, &full);
    full.precision = m->ops->stored ? m->ops->stored(m) : m->role.given ? m->role.storage : TESS_PRECISION_FP64;
    result_return(&full, out);
    return TESS_SUCCESS;
}

void tess_amg_levels_init_sized(tess_amg_levels *levels, size_t size)
{
    result_init(levels, size);
}

tess_status tess_precond_get_levels(const tess_precond *m, tess_amg_levels *out)
{
    tess_amg_levels full = {.size = sizeof full};
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE(NULL, m);
    TESS_REQUIRE(m->ctx, out);
    status = result_require_size(m->ctx, "tess_amg_levels", out->size, sizeof full);
    if (status != TESS_SUCCESS) { return status; }
    m = turned_inside(m);
    if (!m->ops->levels) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "choose amg", "preconditioner %s has no levels",
                         tess_precond_kind_name(m->kind));
    }
    m->ops->levels(m, &full);
    result_return(&full, out);
    return TESS_SUCCESS;
}

void tess_saddle_parts_init_sized(tess_saddle_parts *parts, size_t size)
{
    result_init(parts, size);
}

tess_status tess_precond_get_saddle(const tess_precond *m, tess_saddle_parts *out)
{
    tess_saddle_parts full = {.size = sizeof full};
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE(NULL, m);
    TESS_REQUIRE(m->ctx, out);
    status = result_require_size(m->ctx, "tess_saddle_parts", out->size, sizeof full);
    if (status != TESS_SUCCESS) { return status; }
    m = turned_inside(m);
    if (!m->ops->saddle) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "choose saddle", "preconditioner %s has no blocks of a saddle point",
                         tess_precond_kind_name(m->kind));
    }
    m->ops->saddle(m, &full);
    result_return(&full, out);
    return TESS_SUCCESS;
}

tess_precond_kind tess_precond_get_kind(const tess_precond *m)
{
    return m ? m->kind : TESS_PRECOND_NONE;
}

void tess_precond_sweeps_init_sized(tess_precond_sweeps *sweeps, size_t size)
{
    result_init(sweeps, size);
}

tess_status tess_precond_get_sweeps(const tess_precond *m, tess_precond_sweeps *out)
{
    tess_precond_sweeps full = {.size = sizeof full};
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE(NULL, m);
    TESS_REQUIRE(m->ctx, out);
    status = result_require_size(m->ctx, "tess_precond_sweeps", out->size, sizeof full);
    if (status != TESS_SUCCESS) { return status; }
    m = turned_inside(m);
    if (!m->ops->sweeps) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "choose jacobi-sweeps", "preconditioner %s has no sweeps",
                         tess_precond_kind_name(m->kind));
    }
    m->ops->sweeps(m, &full);
    result_return(&full, out);
    return TESS_SUCCESS;
}
