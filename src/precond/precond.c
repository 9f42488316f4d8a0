/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners: set-up, renewal, application. */
#include "precond/precond.h"

#include <string.h>

#include "precond/block_jacobi.h"
#include "precond/incomplete.h"
#include "precond/polynomial.h"
#include "precond/precond_options.h"

void tess_precond_destroy(tess_precond *m)
{
    if (!m) { return; }
    polynomial_destroy(m->polynomial);
    incomplete_destroy(m->incomplete);
    block_jacobi_close(m->ctx, &m->blocks);
    tess_host_release(m->ctx, m, 1, sizeof *m);
}

static tess_status make_precond(tess_context *ctx, tess_precond_kind kind, int64_t n, tess_precond **out)
{
    tess_status status = tess_host_allocate(ctx, 1, sizeof **out, (void **)out);

    if (status != TESS_SUCCESS) { return status; }
    memset(*out, 0, sizeof **out);
    (*out)->ctx = ctx;
    (*out)->kind = kind;
    (*out)->n = n;
    return TESS_SUCCESS;
}

static tess_status compute_inverses(tess_precond *m)
{
    int64_t singular_row = -1;
    tess_status status = block_jacobi_compute(m->matrix, &m->blocks, &singular_row);

    if (status != TESS_SUCCESS) { return status; }
    if (singular_row >= 0) {
        return tess_fail(m->ctx, TESS_SINGULAR, "choose another preconditioner or a larger block",
                         m->blocks.block_size == 1
                             ? "Jacobi: the diagonal entry of row %lld is zero, missing or not finite"
                             : "block Jacobi: the diagonal block with row %lld is singular or not finite",
                         (long long)singular_row + 1);
    }
    m->values_version = m->matrix->values_version;
    return TESS_SUCCESS;
}

static tess_status check_polynomial(const tess_matrix *a, const tess_precond_options *o)
{
    const tess_role_precision role = o->role.given ? o->role : (tess_role_precision){0};
    const bool fp64 = role.storage == TESS_PRECISION_FP64 && role.arithmetic == TESS_ARITHMETIC_FP64;

    if (o->polynomial.degree < 1 || o->polynomial.degree > TESS_MAX_POLYNOMIAL_DEGREE) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "degrees: 1 to 200", "a polynomial of degree %d",
                         o->polynomial.degree);
    }
    if (strcmp(tess_polynomial_form_name(o->polynomial.form), "?") == 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "roots, powers", "form %d of a polynomial",
                         (int)o->polynomial.form);
    }
    if (tess_precision_bytes(role.storage) == 0 ||
        (role.arithmetic != TESS_ARITHMETIC_FP64 && role.arithmetic != TESS_ARITHMETIC_FP32)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "fp64, fp32, bf16, fp16, e4m3, e5m2; arithmetic: fp64, fp32",
                         "a preconditioner in precision %d, arithmetic %d", (int)role.storage, (int)role.arithmetic);
    }
    if (!a->ops && !fp64) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use fp64/fp64", "a polynomial of a shell matrix below fp64");
    }
    return TESS_SUCCESS;
}

static tess_status check_request(const tess_matrix *a, const tess_precond_options *options)
{
    if (a->nrows != a->ncols) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, NULL, "a preconditioner of a matrix of %lld by %lld",
                         (long long)a->nrows, (long long)a->ncols);
    }
    if (a->original) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix", "a preconditioner of a stored matrix");
    }
    if (options->kind < TESS_PRECOND_NONE || options->kind > TESS_PRECOND_IC0) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "preconditioners: none, jacobi, block-jacobi, polynomial, ilu0, ic0",
                         "preconditioner %s cannot be made from a matrix", tess_precond_kind_name(options->kind));
    }
    switch (options->kind) {
    case TESS_PRECOND_NONE: return TESS_SUCCESS;
    case TESS_PRECOND_POLYNOMIAL: return check_polynomial(a, options);
    case TESS_PRECOND_ILU0:
    case TESS_PRECOND_IC0: return incomplete_check(a, options);
    default: return block_jacobi_check(a, options);
    }
}

tess_status tess_precond_create(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    tess_status status = tess_precond_create_renewable(a, options, out);

    if (status != TESS_SUCCESS) {
        tess_precond_destroy(*out);
        *out = NULL;
    }
    return status;
}

static tess_status setup_polynomial(tess_precond *m, const tess_precond_options *options)
{
    const tess_status status = polynomial_create(m->matrix, options, &m->polynomial);

    if (status == TESS_SUCCESS) { m->values_version = m->matrix->values_version; }
    return status;
}

static tess_status setup_incomplete(tess_precond *m, const tess_precond_options *options)
{
    const tess_status status = incomplete_create(m->matrix, options, &m->incomplete);

    if (status == TESS_SUCCESS) { m->values_version = m->matrix->values_version; }
    return status;
}

static tess_status setup_blocks(tess_precond *m, const tess_precond_options *options)
{
    const tess_status status = block_jacobi_open(m->matrix, options, &m->blocks);

    return status == TESS_SUCCESS ? compute_inverses(m) : status;
}

static tess_status setup(tess_precond *m, const tess_precond_options *options)
{
    switch (options->kind) {
    case TESS_PRECOND_NONE: return TESS_SUCCESS;
    case TESS_PRECOND_POLYNOMIAL: return setup_polynomial(m, options);
    case TESS_PRECOND_ILU0:
    case TESS_PRECOND_IC0: return setup_incomplete(m, options);
    default: return setup_blocks(m, options);
    }
}

static tess_status create(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    tess_precond *m = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_request(a, options));
    TESS_TRY(make_precond(a->ctx, options->kind, a->nrows, &m));
    m->matrix = a;
    m->role = options->role;
    status = setup(m, options);
    if (status != TESS_SUCCESS && status != TESS_SINGULAR) { goto cleanup; }
    *out = m;
    return status;
