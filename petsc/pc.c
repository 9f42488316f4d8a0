/* SPDX-License-Identifier: Apache-2.0 */
/* PC "tessera": z := M^-1 r on the rows of each process. Over several processes it is block Jacobi with one block each,
   as -pc_type bjacobi -sub_pc_type tessera; gamg alone couples them. */
#include "pc.h"

#include "context.h"
#include "errors.h"
#include "options.h"
#include "register.h"
#include "rows.h"
#include "vectors.h"

#include <string.h>
#include <tessera/names.h>
#include <tessera/precision.h>
#include <tessera/solver.h>
#include <tessera_petsc.h>

static PetscBool is_gamg(const tp_pc *p)
{
    return strcmp(p->kind, "gamg") == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* ---- set-up ---- */

/* Rigid-body modes, as PETSc's GAMG makes them of PCSetCoordinates, where each node has a row for each axis. */
static PetscErrorCode take_modes(const tp_pc *p, PetscInt rows, PetscInt bs, tess_amg_options *amg, double **columns)
{
    const int count = p->dimensions == 3 ? 6 : 3;
    tess_context *ctx;

    PetscFunctionBegin;
    if (!p->coordinates || bs == 1) { PetscFunctionReturn(PETSC_SUCCESS); } /* of scalars: the constant does */
    PetscCheck(bs == p->dimensions && p->nodes * bs == rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "PCSetCoordinates gave %" PetscInt_FMT " nodes in %" PetscInt_FMT " dimensions, but the %" PetscInt_FMT
               " rows here have blocks of %" PetscInt_FMT ": rigid-body modes need a row for each axis of each node. "
               "Leave the coordinates out, or give the modes by MatSetNearNullSpace",
               p->nodes, p->dimensions, rows, bs);
    PetscCall(tp_context(&ctx));
    PetscCall(PetscMalloc1((size_t)rows * (size_t)count, columns));
    TessCall(tess_rigid_body_modes(ctx, p->nodes, (int)p->dimensions, p->coordinates, *columns));
    amg->near_nullspace_columns = count;
    amg->near_nullspace = *columns;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether options ask for classical coarsening, which has neither nodes nor vectors: those of the matrix stay unread.
 */
static PetscBool is_classical(const tess_amg_options *amg)
{
    return amg->coarsening == TESS_AMG_CLASSICAL ||
                   (amg->coarsening == TESS_AMG_AUTO &&
                    (amg->restriction == TESS_AMG_RESTRICTION_AIR || amg->smoother == TESS_AMG_FC_JACOBI ||
                     amg->split == TESS_AMG_SPLIT_RUGE_STUEBEN))
               ? PETSC_TRUE
               : PETSC_FALSE;
}

/* The near-nullspace of PETSc, the rows of this process: for amg by aggregation. */
static PetscErrorCode take_near_nullspace(const tp_pc *p, Mat A, tess_amg_options *amg, double **columns)
{
    MatNullSpace space;
    PetscBool constant;
    PetscInt n, all, rows, bs;
    const Vec *vector;

    PetscFunctionBegin;
    PetscCall(MatGetBlockSize(A, &bs));
    PetscCall(MatGetLocalSize(A, &rows, NULL));
    if (bs > 1 && bs <= TESS_MAX_AMG_BLOCK) { amg->block_size = (int)bs; }
    PetscCall(MatGetNearNullSpace(A, &space));
    if (!space) {
        PetscCall(take_modes(p, rows, bs, amg, columns));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatNullSpaceGetVecs(space, &constant, &n, &vector));
    all = constant ? n + 1 : n;
    if (all < 1) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCheck(all <= TESS_MAX_NEAR_NULLSPACE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "the near-nullspace has %" PetscInt_FMT " vectors, but amg takes %d at most", all,
               TESS_MAX_NEAR_NULLSPACE);
    PetscCall(PetscMalloc1((size_t)rows * (size_t)all, columns));
    for (PetscInt c = 0; c < n; c++) {
        const PetscScalar *array;
        PetscCall(VecGetArrayRead(vector[c], &array));
        PetscCall(PetscArraycpy(*columns + c * rows, array, rows));
        PetscCall(VecRestoreArrayRead(vector[c], &array));
    }
    for (PetscInt r = 0; constant && r < rows; r++) {
        (*columns)[n * rows + r] = 1;
    }
    amg->near_nullspace_columns = (int)all;
    amg->near_nullspace = *columns;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero pivot and the like on this process are no error: they end the solve with KSP_DIVERGED_PC_FAILED. */
static PetscErrorCode take_status(PC pc, tess_status status, int *failed)
{
    tess_context *ctx;

    PetscFunctionBegin;
    *failed = status == TESS_SINGULAR || status == TESS_OUT_OF_RANGE;
    if (*failed) {
        PetscCall(tp_context(&ctx));
        PetscCall(PetscInfo(pc, "%s\n", tess_context_last_error(ctx)->message));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(tp_check(status, "tess_precond_create"));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What one process met, all know. Collective. */
static PetscErrorCode agree(PC pc, PetscErrorCode code, int failed)
{
    const MPI_Comm comm = PetscObjectComm((PetscObject)pc);

    PetscFunctionBegin;
    PetscCall(tp_agree(comm, code));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm));
    pc->failedreason = failed ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc converts a nest by the rows of its blocks, and does not ask whether they give them. */
static PetscErrorCode need_rows(Mat A)
{
    PetscInt rows, columns;
    PetscBool nest, has;
    Mat **block;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNEST, &nest));
    if (!nest) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(MatNestGetSubMats(A, &rows, &columns, &block));
    for (PetscInt k = 0; k < rows * columns; k++) {
        const Mat B = block[k / columns][k % columns];
        if (!B) { continue; }
        PetscCall(need_rows(B));
        PetscCall(MatHasOperation(B, MATOP_GET_ROW, &has));
        PetscCheck(has, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
                   "-pc_type tessera reads rows, which a block of type %s of a nest does not give",
                   ((PetscObject)B)->type_name);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block of a type that does not give it, such as nest: that of a conversion. */
static PetscErrorCode convert_whole(Mat A, Mat *local)
{
    Mat whole;

    PetscFunctionBegin;
    PetscCall(need_rows(A));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &whole));
    PetscCall(MatGetDiagonalBlock(whole, local));
    PetscCall(PetscObjectReference((PetscObject)*local));
    PetscCall(MatDestroy(&whole));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block of this process, of any type: the caller's. Collective. */
static PetscErrorCode diagonal_block(PC pc, Mat *block)
{
    PetscMPIInt ranks;
    PetscBool given;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &ranks));
    PetscCall(MatHasOperation(pc->pmat, MATOP_GET_DIAGONAL_BLOCK, &given));
    if (ranks > 1 && !given) {
        PetscCall(convert_whole(pc->pmat, block));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatGetDiagonalBlock(pc->pmat, block));
    PetscCall(PetscObjectReference((PetscObject)*block));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as AIJ: itself, or a conversion. */
static PetscErrorCode as_aij(Mat block, Mat *out)
{
    PetscBool aij;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)block, MATSEQAIJ, &aij));
    if (aij) {
        PetscCall(PetscObjectReference((PetscObject)block));
        *out = block;
    } else {
        PetscCall(need_rows(block));
        PetscCall(MatConvert(block, MATSEQAIJ, MAT_INITIAL_MATRIX, out));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of the second block of saddle: an index set that the caller has composed with the matrix under
   "tessera_saddle_index", of this process' rows from 0. */
static PetscErrorCode take_saddle_index(Mat A, tess_saddle_options *saddle, int64_t **index)
{
    IS set;
    PetscInt count;
    PetscClassId kind;
    const PetscInt *rows;

    PetscFunctionBegin;
    PetscCall(PetscObjectQuery((PetscObject)A, "tessera_saddle_index", (PetscObject *)&set));
    if (!set) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscObjectGetClassId((PetscObject)set, &kind));
    PetscCheck(kind == IS_CLASSID, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
               "what is composed as tessera_saddle_index is no index set: compose an IS");
    PetscCall(ISGetLocalSize(set, &count));
    PetscCall(PetscMalloc1((size_t)count + 1, index));
    PetscCall(ISGetIndices(set, &rows));
    for (PetscInt i = 0; i < count; i++) {
        (*index)[i] = rows[i];
    }
    PetscCall(ISRestoreIndices(set, &rows));
    saddle->index = *index;
    saddle->index_count = count;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_precond(PC pc, const tp_rows *rows, tess_matrix **matrix, tess_precond **precond,
                                   int *failed)
{
    tess_precond_options options;
    double *columns = NULL;
    int64_t *index = NULL;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(tp_pc_complete_options(pc->data, &options));
    PetscCall(tp_matrix_create(rows, matrix));
    if (options.kind == TESS_PRECOND_AMG && !is_classical(&options.amg)) {
        PetscCall(take_near_nullspace(pc->data, pc->pmat, &options.amg, &columns));
    }
    if (options.kind == TESS_PRECOND_SADDLE) { PetscCall(take_saddle_index(pc->pmat, &options.saddle, &index)); }
    status = tess_precond_create(*matrix, &options, precond);
    PetscCall(PetscFree(columns));
    PetscCall(PetscFree(index));
    PetscCall(take_status(pc, status, failed));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void forget(tess_matrix **matrix, tess_precond **precond)
{
    tess_precond_destroy(*precond);
    tess_matrix_destroy(*matrix);
    *precond = NULL;
    *matrix = NULL;
}

/* Of this process alone. */
static PetscErrorCode set_up_block(PC pc, Mat block, int *failed)
{
    tp_pc *const p = pc->data;
    tp_rows rows;
    Mat local;

    PetscFunctionBegin;
    PetscCall(as_aij(block, &local));
    PetscCall(tp_rows_get(local, &rows));
    if (p->precond && pc->flag == SAME_NONZERO_PATTERN) {
        TessCall(tess_matrix_update_values(p->matrix, rows.a, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        PetscCall(take_status(pc, tess_precond_update(p->precond), failed));
    } else {
        forget(&p->matrix, &p->precond);
        PetscCall(make_precond(pc, &rows, &p->matrix, &p->precond, failed));
    }
    PetscCall(tp_rows_restore(local, &rows));
    PetscCall(MatDestroy(&local));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Tessera(PC pc)
{
    tp_pc *const p = pc->data;
    PetscErrorCode code;
    int failed = 0;
    Mat block;

    PetscFunctionBegin;
    if (is_gamg(p)) { /* which has none of the options of the library's preconditioners */
        PetscCall(tp_agree(PetscObjectComm((PetscObject)pc), tp_words_require_fit(&p->words)));
        PetscCall(tp_gamg_setup(pc));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(diagonal_block(pc, &block));
    forget(&p->transpose, &p->transposed);
    code = set_up_block(pc, block, &failed);
    PetscCall(MatDestroy(&block));
    PetscCall(agree(pc, code, failed));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- application ---- */

/* By Inf in z PETSc's methods find on all processes that one failed. */
static PetscErrorCode flag_failure(Vec z)
{
    PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 22, 0)
    PetscCall(VecSetInf(z));
#else
    PetscCall(VecFlag(z, 1));
#endif
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* z := M^-1 r, of this process alone. */
static PetscErrorCode apply(const tp_pc *p, Vec r, Vec z)
{
    tp_view from, to;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(tp_view_begin(r, TP_READ, &from));
    PetscCall(tp_view_begin(z, TP_WRITE, &to));
    status = tess_precond_apply(p->precond, from.v, to.v);
    PetscCall(tp_view_end(z, &to));
    PetscCall(tp_view_end(r, &from));
    TessCall(status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error on one of several processes, after PETSc's handler has told of it, is a failure of the preconditioner: to
   agree on it at each application would take as long as a dot product. */
static PetscErrorCode PCApply_Tessera(PC pc, Vec r, Vec z)
{
    tp_pc *const p = pc->data;
    PetscErrorCode code = PETSC_SUCCESS;
    PetscMPIInt ranks;

    PetscFunctionBegin;
    if (is_gamg(p)) {
        PetscCall(pc->failedreason ? flag_failure(z) : tp_gamg_apply(pc, r, z));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &ranks));
    if (!pc->failedreason && p->precond) { code = apply(p, r, z); }
    if (ranks == 1) { PetscCall(code); }
    if (code) { pc->failedreason = PC_SUBPC_ERROR; }
    if (pc->failedreason || !p->precond) { PetscCall(flag_failure(z)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_Tessera(PC pc, Vec r, Vec z)
{
    tp_pc *const p = pc->data;

    PetscFunctionBegin;
    if (is_gamg(p)) {
        PetscCall(PCApplyTranspose(p->gamg.inner, r, z));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(strcmp(p->kind, "jacobi") == 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
               "-pc_tessera_type %s has no transpose: take jacobi, or a method that needs none, such as bcgs", p->kind);
    PetscCall(PCApply_Tessera(pc, r, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not the transpose of M, which most kinds cannot apply, but M of the transpose: as good in a solve. */
static PetscErrorCode make_transposed(PC pc)
{
    tp_pc *const p = pc->data;
    int failed = 0;
    tp_rows rows;
    Mat block, local, transpose;

    PetscFunctionBegin;
    PetscCall(diagonal_block(pc, &block));
    PetscCall(as_aij(block, &local));
    PetscCall(MatTranspose(local, MAT_INITIAL_MATRIX, &transpose));
    PetscCall(tp_rows_get(transpose, &rows));
    PetscCall(make_precond(pc, &rows, &p->transpose, &p->transposed, &failed));
    PetscCall(tp_rows_restore(transpose, &rows));
    PetscCall(MatDestroy(&transpose));
    PetscCall(MatDestroy(&local));
    PetscCall(MatDestroy(&block));
    PetscCall(agree(pc, PETSC_SUCCESS, failed));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pc_precond(PC pc, PetscBool transposed, tess_precond **out)
{
    tp_pc *const p = pc->data;
    PetscBool ours;

    PetscFunctionBegin;
    *out = NULL;
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCTESSERA, &ours));
    if (!ours) { PetscFunctionReturn(PETSC_SUCCESS); }
    *out = p->precond;
    if (!transposed || is_gamg(p) || strcmp(p->kind, "jacobi") == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (!p->transposed) { PetscCall(make_transposed(pc)); }
    *out = p->transposed;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pc_is_jacobi(PC pc, PetscBool *out)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCTESSERA, out));
    if (*out && strcmp(((tp_pc *)pc->data)->kind, "jacobi") != 0) { *out = PETSC_FALSE; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest of the type ---- */

static PetscErrorCode view_amg(const tess_precond *m, PetscViewer viewer)
{
    tess_amg_levels levels = {.size = sizeof levels};

    PetscFunctionBegin;
    TessCall(tess_precond_get_levels(m, &levels));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s, %s, operator complexity %.3g, smoothed by %s of degree %d\n",
                                     tess_amg_coarsening_name(levels.coarsening),
                                     tess_count(levels.count, "level").text, levels.operator_complexity,
                                     tess_amg_smoother_name(levels.smoother), levels.degree));
    for (int l = 0; l < levels.count; l++) {
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "  level %d: %s, %s, %s\n", l, tess_count(levels.level[l].rows, "row").text,
            tess_count(levels.level[l].nonzeros, "nonzero").text, tess_precision_name(levels.level[l].precision)));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_saddle(const tess_precond *m, PetscViewer viewer)
{
    tess_saddle_parts parts = {.size = sizeof parts};

    PetscFunctionBegin;
    TessCall(tess_precond_get_saddle(m, &parts));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s and %s%s, factors %s\n", tess_count(parts.unknowns, "unknown").text,
                                     tess_count(parts.constraints, "constraint").text,
                                     parts.index_given ? ", by the index" : "",
                                     tess_saddle_factorization_name(parts.factorization)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  A by %s, Schur complement %s by %s\n",
                                     tess_precond_kind_name(tess_precond_get_kind(parts.a_precond)),
                                     tess_saddle_schur_name(parts.schur),
                                     tess_precond_kind_name(tess_precond_get_kind(parts.schur_precond))));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_Tessera(PC pc, PetscViewer viewer)
{
    const tp_pc *const p = pc->data;
    PetscMPIInt ranks;
    PetscBool ascii;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (is_gamg(p)) {
        PetscCall(tp_gamg_view(pc, viewer));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &ranks));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s, precision %s%s\n", p->kind,
                                     p->precision[0] ? p->precision : "default",
                                     ranks > 1 ? ", one block on each process; the first is shown" : ""));
    if (!p->precond) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %.3g MB\n", 1e-6 * (double)tess_precond_bytes(p->precond)));
    if (strcmp(p->kind, "amg") == 0) { PetscCall(view_amg(p->precond, viewer)); }
    if (strcmp(p->kind, "saddle") == 0) { PetscCall(view_saddle(p->precond, viewer)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_Tessera(PC pc)
{
    tp_pc *const p = pc->data;

    PetscFunctionBegin;
    forget(&p->transpose, &p->transposed);
    forget(&p->matrix, &p->precond);
    PetscCall(tp_gamg_reset(&p->gamg));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A method of PETSc that needs a preconditioner which is positive definite. */
static PetscErrorCode needs_definite(KSP ksp, PetscBool *needs)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, needs, KSPCG, KSPPIPECG, KSPPIPECGRR, KSPGROPPCG, KSPFCG,
                                        KSPPIPEFCG, KSPMINRES, KSPSYMMLQ, KSPCR, KSPPIPECR, KSPNASH, KSPSTCG, KSPGLTR,
                                        ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* One for which a preconditioner may be another operator in each iteration; ours looks itself. */
static PetscErrorCode is_flexible(KSP ksp, PetscBool *flexible)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, flexible, KSPFGMRES, KSPPIPEFGMRES, KSPGCR, KSPPIPEGCR,
                                        KSPFCG, KSPPIPEFCG, KSPFBCGS, KSPFBCGSR, KSPRICHARDSON, KSPPREONLY, KSPTESSERA,
                                        ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's methods converge to a wrong x by a preconditioner that they are not for, and do not say so. */
static PetscErrorCode PCPreSolve_Tessera(PC pc, KSP ksp, Vec b, Vec x)
{
    const tp_pc *const p = pc->data;
    tess_precond_options options;
    PetscBool needs, flexible, amg, saddle;

    PetscFunctionBegin;
    (void)b;
    (void)x;
    if (is_gamg(p)) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_pc_complete_options(pc->data, &options));
    PetscCall(needs_definite(ksp, &needs));
    PetscCall(is_flexible(ksp, &flexible));
    amg = options.kind == TESS_PRECOND_AMG ? PETSC_TRUE : PETSC_FALSE;
    saddle = options.kind == TESS_PRECOND_SADDLE ? PETSC_TRUE : PETSC_FALSE;
    PetscCheck(!needs || !saddle || options.saddle.factorization == TESS_SADDLE_DIAG, PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_INCOMP,
               "%s needs a preconditioner that is positive definite: -pc_tessera_schur_fact_type diag, or -ksp_type "
               "fgmres",
               ((PetscObject)ksp)->type_name);
    PetscCheck(!needs || !(amg || saddle) ||
                   (options.amg.restriction != TESS_AMG_RESTRICTION_AIR && options.amg.smoother != TESS_AMG_FC_JACOBI),
               PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
               "%s needs a symmetric preconditioner: leave out -pc_tessera_amg_restriction air and "
               "-pc_tessera_amg_smoother fc-jacobi, or take -ksp_type bcgs",
               ((PetscObject)ksp)->type_name);
    PetscCheck(flexible || !(amg || saddle) || options.amg.cycle != TESS_AMG_K, PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_INCOMP,
               "-pc_tessera_amg_cycle k needs -ksp_type fgmres or gcr: it is another operator in each iteration");
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* For gamg, whose PC of PETSc makes rigid-body modes of them, and for amg by aggregation. */
static PetscErrorCode PCSetCoordinates_Tessera(PC pc, PetscInt dimensions, PetscInt nodes, PetscReal *coordinates)
{
    tp_pc *const p = pc->data;

    PetscFunctionBegin;
    PetscCall(PetscFree(p->coordinates));
    if (dimensions == 2 || dimensions == 3) {
        PetscCall(PetscMalloc1((size_t)(dimensions * nodes), &p->coordinates));
        for (PetscInt k = 0; k < dimensions * nodes; k++) {
            p->coordinates[k % dimensions * nodes + k / dimensions] = coordinates[k];
        }
    }
    p->nodes = nodes;
    p->dimensions = dimensions;
    if (!p->gamg.inner) { PetscCall(tp_gamg_create(pc)); }
    PetscCall(PCSetOperators(p->gamg.inner, pc->mat, pc->pmat));
    PetscCall(PCSetCoordinates(p->gamg.inner, dimensions, nodes, coordinates));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_Tessera(PC pc)
{
    tp_pc *const p = pc->data;

    PetscFunctionBegin;
    PetscCall(PCReset_Tessera(pc));
    PetscCall(PCDestroy(&p->gamg.inner));
    PetscCall(PetscFree(p->coordinates));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", NULL));
    PetscCall(PetscFree(pc->data));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_Tessera(PC pc)
{
    tp_pc *p;

    PetscFunctionBegin;
    PetscCall(PetscNew(&p));
    pc->data = p;
    PetscCall(PetscStrncpy(p->kind, "amg", sizeof p->kind));
    tp_words_init(&p->words);
    p->words.options.solver = TESS_SOLVER_FGMRES; /* a method that chooses no preconditioner of its own */
    p->words.options.precond.kind = TESS_PRECOND_NONE;
    pc->ops->setup = PCSetUp_Tessera;
    pc->ops->presolve = PCPreSolve_Tessera;
    pc->ops->apply = PCApply_Tessera;
    pc->ops->matapply = tp_pc_mat_apply;
    pc->ops->applytranspose = PCApplyTranspose_Tessera;
    pc->ops->setfromoptions = tp_pc_set_from_options;
    pc->ops->view = PCView_Tessera;
    pc->ops->reset = PCReset_Tessera;
    pc->ops->destroy = PCDestroy_Tessera;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", PCSetCoordinates_Tessera));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_register_pc(void)
{
    PetscFunctionBegin;
    PetscCall(PCRegister(PCTESSERA, PCCreate_Tessera));
    PetscFunctionReturn(PETSC_SUCCESS);
}
