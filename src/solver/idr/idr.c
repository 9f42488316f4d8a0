/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDR(s) with biorthogonalization (van Gijzen and Sonneveld, Algorithm 913, ACM Trans. Math. Softw. 38 (2011), Figure
 * 1), with right preconditioning. Residuals are forced into spaces of shrinking dimension, each the image of the one
 * before, orthogonal to s fixed vectors P. A turn is s steps within a space and one into the next. Each step is a
 * product with A, and counts as an iteration.
 *
 * The s by s system is the host's: a step waits for s inner products. They come from one pass, P^T g, from which
 * the coefficients of the biorthogonalization follow by the triangle M = P^T G.
 */
#include <math.h>
#include <string.h>

#include <tessera/dense.h>
#include <tessera/names.h>

#include "dense/vector.h"
#include "device/iteration_end.h"
#include "solver/idr/idr.h"

enum { V, PRODUCT }; /* M^-1 (r - G c), and A times that at the end of a turn */
enum { MOST = IDR_MOST };
/* Columns begin at multiples of this many values, so that passes may read them 16 bytes at a time. */
enum { COLUMN_UNIT = 2 };
/* In krylov.numbers: coefficients of the pass that ends a step; of combinations; inner products. */
enum { ADVANCE = 0, COEFFICIENTS = 4, PRODUCTS = COEFFICIENTS + MOST, NUMBERS = PRODUCTS + MOST };
/* The angle between A v and r: below this cosine omega is enlarged (Sleijpen and van der Vorst 1995). */
#define KAPPA 0.7

static tess_idr *idr_of(const tess_krylov *k)
{
    return k->own;
}

static double *column(const tess_krylov *k, int block, int j)
{
    const tess_idr *idr = idr_of(k);

    return idr->blocks + idr->ld * (block * idr->s + j);
}

static int idr_vectors(const tess_precond *m)
{
    (void)m;
    return 2;
}

/* ---- set-up ---- */

static int64_t block_values(const tess_idr *idr)
{
    return BLOCKS * idr->ld * idr->s;
}

static tess_status complete_options(method_solver *s)
{
    if (s->options->idr.s >= 1 && s->options->idr.s <= MOST) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "give 1 to 64; the default is 4", "IDR(s) cannot have s = %s",
                     tess_count(s->options->idr.s, "vector").text);
}

static tess_status setup(method_solver *s)
{
    const int64_t n = s->original->nrows;
    tess_idr *idr = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solver_setup_storage(s));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *idr, (void **)&idr));
    memset(idr, 0, sizeof *idr);
    s->own = idr;
    s->krylov.own = idr;
    idr->s = (int)(n < 1 ? 1 : n < s->options->idr.s ? n : s->options->idr.s);
    idr->ld = (n + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT;
    idr->shadow = -1;
    status = tess_device_allocate(s->ctx, block_values(idr), sizeof *idr->blocks, (void **)&idr->blocks);
cleanup:
    return status;
}

static void destroy(method_solver *s)
{
    tess_idr *idr = s->own;

    if (!idr) { return; }
    tess_device_release(s->ctx, idr->blocks, block_values(idr), sizeof *idr->blocks);
    tess_host_release(s->ctx, idr, 1, sizeof *idr);
    s->own = NULL;
}

static int64_t bytes(const method_solver *s)
{
    return block_values(s->own) * (int64_t)sizeof(double);
}

/* ---- vectors ---- */

static tess_status axpy(const tess_krylov *k, double a, const double *x, double *y)
{
    return krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_AXPBY, .x = {.data = x}, .y = {.data = y}, .result = y, .a = a, .b = 1.0});
}

/* (x, y) and (x, z), on the host. */
static tess_status two_dots(const tess_krylov *k, const double *x, const double *y, const double *z, double dots[2])
{
    tess_fused op = {.op = TESS_FUSED_DOT_TWO, .n = k->n, .in = {x, y, z}};

    tess_enter_phase(k->ctx, TESS_PHASE_NORM);
    return tess_fused_dots(k->ctx, &op, 2, dots);
}

/* Columns `first` and later of a block. */
static tess_dense_view columns_from(const tess_krylov *k, int block, int first)
{
    const tess_idr *idr = idr_of(k);

    return (tess_dense_view){.nrows = k->n,
                             .ncols = idr->s - first,
                             .ld = idr->ld,
                             .precision = TESS_PRECISION_FP64,
                             .data = column(k, block, first)};
}

static tess_dense_view vector_view(double *data, int64_t n)
{
    return (tess_dense_view){.nrows = n, .ncols = 1, .ld = n, .precision = TESS_PRECISION_FP64, .data = data};
}

/* products := P^T x */
static tess_status project(const tess_krylov *k, double *x, double *products)
{
    double *device = (double *)k->numbers + PRODUCTS;
    const int s = idr_of(k)->s;
    const tess_dense_view p = columns_from(k, SHADOW, 0), view = vector_view(x, k->n), y = vector_view(device, s);
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(k->ctx, TESS_PHASE_GEMV_T);
    TESS_TRY(tess_gemv(k->ctx, TESS_OP_TRANSPOSE, 1.0, &p, &view, 0.0, &y, TESS_ARITHMETIC_FP64));
    status = k->ctx->backend->download(k->ctx, products, device, (size_t)s * sizeof *products);
cleanup:
    return status;
}

