/* SPDX-License-Identifier: Apache-2.0 */
/* One record of a report: what each study says of a contestant. bench/report.py makes the tables from these. */
#ifndef TESS_BENCH_HARNESS_RECORD_H
#define TESS_BENCH_HARNESS_RECORD_H

#include "harness/harness.h"

typedef struct bench_record {
    const char *part, *set;    /* of the study; NULL: none */
    const char *matrix;        /* or the operation; NULL: none */
    int64_t nrows, ncols, nnz; /* 0: no matrix */
    const char *contestant;
    bool ours;
    const char *precision; /* of what is stored: a name, or a policy */
    const char *of;        /* what the seconds are of: product, iteration, solve, operation, ... */
    bench_time time;       /* samples 0: not timed */
    double bytes;          /* that these seconds move, by model; 0: unknown */
    double setup_seconds;  /* 0 or not finite: not measured */
    bool solved;           /* iterations and true_residual are known */
    int64_t iterations;
    double true_residual; /* ||b - A x|| / ||b||, in quadruple precision */
    bool in_cache;
    double ceiling;      /* bytes per second; 0: what products can reach (bench_ceiling_of) */
    const char *refused; /* why it did not run; NULL: it ran */
} bench_record;

/* The record as JSON, with bandwidth and its share of the measured ceiling; the study adds keys of its own. */
json_t *bench_record_row(const bench_run *run, const bench_record *r);
/* Prints a line, which ends in the text, and adds the row (takes it) to the report. */
void bench_record_add(bench_run *run, const bench_record *r, json_t *row, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A time of one sample. */
bench_time bench_time_once(double seconds);
/* null where it is not finite. */
json_t *bench_real_or_null(double value);
/* Sets {min, median, max}, or null where the median is not finite or there is no sample. */
void bench_set_time(json_t *row, const char *key, const bench_time *time);
/* Sets a number, null where it is not finite. */
void bench_set_real(json_t *row, const char *key, double value);
/* {precision: count} of those that are not zero. */
json_t *bench_counts_json(const int64_t counts[TESS_PRECISION_COUNT]);

#endif
