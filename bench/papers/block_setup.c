/* SPDX-License-Identifier: Apache-2.0 */
/* What set-up of storage by blocks is made of. */
#include "harness/stages.h"
#include "matrix/matrix.h"
#include "papers/block.h"

typedef struct block_setup {
    bench_trial *trial;
    const bench_contestant *contestant;
} block_setup;

/* Conversion and what the first product would prepare. */
static tess_status set_up(void *user, int k)
{
    const block_setup *s = user;
    tess_matrix *stored = NULL;
    bench_outcome outcome = {0};
    tess_status status = bench_trial_convert(s->trial, s->contestant, &outcome, &stored);

    (void)k;
    if (status == TESS_SUCCESS) { status = stored->ops->prepare(stored); }
    if (status == TESS_SUCCESS) { status = tess_stage_end(s->trial->run->ctx, "the rest"); }
    tess_matrix_destroy(stored);
    return status;
}

void bench_block_report_stages(bench_trial *t, const bench_contestant *c, double product)
{
    block_setup s = {t, c};
    const tess_status status = bench_stages(t->run, set_up, &s, t->which->name, c->name, product);

    if (status != TESS_SUCCESS) { bench_fault(t->run, t->which->name, "stages of set-up", status); }
}
