/* SPDX-License-Identifier: Apache-2.0 */
/* b - A x in two words, of matrices whose entries can be read (entries.c), on any number of processes: on a GPU by the
   library, from a copy of the rows there, else by threads of the host from AIJ's own arrays. */
#include "verify.h"

#include "context.h"
#include "entries.h"
#include "errors.h"
#include "halo.h"
#include "residual.h"
#include "rows.h"
#include "vectors.h"

#include <math.h>
#include <petsc/private/kspimpl.h>
#include <tessera/precision.h>
#include <tessera/solver.h>
#include <tessera/two_word.h>
#include <tessera/verify.h>

PetscErrorCode tp_norm(Vec v, double *out)
{
    double largest;
    int exponent;
    Vec scaled;

    PetscFunctionBegin;
    PetscCall(VecNorm(v, NORM_INFINITY, &largest));
    if (largest == 0 || !isfinite(largest) || (largest > 0x1p-300 && largest < 0x1p300)) {
        PetscCall(VecNorm(v, NORM_2, out));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    (void)frexp(largest, &exponent);
    exponent = PetscMax(-1000, PetscMin(exponent, 1000));
    PetscCall(VecDuplicate(v, &scaled));
    PetscCall(VecCopy(v, scaled));
    PetscCall(VecScale(scaled, ldexp(1, -exponent)));
    PetscCall(VecNorm(scaled, NORM_2, out));
    *out = ldexp(*out, exponent);
    PetscCall(VecDestroy(&scaled));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a matrix that is known by its products alone: nothing bounds what these round. */
static PetscErrorCode ordinary_residual(Mat A, Vec b, Vec x, Vec r, tp_norms *out)
{
    PetscFunctionBegin;
    for (int n = 0; n < TP_NORMS; n++) {
        out->norm[n] = NAN;
    }
    out->backward = out->backward_most = NAN;
    out->row = -1;
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(tp_norm(r, &out->norm[TP_NORM]));
    PetscCall(tp_norm(b, &out->norm[TP_RHS]));
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
    if (mpi) {
        PetscCall(tp_halo_create(A, TESS_PRECISION_FP64, &v->halo));
        PetscCall(tp_agree(v->halo->comm, PetscMalloc1(v->halo->nghosts + 1, &v->ghosts)));
    }
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

PetscErrorCode tp_verifier_destroy(tp_verifier *v)
{
    PetscFunctionBegin;
    PetscCall(tp_verifier_reset(v));
    PetscCall(tp_entries_reset(&v->entries));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- on the host ---- */

static PetscErrorCode residual_on_host(tp_verifier *v, const Mat block[2], Vec b, Vec x, Vec r, tp_norms *out)
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
        PetscCall(tp_halo_begin(v->halo, of.x[0]));
        PetscCall(tp_halo_end(v->halo, v->ghosts));
        PetscCall(tp_rows_get(block[1], &rows[1]));
        of.rows[1] = &rows[1];
        of.x[1] = v->ghosts;
    }
    PetscCall(tp_residual_of_rows(&of, out));
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

static void take_norms(const tess_verification *found, tp_norms *out)
{
    out->norm[TP_NORM] = found->residual_norm;
    out->norm[TP_BOUND] = found->residual_bound;
    out->norm[TP_RHS] = found->rhs_norm;
    out->norm[TP_ROWS] = found->rows.norm;
    out->norm[TP_ROWS_BOUND] = found->rows.bound;
    out->norm[TP_ROWS_RHS] = found->rows.rhs_norm;
    out->backward = found->rows.backward_error;
    out->backward_most = found->rows.backward_error + found->rows.backward_bound;
    out->row = (PetscInt)found->rows.backward_row;
}

static PetscErrorCode residual_on_gpu(tp_verifier *v, Vec b, Vec x, Vec r, tp_norms *out)
{
    tess_verification found;
    double norm, bound;
    tp_view vb, vx, vr;

    PetscFunctionBegin;
    PetscCall(tp_view_begin(b, TP_READ, &vb));
    PetscCall(tp_view_begin(x, TP_READ, &vx));
    PetscCall(tp_view_begin(r, TP_WRITE, &vr));
    if (v->halo) { PetscCall(assemble_x(v, vx.v)); }
    TessCall(tess_verify_residual(v->joined, vb.v, v->halo ? v->x : vx.v, vr.v, &norm, &bound));
    tess_verification_init(&found);
    TessCall(tess_verify(v->joined, vb.v, v->halo ? v->x : vx.v, NULL, &found));
    take_norms(&found, out);
    PetscCall(tp_view_end(r, &vr));
    PetscCall(tp_view_end(x, &vx));
    PetscCall(tp_view_end(b, &vb));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- over all processes ---- */

/* Norms of whole vectors from those of their parts (tessera/residual.h). */
static PetscErrorCode norms_of_parts(MPI_Comm comm, double norm[TP_NORMS])
{
    double largest[TP_NORMS], sums[TP_NORMS];
    int exponent[TP_NORMS], parts;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(comm, &parts));
    if (parts == 1) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscArraycpy(largest, norm, TP_NORMS));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, TP_NORMS, MPI_DOUBLE, MPI_MAX, comm));
    for (int n = 0; n < TP_NORMS; n++) {
        exponent[n] = tess_parts_exponent(largest[n]);
        sums[n] = tess_part_square(norm[n], exponent[n]);
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, TP_NORMS, MPI_DOUBLE, MPI_SUM, comm));
    for (int n = 0; n < TP_NORMS; n++) {
        norm[n] = tess_parts_norm(sums[n], exponent[n]);
    }
    for (int n = TP_BOUND; n < TP_NORMS; n += TP_ROWS_BOUND - TP_BOUND) {
        norm[n] = tess_parts_bound(norm[n - 1], norm[n], parts);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest of all, and its first row; rows are numbered from 0 on each process before, and over all after. */
static PetscErrorCode largest_of_parts(Mat A, tp_norms *out)
{
    MPI_Comm comm = PetscObjectComm((PetscObject)A);
    const PetscInt row = out->row;
    double largest[2] = {out->backward, out->backward_most};
    PetscInt first, last;

    PetscFunctionBegin;
    if (!isfinite(out->norm[TP_NORM])) { /* on all processes alike */
        out->backward = out->backward_most = NAN;
        out->row = -1;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, comm));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    out->row = row >= 0 && out->backward == largest[0] ? first + row : PETSC_MAX_INT;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &out->row, 1, MPIU_INT, MPI_MIN, comm));
    if (out->row == PETSC_MAX_INT) { out->row = -1; }
    out->backward = largest[0];
    out->backward_most = largest[1];
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode residual_of_entries(tp_verifier *v, Mat A, Vec b, Vec x, Vec r, tp_norms *out)
{
    const MPI_Comm comm = PetscObjectComm((PetscObject)A);
    Mat block[2] = {A, NULL};
    tess_context *ctx;
    PetscErrorCode code;
    PetscBool mpi, gpu;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    PetscCall(renew(v, A, mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL)); }
    PetscCall(tp_agree(comm, tp_context(&ctx)));
    gpu = tess_context_device(ctx) == TESS_DEVICE_GPU ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(tp_agree(comm, gpu ? renew_joined(v, A, block) : PETSC_SUCCESS));
    code = gpu ? residual_on_gpu(v, b, x, r, out) : residual_on_host(v, block, b, x, r, out);
    PetscCall(tp_agree(comm, code)); /* before the norms of all */
    PetscCall(norms_of_parts(PetscObjectComm((PetscObject)A), out->norm));
    PetscCall(largest_of_parts(A, out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_true_residual(tp_verifier *v, Mat A, Vec b, Vec x, Vec r, tp_norms *out)
{
    Mat entries;

    PetscFunctionBegin;
    PetscCall(tp_entries_of(&v->entries, A, x, &entries));
    if (entries) {
        PetscCall(residual_of_entries(v, entries, b, x, r, out));
    } else {
        PetscCall(ordinary_residual(A, b, x, r, out));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tolerances ---- */

PetscErrorCode tp_set_tolerances(KSP ksp, const tp_norms *of, tp_tolerances *out)
{
    const double rhs = of->norm[TP_RHS];
    int parts;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &parts));
    out->given = tess_given_tolerance(ksp->rtol, ksp->abstol, tess_parts_least(rhs, parts));
    out->rows = tess_rows_tolerance(ksp->rtol, ksp->abstol, rhs, tess_parts_least(of->norm[TP_ROWS_RHS], parts));
    PetscFunctionReturn(PETSC_SUCCESS);
}

double tp_most(const tp_norms *of)
{
    const double own = 2 * TESS_U64 * (of->norm[TP_NORM] + of->norm[TP_RHS]);

    return of->norm[TP_NORM] + (isnan(of->norm[TP_BOUND]) ? own : of->norm[TP_BOUND]);
}

/* As KSPConvergedDefault tells the two apart. */
KSPConvergedReason tp_converged_reason(KSP ksp, double most)
{
    return most < ksp->abstol ? KSP_CONVERGED_ATOL : KSP_CONVERGED_RTOL;
}
