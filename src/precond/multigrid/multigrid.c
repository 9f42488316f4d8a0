/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner amg: options, set-up, renewal, application. */
#include <string.h>

#include "precond/multigrid/cycle.h"
#include "precond/precond.h"

typedef struct amg {
    amg_hierarchy hierarchy;
    amg_cycle cycle;
    tess_amg_precision precision; /* the one asked for, or a higher one after a failure */
    bool for_fp32;
    uint64_t revision;
} amg;

/* ---- options ---- */

static tess_status check(const tess_matrix *a, const tess_precond_options *o)
{
    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi with a diagonal function, or a shell preconditioner",
                         "amg needs the entries of the matrix, but a shell matrix has none");
    }
    (void)o;
    return TESS_SUCCESS;
}

/* ---- set-up ---- */

static tess_status open_cycle(tess_precond *m)
{
    amg *own = m->own;

    own->revision += 1;
    own->cycle = (amg_cycle){.ctx = m->ctx, .options = own->hierarchy.options};
    return amg_cycle_open(&own->cycle, &own->hierarchy, own->precision, own->for_fp32);
}

static void destroy(tess_precond *m)
{
    amg *own = m->own;

    if (!own) { return; }
    if (own->cycle.ctx) { amg_cycle_close(&own->cycle); }
    amg_hierarchy_close(&own->hierarchy);
    tess_host_release(m->ctx, own, 1, sizeof *own);
    m->own = NULL;
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    amg *own = NULL;
    tess_status status = tess_host_allocate(m->ctx, 1, sizeof *own, &m->own);

    if (status != TESS_SUCCESS) { return status; }
    own = m->own;
    memset(own, 0, sizeof *own);
    own->precision = options->amg.precision;
    own->for_fp32 = options->role.given && options->role.arithmetic == TESS_ARITHMETIC_FP32;
    own->hierarchy = (amg_hierarchy){.ctx = m->ctx, .options = options->amg, .coarsening = &amg_classical};
    TESS_TRY(amg_hierarchy_build(&own->hierarchy, m->matrix));
    status = open_cycle(m);
cleanup:
    return status;
}

static tess_status renew(tess_precond *m)
{
    amg *own = m->own;
    tess_status status = TESS_SUCCESS;

    amg_cycle_close(&own->cycle);
    TESS_TRY(amg_hierarchy_renew(&own->hierarchy, m->matrix));
    status = open_cycle(m);
cleanup:
    return status;
}

/* ---- application ---- */

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const amg *own = m->own;

    return amg_cycle_apply(&own->cycle, vectors, r, z, reduction->state);
}

static uint64_t revision(const tess_precond *m)
{
    return ((const amg *)m->own)->revision;
}

static int64_t bytes(const tess_precond *m)
{
    return amg_cycle_bytes(&((const amg *)m->own)->cycle);
}

const tess_precond_ops precond_amg = {.kind = TESS_PRECOND_AMG,
                                      .check = check,
                                      .create = create,
                                      .renew = renew,
                                      .apply = apply,
                                      .revision = revision,
                                      .bytes = bytes,
                                      .destroy = destroy};
