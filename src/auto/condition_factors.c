/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/condition_factors.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "auto/error_rows.h"
#include "auto/refined_inverse.h"
#include "base/blas_calls.h"
#include "matrix/assembled.h"

/* ||D^-1 A||_1 = max_j sum_i |a_ij| / d_i; sums: n values. */
static double matrix_norm1(const csr_view *v, const double *row_size, double *sums)
{
    const double *val = v->val;
    double norm = 0.0;

    memset(sums, 0, (size_t)v->ncols * sizeof *sums);
    for (int64_t i = 0; i < v->nrows; i++) {
        for (int64_t k = csr_offset(v, i), end = csr_offset(v, i + 1); k < end; k++) {
            sums[v->col_ind[k]] += fabs(val[k]) / row_size[i];
        }
    }
    for (int64_t j = 0; j < v->ncols; j++) {
        norm = fmax(norm, sums[j]);
    }
    return norm;
}

/* ||M^-1 D||_1 by LAPACK's dlacn2 (Higham, ACM Trans. Math. Softw. 14 (1988)): a lower bound, mostly within a factor of
   3. work: 2 n values. */
static tess_status inverse_norm1(const tess_precond *m, const double *row_size, double *work, lapack_int *signs,
                                 double *norm)
{
    const lapack_int n = (lapack_int)m->n;
    double *vector = work + m->n;
    lapack_int kase = 0, isave[3] = {0}, info = 0;
    tess_status status = TESS_SUCCESS;

    *norm = 0.0;
    memset(vector, 0, (size_t)m->n * sizeof *vector); /* LAPACKE looks for NaN in what it does not read */
    for (;;) {
        TESS_LAPACK(info, LAPACKE_dlacn2(n, work, vector, signs, norm, &kase, isave));
        if (info != 0) { *norm = NAN; } /* a NaN in the vector */
        if (kase == 0 || info != 0) { break; }
        for (int64_t i = 0; i < m->n && kase == 1; i++) {
            vector[i] *= row_size[i];
        }
        TESS_TRY(m->ops->solve_on_host(m, kase == 2, vector, vector));
        for (int64_t i = 0; i < m->n && kase == 2; i++) {
            vector[i] *= row_size[i];
        }
    }
cleanup:
    return status;
}

/* The condition number of D^-1 A, where D has powers of two near each row's largest magnitude if rows are scaled, else
   ones. */
static tess_status condition_of(const tess_precond *m, const csr_view *a, bool scaled, double *row_size, double *work,
                                lapack_int *signs, double *condition)
{
    double inverse = 0.0;
    tess_status status = TESS_SUCCESS;

    find_row_sizes(a, row_size);
    for (int64_t i = 0; i < a->nrows; i++) {
        row_size[i] = scaled && row_size[i] > 0.0 && isfinite(row_size[i]) ? ldexp(1.0, ilogb(row_size[i])) : 1.0;
    }
    TESS_TRY(inverse_norm1(m, row_size, work, signs, &inverse));
    *condition = matrix_norm1(a, row_size, work) * inverse;
cleanup:
    return status;
}

/* Factors whose solves cannot be refined tell nothing of the error; in FP64 they still tell the condition number. */
tess_status error_by_factors(const tess_precond *m, const error_of_x *e, tess_accuracy_result *out)
{
    refined_inverse v = {.m = m};
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(refined_inverse_open(m, &v));
    TESS_TRY(tess_matrix_on_host(e->a, &host));
    v.a = &csr_of(host.matrix)->view;
    TESS_TRY(condition_of(m, v.a, false, v.size, v.work, v.signs, &out->condition));
    TESS_TRY(condition_of(m, v.a, true, v.size, v.work, v.signs, &out->row_condition));
    TESS_TRY(refined_inverse_bound(&v, e, &out->forward_error));
    out->source = TESS_CONDITION_FACTORS;
    if (!v.valid || !isfinite(out->forward_error)) {
        out->forward_error = NAN;
        if (m->role.storage != TESS_PRECISION_FP64) { error_forget(out); }
    }
cleanup:
    tess_host_matrix_release(&host);
    refined_inverse_close(&v);
    return status;
}
