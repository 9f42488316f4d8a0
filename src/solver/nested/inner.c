/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner iteration of the nested solver, as the preconditioner of the outer one: z is what a few iterations of CG or
 * GMRES make of A~ z = r, on a copy A~ of the matrix and with vectors in lower precisions. It is a solver of one method
 * whose loop runs here without a guard; the outer residuals judge. A GPU runs a whole inner solve as one graph.
 *
 * What fails goes up: an inner iteration that breaks down or gives NaN, or whose residuals fall where the outer ones do
 * not, stops the outer loop. The guard then asks for a higher precision (`widen`).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "base/deadline.h"
#include "base/precision_traits.h"
#include "device/iteration_end.h"
#include "format/fit.h"
#include "solver/cg/cg.h"
#include "solver/guard_run.h"
#include "solver/nested/nested.h"

/* The copy is doubtful where the outer residual keeps more than twice what the inner estimate says, and has lost less
   than this share of its digits. So many times in a row condemn it. */
#define DOUBTFUL_FACTOR 2.0
#define DOUBTFUL_SHARE 0.6
enum { MOST_DOUBTS = 2 };
/* Most inner iterations by default. */
enum { INNER_CG = 50, INNER_CG_ANEW = 1000, INNER_GMRES = 20 };
/* Where nothing is rounded, CG that begins anew should do so seldom. */
#define GOAL_ANEW 1e-6

typedef struct nested_inner {
    tess_solver *solver;
    tess_precond *own;               /* the preconditioner of the inner iterations; NULL: the caller's, or none */
    const tess_precond *precond;     /* either */
    const tess_solve_options *outer; /* of the solver that holds this */
    bool symmetric;
    tess_role_precision role; /* of the copy and the vectors now */
    uint64_t revision;        /* of `precond`, for recordings */
    tess_reason reason;       /* how the last inner iterations ended */
    cg_resume resume;         /* how the next begin */
    int exponent;             /* the last worked on 2^-exponent times their residual */
    int64_t resumes_at;       /* the outer iteration that goes on from their direction */
    /* what the doubts count */
    int doubts;
    double outer_norm, estimate; /* before the last inner iterations, and the share of it that they say is left */
    int64_t outer_iteration;
    /* of this solve */
    int64_t iterations[TESS_MAX_PRECISIONS]; /* by the storage of the copy */
    int64_t solves;
} nested_inner;

static nested_inner *inner_of(const tess_precond *m)
{
    return m->own;
}

static method_solver *method_inside(const nested_inner *n)
{
    return solver_running(n->solver);
}

/* ---- set-up ---- */

/* CG with FP32 vectors goes on where the last inner iterations ended, others begin anew; the basis of GMRES takes time.
 */
static int64_t most_iterations(const nested_inner *n)
{
    const int64_t asked = n->outer->nested.iterations;

    if (asked > 0) { return asked; }
    if (!n->symmetric) { return INNER_GMRES; }
    return n->role.arithmetic == TESS_ARITHMETIC_FP32 ? INNER_CG : INNER_CG_ANEW;
}

/* The share of the residual at which they end. */
static double goal_of(const nested_inner *n)
{
    const double asked = n->outer->nested.reduction;
    const bool anew = n->symmetric && n->role.arithmetic == TESS_ARITHMETIC_FP64;

    return anew && n->role.storage == TESS_PRECISION_FP64 ? fmin(asked, GOAL_ANEW) : asked;
}

/* Narrow precisions store each row over a power of two of its own, where it needs one and the device has that. */
static void choose_storage(const tess_context *ctx, const tess_storage_options *outer, tess_precision precision,
                           tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(outer->format);
    const tess_format scaled = tess_format_in_role(TESS_ROLE_PARTS);

    tess_storage_options_init(o);
    if (precision_has_narrow_range(precision) &&
        tess_in_set(tess_format_precisions(ctx, tess_format_can(scaled)), (int)precision)) {
        o->format = scaled;
        o->policy.policy = TESS_POLICY_FIXED_RANGE;
        o->policy.granularity = TESS_GRANULARITY_ROW;
        o->policy.allow_underflow = 1;
        o->policy.nlevels = 1;
        o->policy.level[0] = (tess_precision_level){precision, 1};
        return;
    }
    if (outer->format == TESS_FORMAT_AUTO || (can && !can->takes_parts)) { o->format = outer->format; }
    o->precision = precision;
}

