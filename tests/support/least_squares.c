/* SPDX-License-Identifier: Apache-2.0 */
#include "support/least_squares.h"

#include <float.h>

/* Dense random m by n in CSR; column j is times factor^j. */
oracle_csr dense_random(int64_t m, int64_t n, uint64_t seed, double factor)
{
    double *values = random_values(m * n, seed, -1.0, 1.0);
    oracle_csr a = oracle_open(m, n);

    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            oracle_push(&a, j, values[i * n + j] * pow(factor, (double)j));
        }
        oracle_end_row(&a, i);
    }
    free(values);
    return a;
}

/* x of A^T A x = A^T b by Cholesky in long double: for well-conditioned A its error is far below FP64's. */
void solve_normal_equations(const oracle_csr *a, const double *b, double *x)
{
    const int64_t n = a->ncols;
    long double g[COLUMNS][COLUMNS + 1];

    memset(g, 0, sizeof g);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            g[a->col_ind[k]][n] += (long double)a->val[k] * b[i];
            for (int64_t l = a->row_ptr[i]; l < a->row_ptr[i + 1]; l++) {
                g[a->col_ind[k]][a->col_ind[l]] += (long double)a->val[k] * a->val[l];
            }
        }
    }
    for (int64_t p = 0; p < n; p++) { /* Gauss; positive definite, so no pivoting */
        for (int64_t i = 0; i < n; i++) {
            const long double f = i == p ? 0.0L : g[i][p] / g[p][p];

            for (int64_t j = p; j <= n; j++) {
                g[i][j] -= f * g[p][j];
            }
        }
    }
    for (int64_t j = 0; j < n; j++) {
        x[j] = (double)(g[j][n] / g[j][j]);
    }
}

/* ||A^T (b - A x)||, ||A||_F and ||b - A x|| in wide arithmetic. */
void normal_residual_of(const oracle_csr *a, const double *b, const double *x, double out[3])
{
    wide *g = calloc((size_t)a->ncols, sizeof *g), sums[3] = {0.0, 0.0, 0.0};

    for (int64_t i = 0; i < a->nrows; i++) {
        wide r = b[i];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            r -= (wide)a->val[k] * x[a->col_ind[k]];
            sums[1] += (wide)a->val[k] * a->val[k];
        }
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            g[a->col_ind[k]] += a->val[k] * r;
        }
        sums[2] += r * r;
    }
    for (int64_t j = 0; j < a->ncols; j++) {
        sums[0] += g[j] * g[j];
    }
    for (int i = 0; i < 3; i++) {
        out[i] = (double)wide_sqrt(sums[i]);
    }
    free(g);
}

/* The result's claims: norms within their bounds, and success only where it is proved. */
static void check_claims(const oracle_csr *a, const double *b, const double *x, const tess_solve_options *options,
                         const tess_solve_result *r)
{
    double exact[3];

    normal_residual_of(a, b, x, exact);
    assert_true(fabs(r->residual_norm - exact[2]) <= r->residual_bound * (1.0 + 1e-6));
    assert_true(fabs(r->normal_residual_norm - exact[0]) <= r->normal_residual_bound * (1.0 + 1e-6));
    assert_at_most(fabs(r->matrix_norm / exact[1] - 1.0), 4.0 * DBL_EPSILON * (double)a->nnz);
    assert_int_equal(r->converged, r->verified);
    if (r->reason == TESS_REASON_LEAST_SQUARES) {
        assert_true(r->converged && exact[0] <= options->rtol * exact[1] * exact[2]);
    }
    if (r->reason == TESS_REASON_RTOL) { assert_true(r->converged && exact[2] <= r->tolerance); }
}

tess_solve_result solve_rectangular(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options,
                                    const double *b, double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = NULL, *vx = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_ok(ctx, tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP64, &vb));
    assert_ok(ctx, tess_vector_create(ctx, a->ncols, TESS_PRECISION_FP64, &vx));
    assert_ok(ctx, tess_vector_set(vb, b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_set(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_solver_create(m, options, &solver));
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_ok(ctx, tess_vector_get(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    result.history = NULL;
    check_claims(a, b, x, options, &result);
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    return result;
}

double relative_distance(const double *x, const double *y, int64_t n)
{
    double sum = 0.0, size = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
        size += y[i] * y[i];
    }
    return sqrt(sum / size);
}
