/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of a method's iterations. */
#include "format/storage_precision.h"
#include "solver/method_solver.h"
#include "solver/single_kernel/single_kernel.h"

/* Format auto without a policy is CSR if the engine may be a single kernel: this gains more than fewer bytes do. */
static tess_status settle_format(const method_solver *s, tess_storage_options *o)
{
    const tess_engine engine = s->options->engine;
    bool expects = false;
    tess_status status = TESS_SUCCESS;

    if (o->format != TESS_FORMAT_AUTO || o->policy.policy != TESS_POLICY_NONE ||
        o->arithmetic != TESS_ARITHMETIC_FP64) {
        return TESS_SUCCESS;
    }
    if (engine != TESS_ENGINE_AUTO && engine != TESS_ENGINE_SINGLE_KERNEL) { return TESS_SUCCESS; }
    if (tess_precision_bytes(o->precision) < 2) { return TESS_SUCCESS; } /* the kernel does not read 8 bits */
    TESS_TRY(single_kernel_expects(s, engine == TESS_ENGINE_SINGLE_KERNEL, &expects));
    if (expects) { o->format = TESS_FORMAT_CSR; }
cleanup:
    return status;
}

tess_status solver_check_storage(const tess_matrix *a, const tess_storage_options *o)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_storage_require_wide_arithmetic(a->ctx, o, "a solve"));
    if (a->ops) { status = a->ops->prepare(a); } /* the guard may change to it within a loop */
cleanup:
    return status;
}

tess_status solver_store_matrix(const tess_matrix *a, const tess_storage_options *o, tess_matrix **stored)
{
    tess_status status = TESS_SUCCESS;

    const bool fp64 = o->precision == TESS_PRECISION_FP64 && o->arithmetic == TESS_ARITHMETIC_FP64;

    if (o->format == TESS_FORMAT_CSR && fp64 && !tess_policy_judges_values(o->policy.policy)) { return TESS_SUCCESS; }
    TESS_TRY(tess_matrix_convert(a, o, stored));
    if ((*stored)->format == TESS_FORMAT_CSR && (*stored)->precision == TESS_PRECISION_FP64 &&
        (*stored)->arithmetic == TESS_ARITHMETIC_FP64) {
        tess_matrix_destroy(*stored); /* format auto has become the format of what exists */
        *stored = NULL;
        return TESS_SUCCESS;
    }
    status = (*stored)->ops->prepare(*stored);
cleanup:
    return status;
}

tess_status solver_setup_storage(method_solver *s)
{
    tess_storage_options o = s->options->storage;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solver_check_storage(s->original, &o));
    if (!s->original->ops) { return TESS_SUCCESS; }
    TESS_TRY(settle_format(s, &o));
    status = solver_store_matrix(s->original, &o, &s->stored);
cleanup:
    return status;
}

const tess_matrix *solver_matrix(const method_solver *s)
{
    return s->stored ? s->stored : s->original;
}
