/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors on the host, for several columns: MUMPS reads each entry of the factors once for all. */
#include <limits.h>
#include <math.h>

#include "device/host/host.h"
#include "precond/direct/direct_host.h"

/* Rows that move at once, from rows to columns and back. */
enum { TILE = 16 };

/* Where the columns are, and how they are scaled: column c by 2^-exponent[c], in place[c] of `rhs`; -1: it is solved
   alone, because it is zero, not finite or beyond the range. */
typedef struct column_plan {
    int columns, count;
    int place[TESS_MAX_COLUMNS], exponent[TESS_MAX_COLUMNS];
} column_plan;

bool direct_takes_columns(const tess_precond *p)
{
    const direct_factors *m = p->own;

    return m && m->usable && m->n > 0;
}

void direct_release_columns(direct_factors *m)
{
    const int64_t values = m->n * m->columns.most;

    tess_host_release(m->ctx, m->columns.rhs, values, tess_precision_bytes(m->precision));
    tess_host_release(m->ctx, m->columns.alone, m->n, sizeof(double));
    tess_host_release(m->ctx, m->columns.copy, values, sizeof(double));
    m->columns = (direct_columns){.most = 0};
}

static tess_status make_room(direct_factors *m, int columns)
{
    tess_status status = TESS_SUCCESS;

    if (m->columns.most >= columns) { return TESS_SUCCESS; }
    direct_release_columns(m);
    m->columns.most = columns;
    TESS_TRY(tess_host_allocate(m->ctx, m->n * columns, tess_precision_bytes(m->precision), &m->columns.rhs));
    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof(double), (void **)&m->columns.alone));
    if (m->ctx->device == TESS_DEVICE_GPU) {
        TESS_TRY(tess_host_allocate(m->ctx, m->n * columns, sizeof(double), (void **)&m->columns.copy));
    }
cleanup:
    if (status != TESS_SUCCESS) { direct_release_columns(m); }
    return status;
}

/* largest[c]: the largest magnitude of D_r r; NaN: it is not finite. */
static void measure(const direct_factors *m, int columns, const double *r, double *largest)
{
    double odd[TESS_MAX_COLUMNS] = {0.0};

    for (int c = 0; c < columns; c++) {
        largest[c] = 0.0;
    }
    for (int64_t i = 0; i < m->n; i++) {
        const double scale = ldexp(1.0, m->row_exponent[i]);

        for (int c = 0; c < columns; c++) {
            const double value = fabs(r[i * columns + c]) * scale;

            largest[c] = value > largest[c] ? value : largest[c];
            odd[c] += value - value; /* NaN unless it is finite */
        }
    }
    for (int c = 0; c < columns; c++) {
        largest[c] += odd[c];
    }
}

static column_plan make_plan(const direct_factors *m, int columns, const double *r)
{
    double largest[TESS_MAX_COLUMNS];
    column_plan plan = {.columns = columns};

    measure(m, columns, r, largest);
    for (int c = 0; c < columns; c++) {
        const bool normal =
            m->moderate && largest[c] > 0.0 && isfinite(largest[c]) && direct_may_multiply(ilogb(largest[c]));

        plan.place[c] = normal ? plan.count++ : -1;
        plan.exponent[c] = normal ? ilogb(largest[c]) : 0;
    }
    return plan;
}

/* Rows begin .. end - 1 of column c: rhs := D_r r 2^-exponent. */
static void load_rows(const direct_factors *m, const column_plan *plan, int c, const double *r, const double *scale,
                      int64_t begin, int64_t end)
{
    const double own = ldexp(1.0, -plan->exponent[c]);
    const int64_t to = plan->place[c] * m->n;

    for (int64_t i = begin; i < end; i++) {
        const double value = r[i * plan->columns + c] * scale[i - begin] * own;

        if (m->precision == TESS_PRECISION_FP32) {
            ((float *)m->columns.rhs)[to + i] = (float)value;
        } else {
            ((double *)m->columns.rhs)[to + i] = value;
        }
    }
}

/* z := D_c rhs 2^exponent, or -z */
static void store_rows(const direct_factors *m, const column_plan *plan, int c, double *z, const double *scale,
                       int64_t begin, int64_t end)
{
    const double own = ldexp(m->negated ? -1.0 : 1.0, plan->exponent[c]);
    const int64_t from = plan->place[c] * m->n;

    for (int64_t i = begin; i < end; i++) {
        const double value = m->precision == TESS_PRECISION_FP32 ? (double)((const float *)m->columns.rhs)[from + i]
                                                                 : ((const double *)m->columns.rhs)[from + i];

        z[i * plan->columns + c] = value * own * scale[i - begin];
    }
}

/* From r by rows to columns, or from columns to z. */
static void move(const direct_factors *m, const column_plan *plan, const double *r, double *z)
{
    const int32_t *exponent = r ? m->row_exponent : m->column_exponent;

#pragma omp parallel for num_threads(m->ctx->threads) schedule(static)
    for (int64_t begin = 0; begin < m->n; begin += TILE) {
        const int64_t end = begin + TILE < m->n ? begin + TILE : m->n;
        double scale[TILE];

        for (int64_t i = begin; i < end; i++) {
            scale[i - begin] = ldexp(1.0, exponent[i]);
        }
        for (int c = 0; c < plan->columns; c++) {
            if (plan->place[c] < 0) { continue; }
            if (r) {
                load_rows(m, plan, c, r, scale, begin, end);
            } else {
                store_rows(m, plan, c, z, scale, begin, end);
            }
        }
    }
}