/* y := alpha (columns `first` and later of the block) c + beta y; c has been uploaded. */
static tess_status combine(const tess_krylov *k, int block, int first, double alpha, double beta, double *y)
{
    const tess_dense_view a = columns_from(k, block, first),
                          c = vector_view((double *)k->numbers + COEFFICIENTS + first, a.ncols),
                          view = vector_view(y, k->n);

    tess_enter_phase(k->ctx, TESS_PHASE_GEMV_N);
    return tess_gemv(k->ctx, TESS_OP_NONE, alpha, &a, &c, beta, &view, TESS_ARITHMETIC_FP64);
}

static tess_status upload(const tess_krylov *k, int at, const double *values, int count)
{
    return k->ctx->backend->upload(k->ctx, (double *)k->numbers + at, values, (size_t)count * sizeof *values);
}

/* ---- a cycle ---- */

/* Random vectors with a fixed seed, made orthonormal. Another attempt has others. */
static tess_status make_shadow(const tess_krylov *k)
{
    tess_idr *idr = idr_of(k);
    tess_status status = TESS_SUCCESS;

    if (idr->shadow == k->attempt) { return TESS_SUCCESS; }
    idr->shadow = -1;
    for (int j = 0; j < idr->s; j++) {
        double *p = column(k, SHADOW, j), dots[2];
        tess_fused scale = {.op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = p}, .result = p};

        TESS_TRY(k->ctx->backend->random(k->ctx, k->n, (uint64_t)(k->attempt * MOST + j + 1), -1.0, 1.0, p));
        for (int i = 0; i < j; i++) {
            TESS_TRY(two_dots(k, p, column(k, SHADOW, i), p, dots));
            TESS_TRY(axpy(k, -dots[0], column(k, SHADOW, i), p));
        }
        TESS_TRY(two_dots(k, p, p, p, dots));
        scale.a = dots[0] > 0.0 ? 1.0 / sqrt(dots[0]) : 0.0;
        TESS_TRY(k->ctx->backend->fused(k->ctx, &scale));
    }
    idr->shadow = k->attempt;
cleanup:
    return status;
}

/* G = U = 0, M = I, omega = 1. */
static tess_status start_idr(tess_krylov *k)
{
    tess_idr *idr = idr_of(k);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_shadow(k));
    TESS_TRY(k->ctx->backend->zero(k->ctx, column(k, G, 0), (size_t)(idr->ld * idr->s) * 2 * sizeof(double)));
    memset(idr->m, 0, sizeof idr->m);
    for (int i = 0; i < idr->s; i++) {
        idr->m[i][i] = 1.0;
    }
    idr->omega = 1.0;
cleanup:
    return status;
}

/* d += step u, r -= step g; ||r|| ends the iteration. */
static tess_status advance(const tess_krylov *k, double step, const double *u, const double *g)
{
    const double coefficients[3] = {step, 1.0, -step};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(upload(k, ADVANCE, coefficients, 3));
    status = krylov_fused(k, (tess_fused){.op = TESS_FUSED_ADVANCE,
                                          .in = {u, g},
                                          .out = {k->d, k->r},
                                          .coefficients = (const double *)k->numbers + ADVANCE,
                                          .scalar = TESS_SCALAR_WATCHED_END});
cleanup:
    return status;
}

/* v := M^-1 v, in place for the caller. */
static tess_status precondition(const tess_krylov *k, const double *r, double *v)
{
    if (tess_precond_is_identity(k->precond)) {
        return r == v ? TESS_SUCCESS : k->ctx->backend->copy(k->ctx, v, r, (size_t)k->n * sizeof *v);
    }
    return krylov_precondition(k, r, v, (tess_reduction){0});
}

/* Solves the lower triangle of M from row `first` on: c = M^-1 f. */
static void solve_triangle(const tess_idr *idr, int first, double *c)
{
    for (int i = first; i < idr->s; i++) {
        double sum = idr->f[i];

        for (int j = first; j < i; j++) {
            sum -= idr->m[i][j] * c[j];
        }
        c[i] = sum / idr->m[i][i];
    }
}

/* u_k = U c + omega M^-1 (r - G c); g_k = A u_k */
static tess_status make_direction(const tess_krylov *k, int step)
{
    const tess_idr *idr = idr_of(k);
    double c[MOST] = {0.0}, *v = k->v[V], *z = k->v[PRODUCT], *u = column(k, U, step);
    tess_status status = TESS_SUCCESS;

    solve_triangle(idr, step, c);
    TESS_TRY(upload(k, COEFFICIENTS, c, idr->s));
    TESS_TRY(k->ctx->backend->copy(k->ctx, v, k->r, (size_t)k->n * sizeof *v));
    TESS_TRY(combine(k, G, step, -1.0, 1.0, v));
    TESS_TRY(precondition(k, v, z));
    TESS_TRY(combine(k, U, step, 1.0, idr->omega, z));
    TESS_TRY(k->ctx->backend->copy(k->ctx, u, z, (size_t)k->n * sizeof *u));
    status = krylov_spmv(k, u, column(k, G, step), (tess_reduction){0});
cleanup:
    return status;
}

