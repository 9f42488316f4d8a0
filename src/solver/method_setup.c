/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up of a solver of one method: choice of method and engine, preconditioner, workspace. */
#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "solver/extension.h"
#include "solver/method_solver.h"
#include "solver/single_kernel/single_kernel.h"
#include "solver/symmetry.h"

/* The engine of all methods that do not run in a single kernel. */
static tess_engine launching_engine(const method_solver *s)
{
    bool recordable = s->original->ops && tess_precond_is_recordable(s->precond);

    if (s->options->engine != TESS_ENGINE_AUTO) { return s->options->engine; }
    return s->ctx->device == TESS_DEVICE_GPU && recordable && !s->method->counts_iterations ? TESS_ENGINE_GRAPH
                                                                                            : TESS_ENGINE_PLAIN;
}

/* The engine and the recurrence for it. */
static tess_status choose_engine(method_solver *s)
{
    const tess_engine asked = s->options->engine;
    const tess_recurrence recurrence = solve_options_recurrence(s->options);
    const tess_method *other = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solver_require_recurrence(s->head, s->method->kind));
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

tess_status solver_diagonal_has_one_sign(const tess_matrix *a, bool *has)
{
    double *diagonal = NULL, *host = NULL;
    tess_status status = TESS_SUCCESS;

    *has = false;
    TESS_TRY(tess_device_allocate(a->ctx, a->nrows, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(tess_host_allocate(a->ctx, a->nrows, sizeof *host, (void **)&host));
    TESS_TRY(tess_matrix_raw_diagonal(a, diagonal));
    TESS_TRY(a->ctx->backend->download(a->ctx, host, diagonal, (size_t)a->nrows * sizeof *host));
    *has = true;
    for (int64_t i = 0; i < a->nrows && *has; i++) {
        *has = host[0] > 0.0 ? host[i] > 0.0 : host[i] < 0.0;
    }
cleanup:
    tess_device_release(a->ctx, diagonal, a->nrows, sizeof *diagonal);
    tess_host_release(a->ctx, host, a->nrows, sizeof *host);
    return status;
}

static void note_symmetry(method_solver *s, bool symmetric)
{
    s->probed_version = s->original->values_version;
    s->asymmetric = s->method->needs_symmetry && !symmetric;
    if (!s->asymmetric) { return; }
    tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "use --solver bicgstab", "%s needs a %s matrix",
              tess_solver_kind_name(s->method->kind), s->original->is_complex ? "Hermitian" : "symmetric");
    s->asymmetric_error = s->ctx->error;
}

tess_solver_kind method_of_marks(const tess_shell_operator *shell)
{
    if (shell->positive_definite) { return TESS_SOLVER_CG; }
    return shell->symmetric ? TESS_SOLVER_MINRES : TESS_SOLVER_BICGSTAB;
}

static bool varies(const method_solver *s)
{
    const tess_precond *given = s->head->given;
    const tess_precond_options *o = &s->options->precond;

    return given ? given->varies : o->kind == TESS_PRECOND_AMG && o->amg.cycle == TESS_AMG_K;
}

/* AUTO takes CG for a symmetric matrix with a diagonal of one sign, and FGMRES for a preconditioner that varies.
   Without symmetry a method that needs it is refused. */
static tess_status choose_method(method_solver *s)
{
    const tess_matrix *a = s->original;
    tess_solver_kind kind = s->options->solver;
    const tess_method *other = NULL;
    bool symmetric = true, one_sign = false;
    tess_status status = TESS_SUCCESS;

    if (kind == TESS_SOLVER_AUTO && varies(s)) { kind = TESS_SOLVER_FGMRES; }
    s->method = tess_find_method(kind);
    if (s->method && s->method->choose) {
        TESS_TRY(s->method->choose(s, &other));
        if (other) {
            s->method = other;
            note_symmetry(s, true);
            return TESS_SUCCESS;
        }
    }
    if (a->ops && (kind == TESS_SOLVER_AUTO || (s->method && s->method->needs_symmetry))) {
        TESS_TRY(probe_symmetry(a, &symmetric));
    }
    if (kind == TESS_SOLVER_AUTO) {
        if (a->ops && symmetric) { TESS_TRY(solver_diagonal_has_one_sign(a, &one_sign)); }
        kind = a->ops ? one_sign ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB : method_of_marks(&a->shell);
        if (s->head->given && s->head->given->unsymmetric) { kind = TESS_SOLVER_BICGSTAB; }
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

tess_status check_symmetry(method_solver *s)
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

/* Options are checked before; this is one that the caller made. */
static tess_status require_flexible(const method_solver *s)
{
    if (!varies(s) || s->method->kind == TESS_SOLVER_FGMRES) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "use --solver fgmres, or another cycle (--amg-cycle)",
                     "%s needs a linear preconditioner, but a K cycle is another operator in each iteration",
                     tess_solver_kind_name(s->method->kind));
}

static tess_status require_definite(const method_solver *s)
{
    if (!s->method->needs_symmetry || !s->precond || !s->precond->unsymmetric) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "use --solver bicgstab, or fgmres for a saddle point",
                     "%s needs a preconditioner that is positive definite, and %s is not",
                     tess_solver_kind_name(s->method->kind), s->precond->unsymmetric);
}

bool solver_note_precond_failure(method_solver *s, tess_status status)
{
    const bool impossible = status == TESS_SINGULAR || status == TESS_OUT_OF_RANGE;

    if (!impossible && status != TESS_TIMED_OUT) { return false; }
    s->setup_reason = impossible ? TESS_REASON_PRECOND_SETUP : tess_deadline_reason(s->ctx);
    s->setup_error = s->ctx->error;
    s->failed_version = s->original->values_version;
    return true;
}

static tess_status setup_precond(method_solver *s, const tess_precond *given)
{
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    s->precond = given;
    if (s->method->make_precond) {
        status = s->method->make_precond(s, given, &s->own_precond);
    } else if (given || s->options->precond.kind == TESS_PRECOND_NONE) {
        return TESS_SUCCESS;
    } else {
        status = tess_precond_create_renewable(s->original, &s->options->precond, &s->own_precond);
    }
    s->precond = s->own_precond;
    if (status == TESS_SUCCESS) { status = s->ctx->backend->synchronize(s->ctx); }
    s->precond_seconds = tess_wall_seconds() - start;
    return solver_note_precond_failure(s, status) ? TESS_SUCCESS : status;
}

static void release_vectors(method_solver *s)
{
    tess_krylov *k = &s->krylov;

    for (int i = 0; i < s->nvectors; i++) {
        tess_device_release(s->ctx, k->v[i], k->n, tess_precision_bytes(k->vectors));
        k->v[i] = NULL;
    }
}

tess_status solver_change_vectors(method_solver *s, tess_precision precision)
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

tess_status solver_change_precond(method_solver *s, tess_role_precision role)
{
    tess_precond_options options = s->options->precond;
    const tess_role_precision now = s->own_precond ? s->own_precond->role : role;
    tess_precond *made = NULL;
    tess_status status = TESS_SUCCESS;

    if (s->method->make_precond) { return TESS_SUCCESS; } /* it has precisions of its own */
    if (now.storage == role.storage && now.arithmetic == role.arithmetic) { return TESS_SUCCESS; }
    options.role = role;
    if (role.storage == TESS_PRECISION_FP64) { options.block_jacobi.adaptive = 0; }
    status = tess_precond_create_renewable(s->original, &options, &made);
    if (status != TESS_SUCCESS && !solver_note_precond_failure(s, status)) { return status; }
    if (status == TESS_TIMED_OUT) { return TESS_SUCCESS; } /* the present one stays */
    tess_precond_destroy(s->own_precond);
    s->own_precond = made;
    s->precond = made;
    s->krylov.precond = made;
    return TESS_SUCCESS;
}

static tess_status allocate_vectors(method_solver *s)
{
    tess_context *ctx = s->ctx;
    int64_t n = s->original->nrows;
    tess_krylov *k = &s->krylov;
    tess_status status = TESS_SUCCESS;

    k->ctx = ctx;
    k->n = n;
    k->precond = s->precond;
    s->nvectors = s->method->vectors(s->precond);
    TESS_TRY(solver_allocate_history(s->head));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&k->d));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&k->r));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&s->candidate));
    if (s->options->stop_norm == TESS_STOP_NORM_PRECONDITIONED && s->precond) {
        TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&s->mapped));
    }
    if (s->method->low_residual) { TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&s->best)); }
    for (int i = 0; i < s->nvectors; i++) {
        TESS_TRY(tess_device_allocate(ctx, n, tess_precision_bytes(k->vectors), &k->v[i]));
    }
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *k->state, (void **)&k->state));
    TESS_TRY(ctx->backend->zero(ctx, k->state, sizeof *k->state));
    if (s->method->numbers > 0) { TESS_TRY(tess_device_allocate(ctx, 1, s->method->numbers, &k->numbers)); }
    if (s->options->timings && !s->method->run) {
        TESS_TRY(tess_device_allocate(ctx, 1, sizeof *s->clock, (void **)&s->clock));
    }
    status = tess_device_allocate(ctx, s->head->history_capacity, sizeof(double), (void **)&s->history);
