/* SPDX-License-Identifier: Apache-2.0 */
/* -pc_tessera_*: the words of the command line's preconditioners. */
#include "pc.h"

#include "gather.h"
#include "options.h"

#include <string.h>
#include <tessera/precision.h>
#include <tessera/status.h>
#include <tessera_petsc.h>

PetscErrorCode tp_pc_set_from_options(PC pc, tp_option_items PetscOptionsObject)
{
    static const char *const by_itself[] = {"precond", "precond-precision", NULL};
    tp_pc *const p = pc->data;
    PetscMPIInt groups;

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera preconditioner");
    PetscCall(PetscOptionsString("-pc_tessera_type", "Kind of preconditioner: a word of the command line, or gamg",
                                 "PCTESSERA", p->kind, p->kind, sizeof p->kind, NULL));
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
    p->words.wrong[0] = '\0';
    PetscCall(tp_options_read(PetscOptionsObject, TESS_OPTION_OF_PRECOND, by_itself, &p->words));
    PetscOptionsHeadEnd();
    if (strcmp(p->kind, "gamg") == 0) { PetscCall(tp_gamg_options(pc)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A word of -pc_tessera_type or -pc_tessera_precision. */
static PetscErrorCode set_word(tp_words *words, const char *name, const char *text, const char *also)
{
    char message[TESS_OPTION_TEXT], spelled[2 * TESS_OPTION_TEXT];

    PetscFunctionBegin;
    PetscCheck(tess_options_set(&words->options, name, text, message, sizeof message) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "%s%s", tp_spell(message, spelled, sizeof spelled), also);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors are PETSc's, in FP64: so are products, unless the kind keeps to FP32 or the word says otherwise. */
static PetscErrorCode set_precision(const char *text, tp_words *words)
{
    tess_precond_options *const o = &words->options.precond;
    const PetscBool narrow =
        o->kind == TESS_PRECOND_LU || o->kind == TESS_PRECOND_CHOLESKY || o->kind == TESS_PRECOND_POLYNOMIAL;

    PetscFunctionBegin;
    if (o->kind == TESS_PRECOND_AMG || o->kind == TESS_PRECOND_SADDLE) {
        PetscCall(set_word(words, "amg-precision", text, ""));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(set_word(words, "precond-precision", text, ""));
    if (!narrow && !strchr(text, '/')) { o->role.arithmetic = TESS_ARITHMETIC_FP64; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pc_complete_options(const tp_pc *p, tess_precond_options *options)
{
    tp_words words = p->words;

    PetscFunctionBegin;
    PetscCall(set_word(&words, "precond", p->kind, ", gamg"));
    if (p->precision[0]) { PetscCall(set_precision(p->precision, &words)); }
    PetscCall(tp_words_require_fit(&words));
    *options = words.options.precond;
    PetscFunctionReturn(PETSC_SUCCESS);
}
