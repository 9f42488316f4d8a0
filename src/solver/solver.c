/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up of a solver: choice of method and engine, preconditioner, workspace. */
#include "solver/solver.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "format/storage_precision.h"
#include "solver/driver.h"
#include "solver/estimate.h"
#include "solver/extension.h"
#include "solver/single_kernel/single_kernel.h"
#include "solver/symmetry.h"
#include "solver/transform.h"

static bool works_on_host(const tess_precond *given, const tess_solve_options *o)
{
    const tess_precond_ops *ops = given ? given->ops : tess_find_precond(o->precond.kind);

    return ops && ops->on_host;
}

static tess_status check_request(const tess_matrix *a, const tess_precond *m, const tess_solve_options *o)
{
    const tess_method *asked = tess_find_method(o->solver);
    const bool rectangular = asked && asked->rectangular;

    if (a->nrows != a->ncols && !rectangular) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass a square matrix, or use --solver lsqr or lsmr",
                         "a solver needs a square matrix, but this one is %lld by %lld", (long long)a->nrows,
                         (long long)a->ncols);
    }
    if (rectangular && wants_transform(o)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --precond jacobi, which scales columns",
                         "%s solves the system as it is, without --scale and --reorder",
                         tess_solver_kind_name(o->solver));
    }
    if (wants_accuracy(o) && (m || !a->ops || rectangular)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "leave the accuracy 0, and set rtol",
                         "a solve to an accuracy needs a square assembled matrix, and makes its own preconditioner");
    }
    if (a->original) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix, and name the storage in options.storage",
                         "a solver needs an assembled matrix, not a stored one");
    }
    if (m && (m->ctx != a->ctx || m->n != a->nrows)) {
        return tess_fail(
            a->ctx, TESS_DIMENSION_MISMATCH, "make the preconditioner from the same matrix",
            "the preconditioner does not fit: it has another context, or %lld rows where the matrix has %lld",
            (long long)m->n, (long long)a->nrows);
    }
    if ((o->engine == TESS_ENGINE_GRAPH || o->engine == TESS_ENGINE_SINGLE_KERNEL) &&
        a->ctx->device == TESS_DEVICE_CPU) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --engine plain or auto, or a GPU",
                         "the engine %s does not run on the CPU", tess_engine_name(o->engine));
    }
    if (o->engine == TESS_ENGINE_GRAPH && (!a->ops || (m && m->kind == TESS_PRECOND_SHELL))) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --engine plain or auto",
                         "the engine graph cannot call a user's function");
    }
    if (o->engine == TESS_ENGINE_GRAPH && works_on_host(m, o)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --engine plain or auto",
                         "the engine graph cannot record the preconditioner %s, which works on the host",
                         tess_precond_kind_name(m ? m->kind : o->precond.kind));
    }
    return TESS_SUCCESS;
}

/* The engine of all methods that do not run in a single kernel. */
static tess_engine launching_engine(const tess_solver *s)
{
    bool recordable = s->original->ops && tess_precond_is_recordable(s->precond);

    if (s->options.engine != TESS_ENGINE_AUTO) { return s->options.engine; }
    return s->ctx->device == TESS_DEVICE_GPU && recordable && !s->method->counts_iterations ? TESS_ENGINE_GRAPH
                                                                                            : TESS_ENGINE_PLAIN;
}

static tess_status check_recurrence(const tess_solver *s)
{
    const tess_recurrence asked = solve_options_recurrence(&s->options);

    if (asked == TESS_RECURRENCE_AUTO || asked == TESS_RECURRENCE_STANDARD) { return TESS_SUCCESS; }
    if (!tess_find_recurrence(s->method->kind, asked)) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --recurrence standard, or --solver cg",
                         "the recurrence %s is not available with %s", tess_recurrence_name(asked),
                         tess_solver_kind_name(s->method->kind));
    }
    if (s->options.engine == TESS_ENGINE_GRAPH && asked == TESS_RECURRENCE_ONE_REDUCTION) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --engine single-kernel or plain",
                         "the recurrence one-reduction is not available in the engine graph");
    }
    return TESS_SUCCESS;
}

