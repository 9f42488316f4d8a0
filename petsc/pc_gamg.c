/* SPDX-License-Identifier: Apache-2.0 */
/* PCGAMG's hierarchy with level operators and transfers in Tessera's formats. PETSc builds it. The cycle is ours, in
   FP32 (cycle.c), or PETSc's with FP64 vectors: then a level is in FP16 where its values allow it, else in FP32. */
#include "pc.h"

#include "alias.h"
#include "context.h"
#include "cycle.h"
#include "entries.h"
#include "errors.h"
#include "gather.h"
#include "gpu_users.h"
#include "mat.h"
#include "rows.h"
#include "storage.h"

#include <string.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera_petsc.h>

/* Rounding to FP16 changes a value by 2^-11 of itself; a level with values that fall below its range takes FP32. */
static const double FP16_ERROR = 0x1p-11;

PetscErrorCode tp_gamg_create(PC pc)
{
    tp_pc *const p = pc->data;
    const char *prefix;

    PetscFunctionBegin;
    PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &p->gamg.inner));
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(PCSetOptionsPrefix(p->gamg.inner, prefix));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)p->gamg.inner, (PetscObject)pc, 1));
    PetscCall(PCSetType(p->gamg.inner, PCGAMG));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG's own options, with the prefix of this PC. PCSetFromOptions would read -pc_type again. */
