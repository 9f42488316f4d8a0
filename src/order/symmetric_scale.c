/* SPDX-License-Identifier: Apache-2.0 */
/* The scaling D A D, through matrix/equilibrate.h. */
#include <math.h>

#include "base/offsets.h"
#include "matrix/equilibrate.h"
#include "order/order.h"

/* Row numbers of all entries; *bad_row: the first row with NaN or Inf, or -1. */
static void list_rows(const tess_csr_view *a, int32_t *row, int64_t *bad_row)
{
    *bad_row = -1;
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t end = tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1);

        for (int64_t k = tess_row_offset(a->row_ptr, a->row_ptr_bits, i); k < end; k++) {
            row[k] = (int32_t)i;
            if (*bad_row < 0 && !isfinite(a->val[k])) { *bad_row = i; }
        }
    }
}

static tess_status take_factors(tess_context *ctx, int64_t n, const int32_t *exponent, double *scale)
{
    for (int64_t i = 0; i < n; i++) {
        scale[i] = ldexp(1.0, exponent[i]);
        if (isnormal(scale[i])) { continue; }
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "scale rows and columns before, or use --scale max-product",
                         "symmetric scaling: the factor of row %lld would be 2^%d", tess_number(ctx, i),
                         (int)exponent[i]);
    }
    return TESS_SUCCESS;
}

tess_status tess_order_symmetric_scale(const tess_matrix *a, double *scale)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, scale);
    tess_context *ctx = a->ctx;
    order_input in = {.ctx = NULL};
    equilibrate_entries entries = {.n = a->nrows, .count = a->nnz};
    int32_t *row = NULL, *exponent = NULL;
    int64_t bad_row = -1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_square(a, "symmetric scaling"));
    TESS_TRY(open_order_input(a, "symmetric scaling", &in));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *row, (void **)&row));
    TESS_TRY(tess_host_allocate(ctx, a->nrows, sizeof *exponent, (void **)&exponent));
    list_rows(&in.view, row, &bad_row);
    if (bad_row >= 0) {
        TESS_TRY(tess_fail(ctx, TESS_OUT_OF_RANGE, "remove NaN and Inf from the matrix",
                           "symmetric scaling: the matrix has NaN or Inf, first seen in row %lld",
                           tess_number(ctx, bad_row)));
    }
    entries.row = row;
    entries.column = in.view.col_ind;
    entries.val = in.view.val;
    TESS_TRY(equilibrate(ctx, &entries, exponent, NULL));
    status = take_factors(ctx, a->nrows, exponent, scale);
cleanup:
    tess_host_release(ctx, row, a->nnz, sizeof *row);
    tess_host_release(ctx, exponent, a->nrows, sizeof *exponent);
    close_order_input(&in);
    return status;
}
