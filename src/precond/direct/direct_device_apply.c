/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors on a GPU: their application, and the tables of lu and cholesky. */
#include <math.h>
#include <stdio.h>

#include <tessera/names.h>

#include "dense/columns.h"
#include "precond/direct/direct_device.h"

/* The host is as fast below, and a process would load cuDSS first, which takes some 0.2 s. */
enum { DIRECT_DEVICE_LEAST_ROWS = 50000 };

bool direct_is_on_device(const tess_matrix *a)
{
    if (a->ctx->device != TESS_DEVICE_GPU) { return false; }
    if (a->nrows < DIRECT_DEVICE_LEAST_ROWS && mumps_is_here() && !cudss_is_asked_for()) { return false; }
    return cudss_is_here();
}

/* ---- application ---- */

/* to := a times from, in another precision */
static tess_status convert_scaled(const device_factors *m, double a, const void *from, tess_precision precision,
                                  void *to, tess_precision target)
{
    const tess_fused op = {.op = TESS_FUSED_SCALE,
                           .n = m->n,
                           .x = {from, precision},
                           .y = {to, target},
                           .result = to,
                           .arithmetic = TESS_ARITHMETIC_FP64,
                           .a = a};

    return m->ctx->backend->fused(m->ctx, &op);
}

/* to := diagonal times from, in FP64 */
static tess_status multiply(const device_factors *m, const double *diagonal, const double *from, double *to)
{
    const tess_fused op = {.op = TESS_FUSED_DIAGONAL, .n = m->n, .in = {from}, .out = {to}, .scale = diagonal};

    return m->ctx->backend->fused(m->ctx, &op);
}

/* z := value everywhere */
static tess_status fill(const device_factors *m, tess_precision vectors, double value, void *z)
{
    tess_status status = m->ctx->backend->fill(m->ctx, m->n, value, m->work);

    if (status != TESS_SUCCESS) { return status; }
    return m->ctx->backend->convert(m->ctx, m->n, TESS_PRECISION_FP64, m->work, vectors, z);
}

/* rhs := factor * diagonal * work, of norm about 1 by a power of two; `work` changes. *factor: 0 or NaN, and nothing
   else, where the norm is that or not finite. */
static tess_status load(const device_factors *m, const double *diagonal, double *work, void *rhs, double *factor)
{
    const tess_vector scaled = {.ctx = m->ctx, .n = m->n, .precision = TESS_PRECISION_FP64, .data = work};
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(multiply(m, diagonal, work, work));
    TESS_TRY(tess_vector_norm2(&scaled, TESS_ARITHMETIC_FP64, &norm));
    *factor = norm == 0.0 ? 0.0 : (double)NAN;
    if (norm == 0.0 || !isfinite(norm)) { return TESS_SUCCESS; }
    *factor = ldexp(1.0, -(ilogb(norm) < -DEVICE_MOST_EXPONENT ? -DEVICE_MOST_EXPONENT : ilogb(norm)));
    status = convert_scaled(m, *factor, work, TESS_PRECISION_FP64, rhs, m->precision);
cleanup:
    return status;
}

/* work := diagonal * solution / factor, with the sign of the factors */
static tess_status store(const device_factors *m, const double *diagonal, const void *solution, double factor,
                         double *work)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(convert_scaled(m, (m->negated ? -1.0 : 1.0) / factor, solution, m->precision, work, TESS_PRECISION_FP64));
    status = multiply(m, diagonal, work, work);
cleanup:
    return status;
}

static bool is_loaded(double factor)
{
    return factor > 0.0;
}

/* z := D_c (D_r A D_c)^-1 D_r r, or with the transpose D_r (D_r A D_c)^-T D_c r. The right-hand side of the factors is
   brought to a norm of about 1, by a power of two. */
