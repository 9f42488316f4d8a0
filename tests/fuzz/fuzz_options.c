/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target of the parsers of options, and of what options do to a small matrix. The text is read by each
 * parser; what they accept goes into a preconditioner, an assignment, a stored matrix, time steps and a solve, which
 * succeed or say why not. Bytes after a newline are written over the options' enums and numbers.
 *
 *   bash scripts/fuzz.sh fuzz_options
 */
#include <stdlib.h>
#include <string.h>

#include <tessera/papers.h>
#include <tessera/tessera.h>

enum { N = 6, TEXT = 96 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition) { abort(); }
}

static tess_matrix *make_matrix(tess_context *ctx)
{
    static const int32_t row_ptr[N + 1] = {0, 2, 5, 8, 11, 14, 16};
    static const int32_t col_ind[16] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5};
    static const double val[16] = {4, -1, -1, 4, -1, -1, 4, -1, -1, 4, -1, -1, 4, -1, -1, 4};
    const tess_csr_arrays arrays = {.size = sizeof arrays,
                                    .nrows = N,
                                    .ncols = N,
                                    .nnz = 16,
                                    .row_ptr = row_ptr,
                                    .col_ind = col_ind,
                                    .val = val,
                                    .row_ptr_bits = 32,
                                    .col_ind_bits = 32};
    tess_matrix *a = NULL;

    require(tess_matrix_create_csr(ctx, &arrays, &a) == TESS_SUCCESS);
    return a;
}

static void check(const tess_context *ctx, tess_status status)
{
    require(status == TESS_SUCCESS || tess_context_last_error(ctx)->message[0] != '\0');
}

/* Overwrites a field with the next byte, seldom out of range. */
#define NEXT(field)                                 \
    do {                                            \
        if (size > 0) {                             \
            const int value_ = *data++;             \
                                                    \
            memcpy(&(field), &value_, sizeof(int)); \
            size--;                                 \
        }                                           \
    } while (0)

static void set_options(const uint8_t *data, size_t size, tess_solve_options *o)
{
    NEXT(o->solver);
    NEXT(o->precond.kind);
    NEXT(o->storage.format);
    NEXT(o->storage.precision);
    NEXT(o->scale);
    NEXT(o->reorder);
    NEXT(o->guard);
    NEXT(o->engine);
    NEXT(o->cg.recurrence);
    NEXT(o->gmres.restart);
    NEXT(o->gmres.orthogonalization);
    NEXT(o->gmres.inner.given);
    NEXT(o->gmres.inner.storage);
    NEXT(o->gmres.inner.arithmetic);
    NEXT(o->gmres.basis.given);
    NEXT(o->gmres.basis.storage);
    NEXT(o->precond.role.given);
    NEXT(o->precond.role.storage);
    NEXT(o->precond.role.arithmetic);
    NEXT(o->precond.incomplete.triangular);
    NEXT(o->precond.polynomial.form);
    NEXT(o->storage.policy.granularity);
    NEXT(o->storage.split.base);
    NEXT(o->storage.split.row_order);
    NEXT(o->idr.s);
    NEXT(o->jacobi.schedule.count);
}

static void solve(tess_context *ctx, const tess_matrix *a, const tess_solve_options *o)
{
    tess_vector *b = NULL, *x = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = TESS_SUCCESS;

    tess_solve_result_init(&result);
    require(tess_vector_create(ctx, N, TESS_PRECISION_FP64, &b) == TESS_SUCCESS);
    require(tess_vector_create(ctx, N, TESS_PRECISION_FP64, &x) == TESS_SUCCESS);
    require(tess_vector_fill(b, 1.0) == TESS_SUCCESS);
    status = tess_solver_create(a, o, &solver);
    check(ctx, status);
    require((status == TESS_SUCCESS) == (solver != NULL));
    if (solver) {
        status = tess_solver_solve(solver, b, x, &result);
        check(ctx, status);
        require(status != TESS_SUCCESS || !result.verified || result.residual_norm <= result.tolerance);
    }
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
}

/* Each parser alone: what it accepts is used. */
static void use_text(tess_context *ctx, const tess_matrix *a, const char *text, tess_solve_options *o)
{
    tess_timestep_options steps;
    tess_assignment *assignment = NULL;
    tess_matrix *stored = NULL;
    tess_precond *m = NULL;
    tess_timestep *ts = NULL;
    tess_role_precision role;

    tess_timestep_options_init(&steps);
    (void)tess_precond_options_parse(text, &o->precond);
    (void)tess_policy_options_parse(text, &o->storage.policy);
    (void)tess_precision_levels_parse(text, &o->storage.policy);
    (void)tess_schedule_parse(text, &o->jacobi.schedule);
    (void)tess_schedule_parse(text, &steps.schedule);
    if (tess_role_precision_parse(text, &role) == TESS_SUCCESS) { o->precond.role = role; }
    (void)tess_solver_kind_parse(text, &o->solver);
    (void)tess_format_parse(text, &o->storage.format);
    check(ctx, tess_precond_create(a, &o->precond, &m));
    check(ctx, tess_assignment_create(a, &o->storage.policy, &assignment));
    check(ctx, tess_matrix_convert(a, &o->storage, &stored));
    check(ctx, tess_timestep_create(a, &steps, &ts));
    tess_precond_destroy(m);
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(stored);
    tess_timestep_destroy(ts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    const size_t length = newline ? (size_t)(newline - data) : size;
    tess_context_options options;
    tess_solve_options o;
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    char text[TEXT] = "";

    memcpy(text, data, length < TEXT - 1 ? length : TEXT - 1);
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    require(tess_context_create(&options, &ctx) == TESS_SUCCESS);
    a = make_matrix(ctx);
    tess_solve_options_init(&o);
    o.max_iterations = 60;
    o.history_capacity = 10;
    use_text(ctx, a, text, &o);
    if (newline) { set_options(newline + 1, size - length - 1, &o); }
    solve(ctx, a, &o);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return 0;
}
