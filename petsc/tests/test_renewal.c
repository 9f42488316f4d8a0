/* SPDX-License-Identifier: Apache-2.0 */
/* gamg builds its hierarchy of the caller's matrix, or of one around its arrays: it follows that matrix, and leaves it
   as it is. */
#include "support.h"

#include <petscksp.h>

/* Rows of a matrix around arrays of the caller. */
enum { RING = 420 };

static PetscErrorCode make(Mat A, const char *type, PC *pc)
{
    PetscFunctionBegin;
    PetscCall(option("-c_pc_type", type));
    PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
    PetscCall(PCSetOptionsPrefix(*pc, "c_"));
    PetscCall(PCSetOperators(*pc, A, A));
    PetscCall(PCSetFromOptions(*pc));
    PetscCall(PCSetUp(*pc));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix under gamg of ours, and as plain AIJ under PETSc's, which keeps its interpolation for other values.
 */
typedef struct twins {
    Mat A, plain;
    PC ours, theirs;
} twins;

/* ||z - z of PETSc|| / ||z of PETSc|| */
static PetscErrorCode compare(const twins *t, double *out)
{
    Vec r, z[2];
    double norm;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(t->A, &r, &z[0]));
    PetscCall(VecDuplicate(z[0], &z[1]));
    PetscCall(fill(r, 7));
    PetscCall(PCSetUp(t->theirs));
    PetscCall(PCApply(t->theirs, r, z[0]));
    PetscCall(PCSetUp(t->ours));
    PetscCall(PCApply(t->ours, r, z[1]));
    PetscCall(VecNorm(z[0], NORM_2, &norm));
    PetscCall(VecAXPY(z[1], -1, z[0]));
    PetscCall(VecNorm(z[1], NORM_2, out));
    *out /= norm;
    DESTROY(&r, &z[0], &z[1]);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* D A D with random D from 0.5 to 1.5. */
static PetscErrorCode other_values(Mat A)
{
    Vec d;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, NULL, &d));
    PetscCall(fill(d, 3));
    PetscCall(VecScale(d, 0.5));
    PetscCall(VecShift(d, 1));
    PetscCall(MatDiagonalScale(A, d, d));
    PetscCall(VecDestroy(&d));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each row and the next but four are coupled, which may cross processes. */
