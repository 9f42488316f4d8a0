/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of ELLPACK-R and SELL-C-sigma on the GPU. A thread takes ROWS neighbouring positions of a slice, so that values
 * and columns come in loads of ROWS entries. Entries come in batches whose number is a constant of the code, so that all
 * their loads are on their way, unconditionally, before the first is used: also loads of padding, which is not multiplied.
 * Each row is added up by one thread in the order of its entries: no shared memory, no barrier, the same bits always.
 *
 * Bell, Garland, Implementing sparse matrix-vector multiplication on throughput-oriented processors, SC 2009 (ELL); Vazquez
 * et al. 2011 (ELLPACK-R); Kreutzer et al. 2014 (SELL-C-sigma); Gruetzmacher et al. 2021, section 4.4 (precisions).
 */
#include "backend/gpu/reduce.cuh"
#include "format/ellr/ellr_rows.h"
#include "format/row_epilogue.h"

#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/*
 * What may be tried, in one place. ROWS: positions of a thread, 1, 2 or 4, with ROWS values in at most 16 bytes. BATCH: entries
 * of a row in flight, up to 8; WIDE_BATCH: the same with 32-bit columns. THREADS: resident threads of a multiprocessor that
 * registers must allow. BLOCK: threads of a block where each makes one pass over its positions, which needs no reduction: small
 * blocks make room for the next one sooner. With dot products blocks have GPU_BLOCK threads, are as many as are resident, and
 * make several passes. Conversions to FP64 take registers of their own: then fewer entries in more threads are better.
 */
template <typename STORED, typename VECTOR>
struct tuning {
    static constexpr int ROWS = 2;
    static constexpr bool CONVERTED = sizeof(VECTOR) == sizeof(double) && sizeof(STORED) < sizeof(double);
    static constexpr int BATCH = CONVERTED ? 4 : 7;
    static constexpr int WIDE_BATCH = 4;
    static constexpr int BLOCK = 128;
    static constexpr int THREADS = CONVERTED ? 1536 : 1280;
    static constexpr int THREADS_WITH_DOTS = 1024;
};

template <int NDOTS, typename STORED, typename VECTOR>
struct shape {
    static constexpr bool ONE_PASS = NDOTS == 0;
    static constexpr int BLOCK = ONE_PASS ? tuning<STORED, VECTOR>::BLOCK : GPU_BLOCK;
    static constexpr int PASS = BLOCK * tuning<STORED, VECTOR>::ROWS; /* positions */
    static constexpr int BLOCKS =
        (ONE_PASS ? tuning<STORED, VECTOR>::THREADS : tuning<STORED, VECTOR>::THREADS_WITH_DOTS) / BLOCK;
};

/* The rows of a thread. */
template <typename STORED, int ROWS>
struct thread_rows {
    int length[ROWS], row[ROWS];
    int width;          /* of the slice */
    const STORED *val;  /* the first row's first value */
    const int16_t *col; /* the first row's first column */
    bool wide;

    __device__ inline void find(const ellr_view &v, int64_t position)
    {
        int64_t s = position / ELLR_SLICE, first = s * v.uniform_width;
        ellr_slice slice = {(uint32_t)first, (uint32_t)first, (uint32_t)v.uniform_width, 0};
        int lane = (int)(position % ELLR_SLICE);

        if (v.uniform_width == 0) { slice = gpu_load_once(v.slice + s); }
        if (v.length_bits == 8) {
            read_lengths((const uint8_t *)v.length + position);
        } else {
            read_lengths((const int32_t *)v.length + position);
        }
        width = (int)slice.width;
        wide = ellr_has_wide_columns(slice);
        val = (const STORED *)v.val + ellr_first_value(slice) + lane;
        col = (const int16_t *)v.column + ellr_first_column(slice) + (wide ? 2 * lane : lane);
        read_order(v, slice, position);
    }

    template <typename LENGTH>
    __device__ inline void read_lengths(const LENGTH *from)
    {
        tess::pack<LENGTH, ROWS> stored = gpu_load_once((const tess::pack<LENGTH, ROWS> *)from);

#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            length[r] = stored.value[r];
        }
    }

    __device__ inline void read_order(const ellr_view &v, ellr_slice slice, int64_t position)
    {
        tess::pack<int16_t, ROWS> order = {};

        if (ellr_is_permuted(slice)) { order = gpu_load_once((const tess::pack<int16_t, ROWS> *)(v.order + position)); }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            row[r] = (int)(ellr_is_permuted(slice) ? position + r + order.value[r] : ellr_rank_at(position + r));
        }
    }
};

