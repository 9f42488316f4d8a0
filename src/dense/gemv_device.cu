/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products on a GPU: the choice of kernel and plan, and the kernel that adds up parts. */
#include "dense/gemv_device.cuh"

namespace {

constexpr char DOING[] = "a dense product";

/* Element i of column k from its parts; `LANES` neighbouring threads of a wave share an element. */
template <typename T, int LANES>
__global__ void add_parts(const gemv_task task)
{
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x, element = thread / LANES;
    const int lane = static_cast<int>(thread % LANES);
    const T *parts = static_cast<const T *>(task.parts);
    T sum = 0;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (element >= task.g.y.nrows * task.g.y.ncols) { return; } /* whole groups of LANES threads leave */
    const int k = element >= task.g.y.nrows ? 1 : 0;
    const int64_t i = element - k * task.g.y.nrows;

#pragma unroll 8
    for (int64_t p = lane; p < task.plan.parts; p += LANES) {
        sum += GPU_LOAD_L2(&parts[gemv_part_at(task, p, k, i)]);
    }
    TESS_UNROLL
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        sum += GPU_SHUFFLE_DOWN(sum, distance, GPU_WAVE);
    }
    if (lane == 0) { gemv_store(&task.g, i, k, static_cast<double>(sum)); }
}

/* Transposed there are many parts of few elements: a wave for each. */
auto parts_kernel(const tess_gemv_args &g) -> void (*)(const gemv_task)
{
    const bool transposed = g.operation == TESS_OP_TRANSPOSE;

    if (g.arithmetic == TESS_ARITHMETIC_FP32) { return transposed ? add_parts<float, GPU_WAVE> : add_parts<float, 1>; }
    return transposed ? add_parts<double, GPU_WAVE> : add_parts<double, 1>;
}

/* The second kernel may be started while the first drains; it waits for it before it reads. */
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

} // namespace

static tess_status multiply(tess_context *ctx, const tess_gemv_args *args)
{
    gpu_scope scope(ctx);
    const bool transposed = args->operation == TESS_OP_TRANSPOSE;
    const gemv_choice choice = transposed ? gemv_choose_columns(*args) : gemv_choose_rows(*args);
    const int processors = gpu_state_of(ctx)->multiprocessors;
    gemv_task task = {*args, {}, NULL};
    tess_status status = TESS_SUCCESS;

    task.plan = transposed ? gemv_plan_columns(*args, choice.width, processors)
                           : gemv_plan_rows(*args, choice.width, processors);
    const int64_t blocks = task.plan.row_blocks * task.plan.column_ranges;

    if (blocks > INT32_MAX) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "split A into smaller views", "a dense product of %lld blocks",
                         static_cast<long long>(blocks));
    }
    if (task.plan.parts > 1) {
        double *room = NULL;

        status = gpu_parts(ctx, task.plan.parts * args->y.nrows * args->y.ncols, &room);
        task.parts = room;
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
