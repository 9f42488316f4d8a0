/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive multigrid: a cycle M is tried on A e = 0 from random e, and what it leaves joins the near-nullspace, of
 * which the levels are made anew (Brezina, Falgout, MacLachlan, Manteuffel, McCormick, Ruge, Adaptive smoothed
 * aggregation, SIAM J. Sci. Comput. 25 (2004)). There one vector at a time is what stationary cycles leave. Here the
 * trial is CG with M, and the vectors are the Ritz vectors of M A with the smallest values, several from the same
 * steps: CG is the Lanczos process in the inner product of A (Saad, Iterative Methods for Sparse Linear Systems, 2nd
 * ed. 2003, sections 6.7.3 and 9.2). Their basis is in FP32: more digits change no level.
 */
#include "precond/multigrid/modes.h"

#include <math.h>
#include <string.h>

#include <tessera/dense.h>

/* Columns begin at multiples of this many values. */
enum { COLUMN_UNIT = 256, SWEEPS = 30 };
/* Vectors that a cycle reduces as well as this need no help: 1 is the best, and with rigid-body modes the smallest is
   above. */
#define LARGEST_RITZ_VALUE 0.2
/* Of a symmetric matrix x^T A y and y^T A x differ by rounding alone, beside ||x|| ||A x||: far below this share. */
#define MOST_SKEW 0x1p-40

typedef struct process {
    const amg_cycle *c;
    const tess_matrix *a;
    int64_t ld;
    uint64_t seed;
    int steps;             /* that were made */
    double *r, *z, *p, *q; /* FP64 */
    float *basis;          /* z over its norm, a column a step */
    double alpha[AMG_MODE_STEPS], beta[AMG_MODE_STEPS],
        norm[AMG_MODE_STEPS + 1]; /* norm: squares, (r, M r), of the matrix's sign */
} process;

/* ---- CG ---- */

static tess_vector vector_of(const process *s, double *values)
{
    return (tess_vector){.ctx = s->c->ctx, .n = s->c->n, .precision = TESS_PRECISION_FP64, .data = values};
}

static tess_status multiply(const process *s, const double *x, double *y)
{
    const tess_spmv_args args = {.operation = TESS_OP_NONE, .alpha = 1.0, .x = x, .y = y};

    return s->a->ops->spmv(s->a, &args);
}

static tess_status dot(const process *s, double *x, double *y, double *out)
{
    const tess_vector vx = vector_of(s, x), vy = vector_of(s, y);

    return tess_vector_dot(&vx, &vy, TESS_ARITHMETIC_FP64, out);
}

/* y := alpha x + beta y */
static tess_status add(const process *s, double alpha, double *x, double beta, double *y)
{
    const tess_vector vx = vector_of(s, x);
    tess_vector vy = vector_of(s, y);

    return tess_vector_axpby(alpha, &vx, beta, &vy, TESS_ARITHMETIC_FP64);
}

/* z := M r, and (r, z). */
static tess_status precondition(process *s, double *square)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_cycle_apply(s->c, TESS_PRECISION_FP64, s->r, s->z, NULL));
    status = dot(s, s->r, s->z, square);
cleanup:
    return status;
}

/* r = A e for random e, p = z = M r. */
static tess_status start(process *s)
{
    tess_context *ctx = s->c->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->random(ctx, s->c->n, s->seed, -1.0, 1.0, s->p));
    TESS_TRY(multiply(s, s->p, s->r));
    TESS_TRY(precondition(s, &s->norm[0]));
    status = add(s, 1.0, s->z, 0.0, s->p);
cleanup:
    return status;
}

/* Whether x^T A y is y^T A x for random x and y, up to rounding: CG is for symmetric matrices. */
static tess_status probe_symmetry(process *s, bool *symmetric)
{
    tess_context *ctx = s->c->ctx;
    double there = 0.0, back = 0.0, size = 0.0, other = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->random(ctx, s->c->n, s->seed, -1.0, 1.0, s->p));
    TESS_TRY(ctx->backend->random(ctx, s->c->n, s->seed + 1, -1.0, 1.0, s->q));
    TESS_TRY(multiply(s, s->p, s->r));
    TESS_TRY(multiply(s, s->q, s->z));
    TESS_TRY(dot(s, s->q, s->r, &there));
    TESS_TRY(dot(s, s->p, s->z, &back));
    TESS_TRY(dot(s, s->r, s->r, &size));
    status = dot(s, s->p, s->p, &other);
    *symmetric = fabs(there - back) <= MOST_SKEW * sqrt(size) * sqrt(other);
