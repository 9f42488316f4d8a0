/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file accessor.h  Arrays stored in one precision and computed with in another, for C17 (and C++, CUDA, HIP).
 *
 *     tess_range a = tess_range_matrix(memory, TESS_PRECISION_BF16, nrows, ncols, ncols);
 *     tess_range_set2(a, i, j, 0.1), sum += tess_range_get2(a, i, j);                 rounds to bf16; reads a double
 *
 * A tess_range is a view of an array of one to four dimensions: address, precision, strides, and an optional scale.
 * Ranges are passed by value and own nothing. Header only: programs need not link the library. accessor.cuh does the
 * same for C++ and for kernels, with the precision in the type. docs/howto/use-the-accessor.md
 * - Speed: if the compiler knows precision, rank and strides (a range made in the same function, or tess_range_fixed),
 *   an access is a load and a conversion, and loops are vectorised. Otherwise each access switches over the precisions.
 * - Reading is exact, except FP64 storage read as float. Writing rounds once to nearest even; `overflow` says what
 *   happens to values that are too large (codec.h). assert checks indices, unless NDEBUG is defined.
 * - With a scale, writing stores value / scale and reading returns stored * scale. This is exact for a power of two;
 *   for another scale the quotient and the product are rounded as well. The float functions compute it in double.
 * Source: Gruetzmacher, Anzt, Quintana-Orti, Softw. Pract. Exper. 53 (2023), section 2. Test:
 * tests/unit/test_accessor.c
 */
#ifndef TESSERA_ACCESSOR_H
#define TESSERA_ACCESSOR_H

#include <assert.h>
#include <stdint.h>

#include <tessera/codec.h>

enum { TESS_RANGE_RANK_MAX = 4 };

/** A view of an array. Dimensions beyond `rank` have length 1. */
typedef struct tess_range {
    void *data; /**< element (0, ..., 0). Reading never writes to it, so const data may be cast */
    tess_precision precision;
    tess_overflow overflow; /**< what happens to a value that is too large; may be changed at any time */
    int rank;
    int64_t length[TESS_RANGE_RANK_MAX];
    int64_t stride[TESS_RANGE_RANK_MAX]; /**< in elements */
    const double *scale;                 /**< NULL: 1 */
    int64_t scale_stride[TESS_RANGE_RANK_MAX];
} tess_range;

/* ---- making ranges ---- */

/* stride NULL: no gaps, dimension `fastest` contiguous, the others row-major. */
TESS_HD tess_range tess_range_make(void *data, tess_precision precision, int rank, int fastest, const int64_t *length,
                                   const int64_t *stride)
{
    tess_range r;
    int64_t count = 1;

    assert(rank >= 1 && rank <= TESS_RANGE_RANK_MAX);
    r.data = data;
    r.precision = precision;
    r.overflow = TESS_OVERFLOW_INFINITY;
    r.rank = rank;
    r.scale = NULL;
    for (int d = 0; d < TESS_RANGE_RANK_MAX; d++) {
        r.length[d] = d < rank ? length[d] : 1;
        r.stride[d] = d < rank && stride ? stride[d] : 0;
        r.scale_stride[d] = 0;
    }
    if (!stride) {
        r.stride[fastest] = 1;
        count = r.length[fastest];
        for (int d = rank - 1; d >= 0; d--) {
            if (d == fastest) { continue; }
            r.stride[d] = count;
            count *= r.length[d];
        }
    }
    return r;
}

/** @p rank dimensions, the last one contiguous. @p stride has one number per dimension, in elements; NULL: no gaps. */
TESS_HD tess_range tess_range_row_major(void *data, tess_precision precision, int rank, const int64_t *length,
                                        const int64_t *stride)
{
    return tess_range_make(data, precision, rank, rank - 1, length, stride);
}

/** The last two dimensions (row, column) are column-major, those before them row-major: blocks of a blocked CSR. */
TESS_HD tess_range tess_range_block_column_major(void *data, tess_precision precision, int rank, const int64_t *length,
                                                 const int64_t *stride)
{
    assert(rank >= 2);
    return tess_range_make(data, precision, rank, rank - 2, length, stride);
}

/** n contiguous values. */
TESS_HD tess_range tess_range_vector(void *data, tess_precision precision, int64_t n)
{
    return tess_range_make(data, precision, 1, 0, &n, NULL);
}

/** A row-major matrix. @p ld >= ncols is the distance between rows, in elements. */
TESS_HD tess_range tess_range_matrix(void *data, tess_precision precision, int64_t nrows, int64_t ncols, int64_t ld)
{
    int64_t length[2], stride[2];

    length[0] = nrows;
    length[1] = ncols;
    stride[0] = ld;
    stride[1] = 1;
    return tess_range_make(data, precision, 2, 1, length, stride);
}

/**
 * The range @p r with a scale: value / scale is stored. @p mask 0: one scale for all; 1: one per row of a matrix; 2:
 * one per column. In general, bit d says that the scale varies along dimension d. The scales are row-major over these
 * dimensions, without gaps, and are read at each access. None may be 0, Inf or NaN. Powers of two cost no accuracy.
 */
TESS_HD tess_range tess_range_scaled(tess_range r, const double *scale, unsigned mask)
{
    int64_t count = 1;

    assert(mask < 1U << r.rank);
    r.scale = scale;
    for (int d = TESS_RANGE_RANK_MAX - 1; d >= 0; d--) {
        r.scale_stride[d] = mask >> d & 1U ? count : 0;
        count *= mask >> d & 1U ? r.length[d] : 1;
    }
    return r;
}

