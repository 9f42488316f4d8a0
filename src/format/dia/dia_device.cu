/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of DIA on the GPU. A thread takes ROWS neighbouring rows, so that values come in loads of ROWS entries and the
 * threads of a wave fetch neighbouring values and neighbouring elements of x. Diagonals come in batches whose loads are all on
 * their way before the first is used. Each row is added up by one thread in the order of its columns: no shared memory, no
 * barrier, the same bits always.
 *
 * Bell, Garland, Implementing sparse matrix-vector multiplication on throughput-oriented processors, SC 2009, section 4.1;
 * Zhao et al. 2024, section 2.1.
 */
#include "backend/gpu/reduce.cuh"
#include "format/dia/dia_rows.h"
#include "format/select_product.cuh"

#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/*
 * What may be tried, in one place. ROWS: rows of a thread, 1, 2 or 4, with ROWS values in at most 16 bytes. BATCH: diagonals in
 * flight, 4. BLOCK: threads of a block where each makes one pass over its rows, which needs no reduction. THREADS: resident
 * threads of a multiprocessor that registers must allow. With dot products blocks have GPU_BLOCK threads, are as many as are
 * resident, and make several passes.
 */
struct tuning {
    static constexpr int ROWS = 2;
    static constexpr int BATCH = 4;
    static constexpr int BLOCK = 128;
    static constexpr int THREADS = 1024;
};

template <int NDOTS>
struct shape {
    static constexpr bool ONE_PASS = NDOTS == 0;
    static constexpr int BLOCK = ONE_PASS ? tuning::BLOCK : (int)GPU_BLOCK;
    static constexpr int PASS = BLOCK * tuning::ROWS; /* rows */
    static constexpr int BLOCKS = tuning::THREADS / BLOCK;
};

/* COUNT diagonals from d on, of rows from `row` on, a multiple of ROWS. Every place of a diagonal may be loaded, and x wherever the
   column exists: neither waits for a bitmap. Products are made, and added, in ARITHMETIC. */
template <int COUNT, typename STORED, typename VECTOR, typename ARITHMETIC>
__device__ static inline void add_diagonals(const dia_view &v, int64_t d, int64_t row, const VECTOR *x,
                                            ARITHMETIC (&sum)[tuning::ROWS])
{
    constexpr int ROWS = tuning::ROWS;
    dia_diagonal diagonal[COUNT];
    tess::pack<STORED, ROWS> value[COUNT];
    VECTOR factor[COUNT][ROWS] = {};
    uint32_t entries[COUNT]; /* bit r: row r has one */

    static_assert(DIA_WORD % ROWS == 0, "a thread's rows are of one word");
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        diagonal[u] = v.diagonal[d + u];
        value[u] = gpu_load_once((const tess::pack<STORED, ROWS> *)((const STORED *)v.val + dia_place(&v, d + u, row)));
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        entries[u] = UINT32_MAX;
        if (diagonal[u].bitmap >= 0) {
            entries[u] = gpu_load_once(v.bitmap + dia_word(&v, diagonal[u], row)) >> (row % DIA_WORD);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int64_t column = row + r + diagonal[u].offset;
            const bool within = (uint64_t)column < (uint64_t)v.ncols; /* negative columns are large numbers */

            if (within) { factor[u][r] = x[column]; }
            entries[u] &= ~((within ? 0U : 1U) << r);
        }
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        ARITHMETIC decoded[ROWS];

        tess::decode_pack<ARITHMETIC>(value[u], decoded);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (entries[u] >> r & 1U) { sum[r] += decoded[r] * (ARITHMETIC)factor[u][r]; }
        }
    }
}

/* All diagonals: full batches, then a rest of exactly as many as there are. */
template <typename STORED, typename VECTOR, typename ARITHMETIC>
__device__ static inline void sum_rows(const dia_view &v, int64_t row, const VECTOR *x, ARITHMETIC (&sum)[tuning::ROWS])
{
    constexpr int BATCH = tuning::BATCH;
    int64_t d = 0;

    static_assert(BATCH == 4, "the cases below");
    for (; d + BATCH <= v.ndiagonals; d += BATCH) {
        add_diagonals<BATCH, STORED>(v, d, row, x, sum);
    }
    switch (v.ndiagonals - d) {
    case 1: add_diagonals<1, STORED>(v, d, row, x, sum); break;
    case 2: add_diagonals<2, STORED>(v, d, row, x, sum); break;
    case 3: add_diagonals<3, STORED>(v, d, row, x, sum); break;
    default: break;
    }
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS((shape<NDOTS>::BLOCK), (shape<NDOTS>::BLOCKS))
    diagonal_kernel(const dia_view v, const tess_spmv_args args, const loop_gate gate, const reduce_target target)
{
    constexpr int ROWS = tuning::ROWS, PASS = shape<NDOTS>::PASS;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    /* A block's threads stay together: all of them enter the gate, and all get to the reduction. */
    if (!loop_enter<true>(gate, NDOTS > 0, &scalars)) { return; }
    for (int64_t begin = (int64_t)blockIdx.x * PASS; begin < v.nrows; begin += (int64_t)gridDim.x * PASS) {
        const int64_t row = begin + (int64_t)threadIdx.x * ROWS;
        ARITHMETIC sum[ROWS] = {};

        if (row >= v.nrows) { continue; }
        sum_rows<STORED>(v, row, factors_of<VECTOR>(args), sum);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            store_row<VECTOR, NDOTS, STEP>(v, args, row + r, sum[r], dots);
        }
        if (shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

struct diagonals {
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
    static tess_status launch(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
    {
        typedef shape<NDOTS> blocks;
        int64_t needed = (v->nrows + blocks::PASS - 1) / blocks::PASS;
        int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
        unsigned grid = (unsigned)(blocks::ONE_PASS || needed < resident ? needed : resident);
        loop_gate gate;
        reduce_target target;
        tess_status status = TESS_SUCCESS;

        if (needed == 0) { return TESS_SUCCESS; }
        TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
        TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
        status =
            gpu_launch_blocks(ctx, "a product by diagonals", diagonal_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>,
                              grid, blocks::BLOCK, 0, *v, *args, gate, target);
    cleanup:
        return status;
    }
};

static tess_status spmv(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return select_product<diagonals>(ctx, v, args);
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const dia_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const dia_backend *dia_gpu(void)
{
    static const dia_backend table = {dia_gpu_mark,
                                      dia_gpu_count_marks,
                                      dia_gpu_list_marks,
                                      dia_gpu_count_entries,
                                      dia_gpu_fill_bitmaps,
                                      dia_gpu_fill_values,
                                      dia_gpu_decode,
                                      prepare,
                                      spmv};

    return &table;
}

extern "C" const tess_format_ops *dia_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_DIA, dia_build,  dia_refresh, dia_destroy,   dia_prepare,
                                          dia_spmv,        dia_decode, dia_bytes,   DIA_PRECISIONS};

    return &table;
}
