/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves on the GPU, one kernel per leaf. A few neighbouring threads ("a group") compute a row, with a sum
 * in a fixed order, which is the same in both kernels. The solution is stored by positions of the schedule, so that
 * rows of a level set are adjacent.
 *
 * Either one block of threads takes level set after level set (level_sets_device.cuh), or rows wait for one another
 * (waiting_device.cuh). The first is faster for level sets of few entries; where it ends, and how many blocks should
 * run at a time, depends on the matrix and the device, so plans are measured with the first values.
 */
#include "triangular/level_sets_device.cuh"

#include "triangular/leaf.h"
#include "triangular/leveled.h"
#include "triangular/waiting_device.cuh"

namespace {

/* ---- preparation ---- */

__global__ void __launch_bounds__(GPU_BLOCK) place_rows(int64_t n, int64_t first, const int32_t *row, int32_t *place)
{
    for (int64_t p = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; p < n;
         p += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        place[row[p] - first] = static_cast<int32_t>(p);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK)
    place_columns(int64_t nnz, int64_t first, const int32_t *place, int32_t *col_ind)
{
    for (int64_t k = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; k < nnz;
         k += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        col_ind[k] = place[col_ind[k] - first];
    }
}

tess_status renumber_columns(tess_context *ctx, const triangle_leaf *leaf)
{
    int32_t *place = nullptr;
    tess_status status = tess_device_allocate(ctx, leaf->n, sizeof *place, reinterpret_cast<void **>(&place));

    if (status != TESS_SUCCESS) { return status; }
    place_rows<<<gpu_grid(ctx, leaf->n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(leaf->n, leaf->first, leaf->row, place);
    place_columns<<<gpu_grid(ctx, leaf->nnz, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(leaf->nnz, leaf->first, place,
                                                                                     leaf->col_ind);
    status = gpu_check_launch(ctx, "columns of a triangle");
    tess_device_release(ctx, place, leaf->n, sizeof *place);
    return status;
}

/* Where level sets begin, then where the last ends. */
tess_status upload_level_sets(tess_context *ctx, const triangle_leaf *leaf)
{
    int32_t *begin = nullptr;
    tess_status status = tess_host_allocate(ctx, leaf->nruns + 1, sizeof *begin, reinterpret_cast<void **>(&begin));

    if (status != TESS_SUCCESS) { return status; }
    for (int64_t l = 0; l < leaf->nruns; l++) {
        begin[l] = static_cast<int32_t>(leaf->runs[l].begin);
    }
    begin[leaf->nruns] = static_cast<int32_t>(leaf->n);
    status = ctx->backend->upload(ctx, leaf->workspace, begin, static_cast<size_t>(leaf->nruns + 1) * sizeof *begin);
    tess_host_release(ctx, begin, leaf->nruns + 1, sizeof *begin);
    return status;
}

/* ---- launches ---- */

leaf_rows rows_of(const triangle_leaf *leaf, const triangle_args *args)
{
    leaf_rows rows = {};

    rows.n = leaf->n;
    rows.row = leaf->row;
    rows.row_ptr = leaf->row_ptr;
    rows.row_ptr_bits = leaf->row_ptr_bits;
    rows.col_ind = leaf->col_ind;
    rows.val = leaf->val;
    rows.width = group_width(leaf);
    rows.args = *args;
    return rows;
}

/* Shared memory that a block asks for so that only plan.blocks of them run on a multiprocessor at a time. */
size_t bytes_to_limit(const gpu_state *state, int blocks)
{
    const int64_t even = state->shared_bytes / blocks - GPU_STATIC_SHARED;
    const int64_t bytes = even < state->shared_bytes_per_block - GPU_STATIC_SHARED
                              ? even
                              : state->shared_bytes_per_block - GPU_STATIC_SHARED;

    return blocks >= MOST_RESIDENT || bytes < 0 ? 0 : static_cast<size_t>(bytes / 128 * 128);
}

/* The number of blocks that may run at a time is that of the plan for as many rows: of several columns a block has
   fewer. */
template <typename S, bool COLUMNS>
tess_status launch_waiting(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    const int columns = columns_of(args);
    waiting_task task = {};
    tess_status status = gpu_allow_shared(ctx, reinterpret_cast<const void *>(solve_waiting<S, COLUMNS>));

    if (status != TESS_SUCCESS) { return status; }
    task.rows = rows_of(leaf, args);
    task.side = columns < GPU_WAVE / task.rows.width ? columns : GPU_WAVE / task.rows.width;
    task.sides = columns / task.side;
    task.look_at_all = leaf->plan.look_at_all;
    task.head = static_cast<solve_head *>(COLUMNS ? leaf->columns_workspace : leaf->workspace);
    task.messages = reinterpret_cast<message<double> *>(task.head + 1);
    task.message_bytes = leaf->n * (COLUMNS ? leaf->columns : 1) * static_cast<int64_t>(sizeof *task.messages);
    task.timeout = gpu_state_of(ctx)->timeout;
    task.predicate = make_predicate(ctx, args->state, false);
    const int64_t rows = GPU_BLOCK / (task.rows.width * task.side), blocks = (leaf->n + rows - 1) / rows * task.sides;

    return gpu_launch(ctx, "a triangular solve", solve_waiting<S, COLUMNS>, static_cast<unsigned>(blocks),
                      bytes_to_limit(gpu_state_of(ctx), leaf->plan.blocks * task.side), task);
}

template <typename S, bool COLUMNS>
tess_status launch_level_sets(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    const int near = near_values(gpu_state_of(ctx)->shared_bytes_per_block, leaf->n);
    level_sets_task task = {};
    tess_status status = gpu_allow_shared(ctx, reinterpret_cast<const void *>(solve_level_sets<S, COLUMNS>));

    if (status != TESS_SUCCESS) { return status; }
    task.rows = rows_of(leaf, args);
    task.level_sets = static_cast<int>(leaf->level_sets);
    task.begin = static_cast<const int32_t *>(leaf->workspace);
    task.solved = COLUMNS ? static_cast<double *>(leaf->columns_workspace)
                          : reinterpret_cast<double *>(static_cast<char *>(leaf->workspace) + level_set_bytes(leaf));
    task.near = near;
    status = make_settled_predicate(ctx, args->state, &task.predicate);
    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch_blocks(ctx, "a triangular solve by levels", solve_level_sets<S, COLUMNS>,
                             static_cast<unsigned>(columns_of(args)), static_cast<unsigned>(level_sets_threads(leaf)),
                             static_cast<size_t>(near) * sizeof(double), task);
}

template <typename S, bool COLUMNS>
tess_status launch(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    return leaf->plan.blocks == 0 ? launch_level_sets<S, COLUMNS>(ctx, leaf, args)
                                  : launch_waiting<S, COLUMNS>(ctx, leaf, args);
}

/* ---- reordered triangles ---- */

__global__ void __launch_bounds__(GPU_BLOCK)
    take_elements(int64_t n, const int32_t *order, const double *b, double *work, const loop_predicate predicate)
{
    tess_scalars scalars;

    if (!loop_enter<false>(predicate, false, &scalars)) { return; }
    for (int64_t p = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; p < n;
         p += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        work[p] = b[order[p]];
    }
}

/* Of several columns, a power of two. GIVES: x from work. */
template <bool GIVES>
__global__ void __launch_bounds__(GPU_BLOCK)
    move_rows(int64_t n, const int32_t *order, const triangle_args args, double *work)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t k = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; k < n * args.columns;
         k += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        const int64_t row = order[k / args.columns], at = row * args.columns + k % args.columns;

        if (!GIVES) {
            work[k] = args.b[at];
            continue;
        }
        args.x[at] = work[k];
        if (args.scaled) { args.scaled[at] = args.scale[row] * work[k]; }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) give_elements(int64_t n, const int32_t *order, const double *work,
                                                           const triangle_args args, const loop_predicate predicate)
{
    tess_scalars scalars;

    if (!loop_enter<false>(predicate, false, &scalars)) { return; }
    for (int64_t p = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; p < n;
         p += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        write_solution<false>(args, order[p], work[p]);
    }
}

tess_status take(tess_context *ctx, int64_t n, const int32_t *order, const triangle_args *args, double *work)
{
    gpu_scope scope(ctx);

    if (args->columns > 1) {
        return gpu_launch(ctx, "right sides of a reordered triangle", move_rows<false>,
                          gpu_grid(ctx, n * args->columns, 8), 0, n, order, *args, work);
    }
    return gpu_launch(ctx, "the right side of a reordered triangle", take_elements, gpu_grid(ctx, n, 8), 0, n, order,
                      args->b, work, make_predicate(ctx, args->state, false));
}

tess_status give(tess_context *ctx, int64_t n, const int32_t *order, const double *work, const triangle_args *args)
{
    gpu_scope scope(ctx);

    if (args->columns > 1) {
        return gpu_launch(ctx, "solutions of a reordered triangle", move_rows<true>,
                          gpu_grid(ctx, n * args->columns, 8), 0, n, order, *args, const_cast<double *>(work));
    }
    return gpu_launch(ctx, "the solution of a reordered triangle", give_elements, gpu_grid(ctx, n, 8), 0, n, order,
                      work, *args, make_predicate(ctx, args->state, false));
}

/* ---- plans ---- */

/* Solves of a plan that are timed, after one that is not; smaller leaves are not measured; nor are further plans once
   measuring has taken so long, or those whose first solve takes so many times as long as the best. */
enum { TIMED_SOLVES = 3, LEAST_ROWS = 2048, TOO_LONG = 3 };

/* Level sets whose rows should be waiting or computed at a time, for the plan that is not measured. */
enum { LEVEL_SETS_AHEAD = 8 };

leaf_plan plan_by_size(const tess_context *ctx, const triangle_leaf *leaf)
{
    const int64_t rows = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * GPU_BLOCK / group_width(leaf);
    leaf_plan plan = {1, false};

    if (is_narrow(leaf)) { return {0, false}; }
    while (plan.blocks < MOST_RESIDENT && plan.blocks * rows < LEVEL_SETS_AHEAD * leaf->n / leaf->level_sets) {
        plan.blocks *= 2;
    }
    return plan;
}

tess_status make_workspace(tess_context *ctx, triangle_leaf *leaf)
{
    const bool one_block = leaf->plan.blocks == 0;
    const int64_t bytes =
        one_block ? level_set_bytes(leaf) + leaf->n * static_cast<int64_t>(sizeof(double))
                  : static_cast<int64_t>(sizeof(solve_head)) + leaf->n * static_cast<int64_t>(sizeof(message<double>));
    tess_status status = tess_device_allocate(ctx, bytes, 1, &leaf->workspace);

    if (status != TESS_SUCCESS) { return status; }
    leaf->workspace_bytes = bytes;
    status = ctx->backend->zero(ctx, leaf->workspace, static_cast<size_t>(bytes));
    return status == TESS_SUCCESS && one_block ? upload_level_sets(ctx, leaf) : status;
}

void release_columns(tess_context *ctx, triangle_leaf *leaf)
{
    tess_device_release(ctx, leaf->columns_workspace, leaf->columns_bytes, 1);
    leaf->columns_workspace = nullptr;
    leaf->columns_bytes = 0;
    leaf->columns = 0;
}

tess_status set_plan(tess_context *ctx, triangle_leaf *leaf, leaf_plan plan)
{
    const bool keeps = leaf->workspace && (plan.blocks == 0) == (leaf->plan.blocks == 0);

    leaf->plan = plan;
    if (keeps) { return TESS_SUCCESS; }
    tess_device_release(ctx, leaf->workspace, leaf->workspace_bytes, 1);
    leaf->workspace = nullptr;
    release_columns(ctx, leaf);
    return make_workspace(ctx, leaf);
}

/* x by positions, or a head and messages, for each column. */
tess_status prepare_columns(tess_context *ctx, triangle_leaf *leaf, int columns)
{
    gpu_scope scope(ctx);
    const bool one_block = leaf->plan.blocks == 0;
    const int64_t values = leaf->n * columns;
    const int64_t bytes =
        one_block ? values * static_cast<int64_t>(sizeof(double))
                  : static_cast<int64_t>(sizeof(solve_head)) + values * static_cast<int64_t>(sizeof(message<double>));
    tess_status status = TESS_SUCCESS;

    if (columns <= leaf->columns) { return TESS_SUCCESS; }
    release_columns(ctx, leaf);
    TESS_TRY(tess_device_allocate(ctx, bytes, 1, &leaf->columns_workspace));
    leaf->columns_bytes = bytes;
    leaf->columns = columns;
    status = ctx->backend->zero(ctx, leaf->columns_workspace, static_cast<size_t>(bytes));
cleanup:
    return status;
}

tess_status solve(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, leaf->precision, [&](auto stored) {
        typedef typename decltype(stored)::type type;

        return args->columns > 1 ? launch<type, true>(ctx, leaf, args) : launch<type, false>(ctx, leaf, args);
    });
}

tess_status time_solves(tess_context *ctx, const triangle_leaf *leaf, double *x, int count, double *seconds)
{
    triangle_args args = {};
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    args.b = args.x = x;
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        status = solve(ctx, leaf, &args);
    }
    if (status == TESS_SUCCESS) { status = ctx->backend->synchronize(ctx); }
    *seconds = (tess_wall_seconds() - start) / count;
    return status;
}

struct plan_search {
    leaf_plan best;
    double seconds, end; /* of a solve by the best plan; when the search ends */
};

tess_status try_plan(tess_context *ctx, triangle_leaf *leaf, double *x, leaf_plan plan, plan_search *search)
{
    double seconds = 0.0;
    tess_status status = TESS_SUCCESS;

    if (tess_wall_seconds() > search->end) { return TESS_SUCCESS; }
    status = set_plan(ctx, leaf, plan);
    if (status == TESS_SUCCESS) { status = time_solves(ctx, leaf, x, 1, &seconds); }
    if (status != TESS_SUCCESS || seconds > TOO_LONG * search->seconds || tess_wall_seconds() > search->end) {
        return status;
    }
    status = time_solves(ctx, leaf, x, TIMED_SOLVES, &seconds);
    if (status == TESS_SUCCESS && seconds < search->seconds) {
        search->best = plan;
        search->seconds = seconds;
    }
    return status;
}

/* All plans for a right side of zeros. */
tess_status search_plans(tess_context *ctx, triangle_leaf *leaf, double *x, plan_search *search)
{
    const leaf_plan first = leaf->plan;
    tess_status status = try_plan(ctx, leaf, x, first, search);

    for (int blocks = 1; blocks <= MOST_RESIDENT && status == TESS_SUCCESS; blocks *= 2) {
        if (blocks != first.blocks) { status = try_plan(ctx, leaf, x, {blocks, false}, search); }
    }
    if (status == TESS_SUCCESS && search->best.blocks > 0) {
        status = try_plan(ctx, leaf, x, {search->best.blocks, true}, search);
    }
    if (status == TESS_SUCCESS && first.blocks > 0) { status = try_plan(ctx, leaf, x, {0, false}, search); }
    return status;
}

tess_status choose_plan(tess_context *ctx, triangle_leaf *leaf, double seconds)
{
    gpu_scope scope(ctx);
    const int64_t count = leaf->first + leaf->n;
    plan_search search = {leaf->plan, INFINITY, tess_wall_seconds() + seconds};
    double *x = nullptr;
    tess_status status = TESS_SUCCESS;

    if (leaf->n < LEAST_ROWS || leaf->level_sets < 2) { return TESS_SUCCESS; }
    status = tess_device_allocate(ctx, count, sizeof *x, reinterpret_cast<void **>(&x));
    if (status == TESS_SUCCESS) { status = ctx->backend->zero(ctx, x, static_cast<size_t>(count) * sizeof *x); }
    if (status == TESS_SUCCESS) { status = search_plans(ctx, leaf, x, &search); }
    if (status == TESS_SUCCESS) { status = set_plan(ctx, leaf, search.best); }
    tess_device_release(ctx, x, count, sizeof *x);
    return status;
}

tess_status prepare(tess_context *ctx, triangle_leaf *leaf)
{
    gpu_scope scope(ctx);
    const tess_status status = set_plan(ctx, leaf, plan_by_size(ctx, leaf));

    return status == TESS_SUCCESS ? renumber_columns(ctx, leaf) : status;
}

} // namespace

extern "C" const triangle_ops *triangle_gpu_ops(void)
{
    static const triangle_ops table = {prepare, set_plan, choose_plan,        prepare_columns, solve,
                                       take,    give,     GPU_HAS_CLOCK != 0, leveled_find,    leveled_take_rows};

    return &table;
}
