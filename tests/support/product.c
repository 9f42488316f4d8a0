/* SPDX-License-Identifier: Apache-2.0 */
#include "support/product.h"

void multiply(const tess_matrix *m, tess_operation operation, double alpha, const double *x, double beta,
              const double *y, double *out)
{
    tess_context *ctx = tess_matrix_context(m);
    bool transpose = operation == TESS_OP_TRANSPOSE;
    int64_t nin = transpose ? tess_matrix_nrows(m) : tess_matrix_ncols(m);
    int64_t nout = transpose ? tess_matrix_ncols(m) : tess_matrix_nrows(m);
    tess_vector *vx = make_vector(ctx, nin, x), *vy = make_vector(ctx, nout, y);

    assert_ok(ctx, tess_matrix_spmv(m, operation, alpha, vx, beta, vy));
    read_vector(vy, out);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
}

void check_product_of(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, double alpha,
                      const double *x, double beta, const double *y)
{
    bool transpose = operation == TESS_OP_TRANSPOSE;
    int64_t nout = transpose ? stored->ncols : stored->nrows, longest = oracle_longest_row(stored, transpose);
    wide *product = test_allocate(nout, sizeof *product);
    double *magnitude = test_allocate(nout, sizeof *magnitude), *out = test_allocate(nout, sizeof *out);
    /* products and their scaling may underflow: half the smallest subnormal each */
    double underflow = ((double)longest + 3.0) * 0x1p-1074 * fmax(1.0, fabs(alpha));

    oracle_multiply(stored, transpose, x, product, magnitude);
    multiply(m, operation, alpha, x, beta, y, out);
    for (int64_t i = 0; i < nout; i++) {
        wide exact = (wide)alpha * product[i] + (beta != 0.0 ? (wide)beta * (wide)y[i] : 0);
        double bound =
            gamma_of((double)longest + 2.0) * fabs(alpha) * magnitude[i] * (1.0 + gamma_of((double)longest)) +
            (beta != 0.0 ? gamma_of(2.0) * fabs(beta * y[i]) : 0.0) + underflow;

        assert_at_most((double)wide_abs((wide)out[i] - exact), bound);
    }
    free(product);
    free(magnitude);
    free(out);
}

void check_product(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, double alpha, double beta)
{
    int64_t most = stored->nrows > stored->ncols ? stored->nrows : stored->ncols;
    double *x = random_values(most, 101, -1.0, 1.0), *y = random_values(most, 102, -1.0, 1.0);

    check_product_of(m, stored, operation, alpha, x, beta, y);
    free(x);
    free(y);
}

oracle_csr decode_matrix(const tess_matrix *m)
{
    int64_t nnz = tess_matrix_nnz(m);
    oracle_csr a = {.nrows = tess_matrix_nrows(m), .ncols = tess_matrix_ncols(m), .nnz = nnz, .capacity = nnz};

    a.row_ptr = test_allocate(a.nrows + 1, sizeof *a.row_ptr);
    a.col_ind = test_allocate(nnz, sizeof *a.col_ind);
    a.val = test_allocate(nnz, sizeof *a.val);
    assert_ok(tess_matrix_context(m), tess_matrix_get_csr(m, a.row_ptr, a.col_ind, a.val));
    return a;
}
