/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles with kernel paper on the GPU: the tests of the host, and the bytes of the host's builder. */
#define TESTS_ON_GPU
#include "../unit/test_tcki.c" /* the same tests, in another context */

/* What both builders make of a matrix is the same to the byte. */
static void check_same_bytes(const oracle_csr *a, const tess_storage_options *options)
{
    tess_context *contexts[2] = {open_cpu(2), open_device(2)};
    int64_t counts[2][TESS_TCKI_FORMATS], bytes[2];
    blocks b[2];

    for (int d = 0; d < 2; d++) {
        tess_matrix *assembled = make_matrix(contexts[d], a), *stored = convert_tiles(assembled, options);

        b[d] = read_blocks(stored);
        bytes[d] = tess_matrix_bytes(stored);
        assert_ok(contexts[d], tess_matrix_tcki_counts(stored, counts[d]));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        tess_context_destroy(contexts[d]);
    }
    assert_int_equal(b[0].nblocks, b[1].nblocks);
    assert_int_equal(b[0].units, b[1].units);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    if (b[0].nblocks > 0) {
        assert_memory_equal(b[0].row, b[1].row, (size_t)b[0].nblocks * sizeof *b[0].row);
        assert_memory_equal(b[0].shape, b[1].shape, (size_t)b[0].nblocks * sizeof *b[0].shape);
        assert_memory_equal(b[0].start, b[1].start, (size_t)(b[0].nblocks + 1) * sizeof *b[0].start);
        assert_memory_equal(b[0].record, b[1].record, (size_t)b[0].units * TCKI_UNIT);
    }
    free_blocks(&b[0]);
    free_blocks(&b[1]);
}

static void builders_agree_to_the_byte(void **state)
{
    (void)state;
    for (size_t s = 0; s < TILES_SHAPES; s++) {
        oracle_csr matrices[TILES_MATRICES];
        tess_papers_storage papers = papers_kernel;

        papers.tcki_thresholds = (tess_tcki_thresholds){0.1, 0.4, 0.6};
        make_tiles_matrices(matrices);
        for (size_t k = 0; k < TILES_MATRICES; k++) {
            tess_storage_options options =
                tiles_of(tiles_shapes[s][0], tiles_shapes[s][1], 0.4, TESS_PRECISION_FP64, fp32);

            options.papers = &papers_kernel;
            options.policy.nlevels = 3;
            options.policy.level[2] = (tess_precision_level){s % 2 == 0 ? TESS_PRECISION_FP16 : TESS_PRECISION_E5M2, 1};
            check_same_bytes(&matrices[k], &options);
            options = paper_of(tiles_shapes[s][0], tiles_shapes[s][1], TESS_PRECISION_FP64);
            options.papers = &papers;
            check_same_bytes(&matrices[k], &options);
            oracle_free(&matrices[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TCKI_TESTS,
        cmocka_unit_test(builders_agree_to_the_byte),
    };

    return run_gpu_tests(tests, NULL);
}
