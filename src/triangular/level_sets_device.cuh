/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangular solve by one block of threads, level set after level set with a barrier in between. If level sets have
 * few entries, this is faster than communication between multiprocessors. The newest values of the solution are in
 * shared memory. Data of rows is read ahead: places two level sets ahead, entries one level set ahead.
 *
 * Of several columns each has a block of its own, on another multiprocessor: barriers bound the time, not the entries.
 */
#ifndef TESS_TRIANGULAR_LEVEL_SETS_DEVICE_CUH
#define TESS_TRIANGULAR_LEVEL_SETS_DEVICE_CUH

#include "base/offsets.h"
#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"
#include "triangular/leaf.h"

enum {
    LEVEL_SETS_BLOCK = 1024, /* most threads */
    NARROW_WORK = 1024,      /* mean rows and entries of a level set up to which one block takes all, unmeasured */
    ENTRIES_PER_LANE = 4,    /* of a row, about */
    HELD = 4,                /* entries that a thread reads ahead */
    MAX_NEAR = 16384         /* most values in shared memory */
};

/* The arguments of both kernels about a leaf. */
struct leaf_rows {
    int64_t n;
    const int32_t *row;
    const void *row_ptr;
    int row_ptr_bits;
    const int32_t *col_ind; /* positions */
    const void *val;
    int width; /* threads of a group: a power of two, at most 32 */
    triangle_args args;
};

struct level_sets_task {
    leaf_rows rows;
    int level_sets;
    const int32_t *begin; /* level sets + 1 positions */
    double *solved;       /* x by positions; of several columns, one after another */
    int near;             /* values in shared memory: a power of two */
    loop_predicate predicate;
};

static inline bool is_narrow(const triangle_leaf *leaf)
{
    return (leaf->n + leaf->nnz) / leaf->level_sets <= NARROW_WORK;
}

static inline int group_width(const triangle_leaf *leaf)
{
    int width = 1;

    while (width < 32 && width * ENTRIES_PER_LANE * leaf->n < leaf->nnz) {
        width *= 2;
    }
    return width;
}

/* Threads of the block that processes all level sets: as many as a level set of twice the mean size needs, because each
   thread costs time in every level set. */
static inline int level_sets_threads(const triangle_leaf *leaf)
{
    int threads = 2 * GPU_WAVE;

    while (threads < LEVEL_SETS_BLOCK && threads < 2 * group_width(leaf) * leaf->n / leaf->level_sets) {
        threads *= 2;
    }
    return threads;
}

/* Bytes of the level sets' positions, a multiple of 16. */
static inline int64_t level_set_bytes(const triangle_leaf *leaf)
{
    return ((leaf->level_sets + 1) * static_cast<int64_t>(sizeof(int32_t)) + 15) / 16 * 16;
}

/* The power of two for n values, or the largest that fits. */
static inline int near_values(int64_t shared_bytes, int64_t n)
{
    int near = 32;

    while (near < n && near < MAX_NEAR &&
           2 * near * static_cast<int64_t>(sizeof(double)) + GPU_STATIC_SHARED <= shared_bytes) {
        near *= 2;
    }
    return near;
}

/* With COLUMNS b, x and scaled begin with the thread's column (to_column). */
template <bool COLUMNS>
__device__ static inline int64_t element_of(const triangle_args &args, int32_t row)
{
    return COLUMNS ? static_cast<int64_t>(row) * args.columns : row;
}

__device__ static inline void to_column(triangle_args *args, int column)
{
    args->b += column;
    args->x += column;
    if (args->scaled) { args->scaled += column; }
}

template <bool COLUMNS>
__device__ static inline void write_solution(const triangle_args &args, int32_t row, double value)
{
    const int64_t at = element_of<COLUMNS>(args, row);

    args.x[at] = value;
    if (args.scaled) { args.scaled[at] = args.scale[row] * value; }
}

/* The place of a row; begin counts this thread's entries. */
struct row_place {
    int position; /* below 0: none */
    int32_t row;
    int64_t begin, end;
};

__device__ static inline row_place find_row(const leaf_rows &rows, int position, int last)
{
    row_place r = {-1, 0, 0, 0};

    if (position >= last) { return r; }
    r.position = position;
    r.row = rows.row[position];
    r.begin = tess_row_offset(rows.row_ptr, rows.row_ptr_bits, position) + threadIdx.x % rows.width;
    r.end = tess_row_offset(rows.row_ptr, rows.row_ptr_bits, position + 1);
    return r;
}

/* The data of a row that is read before its inputs exist. */
template <typename S>
struct row_held {
    row_place place;
    int32_t column[HELD];
    S value[HELD];
    double right;
};

