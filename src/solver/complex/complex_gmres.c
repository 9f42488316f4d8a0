/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES with right preconditioning (Saad 2003, Algorithm 9.5), and its flexible variant, in complex scalars:
 * a cycle is one of GMRES, orthogonalised by two passes of classical Gram-Schmidt. A pass over the basis is a product
 * of two real columns: V^H w = V^T (w, -i w), and V h = V re(h) + i V im(h). The basis is in FP64, and the small
 * problem is the host's.
 */
#include <math.h>
#include <string.h>

#include <tessera/dense.h>

#include "dense/vector.h"
#include "device/iteration_end.h"
#include "solver/complex/choice.h"
#include "solver/complex/complex_method.h"
#include "solver/gmres/gmres.h"

enum { PRECONDITIONED };
enum { COLUMN_UNIT = 256 }; /* columns begin at multiples of this many values */
/* The rest of a product below this share of it is rounding error: the space is invariant. */
#define ROUNDOFFS 0x1p-50

typedef struct complex_gmres {
    int most; /* vectors of a cycle */
    int last; /* columns of the triangle */
    int64_t ld;
    double *basis;                    /* on the device: ld by most + 1 */
    double *preconditioned;           /* flexible: ld by most; else NULL */
    double *two, *sums;               /* ld by 2: w and -i w, or a combination's parts */
    double *coefficients;             /* on the device: most + 1 by 2 */
    double *host;                     /* the same on the host */
    double complex *h, *r, *sine, *g; /* most + 1; packed columns of the triangle; most + 1 each */
    double *cosine;
} complex_gmres;

static complex_gmres *own_of(const tess_krylov *k)
{
    return k->own;
}

static int vectors(const tess_precond *m)
{
    (void)m;
    return 1;
}

/* ---- set-up ---- */

static int64_t triangle(const complex_gmres *g)
{
    return (int64_t)g->most * (g->most + 1) / 2;
}

static tess_status allocate_host(tess_context *ctx, complex_gmres *g)
{
    const int64_t count = g->most + 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 2 * count, sizeof *g->host, (void **)&g->host));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *g->h, (void **)&g->h));
    TESS_TRY(tess_host_allocate(ctx, triangle(g), sizeof *g->r, (void **)&g->r));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *g->sine, (void **)&g->sine));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *g->g, (void **)&g->g));
    status = tess_host_allocate(ctx, count, sizeof *g->cosine, (void **)&g->cosine);
cleanup:
    return status;
}

static tess_status setup(method_solver *s)
{
    tess_context *ctx = s->ctx;
    const int64_t n = s->original->nrows, restart = s->options->gmres.restart;
    const int64_t most = n / 2 < restart ? n / 2 : restart;
    complex_gmres *g = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solver_setup_storage(s));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    s->own = g;
    s->krylov.own = g;
    g->most = (int)(most < 1 ? 1 : most);
    g->ld = (n + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT;
    TESS_TRY(allocate_host(ctx, g));
    TESS_TRY(tess_device_allocate(ctx, g->ld * (g->most + 1), sizeof *g->basis, (void **)&g->basis));
    TESS_TRY(tess_device_allocate(ctx, 2 * g->ld, sizeof *g->two, (void **)&g->two));
    TESS_TRY(tess_device_allocate(ctx, 2 * g->ld, sizeof *g->sums, (void **)&g->sums));
    TESS_TRY(tess_device_allocate(ctx, 2 * (g->most + 1), sizeof *g->coefficients, (void **)&g->coefficients));
    if (s->method->kind == TESS_SOLVER_FGMRES && !tess_precond_is_identity(s->precond)) {
        status = tess_device_allocate(ctx, g->ld * g->most, sizeof *g->preconditioned, (void **)&g->preconditioned);
    }
cleanup:
    return status;
}

static void destroy(method_solver *s)
{
    tess_context *ctx = s->ctx;
    complex_gmres *g = s->own;

    if (!g) { return; }
    tess_device_release(ctx, g->basis, g->ld * (g->most + 1), sizeof *g->basis);
    tess_device_release(ctx, g->preconditioned, g->ld * g->most, sizeof *g->preconditioned);
    tess_device_release(ctx, g->two, 2 * g->ld, sizeof *g->two);
    tess_device_release(ctx, g->sums, 2 * g->ld, sizeof *g->sums);
    tess_device_release(ctx, g->coefficients, 2 * (g->most + 1), sizeof *g->coefficients);
    tess_host_release(ctx, g->host, 2 * (g->most + 1), sizeof *g->host);
    tess_host_release(ctx, g->h, g->most + 1, sizeof *g->h);
    tess_host_release(ctx, g->r, triangle(g), sizeof *g->r);
    tess_host_release(ctx, g->sine, g->most + 1, sizeof *g->sine);
    tess_host_release(ctx, g->g, g->most + 1, sizeof *g->g);
    tess_host_release(ctx, g->cosine, g->most + 1, sizeof *g->cosine);
    tess_host_release(ctx, g, 1, sizeof *g);
    s->own = NULL;
}

