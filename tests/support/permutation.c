/* SPDX-License-Identifier: Apache-2.0 */
#include "support/permutation.h"

#include "support/test.h"

void assert_permutation(int64_t n, const int32_t *perm)
{
    bool *seen = test_allocate(n, sizeof *seen);

    memset(seen, 0, (size_t)n * sizeof *seen);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(perm[i], 0, n - 1);
        assert_false(seen[perm[i]]);
        seen[perm[i]] = true;
    }
    free(seen);
}

int32_t *random_permutation(int64_t n, uint64_t seed)
{
    int32_t *perm = test_allocate(n, sizeof *perm);

    for (int64_t i = 0; i < n; i++) {
        const int64_t j = (int64_t)(oracle_random_bits(&seed) % (uint64_t)(i + 1));

        perm[i] = perm[j];
        perm[j] = (int32_t)i;
    }
    return perm;
}