static tess_solve_options inner_options(const tess_context *ctx, const nested_inner *n)
{
    const tess_solve_options *outer = n->outer;
    const int64_t iterations = most_iterations(n);
    tess_solve_options o;

    tess_solve_options_init(&o);
    o.solver = n->symmetric ? TESS_SOLVER_CG : TESS_SOLVER_GMRES;
    o.engine = TESS_ENGINE_PLAIN; /* a graph is chosen below; a single kernel has no low vectors */
    o.guard = TESS_GUARD_REPORT;
    o.stop_norm = TESS_STOP_NORM_GIVEN;
    o.history_capacity = 0;
    o.max_iterations = iterations;
    o.gmres.restart = (int)iterations;
    o.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
    o.gmres.inner = n->role;
    o.gmres.basis = outer->gmres.basis;
    if (n->role.arithmetic == TESS_ARITHMETIC_FP64) { o.gmres.basis = n->role; }
    o.precond.kind = TESS_PRECOND_NONE;
    choose_storage(ctx, &outer->storage, n->role.storage, &o.storage);
    return o;
}

/* The solver in the present precisions. */
static tess_status open_inner(tess_precond *m)
{
    nested_inner *n = inner_of(m);
    const tess_solve_options options = inner_options(m->ctx, n);
    tess_solver *solver = NULL;
    method_solver *s = NULL;
    tess_status status = solver_make(m->matrix, n->precond, &options, &solver);

    if (status != TESS_SUCCESS) { return status; }
    tess_solver_destroy(n->solver);
    n->solver = solver;
    s = method_inside(n);
    s->krylov.matrix = solver_matrix(s);
    if (s->method == &tess_method_cg_fp32) { s->krylov.own = &n->resume; }
    n->resumes_at = -1;
    if (m->ctx->device == TESS_DEVICE_GPU && n->outer->engine != TESS_ENGINE_PLAIN &&
        tess_precond_is_recordable(n->precond)) {
        s->engine = TESS_ENGINE_GRAPH;
    }
    n->doubts = 0;
    return TESS_SUCCESS;
}

/* The precisions that the options ask for. A caller's own preconditioner takes FP64 vectors alone. */
static tess_role_precision first_role(const nested_inner *n)
{
    tess_role_precision role = n->outer->gmres.inner;

    if (n->precond && n->precond->kind == TESS_PRECOND_SHELL) { role.arithmetic = TESS_ARITHMETIC_FP64; }
    return role;
}

/* The user's preconditioner, in the precision of the inner vectors unless the options say otherwise. FP64 Jacobi is
   part of CG's passes. */
