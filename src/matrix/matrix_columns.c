/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix with several columns of the caller. */
#include <tessera/columns.h>
#include <tessera/names.h>

#include "dense/columns.h"
#include "matrix/matrix.h"

/* Vectors of a product by rows, on the device. */
typedef struct product_columns {
    int columns;
    double *x, *y;
} product_columns;

static void release(const tess_matrix *a, product_columns *p)
{
    tess_device_release(a->ctx, p->x, a->ncols * p->columns, sizeof(double));
    tess_device_release(a->ctx, p->y, a->nrows * p->columns, sizeof(double));
}

static tess_status allocate(const tess_matrix *a, int columns, product_columns *p)
{
    tess_status status = TESS_SUCCESS;

    *p = (product_columns){.columns = columns};
    TESS_TRY(tess_device_allocate(a->ctx, a->ncols * columns, sizeof(double), (void **)&p->x));
    status = tess_device_allocate(a->ctx, a->nrows * columns, sizeof(double), (void **)&p->y);
cleanup:
    return status;
}

static tess_status multiply(const tess_matrix *a, double alpha, double beta, const product_columns *p)
{
    const tess_spmv_args args = {
        .operation = TESS_OP_NONE, .x = p->x, .y = p->y, .alpha = alpha, .beta = beta, .columns = p->columns};

    return p->columns > 1 ? a->ops->multiply_columns(a, &args) : a->ops->spmv(a, &args);
}

/* As many columns at once as the format takes: a power of two. */
static int columns_at_once(const tess_matrix *a, int64_t left)
{
    int columns = 1;

    if (!a->ops->takes_columns || !a->ops->takes_columns(a, false)) { return 1; }
    while (columns < TESS_MAX_COLUMNS && 2 * columns <= left) {
        columns *= 2;
    }
    return columns;
}

static tess_status check(const tess_matrix *a, const tess_columns *x, const tess_columns *y)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(columns_require(a->ctx, x, a->ncols, "x"));
    TESS_TRY(columns_require(a->ctx, y, a->nrows, "y"));
    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "multiply its columns by tess_matrix_spmv",
                         "a matrix that is a user's function takes one column");
    }
    if (x->columns != y->columns) {
        status = tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass as many columns in x as in y", "x has %s, y %s",
                           tess_count(x->columns, "column").text, tess_count(y->columns, "column").text);
    }
cleanup:
    return status;
}

tess_status tess_matrix_spmm(const tess_matrix *a, double alpha, const tess_columns *x, double beta,
                             const tess_columns *y)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, x);
    TESS_REQUIRE(a->ctx, y);
    product_columns p = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check(a, x, y));
    for (int64_t first = 0; first < x->columns; first += p.columns) {
        const int columns = columns_at_once(a, x->columns - first);

        if (columns != p.columns) {
            release(a, &p);
            TESS_TRY(allocate(a, columns, &p));
        }
        TESS_TRY(columns_get(a->ctx, x, first, columns, p.x));
        if (beta != 0.0) { TESS_TRY(columns_get(a->ctx, y, first, columns, p.y)); }
        TESS_TRY(multiply(a, alpha, beta, &p));
        TESS_TRY(columns_set(a->ctx, p.y, y, first, columns));
    }
    status = a->ctx->backend->synchronize(a->ctx);
cleanup:
    release(a, &p);
    return status;
}