cleanup:
    return status;
}

/* The preconditioned norm is that of M^-1 (b - A x), with M as it is applied to FP64 vectors. */
static tess_status check_preconditioned_norm(const method_solver *s)
{
    const bool fits = !s->method->run && !s->method->make_precond && !s->method->low_residual &&
                      s->krylov.vectors == TESS_PRECISION_FP64 && s->precond && s->options->guard == TESS_GUARD_REPAIR;

    if (s->options->stop_norm != TESS_STOP_NORM_PRECONDITIONED || fits) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_UNSUPPORTED,
                     "use --stop-norm rows, or cg, bicgstab, minres, idr or gmres with --precond",
                     "%s with preconditioner %s has no preconditioned norm to stop by",
                     tess_solver_kind_name(s->method->kind), tess_precond_kind_name(s->options->precond.kind));
}

/* The preconditioner of MINRES is positive definite. */
static void settle_saddle(method_solver *s)
{
    tess_saddle_options *saddle = &s->options->precond.saddle;

    if (s->method->kind == TESS_SOLVER_MINRES && saddle->factorization == TESS_SADDLE_AUTO) {
        saddle->factorization = TESS_SADDLE_DIAG;
    }
}

static tess_status setup_plain(method_solver *s, const tess_precond *given)
{
    tess_status status = TESS_SUCCESS;

    s->krylov.extension = tess_find_extension(s->options);
    TESS_TRY(choose_method(s));
    TESS_TRY(require_flexible(s));
    if (s->method->complete_options) { TESS_TRY(s->method->complete_options(s)); }
    settle_saddle(s);
    TESS_TRY(setup_precond(s, given));
    TESS_TRY(require_definite(s));
    TESS_TRY(s->method->setup ? s->method->setup(s) : solver_setup_storage(s));
    TESS_TRY(choose_engine(s));
    if (s->krylov.extension) { TESS_TRY(s->krylov.extension->setup(s)); }
    TESS_TRY(check_preconditioned_norm(s));
    status = allocate_vectors(s);
cleanup:
    return status;
}