/* The engine and the recurrence for it. */
static tess_status choose_engine(tess_solver *s)
{
    const tess_engine asked = s->options.engine;
    const tess_recurrence recurrence = solve_options_recurrence(&s->options);
    const tess_method *other = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_recurrence(s));
    if (asked == TESS_ENGINE_SINGLE_KERNEL || asked == TESS_ENGINE_AUTO) {
        TESS_TRY(single_kernel_setup(s, asked == TESS_ENGINE_SINGLE_KERNEL));
    }
    if (s->krylov.single) {
        s->engine = TESS_ENGINE_SINGLE_KERNEL;
        s->recurrence = single_kernel_recurrence(s->krylov.single->method);
        return TESS_SUCCESS;
    }
    if (s->method->has_recurrence) {
        s->recurrence = recurrence == TESS_RECURRENCE_AUTO ? TESS_RECURRENCE_STANDARD : recurrence;
    }
    other = tess_find_recurrence(s->method->kind, s->recurrence);
    if (other) { s->method = other; }
    if (asked == TESS_ENGINE_GRAPH && s->method->counts_iterations) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --engine plain or auto",
                         "the engine graph does not run %s, whose iterations differ",
                         tess_solver_kind_name(s->method->kind));
    }
    s->engine = launching_engine(s);
cleanup:
    return status;
}

static tess_status diagonal_is_positive(const tess_matrix *a, bool *positive)
{
    double *diagonal = NULL, *host = NULL;
    tess_status status = TESS_SUCCESS;

    *positive = false;
    TESS_TRY(tess_device_allocate(a->ctx, a->nrows, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(tess_host_allocate(a->ctx, a->nrows, sizeof *host, (void **)&host));
    TESS_TRY(tess_matrix_raw_diagonal(a, diagonal));
    TESS_TRY(a->ctx->backend->download(a->ctx, host, diagonal, (size_t)a->nrows * sizeof *host));
    *positive = true;
    for (int64_t i = 0; i < a->nrows && *positive; i++) {
        *positive = host[i] > 0.0;
    }
cleanup:
    tess_device_release(a->ctx, diagonal, a->nrows, sizeof *diagonal);
    tess_host_release(a->ctx, host, a->nrows, sizeof *host);
    return status;
}

static void note_symmetry(tess_solver *s, bool symmetric)
{
    s->probed_version = s->original->values_version;
    s->asymmetric = s->method->needs_symmetry && !symmetric;
    if (!s->asymmetric) { return; }
    tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "use --solver bicgstab", "%s needs a symmetric matrix",
              tess_solver_kind_name(s->method->kind));
    s->asymmetric_error = s->ctx->error;
}

/* AUTO takes CG for a symmetric matrix with positive diagonal. Without symmetry a method that needs it is refused. */
static tess_status choose_method(tess_solver *s)
{
    const tess_matrix *a = s->original;
    tess_solver_kind kind = s->options.solver;
    bool symmetric = true, positive = false;
    tess_status status = TESS_SUCCESS;

    s->method = tess_find_method(kind);
    if (a->ops && (kind == TESS_SOLVER_AUTO || (s->method && s->method->needs_symmetry))) {
        TESS_TRY(probe_symmetry(a, &symmetric));
    }
    if (kind == TESS_SOLVER_AUTO) {
        if (a->ops && symmetric) { TESS_TRY(diagonal_is_positive(a, &positive)); }
        kind = positive ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB;
        s->method = tess_find_method(kind);
    }
    if (!s->method) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "tessera solve --help lists the solvers", "unknown solver %s",
                         tess_solver_kind_name(kind));
    }
    note_symmetry(s, symmetric);
cleanup:
    return status;
}

tess_status check_symmetry(tess_solver *s)
{
    bool symmetric = true;
    tess_status status = TESS_SUCCESS;

    if (!s->method->needs_symmetry || !s->original->ops || s->probed_version == s->original->values_version) {
        return TESS_SUCCESS;
    }
    TESS_TRY(probe_symmetry(s->original, &symmetric));
    note_symmetry(s, symmetric);
cleanup:
    return status;
}

/* What is no failure of the call, but ends each solve. */
static bool note_precond_failure(tess_solver *s, tess_status status)
{
    if (status != TESS_SINGULAR && status != TESS_TIMED_OUT) { return false; }
    s->setup_reason = status == TESS_SINGULAR ? TESS_REASON_PRECOND_SETUP : tess_deadline_reason(s->ctx);
    s->setup_error = s->ctx->error;
    return true;
}

static tess_status setup_precond(tess_solver *s, const tess_precond *given)
{
    tess_status status = TESS_SUCCESS;

    s->precond = given;
    if (given || s->options.precond.kind == TESS_PRECOND_NONE) { return TESS_SUCCESS; }
    status = tess_precond_create_renewable(s->original, &s->options.precond, &s->own_precond);
    s->precond = s->own_precond;
    return note_precond_failure(s, status) ? TESS_SUCCESS : status;
}

