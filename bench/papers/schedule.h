/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations in rising precisions, Jacobi and time steps: what a variant did, against FP64, as text and JSON. */
#ifndef TESS_BENCH_PAPERS_SCHEDULE_H
#define TESS_BENCH_PAPERS_SCHEDULE_H

#include "harness/record.h"

enum { BENCH_SCHEDULE_REPEATS = 3 };

/* How a variant multiplies. */
typedef struct bench_schedule_variant {
    const char *name, *schedule; /* schedule NULL: the matrix as it is, in FP64 */
    bool entries;                /* split by entries with the baseline's policy; else composite by rows */
    const char *levels;          /* of the policy; NULL: fp64,fp32 */
    int base;                    /* the variant that it is compared with */
} bench_schedule_variant;

typedef struct bench_schedule_result {
    bool ran;
    bench_time time;
    double setup_seconds;
    double bytes; /* of all iterations, by model */
    int64_t iterations;
    tess_precision_schedule schedule; /* as they were made */
    double error;                     /* relative residual, or relative difference to FP64 */
} bench_schedule_result;

/* The policies of Tezcan et al.: by rows within `mean_range` times the mean, by entries within `fixed_range`. */
void bench_schedule_policies(double mean_range, double fixed_range, tess_policy_options *rows,
                             tess_policy_options *entries);
/* Storage for a variant: by rows with `rows`, by entries with `entries`. False: its levels cannot be read. */
bool bench_schedule_storage(const bench_schedule_variant *v, const tess_policy_options *rows,
                            const tess_policy_options *entries, tess_storage_options *out);
/* The runs that `call` makes, after one that does not count; each leaves its seconds in *seconds. */
tess_status bench_schedule_time(const bench_run *run, tess_status (*call)(void *user, double *seconds), void *user,
                                bench_time *time);
/* A record of the variant, one of `all`; `error` is the key of r->error. */
void bench_schedule_report(bench_run *run, const char *matrix, const bench_csr *a, bool in_cache,
                           const bench_schedule_variant *all, int index, const bench_schedule_result *r,
                           const char *error);

#endif
