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

/* How the variants choose precisions. */
typedef struct bench_schedule_policies {
    tess_policy_options rows, entries; /* of ours; of the baseline */
} bench_schedule_policies;

/* Rows of a table of options, and the parser of these. ARGP_ERR_UNKNOWN: another option. */
enum { BENCH_KEY_POLICY = 780, BENCH_KEY_SHARE, BENCH_KEY_LEVELS, BENCH_KEY_ENTRY_POLICY };
#define BENCH_SCHEDULE_OPTIONS(ROWS, ENTRIES)                                                                         \
    {"policy", BENCH_KEY_POLICY, "NAME[:X]", 0, "by rows: fixed-range[:R] or mean-range[:F] (default " ROWS ")", 0},  \
        {"share",                                                                                                     \
         BENCH_KEY_SHARE,                                                                                             \
         "P|at-most-one",                                                                                             \
         0,                                                                                                           \
         "percent of a row's values that must be in the range (default "                                              \
         "at-most-one)",                                                                                              \
         0},                                                                                                          \
        {"levels", BENCH_KEY_LEVELS, "HIGH,..,LOW", 0, "precisions by rows (default fp64,fp32)", 0},                  \
    {                                                                                                                 \
        "entry-policy", BENCH_KEY_ENTRY_POLICY, "NAME[:X]", 0, "of the baseline, by entries (default " ENTRIES ")", 0 \
    }
error_t bench_schedule_parse(int key, char *arg, struct argp_state *state, bench_schedule_policies *out);

typedef struct bench_schedule_result {
    bool ran;
    bench_time time;
    double setup_seconds;
    double bytes; /* of all iterations, by model */
    int64_t iterations;
    tess_precision_schedule schedule; /* as they were made */
    char levels[64];                  /* precisions of the policy */
    double low_share;                 /* of the nonzeros, as assigned */
    double error;                     /* relative residual, or relative difference to FP64 */
} bench_schedule_result;

/* Those of Tezcan et al.: by rows within a multiple of the mean, all but one value of a short row; by entries. */
void bench_schedule_init(const char *rows, const char *entries, bench_schedule_policies *out);
/* Storage for a variant. False: its levels cannot be read. */
bool bench_schedule_storage(const bench_schedule_variant *v, const bench_schedule_policies *policies,
                            tess_storage_options *out);
/* Notes which precisions a policy chose among, and what share of the nonzeros it left low. */
void bench_schedule_note(const tess_policy_options *policy, const int64_t per_precision[TESS_MAX_PRECISIONS],
                         bench_schedule_result *r);
/* The runs that `call` makes, after one that does not count; each leaves its seconds in *seconds. */
tess_status bench_schedule_time(const bench_run *run, tess_status (*call)(void *user, double *seconds), void *user,
                                bench_time *time);
/* A record of the variant, one of `all`; `error` is the key of r->error. */
void bench_schedule_report(bench_run *run, const char *matrix, const bench_csr *a, bool in_cache,
                           const bench_schedule_variant *all, int index, const bench_schedule_result *r,
                           const char *error);

#endif
