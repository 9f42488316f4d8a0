/* SPDX-License-Identifier: Apache-2.0 */
/* PC "tessera" under PETSc's own KSP: each kind converges, in its precision, and gamg as PCGAMG does. */
#include "support.h"

#include <string.h>

typedef struct solve {
    PetscInt iterations;
    KSPConvergedReason reason;
    double residual; /* relative, true */
} solve;

/* Solves A x = b for random b with the options of a prefix, twice: the second time with values three times as large. */
static PetscErrorCode run(Mat A, const char *prefix, const char *view, solve out[2])
{
    MatNullSpace null;
    Vec x, b;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 5));
    PetscCall(MatGetNullSpace(A, &null));
    if (null) { PetscCall(MatNullSpaceRemove(null, b)); }
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, prefix));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
    PetscCall(KSPSetFromOptions(ksp));
    for (int k = 0; k < 2; k++) {
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetIterationNumber(ksp, &out[k].iterations));
        PetscCall(KSPGetConvergedReason(ksp, &out[k].reason));
        PetscCall(relative_residual(A, b, x, &out[k].residual));
        PetscCall(MatScale(A, 3));
    }
    if (view) {
        PetscViewer viewer;
        PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, view, &viewer));
        PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
        PetscCall(KSPView(ksp, viewer));
        PetscCall(PetscViewerDestroy(&viewer));
    }
    DESTROY(&ksp, &x, &b);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* kind, precision, and the iterations that it must stay below; Jacobi takes 132 on this system. */
