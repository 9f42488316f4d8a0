/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of slices times a vector on the GPU, for the kernels of one view and of several parts. A thread takes ROWS
 * neighbouring positions of a slice, so that values and columns come in loads of ROWS entries. Entries come in batches
 * of a constant size. All loads of a batch are issued unconditionally before the first is used, also loads of padding,
 * which is not multiplied. One thread sums a row, in the order of its entries: no shared memory, no barrier, always the
 * same bits.
 *
 * Bell, Garland, Implementing sparse matrix-vector multiplication on throughput-oriented processors, SC 2009 (ELL);
 * Vazquez et al. 2011 (ELLPACK-R); Kreutzer et al. 2014 (SELL-C-sigma); Gruetzmacher et al. 2021, section 4.4
 * (precisions).
 */
#ifndef TESS_FORMAT_ELLR_ELLR_PRODUCT_CUH
#define TESS_FORMAT_ELLR_ELLR_PRODUCT_CUH

#include "device/gpu/reduce.cuh"
#include "format/ellr/ellr_rows.h"

#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/*
 * Tuning parameters, in one place. ROWS: positions of a thread, 1, 2 or 4, with ROWS values in at most 16 bytes. BATCH:
 * entries of a row in flight, up to 8; WIDE_BATCH: the same with 32-bit columns, LONG_BATCH while so many are left.
 * THREADS: resident threads of a multiprocessor, for which registers must suffice. BLOCK: threads of a block that makes
 * one pass over its positions,
 * which needs no reduction: small blocks make space for the next one sooner. With dot products, blocks have GPU_BLOCK
 * threads, there are as many as are resident, and they make several passes. Conversions to FP64 need registers: then
 * fewer entries in more threads are better.
 */
template <typename STORED, typename VECTOR>
struct tuning {
    static constexpr int ROWS = 2;
    static constexpr bool CONVERTED = sizeof(VECTOR) == sizeof(double) && sizeof(STORED) < sizeof(double);
    static constexpr int BATCH = CONVERTED ? 4 : 7;
    static constexpr int WIDE_BATCH = 4;
    static constexpr int LONG_BATCH = sizeof(VECTOR) == sizeof(float) ? 8 : WIDE_BATCH;
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

/* Stands for a type of values that is known only at run time. */
struct any_value;

/* Where value i of the view is. */
template <typename STORED>
__device__ static inline const STORED *value_at(const ellr_view &v, int64_t i)
{
    return (const STORED *)v.val + i;
}

template <>
__device__ inline const any_value *value_at<any_value>(const ellr_view &v, int64_t i)
{
    return (const any_value *)((const char *)v.val + i * (int64_t)tess_storage_bytes(v.precision));
}

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
        val = value_at<STORED>(v, ellr_first_value(slice) + lane);
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
    int base[ROWS]; /* origin of the stored columns */
    int left[ROWS]; /* remaining entries of each row; not positive beyond its end */
};

/* The next COUNT entries of each row; entries beyond its end are neither multiplied nor added. Products are computed in
   PRODUCT and added in ARITHMETIC. */
template <int COUNT, typename PRODUCT, typename STORED, typename COLUMN, typename VECTOR, typename ARITHMETIC, int ROWS>
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
        PRODUCT decoded[ROWS];

        tess::decode_pack<PRODUCT>(value[u], decoded);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (u < at.left[r]) { sum[r] += (ARITHMETIC)(decoded[r] * (PRODUCT)factor[u][r]); }
        }
    }
}

/* Batches of COUNT entries, while so many are left. */
template <int COUNT, typename PRODUCT, typename STORED, typename COLUMN, typename VECTOR, typename ARITHMETIC, int ROWS>
__device__ static inline void multiply_batches(entry_cursor<STORED, COLUMN, ROWS> &at, int &width, const VECTOR *x,
                                               ARITHMETIC (&sum)[ROWS])
{
    for (; width >= COUNT; width -= COUNT) {
        multiply_entries<COUNT, PRODUCT>(at, x, sum);
        at.val += COUNT * ELLR_SLICE;
        at.col += COUNT * ELLR_SLICE;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at.left[r] -= COUNT;
        }
    }
}

/* All entries of a thread's rows: batches of LONG entries, of BATCH, then one with exactly the rest. */
template <int LONG, int BATCH, typename PRODUCT, typename STORED, typename COLUMN, typename VECTOR, typename ARITHMETIC,
          int ROWS>
__device__ static inline void multiply_rows(entry_cursor<STORED, COLUMN, ROWS> at, int width, const VECTOR *x,
                                            ARITHMETIC (&sum)[ROWS])
{
    static_assert(BATCH >= 1 && BATCH <= 8, "the cases below");
    if constexpr (LONG > BATCH) { multiply_batches<LONG, PRODUCT>(at, width, x, sum); }
    multiply_batches<BATCH, PRODUCT>(at, width, x, sum);
    switch (width) { /* less than BATCH: the compiler drops the impossible cases */
    case 1: multiply_entries<1, PRODUCT>(at, x, sum); break;
    case 2: multiply_entries<BATCH >= 3 ? 2 : 1, PRODUCT>(at, x, sum); break;
    case 3: multiply_entries<BATCH >= 4 ? 3 : 1, PRODUCT>(at, x, sum); break;
    case 4: multiply_entries<BATCH >= 5 ? 4 : 1, PRODUCT>(at, x, sum); break;
    case 5: multiply_entries<BATCH >= 6 ? 5 : 1, PRODUCT>(at, x, sum); break;
    case 6: multiply_entries<BATCH >= 7 ? 6 : 1, PRODUCT>(at, x, sum); break;
    case 7: multiply_entries<BATCH >= 8 ? 7 : 1, PRODUCT>(at, x, sum); break;
    default: break;
    }
}

/* The sums of a thread's rows. STORED: the type of the values, even if FOUND_AS is any_value; at most MOST entries in
   flight. */
template <typename STORED, typename PRODUCT, int MOST = 8, typename FOUND_AS, typename VECTOR, typename ARITHMETIC,
          int ROWS>
__device__ static inline void sum_rows(const thread_rows<FOUND_AS, ROWS> &rows, const VECTOR *x,
                                       ARITHMETIC (&sum)[ROWS])
{
    if (rows.wide) {
        entry_cursor<STORED, int32_t, ROWS> at = {
            (const STORED *)rows.val, (const int32_t *)(const void *)rows.col, {}, {}};

#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at.base[r] = 0;
            at.left[r] = rows.length[r];
        }
        multiply_rows<tuning<STORED, VECTOR>::LONG_BATCH, tuning<STORED, VECTOR>::WIDE_BATCH, PRODUCT>(at, rows.width,
                                                                                                       x, sum);
    } else {
        entry_cursor<STORED, int16_t, ROWS> at = {(const STORED *)rows.val, rows.col, {}, {}};

#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at.base[r] = rows.row[r];
            at.left[r] = rows.length[r];
        }
        constexpr int BATCH = tuning<STORED, VECTOR>::BATCH;

        multiply_rows<0, (BATCH < MOST ? BATCH : MOST), PRODUCT>(at, rows.width, x, sum);
    }
}

#endif
