/* SPDX-License-Identifier: Apache-2.0 */
/* The ratios that the accessor is held to, from what one run measured. */
#include <math.h>
#include <stdio.h>

#include "harness_roofline.h"

double bench_roofline_bytes(bench_roofline_config config)
{
    return (double)tess_precision_bytes(bench_roofline_infos[config].storage);
}

double bench_roofline_operations(int exponent)
{
    return ldexp(1.0, exponent);
}

double bench_roofline_balance(const bench_roofline_measured *m, bench_roofline_config config)
{
    return m->peak[bench_roofline_infos[config].arithmetic] / (m->bandwidth / bench_roofline_bytes(config));
}

double bench_roofline_rate(const bench_roofline_measured *m, bench_roofline_config config, int exponent)
{
    return m->rate[config][exponent - BENCH_ROOFLINE_LOWEST];
}

typedef struct goal {
    const char *text;
    bench_roofline_config ours, base;
    double least; /* of ours over base, in values per second */
    double up_to; /* share of our balance; INFINITY: every intensity */
    bool of_peak; /* the share of the arithmetic's peak, above our balance */
    bool gpu;     /* of GPUs only: the host decodes 8 and 16 bits by integer operations */
} goal;

static const goal goals[] = {
    {"accessor fp64 / plain fp64", BENCH_ROOFLINE_ACCESSOR_FP64, BENCH_ROOFLINE_PLAIN_FP64, 0.98, INFINITY, false,
     false},
    {"accessor fp32 / plain fp32", BENCH_ROOFLINE_ACCESSOR_FP32, BENCH_ROOFLINE_PLAIN_FP32, 0.98, INFINITY, false,
     false},
    {"fp64 on fp32 / plain fp32", BENCH_ROOFLINE_ACCESSOR_FP64_FP32, BENCH_ROOFLINE_PLAIN_FP32, 0.97, 0.5, false,
     false},
    {"fp64 on fp32 / plain fp64", BENCH_ROOFLINE_ACCESSOR_FP64_FP32, BENCH_ROOFLINE_PLAIN_FP64, 1.9, 0.5, false, false},
    {"fp64 on fp32 / fp64 peak", BENCH_ROOFLINE_ACCESSOR_FP64_FP32, BENCH_ROOFLINE_PLAIN_FP64, 0.95, INFINITY, true,
     false},
    {"fp64 on fp16 / plain fp64", BENCH_ROOFLINE_ACCESSOR_FP64_FP16, BENCH_ROOFLINE_PLAIN_FP64, 3.6, 0.5, false, true},
    {"fp64 on bf16 / plain fp64", BENCH_ROOFLINE_ACCESSOR_FP64_BF16, BENCH_ROOFLINE_PLAIN_FP64, 3.6, 0.5, false, true},
    {"fp64 on e4m3 / plain fp64", BENCH_ROOFLINE_ACCESSOR_FP64_E4M3, BENCH_ROOFLINE_PLAIN_FP64, 6.0, 0.5, false, true},
    {"fp64 on e5m2 / plain fp64", BENCH_ROOFLINE_ACCESSOR_FP64_E5M2, BENCH_ROOFLINE_PLAIN_FP64, 6.0, 0.5, false, true},
};

static bool goal_covers(const bench_roofline_measured *m, const goal *g, int exponent)
{
    double balance = bench_roofline_balance(m, g->ours);

    if (bench_roofline_rate(m, g->ours, exponent) <= 0.0 || bench_roofline_rate(m, g->base, exponent) <= 0.0) {
        return false;
    }
    return g->of_peak ? bench_roofline_operations(exponent) > balance
                      : bench_roofline_operations(exponent) <= g->up_to * balance;
}

static double goal_ratio(const bench_roofline_measured *m, const goal *g, int exponent)
{
    double rate = bench_roofline_rate(m, g->ours, exponent);

    if (g->of_peak) {
        return rate * bench_roofline_operations(exponent) / m->peak[bench_roofline_infos[g->ours].arithmetic];
    }
    return rate / bench_roofline_rate(m, g->base, exponent);
}

json_t *bench_roofline_goals(const bench_roofline_measured *m)
{
    json_t *rows = json_array();

    printf("\n%-28s %6s %8s %-5s   at each intensity that counts (operations per value: ratio)\n", "ratio", "goal",
           "lowest", "");
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        const goal *g = &goals[i];
        double lowest = INFINITY;
        char list[512] = "";
        size_t used = 0;

        for (int e = BENCH_ROOFLINE_LOWEST; e <= BENCH_ROOFLINE_HIGHEST; e++) {
            double ratio;

            if (!goal_covers(m, g, e)) { continue; }
            ratio = goal_ratio(m, g, e);
            lowest = fmin(lowest, ratio);
            used += (size_t)snprintf(list + used, sizeof list - used, " %g: %.3f", bench_roofline_operations(e), ratio);
        }
        if (!isfinite(lowest) || (g->gpu && !m->gpu)) { continue; }
        printf("%-28s %6.2f %8.3f %-5s  %s\n", g->text, g->least, lowest, lowest >= g->least ? "met" : "NOT", list);
        json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:b}", "ratio", g->text, "goal", g->least, "lowest",
                                              lowest, "met", lowest >= g->least));
    }
    return rows;
}
