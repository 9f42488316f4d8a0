/* SPDX-License-Identifier: Apache-2.0 */
/* DIA on the GPU: the tests of the host, and the layout that the host builds. */
#define TESTS_ON_GPU
#include "../unit/test_dia.c" /* the same tests, in another context */

static void the_layout_is_that_of_the_host(void **state)
{
    tess_context *cpu = open_cpu(2), *gpu = open_device(1);

    (void)state;
    for (int k = 0; k < BANDS * TESS_PRECISION_COUNT; k++) {
        const tess_precision precision = (tess_precision)(k / BANDS);
        oracle_csr a = make_band(&bands[k % BANDS]);
        tess_matrix *on_cpu = make_matrix(cpu, &a), *on_gpu = make_matrix(gpu, &a);
        tess_matrix *host = to_diagonals(on_cpu, precision), *device = to_diagonals(on_gpu, precision);
        const dia_view *h = view_of(host), *d = view_of(device);

        assert_int_equal(h->ndiagonals, d->ndiagonals);
        assert_int_equal(h->nbitmaps, d->nbitmaps);
        assert_int_equal(h->stride, d->stride);
        check_same_bytes(host, h->diagonal, device, d->diagonal, h->ndiagonals * (int64_t)sizeof *h->diagonal);
        if (h->nbitmaps > 0) {
            check_same_bytes(host, h->bitmap, device, d->bitmap, h->nbitmaps * h->words * (int64_t)sizeof *h->bitmap);
        }
        check_same_bytes(host, h->val, device, d->val,
                         h->ndiagonals * h->stride * (int64_t)tess_precision_bytes(precision));
        tess_matrix_destroy(host);
        tess_matrix_destroy(device);
        tess_matrix_destroy(on_cpu);
        tess_matrix_destroy(on_gpu);
        oracle_free(&a);
    }
    tess_context_destroy(cpu);
    tess_context_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIA_TESTS,
        cmocka_unit_test(the_layout_is_that_of_the_host),
    };

    return run_gpu_tests(tests, NULL);
}
