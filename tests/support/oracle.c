/* SPDX-License-Identifier: Apache-2.0 */
#include "support/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

double gamma_of(double n)
{
    return n * U64 / (1.0 - n * U64);
}

wide wide_abs(wide x)
{
    return x < 0 ? -x : x;
}

wide wide_sqrt(wide x)
{
    wide scale = 1, root;

    if (x <= 0) { return 0; }
    while (x > (wide)0x1p200) {
        x *= (wide)0x1p-200;
        scale *= (wide)0x1p100;
    }
    while (x < (wide)0x1p-200) {
        x *= (wide)0x1p200;
        scale *= (wide)0x1p-100;
    }
    root = (wide)sqrt((double)x);
    for (int step = 0; step < 3; step++) {
        root = (root + x / root) / 2;
    }
    return root * scale;
}

/* ---- building ---- */

oracle_csr oracle_open(int64_t nrows, int64_t ncols)
{
    oracle_csr a = {.nrows = nrows, .ncols = ncols, .capacity = 64};

    a.row_ptr = test_allocate(nrows + 1, sizeof *a.row_ptr);
    a.col_ind = test_allocate(a.capacity, sizeof *a.col_ind);
    a.val = test_allocate(a.capacity, sizeof *a.val);
    return a;
}

void oracle_push(oracle_csr *a, int64_t col, double value)
{
    if (a->nnz == a->capacity) {
        a->capacity *= 2;
        a->col_ind = realloc(a->col_ind, (size_t)a->capacity * sizeof *a->col_ind);
        a->val = realloc(a->val, (size_t)a->capacity * sizeof *a->val);
        assert_true(a->col_ind && a->val);
    }
    a->col_ind[a->nnz] = (int32_t)col;
    a->val[a->nnz++] = value;
}

void oracle_end_row(oracle_csr *a, int64_t row)
{
    a->row_ptr[row + 1] = a->nnz;
}

void oracle_free(oracle_csr *a)
{
    free(a->row_ptr);
    free(a->col_ind);
    free(a->val);
    memset(a, 0, sizeof *a);
}

oracle_csr oracle_tridiagonal(int64_t n, double lower, double diagonal, double upper)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        if (i > 0) { oracle_push(&a, i - 1, lower); }
        oracle_push(&a, i, diagonal);
        if (i + 1 < n) { oracle_push(&a, i + 1, upper); }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Five points on a k by k grid; the left and lower neighbours have their own weights. */
