/* SPDX-License-Identifier: Apache-2.0 */
#include "support/incomplete.h"

#include <tessera/codec.h>

#include "precond/incomplete/incomplete.h"
#include "triangular/leaf.h"

/* ---- the library's factors ---- */

tess_factorization test_factorization = TESS_FACTORIZATION_DEVICE;
int test_sweeps = 5;

int factor_by_host(void **state)
{
    (void)state;
    test_factorization = TESS_FACTORIZATION_HOST;
    return 0;
}

int factor_by_device(void **state)
{
    (void)state;
    test_factorization = TESS_FACTORIZATION_DEVICE;
    return 0;
}

typedef struct factor_arrays {
    incomplete_pattern pattern;
    triangle_pattern lower;
    double *lu, *inverse;
} factor_arrays;

static factor_arrays open_arrays(const tess_matrix *matrix)
{
    tess_context *ctx = matrix->ctx;
    factor_arrays f;
    int64_t missing = -1;

    memset(&f, 0, sizeof f);
    assert_ok(ctx, incomplete_read_pattern(matrix, &f.pattern, &missing));
    assert_int_equal(missing, -1);
    assert_ok(ctx, incomplete_take_lower(ctx, &f.pattern, &f.lower));
    f.lu = test_allocate(matrix->nnz, sizeof *f.lu);
    f.inverse = test_allocate(matrix->nrows, sizeof *f.inverse);
    return f;
}

static void *to_device(tess_context *ctx, const void *host, int64_t count, size_t size)
{
    void *device = NULL;

    assert_ok(ctx, tess_device_upload(ctx, host, count, size, &device));
    return device;
}

static void to_host(tess_context *ctx, void *device, int64_t count, double *host)
{
    assert_ok(ctx, ctx->backend->download(ctx, host, device, (size_t)count * sizeof *host));
    tess_device_release(ctx, device, count, sizeof *host);
}

static tess_incomplete_outcome factor_on_device(const tess_matrix *matrix, factor_arrays *f, tess_incomplete_job job)
{
    tess_context *ctx = matrix->ctx;
    level_schedule schedule;
    tess_incomplete_outcome outcome;
    int64_t *diagonal = to_device(ctx, f->pattern.diagonal, matrix->nrows, sizeof *diagonal);
    int32_t *order = NULL;

    assert_ok(ctx, level_sets_find(ctx, &f->lower, 0, matrix->nrows, &schedule));
    order = to_device(ctx, schedule.order, matrix->nrows, sizeof *order);
    job.diagonal = diagonal;
    job.order = order;
    job.runs = schedule.runs;
    job.nruns = schedule.nruns;
    job.lu = to_device(ctx, f->lu, matrix->nnz, sizeof *job.lu);
    job.inverse = to_device(ctx, f->inverse, matrix->nrows, sizeof *job.inverse);
    assert_ok(ctx, incomplete_ops_of(ctx)->factor(matrix, &job, &outcome));
    to_host(ctx, job.lu, matrix->nnz, f->lu);
    to_host(ctx, job.inverse, matrix->nrows, f->inverse);
    tess_device_release(ctx, diagonal, matrix->nrows, sizeof *diagonal);
    tess_device_release(ctx, order, matrix->nrows, sizeof *order);
    level_sets_release(ctx, &schedule);
    return outcome;
}

static tess_incomplete_outcome factor_on_host(const tess_matrix *matrix, factor_arrays *f, tess_incomplete_job job)
{
    const level_run all = {0, matrix->nrows, false};
    double *val = test_allocate(matrix->nnz, sizeof *val);
    const csr_view view = {.nrows = matrix->nrows,
                           .ncols = matrix->ncols,
                           .nnz = matrix->nnz,
                           .row_ptr = f->pattern.row_ptr,
                           .col_ind = f->pattern.col_ind,
                           .val = val,
                           .row_ptr_bits = 64,
                           .precision = TESS_PRECISION_FP64};
    tess_incomplete_outcome outcome;

    assert_ok(matrix->ctx, matrix->ops->decode(matrix, NULL, NULL, val));
    job.diagonal = f->pattern.diagonal;
    job.runs = &all;
    job.nruns = 1;
    job.lu = f->lu;
    job.inverse = f->inverse;
    incomplete_factor_on_host(&view, &job, 1, &outcome);
    free(val);
    return outcome;
}

static void close_arrays(const tess_matrix *matrix, factor_arrays *f)
{
    free(f->lu);
    incomplete_release_triangle(matrix->ctx, &f->lower);
    incomplete_release_pattern(matrix->ctx, &f->pattern);
}

