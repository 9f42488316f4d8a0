/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over blocks of vectors on a GPU: a kernel for each combination and each product, whose blocks of threads have
   sums of their own, added in their order. */
#include "device/gpu/gpu.h"
#include "solver/block_cg/block_ops.h"

namespace {

constexpr char DOING[] = "block CG";
/* Values of x, and of y, that a block of threads has in shared memory at a time; blocks of a product at most. */
constexpr int TILE_VALUES = 1024, MOST_PARTS = 128;

/* A thread has a value of a row. `from` of all rows of the tile is read before `to` is written. */
template <int WIDTH>
__global__ void combine_kernel(int64_t n, const block_combination c)
{
    constexpr int ROWS = GPU_BLOCK / WIDTH;
    __shared__ double factor[WIDTH * WIDTH], from[GPU_BLOCK];
    const int row = static_cast<int>(threadIdx.x) / WIDTH, column = static_cast<int>(threadIdx.x) % WIDTH;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int i = static_cast<int>(threadIdx.x); i < WIDTH * WIDTH; i += GPU_BLOCK) {
        factor[i] = c.factor[i];
    }
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS; first < n;
         first += static_cast<int64_t>(gridDim.x) * ROWS) {
        const int64_t i = first + row, at = i * WIDTH + column;
        double sum = 0.0;

        __syncthreads(); /* the last tile has been read */
        if (i < n) { from[threadIdx.x] = c.from[at]; }
        __syncthreads();
        if (i >= n) { continue; }
        if (c.base) { sum = (c.scale ? c.sign * c.scale[i] : c.sign) * c.base[at]; }
        for (int l = 0; l < WIDTH; l++) {
            sum += from[row * WIDTH + l] * factor[l * WIDTH + column];
        }
        c.to[at] = sum;
    }
}

/* Threads share the elements of the product: with fewer elements than threads, groups of threads share the rows of a
   tile, and their sums are added in the order of the groups. */
template <int WIDTH>
__global__ void product_kernel(int64_t n, const block_product p, double *parts)
{
    constexpr int ELEMENTS = WIDTH * WIDTH, ROWS = TILE_VALUES / WIDTH;
    constexpr int GROUPS = ELEMENTS < GPU_BLOCK ? GPU_BLOCK / ELEMENTS : 1;
    constexpr int OWN = ELEMENTS > GPU_BLOCK ? ELEMENTS / GPU_BLOCK : 1;
    __shared__ double x[TILE_VALUES], y[TILE_VALUES], sums[GPU_BLOCK];
    const int thread = static_cast<int>(threadIdx.x), group = thread / ELEMENTS;
    double own[OWN] = {0.0};

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS; first < n;
         first += static_cast<int64_t>(gridDim.x) * ROWS) {
        const int rows = static_cast<int>(n - first < ROWS ? n - first : ROWS);

        __syncthreads(); /* the last tile has been read */
        for (int k = thread; k < rows * WIDTH; k += GPU_BLOCK) {
            x[k] = p.x[first * WIDTH + k] * (p.scale ? p.scale[first + k / WIDTH] : 1.0);
            y[k] = p.y[first * WIDTH + k];
        }
        __syncthreads();
        for (int o = 0; o < OWN; o++) {
            const int element = (thread + o * GPU_BLOCK) % ELEMENTS, a = element / WIDTH, b = element % WIDTH;

            for (int i = group; i < rows; i += GROUPS) {
                own[o] += x[i * WIDTH + a] * y[i * WIDTH + b];
            }
        }
    }
    sums[thread] = own[0];
    __syncthreads();
    for (int o = 0; o < OWN; o++) {
        const int element = thread + o * GPU_BLOCK;
        double sum = own[o];

        if (element >= ELEMENTS) { continue; }
        for (int g = 1; g < GROUPS; g++) {
            sum += sums[g * ELEMENTS + element];
        }
        parts[static_cast<int64_t>(blockIdx.x) * ELEMENTS + element] = sum;
    }
}

/* An element of a product from its parts. */
__global__ void add_parts(int elements, unsigned count, const double *parts, double *out)
{
    const int element = static_cast<int>(blockIdx.x * GPU_BLOCK + threadIdx.x);
    double sum = 0.0;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (element >= elements) { return; }
#pragma unroll 8
    for (unsigned part = 0; part < count; part++) {
        sum += parts[static_cast<int64_t>(part) * elements + element];
    }
    out[element] = sum;
}

template <int WIDTH>
tess_status run_width(tess_context *ctx, const block_pass *pass)
{
    constexpr int ELEMENTS = WIDTH * WIDTH;
    const int64_t tiles = (pass->n * WIDTH + TILE_VALUES - 1) / TILE_VALUES;
    const unsigned count = static_cast<unsigned>(tiles < MOST_PARTS ? tiles : MOST_PARTS);
    double *parts = nullptr;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < pass->combinations && status == TESS_SUCCESS; c++) {
        status = gpu_launch(ctx, DOING, combine_kernel<WIDTH>, gpu_grid(ctx, pass->n * WIDTH, 8), 0, pass->n,
                            pass->combine[c]);
    }
    if (status == TESS_SUCCESS && pass->products > 0) {
        status = gpu_parts(ctx, static_cast<int64_t>(count) * ELEMENTS, &parts);
    }
    for (int p = 0; p < pass->products && status == TESS_SUCCESS; p++) {
        status = gpu_launch(ctx, DOING, product_kernel<WIDTH>, count, 0, pass->n, pass->multiply[p], parts);
        if (status != TESS_SUCCESS) { break; }
        status = gpu_launch(ctx, DOING, add_parts, gpu_grid(ctx, ELEMENTS, 8), 0, ELEMENTS, count, parts,
                            pass->sums + p * ELEMENTS);
    }
    return status;
}

} // namespace

static tess_status run(tess_context *ctx, const block_pass *pass)
{
    gpu_scope scope(ctx);

    switch (pass->width) {
    case 2: return run_width<2>(ctx, pass);
    case 4: return run_width<4>(ctx, pass);
    case 8: return run_width<8>(ctx, pass);
    case 16: return run_width<16>(ctx, pass);
    default: return run_width<TESS_MAX_COLUMNS>(ctx, pass);
    }
}

extern "C" const block_ops *block_gpu_ops(void)
{
    static const block_ops table = {run};

    return &table;
}