/* Where a thread's next entries are. */
template <typename STORED, typename COLUMN, int ROWS>
struct entry_cursor {
    const STORED *val;
    const COLUMN *col;
    int base[ROWS]; /* what stored columns are relative to */
    int left[ROWS]; /* entries of each row from here on; not positive beyond its end */
};

/* The next COUNT entries of each row; those beyond its end are neither multiplied nor added. */
template <int COUNT, typename STORED, typename COLUMN, typename VECTOR, typename ARITHMETIC, int ROWS>
__device__ static inline void multiply_entries(const entry_cursor<STORED, COLUMN, ROWS> &at, const VECTOR *x,
                                               ARITHMETIC (&sum)[ROWS])
{
    tess::pack<COLUMN, ROWS> column[COUNT];
    tess::pack<STORED, ROWS> value[COUNT];
    VECTOR factor[COUNT][ROWS];

#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        column[u] = gpu_load_once((const tess::pack<COLUMN, ROWS> *)(at.col + u * ELLR_SLICE));
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        value[u] = gpu_load_once((const tess::pack<STORED, ROWS> *)(at.val + u * ELLR_SLICE));
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            factor[u][r] = x[at.base[r] + column[u].value[r]];
        }
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        ARITHMETIC decoded[ROWS];

        tess::decode_pack<ARITHMETIC>(value[u], decoded);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (u < at.left[r]) { sum[r] += decoded[r] * (ARITHMETIC)factor[u][r]; }
        }
    }
}

/* All entries of a thread's rows: full batches, then a rest of exactly as many as there are. */
template <int BATCH, typename STORED, typename COLUMN, typename VECTOR, typename ARITHMETIC, int ROWS>
__device__ static inline void multiply_rows(entry_cursor<STORED, COLUMN, ROWS> at, int width, const VECTOR *x,
                                            ARITHMETIC (&sum)[ROWS])
{
    static_assert(BATCH >= 1 && BATCH <= 8, "the cases below");
    for (; width >= BATCH; width -= BATCH) {
        multiply_entries<BATCH>(at, x, sum);
        at.val += BATCH * ELLR_SLICE;
        at.col += BATCH * ELLR_SLICE;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at.left[r] -= BATCH;
        }
    }
    switch (width) { /* less than BATCH: the compiler drops the cases that are not */
    case 1: multiply_entries<1>(at, x, sum); break;
    case 2: multiply_entries<BATCH >= 3 ? 2 : 1>(at, x, sum); break;
    case 3: multiply_entries<BATCH >= 4 ? 3 : 1>(at, x, sum); break;
    case 4: multiply_entries<BATCH >= 5 ? 4 : 1>(at, x, sum); break;
    case 5: multiply_entries<BATCH >= 6 ? 5 : 1>(at, x, sum); break;
    case 6: multiply_entries<BATCH >= 7 ? 6 : 1>(at, x, sum); break;
    case 7: multiply_entries<BATCH >= 8 ? 7 : 1>(at, x, sum); break;
    default: break;
    }
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int ROWS>
__device__ static inline void sum_rows(const thread_rows<STORED, ROWS> &rows, const VECTOR *x, ARITHMETIC (&sum)[ROWS])
{
    if (rows.wide) {
        entry_cursor<STORED, int32_t, ROWS> at = {rows.val, (const int32_t *)(const void *)rows.col, {}, {}};

#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at.base[r] = 0;
            at.left[r] = rows.length[r];
        }
        multiply_rows<tuning<STORED, VECTOR>::WIDE_BATCH>(at, rows.width, x, sum);
    } else {
        entry_cursor<STORED, int16_t, ROWS> at = {rows.val, rows.col, {}, {}};

#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at.base[r] = rows.row[r];
            at.left[r] = rows.length[r];
        }
        multiply_rows<tuning<STORED, VECTOR>::BATCH>(at, rows.width, x, sum);
    }
}

/* Writes y_row: FP64 with its dot products, or FP32. */
template <typename VECTOR, typename ARITHMETIC, int NDOTS>
__device__ static inline void store_row(const ellr_view &v, const tess_spmv_args &args, int row, ARITHMETIC sum,
                                        double *dots)
{
    if (row >= v.nrows) { return; }
    if constexpr (sizeof(VECTOR) == sizeof(double)) {
        finish_row<NDOTS>(args, row, sum, dots);
    } else {
        args.y_fp32[row] = ellr_result_fp32(&v, &args, row, (double)sum);
    }
}

