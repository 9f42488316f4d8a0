/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors on the host, applied to one vector. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/codec.h>

#include "device/host/host.h"
#include "precond/direct/direct_host.h"

/* ---- scaling by powers of two ---- */

/* rhs := D r over a power of two, so that its largest magnitude is about 1. Returns the exponent of that power;
   INT_MAX: r is not finite; INT_MIN: it is zero. */
static int load_any(const direct_factors *m, const int32_t *scale, tess_precision vectors, const void *r)
{
    int largest = INT_MIN;

    for (int64_t i = 0; i < m->n; i++) {
        const double value = tess_load(vectors, r, i);
        int exponent = 0;

        if (!isfinite(value)) { return INT_MAX; }
        if (value == 0.0) { continue; }
        exponent = ilogb(value) + scale[i];
        if (exponent > largest) { largest = exponent; }
    }
    for (int64_t i = 0; i < m->n && largest > INT_MIN; i++) {
        const double value = ldexp(tess_load(vectors, r, i), scale[i] - largest);

        tess_store(m->precision, m->rhs, i, value, TESS_OVERFLOW_INFINITY);
    }
    return largest;
}

/* z := D rhs times 2^exponent, or -z */
static void store_any(const direct_factors *m, const int32_t *scale, tess_precision vectors, int exponent, void *z)
{
    for (int64_t i = 0; i < m->n; i++) {
        const double value = ldexp(tess_load(m->precision, m->rhs, i), scale[i] + exponent);

        tess_store(vectors, z, i, m->negated ? -value : value, TESS_OVERFLOW_INFINITY);
    }
}

/* The largest magnitude of D r. Without their sign, the bits of doubles are in the order of their magnitudes, with NaN
   and Inf behind all numbers. */
HOST_CLONES static double largest_of(int64_t n, const int32_t *scale, const double *r)
{
    uint64_t largest = 0;
    double value;

    for (int64_t i = 0; i < n; i++) {
        const double scaled = r[i] * direct_power_of_two(scale[i]);
        uint64_t bits;

        memcpy(&bits, &scaled, sizeof bits);
        bits &= INT64_MAX;
        largest = bits > largest ? bits : largest;
    }
    memcpy(&value, &largest, sizeof value);
    return value;
}

/* to := D from 2^exponent, or -D from 2^exponent */
HOST_CLONES static void multiply(int64_t n, const int32_t *scale, int exponent, bool negated, const double *from,
                                 double *to)
{
    const double sign = negated ? -1.0 : 1.0;

    for (int64_t i = 0; i < n; i++) {
        to[i] = sign * (from[i] * direct_power_of_two(scale[i] + exponent));
    }
}

/* Whether doubles can be multiplied by the powers of two of all rows, and of this exponent. */
static bool multiplies(const direct_factors *m, tess_precision vectors)
{
    return m->moderate && vectors == TESS_PRECISION_FP64 && m->precision == TESS_PRECISION_FP64;
}

static int load(const direct_factors *m, const int32_t *scale, tess_precision vectors, const void *r)
{
    const double largest = multiplies(m, vectors) ? largest_of(m->n, scale, r) : 0.0;

    if (!(largest > 0.0) || !isfinite(largest) || !direct_may_multiply(ilogb(largest))) {
        return load_any(m, scale, vectors, r);
    }
    multiply(m->n, scale, -ilogb(largest), false, r, m->rhs);
    return ilogb(largest);
}

static void store(const direct_factors *m, const int32_t *scale, tess_precision vectors, int exponent, void *z)
{
    if (multiplies(m, vectors) && direct_may_multiply(exponent)) {
        multiply(m->n, scale, exponent, m->negated, m->rhs, z);
    } else {
        store_any(m, scale, vectors, exponent, z);
    }
}

/* ---- application ---- */

static void fill(const direct_factors *m, tess_precision vectors, double value, void *z)
{
    for (int64_t i = 0; i < m->n; i++) {
        tess_store(vectors, z, i, value, TESS_OVERFLOW_INFINITY);
    }
}

static void conjugate(const direct_factors *m, int columns, void *rhs)
{
    const int64_t end = m->n * columns;

    for (int64_t i = 1; i < end && m->precision == TESS_PRECISION_FP32; i += 2) {
        ((float *)rhs)[i] = -((float *)rhs)[i];
    }
    for (int64_t i = 1; i < end && m->precision == TESS_PRECISION_FP64; i += 2) {
        ((double *)rhs)[i] = -((double *)rhs)[i];
    }
}

/* The transpose of the real form is the form of A^H: with it one solves A^T conj(x) = conj(b). */
mumps_reply direct_run(const direct_factors *m, bool transposed, int columns, void *rhs)
{
    const mumps_arguments arguments = {
        .n = m->n / m->parts, .rhs = rhs, .relaxation = m->relaxation, .transposed = transposed, .columns = columns};
    const bool conjugates = transposed && m->parts == 2;
    mumps_reply reply = {.code = 0};

    if (conjugates) { conjugate(m, columns, rhs); }
    if (m->klu) {
        klu_solve_columns(m->ctx, m->klu, transposed, columns, rhs);
    } else {
        reply = mumps_run(m->mumps, MUMPS_SOLVE, &arguments);
    }
    if (conjugates) { conjugate(m, columns, rhs); }
    return reply;
}

tess_status direct_solve(const direct_factors *m, bool transposed, tess_precision vectors, const void *r, void *z)
{
    const int exponent = load(m, transposed ? m->column_exponent : m->row_exponent, vectors, r);
    mumps_reply reply;

    if (exponent == INT_MIN || exponent == INT_MAX) {
        fill(m, vectors, exponent == INT_MIN ? 0.0 : (double)NAN, z);
        return TESS_SUCCESS;
    }
    reply = direct_run(m, transposed, 1, m->rhs);
    if (reply.code < 0) { return direct_judge(m, "solve", &reply); }
    store(m, transposed ? m->row_exponent : m->column_exponent, vectors, exponent, z);
    return TESS_SUCCESS;
}

tess_status direct_require_usable(const direct_factors *m)
{
    if (m->usable) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_SINGULAR, "renew the preconditioner with values that have factors",
                     "the preconditioner cannot be applied, because its factorization failed");
}

tess_status direct_solve_on_host(const tess_precond *p, bool transposed, const double *r, double *z)
{
    const direct_factors *m = p->own;

    return m->n > 0 ? direct_solve(m, transposed, TESS_PRECISION_FP64, r, z) : TESS_SUCCESS;
}

tess_status direct_apply(const tess_precond *p, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const direct_factors *m = p->own;
    const size_t bytes = (size_t)m->n * tess_precision_bytes(vectors);
    tess_status status = TESS_SUCCESS;

    (void)reduction;
    if (m->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(direct_require_usable(m));
    if (!m->copy) { return direct_solve(m, false, vectors, r, z); }
    TESS_TRY(m->ctx->backend->download(m->ctx, m->copy, r, bytes));
    TESS_TRY(direct_solve(m, false, vectors, m->copy, m->copy));
    status = m->ctx->backend->upload(m->ctx, z, m->copy, bytes);
cleanup:
    return status;
}
