/* SPDX-License-Identifier: Apache-2.0 */
/* -pc_tessera_*: the words of the command line's preconditioners. */
#include "pc.h"

#include <string.h>

PetscErrorCode tp_pc_set_from_options(PC pc, tp_option_items PetscOptionsObject)
{
    tp_pc *const p = pc->data;
    char text[64];
    PetscBool set;

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera preconditioner");
    PetscCall(PetscOptionsString("-pc_tessera_type", "Kind of preconditioner", "PCTESSERA", p->kind, p->kind,
                                 sizeof p->kind, NULL));
    PetscCall(PetscOptionsString("-pc_tessera_precision", "STORAGE[/ARITHMETIC]; amg, gamg: precision of the levels",
                                 "PCTESSERA", p->precision, p->precision, sizeof p->precision, NULL));
    PetscCall(PetscOptionsString("-pc_tessera_halo", "gamg: precision of values that travel between processes",
                                 "PCTESSERA", p->halo, p->halo, sizeof p->halo, NULL));
    PetscCall(PetscOptionsString("-pc_tessera_vectors", "gamg: precision of the cycle's vectors", "PCTESSERA",
                                 p->vectors, p->vectors, sizeof p->vectors, NULL));
    PetscCall(PetscOptionsString("-pc_tessera_amg_coarsening", "amg: auto, classical or aggregation", "PCTESSERA",
                                 tess_amg_coarsening_name(p->amg.coarsening), text, sizeof text, &set));
    PetscCheck(!set || tess_amg_coarsening_parse(text, &p->amg.coarsening) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_amg_coarsening %s: give auto, classical or aggregation", text);
    PetscCall(PetscOptionsString("-pc_tessera_amg_cycle", "amg: v, w or k", "PCTESSERA",
                                 tess_amg_cycle_name(p->amg.cycle), text, sizeof text, &set));
    PetscCheck(!set || tess_amg_cycle_parse(text, &p->amg.cycle) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_amg_cycle %s: give v, w or k", text);
    PetscCall(PetscOptionsString("-pc_tessera_amg_smoother", "amg: chebyshev, l1-jacobi, jacobi or ilu0", "PCTESSERA",
                                 tess_amg_smoother_name(p->amg.smoother), text, sizeof text, &set));
    PetscCheck(!set || tess_amg_smoother_parse(text, &p->amg.smoother) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_amg_smoother %s: give chebyshev, l1-jacobi, jacobi or ilu0",
               text);
    PetscOptionsHeadEnd();
    if (strcmp(p->kind, "gamg") == 0) { PetscCall(tp_gamg_options(pc)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors are PETSc's, in FP64: so are products, unless the kind keeps to FP32 or the word says otherwise. */
static PetscErrorCode parse_role(const tp_pc *p, tess_precond_kind kind, tess_role_precision *role)
{
    const PetscBool narrow =
        kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY || kind == TESS_PRECOND_POLYNOMIAL;

    PetscFunctionBegin;
    PetscCheck(tess_role_precision_parse(p->precision, role) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_precision %s: give STORAGE[/ARITHMETIC], such as fp16/fp32",
               p->precision);
    if (!narrow && !strchr(p->precision, '/')) { role->arithmetic = TESS_ARITHMETIC_FP64; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pc_complete_options(const tp_pc *p, tess_precond_options *options)
{
    PetscFunctionBegin;
    tess_precond_options_init(options);
    PetscCheck(tess_precond_options_parse(p->kind, options) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE,
               "-pc_tessera_type %s: give jacobi, block-jacobi[:K], polynomial[:D], ilu0, ic0, ilut[:T[:F]], "
               "ict[:T[:F]], iluk[:K], amg, gamg, lu or cholesky",
               p->kind);
    options->amg = p->amg;
    if (!p->precision[0]) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (options->kind == TESS_PRECOND_AMG) {
        PetscCheck(tess_amg_precision_parse(p->precision, &options->amg.precision) == TESS_SUCCESS, PETSC_COMM_SELF,
                   PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_precision %s: amg takes auto, fp64, fp32 or fp16",
                   p->precision);
    } else {
        PetscCall(parse_role(p, options->kind, &options->role));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}
