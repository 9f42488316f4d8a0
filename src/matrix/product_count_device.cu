/* SPDX-License-Identifier: Apache-2.0 */
/* Products of sparse matrices on a GPU: how many entries each row has. */
#include "matrix/product_table.cuh"

/* Threads that bound a row, and bytes that tables in global memory take together at most. */
enum { BOUND_GROUP = 8, COUNT_BLOCKS = 16, GLOBAL_BLOCKS = 2 };
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
        for (int distance = BOUND_GROUP / 2; distance > 0; distance /= 2) {
            sum += GPU_SHUFFLE_DOWN(sum, distance, BOUND_GROUP);
        }
        if (i < t.a.nrows && lane == 0) { t.c.row_ptr[i + 1] = (int32_t)min(sum, t.b.ncols); }
    }
}

/* For all threads of a team. */
template <int GROUP, typename INDEX>
__device__ static inline void count_row(const product_task &t, const team_table<INDEX> &table, const team_row &own)
{
    clear_table<GROUP>(table, own.lane);
    visit_products<GROUP, false>(t, own, [&](double, int32_t column, double) { (void)take_place(table, column); });
    sync_team<GROUP>();
    if (own.row >= 0 && own.lane == 0) { t.c.row_ptr[own.row + 1] = *table.count; }
}

template <int BITS, int GROUP, int THREADS>
__global__ static void __launch_bounds__(THREADS)
    count_rows_kernel(const product_task t, const int32_t *list, int64_t rows)
{
    enum { TEAMS = THREADS / GROUP };
    __shared__ int32_t column[TEAMS][1 << BITS];
    __shared__ int count[TEAMS];
    const int team = (int)threadIdx.x / GROUP;
    const team_table<int32_t> table = {column[team], nullptr, nullptr, &count[team], BITS};

    count_row<GROUP>(t, table, open_row(t, list, rows, (int64_t)blockIdx.x * TEAMS + team, (int)threadIdx.x % GROUP));
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    count_large_rows_kernel(const product_task t, const int32_t *list, int64_t rows, const global_tables tables)
{
    __shared__ int count;
    const team_table<int32_t> table = own_table(tables, &count);

    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        count_row<GPU_BLOCK>(t, table, open_row(t, list, rows, r, (int)threadIdx.x));
        __syncthreads();
    }
}

/* ---- launches ---- */

tess_status global_tables_make(tess_context *ctx, int64_t rows, int64_t most, bool values, global_tables *out)
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
    fitting = most_global_bytes / (size * (int64_t)(sizeof *out->column + (values ? sizeof *out->sum : 0)));
    fitting = fitting < 1 ? 1 : fitting;
    out->blocks = rows < resident ? rows : resident;
    out->blocks = out->blocks < fitting ? out->blocks : fitting;
    TESS_TRY(tess_device_allocate(ctx, out->blocks * size, sizeof *out->column, (void **)&out->column));
    if (!values) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, out->blocks * size, sizeof *out->sum, (void **)&out->sum));
    status = tess_device_allocate(ctx, out->blocks * most, sizeof *out->taken, (void **)&out->taken);
cleanup:
    return status;
}

void global_tables_free(tess_context *ctx, global_tables *g)
{
    const int64_t entries = g->blocks << g->bits;

    tess_device_release(ctx, g->column, entries, sizeof *g->column);
    tess_device_release(ctx, g->sum, entries, sizeof *g->sum);
    tess_device_release(ctx, g->taken, g->blocks * g->most, sizeof *g->taken);
}

template <int BITS, int GROUP, int THREADS>
static void launch_count(tess_context *ctx, const product_task &t, const row_bins *bins, int b)
{
    const int64_t rows = bins->rows[b], teams = THREADS / GROUP;
    const int32_t *list = row_bins_list(bins, b);

    if (rows == 0) { return; }
    count_rows_kernel<BITS, GROUP, THREADS>
        <<<(unsigned)((rows + teams - 1) / teams), THREADS, 0, gpu_stream_of(ctx)>>>(t, list, rows);
}

static tess_status count_large_rows(tess_context *ctx, const product_task &t, const row_bins *bins, int b)
{
    const int64_t rows = bins->rows[b];
    const int32_t *list = row_bins_list(bins, b);
    global_tables tables = {};
    tess_status status = TESS_SUCCESS;

    if (rows == 0) { return TESS_SUCCESS; }
    TESS_TRY(global_tables_make(ctx, rows, bins->largest, false, &tables));
    count_large_rows_kernel<<<(unsigned)tables.blocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, list, rows, tables);
    status = gpu_check_launch(ctx, "counting the entries of a product");
cleanup:
    global_tables_free(ctx, &tables);
    return status;
}

tess_status product_count_rows(tess_context *ctx, const product_task &t)
{
    const bin_limits limits = {5, {48, 192, 768, 6144, INT32_MAX, INT32_MAX}}; /* three quarters of a table */
    row_bins bins = {};
    tess_status status = TESS_SUCCESS;

    bound_rows_kernel<<<gpu_grid(ctx, t.a.nrows * BOUND_GROUP, COUNT_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "bounding the rows of a product"));
    TESS_TRY(row_bins_make(ctx, t.a.nrows, {t.c.row_ptr + 1, false}, limits, &bins));
    launch_count<6, 4, 256>(ctx, t, &bins, 0);
    launch_count<8, 16, 256>(ctx, t, &bins, 1);
    launch_count<10, 32, 128>(ctx, t, &bins, 2);
    launch_count<13, GPU_BLOCK, GPU_BLOCK>(ctx, t, &bins, 3);
    TESS_TRY(count_large_rows(ctx, t, &bins, 4));
    status = gpu_check_launch(ctx, "counting the entries of a product");
cleanup:
    row_bins_free(ctx, &bins);
    return status;
}
