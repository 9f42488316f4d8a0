/* SPDX-License-Identifier: Apache-2.0 */
/* b - A x in two words, of AIJ on any number of processes. Dot2 of Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26
   (2005), Algorithm 5.3; the bound is their (5.7): |result - exact| <= u |result| + gamma(n)^2 |a| |x|, n terms. */
#include "ksp.h"
#include "mat.h"

#include <float.h>
#include <math.h>

static const double U = DBL_EPSILON / 2;

typedef struct two_words {
    double high, low, magnitude;
} two_words;

/* sum += a * x */
static inline void add_product(two_words *sum, double a, double x)
{
    const double p = a * x, e = fma(a, x, -p); /* TwoProd */
    const double s = sum->high + p, z = s - sum->high;

    sum->low += (sum->high - (s - z)) + (p - z) + e; /* TwoSum, and both errors */
    sum->high = s;
    sum->magnitude += fabs(p);
}

static inline void add_row(two_words *sum, const tp_rows *rows, PetscInt r, const PetscScalar *x)
{
    for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
        add_product(sum, -rows->a[k], x[rows->j[k]]);
    }
}

/* Rows of this process; off is NULL on one process. The two sums are of squares: of r, and of its bounds. */
static void residual_rows(const tp_rows *diagonal, const tp_rows *off, const PetscScalar *const x[2],
                          const PetscScalar *b, PetscScalar *r, double sums[2])
{
    for (PetscInt row = 0; row < diagonal->nrows; row++) {
        const PetscInt terms = 1 + diagonal->i[row + 1] - diagonal->i[row] + (off ? off->i[row + 1] - off->i[row] : 0);
        const double gamma = (double)terms * U / (1 - (double)terms * U);
        two_words sum = {b[row], 0, fabs(b[row])};
        double bound;

        add_row(&sum, diagonal, row, x[0]);
        if (off) { add_row(&sum, off, row, x[1]); }
        r[row] = sum.high + sum.low;
        bound = U * fabs(r[row]) + 2 * gamma * gamma * sum.magnitude;
        sums[0] += r[row] * r[row];
        sums[1] += bound * bound;
    }
}

static PetscErrorCode take_ghosts(tp_verifier *v, Mat A, const PetscScalar *x)
{
    PetscObjectState pattern;

    PetscFunctionBegin;
    PetscCall(MatGetNonzeroState(A, &pattern));
    if (!v->halo || v->matrix != A || v->pattern != pattern) {
        PetscCall(tp_verifier_reset(v));
        PetscCall(tp_halo_create(A, TESS_PRECISION_FP64, &v->halo));
        PetscCall(PetscMalloc1(v->halo->nghosts, &v->ghosts));
        PetscCall(PetscObjectReference((PetscObject)A));
        v->matrix = A;
        v->pattern = pattern;
    }
    PetscCall(tp_halo_begin(v->halo, x));
    PetscCall(tp_halo_end(v->halo, v->ghosts));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ordinary_residual(Mat A, Vec b, Vec x, Vec r, double norm_bound[2])
{
    PetscFunctionBegin;
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm_bound[0]));
    norm_bound[1] = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sum_rows(tp_verifier *v, Mat A, PetscBool mpi, const PetscScalar *b, const PetscScalar *x,
                               PetscScalar *r, double sums[2])
{
    Mat block[2] = {A, NULL};
    tp_rows rows[2];
    const PetscScalar *values[2];

    PetscFunctionBegin;
    if (mpi) {
        PetscCall(take_ghosts(v, A, x));
        PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL));
        PetscCall(tp_rows_get(block[1], &rows[1]));
    }
    values[0] = x;
    values[1] = v->ghosts;
    PetscCall(tp_rows_get(block[0], &rows[0]));
    residual_rows(&rows[0], mpi ? &rows[1] : NULL, values, b, r, sums);
    PetscCall(tp_rows_restore(block[0], &rows[0]));
    if (mpi) { PetscCall(tp_rows_restore(block[1], &rows[1])); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_true_residual(tp_verifier *v, Mat A, Vec b, Vec x, Vec r, double norm_bound[2], PetscBool *known)
{
    const PetscScalar *vb, *vx;
    PetscScalar *vr;
    PetscBool mpi;
    PetscInt n;
    double sums[2] = {0, 0};

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, known, MATSEQAIJ, MATMPIAIJ, ""));
    if (!*known) {
        PetscCall(ordinary_residual(A, b, x, r, norm_bound));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    PetscCall(VecGetArrayRead(b, &vb));
    PetscCall(VecGetArrayRead(x, &vx));
    PetscCall(VecGetArrayWrite(r, &vr));
    PetscCall(sum_rows(v, A, mpi, vb, vx, vr, sums));
    PetscCall(VecRestoreArrayWrite(r, &vr));
    PetscCall(VecRestoreArrayRead(x, &vx));
    PetscCall(VecRestoreArrayRead(b, &vb));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
    PetscCall(VecGetSize(b, &n));
    norm_bound[0] = sqrt(sums[0]);
    norm_bound[1] = (1 + (double)n * U) * sqrt(sums[1]) + (double)(n + 2) * U * norm_bound[0];
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_verifier_reset(tp_verifier *v)
{
    PetscFunctionBegin;
    PetscCall(tp_halo_destroy(&v->halo));
    PetscCall(PetscFree(v->ghosts));
    PetscCall(MatDestroy(&v->matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
}