cleanup:
    return status;
}

/* A step; *ends: the numbers are not those of two definite matrices, or nothing is left. */
static tess_status step(process *s, bool *ends)
{
    const int j = s->steps;
    const double sign = s->c->negative ? -1.0 : 1.0, before = sign * s->norm[j];
    tess_vector z = vector_of(s, s->z),
                column = {
                    .ctx = s->c->ctx, .n = s->c->n, .precision = TESS_PRECISION_FP32, .data = s->basis + j * s->ld};
    double curvature = 0.0;
    tess_status status = TESS_SUCCESS;

    *ends = true;
    if (!(before > 0.0) || !isfinite(before) || before < 0x1p-100 * sign * s->norm[0]) { return TESS_SUCCESS; }
    TESS_TRY(tess_vector_axpby(1.0 / sqrt(before), &z, 0.0, &column, TESS_ARITHMETIC_FP64));
    TESS_TRY(multiply(s, s->p, s->q));
    TESS_TRY(dot(s, s->p, s->q, &curvature));
    curvature *= sign;
    if (!(curvature > 0.0) || !isfinite(curvature)) { return TESS_SUCCESS; }
    s->alpha[j] = before / curvature;
    TESS_TRY(add(s, -s->alpha[j], s->q, 1.0, s->r));
    TESS_TRY(precondition(s, &s->norm[j + 1]));
    if (!(sign * s->norm[j + 1] >= 0.0) || !isfinite(s->norm[j + 1])) { return TESS_SUCCESS; }
    s->beta[j] = sign * s->norm[j + 1] / before;
    s->steps += 1;
    *ends = false;
    status = add(s, 1.0, s->z, s->beta[j], s->p);
cleanup:
    return status;
}

/* ---- Ritz values and vectors ---- */

/* A symmetric matrix of `order` rows; its eigenvectors become the columns of `vectors`, its eigenvalues the diagonal.
 */
typedef struct small_matrix {
    int order;
    double a[AMG_MODE_STEPS][AMG_MODE_STEPS], vectors[AMG_MODE_STEPS][AMG_MODE_STEPS];
} small_matrix;

/* A rotation of rows and columns i and j that makes a_ij zero. */
static void rotate(small_matrix *m, int i, int j)
{
    const double half = 0.5 * (m->a[j][j] - m->a[i][i]) / m->a[i][j];
    const double t = copysign(1.0, half) / (fabs(half) + sqrt(1.0 + half * half)), c = 1.0 / sqrt(1.0 + t * t);
    const double s = t * c;

    for (int k = 0; k < m->order; k++) {
        const double x = m->a[k][i], y = m->a[k][j], v = m->vectors[k][i], w = m->vectors[k][j];

        m->a[k][i] = c * x - s * y;
        m->a[k][j] = s * x + c * y;
        m->vectors[k][i] = c * v - s * w;
        m->vectors[k][j] = s * v + c * w;
    }
    for (int k = 0; k < m->order; k++) {
        const double x = m->a[i][k], y = m->a[j][k];

        m->a[i][k] = c * x - s * y;
        m->a[j][k] = s * x + c * y;
    }
}

/* Jacobi's method (Golub and Van Loan, Matrix Computations, 4th ed. 2013, section 8.5). */
static void diagonalize(small_matrix *m)
{
    double off = 1.0;

    memset(m->vectors, 0, sizeof m->vectors);
    for (int i = 0; i < m->order; i++) {
        m->vectors[i][i] = 1.0;
    }
    for (int sweep = 0; sweep < SWEEPS && off > 0.0; sweep++) {
        off = 0.0;
        for (int i = 0; i < m->order; i++) {
            for (int j = i + 1; j < m->order; j++) {
                if (fabs(m->a[i][j]) <= 0x1p-53 * sqrt(fabs(m->a[i][i] * m->a[j][j]))) { continue; }
                off += fabs(m->a[i][j]);
                rotate(m, i, j);
            }
        }
    }
}

/* The Lanczos matrix of the steps. */
static void fill(const process *s, small_matrix *m)
{
    m->order = s->steps;
    memset(m->a, 0, sizeof m->a);
    for (int j = 0; j < m->order; j++) {
        m->a[j][j] = 1.0 / s->alpha[j] + (j > 0 ? s->beta[j - 1] / s->alpha[j - 1] : 0.0);
        if (j + 1 < m->order) { m->a[j][j + 1] = m->a[j + 1][j] = -sqrt(s->beta[j]) / s->alpha[j]; }
    }
}

