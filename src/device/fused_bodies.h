/* SPDX-License-Identifier: Apache-2.0 */
/* What each pass of the solvers computes for element i, which is in row `row`: the same, but for vectors of several
   columns. Scalars of the loop are passed by value; dot products accumulate in FP64. */
#ifndef TESS_DEVICE_FUSED_BODIES_H
#define TESS_DEVICE_FUSED_BODIES_H

#include "base/fused.h"
#include <tessera/export.h>

/* Scalars of the loop, read once per pass. */
typedef struct tess_scalars {
    double alpha, beta, omega;
} tess_scalars;

TESS_HD double apply_scale(const tess_fused *f, int64_t row, double value)
{
    return f->scale ? f->scale[row] * value : value;
}

TESS_HD void store_shadow(const tess_fused *f, int64_t i, double value)
{
    if (f->shadow) { f->shadow[i] = (float)value; }
}

/* in = {y, u}: (y, u), of any number of columns, as DOT is not */
TESS_HD void fused_dot_one(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    (void)s;
    (void)row;
    dots[0] += f->in[0][i] * f->in[1][i];
}

/* in = {y, u, w}: (y, u), (y, w) */
TESS_HD void fused_dot_two(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double y = f->in[0][i];

    (void)row;
    (void)s;
    dots[0] += y * f->in[1][i];
    dots[1] += y * f->in[2][i];
}

/* in = {r}, out = {p}: p = z = D^-1 r; (r, r), (r, z) */
TESS_HD void fused_cg_start(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double r = f->in[0][i];
    double z = apply_scale(f, row, r);

    (void)s;
    f->out[0][i] = z;
    store_shadow(f, i, z);
    dots[0] += r * r;
    dots[1] += r * z;
}

/* in = {q}, out = {r}: r -= alpha q; (r, r), (r, D^-1 r) */
TESS_HD void fused_cg_residual(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double r = f->out[0][i] - s.alpha * f->in[0][i];

    f->out[0][i] = r;
    dots[0] += r * r;
    dots[1] += r * apply_scale(f, row, r);
}

/* in = {z}, out = {x, p}: x += alpha p; p = D^-1 z + beta p. The update of x waits for this pass because the pass reads
   p anyway. */
TESS_HD void fused_cg_direction(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double p = f->out[1][i];

    (void)dots;
    f->out[0][i] += s.alpha * p;
    p = apply_scale(f, row, f->in[0][i]) + s.beta * p;
    f->out[1][i] = p;
    store_shadow(f, i, p);
}

/* in = {z, w}, out = {p, s}: p = z + beta p; s = w + beta s, where w = A z, s = A p. */
TESS_HD void fused_cg_direction_pair(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    (void)row;
    (void)dots;
    f->out[0][i] = f->in[0][i] + s.beta * f->out[0][i];
    f->out[1][i] = f->in[1][i] + s.beta * f->out[1][i];
}

/* in = {p, r}, out = {x, z}: x += alpha p; z = D^-1 r (only with a scale) */
TESS_HD void fused_cg_advance(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    (void)dots;
    f->out[0][i] += s.alpha * f->in[0][i];
    if (f->scale) { f->out[1][i] = f->scale[row] * f->in[1][i]; }
}

/* in = {r, v}, out = {p, p^}: p = r + beta (p - omega v); p^ = D^-1 p (only with a scale) */
TESS_HD void fused_bicgstab_direction(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double p = f->in[0][i] + s.beta * (f->out[0][i] - s.omega * f->in[1][i]);

    (void)dots;
    f->out[0][i] = p;
    if (f->scale) {
        p *= f->scale[row];
        f->out[1][i] = p;
    }
    store_shadow(f, i, p);
}

/* in = {v}, out = {r, s^}: r = s = r - alpha v; s^ = D^-1 s (only with a scale) */
TESS_HD void fused_bicgstab_half(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double r = f->out[0][i] - s.alpha * f->in[0][i];

    (void)dots;
    f->out[0][i] = r;
    if (f->scale) {
        r *= f->scale[row];
        f->out[1][i] = r;
    }
    store_shadow(f, i, r);
}

/* in = {p^, s^, t, r~}, out = {x, r}: x += alpha p^ + omega s^; r -= omega t; (r, r), (r~, r). Without a preconditioner
   s^ is r itself, read before it is written. */
