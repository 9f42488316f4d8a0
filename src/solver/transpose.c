/* SPDX-License-Identifier: Apache-2.0 */
/* A^T x = b: a solver of the same options for the transposed matrix, made at the first such solve and kept. */
#include <string.h>

#include "matrix/assembled.h"
#include "solver/solver.h"

struct solver_transposed {
    tess_matrix *matrix;     /* A^T */
    uint64_t values_version; /* of A's values in it */
    tess_solver *solver;
};

/* ---- A^T ---- */

/* Of a shell A^T has the same function, which gets the other operation; `user` is A, which the solver holds. */
static int apply_transposed(void *user, tess_operation operation, const double *x, double *y)
{
    const tess_shell_operator *shell = &((const tess_matrix *)user)->shell;

    return shell->apply(shell->user, operation == TESS_OP_NONE ? TESS_OP_TRANSPOSE : TESS_OP_NONE, x, y);
}

static int same_diagonal(void *user, double *diagonal)
{
    const tess_shell_operator *shell = &((const tess_matrix *)user)->shell;

    return shell->diagonal(shell->user, diagonal);
}

static tess_status transpose_shell(const tess_matrix *a, tess_matrix **out)
{
    const tess_shell_operator shell = {.apply = apply_transposed,
                                       .diagonal = a->shell.diagonal ? same_diagonal : NULL,
                                       .user = (void *)(uintptr_t)a,
                                       .symmetric = a->shell.symmetric,
                                       .positive_definite = a->shell.positive_definite};

    return tess_matrix_create_shell(a->ctx, a->ncols, a->nrows, &shell, out);
}

/* Makes A^T, or renews its values. */
static tess_status update_matrix(const tess_matrix *a, solver_transposed *t)
{
    tess_host_matrix host = {NULL, NULL, NULL};
    tess_status status = TESS_SUCCESS;

    if (t->matrix && t->values_version == a->values_version) { return TESS_SUCCESS; }
    if (!a->ops) {
        TESS_TRY(transpose_shell(a, &t->matrix));
    } else {
        TESS_TRY(tess_matrix_on_host(a, &host));
        TESS_TRY(t->matrix ? csr_renew_transpose(a->ctx, &csr_of(host.matrix)->view, t->matrix)
                           : csr_make_transpose(a->ctx, &csr_of(host.matrix)->view, &t->matrix));
    }
    t->values_version = a->values_version;
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

/* ---- its solver ---- */

static tess_status make_solver(const tess_solver *s, solver_transposed *t)
{
    tess_solve_options options = s->options;

    options.precond.amg.near_nullspace = NULL; /* the caller's, of A */
    options.precond.amg.near_nullspace_columns = 0;
    return solver_make(t->matrix, NULL, &options, &t->solver);
}

static tess_status setup_transposed(tess_solver *s)
{
    solver_transposed *t = s->transposed;
    tess_status status = TESS_SUCCESS;

    if (s->given) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "make a solver from the transposed matrix and its preconditioner",
                         "a solve with A^T cannot use the caller's preconditioner, which is one of A");
    }
    if (!t) {
        TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *t, (void **)&t));
        memset(t, 0, sizeof *t);
        s->transposed = t;
    }
    TESS_TRY(update_matrix(s->original, t));
    status = t->solver ? tess_solver_set_limits(t->solver, &s->options) : make_solver(s, t);
cleanup:
    return status;
}

void solver_transposed_destroy(tess_solver *s)
{
    solver_transposed *t = s->transposed;

    if (!t) { return; }
    tess_solver_destroy(t->solver);
    tess_matrix_destroy(t->matrix);
    tess_host_release(s->ctx, t, 1, sizeof *t);
    s->transposed = NULL;
}

tess_status tess_solver_solve_transpose(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, b);
    TESS_REQUIRE(s->ctx, x);
    TESS_REQUIRE(s->ctx, result);
    tess_status status = solver_require_idle(s);

    if (status == TESS_SUCCESS) { status = setup_transposed(s); }
    if (status != TESS_SUCCESS) { return status; }
    s->solving = true; /* its monitor may not change this solver, nor free it before the end */
    status = tess_solver_solve(s->transposed->solver, b, x, result);
    s->solving = false;
    if (s->abandoned) { tess_solver_destroy(s); }
    return status;
}
