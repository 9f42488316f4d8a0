/* SPDX-License-Identifier: Apache-2.0 */
/* Products of sparse matrices on a GPU: new values of a product whose columns are known. */
#include "matrix/product_rows.cuh"

/* ---- a row ---- */

/* For all threads of a team. */
template <int GROUP, typename INDEX>
__device__ static inline void compute_again(const product_task &t, const team_table<INDEX> &table, const team_row &own,
                                            int most)
{
    const int32_t first = own.row >= 0 ? t.c.row_ptr[own.row] : 0, end = own.row >= 0 ? t.c.row_ptr[own.row + 1] : 0;

    clear_table<GROUP>(table, own.lane);
    for (int32_t e = first + own.lane; e < end; e += GROUP) {
        (void)take_place(table, t.c.col_ind[e], most);
    }
    sync_team<GROUP>();
    add_products<GROUP>(t, table, own, most);
    for (int32_t e = first + own.lane; e < end; e += GROUP) {
        t.c.val[e] = table.sum[find_place(table, t.c.col_ind[e])];
    }
}

/* ---- kernels ---- */

template <int BITS, int GROUP, int THREADS>
__global__ static void __launch_bounds__(THREADS)
    compute_again_kernel(const product_task t, const int32_t *list, int64_t rows)
{
    enum { TEAMS = THREADS / GROUP, SIZE = 1 << BITS };
    __shared__ double sum[TEAMS][SIZE];
    __shared__ int32_t column[TEAMS][SIZE];
    __shared__ int count[TEAMS];
    const int team = (int)threadIdx.x / GROUP;
    const team_table<uint16_t> table = {column[team], sum[team], nullptr, nullptr, &count[team], BITS};

    compute_again<GROUP>(t, table,
                         open_row(t, list, rows, (int64_t)blockIdx.x * TEAMS + team, (int)threadIdx.x % GROUP),
                         table_size<BITS>::MOST);
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    compute_large_again_kernel(const product_task t, const int32_t *list, int64_t rows, const global_tables tables)
{
    __shared__ int count;
    const team_table<int32_t> table = own_table(tables, &count);

    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        compute_again<GPU_BLOCK>(t, table, open_row(t, list, rows, r, (int)threadIdx.x), (int)tables.most);
        __syncthreads();
    }
}

/* ---- launches ---- */

template <int BITS, int GROUP, int THREADS>
static void launch_again(tess_context *ctx, const product_task &t, const row_bins *bins, int b)
{
    const int64_t rows = bins->rows[b], teams = THREADS / GROUP;

    if (rows == 0) { return; }
    compute_again_kernel<BITS, GROUP, THREADS>
        <<<(unsigned)((rows + teams - 1) / teams), THREADS, 0, gpu_stream_of(ctx)>>>(t, row_bins_list(bins, b), rows);
}

static tess_status compute_large_again(tess_context *ctx, const product_task &t, const row_bins *bins, int b)
{
    const int64_t rows = bins->rows[b];
    global_tables tables = {};
    tess_status status = TESS_SUCCESS;

    if (rows == 0) { return TESS_SUCCESS; }
    TESS_TRY(global_tables_make(ctx, rows, bins->largest, &tables));
    compute_large_again_kernel<<<(unsigned)tables.blocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, row_bins_list(bins, b),
                                                                                              rows, tables);
    status = gpu_check_launch(ctx, "new values of a product of matrices");
cleanup:
    global_tables_free(ctx, &tables);
    return status;
}

tess_status product_compute_again(tess_context *ctx, const product_task &t)
{
    const bin_limits limits = product_limits();
    const bool wide = product_is_wide(t);
    row_bins bins = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(row_bins_make(ctx, t.c.nrows, {t.c.row_ptr, true}, limits, &bins));
    launch_again<5, 4, 256>(ctx, t, &bins, 0);
    if (wide) {
        launch_again<6, 16, 128>(ctx, t, &bins, 1);
    } else {
        launch_again<6, 4, 128>(ctx, t, &bins, 1);
    }
    launch_again<7, 16, 128>(ctx, t, &bins, 2);
    launch_again<8, 16, 128>(ctx, t, &bins, 3);
    launch_again<10, 32, 64>(ctx, t, &bins, 4);
    launch_again<11, GPU_BLOCK, GPU_BLOCK>(ctx, t, &bins, 5);
    TESS_TRY(compute_large_again(ctx, t, &bins, PRODUCT_SIZES));
    status = gpu_check_launch(ctx, "new values of a product of matrices");
cleanup:
    row_bins_free(ctx, &bins);
    return status;
}