static PetscErrorCode kinds_converge(void)
{
    static const struct {
        const char *kind, *precision;
        PetscInt most; /* on one process */
    } cases[] = {{"jacobi", "", 140},
                 {"jacobi", "fp16", 140},
                 {"block-jacobi:5", "", 130},
                 {"polynomial:8", "", 40},
                 {"ilu0", "", 70},
                 {"ilu0", "fp16", 70},
                 {"ic0", "fp32", 70},
                 {"ilut:1e-3:10", "", 70},
                 {"iluk:1", "fp32", 70},
                 {"amg", "", 45},
                 {"amg", "fp16", 45},
                 {"amg", "fp64", 45},
                 {"ict:1e-3:10", "", 70},
                 {"jacobi-sweeps:4", "", 80},
                 {"fsai", "", 80},
                 {"fsai:3", "fp16", 70},
                 {"isai", "fp32", 80},
                 {"amg", "fp32,fp16", 45}};
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    /* GMRES would claim 1e-9 where FP32 vectors of a preconditioner leave 3e-7: x = M^-1 V y is rounded at its end */
    PetscCall(option("-k_ksp_type", "fgmres"));
    PetscCall(option("-k_ksp_gmres_restart", "200"));
    PetscCall(option("-k_pc_type", "tessera"));
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        Mat A;
        solve s[2];
        PetscCall(laplacian(40, "k_", &A));
        PetscCall(option("-k_pc_tessera_type", cases[c].kind));
        PetscCall(option("-k_pc_tessera_precision", cases[c].precision));
        PetscCall(run(A, "k_", NULL, s));
        for (int k = 0; k < 2; k++) {
            CHECK(s[k].reason > 0 && s[k].residual < 1.1e-9, "%s %s: reason %d, residual %g", cases[c].kind,
                  cases[c].precision, (int)s[k].reason, s[k].residual);
            CHECK(s[k].iterations <= cases[c].most * (ranks > 1 ? 2 : 1), "%s %s: %d iterations", cases[c].kind,
                  cases[c].precision, (int)s[k].iterations);
        }
        /* a preconditioner of the old values would do as well: three times the matrix needs no more iterations */
        CHECK(s[1].iterations <= s[0].iterations + 1, "%s: %d, then %d iterations", cases[c].kind, (int)s[0].iterations,
              (int)s[1].iterations);
        PetscCall(MatDestroy(&A));
    }
    PetscCall(option("-k_pc_tessera_precision", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode in_bjacobi_and_asm(void)
{
    static const char *const outer[] = {"bjacobi", "asm"};

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        Mat A;
        solve s[2];
        PetscCall(laplacian(40, "s_", &A));
        PetscCall(option("-s_ksp_type", "fgmres"));
        PetscCall(option("-s_pc_type", outer[k]));
        PetscCall(option("-s_sub_pc_type", "tessera"));
        PetscCall(option("-s_sub_pc_tessera_type", "ilu0"));
        PetscCall(option("-s_sub_pc_tessera_precision", "fp32"));
        PetscCall(run(A, "s_", NULL, s));
        CHECK(s[1].reason > 0 && s[1].residual < 1.1e-9, "%s: reason %d, residual %g", outer[k], (int)s[1].reason,
              s[1].residual);
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* LU of each process' rows, by MUMPS within the library, beside the one of PETSc: exact on one process. */
static PetscErrorCode complete_factors(void)
{
    static const char *const precisions[] = {"fp32", "fp64"};
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    for (int k = 0; k < 2; k++) {
        Mat A;
        solve s[2];
        PetscCall(laplacian(20, "l_", &A));
        PetscCall(option("-l_ksp_type", "fgmres"));
        PetscCall(option("-l_pc_type", "tessera"));
        PetscCall(option("-l_pc_tessera_type", "lu"));
        PetscCall(option("-l_pc_tessera_precision", precisions[k]));
        PetscCall(run(A, "l_", NULL, s));
        CHECK(s[1].reason > 0 && s[1].residual < 1.1e-9, "lu %s: reason %d, residual %g", precisions[k],
              (int)s[1].reason, s[1].residual);
        CHECK(ranks > 1 || s[1].iterations <= 3, "lu %s: %d iterations", precisions[k], (int)s[1].iterations);
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a file has a text; every process reads it. */
static PetscErrorCode file_has(const char *name, const char *text, PetscBool *out)
{
    char line[1024];
    FILE *file = fopen(name, "r");

    PetscFunctionBegin;
    *out = PETSC_FALSE;
    CHECK(file, "%s does not exist", name);
    while (fgets(line, sizeof line, file)) {
        if (strstr(line, text)) { *out = PETSC_TRUE; }
    }
    (void)fclose(file);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PCGAMG, with levels in lower precisions; on GAMG's own type and on ours. */
static PetscErrorCode multigrid_of_petsc(void)
{
    static const char *const precisions[] = {"fp64", "fp32", "fp16"};
    char view[64];
    Mat A;
    solve plain[2], s[2];
    PetscBool found;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    (void)snprintf(view, sizeof view, "petsc_pc_view_%d.txt", ranks);
    PetscCall(option("-g_ksp_type", "cg"));
    PetscCall(option("-g_ksp_norm_type", "unpreconditioned"));
    PetscCall(option("-g_pc_gamg_coarse_eq_limit", "20"));
    PetscCall(option("-g_pc_type", "gamg"));
    PetscCall(laplacian(40, "g_", &A));
    PetscCall(run(A, "g_", NULL, plain));
    PetscCall(MatDestroy(&A));
    PetscCall(option("-g_pc_type", "tessera"));
    PetscCall(option("-g_pc_tessera_type", "gamg"));
    for (int k = 0; k < 6; k++) {
        PetscCall(option("-g_mat_type", k < 3 ? "" : "tessera"));
        PetscCall(option("-g_pc_tessera_precision", precisions[k % 3]));
        PetscCall(laplacian(40, "g_", &A));
        PetscCall(run(A, "g_", view, s));
        CHECK(s[1].reason > 0 && s[1].residual < 1.1e-9, "gamg %s: reason %d, residual %g", precisions[k % 3],
              (int)s[1].reason, s[1].residual);
        for (int n = 0; n < 2; n++) {
            CHECK(s[n].iterations <= plain[n].iterations + 1, "gamg %s: %d iterations, PCGAMG %d", precisions[k % 3],
                  (int)s[n].iterations, (int)plain[n].iterations);
        }
        PetscCall(file_has(view, precisions[k % 3], &found));
        CHECK(found, "the view does not tell of %s", precisions[k % 3]);
        PetscCall(MatDestroy(&A));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    (void)remove(view);
    PetscCall(option("-g_mat_type", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pure Neumann problem, whose null space PETSc knows: levels in FP16 take FP32, and the solve is a true one. */
static PetscErrorCode multigrid_of_a_singular_matrix(void)
{
    MatNullSpace constants;
    Mat A;
    Vec sums;
    solve s[2];

    PetscFunctionBegin;
    PetscCall(laplacian(40, "n_", &A));
    PetscCall(MatCreateVecs(A, NULL, &sums));
    PetscCall(MatGetRowSum(A, sums));
    PetscCall(VecScale(sums, -1));
    PetscCall(MatDiagonalSet(A, sums, ADD_VALUES));
    PetscCall(VecDestroy(&sums));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(A, constants));
    PetscCall(MatSetTransposeNullSpace(A, constants));
    PetscCall(option("-n_ksp_type", "cg"));
    PetscCall(option("-n_pc_type", "tessera"));
    PetscCall(option("-n_pc_tessera_type", "gamg"));
    PetscCall(option("-n_pc_tessera_precision", "fp16"));
    PetscCall(run(A, "n_", NULL, s));
    CHECK(s[1].reason > 0 && s[1].residual < 1e-7, "reason %d, residual %g", (int)s[1].reason, s[1].residual);
    DESTROY(&constants, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A nest of two Laplacians: its hierarchy is that of a copy, which takes the values of the second solve. */
static PetscErrorCode multigrid_of_a_nest(void)
{
    Mat block[4] = {NULL, NULL, NULL, NULL}, A;
    solve s[2];

    PetscFunctionBegin;
    PetscCall(laplacian(20, "e_", &block[0]));
    PetscCall(laplacian(15, "e_", &block[3]));
    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, block, &A));
    DESTROY(&block[0], &block[3]);
    PetscCall(option("-e_ksp_type", "fgmres"));
    PetscCall(option("-e_pc_type", "tessera"));
    PetscCall(option("-e_pc_tessera_type", "gamg"));
    PetscCall(run(A, "e_", NULL, s));
    for (int k = 0; k < 2; k++) {
        CHECK(s[k].reason > 0 && s[k].residual < 1.1e-9, "solve %d: reason %d, residual %g", k, (int)s[k].reason,
              s[k].residual);
    }
    CHECK(s[1].iterations <= s[0].iterations + 1, "%d, then %d iterations", (int)s[0].iterations, (int)s[1].iterations);
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero pivot on one process ends the solve on all. */
static PetscErrorCode a_singular_block(void)
{
    Mat A;
    solve s[2];
    PetscInt first = 0;

    PetscFunctionBegin;
    PetscCall(laplacian(10, "z_", &A));
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(MatZeroRows(A, 1, &first, 0, NULL, NULL));
    PetscCall(option("-z_pc_type", "tessera"));
    PetscCall(option("-z_pc_tessera_type", "block-jacobi:5"));
    PetscCall(run(A, "z_", NULL, s));
    CHECK(s[0].reason == KSP_DIVERGED_PC_FAILED, "reason %d", (int)s[0].reason);
    PetscCall(option("-z_ksp_type", "tessera"));
    PetscCall(run(A, "z_", NULL, s));
    CHECK(s[0].reason == KSP_DIVERGED_PC_FAILED, "KSP tessera: reason %d", (int)s[0].reason);
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* More smoothing takes fewer iterations, a coarser level more. Several ranks precondition each its rows. */
static PetscErrorCode options_of_amg(void)
{
    static const char *const degrees[] = {"1", "4", "4"}, *const aggressive[] = {"0", "0", "1"};
    PetscInt taken[3];
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(option("-o_ksp_type", "cg"));
    PetscCall(option("-o_pc_type", "tessera"));
    PetscCall(option("-o_pc_tessera_amg_coarsening", "classical"));
    for (int c = 0; c < 3; c++) {
        Mat A;
        solve s[2];
        PetscCall(option("-o_pc_tessera_amg_degree", degrees[c]));
        PetscCall(option("-o_pc_tessera_amg_aggressive", aggressive[c]));
        PetscCall(laplacian(40, "o_", &A));
        PetscCall(run(A, "o_", NULL, s));
        taken[c] = s[0].iterations;
        CHECK(s[0].reason > 0, "degree %s, aggressive %s: reason %d", degrees[c], aggressive[c], (int)s[0].reason);
        PetscCall(MatDestroy(&A));
    }
    CHECK(taken[1] < taken[0], "degree 1: %d iterations, 4: %d", (int)taken[0], (int)taken[1]);
    CHECK(ranks > 1 || taken[1] < taken[2], "aggressive 0: %d iterations, 1: %d", (int)taken[1], (int)taken[2]);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bad_options_are_refused(void)
{
    static const char *const cases[][2] = {{"-b_pc_tessera_type", "ilu"},
                                           {"-b_pc_tessera_precision", "fp63"},
                                           {"-b_pc_tessera_precision", "fp32,"},
                                           {"-b_pc_tessera_amg_cycle", "f"},
                                           {"-b_pc_tessera_amg_coarsening", "half"}};

    PetscFunctionBegin;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        Mat A;
        solve s[2];
        PetscErrorCode code;
        PetscCall(laplacian(10, "b_", &A));
        PetscCall(option("-b_pc_type", "tessera"));
        PetscCall(option(cases[c][0], cases[c][1]));
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        code = run(A, "b_", NULL, s);
        PetscCall(PetscPopErrorHandler());
        CHECK(code == PETSC_ERR_ARG_UNKNOWN_TYPE, "%s %s: %d", cases[c][0], cases[c][1], (int)code);
        PetscCall(option(cases[c][0], ""));
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chains of four unknowns and a constraint on each, which is the last row of its chain; all of this process. */
static PetscErrorCode chains(const char *prefix, double c, Mat *A)
{
    const PetscInt rows = 5 * 12;
    PetscInt first;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE, 5, NULL, 0, NULL, A));
    PetscCall(MatSetOptionsPrefix(*A, prefix));
    PetscCall(MatGetOwnershipRange(*A, &first, NULL));
    for (PetscInt i = 0; i < rows; i++) {
        const PetscInt place = i % 5, chain = i - place;
        for (PetscInt j = 0; j < 5; j++) {
            const double beside = j == 4 || place == 4 ? 1.0 : j == place + 1 || j == place - 1 ? -1.0 : 0.0;
            const double value = j != place ? beside : j == 4 ? c : 2.5 + (double)i / (double)rows;
            if (value != 0.0) { PetscCall(MatSetValue(*A, first + i, first + chain + j, value, INSERT_VALUES)); }
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of the second block are found, or named by an index set: those of a positive C cannot be found. */
static PetscErrorCode saddle_points(void)
{
    PetscFunctionBegin;
    PetscCall(option("-d_ksp_type", "fgmres"));
    PetscCall(option("-d_pc_type", "tessera"));
    PetscCall(option("-d_pc_tessera_type", "saddle"));
    PetscCall(option("-d_pc_tessera_schur_precondition", "selfp"));
    PetscCall(option("-d_pc_tessera_schur_fact_type", "full"));
    for (int k = 0; k < 2; k++) {
        Mat A;
        IS set;
        solve s[2];
        PetscCall(chains("d_", k == 0 ? 0.0 : 0.125, &A));
        if (k == 1) {
            PetscCall(ISCreateStride(PETSC_COMM_SELF, 12, 4, 5, &set));
            PetscCall(PetscObjectCompose((PetscObject)A, "tessera_saddle_index", (PetscObject)set));
            PetscCall(ISDestroy(&set));
        }
        PetscCall(run(A, "d_", NULL, s));
        for (int i = 0; i < 2; i++) {
            CHECK(s[i].reason > 0 && s[i].residual < 1.1e-9, "index %d: reason %d, residual %g", k, (int)s[i].reason,
                  s[i].residual);
            CHECK(s[i].iterations <= 25, "index %d: %d iterations", k, (int)s[i].iterations);
        }
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's methods would go on by such a preconditioner, and some claim a wrong x. */
static PetscErrorCode methods_that_do_not_fit_are_refused(void)
{
    static const char *const cases[][4] = {{"minres", "saddle", "-f_pc_tessera_schur_fact_type", "upper"},
                                           {"minres", "saddle", NULL, NULL},
                                           {"gmres", "saddle", "-f_pc_tessera_amg_cycle", "k"},
                                           {"cg", "amg", "-f_pc_tessera_amg_cycle", "k"},
                                           {"cg", "amg", "-f_pc_tessera_amg_restriction", "air"}};

    PetscFunctionBegin;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        Mat A;
        solve s[2];
        PetscErrorCode code;
        PetscCall(chains("f_", 0.0, &A));
        PetscCall(option("-f_pc_type", "tessera"));
        PetscCall(option("-f_ksp_type", cases[c][0]));
        PetscCall(option("-f_pc_tessera_type", cases[c][1]));
        if (cases[c][2]) { PetscCall(option(cases[c][2], cases[c][3])); }
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        code = run(A, "f_", NULL, s);
        PetscCall(PetscPopErrorHandler());
        CHECK(code == PETSC_ERR_ARG_INCOMP, "%s with %s: %d", cases[c][0], cases[c][1], (int)code);
        if (cases[c][2]) { PetscCall(PetscOptionsClearValue(NULL, cases[c][2])); }
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector is no index set. */
static PetscErrorCode another_object_is_no_index(void)
{
    Mat A;
    Vec vector;
    solve s[2];
    PetscErrorCode code;

    PetscFunctionBegin;
    PetscCall(option("-i_ksp_type", "fgmres"));
    PetscCall(option("-i_pc_type", "tessera"));
    PetscCall(option("-i_pc_tessera_type", "saddle"));
    PetscCall(chains("i_", 0.0, &A));
    PetscCall(MatCreateVecs(A, &vector, NULL));
    PetscCall(PetscObjectCompose((PetscObject)A, "tessera_saddle_index", (PetscObject)vector));
    PetscCall(VecDestroy(&vector));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = run(A, "i_", NULL, s);
    PetscCall(PetscPopErrorHandler());
    CHECK(code == PETSC_ERR_ARG_WRONG, "a vector as index: %d", (int)code);
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(kinds_converge),
                                      CASE(in_bjacobi_and_asm),
                                      CASE(complete_factors),
                                      CASE(multigrid_of_petsc),
                                      CASE(multigrid_of_a_singular_matrix),
                                      CASE(multigrid_of_a_nest),
                                      CASE(a_singular_block),
                                      CASE(saddle_points),
                                      CASE(methods_that_do_not_fit_are_refused),
                                      CASE(another_object_is_no_index),
                                      CASE(options_of_amg),
                                      CASE(bad_options_are_refused),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
