/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the SpMV benchmark, and its own options. */
#ifndef TESS_BENCH_PRODUCT_FORMATS_H
#define TESS_BENCH_PRODUCT_FORMATS_H

#include "product/trial.h"

enum {
    BENCH_FORMATS = 16 /* that may be named */,
    BENCH_POLICIES = 8,
    BENCH_MAX_CONTESTANTS = (16 + BENCH_POLICIES) * BENCH_FORMATS + 16
};

typedef struct formats_options {
    tess_format formats[BENCH_FORMATS];
    tess_precision precisions[TESS_PRECISION_COUNT];
    const char *policies[BENCH_POLICIES]; /* NAME[:X], of formats in parts; tess_policy_options_parse reads them */
    int nformats, nprecisions, npolicies;
    bool pairs; /* also in pairs of FP32 numbers, where a format has that arithmetic */
    double max_padding;
    int64_t window;
    const tess_format *usual; /* without --format, nusual of them; NULL: csr */
    int nusual;
} formats_options;

/* Studies of bench_product. */
int study_formats(int argc, char **argv, const char *parts);
int study_columns(int argc, char **argv, const char *parts);

/* --format, --precision, --policy, --max-padding, --sell-window, --pairs; the parser's input is a formats_options of
 * zeros. */
extern const struct argp_option formats_table[];
error_t formats_parse(int key, char *arg, struct argp_state *state);

/* Ours first, in the order of the options, then cuSPARSE's; their number. */
int formats_contestants(const formats_options *o, bool gpu, bench_contestant *list);
bool formats_has_fp32_vectors(const bench_contestant *list, int count);

#endif
