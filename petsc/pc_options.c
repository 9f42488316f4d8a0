/* SPDX-License-Identifier: Apache-2.0 */
/* -pc_tessera_*: the words of the command line's preconditioners. */
#include "pc.h"

#include <string.h>

/* -pc_tessera_amg_*: those of the command line. The library checks numbers at set-up. */
static PetscErrorCode amg_options(tess_amg_options *amg, tp_option_items PetscOptionsObject)
{
    PetscInt degree = amg->degree, aggressive = amg->aggressive;
    PetscReal strength = amg->strength;
    char text[64];
    PetscBool set;

    PetscFunctionBegin;
    PetscCall(PetscOptionsString("-pc_tessera_amg_coarsening", "amg: auto, classical, aggregation or plain",
                                 "PCTESSERA", tess_amg_coarsening_name(amg->coarsening), text, sizeof text, &set));
    PetscCheck(!set || tess_amg_coarsening_parse(text, &amg->coarsening) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_amg_coarsening %s: give auto, classical, aggregation or plain",
               text);
    PetscCall(PetscOptionsString("-pc_tessera_amg_cycle", "amg: v, w or k", "PCTESSERA",
                                 tess_amg_cycle_name(amg->cycle), text, sizeof text, &set));
    PetscCheck(!set || tess_amg_cycle_parse(text, &amg->cycle) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_amg_cycle %s: give v, w or k", text);
    PetscCall(PetscOptionsString("-pc_tessera_amg_smoother", "amg: chebyshev, l1-jacobi, jacobi, ilu0 or block-jacobi",
                                 "PCTESSERA", tess_amg_smoother_name(amg->smoother), text, sizeof text, &set));
    PetscCheck(!set || tess_amg_smoother_parse(text, &amg->smoother) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE,
               "-pc_tessera_amg_smoother %s: give chebyshev, l1-jacobi, jacobi, ilu0 or block-jacobi", text);
    PetscCall(PetscOptionsInt("-pc_tessera_amg_degree", "amg: products of a smoothing, 1 to 4", "PCTESSERA", degree,
                              &degree, NULL));
    PetscCall(PetscOptionsInt("-pc_tessera_amg_aggressive", "amg: first levels coarsened twice at once; -1: auto",
                              "PCTESSERA", aggressive, &aggressive, NULL));
    PetscCall(PetscOptionsReal("-pc_tessera_amg_strength", "amg: a coupling counts from this times the strongest",
                               "PCTESSERA", strength, &strength, NULL));
    amg->degree = (int)degree;
    amg->aggressive = (int)aggressive;
    amg->strength = strength;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pc_set_from_options(PC pc, tp_option_items PetscOptionsObject)
{
    tp_pc *const p = pc->data;
    PetscMPIInt groups;

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
    PetscCall(PetscOptionsString("-pc_tessera_setup", "gamg: where PETSc builds the hierarchy: auto, cpu or gpu",
                                 "PCTESSERA", p->setup, p->setup, sizeof p->setup, NULL));
    PetscCheck(!p->setup[0] || strcmp(p->setup, "auto") == 0 || strcmp(p->setup, "cpu") == 0 ||
                   strcmp(p->setup, "gpu") == 0,
               PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_setup %s: give auto, cpu or gpu", p->setup);
    PetscCall(PetscOptionsString("-pc_tessera_gather", "gamg: whose rows go to one process: auto, none or groups",
                                 "PCTESSERA", p->gather, p->gather, sizeof p->gather, NULL));
    PetscCheck(tp_gather_parse(p->gather, &groups), PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE,
               "-pc_tessera_gather %s: give auto, none or a number of groups", p->gather);
    PetscCall(amg_options(&p->amg, PetscOptionsObject));
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

/* A precision of all levels, or a list of those of the first ones, whose last goes on. */
static PetscErrorCode parse_levels(const char *text, tess_amg_options *amg)
{
    const char *rest = text;

    PetscFunctionBegin;
    for (int l = 0; rest; l++) {
        const size_t length = strcspn(rest, ",");
        char name[16] = "";

        if (length < sizeof name) { memcpy(name, rest, length); }
        PetscCheck(l < TESS_AMG_LEVEL_PRECISIONS && tess_amg_precision_parse(name, &amg->precision) == TESS_SUCCESS,
                   PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE,
                   "-pc_tessera_precision %s: amg takes auto, fp64, fp32, fp16, bf16, fp8, or a list such as fp32,fp16",
                   text);
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
        if (rest || l > 0) { amg->level_precision[l] = (uint8_t)amg->precision; }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pc_complete_options(const tp_pc *p, tess_precond_options *options)
{
    PetscFunctionBegin;
    tess_precond_options_init(options);
    PetscCheck(tess_precond_options_parse(p->kind, options) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE,
               "-pc_tessera_type %s: give jacobi, block-jacobi[:K], polynomial[:D], ilu0, ic0, ilut[:T[:F]], "
               "ict[:T[:F]], iluk[:K], jacobi-sweeps[:K], amg, gamg, lu or cholesky",
               p->kind);
    options->amg = p->amg;
    if (!p->precision[0]) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (options->kind == TESS_PRECOND_AMG) {
        PetscCall(parse_levels(p->precision, &options->amg));
    } else {
        PetscCall(parse_role(p, options->kind, &options->role));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}
