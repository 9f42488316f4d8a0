/* SPDX-License-Identifier: Apache-2.0 */
/* One product alone, for profilers. */
#ifndef TESS_BENCH_PAPERS_ONE_PRODUCT_H
#define TESS_BENCH_PAPERS_ONE_PRODUCT_H

#include "product/trial.h"

/* One product of the contestant called `name` with each matrix and nothing else, for profilers. */
void bench_run_products(bench_run *run, const bench_cases *cases, const char *name, const bench_contestant *list,
                        int count);

#endif