static tess_status make_inner_precond(tess_precond *m)
{
    static const tess_role_precision fp32 = {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    nested_inner *n = inner_of(m);
    tess_precond_options options = n->outer->precond;
    const bool in_passes = n->symmetric && options.kind == TESS_PRECOND_JACOBI;
    tess_status status = TESS_SUCCESS;

    if (options.kind == TESS_PRECOND_NONE) { return TESS_SUCCESS; }
    if (!options.role.given && !in_passes && n->outer->gmres.inner.arithmetic == TESS_ARITHMETIC_FP32) {
        options.role = tess_precond_default_role(options.kind, fp32);
    }
    status = tess_precond_create_renewable(m->matrix, &options, &n->own);
    n->precond = n->own;
    return status;
}

static void destroy(tess_precond *m)
{
    nested_inner *n = inner_of(m);

    if (!n) { return; }
    tess_solver_destroy(n->solver);
    tess_precond_destroy(n->own);
    tess_host_release(m->ctx, n, 1, sizeof *n);
}

/* New values. */
static tess_status renew(tess_precond *m)
{
    nested_inner *n = inner_of(m);
    method_solver *s = method_inside(n);
    tess_status status = TESS_SUCCESS;

    if (s->stored) { TESS_TRY(tess_matrix_refresh(s->stored)); }
    guard_drop_graph(s);
    if (n->own) { status = tess_precond_update(n->own); }
cleanup:
    return status;
}

/* ---- application ---- */

/* Within inner iterations on the host the limit of time and an interrupt hold; the monitor is for outer ones. */
static int watch_time(void *user, const tess_progress *progress)
{
    (void)progress;
    return tess_deadline_passed(user) ? 1 : 0;
}

/* The loop on krylov.r, whose norm is given, to krylov.d. */
static tess_status run_inner(nested_inner *n, double norm)
{
    method_solver *s = method_inside(n);
    tess_krylov *k = &s->krylov;
    const tess_backend *backend = s->ctx->backend;
    const tess_loop_state begin = {.phase = TESS_LOOP_RUNNING,
                                   .max_iterations = most_iterations(n),
                                   .residual_norm = norm,
                                   .tolerance = goal_of(n) * norm,
                                   .divergence_limit = DBL_MAX,
                                   .numbers = k->numbers,
                                   .scale = 1.0};
    tess_loop loop = {.body = s->method->iterate,
                      .solver = k,
                      .engine = (int)s->engine,
                      .state = k->state,
                      .monitor = s->ctx->device == TESS_DEVICE_CPU ? watch_time : NULL,
                      .monitor_user = s->ctx,
                      .start_seconds = tess_wall_seconds(),
                      .graph_slot = &s->graph,
                      .result = begin};
    tess_status status = TESS_SUCCESS;

    if (n->revision != tess_precond_revision(n->precond)) { guard_drop_graph(s); }
    n->revision = tess_precond_revision(n->precond);
    k->cycles += 1;
    k->iterated = 0;
    TESS_TRY(backend->upload(s->ctx, k->state, &begin, sizeof begin));
    TESS_TRY(backend->zero(s->ctx, k->d, (size_t)k->n * sizeof(double)));
    TESS_TRY(s->method->start(k));
    TESS_TRY(backend->run_loop(s->ctx, &loop));
    if (s->method->finish) { TESS_TRY(s->method->finish(k)); }
    n->reason = (tess_reason)loop.result.reason;
    n->estimate = loop.result.residual_norm / norm;
    n->iterations[n->role.storage] += loop.result.iteration;
    n->solves += 1;
    /* A breakdown after some iterations leaves a usable d. */
    if (loop.result.iteration > 0 && n->reason != TESS_REASON_NAN_OR_INF && n->reason != TESS_REASON_RTOL) {
        n->reason = TESS_REASON_ITERATIONS;
    }
cleanup:
    return status;
}

static bool has_failed(const nested_inner *n)
{
    return n->reason != TESS_REASON_ITERATIONS && n->reason != TESS_REASON_RTOL;
}

/* Whether outer residuals stay where inner ones fell. */
static bool is_condemned(nested_inner *n, const tess_loop_state *outer)
{
    const bool next = outer->iteration == n->outer_iteration + 1;
    const double limit = fmax(DOUBTFUL_FACTOR * n->estimate, pow(n->estimate, DOUBTFUL_SHARE));

    if (next && outer->residual_norm > limit * n->outer_norm) {
        n->doubts += 1;
    } else {
        n->doubts = 0;
    }
    n->outer_norm = outer->residual_norm;
    n->outer_iteration = outer->iteration;
    return n->doubts >= MOST_DOUBTS && n->role.storage != TESS_PRECISION_FP64;
}

static tess_status stop_outer(tess_context *ctx, tess_loop_state *on_device, tess_loop_state *outer, tess_reason reason)
{
    loop_stop(outer, TESS_LOOP_STOPPED, reason);
    return ctx->backend->upload(ctx, on_device, outer, sizeof *outer);
}

/* z := 2^e d, where krylov.r is 2^-e r. */
static tess_status solve_inner(const tess_precond *m, const double *r, double *z)
{
    nested_inner *n = inner_of(m);
    tess_krylov *k = &method_inside(n)->krylov;
    const tess_vector view = {
        .ctx = m->ctx, .n = m->n, .precision = TESS_PRECISION_FP64, .data = (double *)(uintptr_t)r};
    tess_fused scale = {.op = TESS_FUSED_SCALE, .n = m->n, .x = {.data = r}, .result = k->r};
    double norm = 0.0;
    int exponent = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_norm2(&view, TESS_ARITHMETIC_FP64, &norm));
    n->reason = isfinite(norm) ? TESS_REASON_ITERATIONS : TESS_REASON_NAN_OR_INF;
    if (norm == 0.0 || !isfinite(norm)) { return m->ctx->backend->zero(m->ctx, z, (size_t)m->n * sizeof *z); }
    (void)frexp(norm, &exponent);
    exponent = exponent > MAX_EXPONENT ? MAX_EXPONENT : exponent < -MAX_EXPONENT ? -MAX_EXPONENT : exponent;
    scale.a = ldexp(1.0, -exponent);
    TESS_TRY(m->ctx->backend->fused(m->ctx, &scale));
    n->resume.factor = ldexp(1.0, n->exponent - exponent);
    n->exponent = exponent;
    TESS_TRY(run_inner(n, ldexp(norm, -exponent)));
    scale =
        (tess_fused){.op = TESS_FUSED_SCALE, .n = m->n, .x = {.data = k->d}, .result = z, .a = ldexp(1.0, exponent)};
    status = m->ctx->backend->fused(m->ctx, &scale);
cleanup:
    return status;
}

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    nested_inner *n = inner_of(m);
    tess_loop_state outer = {.phase = TESS_LOOP_RUNNING};
    tess_status status = TESS_SUCCESS;

    (void)vectors; /* outer iterations are in FP64 */
    if (reduction->state) { TESS_TRY(m->ctx->backend->download(m->ctx, &outer, reduction->state, sizeof outer)); }
    if (outer.phase != TESS_LOOP_RUNNING) { return TESS_SUCCESS; }
    if (reduction->state && is_condemned(n, &outer)) {
        n->reason = TESS_REASON_STAGNATION;
        return stop_outer(m->ctx, reduction->state, &outer, TESS_REASON_STAGNATION);
    }
    n->resume.resumes = reduction->state && outer.iteration == n->resumes_at;
    TESS_TRY(solve_inner(m, r, z));
    n->resumes_at = reduction->state && !has_failed(n) ? outer.iteration + 1 : -1;
    if (reduction->state && has_failed(n)) { status = stop_outer(m->ctx, reduction->state, &outer, n->reason); }
