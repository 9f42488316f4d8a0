/* SPDX-License-Identifier: Apache-2.0 */
/* Significant digits of vectors: Zhao et al. 2024, sections 2.2 and 4.2. */
#include <math.h>

#include <tessera/digits.h>
#include <tessera/names.h>

#include "dense/vector.h"

/*
 * For n >= 1 the condition |T - A| < 5 * 10^-n |T| is |T - A| * 2 * 10^(n - 1) - |T| < 0, with an integer factor. One
 * fma has exactly the sign of this difference: it rounds once, and a multiple of 2^-1074 cannot vanish by rounding. The
 * difference T - A is exact where it matters: for n >= 1, A must lie between T / 2 and 3 T / 2, where doubles subtract
 * without error (Sterbenz). Outside, the rounded difference is still at least |T| / 2, or Inf, or NaN.
 */
int tess_significant_digits(double exact, double computed)
{
    double error = fabs(exact - computed), factor = 2.0;
    int digits = 0;

    if (exact == computed || (isnan(exact) && isnan(computed))) { return TESS_MAX_DIGITS; }
    while (digits < TESS_MAX_DIGITS && fma(error, factor, -fabs(exact)) < 0.0) {
        digits++;
        factor *= 10.0;
    }
    return digits;
}

static tess_digit_counts count_digits(int64_t n, const double *exact, const double *computed)
{
    tess_digit_counts counts = {.not_finite = 0};

    for (int64_t i = 0; i < n; i++) {
        int digits = tess_significant_digits(exact[i], computed[i]);

        counts.elements[digits]++;
        if (digits == 0 && !(isfinite(exact[i]) && isfinite(computed[i]))) { counts.not_finite++; }
    }
    return counts;
}

static tess_status check_pair(const tess_vector *exact, const tess_vector *computed, const tess_digit_counts *out)
{
    if (!computed) { return TESS_INVALID_ARGUMENT; }
    if (!exact || !out) {
        return tess_fail(computed->ctx, TESS_INVALID_ARGUMENT, "pass a pointer that is not NULL",
                         "the argument %s is NULL", exact ? "out" : "vector exact");
    }
    if (exact->n != computed->n) {
        return tess_fail(computed->ctx, TESS_DIMENSION_MISMATCH, "compare vectors of the same length",
                         "the computed vector has %s, but the exact one has %lld",
                         tess_count(computed->n, "value").text, (long long)exact->n);
    }
    return TESS_SUCCESS;
}

tess_status tess_vector_count_digits(const tess_vector *exact, const tess_vector *computed, tess_digit_counts *out)
{
    tess_context *ctx = NULL;
    int64_t n = 0;
    double *values[2] = {NULL, NULL};
    tess_status status = check_pair(exact, computed, out);

    if (status != TESS_SUCCESS) { return status; }
    ctx = computed->ctx;
    n = computed->n;
    TESS_TRY(tess_host_allocate(ctx, n, sizeof(double), (void **)&values[0]));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof(double), (void **)&values[1]));
    TESS_TRY(tess_vector_get(exact, values[0], TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    TESS_TRY(tess_vector_get(computed, values[1], TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    *out = count_digits(n, values[0], values[1]);
cleanup:
    tess_host_release(ctx, values[0], n, sizeof(double));
    tess_host_release(ctx, values[1], n, sizeof(double));
    return status;
}

static int64_t count_all(const tess_digit_counts *counts, int least)
{
    int64_t sum = 0;

    for (int n = least; n <= TESS_MAX_DIGITS; n++) {
        sum += counts->elements[n];
    }
    return sum;
}

double tess_digits_accuracy_ratio(const tess_digit_counts *counts)
{
    if (!counts) { return 0.0; }
    int64_t all = count_all(counts, 0);

    return all == 0 ? 1.0 : (double)count_all(counts, TESS_ACCURATE_DIGITS) / (double)all;
}

int tess_digits_accurate(const tess_digit_counts *counts)
{
    if (!counts) { return 0; }
    int64_t all = count_all(counts, 0);

    return all == 0 || 20 * (all - count_all(counts, TESS_ACCURATE_DIGITS)) < all; /* less than 5 % of the elements are
                                                                                      not accurate */
}
