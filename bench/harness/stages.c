/* SPDX-License-Identifier: Apache-2.0 */
/* What a set-up is made of, stage by stage. */
#include <math.h>

#include "harness/record.h"
#include "harness/stages.h"
#include "matrix/matrix.h"

static void report(bench_run *run, const char *matrix, const char *contestant, const tess_stage *stage, double product)
{
    const bench_record record = {.part = "stages",
                                 .matrix = matrix,
                                 .contestant = contestant,
                                 .ours = true,
                                 .of = "stage",
                                 .time = bench_time_once(stage->seconds)};
    json_t *row = bench_record_row(run, &record);

    bench_set(row, "{s:s, s:i}", "stage", stage->name, "count", stage->count);
    bench_set_real(row, "stage_seconds", stage->seconds);
    bench_set_real(row, "product_seconds", product > 0.0 ? product : NAN);
    bench_record_add(run, &record, row, "%4d times %s", stage->count, stage->name);
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
