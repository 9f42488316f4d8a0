/* SPDX-License-Identifier: Apache-2.0 */
/* KSP "tessera": a solve whose result the true residual decides. */
#include "ksp.h"

#include "context.h"
#include "errors.h"
#include "options.h"
#include "register.h"
#include "told.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>
#include <tessera/precond.h>
#include <tessera_petsc.h>

static PetscErrorCode KSPSetFromOptions_Tessera(KSP ksp, tp_option_items PetscOptionsObject)
{
    /* PETSc's: tolerances and limits, by which its reasons go; histories; times. Its own word: the guard. */
    static const char *const petscs[] = {
        "rtol", "atol", "accuracy", "max-iterations", "divergence-tolerance", "guard", "timings", "history-capacity",
        NULL};
    tp_ksp *const k = ksp->data;
    PetscInt restart = 0;
    PetscBool given;

    PetscFunctionBegin;
    PetscCall(KSPGMRESGetRestart(ksp, &restart));
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera solver");
    k->words.wrong[0] = '\0';
    PetscCall(tp_options_read(PetscOptionsObject, TESS_OPTION_OF_SOLVE, petscs, &k->words));
    PetscCall(PetscOptionsBool("-ksp_tessera_verify", "The true residual decides what converged means", "KSPTESSERA",
                               k->verify, &k->verify, NULL));
    PetscCall(PetscOptionsInt("-ksp_gmres_restart", "Number of directions before a restart", "KSPGMRESSetRestart",
                              restart, &restart, &given));
    PetscOptionsHeadEnd();
    if (given) { PetscCall(KSPGMRESSetRestart(ksp, restart)); }
    PetscCall(tp_refine_options(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's restart ---- */

static PetscErrorCode set_restart(KSP ksp, PetscInt restart)
{
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    PetscCheck(restart >= 1 && restart <= PETSC_MPI_INT_MAX, PetscObjectComm((PetscObject)ksp),
               PETSC_ERR_ARG_OUTOFRANGE, "a restart of %" PetscInt_FMT ": give 1 or more", restart);
    if (restart == k->restart) { PetscFunctionReturn(PETSC_SUCCESS); }
    k->restart = restart;
    PetscCall(tp_one_reset(k)); /* the next solve takes it */
    k->configured = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_restart(KSP ksp, PetscInt *restart)
{
    tess_solve_options options = ((tp_ksp *)ksp->data)->words.options;

    PetscFunctionBegin;
    options.solver = TESS_SOLVER_GMRES;
    tp_take_restart(ksp->data, &options);
    *restart = options.gmres.restart;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compose_restart(KSP ksp, PetscErrorCode (*set)(KSP, PetscInt),
                                      PetscErrorCode (*get)(KSP, PetscInt *))
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPGMRESSetRestart_C", set));
    PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPGMRESGetRestart_C", get));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside what is made of PETSc's preconditioner. Of this process alone. */
static PetscErrorCode need_fitting_words(const tp_ksp *k, PetscBool none)
{
    tp_words words = k->words;

    PetscFunctionBegin;
    if (!none) { words.options.precond.kind = TESS_PRECOND_SHELL; }
    PetscCall(tp_words_require_fit(&words));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_Tessera(KSP ksp)
{
    tess_context *ctx;
    PetscBool changes, none;

    PetscFunctionBegin;
    PetscCall(tp_agree(PetscObjectComm((PetscObject)ksp), tp_context(&ctx)));
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)ksp), need_fitting_words(ksp->data, none)));
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCEISENSTAT, &changes));
    PetscCheck(!changes, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "-ksp_type tessera does not take the preconditioner eisenstat, which changes the system: use sor");
    PetscCall(tp_set_up_pc(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_Tessera(KSP ksp)
{
    tp_ksp *const k = ksp->data;
    PetscBool one;
    PCFailedReason reason;
    int failed;

    PetscFunctionBegin;
    PetscCall(tp_set_up_pc(ksp)); /* PETSc's methods leave new values of an old matrix to PCApply */
    PetscCall(PCGetFailedReason(ksp->pc, &reason));
    k->told = (tp_told){0};
    failed = reason != PC_NOERROR; /* on this process: a block may fail alone */
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)ksp)));
    if (failed) {
        ksp->reason = KSP_DIVERGED_PC_FAILED;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(tp_is_one(ksp, &one));
    PetscCall((one ? tp_solve_one : tp_solve_refined)(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_Tessera(KSP ksp, PetscViewer viewer)
{
    const tp_ksp *const k = ksp->data;
    char solver[32];
    PetscBool ascii;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) { PetscFunctionReturn(PETSC_SUCCESS); }
    (void)tess_options_get(&k->words.options, "solver", solver, sizeof solver);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  solver %s, verify %s\n", solver, k->verify ? "on" : "off"));
    PetscCall(tp_told_view(ksp, viewer));
    if (k->inner) {
        PetscCall(PetscViewerASCIIPushTab(viewer));
        PetscCall(KSPView(k->inner, viewer));
        PetscCall(PetscViewerASCIIPopTab(viewer));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_Tessera(KSP ksp)
{
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    PetscCall(tp_one_reset(k));
    PetscCall(MatDestroy(&k->transpose));
    PetscCall(MatDestroy(&k->transposed));
    PetscCall(tp_verifier_destroy(&k->verifier));
    if (k->inner) { PetscCall(KSPReset(k->inner)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_Tessera(KSP ksp)
{
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    PetscCall(KSPReset_Tessera(ksp));
    PetscCall(KSPDestroy(&k->inner));
    PetscCall(compose_restart(ksp, NULL, NULL));
    PetscCall(KSPDestroyDefault(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_Tessera(KSP ksp)
{
    tp_ksp *k;

    PetscFunctionBegin;
    PetscCall(PetscNew(&k));
    ksp->data = k;
    tp_words_init(&k->words);
    k->verify = PETSC_TRUE;
    ksp->setupnewmatrix = PETSC_TRUE;
    /* The norm is that of b - A x, wherever the preconditioner stands. */
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
    ksp->ops->setup = KSPSetUp_Tessera;
    ksp->ops->solve = KSPSolve_Tessera;
    ksp->ops->matsolve = tp_mat_solve;
    ksp->ops->setfromoptions = KSPSetFromOptions_Tessera;
    ksp->ops->view = KSPView_Tessera;
    ksp->ops->reset = KSPReset_Tessera;
    ksp->ops->destroy = KSPDestroy_Tessera;
    ksp->ops->buildsolution = KSPBuildSolutionDefault;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    PetscCall(compose_restart(ksp, set_restart, get_restart));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_register_ksp(void)
{
    PetscFunctionBegin;
    PetscCall(KSPRegister(KSPTESSERA, KSPCreate_Tessera));
    PetscCall(KSPRegister(KSPTESSERACG, tp_ksp_create_cg));
    PetscFunctionReturn(PETSC_SUCCESS);
}
