/* SPDX-License-Identifier: Apache-2.0 */
/* A cycle from PETSc's hierarchy: what it may not do like PETSc is left to PETSc, with the reason. */
#include "cycle.h"

#include "context.h"
#include "diagonal.h"
#include "errors.h"
#include "gather.h"
#include "inverse.h"
#include "level.h"
#include "rows.h"
#include "smoother.h"

#include <math.h>
#include <petsc/private/pcmgimpl.h>
#include <tessera/precision.h>

/* A solver of the coarsest level that leaves no more may be replaced by the inverse. */
static const double EXACT = 1e-6;

/* ---- what may be taken over ---- */

static PetscErrorCode is_aij(Mat A, PetscBool *out)
{
    PetscFunctionBegin;
    *out = PETSC_FALSE;
    if (A) { PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, out, MATSEQAIJ, MATMPIAIJ, "")); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode examine(const PC_MG *mg, const char **why)
{
    PetscFunctionBegin;
    *why = NULL;
    if (mg->nlevels < 2) { *why = "there is one level"; }
    if (mg->am != PC_MG_MULTIPLICATIVE || mg->cyclesperpcapply != 1) { *why = "the cycle is not multiplicative"; }
    for (PetscInt l = 1; l < mg->nlevels && !*why; l++) {
        const PC_MG_Levels *const level = mg->levels[l];
        PetscBool aij[2];
        Mat A;
        PetscCall(KSPGetOperators(level->smoothd, &A, NULL));
        PetscCall(is_aij(A, &aij[0]));
        PetscCall(is_aij(level->interpolate, &aij[1]));
        if (!aij[0] || !aij[1]) { *why = "a level is not AIJ"; }
        if (level->cycles != PC_MG_CYCLE_V) { *why = "the cycle is not V"; }
        if (level->smoothu != level->smoothd) { *why = "smoothers before and after differ"; }
        if (level->restrct && level->restrct != level->interpolate) { *why = "the restriction is given"; }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- levels ---- */

/* All levels have the sign of the first that was read. */
static PetscErrorCode scale_level(Mat A, tp_cycle *c, tp_cycle_level *l, const char **why)
{
    int sign;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, NULL, &l->root));
    PetscCall(tp_signed_diagonal(A, l->root, &sign));
    if (c->sign == 0) { c->sign = sign; }
    if (sign == 0 || sign != c->sign) { *why = "diagonals have entries of both signs"; }
    PetscCall(VecSqrtAbs(l->root));
    PetscCall(VecDuplicate(l->root, &l->inverse));
    PetscCall(VecCopy(l->root, l->inverse));
    PetscCall(VecReciprocal(l->inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_vectors(Mat A, tp_cycle_level *l)
{
    tess_vector **const all[3] = {&l->r, &l->x, &l->d};
    tess_context *ctx;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(MatGetLocalSize(A, &n, NULL));
    for (int k = 0; k < 3; k++) {
        TessCall(tess_vector_create(ctx, n, TESS_PRECISION_FP32, all[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A and the interpolation of a level where the cycle computes: PETSc's own, or those of the leaders. */
typedef struct source {
    Mat A, up;
} source;

static PetscErrorCode take_matrix(const tp_gather *gather, Mat A, Mat *out)
{
    PetscFunctionBegin;
    if (gather) {
        PetscCall(tp_gather_matrix(gather, A, out));
    } else {
        PetscCall(PetscObjectReference((PetscObject)A));
        *out = A;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_sources(const PC_MG *mg, const tp_gather *gather, source *all)
{
    PetscFunctionBegin;
    for (PetscInt l = 0; l < mg->nlevels; l++) {
        Mat A;
        PetscCall(KSPGetOperators(mg->levels[l]->smoothd, &A, NULL));
        PetscCall(take_matrix(gather, A, &all[l].A));
        if (l > 0) { PetscCall(take_matrix(gather, mg->levels[l]->interpolate, &all[l].up)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_level(const source *from, const tp_cycle_options *options, int sign, tp_cycle_level *l)
{
    const tp_scaled operator= {.factor = sign, .A = from->A, .left = l->inverse, .right = l->inverse};
    const tp_scaled up = {.factor = 1, .A = from->up, .left = l->root, .right = (l - 1)->inverse};
    tp_scaled down = {.factor = 1, .left = (l - 1)->inverse, .right = l->root};

    PetscFunctionBegin;
    PetscCall(tp_agree(PetscObjectComm((PetscObject)from->A), make_vectors(from->A, l)));
    PetscCall(tp_level_matrix_create(&operator, options->precision, options->halo, &l->A));
    PetscCall(tp_level_matrix_create(&up, options->precision, options->halo, &l->up));
    PetscCall(MatTranspose(up.A, MAT_INITIAL_MATRIX, &down.A));
    PetscCall(tp_level_matrix_create(&down, options->precision, options->halo, &l->down));
    PetscCall(MatDestroy(&down.A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc's solver of the coarsest level solves: then another that does may take its place. Rows of zeros, but
   not others with a zero on the diagonal, have a right-hand side of zero. */
static PetscErrorCode is_exact(KSP ksp, Mat A, Vec b, Vec x, PetscBool *out)
{
    MatNullSpace space;
    Vec r;
    double of_b, left;

    PetscFunctionBegin;
    PetscCall(MatGetNullSpace(A, &space));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatGetRowMaxAbs(A, r, NULL));
    PetscCall(VecPointwiseDivide(r, r, r)); /* 0 over 0 is 0 */
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(VecPointwiseMult(b, b, r));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(b, NORM_2, &of_b));
    PetscCall(VecNorm(r, NORM_2, &left));
    PetscCall(VecDestroy(&r));
    *out = !space && left <= EXACT * of_b ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_coarsest(const PC_MG_Levels *from, Mat A, tp_cycle *c)
{
    tp_cycle_level *const l = &c->level[0];
    Mat own;

    PetscFunctionBegin;
    c->coarse = from->smoothd;
    PetscCall(KSPGetOperators(c->coarse, &own, NULL));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), make_vectors(A, l)));
    PetscCall(MatCreateVecs(own, &c->x, &c->b));
    if (c->gather) { PetscCall(tp_gather_vector(c->gather, c->b, &c->low.vec, &c->low.scatter)); }
    PetscCall(is_exact(c->coarse, own, c->b, c->x, &c->inverted));
    if (!c->inverted) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_dense_inverse(A, c->sign, l->inverse, &l->A, &c->inverted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU the first scaling of a vector and the last one are products with a diagonal matrix. */
static PetscErrorCode make_scale(tp_cycle *c)
{
    const Vec inverse = c->level[c->nlevels - 1].inverse;
    const PetscScalar *d;
    PetscInt n, *i;
    tess_context *ctx;
    tp_rows rows;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    if (tess_context_device(ctx) != TESS_DEVICE_GPU) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(VecGetLocalSize(inverse, &n));
    PetscCall(PetscMalloc1(n + 1, &i));
    for (PetscInt k = 0; k <= n; k++) {
        i[k] = k;
    }
    PetscCall(VecGetArrayRead(inverse, &d));
    rows = (tp_rows){.nrows = n, .ncols = n, .i = i, .j = i, .a = d};
    PetscCall(tp_matrix_create(&rows, &c->unscale));
    PetscCall(VecRestoreArrayRead(inverse, &d));
    PetscCall(PetscFree(i));
    TessCall(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &c->wide));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_levels(const PC_MG *mg, const source *from, tp_cycle *c, const char **why)
{
    PetscFunctionBegin;
    for (PetscInt l = 0; l < c->nlevels && !*why; l++) {
        tp_cycle_level *const level = &c->level[l];
        Mat A;
        PetscCall(scale_level(from[l].A, c, level, why));
        if (l == 0 || *why) { continue; }
        PetscCall(KSPGetOperators(mg->levels[l]->smoothd, &A, NULL));
        PetscCall(tp_smoother_read(mg->levels[l]->smoothd, A, &level->smoother));
        if (level->smoother.steps == 0) { *why = "a smoother is not Chebyshev or Richardson with Jacobi"; }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_levels(const PC_MG *mg, const source *from, const tp_cycle_options *options, tp_cycle *c,
                                  const char **why)
{
    PetscReal largest;

    PetscFunctionBegin;
    PetscCall(read_levels(mg, from, c, why));
    if (*why) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(make_coarsest(mg->levels[0], from[0].A, c));
    for (PetscInt l = 1; l < c->nlevels; l++) {
        PetscCall(make_level(&from[l], options, c->sign, &c->level[l]));
    }
    PetscCall(VecNorm(c->level[c->nlevels - 1].inverse, NORM_INFINITY, &largest));
    (void)frexp(largest, &c->exponent);
    PetscCall(tp_agree(PetscObjectComm((PetscObject)from[0].A), make_scale(c)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the vectors that the preconditioner is applied to. */
static PetscErrorCode make_passage(PC pc, tp_cycle *c)
{
    PetscBool gpu;
    PetscInt n;
    Vec own;

    PetscFunctionBegin;
    if (!c->gather) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_shares_gpu(&gpu));
    PetscCall(MatGetLocalSize(pc->pmat, &n, NULL));
    PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &own));
    PetscCall(VecSetSizes(own, n, PETSC_DECIDE));
    PetscCall(VecSetType(own, gpu ? VECCUDA : VECSTANDARD));
    PetscCall(tp_gather_vector(c->gather, own, &c->fine.vec, &c->fine.scatter));
    PetscCall(VecDestroy(&own));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_cycle_create(PC pc, const tp_cycle_options *options, tp_cycle **out, const char **why)
{
    const PC_MG *const mg = pc->data;
    source *from;
    tp_cycle *c;

    PetscFunctionBegin;
    *out = NULL;
    PetscCall(examine(mg, why));
    if (*why) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscNew(&c));
    c->nlevels = mg->nlevels;
    PetscCall(PetscCalloc1(c->nlevels, &c->level));
    PetscCall(PetscCalloc1(c->nlevels, &from));
    PetscCall(tp_gather_create(PetscObjectComm((PetscObject)pc), options->groups, &c->gather));
    PetscCall(take_sources(mg, c->gather, from));
    PetscCall(make_levels(mg, from, options, c, why));
    for (PetscInt l = 0; l < mg->nlevels; l++) {
        PetscCall(MatDestroy(&from[l].A));
        PetscCall(MatDestroy(&from[l].up));
    }
    PetscCall(PetscFree(from));
    if (*why) {
        PetscCall(tp_cycle_destroy(&c));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(make_passage(pc, c));
    *out = c;
    PetscFunctionReturn(PETSC_SUCCESS);
}