/* The vectors of Krylov methods are in the order of the matrix. */
static tess_status require_original_order(tess_context *ctx, const tess_storage_options *o)
{
    const bool permutes =
        o->format == TESS_FORMAT_AUTO || tess_in_set(tess_format_can(o->format)->row_orders, TESS_ROW_ORDER_PERMUTED);

    if (!permutes || o->split.row_order == TESS_ROW_ORDER_ORIGINAL) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "leave --row-order original; Jacobi permutes by itself",
                     "a solve cannot have rows in another order (--row-order)");
}

/* Format auto without a policy is CSR if the engine may be a single kernel: this gains more than fewer bytes do. */
static tess_status settle_format(const tess_solver *s, tess_storage_options *o)
{
    const tess_engine engine = s->options.engine;
    bool expects = false;
    tess_status status = TESS_SUCCESS;

    if (o->format != TESS_FORMAT_AUTO || o->policy.policy != TESS_POLICY_NONE) { return TESS_SUCCESS; }
    if (engine != TESS_ENGINE_AUTO && engine != TESS_ENGINE_SINGLE_KERNEL) { return TESS_SUCCESS; }
    if (tess_precision_bytes(o->precision) < 2) { return TESS_SUCCESS; } /* the kernel does not read 8 bits */
    TESS_TRY(single_kernel_expects(s, engine == TESS_ENGINE_SINGLE_KERNEL, &expects));
    if (expects) { o->format = TESS_FORMAT_CSR; }
cleanup:
    return status;
}

tess_status solver_setup_storage(tess_solver *s)
{
    tess_storage_options o = s->options.storage;
    const tess_matrix *a = s->original;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_storage_require_fp64_arithmetic(s->ctx, &o, "a solve"));
    TESS_TRY(require_original_order(s->ctx, &o));
    if (!a->ops) { return TESS_SUCCESS; }
    TESS_TRY(a->ops->prepare(a)); /* the guard may change to it within a loop */
    TESS_TRY(settle_format(s, &o));
    if (o.format == TESS_FORMAT_CSR && o.precision == TESS_PRECISION_FP64 && o.policy.policy != TESS_POLICY_LOSSLESS) {
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_matrix_convert(a, &o, &s->stored));
    if (s->stored->format == TESS_FORMAT_CSR && s->stored->precision == TESS_PRECISION_FP64) {
        tess_matrix_destroy(s->stored); /* format auto has become the format of what exists */
        s->stored = NULL;
        return TESS_SUCCESS;
    }
    status = s->stored->ops->prepare(s->stored);
cleanup:
    return status;
}

const tess_matrix *solver_matrix(const tess_solver *s)
{
    return s->stored ? s->stored : s->original;
}

static void release_vectors(tess_solver *s)
{
    tess_krylov *k = &s->krylov;

    for (int i = 0; i < s->nvectors; i++) {
        tess_device_release(s->ctx, k->v[i], k->n, tess_precision_bytes(k->vectors));
        k->v[i] = NULL;
    }
}

tess_status solver_change_vectors(tess_solver *s, tess_precision precision)
{
    tess_krylov *k = &s->krylov;
    tess_status status = TESS_SUCCESS;

    if (k->vectors != precision) { release_vectors(s); }
    k->vectors = precision;
    for (int i = 0; i < s->nvectors; i++) { /* after an earlier lack of memory, some vectors may exist */
        if (k->v[i]) { continue; }
        TESS_TRY(tess_device_allocate(s->ctx, k->n, tess_precision_bytes(precision), &k->v[i]));
    }
cleanup:
    return status;
}

tess_status solver_change_precond(tess_solver *s, tess_role_precision role)
{
    tess_precond_options options = s->options.precond;
    const tess_role_precision now = s->own_precond ? s->own_precond->role : role;
    tess_precond *made = NULL;
    tess_status status = TESS_SUCCESS;

    if (now.storage == role.storage && now.arithmetic == role.arithmetic) { return TESS_SUCCESS; }
    options.role = role;
    if (role.storage == TESS_PRECISION_FP64) { options.block_jacobi.adaptive = 0; }
    status = tess_precond_create_renewable(s->original, &options, &made);
    if (status != TESS_SUCCESS && !note_precond_failure(s, status)) { return status; }
    if (status == TESS_TIMED_OUT) { return TESS_SUCCESS; } /* the present one stays */
    tess_precond_destroy(s->own_precond);
    s->own_precond = made;
    s->precond = made;
    s->krylov.precond = made;
    return TESS_SUCCESS;
}

