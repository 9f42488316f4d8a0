/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process for the set-up: two passes of classical Gram-Schmidt, the matrix H on the host. Basis vectors have
 * the precision of the polynomial's; dot products and norms are summed in FP64, as products with the matrix are.
 */
#include <math.h>
#include <string.h>

#include <tessera/dense.h>

#include "precond/polynomial/polynomial.h"

/* Columns begin at multiples of this many values. */
enum { COLUMN_UNIT = 256 };
/* The rest of a product after two projections is rounding error if its norm is below this many roundoffs of the
   product's. */
#define INVARIANT_ROUNDOFFS 16.0

typedef struct process {
    const tess_polynomial *p;
    int64_t ld;
    int most;
    char *basis;  /* most + 1 columns */
    double *dots; /* most, on the device */
} process;

static size_t value_bytes(const process *q)
{
    return tess_precision_bytes(q->p->precision);
}

static tess_dense_view columns_of(const process *q, int first, int count)
{
    return (tess_dense_view){.nrows = q->p->n,
                             .ncols = count,
                             .ld = q->ld,
                             .precision = q->p->precision,
                             .data = q->basis + (size_t)(first * q->ld) * value_bytes(q)};
}

static tess_vector column_of(const process *q, int k)
{
    return (tess_vector){
        .ctx = q->p->ctx, .n = q->p->n, .precision = q->p->precision, .data = columns_of(q, k, 1).data};
}

/* Divides column k by its norm. */
static tess_status normalise(const process *q, int k, double norm)
{
    tess_vector v = column_of(q, k);

    return tess_vector_scale(1.0 / norm, &v, TESS_ARITHMETIC_FP64);
}

/* One pass of classical Gram-Schmidt of column k against those before it; adds the projections to h. */
static tess_status project(const process *q, int k, double *h, double *workspace)
{
    tess_context *ctx = q->p->ctx;
    const tess_dense_view basis = columns_of(q, 0, k), w = columns_of(q, k, 1);
    const tess_dense_view dots = {.nrows = k, .ncols = 1, .ld = k, .precision = TESS_PRECISION_FP64, .data = q->dots};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_gemv(ctx, TESS_OP_TRANSPOSE, 1.0, &basis, &w, 0.0, &dots, TESS_ARITHMETIC_FP64));
    TESS_TRY(tess_gemv(ctx, TESS_OP_NONE, -1.0, &basis, &dots, 1.0, &w, TESS_ARITHMETIC_FP64));
    TESS_TRY(ctx->backend->download(ctx, workspace, q->dots, (size_t)k * sizeof *workspace));
    for (int i = 0; i < k; i++) {
        h[i] += workspace[i];
    }
cleanup:
    return status;
}

/* Precisions of the vectors and of the matrix that is multiplied, as the range of FP64 or FP32 lets them be. */
static const char *hint_of_range(const tess_polynomial *p)
{
    const tess_precision stored = p->copy ? p->copy->precision : TESS_PRECISION_FP64;

    if (stored != TESS_PRECISION_FP64 && stored != TESS_PRECISION_FP32 && stored != TESS_PRECISION_BF16) {
        return "store the preconditioner in a precision of wider range, such as bf16 or fp32";
    }
    if (stored != TESS_PRECISION_FP64 || p->precision != TESS_PRECISION_FP64) {
        return "give the preconditioner the range of fp64 (--precond-precision fp64)";
    }
    return "look for NaN, Inf and huge values in the matrix ('tessera info'), or scale it (--scale)";
}

static tess_status measure(const process *q, int k, double *norm)
{
    const tess_vector v = column_of(q, k);
    const tess_status status = tess_vector_norm2(&v, TESS_ARITHMETIC_FP64, norm);

    if (status != TESS_SUCCESS || isfinite(*norm)) { return status; }
    return tess_fail(q->p->ctx, TESS_SINGULAR, hint_of_range(q->p),
                     "polynomial: products with the matrix give NaN or Inf");
}

/* Column k + 1 from column k, and column k of H to h; *invariant if nothing is left of the new column. */
static tess_status advance(const process *q, int k, double *h, double *workspace, bool *invariant)
{
    const double roundoff = tess_precision_unit_roundoff(q->p->precision);
    double whole = 0.0, norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(polynomial_multiply(q->p, columns_of(q, k, 1).data, columns_of(q, k + 1, 1).data));
    TESS_TRY(measure(q, k + 1, &whole));
    for (int pass = 0; pass < 2; pass++) {
        TESS_TRY(project(q, k + 1, h, workspace));
    }
    TESS_TRY(measure(q, k + 1, &norm));
    *invariant = norm <= INVARIANT_ROUNDOFFS * roundoff * whole;
    h[k + 1] = *invariant ? 0.0 : norm;
    if (!*invariant) { status = normalise(q, k + 1, norm); }
cleanup:
    return status;
}

/* Column 0: uniform in (-1, 1), over its norm. */
static tess_status start(const process *q)
{
    const tess_polynomial *p = q->p;
    const bool apart = p->precision != TESS_PRECISION_FP64;
    double *values = (double *)(void *)q->basis, norm = 0.0;
    tess_status status = TESS_SUCCESS;

    if (apart) { TESS_TRY(tess_device_allocate(p->ctx, p->n, sizeof *values, (void **)&values)); }
    TESS_TRY(p->ctx->backend->random(p->ctx, p->n, p->seed, -1.0, 1.0, values));
    if (apart) {
        TESS_TRY(p->ctx->backend->convert(p->ctx, p->n, TESS_PRECISION_FP64, values, p->precision, q->basis));
    }
    TESS_TRY(measure(q, 0, &norm));
    status = normalise(q, 0, norm);
cleanup:
    if (apart) { tess_device_release(p->ctx, values, p->n, sizeof *values); }
    return status;
}

tess_status polynomial_run_arnoldi(const tess_polynomial *p, int most, polynomial_arnoldi *arnoldi)
{
    process q = {.p = p, .ld = (p->n + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT, .most = most};
    double *workspace = NULL;
    bool invariant = false;
    tess_status status = TESS_SUCCESS;

    arnoldi->steps = 0;
    memset(arnoldi->h, 0, (size_t)arnoldi->ld * (size_t)most * sizeof *arnoldi->h);
    TESS_TRY(tess_device_allocate(p->ctx, q.ld * (most + 1), value_bytes(&q), (void **)&q.basis));
    TESS_TRY(tess_device_allocate(p->ctx, most, sizeof *q.dots, (void **)&q.dots));
    TESS_TRY(tess_host_allocate(p->ctx, most, sizeof *workspace, (void **)&workspace));
    TESS_TRY(start(&q));
    while (arnoldi->steps < most && !invariant) {
        TESS_TRY(advance(&q, arnoldi->steps, arnoldi->h + arnoldi->ld * arnoldi->steps, workspace, &invariant));
        arnoldi->steps += 1;
    }
cleanup:
    tess_device_release(p->ctx, q.basis, q.ld * (most + 1), value_bytes(&q));
    tess_device_release(p->ctx, q.dots, most, sizeof *q.dots);
    tess_host_release(p->ctx, workspace, most, sizeof *workspace);
    return status;
}