template <typename VECTOR>
__device__ static inline const VECTOR *factors_of(const tess_spmv_args &args)
{
    if constexpr (sizeof(VECTOR) == sizeof(double)) {
        return args.x;
    } else {
        return args.x_fp32;
    }
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS((shape<NDOTS, STORED, VECTOR>::BLOCK), (shape<NDOTS, STORED, VECTOR>::BLOCKS))
    slice_kernel(const ellr_view v, const tess_spmv_args args, const loop_gate gate, const reduce_target target)
{
    constexpr int ROWS = tuning<STORED, VECTOR>::ROWS, PASS = shape<NDOTS, STORED, VECTOR>::PASS;
    const int64_t positions = v.nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all of them enter the gate, and all get to the reduction. */
    for (int64_t begin = (int64_t)blockIdx.x * PASS; begin < positions; begin += (int64_t)gridDim.x * PASS) {
        int64_t position = begin + (int64_t)threadIdx.x * ROWS;
        thread_rows<STORED, ROWS> rows;
        ARITHMETIC sum[ROWS] = {};
        tess_scalars scalars;

        if (position < positions) { rows.find(v, position); }
        /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
        if (!entered && !loop_enter<true>(gate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (position >= positions) { continue; }
        sum_rows(rows, factors_of<VECTOR>(args), sum);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            store_row<VECTOR, ARITHMETIC, NDOTS>(v, args, rows.row[r], sum[r], dots);
        }
        if (shape<NDOTS, STORED, VECTOR>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS>
static tess_status launch(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    typedef shape<NDOTS, STORED, VECTOR> blocks;
    int64_t needed = (v->nslices * ELLR_SLICE + blocks::PASS - 1) / blocks::PASS;
    int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
    unsigned grid = (unsigned)(blocks::ONE_PASS || needed < resident ? needed : resident);
    loop_gate gate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (needed == 0) { return TESS_SUCCESS; }
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
    status = gpu_launch_blocks(ctx, "a product by slices", slice_kernel<STORED, VECTOR, ARITHMETIC, NDOTS>, grid,
                               blocks::BLOCK, 0, *v, *args, gate, target);
cleanup:
    return status;
}

template <typename STORED>
static tess_status select_kernel(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) {
        return v->arithmetic == TESS_ARITHMETIC_FP64 ? launch<STORED, float, double, 0>(ctx, v, args)
                                                     : launch<STORED, float, float, 0>(ctx, v, args);
    }
    switch (args->reduction.ndots) {
    case 0: return launch<STORED, double, double, 0>(ctx, v, args);
    case 1: return launch<STORED, double, double, 1>(ctx, v, args);
    default: return launch<STORED, double, double, 2>(ctx, v, args);
    }
}

static tess_status spmv(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    switch (v->precision) {
    case TESS_PRECISION_FP64: return select_kernel<double>(ctx, v, args);
    case TESS_PRECISION_FP32: return select_kernel<float>(ctx, v, args);
    case TESS_PRECISION_BF16: return select_kernel<tess::bf16>(ctx, v, args);
    case TESS_PRECISION_FP16: return select_kernel<tess::fp16>(ctx, v, args);
    case TESS_PRECISION_E4M3: return select_kernel<tess::e4m3>(ctx, v, args);
    case TESS_PRECISION_E5M2: return select_kernel<tess::e5m2>(ctx, v, args);
    }
    return TESS_INTERNAL;
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const ellr_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const ellr_backend *ellr_gpu(void)
{
    static const ellr_backend table = {ellr_gpu_longest_row,
                                       ellr_gpu_arrange,
                                       ellr_gpu_fill_columns,
                                       ellr_gpu_fill_values,
                                       ellr_gpu_decode,
                                       prepare,
                                       spmv};

    return &table;
}

extern "C" const tess_format_ops *ellr_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_ELLR, ellr_build,  ellr_refresh, ellr_destroy,   ellr_prepare,
                                          ellr_spmv,        ellr_decode, ellr_bytes,   ELLR_PRECISIONS};

    return &table;
}

extern "C" const tess_format_ops *sell_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_SELL, ellr_build,  ellr_refresh, ellr_destroy,   ellr_prepare,
                                          ellr_spmv,        ellr_decode, ellr_bytes,   ELLR_PRECISIONS};

    return &table;
}