static tess_status solve(const device_factors *m, bool transposed, tess_precision vectors, const void *r, void *z)
{
    const double *before = transposed ? m->column_scale : m->row_scale;
    const double *after = transposed ? m->row_scale : m->column_scale;
    double factor = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(m->ctx->backend->convert(m->ctx, m->n, vectors, r, TESS_PRECISION_FP64, m->work));
    TESS_TRY(load(m, before, m->work, m->rhs, &factor));
    if (!is_loaded(factor)) { return fill(m, vectors, factor, z); }
    TESS_TRY(cudss_solve(m->solver, transposed));
    TESS_TRY(store(m, after, m->solution, factor, m->work));
    status = m->ctx->backend->convert(m->ctx, m->n, TESS_PRECISION_FP64, m->work, vectors, z);
cleanup:
    return status;
}

static tess_status require_usable(const device_factors *m)
{
    if (m->usable) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_SINGULAR, "renew the preconditioner with values that have factors",
                     "the preconditioner cannot be applied, because its factorization failed");
}

static tess_status apply(const tess_precond *p, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const device_factors *m = p->own;
    tess_status status = TESS_SUCCESS;

    (void)reduction;
    if (m->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(require_usable(m));
    status = solve(m, false, vectors, r, z);
cleanup:
    return status;
}

/* ---- several columns ---- */

static bool takes_columns(const tess_precond *p)
{
    const device_factors *m = p->own;

    return m && m->usable && m->n > 0;
}

static tess_status make_room(device_factors *m, int columns)
{
    const size_t size = tess_precision_bytes(m->precision);
    tess_status status = TESS_SUCCESS;

    if (m->columns.most >= columns) { return TESS_SUCCESS; }
    device_factors_release_columns(m);
    m->columns.most = columns;
    TESS_TRY(tess_device_allocate(m->ctx, m->n * columns, size, &m->columns.rhs));
    TESS_TRY(tess_device_allocate(m->ctx, m->n * columns, size, &m->columns.solution));
    status = tess_device_allocate(m->ctx, m->n * columns, sizeof(double), (void **)&m->columns.work);
cleanup:
    if (status != TESS_SUCCESS) { device_factors_release_columns(m); }
    return status;
}

static void *column_at(const device_factors *m, void *columns, int c)
{
    return (char *)columns + (size_t)(c * m->n) * tess_precision_bytes(m->precision);
}

/* The columns of `work`, through the factors. */
static tess_status solve_columns(const device_factors *m, int columns)
{
    const device_columns *own = &m->columns;
    double factor[TESS_MAX_COLUMNS];
    tess_status status = TESS_SUCCESS;

    /* a column that is not loaded is solved too, as zero */
    TESS_TRY(m->ctx->backend->zero(m->ctx, own->rhs, (size_t)(m->n * columns) * tess_precision_bytes(m->precision)));
    for (int c = 0; c < columns; c++) {
        TESS_TRY(load(m, m->row_scale, own->work + c * m->n, column_at(m, own->rhs, c), &factor[c]));
    }
    TESS_TRY(cudss_solve_columns(m->solver, columns, own->rhs, own->solution));
    for (int c = 0; c < columns; c++) {
        double *const work = own->work + c * m->n;

        TESS_TRY(is_loaded(factor[c]) ? store(m, m->column_scale, column_at(m, own->solution, c), factor[c], work)
                                      : m->ctx->backend->fill(m->ctx, m->n, factor[c], work));
    }
cleanup:
    return status;
}

static tess_status apply_columns(const tess_precond *p, int columns, const double *r, double *z)
{
    device_factors *m = p->own;
    const columns_ops *ops = columns_ops_of(m->ctx);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_usable(m));
    TESS_TRY(make_room(m, columns));
    TESS_TRY(ops->move(m->ctx, m->n, columns, (columns_place){(double *)(uintptr_t)r, columns, 1},
                       (columns_place){m->columns.work, 1, m->n}));
    TESS_TRY(solve_columns(m, columns));
    status =
        ops->move(m->ctx, m->n, columns, (columns_place){m->columns.work, 1, m->n}, (columns_place){z, columns, 1});
cleanup:
    return status;
}

