/* SPDX-License-Identifier: Apache-2.0 */
/* --system transformed: the matrix is scaled and reordered first, and the solve is of that system. */
#include "solve.h"

#include <stdlib.h>

typedef struct order_work {
    int32_t *rows;
    double *row_scale, *col_scale;
} order_work;

static void free_work(order_work *w)
{
    free(w->rows);
    free(w->row_scale);
    free(w->col_scale);
}

static bool allocate_work(int64_t n, order_work *w)
{
    const size_t count = n > 0 ? (size_t)n : 1;
    *w = (order_work){malloc(count * sizeof *w->rows), malloc(count * sizeof *w->row_scale),
                      malloc(count * sizeof *w->col_scale)};
    return w->rows != NULL && w->row_scale != NULL && w->col_scale != NULL;
}

/* *a is replaced. */
static void replace(tess_matrix **a, tess_matrix *by)
{
    tess_matrix_destroy(*a);
    *a = by;
}

static tess_status apply_scale(tess_scaling scaling, order_work *w, tess_matrix **a)
{
    const bool matches = scaling == TESS_SCALING_MAX_PRODUCT;
    tess_matrix *scaled = NULL;
    tess_status status = TESS_SUCCESS;
    if (scaling == TESS_SCALING_NONE) { return TESS_SUCCESS; }
    status = matches ? tess_order_max_product(*a, w->rows, w->row_scale, w->col_scale)
                     : tess_order_symmetric_scale(*a, w->row_scale);
    if (status == TESS_SUCCESS) {
        status = tess_matrix_reorder(*a, matches ? w->rows : NULL, NULL, w->row_scale,
                                     matches ? w->col_scale : w->row_scale, &scaled);
    }
    if (status == TESS_SUCCESS) { replace(a, scaled); }
    return status;
}

static tess_status apply_order(tess_reordering reordering, order_work *w, tess_matrix **a)
{
    tess_matrix *reordered = NULL;
    tess_status status = TESS_SUCCESS;
    if (reordering == TESS_REORDERING_NONE) { return TESS_SUCCESS; }
    status = reordering == TESS_REORDERING_RCM ? tess_order_rcm(*a, w->rows) : tess_order_clusters(*a, w->rows);
    if (status == TESS_SUCCESS) { status = tess_matrix_reorder_symmetric(*a, w->rows, &reordered); }
    if (status == TESS_SUCCESS) { replace(a, reordered); }
    return status;
}

int cli_solve_transform(const solve_options *options, solve_objects *o)
{
    order_work work;
    if (!options->transformed) { return CLI_CONVERGED; }
    tess_status status = allocate_work(tess_matrix_nrows(o->matrix.a), &work) ? TESS_SUCCESS : TESS_OUT_OF_MEMORY;
    if (status == TESS_OUT_OF_MEMORY) {
        free_work(&work);
        return cli_report_failure(NULL, status);
    }
    status = apply_scale(options->solve.scale, &work, &o->matrix.a);
    if (status == TESS_SUCCESS) { status = apply_order(options->solve.reorder, &work, &o->matrix.a); }
    free_work(&work);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}
