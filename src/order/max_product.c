/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maximum-product transversal and its scalings: an assignment of least cost with c_ij = log2 max_i |a_ij| - log2 |a_ij|
 * (Duff, Koster 2001, section 3), whose duals are the logarithms of the scalings.
 */
#include <float.h>
#include <math.h>

#include "base/offsets.h"
#include "order/order.h"

/* Logarithms are integers in units of 2^-48. */
enum { LOG_BITS = 48 };
#define LOG_ONE (INT64_C(1) << LOG_BITS)
/* Exponents of scale factors that are normal numbers. */
enum { MIN_EXPONENT = -1022, MAX_EXPONENT = 1022 };

typedef struct costs {
    int64_t *first;   /* n + 1 */
    int64_t *cost;    /* nnz */
    int64_t *largest; /* n: the largest logarithm of a column */
} costs;

/* log2 |a| to the nearest unit. The exponent is separate, so that it costs no digits. */
static int64_t logarithm(double a)
{
    int exponent = 0;
    double significand = frexp(fabs(a), &exponent); /* 1/2 .. 1 */

    return exponent * LOG_ONE + llrint(ldexp(log2(significand), LOG_BITS));
}

/* 2^log as a double. */
static double power(int64_t log)
{
    int64_t whole = log >> LOG_BITS; /* towards minus infinity */

    return ldexp(exp2(ldexp((double)(log - whole * LOG_ONE), -LOG_BITS)), (int)whole);
}

/* ---- costs ---- */

static tess_status take_logarithms(tess_context *ctx, const tess_csr_view *a, costs *c)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = c->first[i]; k < c->first[i + 1]; k++) {
            double value = a->val[k];

            if (!isfinite(value)) {
                return tess_fail(ctx, TESS_OUT_OF_RANGE, "remove NaN and Inf from the matrix",
                                 "max-product needs finite values, but the entry in row %lld, column %lld is %g",
                                 tess_number(ctx, i), tess_number(ctx, a->col_ind[k]), value);
            }
            c->cost[k] = value == 0.0 ? ORDER_NO_COST : logarithm(value);
        }
    }
    return TESS_SUCCESS;
}

static void subtract_from_largest(const tess_csr_view *a, costs *c)
{
    for (int64_t j = 0; j < a->ncols; j++) {
        c->largest[j] = INT64_MIN;
    }
    for (int64_t k = 0; k < a->nnz; k++) {
        int64_t *largest = &c->largest[a->col_ind[k]];

        if (c->cost[k] != ORDER_NO_COST && c->cost[k] > *largest) { *largest = c->cost[k]; }
    }
    for (int64_t k = 0; k < a->nnz; k++) {
        if (c->cost[k] != ORDER_NO_COST) { c->cost[k] = c->largest[a->col_ind[k]] - c->cost[k]; }
    }
}

static tess_status find_costs(tess_context *ctx, const tess_csr_view *a, costs *c)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, sizeof *c->first, (void **)&c->first));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *c->cost, (void **)&c->cost));
    TESS_TRY(tess_host_allocate(ctx, a->ncols, sizeof *c->largest, (void **)&c->largest));
    for (int64_t i = 0; i <= a->nrows; i++) {
        c->first[i] = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
    }
    TESS_TRY(take_logarithms(ctx, a, c));
    subtract_from_largest(a, c);
cleanup:
    return status;
}

static void release_costs(tess_context *ctx, const tess_csr_view *a, costs *c)
{
    tess_host_release(ctx, c->first, a->nrows + 1, sizeof *c->first);
    tess_host_release(ctx, c->cost, a->nnz, sizeof *c->cost);
    tess_host_release(ctx, c->largest, a->ncols, sizeof *c->largest);
}

/* ---- results ---- */

typedef struct range {
    int64_t low, high;
} range;

static range range_of(int64_t n, const int64_t *log)
{
    range r = {0, 0};

    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || log[i] < r.low) { r.low = log[i]; }
        if (i == 0 || log[i] > r.high) { r.high = log[i]; }
    }
    return r;
}

