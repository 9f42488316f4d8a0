/* SPDX-License-Identifier: Apache-2.0 */
/* Arnoldi's process on the host, by blocks of rows and, within them, strips that stay in the cache. Sums are in FP64
   for any vectors. CGS2 takes three sweeps over the basis: the second subtracts the first projection and computes the
   second while a strip is in the cache. The delayed method takes two. */
#include <string.h>

#include "device/host/host.h"
#include "solver/gmres/hessenberg.h"

enum { STRIP = 512, LANES = 16 }; /* rows at a time; running sums of a dot product */

/* A strip of each of the vectors that sweeps work on, in FP64. */
typedef struct strip {
    int64_t first;
    int count;
    double w[STRIP], u[STRIP], column[STRIP];
} strip;

static const double *read_column(const tess_arnoldi *a, int k, strip *t)
{
    return host_read_fp64((tess_operand){a->basis, a->precision}, k * a->ld + t->first, t->count, t->column);
}

static void read_vector(const tess_arnoldi *a, const void *vector, const strip *t, double *to)
{
    const double *from = host_read_fp64((tess_operand){vector, a->vectors}, t->first, t->count, to);

    if (from != to) { memcpy(to, from, (size_t)t->count * sizeof *to); }
}

/* Column k := values, times the power of two for stored columns. */
static void write_column(const tess_arnoldi *a, int k, strip *t, const double *values)
{
    const double power = ldexp(1.0, arnoldi_exponent(a->precision));

    for (int i = 0; i < t->count; i++) {
        t->column[i] = values[i] * power;
    }
    host_write_fp64(a->precision, a->basis, k * a->ld + t->first, t->count, t->column);
}

HOST_CLONES static double dot(const double *x, const double *y, int count)
{
    double lane[LANES] = {0.0};
    int i = 0;

    for (; i + LANES <= count; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            lane[l] += x[i + l] * y[i + l];
        }
    }
    for (int l = 0; i < count; i++, l++) {
        lane[l] += x[i] * y[i];
    }
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        for (int l = 0; l < distance; l++) {
            lane[l] += lane[l + distance];
        }
    }
    return lane[0];
}

HOST_CLONES static void subtract(const double *column, double coefficient, int count, double *w)
{
    for (int i = 0; i < count; i++) {
        w[i] -= coefficient * column[i];
    }
}

/* ---- sweeps ---- */

/* A pass over the rows: `work` processes a strip and adds to its sums; sum k is sums[k * nblocks]. */
typedef struct sweep {
    const tess_arnoldi *a;
    int columns;
    double divisor; /* APPEND */
    int nsums;
    void (*work)(const struct sweep *s, strip *t, double *sums);
    int64_t nblocks;
    double *partials;
} sweep;

/* CGS2, the first projection; the square of w. */
static void project(const sweep *s, strip *t, double *sums)
{
    read_vector(s->a, s->a->w, t, t->w);
    for (int k = 0; k < s->columns; k++) {
        sums[k * s->nblocks] += dot(read_column(s->a, k, t), t->w, t->count);
    }
    sums[s->columns * s->nblocks] += dot(t->w, t->w, t->count);
}

/* Its correction and the second projection. */
static void correct(const sweep *s, strip *t, double *sums)
{
    const tess_arnoldi *a = s->a;

    read_vector(a, a->w, t, t->w);
    for (int k = 0; k < s->columns; k++) {
        subtract(read_column(a, k, t), a->small.remove[k], t->count, t->w);
    }
    host_write_fp64(a->vectors, a->w, t->first, t->count, t->w);
    for (int k = 0; k < s->columns; k++) {
        sums[k * s->nblocks] += dot(read_column(a, k, t), t->w, t->count);
    }
    sums[s->columns * s->nblocks] += dot(t->w, t->w, t->count);
}

/* The second correction; w over the divisor is the next vector. The square of w. */
static void append(const sweep *s, strip *t, double *sums)
{
    const tess_arnoldi *a = s->a;

    read_vector(a, a->w, t, t->w);
    for (int k = 0; k < s->columns; k++) {
        subtract(read_column(a, k, t), a->small.remove[k], t->count, t->w);
    }
    sums[0] += dot(t->w, t->w, t->count);
    for (int i = 0; i < t->count; i++) {
        t->w[i] /= s->divisor;
    }
    host_write_fp64(a->vectors, a->vector, t->first, t->count, t->w);
    write_column(a, s->columns, t, t->w);
}