cleanup:
    return status;
}

/* ---- repairs ---- */

static bool can_widen(const tess_precond *m)
{
    const nested_inner *n = inner_of(m);

    return n->role.storage != TESS_PRECISION_FP64 || tess_precond_can_widen(n->own);
}

/* The copy first, then the preconditioner inside; the other way round if that was found indefinite. */
static tess_status widen(tess_precond *m, bool *widened)
{
    nested_inner *n = inner_of(m);
    const bool low = tess_precision_unit_roundoff(n->role.storage) > tess_precision_unit_roundoff(TESS_PRECISION_FP32);
    tess_status status = TESS_SUCCESS;

    *widened = false;
    if (!low || n->reason == TESS_REASON_INDEFINITE_PRECOND) { TESS_TRY(tess_precond_widen(n->own, widened)); }
    if (*widened || n->role.storage == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    n->role = low ? (tess_role_precision){1, TESS_PRECISION_FP32, n->role.arithmetic}
                  : (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    TESS_TRY(open_inner(m));
    *widened = true;
    tess_log(m->ctx, TESS_LOG_INFO, "inner iterations go on in %s", tess_precision_name(n->role.storage));
cleanup:
    return status;
}

static tess_status mend(tess_precond *m, bool *mended)
{
    return tess_precond_mend(inner_of(m)->own, mended);
}

/* ---- questions ---- */

static int64_t bytes(const tess_precond *m)
{
    const nested_inner *n = inner_of(m);
    const method_solver *s = method_inside(n);
    int64_t sum = n->own ? tess_precond_bytes(n->own) : 0;

    if (!s) { return sum; }
    sum += s->stored ? tess_matrix_bytes(s->stored) : 0;
    sum += s->nvectors * m->n * (int64_t)tess_precision_bytes(s->krylov.vectors);
    return sum + 3 * m->n * (int64_t)sizeof(double) + (s->method->bytes ? s->method->bytes(s) : 0);
}

static const tess_precond *inside(const tess_precond *m)
{
    return inner_of(m)->precond;
}

static const tess_precond_ops precond_nested = {.on_host = true,
                                                .renew = renew,
                                                .apply = apply,
                                                .mend = mend,
                                                .widen = widen,
                                                .can_widen = can_widen,
                                                .bytes = bytes,
                                                .inside = inside,
                                                .destroy = destroy};

/* ---- for the methods ---- */

/* Singular values have no preconditioner, but later ones may. */
static bool is_final(tess_status status)
{
    return status != TESS_SUCCESS && status != TESS_SINGULAR && status != TESS_OUT_OF_RANGE;
}

tess_status nested_make(const method_solver *s, const tess_precond *given, tess_precond **out)
{
    nested_inner *n = NULL;
    tess_status status = TESS_SUCCESS, made = TESS_SUCCESS;

    TESS_TRY(tess_precond_make(s->original, &precond_nested, out));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *n, (void **)&n));
    memset(n, 0, sizeof *n);
    (*out)->own = n;
    (*out)->kind = given ? given->kind : s->options->precond.kind;
    n->outer = s->options;
    n->symmetric = s->method == &tess_method_nested_cg;
    n->precond = given;
    if (!given) { made = make_inner_precond(*out); }
    n->role = first_role(n);
    if (is_final(made)) { return made; }
    TESS_TRY(open_inner(*out));
    if (made == TESS_SUCCESS) { (*out)->values_version = s->original->values_version; }
    status = made;
cleanup:
    return status;
}

