/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES with right preconditioning (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986); Saad 2003, Algorithm 9.5;
 * Loe et al. 2021, Algorithm 1), orthogonalised by two passes of classical Gram-Schmidt. A cycle of the solve is one of GMRES: it starts
 * from the true residual in FP64 and ends when its basis is full. With a matrix or a basis below fp64 that is GMRES with
 * iterative refinement (Loe et al. 2021, Algorithm 2).
 */
#include <string.h>

#include "format/csr/csr.h"
#include "solver/solver.h"

enum { VECTOR, W, PRECONDITIONED };
/* Columns begin at multiples of this many values: of what a wave takes, whatever their precision. */
enum { COLUMN_UNIT = 256 };

typedef struct tess_gmres {
    tess_arnoldi arnoldi;
    double *numbers; /* of the small problem */
    int64_t nnumbers;
} tess_gmres;

static tess_gmres *gmres_of(const tess_solver *s)
{
    return s->own;
}

static int gmres_vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? 2 : 3;
}

/* ---- set-up ---- */

static tess_status allocate_basis(tess_context *ctx, tess_arnoldi *a, tess_precision precision)
{
    a->precision = precision;
    return tess_device_allocate(ctx, a->ld * (a->small.most + 1), tess_precision_bytes(precision), &a->basis);
}

static void release_basis(tess_context *ctx, tess_arnoldi *a)
{
    tess_device_release(ctx, a->basis, a->ld * (a->small.most + 1), tess_precision_bytes(a->precision));
    a->basis = NULL;
}

/* Shares `numbers` out among the arrays of the small problem. */
static void place_numbers(tess_gmres *g)
{
    arnoldi_small *small = &g->arnoldi.small;
    const int64_t most = small->most;
    double *next = g->numbers;
    double **const arrays[] = {&small->norms, &small->first,  &small->second, &small->scale, &small->unit,
                               &small->g,     &small->cosine, &small->sine,   &small->y};
    const int64_t counts[] = {ARNOLDI_NORMS, most, most, most + 1, most + 1, most + 1, most, most, most};

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = next;
        next += counts[i];
    }
    small->r = next;
}

static tess_status setup(tess_solver *s)
{
    const tess_solve_options *o = &s->options;
    const int64_t n = s->original->nrows;
    tess_gmres *g = NULL;
    int64_t most = n < o->restart ? n : o->restart;
    tess_status status = TESS_SUCCESS;

    if (o->restart < 1) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "from 1 on; 50 is the default", "a restart after %d vectors",
                         o->restart);
    }
    if ((int)o->basis.storage < 0 || (int)o->basis.storage >= TESS_PRECISION_COUNT) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "fp64, fp32, bf16, fp16, e4m3, e5m2",
                         "a Krylov basis in precision %d", (int)o->basis.storage);
    }
    TESS_TRY(solver_setup_storage(s));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    s->own = g;
    s->krylov.own = g;
    most = most < 1 ? 1 : most;
    g->arnoldi.n = n;
    g->arnoldi.ld = (n + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT;
    g->arnoldi.small.most = (int)most;
    g->nnumbers = ARNOLDI_NORMS + 9 * most + 3 + most * (most + 1) / 2;
    TESS_TRY(allocate_basis(s->ctx, &g->arnoldi, o->basis.storage));
    TESS_TRY(tess_device_allocate(s->ctx, g->nnumbers, sizeof *g->numbers, (void **)&g->numbers));
    TESS_TRY(tess_device_allocate(s->ctx, 1, sizeof *g->arnoldi.small.last, (void **)&g->arnoldi.small.last));
    place_numbers(g);
cleanup:
    return status;
}

static void destroy(tess_solver *s)
{
    tess_gmres *g = gmres_of(s);

    if (!g) { return; }
    release_basis(s->ctx, &g->arnoldi);
    tess_device_release(s->ctx, g->numbers, g->nnumbers, sizeof *g->numbers);
    tess_device_release(s->ctx, g->arnoldi.small.last, 1, sizeof *g->arnoldi.small.last);
    tess_host_release(s->ctx, g, 1, sizeof *g);
    s->own = NULL;
}

