/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of sparse matrices on a GPU: columns and values. A team adds the products of one entry of A's row after
 * another, so that each sum has the order of that row, whichever threads compute it.
 */
#include "matrix/product_table.cuh"

/* Rows up to this length are sorted by counting smaller columns, longer ones by a network. */
enum { MOST_RANKED = 2048 };

/* ---- a row ---- */

/* A column's rank is the number of smaller ones. */
template <int GROUP, typename INDEX>
__device__ static inline void write_by_rank(const product_task &t, const team_table<INDEX> &table, int32_t first,
                                            int lane)
{
    const int count = *table.count;

    for (int e = lane; e < count; e += GROUP) {
        const int32_t column = table.column[table.taken[e]];
        int32_t to = first;

        for (int other = 0; other < count; other++) {
            to += table.column[table.taken[other]] < column;
        }
        t.c.col_ind[to] = column;
        if (t.values) { t.c.val[to] = table.sum[table.taken[e]]; }
    }
}

/* Values to columns that are there. */
template <int GROUP, typename INDEX>
__device__ static inline void write_values(const product_task &t, const team_table<INDEX> &table, int32_t first,
                                           int32_t end, int lane)
{
    for (int32_t e = first + lane; t.values && e < end; e += GROUP) {
        t.c.val[e] = table.sum[take_place(table, t.c.col_ind[e])];
    }
}

template <typename INDEX>
__device__ static inline void write_sorted(const product_task &t, const team_table<INDEX> &table, int32_t first,
                                           int lane)
{
    const int count = *table.count;

    for (int e = lane; e < count; e += (int)blockDim.x) {
        t.c.col_ind[first + e] = table.column[table.taken[e]];
    }
    __syncthreads();
    sort_by_block(t.c.col_ind + first, count);
    write_values<GPU_BLOCK>(t, table, first, first + count, lane);
}

template <int GROUP, bool KNOWN, typename INDEX>
__device__ static inline void write_row(const product_task &t, const team_table<INDEX> &table, const team_row &own)
{
    const int32_t first = own.row >= 0 ? t.c.row_ptr[own.row] : 0, end = own.row >= 0 ? t.c.row_ptr[own.row + 1] : 0;

    if constexpr (KNOWN) {
        write_values<GROUP>(t, table, first, end, own.lane);
    } else if constexpr (GROUP <= GPU_WAVE) {
        write_by_rank<GROUP>(t, table, first, own.lane);
    } else if (*table.count <= MOST_RANKED) { /* the same for all threads of the block */
        write_by_rank<GROUP>(t, table, first, own.lane);
    } else {
        write_sorted(t, table, first, own.lane);
    }
}

/* For all threads of a team. */
template <int GROUP, bool KNOWN, typename INDEX>
__device__ static inline void compute_row(const product_task &t, const team_table<INDEX> &table, const team_row &own)
{
    clear_table<GROUP>(table, own.lane);
    if constexpr (KNOWN) {
        const int32_t end = own.row >= 0 ? t.c.row_ptr[own.row + 1] : 0;

        for (int32_t e = own.row >= 0 ? t.c.row_ptr[own.row] + own.lane : 0; e < end; e += GROUP) {
            (void)take_place(table, t.c.col_ind[e]);
        }
        sync_team<GROUP>();
    }
    visit_products<GROUP, true>(t, own, [&](double factor, int32_t column, double value) {
        const uint32_t at = take_place(table, column);

        if (t.values) { table.sum[at] += factor * value; }
    });
    write_row<GROUP, KNOWN>(t, table, own);
}

/* ---- kernels ---- */

template <int BITS, int GROUP, int THREADS, bool KNOWN>
__global__ static void __launch_bounds__(THREADS)
    compute_rows_kernel(const product_task t, const int32_t *list, int64_t rows)
{
    enum { TEAMS = THREADS / GROUP, SIZE = 1 << BITS };
    __shared__ double sum[TEAMS][SIZE];
    __shared__ int32_t column[TEAMS][SIZE];
    __shared__ uint16_t taken[TEAMS][SIZE / 4 * 3];
    __shared__ int count[TEAMS];
    const int team = (int)threadIdx.x / GROUP;
    const team_table<uint16_t> table = {column[team], sum[team], taken[team], &count[team], BITS};

    compute_row<GROUP, KNOWN>(t, table,
                              open_row(t, list, rows, (int64_t)blockIdx.x * TEAMS + team, (int)threadIdx.x % GROUP));
}

template <bool KNOWN>
__global__ static void __launch_bounds__(GPU_BLOCK)
    compute_large_rows_kernel(const product_task t, const int32_t *list, int64_t rows, const global_tables tables)
{
    __shared__ int count;
    const team_table<int32_t> table = own_table(tables, &count);

    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        compute_row<GPU_BLOCK, KNOWN>(t, table, open_row(t, list, rows, r, (int)threadIdx.x));
        __syncthreads();
    }
}

/* ---- launches ---- */

template <int BITS, int GROUP, int THREADS, bool KNOWN>
static void launch_compute(tess_context *ctx, const product_task &t, const row_bins *bins, int b)
{
    const int64_t rows = bins->rows[b], teams = THREADS / GROUP;
    const int32_t *list = row_bins_list(bins, b);

    if (rows == 0) { return; }
    compute_rows_kernel<BITS, GROUP, THREADS, KNOWN>
        <<<(unsigned)((rows + teams - 1) / teams), THREADS, 0, gpu_stream_of(ctx)>>>(t, list, rows);
}

template <bool KNOWN>
static tess_status compute_large_rows(tess_context *ctx, const product_task &t, const row_bins *bins, int b)
{
    const int64_t rows = bins->rows[b];
    const int32_t *list = row_bins_list(bins, b);
    global_tables tables = {};
    tess_status status = TESS_SUCCESS;

    if (rows == 0) { return TESS_SUCCESS; }
    TESS_TRY(global_tables_make(ctx, rows, bins->largest, true, &tables));
    compute_large_rows_kernel<KNOWN>
        <<<(unsigned)tables.blocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, list, rows, tables);
    status = gpu_check_launch(ctx, "a product of matrices");
cleanup:
    global_tables_free(ctx, &tables);
    return status;
}

template <bool KNOWN>
static tess_status compute_bins(tess_context *ctx, const product_task &t, const row_bins *bins)
{
    launch_compute<5, 4, 256, KNOWN>(ctx, t, bins, 0);
    launch_compute<6, 4, 128, KNOWN>(ctx, t, bins, 1);
    launch_compute<8, 16, 128, KNOWN>(ctx, t, bins, 2);
    launch_compute<10, 32, 64, KNOWN>(ctx, t, bins, 3);
    launch_compute<11, GPU_BLOCK, GPU_BLOCK, KNOWN>(ctx, t, bins, 4);
    const tess_status status = compute_large_rows<KNOWN>(ctx, t, bins, 5);

    return status == TESS_SUCCESS ? gpu_check_launch(ctx, "a product of matrices") : status;
}

tess_status product_compute_rows(tess_context *ctx, const product_task &t, bool known)
{
    const bin_limits limits = {6, {24, 48, 192, 768, 1536, INT32_MAX}}; /* three quarters of a table */
    row_bins bins = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(row_bins_make(ctx, t.c.nrows, {t.c.row_ptr, true}, limits, &bins));
    status = known ? compute_bins<true>(ctx, t, &bins) : compute_bins<false>(ctx, t, &bins);
cleanup:
    row_bins_free(ctx, &bins);
    return status;
}
