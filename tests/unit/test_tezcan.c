/* SPDX-License-Identifier: Apache-2.0 */
/* What the presets of Tezcan et al. (2022) rest on: rows of a small matrix that are low by the published rule alone. */
#include "support/solve.h"
#include "support/tezcan.h"

/* As minsurfo has them: rows with one value beside the diagonal that is large, so that the share of 99 percent leaves
   them high; in every third row there are two. */
static oracle_csr one_large_value_a_row(int64_t n)
{
    oracle_csr a = oracle_open(n, n);
    uint64_t seed = 7;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > 4 ? i - 4 : 0; j <= i + 2 && j < n; j++) {
            const bool large = j == i - 1 || (i % 3 == 0 && j == i - 2);

            oracle_push(&a, j, j == i ? 2.0 : (large ? -0.4 : 0.004) * oracle_uniform(&seed, 0.5, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void short_rows_are_low_by_the_published_rule(void **state)
{
    enum { SIZE = 600 };
    oracle_csr csr = one_large_value_a_row(SIZE);
    tess_context *ctx = open_cpu(2);
    tess_matrix *a = tezcan_scale(ctx, make_matrix(ctx, &csr));
    tess_solve_options o = tezcan_options("mixed");
    const double fp64 = tezcan_run_steps(ctx, a, "fp64"), fp32 = tezcan_run_steps(ctx, a, "fp32");
    int64_t low = 0;
    const double mixed = tezcan_run(ctx, a, &o, &low);

    (void)state;
    assert_true(low > csr.nnz / 3 && low < csr.nnz); /* rows of both kinds */
    assert_true(mixed > 1e4 * fp64 && mixed < 0.9 * fp32);
    tezcan_check_last_steps(ctx, a, fp64);
    o.storage.policy.at_most_one = 0; /* a short row tolerates nothing: FP64 but for the first and the last row */
    assert_at_most(tezcan_run(ctx, a, &o, &low), 1e-3 * mixed);
    assert_true(low <= 2 * 4);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&csr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_rows_are_low_by_the_published_rule)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
