/* SPDX-License-Identifier: Apache-2.0 */
/* An order by clusters of matrices on the GPU: the tests of the host. */
#define TESTS_ON_GPU
#include "../unit/test_clusters.c" /* the same tests, in another context */
