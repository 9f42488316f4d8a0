/* SPDX-License-Identifier: Apache-2.0 */
/* True residuals as a GPU computes them: by the library, from the rows of a process as one matrix. */
#include "context.h"
#include "errors.h"
#include "halo.h"
#include "register.h"
#include "residual.h"
#include "rows.h"
#include "support.h"
#include "vectors.h"
#include "verify.h"

#include <math.h>
#include <tessera/verify.h>

/* [x; ghosts] as a vector of the library. */
static PetscErrorCode with_ghosts(tp_halo *halo, Vec x, tess_vector **out)
{
    const PetscInt nghosts = halo ? halo->nghosts : 0;
    const PetscScalar *own;
    double *both;
    tess_context *ctx;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(PetscMalloc1((size_t)(n + nghosts + 1), &both));
    PetscCall(VecGetArrayRead(x, &own));
    PetscCall(PetscArraycpy(both, own, n));
    if (halo) {
        PetscCall(tp_halo_begin(halo, own));
        PetscCall(tp_halo_end(halo, both + n));
    }
    PetscCall(VecRestoreArrayRead(x, &own));
    TessCall(tess_vector_create(ctx, n + nghosts, TESS_PRECISION_FP64, out));
    TessCall(tess_vector_set(*out, both, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    PetscCall(PetscFree(both));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this process as one matrix. */
static PetscErrorCode join(Mat A, tess_matrix **joined)
{
    Mat block[2] = {A, NULL};
    tp_rows rows[2];
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL)); }
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscCall(tp_rows_get(block[k], &rows[k]));
    }
    PetscCall(tp_join_rows(&rows[0], mpi ? &rows[1] : NULL, joined));
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscCall(tp_rows_restore(block[k], &rows[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As a GPU verifies them: *sum is the square of this process' norm, *difference the norm of what r differs by. */
static PetscErrorCode residual_of_joined(tp_verifier *verifier, tess_matrix *joined, Vec b, Vec x, Vec r, double *sum,
                                         double *difference)
{
    tess_vector *both, *residual;
    tess_verification found;
    tp_view view[2];
    double norm, bound;

    PetscFunctionBegin;
    PetscCall(with_ghosts(verifier->halo, x, &both));
    PetscCall(tp_view_begin(b, TP_READ, &view[0]));
    PetscCall(tp_view_begin(r, TP_READ, &view[1]));
    CHECK(tess_matrix_ncols(joined) == tess_vector_size(both), "columns of the joined rows");
    TessCall(
        tess_vector_create(tess_matrix_context(joined), tess_matrix_nrows(joined), TESS_PRECISION_FP64, &residual));
    TessCall(tess_verify_residual(joined, view[0].v, both, residual, &norm, &bound));
    *sum = norm * norm;
    tess_verification_init(&found);
    TessCall(tess_verify(joined, view[0].v, both, NULL, &found));
    CHECK(found.residual_norm == norm && found.residual_bound == bound && isfinite(found.rows.norm) &&
              (found.rows.backward_row >= 0 || norm == 0),
          "norms %g and %g, row %d", found.residual_norm, norm, (int)found.rows.backward_row);
    TessCall(tess_vector_axpby(-1, view[1].v, 1, residual, TESS_ARITHMETIC_FP64));
    TessCall(tess_vector_norm2(residual, TESS_ARITHMETIC_FP64, difference));
    tess_vector_destroy(both);
    tess_vector_destroy(residual);
    PetscCall(tp_view_end(r, &view[1]));
    PetscCall(tp_view_end(b, &view[0]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same residual from the joined rows, also after new values, and where a process has no rows. */
static PetscErrorCode joined_rows_have_the_same_residual(void)
{
    PetscFunctionBegin;
    for (PetscInt n = 3; n <= 300; n *= 100) {
        random_pair p;
        Vec b, x, r;
        tp_verifier verifier = {0};
        tess_matrix *joined = NULL;
        PetscCall(random_matrix(n, n, &p));
        PetscCall(MatCreateVecs(p.a, &x, &b));
        PetscCall(VecDuplicate(b, &r));
        PetscCall(fill(b, 23));
        PetscCall(fill(x, 24));
        for (int again = 0; again < 2; again++) {
            tp_norms found;
            double sum, difference;
            PetscCall(MatScale(p.a, again ? 0.3 : 1));
            PetscCall(tp_true_residual(&verifier, p.a, b, x, r, &found));
            PetscCall(join(p.a, &joined));
            PetscCall(residual_of_joined(&verifier, joined, b, x, r, &sum, &difference));
            PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
            CHECK(difference <= 4 * U64 * found.norm[TP_NORM], "residuals differ by %g", difference);
            CHECK(fabs(sqrt(sum) - found.norm[TP_NORM]) <= 8 * U64 * found.norm[TP_NORM], "norms are %g and %g",
                  sqrt(sum), found.norm[TP_NORM]);
        }
        tess_matrix_destroy(joined);
        PetscCall(tp_verifier_destroy(&verifier));
        DESTROY(&x, &b, &r);
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(joined_rows_have_the_same_residual), {NULL, NULL}};

    return run_tests(argc, argv, tessera_petsc_register, cases);
}
