/* SPDX-License-Identifier: Apache-2.0 */
/* With a PETSc built with CUDA, on a GPU: vectors are taken where they are, and results are those of the host.
   Elsewhere skipped, with exit status 77; an error if TESS_NEED_GPU is set. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

static PetscErrorCode is_on_gpu(Vec v, PetscBool *out)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)v, out, "seqcuda", "mpicuda", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_gpu(PetscBool *out)
{
    Mat A;
    Vec x;

    PetscFunctionBegin;
    PetscCall(option("-f_mat_type", "tessera"));
    PetscCall(laplacian(4, "f_", &A));
    PetscCall(MatCreateVecs(A, &x, NULL));
    PetscCall(is_on_gpu(x, out));
    DESTROY(&x, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random numbers, with the newest values on the GPU alone. */
static PetscErrorCode fill_on_gpu(Vec v, int seed)
{
    PetscFunctionBegin;
    PetscCall(fill(v, seed));
    PetscCall(VecScale(v, 0.5));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values were neither read nor written on the host. */
static PetscErrorCode check_stayed(Vec v, const char *what)
{
    PetscOffloadMask mask;

    PetscFunctionBegin;
    PetscCall(VecGetOffloadMask(v, &mask));
    CHECK(mask == PETSC_OFFLOAD_GPU, "%s went over the host: mask %d", what, (int)mask);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* |y - z| against the rounding of sums of |A| |x|, with entries of x below 1 and a row of at most 2 `longest` terms. */
static PetscErrorCode check_close(const random_pair *p, Vec y, Vec z, const char *what)
{
    double difference, scale;

    PetscFunctionBegin;
    PetscCall(VecAXPY(z, -1, y));
    PetscCall(VecNorm(z, NORM_INFINITY, &difference));
    PetscCall(MatNorm(p->magnitudes, NORM_FROBENIUS, &scale));
    CHECK(difference <= 4 * (double)p->longest * U64 * scale, "%s: difference %g", what, difference);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode multiply(Mat A, int kind, Vec x, Vec y, Vec z)
{
    PetscFunctionBegin;
    switch (kind) {
    case 0: PetscCall(MatMult(A, x, z)); break;
    case 1: PetscCall(MatMultAdd(A, x, y, z)); break;
    case 2: PetscCall(MatMultTranspose(A, x, z)); break;
    default: PetscCall(MatMultTransposeAdd(A, x, y, z));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode products_stay_on_the_gpu(void)
{
    static const char *const names[] = {"A x", "y + A x", "A^T x", "y + A^T x"};
    random_pair p;
    Mat T;
    Vec x, y, z, plain[3];

    PetscFunctionBegin;
    PetscCall(random_matrix(300, 300, &p));
    PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatCreateVecs(T, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(MatCreateVecs(p.a, &plain[0], &plain[1]));
    PetscCall(VecDuplicate(plain[1], &plain[2]));
    for (int kind = 0; kind < 4; kind++) {
        PetscCall(fill_on_gpu(x, 1));
        PetscCall(fill_on_gpu(y, 2));
        PetscCall(multiply(T, kind, x, y, z));
        PetscCall(multiply(T, kind, x, y, z)); /* the first one may make the copy and the scatter */
        PetscCall(check_stayed(x, names[kind]));
        PetscCall(check_stayed(z, names[kind]));
        PetscCall(VecCopy(x, plain[0]));
        PetscCall(VecCopy(y, plain[1]));
        PetscCall(multiply(p.a, kind, plain[0], plain[1], plain[2]));
        PetscCall(check_close(&p, z, plain[2], names[kind]));
    }
    DESTROY(&x, &y, &z);
    for (int k = 0; k < 3; k++) {
        PetscCall(VecDestroy(&plain[k]));
    }
    PetscCall(MatDestroy(&T));
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a halo below FP64 sends goes to the host, and no vector does. */
static PetscErrorCode halos_in_low_precision(void)
{
    static const char *const precisions[] = {"fp32", "fp16"};
    const double u[] = {U32, U16};

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        random_pair p;
        Mat T;
        Vec x, y, plain[2];
        double difference, scale;
        PetscCall(random_matrix(300, 300, &p));
        PetscCall(option("-mat_tessera_halo", precisions[k]));
        PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
        PetscCall(option("-mat_tessera_halo", ""));
        PetscCall(MatCreateVecs(T, &x, &y));
        PetscCall(MatCreateVecs(p.a, &plain[0], &plain[1]));
        PetscCall(fill_on_gpu(x, 5));
        for (int again = 0; again < 2; again++) {
            PetscCall(MatMult(T, x, y));
        }
        PetscCall(check_stayed(x, precisions[k]));
        PetscCall(check_stayed(y, precisions[k]));
        PetscCall(VecCopy(x, plain[0]));
        PetscCall(MatMult(p.a, plain[0], plain[1]));
        PetscCall(VecCopy(y, plain[0]));
        PetscCall(VecAXPY(plain[0], -1, plain[1]));
        PetscCall(VecNorm(plain[0], NORM_INFINITY, &difference));
        PetscCall(MatNorm(p.magnitudes, NORM_INFINITY, &scale));
        CHECK(difference <= 2 * u[k] * scale, "halo in %s: difference %g", precisions[k], difference);
        DESTROY(&x, &y, &plain[0], &plain[1], &T);
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of many rows the first 50 alone have entries in columns of another process, or these and the last 50. */
static PetscErrorCode few_rows_off_the_diagonal(void)
{
    const PetscInt n = 600000;
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    for (int both = 0; both < 2; both++) {
        const PetscInt all = n * ranks;
        Mat A, T;
        Vec x, y, plain[2];
        PetscInt first, last;
        double difference;
        PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, all, all, 2, NULL, 1, NULL, &A));
        PetscCall(MatGetOwnershipRange(A, &first, &last));
        for (PetscInt r = first; r < last; r++) {
            const PetscBool coupled = r - first < 50 || (both && last - r <= 50) ? PETSC_TRUE : PETSC_FALSE;
            PetscCall(MatSetValue(A, r, r, 2, INSERT_VALUES));
            if (coupled) { PetscCall(MatSetValue(A, r, (r + all / 2) % all, 0.3, INSERT_VALUES)); }
        }
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatConvert(A, MATTESSERA, MAT_INITIAL_MATRIX, &T));
        PetscCall(MatCreateVecs(T, &x, &y));
        PetscCall(MatCreateVecs(A, &plain[0], &plain[1]));
        PetscCall(fill_on_gpu(x, 7));
        PetscCall(MatMult(T, x, y));
        PetscCall(VecCopy(x, plain[0]));
        PetscCall(MatMult(A, plain[0], plain[1]));
        PetscCall(VecCopy(y, plain[0]));
        PetscCall(VecAXPY(plain[0], -1, plain[1]));
        PetscCall(VecNorm(plain[0], NORM_INFINITY, &difference));
        CHECK(difference <= 8 * U64, "%s: difference %g", both ? "two runs" : "one run", difference);
        DESTROY(&x, &y, &plain[0], &plain[1], &T, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of x of a size that FP16 takes over a power of two, zeros, and one Inf: results are those of the host, where
   values of 2^-25 at least travel, and Inf and NaN are at the same places. */
static PetscErrorCode halos_at_the_ends(void)
{
    static const double sizes[] = {1e300, 1e-290, 1e5, 0, 1};

    PetscFunctionBegin;
    for (int k = 0; k < 5; k++) {
        random_pair p;
        Mat T;
        Vec x, y, plain[2];
        PetscScalar *array;
        const PetscScalar *got, *wanted;
        PetscInt n;
        double scale;
        PetscCall(random_matrix(300, 300, &p));
        PetscCall(option("-mat_tessera_halo", "fp16"));
        PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
        PetscCall(option("-mat_tessera_halo", ""));
        PetscCall(MatCreateVecs(T, &x, &y));
        PetscCall(MatCreateVecs(p.a, &plain[0], &plain[1]));
        PetscCall(fill(x, 6));
        PetscCall(VecScale(x, sizes[k]));
        PetscCall(VecGetLocalSize(x, &n));
        PetscCall(VecGetArray(x, &array));
        if (k == 4) { array[n / 2] = (double)INFINITY; }
        PetscCall(VecRestoreArray(x, &array));
        for (int again = 0; again < 3; again++) {
            PetscCall(MatMult(T, x, y));
        }
        PetscCall(VecCopy(x, plain[0]));
        PetscCall(MatMult(p.a, plain[0], plain[1]));
        PetscCall(MatNorm(p.magnitudes, NORM_INFINITY, &scale));
        PetscCall(VecGetLocalSize(y, &n));
        PetscCall(VecGetArrayRead(y, &got));
        PetscCall(VecGetArrayRead(plain[1], &wanted));
        for (PetscInt r = 0; r < n; r++) {
            const double bound = 2 * U16 * scale * sizes[k];
            CHECK(isfinite(wanted[r]) ? fabs(got[r] - wanted[r]) <= bound : !isfinite(got[r]),
                  "values of %g: row %d is %g, not %g", sizes[k], (int)r, got[r], wanted[r]);
        }
        PetscCall(VecRestoreArrayRead(plain[1], &wanted));
        PetscCall(VecRestoreArrayRead(y, &got));
        DESTROY(&x, &y, &plain[0], &plain[1], &T);
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve with true residuals copies no vector, and they are right, also for values that have changed. */
static PetscErrorCode true_residuals_stay_on_the_gpu(void)
{
    Mat A;
    Vec x, b;
    KSP ksp;
    KSPConvergedReason reason;
    double residual;

    PetscFunctionBegin;
    PetscCall(option("-r_mat_type", "tessera"));
    PetscCall(option("-r_mat_tessera_halo", "fp16"));
    PetscCall(option("-r_ksp_tessera_solver", "cg"));
    PetscCall(option("-r_pc_type", "jacobi"));
    PetscCall(laplacian(40, "r_", &A));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "r_"));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPTESSERA));
    PetscCall(KSPSetTolerances(ksp, 1e-11, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
    PetscCall(KSPSetFromOptions(ksp));
    for (int again = 0; again < 3; again++) {
        if (again == 1) { PetscCall(MatScale(A, 0.3)); }
        if (again == 2) {
            PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
            PetscCall(VecScale(x, 0.5)); /* a guess, with its values on the GPU alone */
        }
        PetscCall(fill_on_gpu(b, 30));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(check_stayed(b, "right-hand side"));
        PetscCall(check_stayed(x, "solution"));
        PetscCall(relative_residual(A, b, x, &residual));
        CHECK(reason > 0 && residual <= 1.1e-11, "solve %d: reason %d, residual %g", again, (int)reason, residual);
    }
    DESTROY(&ksp, &x, &b, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the host, and one of each. */
static PetscErrorCode other_memories_are_served(void)
{
    random_pair p;
    Mat T;
    Vec x[2], y[2], plain;

    PetscFunctionBegin;
    PetscCall(random_matrix(300, 300, &p));
    PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatCreateVecs(p.a, &x[0], &y[0]));
    PetscCall(MatCreateVecs(T, &x[1], &y[1]));
    PetscCall(VecDuplicate(y[0], &plain));
    for (int k = 0; k < 4; k++) {
        PetscCall(fill(x[k % 2], k));
        PetscCall(VecCopy(x[k % 2], x[0]));
        PetscCall(MatMult(T, x[k % 2], y[k / 2]));
        PetscCall(MatMult(p.a, x[0], plain));
        PetscCall(check_close(&p, y[k / 2], plain, k == 0 ? "host" : "mixed"));
    }
    for (int k = 0; k < 2; k++) {
        DESTROY(&x[k], &y[k]);
    }
    DESTROY(&plain, &T);
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode preconditioners_stay_on_the_gpu(void)
{
    static const char *const kinds[] = {"jacobi", "block-jacobi:5", "polynomial:8", "ilu0", "amg", "gamg"};

    PetscFunctionBegin;
    PetscCall(option("-p_mat_type", "tessera"));
    PetscCall(option("-p_pc_gamg_coarse_eq_limit", "20"));
    for (int k = 0; k < 6; k++) {
        Mat A;
        Vec r, z;
        PC pc;
        PetscCall(laplacian(30, "p_", &A));
        PetscCall(MatCreateVecs(A, &r, &z));
        PetscCall(option("-p_pc_tessera_type", kinds[k]));
        PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
        PetscCall(PCSetOptionsPrefix(pc, "p_"));
        PetscCall(PCSetType(pc, PCTESSERA));
        PetscCall(PCSetFromOptions(pc));
        PetscCall(PCSetOperators(pc, A, A));
        PetscCall(PCSetUp(pc));
        PetscCall(fill_on_gpu(r, 3));
        PetscCall(PCApply(pc, r, z));
        PetscCall(check_stayed(r, kinds[k]));
        PetscCall(check_stayed(z, kinds[k]));
        DESTROY(&pc, &r, &z, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solver, preconditioner, its kind. Jacobi of PETSc comes to the library as a function. */
static PetscErrorCode solves_meet_the_tolerance(void)
{
    static const char *const cases[][3] = {{"tessera", "tessera", "jacobi"}, {"tessera", "jacobi", "jacobi"},
                                           {"tessera", "tessera", "amg"},    {"tessera", "tessera", "gamg"},
                                           {"cg", "tessera", "jacobi"},      {"cg", "jacobi", "jacobi"},
                                           {"cg", "tessera", "gamg"},        {"fgmres", "tessera", "ilu0"}};

    PetscFunctionBegin;
    PetscCall(option("-s_mat_type", "tessera"));
    PetscCall(option("-s_ksp_rtol", "1e-9"));
    PetscCall(option("-s_ksp_norm_type", "unpreconditioned"));
    PetscCall(option("-s_pc_gamg_coarse_eq_limit", "20"));
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        Mat A;
        Vec x, b;
        KSP ksp;
        KSPConvergedReason reason;
        double residual;
        PetscCall(laplacian(40, "s_", &A));
        PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(fill(b, 4));
        PetscCall(option("-s_ksp_type", cases[c][0]));
        PetscCall(option("-s_pc_type", cases[c][1]));
        PetscCall(option("-s_pc_tessera_type", cases[c][2]));
        PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PetscCall(KSPSetOptionsPrefix(ksp, "s_"));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(KSPSetFromOptions(ksp));
        for (int again = 0; again < 2; again++) {
            PetscCall(KSPSolve(ksp, b, x));
            PetscCall(KSPGetConvergedReason(ksp, &reason));
            PetscCall(relative_residual(A, b, x, &residual));
            CHECK(reason > 0 && residual <= 1.1e-9, "%s, %s %s: reason %d, residual %g", cases[c][0], cases[c][1],
                  cases[c][2], (int)reason, residual);
        }
        DESTROY(&ksp, &x, &b, &A);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        CASE(products_stay_on_the_gpu),  CASE(few_rows_off_the_diagonal),      CASE(halos_in_low_precision),
        CASE(halos_at_the_ends),         CASE(other_memories_are_served),      CASE(preconditioners_stay_on_the_gpu),
        CASE(solves_meet_the_tolerance), CASE(true_residuals_stay_on_the_gpu), {NULL, NULL}};
    PetscBool gpu;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(TesseraPetscInitialize());
    PetscCall(find_gpu(&gpu));
    CHECK(gpu || !getenv("TESS_NEED_GPU"), "matrices give vectors of the host");
    if (gpu) {
        PetscCall(run_cases(cases));
    } else {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "skipped: PETSc or the library has no CUDA, or there is no GPU\n"));
    }
    PetscCall(PetscFinalize());
    return gpu ? 0 : SKIPPED;
}
