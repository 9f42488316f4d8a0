/* SPDX-License-Identifier: Apache-2.0 */
/*
 * True residuals of assembled matrices on the host, of one column or of several in one pass. A lane does the operations
 * of tessera/residual.h in their order: four rows of one column are lanes, or four columns of one row, with the same
 * bits.
 */
#include <math.h>
#include <string.h>

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

/* least: TESS_LEAST_EXACT_PRODUCT, or at most 0 where a is 0. */
TESS_INLINE void add_entry(lane_row *r, const lanes *a, const lanes *least, const lanes *x)
{
    const lanes minus = -*a, product = minus * *x, sum = r->high + product;
    const lanes moved = sum - r->high, rest = (r->high - (sum - moved)) + (product - moved);
    const lane_bits vanishes = (MAGNITUDE(product) < *least) & (*x != 0.0);
    lanes low;

    rest_of_product(&minus, x, &product, &low);
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

/* What else the sums take of a lane's row. */
typedef struct lane_factors {
    int64_t row[LANES];
    lanes largest, factor, roundings, gamma;
    double scale;
    bool one; /* `factor` loses no digits in any lane */
} lane_factors;

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

/* Of rows with so many entries, and so large ones. */
TESS_INLINE void set_factors(const lanes *length, const lanes *largest, double scale, lane_factors *f)
{
    const lanes additions = 2.0 * *length;

    f->scale = scale;
    f->roundings = *length + 2.0;
    f->gamma = 2.0 * (additions * TESS_U64 / (1.0 - additions * TESS_U64));
    f->one = true;
    for (int l = 0; l < LANES; l++) {
        f->largest[l] = (*largest)[l] > 0.0 ? (*largest)[l] : 1.0;
    }
    f->factor = scale / f->largest;
    for (int l = 0; l < LANES; l++) {
        f->one = f->one && f->factor[l] >= TESS_LEAST_FACTOR && f->factor[l] <= TESS_MOST_FACTOR;
    }
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

TESS_INLINE void over_largest(const lane_factors *f, const lanes *v, lanes *out)
{
    *out = f->factor * *v;
    for (int l = 0; l < LANES && !f->one; l++) {
        if (!(f->factor[l] >= TESS_LEAST_FACTOR && f->factor[l] <= TESS_MOST_FACTOR)) {
            (*out)[l] = f->scale * (*v)[l] / f->largest[l];
        }
    }
}

/* Few rows have a backward error that may be the largest so far. */
TESS_INLINE void add_backward(lane_sums *s, const lane_factors *f, const lane_row *r, const lanes *value,
                              const lanes *bound)
{
    const lanes size = MAGNITUDE(*value), most = size + *bound;
    const lanes least = r->magnitude * (1.0 - f->roundings * TESS_U64) - f->roundings * TESS_LEAST64;
    const lane_bits smaller = (size < s->backward * r->magnitude) & (most < s->backward_most * least);
    const lane_bits open = ~smaller & (most != 0.0);

    if (!(open[0] | open[1] | open[2] | open[3])) { return; }
    for (int l = 0; l < LANES; l++) {
        tess_residual_sums one = sums_of_lane(s, l);
        const tess_row_terms terms = {.row = f->row[l],
                                      .value = (*value)[l],
                                      .bound = (*bound)[l],
                                      .magnitude = r->magnitude[l],
                                      .roundings = f->roundings[l]};

        tess_residual_sums_add_backward(&one, &terms);
        s->backward[l] = one.backward;
        s->backward_most[l] = one.backward_most;
        s->backward_row[l] = one.backward_row;
    }
}

/* The row to the sums; `residual`: room for its values, or NULL. */
TESS_INLINE void finish_row(lane_sums *s, const lane_factors *f, const lane_row *r, const double *b, double *residual)
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

/* Row i adds to the sums i mod LANES, which are added up last: so four rows of one column are lanes, too. */
static void join_sums(const tess_residual_sums *parts, tess_residual_sums *out)
{
    *out = parts[0];
    for (int k = 1; k < LANES; k++) {
        tess_residual_sums_add(out, &parts[k]);
    }
}

/* ---- several columns ---- */

/* Of a group: `width` columns, LANES or WIDTH, which the compiler knows. */
TESS_INLINE void residuals_of_rows(int width, const csr_view *v, const residual_columns *q, int group, int64_t begin,
                                   int64_t end, lane_sums (*sums)[WIDTH / LANES])
{
    const double *val = v->val, *of_b = q->b + group * q->b_group, *of_x = q->x + group * q->x_group;
    const double scale = ldexp(1.0, -q->exponent);
    const int high = width == WIDTH ? LANES : 0;

    for (int k = 0; k < LANES; k++) {
        start_sums(&sums[k][0]);
        start_sums(&sums[k][1]);
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = csr_offset(v, i), to = csr_offset(v, i + 1);
        const double *const b = of_b + i * q->b_stride;
        const uintptr_t ahead = (uintptr_t)b + (uintptr_t)(AHEAD * q->b_stride) * sizeof *b;
        double *const residual = q->residual ? q->residual + (group * v->nrows + i) * WIDTH : NULL;
        lane_sums *const of_row = sums[(i - begin) % LANES];
        const lanes length = ALL((double)(to - from));
        double most = 0.0;
        lane_row left, right;
        lane_factors factors = {.row = {i, i, i, i}};
        lanes largest;

        __builtin_prefetch((const void *)ahead, 0, 3);
        __builtin_prefetch((const void *)(ahead + (WIDTH - 1) * sizeof *b), 0, 3);
        start_row(&left, b);
        if (high) { start_row(&right, b + high); }
        for (int64_t k = from; k < to; k++) {
            const lanes a = ALL(val[k]), least = ALL(val[k] != 0.0 ? TESS_LEAST_EXACT_PRODUCT : 0.0);
            const double *const x = of_x + v->col_ind[k] * q->x_stride;
            const lanes low_x = LOAD(x), high_x = LOAD(x + high);

            add_entry(&left, &a, &least, &low_x);
            if (high) { add_entry(&right, &a, &least, &high_x); }
            most = tess_larger_of(most, fabs(val[k]));
        }
        largest = ALL(most);
        set_factors(&length, &largest, scale, &factors);
        finish_row(&of_row[0], &factors, &left, b, residual);
        if (high) { finish_row(&of_row[1], &factors, &right, b + high, residual ? residual + high : NULL); }
    }
}

HOST_CLONES static void four_columns(const csr_view *v, const residual_columns *q, int group, int64_t begin,
                                     int64_t end, lane_sums (*sums)[WIDTH / LANES])
{
    residuals_of_rows(LANES, v, q, group, begin, end, sums);
}

HOST_CLONES static void eight_columns(const csr_view *v, const residual_columns *q, int group, int64_t begin,
                                      int64_t end, lane_sums (*sums)[WIDTH / LANES])
{
    residuals_of_rows(WIDTH, v, q, group, begin, end, sums);
}

/* A group of columns in a block of rows. */
static void residuals_of_block(const csr_view *v, const residual_columns *q, int group, int64_t block,
                               tess_residual_sums *sums)
{
    const int64_t begin = block * HOST_BLOCK, end = begin + HOST_BLOCK < v->nrows ? begin + HOST_BLOCK : v->nrows;
    const int rest = q->columns - group * WIDTH, count = rest < WIDTH ? rest : WIDTH;
    lane_sums of_lanes[LANES][WIDTH / LANES];

    (count <= LANES ? four_columns : eight_columns)(v, q, group, begin, end, of_lanes);
    for (int c = 0; c < count; c++) {
        tess_residual_sums parts[LANES];

        for (int k = 0; k < LANES; k++) {
            parts[k] = sums_of_lane(&of_lanes[k][c / LANES], c % LANES);
        }
        join_sums(parts, &sums[c]);
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

/* ---- one column ---- */

/* Four rows, one to a lane. */
typedef struct row_lanes {
    int64_t from[LANES], length[LANES];
    int64_t least, most, entries;
} row_lanes;

TESS_INLINE void find_rows(const csr_view *v, int64_t first, int64_t end, row_lanes *rows)
{
    *rows = (row_lanes){.least = INT64_MAX};
    for (int l = 0; l < LANES; l++) {
        const int64_t i = first + l < end ? first + l : end - 1;

        rows->from[l] = csr_offset(v, i);
        rows->length[l] = first + l < end ? csr_offset(v, i + 1) - rows->from[l] : 0;
        rows->least = rows->length[l] < rows->least ? rows->length[l] : rows->least;
        rows->most = rows->length[l] > rows->most ? rows->length[l] : rows->most;
        rows->entries += rows->length[l];
    }
}

/* Entry k of each row; of a row that is shorter, 0 times 0, which changes nothing. */
TESS_INLINE void add_entries(const csr_view *v, const double *x, const row_lanes *rows, int64_t k, bool whole,
                             lane_row *r, lanes *largest)
{
    const double *val = v->val;
    const lane_bits of_least = (lane_bits)ALL(TESS_LEAST_EXACT_PRODUCT);
    lane_bits inside = {-1, -1, -1, -1};
    lanes a, from, least, size;

    for (int l = 0; l < LANES; l++) {
        const bool there = whole || k < rows->length[l];
        const int64_t at = rows->from[l] + (there ? k : rows->length[l] - 1);

        inside[l] = there ? -1 : 0;
        a[l] = val[at];
        from[l] = x[v->col_ind[at]];
    }
    a = (lanes)((lane_bits)a & inside);
    from = (lanes)((lane_bits)from & inside);
    least = (lanes)((a != 0.0) & of_least);
    add_entry(r, &a, &least, &from);
    size = MAGNITUDE(a);
    for (int l = 0; l < LANES; l++) {
        (*largest)[l] = tess_larger_of((*largest)[l], size[l]);
    }
}

/* Entries from `begin` on, row by row. */
static void add_rest(const csr_view *v, const double *x, const row_lanes *rows, int64_t begin, lane_row *r,
                     lanes *largest)
{
    const double *val = v->val;

    for (int l = 0; l < LANES; l++) {
        tess_row_sum sum = {{r->high[l], r->low[l]}, r->errors[l], r->magnitude[l], (*largest)[l]};

        for (int64_t k = rows->from[l] + begin; k < rows->from[l] + rows->length[l]; k++) {
            tess_row_sum_add(&sum, val[k], x[v->col_ind[k]]);
        }
        r->high[l] = sum.sum.high;
        r->low[l] = sum.sum.low;
        r->errors[l] = sum.errors;
        r->magnitude[l] = sum.magnitude;
        (*largest)[l] = sum.largest;
    }
}

static uint64_t magnitude_bits(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits & INT64_MAX;
}

/* For x = 0, whose products are zero where A is finite: only the largest entries are wanted. Without their sign, bits
   of doubles are in the order of their magnitudes, with NaN and Inf behind all numbers. False: A is not finite. */
static bool find_largest(const csr_view *v, const row_lanes *rows, lanes *largest)
{
    static const uint64_t infinite = (uint64_t)0x7ff << 52;
    const double *val = v->val;
    bool finite = true;

    for (int l = 0; l < LANES; l++) {
        uint64_t most = 0;
        double value;

        for (int64_t k = rows->from[l]; k < rows->from[l] + rows->length[l]; k++) {
            const uint64_t bits = magnitude_bits(val[k]);

            most = bits > most ? bits : most;
        }
        memcpy(&value, &most, sizeof value);
        (*largest)[l] = value;
        finite = finite && most < infinite;
    }
    return finite;
}

TESS_INLINE void add_rows(const csr_view *v, const double *x, const row_lanes *rows, lane_row *r, lanes *largest)
{
    for (int64_t k = 0; k < rows->least; k++) {
        add_entries(v, x, rows, k, true, r, largest);
    }
    if (rows->most > rows->least && rows->least > 0 && LANES * rows->most <= 2 * rows->entries) {
        for (int64_t k = rows->least; k < rows->most; k++) {
            add_entries(v, x, rows, k, false, r, largest);
        }
    } else if (rows->most > rows->least) {
        add_rest(v, x, rows, rows->least, r, largest);
    }
}

/* Four rows of about one length go together to the end of the longest, others to the end of the shortest. */
HOST_CLONES static void one_column(const csr_view *v, const double *b, const double *x, double *residual, bool is_zero,
                                   int64_t begin, int64_t end, double scale, lane_sums *sums)
{
    start_sums(sums);
    for (int64_t i = begin; i < end; i += LANES) {
        const int count = end - i < LANES ? (int)(end - i) : LANES;
        double of_b[LANES] = {0.0}, values[LANES];
        lanes largest = ALL(0.0), length;
        lane_factors factors = {.row = {i, i + 1, i + 2, i + 3}};
        row_lanes rows;
        lane_row r;

        find_rows(v, i, end, &rows);
        for (int l = 0; l < LANES; l++) {
            of_b[l] = l < count ? b[i + l] : 0.0;
            length[l] = (double)rows.length[l];
        }
        start_row(&r, of_b);
        if (!is_zero || !find_largest(v, &rows, &largest)) {
            largest = ALL(0.0);
            add_rows(v, x, &rows, &r, &largest);
        }
        set_factors(&length, &largest, scale, &factors);
        finish_row(sums, &factors, &r, of_b, values);
        for (int l = 0; l < count && residual; l++) {
            residual[i + l] = values[l];
        }
    }
}

static void residual_of_block(const csr_view *v, const double *b, const double *x, bool is_zero, double *residual,
                              int64_t block, double scale, tess_residual_sums *out)
{
    const int64_t begin = block * HOST_BLOCK, end = begin + HOST_BLOCK < v->nrows ? begin + HOST_BLOCK : v->nrows;
    tess_residual_sums parts[LANES];
    lane_sums sums;

    one_column(v, b, x, residual, is_zero, begin, end, scale, &sums);
    for (int l = 0; l < LANES; l++) {
        parts[l] = sums_of_lane(&sums, l);
    }
    join_sums(parts, out);
}

/* A first guess. */
static bool has_only_zeros(int64_t n, const double *x)
{
    enum { BLOCK = 1024 };
    uint64_t found = 0;

    for (int64_t begin = 0; begin < n && found == 0; begin += BLOCK) {
        const int64_t end = begin + BLOCK < n ? begin + BLOCK : n;

        for (int64_t i = begin; i < end; i++) {
            found |= magnitude_bits(x[i]);
        }
    }
    return found == 0;
}

tess_status true_residual_host(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                               int exponent, tess_residual_sums *sums)
{
    tess_context *ctx = assembled->ctx;
    const csr_view *v = &csr_of(assembled)->view;
    const int64_t nblocks = (v->nrows + HOST_BLOCK - 1) / HOST_BLOCK;
    const bool is_zero = has_only_zeros(v->ncols, x);
    double scale = ldexp(1.0, -exponent), *partials = NULL;
    tess_residual_sums *of_block = NULL;
    tess_status status = host_partials(ctx, (int64_t)(sizeof *sums / sizeof *partials) * nblocks, &partials);

    if (status != TESS_SUCCESS) { return status; }
    *sums = tess_residual_sums_start();
    of_block = (tess_residual_sums *)(void *)partials;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block = 0; block < nblocks; block++) {
        residual_of_block(v, b, x, is_zero, residual, block, scale, of_block + block);
    }
    for (int64_t block = 0; block < nblocks; block++) {
        tess_residual_sums_add(sums, of_block + block);
    }
    return TESS_SUCCESS;
}