static PetscErrorCode other_pattern(Mat A)
{
    PetscInt first, last, n;

    PetscFunctionBegin;
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt r = first; r < last; r++) {
        PetscCall(MatSetValue(A, r, r, 1, ADD_VALUES));
        if (r + 5 < n) { PetscCall(MatSetValue(A, r, r + 5, -0.5, ADD_VALUES)); }
        if (r >= 5) { PetscCall(MatSetValue(A, r, r - 5, -0.5, ADD_VALUES)); }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode product(Mat A, Vec *y)
{
    Vec x;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, &x, y));
    PetscCall(fill(x, 21));
    PetscCall(MatMult(A, x, *y));
    PetscCall(VecDestroy(&x));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check(const twins *t, const char *type, const char *when)
{
    double distance;
    Vec y[2];
    PetscBool same;

    PetscFunctionBegin;
    PetscCall(product(t->A, &y[0]));
    PetscCall(compare(t, &distance));
    CHECK(distance <= 100 * U32, "%s, %s: %g", type, when, distance);
    CHECK(distance > 0.01 * U32, "%s, %s: nothing was rounded", type, when);
    PetscCall(product(t->A, &y[1]));
    PetscCall(VecEqual(y[0], y[1], &same));
    CHECK(same, "%s, %s: the matrix gives another product", type, when);
    DESTROY(&y[0], &y[1]);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode change(const twins *t, PetscErrorCode (*how)(Mat))
{
    PetscFunctionBegin;
    PetscCall((*how)(t->A));
    PetscCall((*how)(t->plain));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_twins(const char *type, twins *t)
{
    PetscFunctionBegin;
    PetscCall(option("-c_mat_type", type));
    PetscCall(laplacian(40, "c_", &t->A));
    PetscCall(option("-c_mat_type", "aij"));
    PetscCall(laplacian(40, "c_", &t->plain));
    PetscCall(make(t->A, "tessera", &t->ours));
    PetscCall(make(t->plain, "gamg", &t->theirs));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode destroy_twins(twins *t)
{
    PetscFunctionBegin;
    DESTROY(&t->ours, &t->theirs, &t->A, &t->plain);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode follow(const char *type)
{
    twins t;
    MatType before, after;
    PetscBool kept;

    PetscFunctionBegin;
    PetscCall(create_twins(type, &t));
    PetscCall(MatGetType(t.A, &before));
    PetscCall(check(&t, type, "first values"));
    for (int k = 0; k < 2; k++) {
        PetscCall(change(&t, other_values));
        PetscCall(check(&t, type, "other values"));
    }
    PetscCall(change(&t, other_pattern));
    PetscCall(check(&t, type, "other pattern"));
    PetscCall(change(&t, other_values));
    PetscCall(check(&t, type, "other values after that"));
    PetscCall(MatGetType(t.A, &after));
    PetscCall(PetscStrcmp(before, after, &kept));
    CHECK(kept, "%s became %s", before, after);
    PetscCall(destroy_twins(&t));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode the_hierarchy_follows_the_matrix(void)
{
    static const char *const types[] = {"aij", "tessera", "aijperm"};

    PetscFunctionBegin;
    for (int t = 0; t < 3; t++) {
        PetscCall(follow(types[t]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smoothers that our cycle does not take: PETSc runs the cycle, whose levels are stored lower, but not the caller's. */
static PetscErrorCode so_it_does_under_petsc(void)
{
    PetscFunctionBegin;
    PetscCall(option("-c_mg_levels_ksp_type", "cg"));
    PetscCall(follow("aij"));
    PetscCall(follow("tessera"));
    PetscCall(option("-c_mg_levels_ksp_type", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc keeps the inverse of the diagonal for it, and must drop that of old values. */
static PetscErrorCode so_does_sor(void)
{
    PetscFunctionBegin;
    PetscCall(option("-c_mg_levels_pc_type", "sor"));
    PetscCall(follow("aij"));
    PetscCall(follow("tessera"));
    PetscCall(option("-c_mg_levels_pc_type", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows with couplings to those that are `stride` before and behind, in a ring. */
static PetscErrorCode ring(PetscInt stride, PetscInt *i, PetscInt *j, PetscScalar *a)
{
    PetscFunctionBegin;
    i[0] = 0;
    for (PetscInt r = 0; r < RING; r++) {
        const PetscInt column[] = {(r + RING - stride) % RING, r, (r + stride) % RING};
        i[r + 1] = i[r] + 3;
        for (int k = 0; k < 3; k++) {
            j[3 * r + k] = column[k];
        }
        PetscCall(PetscSortInt(3, &j[3 * r]));
        for (int k = 0; k < 3; k++) {
            a[3 * r + k] = j[3 * r + k] == r ? 2.1 : -1;
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A caller may keep the arrays for its next matrix, which looks like the one before. Vectors: of the cycle. */
static PetscErrorCode replace_matrix(const char *vectors)
{
    static const PetscInt strides[] = {1, 7};
    PetscInt *i, *j;
    PetscScalar *a;
    twins t;

    PetscFunctionBegin;
    PetscCall(option("-c_pc_tessera_vectors", vectors));
    PetscCall(PetscMalloc3(RING + 1, &i, 3 * RING, &j, 3 * RING, &a));
    PetscCall(PCCreate(PETSC_COMM_SELF, &t.ours));
    PetscCall(PCSetOptionsPrefix(t.ours, "c_"));
    PetscCall(option("-c_pc_type", "tessera"));
    PetscCall(PCSetFromOptions(t.ours));
    for (int k = 0; k < 2; k++) {
        double distance;
        PetscCall(ring(strides[k], i, j, a));
        PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, RING, RING, i, j, a, &t.A));
        PetscCall(MatDuplicate(t.A, MAT_COPY_VALUES, &t.plain));
        PetscCall(MatConvert(t.A, MATSEQAIJPERM, MAT_INPLACE_MATRIX, &t.A));
        PetscCall(PCSetOperators(t.ours, t.A, t.A));
        PetscCall(PCCreate(PETSC_COMM_SELF, &t.theirs));
        PetscCall(PCSetOptionsPrefix(t.theirs, "c_"));
        PetscCall(PCSetOperators(t.theirs, t.plain, t.plain));
        PetscCall(PCSetType(t.theirs, PCGAMG));
        PetscCall(option("-c_pc_type", "gamg"));
        PetscCall(PCSetFromOptions(t.theirs));
        PetscCall(compare(&t, &distance));
        CHECK(distance <= 100 * U32, "vectors %s, stride %d: %g", vectors, (int)strides[k], distance);
        DESTROY(&t.theirs, &t.A, &t.plain);
    }
    PetscCall(PCDestroy(&t.ours));
    PetscCall(PetscFree3(i, j, a));
    PetscCall(option("-c_pc_tessera_vectors", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode another_matrix_around_the_same_arrays(void)
{
    PetscFunctionBegin;
    PetscCall(replace_matrix("fp32"));
    PetscCall(replace_matrix("fp64"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode a_word_for_the_setup_is_checked(void)
{
    Mat A;
    PC pc;
    PetscErrorCode code;

    PetscFunctionBegin;
    PetscCall(laplacian(20, "c_", &A));
    PetscCall(option("-c_pc_tessera_setup", "host"));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = make(A, "tessera", &pc);
    PetscCall(PetscPopErrorHandler());
    CHECK(code == PETSC_ERR_ARG_UNKNOWN_TYPE, "host: %d", (int)code);
    DESTROY(&pc, &A);
    PetscCall(option("-c_pc_tessera_setup", "cpu"));
    PetscCall(follow("tessera"));
    PetscCall(option("-c_pc_tessera_setup", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode initialize(void)
{
    PetscFunctionBegin;
    PetscCall(TesseraPetscInitialize());
    PetscCall(option("-c_pc_tessera_type", "gamg"));
    PetscCall(option("-c_pc_tessera_precision", "fp32"));
    PetscCall(option("-c_pc_gamg_coarse_eq_limit", "20"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        CASE(the_hierarchy_follows_the_matrix),      CASE(so_it_does_under_petsc),          CASE(so_does_sor),
        CASE(another_matrix_around_the_same_arrays), CASE(a_word_for_the_setup_is_checked), {NULL, NULL}};

    return run_tests(argc, argv, initialize, cases);
}
