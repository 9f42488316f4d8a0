/* SPDX-License-Identifier: Apache-2.0 */
/* The whole solve of one process by the library, under PETSc's tolerances, monitors and reasons. */
#include "ksp.h"

#include "context.h"
#include "errors.h"
#include "mat.h"
#include "pc.h"
#include "residual.h"
#include "rows.h"
#include "storage.h"
#include "told.h"
#include "vectors.h"
#include "verify.h"

#include <string.h>
#include <tessera/advise.h>
#include <tessera/many.h>
#include <tessera/policy.h>
#include <tessera/precision.h>

/* Up to here a GPU may run all iterations in one kernel, which reads csr. */
static const int64_t MOST_RESIDENT = 65536;

/* PETSc's PC as a preconditioner of the library. */
static int apply_pc(void *user, const double *r, double *z)
{
    KSP ksp = user;
    tp_ksp *const k = ksp->data;
    PetscErrorCode code = tp_vec_place(k->in, r);

    if (!code) { code = tp_vec_place(k->out, z); }
    if (!code) { code = (ksp->transpose_solve ? PCApplyTranspose : PCApply)(ksp->pc, k->in, k->out); }
    if (!code) { code = tp_vec_reset(k->out); }
    if (!code) { code = tp_vec_reset(k->in); }
    return code ? 1 : 0;
}

/* KSPConvergedDefault says what the library's own tolerances say: only another test is asked. */
static int monitor(void *user, const tess_progress *progress)
{
    KSP ksp = user;
    tp_ksp *const k = ksp->data;
    const PetscInt iteration = (PetscInt)progress->iteration;

    ksp->its = iteration;
    ksp->rnorm = progress->residual_norm;
    if (iteration == 0) { return 0; } /* monitor_start has told of it */
    if (KSPLogResidualHistory(ksp, ksp->rnorm) || KSPMonitor(ksp, iteration, ksp->rnorm)) { return 1; }
    if (ksp->converged == KSPConvergedDefault) { return 0; }
    if ((*ksp->converged)(ksp, iteration, ksp->rnorm, &k->stopped, ksp->cnvP)) { return 1; }
    return k->stopped ? 1 : 0;
}

