/* SPDX-License-Identifier: Apache-2.0 */
/* PCSetCoordinates: rigid-body modes for -pc_tessera_type amg and gamg. */
#include "support.h"

/* m by m points that springs couple to their eight neighbours, held at one side: an elastic body in the plane. */
static PetscErrorCode springs(PetscInt m, Mat *out)
{
    static const PetscInt ways[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(
        MatCreateBAIJ(PETSC_COMM_WORLD, 2, PETSC_DECIDE, PETSC_DECIDE, 2 * m * m, 2 * m * m, 9, NULL, 9, NULL, out));
    PetscCall(MatGetOwnershipRange(*out, &first, &last));
    for (PetscInt i = first / 2; i < last / 2; i++) {
        const PetscScalar held[4] = {1, 0, 0, 1};
        if (i % m == 0) { PetscCall(MatSetValuesBlocked(*out, 1, &i, 1, &i, held, ADD_VALUES)); }
        for (int w = 0; w < 4; w++) {
            const PetscInt x = i % m + ways[w][0], y = i / m + ways[w][1], j = y * m + x, ends[] = {i, j};
            const PetscScalar d[] = {(PetscReal)ways[w][0], (PetscReal)ways[w][1]},
                              over = 1 / (d[0] * d[0] + d[1] * d[1]);
            PetscScalar block[16];
            if (x >= m || y < 0 || y >= m) { continue; }
            for (int k = 0; k < 16; k++) {
                block[k] = (k / 8 == k % 4 / 2 ? over : -over) * d[k / 4 % 2] * d[k % 2];
            }
            PetscCall(MatSetValuesBlocked(*out, 2, ends, 2, ends, block, ADD_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(*out, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*out, MAT_FINAL_ASSEMBLY));
    PetscCall(MatConvert(*out, MATAIJ, MAT_INPLACE_MATRIX, out));
    PetscCall(MatSetBlockSize(*out, 2));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG with amg or what the options say, with coordinates or without. */
static PetscErrorCode iterations_of_springs(PetscInt m, PetscBool coordinates, PetscInt *taken)
{
    PetscReal *points;
    PetscInt first, last;
    Mat A;
    Vec b, x;
    KSP ksp;
    PC pc;

    PetscFunctionBegin;
    PetscCall(springs(m, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(PetscMalloc1((size_t)(last - first), &points));
    for (PetscInt k = first; k < last; k++) {
        points[k - first] = (PetscReal)(k % 2 == 0 ? k / 2 % m : k / 2 / m);
    }
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, 1e-8, 0, PETSC_DEFAULT, 2000));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, "tessera"));
    PetscCall(PCSetFromOptions(pc));
    if (coordinates) { PetscCall(PCSetCoordinates(pc, 2, (last - first) / 2, points)); }
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, taken));
    PetscCall(PetscFree(points));
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode coordinates_reach_amg(void)
{
    PetscInt with, without;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(iterations_of_springs(40, PETSC_TRUE, &with));
    PetscCall(iterations_of_springs(40, PETSC_FALSE, &without));
    /* 11 and 18 on one process; the couplings between several count more */
    CHECK(ranks > 1 ? with <= without : 4 * with <= 3 * without, "%d iterations with coordinates, %d without",
          (int)with, (int)without);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our cycle does not take SOR, so that PETSc builds a second hierarchy, which has the coordinates too. */
static PetscErrorCode coordinates_reach_the_second_hierarchy(void)
{
    PetscInt with, without;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(option("-pc_tessera_type", "gamg"));
    PetscCall(option("-mg_levels_pc_type", "sor"));
    PetscCall(iterations_of_springs(60, PETSC_TRUE, &with));
    PetscCall(iterations_of_springs(60, PETSC_FALSE, &without));
    CHECK(ranks > 1 ? with <= without : 4 * with <= 3 * without, "%d iterations with coordinates, %d without",
          (int)with, (int)without);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets amg up for a matrix with so many points of `dimensions` coordinates; the error, or that of setting them. */
static PetscErrorCode set_up_with_points(Mat A, PetscInt dimensions, PetscInt nodes, const PetscReal *points,
                                         PetscErrorCode *code)
{
    PetscReal *copy;
    PC pc;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1((size_t)(dimensions * nodes), &copy));
    PetscCall(PetscArraycpy(copy, points, dimensions * nodes));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, "tessera"));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    *code = PCSetCoordinates(pc, dimensions, nodes, copy);
    if (*code == 0) { *code = PCSetUp(pc); }
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscFree(copy));
    PetscCall(PCDestroy(&pc));
    PetscFunctionReturn(PETSC_SUCCESS);
}

enum { SIDE = 8, MOST_COORDINATES = 4 * SIDE * SIDE };

/* Of another dimension (PETSc itself finds it), one for each row, or all at one point; of scalars none is needed. */
static PetscErrorCode points_that_do_not_fit(void)
{
    PetscReal points[MOST_COORDINATES];
    PetscInt first, last;
    PetscErrorCode code;
    Mat A;

    PetscFunctionBegin;
    for (int k = 0; k < MOST_COORDINATES; k++) {
        points[k] = (PetscReal)((7 * k) % 11);
    }
    PetscCall(option("-pc_tessera_type", "amg"));
    PetscCall(springs(SIDE, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(set_up_with_points(A, 2, (last - first) / 2, points, &code));
    CHECK(code == 0, "points in the plane: error %d", (int)code);
    PetscCall(set_up_with_points(A, 3, (last - first) / 2, points, &code));
    CHECK(code != 0, "points in space: no error");
    PetscCall(set_up_with_points(A, 2, last - first, points, &code));
    CHECK(code == PETSC_ERR_ARG_SIZ, "a point for each row: error %d", (int)code);
    PetscCall(PetscArrayzero(points, MOST_COORDINATES));
    PetscCall(set_up_with_points(A, 2, (last - first) / 2, points, &code));
    CHECK(code != 0, "all at one point: no error");
    PetscCall(MatDestroy(&A));
    PetscCall(laplacian(SIDE, "", &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(set_up_with_points(A, 2, last - first, points, &code));
    CHECK(code == 0, "points of scalars: error %d", (int)code);
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(coordinates_reach_amg),
                                      CASE(coordinates_reach_the_second_hierarchy),
                                      CASE(points_that_do_not_fit),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