/* Makes g_k orthogonal to p_1 .. p_(k-1), with u_k alike, and computes column k of M. */
static tess_status biorthogonalize(const tess_krylov *k, int step)
{
    tess_idr *idr = idr_of(k);
    double products[MOST];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(project(k, column(k, G, step), products));
    for (int i = 0; i < step; i++) {
        const double alpha = products[i] / idr->m[i][i];

        for (int j = i; j < idr->s; j++) {
            products[j] -= alpha * idr->m[j][i];
        }
        TESS_TRY(axpy(k, -alpha, column(k, G, i), column(k, G, step)));
        TESS_TRY(axpy(k, -alpha, column(k, U, i), column(k, U, step)));
    }
    for (int i = 0; i < idr->s; i++) {
        idr->m[i][step] = i < step ? 0.0 : products[i];
    }
cleanup:
    return status;
}

/* Step k of a turn: r becomes orthogonal to p_k too. */
static tess_status step_within(const tess_krylov *k, int step)
{
    tess_idr *idr = idr_of(k);
    double beta = 0.0;
    tess_status status = TESS_SUCCESS;

    if (step == 0) { TESS_TRY(project(k, k->r, idr->f)); }
    TESS_TRY(make_direction(k, step));
    TESS_TRY(biorthogonalize(k, step));
    beta = idr->f[step] / idr->m[step][step];
    if (scalar_is_finite(idr->m[step][step]) && !scalar_is_finite(beta)) {
        return krylov_stop(k, TESS_REASON_BREAKDOWN);
    }
    if (!scalar_is_finite(beta)) { return krylov_stop(k, TESS_REASON_NAN_OR_INF); }
    for (int i = step; i < idr->s; i++) {
        idr->f[i] = i == step ? 0.0 : idr->f[i] - beta * idr->m[i][step];
    }
    status = advance(k, beta, column(k, U, step), column(k, G, step));
cleanup:
    return status;
}

/* Norms of t and r, and (t, r); squares out of range are summed at another scale. */
static tess_status measure(const tess_krylov *k, double *t, double *norm_t, double *norm_r, double *along)
{
    const tess_vector views[2] = {{.ctx = k->ctx, .n = k->n, .precision = TESS_PRECISION_FP64, .data = t},
                                  {.ctx = k->ctx, .n = k->n, .precision = TESS_PRECISION_FP64, .data = k->r}};
    double dots[2];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(two_dots(k, t, k->r, t, dots));
    *along = dots[0];
    *norm_t = sqrt(dots[1]);
    if (!tess_squares_are_whole(dots[1])) { TESS_TRY(tess_vector_norm2(&views[0], TESS_ARITHMETIC_FP64, norm_t)); }
    status = tess_vector_norm2(&views[1], TESS_ARITHMETIC_FP64, norm_r);
cleanup:
    return status;
}

/* The step into the next space: r := (I - omega A M^-1) r. A small cosine makes omega too small to be useful for later
   steps; then it is taken as if the cosine were KAPPA. */
static tess_status step_into(const tess_krylov *k)
{
    tess_idr *idr = idr_of(k);
    double *v = k->v[V], *t = k->v[PRODUCT], norm_t = 0.0, norm_r = 0.0, along = 0.0, cosine;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(precondition(k, k->r, v));
    TESS_TRY(krylov_spmv(k, v, t, (tess_reduction){0}));
    TESS_TRY(measure(k, t, &norm_t, &norm_r, &along));
    if (!scalar_is_finite(norm_t) || !scalar_is_finite(along)) { return krylov_stop(k, TESS_REASON_NAN_OR_INF); }
    cosine = along / norm_t / norm_r;
    if (!(fabs(cosine) > 0.0) || !scalar_is_finite(cosine)) { return krylov_stop(k, TESS_REASON_BREAKDOWN); }
    idr->omega = cosine * (norm_r / norm_t);
    if (fabs(cosine) < KAPPA) { idr->omega *= KAPPA / fabs(cosine); }
    status = advance(k, idr->omega, v, t);
cleanup:
    return status;
}

static tess_status iterate_idr(void *krylov)
{
    tess_krylov *k = krylov;
    const int s = idr_of(k)->s, step = (int)(k->iterated % (s + 1));

    k->iterated += 1;
    return step < s ? step_within(k, step) : step_into(k);
}

const tess_method tess_method_idr = {.kind = TESS_SOLVER_IDR,
                                     .counts_iterations = true,
                                     .numbers = NUMBERS * sizeof(double),
                                     .vectors = idr_vectors,
                                     .complete_options = complete_options,
                                     .setup = setup,
                                     .destroy = destroy,
                                     .bytes = bytes,
                                     .start = start_idr,
                                     .iterate = iterate_idr};
