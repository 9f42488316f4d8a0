/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products on a GPU: chooses kernel and plan, and has the kernel that adds up parts. */
#include "dense/gemv_device.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"

namespace {

constexpr char DOING[] = "a dense product";

/* Element i of column k from its parts. `LANES` neighbouring threads of a wave share an element. */
template <typename T, int LANES>
__global__ void add_parts(const gemv_task task)
{
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x, element = thread / LANES;
    const int lane = static_cast<int>(thread % LANES);
    const T *parts = static_cast<const T *>(task.parts);
    T sum = 0;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (element >= task.g.y.nrows * task.g.y.ncols) { return; } /* groups leave as a whole */
    const int k = element >= task.g.y.nrows ? 1 : 0;
    const int64_t i = element - k * task.g.y.nrows;

#pragma unroll 8
    for (int64_t p = lane; p < task.plan.parts; p += LANES) {
        sum += GPU_LOAD_L2(&parts[gemv_part_at(task, p, k, i)]);
    }
    sum = lanes_sum_down(sum, LANES);
    if (lane == 0) { gemv_store(&task.g, i, k, static_cast<double>(sum)); }
}

/* Transposed, there are many parts and few elements: each element gets a wave. */
auto parts_kernel(const tess_gemv_args &g) -> void (*)(const gemv_task)
{
    const bool transposed = g.operation == TESS_OP_TRANSPOSE;

    if (g.arithmetic == TESS_ARITHMETIC_FP32) { return transposed ? add_parts<float, GPU_WAVE> : add_parts<float, 1>; }
    return transposed ? add_parts<double, GPU_WAVE> : add_parts<double, 1>;
}

/* The second kernel may start while the first drains. It waits for the first before it reads. */
tess_status launch_parts(tess_context *ctx, const gemv_task &task)
{
    const int64_t lanes = task.g.operation == TESS_OP_TRANSPOSE ? GPU_WAVE : 1;
    const int64_t blocks = gemv_divide_up(task.g.y.nrows * task.g.y.ncols * lanes, GPU_BLOCK);

    if (!gpu_state_of(ctx)->can_overlap) {
        return gpu_launch(ctx, DOING, parts_kernel(task.g), static_cast<unsigned>(blocks), 0, task);
    }
    gpu_launch_overlapped(parts_kernel(task.g), static_cast<unsigned>(blocks), GPU_BLOCK, 0, gpu_stream_of(ctx), task);
    return gpu_check_launch(ctx, DOING);
}

/* ---- plans ---- */

/*
 * Few columns: all threads work along the rows. More columns: 4 groups of threads, so that tiles are small and the last
 * ones end early; 8 groups if even that leaves multiprocessors idle. Then columns are split into ranges until there are
 * enough blocks, as long as each group of threads has two batches of columns. With few columns a block takes several
 * tiles, one after another, so that it computes its coefficients once.
 */
gemv_plan plan_rows(const tess_gemv_args &g, int width, int multiprocessors)
{
    const int64_t wanted = static_cast<int64_t>(multiprocessors) * GEMV_BLOCKS, nrows = g.a.nrows, ncols = g.a.ncols;
    const int batch = 8;
    int groups = ncols >= 64 ? 4 : ncols >= 24 ? 2 : 1;
    gemv_plan plan = {};

    if (gemv_divide_up(nrows, GPU_BLOCK / 4 * width) * (ncols / (4 * batch)) < wanted && ncols >= 64) { groups = 8; }
    if (GPU_BLOCK / groups < GPU_WAVE) { groups = GPU_BLOCK / GPU_WAVE; }
    plan.groups = groups;
    plan.row_threads = GPU_BLOCK / groups;
    plan.rows = static_cast<int64_t>(plan.row_threads) * width;
    plan.row_tiles = gemv_divide_up(nrows, plan.rows);
    plan.column_ranges = gemv_between(wanted / plan.row_tiles, 1, ncols / (groups * batch));
    plan.columns = gemv_round_up(gemv_divide_up(ncols, plan.column_ranges), groups * batch);
    if (plan.columns < 1) { plan.columns = 1; }
    plan.column_ranges = gemv_between(gemv_divide_up(ncols, plan.columns), 1, INT64_MAX);
    plan.parts = plan.column_ranges;
    plan.row_blocks = groups == 1 ? gemv_between(plan.row_tiles, 1, wanted) : plan.row_tiles;
    return plan;
}

/*
 * As few row tiles as give every multiprocessor its blocks, assuming short column ranges. The rows of a tile are a
 * multiple of a step, up to the space in shared memory. Then as many column ranges as blocks are still missing.
 */
gemv_plan plan_columns(const tess_gemv_args &g, int width, int multiprocessors)
{
    const int64_t wanted = static_cast<int64_t>(multiprocessors) * GEMV_BLOCKS, nrows = g.a.nrows, ncols = g.a.ncols;
    const int64_t step = static_cast<int64_t>(GPU_BLOCK) * width, most = GEMV_SHARED_X / g.y.ncols;
    const int64_t most_ranges = gemv_between(ncols / GEMV_FEWEST_COLUMNS, 1, INT64_MAX);
    const int64_t tiles = gemv_divide_up(wanted, most_ranges);
    gemv_plan plan = {};

    plan.rows = gemv_between(gemv_round_up(gemv_divide_up(nrows, tiles), step), step, most);
    plan.row_tiles = gemv_between(gemv_divide_up(nrows, plan.rows), 1, INT64_MAX);
    plan.column_ranges = gemv_between(wanted / plan.row_tiles, 1, gemv_divide_up(ncols, 8));
    plan.columns = gemv_round_up(gemv_divide_up(ncols, plan.column_ranges), 8);
    plan.column_ranges = gemv_divide_up(ncols, plan.columns);
    plan.parts = plan.row_blocks = plan.row_tiles;
    return plan;
}

gemv_choice choose_kernel(const tess_gemv_args &g)
{
    const bool transposed = g.operation == TESS_OP_TRANSPOSE;

    return gpu_by_storage(g.a.precision, gemv_choice{nullptr, 0}, [&](auto stored) {
        typedef typename decltype(stored)::type S;

        return transposed ? gemv_choose_columns<S>(g) : gemv_choose_rows<S>(g);
    });
}

} // namespace