/* ---- the table ---- */

static bool takes(const tess_matrix *a, const tess_precond *given, const tess_solve_options *options)
{
    (void)a;
    (void)given;
    (void)options;
    return true;
}

static tess_status setup(tess_solver *head)
{
    method_solver *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(head->ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    head->state = s;
    s->head = head;
    s->ctx = head->ctx;
    s->original = head->original;
    s->options = &head->options;
    if (s->options->precond.kind == TESS_PRECOND_AUTO) { s->options->precond.kind = TESS_PRECOND_NONE; }
    status = setup_plain(s, head->given);
cleanup:
    return status;
}

static void destroy(tess_solver *head)
{
    method_solver *s = method_of(head);
    tess_context *ctx = head->ctx;
    const int64_t n = head->original->nrows;

    if (!s) { return; }
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
    tess_device_release(ctx, s->history, head->history_capacity, sizeof(double));
    null_parts_release(ctx, &s->null);
    tess_precond_destroy(s->own_precond);
    tess_matrix_destroy(s->stored);
    tess_host_release(ctx, s, 1, sizeof *s);
    head->state = NULL;
}

static tess_status solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    return guard_solve(method_of(s), b, x, result);
}

static void describe(const tess_solver *s, tess_solve_result *r)
{
    describe_method(method_of(s), r);
}

static tess_status last_iterate(const tess_solver *s, tess_vector *x)
{
    return method_last_iterate(method_of(s), x);
}

static const tess_precond *precond(const tess_solver *s)
{
    return tess_precond_inmost(method_of(s)->precond);
}

static method_solver *running(const tess_solver *s)
{
    return method_of(s);
}

static tess_status get_iterate(const tess_solver *s, double *x)
{
    return method_get_iterate(method_of(s), x);
}

const tess_solver_ops solver_of_method = {.takes = takes,
                                          .setup = setup,
                                          .destroy = destroy,
                                          .solve = solve,
                                          .describe = describe,
                                          .last_iterate = last_iterate,
                                          .precond = precond,
                                          .running = running,
                                          .get_iterate = get_iterate};
