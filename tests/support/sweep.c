/* SPDX-License-Identifier: Apache-2.0 */
#include "support/sweep.h"

double naive_jacobi(const oracle_csr *a, const double *b, double omega, int64_t count, double *x)
{
    double *next = test_allocate(a->nrows, sizeof *next), largest = 0.0;

    for (int64_t it = 0; it < count; it++) {
        for (int64_t i = 0; i < a->nrows; i++) {
            double sum = 0.0, magnitude = fabs(b[i]), diagonal = 0.0;

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                if (a->col_ind[k] == i) {
                    diagonal = a->val[k];
                    continue;
                }
                sum += a->val[k] * x[a->col_ind[k]];
                magnitude += fabs(a->val[k] * x[a->col_ind[k]]);
            }
            next[i] = x[i] + omega * ((b[i] - sum) / diagonal - x[i]);
            if (omega == 1.0) { next[i] = (b[i] - sum) / diagonal; }
            largest = fmax(largest, magnitude / fabs(diagonal));
        }
        memcpy(x, next, (size_t)a->nrows * sizeof *x);
    }
    free(next);
    return largest;
}

double naive_steps(const oracle_csr *a, int64_t count, double *x)
{
    double *next = test_allocate(a->nrows, sizeof *next), largest = 0.0;

    for (int64_t it = 0; it < count; it++) {
        for (int64_t i = 0; i < a->nrows; i++) {
            double magnitude = 0.0;

            next[i] = 0.0;
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                next[i] += a->val[k] * x[a->col_ind[k]];
                magnitude += fabs(a->val[k] * x[a->col_ind[k]]);
            }
            largest = fmax(largest, magnitude);
        }
        memcpy(x, next, (size_t)a->nrows * sizeof *x);
    }
    free(next);
    return largest;
}

oracle_csr dominant_matrix(int64_t n, int64_t per_row, double factor, int spread, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        double scale = pow(10.0, (double)(oracle_random_bits(&seed) % (uint64_t)(spread + 1))), sum = 0.0;
        double sign = oracle_random_bits(&seed) % 2 ? 1.0 : -1.0, values[64];
        int64_t cols[64], count = 0, length = (int64_t)(oracle_random_bits(&seed) % (uint64_t)(per_row + 1));
        bool pushed = false;

        for (int64_t k = 0; k < length && k < n - 1; k++) { /* one column in each stretch of the row */
            int64_t low = k * n / length, width = (k + 1) * n / length - low;
            int64_t col = low + (int64_t)(oracle_random_bits(&seed) % (uint64_t)width);

            if (col == i) { continue; }
            cols[count] = col;
            values[count] = scale * oracle_uniform(&seed, -1.0, 1.0);
            sum += fabs(values[count++]);
        }
        for (int64_t k = 0; k < count; k++) {
            if (cols[k] > i && !pushed) {
                oracle_push(&a, i, sign * factor * sum);
                pushed = true;
            }
            oracle_push(&a, cols[k], values[k]);
        }
        if (!pushed) { oracle_push(&a, i, count > 0 ? sign * factor * sum : 1.0); }
        oracle_end_row(&a, i);
    }
    return a;
}

double largest_difference(const double *x, const double *y, int64_t n)
{
    double largest = 0.0;

    for (int64_t i = 0; i < n; i++) {
        double difference = fabs(x[i] - y[i]);

        if (!(difference <= largest)) { largest = difference; }
    }
    return largest;
}

tess_precision_schedule schedule_of(const char *text)
{
    tess_precision_schedule schedule;

    assert_int_equal(tess_schedule_parse(text, &schedule), TESS_SUCCESS);
    return schedule;
}
