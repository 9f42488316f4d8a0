/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the levels of a hierarchy for the cycle: scales, precisions, spectra, memory. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/stages.h"
#include "precond/multigrid/cycle/blocks.h"
#include "precond/multigrid/cycle/coarse.h"
#include "precond/multigrid/cycle/cycle.h"
#include "precond/multigrid/cycle/factors.h"
#include "precond/multigrid/cycle/level_precision.h"
#include "precond/multigrid/cycle/node_block.h"
#include "precond/multigrid/cycle/relaxations.h"
#include "precond/multigrid/cycle/spectrum.h"
#include "precond/multigrid/device.h"

enum { SERIAL = 4096 };

/* ---- scales ---- */

/* S and its inverse for a level, on the host. */
typedef struct level_scale {
    int64_t n;
    double *s, *inverse;
} level_scale;

static void free_scale(tess_context *ctx, level_scale *scale)
{
    tess_host_release(ctx, scale->s, scale->n, sizeof *scale->s);
    tess_host_release(ctx, scale->inverse, scale->n, sizeof *scale->inverse);
    *scale = (level_scale){0};
}

/* The rows' l1 norms, or magnitudes of the diagonal. Rows of zeros get 1. */
static double row_weight(const host_csr *a, bool l1, int64_t i)
{
    double sum = 0.0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (l1 || a->col_ind[k] == i) { sum += fabs(a->val[k]); }
    }
    return sum == 0.0 ? 1.0 : sum;
}

static tess_status make_scale(tess_context *ctx, const host_csr *a, bool l1, level_scale *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (level_scale){.n = a->nrows};
    TESS_TRY(tess_host_allocate(ctx, out->n, sizeof *out->s, (void **)&out->s));
    TESS_TRY(tess_host_allocate(ctx, out->n, sizeof *out->inverse, (void **)&out->inverse));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (out->n > SERIAL)
    for (int64_t i = 0; i < out->n; i++) {
        const double root = sqrt(row_weight(a, l1, i));

        out->inverse[i] = root;
        out->s[i] = 1.0 / root;
    }
cleanup:
    return status;
}

/* ---- a level ---- */

/* What a level is stored from. next: scale of the coarser level; unused on the coarsest. block: rows of its blocks of
   nodes and of those of the next level. */
typedef struct level_source {
    const amg_level *level;
    const level_scale *own, *next;
    int block, next_block;
} level_source;

static amg_scaled scaled_a(const level_source *from)
{
    return (amg_scaled){&from->level->a, from->own->s, from->own->s};
}

static amg_scaled scaled_p(const level_source *from)
{
    return (amg_scaled){&from->level->p, from->own->inverse, from->next->s};
}

static amg_scaled scaled_r(const level_source *from)
{
    return (amg_scaled){&from->level->r, from->next->s, from->own->inverse};
}

/* A level's entries, those of its matrix and of its interpolation. */
static amg_range range_of_level(const tess_context *ctx, const level_source *from)
{
    const amg_scaled a = scaled_a(from), p = scaled_p(from);
    const amg_range range = amg_find_range(ctx, &a);

    return from->level->p.row_ptr ? amg_join_ranges(range, amg_find_range(ctx, &p)) : range;
}

static bool is_even(const level_scale *scale)
{
    double least = DBL_MAX, most = 0.0;

    for (int64_t i = 0; i < scale->n; i++) {
        least = fmin(least, scale->s[i]);
        most = fmax(most, scale->s[i]);
    }
    return amg_is_even(least, most);
}

/* The precision asked for, where the entries allow it, on the finest level only if its rows are alike; else FP32. */
static tess_precision choose_precision(const tess_context *ctx, const level_source *from, tess_amg_precision wanted,
                                       bool finest)
{
    amg_range range = {0};

    if (amg_entries_decide(wanted)) {
        if (finest && !is_even(from->own)) { return TESS_PRECISION_FP32; }
        range = range_of_level(ctx, from);
    }
    return amg_choose_precision(wanted, &range);
}

