/* SPDX-License-Identifier: Apache-2.0 */
/* b - A x in two words, of AIJ on any number of processes: on a GPU by the library, from a copy of the rows there, else
   by threads of the host from AIJ's own arrays. */
#include "ksp.h"
#include "mat.h"
#include "residual.h"

#include <float.h>
#include <math.h>

static const double U = DBL_EPSILON / 2, TINY = 0x1p-960;

static PetscErrorCode ordinary_residual(Mat A, Vec b, Vec x, Vec r, double norm_bound[2])
{
    PetscFunctionBegin;
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm_bound[0]));
    norm_bound[1] = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is kept from call to call ---- */

static PetscErrorCode renew(tp_verifier *v, Mat A, PetscBool mpi)
{
    PetscObjectState pattern;

    PetscFunctionBegin;
    PetscCall(MatGetNonzeroState(A, &pattern));
    if (v->matrix == A && v->pattern == pattern) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_verifier_reset(v));
    if (mpi) { PetscCall(tp_halo_create(A, TESS_PRECISION_FP64, &v->halo)); }
    PetscCall(PetscObjectReference((PetscObject)A));
    v->matrix = A;
    v->pattern = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_verifier_reset(tp_verifier *v)
{
    PetscFunctionBegin;
    tess_matrix_destroy(v->joined);
    tess_vector_destroy(v->x);
    v->joined = NULL;
    v->x = NULL;
    PetscCall(tp_halo_destroy(&v->halo));
    PetscCall(PetscFree(v->ghosts));
    PetscCall(MatDestroy(&v->matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- on the host ---- */

static PetscErrorCode residual_on_host(tp_verifier *v, const Mat block[2], Vec b, Vec x, Vec r, double norm_bound[2])
{
    tp_residual of = {0};
    tp_rows rows[2];

    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(b, &of.b));
    PetscCall(VecGetArrayRead(x, &of.x[0]));
    PetscCall(VecGetArrayWrite(r, &of.r));
    PetscCall(tp_rows_get(block[0], &rows[0]));
    of.rows[0] = &rows[0];
    if (v->halo) {
        if (!v->ghosts) { PetscCall(PetscMalloc1(v->halo->nghosts + 1, &v->ghosts)); }
        PetscCall(tp_halo_begin(v->halo, of.x[0]));
        PetscCall(tp_halo_end(v->halo, v->ghosts));
        PetscCall(tp_rows_get(block[1], &rows[1]));
        of.rows[1] = &rows[1];
        of.x[1] = v->ghosts;
    }
    PetscCall(tp_residual_of_rows(&of, norm_bound));
    if (v->halo) { PetscCall(tp_rows_restore(block[1], &rows[1])); }
    PetscCall(tp_rows_restore(block[0], &rows[0]));
    PetscCall(VecRestoreArrayWrite(r, &of.r));
    PetscCall(VecRestoreArrayRead(x, &of.x[0]));
    PetscCall(VecRestoreArrayRead(b, &of.b));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- on a GPU ---- */

static PetscErrorCode take_states(Mat A, const Mat block[2], PetscObjectState state[3])
{
    const Mat all[3] = {A, block[0], block[1] ? block[1] : block[0]};

    PetscFunctionBegin;
    for (int k = 0; k < 3; k++) {
        PetscCall(PetscObjectStateGet((PetscObject)all[k], &state[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whose values differ: these alone are taken again where the pattern is the same. */
static PetscErrorCode renew_joined(tp_verifier *v, Mat A, const Mat block[2])
{
    PetscObjectState state[3];
    PetscBool same = PETSC_FALSE;
    tp_rows rows[2];

    PetscFunctionBegin;
    PetscCall(take_states(A, block, state));
    if (v->joined) { PetscCall(PetscArraycmp(state, v->state, 3, &same)); }
    if (same) { PetscFunctionReturn(PETSC_SUCCESS); }
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscCall(tp_rows_get(block[k], &rows[k]));
    }
    PetscCall(tp_join_rows(&rows[0], block[1] ? &rows[1] : NULL, &v->joined));
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscCall(tp_rows_restore(block[k], &rows[k]));
    }
    PetscCall(PetscArraycpy(v->state, state, 3));
    if (!v->x) {
        TessCall(tess_vector_create(tess_matrix_context(v->joined), tess_matrix_ncols(v->joined), TESS_PRECISION_FP64,
                                    &v->x));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* v->x from entry `first` on, as a vector of n. */
static PetscErrorCode part_of_x(tp_verifier *v, int64_t first, int64_t n, tess_vector **out)
{
    double *const data = tess_vector_data(v->x);

    PetscFunctionBegin;
    TessCall(tess_vector_wrap(tess_vector_context(v->x), n, TESS_PRECISION_FP64, n > 0 ? data + first : NULL, out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* v->x := [x; ghosts] */
static PetscErrorCode assemble_x(tp_verifier *v, const tess_vector *x)
{
    const int64_t n = tess_vector_size(x);
    tess_vector *own, *ghosts;

    PetscFunctionBegin;
    PetscCall(tp_halo_begin_vector(v->halo, x));
    PetscCall(part_of_x(v, 0, n, &own));
    PetscCall(part_of_x(v, n, v->halo->nghosts, &ghosts));
    TessCall(tess_vector_copy(x, own));
    PetscCall(tp_halo_end_vector(v->halo, ghosts));
    tess_vector_destroy(own);
    tess_vector_destroy(ghosts);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode residual_on_gpu(tp_verifier *v, Vec b, Vec x, Vec r, double norm_bound[2])
{
    tp_view vb, vx, vr;

    PetscFunctionBegin;
    PetscCall(tp_view_begin(b, TP_READ, &vb));
    PetscCall(tp_view_begin(x, TP_READ, &vx));
    PetscCall(tp_view_begin(r, TP_WRITE, &vr));
    if (v->halo) { PetscCall(assemble_x(v, vx.v)); }
    TessCall(tess_verify_residual(v->joined, vb.v, v->halo ? v->x : vx.v, vr.v, &norm_bound[0], &norm_bound[1]));
    PetscCall(tp_view_end(r, &vr));
    PetscCall(tp_view_end(x, &vx));
    PetscCall(tp_view_end(b, &vb));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- over all processes ---- */

/*
 * Norm and bound of the whole vector from those of its parts: by the triangle inequality in the space of the parts the
 * norm of the bounds bounds the difference of the norms. Parts are divided by a power of two near the largest, so that
 * squares neither overflow nor vanish; U times the number of parts bounds the error of a sum in any order.
 */
static PetscErrorCode norm_of_parts(MPI_Comm comm, double norm_bound[2])
{
    double largest[2], sums[2], slack;
    int exponent[2], parts;

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        largest[k] = isnan(norm_bound[k]) ? (double)INFINITY : norm_bound[k];
    }
    PetscCallMPI(MPI_Comm_size(comm, &parts));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, comm));
    for (int k = 0; k < 2; k++) {
        (void)frexp(isfinite(largest[k]) ? largest[k] : 1, &exponent[k]);
        sums[k] = ldexp(norm_bound[k], -exponent[k]) * ldexp(norm_bound[k], -exponent[k]);
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, comm));
    for (int k = 0; k < 2; k++) {
        norm_bound[k] = isfinite(largest[k]) ? ldexp(sqrt(sums[k]), exponent[k]) : largest[k];
    }
    slack = (double)(parts + 8) * U;
    if (parts > 1) { norm_bound[1] = (1 + slack) * norm_bound[1] + slack * norm_bound[0]; }
    if (norm_bound[0] > 0 && norm_bound[0] < TINY) { norm_bound[1] += DBL_MIN * DBL_EPSILON * 8; } /* subnormal */
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_true_residual(tp_verifier *v, Mat A, Vec b, Vec x, Vec r, double norm_bound[2], PetscBool *known)
{
    Mat block[2] = {A, NULL};
    tess_context *ctx;
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, known, MATSEQAIJ, MATMPIAIJ, ""));
    if (!*known) {
        PetscCall(ordinary_residual(A, b, x, r, norm_bound));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    PetscCall(renew(v, A, mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL)); }
    PetscCall(tp_context(&ctx));
    if (tess_context_device(ctx) == TESS_DEVICE_GPU) {
        PetscCall(renew_joined(v, A, block));
        PetscCall(residual_on_gpu(v, b, x, r, norm_bound));
    } else {
        PetscCall(residual_on_host(v, block, b, x, r, norm_bound));
    }
    PetscCall(norm_of_parts(PetscObjectComm((PetscObject)A), norm_bound));
    PetscFunctionReturn(PETSC_SUCCESS);
}
