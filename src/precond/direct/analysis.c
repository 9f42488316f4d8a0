/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis of complete factors: by MUMPS' own order of the rows, or by nested dissection where that takes less. */
#include <math.h>

#include <tessera/codec.h>

#include "precond/direct/ordering.h"

/* Nested dissection takes about as long as so many operations of the factorization, for each entry. It is tried where
   the factorization takes so many times as long: it saves a third of it or more. */
#define ORDERING_OPERATIONS 5e3
#define TIMES_WORTH 4.0
/* The least scaled magnitude of a diagonal entry that can be a pivot; the largest of its row is about 1. */
#define LEAST_PIVOT 0.01

static mumps_arguments arguments_of(const direct_system *s, int relaxation)
{
    return (mumps_arguments){
        .n = s->n, .nnz = s->count, .row = s->row, .column = s->column, .val = s->rounded, .relaxation = relaxation};
}

static double rounded_size(const direct_system *s, int64_t k)
{
    double size = 0.0;

    for (int64_t at = s->parts * k; at < s->parts * (k + 1); at++) {
        size = fmax(size, fabs(tess_load(s->precision, s->rounded, at)));
    }
    return size;
}

/* With an order of ours MUMPS does not treat small diagonal entries: otherwise it permutes the columns of an
   unsymmetric matrix, and pairs the rows of an indefinite one. */
static bool has_pivots(const direct_system *s)
{
    int64_t pivots = 0;

    for (int64_t k = 0; k < s->count; k++) {
        pivots += s->row[k] == s->column[k] && rounded_size(s, k) >= LEAST_PIVOT;
    }
    return pivots == s->n;
}

static tess_status analyse_by_dissection(const direct_system *s, int relaxation, direct_analysis *out)
{
    mumps_arguments arguments = arguments_of(s, relaxation);
    bool found = false;
    tess_status status = TESS_SUCCESS;

    out->mumps = NULL;
    TESS_TRY(tess_host_allocate(s->ctx, s->n, sizeof *arguments.position, (void **)&arguments.position));
    TESS_TRY(direct_nested_dissection(s, arguments.position, &found));
    if (!found) { goto cleanup; }
    TESS_TRY(mumps_open(s->ctx, s->precision, s->parts == 2, s->symmetry, &out->mumps));
    out->reply = mumps_run(out->mumps, MUMPS_ANALYSE, &arguments);
cleanup:
    tess_host_release(s->ctx, arguments.position, s->n, sizeof *arguments.position);
    return status;
}

static bool dissection_may_pay(const direct_system *s, const mumps_reply *reply)
{
    return reply->code >= 0 && reply->flops > TIMES_WORTH * ORDERING_OPERATIONS * (double)s->count && has_pivots(s);
}

tess_status direct_analyse(const direct_system *s, int relaxation, direct_analysis *out)
{
    const mumps_arguments arguments = arguments_of(s, relaxation);
    direct_analysis other;
    tess_status status = TESS_SUCCESS;

    out->mumps = NULL;
    TESS_TRY(mumps_open(s->ctx, s->precision, s->parts == 2, s->symmetry, &out->mumps));
    out->reply = mumps_run(out->mumps, MUMPS_ANALYSE, &arguments);
    if (!dissection_may_pay(s, &out->reply)) { return TESS_SUCCESS; }
    other = *out;
    TESS_TRY(analyse_by_dissection(s, relaxation, &other));
    if (other.mumps && other.reply.code >= 0 && other.reply.flops < out->reply.flops) {
        const direct_analysis local = *out;

        *out = other;
        other = local;
    }
    mumps_close(s->ctx, other.mumps);
cleanup:
    return status;
}
