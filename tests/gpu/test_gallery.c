/* SPDX-License-Identifier: Apache-2.0 */
/* Problems generated on the GPU have the bits of those generated on the host. */
#include <tessera/gallery.h>

#include "support/product.h"
#include "support/test.h"

static void compare(const char *name, int nargs, const char *const *args)
{
    tess_context *cpu = open_cpu(2), *gpu = open_gpu();
    tess_matrix *on_host = NULL, *on_device = NULL;
    oracle_csr a, b;

    assert_ok(cpu, tess_gallery_create(cpu, name, nargs, args, &on_host));
    assert_ok(gpu, tess_gallery_create(gpu, name, nargs, args, &on_device));
    a = decode_matrix(on_host);
    b = decode_matrix(on_device);
    assert_int_equal(a.nrows, b.nrows);
    assert_int_equal(a.nnz, b.nnz);
    assert_memory_equal(a.row_ptr, b.row_ptr, (size_t)(a.nrows + 1) * sizeof *a.row_ptr);
    assert_memory_equal(a.col_ind, b.col_ind, (size_t)a.nnz * sizeof *a.col_ind);
    if (!same_bits(a.val, b.val, a.nnz)) { fail_msg("%s: values differ", name); }
    oracle_free(&a);
    oracle_free(&b);
    tess_matrix_destroy(on_host);
    tess_matrix_destroy(on_device);
    tess_context_destroy(cpu);
    tess_context_destroy(gpu);
}

static void stencils_agree(void **state)
{
    (void)state;
    compare("laplace1d", 1, (const char *[]){"1000"});
    compare("laplace2d", 2, (const char *[]){"37", "53"});
    compare("star2d", 1, (const char *[]){"40"});
    compare("laplace3d", 3, (const char *[]){"17", "13", "19"});
    compare("laplace3d27", 3, (const char *[]){"1", "13", "19"});
    compare("laplace3d27", 1, (const char *[]){"15"});
    compare("stretched2d", 2, (const char *[]){"41", "0.3"});
    compare("anisotropic2d", 3, (const char *[]){"41", "0.3", "25"});
    compare("uniflow2d", 4, (const char *[]){"41", "1", "1e-3", "0.7"});
    compare("bentpipe2d", 3, (const char *[]){"333", "1.7", "1e-3"});
    compare("recirc2d", 3, (const char *[]){"333", "1.7", "1e-3"});
    compare("one-by-one", 0, NULL);
}

static void scaled_rows_agree(void **state)
{
    (void)state;
    compare("rowscale", 2, (const char *[]){"30", "25"});
    compare("rowscale", 2, (const char *[]){"30", "100"});
}

static void problems_from_the_host_agree(void **state)
{
    (void)state;
    compare("unstructured2d-rcm", 1, (const char *[]){"2000"});
    compare("randomspd", 1, (const char *[]){"500"});
    compare("elasticity3d", 1, (const char *[]){"5"});
    compare("powerlaw", 1, (const char *[]){"2000"});
    compare("ventricle", 2, (const char *[]){"2000", "rcm"});
}

static void too_large_a_problem_is_refused_and_the_context_lives(void **state)
{
    tess_context *gpu = open_gpu();
    tess_matrix *m = NULL;

    (void)state;
    /* 2.1e9 rows of 27 take 0.7 TB: more than any one device has today */
    assert_fails(gpu, TESS_OUT_OF_DEVICE_MEMORY,
                 tess_gallery_create(gpu, "laplace3d27", 1, (const char *[]){"1290"}, &m));
    assert_null(m);
    assert_ok(gpu, tess_gallery_create(gpu, "laplace1d", 1, (const char *[]){"10"}, &m));
    tess_matrix_destroy(m);
    tess_context_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stencils_agree),
        cmocka_unit_test(scaled_rows_agree),
        cmocka_unit_test(problems_from_the_host_agree),
        cmocka_unit_test(too_large_a_problem_is_refused_and_the_context_lives),
    };

    return run_gpu_tests(tests, NULL);
}
