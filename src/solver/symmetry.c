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
enum { ALIGNED = 32 };

/* Doubles from one vector to the next, so that each begins as an allocation does. */
static int64_t padded(const tess_matrix *a)
{
    return (a->nrows + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* w = A v; the state's first two sums become (u, w) and (w, w). */
static tess_status product(const tess_matrix *a, const tess_vector *u, const tess_vector *v, tess_vector *w,
                           tess_loop_state *state)
{
    const tess_fused both = {.op = TESS_FUSED_DOT_TWO, .n = w->n, .in = {w->data, u->data, w->data}, .state = state};
    tess_status status = tess_matrix_spmv(a, TESS_OP_NONE, 1.0, v, 0.0, w);

    return status == TESS_SUCCESS ? a->ctx->backend->fused(a->ctx, &both) : status;
}

/* ||A v||, once more where its squares leave their range. */
static tess_status norm_of_product(const tess_matrix *a, const tess_vector *v, tess_vector *w, double squares,
                                   double *norm)
{
    tess_status status = TESS_SUCCESS;

    *norm = sqrt(squares);
    if (tess_squares_are_whole(squares)) { return TESS_SUCCESS; }
    status = tess_matrix_spmv(a, TESS_OP_NONE, 1.0, v, 0.0, w);
    return status == TESS_SUCCESS ? tess_vector_norm2(w, TESS_ARITHMETIC_FP64, norm) : status;
}

/* The host waits once, for the sums of both products. */
static tess_status products(const tess_matrix *a, tess_vector *u, tess_vector *v, tess_vector *w,
                            tess_loop_state *state, double *asymmetry)
{
    tess_loop_state of[2];
    double norm_av = 0.0, norm_au = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(a->ctx->backend->zero(a->ctx, state, sizeof of));
    TESS_TRY(tess_vector_set_random(u, 1, -1.0, 1.0));
    TESS_TRY(tess_vector_set_random(v, 2, -1.0, 1.0));
    TESS_TRY(product(a, u, v, w, &state[0]));
    TESS_TRY(product(a, v, u, w, &state[1]));
    TESS_TRY(a->ctx->backend->download(a->ctx, of, state, sizeof of));
    TESS_TRY(norm_of_product(a, v, w, of[0].dots[1], &norm_av));
    TESS_TRY(norm_of_product(a, u, w, of[1].dots[1], &norm_au));
    *asymmetry = norm_av + norm_au > 0.0 ? fabs(of[0].dots[0] - of[1].dots[0]) / (norm_av + norm_au) : 0.0;
cleanup:
    return status;
}

enum { PROBES = 3 }; /* u, v and w */

/* Vectors of one allocation, which what follows writes as a whole. */
static tess_status probe(const tess_matrix *a, double *values, tess_loop_state *state, double *asymmetry)
{
    tess_vector *vector[PROBES] = {NULL, NULL, NULL};
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < PROBES; i++) {
        TESS_TRY(tess_vector_wrap(a->ctx, a->nrows, TESS_PRECISION_FP64, values ? values + i * padded(a) : NULL,
                                  &vector[i]));
    }
    status = products(a, vector[0], vector[1], vector[2], state, asymmetry);
cleanup:
    for (int i = 0; i < PROBES; i++) {
        tess_vector_destroy(vector[i]);
    }
    return status;
}

tess_status probe_symmetry(const tess_matrix *a, bool *symmetric)
{
    const int64_t count = PROBES * padded(a);
    tess_matrix *known = (tess_matrix *)(uintptr_t)a; /* what is found is no part of its value */
    tess_loop_state *state = NULL;
    double asymmetry = 0.0, *values = NULL;
    tess_status status = TESS_SUCCESS;

    if (a->ops && a->symmetry_version == a->values_version) {
        *symmetric = a->symmetric;
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_device_allocate(a->ctx, count, sizeof *values, (void **)&values));
    TESS_TRY(tess_device_allocate(a->ctx, 2, sizeof *state, (void **)&state));
    TESS_TRY(probe(a, values, state, &asymmetry));
    /* The solve reports NaN and Inf in the matrix, with their own reason. */
    *symmetric = !(asymmetry > ASYMMETRY_LIMIT);
    known->symmetric = *symmetric;
    known->symmetry_version = a->values_version;
cleanup:
    tess_device_release(a->ctx, values, count, sizeof *values);
    tess_device_release(a->ctx, state, 2, sizeof *state);
    return status;
}
