/* SPDX-License-Identifier: Apache-2.0 */
/* -mat_tessera_*: the words of the command line's options of storage. */
#include "plugin.h"

void tp_storage_default(tp_storage *storage)
{
    tess_storage_options_init(&storage->options);
    storage->options.format = TESS_FORMAT_AUTO;
    storage->options.policy.policy = TESS_POLICY_LOSSLESS;
    storage->options.policy.granularity = TESS_GRANULARITY_MATRIX;
    storage->halo = TESS_PRECISION_FP64;
}

static PetscErrorCode refuse(const char *option, const char *text, const char *known)
{
    PetscFunctionBegin;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "%s %s: give %s", option, text, known);
}

/* The words that tell what is stored; the precisions come after them, for --matrix-precision ends the policy. */
static PetscErrorCode read_format(tp_option_items PetscOptionsObject, tess_storage_options *options)
{
    const char *format = tess_format_name(options->format);
    const char *granularity = tess_granularity_name(options->policy.granularity);
    char text[256];
    PetscBool set;

    PetscFunctionBegin;
    PetscCall(PetscOptionsString("-mat_tessera_format", "Format of the stored copy", "MATTESSERA", format, text,
                                 sizeof text, &set));
    if (set && tess_format_parse(text, &options->format) != TESS_SUCCESS) {
        PetscCall(refuse("-mat_tessera_format", text, "auto, csr, ellr, sell, dia, split, composite or tiles"));
    }
    if (set && options->format != TESS_FORMAT_AUTO) { options->policy.granularity = TESS_GRANULARITY_ROW; }
    if (set && options->format == TESS_FORMAT_TILES) { options->policy.granularity = TESS_GRANULARITY_BLOCK; }
    PetscCall(PetscOptionsString("-mat_tessera_granularity", "What gets a precision", "MATTESSERA", granularity, text,
                                 sizeof text, &set));
    if (set && tess_granularity_parse(text, &options->policy.granularity) != TESS_SUCCESS) {
        PetscCall(refuse("-mat_tessera_granularity", text, "matrix, row, entry or block"));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_policy(tp_option_items PetscOptionsObject, tess_storage_options *options)
{
    const char *policy = tess_policy_name(options->policy.policy);
    const char *precision = tess_precision_name(options->precision);
    char text[256];
    PetscBool set;

    PetscFunctionBegin;
    PetscCall(PetscOptionsString("-mat_tessera_policy", "What chooses the precisions", "MATTESSERA", policy, text,
                                 sizeof text, &set));
    if (set && tess_policy_options_parse(text, &options->policy) != TESS_SUCCESS) {
        PetscCall(refuse("-mat_tessera_policy", text,
                         "none, fixed-range[:R], mean-range[:F], mean-3std[:F] or lossless[:E]"));
    }
    PetscCall(PetscOptionsString("-mat_tessera_levels", "Precisions that the policy assigns", "MATTESSERA", "", text,
                                 sizeof text, &set));
    if (set && tess_precision_levels_parse(text, &options->policy) != TESS_SUCCESS) {
        PetscCall(refuse("-mat_tessera_levels", text, "precisions from high to low, such as fp64,fp32"));
    }
    PetscCall(PetscOptionsString("-mat_tessera_precision", "Precision of all values, without a policy", "MATTESSERA",
                                 precision, text, sizeof text, &set));
    if (set && tess_precision_parse(text, &options->precision) != TESS_SUCCESS) {
        PetscCall(refuse("-mat_tessera_precision", text, "fp64, fp32, bf16, fp16, e4m3 or e5m2"));
    }
    if (set) { options->policy.policy = TESS_POLICY_NONE; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_storage_read(tp_option_items PetscOptionsObject, tp_storage *storage)
{
    char text[32];
    PetscBool set;
    tess_precision halo;

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera storage");
    PetscCall(read_format(PetscOptionsObject, &storage->options));
    PetscCall(read_policy(PetscOptionsObject, &storage->options));
    PetscCall(PetscOptionsString("-mat_tessera_halo", "Precision of values that travel between processes", "MATTESSERA",
                                 tess_precision_name(storage->halo), text, sizeof text, &set));
    if (set) {
        if (tess_precision_parse(text, &halo) != TESS_SUCCESS ||
            !(halo == TESS_PRECISION_FP64 || halo == TESS_PRECISION_FP32 || halo == TESS_PRECISION_FP16)) {
            PetscCall(refuse("-mat_tessera_halo", text, "fp64, fp32 or fp16"));
        }
        storage->halo = halo;
    }
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
