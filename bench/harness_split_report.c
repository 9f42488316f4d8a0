/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the study of split and composite storage, as text and JSON. */
#include <math.h>
#include <stdio.h>

#include "harness_split.h"

void bench_split_print_head(bool gpu)
{
    printf("%-20s %-30s %9s %8s %8s %6s %7s %7s %6s %8s %6s %8s %8s %9s %8s\n", "matrix", "kernel", "us", "MB", "GB/s",
           "share", "speed-", "by", "of its", "over", "% low", "set-up", "first", "relative", "over");
    printf("%-20s %-30s %9s %8s %8s %6s %7s %7s %6s %8s %6s %8s %8s %9s %8s\n", "", "", "median", "by model", "",
           gpu ? "read" : "triad", "up", "bytes", "bytes", "cusparse", "", "in SpMVs", "set-up", "residual", "bound");
}

static json_t *names_of(const bench_split_row *r)
{
    static const char *const orders[] = {"original", "permuted", "symmetric"};
    const bench_contestant *c = r->contestant;
    const tess_storage_options *s = &c->storage;
    const bool mixed = c->ours && (s->format == TESS_FORMAT_SPLIT || s->format == TESS_FORMAT_COMPOSITE);
    char levels[64];
    json_t *row = bench_row_begin(r->trial, c);

    json_object_set_new(row, "density", json_real(r->density));
    json_object_set_new(
        row, "precision",
        json_string(mixed ? bench_levels_text(&s->policy, levels, sizeof levels) : tess_precision_name(s->precision)));
    json_object_set_new(row, "base", json_string(tess_format_name(mixed ? s->split.base : s->format)));
    json_object_set_new(row, "row_order", json_string(orders[s->split.row_order]));
    json_object_set_new(row, "vectors", json_string("fp64"));
    json_object_set_new(row, "arithmetic", json_string(s->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64"));
    if (bench_split_has_policy(c)) {
        json_object_set_new(row, "granularity", json_string(tess_granularity_name(s->policy.granularity)));
        json_object_set_new(row, "policy", json_string(tess_policy_name(s->policy.policy)));
        json_object_set_new(row, "policy_parameter", json_real(s->policy.parameter));
        json_object_set_new(row, "share",
                            s->policy.at_most_one ? json_string("at-most-one") : json_real(s->policy.share));
    }
    return row;
}

static void add_times(json_t *row, const bench_split_row *line)
{
    const bench_outcome *o = line->outcome;
    const bench_split_result *r = line->result;

    bench_row_add_outcome(row, line->trial, o);
    json_object_set_new(row, "speedup", json_real(r->speedup));
    json_object_set_new(row, "predicted_speedup", json_real(r->predicted));
    json_object_set_new(row, "of_its_bytes", json_real(r->speedup / r->predicted));
    json_object_set_new(row, "speedup_over_cusparse", bench_real_or_null(r->over_cusparse));
    json_object_set_new(row, "setup_seconds", bench_real_or_null(o->setup_seconds));
    json_object_set_new(row, "setup_in_spmvs", bench_real_or_null(r->setup_in_spmvs));
    json_object_set_new(row, "first_setup_in_spmvs", bench_real_or_null(r->first_setup_in_spmvs));
}

static void print_row(const bench_split_row *line)
{
    const bench_outcome *o = line->outcome;
    const bench_split_result *r = line->result;
    const double rate = (double)o->bytes / o->time.median;
    char over_cusparse[32] = "-";

    if (isfinite(r->over_cusparse)) { snprintf(over_cusparse, sizeof over_cusparse, "%.3f", r->over_cusparse); }
    printf("%-20s %-30s %9.2f %8.1f %8.1f %5.1f%% %7.3f %7.3f %6.3f %8s %6.1f %8.1f %8.1f %9.2e %8.3f %s\n",
           line->trial->which->name, line->contestant->name, 1e6 * o->time.median, 1e-6 * (double)o->bytes, 1e-9 * rate,
           100.0 * rate / bench_ceiling_of(line->trial->run), r->speedup, r->predicted, r->speedup / r->predicted,
           over_cusparse, line->has_share ? 100.0 * line->low_share : 0.0, r->setup_in_spmvs, r->first_setup_in_spmvs,
           r->residual, line->over_bound, line->trial->rotation.in_cache ? "in cache" : "");
}

void bench_split_report(const bench_split_row *line)
{
    const bench_split_result *r = line->result;
    json_t *row = names_of(line);

    add_times(row, line);
    json_object_set_new(row, "low_share", line->has_share ? json_real(line->low_share) : json_null());
    json_object_set_new(row, "relative_residual", bench_real_or_null(r->residual));
    json_object_set_new(row, "relative_residual_bound", bench_real_or_null(line->bound));
    json_object_set_new(row, "residual_over_bound", bench_real_or_null(line->over_bound));
    print_row(line);
    bench_add(line->trial->run, row);
}
