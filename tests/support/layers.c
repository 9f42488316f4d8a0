/* SPDX-License-Identifier: Apache-2.0 */
#include "support/layers.h"

#include "matrix/matrix.h"
#include "support/product.h"

const int layer_sides[4][2] = {{16, 16}, {16, 32}, {32, 16}, {32, 32}};
const tess_format layer_bases[LAYER_BASES] = {TESS_FORMAT_CSR, TESS_FORMAT_ELLR, TESS_FORMAT_SELL, TESS_FORMAT_DIA};

tess_storage_options layer_options(tess_granularity granularity, const char *policy, const char *levels)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_SPLIT;
    o.slices.max_padding = 1e5;
    o.policy.granularity = granularity;
    assert_int_equal(tess_policy_options_parse(policy, &o.policy), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &o.policy), TESS_SUCCESS);
    return o;
}

tess_matrix *convert_layers(const tess_matrix *a, const tess_storage_options *options)
{
    tess_matrix *stored = NULL;

    assert_ok(a->ctx, tess_matrix_convert(a, options, &stored));
    return stored;
}

/* Of two or three magnitudes by squares of 16: each in blocks of its own, where these are as large or larger. */
static void scale_squares(oracle_csr *a, int magnitudes)
{
    static const double scale[3] = {1.0, 0x1p-6, 0x1p-22};

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            a->val[k] = (a->val[k] < 0.0 ? a->val[k] - 1.0 : a->val[k] + 1.0) *
                        scale[(i / 16 * 7 + a->col_ind[k] / 16 * 3) % magnitudes];
        }
    }
}

/* Neighbouring rows have neighbouring columns, 1 to 9 of them; ragged on both sides. */
oracle_csr make_layer_band(int64_t nrows, int64_t ncols, int magnitudes)
{
    oracle_csr a = oracle_open(nrows, ncols);
    uint64_t seed = 71;

    for (int64_t i = 0; i < nrows; i++) {
        int64_t first = i * ncols / nrows, reach = i % 5 == 4 ? 0 : 4;

        for (int64_t j = first - reach; j <= first + reach; j++) {
            if (j >= 0 && j < ncols) { oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0)); }
        }
        oracle_end_row(&a, i);
    }
    scale_squares(&a, magnitudes);
    return a;
}

oracle_csr make_layer_scatter(int64_t nrows, int64_t ncols, int magnitudes)
{
    oracle_csr a = oracle_random(nrows, ncols, 9, 72);

    scale_squares(&a, magnitudes);
    return a;
}

/* y of `stored`, by a plain product. */
double *layer_product(const tess_matrix *stored, const double *x)
{
    double *y = test_allocate(stored->nrows + 1, sizeof *y);

    for (int64_t i = 0; i < stored->nrows; i++) {
        y[i] = (double)NAN;
    }
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    return y;
}