static int64_t bytes(const method_solver *s)
{
    const complex_gmres *g = s->own;
    const int64_t columns = g->most + 5 + (g->preconditioned ? g->most : 0);

    return (g->ld * columns + 2 * (g->most + 1)) * (int64_t)sizeof(double);
}

static void describe(const method_solver *s, tess_solve_result *r)
{
    r->gmres.inner = s->options->gmres.inner;
    r->gmres.basis = s->options->gmres.basis;
}

/* Vectors are in FP64, whatever else the library would take for a matrix of this size. */
static tess_status complete_options(method_solver *s)
{
    s->options->gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    return gmres_complete_options(s);
}

/* ---- passes over the basis ---- */

static tess_dense_view view_of(double *data, int64_t nrows, int64_t ncols, int64_t ld)
{
    return (tess_dense_view){.nrows = nrows, .ncols = ncols, .ld = ld, .precision = TESS_PRECISION_FP64, .data = data};
}

/* host := V^H w of `count` columns; w is the first column of `two`. */
static tess_status project(const tess_krylov *k, int count)
{
    complex_gmres *g = own_of(k);
    const tess_dense_view v = view_of(g->basis, k->n, count, g->ld), two = view_of(g->two, k->n, 2, g->ld);
    const tess_dense_view h = view_of(g->coefficients, count, 2, g->most + 1);
    const pair_combination turned = {
        .n = k->n / 2, .count = 1, .factor = {{0.0, -1.0}}, .x = {g->two}, .y = g->two + g->ld};
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(k->ctx, TESS_PHASE_GEMV_T);
    TESS_TRY(pairs_ops_of(k->ctx)->combine(k->ctx, &turned));
    TESS_TRY(tess_gemv(k->ctx, TESS_OP_TRANSPOSE, 1.0, &v, &two, 0.0, &h, TESS_ARITHMETIC_FP64));
    status = k->ctx->backend->download(k->ctx, g->host, g->coefficients, (size_t)(2 * (g->most + 1)) * sizeof *g->host);
cleanup:
    return status;
}

/* y := a y + b V c, where `host` has c. */
static tess_status combine(const tess_krylov *k, double *columns, int count, double a, double b, double *y)
{
    complex_gmres *g = own_of(k);
    const tess_dense_view v = view_of(columns, k->n, count, g->ld), sums = view_of(g->sums, k->n, 2, g->ld);
    const tess_dense_view c = view_of(g->coefficients, count, 2, g->most + 1);
    const pair_combination joined = {.n = k->n / 2,
                                     .count = a == 0.0 ? 2 : 3,
                                     .factor = {{b, 0.0}, {0.0, b}, {a, 0.0}},
                                     .x = {g->sums, g->sums + g->ld, y},
                                     .y = y};
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(k->ctx, TESS_PHASE_GEMV_N);
    TESS_TRY(k->ctx->backend->upload(k->ctx, g->coefficients, g->host, (size_t)(2 * (g->most + 1)) * sizeof *g->host));
    TESS_TRY(tess_gemv(k->ctx, TESS_OP_NONE, 1.0, &v, &c, 0.0, &sums, TESS_ARITHMETIC_FP64));
    status = pairs_ops_of(k->ctx)->combine(k->ctx, &joined);
cleanup:
    return status;
}

static tess_status norm_of(const tess_krylov *k, double *x, double *norm)
{
    const tess_vector view = {.ctx = k->ctx, .n = k->n, .precision = TESS_PRECISION_FP64, .data = x};

    tess_enter_phase(k->ctx, TESS_PHASE_NORM);
    return tess_vector_norm2(&view, TESS_ARITHMETIC_FP64, norm);
}

/* y := x / divisor */
static tess_status divide(const tess_krylov *k, const double *x, double divisor, double *y)
{
    const pair_combination scaled = {.n = k->n / 2, .count = 1, .factor = {{1.0 / divisor, 0.0}}, .x = {x}, .y = y};

    tess_enter_phase(k->ctx, TESS_PHASE_OTHER);
    return pairs_ops_of(k->ctx)->combine(k->ctx, &scaled);
}

