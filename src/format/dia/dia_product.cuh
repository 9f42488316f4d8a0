/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of diagonals times a vector on the GPU, for the kernels of one view and of several layers. A thread takes ROWS
 * rows. Diagonals come in batches, whose loads are all issued before the first is used. One thread sums a row, in the
 * order of its columns: no shared memory, no barrier, always the same bits.
 *
 * Bell, Garland, Implementing sparse matrix-vector multiplication on throughput-oriented processors, SC 2009, section
 * 4.1; Zhao et al. 2024, section 2.1.
 */
#ifndef TESS_FORMAT_DIA_DIA_PRODUCT_CUH
#define TESS_FORMAT_DIA_DIA_PRODUCT_CUH

#include "device/gpu/reduce.cuh"
#include "format/dia/dia_rows.h"

#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/* Tuning parameters. ROWS: rows of a thread, 1, 2, 4 or 8, with ROWS values in at most 16 bytes. BATCH: diagonals in
   flight, 4. STREAMED: values are evicted first from the second-level cache, so that vectors stay there for
   neighbouring kernels. */
struct diagonal_tuning {
    static constexpr int ROWS = 2;
    static constexpr int BATCH = 4;
    static constexpr bool STREAMED = true;
};

template <typename T>
__device__ static inline T load_diagonal_values(const T *from)
{
    if constexpr (diagonal_tuning::STREAMED) {
        return gpu_load_streaming(from);
    } else {
        return gpu_load_once(from);
    }
}

/* A thread's rows, APART from one another. Adjacent rows begin at a multiple of ROWS, and their values come in one
   load. Otherwise, a row that does not exist is loaded as the last one. */
template <int APART, int COUNT = diagonal_tuning::ROWS>
struct diagonal_rows {
    static constexpr int ROWS = COUNT;
    int64_t first;

    static_assert(APART > 1 || DIA_WORD % ROWS == 0, "neighbouring rows are of one word");

    __device__ inline int64_t loaded(const dia_view &v, int r) const
    {
        return min(first + r * APART, v.nrows - 1);
    }

    /* Their values on diagonal d. */
    template <typename STORED>
    __device__ inline tess::pack<STORED, ROWS> values(const dia_view &v, int64_t d) const
    {
        const STORED *val = (const STORED *)v.val;

        if constexpr (APART == 1) {
            return load_diagonal_values((const tess::pack<STORED, ROWS> *)(val + dia_place(&v, d, first)));
        } else {
            tess::pack<STORED, ROWS> own;

#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                own.value[r] =
                    load_diagonal_values((const tess::pack<STORED, 1> *)(val + dia_place(&v, d, loaded(v, r))))
                        .value[0];
            }
            return own;
        }
    }

    /* Bit r: row r has an entry on the diagonal, if its column exists. */
    __device__ inline uint32_t entries(const dia_view &v, dia_diagonal diagonal) const
    {
        if (diagonal.bitmap < 0) { return UINT32_MAX; }
        if constexpr (APART == 1) {
            return gpu_load_once(v.bitmap + dia_word(&v, diagonal, first)) >> (first % DIA_WORD);
        } else {
            uint32_t bits = 0;

#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int64_t row = loaded(v, r);

                bits |= (gpu_load_once(v.bitmap + dia_word(&v, diagonal, row)) >> (row % DIA_WORD) & 1U) << r;
            }
            return bits;
        }
    }
};

/* Whether ROWS elements of x from any multiple of ROWS on come in one load. */
template <int ROWS, typename VECTOR>
__device__ static inline bool has_packs(const VECTOR *x)
{
    return ROWS > 1 && ROWS * sizeof *x <= 16 && (uintptr_t)x % (ROWS * sizeof *x) == 0;
}

/* The elements of x that the rows multiply on a diagonal, where there are such; 0 elsewhere. Bit r of what it returns:
   row r has one. packs: has_packs(x). */
template <int APART, int ROWS, typename VECTOR>
__device__ static inline uint32_t load_factors(const dia_view &v, diagonal_rows<APART, ROWS> rows, int32_t offset,
                                               const VECTOR *x, bool packs, VECTOR (&factor)[ROWS])
{
    const int64_t column = rows.first + offset;
    uint32_t within = 0;

    if constexpr (APART == 1 && ROWS * sizeof(VECTOR) <= 16) {
        if (packs && offset % ROWS == 0 && column >= 0 && column + ROWS <= v.ncols) {
            const tess::pack<VECTOR, ROWS> own = *(const tess::pack<VECTOR, ROWS> *)(x + column);

#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                factor[r] = own.value[r];
            }
            return UINT32_MAX;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const bool exists = (uint64_t)(column + r * APART) < (uint64_t)v.ncols; /* negative ones become large */

        factor[r] = VECTOR(0);
        if (exists) { factor[r] = x[column + r * APART]; }
        within |= (exists ? 1U : 0U) << r;
    }
    return within;
}

/* COUNT diagonals from d on. Every place of a diagonal may be loaded, and x wherever the column exists: no load waits
   for a bitmap. Products are computed in PRODUCT and added in ARITHMETIC. */
template <int COUNT, typename STORED, typename PRODUCT, int APART, int ROWS, typename VECTOR, typename ARITHMETIC>
__device__ static inline void add_diagonals(const dia_view &v, int64_t d, diagonal_rows<APART, ROWS> rows,
                                            const VECTOR *x, bool packs, ARITHMETIC (&sum)[ROWS])
{
    dia_diagonal diagonal[COUNT];
    tess::pack<STORED, ROWS> value[COUNT];
    VECTOR factor[COUNT][ROWS];
    uint32_t entries[COUNT];

#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        diagonal[u] = v.diagonal[d + u];
        value[u] = rows.template values<STORED>(v, d + u);
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        entries[u] = rows.entries(v, diagonal[u]);
        entries[u] &= load_factors(v, rows, diagonal[u].offset, x, packs, factor[u]);
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        PRODUCT decoded[ROWS];

        tess::decode_pack<PRODUCT>(value[u], decoded);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (entries[u] >> r & 1U) { sum[r] += (ARITHMETIC)(decoded[r] * (PRODUCT)factor[u][r]); }
        }
    }
}

/* All diagonals: full batches, then one batch with exactly the rest. */
template <typename STORED, typename PRODUCT, int APART, int ROWS, typename VECTOR, typename ARITHMETIC>
__device__ static inline void sum_diagonals(const dia_view &v, diagonal_rows<APART, ROWS> rows, const VECTOR *x,
                                            ARITHMETIC (&sum)[ROWS])
{
    constexpr int BATCH = diagonal_tuning::BATCH;
    const bool packs = has_packs<ROWS>(x);
    int64_t d = 0;

    static_assert(BATCH == 4, "the cases below");
    for (; d + BATCH <= v.ndiagonals; d += BATCH) {
        add_diagonals<BATCH, STORED, PRODUCT>(v, d, rows, x, packs, sum);
    }
    switch (v.ndiagonals - d) {
    case 1: add_diagonals<1, STORED, PRODUCT>(v, d, rows, x, packs, sum); break;
    case 2: add_diagonals<2, STORED, PRODUCT>(v, d, rows, x, packs, sum); break;
    case 3: add_diagonals<3, STORED, PRODUCT>(v, d, rows, x, packs, sum); break;
    default: break;
    }
}

#endif