/** The part of @p r with indices @p begin to @p end - 1 of one dimension. It has as many dimensions as @p r. */
TESS_HD tess_range tess_range_part(tess_range r, int dimension, int64_t begin, int64_t end)
{
    assert(dimension >= 0 && dimension < r.rank);
    assert(0 <= begin && begin <= end && end <= r.length[dimension]);
    r.data = (char *)r.data + begin * r.stride[dimension] * (int64_t)tess_storage_bytes(r.precision);
    if (r.scale) { r.scale += begin * r.scale_stride[dimension]; }
    r.length[dimension] = end - begin;
    return r;
}

/** Returns @p r and tells the compiler its precision. For kernels with one loop per precision. */
TESS_HD tess_range tess_range_fixed(tess_range r, tess_precision precision)
{
    assert(r.precision == precision);
    r.precision = precision;
    return r;
}

/** Number of indices of a dimension. */
TESS_HD int64_t tess_range_length(tess_range r, int dimension)
{
    assert(dimension >= 0 && dimension < r.rank);
    return r.length[dimension];
}

/* ---- elements ---- */

TESS_HD void tess_range_check(tess_range r, int rank, int64_t i, int64_t j, int64_t k, int64_t l)
{
    assert(r.rank == rank);
    assert(i >= 0 && i < r.length[0]);
    assert(j >= 0 && j < r.length[1]);
    assert(k >= 0 && k < r.length[2]);
    assert(l >= 0 && l < r.length[3]);
    (void)r, (void)rank, (void)i, (void)j, (void)k, (void)l;
}

/* Offset of an element, by strides of elements or of scales. */
TESS_HD int64_t tess_range_offset(const int64_t *stride, int64_t i, int64_t j, int64_t k, int64_t l)
{
    return i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3];
}

TESS_HD double tess_range_scale_at(tess_range r, int64_t i, int64_t j, int64_t k, int64_t l)
{
    return r.scale ? r.scale[tess_range_offset(r.scale_stride, i, j, k, l)] : 1.0;
}

TESS_HD double tess_range_read(tess_range r, int rank, int64_t i, int64_t j, int64_t k, int64_t l)
{
    double stored;

    tess_range_check(r, rank, i, j, k, l);
    stored = tess_load(r.precision, r.data, tess_range_offset(r.stride, i, j, k, l));
    return r.scale ? stored * tess_range_scale_at(r, i, j, k, l) : stored;
}

TESS_HD float tess_range_read_float(tess_range r, int rank, int64_t i, int64_t j, int64_t k, int64_t l)
{
    if (r.scale) { return (float)tess_range_read(r, rank, i, j, k, l); }
    tess_range_check(r, rank, i, j, k, l);
    return tess_load_float(r.precision, r.data, tess_range_offset(r.stride, i, j, k, l));
}

TESS_HD void tess_range_write(tess_range r, int rank, int64_t i, int64_t j, int64_t k, int64_t l, double value)
{
    tess_range_check(r, rank, i, j, k, l);
    if (r.scale) { value /= tess_range_scale_at(r, i, j, k, l); }
    tess_store(r.precision, r.data, tess_range_offset(r.stride, i, j, k, l), value, r.overflow);
}

TESS_HD void tess_range_write_float(tess_range r, int rank, int64_t i, int64_t j, int64_t k, int64_t l, float value)
{
    if (r.scale) {
        tess_range_write(r, rank, i, j, k, l, (double)value);
    } else {
        tess_range_check(r, rank, i, j, k, l);
        tess_store_float(r.precision, r.data, tess_range_offset(r.stride, i, j, k, l), value, r.overflow);
    }
}

/*
 * For ranges of 1 to 4 dimensions, such as 2: tess_range_get2(r, i, j) and tess_range_set2(r, i, j, value) in double;
 * tess_range_getf2 and tess_range_setf2 in float; tess_range_add2(r, i, j, value) sets get2(r, i, j) + value.
 */
#define TESS_RANGE_ACCESS(n, indices, i, j, k, l)                                      \
    TESS_HD double tess_range_get##n(tess_range r, TESS_UNPACK indices)                \
    {                                                                                  \
        return tess_range_read(r, n, i, j, k, l);                                      \
    }                                                                                  \
    TESS_HD float tess_range_getf##n(tess_range r, TESS_UNPACK indices)                \
    {                                                                                  \
        return tess_range_read_float(r, n, i, j, k, l);                                \
    }                                                                                  \
    TESS_HD void tess_range_set##n(tess_range r, TESS_UNPACK indices, double value)    \
    {                                                                                  \
        tess_range_write(r, n, i, j, k, l, value);                                     \
    }                                                                                  \
    TESS_HD void tess_range_setf##n(tess_range r, TESS_UNPACK indices, float value)    \
    {                                                                                  \
        tess_range_write_float(r, n, i, j, k, l, value);                               \
    }                                                                                  \
    TESS_HD void tess_range_add##n(tess_range r, TESS_UNPACK indices, double value)    \
    {                                                                                  \
        tess_range_write(r, n, i, j, k, l, tess_range_read(r, n, i, j, k, l) + value); \
    }
#define TESS_UNPACK(...) __VA_ARGS__
TESS_RANGE_ACCESS(1, (int64_t i), i, 0, 0, 0)
TESS_RANGE_ACCESS(2, (int64_t i, int64_t j), i, j, 0, 0)
TESS_RANGE_ACCESS(3, (int64_t i, int64_t j, int64_t k), i, j, k, 0)
TESS_RANGE_ACCESS(4, (int64_t i, int64_t j, int64_t k, int64_t l), i, j, k, l)
#undef TESS_UNPACK
#undef TESS_RANGE_ACCESS

#endif