/* ---- a cycle ---- */

static tess_status start(tess_krylov *k)
{
    complex_gmres *g = own_of(k);
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    g->last = 0;
    memset(g->host, 0, (size_t)(2 * (g->most + 1)) * sizeof *g->host);
    TESS_TRY(norm_of(k, k->r, &norm));
    g->g[0] = norm;
    if (norm > 0.0) { status = divide(k, k->r, norm, g->basis); }
cleanup:
    return status;
}

/* w loses its parts along the basis, which go into h. Norms before and after. */
static tess_status orthogonalize(const tess_krylov *k, double *whole, double *norm)
{
    complex_gmres *g = own_of(k);
    const int count = g->last + 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(norm_of(k, g->two, whole));
    for (int pass = 0; pass < 2; pass++) {
        TESS_TRY(project(k, count));
        for (int i = 0; i < count; i++) {
            const double complex part = complex_number(g->host[i], g->host[g->most + 1 + i]);

            g->h[i] = pass == 0 ? part : g->h[i] + part;
        }
        TESS_TRY(combine(k, g->basis, count, 1.0, -1.0, g->two));
    }
    status = norm_of(k, g->two, norm);
cleanup:
    return status;
}

/* Closes a column: rotations (Golub and Van Loan, Matrix Computations, 4th ed., 5.1.13) and the residual's norm. False:
   the column adds nothing, and is left out. */
static bool close_column(complex_gmres *g, double next, double least)
{
    const int j = g->last;
    double complex *column = g->r + (int64_t)j * (j + 1) / 2;
    double size = 0.0, length = 0.0;

    for (int i = 0; i < j; i++) {
        const double complex above = g->h[i], below = g->h[i + 1];

        g->h[i] = g->cosine[i] * above + g->sine[i] * below;
        g->h[i + 1] = g->cosine[i] * below - conj(g->sine[i]) * above;
    }
    size = cabs(g->h[j]);
    length = scalar_length(size, next);
    if (length <= least) { return false; }
    g->cosine[j] = size / length;
    g->sine[j] = size > 0.0 ? g->h[j] / size * (next / length) : 1.0;
    g->h[j] = size > 0.0 ? g->h[j] / size * length : length;
    memcpy(column, g->h, (size_t)(j + 1) * sizeof *column);
    g->g[j + 1] = -conj(g->sine[j]) * g->g[j];
    g->g[j] *= g->cosine[j];
    g->last = j + 1;
    return true;
}

static tess_status end_iteration(const tess_krylov *k, double whole, double norm)
{
    complex_gmres *g = own_of(k);

    if (!scalar_is_finite(whole) || !scalar_is_finite(norm)) { return krylov_stop(k, TESS_REASON_NAN_OR_INF); }
    if (!close_column(g, norm, ROUNDOFFS * whole)) { return krylov_stop(k, TESS_REASON_BREAKDOWN); }
    return complex_end_iteration(k, cabs(g->g[g->last]), TESS_REASON_RUNNING);
}

static tess_status iterate(void *krylov)
{
    tess_krylov *k = krylov;
    complex_gmres *g = own_of(k);
    double *const newest = g->basis + g->last * g->ld;
    double *z = newest, whole = 0.0, norm = 0.0;
    bool runs = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(complex_runs(k, &runs));
    if (!runs) { return TESS_SUCCESS; }
    k->iterated += 1;
    if (!tess_precond_is_identity(k->precond)) {
        z = g->preconditioned ? g->preconditioned + g->last * g->ld : k->v[PRECONDITIONED];
        TESS_TRY(complex_precondition(k, newest, z));
    }
    TESS_TRY(krylov_spmv(k, z, g->two, (tess_reduction){0}));
    TESS_TRY(orthogonalize(k, &whole, &norm));
    if (norm <= ROUNDOFFS * whole) { norm = 0.0; }
    TESS_TRY(end_iteration(k, whole, norm));
    TESS_TRY(complex_runs(k, &runs));
    if (runs && g->last == g->most) { return krylov_stop(k, TESS_REASON_RUNNING); }
    if (runs && norm > 0.0) { status = divide(k, g->two, norm, newest + g->ld); }
cleanup:
    return status;
}

