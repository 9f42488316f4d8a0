/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lu and cholesky on a GPU. The host reads and scales the values, once for each version of them: D_r A D_c
 * (matrix/equilibrate.h). cuDSS orders, factors and solves on the context's stream, and vectors stay on the device.
 */
#include "precond/direct/direct_device.h"

#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "base/deadline.h"
#include "base/stages.h"

static const char *name_of(const device_factors *m)
{
    return m->cholesky ? "cholesky" : "lu";
}

/* ---- arrays ---- */

static void release_matrix(device_factors *m)
{
    cudss_close(m->solver);
    m->solver = NULL;
    tess_device_release(m->ctx, m->row_ptr, m->n + 1, sizeof *m->row_ptr);
    tess_device_release(m->ctx, m->column, m->count, sizeof *m->column);
    tess_device_release(m->ctx, m->val, m->count, tess_precision_bytes(m->precision));
    m->row_ptr = m->column = NULL;
    m->val = NULL;
}

void device_factors_release_columns(device_factors *m)
{
    const int64_t values = m->n * m->columns.most;

    tess_device_release(m->ctx, m->columns.rhs, values, tess_precision_bytes(m->precision));
    tess_device_release(m->ctx, m->columns.solution, values, tess_precision_bytes(m->precision));
    tess_device_release(m->ctx, m->columns.work, values, sizeof(double));
    m->columns = (device_columns){.most = 0};
}

void device_factors_destroy(device_factors *m)
{
    const size_t size = m ? tess_precision_bytes(m->precision) : 0;

    if (!m) { return; }
    release_matrix(m);
    device_factors_release_columns(m);
    tess_device_release(m->ctx, m->rhs, m->n, size);
    tess_device_release(m->ctx, m->solution, m->n, size);
    tess_device_release(m->ctx, m->row_scale, m->n, sizeof *m->row_scale);
    tess_device_release(m->ctx, m->column_scale, m->n, sizeof *m->column_scale);
    tess_device_release(m->ctx, m->work, m->n, sizeof *m->work);
    tess_host_release(m->ctx, m, 1, sizeof *m);
}

static tess_status allocate(device_factors *m)
{
    const size_t size = tess_precision_bytes(m->precision);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(m->ctx, m->n, size, &m->rhs));
    TESS_TRY(tess_device_allocate(m->ctx, m->n, size, &m->solution));
    TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *m->row_scale, (void **)&m->row_scale));
    TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *m->column_scale, (void **)&m->column_scale));
    status = tess_device_allocate(m->ctx, m->n, sizeof *m->work, (void **)&m->work);
cleanup:
    return status;
}

/* row_ptr from the row of each entry, both from 1. */
static tess_status upload_pattern(device_factors *m, const direct_system *s)
{
    int32_t *start = NULL;
    int64_t k = 0;
    tess_status status = TESS_SUCCESS;

    if (s->count >= INT32_MAX) {
        return tess_fail(m->ctx, TESS_OUT_OF_RANGE, "choose amg or ilu0", "%s: cuDSS takes fewer than 2^31 entries",
                         name_of(m));
    }
    TESS_TRY(tess_host_allocate(m->ctx, m->n + 1, sizeof *start, (void **)&start));
    for (int64_t i = 0; i <= m->n; i++) {
        while (k < s->count && s->row[k] <= i) {
            k++;
        }
        start[i] = (int32_t)k + 1;
    }
    m->count = s->count;
    TESS_TRY(tess_device_upload(m->ctx, start, m->n + 1, sizeof *start, (void **)&m->row_ptr));
    TESS_TRY(tess_device_upload(m->ctx, s->column, m->count, sizeof *m->column, (void **)&m->column));
    status = tess_device_allocate(m->ctx, m->count, tess_precision_bytes(m->precision), &m->val);
cleanup:
    tess_host_release(m->ctx, start, m->n + 1, sizeof *start);
    return status;
}

/* Cuts the exponents, and turns them into factors on the device. `factors`: n values of work space. */
static tess_status upload_scale(const device_factors *m, const int32_t *exponent, double *factors, double *scale)
{
    for (int64_t i = 0; i < m->n; i++) {
        factors[i] = ldexp(1.0, exponent[i]);
    }
    return m->ctx->backend->upload(m->ctx, scale, factors, (size_t)m->n * sizeof *factors);
}

/* Scales the values of s, and uploads the factors. */
static tess_status scale(device_factors *m, direct_system *s)
{
    int32_t *exponents = NULL;
    double *factors = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, 2 * m->n, sizeof *exponents, (void **)&exponents));
    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *factors, (void **)&factors));
    TESS_TRY(direct_scale(s, m->precision, DEVICE_MOST_EXPONENT, exponents, exponents + m->n));
    TESS_TRY(upload_scale(m, exponents, factors, m->row_scale));
    status = upload_scale(m, exponents + m->n, factors, m->column_scale);
cleanup:
    tess_host_release(m->ctx, exponents, 2 * m->n, sizeof *exponents);
    tess_host_release(m->ctx, factors, m->n, sizeof *factors);
    return status;
}

/* ---- set-up ---- */

