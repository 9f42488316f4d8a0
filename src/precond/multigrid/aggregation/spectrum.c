/* SPDX-License-Identifier: Apache-2.0 */
/* The largest eigenvalue of D^-1 A, by Lanczos in the inner product of the block diagonal D. */
#include <math.h>

#include <lapacke.h>

#include "base/blas_calls.h"
#include "base/random.h"
#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/aggregation.h"

enum { STEPS = AGGREGATION_LANCZOS_STEPS, CHUNK = 4096, VECTORS = 5 };

/* A step that leaves less than this of the first one's scale has found an invariant space. */
#define NOTHING_LEFT 1e-8

static bool is_exhausted(const double *alpha, double beta)
{
    return !(beta > NOTHING_LEFT * fabs(alpha[0]));
}

double aggregation_largest(int steps, double *alpha, double *beta)
{
    int count = 0;
    lapack_int info = 0;

    while (count < steps && (count == 0 || !is_exhausted(alpha, beta[count - 1]))) {
        count += 1;
    }
    /* the eigenvalues of the tridiagonal matrix ascend */
    TESS_LAPACK(info, LAPACKE_dsterf(count, alpha, beta));
    if (count == 0 || info != 0) { return 0.0; }
    if (alpha[count - 1] < 0.0 && isfinite(alpha[0])) { return -alpha[0]; }
    return alpha[count - 1] > 0.0 && isfinite(alpha[count - 1]) ? alpha[count - 1] : 0.0;
}

/* (x, y), chunk by chunk: the same bits for any number of threads. */
static double chunked_dot(int threads, const double *x, const double *y, int64_t n, double *sums)
{
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
    double sum = 0.0;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t end = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;

        sums[c] = 0.0;
        for (int64_t i = c * CHUNK; i < end; i++) {
            sums[c] += x[i] * y[i];
        }
    }
    for (int64_t c = 0; c < chunks; c++) {
        sum += sums[c];
    }
    return sum;
}

/* v_j are orthonormal in the inner product of D; q_j = D v_j. */
typedef struct lanczos {
    const host_csr *a;
    const aggregation_level *level;
    const double *inverse; /* of D */
    double sign;           /* of D: for a negative one, with -D */
    int threads, steps;
    int64_t n;
    double *v, *q, *before, *u, *w; /* before: q of the step before */
    double *sums;
    double alpha[STEPS], beta[STEPS];
} lanczos;

/* w := D^-1 u */
static void apply_inverse(const lanczos *z)
{
    const node_rows *rows = &z->level->rows;

#pragma omp parallel for num_threads(z->threads) schedule(static)
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t first = rows->first[i], height = rows->first[i + 1] - first;
        const double *block = z->inverse + first * z->level->most_height;

        for (int64_t r = 0; r < height; r++) {
            double sum = 0.0;

            for (int64_t c = 0; c < height; c++) {
                sum += block[r * height + c] * z->u[first + c];
            }
            z->w[first + r] = sum;
        }
    }
}

/* beta = sqrt((w, u)); before := q; v := w / beta, q := u / beta */
static double take_direction(lanczos *z)
{
    const double square = z->sign * chunked_dot(z->threads, z->w, z->u, z->n, z->sums);
    const double beta = square > 0.0 ? sqrt(square) : 0.0;

#pragma omp parallel for num_threads(z->threads) schedule(static)
    for (int64_t i = 0; i < z->n; i++) {
        z->before[i] = z->q[i];
        z->v[i] = beta > 0.0 ? z->w[i] / beta : 0.0;
        z->q[i] = beta > 0.0 ? z->u[i] / beta : 0.0;
    }
    return beta;
}

/* u := A v */
static void multiply(const lanczos *z)
{
    const host_csr *a = z->a;

#pragma omp parallel for num_threads(z->threads) schedule(static)
    for (int64_t i = 0; i < z->n; i++) {
        double sum = 0.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            sum += a->val[k] * z->v[a->col_ind[k]];
        }
        z->u[i] = sum;
    }
}

/* u := A v - beta before; alpha = (u, v); u -= alpha q; w := D^-1 u */
static void lanczos_step(lanczos *z)
{
    const double beta = z->steps > 0 ? z->beta[z->steps - 1] : 0.0;
    double alpha = 0.0;

    multiply(z);
    alpha = z->sign * chunked_dot(z->threads, z->u, z->v, z->n, z->sums);
#pragma omp parallel for num_threads(z->threads) schedule(static)
    for (int64_t i = 0; i < z->n; i++) {
        z->u[i] -= alpha * z->q[i] + beta * z->before[i];
    }
    apply_inverse(z);
    z->alpha[z->steps] = alpha;
    z->beta[z->steps] = take_direction(z);
    z->steps += 1;
}

static void start_lanczos(lanczos *z)
{
    for (int64_t i = 0; i < z->n; i++) {
        z->u[i] = tess_random_in(AGGREGATION_LANCZOS_SEED, (uint64_t)i, -1.0, 1.0);
        z->q[i] = 0.0;
    }
    apply_inverse(z);
    z->sign = chunked_dot(z->threads, z->w, z->u, z->n, z->sums) < 0.0 ? -1.0 : 1.0;
    take_direction(z);
}

/* As aggregation_largest. */
static double run_lanczos(lanczos *z)
{
    start_lanczos(z);
    while (z->steps < STEPS && z->steps < z->n) {
        lanczos_step(z);
        if (is_exhausted(z->alpha, z->beta[z->steps - 1])) { break; }
    }
    return aggregation_largest(z->steps, z->alpha, z->beta);
}

tess_status estimate_lambda_max(tess_context *ctx, const host_csr *a, const aggregation_level *level,
                                const double *inverse, double *lambda)
{
    const int64_t n = a->nrows, values = VECTORS * n + n / CHUNK + 1;
    lanczos z = {.a = a, .level = level, .inverse = inverse, .threads = tess_io_threads(ctx, host_csr_nnz(a)), .n = n};
    double *work = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, values, sizeof *work, (void **)&work));
    z.v = work;
    z.q = work + n;
    z.before = work + 2 * n;
    z.u = work + 3 * n;
    z.w = work + 4 * n;
    z.sums = work + VECTORS * n;
    *lambda = run_lanczos(&z);
cleanup:
    tess_host_release(ctx, work, values, sizeof *work);
    return status;
}