tess_status nested_begin(const method_solver *s)
{
    nested_inner *n = inner_of(s->own_precond);
    const tess_role_precision first = first_role(n);

    memset(n->iterations, 0, sizeof n->iterations);
    n->solves = 0;
    n->doubts = 0;
    n->outer_iteration = -2;
    n->resumes_at = -1;
    if (n->solver && n->role.storage == first.storage) { return TESS_SUCCESS; }
    n->role = first;
    return open_inner(s->own_precond);
}

void nested_describe(const method_solver *s, tess_solve_result *r)
{
    const nested_inner *n = inner_of(s->own_precond);
    const method_solver *inside = method_inside(n);

    r->nested.inner = n->role;
    r->nested.basis = n->role.arithmetic == TESS_ARITHMETIC_FP64 ? n->role : s->options->gmres.basis;
    r->nested.most_iterations = most_iterations(n);
    r->nested.solver = n->symmetric ? TESS_SOLVER_CG : TESS_SOLVER_GMRES;
    r->nested.matrix_bytes = inside ? tess_matrix_bytes(solver_matrix(inside)) : 0;
}

void nested_report(const method_solver *s, tess_solve_result *r)
{
    const nested_inner *n = inner_of(s->own_precond);

    nested_describe(s, r);
    r->nested.solves = n->solves;
    for (int p = 0; p < TESS_MAX_PRECISIONS; p++) {
        r->nested.iterations += n->iterations[p];
        r->nested.iterations_per_precision[p] = n->iterations[p];
    }
}
