/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel paper of format split, CSR-Vector: products by rows, entries and blocks, against the values that are stored.
 */
#include <tessera/papers.h>

#include "format/split/split.h"
#include "matrix/matrix.h"
#include "support/product.h"
#include "support/test.h"

static tess_context *gpu = NULL;

static const tess_papers_storage paper = {.size = sizeof(tess_papers_storage), .kernel = TESS_KERNEL_PAPER};

/* Values below 0.5 in magnitude, rows of them if by rows, are FP32. */
static tess_storage_options split_by(tess_granularity granularity, tess_arithmetic arithmetic, bool by_paper)
{
    tess_storage_options options;

    tess_storage_options_init(&options);
    options.format = TESS_FORMAT_SPLIT;
    options.arithmetic = arithmetic;
    options.policy.policy = TESS_POLICY_FIXED_RANGE;
    options.policy.parameter = 0.5;
    options.policy.granularity = granularity;
    if (by_paper) { options.papers = &paper; }
    return options;
}

/* Rows of 0 to `longest` entries; every second row has small ones alone. */
static oracle_csr make_rows(int64_t n, int64_t longest)
{
    oracle_csr a = oracle_open(n, n);
    uint64_t seed = 77;

    for (int64_t i = 0; i < n; i++) {
        const int64_t count = i * 7 % (longest + 1);

        for (int64_t j = 0; j < count; j++) {
            const double value = oracle_uniform(&seed, -1.0, 1.0);

            oracle_push(&a, (i / 3 + j * (n / longest)) % n, i % 2 == 0 ? 0.4 * value : value);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static tess_matrix *store(const tess_matrix *assembled, const tess_storage_options *options)
{
    tess_matrix *stored = NULL;

    assert_ok(gpu, tess_matrix_convert(assembled, options, &stored));
    return stored;
}

static void check_rows(const oracle_csr *a, tess_granularity granularity)
{
    const tess_storage_options options = split_by(granularity, TESS_ARITHMETIC_FP64, true);
    tess_matrix *assembled = make_matrix(gpu, a), *stored = store(assembled, &options);
    const split_storage *storage = stored->storage;
    oracle_csr seen = decode_matrix(stored);

    assert_true(storage->multiply != NULL && storage->nparts >= 2);
    if (granularity != TESS_GRANULARITY_BLOCK) { /* blocks have rows of both kinds */
        assert_true(storage->summary.nonzeros_at[0] > 0 && storage->summary.nonzeros_at[1] > 0);
    }
    check_product(stored, &seen, TESS_OP_NONE, 1.0, 0.0);
    check_product(stored, &seen, TESS_OP_NONE, -0.75, 2.0);
    oracle_free(&seen);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
}

static void products_are_those_of_what_is_stored(void **state)
{
    static const tess_granularity granularities[] = {TESS_GRANULARITY_ROW, TESS_GRANULARITY_ENTRY,
                                                     TESS_GRANULARITY_BLOCK};
    static const int64_t longest[] = {1, 3, 12, 70};

    (void)state;
    for (size_t l = 0; l < sizeof longest / sizeof *longest; l++) {
        oracle_csr a = make_rows(600, longest[l]);

        for (size_t g = 0; g < sizeof granularities / sizeof *granularities; g++) {
            check_rows(&a, granularities[g]);
        }
        oracle_free(&a);
    }
}

/* The kernel acts: its sums of long rows have another order than the library's. In FP32 both round the same products,
   and sums in FP64 differ by their order alone. */
static void sums_differ_from_the_library_by_their_order(void **state)
{
    static const tess_arithmetic arithmetics[] = {TESS_ARITHMETIC_FP64, TESS_ARITHMETIC_FP32};
    oracle_csr a = make_rows(600, 70);
    double *x = random_values(a.ncols, 5, -1.0, 1.0), *y = test_allocate(3 * a.nrows, sizeof *y);
    tess_matrix *assembled = make_matrix(gpu, &a);

    (void)state;
    for (int k = 0; k < 4; k++) {
        const tess_granularity granularity = k < 2 ? TESS_GRANULARITY_ROW : TESS_GRANULARITY_ENTRY;

        for (int way = 0; way < 3; way++) { /* the library, the paper twice */
            const tess_storage_options options = split_by(granularity, arithmetics[k % 2], way > 0);
            tess_matrix *stored = store(assembled, &options);

            multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, x, y + way * a.nrows);
            tess_matrix_destroy(stored);
        }
        assert_true(same_bits(y + a.nrows, y + 2 * a.nrows, a.nrows));
        assert_false(same_bits(y, y + a.nrows, a.nrows));
        for (int64_t i = 0; i < a.nrows; i++) {
            double size = 0.0;

            for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
                size += fabs(a.val[e] * x[a.col_ind[e]]);
            }
            assert_at_most(fabs(y[i] - y[a.nrows + i]), 2.0 * gamma_of(71.0) * (1.0 + 0x1p-22) * size);
        }
    }
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    free(x);
    free(y);
}

static void what_cannot_be_is_refused(void **state)
{
    oracle_csr a = make_rows(50, 5);
    tess_matrix *assembled = make_matrix(gpu, &a), *stored = NULL;
    tess_storage_options options = split_by(TESS_GRANULARITY_ROW, TESS_ARITHMETIC_FP64, true);

    (void)state;
    options.split.base = TESS_FORMAT_ELLR;
    assert_fails(gpu, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
    options.split.base = TESS_FORMAT_CSR;
    options.format = TESS_FORMAT_COMPOSITE;
    assert_fails(gpu, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
    assert_null(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_what_is_stored),
        cmocka_unit_test(sums_differ_from_the_library_by_their_order),
        cmocka_unit_test(what_cannot_be_is_refused),
    };

    return run_gpu_tests(tests, &gpu);
}
