/* SPDX-License-Identifier: Apache-2.0 */
/* The V-cycle of gamg with FP32 vectors beside PETSc's: the same operator, up to roundings, or PETSc runs it. */
#include "support.h"

#include <petscksp.h>
#include <stdio.h>
#include <string.h>

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

/* Whether -ksp_view would say so. */
static PetscErrorCode view_has(PC pc, const char *text, PetscBool *out)
{
    char all[20000] = "", name[64];
    PetscViewer viewer;
    PetscMPIInt rank;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    (void)snprintf(name, sizeof name, "petsc_cycle_view_%d.txt", ranks);
    PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &viewer));
    PetscCall(PCView(pc, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    if (rank == 0) {
        FILE *const file = fopen(name, "r");
        CHECK(file, "there is no view");
        all[fread(all, 1, sizeof all - 1, file)] = 0;
        (void)fclose(file);
        (void)remove(name);
    }
    *out = rank > 0 || strstr(all, text) ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* factor * the five-point Laplacian, a random r of a size, and random vectors as a near-nullspace (0: PETSc's).
   Crossed: two unknowns at each point, each with the Laplacian of the other one, so that the diagonal is zero.
   Known: PETSc is told that the matrix is SPD. */
typedef struct problem {
    double factor, size;
    int modes;
    PetscBool crossed, known;
} problem;

static PetscErrorCode cross(Mat *A)
{
    Mat both;
    PetscInt n, own, first, last;

    PetscFunctionBegin;
    PetscCall(MatGetSize(*A, &n, NULL));
    PetscCall(MatGetLocalSize(*A, &own, NULL));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 2 * own, 2 * own, 2 * n, 2 * n, 6, NULL, 6, NULL, &both));
    PetscCall(MatSetBlockSize(both, 2));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        const PetscInt *column;
        const PetscScalar *value;
        PetscInt count;
        PetscCall(MatGetRow(*A, r, &count, &column, &value));
        for (PetscInt k = 0; k < count; k++) {
            PetscCall(MatSetValue(both, 2 * r, 2 * column[k] + 1, value[k], INSERT_VALUES));
            PetscCall(MatSetValue(both, 2 * r + 1, 2 * column[k], value[k], INSERT_VALUES));
        }
        PetscCall(MatRestoreRow(*A, r, &count, &column, &value));
        for (PetscInt c = 2 * r; c < 2 * r + 2; c++) {
            PetscCall(MatSetValue(both, c, c, 0, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(both, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(both, MAT_FINAL_ASSEMBLY));
    PetscCall(MatDestroy(A));
    *A = both;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_matrix(const problem *p, Mat *out)
{
    Vec mode[20];
    MatNullSpace space;

    PetscFunctionBegin;
    PetscCall(laplacian(60, "c_", out));
    PetscCall(MatScale(*out, p->factor));
    if (p->crossed) { PetscCall(cross(out)); }
    if (p->known) { PetscCall(MatSetOption(*out, MAT_SPD, PETSC_TRUE)); }
    if (p->modes == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    for (int k = 0; k < p->modes; k++) {
        PetscCall(MatCreateVecs(*out, &mode[k], NULL));
        PetscCall(fill(mode[k], 40 + k));
        PetscCall(VecNormalize(mode[k], NULL));
    }
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, p->modes, mode, &space));
    PetscCall(MatSetNearNullSpace(*out, space));
    PetscCall(MatNullSpaceDestroy(&space));
    for (int k = 0; k < p->modes; k++) {
        PetscCall(VecDestroy(&mode[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||z - z of PCGAMG|| / ||z of PCGAMG|| */
static PetscErrorCode compare(const problem *p, const char *says, double *difference)
{
    const double factor = p->factor, size = p->size;
    Mat A;
    Vec r, z[2];
    PC pc;
    PetscBool found;
    double norm;

    PetscFunctionBegin;
    PetscCall(make_matrix(p, &A));
    PetscCall(MatCreateVecs(A, &r, &z[0]));
    PetscCall(VecDuplicate(z[0], &z[1]));
    PetscCall(fill(r, 11));
    PetscCall(VecScale(r, size));
    for (int ours = 0; ours < 2; ours++) {
        PetscCall(make(A, ours ? "tessera" : "gamg", &pc));
        for (int again = 0; again < 2; again++) { /* the second application has what the first one left */
            PetscCall(PCApply(pc, r, z[ours]));
        }
        if (ours) {
            PetscCall(view_has(pc, says, &found));
            CHECK(found, "A times %g: the view does not say: %s", factor, says);
        }
        PetscCall(PCDestroy(&pc));
    }
    PetscCall(VecScale(z[0], factor / size)); /* near 1 */
    PetscCall(VecScale(z[1], factor / size));
    PetscCall(VecNorm(z[0], NORM_2, &norm));
    PetscCall(VecAXPY(z[1], -1, z[0]));
    PetscCall(VecNorm(z[1], NORM_2, difference));
    *difference /= norm;
    DESTROY(&r, &z[0], &z[1], &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const INVERSE = "vectors of the cycle in fp32, coarsest level by its inverse";
static const char *const BY_PETSC = "vectors of the cycle in fp64, by PETSc";

/* Options that change the cycle, and what runs it. */
typedef struct setting {
    const char *name, *value, *says;
} setting;

static PetscErrorCode it_is_the_operator_of_petsc(void)
{
    const setting cases[] = {{"-c_unused", "", INVERSE},
                             {"-c_mg_levels_ksp_max_it", "1", INVERSE},
                             {"-c_mg_levels_ksp_max_it", "3", INVERSE},
                             {"-c_mg_levels_ksp_max_it", "5", INVERSE},
                             {"-c_mg_levels_ksp_type", "richardson", INVERSE},
                             {"-c_pc_gamg_coarse_eq_limit", "900", "coarsest level by PETSc"},
                             {"-c_mat_type", "tessera", INVERSE},
                             {"-c_mg_levels_pc_type", "sor", BY_PETSC},
                             {"-c_mg_levels_ksp_type", "cg", BY_PETSC},
                             {"-c_pc_mg_cycle_type", "w", BY_PETSC},
                             {"-c_pc_mg_type", "additive", BY_PETSC},
                             {"-c_pc_tessera_vectors", "fp64", BY_PETSC}};
    const char *const precisions[] = {"fp32", "fp16"};
    const double u[] = {U32, U16};

    PetscFunctionBegin;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int p = 0; p < 2; p++) {
            double difference;
            PetscCall(option(cases[c].name, cases[c].value));
            PetscCall(option("-c_pc_tessera_precision", precisions[p]));
            PetscCall(compare(&(problem){.factor = 1, .size = 1}, cases[c].says, &difference));
            /* roundings of some twenty products on each of some four levels, most of which smoothing damps */
            CHECK(difference <= 100 * u[p], "%s %s, %s: %g", cases[c].name, cases[c].value, precisions[p], difference);
            CHECK(strcmp(cases[c].says, INVERSE) != 0 || difference > 0.01 * u[p], "%s %s, %s: nothing was rounded",
                  cases[c].name, cases[c].value, precisions[p]);
            PetscCall(option(cases[c].name, ""));
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices and vectors far outside the range of FP32 and FP16. */
static PetscErrorCode any_scale_will_do(void)
{
    static const double factors[] = {1e60, 1e-6, 1e5}, sizes[] = {1e-50, 1e70, 1e-12};

    PetscFunctionBegin;
    PetscCall(option("-c_pc_tessera_precision", "fp32"));
    for (int k = 0; k < 3; k++) {
        double difference;
        PetscCall(compare(&(problem){.factor = factors[k], .size = sizes[k]}, INVERSE, &difference));
        CHECK(difference <= 100 * U32, "A times %g, r times %g: %g", factors[k], sizes[k], difference);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* -A, whose diagonal is negative, as its inverse is -z; PETSc's ex56 has such a system. */
static PetscErrorCode a_negative_matrix_is_taken(void)
{
    static const char *const coarse[] = {"20", "900"}, *const groups[] = {"none", "1"};

    PetscFunctionBegin;
    PetscCall(option("-c_pc_tessera_precision", "fp32"));
    for (int k = 0; k < 4; k++) {
        double difference;
        PetscCall(option("-c_pc_gamg_coarse_eq_limit", coarse[k % 2]));
        PetscCall(option("-c_pc_tessera_gather", groups[k / 2]));
        PetscCall(compare(&(problem){.factor = -3, .size = 1}, "vectors of the cycle in fp32", &difference));
        CHECK(difference <= 100 * U32 && difference > 0.01 * U32, "-A, coarsest below %s: %g", coarse[k % 2],
              difference);
    }
    PetscCall(option("-c_pc_gamg_coarse_eq_limit", "20"));
    PetscCall(option("-c_pc_tessera_gather", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the processes of a machine on one or two of them, which take them in turn. */
static PetscErrorCode gathered_rows_make_the_same_cycle(void)
{
    static const char *const coarse[] = {"20", "900"};
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(option("-c_pc_tessera_precision", "fp32"));
    for (int groups = 1; groups <= 2; groups++) {
        for (int k = 0; k < 2; k++) {
            char says[80], number[8];
            double difference;
            (void)snprintf(number, sizeof number, "%d", groups);
            (void)snprintf(says, sizeof says, "rows of %d processes on %d of them", ranks, groups);
            PetscCall(option("-c_pc_tessera_gather", number));
            PetscCall(option("-c_pc_gamg_coarse_eq_limit", coarse[k]));
            PetscCall(compare(&(problem){.factor = 1, .size = 1},
                              ranks > groups ? says : "vectors of the cycle in fp32", &difference));
            CHECK(difference <= 100 * U32 && difference > 0.01 * U32, "%d groups, coarsest below %s: %g", groups,
                  coarse[k], difference);
        }
    }
    PetscCall(option("-c_pc_gamg_coarse_eq_limit", "20"));
    PetscCall(option("-c_pc_tessera_gather", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode groups_are_a_number(void)
{
    static const char *const words[] = {"0", "-1", "2x", "all"};
    Mat A;

    PetscFunctionBegin;
    PetscCall(laplacian(20, "c_", &A));
    for (int k = 0; k < 4; k++) {
        PetscErrorCode code;
        PC pc = NULL;
        PetscCall(option("-c_pc_tessera_gather", words[k]));
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        code = make(A, "tessera", &pc);
        PetscCall(PetscPopErrorHandler());
        CHECK(code == PETSC_ERR_ARG_UNKNOWN_TYPE, "-pc_tessera_gather %s: %d", words[k], (int)code);
        PetscCall(PCDestroy(&pc));
    }
    PetscCall(option("-c_pc_tessera_gather", ""));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode least_of_diagonals(PC gamg, double *least)
{
    PetscInt levels;

    PetscFunctionBegin;
    *least = 1;
    PetscCall(PCMGGetLevels(gamg, &levels));
    for (PetscInt l = 0; l < levels; l++) {
        KSP smoother;
        Mat A;
        Vec d;
        PetscReal of_level;
        PetscCall(PCMGGetSmoother(gamg, l, &smoother));
        PetscCall(KSPGetOperators(smoother, &A, NULL));
        PetscCall(MatCreateVecs(A, NULL, &d));
        PetscCall(MatGetDiagonal(A, d));
        PetscCall(VecMin(d, NULL, &of_level));
        *least = PetscMin(*least, of_level);
        PetscCall(VecDestroy(&d));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* An aggregate with fewer unknowns than modes leaves rows of zeros on the next level. */
static PetscErrorCode rows_of_zeros_are_taken(void)
{
    const problem p = {.factor = 1, .size = 1, .modes = 5};
    double difference, least;
    Mat A;
    PC pc;

    PetscFunctionBegin;
    PetscCall(option("-c_pc_tessera_precision", "fp32"));
    PetscCall(option("-c_pc_gamg_coarse_eq_limit", "1000"));
    PetscCall(make_matrix(&p, &A));
    PetscCall(make(A, "gamg", &pc));
    PetscCall(least_of_diagonals(pc, &least));
    CHECK(least == 0, "no level has a row of zeros: the least diagonal is %g", least);
    PetscCall(compare(&p, "vectors of the cycle in fp32", &difference));
    CHECK(difference <= 100 * U32, "%g", difference);
    PetscCall(option("-c_pc_gamg_coarse_eq_limit", "20"));
    DESTROY(&pc, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Such a row is not one of zeros: the inverse of the coarsest level is that of its matrix. */
static PetscErrorCode zeros_on_the_diagonal_are_taken(void)
{
    const problem p = {.factor = 0.1, .size = 1, .crossed = PETSC_TRUE};
    double difference;

    PetscFunctionBegin;
    PetscCall(option("-c_pc_tessera_precision", "fp32"));
    PetscCall(option("-c_pc_gamg_agg_nsmooths", "0"));
    PetscCall(option("-c_mg_levels_ksp_type", "richardson"));
    PetscCall(option("-c_mg_coarse_pc_type", "redundant"));
    PetscCall(option("-c_mg_coarse_redundant_pc_type", "svd"));
    PetscCall(compare(&p, INVERSE, &difference));
    CHECK(difference <= 100 * U32, "%g", difference);
    PetscCall(option("-c_pc_gamg_agg_nsmooths", ""));
    PetscCall(option("-c_mg_levels_ksp_type", ""));
    PetscCall(option("-c_mg_coarse_pc_type", ""));
    PetscCall(option("-c_mg_coarse_redundant_pc_type", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc estimates the eigenvalues for its smoothers by CG where it knows that, and by GMRES elsewhere. */
static PetscErrorCode a_matrix_stays_known_as_spd(void)
{
    const char *const types[] = {"aij", "tessera"};

    PetscFunctionBegin;
    PetscCall(option("-c_pc_tessera_precision", "fp64"));
    for (int t = 0; t < 2; t++) {
        double difference;
        PetscCall(option("-c_mat_type", types[t]));
        PetscCall(compare(&(problem){.factor = 1, .size = 1, .known = PETSC_TRUE}, BY_PETSC, &difference));
        CHECK(difference <= 1e5 * U64, "%s: %g", types[t], difference);
    }
    PetscCall(option("-c_mat_type", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode zero_stays_zero(void)
{
    Mat A;
    Vec r, z;
    PC pc;
    double norm;

    PetscFunctionBegin;
    PetscCall(laplacian(30, "c_", &A));
    PetscCall(MatCreateVecs(A, &r, &z));
    PetscCall(make(A, "tessera", &pc));
    PetscCall(VecSet(z, 5));
    PetscCall(PCApply(pc, r, z));
    PetscCall(VecNorm(z, NORM_2, &norm));
    CHECK(norm == 0, "of a zero vector came %g", norm);
    DESTROY(&pc, &r, &z, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode initialize(void)
{
    PetscFunctionBegin;
    PetscCall(TesseraPetscInitialize());
    PetscCall(option("-c_pc_tessera_type", "gamg"));
    PetscCall(option("-c_pc_gamg_coarse_eq_limit", "20"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(it_is_the_operator_of_petsc),
                                      CASE(any_scale_will_do),
                                      CASE(a_negative_matrix_is_taken),
                                      CASE(gathered_rows_make_the_same_cycle),
                                      CASE(groups_are_a_number),
                                      CASE(rows_of_zeros_are_taken),
                                      CASE(zeros_on_the_diagonal_are_taken),
                                      CASE(a_matrix_stays_known_as_spd),
                                      CASE(zero_stays_zero),
                                      {NULL, NULL}};

    return run_tests(argc, argv, initialize, cases);
}