/* Delayed: all sums of an iteration. */
static void project_both(const sweep *s, strip *t, double *sums)
{
    const int k = s->columns;

    read_vector(s->a, s->a->vector, t, t->u);
    read_vector(s->a, s->a->w, t, t->w);
    for (int c = 0; c < k; c++) {
        const double *column = read_column(s->a, c, t);

        sums[c * s->nblocks] += dot(column, t->u, t->count);
        sums[(k + c) * s->nblocks] += dot(column, t->w, t->count);
    }
    sums[2 * k * s->nblocks] += dot(t->u, t->u, t->count);
    sums[(2 * k + 1) * s->nblocks] += dot(t->u, t->w, t->count);
    sums[(2 * k + 2) * s->nblocks] += dot(t->w, t->w, t->count);
}

/* Delayed: q, finished, is stored; w becomes the next u. */
static void finish_both(const sweep *s, strip *t, double *sums)
{
    const tess_arnoldi *a = s->a;
    const arnoldi_small *small = &a->small;
    const double alpha = small->carried[ARNOLDI_ALPHA], nu = small->carried[ARNOLDI_NU];

    (void)sums;
    read_vector(a, a->vector, t, t->u);
    read_vector(a, a->w, t, t->w);
    for (int c = 0; c < s->columns; c++) {
        const double *column = read_column(a, c, t);

        subtract(column, small->remove[c], t->count, t->u);
        subtract(column, small->remove[small->most + c], t->count, t->w);
    }
    for (int i = 0; i < t->count; i++) {
        t->u[i] /= alpha;
        t->w[i] = (t->w[i] - small->first[s->columns] * t->u[i]) / nu;
    }
    write_column(a, s->columns, t, t->u);
    host_write_fp64(a->vectors, a->vector, t->first, t->count, t->w);
}

static double add_partials(const sweep *s, int k)
{
    double sum = 0.0;

    for (int64_t b = 0; b < s->nblocks; b++) {
        sum += s->partials[k * s->nblocks + b];
    }
    return sum;
}

static tess_status run_sweep(tess_context *ctx, sweep *s)
{
    const int64_t n = s->a->n;
    tess_status status = TESS_SUCCESS;

    s->nblocks = (n + HOST_BLOCK - 1) / HOST_BLOCK;
    TESS_TRY(host_partials(ctx, (s->nsums + 1) * s->nblocks, &s->partials));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n * (s->columns + 1) > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < s->nblocks; b++) {
        const int64_t end = (b + 1) * HOST_BLOCK < n ? (b + 1) * HOST_BLOCK : n;
        strip t;

        for (int k = 0; k < s->nsums; k++) {
            s->partials[k * s->nblocks + b] = 0.0;
        }
        for (t.first = b * HOST_BLOCK; t.first < end; t.first += STRIP) {
            t.count = (int)(end - t.first < STRIP ? end - t.first : STRIP);
            s->work(s, &t, s->partials + b);
        }
    }
cleanup:
    return status;
}

/* ---- CGS2 ---- */

/* Coefficients of vectors from the sums of a projection, and the coefficients of the columns as stored. */
static void take_coefficients(const sweep *s, int from, double *coefficients, double *remove)
{
    for (int k = 0; k < s->columns; k++) {
        const double scale = s->a->small.scale[k];

        coefficients[k] = scale * add_partials(s, from + k);
        remove[k] = scale * coefficients[k];
    }
}

static double dot_small(const double *x, const double *y, int count)
{
    double sum = 0.0;

    for (int k = 0; k < count; k++) {
        sum += x[k] * y[k];
    }
    return sum;
}

static tess_status step_cgs2(tess_context *ctx, const tess_arnoldi *a)
{
    const arnoldi_small *small = &a->small;
    const int columns = *small->last + 1;
    sweep s = {.a = a, .columns = columns, .nsums = columns + 1, .work = project};
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(ctx, TESS_PHASE_GEMV_T);
    TESS_TRY(run_sweep(ctx, &s));
    take_coefficients(&s, 0, small->first, small->remove);
    small->norms[ARNOLDI_WHOLE] = add_partials(&s, columns);
    s.work = correct;
    tess_enter_phase(ctx, TESS_PHASE_GEMV_N);
    TESS_TRY(run_sweep(ctx, &s));
    take_coefficients(&s, 0, small->second, small->remove);
    small->norms[ARNOLDI_ONCE] = add_partials(&s, columns);
    s.work = append;
    s.nsums = 1;
    s.divisor = arnoldi_divisor(small->norms[ARNOLDI_ONCE], dot_small(small->second, small->second, columns));
    TESS_TRY(run_sweep(ctx, &s));
    small->norms[ARNOLDI_TWICE] = add_partials(&s, 0);
    tess_enter_phase(ctx, TESS_PHASE_OTHER);
    arnoldi_close(small, s.divisor, arnoldi_exponent(a->precision), a->state);
cleanup:
    return status;
}

/* ---- delayed ---- */

