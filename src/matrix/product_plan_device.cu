/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of sparse matrices on a GPU for one new set of values after another: a plan says by a byte for each product
 * which entry of its row it goes to, so that no column is read nor searched. Sums have the order of the first time.
 */
#include "device/gpu/scan_grid.cuh"
#include "device/gpu/wave_sums.cuh"
#include "matrix/product_rows.cuh"

/* Codes of a row begin at a multiple of UNIT, and are for rows of up to LONGEST entries. A row of more than
   MOST_PRODUCTS products would keep a team too long. */
enum { UNIT = 4, LONGEST = 256, MOST_PRODUCTS = 1 << 16, PLAN_THREADS = 128, PLAN_GROUP = 8, PLAN_BLOCKS = 16 };

/* The longest row of the product, and the most products of a row. */
struct plan_bounds {
    int longest, products;
};

__device__ static inline int32_t row_length(const device_csr &m, int64_t i)
{
    return m.row_ptr[i + 1] - m.row_ptr[i];
}

/* ---- making a plan ---- */

/* first[i + 1] := units of row i. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_products_kernel(const product_task t, int32_t *first, plan_bounds *bounds)
{
    __shared__ plan_bounds of_block;
    const int64_t teams = (int64_t)gridDim.x * GPU_BLOCK / PLAN_GROUP;
    const int lane = (int)threadIdx.x % PLAN_GROUP, in_wave = (int)threadIdx.x % GPU_WAVE / PLAN_GROUP;
    plan_bounds own = {0, 0};

    if (threadIdx.x == 0) { of_block = {0, 0}; }
    __syncthreads();
    for (int64_t i = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / PLAN_GROUP; i - in_wave < t.a.nrows;
         i += teams) {
        const bool is_row = i < t.a.nrows;
        int32_t products = 0;

        for (int32_t k = is_row ? t.a.row_ptr[i] + lane : 0; is_row && k < t.a.row_ptr[i + 1]; k += PLAN_GROUP) {
            products += min(row_length(t.b, t.a.col_ind[k]), (int32_t)MOST_PRODUCTS);
            products = min(products, (int32_t)MOST_PRODUCTS);
        }
        products = lanes_sum(products, PLAN_GROUP);
        if (!is_row || lane != 0) { continue; }
        first[i + 1] = (products + UNIT - 1) / UNIT;
        own = {max(own.longest, row_length(t.c, i)), max(own.products, products)};
    }
    atomicMax(&of_block.longest, own.longest);
    atomicMax(&of_block.products, own.products);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(&bounds->longest, of_block.longest);
        atomicMax(&bounds->products, of_block.products);
    }
}

/* The place of a column in a sorted row that has it. */
__device__ static inline int find_column(const int32_t *columns, int count, int32_t column)
{
    int low = 0, high = count - 1;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (columns[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

__device__ static inline int64_t first_code(const device_csr_plan &plan, int64_t row)
{
    return (int64_t)plan.first[row] * UNIT;
}

__global__ static void __launch_bounds__(PLAN_THREADS)
    encode_products_kernel(const product_task t, const device_csr_plan plan)
{
    extern __shared__ int32_t plan_columns[];
    const int team = (int)threadIdx.x / PLAN_GROUP;
    const team_row own = open_row(t, nullptr, t.c.nrows, (int64_t)blockIdx.x * (PLAN_THREADS / PLAN_GROUP) + team,
                                  (int)threadIdx.x % PLAN_GROUP);
    int32_t *columns = plan_columns + (int64_t)team * plan.longest;
    const int32_t begin = own.row >= 0 ? t.c.row_ptr[own.row] : 0, count = own.row >= 0 ? row_length(t.c, own.row) : 0;
    uint8_t *code = own.row >= 0 ? plan.code + first_code(plan, own.row) : NULL;

    for (int e = own.lane; e < count; e += PLAN_GROUP) {
        columns[e] = t.c.col_ind[begin + e];
    }
    sync_team<PLAN_GROUP>();
    for (int32_t k = own.begin; k < own.end; k++) {
        const int64_t row = t.a.col_ind[k];
        const int32_t from = t.b.row_ptr[row], length = row_length(t.b, row);

        for (int32_t m = own.lane; m < length; m += PLAN_GROUP) {
            code[m] = (uint8_t)find_column(columns, count, t.b.col_ind[from + m]);
        }
        code += length;
    }
}

/* ---- new values ---- */

/* An entry of b for the calling thread, and where its product goes; place -1: none. */
struct planned_entry {
    int place;
    double value;
};

/* Entry m of a row of b that begins at `from`. */
__device__ static inline planned_entry load_planned(const product_task &t, const uint8_t *code, int32_t from, int32_t m,
                                                    int32_t length)
{
    planned_entry e = {-1, 0.0};

    if (m < length) { e = {code[m], t.b.val[from + m]}; }
    return e;
}

/* As visit_in_wave with values: one entry of a after another, the next entries of b loaded before. */
template <int GROUP>
__device__ static inline void add_planned(const product_task &t, const team_row &own, const uint8_t *code, double *sum)
{
    const int length = own.end - own.begin, steps = GPU_WAVE_MAX(length);

    for (int base = 0; base < steps; base += GROUP) {
        const int k = base + own.lane, last_step = min(GROUP, steps - base);
        int32_t first = 0, of_b = 0;
        double factor = 0.0;

        if (k < length) {
            const int64_t row = t.a.col_ind[own.begin + k];

            first = t.b.row_ptr[row];
            of_b = t.b.row_ptr[row + 1] - first;
            factor = t.a.val[own.begin + k];
        }
        int32_t from = GPU_SHUFFLE(first, 0, GROUP), count = GPU_SHUFFLE(of_b, 0, GROUP);
        planned_entry next = load_planned(t, code, from, own.lane, count);

        for (int s = 0; s < last_step; s++) {
            const double of_a = GPU_SHUFFLE(factor, s, GROUP);
            const planned_entry e = next;
            const uint8_t *codes = code;
            const int32_t begin = from, end = count;

            code += count;
            if (s + 1 < last_step) { /* the same for all threads of the wave */
                from = GPU_SHUFFLE(first, s + 1, GROUP);
                count = GPU_SHUFFLE(of_b, s + 1, GROUP);
                next = load_planned(t, code, from, own.lane, count);
            }
            if (e.place >= 0) { add_term(&sum[e.place], of_a, e.value); }
            for (int32_t m = own.lane + GROUP; m < end; m += GROUP) {
                add_term(&sum[codes[m]], of_a, t.b.val[begin + m]);
            }
            GPU_SYNC_WAVE();
        }
    }
}

template <int GROUP>
__global__ static void __launch_bounds__(PLAN_THREADS)
    multiply_planned_kernel(const product_task t, const device_csr_plan plan)
{
    extern __shared__ double plan_sums[];
    const int team = (int)threadIdx.x / GROUP;
    const team_row own =
        open_row(t, nullptr, t.c.nrows, (int64_t)blockIdx.x * (PLAN_THREADS / GROUP) + team, (int)threadIdx.x % GROUP);
    double *sum = plan_sums + (int64_t)team * plan.longest;
    const int32_t begin = own.row >= 0 ? t.c.row_ptr[own.row] : 0, count = own.row >= 0 ? row_length(t.c, own.row) : 0;

    for (int e = own.lane; e < count; e += GROUP) {
        sum[e] = 0.0;
    }
    sync_team<GROUP>();
    add_planned<GROUP>(t, own, plan.code + (own.row >= 0 ? first_code(plan, own.row) : 0), sum);
    for (int e = own.lane; e < count; e += GROUP) {
        t.c.val[begin + e] = sum[e];
    }
}

/* ---- launches ---- */

static unsigned blocks_of(int64_t rows, int group)
{
    const int64_t teams = PLAN_THREADS / group;

    return (unsigned)((rows + teams - 1) / teams);
}

static size_t space_of(int group, int32_t longest, size_t size)
{
    return (size_t)(PLAN_THREADS / group) * (size_t)longest * size;
}

/* first, and the space for codes; none if rows are too long. */
static tess_status open_plan(tess_context *ctx, const product_task &t, device_csr_plan *plan)
{
    const unsigned grid = gpu_grid(ctx, t.a.nrows * PLAN_GROUP, PLAN_BLOCKS);
    plan_bounds bounds = {0, 0}, *on_device = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_upload(ctx, &bounds, 1, sizeof bounds, (void **)&on_device));
    TESS_TRY(tess_device_allocate(ctx, plan->nrows + 1, sizeof *plan->first, (void **)&plan->first));
    count_products_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, plan->first, on_device);
    TESS_TRY(gpu_check_launch(ctx, "counting the terms of a product"));
    TESS_TRY(ctx->backend->download(ctx, &bounds, on_device, sizeof bounds));
    plan->longest = bounds.longest;
    if (bounds.longest == 0 || bounds.longest > LONGEST || bounds.products >= MOST_PRODUCTS) { goto cleanup; }
    TESS_TRY(gpu_sum_lengths(ctx, plan->nrows, plan->first, &plan->units));
    if (plan->units > INT32_MAX) { goto cleanup; }
    status = tess_device_allocate(ctx, plan->units * UNIT, sizeof *plan->code, (void **)&plan->code);
cleanup:
    tess_device_release(ctx, on_device, 1, sizeof bounds);
    return status;
}

extern "C" tess_status product_make_plan(tess_context *ctx, const device_csr *a, const device_csr *b,
                                         const device_csr *c, device_csr_plan *plan)
{
    gpu_scope scope(ctx);
    const product_task t = {*a, *b, *c, true};
    tess_status status = TESS_SUCCESS;

    *plan = {};
    plan->nrows = c->nrows;
    TESS_TRY(open_plan(ctx, t, plan));
    if (plan->code) {
        encode_products_kernel<<<blocks_of(c->nrows, PLAN_GROUP), PLAN_THREADS,
                                 space_of(PLAN_GROUP, plan->longest, sizeof(int32_t)), gpu_stream_of(ctx)>>>(t, *plan);
        TESS_TRY(gpu_check_launch(ctx, "planning a product of matrices"));
    }
cleanup:
    if (status != TESS_SUCCESS || !plan->code) { device_csr_plan_release(ctx, plan); }
    plan->made = status == TESS_SUCCESS;
    return status;
}

template <int GROUP>
static tess_status launch_planned(tess_context *ctx, const product_task &t, const device_csr_plan *plan)
{
    multiply_planned_kernel<GROUP><<<blocks_of(t.c.nrows, GROUP), PLAN_THREADS,
                                     space_of(GROUP, plan->longest, sizeof(double)), gpu_stream_of(ctx)>>>(t, *plan);
    return gpu_check_launch(ctx, "planned values of a product");
}

/* Rows of b that are longer on the average get more threads. */
tess_status product_compute_planned(tess_context *ctx, const product_task &t, const device_csr_plan *plan)
{
    const int64_t mean = t.b.nrows > 0 ? t.b.nnz / t.b.nrows : 0;

    return mean < 8    ? launch_planned<8>(ctx, t, plan)
           : mean < 20 ? launch_planned<16>(ctx, t, plan)
                       : launch_planned<32>(ctx, t, plan);
}