static tess_status solve_on_host(const tess_precond *p, bool transposed, const double *r, double *z)
{
    const device_factors *m = p->own;
    const size_t bytes = (size_t)m->n * sizeof *r;
    double *vector = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_upload(m->ctx, r, m->n, sizeof *r, (void **)&vector));
    if (m->n > 0) { TESS_TRY(solve(m, transposed, TESS_PRECISION_FP64, vector, vector)); }
    status = m->ctx->backend->download(m->ctx, z, vector, bytes);
cleanup:
    tess_device_release(m->ctx, vector, m->n, sizeof *vector);
    return status;
}

/* ---- questions ---- */

static int64_t bytes(const tess_precond *p)
{
    const device_factors *m = p->own;
    const int64_t size = (int64_t)tess_precision_bytes(m->precision);

    return (m->solver ? m->facts.kept_bytes : 0) + m->n * (2 * size + 3 * (int64_t)sizeof(double)) +
           (m->row_ptr ? (m->n + 1) * (int64_t)sizeof *m->row_ptr + m->count * (size + (int64_t)sizeof *m->column) : 0);
}

static void describe(const tess_precond *p, tess_precond_factors *out)
{
    const device_factors *m = p->own;

    *out = (tess_precond_factors){.factorization = TESS_FACTORIZATION_DEVICE};
    if (m->usable) { out->nonzeros = out->entries = m->facts.entries; }
}

static tess_status renew(tess_precond *p)
{
    return device_factors_renew(p->own);
}

static void destroy(tess_precond *p)
{
    device_factors_destroy(p->own);
}

/* Nothing can record an application: cuDSS allocates in it. */
#define OPERATIONS(KIND)                                                                             \
    .kind = (KIND), .on_host = true, .renew = renew, .apply = apply, .takes_columns = takes_columns, \
    .apply_columns = apply_columns, .bytes = bytes, .factors = describe, .destroy = destroy
static const tess_precond_ops lu = {OPERATIONS(TESS_PRECOND_LU), .solve_on_host = solve_on_host};
static const tess_precond_ops cholesky = {OPERATIONS(TESS_PRECOND_CHOLESKY), .solve_on_host = solve_on_host};
#undef OPERATIONS

tess_status direct_device_create(tess_precond *p, const tess_precond_options *options)
{
    const bool definite = options->kind == TESS_PRECOND_CHOLESKY;
    device_factors *m = NULL;
    tess_status status = TESS_SUCCESS;

    p->ops = definite ? &cholesky : &lu;
    if (!direct_take_device_analysis(p->matrix, definite, p->role.storage, &m)) {
        status = device_factors_analyse(p->matrix, definite, p->role.storage, options->direct.memory_limit, &m);
    }
    p->own = m;
    TESS_TRY(status);
    m->memory_limit = options->direct.memory_limit;
    if (m->n > 0) { status = device_factors_factor(m); }
cleanup:
    return status;
}

bool direct_note(const tess_precond *m, char *text, size_t length)
{
    if (!m || (m->kind != TESS_PRECOND_LU && m->kind != TESS_PRECOND_CHOLESKY)) { return false; }
    if (m->ctx->device != TESS_DEVICE_GPU) { return false; }
    if (m->ops->destroy != destroy && (m->matrix->nrows < DIRECT_DEVICE_LEAST_ROWS || cudss_is_here())) {
        return false;
    }
    if (m->ops->destroy != destroy) {
        (void)snprintf(text, length, "the host computed the factors, since cuDSS was not found: %s", DIRECT_CUDSS_HINT);
        return true;
    }
    if (((const device_factors *)m->own)->facts.changed_pivots == 0) { return false; }
    (void)snprintf(text, length, "cuDSS changed %s of %lld for being too small",
                   tess_count(((const device_factors *)m->own)->facts.changed_pivots, "pivot").text, (long long)m->n);
    return true;
}
