/* SPDX-License-Identifier: Apache-2.0 */
/* Halos below FP64 in KSP "tesseracg": what rounding took comes back, so that the system which is solved is the one
   that was assembled. */
#include "support.h"

#include <math.h>

/* A solve of one matrix, and what became of it. */
typedef struct outcome {
    KSPConvergedReason reason;
    PetscInt iterations;
    double residual; /* true, relative */
} outcome;

static PetscErrorCode solve(Mat A, const char *prefix, Vec b, Vec x, outcome *out)
{
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, prefix));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &out->reason));
    PetscCall(KSPGetIterationNumber(ksp, &out->iterations));
    PetscCall(relative_residual(A, b, x, &out->residual));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Five-point Laplacian of 60 points a side under a solver, with a halo. */
static PetscErrorCode solve_laplacian(const char *type, const char *halo, const char *guess, outcome *out)
{
    Mat A;
    Vec x, b;

    PetscFunctionBegin;
    PetscCall(option("-h_mat_type", "tessera"));
    PetscCall(option("-h_mat_tessera_halo", halo));
    PetscCall(option("-h_ksp_type", type));
    PetscCall(option("-h_ksp_initial_guess_nonzero", guess));
    PetscCall(laplacian(60, "h_", &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 6));
    PetscCall(fill(x, 7));
    PetscCall(solve(A, "h_", b, x, out));
    DESTROY(&x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's CG solves the rounded system; ours solves the given one, with FP32 in as many iterations as without rounding.
   FP16 disturbs directions that should be conjugate: refinement in place of what is carried took twice as many. */
static PetscErrorCode the_given_system_is_solved(void)
{
    static const char *const halos[] = {"fp32", "fp16"};
    static const char *const types[] = {"tesseracg", "tessera"};
    outcome exact, rounded, ours;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(option("-h_ksp_rtol", "1e-10"));
    PetscCall(option("-h_pc_type", "jacobi"));
    PetscCall(option("-h_ksp_norm_type", "unpreconditioned"));
    PetscCall(option("-h_ksp_tessera_solver", "cg"));
    for (int guess = 0; guess < 2; guess++) {
        PetscCall(solve_laplacian("cg", "fp64", guess ? "1" : "0", &exact));
        for (int h = 0; h < 2; h++) {
            PetscCall(solve_laplacian("cg", halos[h], guess ? "1" : "0", &rounded));
            CHECK(ranks == 1 || rounded.residual > 2e-10, "%s: nothing was rounded, residual %g", halos[h],
                  rounded.residual);
            for (int t = 0; t < 2; t++) {
                PetscCall(solve_laplacian(types[t], halos[h], guess ? "1" : "0", &ours));
                CHECK(ours.reason == KSP_CONVERGED_RTOL, "%s, %s: reason %d", types[t], halos[h], (int)ours.reason);
                CHECK(ours.residual <= 1.001e-10, "%s, %s: residual %g", types[t], halos[h], ours.residual);
                CHECK(ours.iterations <= exact.iterations + (h ? exact.iterations / 2 : 1),
                      "%s, %s, guess %d: %d iterations, %d in FP64", types[t], halos[h], guess, (int)ours.iterations,
                      (int)exact.iterations);
            }
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a halo to round it is PETSc's method, by any norm. */
static PetscErrorCode it_is_the_method_of_petsc(void)
{
    static const char *const norms[] = {"unpreconditioned", "preconditioned", "natural", "none"};
    outcome petsc, ours;

    PetscFunctionBegin;
    PetscCall(option("-h_ksp_max_it", "40"));
    for (int n = 0; n < 4; n++) {
        for (int guess = 0; guess < 2; guess++) {
            PetscCall(option("-h_ksp_norm_type", norms[n]));
            PetscCall(option("-h_ksp_rtol", "1e-3"));
            PetscCall(solve_laplacian("cg", "fp64", guess ? "1" : "0", &petsc));
            PetscCall(solve_laplacian("tesseracg", "fp64", guess ? "1" : "0", &ours));
            CHECK(ours.iterations == petsc.iterations && ours.reason == petsc.reason,
                  "%s: %d iterations, reason %d; "
                  "PETSc's %d, %d",
                  norms[n], (int)ours.iterations, (int)ours.reason, (int)petsc.iterations, (int)petsc.reason);
            CHECK(fabs(ours.residual - petsc.residual) <= 1e-8 * petsc.residual, "%s: %g and %g", norms[n],
                  ours.residual, petsc.residual);
        }
    }
    PetscCall(option("-h_ksp_max_it", "10000"));
    PetscCall(option("-h_ksp_norm_type", "unpreconditioned"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid of m by m points: pairs in a row by springs of stiffness r, pairs apart by 1, rows by 0.01, each point to the
   ground by 1. Eigenvalues are near 1 and near 2 r, so that step lengths of CG alternate between 1 and 1 / (2 r). */
static PetscErrorCode pairs(PetscInt m, double r, Mat *A)
{
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m * m, m * m));
    PetscCall(MatSetOptionsPrefix(*A, "h_"));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 5, NULL));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt k = first; k < last; k++) {
        PetscCall(MatSetValue(*A, k, k, 1, ADD_VALUES));
        for (int along = 0; along < 2; along++) {
            const PetscInt at[2] = {k, along ? k + 1 : k + m};
            const double w = along ? (k % 2 == 0 ? r : 1) : 0.01;
            const PetscScalar spring[4] = {w, -w, -w, w};
            if (along ? (k + 1) % m == 0 : at[1] >= m * m) { continue; }
            PetscCall(MatSetValues(*A, 2, at, 2, at, spring, ADD_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is owed would grow, were it given back by the last step. */
static PetscErrorCode alternating_steps_give_back_no_more(void)
{
    static const char *const halos[] = {"fp64", "fp32", "fp16"};
    static const double ratios[] = {100, 10000};

    PetscFunctionBegin;
    PetscCall(option("-h_ksp_rtol", "1e-8"));
    PetscCall(option("-h_ksp_type", "tesseracg"));
    PetscCall(option("-h_pc_type", "none"));
    PetscCall(option("-h_ksp_initial_guess_nonzero", "0"));
    for (int k = 0; k < 2; k++) {
        outcome out[3];
        for (int h = 0; h < 3; h++) {
            Mat A;
            Vec x, b;
            PetscCall(option("-h_mat_tessera_halo", halos[h]));
            PetscCall(pairs(60, ratios[k], &A));
            PetscCall(MatCreateVecs(A, &x, &b));
            PetscCall(fill(b, 9));
            PetscCall(solve(A, "h_", b, x, &out[h]));
            DESTROY(&x, &b, &A);
            CHECK(out[h].reason == KSP_CONVERGED_RTOL && out[h].residual <= 1.001e-8, "%s, %g: reason %d, residual %g",
                  halos[h], ratios[k], (int)out[h].reason, out[h].residual);
            CHECK(out[h].iterations <= out[0].iterations + 2, "%s, %g: %d iterations, %d in FP64", halos[h], ratios[k],
                  (int)out[h].iterations, (int)out[0].iterations);
        }
    }
    PetscCall(option("-h_pc_type", "jacobi"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Springs in a row, each to the ground too; those between processes are a million times as stiff. */
static PetscErrorCode chain(PetscInt n, double stiff, double ground, Mat *A)
{
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetOptionsPrefix(*A, "h_"));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSeqAIJSetPreallocation(*A, 3, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 3, NULL, 3, NULL));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt k = first; k < last; k++) {
        PetscCall(MatSetValue(*A, k, k, ground, ADD_VALUES));
        if (k + 1 < n) {
            const PetscInt at[2] = {k, k + 1};
            const double w = k + 1 == last ? stiff : 1;
            const PetscScalar spring[4] = {w, -w, -w, w};
            PetscCall(MatSetValues(*A, 2, at, 2, at, spring, ADD_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_chain(double stiff, double ground, const char *type, outcome *out)
{
    Mat A;
    Vec x, b;

    PetscFunctionBegin;
    PetscCall(option("-h_mat_tessera_halo", "fp16"));
    PetscCall(option("-h_ksp_type", type));
    PetscCall(option("-h_ksp_initial_guess_nonzero", "0"));
    PetscCall(chain(200, stiff, ground, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 8));
    PetscCall(solve(A, "h_", b, x, out));
    DESTROY(&x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where rounding breaks CG, the halo is widened. */
static PetscErrorCode stiff_couplings_widen_the_halo(void)
{
    outcome alone, widened;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    PetscCall(option("-h_ksp_rtol", "1e-8"));
    PetscCall(solve_chain(1e6, 1, "tesseracg", &alone));
    PetscCall(solve_chain(1e6, 1, "tessera", &widened));
    CHECK(ranks == 1 || alone.reason < 0, "in FP16 alone: reason %d after %d", (int)alone.reason,
          (int)alone.iterations);
    CHECK(widened.reason == KSP_CONVERGED_RTOL && widened.residual <= 1.001e-8, "reason %d, residual %g",
          (int)widened.reason, widened.residual);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As in PETSc's CG, negative definite will do. */
static PetscErrorCode what_is_not_definite_is_told(void)
{
    outcome indefinite, negative;

    PetscFunctionBegin;
    PetscCall(solve_chain(1, -1, "tesseracg", &indefinite));
    CHECK(indefinite.reason == KSP_DIVERGED_INDEFINITE_MAT || indefinite.reason == KSP_DIVERGED_INDEFINITE_PC,
          "reason %d", (int)indefinite.reason);
    PetscCall(solve_chain(1, -8, "tesseracg", &negative));
    CHECK(negative.reason == KSP_CONVERGED_RTOL && negative.residual <= 1.001e-8, "-A: reason %d, residual %g",
          (int)negative.reason, negative.residual);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two rows on four processes, in several rounds: those without rows take part in what the others do. */
static PetscErrorCode processes_without_rows(void)
{
    PetscInt first, last;
    outcome out;
    Vec x, b;
    Mat A;

    PetscFunctionBegin;
    PetscCall(option("-e_mat_type", "tessera"));
    PetscCall(option("-e_mat_tessera_halo", "fp16"));
    PetscCall(option("-e_mat_tessera_precision", "fp16"));
    PetscCall(option("-e_ksp_type", "tessera"));
    PetscCall(option("-e_ksp_rtol", "1e-12"));
    PetscCall(option("-e_pc_type", "none"));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 2, 2));
    PetscCall(MatSetOptionsPrefix(A, "e_"));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSetUp(A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        PetscCall(MatSetValue(A, r, r, 2.1 + 0.3 * (double)r, INSERT_VALUES));
        PetscCall(MatSetValue(A, r, 1 - r, -0.7, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 8));
    PetscCall(solve(A, "e_", b, x, &out));
    CHECK(out.reason > 0 && out.residual <= 1.1e-12, "reason %d, %g", (int)out.reason, out.residual);
    DESTROY(&x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(the_given_system_is_solved),
                                      CASE(it_is_the_method_of_petsc),
                                      CASE(alternating_steps_give_back_no_more),
                                      CASE(stiff_couplings_widen_the_halo),
                                      CASE(what_is_not_definite_is_told),
                                      CASE(processes_without_rows),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