/* In place of the values before, if there are any in this precision. */
static tess_status store_matrix(const amg_cycle *c, const amg_scaled *s, const amg_layout *layout, tess_matrix **m)
{
    if (*m && (*m)->precision == layout->precision) {
        amg_store_again(c->ctx, s, *m);
        return TESS_SUCCESS;
    }
    tess_matrix_destroy(*m);
    *m = NULL;
    return amg_store(c->ctx, s, layout, true, m);
}

static tess_status store_matrices(amg_cycle *c, const level_source *from, tess_precision precision,
                                  amg_cycle_level *out)
{
    const amg_scaled a = scaled_a(from);
    const int own = from->block, next = from->next_block;
    tess_status status = TESS_SUCCESS;

    out->n = from->level->a.nrows;
    out->precision = precision;
    out->nnz = host_csr_nnz(&from->level->a);
    TESS_TRY(store_matrix(c, &a, &(amg_layout){precision, c->vectors, own, own}, &out->a));
    if (from->level->p.row_ptr) {
        const amg_scaled p = scaled_p(from), r = scaled_r(from);

        TESS_TRY(store_matrix(c, &p, &(amg_layout){precision, c->vectors, own, next}, &out->p));
        TESS_TRY(store_matrix(c, &r, &(amg_layout){precision, c->vectors, next, own}, &out->r));
    }
    status = tess_stage_end(c->ctx, "storing the levels");
cleanup:
    return status;
}

tess_status amg_cycle_store_inverse(amg_cycle *c, const amg_scaled *a, amg_cycle_level *out)
{
    host_csr inverse = {0};
    double *ones = NULL;
    tess_status status = TESS_SUCCESS;

    tess_matrix_destroy(out->inverse); /* of the values before */
    out->inverse = NULL;
    if (out->n > AMG_MOST_DENSE_ROWS || out->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(amg_invert(c->ctx, a, &inverse, &c->rank));
    TESS_TRY(tess_host_allocate(c->ctx, out->n, sizeof *ones, (void **)&ones));
    for (int64_t i = 0; i < out->n; i++) {
        ones[i] = 1.0;
    }
    TESS_TRY(amg_store(c->ctx, &(amg_scaled){&inverse, ones, ones},
                       &(amg_layout){.precision = c->vectors, .vectors = c->vectors}, false, &out->inverse));
    status = tess_stage_end(c->ctx, "inverting the coarsest level");
cleanup:
    tess_host_release(c->ctx, ones, out->n, sizeof *ones);
    host_csr_release(c->ctx, &inverse);
    return status;
}

static tess_status make_vectors(const amg_cycle *c, bool finest, amg_cycle_level *l)
{
    const bool twice = !finest && c->options.cycle != TESS_AMG_V;
    const bool flexible = !finest && c->options.cycle == TESS_AMG_K;
    void **const all[] = {&l->residual,
                          &l->x,
                          &l->other,
                          twice ? &l->rhs : NULL,
                          twice ? &l->first : NULL,
                          flexible ? &l->first_product : NULL,
                          flexible ? &l->product : NULL};
    const size_t size = tess_precision_bytes(c->vectors);
    tess_status status = TESS_SUCCESS;

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (!all[k]) { continue; }
        TESS_TRY(tess_device_allocate(c->ctx, l->n, size, all[k]));
        TESS_TRY(c->ctx->backend->zero(c->ctx, *all[k], (size_t)l->n * size));
    }
cleanup:
    return status;
}

/* ---- all levels ---- */

tess_status amg_cycle_renew_level(amg_cycle *c, int l)
{
    amg_cycle_level *out = &c->level[l];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_find_bound(c, out));
    amg_set_steps(c, out);
    status = tess_stage_end(c->ctx, "spectra");
cleanup:
    return status;
}

