/* SPDX-License-Identifier: Apache-2.0 */
#include "support/direct.h"

tess_precond_options direct_options(tess_precond_kind kind, tess_precision precision)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.role = (tess_role_precision){
        1, precision, precision == TESS_PRECISION_FP32 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};
    return options;
}

void check_backward_error(const oracle_csr *a, const double *r, const double *z, tess_precision precision)
{
    const double unit = tess_precision_unit_roundoff(precision);
    wide *product = test_allocate(a->nrows, sizeof *product), error = 0;
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude);
    wide size = 0;

    oracle_multiply(a, false, z, product, magnitude);
    for (int64_t i = 0; i < a->nrows; i++) {
        const wide gap = (wide)r[i] - product[i], own = (wide)magnitude[i] + (wide)fabs(r[i]);

        error += gap * gap;
        size += own * own;
    }
    assert_at_most((double)wide_sqrt(error), 4.0 * (double)a->nrows * unit * (double)wide_sqrt(size));
    free(product);
    free(magnitude);
}

void replace_values(tess_context *ctx, tess_matrix *matrix, const oracle_csr *a)
{
    assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
}
