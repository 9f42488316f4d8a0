/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_SYMMETRY_H
#define TESS_SOLVER_SYMMETRY_H

#include <math.h>

#include "base/random.h"
#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a square assembled matrix is symmetric to about nine digits, by two products with random vectors, and by more
   of the matrix scaled symmetrically where its rows differ in size. A matrix passes whose asymmetric part is below 1e-9
   of its Frobenius norm, as it is and so scaled. */
tess_status probe_symmetry(const tess_matrix *a, bool *symmetric);

/* ---- a scaled probe ---- */

/* On the device; n values each. */
typedef struct scaled_probe {
    int64_t n;
    double *factor;  /* D, of powers of two */
    double *u, *v;   /* D times the random vectors */
    double *av, *au; /* D A D times them; before the first round, A times the random vectors */
} scaled_probe;

/* Of max(|av_i|, |au_i|); least: of those above 0, else INFINITY. */
typedef struct probe_sizes {
    double least, most;
    bool finite;
} probe_sizes;

/* u'(D A D v) - v'(D A D u) for the random u and v, and the squares of D A D v and D A D u. */
typedef struct probe_sums {
    double difference, squares_av, squares_au;
} probe_sums;

typedef struct symmetry_ops {
    tess_status (*sizes)(tess_context *ctx, const scaled_probe *p, probe_sizes *sizes);
    /* Each factor over the root of its row's size, and u and v with it; the factors are 1 before the first. */
    tess_status (*improve)(tess_context *ctx, const scaled_probe *p, bool first);
    /* Multiplies av and au, which are A times v and u, with the factors. */
    tess_status (*sums)(tess_context *ctx, const scaled_probe *p, probe_sums *sums);
} symmetry_ops;

extern const symmetry_ops symmetry_host_ops;
const symmetry_ops *symmetry_gpu_ops(void);
const symmetry_ops *symmetry_ops_of(const tess_context *ctx);

/* ---- for both devices ---- */

TESS_HD void probe_sizes_start(probe_sizes *s)
{
    s->least = INFINITY;
    s->most = 0.0;
    s->finite = true;
}

TESS_HD void probe_sizes_join(probe_sizes *s, const probe_sizes *other)
{
    s->least = other->least < s->least ? other->least : s->least;
    s->most = other->most > s->most ? other->most : s->most;
    s->finite = s->finite && other->finite;
}

TESS_HD double probe_size_of(const scaled_probe *p, int64_t i)
{
    return fmax(fabs(p->av[i]), fabs(p->au[i]));
}

TESS_HD void probe_sizes_take(const scaled_probe *p, int64_t i, probe_sizes *s)
{
    const double size = probe_size_of(p, i);

    s->finite = s->finite && isfinite(p->av[i] + p->au[i]);
    if (size > s->most) { s->most = size; }
    if (size > 0.0 && size < s->least) { s->least = size; }
}

TESS_HD void probe_improve(const scaled_probe *p, int64_t i, bool first)
{
    const double size = probe_size_of(p, i), before = first ? 1.0 : p->factor[i];
    const double factor = size > 0.0 ? ldexp(before, -ilogb(size) / 2) : before;

    p->factor[i] = factor;
    p->u[i] = factor * tess_random_in(1, (uint64_t)i, -1.0, 1.0);
    p->v[i] = factor * tess_random_in(2, (uint64_t)i, -1.0, 1.0);
}

TESS_HD void probe_sums_join(probe_sums *s, const probe_sums *other)
{
    s->difference += other->difference;
    s->squares_av += other->squares_av;
    s->squares_au += other->squares_au;
}

TESS_HD void probe_sums_take(const scaled_probe *p, int64_t i, probe_sums *s)
{
    const double factor = p->factor[i], av = p->av[i] * factor, au = p->au[i] * factor;

    p->av[i] = av;
    p->au[i] = au;
    s->difference += p->u[i] / factor * av - p->v[i] / factor * au;
    s->squares_av += av * av;
    s->squares_au += au * au;
}

#ifdef __cplusplus
}
#endif

#endif