cleanup:
    tess_precond_destroy(m);
    return status;
}

tess_status tess_precond_create_renewable(const tess_matrix *a, const tess_precond_options *options, tess_precond **out)
{
    tess_precond_options taken;
    tess_papers_storage papers;
    const tess_status status = precond_options_take(a->ctx, options, &taken, &papers);

    *out = NULL;
    return status == TESS_SUCCESS ? create(a, &taken, out) : status;
}

tess_status tess_precond_create_shell(tess_context *ctx, int64_t n, const tess_shell_precond *shell, tess_precond **out)
{
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (!shell || !shell->apply) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set tess_shell_precond.apply",
                         "a shell preconditioner without a function");
    }
    status = make_precond(ctx, TESS_PRECOND_SHELL, n, out);
    if (status == TESS_SUCCESS) { (*out)->shell = *shell; }
    return status;
}

tess_status tess_precond_update(tess_precond *m)
{
    tess_status status = TESS_SUCCESS;

    if (!m->matrix || m->values_version == m->matrix->values_version) { return TESS_SUCCESS; }
    if (m->polynomial || m->incomplete) {
        status = m->polynomial ? polynomial_renew(m->polynomial) : incomplete_renew(m->incomplete);
        if (status == TESS_SUCCESS) { m->values_version = m->matrix->values_version; }
        return status;
    }
    return m->blocks.inverse ? compute_inverses(m) : TESS_SUCCESS;
}

uint64_t tess_precond_revision(const tess_precond *m)
{
    if (m && m->incomplete) { return incomplete_revision(m->incomplete); }
    return m && m->polynomial ? m->polynomial->revision : 0;
}

const double *tess_precond_scale(const tess_precond *m)
{
    return m && m->blocks.block_size == 1 && !m->blocks.exponents ? m->blocks.inverse : NULL;
}

bool tess_precond_is_identity(const tess_precond *m)
{
    return !m || m->kind == TESS_PRECOND_NONE;
}

static tess_status apply_shell(const tess_precond *m, tess_precision vectors, const void *r, void *z)
{
    int code = 0;

    if (vectors != TESS_PRECISION_FP64) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "use --inner-precision fp64",
                         "a user's preconditioner of %s vectors", tess_precision_name(vectors));
    }
    code = m->shell.apply(m->shell.user, r, z);
    if (code == 0) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_CALLBACK, NULL, "the preconditioner's apply function returned %d", code);
}

/* The dot products of z, in a pass of their own. */
static tess_status reduce_apart(const tess_precond *m, const double *z, const tess_reduction *reduction)
{
    tess_fused dots = {.op = TESS_FUSED_DOT_TWO, .n = m->n, .step = reduction->step, .state = reduction->state};

    if (reduction->ndots == 0) { return TESS_SUCCESS; }
    dots.in[0] = z;
    dots.in[1] = reduction->with[0];
    dots.in[2] = reduction->with[reduction->ndots - 1];
    if (reduction->ndots == 1) {
        dots.op = TESS_FUSED_DOT;
        dots.x.data = z;
        dots.y.data = reduction->with[0];
    }
    return m->ctx->backend->fused(m->ctx, &dots);
}

tess_status tess_precond_apply_fused(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                                     const tess_reduction *reduction)
{
    tess_status status = TESS_SUCCESS;

    if (m->kind == TESS_PRECOND_SHELL) {
        status = apply_shell(m, vectors, r, z);
    } else if (m->kind == TESS_PRECOND_POLYNOMIAL) {
        status = polynomial_apply(m->polynomial, vectors, r, z, reduction->state);
    } else if (m->incomplete) {
        status = incomplete_apply(m->incomplete, vectors, r, z, reduction->state);
    } else {
        return block_jacobi_ops_of(m->ctx)->apply(m->ctx, &m->blocks, vectors, r, z, reduction);
    }
    return status == TESS_SUCCESS ? reduce_apart(m, z, reduction) : status;
}

tess_status tess_precond_apply(const tess_precond *m, const tess_vector *r, tess_vector *z)
{
    tess_context *ctx = m->ctx;
    tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(ctx, r, m->n, "r"));
    TESS_TRY(tess_vector_require(ctx, z, m->n, "z"));
    if (m->n > 0 && r->data == z->data) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "r and z of a preconditioner are the same array");
    }
    if (tess_precond_is_identity(m)) { return tess_vector_copy(r, z); }
    TESS_TRY(tess_precond_apply_fused(m, TESS_PRECISION_FP64, r->data, z->data, &none));
    status = tess_vector_refresh_shadow(z);
cleanup:
    return status;
}

int64_t tess_precond_bytes(const tess_precond *m)
{
    if (m->polynomial) { return polynomial_bytes(m->polynomial); }
    if (m->incomplete) { return incomplete_bytes(m->incomplete); }
    return block_jacobi_bytes(&m->blocks);
}

void tess_precond_blocks_per_precision(const tess_precond *m, int64_t counts[TESS_MOST_PRECISIONS])
{
    memset(counts, 0, TESS_MOST_PRECISIONS * sizeof *counts);
    memcpy(counts, m->blocks.counts, sizeof m->blocks.counts);
}

tess_status tess_precond_get_factors(const tess_precond *m, tess_precond_factors *out)
{
    if (!m->incomplete) {
        return tess_fail(m->ctx, TESS_UNSUPPORTED, "ilu0 and ic0 have them", "the factors of preconditioner %s",
                         tess_precond_kind_name(m->kind));
    }
    incomplete_describe(m->incomplete, out);
    return TESS_SUCCESS;
}
