/* SPDX-License-Identifier: Apache-2.0 */
/* What a factorization would take, without making it. */
#include <limits.h>

#include "precond/direct/direct_device.h"

/* The analysis reads the scaled values: those on a good diagonal decide the order of an unsymmetric matrix. */
static tess_status scale(tess_context *ctx, direct_system *s, tess_precision precision)
{
    int32_t *exponents = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 2 * s->rows, sizeof *exponents, (void **)&exponents));
    status = direct_scale(s, precision, INT_MAX, exponents, exponents + s->rows);
cleanup:
    tess_host_release(ctx, exponents, 2 * s->rows, sizeof *exponents);
    return status;
}

/* ---- the analysis that is kept ---- */

static void drop(tess_context *ctx, void *kept)
{
    direct_analysis *analysis = kept;

    mumps_close(ctx, analysis->mumps);
    tess_host_release(ctx, analysis, 1, sizeof *analysis);
}

static void drop_device(tess_context *ctx, void *kept)
{
    (void)ctx;
    device_factors_destroy(kept);
}

/* A matrix is const for those who solve with it; this is no part of its value. */
static tess_matrix *owner_of(const tess_matrix *a)
{
    return (tess_matrix *)(uintptr_t)a;
}

void direct_drop_analysis(const tess_matrix *a)
{
    tess_matrix *owner = owner_of(a);

    if (owner->kept) { owner->drop_kept(owner->ctx, owner->kept); }
    owner->kept = NULL;
}

static tess_status keep(const tess_matrix *a, const direct_analysis *analysis)
{
    tess_matrix *owner = owner_of(a);
    const tess_status status = tess_host_allocate(a->ctx, 1, sizeof *analysis, &owner->kept);

    if (status != TESS_SUCCESS) { return status; }
    owner->drop_kept = drop;
    *(direct_analysis *)owner->kept = *analysis;
    return TESS_SUCCESS;
}

bool direct_take_analysis(const tess_matrix *a, tess_precision precision, const direct_system *s, direct_analysis *out)
{
    tess_matrix *owner = owner_of(a);
    const direct_analysis *kept = owner->drop_kept == drop ? owner->kept : NULL;

    if (!kept || kept->precision != precision || kept->symmetry != s->symmetry || kept->parts != s->parts ||
        kept->values_version != a->values_version) {
        return false;
    }
    *out = *kept;
    tess_host_release(owner->ctx, owner->kept, 1, sizeof *kept);
    owner->kept = NULL;
    return true;
}

bool direct_take_device_analysis(const tess_matrix *a, bool cholesky, tess_precision precision, device_factors **out)
{
    tess_matrix *owner = owner_of(a);

    if (!owner->kept || owner->drop_kept != drop_device ||
        !device_factors_fit(owner->kept, cholesky, precision, a->values_version)) {
        return false;
    }
    *out = owner->kept;
    owner->kept = NULL;
    return true;
}

/* ---- prediction ---- */

/* By cuDSS. Values without factors, or too little memory, are no error. */
static tess_status predict_on_device(const tess_matrix *a, bool cholesky, tess_precision precision,
                                     int64_t memory_limit, direct_prediction *out)
{
    tess_matrix *owner = owner_of(a);
    device_factors *m = NULL;
    tess_status status = TESS_SUCCESS;

    out->on_device = true;
    direct_drop_analysis(a);
    status = device_factors_analyse(a, cholesky, precision, memory_limit, &m);
    if (status != TESS_SUCCESS) {
        device_factors_destroy(m);
        return status == TESS_SINGULAR || status == TESS_OUT_OF_MEMORY ? TESS_SUCCESS : status;
    }
    out->possible = true;
    out->flops = m->facts.flops;
    out->bytes = m->facts.peak_bytes;
    owner->kept = m;
    owner->drop_kept = drop_device;
    return TESS_SUCCESS;
}

static tess_status analyse(const tess_matrix *a, const direct_system *s, int64_t memory_limit, direct_prediction *out)
{
    const int64_t allowed = direct_allowed_memory(a->ctx, memory_limit, false);
    direct_analysis analysis = {
        .precision = s->precision, .parts = s->parts, .symmetry = s->symmetry, .values_version = a->values_version};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(direct_analyse(s, DIRECT_RELAXATION, &analysis));
    out->possible = analysis.reply.code >= 0 && analysis.reply.predicted <= allowed;
    out->flops = analysis.reply.flops;
    out->bytes = analysis.reply.predicted;
    direct_drop_analysis(a);
    if (out->possible) {
        status = keep(a, &analysis);
        if (status == TESS_SUCCESS) { analysis.mumps = NULL; }
    }
cleanup:
    mumps_close(a->ctx, analysis.mumps);
    return status;
}

tess_status direct_predict(const tess_matrix *a, bool cholesky, tess_precision precision, int64_t memory_limit,
                           direct_prediction *out)
{
    direct_system s = {.ctx = a->ctx};
    tess_status status = TESS_SUCCESS;

    *out = (direct_prediction){.possible = false};
    if (a->nrows == 0 || a->nnz == 0) { return TESS_SUCCESS; }
    if (direct_is_on_device(a)) {
        status = predict_on_device(a, cholesky, precision, memory_limit, out);
        if (status != TESS_UNSUPPORTED || !mumps_is_here()) { return status; }
        *out = (direct_prediction){.possible = false}; /* the host's turn, as in direct.c */
    }
    if (!mumps_is_here()) { return TESS_SUCCESS; }
    TESS_TRY(direct_read(a, cholesky, &s));
    if (s.bad_row >= 0) { goto cleanup; }
    TESS_TRY(scale(a->ctx, &s, precision));
    status = analyse(a, &s, memory_limit, out);
cleanup:
    direct_release(&s);
    return status;
}
