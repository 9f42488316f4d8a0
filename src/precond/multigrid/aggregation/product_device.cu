/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P^T and P^T (A P) by nodes on a GPU: as product.c. Patterns are there; lists of aggregates say where
 * blocks of values belong. Sums have a fixed order.
 */
#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

struct galerkin {
    device_csr a, p;
    amg_device_node_level fine;
    amg_device_nodes coarse;
    double *ap;
    device_csr out;
};

/* ---- P^T ---- */

/* The rows of an aggregate; a block for each. */
__global__ void __launch_bounds__(GPU_BLOCK) restrict_kernel(const galerkin g)
{
    for (int64_t i = blockIdx.x; i < g.coarse.count; i += gridDim.x) {
        const int64_t first = g.coarse.first[i];
        const int width = node_width(g.coarse, i);

        for (int32_t e = g.fine.pt.of.row_ptr[i] + (int)threadIdx.x; e < g.fine.pt.of.row_ptr[i + 1]; e += GPU_BLOCK) {
            const int32_t node = g.fine.pt.of.col_ind[e], in_p = g.fine.p.offset[g.fine.transposed[e]];
            int32_t at = g.fine.pt.offset[e];

            for (int32_t row = g.fine.rows.first[node]; row < g.fine.rows.first[node + 1]; row++, at++) {
                for (int c = 0; c < width; c++) {
                    g.out.val[g.out.row_ptr[first + c] + at] = g.p.val[g.p.row_ptr[row] + in_p + c];
                }
            }
        }
    }
}

/* ---- A P ---- */

/* Rows up to so long, of so many blocks, are summed in shared memory. P's rows of a node have the same places in A P's
   for all entries of that node: so many places of each lane are kept. */
enum { LONGEST = 256, MOST_BLOCKS = 64, KEPT = 3, PRODUCT_WAVES = GPU_BLOCK / GPU_WAVE };

/* A row of A P: its aggregates, where their columns begin, and its values. */
struct product_row {
    const int32_t *aggregate, *offset;
    int32_t blocks;
    double *val;
};