PetscErrorCode tp_gamg_options(PC pc)
{
    tp_pc *const p = pc->data;
    PC inner;

    PetscFunctionBegin;
    if (!p->gamg.inner) { PetscCall(tp_gamg_create(pc)); }
    inner = p->gamg.inner;
    PetscObjectOptionsBegin((PetscObject)inner);
    PetscTryTypeMethod(inner, setfromoptions, PetscOptionsObject);
    PetscOptionsEnd();
    inner->setfromoptionscalled++;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode parse_precision(const char *option, const char *text, tess_precision *precision)
{
    PetscFunctionBegin;
    if (!text[0]) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCheck(tess_precision_parse(text, precision) == TESS_SUCCESS &&
                   (*precision == TESS_PRECISION_FP64 || *precision == TESS_PRECISION_FP32 ||
                    *precision == TESS_PRECISION_FP16),
               PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "%s %s: gamg takes fp64, fp32 or fp16", option, text);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a level is stored: in the lowest of FP32 and FP16 that holds every value within its own rounding. */
static void level_storage(const tp_gamg *gamg, tp_storage *storage)
{
    tess_policy_options *const policy = &storage->options.policy;

    tp_storage_default(storage);
    storage->options.format = TESS_FORMAT_CSR;
    storage->halo = gamg->halo;
    if (gamg->precision != TESS_PRECISION_FP16) {
        storage->options.precision = gamg->precision;
        policy->policy = TESS_POLICY_NONE;
        return;
    }
    policy->parameter = FP16_ERROR;
    policy->nlevels = 3;
    policy->level[0].precision = TESS_PRECISION_FP64;
    policy->level[1].precision = TESS_PRECISION_FP32;
    policy->level[2].precision = TESS_PRECISION_FP16;
}

/* As AIJ's: PETSc's set-up, which reads the diagonal and estimates eigenvalues, is then that of PCGAMG. */
static void plain_storage(tp_storage *storage)
{
    tp_storage_default(storage);
    storage->options.format = TESS_FORMAT_CSR;
    storage->options.policy.policy = TESS_POLICY_NONE;
}

/* The Mat looks unchanged to what was set up with it: only its products are others. */
static PetscErrorCode store(Mat A, const tp_storage *storage, PetscBool transposed)
{
    PetscObjectState state;
    PetscBool aij;

    PetscFunctionBegin;
    if (!A) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (!aij) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (!tp_is_ours(A)) { PetscCall(MatConvert(A, MATTESSERA, MAT_INPLACE_MATRIX, &A)); }
    PetscCall(tp_set_storage(A, storage));
    PetscCall(PetscObjectStateSet((PetscObject)A, state));
    PetscCall(tp_prepare(A, transposed));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the matrix that PETSc builds the hierarchy of ---- */

/* Where PETSc runs the cycle, the products of the finest matrix change too: the hierarchy gets a copy. */
static PetscErrorCode copy_fine(PC pc, tp_gamg *gamg)
{
    PetscObjectId id;
    PetscObjectState pattern;
    tp_storage storage;
    PetscBool aij;

    PetscFunctionBegin;
    plain_storage(&storage);
    PetscCall(tp_alias_destroy(&gamg->alias));
    PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
    PetscCall(MatGetNonzeroState(pc->pmat, &pattern));
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (aij && gamg->fine && id == gamg->id && pattern == gamg->pattern) {
        PetscCall(tp_set_storage(gamg->fine, &storage));
        PetscCall(tp_copy_values(pc->pmat, gamg->fine));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatDestroy(&gamg->fine));
    if (tp_is_ours(pc->pmat)) {
        PetscCall(MatDuplicate(pc->pmat, MAT_COPY_VALUES, &gamg->fine));
    } else {
        PetscCall(tp_entries_copy(pc->pmat, &gamg->fine));
        PetscCall(MatConvert(gamg->fine, MATTESSERA, MAT_INPLACE_MATRIX, &gamg->fine));
    }
    PetscCall(tp_set_storage(gamg->fine, &storage));
    gamg->id = id;
    gamg->pattern = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's set-up asks a matrix beside its values. Known to be SPD, its eigenvalues are estimated by CG. */
static PetscErrorCode carry_properties(Mat from, Mat to)
{
    MatNullSpace space;

    PetscFunctionBegin;
    PetscCall(MatGetNearNullSpace(from, &space));
    if (space) { PetscCall(MatSetNearNullSpace(to, space)); }
    PetscCall(MatGetNullSpace(from, &space));
    if (space) { PetscCall(MatSetNullSpace(to, space)); }
    PetscCall(MatGetTransposeNullSpace(from, &space));
    if (space) { PetscCall(MatSetTransposeNullSpace(to, space)); }
    PetscCall(MatPropagateSymmetryOptions(from, to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode need_gpu(PetscBool has)
{
    PetscFunctionBegin;
    PetscCheck(has, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "-pc_tessera_setup gpu: PETSc and the library have no GPU in common; give auto or cpu");
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type in which PETSc makes the products of its set-up. Processes that share a GPU are faster on the host. */
static PetscErrorCode choose_type(PC pc, MatType *type)
{
    const tp_pc *const p = pc->data;
    PetscBool gpu, possible, own;

    PetscFunctionBegin;
    PetscCall(tp_shares_gpu(&possible));
    PetscCall(tp_has_own_gpu(PetscObjectComm((PetscObject)pc), &own));
    PetscCall(PetscStrcmp(p->setup, "gpu", &gpu));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)pc), need_gpu(!gpu || possible ? PETSC_TRUE : PETSC_FALSE)));
    *type = gpu || (own && strcmp(p->setup, "cpu") != 0) ? MATAIJCUSPARSE : MATAIJ;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The caller's matrix if it has that type, or a matrix around its arrays: our cycle takes copies of the levels. */
static PetscErrorCode share_fine(PC pc, tp_gamg *gamg, Mat *fine)
{
    PetscBool has;
    MatType type = MATAIJ;

    PetscFunctionBegin;
    PetscCall(MatDestroy(&gamg->fine));
    PetscCall(choose_type(pc, &type));
    if (strcmp(type, MATAIJ) == 0) {
        PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &has, MATSEQAIJ, MATMPIAIJ, ""));
    } else {
        PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &has, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
    }
    *fine = pc->pmat;
    if (has) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_alias_renew(pc->pmat, type, &gamg->alias));
    PetscCall(carry_properties(pc->pmat, gamg->alias.mat));
    *fine = gamg->alias.mat;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those that PCSetCoordinates gave, node after node. */
static PetscErrorCode give_coordinates(PC pc, PC inner)
{
    const tp_pc *const p = pc->data;
    PetscReal *points;

    PetscFunctionBegin;
    if (!p->coordinates) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscMalloc1((size_t)(p->dimensions * p->nodes), &points));
    for (PetscInt k = 0; k < p->dimensions * p->nodes; k++) {
        points[k] = p->coordinates[k % p->dimensions * p->nodes + k / p->dimensions];
    }
    PetscCall(PCSetOperators(inner, pc->mat, pc->pmat));
    PetscCall(PCSetCoordinates(inner, p->dimensions, p->nodes, points));
    PetscCall(PetscFree(points));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its solvers have chosen what suits the types of their matrices, and would keep it with others. */
static PetscErrorCode forget_hierarchy(PC pc, tp_gamg *gamg)
{
    PetscFunctionBegin;
    PetscCall(PCDestroy(&gamg->inner));
    PetscCall(tp_gamg_create(pc));
    if (pc->setfromoptionscalled) { PetscCall(tp_gamg_options(pc)); }
    PetscCall(give_coordinates(pc, gamg->inner));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode give_matrix(PC pc, tp_gamg *gamg)
{
    PetscBool aij, copied;
    Mat fine = NULL;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    copied = gamg->why || !aij ? PETSC_TRUE : PETSC_FALSE;
    /* the parts of another type, such as nest, may have other patterns, which the whole does not tell */
    if (gamg->inner->setupcalled && (copied != gamg->copied || !aij)) { PetscCall(forget_hierarchy(pc, gamg)); }
    gamg->copied = copied;
    if (copied) {
        PetscCall(copy_fine(pc, gamg));
        fine = gamg->fine;
        PetscCall(carry_properties(pc->pmat, fine));
    } else {
        PetscCall(share_fine(pc, gamg, &fine));
    }
    PetscCall(PCSetOperators(gamg->inner, fine, fine));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- levels ---- */

static PetscErrorCode store_levels(tp_gamg *gamg)
{
    tp_storage storage;
    PetscInt levels;

    PetscFunctionBegin;
    level_storage(gamg, &storage);
    PetscCall(PCMGGetLevels(gamg->inner, &levels));
    for (PetscInt l = 1; l < levels; l++) {
        Mat A, P;
        KSP smoother;
        PetscCall(PCMGGetSmoother(gamg->inner, l, &smoother));
        PetscCall(KSPGetOperators(smoother, &A, NULL));
        PetscCall(store(A, &storage, PETSC_FALSE));
        PetscCall(PCMGGetInterpolation(gamg->inner, l, &P));
        PetscCall(store(P, &storage, PETSC_TRUE)); /* the restriction is its transpose */
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution of a singular coarsest level may be mostly null vector, of which the rounding of FP16 leaves a part. */
static PetscErrorCode widen_singular(Mat A, tp_gamg *gamg)
{
    MatNullSpace space;

    PetscFunctionBegin;
    PetscCall(MatGetNullSpace(A, &space));
    if (!space) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (gamg->precision == TESS_PRECISION_FP16) { gamg->precision = TESS_PRECISION_FP32; }
    if (gamg->halo == TESS_PRECISION_FP16) { gamg->halo = TESS_PRECISION_FP32; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stands against our cycle before there is a hierarchy, or stood against it once there was. */
static PetscErrorCode find_objections(PC pc)
{
    tp_pc *const p = pc->data;
    tp_gamg *const gamg = &p->gamg;
    tess_precision vectors = TESS_PRECISION_FP32;
    MatNullSpace space;

    PetscFunctionBegin;
    PetscCall(parse_precision("-pc_tessera_vectors", p->vectors, &vectors));
    PetscCheck(vectors != TESS_PRECISION_FP16, PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE,
               "-pc_tessera_vectors %s: give fp32 or fp64", p->vectors);
    PetscCall(MatGetNullSpace(pc->pmat, &space));
    gamg->why = space ? "the matrix has a null space" : gamg->refused;
    if (vectors == TESS_PRECISION_FP64 || gamg->precision == TESS_PRECISION_FP64) { gamg->why = "it was asked for"; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarsest level may fail on one process alone: then all have failed. */
static PetscErrorCode take_failure(PC pc, PC inner)
{
    int failed = inner->failedreason != PC_NOERROR;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    pc->failedreason = failed && !inner->failedreason ? PC_SUBPC_ERROR : inner->failedreason;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a process without an entry in its own columns have no pivot: PETSc's SOR does not ask for their diagonal. */
static PetscErrorCode need_pivots(PC pc, PC inner)
{
    Mat A, block;
    tp_rows rows;
    PetscBool mpi;
    int lacks;

    PetscFunctionBegin;
    PetscCall(PCGetOperators(inner, NULL, &A));
    block = A;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL)); }
    PetscCall(tp_rows_get(block, &rows));
    lacks = rows.nrows > 0 && rows.i[rows.nrows] == 0;
    PetscCall(tp_rows_restore(block, &rows));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &lacks, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    pc->failedreason = lacks ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* With our cycle, unless something stands against it. */
static PetscErrorCode build(PC pc, tp_gamg *gamg)
{
    PetscFunctionBegin;
    PetscCall(give_matrix(pc, gamg));
    PetscCall(need_pivots(pc, gamg->inner));
    if (pc->failedreason) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PCSetUp(gamg->inner));
    PetscCall(take_failure(pc, gamg->inner));
    if (pc->failedreason) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (!gamg->why) {
        tp_cycle_options options = {.precision = gamg->precision, .halo = gamg->halo};
        (void)tp_gather_parse(((const tp_pc *)pc->data)->gather, &options.groups); /* pc_options.c has refused others */
        PetscCall(tp_cycle_create(gamg->inner, &options, &gamg->cycle, &gamg->why));
        gamg->refused = gamg->why;
        if (gamg->why) { PetscCall(PetscInfo(pc, "gamg: PETSc runs the cycle, for %s\n", gamg->why)); }
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(store_levels(gamg));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a host decoding FP16 takes longer than reading the bytes it saves. Processes need one precision, in which they
   send each other values, also where only some have a GPU. Collective. */
static PetscErrorCode default_precision(PC pc, tess_precision *out)
{
    tess_context *ctx;
    int gpu;

    PetscFunctionBegin;
    PetscCall(tp_agree(PetscObjectComm((PetscObject)pc), tp_context(&ctx)));
    gpu = tess_context_device(ctx) == TESS_DEVICE_GPU;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &gpu, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
    *out = gpu ? TESS_PRECISION_FP16 : TESS_PRECISION_FP32;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of this process alone. */
static PetscErrorCode read_precisions(PC pc)
{
    tp_pc *const p = pc->data;
    tp_gamg *const gamg = &p->gamg;

    PetscFunctionBegin;
    PetscCall(parse_precision("-pc_tessera_precision", p->precision, &gamg->precision));
    gamg->halo = gamg->precision;
    PetscCall(parse_precision("-pc_tessera_halo", p->halo, &gamg->halo));
    PetscCall(widen_singular(pc->pmat, gamg));
    PetscCall(find_objections(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gamg_setup(PC pc)
{
    tp_pc *const p = pc->data;
    tp_gamg *const gamg = &p->gamg;
    int tries;

    PetscFunctionBegin;
    PetscCall(default_precision(pc, &gamg->precision));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)pc), read_precisions(pc)));
    if (!gamg->inner) { PetscCall(tp_gamg_create(pc)); }
    PetscCall(tp_cycle_destroy(&gamg->cycle));
    /* what our cycle does not take is built again for once, of a matrix whose products may change */
    tries = gamg->why ? 1 : 2;
    do {
        PetscCall(build(pc, gamg));
    } while (--tries > 0 && !gamg->cycle && !pc->failedreason);
    /* else the first product of the solve makes the stored copy */
    if (tp_is_ours(pc->mat)) { PetscCall(tp_prepare(pc->mat, PETSC_FALSE)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gamg_apply(PC pc, Vec r, Vec z)
{
    const tp_gamg *const gamg = &((tp_pc *)pc->data)->gamg;

    PetscFunctionBegin;
    PetscCall(gamg->cycle ? tp_cycle_apply(gamg->cycle, r, z) : PCApply(gamg->inner, r, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_gather(const tp_gather *gather, PetscViewer viewer)
{
    PetscFunctionBegin;
    if (gather) {
        PetscCall(
            PetscViewerASCIIPrintf(viewer, "  rows of %d processes on %d of them\n", gather->ranks, gather->leaders));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gamg_view(PC pc, PetscViewer viewer)
{
    const tp_pc *const p = pc->data;

    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(viewer, "  gamg, levels in %s, halo in %s\n",
                                     tess_precision_name(p->gamg.precision), tess_precision_name(p->gamg.halo)));
    if (p->gamg.cycle) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  vectors of the cycle in fp32, coarsest level by %s\n",
                                         p->gamg.cycle->inverted ? "its inverse" : "PETSc"));
        PetscCall(view_gather(p->gamg.cycle->gather, viewer));
    } else {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  vectors of the cycle in fp64, by PETSc: %s\n",
                                         p->gamg.why ? p->gamg.why : "not set up"));
    }
    PetscCall(PetscViewerASCIIPushTab(viewer));
    if (p->gamg.inner) { PetscCall(PCView(p->gamg.inner, viewer)); }
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gamg_reset(tp_gamg *gamg)
{
    PetscFunctionBegin;
    PetscCall(tp_cycle_destroy(&gamg->cycle));
    if (gamg->inner) { PetscCall(PCReset(gamg->inner)); }
    PetscCall(MatDestroy(&gamg->fine));
    PetscCall(tp_alias_destroy(&gamg->alias));
    gamg->refused = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
}
