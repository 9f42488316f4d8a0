/* SPDX-License-Identifier: Apache-2.0 */
/* The row of Table IV of Tezcan et al. (2022) whose matrix is at hand. */
#include <stdlib.h>

#include <tessera/io.h>

#include "support/solve.h"
#include "support/tezcan.h"

/* Whether two residuals are of the same size: a factor of two for roundings in another order. */
static void assert_as_printed(double residual, double printed)
{
    assert_at_most(residual, 2.0 * printed);
    assert_at_most(printed, 2.0 * residual);
}

/* Table IV: FP32 1.97e-7, baseline 1.40e-10, 1-step 5.33e-9, the others as good as FP64. */
static void minsurfo_ends_as_printed(void **state)
{
    const char *directory = getenv("TESSERA_MATRICES");
    const tess_solve_options entries = tezcan_baseline();
    tess_context *ctx = open_cpu(2);
    tess_matrix *a = NULL;
    int64_t low = 0;
    char path[512];

    (void)state;
    snprintf(path, sizeof path, "%s/minsurfo.mtx.gz", directory && directory[0] ? directory : TESS_MATRICES_DIR);
    if (tess_matrix_read(ctx, path, &a, NULL) != TESS_SUCCESS) {
        tess_context_destroy(ctx);
        print_message("SKIPPED: no minsurfo.mtx.gz (set TESSERA_MATRICES)\n");
        skip();
    }
    a = tezcan_scale(ctx, a);
    assert_as_printed(tezcan_run_steps(ctx, a, "fp32"), 1.97e-7);
    assert_as_printed(tezcan_run_steps(ctx, a, "mixed"), 5.33e-9);
    assert_as_printed(tezcan_run(ctx, a, &entries, &low), 1.40e-10);
    assert_true(low > 0);
    tezcan_check_last_steps(ctx, a, tezcan_run_steps(ctx, a, "fp64"));
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(minsurfo_ends_as_printed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
