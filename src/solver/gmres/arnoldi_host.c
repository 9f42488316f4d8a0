/* SPDX-License-Identifier: Apache-2.0 */
/* Arnoldi's process on the host: two passes of classical Gram-Schmidt in three sweeps over the basis, by blocks of rows. The
   second sweep subtracts the first projection and makes the second while a block is in the cache. */
#include "backend/host/host.h"
#include "solver/gmres/hessenberg.h"

enum { STRIP = 512, LANES = 16 }; /* rows at a time; running sums of a dot product */

static const double *read_column(const tess_arnoldi *a, int k, int64_t first, int count, double *room)
{
    return host_read_fp64((tess_operand){a->basis, a->precision}, k * a->ld + first, count, room);
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

/* What a sweep does with each strip. */
typedef struct sweep {
    const tess_arnoldi *a;
    int columns;
    const double *remove; /* coefficients of stored columns to subtract first; NULL: none */
    bool projects;        /* and then to project on */
    double divisor;       /* > 0: and then to store w over it as the next vector */
    int64_t nblocks;
    double *partials; /* columns, then the square of w: nblocks each */
} sweep;

static void sweep_strip(const sweep *s, int64_t block, int64_t first, int count)
{
    const tess_arnoldi *a = s->a;
    double *w = a->w + first;
    double room[STRIP];

    for (int k = 0; s->remove && k < s->columns; k++) {
        subtract(read_column(a, k, first, count, room), s->remove[k], count, w);
    }
    for (int k = 0; s->projects && k < s->columns; k++) {
        s->partials[k * s->nblocks + block] += dot(read_column(a, k, first, count, room), w, count);
    }
    s->partials[s->columns * s->nblocks + block] += dot(w, w, count);
    if (s->divisor > 0.0) {
        const double power = ldexp(1.0, arnoldi_exponent(a->precision));

        for (int i = 0; i < count; i++) {
            a->vector[first + i] = w[i] / s->divisor;
            room[i] = a->vector[first + i] * power;
        }
        host_write_fp64(a->precision, a->basis, s->columns * a->ld + first, count, room);
    }
}

static double add_partials(const sweep *s, int k)
{
    double sum = 0.0;

    for (int64_t b = 0; b < s->nblocks; b++) {
        sum += s->partials[k * s->nblocks + b];
    }
    return sum;
}

/* One pass over the rows; *square receives ||w||^2 as it is after it, coefficients (where it projects) those of the vectors. */
static tess_status run_sweep(tess_context *ctx, sweep s, double *coefficients, double *square)
{
    const tess_arnoldi *a = s.a;
    tess_status status = TESS_SUCCESS;

    s.nblocks = (a->n + HOST_BLOCK - 1) / HOST_BLOCK;
    TESS_TRY(host_partials(ctx, (s.columns + 1) * s.nblocks, &s.partials));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (a->n * (s.columns + 1) > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < s.nblocks; b++) {
        int64_t end = (b + 1) * HOST_BLOCK < a->n ? (b + 1) * HOST_BLOCK : a->n;

        for (int k = 0; k <= s.columns; k++) {
            s.partials[k * s.nblocks + b] = 0.0;
        }
        for (int64_t first = b * HOST_BLOCK; first < end; first += STRIP) {
            sweep_strip(&s, b, first, (int)(end - first < STRIP ? end - first : STRIP));
        }
    }
    for (int k = 0; s.projects && k < s.columns; k++) {
        coefficients[k] = a->small.scale[k] * add_partials(&s, k);
    }
    *square = add_partials(&s, s.columns);
cleanup:
    return status;
}

/* Coefficients of vectors as those of stored columns: into y, which is free until the end. */
static const double *of_columns(const arnoldi_small *small, const double *coefficients, int columns)
{
    for (int k = 0; k < columns; k++) {
        small->y[k] = coefficients[k] * small->scale[k];
    }
    return small->y;
}

static double sum_of_squares(const double *values, int count)
{
    double sum = 0.0;

    for (int k = 0; k < count; k++) {
        sum += values[k] * values[k];
    }
    return sum;
}

static tess_status step(tess_context *ctx, const tess_arnoldi *a)
{
    const arnoldi_small *small = &a->small;
    const int columns = *small->last + 1;
    const sweep project = {.a = a, .columns = columns, .projects = true};
    sweep correct = project, append = {.a = a, .columns = columns};
    tess_status status = TESS_SUCCESS;

    if (!host_enter(a->state, false, false)) { return TESS_SUCCESS; }
    TESS_TRY(run_sweep(ctx, project, small->first, &small->norms[ARNOLDI_WHOLE]));
    correct.remove = of_columns(small, small->first, columns);
    TESS_TRY(run_sweep(ctx, correct, small->second, &small->norms[ARNOLDI_ONCE]));
    append.remove = of_columns(small, small->second, columns);
    append.divisor = arnoldi_divisor(small->norms[ARNOLDI_ONCE], sum_of_squares(small->second, columns));
    TESS_TRY(run_sweep(ctx, append, NULL, &small->norms[ARNOLDI_TWICE]));
    arnoldi_close(small, append.divisor, arnoldi_exponent(a->precision), a->state);
cleanup:
    return status;
}

static tess_status start(tess_context *ctx, const tess_arnoldi *a)
{
    const arnoldi_small *small = &a->small;
    const int power = arnoldi_exponent(a->precision);

    *small->last = 0;
    small->g[0] = a->state->residual_norm;
    small->unit[0] = 1.0;
    small->scale[0] = ldexp(1.0, -power);
    return run_sweep(ctx, (sweep){.a = a, .divisor = a->state->residual_norm}, NULL, &small->norms[ARNOLDI_WHOLE]);
}

static tess_status combine(tess_context *ctx, const tess_arnoldi *a)
{
    arnoldi_solve(&a->small);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (a->n > HOST_SERIAL_WORK)
    for (int64_t first = 0; first < a->n; first += STRIP) {
        const int count = (int)(a->n - first < STRIP ? a->n - first : STRIP);
        double room[STRIP];

        for (int i = 0; i < count; i++) {
            a->sum[first + i] = 0.0;
        }
        for (int k = 0; k < *a->small.last; k++) {
            subtract(read_column(a, k, first, count, room), -a->small.y[k], count, a->sum + first);
        }
    }
    return TESS_SUCCESS;
}

tess_status host_arnoldi(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    switch (stage) {
    case TESS_ARNOLDI_START: return start(ctx, a);
    case TESS_ARNOLDI_STEP: return step(ctx, a);
    default: return combine(ctx, a);
    }
}
