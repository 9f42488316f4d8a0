/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at segments on a GPU. */
#include "papers/narrowing/segment.cuh"
#include "policy/assignment.h"

/* ---- tiles of each block column ---- */

__global__ static void __launch_bounds__(GPU_BLOCK)
    count_kernel(int64_t nblocks, const int32_t *column, const uint8_t *level, int nlevels, int32_t *tiles)
{
    for (int64_t b = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; b < nblocks; b += (int64_t)gridDim.x * GPU_BLOCK) {
        atomicAdd(&tiles[column[b] * (int64_t)nlevels + (level ? level[b] : 0)], 1);
    }
}

static tess_status count_tiles(tess_context *ctx, const tess_assignment *assignment, const narrowing_pass *p)
{
    gpu_scope scope(ctx);
    const block_grid *grid = &assignment->grid;

    if (grid->nblocks == 0) { return TESS_SUCCESS; }
    count_kernel<<<gpu_grid(ctx, grid->nblocks, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        grid->nblocks, grid->column, assignment->level, p->nlevels, p->tiles);
    return gpu_check_launch(ctx, "counting tiles by columns");
}

/* ---- a pass ---- */

/* A lane for each element; the first of a segment's decides. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    mark_kernel(const narrowing_pass p, const double *x, int product, const loop_predicate predicate)
{
    __shared__ unsigned long long sums[NARROWING_COUNTS];
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    const int lane = (int)threadIdx.x % NARROWING_SEGMENT;
    uint64_t counts[NARROWING_COUNTS] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    const narrowing_bounds bounds = *p.bounds;

    if (threadIdx.x < NARROWING_COUNTS) { sums[threadIdx.x] = 0; }
    for (int64_t i0 = (int64_t)blockIdx.x * GPU_BLOCK; i0 < p.n; i0 += step) {
        const int64_t i = i0 + threadIdx.x, s = i / NARROWING_SEGMENT;
        const double magnitude = segment_magnitude(i < p.n ? fabs(x[i]) : 0.0);

        if (lane == 0 && s < p.nsegments) {
            narrowing_segment segment = p.segment[s];
            const int level = narrowing_level(&bounds, magnitude);
            const int use = narrowing_use(&segment, level, product, p.nproducts, p.for_good);

            p.segment[s] = segment;
            p.use[s] = (uint8_t)use;
            narrowing_count(&p, s, use, counts);
        }
    }
    __syncthreads();
    add_narrowing_counts(counts, sums, p.counts);
}

static tess_status mark(tess_context *ctx, const narrowing_pass *p, const double *x, int product,
                        tess_loop_state *state)
{
    gpu_scope scope(ctx);
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    if (p->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, state, &predicate));
    status = gpu_launch(ctx, "a look at segments", mark_kernel, gpu_grid(ctx, p->n, 4), 0, *p, x, product, predicate);
cleanup:
    return status;
}

/* Behind a function: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const narrowing_ops *narrowing_gpu_ops(void)
{
    static const narrowing_ops table = {count_tiles, mark};

    return &table;
}
