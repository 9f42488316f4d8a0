/* SPDX-License-Identifier: Apache-2.0 */
/* MatGetDiagonal of matrices whose stored copy is exact, and of rounded ones. */
#include "support.h"

/* The diagonal is the operator's: e_i^T A e_i as the product gives it, also where the copy is rounded. */
static PetscErrorCode the_diagonal_is_that_of_products(void)
{
    static const char *const precisions[] = {"", "fp64", "fp32", "fp16", "e4m3"};
    const double most[] = {0, 0, U32, U16, 0x1p-4};

    PetscFunctionBegin;
    for (int k = 0; k < 5; k++) {
        random_pair p;
        Mat T;
        Vec x, y, d, exact;
        double difference, norm;
        PetscCall(random_matrix(60, 60, &p));
        PetscCall(MatSetOption(p.a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(MatShift(p.a, 1e6 / 3)); /* beyond FP16's range */
        PetscCall(option("-mat_tessera_precision", precisions[k]));
        PetscCall(MatConvert(p.a, MATTESSERA, MAT_INITIAL_MATRIX, &T));
        PetscCall(MatCreateVecs(T, &x, &y));
        PetscCall(VecDuplicate(y, &d));
        PetscCall(VecDuplicate(y, &exact));
        PetscCall(MatGetDiagonal(T, d));
        for (PetscInt i = 0; i < 60; i++) {
            PetscScalar got[2];
            PetscInt first, last;
            PetscCall(VecZeroEntries(x));
            PetscCall(VecSetValue(x, i, 1, INSERT_VALUES));
            PetscCall(VecAssemblyBegin(x));
            PetscCall(VecAssemblyEnd(x));
            PetscCall(MatMult(T, x, y));
            PetscCall(VecGetOwnershipRange(y, &first, &last));
            if (i < first || i >= last) { continue; }
            PetscCall(VecGetValues(y, 1, &i, &got[0]));
            PetscCall(VecGetValues(d, 1, &i, &got[1]));
            CHECK(got[0] == got[1], "%s: entry %d of the diagonal is %.17g, and %.17g in a product", precisions[k],
                  (int)i, got[1], got[0]);
        }
        PetscCall(MatGetDiagonal(p.a, exact));
        PetscCall(VecNorm(exact, NORM_INFINITY, &norm));
        PetscCall(VecAXPY(d, -1, exact));
        PetscCall(VecNorm(d, NORM_INFINITY, &difference));
        CHECK(difference <= most[k] * norm && (most[k] == 0 || difference > 0), "%s: off by %g of %g", precisions[k],
              difference, norm);
        DESTROY(&x, &y, &d, &exact, &T);
        PetscCall(destroy_pair(&p));
    }
    PetscCall(option("-mat_tessera_precision", ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(the_diagonal_is_that_of_products), {NULL, NULL}};

    return run_tests(argc, argv, TesseraPetscInitialize, cases);
}