/* The smallest value that is not taken yet; -1: all others are large. */
static int next_value(const small_matrix *m, const bool *taken)
{
    int least = -1;

    for (int j = 0; j < m->order; j++) {
        const bool less = least < 0 || m->a[j][j] < m->a[least][least];

        if (!taken[j] && m->a[j][j] > 0.0 && m->a[j][j] < LARGEST_RITZ_VALUE && less) { least = j; }
    }
    return least;
}

/* values := basis times a column of the eigenvectors, through z. */
static tess_status combine(const process *s, const small_matrix *m, int column, double *weights, double *values)
{
    tess_context *ctx = s->c->ctx;
    const tess_dense_view basis = {
        .nrows = s->c->n, .ncols = m->order, .ld = s->ld, .precision = TESS_PRECISION_FP32, .data = s->basis};
    const tess_dense_view y = {
        .nrows = m->order, .ncols = 1, .ld = m->order, .precision = TESS_PRECISION_FP64, .data = weights};
    const tess_dense_view z = {
        .nrows = s->c->n, .ncols = 1, .ld = s->c->n, .precision = TESS_PRECISION_FP64, .data = s->z};
    double on_host[AMG_MODE_STEPS];
    tess_status status = TESS_SUCCESS;

    for (int j = 0; j < m->order; j++) {
        on_host[j] = m->vectors[j][column];
    }
    TESS_TRY(ctx->backend->upload(ctx, weights, on_host, (size_t)m->order * sizeof *weights));
    TESS_TRY(tess_gemv(ctx, TESS_OP_NONE, 1.0, &basis, &y, 0.0, &z, TESS_ARITHMETIC_FP64));
    status = ctx->backend->download(ctx, values, s->z, (size_t)s->c->n * sizeof *values);
cleanup:
    return status;
}

static tess_status take_vectors(const process *s, int wanted, double *weights, amg_modes *modes)
{
    bool taken[AMG_MODE_STEPS] = {false};
    small_matrix m;
    tess_status status = TESS_SUCCESS;

    fill(s, &m);
    diagonalize(&m);
    for (int k = 0; k < wanted; k++) {
        const int column = next_value(&m, taken);

        if (column < 0) { break; }
        taken[column] = true;
        TESS_TRY(combine(s, &m, column, weights, modes->values + (modes->given + modes->found) * s->c->n));
        tess_log(s->c->ctx, TESS_LOG_INFO, "amg: a vector joins the near-nullspace, of which a cycle leaves %.3g",
                 1.0 - m.a[column][column]);
        modes->found += 1;
    }
cleanup:
    return status;
}

tess_status amg_find_modes(const amg_cycle *c, const tess_matrix *a, int wanted, amg_modes *modes)
{
    tess_context *ctx = c->ctx;
    process s = {.c = c,
                 .a = a,
                 .ld = (c->n + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT,
                 .seed = c->options.seed + (uint64_t)modes->found};
    double **const vectors[] = {&s.r, &s.z, &s.p, &s.q};
    double *weights = NULL;
    bool ends = false, symmetric = false;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < 4; k++) {
        TESS_TRY(tess_device_allocate(ctx, c->n, sizeof(double), (void **)vectors[k]));
    }
    TESS_TRY(tess_device_allocate(ctx, AMG_MODE_STEPS, sizeof *weights, (void **)&weights));
    TESS_TRY(tess_device_allocate(ctx, s.ld * AMG_MODE_STEPS, sizeof *s.basis, (void **)&s.basis));
    TESS_TRY(probe_symmetry(&s, &symmetric));
    if (!symmetric) { goto cleanup; }
    TESS_TRY(start(&s));
    while (s.steps < AMG_MODE_STEPS && !ends) {
        TESS_TRY(step(&s, &ends));
    }
    if (s.steps > 1) { status = take_vectors(&s, wanted, weights, modes); }
cleanup:
    tess_device_release(ctx, s.basis, s.ld * AMG_MODE_STEPS, sizeof *s.basis);
    tess_device_release(ctx, weights, AMG_MODE_STEPS, sizeof *weights);
    for (int k = 0; k < 4; k++) {
        tess_device_release(ctx, *vectors[k], c->n, sizeof(double));
    }
    return status;
}
