/* SPDX-License-Identifier: Apache-2.0 */
#include "triangular/swept.h"

tess_status swept_cut(sparse_triangle *t, const triangle_pattern *p)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(triangle_add_square(t, p, (square_place){0, t->n, 0, t->n}));
    status = tess_device_allocate(t->ctx, 2 * t->n, sizeof *t->work, (void **)&t->work);
cleanup:
    return status;
}

/* out := b - N x. out is neither of them. */
static tess_status sweep(const sparse_triangle *t, const triangle_args *args, const double *x, double *out)
{
    const tess_matrix *m = triangle_square_matrix(&t->pieces[0].square);
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

static tess_status copy(const sparse_triangle *t, const triangle_args *args, const double *from)
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

static tess_status scale(const sparse_triangle *t, const triangle_args *args)
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
tess_status swept_solve(const sparse_triangle *t, const triangle_args *args)
{
    double *const work = args->columns > 1 ? t->columns_work : t->work;
    const int64_t values = t->n * columns_of(args);
    const bool in_place = args->b == args->x;
    const double *x = args->b;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < t->sweeps && t->npieces > 0; k++) {
        double *const out = k + 1 == t->sweeps && !in_place ? args->x : work + k % 2 * values;

        TESS_TRY(sweep(t, args, x, out));
        x = out;
    }
    if (x != args->x) { TESS_TRY(copy(t, args, x)); }
    if (args->scaled) { status = scale(t, args); }
cleanup:
    return status;
}
