/* SPDX-License-Identifier: Apache-2.0 */
/* What a set-up is made of, stage by stage. */
#include <stdio.h>

#include "harness_stages.h"
#include "matrix/matrix.h"

static void report(bench_run *run, const char *matrix, const char *contestant, const tess_stage *stage, double product)
{
    printf("%-20s %-27s   %-45s %4d %9.2f us", matrix, contestant, stage->name, stage->count, 1e6 * stage->seconds);
    if (product > 0.0) { printf(" %8.3f", stage->seconds / product); }
    printf("\n");
    bench_add(run, json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:o}", "study", "stages", "matrix", matrix, "contestant",
                             contestant, "stage", stage->name, "count", stage->count, "seconds", stage->seconds,
                             "products", product > 0.0 ? json_real(stage->seconds / product) : json_null()));
}

tess_status bench_stages(bench_run *run, bench_call set_up, void *user, const char *matrix, const char *contestant,
                         double product)
{
    tess_stages stages = {0};
    tess_stage all = {.name = "all, each waited for"};
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) {
        status = tess_stages_begin(run->ctx, &stages);
        if (status == TESS_SUCCESS) { status = set_up(user, k); }
        tess_stages_end(run->ctx);
    }
    if (status != TESS_SUCCESS) { return status; }
    for (int i = 0; i < stages.count; i++) {
        report(run, matrix, contestant, &stages.of[i], product);
        all.count += stages.of[i].count;
        all.seconds += stages.of[i].seconds;
    }
    report(run, matrix, contestant, &all, product);
    return TESS_SUCCESS;
}
