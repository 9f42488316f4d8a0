/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/equilibrate.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

/* A sweep halves the exponents of the norms, which are at most 2200 in magnitude. */
enum { MEAN_SWEEPS = 60, MAX_SWEEPS = 24, EMPTY = INT32_MIN };

/* norm[i]: the exponent of the largest magnitude of row i, after scaling; EMPTY: it has no nonzero. Likewise columns.
 */
static void measure(const equilibrate_entries *e, const int32_t *row_exponent, const int32_t *column_exponent,
                    int32_t *row_norm, int32_t *column_norm)
{
    for (int64_t i = 0; i < e->n; i++) {
        row_norm[i] = column_norm[i] = EMPTY;
    }
    for (int64_t k = 0; k < e->count; k++) {
        const int32_t i = e->row[k] - e->base, j = e->column[k] - e->base;
        int32_t size = 0;

        if (e->val[k] == 0.0) { continue; }
        size = tess_leading_exponent(fabs(e->val[k])) + row_exponent[i] + column_exponent[j];
        if (size > row_norm[i]) { row_norm[i] = size; }
        if (size > column_norm[j]) { column_norm[j] = size; }
    }
}

/* D := D / sqrt(norm), rounded towards D. Returns whether a factor changed. */
static bool divide(int64_t n, const int32_t *norm, int32_t *exponent)
{
    bool changed = false;

    for (int64_t i = 0; i < n; i++) {
        const int32_t half = norm[i] == EMPTY ? 0 : norm[i] / 2;

        exponent[i] -= half;
        changed = changed || half != 0;
    }
    return changed;
}

/* Brings the mean exponent of each row, or of each column, to about 0. Returns whether a factor changed. */
static bool centre(const equilibrate_entries *e, bool columns, int32_t *row_exponent, int32_t *column_exponent,
                   int64_t *sum, int64_t *count)
{
    const int32_t *line = columns ? e->column : e->row;
    int32_t *exponent = columns ? column_exponent : row_exponent;
    bool changed = false;

    memset(sum, 0, (size_t)e->n * sizeof *sum);
    memset(count, 0, (size_t)e->n * sizeof *count);
    for (int64_t k = 0; k < e->count; k++) {
        if (e->val[k] == 0.0) { continue; }
        sum[line[k] - e->base] += tess_leading_exponent(fabs(e->val[k])) + row_exponent[e->row[k] - e->base] +
                                  column_exponent[e->column[k] - e->base];
        count[line[k] - e->base] += 1;
    }
    for (int64_t i = 0; i < e->n; i++) {
        const int32_t mean = count[i] > 0 ? (int32_t)(sum[i] / count[i]) : 0;

        exponent[i] -= mean;
        changed = changed || mean != 0;
    }
    return changed;
}

/* Largest magnitudes alone leave two sides much freedom, in which other entries may vanish. Means have none. */
static tess_status centre_both(tess_context *ctx, const equilibrate_entries *e, int32_t *row_exponent,
                               int32_t *column_exponent)
{
    int64_t *sum = NULL, *count = NULL;
    bool changed = true;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, e->n, sizeof *sum, (void **)&sum));
    TESS_TRY(tess_host_allocate(ctx, e->n, sizeof *count, (void **)&count));
    for (int sweep = 0; sweep < MEAN_SWEEPS && changed; sweep++) {
        changed = centre(e, false, row_exponent, column_exponent, sum, count);
        changed = centre(e, true, row_exponent, column_exponent, sum, count) || changed;
    }
cleanup:
    tess_host_release(ctx, sum, e->n, sizeof *sum);
    tess_host_release(ctx, count, e->n, sizeof *count);
    return status;
}

/* Ruiz' sweeps, from the factors that are there. */
static void balance(const equilibrate_entries *e, bool same, int32_t *row_norm, int32_t *column_norm,
                    int32_t *row_exponent, int32_t *column_exponent)
{
    bool changed = true;

    for (int sweep = 0; sweep < MAX_SWEEPS && changed; sweep++) {
        measure(e, row_exponent, column_exponent, row_norm, column_norm);
        for (int64_t i = 0; same && i < e->n; i++) {
            if (column_norm[i] > row_norm[i]) { row_norm[i] = column_norm[i]; }
        }
        changed = divide(e->n, row_norm, row_exponent);
        if (!same) { changed = divide(e->n, column_norm, column_exponent) || changed; }
    }
}

static int64_t spread_of(int64_t n, const int32_t *exponent)
{
    int32_t least = INT32_MAX, most = INT32_MIN;

    for (int64_t i = 0; i < n; i++) {
        least = exponent[i] < least ? exponent[i] : least;
        most = exponent[i] > most ? exponent[i] : most;
    }
    return n > 0 ? (int64_t)most - least : 0;
}

static int64_t larger_spread(int64_t n, const int32_t *row_exponent, const int32_t *column_exponent)
{
    const int64_t rows = spread_of(n, row_exponent), columns = spread_of(n, column_exponent);

    return rows > columns ? rows : columns;
}

/* Largest magnitudes alone, if that spares the factors more than most_spread bits of spread. */
static tess_status limit_spread(tess_context *ctx, const equilibrate_entries *e, int32_t *row_norm,
                                int32_t *column_norm, int32_t *row_exponent, int32_t *column_exponent)
{
    const int64_t spread = larger_spread(e->n, row_exponent, column_exponent);
    const size_t bytes = (size_t)e->n * sizeof(int32_t);
    int32_t *plain = NULL;
    tess_status status = TESS_SUCCESS;

    if (e->most_spread == 0 || spread <= e->most_spread) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, 2 * e->n, sizeof *plain, (void **)&plain));
    memset(plain, 0, 2 * bytes);
    balance(e, false, row_norm, column_norm, plain, plain + e->n);
    if (larger_spread(e->n, plain, plain + e->n) + e->most_spread < spread) {
        memcpy(row_exponent, plain, bytes);
        memcpy(column_exponent, plain + e->n, bytes);
    }
cleanup:
    tess_host_release(ctx, plain, 2 * e->n, sizeof *plain);
    return status;
}

tess_status equilibrate(tess_context *ctx, const equilibrate_entries *e, int32_t *row_exponent,
                        int32_t *column_exponent)
{
    const bool same = !column_exponent;
    int32_t *row_norm = NULL, *column_norm = NULL;
    tess_status status = TESS_SUCCESS;

    if (same) { column_exponent = row_exponent; }
    memset(row_exponent, 0, (size_t)e->n * sizeof *row_exponent);
    memset(column_exponent, 0, (size_t)e->n * sizeof *column_exponent);
    if (!same) { TESS_TRY(centre_both(ctx, e, row_exponent, column_exponent)); }
    TESS_TRY(tess_host_allocate(ctx, e->n, sizeof *row_norm, (void **)&row_norm));
    TESS_TRY(tess_host_allocate(ctx, e->n, sizeof *column_norm, (void **)&column_norm));
    balance(e, same, row_norm, column_norm, row_exponent, column_exponent);
    if (!same) { status = limit_spread(ctx, e, row_norm, column_norm, row_exponent, column_exponent); }
cleanup:
    tess_host_release(ctx, row_norm, e->n, sizeof *row_norm);
    tess_host_release(ctx, column_norm, e->n, sizeof *column_norm);
    return status;
}
