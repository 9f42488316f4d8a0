/* SPDX-License-Identifier: Apache-2.0 */
/*
 * True residuals of several columns in one pass over an assembled matrix on the host. Each column has the bits that
 * tessera/residual.h gives it alone: a lane does the same operations in the same order.
 */
#include <math.h>

#include "device/host/host.h"
#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

/* Rows of b come from far apart in an array of many columns: they are asked for so many rows ahead. */
enum { LANES = 4, WIDTH = RESIDUAL_GROUP, AHEAD = 12 };

/* Four columns. Functions take pointers: one that returned such a vector would warn that its calls differ between
   processors. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef int64_t lane_bits __attribute__((vector_size(LANES * sizeof(int64_t)), aligned(8), may_alias));

#define LOAD(from) (*(const lanes *)(from))
#define STORE(to, value) (*(lanes *)(to) = (value))
#define ALL(value) ((lanes){(value), (value), (value), (value)})
#define MAGNITUDE(v) ((lanes)((lane_bits)(v)&INT64_MAX))

/* ---- a row: tess_row_sum ---- */

typedef struct lane_row {
    lanes high, low, errors, magnitude;
} lane_row;

TESS_INLINE void start_row(lane_row *r, const double *b)
{
    r->high = LOAD(b);
    r->low = r->errors = ALL(0.0);
    r->magnitude = MAGNITUDE(r->high);
}

/* low := a b - high */
TESS_INLINE void rest_of_product(const lanes *a, const lanes *b, const lanes *high, lanes *low)
{
    for (int l = 0; l < LANES; l++) {
        (*low)[l] = fma((*a)[l], (*b)[l], -(*high)[l]);
    }
}

/* least: TESS_LEAST_EXACT_PRODUCT, or less than 0 where a is 0. */
TESS_INLINE void add_entry(lane_row *r, double a, double least, const double *from)
{
    const lanes x = LOAD(from), minus = ALL(-a), product = minus * x, sum = r->high + product;
    const lanes moved = sum - r->high, rest = (r->high - (sum - moved)) + (product - moved);
    const lane_bits vanishes = (MAGNITUDE(product) < least) & (x != 0.0);
    lanes low;

    rest_of_product(&minus, &x, &product, &low);
    r->high = sum;
    r->low += rest;
    r->low += low;
    r->errors += MAGNITUDE(rest) + MAGNITUDE(low) + (lanes)(vanishes & (lane_bits)ALL(TESS_UNDERFLOW_WORD));
    r->magnitude += MAGNITUDE(product);
}

/* ---- sums over rows: tess_residual_sums ---- */

typedef struct lane_pair {
    lanes high, low;
} lane_pair;

typedef struct lane_sums {
    lane_pair squares, rhs, rows, rows_rhs;
    lanes bounds, magnitudes, rows_bounds, backward, backward_most;
    int64_t backward_row[LANES];
} lane_sums;

/* What a row's columns share. */
typedef struct row_factors {
    int64_t row;
    double scale, largest, factor, roundings, gamma;
    bool one; /* `factor` loses no digits */
} row_factors;

static void start_sums(lane_sums *s)
{
    *s = (lane_sums){.bounds = ALL(0.0)};
    for (int l = 0; l < LANES; l++) {
        s->backward_row[l] = INT64_MAX;
    }
}

static tess_residual_sums sums_of_lane(const lane_sums *s, int l)
{
    return (tess_residual_sums){.squares = {s->squares.high[l], s->squares.low[l]},
                                .bounds = s->bounds[l],
                                .magnitudes = s->magnitudes[l],
                                .rhs = {s->rhs.high[l], s->rhs.low[l]},
                                .rows = {s->rows.high[l], s->rows.low[l]},
                                .rows_bounds = s->rows_bounds[l],
                                .rows_rhs = {s->rows_rhs.high[l], s->rows_rhs.low[l]},
                                .backward = s->backward[l],
                                .backward_most = s->backward_most[l],
                                .backward_row = s->backward_row[l]};
}

