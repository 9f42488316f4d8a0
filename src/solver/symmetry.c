/* SPDX-License-Identifier: Apache-2.0 */
/* A cheap test of symmetry on any backend. */
#include "solver/symmetry.h"

#include "solver/guard_limits.h"

/*
 * For random u, v with independent entries of variance 1/3, u'(A - A')v has standard deviation ||A - A'||_F / 3, and
 * ||A v|| is near ||A||_F / sqrt(3). The ratio of the two measures the relative asymmetry. Rounding adds about sqrt(n)
 * u to it; the threshold is far above that for n < 2^31, and far below any asymmetry that disturbs CG. Entries that
 * were added up in FP32 differ by some roundings of FP32: the threshold is 16 of the type that the caller gave, and
 * ASYMMETRY_LIMIT at least.
 *
 * Large rows, such as those of a penalty, would hide the others. D A D is symmetric with A, for any diagonal D: so
 * where the rows of A v and A u are of different size, the test is of D A D too, with the D that brings them to one
 * size.
 */
#define ROUNDINGS 16.0
/* Of |A v|_i and |A u|_i, the larger: random products of rows of one size differ by less, and so small a share of the
   norm still shows an asymmetry of 1e-4 in a row. With a higher limit they may differ by as much less. */
#define MOST_APART 0x1p17
enum { MOST_ROUNDS = 4 };
enum { ALIGNED = 32 };

static double limit_of(const tess_matrix *a)
{
    return fmax(ASYMMETRY_LIMIT, ROUNDINGS * tess_precision_unit_roundoff(a->given));
}

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

enum { PROBES = 4 }; /* u, v, A v and A u */

/* The host waits once, for the sums of both products. */
static tess_status products(const tess_matrix *a, tess_vector *const of[], tess_loop_state *state, double *asymmetry)
{
    tess_vector *u = of[0], *v = of[1];
    tess_loop_state sums[2];
    double norm_av = 0.0, norm_au = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(a->ctx->backend->zero(a->ctx, state, sizeof sums));
    TESS_TRY(tess_vector_set_random(u, 1, -1.0, 1.0));
    TESS_TRY(tess_vector_set_random(v, 2, -1.0, 1.0));
    TESS_TRY(product(a, u, v, of[2], &state[0]));
    TESS_TRY(product(a, v, u, of[3], &state[1]));
    TESS_TRY(a->ctx->backend->download(a->ctx, sums, state, sizeof sums));
    TESS_TRY(norm_of_product(a, v, of[2], sums[0].dots[1], &norm_av));
    TESS_TRY(norm_of_product(a, u, of[3], sums[1].dots[1], &norm_au));
    *asymmetry = norm_av + norm_au > 0.0 ? fabs(sums[0].dots[0] - sums[1].dots[0]) / (norm_av + norm_au) : 0.0;
cleanup:
    return status;
}

/* ---- rows of different size ---- */

/* Whether the rows differ in size; false for NaN and Inf, of which the solve tells. */
static tess_status rows_differ(const tess_matrix *a, const scaled_probe *p, bool *differ)
{
    probe_sizes sizes;
    const tess_status status = symmetry_ops_of(a->ctx)->sizes(a->ctx, p, &sizes);

    *differ = status == TESS_SUCCESS && sizes.finite &&
              sizes.least < sizes.most / (MOST_APART * (ASYMMETRY_LIMIT / limit_of(a)));
    return status;
}

/* D A D of u and v: u'(D A D v) - v'(D A D u) over the norms. */
static tess_status scaled_asymmetry(const tess_matrix *a, tess_vector *const of[], const scaled_probe *p,
                                    double *asymmetry)
{
    probe_sums sums;
    double norms = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_spmv(a, TESS_OP_NONE, 1.0, of[1], 0.0, of[2]));
    TESS_TRY(tess_matrix_spmv(a, TESS_OP_NONE, 1.0, of[0], 0.0, of[3]));
    TESS_TRY(symmetry_ops_of(a->ctx)->sums(a->ctx, p, &sums));
    norms = sqrt(sums.squares_av) + sqrt(sums.squares_au);
    *asymmetry = norms > 0.0 ? fabs(sums.difference) / norms : 0.0;
cleanup:
    return status;
}

/* Rounds until the rows are of one size, or A is found to be unsymmetric. */
static tess_status probe_rounds(const tess_matrix *a, tess_vector *const of[], const scaled_probe *p, double *asymmetry)
{
    bool differ = true;
    tess_status status = TESS_SUCCESS;

    for (int round = 0; round < MOST_ROUNDS && differ && !(*asymmetry > limit_of(a)); round++) {
        TESS_TRY(symmetry_ops_of(a->ctx)->improve(a->ctx, p, round == 0));
        TESS_TRY(scaled_asymmetry(a, of, p, asymmetry));
        TESS_TRY(rows_differ(a, p, &differ));
    }
cleanup:
    return status;
}

static tess_status probe_scaled(const tess_matrix *a, tess_vector *const of[], double *asymmetry)
{
    scaled_probe p = {a->nrows, NULL, of[0]->data, of[1]->data, of[2]->data, of[3]->data};
    bool differ = false;
    tess_status status = TESS_SUCCESS;

    if (p.n == 0) { return TESS_SUCCESS; }
    TESS_TRY(rows_differ(a, &p, &differ));
    if (!differ) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(a->ctx, p.n, sizeof *p.factor, (void **)&p.factor));
    status = probe_rounds(a, of, &p, asymmetry);
cleanup:
    tess_device_release(a->ctx, p.factor, p.n, sizeof *p.factor);
    return status;
}

/* ---- both ---- */

/* Vectors of one allocation, which what follows writes as a whole. */
static tess_status probe(const tess_matrix *a, double *values, tess_loop_state *state, double *asymmetry)
{
    tess_vector *vector[PROBES] = {NULL, NULL, NULL, NULL};
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < PROBES; i++) {
        TESS_TRY(tess_vector_wrap(a->ctx, a->nrows, TESS_PRECISION_FP64, values ? values + i * padded(a) : NULL,
                                  &vector[i]));
    }
    TESS_TRY(products(a, vector, state, asymmetry));
    if (!(*asymmetry > limit_of(a))) { status = probe_scaled(a, vector, asymmetry); }
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
    *symmetric = !(asymmetry > limit_of(a));
    known->symmetric = *symmetric;
    known->symmetry_version = a->values_version;
cleanup:
    tess_device_release(a->ctx, values, count, sizeof *values);
    tess_device_release(a->ctx, state, 2, sizeof *state);
    return status;
}
