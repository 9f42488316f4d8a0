/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi on the GPU: chooses a kernel (block_jacobi_apply.cuh) and its tiles; inverses of several precisions. */
#include "precond/block_jacobi/block_jacobi_apply.cuh"
#include "precond/block_jacobi/block_jacobi_columns.cuh"

struct many_precisions {
    static constexpr int rows = 1;

    template <typename T>
    __device__ static void add(const apply_task &task, const open_tile<T> &t, int block, int row, int begin, int end,
                               int start, T (&sum)[1])
    {
        const int k = task.m.block_size;
        const int64_t number = t.first + block;
        const char *place = t.blocks + (task.m.places[number] - task.m.places[t.first]);
        const T *x = t.x + block * k;

        gpu_call_by_storage(
            block_precision(&task.m, number),
            [](auto stored, const char *a, int row, auto &...arguments) {
                add_columns<1>(reinterpret_cast<const typename decltype(stored)::type *>(a) + row, arguments...);
            },
            place, row, k, x, begin, end, start, sum);
    }
};

static apply_choice choose_kernel(const tess_block_diagonal &m)
{
    const bool fp32 = m.arithmetic == TESS_ARITHMETIC_FP32;

    if (m.precisions) {
        return {fp32 ? apply_blocks<many_precisions, float> : apply_blocks<many_precisions, double>, 1};
    }
    return gpu_by_storage(m.storage, apply_choice{nullptr, 0}, [&](auto stored) {
        return block_jacobi_kernel<typename decltype(stored)::type>(m.block_size, fp32);
    });
}

/* Tiles of TILE_BYTES; smaller ones if multiprocessors would otherwise have less than two each. Threads for which a
   tile has no rows share columns. Returns the bytes of shared memory. */
static size_t plan_tiles(const tess_context *ctx, int rows_of_thread, apply_task *task)
{
    const tess_block_diagonal *m = &task->m;
    const int64_t bytes = block_bytes(m, m->precisions ? TESS_PRECISION_FP64 : m->storage);
    const int64_t enough = 2 * static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors);
    const size_t value = m->arithmetic == TESS_ARITHMETIC_FP32 ? sizeof(float) : sizeof(double);
    const int k = m->block_size, by_rows = TILE_ROWS / k;
    const int by_bytes = bytes < TILE_BYTES ? static_cast<int>(TILE_BYTES / bytes) : 1;

    task->tile = by_bytes < by_rows ? by_bytes : by_rows;
    while (task->tile > 1 && task->tile * k > GPU_BLOCK && block_count(m) / task->tile < enough) {
        task->tile /= 2;
    }
    task->parts = 1;
    while (2 * task->parts * task->tile * k <= GPU_BLOCK * rows_of_thread && 2 * task->parts * PART_COLUMNS <= k) {
        task->parts *= 2;
    }
    task->tile_bytes = (task->tile * bytes + 2 * WORD - 2) / WORD * WORD; /* it may begin and end within a word */
    return static_cast<size_t>(task->tile_bytes) + static_cast<size_t>((1 + task->parts) * task->tile * k) * value;
}

static tess_status apply(tess_context *ctx, const tess_block_diagonal *m, tess_precision vectors, const void *r,
                         void *z, const tess_reduction *reduction)
{
    gpu_scope scope(ctx);
    const apply_choice choice = choose_kernel(*m);
    apply_task task = {};
    tess_status status = TESS_SUCCESS;
    unsigned grid = gpu_grid(ctx, m->n, APPLY_BLOCKS);
    size_t shared = 0;

    task.m = *m;
    task.r = r;
    task.z = z;
    task.vectors = vectors;
    task.reduction = *reduction;
    if (m->block_size > 1) {
        shared = plan_tiles(ctx, choice.rows, &task);
        grid = gpu_grid(ctx, (block_count(m) + task.tile - 1) / task.tile * GPU_BLOCK, APPLY_BLOCKS);
    }
    task.predicate = make_predicate(ctx, reduction->state, false);
    status = prepare_reduction(ctx, grid, reduction->ndots, reduction->scalar, reduction->state, &task.target);
    if (status != TESS_SUCCESS) { return status; }
    return end_reduction(ctx, gpu_launch(ctx, "block Jacobi", choice.kernel, grid, shared, task), task.target);
}

/* ---- several columns ---- */

struct rows_of_many_precisions {
    template <int V>
    __device__ static void add(const tess_block_diagonal &m, int64_t block, int row, const double *x, int columns,
                               double (&sum)[V])
    {
        gpu_call_by_storage(
            block_precision(&m, block),
            [](auto stored, const char *a, int row, auto &...arguments) {
                add_block_row<V>(reinterpret_cast<const typename decltype(stored)::type *>(a) + row, arguments...);
            },
            block_place(&m, block), row, m.block_size, block_rows(&m, block), x, columns, sum);
    }
};

static block_columns_kernel choose_columns_kernel(const tess_block_diagonal &m, bool packs)
{
    if (m.precisions) {
        return packs ? apply_block_columns<rows_of_many_precisions, COLUMNS_EACH>
                     : apply_block_columns<rows_of_many_precisions, 1>;
    }
    return gpu_by_storage(m.storage, block_columns_kernel(nullptr), [&](auto stored) {
        return block_jacobi_columns_kernel<typename decltype(stored)::type>(packs);
    });
}

static tess_status apply_columns(tess_context *ctx, const tess_block_diagonal *m, int columns, const double *r,
                                 double *z)
{
    gpu_scope scope(ctx);
    const uintptr_t places = reinterpret_cast<uintptr_t>(r) | reinterpret_cast<uintptr_t>(z);
    const bool packs = columns % COLUMNS_EACH == 0 && places % 16 == 0;
    const int64_t threads = m->n * columns / (packs ? COLUMNS_EACH : 1);

    if (threads == 0) { return TESS_SUCCESS; }
    return gpu_launch(ctx, "block Jacobi of several columns", choose_columns_kernel(*m, packs),
                      gpu_grid(ctx, threads, BLOCK_COLUMNS_BLOCKS), 0, block_columns_task{*m, r, z, columns});
}

extern "C" const block_jacobi_ops *block_jacobi_gpu_ops(void)
{
    static const block_jacobi_ops table = {gpu_block_jacobi_build, apply, apply_columns};

    return &table;
}
