/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of DIA on the GPU; dia_product.cuh has the method. A thread takes neighbouring rows: values come in loads of
 * ROWS entries, and the threads of a wave load neighbouring values and neighbouring elements of x. Compiled separately
 * for each precision.
 */
#include "format/dia/dia_product.cuh"
#include "format/select_product.cuh"

/*
 * Tuning parameters, as those of diagonal_tuning. FP32 vectors come 16 bytes at a time, values of up to 4 bytes too.
 * BLOCK: threads of a block that makes one pass over its rows, which needs no reduction. THREADS: resident threads of a
 * multiprocessor, for which registers must suffice. With dot products, blocks have GPU_BLOCK threads, there are as many
 * as are resident, and they make several passes.
 */
template <typename STORED, typename VECTOR>
struct tuning {
    static constexpr bool SMALL = sizeof(VECTOR) == sizeof(float) && sizeof(STORED) <= sizeof(float);
    static constexpr int ROWS = SMALL ? 4 : diagonal_tuning::ROWS;
    static constexpr int BLOCK = 128;
    static constexpr int THREADS = 1024;
};

template <int NDOTS, typename STORED, typename VECTOR>
struct shape {
    static constexpr bool ONE_PASS = NDOTS == 0;
    static constexpr int BLOCK = ONE_PASS ? tuning<STORED, VECTOR>::BLOCK : (int)GPU_BLOCK;
    static constexpr int PASS = BLOCK * tuning<STORED, VECTOR>::ROWS; /* rows */
    static constexpr int BLOCKS = tuning<STORED, VECTOR>::THREADS / BLOCK;
};

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS((shape<NDOTS, STORED, VECTOR>::BLOCK), (shape<NDOTS, STORED, VECTOR>::BLOCKS))
    diagonal_kernel(const dia_view v, const tess_spmv_args args, const loop_predicate predicate,
                    const reduce_target target)
{
    constexpr int ROWS = tuning<STORED, VECTOR>::ROWS, PASS = shape<NDOTS, STORED, VECTOR>::PASS;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    /* A block's threads stay together: all evaluate the predicate, and all reach the reduction. */
    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t begin = (int64_t)blockIdx.x * PASS; begin < v.nrows; begin += (int64_t)gridDim.x * PASS) {
        const int64_t row = begin + (int64_t)threadIdx.x * ROWS;
        ARITHMETIC sum[ROWS] = {};

        if (row >= v.nrows) { continue; }
        sum_diagonals<STORED, ARITHMETIC>(v, diagonal_rows<1, ROWS>{row}, factors_of<VECTOR>(args), sum);
        store_rows<VECTOR, NDOTS, STEP>(v, args, row, sum, dots);
        if (shape<NDOTS, STORED, VECTOR>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

struct diagonals {
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
    static tess_status launch(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
    {
        typedef shape<NDOTS, STORED, VECTOR> blocks;
        int64_t needed = (v->nrows + blocks::PASS - 1) / blocks::PASS;
        int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
        unsigned grid = (unsigned)(blocks::ONE_PASS || needed < resident ? needed : resident);
        loop_predicate predicate;
        reduce_target target;
        tess_status status = TESS_SUCCESS;

        if (needed == 0) { return TESS_SUCCESS; }
        TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
        TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.scalar, args->reduction.state, &target));
        status =
            gpu_launch_blocks(ctx, "a product by diagonals", diagonal_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>,
                              grid, blocks::BLOCK, 0, *v, *args, predicate, target);
        status = end_reduction(ctx, status, target);
    cleanup:
        return status;
    }
};

template <typename STORED>
tess_status dia_multiply(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    return select_kernel<diagonals, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status dia_multiply<STORED>(tess_context *, const dia_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