static oracle_csr take_triangle(const triangle_pattern *p, const double *lu)
{
    oracle_csr t = oracle_open(p->n, p->n);

    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
            oracle_push(&t, p->col_ind[k], lu[p->source[k]]);
        }
        oracle_end_row(&t, i);
    }
    return t;
}

test_factors factor_matrix(const tess_matrix *matrix, bool cholesky, double shift)
{
    tess_context *ctx = matrix->ctx;
    factor_arrays arrays = open_arrays(matrix);
    const bool swept = test_factorization == TESS_FACTORIZATION_SWEEPS;
    const tess_incomplete_job job = {
        .n = matrix->nrows, .attempts = 1, .cholesky = cholesky, .shift = shift, .sweeps = swept ? test_sweeps : 0};
    const tess_incomplete_outcome outcome = test_factorization == TESS_FACTORIZATION_HOST
                                                ? factor_on_host(matrix, &arrays, job)
                                                : factor_on_device(matrix, &arrays, job);
    test_factors f = {
        .inverse = arrays.inverse, .bad_row = outcome.bad_row, .finite = outcome.finite, .largest = outcome.largest};
    triangle_pattern upper = {0};

    assert_ok(ctx, cholesky ? incomplete_mirror(ctx, &arrays.lower, &upper)
                            : incomplete_take_upper(ctx, &arrays.pattern, &upper));
    f.lower = take_triangle(&arrays.lower, arrays.lu);
    f.upper = take_triangle(&upper, arrays.lu);
    incomplete_release_triangle(ctx, &upper);
    close_arrays(matrix, &arrays);
    return f;
}

test_factors factors_on(tess_device device, const oracle_csr *a, tess_precond_kind kind)
{
    tess_context *ctx = open_on(device, 1);
    tess_matrix *matrix = make_matrix(ctx, a);
    test_factors f = factor_matrix(matrix, kind == TESS_PRECOND_IC0, 0.0);

    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return f;
}

static void round_triangle(oracle_csr *t, tess_precision precision)
{
    for (int64_t k = 0; k < t->nnz; k++) {
        uint64_t workspace = 0;

        tess_store(precision, &workspace, 0, t->val[k], TESS_OVERFLOW_INFINITY);
        t->val[k] = tess_load(precision, &workspace, 0);
    }
}

void round_factors(test_factors *f, tess_precision precision)
{
    round_triangle(&f->lower, precision);
    round_triangle(&f->upper, precision);
}

void free_factors(test_factors *f)
{
    oracle_free(&f->lower);
    oracle_free(&f->upper);
    free(f->inverse);
}

/* ---- what must hold ---- */

/* Row i of M and of its magnitudes, dense. */
static void multiply_row(const test_factors *f, int64_t i, wide *row, double *magnitude)
{
    for (int64_t j = 0; j < f->lower.nrows; j++) {
        row[j] = 0;
        magnitude[j] = 0.0;
    }
    for (int64_t k = f->lower.row_ptr[i]; k <= f->lower.row_ptr[i + 1]; k++) {
        const bool own = k == f->lower.row_ptr[i + 1];
        const int64_t m = own ? i : f->lower.col_ind[k];
        const wide l = (own ? 1 : (wide)f->lower.val[k]) / (wide)f->inverse[m];

        row[m] += l;
        magnitude[m] += (double)wide_abs(l);
        for (int64_t e = f->upper.row_ptr[m]; e < f->upper.row_ptr[m + 1]; e++) {
            row[f->upper.col_ind[e]] += l * (wide)f->upper.val[e];
            magnitude[f->upper.col_ind[e]] += (double)wide_abs(l * (wide)f->upper.val[e]);
        }
    }
}

void check_on_pattern(const oracle_csr *a, bool cholesky, const test_factors *f)
{
    const int64_t n = a->nrows;
    const double gamma = gamma_of((double)oracle_longest_row(a, false) + 8.0);
    wide *row = test_allocate(n, sizeof *row);
    double *magnitude = test_allocate(n, sizeof *magnitude);

    for (int64_t i = 0; i < n; i++) {
        multiply_row(f, i, row, magnitude);
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int32_t j = a->col_ind[k];

            if (cholesky && j > i) { continue; }
            assert_at_most((double)wide_abs(row[j] - (wide)a->val[k]), gamma * magnitude[j]);
        }
    }
    free(row);
    free(magnitude);
}