static tess_status allocate_vectors(tess_solver *s)
{
    tess_context *ctx = s->ctx;
    int64_t n = s->original->nrows;
    tess_krylov *k = &s->krylov;
    tess_status status = TESS_SUCCESS;

    k->ctx = ctx;
    k->n = n;
    k->precond = s->precond;
    s->nvectors = s->method->vectors(s->precond);
    s->history_capacity = s->options.history_capacity;
    if (s->history_capacity - 1 > s->options.max_iterations) { s->history_capacity = s->options.max_iterations + 1; }
    TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&k->d));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&k->r));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&s->candidate));
    if (s->options.stop_norm == TESS_STOP_NORM_PRECONDITIONED && s->precond) {
        TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&s->mapped));
    }
    if (s->method->low_residual) { TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&s->best)); }
    for (int i = 0; i < s->nvectors; i++) {
        TESS_TRY(tess_device_allocate(ctx, n, tess_precision_bytes(k->vectors), &k->v[i]));
    }
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *k->state, (void **)&k->state));
    TESS_TRY(ctx->backend->zero(ctx, k->state, sizeof *k->state));
    if (s->method->numbers > 0) { TESS_TRY(tess_device_allocate(ctx, 1, s->method->numbers, &k->numbers)); }
    if (s->options.timings && !s->method->run) {
        TESS_TRY(tess_device_allocate(ctx, 1, sizeof *s->clock, (void **)&s->clock));
    }
    TESS_TRY(tess_device_allocate(ctx, s->history_capacity, sizeof(double), (void **)&s->history));
    TESS_TRY(tess_host_allocate(ctx, s->history_capacity, sizeof(double), (void **)&s->host_history));
cleanup:
    return status;
}

void tess_solver_destroy(tess_solver *s)
{
    int64_t n = 0;
    tess_context *ctx = NULL;
    const tess_matrix *original = NULL;

    if (!s) { return; }
    if (s->solving) {
        s->abandoned = true;
        return;
    }
    ctx = s->ctx;
    n = s->original->nrows;
    if (s->driver) { s->driver->destroy(s); }
    if (s->graph) { ctx->backend->release_graph(ctx, s->graph); }
    if (s->method && s->method->destroy) { s->method->destroy(s); }
    single_kernel_destroy(ctx, s->krylov.single);
    if (s->krylov.extension) { s->krylov.extension->destroy(s); }
    release_vectors(s);
    tess_device_release(ctx, s->krylov.d, n, sizeof(double));
    tess_device_release(ctx, s->krylov.r, n, sizeof(double));
    tess_device_release(ctx, s->candidate, n, sizeof(double));
    tess_device_release(ctx, s->best, n, sizeof(double));
    tess_device_release(ctx, s->kept, n, sizeof(double));
    tess_device_release(ctx, s->mapped, n, sizeof(double));
    tess_device_release(ctx, s->krylov.state, 1, sizeof *s->krylov.state);
    if (s->krylov.numbers) { tess_device_release(ctx, s->krylov.numbers, 1, s->method->numbers); }
    tess_device_release(ctx, s->clock, 1, sizeof *s->clock);
    tess_device_release(ctx, s->history, s->history_capacity, sizeof(double));
    tess_host_release(ctx, s->host_history, s->history_capacity, sizeof(double));
    null_parts_release(ctx, &s->null);
    tess_precond_destroy(s->own_precond);
    tess_matrix_destroy(s->stored);
    destroy_transform(ctx, s->transform);
    tess_precond_destroy(s->given);
    original = s->original;
    tess_host_release(ctx, s, 1, sizeof *s);
    tess_matrix_release(original);
}

/* Least squares leave a residual, and solves of a transformed system know no preconditioner of the given one. */
static tess_status require_given_norm(const tess_solver *s, const char *what)
{
    const tess_stop_norm norm = s->options.stop_norm;

    if (norm == TESS_STOP_NORM_AUTO || norm == TESS_STOP_NORM_GIVEN) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "leave out --stop-norm", "%s does not stop by the norm %s", what,
                     tess_stop_norm_name(norm));
}

