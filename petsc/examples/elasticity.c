/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic block of cubes, clamped at one end and pulled at the other, by linear finite elements. It gives PETSc the
 * rigid-body modes, which multigrid needs. Nothing here knows of Tessera.
 *
 *     mpirun -n 2 elasticity -dll_append $plugin -ksp_type cg -pc_type tessera -pc_tessera_type gamg
 *
 * Options: -cells N (8) on each side; -stiffness E (1); those of solve.h.
 */
#include "solve.h"

#include <petscdmda.h>

enum { NODES = 8, UNKNOWNS = 24 };

/* Gradients of the eight trilinear shape functions of the unit cube at a point. */
static void gradients(const PetscReal at[3], PetscReal out[NODES][3])
{
    for (int n = 0; n < NODES; n++) {
        PetscReal value[3], slope[3];
        for (int d = 0; d < 3; d++) {
            const int far = n >> d & 1;
            value[d] = far ? at[d] : 1 - at[d];
            slope[d] = far ? 1 : -1;
        }
        for (int d = 0; d < 3; d++) {
            out[n][d] = slope[d] * value[(d + 1) % 3] * value[(d + 2) % 3];
        }
    }
}

/* K of a cell of unit size, by two Gauss points in each direction; Poisson's ratio 1/4, so that lambda = mu = 0.4 E. */
static void cell_matrix(PetscReal stiffness, PetscScalar K[UNKNOWNS][UNKNOWNS])
{
    const PetscReal lame = 0.4 * stiffness, gauss[2] = {0.5 - 0.28867513459481287, 0.5 + 0.28867513459481287};

    PetscCallAbort(PETSC_COMM_SELF, PetscMemzero(K, sizeof(PetscScalar) * UNKNOWNS * UNKNOWNS));
    for (int q = 0; q < 8; q++) {
        const PetscReal at[3] = {gauss[q & 1], gauss[q >> 1 & 1], gauss[q >> 2]};
        PetscReal g[NODES][3];
        gradients(at, g);
        for (int a = 0; a < UNKNOWNS; a++) {
            for (int b = 0; b < UNKNOWNS; b++) {
                const PetscReal *const ga = g[a / 3], *const gb = g[b / 3];
                const int i = a % 3, j = b % 3;
                PetscReal entry = lame * (ga[i] * gb[j] + ga[j] * gb[i]);
                if (i == j) { entry += lame * (ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2]); }
                K[a][b] += entry / 8;
            }
        }
    }
}

static PetscErrorCode assemble(DM grid, PetscReal stiffness, Mat A)
{
    PetscInt cells, start[3], count[3];
    PetscScalar K[UNKNOWNS][UNKNOWNS];

    PetscFunctionBeginUser;
    PetscCall(DMDAGetInfo(grid, NULL, &cells, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    cells--;
    PetscCall(DMDAGetCorners(grid, &start[0], &start[1], &start[2], &count[0], &count[1], &count[2]));
    cell_matrix(stiffness, K);
    for (PetscInt z = start[2]; z < PetscMin(start[2] + count[2], cells); z++) {
        for (PetscInt y = start[1]; y < PetscMin(start[1] + count[1], cells); y++) {
            for (PetscInt x = start[0]; x < PetscMin(start[0] + count[0], cells); x++) {
                MatStencil at[UNKNOWNS];
                for (int a = 0; a < UNKNOWNS; a++) {
                    const int n = a / 3;
                    at[a] = (MatStencil){
                        .i = x + (n & 1), .j = y + (n >> 1 & 1), .k = z + (n >> 2), .c = (PetscInt)(a % 3)};
                }
                PetscCall(MatSetValuesStencil(A, UNKNOWNS, at, UNKNOWNS, at, &K[0][0], ADD_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Nodes with x = 0 do not move; those at the other end are pulled along y. */
static PetscErrorCode clamp_and_pull(DM grid, Mat A, Vec b)
{
    PetscInt nodes, start[3], count[3], n = 0;
    PetscScalar ****force;
    MatStencil *at;

    PetscFunctionBeginUser;
    PetscCall(DMDAGetInfo(grid, NULL, &nodes, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    PetscCall(DMDAGetCorners(grid, &start[0], &start[1], &start[2], &count[0], &count[1], &count[2]));
    PetscCall(DMDAVecGetArrayDOF(grid, b, &force));
    PetscCall(PetscMalloc1((size_t)(3 * count[1] * count[2]), &at));
    for (PetscInt z = start[2]; z < start[2] + count[2]; z++) {
        for (PetscInt y = start[1]; y < start[1] + count[1]; y++) {
            if (start[0] + count[0] == nodes) { force[z][y][nodes - 1][1] = 1.0 / (PetscReal)(nodes * nodes); }
            for (PetscInt c = 0; start[0] == 0 && c < 3; c++) {
                at[n++] = (MatStencil){.i = 0, .j = y, .k = z, .c = c};
            }
        }
    }
    PetscCall(DMDAVecRestoreArrayDOF(grid, b, &force));
    PetscCall(MatZeroRowsColumnsStencil(A, n, at, 1, NULL, NULL));
    PetscCall(PetscFree(at));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt cells = 8;
    PetscReal stiffness = 1;
    DM grid;
    Mat A;
    Vec coordinates, b;
    MatNullSpace modes;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &cells, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-stiffness", &stiffness, NULL));
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX,
                           cells + 1, cells + 1, cells + 1, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 3, 1, NULL, NULL,
                           NULL, &grid));
    PetscCall(DMSetMatType(grid, MATAIJ));
    PetscCall(DMSetFromOptions(grid));
    PetscCall(DMSetUp(grid));
    PetscCall(DMDASetUniformCoordinates(grid, 0, 1, 0, 1, 0, 1));
    PetscCall(DMCreateMatrix(grid, &A));
    PetscCall(assemble(grid, stiffness, A));
    PetscCall(DMGetCoordinates(grid, &coordinates));
    PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
    PetscCall(MatSetNearNullSpace(A, modes));
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscCall(MatCreateVecs(A, NULL, &b));
    PetscCall(clamp_and_pull(grid, A, b));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(solve(A, b));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&grid));
    PetscCall(PetscFinalize());
    return 0;
}
