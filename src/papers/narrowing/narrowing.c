/* SPDX-License-Identifier: Apache-2.0 */
/* Partial convergence: who may have it, the bounds of a cycle, what it reports. */
#include "papers/narrowing/narrowing.h"

#include <math.h>

#include "format/tiles/tiles.h"
#include "solver/extension.h"
#include "solver/method_solver.h"

static tess_narrowing asked_mode(const tess_solve_options *options)
{
    return options->papers ? options->papers->narrowing : TESS_NARROWING_OFF;
}

static tess_status refuse(const method_solver *s, const char *hint, const char *with)
{
    return tess_fail(s->ctx, TESS_UNSUPPORTED, hint, "narrowing %s is not available with %s",
                     tess_narrowing_name(asked_mode(s->options)), with);
}

static bool is_asked_for(const tess_solve_options *options)
{
    return asked_mode(options) != TESS_NARROWING_OFF;
}

static tess_status check(const method_solver *s)
{
    const tess_solver_kind kind = s->method->kind;
    const tess_narrowing mode = asked_mode(s->options);

    if (mode != TESS_NARROWING_PAPER && mode != TESS_NARROWING_SAFE) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "use off, paper or safe", "unknown narrowing %d", (int)mode);
    }
    if (!(s->options->papers->narrowing_epsilon >= 0.0 && isfinite(s->options->papers->narrowing_epsilon))) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "give a finite number of 0 or more",
                         "the epsilon of narrowing cannot be %g", s->options->papers->narrowing_epsilon);
    }
    if (kind != TESS_SOLVER_CG && kind != TESS_SOLVER_BICGSTAB) {
        return refuse(s, "use --solver cg or bicgstab", tess_solver_kind_name(kind));
    }
    if (s->recurrence != TESS_RECURRENCE_STANDARD) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --recurrence standard",
                         "narrowing %s is not available with the recurrence %s", tess_narrowing_name(mode),
                         tess_recurrence_name(s->recurrence));
    }
    if (!s->stored || tess_matrix_layout(s->stored) != TESS_LAYOUT_RESIDENT) {
        return refuse(s, "store the matrix in --format tiles --layout resident",
                      "a matrix in another format or layout");
    }
    return TESS_SUCCESS;
}

static narrowing_pass pass_of(const method_solver *s)
{
    const tiles_storage *tiles = s->stored->storage;
    narrowing_pass p = {.n = s->original->nrows,
                        .nsegments = (s->original->nrows + NARROWING_SEGMENT - 1) / NARROWING_SEGMENT,
                        .nlevels = tiles->view.nlevels,
                        .for_good = asked_mode(s->options) == TESS_NARROWING_PAPER,
                        .nproducts = s->method->kind == TESS_SOLVER_BICGSTAB ? 2 : 1};

    for (int l = 0; l < p.nlevels; l++) {
        p.precisions |= (unsigned)tiles->view.precision[l] << (4 * l);
    }
    return p;
}

static tess_status setup(method_solver *s)
{
    tess_context *ctx = s->ctx;
    solver_narrowing *w = NULL;
    narrowing_pass *p = NULL;
    int64_t ntiles = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check(s));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *w, (void **)&w));
    *w = (solver_narrowing){.mode = asked_mode(s->options), .pass = pass_of(s)};
    s->krylov.extended = w;
    p = &w->pass;
    ntiles = p->nsegments * p->nlevels;
    TESS_TRY(tess_device_allocate(ctx, ntiles, sizeof *p->tiles, (void **)&p->tiles));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *p->bounds, (void **)&p->bounds));
    TESS_TRY(tess_device_allocate(ctx, p->nsegments, sizeof *p->segment, (void **)&p->segment));
    TESS_TRY(tess_device_allocate(ctx, p->nsegments, sizeof *p->use, (void **)&p->use));
    TESS_TRY(tess_device_allocate(ctx, NARROWING_COUNTS, sizeof *p->counts, (void **)&p->counts));
    TESS_TRY(ctx->backend->zero(ctx, p->tiles, (size_t)ntiles * sizeof *p->tiles));
    status = narrowing_ops_of(ctx)->count_tiles(ctx, ((const tiles_storage *)s->stored->storage)->assignment, p);