TESS_HD void fused_bicgstab_update(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    double r = f->out[1][i];

    (void)row;
    f->out[0][i] += s.alpha * f->in[0][i] + s.omega * f->in[1][i];
    r -= s.omega * f->in[2][i];
    f->out[1][i] = r;
    dots[0] += r * r;
    dots[1] += r * f->in[3][i];
}

/* in = {q}, out = {v, v'}: v := c0 q - c1 v - c2 v', and v' the v before; (v, v), (v, D^-1 v) */
TESS_HD void fused_minres_lanczos(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double *c = f->coefficients;
    const double before = f->out[0][i];
    const double v = c[0] * f->in[0][i] - c[1] * before - c[2] * f->out[1][i];

    (void)s;
    f->out[0][i] = v;
    f->out[1][i] = before;
    dots[0] += v * v;
    dots[1] += v * apply_scale(f, row, v);
}

/* in = {z, v}, out = {m, m', z}: m := c0 z - c1 m - c2 m', and m' the m before; z = D^-1 v (only with a scale) */
TESS_HD void fused_minres_direction(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double *c = f->coefficients;
    const double before = f->out[0][i];

    (void)s;
    (void)dots;
    f->out[0][i] = c[0] * f->in[0][i] - c[1] * before - c[2] * f->out[1][i];
    f->out[1][i] = before;
    if (f->scale) { f->out[2][i] = f->scale[row] * f->in[1][i]; }
}

/* in = {m, v}, out = {x, r}: x += c0 m; r := c1 r + c2 v; (r, r) */
TESS_HD void fused_advance(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double *c = f->coefficients;
    const double r = c[1] * f->out[1][i] + c[2] * f->in[1][i];

    (void)row;
    (void)s;
    f->out[0][i] += c[0] * f->in[0][i];
    f->out[1][i] = r;
    dots[0] += r * r;
}

/* in = {q}, out = {v}: v := alpha D q - beta v, where D is the scale; (v, v) */
TESS_HD void fused_bidiagonal(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double v = s.alpha * apply_scale(f, row, f->in[0][i]) - s.beta * f->out[0][i];

    f->out[0][i] = v;
    dots[0] += v * v;
}

/* in = {v}, out = {x, m, h}: m := h + beta m; x += alpha m; h := v + omega h */
TESS_HD void fused_lsmr_step(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double h = f->out[2][i];
    const double m = h + s.beta * f->out[1][i];

    (void)row;
    (void)dots;
    f->out[1][i] = m;
    f->out[0][i] += s.alpha * m;
    f->out[2][i] = f->in[0][i] + s.omega * h;
}

/* in = {r}, out = {z}: z = D^-1 r; z may be r */
TESS_HD void fused_diagonal(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double z = apply_scale(f, row, f->in[0][i]);

    (void)s;
    (void)dots;
    f->out[0][i] = z;
    store_shadow(f, i, z);
}

/* ---- FP32 vectors: `in` and `out` point to them, `scale` stays FP64 ---- */

TESS_HD double load_fp32(const double *vector, int64_t i)
{
    return (double)((const float *)(const void *)vector)[i];
}

/* The stored value. */
TESS_HD double store_fp32(double *vector, int64_t i, double value)
{
    const float rounded = (float)value;

    ((float *)(void *)vector)[i] = rounded;
    return (double)rounded;
}

/* in = {r, z or none}, out = {p}: p = z, or D^-1 r; (r, r), (r, z) */
TESS_HD void fused_fp32_cg_start(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double r = load_fp32(f->in[0], i);
    const double z = store_fp32(f->out[0], i, f->in[1] ? load_fp32(f->in[1], i) : apply_scale(f, row, r));

    (void)s;
    dots[0] += r * r;
    dots[1] += r * z;
}

/* As fused_cg_residual. */
TESS_HD void fused_fp32_cg_residual(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double r = store_fp32(f->out[0], i, load_fp32(f->out[0], i) - s.alpha * load_fp32(f->in[0], i));

    dots[0] += r * r;
    dots[1] += r * apply_scale(f, row, r);
}

/* As fused_cg_direction. */
TESS_HD void fused_fp32_cg_direction(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots)
{
    const double p = load_fp32(f->out[1], i);

    (void)dots;
    (void)store_fp32(f->out[0], i, load_fp32(f->out[0], i) + s.alpha * p);
    (void)store_fp32(f->out[1], i, apply_scale(f, row, load_fp32(f->in[0], i)) + s.beta * p);
}

#endif
