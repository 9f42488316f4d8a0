/* SPDX-License-Identifier: Apache-2.0 */
/* Packed on the GPU: the tests of the host, and the layout that the host builds. */
#define TESTS_ON_GPU
#include "../unit/test_packed.c" /* the same tests, in another context */

static void check_same_layout(const tess_matrix *host, const tess_matrix *device)
{
    const packed_view *h = view_of(host), *d = view_of(device);

    assert_int_equal(h->nsegments, d->nsegments);
    assert_int_equal(h->units, d->units);
    assert_int_equal(h->only, d->only);
    check_same_bytes(host, h->section, device, d->section,
                     (h->nslices + h->nsegments) * h->nlevels * (int64_t)sizeof *h->section);
    check_same_bytes(host, h->record, device, d->record, h->units * PACKED_UNIT);
    if (h->nlong > 0) {
        check_same_bytes(host, h->long_row, device, d->long_row, h->nlong * (int64_t)sizeof *h->long_row);
        check_same_bytes(host, h->long_segment, device, d->long_segment,
                         (h->nlong + 1) * (int64_t)sizeof *h->long_segment);
    }
}

static void the_layout_is_that_of_the_host(void **state)
{
    tess_context *cpu = open_cpu(2), *gpu = open_device(1);

    (void)state;
    for (int k = 0; k < MAKERS * CASES; k++) {
        const level_case *c = &cases[k / MAKERS];
        oracle_csr a = makers[k % MAKERS]();
        tess_matrix *on_cpu = make_matrix(cpu, &a), *on_gpu = make_matrix(gpu, &a);
        tess_matrix *host = to_packed(on_cpu, c->policy, c->levels), *device = to_packed(on_gpu, c->policy, c->levels);

        check_same_layout(host, device);
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
        PACKED_TESTS,
        cmocka_unit_test(the_layout_is_that_of_the_host),
    };

    return run_gpu_tests(tests, NULL);
}
