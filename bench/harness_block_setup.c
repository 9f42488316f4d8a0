/* SPDX-License-Identifier: Apache-2.0 */
/* What set-up of storage by blocks is made of. */
#include <stdio.h>

#include "core/internal.h"
#include "core/stages.h"
#include "harness_block.h"

/* Conversion and what the first product would prepare, twice: the second finds memory that the first has left. */
static tess_status set_up(bench_trial *t, const bench_contestant *c, tess_stages *stages)
{
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) {
        tess_matrix *stored = NULL;
        bench_outcome outcome = {0};

        status = tess_stages_begin(t->run->ctx, stages);
        if (status == TESS_SUCCESS) { status = bench_trial_convert(t, c, &outcome, &stored); }
        if (status == TESS_SUCCESS) { status = stored->ops->prepare(stored); }
        if (status == TESS_SUCCESS) { status = tess_stage_end(t->run->ctx, "the rest"); }
        tess_stages_end(t->run->ctx);
        tess_matrix_destroy(stored);
    }
    return status;
}

static void report_stage(bench_trial *t, const bench_contestant *c, const char *name, int count, double seconds,
                         double product)
{
    printf("%-20s %-27s   %-45s %4d %9.2f us %8.3f\n", t->which->name, c->name, name, count, 1e6 * seconds,
           seconds / product);
    bench_add(t->run,
              json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:f}", "study", "setup", "matrix", t->which->name, "kernel",
                        c->name, "stage", name, "count", count, "seconds", seconds, "products", seconds / product));
}

void bench_block_report_stages(bench_trial *t, const bench_contestant *c, double product)
{
    tess_stages stages = {0};
    double all = 0.0;
    int count = 0;
    const tess_status status = set_up(t, c, &stages);

    if (status != TESS_SUCCESS) {
        bench_fault(t->run, t->which->name, "stages of set-up", status);
        return;
    }
    for (int i = 0; i < stages.count; i++) {
        const tess_stage *stage = &stages.of[i];

        report_stage(t, c, stage->name, stage->count, stage->seconds, product);
        all += stage->seconds;
        count += stage->count;
    }
    report_stage(t, c, "all, each waited for", count, all, product);
}
