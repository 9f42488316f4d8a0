/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi on the GPU with inverses of one precision. Compiled separately for each precision. */
#include "precond/block_jacobi/block_jacobi_apply.cuh"
#include "precond/block_jacobi/block_jacobi_columns.cuh"

/* Where a diagonal block lies in the tile, and the sums of V of its rows. */
template <typename S, int V>
struct one_precision {
    static constexpr int rows = V;

    template <typename T>
    __device__ static void add(const apply_task &task, const open_tile<T> &t, int block, int row, int begin, int end,
                               int start, T (&sum)[V])
    {
        const int k = task.m.block_size;
        const S *a = reinterpret_cast<const S *>(t.blocks) + block * k * k + row;

        add_columns<V>(a, k, t.x + block * k, begin, end, start, sum);
    }
};

/* Blocks of one row. */
template <typename S, typename T>
__global__ static void __launch_bounds__(GPU_BLOCK) apply_diagonal(const apply_task task)
{
    const S *inverse = static_cast<const S *>(task.m.inverse);
    double dots[2] = {};

    if (!enter(task)) { return; }
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < task.m.n;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        write_row(task, i, i, tess::decode<T>(gpu_load_once(inverse + i)) * read_row<T>(task, i), dots);
    }
    reduce_dots(task, dots);
}

/* Narrow values are read from shared memory several at once, if the columns are a multiple of that number. */
template <typename S, typename T>
static apply_choice choose_width(int k)
{
    constexpr int V = sizeof(S) == 8 ? 1 : sizeof(S) == 4 ? 2 : 4;

    if (k == 1) { return {apply_diagonal<S, T>, 1}; }
    if (k % V == 0) { return {apply_blocks<one_precision<S, V>, T>, V}; }
    return {apply_blocks<one_precision<S, 1>, T>, 1};
}

template <typename S>
apply_choice block_jacobi_kernel(int k, bool fp32)
{
    return fp32 ? choose_width<S, float>(k) : choose_width<S, double>(k);
}

/* ---- several columns ---- */

template <typename S>
struct rows_of_one_precision {
    template <int V>
    __device__ static void add(const tess_block_diagonal &m, int64_t block, int row, const double *x, int columns,
                               double (&sum)[V])
    {
        const S *a = reinterpret_cast<const S *>(block_place(&m, block)) + row;

        add_block_row<V>(a, m.block_size, block_rows(&m, block), x, columns, sum);
    }
};

template <typename S>
block_columns_kernel block_jacobi_columns_kernel(bool packs)
{
    return packs ? apply_block_columns<rows_of_one_precision<S>, COLUMNS_EACH>
                 : apply_block_columns<rows_of_one_precision<S>, 1>;
}

#define KERNEL(type)                                            \
    template apply_choice block_jacobi_kernel<type>(int, bool); \
    template block_columns_kernel block_jacobi_columns_kernel<type>(bool);
STORED_TYPES(KERNEL)
#undef KERNEL