/* The preconditioned norm is that of M^-1 (b - A x), with M as it is applied to FP64 vectors. */
static tess_status check_preconditioned_norm(const tess_solver *s)
{
    const bool fits = !s->method->run && !s->method->low_residual && s->krylov.vectors == TESS_PRECISION_FP64 &&
                      s->precond && s->options.guard == TESS_GUARD_REPAIR;

    if (s->options.stop_norm != TESS_STOP_NORM_PRECONDITIONED || fits) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_UNSUPPORTED,
                     "use --stop-norm rows, or cg, bicgstab, minres, idr or gmres with --precond",
                     "%s with preconditioner %s has no preconditioned norm to stop by",
                     tess_solver_kind_name(s->method->kind), tess_precond_kind_name(s->options.precond.kind));
}

static tess_status setup_plain(tess_solver *s, const tess_precond *given)
{
    tess_status status = TESS_SUCCESS;

    s->krylov.extension = tess_find_extension(&s->options);
    TESS_TRY(choose_method(s));
    if (s->method->solve) {
        s->precond = given;
        TESS_TRY(check_recurrence(s));
        TESS_TRY(require_given_norm(s, tess_solver_kind_name(s->method->kind)));
        return s->method->setup(s);
    }
    if (s->method->complete_options) { TESS_TRY(s->method->complete_options(s)); }
    TESS_TRY(setup_precond(s, given));
    TESS_TRY(s->method->setup ? s->method->setup(s) : solver_setup_storage(s));
    TESS_TRY(choose_engine(s));
    if (s->krylov.extension) { TESS_TRY(s->krylov.extension->setup(s)); }
    TESS_TRY(check_preconditioned_norm(s));
    status = allocate_vectors(s);
cleanup:
    return status;
}

/* A rectangular system is one of least squares; LSMR with scaled columns is the library's choice. */
static void choose_for_shape(tess_solver *s)
{
    tess_solve_options *o = &s->options;

    if (s->original->nrows == s->original->ncols || o->solver != TESS_SOLVER_AUTO) { return; }
    o->solver = TESS_SOLVER_LSMR;
    if (o->precond.kind != TESS_PRECOND_AUTO) { return; }
    o->precond.kind = s->original->ops ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE; /* a shell has no columns to scale */
}

static tess_status setup(tess_solver *s, const tess_precond *given)
{
    if (!given) { s->driver = tess_find_driver(s->original, &s->options); }
    if (s->driver) { return s->driver->setup(s); }
    /* An automatic solve of the transformed system chooses its preconditioner too. */
    const bool open = wants_transform(&s->options) && s->options.solver == TESS_SOLVER_AUTO && !given;
    if (s->options.precond.kind == TESS_PRECOND_AUTO && !open) { s->options.precond.kind = TESS_PRECOND_NONE; }
    if (!wants_transform(&s->options)) { return setup_plain(s, given); }
    if (s->options.stop_norm == TESS_STOP_NORM_PRECONDITIONED) {
        return require_given_norm(s, "a solve that scales or reorders");
    }
    return setup_transform(s, given);
}

tess_status tess_solver_create_with_precond(const tess_matrix *a, const tess_precond *m,
                                            const tess_solve_options *options, tess_solver **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    tess_solver *s = NULL;
    double start = tess_wall_seconds(), deadline = a->ctx->deadline;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    s->ctx = a->ctx;
    s->original = a;
    tess_matrix_hold(a);
    s->given = tess_precond_hold(m);
    tess_papers_result_init(&s->papers_result);
    TESS_TRY(solve_options_take(a->ctx, options, &s->options, &s->papers));
    choose_for_shape(s);
    TESS_TRY(check_request(a, m, &s->options));
    TESS_TRY(solver_require_memory(a, &s->options));
    deadline = tess_deadline_begin(a->ctx, s->options.time_limit);
    TESS_TRY(setup(s, m));
    TESS_TRY(a->ctx->backend->synchronize(a->ctx));
    s->setup_seconds = tess_wall_seconds() - start;
    *out = s;
cleanup:
    tess_deadline_restore(a->ctx, deadline);
    if (status != TESS_SUCCESS) { tess_solver_destroy(s); }
    return status;
}

tess_status tess_solver_create(const tess_matrix *a, const tess_solve_options *options, tess_solver **out)
{
    return tess_solver_create_with_precond(a, NULL, options, out);
}

tess_status tess_solver_set_limits(tess_solver *s, const tess_solve_options *o)
{
    TESS_REQUIRE(NULL, s);
    const tess_status status = solver_require_idle(s);

    return status == TESS_SUCCESS ? solve_options_take_limits(s->ctx, o, &s->options) : status;
}