cleanup:
    return status;
}

static void destroy(method_solver *s)
{
    solver_narrowing *w = narrowing_of(&s->krylov);
    narrowing_pass *p = w ? &w->pass : NULL;

    if (!w) { return; }
    tess_device_release(s->ctx, p->tiles, p->nsegments * p->nlevels, sizeof *p->tiles);
    tess_device_release(s->ctx, p->bounds, 1, sizeof *p->bounds);
    tess_device_release(s->ctx, p->segment, p->nsegments, sizeof *p->segment);
    tess_device_release(s->ctx, p->use, p->nsegments, sizeof *p->use);
    tess_device_release(s->ctx, p->counts, NARROWING_COUNTS, sizeof *p->counts);
    tess_host_release(s->ctx, w, 1, sizeof *w);
}

static int64_t bytes(const method_solver *s)
{
    const narrowing_pass *p = &narrowing_of(&s->krylov)->pass;
    const int64_t segment = (int64_t)(sizeof *p->segment + sizeof *p->use) + p->nlevels * (int64_t)sizeof *p->tiles;

    return p->nsegments * segment + (int64_t)(sizeof *p->bounds + NARROWING_COUNTS * sizeof *p->counts);
}

/* ---- a solve ---- */

static tess_status forget(const method_solver *s)
{
    const narrowing_pass *p = &narrowing_of(&s->krylov)->pass;

    return s->ctx->backend->zero(s->ctx, p->segment, (size_t)p->nsegments * sizeof *p->segment);
}

static tess_status start(method_solver *s)
{
    solver_narrowing *w = narrowing_of(&s->krylov);
    tess_status status = TESS_SUCCESS;

    w->active = true;
    TESS_TRY(s->ctx->backend->zero(s->ctx, w->pass.counts, NARROWING_COUNTS * sizeof *w->pass.counts));
    status = forget(s);
cleanup:
    return status;
}

/* ||M^-1 r|| / ||r||: a preconditioner changes the scale of the vectors that are multiplied, and with it that of the
 * bounds. */
static tess_status precond_factor(method_solver *s, double norm, double *factor)
{
    tess_krylov *k = &s->krylov;
    tess_fused squares = {.op = TESS_FUSED_DOT, .n = k->n, .x = {.data = s->candidate}, .y = {.data = s->candidate}};
    double square = 0.0;
    tess_status status = TESS_SUCCESS;

    *factor = 1.0;
    if (tess_precond_is_identity(k->precond)) { return TESS_SUCCESS; }
    TESS_TRY(tess_precond_apply_fused(k->precond, TESS_PRECISION_FP64, k->r, s->candidate, &(tess_reduction){0}));
    TESS_TRY(tess_fused_dots(s->ctx, &squares, 1, &square));
    *factor = sqrt(square) / norm;
    if (!(*factor < (double)INFINITY)) { *factor = 0.0; }
cleanup:
    return status;
}

/* The bounds must not depend on when a solve stops, if it makes a fixed number of iterations. */
static double epsilon_of(const tess_solve_options *o)
{
    if (o->papers->narrowing_epsilon > 0.0) { return o->papers->narrowing_epsilon; }
    return o->atol > 0.0 ? o->atol : o->rtol;
}

static tess_status start_cycle(method_solver *s, double rhs_norm, double norm, int exponent)
{
    solver_narrowing *w = narrowing_of(&s->krylov);
    const double asked = s->options->papers->narrowing_epsilon;
    double unit = epsilon_of(s->options), factor = 1.0; /* the paper's eps is an absolute number */
    narrowing_bounds bounds;
    tess_status status = TESS_SUCCESS;

    if (w->mode == TESS_NARROWING_SAFE) {
        TESS_TRY(precond_factor(s, ldexp(norm, -exponent), &factor));
        unit = factor * ((asked > 0.0 ? asked : s->options->rtol) * rhs_norm / sqrt((double)s->krylov.n));
    }
    bounds = narrowing_bounds_of(w->active ? w->mode : TESS_NARROWING_OFF, ldexp(unit, -exponent));
    status = s->ctx->backend->upload(s->ctx, w->pass.bounds, &bounds, sizeof bounds);
cleanup:
    return status;
}

