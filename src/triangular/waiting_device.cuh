/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a triangle that wait for one another: a few neighbouring threads ("a group") compute a row, and wait for each
 * of its inputs, which come as messages (dense/trsv_messages.cuh); Liu, Li, Hogg, Duff, Vinter, Euro-Par (2016) wait
 * for flags. Blocks take rows in the order of positions, by a ticket, so that the rows they wait for have begun.
 *
 * A chain of level sets bounds such a solve, and every look at a message that has not come takes bandwidth from those
 * that have. So a thread has the entries in registers before it looks, looks only at the input that should come last,
 * and few blocks run at a time (leaf_plan).
 *
 * Of several columns a row's group has `side` neighbouring threads for each of the places that it has for one column:
 * they read an entry together, and its messages side by side. `sides` such groups have all columns.
 */
#ifndef TESS_TRIANGULAR_WAITING_DEVICE_CUH
#define TESS_TRIANGULAR_WAITING_DEVICE_CUH

#include "dense/trsv_messages.cuh"
#include "triangular/level_sets_device.cuh"

struct waiting_task {
    leaf_rows rows;
    int side, sides;  /* of several columns */
    bool look_at_all; /* a look reads all inputs, else the one with the last position among those that are missing */
    solve_head *head;
    message<double> *messages; /* by positions; of several columns as vectors by rows */
    int64_t message_bytes;
    gpu_timeout timeout;
    loop_predicate predicate;
};

/* Entries that a thread holds. */
enum { LOOK = 4 };

/* A thread's part of a row: entries next, next + width, ... */
template <typename S>
struct waiting_part {
    int64_t next, end;
    int32_t column[LOOK]; /* below 0: none */
    S val[LOOK];
    int32_t missing; /* an input that was missing, to look at alone; below 0: none */
    double sum;
};

template <typename S>
__device__ static inline void hold_entries(const leaf_rows &rows, waiting_part<S> *part)
{
    part->missing = -1;
    TESS_UNROLL
    for (int u = 0; u < LOOK; u++) {
        const int64_t k = part->next + u * rows.width;

        part->column[u] = -1;
        if (k < part->end) {
            part->column[u] = gpu_load_once(rows.col_ind + k);
            part->val[u] = gpu_load_once(static_cast<const S *>(rows.val) + k);
        }
    }
}

/* The place of the message of a position, of the column with which task.messages begin. */
template <bool COLUMNS>
__device__ static inline int64_t message_of(const waiting_task &task, int64_t position)
{
    return COLUMNS ? position * task.rows.args.columns : position;
}

/* Adds the entries held, in their order, if the messages of all have arrived. */
template <bool COLUMNS, typename S>
__device__ static inline void advance(const waiting_task &task, unsigned call, waiting_part<S> *part)
{
    message<double> seen[LOOK];
    int32_t missing = -1;

    if (part->next >= part->end) { return; }
    if (part->missing >= 0) {
        gpu_peek(task.messages[message_of<COLUMNS>(task, part->missing)].word, seen[0].word);
        if (!is_current(seen[0], call)) { return; }
    }
    TESS_UNROLL
    for (int u = 0; u < LOOK; u++) {
        if (part->column[u] >= 0) {
            gpu_peek(task.messages[message_of<COLUMNS>(task, part->column[u])].word, seen[u].word);
        }
    }
    TESS_UNROLL
    for (int u = 0; u < LOOK; u++) {
        if (part->column[u] > missing && !is_current(seen[u], call)) { missing = part->column[u]; }
    }
    part->missing = task.look_at_all ? -1 : missing;
    if (missing >= 0) { return; }
    TESS_UNROLL
    for (int u = 0; u < LOOK; u++) {
        if (part->column[u] >= 0) { part->sum += tess::decode<double>(part->val[u]) * open_message(seen[u]); }
    }
    part->next += LOOK * task.rows.width;
    if (part->next < part->end) { hold_entries(task.rows, part); }
}

/* Whether the predicate holds in all threads of the caller's group; all threads of the wave call it. */
__device__ static inline bool all_of_group(bool predicate, int width)
{
    const gpu_lanes lanes = GPU_BALLOT(predicate);
    const int first = static_cast<int>(threadIdx.x) % GPU_WAVE / width * width;
    const gpu_lanes mask = ~static_cast<gpu_lanes>(0) >> (GPU_WAVE - width);

    return (lanes >> first & mask) == mask;
}

/* Threads of a wave loop together: none waits for another of its own wave. */
template <typename S, bool COLUMNS>
__global__ static void __launch_bounds__(GPU_BLOCK) solve_waiting(const waiting_task given)
{
    __shared__ solve_turn turn;
    waiting_task task = given;
    const int side = COLUMNS ? task.side : 1, width = task.rows.width * side;
    const int lane = static_cast<int>(threadIdx.x) % width;
    tess_scalars scalars;

    if (!loop_enter<false>(given.predicate, false, &scalars)) { return; }
    take_turn(task.head, task.timeout, &turn);
    const int64_t step = COLUMNS ? turn.step / task.sides : turn.step;
    if (COLUMNS) {
        const int column = static_cast<int>(turn.step % task.sides) * side + lane % side;

        to_column(&task.rows.args, column);
        task.messages += column;
    }
    const int64_t p = step * (GPU_BLOCK / width) + threadIdx.x / width;
    const bool inside = p < task.rows.n && !turn.idle;
    const int32_t row = inside ? task.rows.row[p] : 0;
    const double right = inside ? task.rows.args.b[element_of<COLUMNS>(task.rows.args, row)] : 0.0;
    waiting_part<S> part = {};
    bool posted = !inside;
    gpu_wait wait;

    if (inside) {
        part.next = tess_row_offset(task.rows.row_ptr, task.rows.row_ptr_bits, p) + lane / side;
        part.end = tess_row_offset(task.rows.row_ptr, task.rows.row_ptr_bits, p + 1);
        hold_entries(task.rows, &part);
    }
    while (GPU_BALLOT(!posted) != 0) {
        advance<COLUMNS>(task, turn.call, &part);
        const bool complete = all_of_group(part.next >= part.end, width) && !posted;

        if (GPU_BALLOT(complete) == 0) {
            if (GPU_BALLOT(!goes_on(task.timeout, &wait)) != 0) { break; }
            continue;
        }
        const double sum = lanes_sum_down(part.sum, width, side);

        if (complete && lane < side) {
            post_message(task.messages + message_of<COLUMNS>(task, p), right - sum, turn.call);
            write_solution<COLUMNS>(task.rows.args, row, right - sum);
        }
        posted = posted || complete;
    }
    __syncthreads();
    end_turn(given.head, given.messages, given.message_bytes, turn.call);
}

#endif
