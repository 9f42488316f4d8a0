/* SPDX-License-Identifier: Apache-2.0 */
#include "triangular/swept.h"

/* out := b - N x. out is neither of them. */
static tess_status sweep(const swept_triangle *t, const triangle_args *args, const double *x, double *out)
{
    const tess_matrix *m = t->beside;
    const int columns = columns_of(args);
    const tess_spmv_args product = {.operation = TESS_OP_NONE,
                                    .x = x,
                                    .y = out,
                                    .residual = args->b,
                                    .alpha = 1.0,
                                    .reduction = {.state = args->state},
                                    .columns = columns};

    return columns > 1 ? m->ops->multiply_columns(m, &product) : m->ops->spmv(m, &product);
}

static tess_status copy(const swept_triangle *t, const triangle_args *args, const double *from)
{
    const tess_fused op = {.op = TESS_FUSED_SCALE,
                           .n = t->n * columns_of(args),
                           .x = {.data = from},
                           .y = {.data = args->x},
                           .result = args->x,
                           .a = 1.0,
                           .state = args->state};

    return t->ctx->backend->fused(t->ctx, &op);
}

static tess_status scale(const swept_triangle *t, const triangle_args *args)
{
    const int columns = columns_of(args);
    const tess_fused op = {.op = TESS_FUSED_DIAGONAL,
                           .n = t->n * columns,
                           .in = {args->x},
                           .out = {args->scaled},
                           .scale = args->scale,
                           .columns = columns,
                           .state = args->state};

    return t->ctx->backend->fused(t->ctx, &op);
}

/* The last vector is x itself, unless x is b, which all sweeps read. */
tess_status swept_solve(const swept_triangle *t, const triangle_args *args)
{
    const int64_t values = t->n * columns_of(args);
    const bool in_place = args->b == args->x;
    const double *x = args->b;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < t->sweeps && t->beside; k++) {
        double *const out = k + 1 == t->sweeps && !in_place ? args->x : t->work + k % 2 * values;

        TESS_TRY(sweep(t, args, x, out));
        x = out;
    }
    if (x != args->x) { TESS_TRY(copy(t, args, x)); }
    if (args->scaled) { status = scale(t, args); }
cleanup:
    return status;
}
