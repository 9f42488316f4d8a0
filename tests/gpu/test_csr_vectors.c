/* SPDX-License-Identifier: Apache-2.0 */
/* Products with vectors in FP32 and steps of a polynomial on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_csr_vectors.c" /* the same tests, in another context */

int main(void)
{
    const struct CMUnitTest tests[] = {
        CSR_VECTOR_TESTS,
    };

    return run_gpu_tests(tests, NULL);
}