/* Where a coarse unknown is in the row. */
__device__ inline int32_t place_of(const galerkin &g, const product_row &row, int32_t unknown)
{
    const int32_t aggregate = g.coarse.node_of[unknown];
    int32_t low = 0, high = row.blocks;

    while (low < high) {
        const int32_t middle = low + (high - low) / 2;

        if (row.aggregate[middle] < aggregate) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return row.offset[low] + unknown - g.coarse.first[aggregate];
}

/* An entry of A's row, and the row of P that it takes. */
struct shared_factor {
    int32_t node, begin, length;
    double value;
};

__device__ inline shared_factor load_factor(const galerkin &g, int32_t k, int32_t end)
{
    if (k >= end) { return {-1, 0, 0, 0.0}; }
    const int32_t column = g.a.col_ind[k], begin = g.p.row_ptr[column];

    return {g.fine.rows.node_of[column], begin, g.p.row_ptr[column + 1] - begin, g.a.val[k]};
}

/* Places of a lane's columns of P's rows of a node. */
struct kept_places {
    int32_t node, at[KEPT];
};

/* Adds the multiple of a row of P. Lanes have different columns; all of the wave call it. */
__device__ inline void add_row(const galerkin &g, const shared_factor &f, const product_row &to, kept_places *places)
{
    if (f.node != places->node) {
        GPU_SYNC_WAVE(); /* what other lanes have added */
        places->node = f.node;
#pragma unroll
        for (int u = 0; u < KEPT; u++) {
            const int32_t k = wave_lane() + u * GPU_WAVE;

            places->at[u] = k < f.length ? place_of(g, to, g.p.col_ind[f.begin + k]) : -1;
        }
    }
#pragma unroll
    for (int u = 0; u < KEPT; u++) {
        if (places->at[u] >= 0) { to.val[places->at[u]] += f.value * g.p.val[f.begin + wave_lane() + u * GPU_WAVE]; }
    }
    for (int32_t k = wave_lane() + KEPT * GPU_WAVE; k < f.length; k += GPU_WAVE) {
        to.val[place_of(g, to, g.p.col_ind[f.begin + k])] += f.value * g.p.val[f.begin + k];
    }
}

__device__ inline void multiply_row(const galerkin &g, int64_t row, const product_row &to)
{
    const int32_t end = g.a.row_ptr[row + 1];
    kept_places places = {-1, {}};

    for (int32_t base = g.a.row_ptr[row]; base < end; base += GPU_WAVE) {
        const shared_factor own = load_factor(g, base + wave_lane(), end);
        const int count = end - base < GPU_WAVE ? end - base : GPU_WAVE;

        for (int lane = 0; lane < count; lane++) {
            const shared_factor f = {GPU_SHUFFLE(own.node, lane, GPU_WAVE), GPU_SHUFFLE(own.begin, lane, GPU_WAVE),
                                     GPU_SHUFFLE(own.length, lane, GPU_WAVE), GPU_SHUFFLE(own.value, lane, GPU_WAVE)};

            add_row(g, f, to, &places);
        }
    }
    GPU_SYNC_WAVE();
}

/* A wave for each row. */
__global__ void __launch_bounds__(GPU_BLOCK) multiply_kernel(const galerkin g)
{
    __shared__ double sums[PRODUCT_WAVES][LONGEST];
    __shared__ int32_t aggregates[PRODUCT_WAVES][MOST_BLOCKS], offsets[PRODUCT_WAVES][MOST_BLOCKS];
    const int wave = (int)threadIdx.x / GPU_WAVE;

    for (int64_t row = first_wave(); row < g.a.nrows; row += all_waves()) {
        const int32_t node = g.fine.rows.node_of[row], first = g.fine.ap.of.row_ptr[node];
        const int32_t begin = g.fine.ap_row[row], length = g.fine.ap_row[row + 1] - begin;
        product_row to = {g.fine.ap.of.col_ind + first, g.fine.ap.offset + first,
                          g.fine.ap.of.row_ptr[node + 1] - first, g.ap + begin};
        const bool fits = length <= LONGEST && to.blocks <= MOST_BLOCKS;

        for (int32_t k = wave_lane(); fits && k < to.blocks; k += GPU_WAVE) {
            aggregates[wave][k] = to.aggregate[k];
            offsets[wave][k] = to.offset[k];
        }
        if (fits) { to = {aggregates[wave], offsets[wave], to.blocks, sums[wave]}; }
        for (int32_t k = wave_lane(); k < length; k += GPU_WAVE) {
            to.val[k] = 0.0;
        }
        GPU_SYNC_WAVE();
        multiply_row(g, row, to);
        for (int32_t k = wave_lane(); fits && k < length; k += GPU_WAVE) {
            g.ap[begin + k] = to.val[k];
        }
        GPU_SYNC_WAVE();
    }
}

/* ---- P^T (A P) ---- */

/* Lanes of a wave have neighbouring columns; waves of a block share the nodes beside an aggregate. */
enum { GATHER_CHUNKS = 8 };

/* Adds the parts of a fine node to the rows of an aggregate, in column c, the within-th of an aggregate of `column`. */
template <int MOST>
__device__ inline void gather_node(const galerkin &g, int32_t e, int width, int32_t column, int32_t within,
                                   double (&sum)[MOST])
{
    const int32_t node = g.fine.pt.of.col_ind[e], in_p = g.fine.p.offset[g.fine.transposed[e]];
    const int32_t slot = find_entry(g.fine.ap.of, node, column);

    if (slot < 0) { return; }
    for (int32_t row = g.fine.rows.first[node]; row < g.fine.rows.first[node + 1]; row++) {
        const double x = g.ap[g.fine.ap_row[row] + g.fine.ap.offset[slot] + within];
        const double *p = g.p.val + g.p.row_ptr[row] + in_p;

#pragma unroll
        for (int t = 0; t < MOST; t++) {
            if (t < width) { sum[t] += p[t] * x; }
        }
    }
}

/* Column k of the rows of an aggregate. All threads of a block call it for the same k of their lane. */
template <int MOST>
__device__ inline void gather_column(const galerkin &g, int64_t i, int32_t k, bool is_column)
{
    __shared__ double parts[PRODUCT_WAVES][GPU_WAVE];
    const int64_t first = g.coarse.first[i];
    const int width = node_width(g.coarse, i), wave = (int)threadIdx.x / GPU_WAVE;
    const int32_t unknown = is_column ? g.out.col_ind[g.out.row_ptr[first] + k] : 0;
    const int32_t column = is_column ? g.coarse.node_of[unknown] : -1;
    const int32_t within = is_column ? unknown - g.coarse.first[column] : 0;
    double sum[MOST] = {};

    for (int32_t e = g.fine.pt.of.row_ptr[i] + wave; is_column && e < g.fine.pt.of.row_ptr[i + 1]; e += PRODUCT_WAVES) {
        gather_node<MOST>(g, e, width, column, within, sum);
    }
#pragma unroll
    for (int t = 0; t < MOST; t++) {
        if (t >= width) { continue; }
        parts[wave][wave_lane()] = sum[t];
        __syncthreads();
        if (wave == 0 && is_column) {
            double all = 0.0;

            for (int w = 0; w < PRODUCT_WAVES; w++) {
                all += parts[w][wave_lane()];
            }
            g.out.val[g.out.row_ptr[first + t] + k] = all;
        }
        __syncthreads();
    }
}

template <int MOST>
__global__ void __launch_bounds__(GPU_BLOCK) gather_kernel(const galerkin g)
{
    for (int64_t i = blockIdx.x; i < g.coarse.count; i += gridDim.x) {
        const int64_t first = g.coarse.first[i];
        const int32_t length = node_width(g.coarse, i) > 0 ? g.out.row_ptr[first + 1] - g.out.row_ptr[first] : 0;

        for (int32_t base = (int32_t)blockIdx.y * GPU_WAVE; base < length; base += (int32_t)gridDim.y * GPU_WAVE) {
            gather_column<MOST>(g, i, base + wave_lane(), base + wave_lane() < length);
        }
    }
}

template <int MOST>
void launch_gather(tess_context *ctx, const galerkin &g)
{
    const int64_t most = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * 64;
    const dim3 grid(static_cast<unsigned>(g.coarse.count < most ? g.coarse.count : most), GATHER_CHUNKS);

    gather_kernel<MOST><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(g);
}

galerkin task_of(const amg_device_galerkin *g, const device_csr *out)
{
    return {*g->a, *g->p, *g->fine, *g->coarse, g->ap, *out};
}

} // namespace

