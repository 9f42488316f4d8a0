/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a GMRES solve by model: matrix and vectors of each product, the sweeps over the basis, the preconditioner,
 * and the residuals between cycles. What a cache keeps between passes is not taken off.
 */
#include "papers/gmres.h"

/* What an iteration reads and writes. */
typedef struct precisions {
    int matrix, vector, basis, precond, precond_vector; /* bytes of a value */
    int sweeps;                                         /* reads of the basis in an iteration */
} precisions;

static int storage_bytes(const tess_role_precision *role, int otherwise)
{
    return role->given ? (int)tess_precision_bytes(role->storage) : otherwise;
}

static int arithmetic_bytes(const tess_role_precision *role, int otherwise)
{
    return !role->given ? otherwise : role->arithmetic == TESS_ARITHMETIC_FP32 ? 4 : 8;
}

/* Ours read the basis three times, or twice where the second pass is delayed; four GEMV read it four times. */
static precisions precisions_of(const gmres_variant *v, bool low)
{
    const int plain = low ? 4 : 8;
    precisions p = {.matrix = plain, .vector = plain, .basis = plain, .precond = plain, .precond_vector = plain};

    p.sweeps = v->orthogonalization == TESS_ORTHOGONALIZATION_CGS2_DELAYED ? 2 : v->theirs ? 4 : 3;
    if (v->theirs) { return p; }
    if (low || v->solver == TESS_SOLVER_GMRES) {
        p.matrix = storage_bytes(&v->inner, plain);
        p.vector = arithmetic_bytes(&v->inner, plain);
        p.basis = p.precond = p.matrix;
        p.precond_vector = p.vector;
    }
    p.basis = storage_bytes(&v->basis, p.basis);
    p.precond = storage_bytes(&v->precond, p.precond);
    p.precond_vector = arithmetic_bytes(&v->precond, p.precond_vector);
    return p;
}

static double product_bytes(const bench_csr *a, int matrix, int vector)
{
    return (double)a->nnz * (matrix + 4) + 4.0 * (double)(a->nrows + 1) + 2.0 * (double)a->nrows * vector;
}

/* A polynomial's product also brings the sum and one vector up to date. Below fp64 it is of a copy in slices, with
   columns in 16 bits, where rows are of like lengths as in all that studies precondition so; the copy is taken to be
   that. */
static double precond_bytes(const bench_csr *a, const tess_precond_options *o, const precisions *p)
{
    const double n = (double)a->nrows, pass = 2.0 * n * p->precond_vector;

    switch (o->kind) {
    case TESS_PRECOND_JACOBI: return pass + n * p->precond;
    case TESS_PRECOND_BLOCK_JACOBI: return pass + n * o->block_jacobi.block_size * p->precond;
    case TESS_PRECOND_POLYNOMIAL:
        return o->polynomial.degree * (product_bytes(a, p->precond, p->precond_vector) + 2.0 * n * p->precond_vector -
                                       (p->precond < 8 ? 2.0 * (double)a->nnz + 3.0 * n : 0.0));
    default: return 0.0;
    }
}

/* Sum of the numbers of columns that there are at each of the iterations. */
static double columns_over(int64_t iterations, int64_t restart)
{
    const double cycles = (double)(iterations / restart), rest = (double)(iterations % restart), m = (double)restart;

    return cycles * 0.5 * m * (m + 1.0) + 0.5 * rest * (rest + 1.0);
}

static double bytes_of(const gmres_problem *p, const gmres_settings *s, const gmres_variant *v, bool low,
                       int64_t iterations)
{
    const precisions b = precisions_of(v, low);
    const double n = (double)p->host.nrows, count = (double)iterations;
    const int64_t restart = s->restart < p->host.nrows ? s->restart : p->host.nrows;
    const double cycles = count / (double)restart + 1.0;
    const double each = product_bytes(&p->host, b.matrix, b.vector) + precond_bytes(&p->host, &s->precond_options, &b) +
                        n * (5.0 * b.vector + b.basis);

    /* columns are read once more for the solution; residuals, x and corrections are FP64 */
    return count * each + n * b.basis * (b.sweeps * columns_over(iterations, restart) + count) +
           cycles * (product_bytes(&p->host, 8, 8) + 5.0 * 8.0 * n);
}

double gmres_model_bytes(const gmres_problem *p, const gmres_settings *settings, const gmres_outcome *o)
{
    const gmres_variant *v = o->variant;
    int64_t low = 0;

    if (v->theirs) { return bytes_of(p, settings, v, v->kind != BENCH_GMRES_FP64, o->iterations); }
    if (v->solver == TESS_SOLVER_GMRES) { return bytes_of(p, settings, v, false, o->iterations); }
    if (v->solver == TESS_SOLVER_GMRES_IR) { return bytes_of(p, settings, v, true, o->iterations); }
    low = v->switch_at < 0 ? 0 : v->switch_at < o->iterations ? v->switch_at : o->iterations;
    return bytes_of(p, settings, v, true, low) + bytes_of(p, settings, v, false, o->iterations - low);
}

int64_t gmres_working_set(const gmres_problem *p, int restart)
{
    const int64_t n = p->host.nrows, columns = (restart < n ? restart : n) + 1;

    return bench_spmv_bytes(n, n, p->host.nnz, 8) + 8 * n * columns;
}
