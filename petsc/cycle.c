/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The V-cycle of PCMG on levels scaled to a unit diagonal: A~ = D^-1/2 A D^-1/2, x~ = D^1/2 x, b~ = D^-1/2 b, with -A
 * in the place of A where its diagonal is negative. Jacobi is then the identity, values are near 1, and roundings to
 * FP16 keep the symmetry. The residual is kept up to date in the place of b: a smoothing step takes the product with
 * what it adds.
 */
#include "cycle.h"

#include "errors.h"
#include "gather.h"
#include "level.h"
#include "smoother.h"
#include "vectors.h"

#include <math.h>
#include <tessera/precision.h>

/* ---- on the levels ---- */

static PetscErrorCode add(double a, const tess_vector *x, double b, tess_vector *y)
{
    PetscFunctionBegin;
    TessCall(tess_vector_axpby(a, x, b, y, TESS_ARITHMETIC_FP32));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* x := x + d, r := r - A d */
static PetscErrorCode take_step(tp_cycle_level *l, PetscBool residual)
{
    PetscFunctionBegin;
    PetscCall(add(1, l->d, 1, l->x));
    if (residual) { PetscCall(tp_level_product(&l->A, -1, l->d, l->r, PETSC_TRUE)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* From x = 0 to x, with its residual. */
static PetscErrorCode smooth_down(tp_cycle_level *l)
{
    const tp_smoother *const s = &l->smoother;

    PetscFunctionBegin;
    PetscCall(add(s->first, l->r, 0, l->x));
    PetscCall(tp_level_product(&l->A, -1, l->x, l->r, PETSC_TRUE));
    for (PetscInt k = 1; k < s->steps; k++) {
        if (k == 1) { TessCall(tess_vector_copy(l->x, l->d)); }
        PetscCall(add(s->fresh[k], l->r, s->kept[k], l->d));
        PetscCall(take_step(l, PETSC_TRUE));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of the last x is not asked for. */
static PetscErrorCode smooth_up(tp_cycle_level *l)
{
    const tp_smoother *const s = &l->smoother;

    PetscFunctionBegin;
    for (PetscInt k = 0; k < s->steps; k++) {
        PetscCall(k == 0 ? add(s->first, l->r, 0, l->d) : add(s->fresh[k], l->r, s->kept[k], l->d));
        PetscCall(take_step(l, k + 1 < s->steps ? PETSC_TRUE : PETSC_FALSE));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the leaders' vector, or back from it. */
static PetscErrorCode pass(const tp_passage *p, Vec from, Vec to, ScatterMode mode)
{
    PetscFunctionBegin;
    PetscCall(VecScatterBegin(p->scatter, from, to, INSERT_VALUES, mode));
    PetscCall(VecScatterEnd(p->scatter, from, to, INSERT_VALUES, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between the level's vectors and those of PETSc's solver, x~ = D^1/2 x and b = D^1/2 b~. Collective. */
static PetscErrorCode solve_coarse_by_petsc(tp_cycle *c, tp_cycle_level *l)
{
    const Vec b = c->gather ? c->low.vec : c->b, x = c->gather ? c->low.vec : c->x;
    PetscScalar *array;
    const PetscScalar *read;

    PetscFunctionBegin;
    PetscCall(VecGetArrayWrite(b, &array));
    TessCall(tess_vector_get(l->r, array, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    PetscCall(VecRestoreArrayWrite(b, &array));
    PetscCall(VecPointwiseMult(b, b, l->root));
    if (c->gather) { PetscCall(pass(&c->low, b, c->b, SCATTER_REVERSE)); }
    PetscCall(KSPSolve(c->coarse, c->b, c->x));
    if (c->gather) { PetscCall(pass(&c->low, c->x, x, SCATTER_FORWARD)); }
    if (c->sign < 0) { PetscCall(VecScale(x, -1)); }
    PetscCall(VecPointwiseMult(x, x, l->root));
    PetscCall(VecGetArrayRead(x, &read));
    TessCall(tess_vector_set(l->x, read, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    PetscCall(VecRestoreArrayRead(x, &read));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(tp_cycle *c, PetscInt level)
{
    tp_cycle_level *const l = &c->level[level], *const coarse = l - 1;

    PetscFunctionBegin;
    if (level == 0) {
        PetscCall(c->inverted ? tp_level_product(&l->A, 1, l->r, l->x, PETSC_FALSE) : solve_coarse_by_petsc(c, l));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(smooth_down(l));
    PetscCall(tp_level_product(&l->down, 1, l->r, coarse->r, PETSC_FALSE));
    PetscCall(run(c, level - 1));
    PetscCall(tp_level_product(&l->up, 1, coarse->x, l->d, PETSC_FALSE));
    PetscCall(take_step(l, PETSC_TRUE));
    PetscCall(smooth_up(l));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- from FP64 and back ---- */

/* b~ := s D^-1/2 r */
static PetscErrorCode narrow(tp_cycle *c, double s, const tess_vector *r)
{
    const tp_cycle_level *const l = &c->level[c->nlevels - 1];
    const double *const from = tess_vector_data_const(r);
    const PetscScalar *inverse;
    float *to = tess_vector_data(l->r);

    PetscFunctionBegin;
    if (c->unscale) {
        TessCall(tess_matrix_spmv(c->unscale, TESS_OP_NONE, s, r, 0, c->wide));
        TessCall(tess_vector_copy(c->wide, l->r));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecGetArrayRead(l->inverse, &inverse));
    for (int64_t i = 0; i < tess_vector_size(r); i++) {
        to[i] = (float)(s * inverse[i] * from[i]);
    }
    PetscCall(VecRestoreArrayRead(l->inverse, &inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* z := s D^-1/2 x~ */
static PetscErrorCode widen(tp_cycle *c, double s, tess_vector *z)
{
    const tp_cycle_level *const l = &c->level[c->nlevels - 1];
    const float *const from = tess_vector_data_const(l->x);
    const PetscScalar *inverse;
    double *const to = tess_vector_data(z);

    PetscFunctionBegin;
    if (c->unscale) {
        TessCall(tess_vector_copy(l->x, c->wide));
        TessCall(tess_matrix_spmv(c->unscale, TESS_OP_NONE, s, c->wide, 0, z));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecGetArrayRead(l->inverse, &inverse));
    for (int64_t i = 0; i < tess_vector_size(z); i++) {
        to[i] = s * inverse[i] * from[i];
    }
    PetscCall(VecRestoreArrayRead(l->inverse, &inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* z := the cycle's answer to r, near 1 in size by a power of two. */
static PetscErrorCode answer(tp_cycle *c, int exponent, Vec r, Vec z)
{
    tp_view from, to;

    PetscFunctionBegin;
    PetscCall(tp_view_begin(r, TP_READ, &from));
    PetscCall(narrow(c, ldexp(1, -exponent - c->exponent), from.v));
    PetscCall(tp_view_end(r, &from));
    PetscCall(run(c, c->nlevels - 1));
    PetscCall(tp_view_begin(z, TP_WRITE, &to));
    PetscCall(widen(c, c->sign * ldexp(1, exponent + c->exponent), to.v));
    PetscCall(tp_view_end(z, &to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by the leaders. The others take part where PETSc solves the coarsest level. */
static PetscErrorCode gathered_answer(tp_cycle *c, int exponent, Vec r, Vec z)
{
    PetscFunctionBegin;
    PetscCall(pass(&c->fine, r, c->fine.vec, SCATTER_FORWARD));
    if (tp_gather_leads(c->gather)) {
        PetscCall(answer(c, exponent, c->fine.vec, c->fine.vec));
    } else if (!c->inverted) {
        PetscCall(solve_coarse_by_petsc(c, &c->level[0]));
    }
    PetscCall(pass(&c->fine, c->fine.vec, z, SCATTER_REVERSE));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Powers of two bring the norm and the diagonal near 1, far from the ends of FP32's range. PETSc remembers the norm
   where its method has computed it. */
PetscErrorCode tp_cycle_apply(tp_cycle *c, Vec r, Vec z)
{
    double norm;
    int exponent;

    PetscFunctionBegin;
    PetscCall(VecNorm(r, NORM_2, &norm));
    if (norm == 0 || !isfinite(norm)) {
        PetscCall(VecCopy(r, z));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    (void)frexp(norm, &exponent);
    PetscCall((c->gather ? gathered_answer : answer)(c, exponent, r, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode destroy_passage(tp_passage *p)
{
    PetscFunctionBegin;
    PetscCall(VecDestroy(&p->vec));
    PetscCall(VecScatterDestroy(&p->scatter));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_cycle_destroy(tp_cycle **cycle)
{
    tp_cycle *const c = *cycle;

    PetscFunctionBegin;
    if (!c) { PetscFunctionReturn(PETSC_SUCCESS); }
    for (PetscInt k = 0; k < c->nlevels; k++) {
        tp_cycle_level *const l = &c->level[k];
        PetscCall(VecDestroy(&l->root));
        PetscCall(VecDestroy(&l->inverse));
        PetscCall(tp_level_matrix_destroy(&l->A));
        PetscCall(tp_level_matrix_destroy(&l->down));
        PetscCall(tp_level_matrix_destroy(&l->up));
        tess_vector_destroy(l->r);
        tess_vector_destroy(l->x);
        tess_vector_destroy(l->d);
    }
    tess_vector_destroy(c->wide);
    tess_matrix_destroy(c->unscale);
    PetscCall(VecDestroy(&c->b));
    PetscCall(VecDestroy(&c->x));
    PetscCall(destroy_passage(&c->fine));
    PetscCall(destroy_passage(&c->low));
    PetscCall(tp_gather_destroy(&c->gather));
    PetscCall(PetscFree(c->level));
    PetscCall(PetscFree(*cycle));
    PetscFunctionReturn(PETSC_SUCCESS);
}
