/* SPDX-License-Identifier: Apache-2.0 */
/* Mat "tessera" against AIJ: products within the rounding of both, and what changes values or pattern. */
#include "support.h"

#include <math.h>
#include <petscdmda.h>

/* The largest |got - wanted| over its bound: factor |A| |x| (+ |y|) + floor |A| 1. */
static PetscErrorCode excess(const random_pair *p, PetscBool transposed, Vec x, Vec got, Vec wanted, double factor,
                             double floor, double *out)
{
    Vec absolute, ones, bound, rest;
    PetscScalar *e, *b;
    const PetscScalar *g, *w, *f;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(VecDuplicate(x, &absolute));
    PetscCall(VecDuplicate(x, &ones));
    PetscCall(VecDuplicate(got, &bound));
    PetscCall(VecDuplicate(got, &rest));
    PetscCall(VecCopy(x, absolute));
    PetscCall(VecAbs(absolute));
    PetscCall(VecSet(ones, 1));
    PetscCall(transposed ? MatMultTranspose(p->magnitudes, absolute, bound) : MatMult(p->magnitudes, absolute, bound));
    PetscCall(transposed ? MatMultTranspose(p->magnitudes, ones, rest) : MatMult(p->magnitudes, ones, rest));
    PetscCall(VecGetLocalSize(got, &n));
    PetscCall(VecGetArrayRead(got, &g));
    PetscCall(VecGetArrayRead(wanted, &w));
    PetscCall(VecGetArrayRead(rest, &f));
    PetscCall(VecGetArray(bound, &b));
    e = b;
    *out = 0;
    for (PetscInt r = 0; r < n; r++) {
        const double allowed = factor * e[r] + floor * f[r] + 4 * U64 * fabs(w[r]);
        if (fabs(g[r] - w[r]) > 0) { *out = PetscMax(*out, fabs(g[r] - w[r]) / allowed); }
    }
    PetscCall(VecRestoreArray(bound, &b));
    PetscCall(VecRestoreArrayRead(rest, &f));
    PetscCall(VecRestoreArrayRead(wanted, &w));
    PetscCall(VecRestoreArrayRead(got, &g));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    DESTROY(&absolute, &ones, &bound, &rest);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The four products of T against those of p->a; the ratio is the largest of them. */
static PetscErrorCode compare_products(const random_pair *p, Mat T, double factor, double floor, double *ratio)
{
    Vec x, y, u, v, z;
    double one;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(p->a, &x, &y));
    PetscCall(VecDuplicate(y, &u));
    PetscCall(VecDuplicate(x, &v));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(fill(x, 1));
    PetscCall(MatMult(p->a, x, y));
    PetscCall(MatMult(T, x, u));
    PetscCall(excess(p, PETSC_FALSE, x, u, y, factor, floor, ratio));
    PetscCall(MatMultAdd(p->a, x, y, y)); /* y := 2 A x, in place */
    PetscCall(MatMultAdd(T, x, u, u));
    PetscCall(excess(p, PETSC_FALSE, x, u, y, 2 * factor, 2 * floor, &one));
    *ratio = PetscMax(*ratio, one);
    PetscCall(fill(y, 2));
    PetscCall(MatMultTranspose(p->a, y, v));
    PetscCall(MatMultTranspose(T, y, z));
    PetscCall(excess(p, PETSC_TRUE, y, z, v, 8 * factor, floor, &one)); /* columns are longer than rows */
    *ratio = PetscMax(*ratio, one);
    PetscCall(MatMultTransposeAdd(p->a, y, x, v));
    PetscCall(MatMultTransposeAdd(T, y, x, z));
    PetscCall(excess(p, PETSC_TRUE, y, z, v, 8 * factor, floor, &one));
    *ratio = PetscMax(*ratio, one);
    DESTROY(&x, &y, &u, &v, &z);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* gamma(longest + 2) of the library and as much of PETSc's own sums. */
static double rounding(const random_pair *p)
{
    return 2 * (double)(p->longest + 3) * U64;
}

static PetscErrorCode products_in_every_format(void)
{
    static const char *const formats[] = {"auto", "csr", "ellr", "sell", "split", "composite", "tiles"};

    PetscFunctionBegin;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        for (int shape = 0; shape < 3; shape++) {
            random_pair p;
            double ratio;
            Mat T;
            PetscCall(random_matrix(shape == 1 ? 60 : 150, shape == 2 ? 70 : 150, &p));
            PetscCall(option("-mat_tessera_format", formats[f]));
            PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
            PetscCall(compare_products(&p, T, rounding(&p), 0, &ratio));
            CHECK(ratio <= 1, "%s, shape %d: %g times the bound", formats[f], shape, ratio);
            PetscCall(MatDestroy(&T));
            PetscCall(destroy_pair(&p));
        }
    }
    PetscCall(option("-mat_tessera_format", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random matrix stored as the options say: rounded, and within the bound. Options: name and value; then NULL. */
static PetscErrorCode check_stored(const char *const (*options)[2], double scale, double u, double floor)
{
    random_pair p;
    double ratio;
    Mat T;

    PetscFunctionBegin;
    PetscCall(random_matrix(150, 150, &p));
    PetscCall(MatScale(p.a, scale));
    PetscCall(MatScale(p.magnitudes, scale));
    for (int k = 0; options[k][0]; k++) {
        PetscCall(option(options[k][0], options[k][1]));
    }
    PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(compare_products(&p, T, u + rounding(&p), floor, &ratio));
    CHECK(ratio <= 1, "%s, scale %g: %g times the bound", options[0][1], scale, ratio);
    CHECK(ratio > 1e-3, "%s: nothing was rounded", options[0][1]);
    for (int k = 0; options[k][0]; k++) {
        PetscCall(option(options[k][0], ""));
    }
    PetscCall(MatDestroy(&T));
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each value within the bound of itself, so each element of a product too, and of a transposed one. */
static PetscErrorCode products_within_a_bound(void)
{
    static const char *const formats[] = {"csr", "split", "composite", "tiles"};

    PetscFunctionBegin;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        const char *const options[][2] = {{"-mat_tessera_format", formats[f]},
                                          {"-mat_tessera_policy", "error-bound:1e-7:componentwise"},
                                          {NULL, NULL}};
        PetscCall(check_stored(options, 1, 1e-7, 0));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounded values: the error is there, and is that of the precision. FP16 takes values of 1e9 over a power of two. */
static PetscErrorCode products_in_low_precision(void)
{
    static const struct {
        const char *precision;
        double u, scale;
    } cases[] = {{"fp32", U32, 1}, {"bf16", 0x1p-8, 1}, {"fp16", U16, 1}, {"fp16", U16, 1e9}, {"fp16", U16, 1e-9}};

    PetscFunctionBegin;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *const options[][2] = {{"-mat_tessera_precision", cases[c].precision}, {NULL, NULL}};
        /* values far below the row's largest are subnormal in FP16 */
        PetscCall(check_stored(options, cases[c].scale, cases[c].u, 0x1p-20));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode halo_in_low_precision(void)
{
    static const char *const precisions[] = {"fp32", "fp16"};
    const double u[] = {U32, U16};
    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    for (int k = 0; k < 2; k++) {
        random_pair p;
        double ratio;
        Mat T;
        Vec x, y, z;
        PetscCall(random_matrix(150, 150, &p));
        PetscCall(option("-mat_tessera_halo", precisions[k]));
        PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
        PetscCall(MatCreateVecs(T, &x, &y));
        PetscCall(VecDuplicate(y, &z));
        PetscCall(fill(x, 3));
        PetscCall(MatMult(p.a, x, y));
        PetscCall(MatMult(T, x, z));
        PetscCall(excess(&p, PETSC_FALSE, x, z, y, u[k] + rounding(&p), 0x1p-25, &ratio));
        CHECK(ratio <= 1, "halo in %s: %g times the bound", precisions[k], ratio);
        CHECK(ranks == 1 || ratio > 1e-3, "halo in %s: nothing was rounded", precisions[k]);
        PetscCall(MatMultAdd(p.a, x, y, y));
        PetscCall(MatMultAdd(T, x, z, z));
        PetscCall(excess(&p, PETSC_FALSE, x, z, y, 2 * (u[k] + rounding(&p)), 0x1p-24, &ratio));
        CHECK(ratio <= 1, "halo in %s, added: %g times the bound", precisions[k], ratio);
        DESTROY(&x, &y, &z, &T);
        PetscCall(destroy_pair(&p));
    }
    PetscCall(option("-mat_tessera_halo", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each change reaches the stored copy by the next product, also where PETSc assembles nothing. */
static PetscErrorCode changes_reach_the_copy(void)
{
    random_pair p;
    double ratio;
    Mat T;
    Vec left;
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(random_matrix(150, 150, &p));
    PetscCall(option("-mat_tessera_format", "sell")); /* csr in FP64 would read PETSc's own values */
    PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(option("-mat_tessera_format", ""));
    PetscCall(compare_products(&p, T, rounding(&p), 0, &ratio));
    CHECK(ratio <= 1, "before: %g times the bound", ratio);
    for (int change = 0; change < 4; change++) {
        Mat both[3] = {p.a, T, p.magnitudes};
        for (int k = 0; k < 3; k++) {
            PetscCall(MatSetOption(both[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
            PetscCall(MatCreateVecs(both[k], NULL, &left));
            PetscCall(VecSet(left, 3));
            PetscCall(MatGetOwnershipRange(both[k], &first, &last));
            if (change == 0) { PetscCall(MatScale(both[k], 0.3)); }
            if (change == 1) { PetscCall(MatShift(both[k], 0.7)); }
            if (change == 2) { PetscCall(MatDiagonalScale(both[k], left, NULL)); }
            if (change == 3) { PetscCall(MatSetValue(both[k], first, 149 - first % 40, 1.0 / 3, ADD_VALUES)); }
            if (change == 3) {
                PetscCall(MatAssemblyBegin(both[k], MAT_FINAL_ASSEMBLY));
                PetscCall(MatAssemblyEnd(both[k], MAT_FINAL_ASSEMBLY));
            }
            PetscCall(VecDestroy(&left));
        }
        p.longest = 12;
        /* a shift may cancel in p.a and not in its magnitudes, which are larger then */
        PetscCall(compare_products(&p, T, rounding(&p), 0, &ratio));
        CHECK(ratio <= 1, "change %d: %g times the bound", change, ratio);
    }
    PetscCall(MatDestroy(&T));
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A duplicate keeps type and storage; AIJ comes back with the same values. */
static PetscErrorCode duplicates_and_conversions(void)
{
    random_pair p;
    Mat T, D, B;
    Vec x, y, z;
    PetscBool is, equal;

    PetscFunctionBegin;
    PetscCall(random_matrix(150, 150, &p));
    PetscCall(option("-mat_tessera_precision", "fp16"));
    PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(option("-mat_tessera_precision", ""));
    PetscCall(MatDuplicate(T, MAT_COPY_VALUES, &D));
    PetscCall(type_begins(D, "seqaijtessera", &is));
    PetscCall(type_begins(D, "mpiaijtessera", &equal));
    CHECK(is || equal, "a duplicate has another type");
    PetscCall(MatCreateVecs(p.a, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(fill(x, 4));
    PetscCall(MatMult(T, x, y));
    PetscCall(MatMult(D, x, z));
    PetscCall(VecEqual(y, z, &equal));
    CHECK(equal, "a duplicate is stored in another way");
    PetscCall(MatConvert(T, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatEqual(B, p.a, &equal));
    CHECK(equal, "AIJ came back with other values");
    PetscCall(MatMult(p.a, x, y));
    PetscCall(MatMult(B, x, z));
    PetscCall(VecEqual(y, z, &equal));
    CHECK(equal, "AIJ came back with other products");
    PetscCall(MatConvert(T, MATAIJ, MAT_INPLACE_MATRIX, &T));
    PetscCall(type_begins(T, "seqaijtessera", &is));
    PetscCall(type_begins(T, "mpiaijtessera", &equal));
    CHECK(!is && !equal, "a conversion in place left the type");
    PetscCall(MatMult(T, x, z));
    PetscCall(VecEqual(y, z, &equal));
    CHECK(equal, "a conversion in place left the products");
    DESTROY(&x, &y, &z, &T, &D, &B);
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* -PREFIXmat_type tessera, -PREFIXmat_tessera_*; products of matrices are AIJ's. */
static PetscErrorCode options_with_a_prefix(void)
{
    Mat A, B, C, D;
    PetscBool is, other;
    double norm;

    PetscFunctionBegin;
    PetscCall(option("-mine_mat_type", "tessera"));
    PetscCall(option("-mine_mat_tessera_format", "sell"));
    PetscCall(laplacian(12, "mine_", &A));
    PetscCall(laplacian(12, "plain_", &B));
    PetscCall(type_begins(A, "seqaijtessera", &is));
    PetscCall(type_begins(A, "mpiaijtessera", &other));
    CHECK(is || other, "the option was not read");
    PetscCall(MatPtAP(A, A, MAT_INITIAL_MATRIX, 2, &C));
    PetscCall(MatPtAP(B, B, MAT_INITIAL_MATRIX, 2, &D));
    PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
    PetscCall(MatAXPY(C, -1, D, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
    CHECK(norm == 0, "a triple product differs by %g", norm);
    DESTROY(&A, &B, &C, &D);
    PetscCall(option("-mine_mat_type", ""));
    PetscCall(option("-mine_mat_tessera_format", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bad_options_are_refused(void)
{
    static const char *const cases[][2] = {{"-mat_tessera_format", "cssr"},
                                           {"-mat_tessera_policy", "lossles"},
                                           {"-mat_tessera_levels", "fp32,fp63"},
                                           {"-mat_tessera_precision", "half"},
                                           {"-mat_tessera_halo", "fp8"}};
    PetscErrorCode code;
    Mat A;

    PetscFunctionBegin;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
        PetscCall(MatSetSizes(A, 2, 2, PETSC_DETERMINE, PETSC_DETERMINE));
        PetscCall(option(cases[c][0], cases[c][1]));
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        code = MatSetType(A, MATTESSERA);
        PetscCall(PetscPopErrorHandler());
        CHECK(code == PETSC_ERR_ARG_UNKNOWN_TYPE, "%s %s was taken", cases[c][0], cases[c][1]);
        PetscCall(option(cases[c][0], ""));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Galerkin's product with the interpolation of a grid, which keeps one block for all unknowns of a point (maij). */
static PetscErrorCode interpolations_of_grids(void)
{
    DM coarse, fine;
    Mat A, T, P, C[2];
    MatType type;
    PetscBool maij;
    double norm, difference;

    PetscFunctionBegin;
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 9, PETSC_DECIDE,
                           PETSC_DECIDE, 2, 1, NULL, NULL, &coarse));
    PetscCall(DMSetUp(coarse));
    PetscCall(DMRefine(coarse, PETSC_COMM_WORLD, &fine));
    PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
    PetscCall(MatGetType(P, &type));
    PetscCall(PetscStrendswith(type, "maij", &maij));
    CHECK(maij, "the interpolation is %s", type);
    PetscCall(DMCreateMatrix(fine, &A));
    PetscCall(MatShift(A, 2));
    PetscCall(MatConvert(A, MATTESSERA, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[0]));
    PetscCall(MatPtAP(T, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[1]));
    PetscCall(MatConvert(C[1], MATAIJ, MAT_INPLACE_MATRIX, &C[1]));
    PetscCall(MatNorm(C[0], NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(C[1], -1, C[0], DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(C[1], NORM_FROBENIUS, &difference));
    CHECK(norm > 1 && difference <= 100 * U64 * norm, "P^T A P: norm %g, difference %g", norm, difference);
    DESTROY(&C[0], &C[1], &P, &T, &A, &coarse, &fine);
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(products_in_every_format), CASE(products_in_low_precision),
                                      CASE(products_within_a_bound),  CASE(halo_in_low_precision),
                                      CASE(changes_reach_the_copy),   CASE(duplicates_and_conversions),
                                      CASE(interpolations_of_grids),  CASE(options_with_a_prefix),
                                      CASE(bad_options_are_refused),  {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
