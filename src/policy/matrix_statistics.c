/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about an assembled matrix: symmetry, diagonal, rows, range of values, exact storage in each precision. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/codec.h>

#include "base/offsets.h"
#include "base/options.h"
#include "matrix/assembled.h"

/* A row is dense when it is longer than this and than 10 % of the columns. */
static const int64_t dense_row_length = 1000;

/* Integer counts and extremes over some rows. Sums of integers and extremes do not depend on the order in which
   threads add them, so the analysis is the same for any number of threads. */
typedef struct row_totals {
    int64_t explicit_zeros, not_finite;
    int64_t diagonal_missing, diagonal_zero, diagonal_negative, diagonal_positive;
    int64_t dominant_rows, empty_rows, dense_rows, row_nnz_min, row_nnz_max, bandwidth;
    int64_t exact[TESS_PRECISION_COUNT];
    double abs_min, abs_max;
    bool pattern_symmetric, numerically_symmetric, skew_symmetric;
} row_totals;

static inline int64_t row_start(const tess_csr_view *a, int64_t row)
{
    return tess_row_offset(a->row_ptr, a->row_ptr_bits, row);
}

static row_totals empty_totals(bool square)
{
    row_totals t;
    memset(&t, 0, sizeof t);
    t.row_nnz_min = INT64_MAX;
    t.abs_min = INFINITY;
    t.pattern_symmetric = t.numerically_symmetric = t.skew_symmetric = square;
    return t;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/*
 * Adds 1 to exact[p] for every precision p that holds the value, as tess_precision_holds does, from its bits alone.
 * With largest exponent `high` and last significant bit at 2^low, p holds it if low >= max(high, emin) - (digits - 1)
 * and the magnitude is at most the largest one of p. Subnormal doubles are far below every other precision.
 */
static inline void count_exact(double value, int64_t *exact)
{
    uint64_t bits = bits_of(value), fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52) & 0x7ff;
    bool special = biased == 0x7ff, zero = (bits << 1) == 0;
    bool infinite = special && fraction == 0;
    int high = biased - 1023;
    int low = fraction == 0 ? high : high - 52 + __builtin_ctzll(fraction);
    double magnitude = fabs(value);
#define COUNT_EXACT(NAME, index, name, type, digits, emin, emax, max)                   \
    exact[index] += (index) == TESS_PRECISION_FP64 || zero ||                           \
                    (special ? !(infinite && !tess_has_infinity(TESS_PRECISION_##NAME)) \
                             : low >= (high > (emin) ? high : (emin)) - ((digits)-1) && magnitude <= (max));
    TESS_PRECISION_LIST(COUNT_EXACT)
#undef COUNT_EXACT
}

static inline void count_value(double value, row_totals *t)
{
    count_exact(value, t->exact);
    double magnitude = fabs(value);
    if (!isfinite(value)) {
        t->not_finite++;
    } else if (magnitude == 0.0) {
        t->explicit_zeros++;
    } else {
        t->abs_min = magnitude < t->abs_min ? magnitude : t->abs_min;
        t->abs_max = magnitude > t->abs_max ? magnitude : t->abs_max;
    }
}

/* Position of (row, column), or -1. */
static int64_t find_entry(const tess_csr_view *a, int64_t row, int32_t column)
{
    const int64_t end = row_start(a, row + 1), k = csr_column_from(a->col_ind, row_start(a, row), end, column);

    return k < end && a->col_ind[k] == column ? k : -1;
}

/* An absent entry counts as zero for the numerical symmetries; zeros of either sign are equal. */
static void compare_with_mirror(const tess_csr_view *a, int64_t row, int64_t k, row_totals *t)
{
    double value = a->val[k], mirror = 0.0;
    int64_t at = find_entry(a, a->col_ind[k], (int32_t)row);
    if (at < 0) {
        t->pattern_symmetric = false;
    } else {
        mirror = a->val[at];
    }
    bool both_zero = value == 0.0 && mirror == 0.0;
    if (!both_zero && bits_of(value) != bits_of(mirror)) { t->numerically_symmetric = false; }
    if (!both_zero && bits_of(value) != bits_of(-mirror)) { t->skew_symmetric = false; }
}

static void count_diagonal(bool present, double value, row_totals *t)
{
    if (!present) {
        t->diagonal_missing++;
        return;
    }
    t->diagonal_zero += value == 0.0;
    t->diagonal_negative += value < 0.0;
    t->diagonal_positive += value > 0.0;
    if (value != 0.0) { t->skew_symmetric = false; }
}

static void scan_row(const tess_csr_view *a, int64_t row, row_totals *t)
{
    int64_t start = row_start(a, row), end = row_start(a, row + 1), length = end - start;
    double diagonal = 0.0, others = 0.0;
    bool present = false;
    for (int64_t k = start; k < end; k++) {
        int64_t distance = row - a->col_ind[k];
        count_value(a->val[k], t);
        t->bandwidth = llabs(distance) > t->bandwidth ? llabs(distance) : t->bandwidth;
        if (distance == 0) {
            present = true;
            diagonal = a->val[k];
            continue;
        }
        others += fabs(a->val[k]);
        if (t->pattern_symmetric || t->numerically_symmetric || t->skew_symmetric) {
            compare_with_mirror(a, row, k, t);
        }
    }
    if (row < a->ncols) {
        count_diagonal(present, diagonal, t);
        t->dominant_rows += fabs(diagonal) >= others;
    }
    t->empty_rows += length == 0;
    t->dense_rows += length > dense_row_length && (double)length > 0.1 * (double)a->ncols;
    t->row_nnz_min = length < t->row_nnz_min ? length : t->row_nnz_min;
    t->row_nnz_max = length > t->row_nnz_max ? length : t->row_nnz_max;
}

static void add_totals(row_totals *sum, const row_totals *t)
{
    sum->explicit_zeros += t->explicit_zeros;
    sum->not_finite += t->not_finite;
    sum->diagonal_missing += t->diagonal_missing;
    sum->diagonal_zero += t->diagonal_zero;
    sum->diagonal_negative += t->diagonal_negative;
    sum->diagonal_positive += t->diagonal_positive;
    sum->dominant_rows += t->dominant_rows;
    sum->empty_rows += t->empty_rows;
    sum->dense_rows += t->dense_rows;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        sum->exact[p] += t->exact[p];
    }
    sum->row_nnz_min = t->row_nnz_min < sum->row_nnz_min ? t->row_nnz_min : sum->row_nnz_min;
    sum->row_nnz_max = t->row_nnz_max > sum->row_nnz_max ? t->row_nnz_max : sum->row_nnz_max;
    sum->bandwidth = t->bandwidth > sum->bandwidth ? t->bandwidth : sum->bandwidth;
    sum->abs_min = t->abs_min < sum->abs_min ? t->abs_min : sum->abs_min;
    sum->abs_max = t->abs_max > sum->abs_max ? t->abs_max : sum->abs_max;
    sum->pattern_symmetric = sum->pattern_symmetric && t->pattern_symmetric;
    sum->numerically_symmetric = sum->numerically_symmetric && t->numerically_symmetric;
    sum->skew_symmetric = sum->skew_symmetric && t->skew_symmetric;
}

/* Each thread has its own totals, which are added at the end. A lock would be shared by all contexts. */
static tess_status scan_rows(tess_context *ctx, const tess_csr_view *a, row_totals *total)
{
    row_totals *partials = NULL;
    tess_status status = tess_host_allocate(ctx, ctx->threads, sizeof *partials, (void **)&partials);

    if (status != TESS_SUCCESS) { return status; }
    *total = empty_totals(a->nrows == a->ncols);
    for (int i = 0; i < ctx->threads; i++) {
        partials[i] = *total;
    }
#pragma omp parallel num_threads(ctx->threads)
    {
        row_totals own = partials[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 256)
        for (int64_t row = 0; row < a->nrows; row++) {
            scan_row(a, row, &own);
        }
        partials[omp_get_thread_num()] = own;
    }
    for (int i = 0; i < ctx->threads; i++) {
        add_totals(total, &partials[i]);
    }
    tess_host_release(ctx, partials, ctx->threads, sizeof *partials);
    return TESS_SUCCESS;
}

/* Serial, so that the rounding of the sum is always the same. */
static double row_length_deviation(const tess_csr_view *a, double mean)
{
    double sum = 0.0;
    for (int64_t row = 0; row < a->nrows; row++) {
        double difference = (double)(row_start(a, row + 1) - row_start(a, row)) - mean;
        sum += difference * difference;
    }
    return sqrt(sum / (double)a->nrows);
}

static void fill_analysis(const tess_csr_view *a, const row_totals *t, tess_matrix_analysis *out)
{
    bool square = a->nrows == a->ncols;
    memset(out, 0, sizeof *out);
    out->nrows = a->nrows;
    out->ncols = a->ncols;
    out->nnz = a->nnz;
    out->explicit_zeros = t->explicit_zeros;
    out->not_finite = t->not_finite;
    out->pattern_symmetric = square ? t->pattern_symmetric : -1;
    out->numerically_symmetric = square ? t->numerically_symmetric : -1;
    out->skew_symmetric = square ? t->skew_symmetric : -1;
    out->diagonal_missing = t->diagonal_missing;
    out->diagonal_zero = t->diagonal_zero;
    out->diagonal_negative = t->diagonal_negative;
    out->diagonal_positive = t->diagonal_positive;
    out->diagonally_dominant_rows = t->dominant_rows;
    out->empty_rows = t->empty_rows;
    out->row_nnz_min = a->nrows > 0 ? t->row_nnz_min : 0;
    out->row_nnz_max = t->row_nnz_max;
    out->dense_rows = t->dense_rows;
    out->row_nnz_mean = a->nrows > 0 ? (double)a->nnz / (double)a->nrows : 0.0;
    out->row_nnz_stddev = a->nrows > 0 ? row_length_deviation(a, out->row_nnz_mean) : 0.0;
    out->bandwidth = t->bandwidth;
    out->value_abs_min = t->abs_max > 0.0 ? t->abs_min : 0.0;
    out->value_abs_max = t->abs_max;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        out->exact_share[p] = a->nnz > 0 ? (double)t->exact[p] / (double)a->nnz : 1.0;
    }
}

void tess_matrix_analysis_init_sized(tess_matrix_analysis *analysis, size_t size)
{
    result_init(analysis, size);
}

tess_status tess_matrix_analyze(const tess_matrix *a, tess_matrix_analysis *out)
{
    if (a == NULL) { return TESS_INVALID_ARGUMENT; }
    if (out == NULL) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass a struct for the result",
                         "the result of the analysis has no place: the pointer is NULL");
    }
    if (a->format == TESS_FORMAT_SHELL || a->original != NULL) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "analyse the matrix that it was made from",
                         "only an assembled matrix can be analysed");
    }
    tess_host_matrix host;
    tess_matrix_analysis full = {.size = sizeof full};
    tess_status status = result_require_size(a->ctx, "tess_matrix_analysis", out->size, sizeof full);
    if (status == TESS_SUCCESS) { status = tess_matrix_on_host(a, &host); }
    if (status != TESS_SUCCESS) { return status; }
    tess_csr_view view = tess_matrix_csr_view(host.matrix);
    row_totals totals;
    status = scan_rows(a->ctx, &view, &totals);
    if (status == TESS_SUCCESS) {
        fill_analysis(&view, &totals, &full);
        result_return(&full, out);
    }
    tess_host_matrix_release(&host);
    return status;
}
