/* SPDX-License-Identifier: Apache-2.0 */
/* Model problems by their name in one line of text, and facts about their entries. */
#ifndef TESS_TESTS_SUPPORT_GALLERY_H
#define TESS_TESTS_SUPPORT_GALLERY_H

#include "support/test.h"

/* Splits "NAME ARG ARG ..." and makes the problem. */
tess_status create_problem(tess_context *ctx, const char *request, tess_matrix **out);
/* The same on the host with so many threads, as CSR arrays; it must succeed. */
oracle_csr generate_problem(const char *request, int threads);

/* The entry in row i, column j; 0 where there is none. */
double entry(const oracle_csr *a, int64_t i, int64_t j);
/* Columns ascend within rows, without duplicates, and are inside the matrix. */
void assert_sorted(const oracle_csr *a);
/* The same pattern and the same bits. */
bool same_matrix(const oracle_csr *a, const oracle_csr *b);
/* Whether two requests give the same matrix. */
bool problems_agree(const char *left, int left_threads, const char *right, int right_threads);

#endif
