/* SPDX-License-Identifier: Apache-2.0 */
#include "support/shapes.h"

#include <tessera/codec.h>

static oracle_csr make_empty_rows(void)
{
    oracle_csr a = oracle_random(501, 501, 4, 3), b = oracle_open(501, 501);

    for (int64_t i = 0; i < 501; i++) {
        for (int64_t k = a.row_ptr[i]; i % 4 == 1 && k < a.row_ptr[i + 1]; k++) {
            oracle_push(&b, a.col_ind[k], a.val[k]);
        }
        oracle_end_row(&b, i);
    }
    oracle_free(&a);
    return b;
}

static oracle_csr make_dense_row(void)
{
    oracle_csr a = oracle_open(21000, 21000);
    uint64_t seed = 4;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; i == 9000 && j < a.ncols; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        if (i != 9000) { oracle_push(&a, i, oracle_uniform(&seed, -1.0, 1.0)); }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr make_tall(void)
{
    return oracle_random(1003, 17, 3, 5);
}

static oracle_csr make_wide(void)
{
    return oracle_random(17, 1003, 60, 6);
}

static oracle_csr make_power_law(void)
{
    return oracle_power_law(12000, 7);
}

static oracle_csr make_no_nonzeros(void)
{
    oracle_csr a = oracle_open(33, 31);

    for (int64_t i = 0; i < 33; i++) {
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr shape_one_by_one(void)
{
    return oracle_tridiagonal(1, 0.0, -7.25, 0.0);
}

static oracle_csr make_no_rows(void)
{
    return oracle_open(0, 0);
}

/* Not a multiple of 16: published tile code drops the last rows of add20, n = 2,395. */
static oracle_csr make_ragged(void)
{
    return oracle_tridiagonal(2395, -1.0, 2.0 / 3.0, 0.1);
}

oracle_csr shape_grid(void)
{
    return oracle_convection2d(61, 0.7);
}

static oracle_csr make_explicit_zeros(void)
{
    oracle_csr a = oracle_tridiagonal(100, 0.0, 1.0, -0.0);

    return a;
}

oracle_csr shape_wide_range(void)
{
    return oracle_random(400, 400, 6, 8);
}

void spread_values(oracle_csr *a, tess_precision precision)
{
#define LARGEST(NAME, value, name, type, bits, emin, emax, max) [value] = (emax),
    static const int largest[] = {TESS_PRECISION_LIST(LARGEST)};
#undef LARGEST
    int low = ilogb(tess_precision_smallest(precision)) - 1, high = largest[precision];

    low = low < -145 ? -145 : low;
    high = high > 124 ? 124 : high;
    for (int64_t k = 0; k < a->nnz; k++) {
        a->val[k] = ldexp(a->val[k], (int)(k % (high - low + 1)) + low);
    }
}

/* FP64 subnormals: other precisions flush them to zero, FP64 must not. */
static oracle_csr make_subnormal(void)
{
    oracle_csr a = oracle_random(64, 64, 5, 9);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = ldexp(a.val[k], -1060 - (int)(k % 14));
    }
    return a;
}

const shape_maker shape_makers[] = {make_empty_rows,     make_dense_row,   make_tall,      make_wide,   make_power_law,
                                    make_no_nonzeros,    shape_one_by_one, make_no_rows,   make_ragged, shape_grid,
                                    make_explicit_zeros, shape_wide_range, make_subnormal, NULL};
