/* SPDX-License-Identifier: Apache-2.0 */
/* Products of sparse matrices on a GPU: how many entries rows have at most, and how many some of them have. */
#include "device/gpu/wave_sums.cuh"
#include "matrix/product_sample.h"
#include "matrix/product_table.cuh"

/* Threads that bound a row, and bytes that tables in global memory take together at most. */
enum { BOUND_GROUP = 8, COUNT_BLOCKS = 16, GLOBAL_BLOCKS = 2 };
/* Threads of a sampled row and of a block, and the row's table. */
enum { SAMPLE_GROUP = 32, SAMPLE_THREADS = 64, SAMPLE_BITS = 10 };
static const int64_t most_global_bytes = INT64_C(1) << 28;

/* At most so many entries: the products of the row, or all columns. */
__global__ static void __launch_bounds__(GPU_BLOCK) bound_rows_kernel(const product_task t)
{
    const int64_t teams = (int64_t)gridDim.x * GPU_BLOCK / BOUND_GROUP;
    const int64_t own = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / BOUND_GROUP;
    const int lane = (int)threadIdx.x % BOUND_GROUP;

    for (int64_t base = 0; base < t.a.nrows; base += teams) {
        const int64_t i = base + own;
        const int32_t end = i < t.a.nrows ? t.a.row_ptr[i + 1] : 0;
        int64_t sum = 0;

        for (int32_t k = i < t.a.nrows ? t.a.row_ptr[i] + lane : 0; k < end; k += BOUND_GROUP) {
            const int32_t row = t.a.col_ind[k];

            sum += t.b.row_ptr[row + 1] - t.b.row_ptr[row];
        }
        sum = lanes_sum_down(sum, BOUND_GROUP);
        if (i < t.a.nrows && lane == 0) { t.c.row_ptr[i + 1] = (int32_t)min(sum, t.b.ncols); }
    }
}

/* The number of columns of a row of the product, or its bound if they are too many for the table. For all threads of a
   team. */
template <int GROUP, typename INDEX>
__device__ static inline int count_row(const product_task &t, const team_table<INDEX> &table, const team_row &own)
{
    const int most = (1 << table.bits) / 4 * 3;

    clear_table<GROUP>(table, own.lane);
    visit_products<GROUP, false>(t, own,
                                 [&](double, int32_t column, double) { (void)take_place(table, column, most); });
    sync_team<GROUP>();
    return *table.count <= most || own.row < 0 ? *table.count : t.c.row_ptr[own.row + 1];
}

/* c.row_ptr[i + 1] is the bound of row i. */
__global__ static void __launch_bounds__(SAMPLE_THREADS)
    sample_rows_kernel(const product_task t, const bin_limits limits, int64_t rows, product_sample *out)
{
    enum { TEAMS = SAMPLE_THREADS / SAMPLE_GROUP };
    __shared__ int32_t column[TEAMS][1 << SAMPLE_BITS];
    __shared__ int count[TEAMS];
    const int team = (int)threadIdx.x / SAMPLE_GROUP, lane = (int)threadIdx.x % SAMPLE_GROUP;
    const team_table<int32_t> table = {column[team], nullptr, nullptr, nullptr, &count[team], SAMPLE_BITS};
    const int64_t s = (int64_t)blockIdx.x * TEAMS + team;
    const team_row own =
        open_row(t, nullptr, t.a.nrows, s < rows ? product_sampled_row(s, rows, t.a.nrows) : t.a.nrows, lane);
    const int found = count_row<SAMPLE_GROUP>(t, table, own);

    if (own.row < 0 || lane != 0) { return; }
    atomicAdd(&out->entries, (unsigned long long)found);
    atomicMax(&out->most[find_bin(limits, t.c.row_ptr[own.row + 1])], found);
}

/* ---- launches ---- */

tess_status global_tables_make(tess_context *ctx, int64_t rows, int64_t most, global_tables *out)
{
    const int64_t resident = (int64_t)gpu_state_of(ctx)->multiprocessors * GLOBAL_BLOCKS;
    int64_t size = 16, fitting = 0;
    tess_status status = TESS_SUCCESS;

    *out = {};
    out->bits = 4;
    out->most = most;
    for (; size < 2 * most; size *= 2) {
        out->bits += 1;
    }
    fitting = most_global_bytes / (size * (int64_t)(sizeof *out->column + sizeof *out->sum));
    fitting = fitting < 1 ? 1 : fitting;
    out->blocks = rows < resident ? rows : resident;
    out->blocks = out->blocks < fitting ? out->blocks : fitting;
    TESS_TRY(tess_device_allocate(ctx, out->blocks * size, sizeof *out->column, (void **)&out->column));
    TESS_TRY(tess_device_allocate(ctx, out->blocks * size, sizeof *out->sum, (void **)&out->sum));
    TESS_TRY(tess_device_allocate(ctx, out->blocks * most, sizeof *out->taken, (void **)&out->taken));
    status = tess_device_allocate(ctx, out->blocks * most, sizeof *out->key, (void **)&out->key);
cleanup:
    return status;
}

void global_tables_free(tess_context *ctx, global_tables *g)
{
    const int64_t entries = g->blocks << g->bits;

    tess_device_release(ctx, g->column, entries, sizeof *g->column);
    tess_device_release(ctx, g->sum, entries, sizeof *g->sum);
    tess_device_release(ctx, g->taken, g->blocks * g->most, sizeof *g->taken);
    tess_device_release(ctx, g->key, g->blocks * g->most, sizeof *g->key);
}

tess_status product_sample_rows(tess_context *ctx, const product_task &t, const bin_limits &limits, product_sample *out)
{
    const int64_t teams = SAMPLE_THREADS / SAMPLE_GROUP;
    product_sample *on_device = NULL;
    tess_status status = TESS_SUCCESS;

    *out = {};
    out->rows = product_samples(t.a.nrows);
    TESS_TRY(tess_device_upload(ctx, out, 1, sizeof *out, (void **)&on_device));
    bound_rows_kernel<<<gpu_grid(ctx, t.a.nrows * BOUND_GROUP, COUNT_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "bounding the rows of a product"));
    if (out->rows > 0) {
        sample_rows_kernel<<<(unsigned)((out->rows + teams - 1) / teams), SAMPLE_THREADS, 0, gpu_stream_of(ctx)>>>(
            t, limits, out->rows, on_device);
    }
    TESS_TRY(gpu_check_launch(ctx, "sampling the rows of a product"));
    status = ctx->backend->download(ctx, out, on_device, sizeof *out);
cleanup:
    tess_device_release(ctx, on_device, 1, sizeof *out);
    return status;
}
