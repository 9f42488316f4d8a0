/* SPDX-License-Identifier: Apache-2.0 */
/* -mat_tessera_*: how a matrix is stored. */
#include "storage.h"

#include "options.h"

#include <petsc/private/petscimpl.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera/status.h>
#include <tessera_petsc.h>

void tp_storage_default(tp_storage *storage)
{
    tess_storage_options_init(&storage->options);
    storage->options.format = TESS_FORMAT_AUTO;
    storage->options.policy.policy = TESS_POLICY_LOSSLESS;
    storage->options.policy.granularity = TESS_GRANULARITY_MATRIX;
    storage->halo = TESS_PRECISION_FP64;
}

/* A format by its own name has parts that suit it; a shorthand, such as pbp, says which. */
static PetscErrorCode read_format(tp_option_items PetscOptionsObject, tp_words *words)
{
    tess_storage_options *const storage = &words->options.storage;
    const tess_granularity before = storage->policy.granularity;
    PetscBool set;

    PetscFunctionBegin;
    storage->policy.granularity = TESS_GRANULARITY_MATRIX;
    PetscCall(tp_option_read(PetscOptionsObject, "format", words, &set));
    if (!set) {
        storage->policy.granularity = before;
    } else if (storage->format != TESS_FORMAT_AUTO && storage->policy.granularity == TESS_GRANULARITY_MATRIX) {
        storage->policy.granularity =
            storage->format == TESS_FORMAT_TILES ? TESS_GRANULARITY_BLOCK : TESS_GRANULARITY_ROW;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_halo(tp_option_items PetscOptionsObject, tess_precision *out)
{
    char text[32];
    PetscBool set;
    tess_precision halo;

    PetscFunctionBegin;
    PetscCall(PetscOptionsString("-mat_tessera_halo", "Precision of values that travel between processes", "MATTESSERA",
                                 tess_precision_name(*out), text, sizeof text, &set));
    if (!set) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCheck(tess_precision_parse(text, &halo) == TESS_SUCCESS &&
                   (halo == TESS_PRECISION_FP64 || halo == TESS_PRECISION_FP32 || halo == TESS_PRECISION_FP16),
               PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "-mat_tessera_halo %s: give fp64, fp32 or fp16", text);
    *out = halo;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_storage_read(tp_option_items PetscOptionsObject, tp_storage *storage)
{
    static const char *const by_itself[] = {"format", "matrix-precision", NULL};
    tp_words words;
    PetscBool precision;

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera storage");
    tp_words_init(&words);
    words.options.storage = storage->options;
    PetscCall(read_format(PetscOptionsObject, &words));
    PetscCall(tp_options_read(PetscOptionsObject, TESS_OPTION_OF_STORAGE, by_itself, &words));
    PetscCall(tp_option_read(PetscOptionsObject, "matrix-precision", &words, &precision));
    if (precision) { words.options.storage.policy.policy = TESS_POLICY_NONE; } /* one precision ends the policy */
    PetscCall(tp_words_require_fit(&words));
    storage->options = words.options.storage;
    PetscCall(read_halo(PetscOptionsObject, &storage->halo));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_storage_read_for(PetscObject object, tp_storage *storage)
{
    PetscFunctionBegin;
    PetscObjectOptionsBegin(object);
    PetscCall(tp_storage_read(PetscOptionsObject, storage));
    PetscOptionsEnd();
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool tp_storage_is_exact(const tp_storage *storage)
{
    const tess_storage_options *const options = &storage->options;

    if (options->policy.policy == TESS_POLICY_LOSSLESS) {
        return options->policy.parameter == 0 ? PETSC_TRUE : PETSC_FALSE;
    }
    return options->policy.policy == TESS_POLICY_NONE && options->precision == TESS_PRECISION_FP64 ? PETSC_TRUE
                                                                                                   : PETSC_FALSE;
}
