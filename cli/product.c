/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix-vector products: an extended-precision reference, errors against it and of what is stored, and times. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

typedef struct host_csr {
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
    double *x;
} host_csr;

static void free_host_csr(host_csr *host)
{
    free(host->row_ptr);
    free(host->col_ind);
    free(host->val);
    free(host->x);
}

static int fetch_host_csr(const tess_matrix *a, const tess_vector *x, host_csr *host)
{
    size_t nnz = (size_t)tess_matrix_nnz(a);
    host->row_ptr = malloc(((size_t)tess_matrix_nrows(a) + 1) * sizeof *host->row_ptr);
    host->col_ind = malloc((nnz + 1) * sizeof *host->col_ind);
    host->val = malloc((nnz + 1) * sizeof *host->val);
    host->x = malloc(((size_t)tess_matrix_ncols(a) + 1) * sizeof *host->x);
    if (host->row_ptr == NULL || host->col_ind == NULL || host->val == NULL || host->x == NULL) {
        return cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    }
    tess_status status = tess_matrix_get_csr(a, host->row_ptr, host->col_ind, host->val);
    if (status == TESS_SUCCESS) { status = tess_vector_get(x, host->x, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

static void multiply_rows(const host_csr *host, cli_reference *out)
{
    for (int64_t i = 0; i < out->nrows; i++) {
        long double sum = 0.0L, magnitude = 0.0L;
        for (int64_t k = host->row_ptr[i]; k < host->row_ptr[i + 1]; k++) {
            long double product = (long double)host->val[k] * (long double)host->x[host->col_ind[k]];
            sum += product;
            magnitude += fabsl(product);
        }
        out->y[i] = sum;
        out->magnitude[i] = magnitude;
        int64_t length = host->row_ptr[i + 1] - host->row_ptr[i];
        if (length > out->longest_row) { out->longest_row = length; }
    }
}

int cli_reference_create(const tess_matrix *a, const tess_vector *x, cli_reference *out)
{
    host_csr host = {.row_ptr = NULL};
    *out = (cli_reference){.nrows = tess_matrix_nrows(a)};
    out->y = malloc(((size_t)out->nrows + 1) * sizeof *out->y);
    out->magnitude = malloc(((size_t)out->nrows + 1) * sizeof *out->magnitude);
    int code = CLI_DEVICE;
    if (out->y == NULL || out->magnitude == NULL) {
        cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    } else {
        code = fetch_host_csr(a, x, &host);
    }
    if (code == CLI_CONVERGED) { multiply_rows(&host, out); }
    free_host_csr(&host);
    return code;
}

void cli_reference_free(cli_reference *reference)
{
    free(reference->y);
    free(reference->magnitude);
    *reference = (cli_reference){.nrows = 0};
}

static cli_error_norms measure_error(const cli_reference *reference, const double *y)
{
    long double largest = 0.0L, difference = 0.0L, norm = 0.0L;
    bool finite = true;
    for (int64_t i = 0; i < reference->nrows; i++) {
        long double error = fabsl((long double)y[i] - reference->y[i]);
        long double scaled = error == 0.0L ? 0.0L : error / reference->magnitude[i];
        if (!isfinite(scaled)) { finite = false; }
        if (scaled > largest) { largest = scaled; }
        difference += error * error;
        norm += reference->y[i] * reference->y[i];
    }
    double relative = difference == 0.0L ? 0.0 : (double)sqrtl(difference / norm);
    return (cli_error_norms){.componentwise = finite ? (double)largest : (double)NAN, .relative = relative};
}

int cli_reference_error(const cli_reference *reference, const tess_vector *y, cli_error_norms *out)
{
    double *host = malloc(((size_t)reference->nrows + 1) * sizeof *host);
    if (host == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    tess_status status = tess_vector_get(y, host, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    if (status == TESS_SUCCESS) { *out = measure_error(reference, host); }
    free(host);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_vector_context(y), status);
}

/* ---- what storage loses ---- */

/* The magnitudes of a row, what storage changes of them, and the largest change relative to its value. */
typedef struct row_loss {
    long double norm, error, largest;
    bool finite;
} row_loss;

static row_loss measure_loss(const double *values, const double *stored, int64_t begin, int64_t end)
{
    row_loss loss = {.finite = true};
    for (int64_t k = begin; k < end; k++) {
        const long double magnitude = fabsl((long double)values[k]);
        const long double error = fabsl((long double)values[k] - (long double)stored[k]);
        const long double relative = error > 0.0L ? error / magnitude : 0.0L;
        loss.finite = loss.finite && isfinite(values[k]);
        loss.norm += magnitude;
        loss.error += error;
        if (!(relative <= loss.largest)) { loss.largest = relative; }
    }
    return loss;
}

/* The backward error of policy error-bound, as in tess_assignment_summary. */
static double find_backward_error(const int64_t *row_ptr, const double *values, const double *stored, int64_t nrows,
                                  const tess_policy_options *policy)
{
    long double norm = 0.0L, largest = 0.0L;
    for (int64_t i = 0; i < nrows && policy->matrix_norm; i++) {
        const row_loss loss = measure_loss(values, stored, row_ptr[i], row_ptr[i + 1]);
        if (loss.finite && loss.norm > norm) { norm = loss.norm; }
    }
    for (int64_t i = 0; i < nrows; i++) {
        const row_loss loss = measure_loss(values, stored, row_ptr[i], row_ptr[i + 1]);
        const long double by_norm = loss.error / (policy->matrix_norm ? norm : loss.norm);
        const long double error = policy->componentwise ? loss.largest : by_norm;
        if (loss.finite && loss.error > 0.0L && !(error <= largest)) { largest = error; }
    }
    return (double)largest;
}

int cli_measure_storage(const tess_matrix *a, const tess_matrix *stored, const tess_policy_options *policy,
                        double *backward_error)
{
    const size_t nnz = (size_t)tess_matrix_nnz(a);
    int64_t *row_ptr = malloc(((size_t)tess_matrix_nrows(a) + 1) * sizeof *row_ptr);
    double *values = malloc((nnz + 1) * sizeof *values), *held = malloc((nnz + 1) * sizeof *held);
    tess_status status = TESS_OUT_OF_MEMORY;
    const tess_context *ctx = NULL;
    if (row_ptr != NULL && values != NULL && held != NULL) {
        ctx = tess_matrix_context(a);
        status = tess_matrix_get_csr(a, row_ptr, NULL, values);
        if (status == TESS_SUCCESS) { status = tess_matrix_get_csr(stored, NULL, NULL, held); }
    }
    if (status == TESS_SUCCESS) {
        *backward_error = find_backward_error(row_ptr, values, held, tess_matrix_nrows(a), policy);
    }
    free(row_ptr);
    free(values);
    free(held);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

/* ---- times ---- */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static tess_status time_once(const tess_matrix *a, const tess_vector *x, tess_vector *y, double *seconds)
{
    double start = cli_seconds();
    tess_status status = tess_matrix_spmv(a, TESS_OP_NONE, 1.0, x, 0.0, y);
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(tess_matrix_context(a)); }
    *seconds = cli_seconds() - start;
    return status;
}

static int time_products(const tess_matrix *a, const tess_vector *x, tess_vector *y, int repeats, cli_timing *out)
{
    double *seconds = malloc((size_t)repeats * sizeof *seconds);
    if (seconds == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    tess_status status = time_once(a, x, y, &seconds[0]); /* warm-up, not counted */
    for (int i = 0; i < repeats && status == TESS_SUCCESS; i++) {
        status = time_once(a, x, y, &seconds[i]);
    }
    if (status == TESS_SUCCESS) {
        qsort(seconds, (size_t)repeats, sizeof *seconds, compare_doubles);
        double middle = 0.5 * (seconds[(repeats - 1) / 2] + seconds[repeats / 2]);
        double vectors = (double)tess_precision_bytes(tess_vector_precision(x)) *
                         ((double)tess_matrix_nrows(a) + (double)tess_matrix_ncols(a));
        *out = (cli_timing){.repeats = repeats,
                            .median = middle,
                            .fastest = seconds[0],
                            .bytes = (double)tess_matrix_bytes(a) + vectors};
    }
    free(seconds);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

/* to[i] := from[perm[i]], or back: to[perm[i]] := from[i]; FP64. */
static tess_status permute_vector(const tess_matrix *a, const tess_vector *from, bool back, tess_vector *to)
{
    size_t n = (size_t)tess_vector_size(from) + 1; /* never zero */
    int32_t *perm = malloc(n * sizeof *perm);
    double *old = malloc(n * sizeof *old), *next = malloc(n * sizeof *next);
    tess_status status = perm == NULL || old == NULL || next == NULL ? TESS_OUT_OF_MEMORY : TESS_SUCCESS;
    if (status == TESS_SUCCESS) { status = tess_matrix_row_permutation(a, perm); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(from, old, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    for (size_t i = 0; i + 1 < n && status == TESS_SUCCESS; i++) {
        next[back ? (size_t)perm[i] : i] = old[back ? i : (size_t)perm[i]];
    }
    if (status == TESS_SUCCESS) { status = tess_vector_set(to, next, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    free(perm);
    free(old);
    free(next);
    return status;
}

int cli_time_product(const tess_matrix *a, tess_row_order order, const tess_vector *x, tess_vector *y, int repeats,
                     cli_timing *out)
{
    tess_context *ctx = tess_matrix_context(a);
    tess_vector *moved = NULL;
    tess_status status = TESS_SUCCESS;
    if (order == TESS_ROW_ORDER_ORIGINAL) { return time_products(a, x, y, repeats, out); }
    if (order == TESS_ROW_ORDER_SYMMETRIC) {
        status = tess_vector_create(ctx, tess_vector_size(x), TESS_PRECISION_FP64, &moved);
        if (status == TESS_SUCCESS) { status = permute_vector(a, x, false, moved); }
    }
    int code = status == TESS_SUCCESS ? time_products(a, moved == NULL ? x : moved, y, repeats, out)
                                      : cli_report_failure(ctx, status);
    tess_vector_destroy(moved);
    if (code != CLI_CONVERGED) { return code; }
    status = permute_vector(a, y, true, y);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}