/* d = Z y, or M^-1 V y, with the y that minimises the residual. */
static tess_status finish(tess_krylov *k)
{
    complex_gmres *g = own_of(k);
    const bool plain = tess_precond_is_identity(k->precond) || g->preconditioned;
    double *const to = plain ? k->d : g->two;
    tess_status status = TESS_SUCCESS;

    if (g->last == 0) { return k->ctx->backend->zero(k->ctx, k->d, (size_t)k->n * sizeof(double)); }
    for (int i = g->last - 1; i >= 0; i--) {
        double complex sum = g->g[i];

        for (int j = i + 1; j < g->last; j++) {
            sum -= g->r[(int64_t)j * (j + 1) / 2 + i] * complex_number(g->host[j], g->host[g->most + 1 + j]);
        }
        sum /= g->r[(int64_t)i * (i + 1) / 2 + i];
        g->host[i] = creal(sum);
        g->host[g->most + 1 + i] = cimag(sum);
    }
    TESS_TRY(combine(k, g->preconditioned ? g->preconditioned : g->basis, g->last, 0.0, 1.0, to));
    if (plain) { return TESS_SUCCESS; }
    /* the loop has ended, so that its own passes do not run */
    status = tess_precond_apply_fused(k->precond, TESS_PRECISION_FP64, g->two, k->d, &(tess_reduction){0});
cleanup:
    return status;
}

#define COMPLEX_GMRES                                                                                    \
    .counts_iterations = true, .vectors = vectors, .complete_options = complete_options, .setup = setup, \
    .destroy = destroy, .bytes = bytes, .describe = describe, .start = start, .iterate = iterate, .finish = finish

const tess_method complex_gmres_method = {.kind = TESS_SOLVER_GMRES, COMPLEX_GMRES};
const tess_method complex_fgmres_method = {.kind = TESS_SOLVER_FGMRES, COMPLEX_GMRES};

/* ---- the choice ---- */

/* A basis and inner vectors in FP64 alone. */
static bool is_in_fp64(const tess_solve_options *o)
{
    const tess_role_precision *inner = &o->gmres.inner;

    return gmres_basis_precision(o) == TESS_PRECISION_FP64 &&
           !(inner->given && (inner->storage != TESS_PRECISION_FP64 || inner->arithmetic != TESS_ARITHMETIC_FP64));
}

/* Whether M (i v) = i (M v), as scalars need that are complex: what chooses entries one by one in the real form, drops
   them or splits rows tells re from im. FGMRES takes a preconditioner that is another each time. */
static bool is_complex_linear(const tess_precond_options *o)
{
    const tess_incomplete_options *factors = &o->incomplete;
    const tess_amg_options *amg = &o->amg;

    switch (o->kind) {
    case TESS_PRECOND_FSAI:
    case TESS_PRECOND_ISAI:
    case TESS_PRECOND_ILUT:
    case TESS_PRECOND_ICT: return false;
    case TESS_PRECOND_BLOCK_JACOBI: return o->block_jacobi.block_size % 2 == 0;
    case TESS_PRECOND_ILU0:
    case TESS_PRECOND_IC0:
    case TESS_PRECOND_ILUK:
        return factors->factorization != TESS_FACTORIZATION_SWEEPS && factors->triangular != TESS_TRIANGULAR_SWEEPS &&
               factors->triangular != TESS_TRIANGULAR_COLORS;
    case TESS_PRECOND_AMG:
        return amg->coarsening != TESS_AMG_CLASSICAL && amg->smoother != TESS_AMG_FSAI &&
               amg->smoother != TESS_AMG_FC_JACOBI && amg->restriction != TESS_AMG_RESTRICTION_AIR && amg->modes == 0 &&
               !amg->near_nullspace && amg->split != TESS_AMG_SPLIT_RUGE_STUEBEN;
    default: return true;
    }
}

const tess_method *complex_method_of(const tess_matrix *a, const tess_solve_options *o)
{
    const bool linear = is_complex_linear(&o->precond);

    if (!a->is_complex) { return NULL; }
    switch (o->solver) {
    case TESS_SOLVER_BICGSTAB: return linear ? &complex_bicgstab_method : NULL;
    case TESS_SOLVER_GMRES: return linear && is_in_fp64(o) ? &complex_gmres_method : NULL;
    case TESS_SOLVER_FGMRES: return is_in_fp64(o) ? &complex_fgmres_method : NULL;
    default: return NULL;
    }
}

tess_status complex_choose(const method_solver *s, const tess_method **other)
{
    *other = complex_method_of(s->original, s->options);
    return TESS_SUCCESS;
}
