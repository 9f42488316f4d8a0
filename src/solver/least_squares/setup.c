/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up for least squares: A^T, the Frobenius norm, the norms of columns, storage, vectors. */
#include <math.h>
#include <string.h>

#include "solver/least_squares/least_squares.h"

#include "matrix/assembled.h"
#include "solver/extension.h"

/* ---- norms ---- */

/* Sums of squares are those of values over this power of two, so that they neither overflow nor vanish. */
static int exponent_of(const csr_view *a)
{
    const double *val = a->val;
    double largest = 0.0;
    int exponent = 0;

    for (int64_t k = 0; k < a->nnz; k++) {
        largest = fmax(largest, fabs(val[k]));
    }
    (void)frexp(largest, &exponent);
    return largest > 0.0 && isfinite(largest) ? exponent : 0;
}

/* squares[j] := the sum of the squares of column j over 2^exponent. */
static void square_columns(const csr_view *a, int exponent, double *squares)
{
    const double *val = a->val;

    memset(squares, 0, (size_t)a->ncols * sizeof *squares);
    for (int64_t k = 0; k < a->nnz; k++) {
        const double scaled = ldexp(val[k], -exponent);

        squares[a->col_ind[k]] += scaled * scaled;
    }
}

/* D, which is 1 for a column of zeros. */
static tess_status set_scale(tess_context *ctx, least_squares *own, const csr_view *a, int exponent, double *squares)
{
    double occupied = 0.0;

    for (int64_t j = 0; j < a->ncols; j++) {
        const double norm = ldexp(sqrt(squares[j]), exponent);

        occupied += norm > 0.0 ? 1.0 : 0.0;
        squares[j] = norm > 0.0 && isfinite(1.0 / norm) ? 1.0 / norm : 1.0;
    }
    own->scaled_norm = sqrt(occupied);
    return ctx->backend->upload(ctx, own->scale, squares, (size_t)a->ncols * sizeof *squares);
}

/* A sum of nnz squares in any order has a relative error of at most (nnz + 8) u, its root of half of that. */
static tess_status find_norms(tess_solver *s, const csr_view *a)
{
    least_squares *own = s->state;
    const int exponent = exponent_of(a);
    const double error = ((double)a->nnz + 8.0) * 0x1p-53;
    double *squares = NULL, sum = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, a->ncols, sizeof *squares, (void **)&squares));
    square_columns(a, exponent, squares);
    for (int64_t j = 0; j < a->ncols; j++) {
        sum += squares[j];
    }
    own->norm = own->scaled_norm = ldexp(sqrt(sum), exponent);
    own->norm_least = own->norm * (1.0 - error);
    own->norm_most = own->norm * (1.0 + error);
    if (own->scale) { TESS_TRY(set_scale(s->ctx, own, a, exponent, squares)); }
cleanup:
    tess_host_release(s->ctx, squares, a->ncols, sizeof *squares);
    return status;
}

/* ---- a user's operator ---- */

bool least_squares_of_shell(const tess_solver *s)
{
    return !s->original->ops;
}

/* An operator without a transpose fails for it: better here, for zeros, than within a solve. */
static tess_status probe_transpose(tess_solver *s)
{
    const tess_matrix *a = s->original;
    least_squares *own = s->state;
    int code = 0;
    tess_status status = TESS_SUCCESS;

    own->of_at = TESS_OP_TRANSPOSE;
    TESS_TRY(tess_vector_fill(own->u, 0.0));
    code = a->shell.apply(a->shell.user, TESS_OP_TRANSPOSE, own->u->data, own->product->data);
    if (code != 0) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED,
                         "let apply compute A^T x for TESS_OP_TRANSPOSE, pass an assembled matrix, or for a square "
                         "matrix use --solver gmres",
                         "%s needs the transpose, for which the operator's apply function returned the error %d",
                         tess_solver_kind_name(s->options.solver), code);
    }
cleanup:
    return status;
}

/* ---- the parts that depend on values ---- */

static void release_parts(tess_solver *s)
{
    least_squares *own = s->state;

    tess_matrix_destroy(own->stored);
    tess_matrix_destroy(own->stored_transpose);
    tess_matrix_destroy(own->transpose);
    own->stored = own->stored_transpose = own->transpose = NULL;
    own->values_version = 0;
}

/* A^T in the storage that A got; format auto may have chosen it. */
static tess_status store_transpose(tess_solver *s)
{
    least_squares *own = s->state;
    tess_storage_options o = s->options.storage;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(own->transpose->ops->prepare(own->transpose));
    if (!own->stored) { return TESS_SUCCESS; }
    if (o.format == TESS_FORMAT_AUTO && o.policy.policy == TESS_POLICY_NONE) { o.format = own->stored->format; }
    TESS_TRY(tess_matrix_convert(own->transpose, &o, &own->stored_transpose));
    status = own->stored_transpose->ops->prepare(own->stored_transpose);
cleanup:
    return status;
}

