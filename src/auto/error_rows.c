/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/error_rows.h"

#include <math.h>

double vector_norm2(int64_t n, const double *v)
{
    double largest = 0.0, sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(v[i]));
    }
    for (int64_t i = 0; i < n && largest > 0.0; i++) {
        sum += v[i] / largest * (v[i] / largest);
    }
    return largest * sqrt(sum);
}

double largest_ratio(int64_t n, const double *v, const double *size)
{
    double largest = 0.0;

    for (int64_t i = 0; i < n; i++) {
        if (isnan(v[i])) { return INFINITY; }
        if (v[i] != 0.0) { largest = fmax(largest, fabs(v[i]) / size[i]); }
    }
    return largest;
}

void find_row_sizes(const csr_view *a, double *size)
{
    const double *val = a->val;

    for (int64_t i = 0; i < a->nrows; i++) {
        size[i] = 0.0;
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end; k++) {
            size[i] = fmax(size[i], fabs(val[k]));
        }
    }
}

void rows_of_residual(const csr_view *a, bool transposed, const double *b, const double *x, tess_row_sum *rows)
{
    const double *val = a->val;

    for (int64_t i = 0; i < a->nrows; i++) {
        rows[i] = tess_row_sum_start(b[i]);
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end; k++) {
            const int64_t j = a->col_ind[k];

            tess_row_sum_add(&rows[transposed ? j : i], val[k], x[transposed ? i : j]);
        }
    }
}

tess_status find_rows(const tess_matrix *a, const double *b, const double *x, double *residual, double *magnitude)
{
    const int64_t n = a->nrows;
    tess_row_sum *rows = NULL;
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *rows, (void **)&rows));
    TESS_TRY(tess_matrix_on_host(a, &host));
    rows_of_residual(&csr_of(host.matrix)->view, false, b, x, rows);
    for (int64_t i = 0; i < n; i++) {
        residual[i] = tess_two_word_value(rows[i].sum);
        magnitude[i] = rows[i].magnitude;
    }
cleanup:
    tess_host_matrix_release(&host);
    tess_host_release(a->ctx, rows, n, sizeof *rows);
    return status;
}

double rowwise_backward_error(int64_t n, const double *residual, const double *magnitude)
{
    return largest_ratio(n, residual, magnitude);
}