tess_status amg_cycle_finish_level(amg_cycle *c, int l)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_vectors(c, l == 0, &c->level[l]));
    c->count = l + 1;
    status = amg_cycle_renew_level(c, l);
cleanup:
    return status;
}

/* first: the level has no vectors yet. */
static tess_status store_level(amg_cycle *c, const amg_hierarchy *h, const level_source *from, int l,
                               tess_amg_precision wanted, bool first)
{
    const amg_scaled a = scaled_a(from);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(store_matrices(c, from, choose_precision(c->ctx, from, wanted, l == 0), &c->level[l]));
    TESS_TRY(amg_make_blocks(c, h, l, from->own->inverse, &c->level[l]));
    TESS_TRY(first ? amg_cycle_finish_level(c, l) : amg_cycle_renew_level(c, l));
    if (!from->level->p.row_ptr) { TESS_TRY(amg_cycle_store_inverse(c, &a, &c->level[l])); }
    TESS_TRY(amg_factor_level(c, &a, &c->level[l]));
    TESS_TRY(amg_make_relaxations(c, h, l, &a, &c->level[l]));
    status = amg_find_damping(c, &c->level[l]);
cleanup:
    return status;
}

tess_status amg_fail_not_finite(tess_context *ctx, int64_t row)
{
    return tess_fail(ctx, TESS_SINGULAR, "look for overflow in the program that made the matrix",
                     "amg: the sum of magnitudes of row %lld is not finite", tess_number(ctx, row));
}

/* The user's values are finite, and so are the sums of their magnitudes. */
static tess_status check_values(tess_context *ctx, const level_scale *finest)
{
    for (int64_t i = 0; i < finest->n; i++) {
        if (!(finest->s[i] > 0.0)) { return amg_fail_not_finite(ctx, i); } /* false for NaN, and for 1 / Inf */
    }
    return TESS_SUCCESS;
}

static tess_status store_levels(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted, bool first)
{
    const bool l1 = c->l1;
    level_scale own = {0}, next = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_scale(c->ctx, &h->level[0].a, l1, &own));
    TESS_TRY(check_values(c->ctx, &own));
    if (!c->scale) { TESS_TRY(tess_device_allocate(c->ctx, own.n, sizeof *own.s, (void **)&c->scale)); }
    TESS_TRY(c->ctx->backend->upload(c->ctx, c->scale, own.s, (size_t)own.n * sizeof *own.s));
    for (int l = 0; l < h->count; l++) {
        const level_source from = {&h->level[l], &own, &next, amg_node_block(h, l),
                                   amg_node_block(h, l + 1 < h->count ? l + 1 : l)};

        if (l + 1 < h->count) { TESS_TRY(make_scale(c->ctx, &h->level[l + 1].a, l1, &next)); }
        TESS_TRY(store_level(c, h, &from, l, amg_wanted_precision(c, l, wanted), first));
        free_scale(c->ctx, &own);
        own = next;
        next = (level_scale){0};
    }
cleanup:
    free_scale(c->ctx, &own);
    free_scale(c->ctx, &next);
    return status;
}

/* Aggregates leave more of the spectrum to the smoother. Elasticity with 91,200 unknowns takes 19 iterations with 10,
   18 with 16, and 21 with 4; laplace3d 24 takes 10 with 10, 12 with 16. Classical coarsening takes the same number
   from 2.5 to 10. */
#define CLASSICAL_RATIO 4.0
#define AGGREGATION_RATIO 10.0

/* What scales a level, and whether its spectrum is known without an estimate. */
static void choose_smoother(amg_cycle *c, const amg_hierarchy *h)
{
    const tess_amg_smoother smoother = h->options.smoother;
    bool diagonal = smoother == TESS_AMG_JACOBI || smoother == TESS_AMG_FC_JACOBI;

    c->has_blocks = amg_has_blocks(h);
    diagonal = diagonal || (smoother == TESS_AMG_BLOCK_JACOBI && !c->has_blocks); /* blocks of one row */
    c->l1 = !diagonal;
    c->estimates = diagonal || c->has_blocks || h->coarsening->kind != TESS_AMG_CLASSICAL;
}

