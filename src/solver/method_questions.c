/* SPDX-License-Identifier: Apache-2.0 */
/* What other kinds of solvers ask a solver of one method, and its iterate for the monitor of a running solve. */
#include "solver/method_questions.h"

#include <math.h>

#include "solver/method_solver.h"

method_facts method_look(const method_solver *s)
{
    return (method_facts){.kind = s->method->kind,
                          .precond = s->precond,
                          .setup_reason = s->setup_reason,
                          .setup_error = &s->setup_error,
                          .loop = s->ctx->device == TESS_DEVICE_CPU ? s->krylov.state : NULL,
                          .cycles = s->krylov.cycles,
                          .iterated = s->head->iterated,
                          .precond_seconds = s->precond_seconds,
                          .stored = s->stored};
}

void method_keep_precond(method_solver *s, bool keep)
{
    s->keeps_precond = keep;
}

bool method_has_old_precond(const method_solver *s)
{
    return guard_has_old_precond(s);
}

bool method_may_change_matrix(const method_solver *s)
{
    return !s->method->run && !s->stored && s->engine == TESS_ENGINE_PLAIN;
}

void method_take_matrix(method_solver *s, tess_matrix *stored)
{
    s->stored = stored;
    s->krylov.matrix = stored;
}

void method_drop_matrix(method_solver *s)
{
    tess_matrix_destroy(s->stored);
    s->stored = NULL;
}

void method_lend_parts(method_solver *s, const null_parts *parts)
{
    s->lent = parts;
}

void method_lend_watch(method_solver *s, tess_loop_watch *watch)
{
    s->watch = watch;
}

bool method_pauses(const method_solver *s)
{
    return s->ctx->device == TESS_DEVICE_GPU && s->engine == TESS_ENGINE_GRAPH && !s->method->run;
}

/* ---- iterates ---- */

tess_status method_last_iterate(const method_solver *s, tess_vector *x)
{
    tess_status status = TESS_SUCCESS;

    if (!s->head->iterated) { return TESS_SUCCESS; }
    status = s->ctx->backend->copy(s->ctx, x->data, s->candidate, (size_t)x->n * sizeof(double));
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(x) : status;
}

/* A cycle's correction d is that of each iteration, except where the end of the cycle computes it. */
static const char *why_there_is_none(const method_solver *s)
{
    if (s->method->run || s->method->finish) { return "cg, bicgstab, minres and idr have one"; }
    if (s->ctx->device != TESS_DEVICE_CPU) { return "a context of the CPU has one"; }
    return s->loop_x ? NULL : "call it from the monitor of a solve";
}

tess_status method_get_iterate(const method_solver *s, double *x)
{
    const tess_krylov *k = &s->krylov;
    const char *hint = why_there_is_none(s);

    if (hint) { return tess_fail(s->ctx, TESS_UNSUPPORTED, hint, "this solve has no iterate to copy"); }
    for (int64_t i = 0; i < k->n; i++) {
        x[i] = s->loop_x[i] + ldexp(k->d[i], s->loop_exponent);
    }
    return TESS_SUCCESS;
}
