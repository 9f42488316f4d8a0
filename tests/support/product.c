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

/* A product in wide arithmetic, for which the library's are judged. */
typedef struct exact_product {
    tess_operation operation;
    const double *x;
    int64_t nout, longest;
    wide *product;
    double *magnitude;
} exact_product;

static exact_product multiply_exactly(const oracle_csr *a, tess_operation operation, const double *x)
{
    const bool transpose = operation == TESS_OP_TRANSPOSE;
    exact_product e = {.operation = operation, .x = x, .nout = transpose ? a->ncols : a->nrows};

    e.longest = oracle_longest_row(a, transpose);
    e.product = test_allocate(e.nout, sizeof *e.product);
    e.magnitude = test_allocate(e.nout, sizeof *e.magnitude);
    oracle_multiply(a, transpose, x, e.product, e.magnitude);
    return e;
}

static void free_product(exact_product *e)
{
    free(e->product);
    free(e->magnitude);
}

static void check_against(const exact_product *e, const tess_matrix *m, double alpha, double beta, const double *y)
{
    const double n = (double)e->longest;
    double *out = test_allocate(e->nout, sizeof *out);
    /* products and their scaling may underflow: half the smallest subnormal each */
    const double underflow = (n + 3.0) * 0x1p-1074 * fmax(1.0, fabs(alpha));

    multiply(m, e->operation, alpha, e->x, beta, y, out);
    for (int64_t i = 0; i < e->nout; i++) {
        const wide exact = (wide)alpha * e->product[i] + (beta != 0.0 ? (wide)beta * (wide)y[i] : 0);
        const double bound = gamma_of(n + 2.0) * fabs(alpha) * e->magnitude[i] * (1.0 + gamma_of(n)) +
                             (beta != 0.0 ? gamma_of(2.0) * fabs(beta * y[i]) : 0.0) + underflow;

        assert_at_most((double)wide_abs((wide)out[i] - exact), bound);
    }
    free(out);
}

void check_product_of(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, double alpha,
                      const double *x, double beta, const double *y)
{
    exact_product e = multiply_exactly(stored, operation, x);

    check_against(&e, m, alpha, beta, y);
    free_product(&e);
}

void check_products(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, int count,
                    const double (*factors)[2])
{
    int64_t most = stored->nrows > stored->ncols ? stored->nrows : stored->ncols;
    double *x = random_values(most, 101, -1.0, 1.0), *y = random_values(most, 102, -1.0, 1.0);
    exact_product e = multiply_exactly(stored, operation, x);

    for (int k = 0; k < count; k++) {
        check_against(&e, m, factors[k][0], factors[k][1], y);
    }
    free_product(&e);
    free(x);
    free(y);
}

void check_product(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, double alpha, double beta)
{
    const double factors[1][2] = {{alpha, beta}};

    check_products(m, stored, operation, 1, factors);
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
