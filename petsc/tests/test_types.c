/* SPDX-License-Identifier: Apache-2.0 */
/* KSP "tessera" with PETSc's other matrix types: no claim is false where entries are known, and -ksp_view says what is
   proved. */
#include "solves.h"

#include <string.h>

/* ---- cases ---- */

static const char *const known_types[] = {"aij", "baij", "sbaij", "dense", "sell", "nest", "mixed nest", "transpose"};
enum { KNOWN_TYPES = 8 };

static PetscErrorCode solve_and_judge(const char *type, int seed, double rtol, int *claims)
{
    long double norm[2];
    KSPConvergedReason reason;
    Mat A, T;
    Vec x, b;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(small_matrix(24, seed, strcmp(type, "sbaij") == 0 ? PETSC_TRUE : PETSC_FALSE, &A));
    PetscCall(convert(A, type, &T));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, seed + 200));
    PetscCall(make("fgmres", rtol, 0, &ksp));
    PetscCall(reason_of(ksp, T, b, x, &reason));
    PetscCall(true_norms(A, b, x, norm));
    if (reason > 0) {
        ++*claims;
        CHECK(norm[0] <= (long double)rtol * norm[1] * (1 + 0x1p-8L), "%s %d: %Lg of %g was claimed", type, seed,
              norm[0] / norm[1], rtol);
        PetscCall(need_words(ksp, "  verified: ", type));
    } else {
        PetscCall(need_words(ksp, "not verified: not converged", type));
    }
    DESTROY(&ksp, &x, &b, &T, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the edge of FP64 an ordinary residual claims what is not so. */
static PetscErrorCode no_claim_is_false(void)
{
    static const double rtols[] = {1e-10, 5e-17, 4e-17, 3e-17};

    PetscFunctionBegin;
    for (int t = 0; t < KNOWN_TYPES; t++) {
        int claims = 0;
        for (int seed = 0; seed < 12; seed++) {
            PetscCall(solve_and_judge(known_types[t], seed, rtols[seed % 4], &claims));
        }
        CHECK(claims >= 3 && claims < 12, "%s: %d claims", known_types[t], claims);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shell's products are all that is known: solved, and said to be not verified; with the smallest b, too. */
static PetscErrorCode shells_are_not_verified(void)
{
    static const double sizes[] = {1, 1e-165, 1e-200, 1e200};
    Mat A, T;
    Vec x, b;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(small_matrix(24, 3, PETSC_FALSE, &A));
    PetscCall(convert(A, "shell", &T));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(make("fgmres", 1e-8, 0, &ksp));
    for (int s = 0; s < 4; s++) {
        long double norm[2];
        KSPConvergedReason reason;
        PetscCall(fill(b, 5));
        PetscCall(VecScale(b, sizes[s]));
        PetscCall(reason_of(ksp, T, b, x, &reason));
        PetscCall(true_norms(A, b, x, norm));
        CHECK(reason == KSP_CONVERGED_RTOL && norm[0] <= 1.01e-8L * norm[1], "%g: reason %d, residual %Lg", sizes[s],
              (int)reason, norm[0] / norm[1]);
        PetscCall(need_words(ksp, "not verified: nobody tells the entries of a matrix of type shell", "shell"));
        PetscCall(need_words(ksp, "rows scaled to one size: unknown", "shell"));
        PetscCall(need_words(ksp, "error of that unknown", "shell"));
    }
    DESTROY(&ksp, &x, &b, &T, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A nest is known no better than its blocks. */
static PetscErrorCode nests_of_shells_are_not_verified(void)
{
    KSPConvergedReason reason;
    Mat A, shell, nest;
    Vec x, b;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(small_matrix(24, 3, PETSC_FALSE, &A));
    PetscCall(convert(A, "shell", &shell));
    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &shell, &nest));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 5));
    PetscCall(make("fgmres", 1e-8, 0, &ksp));
    PetscCall(reason_of(ksp, nest, b, x, &reason));
    CHECK(reason == KSP_CONVERGED_RTOL, "reason %d", (int)reason);
    PetscCall(need_words(ksp, "not verified: nobody tells the entries of a matrix of type nest", "nest of a shell"));
    DESTROY(&ksp, &x, &b, &nest, &shell, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* b whose squares vanish or overflow, in every type; and the reason, as PETSc's own test gives it. */
static PetscErrorCode reasons_and_tiny_b(void)
{
    static const struct {
        double size, rtol, atol;
        KSPConvergedReason reason;
    } cases[] = {{1e-165, 1e-8, 0, KSP_CONVERGED_RTOL},      {1e-200, 1e-8, 0, KSP_CONVERGED_RTOL},
                 {1e200, 1e-8, 0, KSP_CONVERGED_RTOL},       {1, 1e-8, 1e-50, KSP_CONVERGED_RTOL},
                 {1, 1e-14, 1e-4, KSP_CONVERGED_ATOL},       {1e-165, 1e-5, 1e-50, KSP_CONVERGED_ATOL},
                 {1e-165, 1e-9, 1e-171, KSP_CONVERGED_ATOL}, {0, 1e-8, 1e-50, KSP_CONVERGED_ATOL}};

    PetscFunctionBegin;
    for (int t = 0; t < KNOWN_TYPES; t++) {
        Mat A, T;
        Vec x, b;
        PetscCall(small_matrix(24, 4, PETSC_TRUE, &A));
        PetscCall(convert(A, known_types[t], &T));
        PetscCall(MatCreateVecs(A, &x, &b));
        for (int c = 0; c < 8; c++) {
            long double norm[2];
            KSPConvergedReason reason;
            KSP ksp;
            PetscCall(fill(b, 6));
            PetscCall(VecScale(b, cases[c].size));
            PetscCall(make("fgmres", cases[c].rtol, cases[c].atol, &ksp));
            PetscCall(reason_of(ksp, T, b, x, &reason));
            PetscCall(true_norms(A, b, x, norm));
            CHECK(reason == cases[c].reason, "%s, case %d: reason %d", known_types[t], c, (int)reason);
            CHECK(norm[0] <= fmaxl((long double)cases[c].rtol * norm[1], (long double)cases[c].atol),
                  "%s, case %d: %Lg of %Lg", known_types[t], c, norm[0], norm[1]);
            PetscCall(need_words(ksp, "  verified: ", known_types[t]));
            PetscCall(KSPDestroy(&ksp));
        }
        DESTROY(&x, &b, &T, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values reach the copy of the entries, also those of one block, which PETSc does not count as a change of the
   nest; and KSPSolveTranspose has the transpose of it. */
static PetscErrorCode change_and_solve(Mat A, const char *type, Vec b, Vec x)
{
    KSP ksp;
    Vec r;

    PetscFunctionBegin;
    PetscCall(VecDuplicate(b, &r));
    PetscCall(make("fgmres", 1e-12, 0, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    for (int k = 0; k < 5; k++) {
        double norm[2];
        KSPConvergedReason reason;
        Mat part = A;
        if (k % 2 == 0 && k > 0 && strstr(type, "nest")) { PetscCall(MatNestGetSubMat(A, 0, 0, &part)); }
        if (k > 0) { PetscCall(MatScale(part, 1.5)); }
        PetscCall((k > 2 ? KSPSolveTranspose : KSPSolve)(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall((k > 2 ? MatMultTranspose : MatMult)(A, x, r));
        PetscCall(VecAYPX(r, -1, b));
        PetscCall(VecNorm(r, NORM_2, &norm[0]));
        PetscCall(VecNorm(b, NORM_2, &norm[1]));
        CHECK(reason > 0 && norm[0] <= 1.01e-12 * norm[1], "%s, solve %d: reason %d, residual %g", type, k, (int)reason,
              norm[0] / norm[1]);
        PetscCall(need_words(ksp, "  verified: ", type));
    }
    DESTROY(&ksp, &r);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode changes_and_transposes(void)
{
    static const char *const types[] = {"nest", "mixed nest", "baij", "dense"};

    PetscFunctionBegin;
    for (int t = 0; t < 4; t++) {
        Mat A, T;
        Vec x, b;
        PetscCall(small_matrix(24, 7, PETSC_FALSE, &A));
        PetscCall(convert(A, types[t], &T));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(fill(b, 8));
        PetscCall(change_and_solve(T, types[t], b, x));
        DESTROY(&x, &b, &T, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* sbaij from entries on and above the diagonal alone, which is all that it asks for. */
static PetscErrorCode upper_triangle(Mat A, PetscInt block, Mat *out)
{
    PetscInt first, last, local, n;
    const PetscInt *column;
    const PetscScalar *value;

    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &local, NULL));
    PetscCall(MatCreate(PETSC_COMM_WORLD, out));
    PetscCall(MatSetSizes(*out, local, local, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(*out, MATSBAIJ));
    PetscCall(MatSetBlockSize(*out, block));
    PetscCall(MatSetUp(*out));
    PetscCall(MatSetOption(*out, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatGetRow(A, i, &n, &column, &value));
        for (PetscInt k = 0; k < n; k++) {
            if (column[k] >= i) { PetscCall(MatSetValue(*out, i, column[k], value[k], INSERT_VALUES)); }
        }
        PetscCall(MatRestoreRow(A, i, &n, &column, &value));
    }
    PetscCall(assemble(*out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode triangles_are_enough(void)
{
    PetscFunctionBegin;
    for (PetscInt block = 1; block <= 3; block++) {
        long double norm[2];
        KSPConvergedReason reason;
        Mat A, T;
        Vec x, b;
        KSP ksp;
        PetscCall(small_matrix(24, 11, PETSC_TRUE, &A));
        PetscCall(upper_triangle(A, block, &T));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(fill(b, 12));
        PetscCall(make("fgmres", 1e-10, 0, &ksp));
        PetscCall(reason_of(ksp, T, b, x, &reason));
        PetscCall(true_norms(A, b, x, norm));
        CHECK(reason == KSP_CONVERGED_RTOL && norm[0] <= 1e-10L * norm[1], "blocks of %d: reason %d, residual %Lg",
              (int)block, (int)reason, norm[0] / norm[1]);
        PetscCall(need_words(ksp, "  verified: ", "sbaij"));
        DESTROY(&ksp, &x, &b, &T, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The hierarchy of gamg is then that of the matrix as AIJ. */
static PetscErrorCode triangles_are_preconditioned(void)
{
    PetscInt iterations[2];
    Mat both[2];
    Vec x, b;

    PetscFunctionBegin;
    PetscCall(laplacian(20, "n_", &both[0]));
    PetscCall(upper_triangle(both[0], 2, &both[1]));
    PetscCall(MatCreateVecs(both[0], &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(option("-n_pc_tessera_type", "gamg"));
    for (int k = 0; k < 2; k++) {
        KSPConvergedReason reason;
        KSP ksp;
        PetscCall(make("fgmres", 1e-8, 0, &ksp));
        PetscCall(option("-n_pc_type", "tessera"));
        PetscCall(KSPSetFromOptions(ksp));
        PetscCall(reason_of(ksp, both[k], b, x, &reason));
        PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
        CHECK(reason == KSP_CONVERGED_RTOL, "matrix %d: reason %d", k, (int)reason);
        DESTROY(&ksp, &both[k]);
    }
    CHECK(iterations[1] <= iterations[0] + 4, "%d iterations, with aij %d", (int)iterations[1], (int)iterations[0]);
    DESTROY(&x, &b);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rod of 16 unknowns, whose ends are held at 1 and 3 by a penalty. */
static PetscErrorCode rod(double penalty, Mat *A, Vec *b)
{
    const PetscInt n = 16;
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 3, NULL, A));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    PetscCall(MatCreateVecs(*A, NULL, b));
    for (PetscInt i = first; i < last; i++) {
        const PetscBool end = i == 0 || i == n - 1 ? PETSC_TRUE : PETSC_FALSE;
        PetscCall(MatSetValue(*A, i, i, end ? penalty : 2, INSERT_VALUES));
        if (i > 0) { PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES)); }
        if (i < n - 1) { PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES)); }
        if (end) { PetscCall(VecSetValue(*b, i, i ? 3 * penalty : penalty, INSERT_VALUES)); }
    }
    PetscCall(assemble(*A));
    PetscCall(VecAssemblyBegin(*b));
    PetscCall(VecAssemblyEnd(*b));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a penalty the norm as given is met by an x without interior: converged, as asked for, and not verified. */
static PetscErrorCode rows_are_told(void)
{
    static const char *const types[] = {"aij", "dense", "nest"};

    PetscFunctionBegin;
    for (int t = 0; t < 3; t++) {
        for (int held = 0; held < 2; held++) {
            KSPConvergedReason reason;
            Mat A, T;
            Vec x, b;
            KSP ksp;
            PetscCall(rod(held ? 1e30 : 4, &A, &b));
            PetscCall(convert(A, types[t], &T));
            PetscCall(VecDuplicate(b, &x));
            PetscCall(make("cg", 1e-8, 0, &ksp));
            PetscCall(reason_of(ksp, T, b, x, &reason));
            CHECK(reason == KSP_CONVERGED_RTOL, "%s: reason %d", types[t], (int)reason);
            if (held) {
                PetscCall(need_words(ksp, "not verified: the row-scaled residual is 5e+07 times", types[t]));
                PetscCall(
                    need_words(ksp, "largest row-wise backward error 1.0e+00, at most 1.0e+00 (row 1)", types[t]));
            } else {
                PetscCall(need_words(ksp, "  verified: ", types[t]));
            }
            DESTROY(&ksp, &x, &b, &T, &A);
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a verification nothing is said to be verified. */
static PetscErrorCode doubts_are_said(void)
{
    KSPConvergedReason reason;
    Mat A, T;
    Vec x, b;
    KSP ksp;
    PetscBool said;

    PetscFunctionBegin;
    PetscCall(small_matrix(24, 9, PETSC_FALSE, &A));
    PetscCall(convert(A, "baij", &T));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(fill(b, 10));
    PetscCall(option("-n_ksp_tessera_verify", "0"));
    PetscCall(make("fgmres", 1e-8, 0, &ksp));
    PetscCall(KSPSetOperators(ksp, T, T));
    PetscCall(view_says(ksp, "verified", &said));
    CHECK(!said, "before a solve -ksp_view says how it ended");
    for (int guess = 0; guess < 2; guess++) {
        PetscCall(KSPSetInitialGuessNonzero(ksp, guess ? PETSC_TRUE : PETSC_FALSE));
        PetscCall(reason_of(ksp, T, b, x, &reason));
        CHECK(reason == KSP_CONVERGED_RTOL, "reason %d", (int)reason);
        PetscCall(need_words(ksp, "not verified: -ksp_tessera_verify is off", "verify off"));
        PetscCall(view_says(ksp, "true residual", &said));
        CHECK(!said, "a residual that was not computed is told");
    }
    PetscCall(option("-n_ksp_tessera_verify", ""));
    DESTROY(&ksp, &x, &b, &T, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(no_claim_is_false),
                                      CASE(shells_are_not_verified),
                                      CASE(nests_of_shells_are_not_verified),
                                      CASE(reasons_and_tiny_b),
                                      CASE(changes_and_transposes),
                                      CASE(triangles_are_enough),
                                      CASE(triangles_are_preconditioned),
                                      CASE(rows_are_told),
                                      CASE(doubts_are_said),
                                      {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
