/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that an ordering reads. */
#include "order/order.h"

tess_status require_square(const tess_matrix *a, const char *purpose)
{
    if (a->nrows == a->ncols) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass a square matrix",
                     "%s needs a square matrix, but this one is %lld by %lld", purpose, (long long)a->nrows,
                     (long long)a->ncols);
}

tess_status open_order_input(const tess_matrix *a, const char *purpose, order_input *in)
{
    tess_status status = TESS_SUCCESS;

    *in = (order_input){.ctx = a->ctx};
    if (!a->ops || a->original) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix that it was made from",
                         "%s needs an assembled matrix, not %s", purpose, a->ops ? "a stored matrix" : "a shell");
    }
    status = tess_matrix_on_host(a, &in->on_host);
    if (status == TESS_SUCCESS) { in->view = tess_matrix_csr_view(in->on_host.matrix); }
    return status;
}

void close_order_input(order_input *in)
{
    tess_host_matrix_release(&in->on_host);
}
