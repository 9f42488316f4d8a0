/* SPDX-License-Identifier: Apache-2.0 */
/* The scaling D A by powers of two. */
#include <math.h>

#include "base/offsets.h"
#include "order/order.h"

/* Beyond these exponents a factor, or its inverse, is no normal number. */
enum { MOST_EXPONENT = 1000 };

/* 2^-e of the largest magnitude m 2^e, 1 <= m < 2, of a row; NaN where a value is NaN or Inf. */
static double scale_of_row(const tess_csr_view *a, int64_t i)
{
    const int64_t end = tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1);
    double largest = 0.0;
    int exponent = 0;

    for (int64_t k = tess_row_offset(a->row_ptr, a->row_ptr_bits, i); k < end; k++) {
        if (!isfinite(a->val[k])) { return NAN; }
        largest = fmax(largest, fabs(a->val[k]));
    }
    if (largest == 0.0) { return 1.0; }
    exponent = ilogb(largest);
    if (exponent > MOST_EXPONENT) { exponent = MOST_EXPONENT; }
    if (exponent < -MOST_EXPONENT) { exponent = -MOST_EXPONENT; }
    return ldexp(1.0, -exponent);
}

tess_status tess_order_row_scale(const tess_matrix *a, double *scale)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, scale);
    order_input in = {.ctx = NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_order_input(a, "row scaling", &in));
    for (int64_t i = 0; i < a->nrows; i++) {
        scale[i] = scale_of_row(&in.view, i);
        if (!isnan(scale[i])) { continue; }
        status = tess_fail(a->ctx, TESS_OUT_OF_RANGE, "remove NaN and Inf from the matrix",
                           "row scaling: the matrix has NaN or Inf, first seen in row %lld", tess_number(a->ctx, i));
        break;
    }
cleanup:
    close_order_input(&in);
    return status;
}