static tess_status build_parts(tess_solver *s)
{
    least_squares *own = s->state;
    tess_host_matrix host = {NULL, NULL, NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_on_host(s->original, &host));
    TESS_TRY(csr_make_transpose(s->ctx, &csr_of(host.matrix)->view, &own->transpose));
    TESS_TRY(find_norms(s, &csr_of(host.matrix)->view));
    TESS_TRY(solver_check_storage(s->original, &s->options.storage));
    TESS_TRY(solver_store_matrix(s->original, &s->options.storage, &own->stored));
    TESS_TRY(store_transpose(s));
    own->values_version = s->original->values_version;
cleanup:
    tess_host_matrix_release(&host);
    if (status != TESS_SUCCESS) { release_parts(s); }
    return status;
}

tess_status least_squares_renew(tess_solver *s)
{
    const least_squares *own = s->state;

    if (least_squares_of_shell(s)) { return TESS_SUCCESS; }
    if (own->transpose && own->values_version == s->original->values_version) { return TESS_SUCCESS; }
    release_parts(s);
    return build_parts(s);
}

/* ---- the whole ---- */

static tess_status check_options(const tess_solver *s)
{
    const tess_solve_options *o = &s->options;
    const char *name = tess_solver_kind_name(s->options.solver);

    if (least_squares_of_shell(s) && o->precond.kind == TESS_PRECOND_JACOBI) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --precond none, or pass an assembled matrix",
                         "%s with jacobi needs the norms of columns, which a user's operator does not give", name);
    }
    return TESS_SUCCESS;
}

static tess_status make_vectors(tess_solver *s)
{
    least_squares *own = s->state;
    const int64_t m = s->original->nrows, n = s->original->ncols;
    tess_vector **const rows[] = {&own->u, &own->residual};
    tess_vector **const columns[] = {&own->v,       &own->w,         &own->extra, &own->step,
                                     &own->product, &own->candidate, &own->zero};
    tess_status status = TESS_SUCCESS;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TESS_TRY(tess_vector_create(s->ctx, m, TESS_PRECISION_FP64, rows[i]));
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        TESS_TRY(tess_vector_create(s->ctx, n, TESS_PRECISION_FP64, columns[i]));
    }
    status = solver_allocate_history(s);
cleanup:
    return status;
}

tess_status least_squares_setup(tess_solver *s)
{
    least_squares *own = NULL;
    tess_status status = TESS_SUCCESS;

    if (s->options.precond.kind == TESS_PRECOND_AUTO) { s->options.precond.kind = TESS_PRECOND_NONE; }
    TESS_TRY(solver_require_recurrence(s, s->options.solver));
    TESS_TRY(solver_require_given_norm(s, tess_solver_kind_name(s->options.solver)));
    TESS_TRY(check_options(s));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *own, (void **)&own));
    memset(own, 0, sizeof *own);
    s->state = own;
    s->options.engine = TESS_ENGINE_PLAIN;
    if (s->options.precond.kind == TESS_PRECOND_JACOBI) {
        TESS_TRY(tess_device_allocate(s->ctx, s->original->ncols, sizeof(double), (void **)&own->scale));
    }
    if (least_squares_of_shell(s)) {
        TESS_TRY(solver_check_storage(s->original, &s->options.storage));
        TESS_TRY(make_vectors(s));
        return probe_transpose(s);
    }
    TESS_TRY(build_parts(s));
    status = make_vectors(s);
cleanup:
    return status;
}

void least_squares_destroy(tess_solver *s)
{
    least_squares *own = s->state;

    if (!own) { return; }
    release_parts(s);
    tess_device_release(s->ctx, own->scale, s->original->ncols, sizeof *own->scale);
    tess_vector_destroy(own->u);
    tess_vector_destroy(own->residual);
    tess_vector_destroy(own->v);
    tess_vector_destroy(own->w);
    tess_vector_destroy(own->extra);
    tess_vector_destroy(own->step);
    tess_vector_destroy(own->product);
    tess_vector_destroy(own->candidate);
    tess_vector_destroy(own->zero);
    tess_host_release(s->ctx, own, 1, sizeof *own);
    s->state = NULL;
}

const tess_matrix *least_squares_matrix(const tess_solver *s)
{
    const least_squares *own = s->state;

    return own->stored ? own->stored : s->original;
}

/* Vectors b, u and residual of length m, x and seven of length n, D. */
static int64_t bytes(const tess_solver *s)
{
    const least_squares *own = s->state;
    const int64_t m = s->original->nrows, n = s->original->ncols;

    return tess_matrix_bytes(own->transpose) + (own->stored_transpose ? tess_matrix_bytes(own->stored_transpose) : 0) +
           (3 * m + 8 * n + (own->scale ? n : 0)) * (int64_t)sizeof(double);
}

void least_squares_describe(const tess_solver *s, tess_solve_result *r)
{
    const least_squares *own = s->state;

    describe_storage(s->original, least_squares_matrix(s), r);
    r->solver = s->options.solver;
    r->engine = TESS_ENGINE_PLAIN;
    r->precond.kind = s->options.precond.kind;
    r->resident_bytes = tess_matrix_bytes(s->original) + (own->stored ? r->storage.matrix_bytes : 0) + bytes(s);
}
