/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a smoother of PETSc does, by applying it: PETSc keeps the bounds of its Chebyshev iteration to itself. With
 * z_k = D^-1 (b - A x_k), one step from zero gives x_1 = s z_0, and two give x_2 = u x_1 + v z_1 for every polynomial
 * smoother. For more steps the recurrence of Chebyshev polynomials of the first kind follows from u where v = u s
 * (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. 2003, Algorithm 12.1).
 */
#include "smoother.h"

#include "diagonal.h"
#include "versions.h"

#include <math.h>

/* What is not of that form misses by far more. */
static const double MISFIT = 1e-6;

typedef struct probe {
    Vec b, x[2], z, r, diagonal; /* x after one step and after two */
    double first, u, v;
    PetscBool fits;
} probe;

static PetscErrorCode apply_steps(KSP ksp, PetscInt steps, Vec b, Vec x)
{
    PetscReal rtol, atol, dtol;
    PetscInt most;
    PetscBool guess;

    PetscFunctionBegin;
    PetscCall(KSPGetTolerances(ksp, &rtol, &atol, &dtol, &most));
    PetscCall(KSPGetInitialGuessNonzero(ksp, &guess));
    PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, steps));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, most));
    PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* r := x, less its parts along what was fitted; it is used up as scratch. */
static PetscErrorCode judge(probe *p, Vec x, double ofz, double ofx)
{
    double all, rest;

    PetscFunctionBegin;
    PetscCall(VecNorm(x, NORM_2, &all));
    PetscCall(VecCopy(x, p->r));
    PetscCall(VecAXPY(p->r, -ofz, p->z));
    if (ofx != 0) { PetscCall(VecAXPY(p->r, -ofx, p->x[0])); }
    PetscCall(VecNorm(p->r, NORM_2, &rest));
    PetscCall(PetscInfo(x, "of a smoother's step, %g is not %g z + %g x\n", rest / all, ofz, ofx));
    if (!(rest <= MISFIT * all)) { p->fits = PETSC_FALSE; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fit_first(KSP ksp, probe *p)
{
    double xz, zz;

    PetscFunctionBegin;
    PetscCall(apply_steps(ksp, 1, p->b, p->x[0]));
    PetscCall(VecPointwiseDivide(p->z, p->b, p->diagonal));
    PetscCall(VecDot(p->x[0], p->z, &xz));
    PetscCall(VecDot(p->z, p->z, &zz));
    p->first = xz / zz;
    PetscCall(judge(p, p->x[0], p->first, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Least squares in the plane of x_1 and z_1. */
static PetscErrorCode fit_second(KSP ksp, Mat A, probe *p)
{
    double xx, xz, zz, yx, yz, det;

    PetscFunctionBegin;
    PetscCall(apply_steps(ksp, 2, p->b, p->x[1]));
    PetscCall(MatMult(A, p->x[0], p->r));
    PetscCall(VecAYPX(p->r, -1, p->b));
    PetscCall(VecPointwiseDivide(p->z, p->r, p->diagonal));
    PetscCall(VecDot(p->x[0], p->x[0], &xx));
    PetscCall(VecDot(p->x[0], p->z, &xz));
    PetscCall(VecDot(p->z, p->z, &zz));
    PetscCall(VecDot(p->x[1], p->x[0], &yx));
    PetscCall(VecDot(p->x[1], p->z, &yz));
    det = xx * zz - xz * xz;
    p->u = (yx * zz - yz * xz) / det;
    p->v = (yz * xx - yx * xz) / det;
    PetscCall(judge(p, p->x[1], p->v, p->u));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* x_(k+1) = omega_k (x_k + s z_k) + (1 - omega_k) x_(k-1), omega_k = 2 mu T_k(mu) / T_(k+1)(mu), and u is omega_1. */
static void continue_recurrence(const probe *p, tp_smoother *out)
{
    const double mu = p->u > 1 + 1e-9 ? sqrt(p->u / (2 * (p->u - 1))) : INFINITY;
    double before = 1, now = mu;

    for (PetscInt k = 1; k < out->steps; k++) {
        const double next = 2 * mu * now - before;
        const double omega = isinf(mu) ? 1 : 2 * mu * now / next;
        out->kept[k] = omega - 1;
        out->fresh[k] = omega * p->first;
        before = now;
        now = next;
    }
    out->kept[1] = p->u - 1;
    out->fresh[1] = p->v;
}

static PetscErrorCode fit(KSP ksp, Mat A, probe *p, tp_smoother *out)
{
    int sign;

    PetscFunctionBegin;
    p->fits = PETSC_TRUE;
    PetscCall(VecSetRandom(p->b, NULL));
    PetscCall(tp_signed_diagonal(A, p->diagonal, &sign));
    PetscCall(fit_first(ksp, p));
    out->first = p->first;
    if (out->steps > 1) {
        PetscCall(fit_second(ksp, A, p));
        if (out->steps > 2 && fabs(p->v - p->u * p->first) > MISFIT * fabs(p->v)) { p->fits = PETSC_FALSE; }
        continue_recurrence(p, out);
    }
    if (!p->fits) { out->steps = 0; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_smoother_read(KSP ksp, Mat A, tp_smoother *out)
{
    PetscBool linear;
    KSPNormType norm;
    probe p;

    PetscFunctionBegin;
    out->steps = 0;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &linear, KSPCHEBYSHEV, KSPRICHARDSON, ""));
    PetscCall(KSPGetNormType(ksp, &norm));
    PetscCall(KSPGetTolerances(ksp, NULL, NULL, NULL, &out->steps));
    if (!linear || norm != KSP_NORM_NONE || out->steps > TP_MOST_STEPS) { out->steps = 0; }
    if (out->steps == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(MatCreateVecs(A, &p.b, &p.r));
    PetscCall(VecDuplicate(p.b, &p.x[0]));
    PetscCall(VecDuplicate(p.b, &p.x[1]));
    PetscCall(VecDuplicate(p.b, &p.z));
    PetscCall(VecDuplicate(p.b, &p.diagonal));
    PetscCall(fit(ksp, A, &p, out));
    PetscCall(VecDestroy(&p.b));
    PetscCall(VecDestroy(&p.r));
    PetscCall(VecDestroy(&p.x[0]));
    PetscCall(VecDestroy(&p.x[1]));
    PetscCall(VecDestroy(&p.z));
    PetscCall(VecDestroy(&p.diagonal));
    PetscFunctionReturn(PETSC_SUCCESS);
}