/* Of the matrix on the device. */
static tess_status open_solver(device_factors *m)
{
    const cudss_arrays arrays = {.n = m->n,
                                 .count = m->count,
                                 .row_ptr = m->row_ptr,
                                 .column = m->column,
                                 .val = m->val,
                                 .rhs = m->rhs,
                                 .solution = m->solution};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(cudss_open(m->ctx, m->precision, m->symmetry, m->repeatable, &arrays, &m->solver));
    TESS_TRY(cudss_analyse(m->solver, &m->facts));
    TESS_TRY(direct_check_memory(m->ctx, name_of(m), m->facts.peak_bytes,
                                 direct_allowed_memory(m->ctx, m->memory_limit, true)));
    status = tess_stage_end(m->ctx, "analysis of the factors");
cleanup:
    if (status != TESS_SUCCESS) { release_matrix(m); } /* other values are analysed anew */
    return status;
}

/* All diagonal entries are positive, or all negative. */
static bool has_one_sign(const direct_system *s, int64_t n)
{
    int64_t positive = 0, negative = 0;

    for (int64_t k = 0; k < s->count; k++) {
        positive += s->row[k] == s->column[k] && s->val[k] > 0.0;
        negative += s->row[k] == s->column[k] && s->val[k] < 0.0;
    }
    return positive == n || negative == n;
}

static tess_status analyse(device_factors *m, const direct_system *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(m->ctx, name_of(m)));
    release_matrix(m);
    m->symmetry = s->symmetry;
    m->repeatable = s->symmetry != MUMPS_INDEFINITE || has_one_sign(s, m->n);
    TESS_TRY(upload_pattern(m, s));
    TESS_TRY(
        m->ctx->backend->upload(m->ctx, m->val, s->rounded, (size_t)m->count * tess_precision_bytes(m->precision)));
    status = open_solver(m);
cleanup:
    if (status != TESS_SUCCESS) { release_matrix(m); }
    return status;
}

/* Reads the values; analyses the first ones, and again if the matrix gains or loses its symmetry. */
static tess_status take_values(device_factors *m)
{
    direct_system s;
    tess_status status = TESS_SUCCESS;

    m->usable = false;
    m->values_version = m->matrix->values_version;
    TESS_TRY(direct_read_form(m->matrix, m->cholesky, &s));
    TESS_TRY(direct_check_values(&s, name_of(m), m->cholesky));
    m->negated = s.negated;
    TESS_TRY(scale(m, &s));
    if (m->solver && m->symmetry == s.symmetry) {
        status =
            m->ctx->backend->upload(m->ctx, m->val, s.rounded, (size_t)m->count * tess_precision_bytes(m->precision));
    } else {
        status = analyse(m, &s);
    }
cleanup:
    direct_release(&s);
    return status;
}

static tess_status judge(const device_factors *m)
{
    const cudss_facts *f = &m->facts;
    const char *precision = tess_precision_name(m->precision);

    if (m->cholesky && (f->info != 0 || f->changed_pivots > 0)) {
        return tess_fail(m->ctx, TESS_SINGULAR, "use lu; for a large condition number --precond-precision fp64",
                         "cholesky: the matrix is not positive definite in %s, as cuDSS finds (%d, %s)", precision,
                         f->info, tess_count(f->changed_pivots, "changed pivot").text);
    }
    if (f->info != 0 || f->changed_pivots == m->n) {
        return tess_fail(m->ctx, TESS_SINGULAR,
                         "try --precond-precision fp64, or ilut or ilu0, which shift the diagonal",
                         "lu: the matrix is singular in %s, as cuDSS finds (%d, %s)", precision, f->info,
                         tess_count(f->changed_pivots, "changed pivot").text);
    }
    if (f->changed_pivots > 0) {
        tess_log(m->ctx, TESS_LOG_INFO, "lu: cuDSS changed %s of %lld for being too small in %s",
                 tess_count(f->changed_pivots, "pivot").text, (long long)m->n, precision);
    }
    return TESS_SUCCESS;
}

static tess_status factor(device_factors *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(m->ctx, name_of(m)));
    TESS_TRY(direct_check_time(m->ctx, name_of(m), m->facts.flops, DIRECT_DEVICE_FLOP_SECONDS));
    status = cudss_factor(m->solver, &m->facts);
cleanup:
    return status;
}

tess_status device_factors_factor(device_factors *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(factor(m));
    if (m->repeatable && m->symmetry == MUMPS_INDEFINITE && m->facts.changed_pivots > 0) {
        m->repeatable = false;
        cudss_close(m->solver);
        m->solver = NULL;
        TESS_TRY(open_solver(m));
        TESS_TRY(factor(m));
    }
    TESS_TRY(judge(m));
    m->usable = true;
    status = tess_stage_end(m->ctx, "factors");
cleanup:
    return status;
}

tess_status device_factors_analyse(const tess_matrix *a, bool cholesky, tess_precision precision, int64_t memory_limit,
                                   device_factors **out)
{
    device_factors *m = NULL;
    tess_status status = tess_host_allocate(a->ctx, 1, sizeof *m, (void **)out);

    if (status != TESS_SUCCESS) { return status; }
    m = *out;
    memset(m, 0, sizeof *m);
    m->ctx = a->ctx;
    m->matrix = a;
    m->n = a->nrows;
    m->cholesky = cholesky;
    m->precision = precision;
    m->memory_limit = memory_limit;
    TESS_TRY(allocate(m));
    if (m->n > 0) { status = take_values(m); }
cleanup:
    return status;
}

bool device_factors_fit(const device_factors *m, bool cholesky, tess_precision precision, uint64_t values_version)
{
    return m->solver && m->cholesky == cholesky && m->precision == precision && m->values_version == values_version;
}

tess_status device_factors_renew(device_factors *m)
{
    tess_status status = TESS_SUCCESS;

    if (m->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(take_values(m));
    status = device_factors_factor(m);
cleanup:
    return status;
}