/* PETSc's monitors begin with the residual of the initial guess. */
static PetscErrorCode monitor_start(KSP ksp, Mat A)
{
    tp_ksp *const k = ksp->data;
    tp_norms norms;
    Vec r;

    PetscFunctionBegin;
    if (ksp->guess_zero) {
        PetscCall(tp_norm(ksp->vec_rhs, &ksp->rnorm));
    } else {
        PetscCall(VecDuplicate(ksp->vec_rhs, &r));
        PetscCall(tp_true_residual(&k->verifier, A, ksp->vec_rhs, ksp->vec_sol, r, &norms));
        PetscCall(VecDestroy(&r));
        ksp->rnorm = norms.norm[TP_NORM];
    }
    ksp->its = 0;
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, 0, ksp->rnorm));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_matrix(Mat A, tess_matrix **out)
{
    tp_rows rows;

    PetscFunctionBegin;
    PetscCall(tp_rows_get(A, &rows));
    PetscCall(tp_matrix_create(&rows, out));
    PetscCall(tp_rows_restore(A, &rows));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a preconditioner of PETSc's, auto is the library's: it tries and explains. Else the library's advice for a
   matrix whose preconditioner is given decides between CG and GMRES, which no preconditioner offends. */
static PetscErrorCode choose_solver(const tp_ksp *k, PC precond, tess_solve_options *options)
{
    tess_solve_options given;
    tess_advice advice;
    PetscBool symmetric = PETSC_FALSE;

    PetscFunctionBegin;
    if (options->solver != TESS_SOLVER_AUTO || !precond) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_pc_may_be_symmetric(precond, &symmetric));
    tess_solve_options_init(&given);
    given.precond.kind = TESS_PRECOND_JACOBI; /* stands for the one of PETSc's */
    tess_advice_init(&advice);
    TessCall(tess_advise(k->matrix, &given, &advice));
    symmetric = symmetric && advice.count > 0 && advice.attempt[0].solver == TESS_SOLVER_CG;
    options->solver = symmetric ? TESS_SOLVER_CG : TESS_SOLVER_GMRES;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether anyone looks at the iterations. Without a monitor a GPU runs them in one go. */
PetscBool tp_is_watched(KSP ksp)
{
    return ksp->numbermonitors > 0 || ksp->res_hist || ksp->converged != KSPConvergedDefault ? PETSC_TRUE : PETSC_FALSE;
}

static void set_limits(KSP ksp, tess_solve_options *options)
{
    const tp_ksp *const k = ksp->data;

    options->rtol = ksp->rtol;
    options->atol = ksp->abstol;
    options->divergence_tolerance = ksp->divtol;
    options->max_iterations = ksp->max_it;
    options->history_capacity = 0;
    options->guard = k->verify ? TESS_GUARD_REPAIR : TESS_GUARD_REPORT;
    if (tp_is_watched(ksp)) {
        options->monitor = monitor;
        options->monitor_user = ksp;
    }
}

/* What a single kernel reads has 16 bits or more. Levels of the user's choice stay. */
static void leave_out_fp8(tess_policy_options *policy)
{
    static const tess_precision levels[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16};

    if (policy->policy != TESS_POLICY_LOSSLESS || policy->nlevels != 0) { return; }
    policy->nlevels = 3;
    for (int l = 0; l < policy->nlevels; l++) {
        policy->level[l].precision = levels[l];
    }
}

static void choose_for_gpu(KSP ksp, tess_solve_options *options)
{
    const tp_ksp *const k = ksp->data;

    if (tp_is_watched(ksp)) {
        options->engine = TESS_ENGINE_PLAIN;
    } /* the other engines do not tell of every iteration */
    if (options->storage.format == TESS_FORMAT_AUTO && tess_matrix_nrows(k->matrix) <= MOST_RESIDENT) {
        options->storage.format = TESS_FORMAT_CSR;
        leave_out_fp8(&options->storage.policy);
    }
}

/* The method's options; storage as the matrix has it if its type is ours and the method reads formats. */
static PetscErrorCode make_options(KSP ksp, Mat A, PC precond, tess_solve_options *options)
{
    const tp_storage *const storage = tp_storage_of(A);
    const tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    *options = k->words.options;
    PetscCall(choose_solver(k, precond, options));
    tp_take_restart(k, options);
    set_limits(ksp, options);
    if (storage && options->solver != TESS_SOLVER_AUTO) { options->storage = storage->options; }
    if (tess_context_device(tess_matrix_context(k->matrix)) == TESS_DEVICE_GPU) { choose_for_gpu(ksp, options); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_shell(KSP ksp, Mat A)
{
    tp_ksp *const k = ksp->data;
    const tess_shell_precond shell = {.apply = apply_pc, .user = ksp};
    tess_context *ctx;
    PetscBool shared;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(tp_shares_gpu(&shared));
    PetscCheck(shared || tess_context_device(ctx) == TESS_DEVICE_CPU, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "with PETSc on the host and Tessera on a GPU, -ksp_type tessera takes -pc_type tessera or none");
    PetscCall(MatGetLocalSize(A, &n, NULL));
    if (!k->in) { PetscCall(tp_vec_create(n, &k->in)); }
    if (!k->out) { PetscCall(tp_vec_create(n, &k->out)); }
    TessCall(tess_precond_create_shell(ctx, n, &shell, &k->shell));
    k->precond = k->shell;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a PC divides by the diagonal of the operator, and does no more. */
static PetscErrorCode is_jacobi(PC pc, Mat A, Mat P, PetscBool *out)
{
    PetscBool petsc, absolute;
    PCJacobiType type;

    PetscFunctionBegin;
    PetscCall(tp_pc_is_jacobi(pc, out));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCJACOBI, &petsc));
    if (!petsc) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PCJacobiGetType(pc, &type));
    PetscCall(PCJacobiGetUseAbs(pc, &absolute));
    *out = type == PC_JACOBI_DIAGONAL && !absolute && A == P ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum diagonal_kind { HAS_ZERO, VARIES, IS_ONE_NUMBER } diagonal_kind;

static PetscErrorCode examine_diagonal(Mat P, diagonal_kind *out)
{
    const PetscScalar *d;
    PetscInt n;
    PetscBool zero = PETSC_FALSE, same = PETSC_TRUE;
    Vec diagonal;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(P, NULL, &diagonal));
    PetscCall(MatGetDiagonal(P, diagonal));
    PetscCall(VecGetLocalSize(diagonal, &n));
    PetscCall(VecGetArrayRead(diagonal, &d));
    for (PetscInt i = 0; i < n; i++) {
        if (d[i] == 0) { zero = PETSC_TRUE; }
        if (d[i] != d[0]) { same = PETSC_FALSE; }
    }
    *out = zero ? HAS_ZERO : same && n > 0 && d[0] > 0 ? IS_ONE_NUMBER : VARIES;
    PetscCall(VecRestoreArrayRead(diagonal, &d));
    PetscCall(VecDestroy(&diagonal));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Jacobi as the library has it, which its loops on a GPU take, also in the place of PETSc's. To divide by one and the
 * same number changes no iterate of a Krylov method: that is left out, with the reading of the diagonal.
 */
static PetscErrorCode take_jacobi(KSP ksp, tess_precond **own, PetscBool *left_out)
{
    tp_ksp *const k = ksp->data;
    tess_precond_options options;
    diagonal_kind kind = HAS_ZERO;
    PetscBool jacobi;
    Mat A, P;

    PetscFunctionBegin;
    *left_out = PETSC_FALSE;
    PetscCall(KSPGetOperators(ksp, &A, &P));
    PetscCall(is_jacobi(ksp->pc, A, P, &jacobi));
    if (!jacobi) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(examine_diagonal(P, &kind));
    if (kind == IS_ONE_NUMBER) {
        *own = NULL;
        *left_out = PETSC_TRUE;
    } else if (!*own && kind == VARIES) {
        tess_precond_options_init(&options);
        options.kind = TESS_PRECOND_JACOBI;
        TessCall(tess_precond_create(k->matrix, &options, &k->shell));
        *own = k->shell;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver serves until the matrix or the preconditioner changes, or the transpose is asked for in place of the matrix,
   or the other way round. `system` is the one to solve with. */
static PetscErrorCode renew_solver(KSP ksp, Mat system)
{
    tp_ksp *const k = ksp->data;
    PetscObjectState state, pattern;
    PetscObjectId id;
    tess_precond *own;
    PetscBool none, left_out;
    tess_solve_options options;
    Mat A, P;

    PetscFunctionBegin;
    PetscCall(KSPGetOperators(ksp, &A, &P));
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    PetscCall(PetscObjectStateGet((PetscObject)P, &pattern));
    PetscCall(PetscObjectGetId((PetscObject)system, &id));
    PetscCall(tp_pc_precond(ksp->pc, ksp->transpose_solve, &own));
    if (k->tessera && k->system == id && state == k->state && pattern == k->pattern &&
        (k->shell || k->left_out || k->precond == own)) {
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(tp_one_reset(k));
    PetscCall(read_matrix(system, &k->matrix));
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
    PetscCall(take_jacobi(ksp, &own, &left_out));
    k->precond = own;
    k->left_out = left_out;
    if (!own && !none && !left_out) { PetscCall(make_shell(ksp, A)); }
    PetscCall(make_options(ksp, A, none ? NULL : ksp->pc, &options));
    if (left_out) { options.precond.kind = TESS_PRECOND_NONE; }
    if (k->precond) {
        TessCall(tess_solver_create_with_precond(k->matrix, k->precond, &options, &k->tessera));
    } else {
        TessCall(tess_solver_create(k->matrix, &options, &k->tessera));
    }
    k->system = id;
    k->state = state;
    k->pattern = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static KSPConvergedReason petsc_reason(KSP ksp, const tess_solve_result *result)
{
    const tp_ksp *const k = ksp->data;

    switch (result->reason) {
    case TESS_REASON_RTOL:
    case TESS_REASON_ATOL: return tp_converged_reason(ksp, tp_most(&k->told.norms));
    case TESS_REASON_HAPPY_BREAKDOWN: return KSP_CONVERGED_HAPPY_BREAKDOWN;
    case TESS_REASON_ITERATIONS: return KSP_DIVERGED_ITS;
    case TESS_REASON_DIVERGENCE: return KSP_DIVERGED_DTOL;
    case TESS_REASON_NONSYMMETRIC: return KSP_DIVERGED_NONSYMMETRIC;
    case TESS_REASON_INDEFINITE_PRECOND: return KSP_DIVERGED_INDEFINITE_PC;
    case TESS_REASON_NAN_OR_INF: return KSP_DIVERGED_NANORINF;
    case TESS_REASON_INDEFINITE_MATRIX: return KSP_DIVERGED_INDEFINITE_MAT;
    case TESS_REASON_PRECOND_SETUP: return KSP_DIVERGED_PC_FAILED;
    case TESS_REASON_CANCELLED: return k->stopped ? k->stopped : KSP_DIVERGED_BREAKDOWN;
    default: return KSP_DIVERGED_BREAKDOWN;
    }
}

static void tell(const tess_solve_result *result, tp_told *told)
{
    const tess_row_residual *const rows = &result->rows;
    tp_norms *const out = &told->norms;

    out->norm[TP_NORM] = result->residual_norm;
    out->norm[TP_BOUND] = result->residual_bound;
    out->norm[TP_RHS] = result->rhs_norm;
    out->norm[TP_ROWS] = rows->norm;
    out->norm[TP_ROWS_BOUND] = rows->bound;
    out->norm[TP_ROWS_RHS] = rows->rhs_norm;
    out->backward = rows->backward_error;
    out->backward_most = rows->backward_error + rows->backward_bound;
    out->row = (PetscInt)rows->backward_row;
    told->tolerances.given = result->tolerance;
    told->tolerances.rows = rows->tolerance;
    told->measured = PETSC_TRUE;
    told->verified = result->verified ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode take_result(KSP ksp, const tess_solve_result *result)
{
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    ksp->its = (PetscInt)result->iterations;
    ksp->rnorm = result->residual_norm;
    tell(result, &k->told);
    ksp->reason = petsc_reason(ksp, result);
    if (!k->verify && result->reason == TESS_REASON_FALSE_CONVERGENCE) {
        ksp->rnorm = result->estimated_residual_norm;
        ksp->reason = KSP_CONVERGED_RTOL; /* as PETSc's own methods would say */
    } else if (result->reason == TESS_REASON_FALSE_CONVERGENCE || result->reason == TESS_REASON_STAGNATION) {
        PetscCall(tp_refute(ksp, result->estimated_residual_norm, result->tolerance));
    } else if (result->reason <= TESS_REASON_FALSE_CONVERGENCE) {
        PetscCall(PetscInfo(ksp, "Tessera: %s\n", tess_reason_text(result->reason)));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_solve_one(KSP ksp)
{
    tp_ksp *const k = ksp->data;
    tp_view b, x;
    Mat A;
    tess_solve_options options;
    tess_solve_result result;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(tp_system(ksp, &A));
    PetscCall(renew_solver(ksp, A));
    tess_solve_options_init(&options);
    set_limits(ksp, &options);
    TessCall(tess_solver_set_limits(k->tessera, &options));
    k->stopped = KSP_CONVERGED_ITERATING;
    if (tp_is_watched(ksp)) { PetscCall(monitor_start(ksp, A)); }
    PetscCall(tp_view_begin(ksp->vec_rhs, TP_READ, &b));
    PetscCall(tp_view_begin(ksp->vec_sol, TP_UPDATE, &x));
    tess_solve_result_init(&result);
    status = tess_solver_solve(k->tessera, b.v, x.v, &result);
    PetscCall(tp_view_end(ksp->vec_sol, &x));
    PetscCall(tp_view_end(ksp->vec_rhs, &b));
    TessCall(status);
    PetscCall(take_result(ksp, &result));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool is_worse(const tess_solve_result *a, const tess_solve_result *b)
{
    if (a->converged != b->converged) { return b->converged ? PETSC_TRUE : PETSC_FALSE; }
    return !(a->relative_residual <= b->relative_residual) ? PETSC_TRUE : PETSC_FALSE; /* NaN is worst */
}

PetscErrorCode tp_solve_many(KSP ksp, const tess_columns *b, const tess_columns *x)
{
    tp_ksp *const k = ksp->data;
    Mat A;
    tess_solve_options options;
    tess_solve_result *results;
    PetscInt worst = 0;
    tess_status status;

    PetscFunctionBegin;
    if (b->columns == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    k->told = (tp_told){0};
    PetscCall(tp_system(ksp, &A));
    PetscCall(renew_solver(ksp, A));
    tess_solve_options_init(&options);
    set_limits(ksp, &options);
    TessCall(tess_solver_set_limits(k->tessera, &options));
    PetscCall(PetscMalloc1((size_t)b->columns, &results));
    for (PetscInt c = 0; c < b->columns; c++) {
        tess_solve_result_init(&results[c]);
    }
    status = tess_solver_solve_many(k->tessera, b, x, results);
    for (PetscInt c = 1; c < b->columns; c++) {
        if (is_worse(&results[c], &results[worst])) { worst = c; }
    }
    const tess_solve_result result = results[worst];
    PetscCall(PetscFree(results));
    TessCall(status);
    PetscCall(take_result(ksp, &result));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_one_reset(tp_ksp *k)
{
    PetscFunctionBegin;
    tess_solver_destroy(k->tessera);
    tess_precond_destroy(k->shell);
    tess_matrix_destroy(k->matrix);
    k->tessera = NULL;
    k->shell = NULL;
    k->matrix = NULL;
    k->precond = NULL;
    PetscCall(VecDestroy(&k->in));
    PetscCall(VecDestroy(&k->out));
    PetscFunctionReturn(PETSC_SUCCESS);
}
