/* SPDX-License-Identifier: Apache-2.0 */
/* Storage in many variants whose precisions a policy decides, and the means to judge it. */
#ifndef TESS_TESTS_SUPPORT_VARIANTS_H
#define TESS_TESTS_SUPPORT_VARIANTS_H

#include "support/test.h"

typedef struct policy_variant {
    const char *name;
    tess_storage_options storage;
} policy_variant;

enum { SPLIT_VARIANTS = 28, POLICY_VARIANTS = 54 };
/* First formats split and composite over both bases, by rows, entries and blocks, with all row orders; then tiles, of
   both kernels; then packed. One to four levels, scales. */
extern const policy_variant policy_variants[POLICY_VARIANTS];

/* The options with every default of the policy that the library would fill in for these formats. */
tess_policy_options policy_of(const tess_storage_options *storage);
/* The level that the policy gives to each entry of an assembled matrix; 255 for entries that are left out. */
uint8_t *levels_of_entries(const tess_matrix *assembled, const oracle_csr *a, const tess_policy_options *policy);
/* The matrix that products of a stored one are with, given the values it holds: rows, or rows and columns, in its
 * order. */
oracle_csr reordered(const tess_matrix *stored, const oracle_csr *held, tess_row_order order);
/* The row permutation, and its inverse. */
int32_t *permutation_of(const tess_matrix *stored);
int32_t *inverse_permutation(int64_t n, const int32_t *perm);

#endif
