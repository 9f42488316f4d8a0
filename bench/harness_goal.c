/* SPDX-License-Identifier: Apache-2.0 */
/* Goals: a measure over matrices, its geometric mean and worst case, and whether it is where it should be. */
#include <math.h>
#include <stdio.h>

#include "harness_goal.h"

void bench_goal_add(const bench_goal *goal, const char *matrix, double value, bench_reached *reached)
{
    if (!isfinite(value) || value <= 0.0) { return; }
    bench_mean_add(&reached->mean, value);
    if (reached->mean.count == 1 || (goal->at_most ? value > reached->worst : value < reached->worst)) {
        reached->worst = value;
        snprintf(reached->where, sizeof reached->where, "%s", matrix);
    }
}

void bench_goal_report(const bench_goal *goal, const char *kernel, const bench_reached *reached, json_t *rows)
{
    const double mean = bench_mean_value(&reached->mean), value = goal->mean ? mean : reached->worst;
    const bool met = goal->at_most ? value <= goal->bound : value >= goal->bound;
    char sum[48] = "";

    if (reached->mean.count == 0) { return; }
    if (!goal->mean) { snprintf(sum, sizeof sum, ", mean %.3f", mean); }
    printf("  %-30s %-19s %-6s %s %6.3f %8.3f  %-12s(%s%s%d matrices%s)\n", kernel, goal->measure,
           goal->mean ? "mean" : "worst", goal->at_most ? "<=" : ">=", goal->bound, value,
           met ? "reached" : "NOT REACHED", goal->mean ? "" : reached->where, goal->mean ? "" : ", ",
           reached->mean.count, sum);
    json_array_append_new(
        rows, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:s, s:i, s:b}", "kernel", kernel, "measure",
                        goal->measure, "statistic", goal->mean ? "geometric mean" : "worst case", "sense",
                        goal->at_most ? "at most" : "at least", "goal", goal->bound, "value", value, "geometric_mean",
                        mean, "worst_matrix", reached->where, "matrices", reached->mean.count, "reached", met));
}
