/* SPDX-License-Identifier: Apache-2.0 */
/* Goals: a measure over matrices, its geometric mean and worst case, and whether it is where it should be. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_goal.h"

void bench_goal_add(const bench_goal *goal, const char *matrix, double value, bench_reached *reached)
{
    if (!isfinite(value) || value <= 0.0) { return; }
    if (reached->mean.count == BENCH_GOAL_MATRICES) { bench_die("more matrices than a goal holds"); }
    reached->values[reached->mean.count] = value;
    bench_mean_add(&reached->mean, value);
    if (reached->mean.count == 1 || (goal->at_most ? value > reached->worst : value < reached->worst)) {
        reached->worst = value;
        snprintf(reached->where, sizeof reached->where, "%s", matrix);
    }
}

static double arithmetic_mean(const bench_reached *reached)
{
    double sum = 0.0;

    for (int i = 0; i < reached->mean.count; i++) {
        sum += reached->values[i];
    }
    return sum / reached->mean.count;
}

static double median(const bench_reached *reached)
{
    double *values = bench_allocate((size_t)reached->mean.count, sizeof *values), value = 0.0;

    memcpy(values, reached->values, (size_t)reached->mean.count * sizeof *values);
    value = bench_time_of_samples(values, reached->mean.count, 1).median;
    free(values);
    return value;
}

static double value_of(const bench_goal *goal, const bench_reached *reached)
{
    switch (goal->statistic) {
    case BENCH_GEOMETRIC: return bench_mean_value(&reached->mean);
    case BENCH_ARITHMETIC: return arithmetic_mean(reached);
    case BENCH_MEDIAN: return median(reached);
    default: return reached->worst;
    }
}

static const char *verdict(bool met)
{
    return met ? "reached" : "NOT REACHED";
}

void bench_goal_report(const bench_goal *goal, const char *kernel, const bench_reached *reached, json_t *rows)
{
    static const char *const words[] = {"worst", "mean", "mean", "median"};
    static const char *const names[] = {"worst case", "geometric mean", "arithmetic mean", "median"};
    const bool worst = goal->statistic == BENCH_WORST;
    const double mean = bench_mean_value(&reached->mean);
    double value = 0.0;
    char sum[48] = "";
    bool met = false;

    if (reached->mean.count == 0) { return; }
    value = value_of(goal, reached);
    met = goal->at_most ? value <= goal->bound : value >= goal->bound;
    if (worst) { snprintf(sum, sizeof sum, ", mean %.3f", mean); }
    printf("  %-30s %-19s %-6s %s %6.3f %8.3f  %-12s(%s%s%d matrices%s)\n", kernel, goal->measure,
           words[goal->statistic], goal->at_most ? "<=" : ">=", goal->bound, value, verdict(met),
           worst ? reached->where : "", worst ? ", " : "", reached->mean.count, sum);
    json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:s, s:i, s:b}", "kernel", kernel,
                                          "measure", goal->measure, "statistic", names[goal->statistic], "sense",
                                          goal->at_most ? "at most" : "at least", "goal", goal->bound, "value", value,
                                          "geometric_mean", mean, "worst_matrix", reached->where, "matrices",
                                          reached->mean.count, "reached", met));
}

void bench_goal_report_count(const char *kernel, const char *measure, int64_t count, int64_t total, json_t *rows)
{
    if (total == 0) { return; }
    printf("  %-30s %-19s %-6s %s %6d %8lld  %-12s(of %lld)\n", kernel, measure, "count", "<=", 0, (long long)count,
           verdict(count == 0), (long long)total);
    json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:b}", "kernel", kernel, "measure",
                                          measure, "statistic", "count", "sense", "at most", "goal", 0, "value",
                                          (json_int_t)count, "of", (json_int_t)total, "reached", count == 0));
}