tess_status amg_cycle_open(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision precision, bool for_fp32)
{
    const int64_t n = h->level[0].a.nrows;
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    c->n = n;
    choose_smoother(c, h);
    c->vectors = amg_vector_precision(c, h->count, precision);
    c->rank = h->level[h->count - 1].a.nrows;
    c->ratio = h->coarsening->kind == TESS_AMG_AGGREGATION ? AGGREGATION_RATIO : CLASSICAL_RATIO;
    TESS_TRY(tess_host_allocate(c->ctx, c->options.max_levels, sizeof *c->level, (void **)&c->level));
    memset(c->level, 0, (size_t)c->options.max_levels * sizeof *c->level);
    TESS_TRY(h->device ? amg_device_store_levels(c, h, precision) : store_levels(c, h, precision, true));
    if (for_fp32) { TESS_TRY(tess_device_allocate(c->ctx, n, sizeof *c->wide, (void **)&c->wide)); }
    c->storing_seconds = tess_wall_seconds() - start;
cleanup:
    return status;
}

tess_status amg_cycle_renew(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision precision)
{
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    c->rank = h->level[h->count - 1].a.nrows;
    status = store_levels(c, h, precision, false);
    c->storing_seconds = tess_wall_seconds() - start;
    return status;
}

static void close_level(const amg_cycle *c, amg_cycle_level *l)
{
    void *const vectors[] = {l->residual, l->x, l->other, l->rhs, l->first, l->first_product, l->product};

    tess_matrix_destroy(l->a);
    tess_matrix_destroy(l->p);
    tess_matrix_destroy(l->r);
    tess_matrix_destroy(l->inverse);
    tess_matrix_destroy(l->blocks);
    tess_matrix_destroy(l->relax[0]);
    tess_matrix_destroy(l->relax[1]);
    tess_precond_destroy(l->factors);
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        tess_device_release(c->ctx, vectors[k], l->n, tess_precision_bytes(c->vectors));
    }
}

void amg_cycle_close(amg_cycle *c)
{
    for (int l = 0; c->level && l < c->options.max_levels; l++) {
        close_level(c, &c->level[l]);
    }
    tess_host_release(c->ctx, c->level, c->options.max_levels, sizeof *c->level);
    tess_device_release(c->ctx, c->scale, c->n, sizeof *c->scale);
    tess_device_release(c->ctx, c->wide, c->n, sizeof *c->wide);
    c->level = NULL;
    c->scale = c->wide = NULL;
    c->count = 0;
}

static int64_t matrix_bytes(const tess_matrix *m)
{
    return m ? tess_matrix_bytes(m) : 0;
}

int64_t amg_level_bytes(const amg_cycle_level *l)
{
    const int64_t factors = l->factors ? tess_precond_bytes(l->factors) : 0;

    return matrix_bytes(l->a) + matrix_bytes(l->p) + matrix_bytes(l->r) + matrix_bytes(l->inverse) +
           matrix_bytes(l->blocks) + matrix_bytes(l->relax[0]) + matrix_bytes(l->relax[1]) + factors;
}

int64_t amg_cycle_bytes(const amg_cycle *c)
{
    const int64_t value = (int64_t)tess_precision_bytes(c->vectors);
    int64_t bytes = c->n * (int64_t)sizeof(double) * (c->wide ? 2 : 1);

    for (int l = 0; l < c->count; l++) {
        const amg_cycle_level *level = &c->level[l];
        const int vectors = 3 + (level->first ? 2 : 0) + (level->product ? 2 : 0);

        bytes += amg_level_bytes(level) + vectors * level->n * value;
    }
    return bytes;
}
