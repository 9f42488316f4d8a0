/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes: iterative refinement around a KSP of PETSc. Products may then be in any precision: the residual
   that decides is that of AIJ's FP64 values, in two words. */
#include "ksp.h"

#include "errors.h"
#include "mat.h"
#include "mat_halo.h"
#include "residual.h"
#include "rows.h"
#include "storage.h"
#include "told.h"
#include "verify.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <tessera/policy.h>
#include <tessera_petsc.h>

/* An inner solve aims a little below what is left, and no lower than its matrix tells residuals apart. */
static const double MARGIN = 0.9, DIGITS = 16;

static PetscErrorCode forward_monitor(KSP inner, PetscInt iteration, PetscReal norm, void *context)
{
    KSP ksp = context;
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    (void)inner;
    if (iteration == 0 && k->before > 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    ksp->its = k->before + iteration;
    ksp->rnorm = k->scale * norm;
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, ksp->rnorm));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode need_inner(KSP ksp)
{
    tp_ksp *const k = ksp->data;
    const char *prefix;

    PetscFunctionBegin;
    if (k->inner) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), &k->inner));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)k->inner, (PetscObject)ksp, 1));
    PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
    PetscCall(KSPSetOptionsPrefix(k->inner, prefix));
    PetscCall(KSPAppendOptionsPrefix(k->inner, "tessera_"));
    PetscCall(KSPMonitorSet(k->inner, forward_monitor, ksp, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *petsc_type(tess_solver_kind solver)
{
    switch (solver) {
    case TESS_SOLVER_CG: return KSPCG;
    case TESS_SOLVER_BICGSTAB: return KSPBCGS;
    case TESS_SOLVER_GMRES:
    case TESS_SOLVER_GMRES_IR: return KSPGMRES;
    case TESS_SOLVER_FGMRES: return KSPFGMRES;
    case TESS_SOLVER_MINRES: return KSPMINRES;
    default: return NULL;
    }
}

/* Methods of PETSc have options of their own. Collective, as all that come here have the same options. */
static PetscErrorCode need_petscs_words(KSP ksp)
{
    const tess_solve_options *const o = &((tp_ksp *)ksp->data)->words.options;
    const tess_option *option;
    char name[64];

    PetscFunctionBegin;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if (option->scope != TESS_OPTION_OF_SOLVE || !tess_options_is_set(o, option->name) ||
            strcmp(option->name, "solver") == 0 || strcmp(option->name, "restart") == 0) {
            continue;
        }
        SETERRQ(PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
                "%s: over several processes, or for a matrix that is not AIJ, PETSc's method solves; give it options "
                "of its own, by the prefix -tessera_",
                tess_option_petsc(option, name, sizeof name));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of one block of rows: the same entries at the same places, by global columns where `columns` tells them. */
static PetscErrorCode blocks_are_equal(const Mat block[2], const PetscInt *const columns[2], int *equal)
{
    tp_rows one, two;

    PetscFunctionBegin;
    PetscCall(tp_rows_get(block[0], &one));
    PetscCall(tp_rows_get(block[1], &two));
    if (one.nrows != two.nrows) { *equal = 0; }
    for (PetscInt r = 0; *equal && r < one.nrows; r++) {
        if (one.i[r + 1] != two.i[r + 1]) { *equal = 0; }
        for (PetscInt k = one.i[r]; *equal && k < one.i[r + 1]; k++) {
            const PetscInt i = columns[0] ? columns[0][one.j[k]] : one.j[k];
            const PetscInt j = columns[1] ? columns[1][two.j[k]] : two.j[k];
            if (i != j || !(one.a[k] == two.a[k])) { *equal = 0; }
        }
    }
    PetscCall(tp_rows_restore(block[1], &two));
    PetscCall(tp_rows_restore(block[0], &one));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of this process alone. */
static PetscErrorCode own_rows_are_equal(Mat A, Mat T, int *equal)
{
    const PetscInt *columns[2] = {NULL, NULL};
    Mat own[2] = {A, T}, off[2] = {NULL, NULL};
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) {
        PetscCall(MatMPIAIJGetSeqAIJ(A, &own[0], &off[0], &columns[0]));
        PetscCall(MatMPIAIJGetSeqAIJ(T, &own[1], &off[1], &columns[1]));
        PetscCall(blocks_are_equal(off, columns, equal));
    }
    columns[0] = columns[1] = NULL;
    PetscCall(blocks_are_equal(own, columns, equal));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of AIJ, the same on all processes. MatIsSymmetric of PETSc 3.18.5 judges the rows of each process by themselves, and
   processes may answer differently. */
static PetscErrorCode compare_with_transpose(Mat A, PetscBool *out)
{
    int equal = 1;
    PetscErrorCode code;
    Mat T;

    PetscFunctionBegin;
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
    code = own_rows_are_equal(A, T, &equal);
    PetscCall(MatDestroy(&T));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), code));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &equal, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    *out = equal ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all processes, whatever each of them knows. */
static PetscErrorCode agree_on_symmetry(Mat A, PetscBool *out)
{
    PetscBool symmetric = PETSC_FALSE, known, aij;
    int both[2];

    PetscFunctionBegin;
    PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
    both[0] = known ? 1 : 0;
    both[1] = known && symmetric ? 1 : 0;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    *out = both[0] && both[1] ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (both[0] || !aij) { PetscFunctionReturn(PETSC_SUCCESS); } /* others may not tell */
    PetscCall(compare_with_transpose(A, out));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, *out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The method is set here and may be replaced by -tessera_ksp_type. */
static PetscErrorCode choose_type(KSP ksp, Mat A)
{
    tp_ksp *const k = ksp->data;
    const tess_solve_options *const o = &k->words.options;
    tess_solve_options restarted = *o;
    const char *type = petsc_type(o->solver);
    PetscBool symmetric = PETSC_FALSE, precond = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(need_petscs_words(ksp));
    if (!type) {
        PetscCheck(
            o->solver == TESS_SOLVER_AUTO, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_UNKNOWN_TYPE,
            "-ksp_tessera_solver %s: over several processes, or for a matrix that is not AIJ, give auto, cg, bicgstab, "
            "gmres, fgmres or minres",
            tess_solver_kind_name(o->solver));
        PetscCall(agree_on_symmetry(A, &symmetric));
        PetscCall(tp_pc_may_be_symmetric(ksp->pc, &precond));
        type = symmetric && precond ? KSPCG
                                    : KSPFGMRES; /* a preconditioner with vectors below FP64 varies by their rounding */
    }
    if (strcmp(type, KSPCG) == 0 && tp_carries(A)) { type = KSPTESSERACG; }
    PetscCall(KSPSetType(k->inner, type));
    if (strcmp(type, KSPGMRES) == 0 || strcmp(type, KSPBCGS) == 0) { PetscCall(KSPSetPCSide(k->inner, PC_RIGHT)); }
    if (strcmp(type, KSPMINRES) != 0) { PetscCall(KSPSetNormType(k->inner, KSP_NORM_UNPRECONDITIONED)); }
    restarted.solver = TESS_SOLVER_GMRES; /* other types take no notice */
    tp_take_restart(k, &restarted);
    PetscCall(KSPGMRESSetRestart(k->inner, restarted.gmres.restart));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_refine_options(KSP ksp)
{
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    k->configured = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its PC is that of the outer KSP, which has its options already. */
static PetscErrorCode set_up_inner(KSP ksp)
{
    tp_ksp *const k = ksp->data;
    Mat A, P;

    PetscFunctionBegin;
    PetscCall(need_inner(ksp));
    PetscCall(KSPGetOperators(ksp, &A, &P));
    if (!k->configured) {
        PetscCall(choose_type(ksp, A));
        k->inner->skippcsetfromoptions = PETSC_TRUE;
        PetscCall(KSPSetPC(k->inner, ksp->pc));
        PetscCall(KSPSetFromOptions(k->inner));
        k->configured = PETSC_TRUE;
    }
    PetscCall(KSPSetOperators(k->inner, A, P));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the policy's parameter bounds the error of what is stored. */
static bool judges_values(tess_policy policy)
{
    return policy == TESS_POLICY_LOSSLESS || policy == TESS_POLICY_ERROR_BOUND;
}

/* The smallest relative residual that a solve with this matrix can mean. */
static PetscErrorCode attainable(KSP inner, Mat A, double *out)
{
    const tp_storage *const storage = tp_storage_of(A);
    PetscBool carries;
    double u;

    PetscFunctionBegin;
    *out = 0;
    if (!storage) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscObjectTypeCompare((PetscObject)inner, KSPTESSERACG, &carries));
    u = carries || tp_halo_precision(A) == TESS_PRECISION_FP64 ? 0 : tess_precision_unit_roundoff(tp_halo_precision(A));
    if (judges_values(storage->options.policy.policy)) { u = fmax(u, storage->options.policy.parameter); }
    if (storage->options.policy.policy == TESS_POLICY_NONE && storage->options.precision != TESS_PRECISION_FP64) {
        u = fmax(u, tess_precision_unit_roundoff(storage->options.precision));
    }
    if (storage->options.policy.policy != TESS_POLICY_NONE && !judges_values(storage->options.policy.policy)) {
        u = fmax(u, tess_precision_unit_roundoff(TESS_PRECISION_FP32));
    }
    *out = fmin(0.1, DIGITS * u);
    PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct refinement {
    Vec r, d;
    double tolerance, norm, most; /* wanted; of the true residual, and with its bound */
} refinement;

static PetscErrorCode measure(KSP ksp, Mat A, refinement *f)
{
    tp_told *const told = &((tp_ksp *)ksp->data)->told;
    tp_verifier *const verifier = &((tp_ksp *)ksp->data)->verifier;

    PetscFunctionBegin;
    PetscCall(tp_true_residual(verifier, A, ksp->vec_rhs, ksp->vec_sol, f->r, &told->norms));
    f->norm = told->norms.norm[TP_NORM];
    f->most = tp_most(&told->norms);
    told->measured = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before the first round, with the tolerance. Without a verification PETSc's norm of b does. */
static PetscErrorCode measure_guess(KSP ksp, Mat A, refinement *f)
{
    tp_ksp *const k = ksp->data;
    double norm;

    PetscFunctionBegin;
    if (k->verify) {
        PetscCall(measure(ksp, A, f));
        PetscCall(tp_set_tolerances(ksp, &k->told.norms, &k->told.tolerances));
        f->tolerance = k->told.tolerances.given;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecCopy(ksp->vec_rhs, f->r));
    PetscCall(tp_norm(f->r, &norm));
    f->tolerance = PetscMax(ksp->rtol * norm, ksp->abstol);
    if (!ksp->guess_zero) {
        PetscCall(MatMult(A, ksp->vec_sol, f->r));
        PetscCall(VecAYPX(f->r, -1, ksp->vec_rhs));
        PetscCall(tp_norm(f->r, &norm));
    }
    f->norm = f->most = norm;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of two near a number whose square may be out of range; 1 for others. */
static double scale_of(double number)
{
    int exponent;

    if (number == 0 || !isfinite(number) || (number > 0x1p-300 && number < 0x1p300)) { return 1; }
    (void)frexp(number, &exponent);
    return ldexp(1, exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
}

/* One round: A d = r, x := x + d. */
static PetscErrorCode correct(KSP ksp, const refinement *f, KSPConvergedReason *reason)
{
    tp_ksp *const k = ksp->data;
    Mat A;
    const double aim = fmax(f->tolerance - (f->most - f->norm), 0.1 * f->tolerance);
    const double left = f->norm > 0 ? MARGIN * aim / f->norm : 0;
    double rtol = 0;
    PetscInt iterations;

    PetscFunctionBegin;
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    if (k->verify) { PetscCall(attainable(k->inner, A, &rtol)); }
    rtol = fmax(rtol, left);
    PetscCall(KSPSetTolerances(k->inner, fmin(rtol, 0.5), 0, ksp->divtol, PetscMax(ksp->max_it - k->before, 0)));
    k->scale = scale_of(f->norm);
    if (k->scale != 1) { PetscCall(VecScale(f->r, 1 / k->scale)); }
    PetscCall((ksp->transpose_solve ? KSPSolveTranspose : KSPSolve)(k->inner, f->r, f->d));
    PetscCall(KSPGetConvergedReason(k->inner, reason));
    PetscCall(KSPGetIterationNumber(k->inner, &iterations));
    k->before += iterations;
    ksp->its = k->before;
    if (*reason != KSP_DIVERGED_NANORINF) { PetscCall(VecAXPY(ksp->vec_sol, k->scale, f->d)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the true residual says after a round; 0: one more. */
static PetscErrorCode judge(KSP ksp, const refinement *f, double before, KSPConvergedReason inner)
{
    PetscFunctionBegin;
    ksp->rnorm = f->norm;
    if (f->most <= f->tolerance) {
        ksp->reason = tp_converged_reason(ksp, f->most);
    } else if (!isfinite(f->norm)) {
        ksp->reason = KSP_DIVERGED_NANORINF;
    } else if (ksp->its >= ksp->max_it) {
        ksp->reason = KSP_DIVERGED_ITS;
    } else if (inner < 0 && !(f->norm < 0.5 * before)) {
        ksp->reason = inner;
    } else if (!(f->norm < 0.5 * before)) {
        PetscCall(tp_refute(ksp, f->tolerance, f->tolerance));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a round gains too little, the halo of the next one is in a higher precision, if there is one. */
static PetscErrorCode widen(KSP ksp, Mat A, const refinement *f, double before, KSPConvergedReason inner,
                            PetscBool *done)
{
    PetscFunctionBegin;
    *done = PETSC_FALSE;
    if (f->most <= f->tolerance || !isfinite(f->norm) || ksp->its >= ksp->max_it) {
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (inner < 0 || !(f->norm < 0.5 * before)) { PetscCall(tp_widen_halo(A, done)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode refine(KSP ksp, Mat A, refinement *f)
{
    tp_ksp *const k = ksp->data;
    KSPConvergedReason inner;
    PetscBool widened;

    PetscFunctionBegin;
    PetscCall(measure_guess(ksp, A, f));
    if (f->most <= f->tolerance) {
        ksp->rnorm = f->norm;
        ksp->reason = tp_converged_reason(ksp, f->most);
        PetscCall(KSPLogResidualHistory(ksp, f->norm));
        PetscCall(KSPMonitor(ksp, 0, f->norm));
    }
    while (!ksp->reason) {
        const double before = f->norm;
        PetscCall(correct(ksp, f, &inner));
        if (!k->verify) {
            ksp->reason = inner;
            break;
        }
        PetscCall(measure(ksp, A, f));
        PetscCall(widen(ksp, A, f, before, inner, &widened));
        if (widened) { continue; }
        PetscCall(judge(ksp, f, before, inner));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As the library says it of a solve in the norm as given. Nobody knows rows without entries, and a NaN is no proof. */
static void tell(KSP ksp, const refinement *f)
{
    tp_told *const told = &((tp_ksp *)ksp->data)->told;
    const double *const norm = told->norms.norm;
    const bool rows =
        tess_residual_meets_rows(norm[TP_ROWS], norm[TP_ROWS_BOUND], told->tolerances.rows, TESS_ROWS_SLACK);

    told->verified = told->measured && ksp->reason > 0 && f->most <= f->tolerance && rows ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode tp_solve_refined(KSP ksp)
{
    tp_ksp *const k = ksp->data;
    refinement f = {0};
    Mat A;

    PetscFunctionBegin;
    PetscCall(set_up_inner(ksp));
    PetscCall(tp_system(ksp, &A));
    PetscCall(VecDuplicate(ksp->vec_rhs, &f.r));
    PetscCall(VecDuplicate(ksp->vec_rhs, &f.d));
    ksp->its = k->before = 0;
    ksp->reason = KSP_CONVERGED_ITERATING;
    PetscCall(refine(ksp, A, &f));
    tell(ksp, &f);
    PetscCall(tp_reset_halo(A));
    PetscCall(VecDestroy(&f.r));
    PetscCall(VecDestroy(&f.d));
    PetscFunctionReturn(PETSC_SUCCESS);
}
