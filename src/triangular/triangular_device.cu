/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves on the GPU, one kernel per leaf. A few neighbouring threads ("a group") compute a row, with a sum
 * in a fixed order. The solution is stored by positions of the schedule, so that rows of a level set are adjacent.
 *
 * For level sets of few entries one block of threads takes level set after level set (level_sets_device.cuh). Otherwise
 * a group waits for each of its row's inputs, which come as messages (dense/trsv_messages.cuh); Liu, Li, Hogg, Duff,
 * Vinter, Euro-Par (2016) wait for flags. Blocks take rows in the order of positions, by a ticket, so that the rows
 * they wait for have begun.
 */
#include "triangular/level_sets_device.cuh"

#include "dense/trsv_messages.cuh"
#include "triangular/leaf.h"

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

/* ---- rows that wait for one another ---- */

struct waiting_task {
    leaf_rows rows;
    solve_head *head;
    message<double> *messages; /* by positions */
    int64_t message_bytes;
    gpu_timeout timeout;
    loop_predicate predicate;
};

/* Messages that a thread reads together. */
enum { LOOK = 4 };

/* A thread's part of a row: entries next, next + width, ... */
struct waiting_part {
    int64_t next, end;
    double sum;
};

/* Adds entries in their order, as far as their messages have arrived. */
template <typename S>
__device__ inline void advance(const waiting_task &task, unsigned call, waiting_part *part)
{
    const S *val = static_cast<const S *>(task.rows.val);
    message<double> seen[LOOK];
    bool open = true;

    TESS_UNROLL
    for (int u = 0; u < LOOK; u++) {
        const int64_t k = part->next + u * task.rows.width;

        if (k < part->end) { gpu_peek(task.messages[task.rows.col_ind[k]].word, seen[u].word); }
    }
    TESS_UNROLL
    for (int u = 0; u < LOOK; u++) {
        open = open && part->next < part->end && is_current(seen[u], call);
        if (open) {
            part->sum += tess::decode<double>(val[part->next]) * open_message(seen[u]);
            part->next += task.rows.width;
        }
    }
}

/* Whether the predicate holds in all threads of the caller's group; all threads of the wave call it. */
__device__ inline bool all_of_group(bool predicate, int width)
{
    const gpu_lanes lanes = GPU_BALLOT(predicate);
    const int first = static_cast<int>(threadIdx.x) % GPU_WAVE / width * width;
    const gpu_lanes mask = ~static_cast<gpu_lanes>(0) >> (GPU_WAVE - width);

    return (lanes >> first & mask) == mask;
}

/* Threads of a wave loop together: none waits for another of its own wave. */
template <typename S>
__global__ void __launch_bounds__(GPU_BLOCK) solve_waiting(const waiting_task task)
{
    __shared__ solve_turn turn;
    const int width = task.rows.width, lane = static_cast<int>(threadIdx.x) % width;
    tess_scalars scalars;

    if (!loop_enter<false>(task.predicate, false, &scalars)) { return; }
    take_turn(task.head, task.timeout, &turn);
    const int64_t p = static_cast<int64_t>(turn.step) * (GPU_BLOCK / width) + threadIdx.x / width;
    const bool inside = p < task.rows.n && !turn.idle;
    const int32_t row = inside ? task.rows.row[p] : 0;
    const double right = inside ? task.rows.args.b[row] : 0.0;
    waiting_part part = {};
    bool posted = !inside;
    gpu_wait wait;

    if (inside) {
        part.next = tess_row_offset(task.rows.row_ptr, task.rows.row_ptr_bits, p) + lane;
        part.end = tess_row_offset(task.rows.row_ptr, task.rows.row_ptr_bits, p + 1);
    }
    while (GPU_BALLOT(!posted) != 0) {
        advance<S>(task, turn.call, &part);
        const bool complete = all_of_group(part.next >= part.end, width) && !posted;

        if (GPU_BALLOT(complete) == 0) {
            if (GPU_BALLOT(!goes_on(task.timeout, &wait)) != 0) { break; }
            continue;
        }
        const double sum = sum_of_group(part.sum, width);

        if (complete && lane == 0) {
            post_message(task.messages + p, right - sum, turn.call);
            write_solution(task.rows.args, row, right - sum);
        }
        posted = posted || complete;
    }
    __syncthreads();
    end_turn(task.head, task.messages, task.message_bytes, turn.call);
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

template <typename S>
tess_status launch_waiting(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    waiting_task task = {};

    task.rows = rows_of(leaf, args);
    task.head = static_cast<solve_head *>(leaf->workspace);
    task.messages = reinterpret_cast<message<double> *>(task.head + 1);
    task.message_bytes = leaf->n * static_cast<int64_t>(sizeof *task.messages);
    task.timeout = gpu_state_of(ctx)->timeout;
    task.predicate = make_predicate(ctx, args->state, false);
    const int64_t rows = GPU_BLOCK / task.rows.width;

    return gpu_launch(ctx, "a triangular solve", solve_waiting<S>, static_cast<unsigned>((leaf->n + rows - 1) / rows),
                      0, task);
}

template <typename S>
tess_status launch_level_sets(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    const int near = near_values(gpu_state_of(ctx)->shared_bytes_per_block, leaf->n);
    level_sets_task task = {};
    tess_status status = gpu_allow_shared(ctx, reinterpret_cast<const void *>(solve_level_sets<S>));

    if (status != TESS_SUCCESS) { return status; }
    task.rows = rows_of(leaf, args);
    task.level_sets = static_cast<int>(leaf->level_sets);
    task.begin = static_cast<const int32_t *>(leaf->workspace);
    task.solved = reinterpret_cast<double *>(static_cast<char *>(leaf->workspace) + level_set_bytes(leaf));
    task.near = near;
    status = make_settled_predicate(ctx, args->state, &task.predicate);
    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch_blocks(ctx, "a triangular solve by levels", solve_level_sets<S>, 1U,
                             static_cast<unsigned>(level_sets_threads(leaf)),
                             static_cast<size_t>(near) * sizeof(double), task);
}

template <typename S>
tess_status launch(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    return is_narrow(leaf) ? launch_level_sets<S>(ctx, leaf, args) : launch_waiting<S>(ctx, leaf, args);
}

} // namespace

static tess_status prepare(tess_context *ctx, triangle_leaf *leaf)
{
    gpu_scope scope(ctx);
    const bool narrow = is_narrow(leaf);
    const int64_t bytes =
        narrow ? level_set_bytes(leaf) + leaf->n * static_cast<int64_t>(sizeof(double))
               : static_cast<int64_t>(sizeof(solve_head)) + leaf->n * static_cast<int64_t>(sizeof(message<double>));
    tess_status status = tess_device_allocate(ctx, bytes, 1, &leaf->workspace);

    if (status != TESS_SUCCESS) { return status; }
    leaf->workspace_bytes = bytes;
    status = ctx->backend->zero(ctx, leaf->workspace, static_cast<size_t>(bytes));
    if (status == TESS_SUCCESS && narrow) { status = upload_level_sets(ctx, leaf); }
    return status == TESS_SUCCESS ? renumber_columns(ctx, leaf) : status;
}

static tess_status solve(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, leaf->precision,
                          [&](auto stored) { return launch<typename decltype(stored)::type>(ctx, leaf, args); });
}

extern "C" const triangle_ops *triangle_gpu_ops(void)
{
    static const triangle_ops table = {prepare, solve};

    return &table;
}