/* y = (I + t) x, and the same with magnitudes. */
static void multiply_triangle(const oracle_csr *t, const wide *x, const double *size, wide *y, double *magnitude)
{
    for (int64_t i = 0; i < t->nrows; i++) {
        y[i] = x[i];
        magnitude[i] = size[i];
        for (int64_t k = t->row_ptr[i]; k < t->row_ptr[i + 1]; k++) {
            y[i] += (wide)t->val[k] * x[t->col_ind[k]];
            magnitude[i] += fabs(t->val[k]) * size[t->col_ind[k]];
        }
    }
}

void check_factor_solution(const test_factors *f, const double *r, const double *z, double relative)
{
    const int64_t n = f->lower.nrows;
    const double longest = (double)(oracle_longest_row(&f->lower, false) + oracle_longest_row(&f->upper, false));
    wide *x = test_allocate(2 * n, sizeof *x), *y = x + n;
    double *size = test_allocate(2 * n, sizeof *size), *next = size + n;

    for (int64_t i = 0; i < n; i++) {
        x[i] = (wide)z[i];
        size[i] = fabs(z[i]);
    }
    multiply_triangle(&f->upper, x, size, y, next);
    for (int64_t i = 0; i < n; i++) {
        y[i] /= (wide)f->inverse[i];
        next[i] /= fabs(f->inverse[i]);
    }
    multiply_triangle(&f->lower, y, next, x, size);
    for (int64_t i = 0; i < n; i++) {
        assert_at_most((double)wide_abs(x[i] - (wide)r[i]), (gamma_of(longest + 6.0) + 2.0 * relative) * size[i]);
    }
    free(x);
    free(size);
}

/* The largest sum of magnitudes of a row of (I - |t|)^-1, and in *row that of I + |t|. Rows are solved from the first,
 * or `backward`. */
static double largest_growth(const oracle_csr *t, bool backward, double *row)
{
    const int64_t n = t->nrows;
    double *x = test_allocate(n, sizeof *x), most = 1.0;

    *row = 1.0;
    for (int64_t at = 0; at < n; at++) {
        const int64_t i = backward ? n - 1 - at : at;
        double sum = 1.0;

        x[i] = 1.0;
        for (int64_t k = t->row_ptr[i]; k < t->row_ptr[i + 1]; k++) {
            x[i] += fabs(t->val[k]) * x[t->col_ind[k]];
            sum += fabs(t->val[k]);
        }
        most = fmax(most, x[i]);
        *row = fmax(*row, sum);
    }
    free(x);
    return most;
}

static double largest_wide(const wide *x, int64_t n)
{
    double most = 0.0;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, (double)wide_abs(x[i]));
    }
    return most;
}

void check_merged_solution(const test_factors *f, const double *r, const double *z, double relative)
{
    const int64_t n = f->lower.nrows;
    const double unit = gamma_of((double)n + 10.0) + relative;
    double row[2], pivot = 0.0, error[2], most = 0.0;
    wide *x = test_allocate(3 * n, sizeof *x), *y = x + n, *product = y + n;
    double *size = test_allocate(2 * n, sizeof *size);

    memset(size, 0, 2 * (size_t)n * sizeof *size);
    error[0] = largest_growth(&f->lower, false, &row[0]) * row[0] * row[0] * unit;
    error[1] = largest_growth(&f->upper, true, &row[1]) * row[1] * row[1] * unit;
    for (int64_t i = 0; i < n; i++) {
        x[i] = (wide)z[i];
        most = fmax(most, fabs(r[i]));
    }
    multiply_triangle(&f->upper, x, size, y, size + n);
    error[1] *= fmax(largest_wide(x, n), largest_wide(y, n));
    for (int64_t i = 0; i < n; i++) {
        y[i] /= (wide)f->inverse[i];
        pivot = fmax(pivot, fabs(1.0 / f->inverse[i]));
    }
    error[0] *= fmax(most, largest_wide(y, n));
    multiply_triangle(&f->lower, y, size, product, size + n);
    for (int64_t i = 0; i < n; i++) {
        assert_at_most((double)wide_abs(product[i] - (wide)r[i]), error[0] + row[0] * pivot * error[1]);
    }
    free(x);
    free(size);
}

/* ---- problems ---- */