/* The others, one after another. */
static tess_status solve_rest(const direct_factors *m, const column_plan *plan, const double *r, double *z)
{
    double *const alone = m->columns.alone;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < plan->columns; c++) {
        if (plan->place[c] >= 0) { continue; }
        for (int64_t i = 0; i < m->n; i++) {
            alone[i] = r[i * plan->columns + c];
        }
        TESS_TRY(direct_solve(m, false, TESS_PRECISION_FP64, alone, alone));
        for (int64_t i = 0; i < m->n; i++) {
            z[i * plan->columns + c] = alone[i];
        }
    }
cleanup:
    return status;
}

static tess_status solve_columns(const direct_factors *m, int columns, const double *r, double *z)
{
    const column_plan plan = make_plan(m, columns, r);
    mumps_reply reply = {.code = 0};

    if (plan.count > 0) {
        move(m, &plan, r, NULL);
        reply = direct_run(m, false, plan.count, m->columns.rhs);
        if (reply.code < 0) { return direct_judge(m, "solve", &reply); }
    }
    if (plan.count < columns) {
        const tess_status status = solve_rest(m, &plan, r, z);

        if (status != TESS_SUCCESS) { return status; }
    }
    move(m, &plan, NULL, z);
    return TESS_SUCCESS;
}

tess_status direct_apply_columns(const tess_precond *p, int columns, const double *r, double *z)
{
    direct_factors *m = p->own;
    const size_t bytes = (size_t)m->n * (size_t)columns * sizeof *r;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(direct_require_usable(m));
    TESS_TRY(make_room(m, columns));
    if (!m->columns.copy) { return solve_columns(m, columns, r, z); }
    TESS_TRY(m->ctx->backend->download(m->ctx, m->columns.copy, r, bytes));
    TESS_TRY(solve_columns(m, columns, m->columns.copy, m->columns.copy));
    status = m->ctx->backend->upload(m->ctx, z, m->columns.copy, bytes);
cleanup:
    return status;
}

/* ---- where the caller has them ---- */

/* Right-hand sides so large or so small are scaled on the other way. */
enum { PLAIN_EXPONENT = 100 };

/* 2^exponent[i] of rows begin .. end - 1. */
static void powers_of(const int32_t *exponent, int64_t begin, int64_t end, double *scale)
{
    for (int64_t i = begin; i < end; i++) {
        scale[i - begin] = direct_power_of_two(exponent[i]);
    }
}

/* z := D_r r in rows begin .. end - 1. False: a value is NaN, Inf, or too large. */
static bool load_tile(const direct_factors *m, const tess_columns *r, const tess_columns *z, int64_t begin, int64_t end)
{
    const double most = direct_power_of_two(PLAIN_EXPONENT);
    double scale[TILE];
    bool plain = true;

    powers_of(m->row_exponent, begin, end, scale);
    for (int64_t c = 0; c < r->columns; c++) {
        const double *const from = r->data + c * r->column_stride;
        double *const to = z->data + c * z->column_stride;

        for (int64_t i = begin; i < end; i++) {
            to[i] = from[i * r->row_stride] * scale[i - begin];
            plain = plain && fabs(to[i]) < most;
        }
    }
    return plain;
}

static void store_tile(const direct_factors *m, const tess_columns *z, int64_t begin, int64_t end)
{
    const double sign = m->negated ? -1.0 : 1.0;
    double scale[TILE];

    powers_of(m->column_exponent, begin, end, scale);
    for (int64_t c = 0; c < z->columns; c++) {
        double *const to = z->data + c * z->column_stride;

        for (int64_t i = begin; i < end; i++) {
            to[i] = sign * (to[i] * scale[i - begin]);
        }
    }
}

/* Whether each column has a value, so that none is lost below the normal numbers. */
static bool are_plain(const tess_columns *z)
{
    const double least = direct_power_of_two(-PLAIN_EXPONENT);

    for (int64_t c = 0; c < z->columns; c++) {
        const double *const of = z->data + c * z->column_stride;
        int64_t i = 0;

        while (i < z->rows && !(fabs(of[i]) > least)) {
            i++;
        }
        if (i == z->rows) { return false; }
    }
    return true;
}

tess_status direct_apply_where_they_are(const tess_precond *p, const tess_columns *r, const tess_columns *z, bool *done)
{
    const direct_factors *m = p->own;
    bool plain = true;
    mumps_reply reply;

    *done = false;
    if (!direct_takes_columns(p) || m->ctx->device != TESS_DEVICE_CPU || m->precision != TESS_PRECISION_FP64 ||
        !m->moderate || z->row_stride != 1 || z->column_stride != m->n || z->columns == 0 || z->columns > INT_MAX / 2) {
        return TESS_SUCCESS;
    }
#pragma omp parallel for num_threads(host_threads_for(m->ctx, m->n * r->columns)) schedule(static) reduction(&& : plain)
    for (int64_t begin = 0; begin < m->n; begin += TILE) {
        plain = load_tile(m, r, z, begin, begin + TILE < m->n ? begin + TILE : m->n) && plain;
    }
    if (!plain || !are_plain(z)) { return TESS_SUCCESS; }
    reply = direct_run(m, false, (int)z->columns, z->data);
    if (reply.code < 0) { return direct_judge(m, "solve", &reply); }
#pragma omp parallel for num_threads(host_threads_for(m->ctx, m->n * r->columns)) schedule(static)
    for (int64_t begin = 0; begin < m->n; begin += TILE) {
        store_tile(m, z, begin, begin + TILE < m->n ? begin + TILE : m->n);
    }
    *done = true;
    return TESS_SUCCESS;
}