static int64_t bytes(const tess_solver *s)
{
    const tess_gmres *g = gmres_of(s);

    return g->arnoldi.ld * (g->arnoldi.small.most + 1) * (int64_t)tess_precision_bytes(g->arnoldi.precision) +
           g->nnumbers * (int64_t)sizeof *g->numbers;
}

/* ---- precision ---- */

static tess_precision working_precision(const tess_solver *s)
{
    const tess_precision matrix = solver_lowest_precision(s), basis = s->options.basis.storage;

    return tess_precision_unit_roundoff(basis) > tess_precision_unit_roundoff(matrix) ? basis : matrix;
}

/* Cycles go on with the FP64 matrix: the basis follows. */
static tess_status escalate(tess_solver *s)
{
    tess_arnoldi *a = &gmres_of(s)->arnoldi;

    if (a->precision == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    release_basis(s->ctx, a);
    return allocate_basis(s->ctx, a, TESS_PRECISION_FP64);
}

/* Before each solve: what an escalation changed comes back. */
static tess_status renew(tess_solver *s)
{
    tess_arnoldi *a = &gmres_of(s)->arnoldi;

    if (a->basis && a->precision == s->options.basis.storage) { return TESS_SUCCESS; }
    release_basis(s->ctx, a);
    return allocate_basis(s->ctx, a, s->options.basis.storage);
}

/* ---- a cycle ---- */

static tess_arnoldi arnoldi_of(const tess_krylov *k)
{
    tess_arnoldi a = ((const tess_gmres *)k->own)->arnoldi;

    a.vector = k->v[VECTOR];
    a.w = k->v[W];
    a.state = k->state;
    return a;
}

static tess_status start_gmres(tess_krylov *k)
{
    tess_arnoldi a = arnoldi_of(k);

    a.w = k->r;
    return k->ctx->backend->arnoldi(k->ctx, &a, TESS_ARNOLDI_START);
}

static tess_status iterate_gmres(void *krylov)
{
    tess_krylov *k = krylov;
    const tess_arnoldi a = arnoldi_of(k);
    const double *z = a.vector;
    tess_status status = TESS_SUCCESS;

    if (!tess_precond_is_identity(k->precond)) {
        TESS_TRY(krylov_precondition(k, a.vector, k->v[PRECONDITIONED], (tess_reduction){0}));
        z = k->v[PRECONDITIONED];
    }
    TESS_TRY(krylov_spmv(k, z, a.w, (tess_reduction){0}));
    status = k->ctx->backend->arnoldi(k->ctx, &a, TESS_ARNOLDI_STEP);
cleanup:
    return status;
}

/* d = M^-1 V y */
static tess_status finish_gmres(tess_krylov *k)
{
    const bool plain = tess_precond_is_identity(k->precond);
    tess_arnoldi a = arnoldi_of(k);
    tess_status status = TESS_SUCCESS;

    a.sum = plain ? k->d : a.w;
    TESS_TRY(k->ctx->backend->arnoldi(k->ctx, &a, TESS_ARNOLDI_COMBINE));
    if (!plain) { status = tess_precond_apply_fused(k->precond, TESS_PRECISION_FP64, a.w, k->d, &(tess_reduction){0}); }
cleanup:
    return status;
}

const tess_method tess_method_gmres = {.kind = TESS_SOLVER_GMRES,
                                       .vectors = gmres_vectors,
                                       .start = start_gmres,
                                       .iterate = iterate_gmres,
                                       .finish = finish_gmres,
                                       .setup = setup,
                                       .destroy = destroy,
                                       .renew = renew,
                                       .escalate = escalate,
                                       .bytes = bytes,
                                       .working_precision = working_precision};
