/* SPDX-License-Identifier: Apache-2.0 */
/* One damped Jacobi step on the tentative prolongator on a GPU: as diagonal.c and smooth.c. */
#include <math.h>

#include "precond/block_jacobi/invert_block.h"
#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

/* ---- D^-1 ---- */

struct inverse_task {
    device_csr a;
    amg_device_nodes rows;
    int most_height;
    double *inverse;
};

/* The diagonal block of a node, row-major; if `diagonal`, without what is off the diagonal. */
__device__ inline void gather_block(const inverse_task &t, int64_t first, int height, bool diagonal, double *block)
{
    for (int k = 0; k < height * height; k++) {
        block[k] = 0.0;
    }
    for (int r = 0; r < height; r++) {
        const int64_t row = first + r;

        for (int32_t k = find_from(t.a, row, static_cast<int32_t>(first)); k < t.a.row_ptr[row + 1]; k++) {
            const int64_t column = t.a.col_ind[k] - first;

            if (column >= height) { break; }
            if (!diagonal || column == r) { block[r * height + column] = t.a.val[k]; }
        }
    }
}

/* The unknowns of a node with a singular block are scaled one by one; a zero counts as 1. */
__global__ void __launch_bounds__(GPU_BLOCK) invert_kernel(const inverse_task t)
{
    for (int64_t i = first_thread(); i < t.rows.count; i += all_threads()) {
        const int64_t first = t.rows.first[i];
        const int height = node_width(t.rows, i);
        double *block = t.inverse + first * t.most_height;

        gather_block(t, first, height, false, block);
        if (invert_block(block, height) < 0) { continue; }
        gather_block(t, first, height, true, block);
        for (int k = 0; k < height * height; k += height + 1) {
            block[k] = fabs(block[k]) > 0.0 ? 1.0 / block[k] : 1.0;
        }
    }
}

/* ---- P ---- */

struct smooth_task {
    device_csr a;
    amg_device_node_level fine;
    amg_device_nodes coarse;
    const double *inverse; /* NULL: P = T */
    double omega;
    device_csr p;
};

/* An entry of A's row, for all lanes of the wave to share. */
struct shared_entry {
    int32_t column, aggregate;
    double value;
};

__device__ inline shared_entry load_entry(const smooth_task &t, int32_t k, int32_t end)
{
    const int32_t column = k < end ? t.a.col_ind[k] : 0;

    return {column, k < end ? t.fine.aggregate[t.fine.rows.node_of[column]] : -1, k < end ? t.a.val[k] : 0.0};
}

/* (A T)_row,c for the column c of the calling lane, the c-th of its aggregate. All lanes of the wave call it. */
__device__ inline double multiply_row(const smooth_task &t, int64_t row, int32_t aggregate, int c)
{
    const int32_t end = t.a.row_ptr[row + 1];
    double sum = 0.0;

    for (int32_t base = t.a.row_ptr[row]; base < end; base += GPU_WAVE) {
        const shared_entry own = load_entry(t, base + wave_lane(), end);
        const int count = end - base < GPU_WAVE ? end - base : GPU_WAVE;

        for (int lane = 0; lane < count; lane++) {
            const int32_t other = GPU_SHUFFLE(own.aggregate, lane, GPU_WAVE);
            const int64_t column = GPU_SHUFFLE(own.column, lane, GPU_WAVE);
            const double value = GPU_SHUFFLE(own.value, lane, GPU_WAVE);

            if (other == aggregate) { sum += value * t.fine.tentative[column * t.fine.vectors + c]; }
        }
    }
    return sum;
}

/* P := A T, a wave for each row, a lane for each column; or P := T. */
__global__ void __launch_bounds__(GPU_BLOCK) multiply_tentative_kernel(const smooth_task t)
{
    for (int64_t row = first_wave(); row < t.fine.rows.nrows; row += all_waves()) {
        for (int32_t base = t.p.row_ptr[row]; base < t.p.row_ptr[row + 1]; base += GPU_WAVE) {
            const int32_t k = base + wave_lane();
            const bool is_entry = k < t.p.row_ptr[row + 1];
            const int32_t aggregate = is_entry ? t.coarse.node_of[t.p.col_ind[k]] : -2;
            const int c = is_entry ? t.p.col_ind[k] - t.coarse.first[aggregate] : 0;
            const double value = t.inverse  ? multiply_row(t, row, aggregate, c)
                                 : is_entry ? t.fine.tentative[row * t.fine.vectors + c]
                                            : 0.0;

            if (is_entry) { t.p.val[k] = value; }
        }
    }
}

/* Makes T - omega D^-1 A T of a column of a node's rows. */
__device__ inline void scale_column(const smooth_task &t, int64_t i, int32_t at, int32_t width, double *column)
{
    const int64_t first = t.fine.rows.first[i];
    const int height = node_width(t.fine.rows, i);
    const double *inverse = t.inverse + first * t.fine.most_height;
    double *p = t.p.val + at;
    const int32_t coarse = t.p.col_ind[at], aggregate = t.coarse.node_of[coarse];
    const bool own = t.fine.aggregate[i] == aggregate;

    for (int r = 0; r < height; r++) {
        column[r] = p[r * width];
    }
    for (int r = 0; r < height; r++) {
        double sum = 0.0;

        for (int q = 0; q < height; q++) {
            sum += inverse[r * height + q] * column[q];
        }
        p[r * width] =
            (own ? t.fine.tentative[(first + r) * t.fine.vectors + coarse - t.coarse.first[aggregate]] : 0.0) -
            t.omega * sum;
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) scale_columns_kernel(const smooth_task t)
{
    double column[TESS_MAX_NEAR_NULLSPACE];

    for (int64_t i = first_team(); i < t.fine.rows.count; i += all_teams()) {
        const int64_t first = t.fine.rows.first[i];
        const int32_t begin = t.p.row_ptr[first],
                      end = begin + (node_width(t.fine.rows, i) > 0 ? t.p.row_ptr[first + 1] - begin : 0);

        for (int32_t k = begin + team_lane(); k < end; k += TEAM) {
            scale_column(t, i, k, end - begin, column);
        }
    }
}

} // namespace

tess_status amg_nodes_invert_blocks(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                                    double *inverse)
{
    gpu_scope scope(ctx);
    const inverse_task t = {*a, level->rows, level->most_height, inverse};

    invert_kernel<<<gpu_grid(ctx, level->rows.count, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    return gpu_check_launch(ctx, "inverses of diagonal blocks");
}

tess_status amg_nodes_smooth(tess_context *ctx, const amg_device_smoothing *s, const device_csr *p)
{
    gpu_scope scope(ctx);
    const smooth_task t = {*s->a, *s->fine, *s->coarse, s->inverse, s->omega, *p};

    multiply_tentative_kernel<<<gpu_grid(ctx, p->nrows * GPU_WAVE, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    if (s->inverse) {
        scale_columns_kernel<<<gpu_grid(ctx, s->fine->rows.count * TEAM, PASS_BLOCKS), GPU_BLOCK, 0,
                               gpu_stream_of(ctx)>>>(t);
    }
    return gpu_check_launch(ctx, "smoothing a prolongator");
}