/* Multiplying rows by 2^shift and columns by 2^-shift gives the same scaling: the least shift for which all factors are
   normal numbers. */
static bool find_shift(range rows, range columns, int64_t *shift)
{
    int64_t least = MIN_EXPONENT * LOG_ONE, most = MAX_EXPONENT * LOG_ONE;
    int64_t low = least - rows.low > columns.high - most ? least - rows.low : columns.high - most;
    int64_t high = most - rows.high < columns.low - least ? most - rows.high : columns.low - least;

    *shift = low > 0 ? low : high < 0 ? high : 0;
    return low <= high;
}

/* From u_i + v_j <= largest_j - log2 |a_ij|: the scalings are 2^u_i and 2^(v_j - largest_j). */
static tess_status write_scales(tess_context *ctx, order_matching *m, const costs *c, double *row_scale,
                                double *col_scale)
{
    int64_t shift = 0;

    for (int64_t j = 0; j < m->n; j++) {
        m->v[j] -= c->largest[j];
    }
    if (!find_shift(range_of(m->n, m->u), range_of(m->n, m->v), &shift)) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "scale the rows and columns roughly first",
                         "the scale factors of max-product exceed the range of FP64");
    }
    for (int64_t i = 0; i < m->n; i++) {
        if (row_scale) { row_scale[i] = power(m->u[i] + shift); }
        if (col_scale) { col_scale[i] = power(m->v[i] - shift); }
    }
    return TESS_SUCCESS;
}

static tess_status match_view(tess_context *ctx, const tess_csr_view *a, order_matching *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->column_of, (void **)&m->column_of));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->row_of, (void **)&m->row_of));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->u, (void **)&m->u));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->v, (void **)&m->v));
    m->column = a->col_ind;
    TESS_TRY(match_rows(ctx, m));
    if (m->count < m->n) {
        return tess_fail(ctx, TESS_SINGULAR, "look for missing entries, or leave out the scaling by max-product",
                         "the matrix is structurally singular: its structural rank is %lld of %lld",
                         (long long)m->count, (long long)m->n);
    }
cleanup:
    return status;
}

static void release_matching(tess_context *ctx, order_matching *m)
{
    tess_host_release(ctx, m->column_of, m->n, sizeof *m->column_of);
    tess_host_release(ctx, m->row_of, m->n, sizeof *m->row_of);
    tess_host_release(ctx, m->u, m->n, sizeof *m->u);
    tess_host_release(ctx, m->v, m->n, sizeof *m->v);
}

tess_status tess_order_max_product(const tess_matrix *a, int32_t *row_perm, double *row_scale, double *col_scale)
{
    TESS_REQUIRE(NULL, a);
    static const char *const purpose = "a maximum-product matching";
    order_input in = {.ctx = NULL};
    order_matching m = {.n = a->nrows};
    costs c = {.first = NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_square(a, purpose));
    TESS_TRY(open_order_input(a, purpose, &in));
    TESS_TRY(find_costs(a->ctx, &in.view, &c));
    m.first = c.first;
    m.cost = c.cost;
    TESS_TRY(match_view(a->ctx, &in.view, &m));
    for (int64_t j = 0; row_perm && j < m.n; j++) {
        row_perm[j] = m.row_of[j];
    }
    status = write_scales(a->ctx, &m, &c, row_scale, col_scale);
cleanup:
    release_matching(a->ctx, &m);
    release_costs(a->ctx, &in.view, &c);
    close_order_input(&in);
    return status;
}

void tess_order_round_scale(int64_t n, double *scale)
{
    if (!scale) { return; }
    for (int64_t i = 0; i < n; i++) {
        int exponent = 0;
        double significand = frexp(scale[i], &exponent);

        scale[i] = ldexp(1.0, significand * significand < 0.5 || exponent >= DBL_MAX_EXP ? exponent - 1 : exponent);
    }
}
