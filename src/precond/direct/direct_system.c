/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix as MUMPS takes it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <tessera/codec.h>

#include "matrix/equilibrate.h"
#include "precond/direct/direct.h"

void direct_release(direct_system *s)
{
    tess_host_release(s->ctx, s->row_ptr, s->rows + 1, sizeof *s->row_ptr);
    tess_host_release(s->ctx, s->row, s->capacity, sizeof *s->row);
    tess_host_release(s->ctx, s->column, s->capacity, sizeof *s->column);
    tess_host_release(s->ctx, s->val, s->capacity, sizeof *s->val);
    tess_host_release(s->ctx, s->rounded, s->capacity, tess_precision_bytes(s->precision));
}

double direct_size(const direct_system *s, int64_t k)
{
    return s->parts == 2 ? fmax(fabs(s->val[2 * k]), fabs(s->val[2 * k + 1])) : fabs(s->val[k]);
}

static tess_status decode(const tess_matrix *a, direct_system *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, s->rows + 1, sizeof *s->row_ptr, (void **)&s->row_ptr));
    TESS_TRY(tess_host_allocate(a->ctx, s->capacity, sizeof *s->row, (void **)&s->row));
    TESS_TRY(tess_host_allocate(a->ctx, s->capacity, sizeof *s->column, (void **)&s->column));
    TESS_TRY(tess_host_allocate(a->ctx, s->capacity, sizeof *s->val, (void **)&s->val));
    status = a->ops->decode(a, s->row_ptr, s->column, s->val);
cleanup:
    return status;
}

static int64_t find_bad_row(const direct_system *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t k = s->row_ptr[i]; k < s->row_ptr[i + 1]; k++) {
            if (!isfinite(s->val[k])) { return i; }
        }
    }
    return -1;
}

/* Complex entries in the place of the form's blocks [[re, -im], [im, re]], whose rows 2 i and 2 i + 1 follow one
   another: each is the beginning of the block's first row. */
static void take_complex_rows(direct_system *s)
{
    int64_t taken = 0;

    s->parts = 2;
    s->n = s->rows / 2;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t begin = s->row_ptr[2 * i], end = s->row_ptr[2 * i + 1];

        s->row_ptr[i] = taken;
        for (int64_t k = begin; k < end; k += 2) {
            const double re = s->val[k], im = -s->val[k + 1];

            s->column[taken] = s->column[k] / 2;
            s->val[2 * taken] = re;
            s->val[2 * taken + 1] = im;
            taken++;
        }
    }
    s->row_ptr[s->n] = taken;
}

static bool have_one_value(const direct_system *s, int64_t k, int64_t l)
{
    for (int part = 0; part < s->parts; part++) {
        if (s->val[s->parts * k + part] != s->val[s->parts * l + part]) { return false; }
    }
    return true;
}

/* Whether A = A^T to the bit. Entries (j, i) right of a row's diagonal meet the entries (i, j) of later rows in the
   order of those rows: `next` is the first entry of each row that none has met. */
static bool is_symmetric(const direct_system *s, int64_t *next)
{
    memcpy(next, s->row_ptr, (size_t)s->n * sizeof *next);
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t k = next[i]; k < s->row_ptr[i + 1]; k++) {
            const int32_t j = s->column[k];

            if (j < i) { return false; } /* nothing has met it */
            if (j == i) { continue; }
            if (next[j] == s->row_ptr[j + 1] || s->column[next[j]] != i || !have_one_value(s, next[j], k)) {
                return false;
            }
            next[j] += 1;
        }
    }
    return true;
}

static tess_status find_symmetry(direct_system *s, bool cholesky)
{
    int64_t *next = NULL;
    tess_status status = TESS_SUCCESS;

    s->symmetry = MUMPS_DEFINITE;
    if (cholesky) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, s->n, sizeof *next, (void **)&next));
    s->symmetry = is_symmetric(s, next) ? MUMPS_INDEFINITE : MUMPS_UNSYMMETRIC;
cleanup:
    tess_host_release(s->ctx, next, s->n, sizeof *next);
    return status;
}

/* Replaces rows by coordinates, in place. */
static void take_coordinates(direct_system *s)
{
    const bool lower = s->symmetry != MUMPS_UNSYMMETRIC;

    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t k = s->row_ptr[i]; k < s->row_ptr[i + 1]; k++) {
            if (lower && s->column[k] > i) { break; }
            s->row[s->count] = (int32_t)i + 1;
            s->column[s->count] = s->column[k] + 1;
            for (int part = 0; part < s->parts; part++) {
                s->val[s->parts * s->count + part] = s->val[s->parts * k + part];
            }
            s->count++;
        }
    }
}

