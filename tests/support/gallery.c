/* SPDX-License-Identifier: Apache-2.0 */
#include "support/gallery.h"

#include <tessera/gallery.h>

#include "support/product.h"

enum { MAX_ARGS = 4 };

tess_status create_problem(tess_context *ctx, const char *request, tess_matrix **out)
{
    char text[256], *words[MAX_ARGS + 2] = {0}, *rest = text;
    int count = 0;

    snprintf(text, sizeof text, "%s", request);
    while ((words[count] = strtok_r(rest, " ", &rest)) != NULL && count <= MAX_ARGS) {
        count++;
    }
    return tess_gallery_create(ctx, words[0], count - 1, (const char *const *)words + 1, out);
}

oracle_csr generate_problem(const char *request, int threads)
{
    tess_context *ctx = open_cpu(threads);
    tess_matrix *m = NULL;
    oracle_csr a;

    assert_ok(ctx, create_problem(ctx, request, &m));
    a = decode_matrix(m);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    return a;
}

double entry(const oracle_csr *a, int64_t i, int64_t j)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == j) { return a->val[k]; }
    }
    return 0.0;
}

void assert_sorted(const oracle_csr *a)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            assert_in_range(a->col_ind[k], 0, a->ncols - 1);
            assert_true(k == a->row_ptr[i] || a->col_ind[k] > a->col_ind[k - 1]);
        }
    }
}

bool same_matrix(const oracle_csr *a, const oracle_csr *b)
{
    return a->nrows == b->nrows && a->nnz == b->nnz &&
           memcmp(a->row_ptr, b->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr) == 0 &&
           memcmp(a->col_ind, b->col_ind, (size_t)a->nnz * sizeof *a->col_ind) == 0 &&
           same_bits(a->val, b->val, a->nnz);
}

bool problems_agree(const char *left, int left_threads, const char *right, int right_threads)
{
    oracle_csr a = generate_problem(left, left_threads), b = generate_problem(right, right_threads);
    bool same = same_matrix(&a, &b);

    oracle_free(&a);
    oracle_free(&b);
    return same;
}
