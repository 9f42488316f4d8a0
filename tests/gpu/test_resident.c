/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout resident on the GPU: the tests of the host, and the bytes of the host's builder. */
#define TESTS_ON_GPU
#include "../unit/test_resident.c" /* the same tests, in another context */

/* What both builders make of a matrix is the same to the byte, after new values too. */
static void check_same_bytes(const oracle_csr *a, const tess_storage_options *options)
{
    tess_context *contexts[2] = {open_cpu(2), open_device(2)};
    tiles_records r[2][2];

    for (int d = 0; d < 2; d++) {
        tess_matrix *assembled = make_matrix(contexts[d], a), *stored = convert_tiles(assembled, options);
        double *values = random_values(a->nnz, 17, -0.5, 0.5);

        r[d][0] = read_tiles_records(stored);
        assert_ok(contexts[d], tess_matrix_update_values(assembled, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(contexts[d], tess_matrix_refresh(stored));
        r[d][1] = read_tiles_records(stored);
        free(values);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        tess_context_destroy(contexts[d]);
    }
    for (int time = 0; time < 2; time++) {
        const tiles_records *host = &r[0][time], *device = &r[1][time];

        assert_int_equal(host->units, device->units);
        assert_memory_equal(host->start, device->start, (size_t)(host->nblock_rows + 1) * sizeof *host->start);
        if (host->units > 0) { assert_memory_equal(host->record, device->record, (size_t)host->units * TILES_UNIT); }
        free_tiles_records(&r[0][time]);
        free_tiles_records(&r[1][time]);
    }
}

static void builders_agree_to_the_byte(void **state)
{
    oracle_csr matrices[TILES_MATRICES];

    (void)state;
    make_tiles_matrices(matrices);
    for (size_t k = 0; k < TILES_MATRICES; k++) {
        tess_storage_options options = resident_of(0.4, TESS_PRECISION_FP64, fp32);

        check_same_bytes(&matrices[k], &options);
        options.policy.nlevels = 3;
        options.policy.level[2] = (tess_precision_level){k % 2 == 0 ? TESS_PRECISION_FP16 : TESS_PRECISION_E5M2, 1};
        check_same_bytes(&matrices[k], &options);
        options = resident_lossless("fp64,fp32,fp16,e4m3");
        check_same_bytes(&matrices[k], &options);
        oracle_free(&matrices[k]);
    }
}

/* A row with an entry in each of 700 tiles, another with 16 in each, and rows of few: of the first two each is cut. */
static oracle_csr make_long_rows(void)
{
    enum { N = 700 * 16, LAST = N - 3 };
    oracle_csr a = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            const bool sparse = i == 5 && j % 16 == i % 7, full = i == LAST,
                       near = i / 16 == j / 16 && (i + j) % 5 == 0;

            if (sparse || full || near) { oracle_push(&a, j, (double)((i + 3 * j) % 11) - 5.25); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Chunks of up to 128 tiles: 6 of each of two block rows of 700 tiles; their sums are those of the definition, and the
   same every time. */
static void block_rows_of_many_tiles_are_cut(void **state)
{
    const tess_storage_options options = resident_of(2.0, TESS_PRECISION_FP64, fp32);
    oracle_csr a = make_long_rows();
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_matrix(ctx, &a), *stored = convert_tiles(assembled, &options);
    const tiles_long *longs = &((const tiles_storage *)stored->storage)->view.longs;
    double *x = random_values(a.ncols, 9, -1.0, 1.0), *y = test_allocate(2 * a.nrows, sizeof *y);

    (void)state;
    assert_int_equal(longs->rows, 2);
    assert_int_equal(longs->chunks, 12);
    check_tiles(ctx, &a, &options);
    for (int turn = 0; turn < 2; turn++) {
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, x, y + turn * a.nrows);
    }
    assert_true(same_bits(y, y + a.nrows, a.nrows));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESIDENT_TESTS,
        cmocka_unit_test(builders_agree_to_the_byte),
        cmocka_unit_test(block_rows_of_many_tiles_are_cut),
    };

    return run_gpu_tests(tests, NULL);
}
