/* SPDX-License-Identifier: Apache-2.0 */
/* What a factorization would take, without making it. */
#include "precond/direct/direct.h"

/* The analysis reads the scaled values: those on a good diagonal decide the order of an unsymmetric matrix. */
static tess_status scale(tess_context *ctx, direct_system *s, tess_precision precision)
{
    int32_t *exponents = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 2 * s->n, sizeof *exponents, (void **)&exponents));
    status = direct_scale(s, precision, exponents, exponents + s->n);
cleanup:
    tess_host_release(ctx, exponents, 2 * s->n, sizeof *exponents);
    return status;
}

static tess_status analyse(tess_context *ctx, const direct_system *s, int64_t memory_limit, direct_prediction *out)
{
    const mumps_arguments arguments = {
        .n = s->n, .nnz = s->count, .row = s->row, .column = s->column, .val = s->rounded, .relaxation = 0};
    const int64_t allowed = memory_limit > 0 ? memory_limit : direct_spare_memory() / 2;
    mumps_instance *mumps = NULL;
    mumps_reply reply;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(mumps_open(ctx, s->precision, s->symmetry, &mumps));
    reply = mumps_run(mumps, MUMPS_ANALYSE, &arguments);
    out->possible = reply.code >= 0 && reply.predicted <= allowed;
    out->flops = reply.flops;
    out->bytes = reply.predicted;
cleanup:
    mumps_close(ctx, mumps);
    return status;
}

tess_status direct_predict(const tess_matrix *a, bool cholesky, tess_precision precision, int64_t memory_limit,
                           direct_prediction *out)
{
    direct_system s = {.ctx = a->ctx};
    tess_status status = TESS_SUCCESS;

    *out = (direct_prediction){.possible = false};
    if (!mumps_is_here() || a->nrows == 0 || a->nnz == 0) { return TESS_SUCCESS; }
    TESS_TRY(direct_read(a, cholesky, &s));
    if (s.bad_row >= 0) { goto cleanup; }
    TESS_TRY(scale(a->ctx, &s, precision));
    status = analyse(a->ctx, &s, memory_limit, out);
cleanup:
    direct_release(&s);
    return status;
}
