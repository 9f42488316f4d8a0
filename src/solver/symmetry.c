/* SPDX-License-Identifier: Apache-2.0 */
/* A cheap test of symmetry on any backend. */
#include <math.h>

#include "solver/symmetry.h"

/*
 * For random u, v with independent entries of variance 1/3, u'(A - A')v has standard deviation ||A - A'||_F / 3, and
 * ||A v|| is near ||A||_F / sqrt(3). The ratio of the two measures the relative asymmetry. Rounding adds about sqrt(n)
 * u to it; the threshold is far above that for n < 2^31, and far below any asymmetry that disturbs CG.
 */
#define ASYMMETRY_LIMIT 1e-9

/* w = A v; (u, w) and ||w||, in one pass unless the squares leave their range. */
static tess_status product(const tess_matrix *a, const tess_vector *u, const tess_vector *v, tess_vector *w,
                           double *dot, double *norm)
{
    tess_fused both = {.op = TESS_FUSED_DOT_TWO, .n = w->n, .in = {w->data, u->data, w->data}};
    double sums[2] = {0.0, 0.0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_spmv(a, TESS_OP_NONE, 1.0, v, 0.0, w));
    TESS_TRY(tess_fused_dots(a->ctx, &both, 2, sums));
    *dot = sums[0];
    *norm = sqrt(sums[1]);
    if (!tess_squares_are_whole(sums[1])) { status = tess_vector_norm2(w, TESS_ARITHMETIC_FP64, norm); }
cleanup:
    return status;
}

static tess_status products(const tess_matrix *a, tess_vector *u, tess_vector *v, tess_vector *w, double *asymmetry)
{
    double uav = 0.0, vau = 0.0, norm_av = 0.0, norm_au = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_set_random(u, 1, -1.0, 1.0));
    TESS_TRY(tess_vector_set_random(v, 2, -1.0, 1.0));
    TESS_TRY(product(a, u, v, w, &uav, &norm_av));
    TESS_TRY(product(a, v, u, w, &vau, &norm_au));
    *asymmetry = norm_av + norm_au > 0.0 ? fabs(uav - vau) / (norm_av + norm_au) : 0.0;
cleanup:
    return status;
}

tess_status probe_symmetry(const tess_matrix *a, bool *symmetric)
{
    tess_vector *u = NULL, *v = NULL, *w = NULL;
    tess_matrix *known = (tess_matrix *)(uintptr_t)a; /* what is found is no part of its value */
    double asymmetry = 0.0;
    tess_status status = TESS_SUCCESS;

    if (a->ops && a->symmetry_version == a->values_version) {
        *symmetric = a->symmetric;
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &u));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &v));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &w));
    TESS_TRY(products(a, u, v, w, &asymmetry));
    /* The solve reports NaN and Inf in the matrix, with their own reason. */
    *symmetric = !(asymmetry > ASYMMETRY_LIMIT);
    known->symmetric = *symmetric;
    known->symmetry_version = a->values_version;
cleanup:
    tess_vector_destroy(u);
    tess_vector_destroy(v);
    tess_vector_destroy(w);
    return status;
}