template <typename S, bool COLUMNS>
__device__ static inline row_held<S> hold_row(const leaf_rows &rows, const row_place &place)
{
    row_held<S> held = {};

    held.place = place;
    TESS_UNROLL
    for (int h = 0; h < HELD; h++) {
        const int64_t k = place.begin + h * rows.width;

        if (k < place.end) {
            held.column[h] = gpu_load_once(rows.col_ind + k);
            held.value[h] = gpu_load_once(static_cast<const S *>(rows.val) + k);
        }
    }
    if (place.position >= 0 && threadIdx.x % rows.width == 0) {
        held.right = rows.args.b[element_of<COLUMNS>(rows.args, place.row)];
    }
    return held;
}

/* x at an earlier position. */
__device__ static inline double value_at(const level_sets_task &task, const double *near, int first_near, int position)
{
    return position >= first_near ? near[position & (task.near - 1)] : task.solved[position];
}

/* Positions from first_near on are in shared memory, or will be. */
template <bool COLUMNS, typename S>
__device__ static inline void solve_held(const level_sets_task &task, const row_held<S> &held, int first_near,
                                         double *near)
{
    const leaf_rows &rows = task.rows;
    const int position = held.place.position;
    double sum = 0.0;

    TESS_UNROLL
    for (int h = 0; h < HELD; h++) {
        if (held.place.begin + h * rows.width < held.place.end) {
            sum += tess::decode<double>(held.value[h]) * value_at(task, near, first_near, held.column[h]);
        }
    }
    for (int64_t k = held.place.begin + HELD * rows.width; k < held.place.end; k += rows.width) {
        sum += tess::decode<double>(static_cast<const S *>(rows.val)[k]) *
               value_at(task, near, first_near, rows.col_ind[k]);
    }
    sum = lanes_sum_down(sum, rows.width);
    if (position >= 0 && threadIdx.x % rows.width == 0) {
        const double value = held.right - sum;

        if (position >= first_near) { near[position & (task.near - 1)] = value; }
        task.solved[position] = value;
        write_solution<COLUMNS>(rows.args, held.place.row, value);
    }
}

template <typename S, bool COLUMNS>
__global__ static void __launch_bounds__(LEVEL_SETS_BLOCK) solve_level_sets(const level_sets_task given)
{
    extern __shared__ double near_workspace[];
    level_sets_task task = given;
    const int groups = static_cast<int>(blockDim.x) / task.rows.width;
    const int group = static_cast<int>(threadIdx.x) / task.rows.width;
    const int first_group = static_cast<int>(threadIdx.x) / GPU_WAVE * GPU_WAVE / task.rows.width; /* of the wave */
    tess_scalars scalars;

    if (!loop_enter<true>(given.predicate, false, &scalars)) { return; }
    if (COLUMNS) {
        to_column(&task.rows.args, static_cast<int>(blockIdx.x));
        task.solved += static_cast<int64_t>(blockIdx.x) * task.rows.n;
    }
    /* level set l is bound[0] .. bound[1] - 1; the later bounds are of the following level sets */
    int bound[4];
    TESS_UNROLL
    for (int i = 0; i < 4; i++) {
        bound[i] = task.begin[i < task.level_sets ? i : task.level_sets];
    }
    row_held<S> now = hold_row<S, COLUMNS>(task.rows, find_row(task.rows, bound[0] + group, bound[1]));
    row_place next = find_row(task.rows, bound[1] + group, bound[2]);

    for (int l = 0; l < task.level_sets; l++) {
        const int first_near = bound[1] - task.near,
                  ahead = task.begin[l + 4 < task.level_sets ? l + 4 : task.level_sets];
        const row_place after = find_row(task.rows, bound[2] + group, bound[3]);
        row_held<S> held = {};

        /* A wave without a row has nothing to do. */
        if (bound[1] + first_group < bound[2]) { held = hold_row<S, COLUMNS>(task.rows, next); }
        if (bound[0] + first_group < bound[1]) { solve_held<COLUMNS>(task, now, first_near, near_workspace); }
        for (int p = bound[0] + groups; p < bound[1]; p += groups) { /* p does not depend on the thread */
            solve_held<COLUMNS>(task, hold_row<S, COLUMNS>(task.rows, find_row(task.rows, p + group, bound[1])),
                                first_near, near_workspace);
        }
        __syncthreads();
        now = held;
        next = after;
        bound[0] = bound[1];
        bound[1] = bound[2];
        bound[2] = bound[3];
        bound[3] = ahead;
    }
}

#endif