static tess_status multiply(tess_context *ctx, const tess_gemv_args *args)
{
    gpu_scope scope(ctx);
    const bool transposed = args->operation == TESS_OP_TRANSPOSE;
    const gemv_choice choice = choose_kernel(*args);
    const int processors = gpu_state_of(ctx)->multiprocessors;
    gemv_task task = {*args, {}, NULL};
    tess_status status = TESS_SUCCESS;

    task.plan = transposed ? plan_columns(*args, choice.width, processors) : plan_rows(*args, choice.width, processors);
    const int64_t blocks = task.plan.row_blocks * task.plan.column_ranges;

    if (blocks > INT32_MAX) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "split A into smaller views",
                         "a dense product needs %lld blocks of threads, more than one launch can have",
                         static_cast<long long>(blocks));
    }
    if (task.plan.parts > 1) {
        double *workspace = NULL;

        status = gpu_parts(ctx, task.plan.parts * args->y.nrows * args->y.ncols, &workspace);
        task.parts = workspace;
    }
    if (status == TESS_SUCCESS) {
        status = gpu_launch(ctx, DOING, choice.kernel, static_cast<unsigned>(blocks), 0, task);
    }
    if (status == TESS_SUCCESS && task.plan.parts > 1) { status = launch_parts(ctx, task); }
    return status;
}

extern "C" const gemv_ops *gemv_gpu_ops(void)
{
    static const gemv_ops table = {multiply};

    return &table;
}
