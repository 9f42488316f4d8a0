/* SPDX-License-Identifier: Apache-2.0 */
/* What -ksp_view says of the last solve, and what is said at once where the true residual refutes it. */
#include "told.h"

#include "errors.h"
#include "ksp.h"
#include "residual.h"
#include "verify.h"

#include <math.h>
#include <stdio.h>

static double relative(double norm, double rhs)
{
    return rhs > 0 ? norm / rhs : norm;
}

/* Why the last solve is not verified. */
static PetscErrorCode view_doubt(KSP ksp, PetscViewer viewer)
{
    const tp_ksp *const k = ksp->data;
    const tp_told *const told = &k->told;
    const double rows = told->norms.norm[TP_ROWS] / told->tolerances.rows;
    MatType type;
    Mat A;

    PetscFunctionBegin;
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(MatGetType(A, &type));
    if (ksp->reason <= 0) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  not verified: not converged\n"));
    } else if (!k->verify) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  not verified: -ksp_tessera_verify is off\n"));
    } else if (isnan(told->norms.norm[TP_BOUND])) {
        PetscCall(PetscViewerASCIIPrintf(viewer,
                                         "  not verified: nobody tells the entries of a matrix of type %s, so that "
                                         "nothing bounds the rounding of the residual\n",
                                         type));
    } else if (!(tp_most(&told->norms) <= told->tolerances.given)) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  not verified: the program's own test ended the solve\n"));
    } else {
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "  not verified: the row-scaled residual is %.0e times its tolerance\n", rows));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_rows(const tp_norms *of, PetscViewer viewer)
{
    const double scaled = relative(of->norm[TP_ROWS], of->norm[TP_ROWS_RHS]);
    char row[32] = "";

    PetscFunctionBegin;
    if (isnan(of->norm[TP_ROWS]) || isnan(of->backward)) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  rows scaled to one size: unknown\n"));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (of->row >= 0) { (void)snprintf(row, sizeof row, " (row %" PetscInt_FMT ")", of->row); }
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  rows scaled to one size %.6e, error of that below %.1e, relative %.6e\n",
                                     of->norm[TP_ROWS], of->norm[TP_ROWS_BOUND], scaled));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  largest row-wise backward error %.1e, at most %.1e%s\n", of->backward,
                                     of->backward_most, row));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_told_view(KSP ksp, PetscViewer viewer)
{
    const tp_told *const told = &((const tp_ksp *)ksp->data)->told;
    const double *const norm = told->norms.norm;

    PetscFunctionBegin;
    if (ksp->reason == KSP_CONVERGED_ITERATING) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (told->measured && isnan(norm[TP_BOUND])) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  residual %.6e, error of that unknown\n", norm[TP_NORM]));
    } else if (told->measured) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  true residual %.6e, error of that below %.1e, relative %.6e\n",
                                         norm[TP_NORM], norm[TP_BOUND], relative(norm[TP_NORM], norm[TP_RHS])));
    }
    if (told->measured) { PetscCall(view_rows(&told->norms, viewer)); }
    if (told->verified) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  verified: the true residual is proved to meet its tolerance, also "
                                                 "with rows scaled to one size\n"));
    } else {
        PetscCall(view_doubt(ksp, viewer));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_refute(KSP ksp, double estimate, double tolerance)
{
    tp_ksp *const k = ksp->data;
    char message[256];

    PetscFunctionBegin;
    ksp->reason = KSP_DIVERGED_BREAKDOWN;
    (void)snprintf(message, sizeof message,
                   "false convergence: the iteration estimates a residual of %.3e, the true one is %.3e, and %.3e was "
                   "asked for; KSP_DIVERGED_BREAKDOWN",
                   estimate, k->told.norms.norm[TP_NORM], tolerance);
    PetscCall(tp_warn(PetscObjectComm((PetscObject)ksp), message));
    PetscFunctionReturn(PETSC_SUCCESS);
}