static row_factors factors_of(int64_t row, int64_t length, double largest, double scale)
{
    const double additions = 2.0 * (double)length;
    row_factors f = {.row = row,
                     .scale = scale,
                     .largest = largest > 0.0 ? largest : 1.0,
                     .roundings = (double)(length + 2),
                     .gamma = 2.0 * (additions * TESS_U64 / (1.0 - additions * TESS_U64))};

    f.factor = scale / f.largest;
    f.one = f.factor >= TESS_LEAST_FACTOR && f.factor <= TESS_MOST_FACTOR;
    return f;
}

/* sum += v^2 */
TESS_INLINE void add_square(lane_pair *sum, const lanes *v)
{
    const lanes product = *v * *v, high = sum->high + product, moved = high - sum->high;
    lanes low;

    rest_of_product(v, v, &product, &low);
    sum->low += (sum->high - (high - moved)) + (product - moved);
    sum->low += low;
    sum->high = high;
}

TESS_INLINE void over_largest(const row_factors *f, const lanes *v, lanes *out)
{
    *out = f->one ? f->factor * *v : f->scale * *v / f->largest;
}

/* Few rows have a backward error that may be the largest so far. */
TESS_INLINE void add_backward(lane_sums *s, const row_factors *f, const lane_row *r, const lanes *value,
                              const lanes *bound)
{
    const lanes size = MAGNITUDE(*value), most = size + *bound;
    const lanes least = r->magnitude * (1.0 - f->roundings * TESS_U64) - f->roundings * TESS_LEAST64;
    const lane_bits smaller = (size < s->backward * r->magnitude) & (most < s->backward_most * least);
    const lane_bits open = ~smaller & (most != 0.0);

    if (!(open[0] | open[1] | open[2] | open[3])) { return; }
    for (int l = 0; l < LANES; l++) {
        tess_residual_sums one = sums_of_lane(s, l);
        const tess_row_terms terms = {.row = f->row,
                                      .value = (*value)[l],
                                      .bound = (*bound)[l],
                                      .magnitude = r->magnitude[l],
                                      .roundings = f->roundings};

        tess_residual_sums_add_backward(&one, &terms);
        s->backward[l] = one.backward;
        s->backward_most[l] = one.backward_most;
        s->backward_row[l] = one.backward_row;
    }
}

/* The row to the sums; `residual`: room for its values, or NULL. */
TESS_INLINE void finish_row(lane_sums *s, const row_factors *f, const lane_row *r, const double *b, double *residual)
{
    const lanes value = r->high + r->low, rhs = LOAD(b);
    const lanes bound = (TESS_U64 * MAGNITUDE(value) + f->gamma * r->errors) * (1.0 + 8.0 * TESS_U64);
    const lanes e = f->scale * bound, m = f->scale * r->magnitude;
    lanes v = f->scale * value, w = f->scale * rhs, scaled;

    if (residual) { STORE(residual, value); }
    add_square(&s->squares, &v);
    s->bounds += e * e;
    s->magnitudes += m * m;
    add_square(&s->rhs, &w);
    over_largest(f, &value, &v);
    over_largest(f, &rhs, &w);
    over_largest(f, &bound, &scaled);
    scaled += 4.0 * TESS_U64 * MAGNITUDE(v);
    add_square(&s->rows, &v);
    s->rows_bounds += scaled * scaled;
    add_square(&s->rows_rhs, &w);
    add_backward(s, f, r, &value, &bound);
}

/* ---- blocks of rows ---- */

