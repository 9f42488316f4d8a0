/* SPDX-License-Identifier: Apache-2.0 */
/* What a set-up is made of, stage by stage (base/stages.h). */
#ifndef TESS_BENCH_HARNESS_STAGES_H
#define TESS_BENCH_HARNESS_STAGES_H

#include "base/stages.h"
#include "harness/harness.h"

/*
 * Runs a set-up twice, with k = 0 and 1, and prints the stages of the second: it finds memory that the first has left.
 * set_up frees what it makes. product: seconds of a product with FP64 CSR, which stages are put in too; 0: they are
 * not.
 */
tess_status bench_stages(bench_run *run, bench_call set_up, void *user, const char *matrix, const char *contestant,
                         double product);

#endif