static tess_status stop(method_solver *s)
{
    tess_log(s->ctx, TESS_LOG_INFO,
             "narrowing %s led to a wrong residual estimate; the solve goes on with tiles as they are stored",
             tess_narrowing_name(narrowing_of(&s->krylov)->mode));
    narrowing_of(&s->krylov)->active = false;
    return forget(s);
}

static bool is_active(const method_solver *s)
{
    return narrowing_of(&s->krylov)->active;
}

static tess_status finds_narrowed(const method_solver *s, bool *acts)
{
    const narrowing_pass *p = &narrowing_of(&s->krylov)->pass;
    narrowing_segment *segment = NULL;
    tess_status status = TESS_SUCCESS;

    *acts = false;
    TESS_TRY(tess_host_allocate(s->ctx, p->nsegments, sizeof *segment, (void **)&segment));
    TESS_TRY(s->ctx->backend->download(s->ctx, segment, p->segment, (size_t)p->nsegments * sizeof *segment));
    for (int64_t k = 0; k < p->nsegments && !*acts; k++) {
        *acts = segment[k].level[0] != NARROWING_NONE || segment[k].level[1] != NARROWING_NONE ||
                segment[k].lowest != NARROWING_NONE;
    }
cleanup:
    tess_host_release(s->ctx, segment, p->nsegments, sizeof *segment);
    return status;
}

static tess_status before_product(const tess_krylov *k, int product, const double *x, const uint8_t **segments)
{
    const narrowing_pass *p = &narrowing_of(k)->pass;
    tess_status status = TESS_SUCCESS;

    /* The guard has gone up to the original: it has no tiles. */
    if (tess_matrix_layout(k->matrix) != TESS_LAYOUT_RESIDENT) { return TESS_SUCCESS; }
    tess_enter_phase(k->ctx, TESS_PHASE_SPMV);
    status = narrowing_ops_of(k->ctx)->mark(k->ctx, p, x, product, k->state);
    *segments = p->use;
    return status;
}

static tess_status report(method_solver *s)
{
    const solver_narrowing *w = narrowing_of(&s->krylov);
    tess_papers_result *r = &s->head->papers_result;
    uint64_t counts[NARROWING_COUNTS];
    tess_status status = TESS_SUCCESS;

    r->narrowing = w->mode;
    TESS_TRY(s->ctx->backend->download(s->ctx, counts, w->pass.counts, sizeof counts));
    for (int k = 0; k < TESS_PRECISION_COUNT; k++) {
        r->tile_products[k] = (int64_t)counts[k];
    }
    r->tile_products_bypassed = (int64_t)counts[NARROWING_BYPASSED];
    r->narrowing_misled = !w->active;
cleanup:
    return status;
}

static void start_sum(const tess_solve_options *options, tess_papers_result *sum)
{
    sum->narrowing = asked_mode(options);
}

static void add_report(const tess_papers_result *inner, tess_papers_result *sum)
{
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        sum->tile_products[p] += inner->tile_products[p];
    }
    sum->tile_products_bypassed += inner->tile_products_bypassed;
    sum->narrowing_misled = sum->narrowing_misled || inner->narrowing_misled;
}

const tess_solver_extension tess_extension_narrowing = {.is_asked_for = is_asked_for,
                                                        .setup = setup,
                                                        .destroy = destroy,
                                                        .bytes = bytes,
                                                        .start = start,
                                                        .start_cycle = start_cycle,
                                                        .before_product = before_product,
                                                        .is_active = is_active,
                                                        .acts = finds_narrowed,
                                                        .stop = stop,
                                                        .report = report,
                                                        .start_sum = start_sum,
                                                        .add_report = add_report};