/* -A in the place of A, if all of the diagonal is negative. */
static void turn_negative(direct_system *s)
{
    int64_t negative = 0;

    for (int64_t k = 0; k < s->count; k++) {
        negative += s->row[k] == s->column[k] && s->val[k] < 0.0;
    }
    s->negated = s->n > 0 && negative == s->n;
    for (int64_t k = 0; k < s->count && s->negated; k++) {
        s->val[k] = -s->val[k];
    }
}

static tess_status read(const tess_matrix *a, bool cholesky, bool as_complex, direct_system *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (direct_system){.ctx = a->ctx,
                           .n = a->nrows,
                           .rows = a->nrows,
                           .capacity = a->nnz,
                           .parts = 1,
                           .node = a->is_complex && !as_complex ? 2 : 1,
                           .bad_row = -1};
    TESS_TRY(decode(a, out));
    out->bad_row = find_bad_row(out);
    if (out->bad_row >= 0) {
        out->bad_row /= a->is_complex ? 2 : 1;
        goto cleanup;
    }
    if (as_complex) { take_complex_rows(out); }
    TESS_TRY(find_symmetry(out, cholesky));
    take_coordinates(out);
    if (cholesky) { turn_negative(out); }
cleanup:
    return status;
}

tess_status direct_read(const tess_matrix *a, bool cholesky, direct_system *out)
{
    return read(a, cholesky, a->is_complex && !cholesky, out);
}

tess_status direct_read_form(const tess_matrix *a, bool cholesky, direct_system *out)
{
    return read(a, cholesky, false, out);
}

/* A quarter of the precision's exponents: vectors that a side scales keep the rest. */
static int32_t most_spread(tess_precision precision)
{
    return precision == TESS_PRECISION_FP32 ? (FLT_MAX_EXP - FLT_MIN_EXP) / 4 : (DBL_MAX_EXP - DBL_MIN_EXP) / 4;
}

static void cut(int64_t n, int most, int32_t *exponent)
{
    for (int64_t i = 0; i < n; i++) {
        exponent[i] = exponent[i] > most ? most : exponent[i] < -most ? -most : exponent[i];
    }
}

void direct_spread(const direct_system *s, int32_t *exponent)
{
    for (int64_t i = s->n - 1; i >= 0 && s->parts == 2; i--) {
        exponent[2 * i] = exponent[2 * i + 1] = exponent[i];
    }
}

/* The values times the powers of two, in s->precision. */
static void round_values(const direct_system *s, const int32_t *row_exponent, const int32_t *column_exponent)
{
    for (int64_t k = 0; k < s->count; k++) {
        const int exponent = row_exponent[s->row[k] - 1] + column_exponent[s->column[k] - 1];

        for (int64_t at = s->parts * k; at < s->parts * (k + 1); at++) {
            tess_store(s->precision, s->rounded, at, ldexp(s->val[at], exponent), TESS_OVERFLOW_INFINITY);
        }
    }
}

tess_status direct_scale(direct_system *s, tess_precision precision, int most, int32_t *row_exponent,
                         int32_t *column_exponent)
{
    const bool same = s->symmetry != MUMPS_UNSYMMETRIC;
    double *sizes = NULL;
    equilibrate_entries entries = {.n = s->n,
                                   .count = s->count,
                                   .row = s->row,
                                   .column = s->column,
                                   .base = 1,
                                   .val = s->val,
                                   .most_spread = most_spread(precision)};
    tess_status status = TESS_SUCCESS;

    if (s->parts == 2) {
        TESS_TRY(tess_host_allocate(s->ctx, s->count, sizeof *sizes, (void **)&sizes));
        for (int64_t k = 0; k < s->count; k++) {
            sizes[k] = direct_size(s, k);
        }
        entries.val = sizes;
    }
    TESS_TRY(equilibrate(s->ctx, &entries, row_exponent, same ? NULL : column_exponent));
    cut(s->n, most, row_exponent);
    if (!same) { cut(s->n, most, column_exponent); }
    if (same) { memcpy(column_exponent, row_exponent, (size_t)s->n * sizeof *column_exponent); }
    s->precision = precision;
    TESS_TRY(tess_host_allocate(s->ctx, s->capacity, tess_precision_bytes(precision), &s->rounded));
    round_values(s, row_exponent, column_exponent);
    direct_spread(s, row_exponent);
    direct_spread(s, column_exponent);
cleanup:
    tess_host_release(s->ctx, sizes, s->count, sizeof *sizes);
    return status;
}