/* Of a group: `width` columns, LANES or WIDTH, which the compiler knows. */
TESS_INLINE void residuals_of_rows(int width, const csr_view *v, const residual_columns *q, int group, int64_t begin,
                                   int64_t end, lane_sums *sums)
{
    const double *val = v->val, *of_b = q->b + group * q->b_group, *of_x = q->x + group * q->x_group;
    const double scale = ldexp(1.0, -q->exponent);
    const int high = width == WIDTH ? LANES : 0;

    start_sums(&sums[0]);
    start_sums(&sums[1]);
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = csr_offset(v, i), to = csr_offset(v, i + 1);
        const double *const b = of_b + i * q->b_stride;
        const uintptr_t ahead = (uintptr_t)b + (uintptr_t)(AHEAD * q->b_stride) * sizeof *b;
        double *const residual = q->residual ? q->residual + (group * v->nrows + i) * WIDTH : NULL;
        double largest = 0.0;
        lane_row left, right;
        row_factors factors;

        __builtin_prefetch((const void *)ahead, 0, 3);
        __builtin_prefetch((const void *)(ahead + (WIDTH - 1) * sizeof *b), 0, 3);
        start_row(&left, b);
        if (high) { start_row(&right, b + high); }
        for (int64_t k = from; k < to; k++) {
            const double a = val[k], least = a != 0.0 ? TESS_LEAST_EXACT_PRODUCT : -1.0;
            const double *const x = of_x + v->col_ind[k] * q->x_stride;

            add_entry(&left, a, least, x);
            if (high) { add_entry(&right, a, least, x + high); }
            largest = tess_larger_of(largest, fabs(a));
        }
        factors = factors_of(i, to - from, largest, scale);
        finish_row(&sums[0], &factors, &left, b, residual);
        if (high) { finish_row(&sums[1], &factors, &right, b + high, residual ? residual + high : NULL); }
    }
}

HOST_CLONES static void four_columns(const csr_view *v, const residual_columns *q, int group, int64_t begin,
                                     int64_t end, lane_sums *sums)
{
    residuals_of_rows(LANES, v, q, group, begin, end, sums);
}

HOST_CLONES static void eight_columns(const csr_view *v, const residual_columns *q, int group, int64_t begin,
                                      int64_t end, lane_sums *sums)
{
    residuals_of_rows(WIDTH, v, q, group, begin, end, sums);
}

/* A group of columns in a block of rows. */
static void residuals_of_block(const csr_view *v, const residual_columns *q, int group, int64_t block,
                               tess_residual_sums *sums)
{
    const int64_t begin = block * HOST_BLOCK, end = begin + HOST_BLOCK < v->nrows ? begin + HOST_BLOCK : v->nrows;
    const int rest = q->columns - group * WIDTH, count = rest < WIDTH ? rest : WIDTH;
    lane_sums of_lanes[WIDTH / LANES];

    (count <= LANES ? four_columns : eight_columns)(v, q, group, begin, end, of_lanes);
    for (int c = 0; c < count; c++) {
        sums[c] = sums_of_lane(&of_lanes[c / LANES], c % LANES);
    }
}

tess_status true_residuals_host(const tess_matrix *assembled, const residual_columns *q, tess_residual_sums *sums)
{
    tess_context *ctx = assembled->ctx;
    const csr_view *v = &csr_of(assembled)->view;
    const int64_t nblocks = (v->nrows + HOST_BLOCK - 1) / HOST_BLOCK, groups = (q->columns + WIDTH - 1) / WIDTH;
    double *partials = NULL;
    tess_residual_sums *of_block = NULL;
    const tess_status status =
        host_partials(ctx, (int64_t)(sizeof *sums / sizeof *partials) * nblocks * groups * WIDTH, &partials);

    if (status != TESS_SUCCESS) { return status; }
    of_block = (tess_residual_sums *)(void *)partials;
#pragma omp parallel for num_threads(host_threads_for(ctx, v->nnz * q->columns)) schedule(dynamic, 1)
    for (int64_t part = 0; part < nblocks * groups; part++) {
        residuals_of_block(v, q, (int)(part / nblocks), part % nblocks, of_block + part * WIDTH);
    }
    for (int c = 0; c < q->columns; c++) {
        sums[c] = tess_residual_sums_start();
        for (int64_t block = 0; block < nblocks; block++) {
            tess_residual_sums_add(&sums[c], &of_block[(c / WIDTH * nblocks + block) * WIDTH + c % WIDTH]);
        }
    }
    return TESS_SUCCESS;
}
