/* SPDX-License-Identifier: Apache-2.0 */
/* Products with DIA as solvers use them, on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_dia_products.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIA_PRODUCT_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