/* Column k - 1 of H. */
static void close_column_before(const tess_arnoldi *a, int k, double alpha)
{
    const arnoldi_small *small = &a->small;
    double *column = small->r + (int64_t)(k - 1) * k / 2, *h = small->h + (int64_t)(k - 1) * (k + 2) / 2;
    double least = 0.0;
    const double next = arnoldi_delayed_next(small, alpha, &least);

    for (int i = 0; i < k; i++) {
        double product = 0.0;

        for (int l = 0; l < k - 1; l++) {
            product += arnoldi_delayed_term(small, i, l);
        }
        column[i] = arnoldi_delayed_entry(small, i, product);
        h[i] = column[i];
    }
    h[k] = next;
    arnoldi_close_column(small, k - 1, column, next, least, a->state);
}

/* The small problem of iteration k, from the sums. */
static void close_delayed(const tess_arnoldi *a, int k)
{
    const arnoldi_small *small = &a->small;
    const double alpha = arnoldi_delayed_alpha(small, dot_small(small->second, small->second, k));

    if (k > 0) { close_column_before(a, k, alpha); }
    if (a->state->phase != TESS_LOOP_RUNNING) { return; }
    arnoldi_continue_delayed(small, k, alpha, dot_small(small->second, small->first, k),
                             dot_small(small->first, small->first, k), arnoldi_exponent(a->precision), a->state);
    memcpy(small->first_before, small->first, (size_t)(k + 1) * sizeof(double));
    memcpy(small->second_before, small->second, (size_t)k * sizeof(double));
}

static tess_status step_delayed(tess_context *ctx, const tess_arnoldi *a)
{
    const arnoldi_small *small = &a->small;
    const int k = *small->stored;
    sweep s = {.a = a, .columns = k, .nsums = 2 * k + 3, .work = project_both};
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(ctx, TESS_PHASE_GEMV_T);
    TESS_TRY(run_sweep(ctx, &s));
    take_coefficients(&s, 0, small->second, small->remove);
    take_coefficients(&s, k, small->first, small->remove + small->most);
    for (int i = 0; i < ARNOLDI_NORMS; i++) {
        small->norms[i] = add_partials(&s, 2 * k + i);
    }
    tess_enter_phase(ctx, TESS_PHASE_OTHER);
    close_delayed(a, k);
    if (a->state->phase != TESS_LOOP_RUNNING) { return TESS_SUCCESS; }
    tess_enter_phase(ctx, TESS_PHASE_GEMV_N);
    s.work = finish_both;
    s.nsums = 0;
    status = run_sweep(ctx, &s);
cleanup:
    return status;
}

/* ---- stages ---- */

/* The residual over its norm, the start of the process. */
static void begin(const sweep *s, strip *t, double *sums)
{
    const tess_arnoldi *a = s->a;

    (void)sums;
    for (int i = 0; i < t->count; i++) {
        t->w[i] = a->residual[t->first + i] / s->divisor;
    }
    host_write_fp64(a->vectors, a->vector, t->first, t->count, t->w);
    if (!a->delayed) { write_column(a, 0, t, t->w); }
}

static tess_status start(tess_context *ctx, const tess_arnoldi *a)
{
    const arnoldi_small *small = &a->small;
    sweep s = {.a = a, .divisor = a->state->residual_norm, .work = begin};

    *small->last = 0;
    *small->stored = 0;
    small->g[0] = a->state->residual_norm;
    small->unit[0] = 1.0;
    small->scale[0] = ldexp(1.0, -arnoldi_exponent(a->precision));
    return run_sweep(ctx, &s);
}

static void add_columns(const sweep *s, strip *t, double *sums)
{
    const tess_arnoldi *a = s->a;

    (void)sums;
    memset(t->w, 0, sizeof t->w);
    for (int k = 0; k < s->columns; k++) {
        subtract(read_column(a, k, t), -a->small.y[k], t->count, t->w);
    }
    host_write_fp64(a->sum_precision, a->sum, t->first, t->count, t->w);
}

static tess_status combine(tess_context *ctx, const tess_arnoldi *a)
{
    sweep s = {.a = a, .columns = *a->small.last, .work = add_columns};

    arnoldi_solve(&a->small);
    return run_sweep(ctx, &s);
}

static tess_status run(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    switch (stage) {
    case TESS_ARNOLDI_CHECK: return TESS_SUCCESS;
    case TESS_ARNOLDI_START: return start(ctx, a);
    case TESS_ARNOLDI_COMBINE: return combine(ctx, a);
    default: break;
    }
    if (!host_enter(a->state, false, false)) { return TESS_SUCCESS; }
    return a->delayed ? step_delayed(ctx, a) : step_cgs2(ctx, a);
}

const arnoldi_ops arnoldi_host_ops = {run};