tess_status amg_nodes_restrict(tess_context *ctx, const amg_device_galerkin *g, const device_csr *r)
{
    gpu_scope scope(ctx);
    const galerkin task = task_of(g, r);

    restrict_kernel<<<gpu_grid(ctx, g->coarse->count * GPU_BLOCK, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        task);
    return gpu_check_launch(ctx, "transposing a prolongator");
}

tess_status amg_nodes_multiply(tess_context *ctx, const amg_device_galerkin *g, const device_csr *coarse)
{
    gpu_scope scope(ctx);
    const galerkin task = task_of(g, coarse);
    tess_status status = TESS_SUCCESS;

    multiply_kernel<<<gpu_grid(ctx, g->a->nrows * GPU_WAVE, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(task);
    TESS_TRY(gpu_check_launch(ctx, "a matrix times a prolongator"));
    switch (g->fine->vectors) {
    case 1: launch_gather<1>(ctx, task); break;
    case 2:
    case 3: launch_gather<3>(ctx, task); break;
    case 4:
    case 5:
    case 6: launch_gather<6>(ctx, task); break;
    default: launch_gather<TESS_MAX_NEAR_NULLSPACE>(ctx, task); break;
    }
    status = gpu_check_launch(ctx, "Galerkin products by nodes");
cleanup:
    return status;
}
