/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/columns.h"

#include <string.h>

#include "precond/precond.h"

/* The vectors of a level, in one order. */
enum { VECTORS = 5 };

static void **vector_of(amg_cycle_level *l, int k)
{
    void **const all[VECTORS] = {&l->residual, &l->x, &l->other, &l->rhs, &l->first};

    return all[k];
}

static bool takes(const tess_matrix *a)
{
    return !a || (a->ops->takes_columns && a->ops->takes_columns(a, true));
}

bool amg_columns_fit(const amg_cycle *c)
{
    bool fits = c->count > 0 && c->options.cycle != TESS_AMG_K;

    for (int l = 0; fits && l < c->count; l++) {
        const amg_cycle_level *level = &c->level[l];

        fits = (!level->factors || tess_precond_takes_columns(level->factors)) && takes(level->a) && takes(level->p) &&
               takes(level->r) && takes(level->inverse) && takes(level->blocks) && takes(level->relax[0]) &&
               takes(level->relax[1]);
    }
    return fits;
}

void amg_columns_release(amg_columns *m)
{
    for (int l = 0; l < m->count; l++) {
        for (int k = 0; k < VECTORS; k++) {
            tess_device_release(m->ctx, *vector_of(&m->level[l], k), m->level[l].n * m->columns, m->value_bytes);
        }
    }
    for (int i = 0; i < 2 && m->count > 0; i++) {
        tess_device_release(m->ctx, m->factor_work[i], m->level[0].n * m->columns, sizeof(double));
    }
    tess_host_release(m->ctx, m->level, m->count, sizeof *m->level);
    *m = (amg_columns){0};
}

static bool needs_factor_work(const amg_cycle *c)
{
    bool factors = false;

    for (int l = 0; l < c->count; l++) {
        factors = factors || c->level[l].factors;
    }
    return factors && c->vectors != TESS_PRECISION_FP64;
}

/* Whether the vectors are large enough for the cycle as it is now. */
static bool have_room(const amg_columns *m, const amg_cycle *c, int columns)
{
    bool fits = m->count == c->count && m->columns >= columns && m->value_bytes == tess_precision_bytes(c->vectors) &&
                needs_factor_work(c) == (m->factor_work[0] != NULL);

    for (int l = 0; fits && l < c->count; l++) {
        fits = m->level[l].n == c->level[l].n && !m->level[l].first == !c->level[l].first;
    }
    return fits;
}

static tess_status allocate(amg_columns *m, const amg_cycle *c, int columns)
{
    tess_status status = TESS_SUCCESS;

    amg_columns_release(m);
    TESS_TRY(tess_host_allocate(c->ctx, c->count, sizeof *m->level, (void **)&m->level));
    memset(m->level, 0, (size_t)c->count * sizeof *m->level);
    m->ctx = c->ctx;
    m->count = c->count;
    m->columns = columns;
    m->value_bytes = tess_precision_bytes(c->vectors);
    for (int l = 0; l < c->count; l++) {
        amg_cycle_level own = c->level[l];

        m->level[l].n = own.n;
        for (int k = 0; k < VECTORS; k++) {
            if (!*vector_of(&own, k)) { continue; }
            TESS_TRY(tess_device_allocate(c->ctx, own.n * columns, m->value_bytes, vector_of(&m->level[l], k)));
            TESS_TRY(
                c->ctx->backend->zero(c->ctx, *vector_of(&m->level[l], k), (size_t)(own.n * columns) * m->value_bytes));
        }
    }
    for (int i = 0; i < 2 && needs_factor_work(c); i++) {
        TESS_TRY(tess_device_allocate(c->ctx, m->level[0].n * columns, sizeof(double), (void **)&m->factor_work[i]));
    }
cleanup:
    if (status != TESS_SUCCESS) { amg_columns_release(m); }
    return status;
}

tess_status amg_columns_prepare(amg_columns *m, const amg_cycle *c, int columns)
{
    tess_status status = TESS_SUCCESS;

    if (!have_room(m, c, columns)) { TESS_TRY(allocate(m, c, columns)); }
    for (int l = 0; l < c->count; l++) {
        tess_precond *const factors = c->level[l].factors;

        if (factors) { TESS_TRY(factors->ops->prepare_columns(factors, columns)); }
    }
cleanup:
    return status;
}

tess_status amg_columns_apply(amg_columns *m, const amg_cycle *c, int columns, const double *r, double *z)
{
    amg_cycle own = *c;
    amg_cycle_level level[TESS_MAX_AMG_LEVELS];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_columns_prepare(m, c, columns));
    for (int l = 0; l < c->count; l++) {
        level[l] = c->level[l];
        for (int k = 0; k < VECTORS; k++) {
            *vector_of(&level[l], k) = *vector_of(&m->level[l], k);
        }
    }
    own.level = level;
    own.columns = columns;
    memcpy(own.factor_work, m->factor_work, sizeof own.factor_work);
    status = amg_cycle_apply(&own, TESS_PRECISION_FP64, r, z, NULL);
cleanup:
    return status;
}