static oracle_csr five_points(int64_t k, double centre, double left, double right, double lower, double upper)
{
    oracle_csr a = oracle_open(k * k, k * k);

    for (int64_t i = 0; i < k * k; i++) {
        int64_t ix = i % k, iy = i / k;

        if (iy > 0) { oracle_push(&a, i - k, lower); }
        if (ix > 0) { oracle_push(&a, i - 1, left); }
        oracle_push(&a, i, centre);
        if (ix + 1 < k) { oracle_push(&a, i + 1, right); }
        if (iy + 1 < k) { oracle_push(&a, i + k, upper); }
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr oracle_laplace2d(int64_t k)
{
    return five_points(k, 4.0, -1.0, -1.0, -1.0, -1.0);
}

oracle_csr oracle_convection2d(int64_t k, double wind)
{
    return five_points(k, 4.0 + 1.5 * wind, -1.0 - wind, -1.0, -1.0 - 0.5 * wind, -1.0);
}

oracle_csr oracle_hilbert(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            oracle_push(&a, j, 1.0 / (double)(i + j + 1));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr oracle_with_empty_rows(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        if (i % 3 != 0 && i < n - 100) {
            oracle_push(&a, i / 2, 1.0);
            oracle_push(&a, n - 1 - i / 5, 2.0);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr oracle_diagonal(int64_t n, const double *values)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        oracle_push(&a, i, values[i]);
        oracle_end_row(&a, i);
    }
    return a;
}

/* Up to `count` ascending columns, spread over the whole range. */
static void push_spread_row(oracle_csr *a, int64_t count, uint64_t *state)
{
    double stride = count > 0 ? (double)a->ncols / (double)count : 0.0;
    int64_t previous = -1;

    for (int64_t k = 0; k < count; k++) {
        int64_t col = (int64_t)(stride * ((double)k + oracle_uniform(state, 0.0, 1.0)));

        if (col > previous && col < a->ncols) {
            oracle_push(a, col, oracle_uniform(state, -1.0, 1.0));
            previous = col;
        }
    }
}

oracle_csr oracle_random(int64_t nrows, int64_t ncols, int64_t per_row, uint64_t seed)
{
    oracle_csr a = oracle_open(nrows, ncols);
    uint64_t state = seed;

    for (int64_t i = 0; i < nrows; i++) {
        int64_t count = (int64_t)(oracle_random_bits(&state) % (uint64_t)(2 * per_row + 1));

        push_spread_row(&a, count < ncols ? count : ncols, &state);
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr oracle_power_law(int64_t n, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);
    uint64_t state = seed;

    for (int64_t i = 0; i < n; i++) {
        push_spread_row(&a, n / ((i * 7919) % n + 1), &state);
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr oracle_copy(const oracle_csr *a)
{
    oracle_csr c = *a;

    c.capacity = a->nnz > 0 ? a->nnz : 1;
    c.row_ptr = test_allocate(a->nrows + 1, sizeof *c.row_ptr);
    c.col_ind = test_allocate(c.capacity, sizeof *c.col_ind);
    c.val = test_allocate(c.capacity, sizeof *c.val);
    memcpy(c.row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *c.row_ptr);
    memcpy(c.col_ind, a->col_ind, (size_t)a->nnz * sizeof *c.col_ind);
    memcpy(c.val, a->val, (size_t)a->nnz * sizeof *c.val);
    return c;
}

void oracle_round_to_fp32(oracle_csr *a)
{
    for (int64_t k = 0; k < a->nnz; k++) {
        a->val[k] = (double)(float)a->val[k];
    }
}

/* ---- answers ---- */

void oracle_multiply(const oracle_csr *a, bool transpose, const double *x, wide *product, double *magnitude)
{
    int64_t nout = transpose ? a->ncols : a->nrows;

    for (int64_t i = 0; i < nout; i++) {
        product[i] = 0;
        if (magnitude) { magnitude[i] = 0.0; }
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            int64_t to = transpose ? a->col_ind[k] : i, from = transpose ? i : a->col_ind[k];

            product[to] += (wide)a->val[k] * (wide)x[from];
            if (magnitude) { magnitude[to] += fabs(a->val[k] * x[from]); }
        }
    }
}

int64_t oracle_longest_row(const oracle_csr *a, bool transpose)
{
    int64_t longest = 0, *count = NULL;

    if (!transpose) {
        for (int64_t i = 0; i < a->nrows; i++) {
            int64_t length = a->row_ptr[i + 1] - a->row_ptr[i];

            longest = length > longest ? length : longest;
        }
        return longest;
    }
    count = test_allocate(a->ncols, sizeof *count);
    for (int64_t k = 0; k < a->nnz; k++) {
        int64_t length = ++count[a->col_ind[k]];

        longest = length > longest ? length : longest;
    }
    free(count);
    return longest;
}

wide oracle_residual_norm(const oracle_csr *a, const double *b, const double *x)
{
    wide sum = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        wide r = (wide)b[i];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            r -= (wide)a->val[k] * (wide)x[a->col_ind[k]];
        }
        sum += r * r;
    }
    return wide_sqrt(sum);
}

wide oracle_dot(const double *x, const double *y, int64_t n)
{
    wide sum = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += (wide)x[i] * (wide)y[i];
    }
    return sum;
}

wide oracle_norm2(const double *x, int64_t n)
{
    return wide_sqrt(oracle_dot(x, x, n));
}

/* ---- dense solve ---- */

static void swap_long_doubles(long double *a, long double *b, int64_t count)
{
    for (int64_t j = 0; j < count; j++) {
        long double t = a[j];

        a[j] = b[j];
        b[j] = t;
    }
}

/* Forward elimination of the n by n + 1 augmented matrix. */
static bool eliminate(long double *m, int64_t n)
{
    int64_t width = n + 1;

    for (int64_t s = 0; s < n; s++) {
        int64_t pivot = s;

        for (int64_t i = s + 1; i < n; i++) {
            if (fabsl(m[i * width + s]) > fabsl(m[pivot * width + s])) { pivot = i; }
        }
        if (!(fabsl(m[pivot * width + s]) > 0.0L)) { return false; }
        if (pivot != s) { swap_long_doubles(m + pivot * width, m + s * width, width); }
        for (int64_t i = s + 1; i < n; i++) {
            long double factor = m[i * width + s] / m[s * width + s];

            for (int64_t j = s; factor != 0.0L && j < width; j++) {
                m[i * width + j] -= factor * m[s * width + j];
            }
        }
    }
    return true;
}

bool oracle_solve_dense(const oracle_csr *a, const double *b, double *x)
{
    int64_t n = a->nrows, width = n + 1;
    long double *m = test_allocate(n * width, sizeof *m), *solution = test_allocate(n, sizeof *solution);
    bool regular = false;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            m[i * width + a->col_ind[k]] += a->val[k];
        }
        m[i * width + n] = b[i];
    }
    regular = eliminate(m, n);
    for (int64_t i = n - 1; regular && i >= 0; i--) {
        long double sum = m[i * width + n];

        for (int64_t j = i + 1; j < n; j++) {
            sum -= m[i * width + j] * solution[j];
        }
        solution[i] = sum / m[i * width + i];
        x[i] = (double)solution[i];
    }
    free(m);
    free(solution);
    return regular;
}

/* ---- random numbers ---- */

uint64_t oracle_random_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double oracle_uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(oracle_random_bits(state) >> 11) * 0x1p-53);
}
