/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations of rows. */
#ifndef TESS_TESTS_SUPPORT_PERMUTATION_H
#define TESS_TESTS_SUPPORT_PERMUTATION_H

#include <stdint.h>

/* Each of 0 .. n - 1 is there once. */
void assert_permutation(int64_t n, const int32_t *perm);
/* The caller frees it. */
int32_t *random_permutation(int64_t n, uint64_t seed);

#endif
