/* SPDX-License-Identifier: Apache-2.0 */
/* KSP "tessera": what it calls converged is so; tolerances, limits, monitors and reasons are PETSc's. */
#include "support.h"

#include <math.h>

static PetscErrorCode make(Mat A, const char *prefix, double rtol, KSP *ksp)
{
    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetType(*ksp, KSPTESSERA));
    PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 3000));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode count_calls(KSP ksp, PetscInt iteration, PetscReal norm, void *calls)
{
    PetscFunctionBegin;
    (void)ksp;
    (void)norm;
    CHECK(*(PetscInt *)calls > 0 || iteration == 0, "the first call has iteration %d", (int)iteration);
    ++*(PetscInt *)calls;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode every_method_converges(void)
{
    static const char *const methods[] = {"auto", "cg", "bicgstab", "gmres", "fgmres", "minres"};
    static const char *const preconds[] = {"none", "jacobi", "tessera", "bjacobi"};

    PetscFunctionBegin;
    for (int m = 0; m < 6; m++) {
        for (int p = 0; p < 4; p++) {
            Mat A;
            Vec x, b;
            KSP ksp;
            double residual;
            KSPConvergedReason reason;
            PetscInt calls = 0, iterations;
            PetscCall(option("-e_mat_type", p % 2 ? "tessera" : ""));
            PetscCall(laplacian(25, "e_", &A));
            PetscCall(MatCreateVecs(A, &x, &b));
            PetscCall(fill(b, 6));
            PetscCall(option("-e_ksp_tessera_solver", methods[m]));
            PetscCall(option("-e_pc_type", preconds[p]));
            PetscCall(option("-e_pc_tessera_type", "ilu0"));
            PetscCall(make(A, "e_", 1e-10, &ksp));
            PetscCall(KSPMonitorSet(ksp, count_calls, &calls, NULL));
            PetscCall(KSPSolve(ksp, b, x));
            PetscCall(KSPGetConvergedReason(ksp, &reason));
            PetscCall(KSPGetIterationNumber(ksp, &iterations));
            PetscCall(relative_residual(A, b, x, &residual));
            CHECK(reason == KSP_CONVERGED_RTOL, "%s %s: reason %d", methods[m], preconds[p], (int)reason);
            CHECK(residual <= 1.01e-10, "%s %s: residual %g", methods[m], preconds[p], residual);
            CHECK(calls > 1 || iterations <= 1, "%s %s: %d calls of the monitor, %d iterations", methods[m],
                  preconds[p], (int)calls, (int)iterations);
            DESTROY(&ksp, &x, &b, &A);
        }
    }
    PetscCall(option("-e_ksp_tessera_solver", ""));
    PetscCall(option("-e_pc_type", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's names of methods are the library's methods, step by step. */
static PetscErrorCode names_of_petsc(void)
{
    static const char *const names[][2] = {{"bcgs", "bicgstab"}, {"fbcgs", "bicgstab"}, {"ibcgs", "bicgstab"},
                                           {"pipecg", "cg"},     {"groppcg", "cg"},     {"pgmres", "gmres"}};
    Mat A;
    Vec x, b;

    PetscFunctionBegin;
    PetscCall(laplacian(20, "a_", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 11));
    PetscCall(option("-a_pc_type", "jacobi"));
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        PetscInt iterations[2];

        for (int ours = 0; ours < 2; ours++) {
            KSP ksp;
            KSPConvergedReason reason;
            PetscCall(option("-a_ksp_tessera_solver", names[k][ours]));
            PetscCall(make(A, "a_", 1e-8, &ksp));
            PetscCall(KSPSolve(ksp, b, x));
            PetscCall(KSPGetConvergedReason(ksp, &reason));
            PetscCall(KSPGetIterationNumber(ksp, &iterations[ours]));
            CHECK(reason == KSP_CONVERGED_RTOL, "%s: reason %d", names[k][ours], (int)reason);
            PetscCall(KSPDestroy(&ksp));
        }
        CHECK(iterations[0] == iterations[1], "%s took %d iterations, %s %d", names[k][0], (int)iterations[0],
              names[k][1], (int)iterations[1]);
    }
    PetscCall(option("-a_ksp_tessera_solver", ""));
    DESTROY(&x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode count_with_restart(Mat A, Vec b, Vec x, PetscInt called, PetscInt *restart, PetscInt *iterations)
{
    KSP ksp;
    KSPConvergedReason reason;

    PetscFunctionBegin;
    PetscCall(make(A, "g_", 1e-8, &ksp));
    if (called > 0) { PetscCall(KSPGMRESSetRestart(ksp, called)); }
    PetscCall(KSPGMRESGetRestart(ksp, restart));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, iterations));
    CHECK(reason == KSP_CONVERGED_RTOL, "reason %d", (int)reason);
    if (called > 0) { /* also for a KSP that has solved */
        PetscInt again;
        PetscCall(KSPGMRESSetRestart(ksp, 400));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetIterationNumber(ksp, &again));
        CHECK(again < *iterations, "%d iterations with a restart of %d, %d with 400", (int)*iterations, (int)called,
              (int)again);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* -ksp_gmres_restart and KSPGMRESSetRestart are those of GMRES and FGMRES; -ksp_tessera_restart goes before both. */
static PetscErrorCode restarts_of_petsc(void)
{
    static const char *const methods[] = {"gmres", "fgmres"};
    Mat A;
    Vec x, b;

    PetscFunctionBegin;
    PetscCall(laplacian(20, "g_", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 12));
    PetscCall(option("-g_pc_type", "jacobi"));
    for (int m = 0; m < 2; m++) {
        PetscInt restart[4], iterations[4];

        PetscCall(option("-g_ksp_tessera_solver", methods[m]));
        PetscCall(count_with_restart(A, b, x, 0, &restart[0], &iterations[0]));
        PetscCall(option("-g_ksp_gmres_restart", "5"));
        PetscCall(count_with_restart(A, b, x, 0, &restart[1], &iterations[1]));
        PetscCall(option("-g_ksp_gmres_restart", ""));
        PetscCall(count_with_restart(A, b, x, 5, &restart[2], &iterations[2]));
        PetscCall(option("-g_ksp_tessera_restart", "5"));
        PetscCall(option("-g_ksp_gmres_restart", "200"));
        PetscCall(count_with_restart(A, b, x, 0, &restart[3], &iterations[3]));
        PetscCall(option("-g_ksp_tessera_restart", ""));
        PetscCall(option("-g_ksp_gmres_restart", ""));
        CHECK(restart[0] == 50 && restart[1] == 5 && restart[2] == 5 && restart[3] == 5, "restarts %d %d %d %d",
              (int)restart[0], (int)restart[1], (int)restart[2], (int)restart[3]);
        CHECK(iterations[1] > iterations[0] && iterations[2] == iterations[1] && iterations[3] == iterations[1],
              "%s: %d iterations, %d and %d with a restart of 5, %d with one of ours", methods[m], (int)iterations[0],
              (int)iterations[1], (int)iterations[2], (int)iterations[3]);
    }
    PetscCall(option("-g_ksp_tessera_solver", "cg")); /* as PETSc's CG, which takes no notice */
    PetscCall(option("-g_ksp_gmres_restart", "5"));
    {
        PetscInt restart, iterations;
        PetscCall(count_with_restart(A, b, x, 0, &restart, &iterations));
    }
    PetscCall(option("-g_ksp_tessera_solver", ""));
    PetscCall(option("-g_ksp_gmres_restart", ""));
    DESTROY(&x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix in FP16, whose rounded system has another solution: refinement finds the true one, and without the
   verification the solve claims what is not so. */
static PetscErrorCode the_true_residual_decides(void)
{
    random_pair p;
    Mat T;
    Vec x, b;
    KSP ksp;
    double residual[2];
    KSPConvergedReason reason[2];

    PetscFunctionBegin;
    PetscCall(random_matrix(200, 200, &p));
    PetscCall(MatSetOption(p.a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatShift(p.a, 6e3));
    PetscCall(option("-v_mat_tessera_precision", "fp16"));
    PetscCall(MatSetOptionsPrefix(p.a, "v_"));
    PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatCreateVecs(T, &x, &b));
    PetscCall(fill(b, 7));
    PetscCall(option("-v_ksp_tessera_solver", "gmres"));
    PetscCall(option("-v_pc_type", "jacobi"));
    for (int verify = 0; verify < 2; verify++) {
        PetscCall(option("-v_ksp_tessera_verify", verify ? "1" : "0"));
        PetscCall(make(T, "v_", 1e-11, &ksp));
        PetscCall(VecZeroEntries(x));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason[verify]));
        PetscCall(relative_residual(p.a, b, x, &residual[verify]));
        PetscCall(KSPDestroy(&ksp));
    }
    CHECK(reason[0] > 0 && residual[0] > 1e-7, "unverified: reason %d, residual %g", (int)reason[0], residual[0]);
    CHECK(reason[1] > 0 && residual[1] < 1.01e-11, "verified: reason %d, residual %g", (int)reason[1], residual[1]);
    DESTROY(&x, &b, &T);
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tolerance that no x meets is a divergence, not a convergence. */
static PetscErrorCode nothing_impossible_converges(void)
{
    Mat A;
    Vec x, b;
    KSP ksp;
    KSPConvergedReason reason;

    PetscFunctionBegin;
    PetscCall(laplacian(25, "i_", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 8));
    PetscCall(option("-i_pc_type", "jacobi"));
    PetscCall(option("-i_ksp_tessera_solver", "cg"));
    PetscCall(make(A, "i_", 1e-18, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason < 0, "a tolerance of 1e-18 was met: %d", (int)reason);
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode limits_and_guesses(void)
{
    Mat A;
    Vec x, b;
    KSP ksp;
    double residual, norm;
    KSPConvergedReason reason;
    PetscInt iterations;

    PetscFunctionBegin;
    PetscCall(laplacian(25, "m_", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 9));
    PetscCall(option("-m_pc_type", "jacobi"));
    PetscCall(option("-m_ksp_tessera_solver", "cg"));
    PetscCall(make(A, "m_", 1e-9, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 7));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    CHECK(reason == KSP_DIVERGED_ITS && iterations == 7, "limit: reason %d, %d iterations", (int)reason,
          (int)iterations);
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(relative_residual(A, b, x, &residual));
    CHECK(reason > 0 && iterations == 0 && residual < 1.01e-9, "guess: reason %d, %d iterations", (int)reason,
          (int)iterations);
    PetscCall(MatScale(A, 0.1)); /* new values reach the solver */
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(relative_residual(A, b, x, &residual));
    CHECK(residual < 1.01e-9, "new values: residual %g", residual);
    PetscCall(VecZeroEntries(b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    CHECK(norm < 1e-9, "b = 0: norm of x %g", norm);
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T x = b beside A x = b, by turns in one KSP, with values that change in between; false claims are refused alike. */
static PetscErrorCode the_transpose_is_solved(void)
{
    static const char *const preconds[] = {"none", "jacobi", "tessera", "bjacobi"};
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    for (int p = 0; p < 4; p++) {
        random_pair pair;
        Mat A, T;
        Vec x, b;
        KSP ksp;
        PetscCall(random_matrix(200, 200, &pair));
        PetscCall(MatSetOption(pair.a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(MatShift(pair.a, 6e3));
        PetscCall(MatConvert(pair.a, p % 2 ? MATTESSERA : MATAIJ, MAT_INITIAL_MATRIX, &A));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(fill(b, 10));
        PetscCall(option("-t_pc_type", preconds[p]));
        PetscCall(option("-t_pc_tessera_type", ranks > 1 ? "jacobi" : "ilu0"));
        PetscCall(option("-t_ksp_tessera_solver", p % 2 ? "auto" : "gmres"));
        PetscCall(make(A, "t_", 1e-10, &ksp));
        for (int k = 0; k < 5; k++) {
            const PetscBool transposed = k != 1 ? PETSC_TRUE : PETSC_FALSE;
            KSPConvergedReason reason;
            double residual, other;
            if (k == 3) { PetscCall(MatScale(A, 0.5)); }
            if (k == 4) { PetscCall(KSPSetTolerances(ksp, 1e-18, PETSC_DEFAULT, PETSC_DEFAULT, 3000)); }
            PetscCall((transposed ? KSPSolveTranspose : KSPSolve)(ksp, b, x));
            PetscCall(KSPGetConvergedReason(ksp, &reason));
            CHECK((reason > 0) == (k < 4), "%s, solve %d: reason %d", preconds[p], k, (int)reason);
            PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &T));
            PetscCall(relative_residual(T, b, x, &other));
            PetscCall(MatTranspose(T, MAT_INPLACE_MATRIX, &T));
            PetscCall(relative_residual(T, b, x, &residual));
            CHECK((transposed ? residual : other) <= 1.01e-10 && (transposed ? other : residual) > 1e-3,
                  "%s, solve %d: residual %g with the transpose, %g with the matrix", preconds[p], k, residual, other);
            PetscCall(MatDestroy(&T));
        }
        DESTROY(&ksp, &x, &b, &A);
        PetscCall(destroy_pair(&pair));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's Jacobi of one process becomes the library's, and is left out for a constant diagonal: iterations are those of
   PETSc's CG with it, before and after the diagonal changes. */
static PetscErrorCode jacobi_is_the_same(void)
{
    static const char *const preconds[] = {"jacobi", "tessera"};

    PetscFunctionBegin;
    PetscCall(option("-j_pc_tessera_type", "jacobi"));
    PetscCall(option("-j_ksp_tessera_solver", "cg"));
    for (int p = 0; p < 2; p++) {
        Mat A;
        Vec x, b, d;
        KSP ksp[2];
        PetscCall(laplacian(25, "j_", &A));
        PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(VecDuplicate(b, &d));
        PetscCall(fill(b, 12));
        PetscCall(option("-j_pc_type", preconds[p]));
        for (int ours = 0; ours < 2; ours++) {
            PetscCall(make(A, "j_", 1e-8, &ksp[ours]));
            if (!ours) { PetscCall(KSPSetType(ksp[0], KSPCG)); }
            PetscCall(KSPSetNormType(ksp[ours], KSP_NORM_UNPRECONDITIONED));
        }
        for (int k = 0; k < 2; k++) {
            PetscInt n[2];
            double residual;
            for (int ours = 0; ours < 2; ours++) {
                PetscCall(KSPSolve(ksp[ours], b, x));
                PetscCall(KSPGetIterationNumber(ksp[ours], &n[ours]));
            }
            PetscCall(relative_residual(A, b, x, &residual));
            CHECK(residual <= 1.01e-8, "%s: residual %g", preconds[p], residual);
            CHECK(PetscAbsInt(n[0] - n[1]) <= 1, "%s, solve %d: %d iterations, PETSc's CG %d", preconds[p], k,
                  (int)n[1], (int)n[0]);
            PetscCall(fill(d, 13)); /* a symmetric scaling, which Jacobi undoes */
            PetscCall(VecScale(d, 1.5));
            PetscCall(VecExp(d));
            PetscCall(MatDiagonalScale(A, d, d));
        }
        DESTROY(&ksp[0], &ksp[1], &x, &b, &d, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix may come to lie where one lay that the solver was made for, and may have changed as often. */
static PetscErrorCode another_matrix_at_the_same_place(void)
{
    Mat first, between, next = NULL, others[64];
    const void *place;
    int count = 0;
    Vec x, b;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(option("-a_pc_type", "none"));
    PetscCall(option("-a_ksp_tessera_solver", "cg"));
    PetscCall(laplacian(12, "a_", &first));
    PetscCall(laplacian(12, "a_", &between));
    PetscCall(MatShift(first, 0.5));
    PetscCall(MatCreateVecs(first, &x, &b));
    PetscCall(fill(b, 14));
    PetscCall(make(first, "a_", 1e-8, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    place = first;
    PetscCall(KSPSetOperators(ksp, between, between));
    PetscCall(MatDestroy(&first));
    while (count < 64 && (!next || (const void *)next != place)) {
        PetscCall(laplacian(12, "a_", &next));
        others[count++] = next;
    }
    PetscCall(MatShift(next, 1.0));
    PetscCall(KSPSetOperators(ksp, next, next));
    PetscCall(KSPSolve(ksp, b, x));
    {
        KSPConvergedReason reason;
        double residual;
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(relative_residual(next, b, x, &residual));
        CHECK(reason > 0 && residual <= 1.01e-8, "reason %d, residual %g, at the same place: %d", (int)reason, residual,
              (const void *)next == place);
    }
    PetscCall(KSPDestroy(&ksp));
    for (int k = 0; k < count; k++) {
        PetscCall(MatDestroy(&others[k]));
    }
    DESTROY(&between, &x, &b);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A chain whose coupling at one place, between two processes, has no equal: all take a method for unsymmetric matrices.
   And right-hand sides whose squares vanish or overflow are solved. */
static PetscErrorCode chain_is_solved(double coupling, double size, KSP ksp)
{
    const PetscInt n = 20;
    double largest[2];
    KSPConvergedReason reason;
    PetscInt first, last;
    Vec x, b, r;
    Mat A;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 3, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatSetValue(A, i, i, 2.3, INSERT_VALUES));
        if (i > 0) { PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES)); }
        if (i + 1 < n && (i != 9 || coupling != 0)) { /* 0: no entry, as upwind */
            PetscCall(MatSetValue(A, i, i + 1, i == 9 ? coupling : -1, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 3));
    PetscCall(VecScale(b, size));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_INFINITY, &largest[0]));
    PetscCall(VecNorm(b, NORM_INFINITY, &largest[1]));
    CHECK(reason > 0, "%g %g: reason %d", coupling, size, (int)reason);
    CHECK(largest[0] <= 20 * 1e-8 * largest[1], "%g %g: %g of %g", coupling, size, largest[0], largest[1]);
    DESTROY(&r, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode odd_chains_are_solved(void)
{
    static const double cases[][2] = {{-0.9, 1}, {0, 1}, {-1, 1e-165}, {-1, 1e-200}, {-1, 1e200}};
    KSP ksp;

    PetscFunctionBegin;
    for (int c = 0; c < 5; c++) {
        PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PetscCall(KSPSetOptionsPrefix(ksp, "o_"));
        PetscCall(option("-o_pc_type", "none"));
        PetscCall(KSPSetType(ksp, KSPTESSERA));
        PetscCall(KSPSetTolerances(ksp, 1e-8, 0, PETSC_DEFAULT, 300));
        PetscCall(KSPSetFromOptions(ksp));
        PetscCall(chain_is_solved(cases[c][0], cases[c][1], ksp));
        PetscCall(KSPDestroy(&ksp));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the first process alone have a zero pivot: the solve ends on all processes, and with one reason. */
static PetscErrorCode failure_reaches_all(void)
{
    const PetscInt n = 8;
    KSPConvergedReason reason;
    PetscInt first, last;
    Vec x, b;
    Mat A;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 2, NULL, 2, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        if (i < 2) { PetscCall(MatSetValue(A, i, 1 - i, 1, INSERT_VALUES)); }
        PetscCall(MatSetValue(A, i, i, i < 2 ? 0 : 2, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "f_"));
    PetscCall(option("-f_pc_type", "bjacobi"));
    PetscCall(KSPSetType(ksp, KSPTESSERA));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == KSP_DIVERGED_PC_FAILED, "reason %d", (int)reason);
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(every_method_converges),
                                      CASE(names_of_petsc),
                                      CASE(restarts_of_petsc),
                                      CASE(the_true_residual_decides),
                                      CASE(nothing_impossible_converges),
                                      CASE(limits_and_guesses),
                                      CASE(the_transpose_is_solved),
                                      CASE(jacobi_is_the_same),
                                      CASE(another_matrix_at_the_same_place),
                                      CASE(odd_chains_are_solved),
                                      CASE(failure_reaches_all),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
