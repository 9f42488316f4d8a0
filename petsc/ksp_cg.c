/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conjugate gradients for matrices whose halo is below FP64. What rounding takes from the values that travel is given
 * back in later products, weighted by CG's own step lengths (halo.h): x and r stay those of the matrix that was
 * assembled, b - A x = r up to the rounding of the last step. Hestenes and Stiefel, J. Res. NBS 49 (1952); the idea to
 * carry errors on is that of error feedback, Seide et al., Interspeech 2014, for gradients of one bit.
 */
#include "ksp.h"

#include "mat_halo.h"

typedef struct iterates {
    Vec x, r, z, p, w;
    Mat A;
    PetscScalar rz, curvature; /* (r, z), and (p, A p) of the last step; 0 before */
} iterates;

/* A x, whose halo is carried on. KSPSolveTranspose has products that do not round. */
static PetscErrorCode multiply(KSP ksp, const iterates *s, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(ksp->transpose_solve ? MatMultTranspose(s->A, x, y) : tp_carried_product(s->A, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode first_residual(KSP ksp, iterates *s)
{
    PetscFunctionBegin;
    PetscCall(tp_carry_reset(s->A));
    if (ksp->guess_zero) {
        PetscCall(VecSet(s->x, 0));
        PetscCall(VecCopy(ksp->vec_rhs, s->r));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(multiply(ksp, s, s->x, s->r));
    PetscCall(tp_carry_guess(s->A));
    PetscCall(VecAYPX(s->r, -1, ksp->vec_rhs));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode norm_of(KSP ksp, const iterates *s, PetscReal *norm)
{
    PetscFunctionBegin;
    switch (ksp->normtype) {
    case KSP_NORM_PRECONDITIONED: PetscCall(VecNorm(s->z, NORM_2, norm)); break;
    case KSP_NORM_UNPRECONDITIONED: PetscCall(VecNorm(s->r, NORM_2, norm)); break;
    case KSP_NORM_NATURAL: *norm = PetscSqrtReal(PetscAbsScalar(s->rz)); break;
    default: *norm = 0;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of an iteration: z and (r, z), monitors, the test of convergence. As in PETSc's CG, what is definite has
   (r, z) and (p, A p) of one sign, which may be negative. */
static PetscErrorCode judge(KSP ksp, iterates *s)
{
    const PetscScalar before = s->rz;
    PetscReal norm = 0;

    PetscFunctionBegin;
    PetscCall(KSP_PCApply(ksp, s->r, s->z));
    PetscCall(VecDot(s->r, s->z, &s->rz));
    KSPCheckDot(ksp, s->rz);
    PetscCall(norm_of(ksp, s, &norm));
    ksp->rnorm = norm;
    PetscCall(KSPLogResidualHistory(ksp, norm));
    PetscCall(KSPMonitor(ksp, ksp->its, norm));
    PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
    if (ksp->reason) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (s->rz == 0) {
        ksp->reason = KSP_CONVERGED_ATOL; /* r is 0 */
    } else if (s->rz * before < 0) {
        ksp->reason = KSP_DIVERGED_INDEFINITE_PC;
    } else if (ksp->its >= ksp->max_it) {
        ksp->reason = KSP_DIVERGED_ITS;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Along p to the minimum. */
static PetscErrorCode step(KSP ksp, iterates *s)
{
    PetscScalar curvature, length;

    PetscFunctionBegin;
    PetscCall(multiply(ksp, s, s->p, s->w));
    PetscCall(VecDot(s->p, s->w, &curvature));
    KSPCheckDot(ksp, curvature);
    if (curvature == 0 || curvature * s->curvature < 0) {
        ksp->reason = KSP_DIVERGED_INDEFINITE_MAT;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    s->curvature = curvature;
    length = s->rz / curvature;
    PetscCall(VecAXPY(s->x, length, s->p));
    PetscCall(VecAXPY(s->r, -length, s->w));
    PetscCall(tp_carry_step(s->A, length));
    ksp->its++;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_TesseraCG(KSP ksp)
{
    iterates s = {.x = ksp->vec_sol, .r = ksp->work[0], .z = ksp->work[1], .p = ksp->work[2], .w = ksp->work[3]};

    PetscFunctionBegin;
    PetscCall(KSPGetOperators(ksp, &s.A, NULL));
    ksp->its = 0;
    ksp->reason = KSP_CONVERGED_ITERATING;
    PetscCall(first_residual(ksp, &s));
    PetscCall(judge(ksp, &s));
    PetscCall(VecCopy(s.z, s.p));
    while (!ksp->reason) {
        const PetscScalar before = s.rz;
        PetscCall(step(ksp, &s));
        if (ksp->reason) { break; }
        PetscCall(judge(ksp, &s));
        PetscCall(VecAYPX(s.p, s.rz / before, s.z));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_TesseraCG(KSP ksp)
{
    PetscFunctionBegin;
    PetscCall(KSPSetWorkVecs(ksp, 4));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_ksp_create_cg(KSP ksp)
{
    PetscFunctionBegin;
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 2));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NATURAL, PC_LEFT, 2));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
    ksp->ops->setup = KSPSetUp_TesseraCG;
    ksp->ops->solve = KSPSolve_TesseraCG;
    ksp->ops->destroy = KSPDestroyDefault;
    ksp->ops->buildsolution = KSPBuildSolutionDefault;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    PetscFunctionReturn(PETSC_SUCCESS);
}
