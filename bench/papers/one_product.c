/* SPDX-License-Identifier: Apache-2.0 */
/* One product alone, for profilers. */
#include <stdio.h>
#include <string.h>

#include "papers/one_product.h"

static void run_product(bench_run *run, const bench_case *which, const bench_contestant *c)
{
    const bench_trial_options options = {.reach = 1.0};
    bench_trial t;
    bench_outcome o = {0};
    tess_matrix *stored = NULL;
    tess_status status = TESS_SUCCESS;

    if (!bench_trial_open(run, which, &options, &t)) { return; }
    status = bench_trial_convert(&t, c, &o, &stored);
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, t.fp64.x[0], 0.0, t.fp64.y[0]); }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(run->ctx); }
    if (status == TESS_SUCCESS) { printf("%-22s one product of %s\n", which->name, c->name); }
    if (status != TESS_SUCCESS && status != TESS_UNSUPPORTED) { bench_fault(run, which->name, c->name, status); }
    tess_matrix_destroy(stored);
    bench_trial_close(&t);
}

void bench_run_products(bench_run *run, const bench_cases *cases, const char *name, const bench_contestant *list,
                        int count)
{
    int index = 0;

    while (index < count && (!list[index].ours || strcmp(list[index].name, name) != 0)) {
        index += 1;
    }
    if (index == count) { bench_die("no kernel '%s' of ours takes part", name); }
    for (size_t i = 0; i < cases->count; i++) {
        run_product(run, &cases->items[i], &list[index]);
    }
}
