/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of aggregation on a GPU: a wave for each node or row. */
#ifndef TESS_PRECOND_MULTIGRID_AGGREGATION_PASSES_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_AGGREGATION_PASSES_DEVICE_CUH

#include "precond/multigrid/aggregation/aggregation_device.h"
#include "precond/multigrid/aggregation/rules.h"
#include "precond/multigrid/passes_device.cuh"

__device__ static inline int64_t first_wave(void)
{
    return first_thread() / GPU_WAVE;
}

__device__ static inline int64_t all_waves(void)
{
    return all_threads() / GPU_WAVE;
}

__device__ static inline int wave_lane(void)
{
    return (int)threadIdx.x % GPU_WAVE;
}

/* How many lanes before this one are in a ballot. */
__device__ static inline int count_before(gpu_lanes lanes)
{
    return GPU_COUNT_LANES(lanes & (((gpu_lanes)1 << wave_lane()) - 1));
}

/* The first entry of a row from column `first` on. */
__device__ static inline int32_t find_from(const device_csr &a, int64_t row, int32_t first)
{
    int32_t low = a.row_ptr[row], high = a.row_ptr[row + 1];

    while (low < high) {
        const int32_t middle = low + (high - low) / 2;

        if (a.col_ind[middle] < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The entry of a column; -1: there is none. */
__device__ static inline int32_t find_entry(const device_csr &a, int64_t row, int32_t column)
{
    const int32_t k = find_from(a, row, column);

    return k < a.row_ptr[row + 1] && a.col_ind[k] == column ? k : -1;
}

__device__ static inline int32_t node_width(const amg_device_nodes &nodes, int64_t node)
{
    return nodes.first[node + 1] - nodes.first[node];
}

extern "C" {
tess_status amg_nodes_fill(tess_context *ctx, int block, const amg_device_nodes *nodes);
tess_status amg_nodes_list_blocks(tess_context *ctx, const device_csr *a, const amg_device_nodes *rows,
                                  device_csr *blocks);
tess_status amg_nodes_connect(tess_context *ctx, const device_csr *blocks, double theta, device_csr *graph);
tess_status amg_nodes_aggregate(tess_context *ctx, const device_csr *graph, int32_t *of, int64_t *count);
tess_status amg_nodes_make_tentative(tess_context *ctx, const device_csr *members, amg_device_node_level *level,
                                     amg_device_node_level *next);
tess_status amg_nodes_list_aggregates(tess_context *ctx, const device_csr *blocks, const int32_t *of,
                                      int64_t aggregates, bool plain, device_csr *lists);
tess_status amg_nodes_lay_out(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                              const amg_device_lists *lists, int32_t *row_ptr, int64_t *count);
tess_status amg_nodes_write_columns(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                                    const amg_device_lists *lists, const device_csr *out);
tess_status amg_nodes_invert_blocks(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                                    double *inverse);
tess_status amg_nodes_estimate(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                               const double *inverse, double *lambda);
tess_status amg_nodes_smooth(tess_context *ctx, const amg_device_smoothing *s, const device_csr *p);
tess_status amg_nodes_restrict(tess_context *ctx, const amg_device_galerkin *g, const device_csr *r);
tess_status amg_nodes_multiply(tess_context *ctx, const amg_device_galerkin *g, const device_csr *coarse);
}

#endif
