/* SPDX-License-Identifier: Apache-2.0 */
/* Goals: a measure over matrices, its geometric mean and worst case, and whether it is where it should be. */
#ifndef TESS_BENCH_HARNESS_GOAL_H
#define TESS_BENCH_HARNESS_GOAL_H

#include "harness.h"

typedef enum bench_statistic { BENCH_WORST = 0, BENCH_GEOMETRIC, BENCH_ARITHMETIC, BENCH_MEDIAN } bench_statistic;

enum { BENCH_GOAL_MATRICES = 512 };

/* What is asked of a measure. */
typedef struct bench_goal {
    const char *measure;
    bench_statistic statistic; /* over the matrices */
    bool at_most;              /* else at least */
    double bound;
} bench_goal;

/* What was measured; zeros to begin with. */
typedef struct bench_reached {
    bench_mean mean;
    double worst;
    char where[80];                     /* matrix of the worst case */
    double values[BENCH_GOAL_MATRICES]; /* the first mean.count of them */
} bench_reached;

/* Takes a matrix in; a value that is not finite is none. */
void bench_goal_add(const bench_goal *goal, const char *matrix, double value, bench_reached *reached);
/* Prints a line and appends to the JSON array `rows`, unless no matrix had a value. */
void bench_goal_report(const bench_goal *goal, const char *kernel, const bench_reached *reached, json_t *rows);
/* The same for what must not happen at all: it did `count` times of `total`. */
void bench_goal_report_count(const char *kernel, const char *measure, int64_t count, int64_t total, json_t *rows);

#endif