oracle_csr random_dominant(int64_t n, int64_t per_row, bool symmetric, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);
    double *dense = test_allocate(n * n, sizeof *dense);

    memset(dense, 0, (size_t)(n * n) * sizeof *dense);
    for (int64_t e = 0; e < n * per_row; e++) {
        const int64_t i = e < n ? 3 % n : (int64_t)(oracle_random_bits(&seed) % (uint64_t)n); /* row 3 is long */
        const int64_t j = (int64_t)(oracle_random_bits(&seed) % (uint64_t)n);

        dense[i * n + j] = oracle_uniform(&seed, -1.0, 1.0);
        if (symmetric) { dense[j * n + i] = dense[i * n + j]; }
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = 1.0;

        for (int64_t j = 0; j < n; j++) {
            sum += j == i ? 0.0 : fabs(dense[i * n + j]);
        }
        dense[i * n + i] = symmetric || i % 2 == 0 ? sum : -sum;
        for (int64_t j = 0; j < n; j++) {
            if (dense[i * n + j] != 0.0) { oracle_push(&a, j, dense[i * n + j]); }
        }
        oracle_end_row(&a, i);
    }
    free(dense);
    return a;
}

oracle_csr arrow(int64_t n, bool first)
{
    const int64_t tip = first ? 0 : n - 1;
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (i == j) {
                oracle_push(&a, j, i == tip ? (double)n : 2.0 + (double)i / (double)n);
            } else if (i == tip || j == tip) {
                oracle_push(&a, j, -1.0 + 0.25 * (double)((i + 2 * j) % 3));
            }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Points of a grid with an odd side are red where their number row by row is even; red ones come first. */
static int64_t red_black_number(int64_t k, int64_t point)
{
    return point / 2 + (point % 2 == 0 ? 0 : (k * k + 1) / 2);
}

static void push_neighbours(oracle_csr *a, int64_t k, int64_t point)
{
    if (point >= k) { oracle_push(a, red_black_number(k, point - k), -1.0); }
    if (point % k > 0) { oracle_push(a, red_black_number(k, point - 1), -1.0); }
    if (point % k + 1 < k) { oracle_push(a, red_black_number(k, point + 1), -1.0); }
    if (point + k < k * k) { oracle_push(a, red_black_number(k, point + k), -1.0); }
}

oracle_csr red_black(int64_t k)
{
    const int64_t n = k * k, reds = (n + 1) / 2;
    oracle_csr a = oracle_open(n, n);

    for (int64_t row = 0; row < n; row++) {
        const bool red = row < reds;
        const int64_t point = red ? 2 * row : 2 * (row - reds) + 1;

        if (!red) { push_neighbours(&a, k, point); }
        oracle_push(&a, row, 4.0);
        if (red) { push_neighbours(&a, k, point); }
        oracle_end_row(&a, row);
    }
    return a;
}

/* ---- preconditioners ---- */

tess_precond_options factor_options(tess_precond_kind kind)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = kind;
    if (kind == TESS_PRECOND_JACOBI) { return options; } /* to compare with: it has no factors */
    options.incomplete.triangular = TESS_TRIANGULAR_LEVELS;
    options.incomplete.factorization = test_factorization;
    options.incomplete.factorization_sweeps = test_sweeps;
    return options;
}

void apply_factors_on(tess_device device, const oracle_csr *a, const tess_precond_options *options, int threads,
                      const double *r, double *z, tess_precond_factors *facts)
{
    tess_context *ctx = open_on(device, threads);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, options, &m));
    apply_precond(m, a->nrows, r, z);
    tess_precond_factors_init(facts);
    assert_ok(ctx, tess_precond_get_factors(m, facts));
    assert_true(tess_precond_bytes(m) > facts->nonzeros * 8);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

void choose_leaf(tess_precond_options *options, int64_t leaf)
{
    const tess_storage_options *squares = &options->incomplete.squares;
    const bool set = squares->format != TESS_FORMAT_CSR || squares->precision != TESS_PRECISION_FP64 ||
                     squares->policy.policy != TESS_POLICY_NONE;
    const tess_triangular way = options->incomplete.triangular;

    if (way == TESS_TRIANGULAR_BLOCKS || (way == TESS_TRIANGULAR_AUTO && set)) { options->incomplete.leaf = leaf; }
}

oracle_csr two_by_two(double a, double b, double c, double d)
{
    oracle_csr m = oracle_open(2, 2);

    oracle_push(&m, 0, a);
    oracle_push(&m, 1, b);
    oracle_end_row(&m, 0);
    oracle_push(&m, 0, c);
    oracle_push(&m, 1, d);
    oracle_end_row(&m, 1);
    return m;
}
