/* SPDX-License-Identifier: Apache-2.0 */
/* The storage of diagonal blocks: places, precisions and scales; the same on host and device. */
#ifndef TESS_PRECOND_BLOCK_JACOBI_BLOCK_STORAGE_H
#define TESS_PRECOND_BLOCK_JACOBI_BLOCK_STORAGE_H

#include <math.h>

#include <tessera/codec.h>

#include "base/bits.h"
#include "base/precision_traits.h"
#include "precond/block_jacobi/block_jacobi.h"

TESS_HD int64_t block_count(const tess_block_diagonal *m)
{
    return m->block_size > 0 ? (m->n + m->block_size - 1) / m->block_size : 0;
}

/* Bytes of a block in `precision`. Blocks of different lengths begin at multiples of 8. */
TESS_HD int64_t block_bytes(const tess_block_diagonal *m, tess_precision precision)
{
    const int64_t bytes = (int64_t)m->block_size * m->block_size * (int64_t)tess_storage_bytes(precision);

    return m->precisions ? (bytes + 7) / 8 * 8 : bytes;
}

TESS_HD char *block_place(const tess_block_diagonal *m, int64_t block)
{
    return m->places ? m->places[block] : (char *)m->inverse + block * block_bytes(m, m->storage);
}

TESS_HD tess_precision block_precision(const tess_block_diagonal *m, int64_t block)
{
    return m->precisions ? (tess_precision)m->precisions[block] : m->storage;
}

/* Number of rows in the matrix; the last block may have fewer. */
TESS_HD int block_rows(const tess_block_diagonal *m, int64_t block)
{
    const int64_t left = m->n - block * m->block_size;

    return left < 0 ? 0 : left < m->block_size ? (int)left : m->block_size;
}

TESS_HD double block_scale(const tess_block_diagonal *m, int64_t block)
{
    return m->exponents ? tess_power_of_two(m->exponents[block]) : 1.0;
}

/*
 * The exponent of the scale for entries up to `largest`. Precisions with more range than fp16 are scaled as fp16 is, so
 * that sums in FP32 arithmetic stay in range. 2^exponent and its inverse are normal numbers.
 */
TESS_HD int block_exponent(tess_precision precision, double largest)
{
    const bool wide = precision_traits_of(precision).emax > precision_traits_of(TESS_PRECISION_FP16).emax;

    return (int)(tess_double_bits(tess_scale_for(wide ? TESS_PRECISION_FP16 : precision, largest)) >> 52) - 1023;
}

TESS_HD double larger_of(double a, double b)
{
    return b > a ? b : a;
}

/* Sum of magnitudes of column j of a column-major block with leading dimension ld: its 1-norm is the largest of them.
 */
TESS_HD double column_sum(const double *a, int ld, int rows, int j)
{
    double sum = 0.0;

    for (int i = 0; i < rows; i++) {
        sum += fabs(a[i + ld * j]);
    }
    return sum;
}

/* The lowest precision, from `lowest` up, that keeps a digit of the inverse of a block with that condition number. */
TESS_HD tess_precision choose_block_precision(tess_precision lowest, double condition)
{
    const double tau = 0.1;
    tess_precision p = lowest;

    while (p != TESS_PRECISION_FP64 && !(condition * tess_power_of_two(-precision_traits_of(p).digits) < tau)) {
        p = next_wider_precision(p);
    }
    return p;
}

#endif
