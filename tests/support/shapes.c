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

static void push_scaled(oracle_csr *a, int64_t row, int64_t count, const double *values, double scale)
{
    for (int64_t k = 0; k < count; k++) {
        oracle_push(a, k, values[k] * scale);
    }
    oracle_end_row(a, row);
}

enum { HARD_COLUMNS = 1100, HARD_KINDS = 8 };

/* Row `kind` of values that are all below 2 in magnitude but for the first kinds. */
static int64_t hard_row(int kind, uint64_t *seed, double *values)
{
    static const double edges[][6] = {{65504.0, 65519.0, 65520.0, 65536.0, 1.0 / 3.0, 0.0},
                                      {448.0, 464.0, 480.0, 61440.0, 57344.0, 0.1},
                                      {0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-9, 0x1p-10, 0x1.01p-10},
                                      {1.0 + 0x1p-24, 1.0 + 0x1p-11, 1.0 + 0x1p-8, 1.0 + 0x1p-4, 1.0, -0.0}};
    const int64_t lengths[HARD_KINDS] = {6, 6, 6, 6, 27, 200, 1, HARD_COLUMNS};

    for (int64_t k = 0; k < lengths[kind]; k++) {
        const double random = oracle_uniform(seed, -1.0, 1.0);

        values[k] = kind < 4                 ? edges[kind][k]
                    : kind == 5 && k == 100  ? 1.0
                    : kind == 5              ? random * 1e-6
                    : kind == 7 && k % 5 > 0 ? ldexp(random, (int)(k % 40) - 40)
                                             : random;
    }
    return lengths[kind];
}

oracle_csr shape_hard_rows(void)
{
    static const int scales[] = {0, -2, 13, 110, -1021, 1023, -1074, -130};
    static const double special[][3] = {
        {NAN, 1.0, 1.0 / 3.0}, {1.0 / 3.0, -INFINITY, 1.0}, {0.0, -0.0, 0.0}, {1e300, 1.0 / 3.0, 1e-300}};
    enum { SCALES = sizeof scales / sizeof *scales, SPECIAL = sizeof special / sizeof *special };
    oracle_csr a = oracle_open(SCALES * HARD_KINDS + SPECIAL + 1, HARD_COLUMNS);
    double *values = test_allocate(HARD_COLUMNS, sizeof *values);
    uint64_t seed = 5;
    int64_t row = 0;

    for (int s = 0; s < SCALES; s++) {
        for (int kind = 0; kind < HARD_KINDS; kind++) {
            const int64_t all = hard_row(kind, &seed, values), count = s < 2 || all < 300 ? all : 20;
            const double largest = kind < 2 ? 0x1p16 : 1.0; /* none of the first edges overflows FP64 */

            push_scaled(&a, row++, count, values, ldexp(1.0, scales[s]) / (scales[s] == 1023 ? 2.0 * largest : 1.0));
        }
    }
    for (int k = 0; k < SPECIAL; k++) {
        push_scaled(&a, row++, 3, special[k], 1.0);
    }
    oracle_end_row(&a, row);
    free(values);
    return a;
}

const shape_maker shape_makers[] = {make_empty_rows,     make_dense_row,   make_tall,      make_wide,   make_power_law,
                                    make_no_nonzeros,    shape_one_by_one, make_no_rows,   make_ragged, shape_grid,
                                    make_explicit_zeros, shape_wide_range, make_subnormal, NULL};
