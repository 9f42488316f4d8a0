/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the SpMV benchmark, and its own options. */
#ifndef TESS_BENCH_HARNESS_SPMV_H
#define TESS_BENCH_HARNESS_SPMV_H

#include "harness_product.h"

enum { BENCH_FORMATS = 16 /* that may be named */, BENCH_MOST_CONTESTANTS = 10 * BENCH_FORMATS + 8 };

typedef struct bench_spmv_options {
    tess_format formats[BENCH_FORMATS];
    tess_precision precisions[TESS_PRECISION_COUNT];
    int nformats, nprecisions;
    double max_padding;
    int64_t window;
} bench_spmv_options;

/* --format, --precision, --max-padding, --sell-window; the parser's input is a bench_spmv_options of zeros. */
extern const struct argp_option bench_spmv_table[];
error_t bench_spmv_parse(int key, char *arg, struct argp_state *state);

/* Ours first, in the order of the options, then cuSPARSE's; their number. */
int bench_spmv_contestants(const bench_spmv_options *o, bool gpu, bench_contestant *list);
bool bench_spmv_has_fp32_vectors(const bench_contestant *list, int count);

#endif
