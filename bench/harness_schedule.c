/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations in rising precisions: what a variant did, against FP64, as text and JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness_schedule.h"

void bench_schedule_policies(double mean_range, double fixed_range, tess_policy_options *rows,
                             tess_policy_options *entries)
{
    tess_policy_options_init(rows);
    rows->policy = TESS_POLICY_MEAN_RANGE;
    rows->parameter = mean_range;
    *entries = *rows;
    entries->granularity = TESS_GRANULARITY_ENTRY;
    entries->policy = TESS_POLICY_FIXED_RANGE;
    entries->parameter = fixed_range;
}

bool bench_schedule_storage(const bench_schedule_variant *v, const tess_policy_options *rows,
                            const tess_policy_options *entries, tess_storage_options *out)
{
    tess_storage_options_init(out);
    if (!v->schedule) { return true; }
    out->format = v->entries ? TESS_FORMAT_SPLIT : TESS_FORMAT_COMPOSITE;
    out->policy = v->entries ? *entries : *rows;
    return !v->levels || tess_precision_levels_parse(v->levels, &out->policy) == TESS_SUCCESS;
}

tess_status bench_schedule_time(const bench_run *run, tess_status (*call)(void *user, double *seconds), void *user,
                                double *median)
{
    double samples[BENCH_SCHEDULE_REPEATS] = {0.0};
    const int count = run->options->quick ? 1 : BENCH_SCHEDULE_REPEATS;
    tess_status status = TESS_SUCCESS;

    for (int k = -1; k < count && status == TESS_SUCCESS; k++) { /* -1: warm-up */
        status = call(user, &samples[k < 0 ? 0 : k]);
    }
    *median = bench_time_of_samples(samples, count, 1).median;
    return status;
}

void bench_schedule_compare(bench_schedule_result *r, const bench_schedule_result *base,
                            const bench_schedule_result *fp64)
{
    r->speedup = base->ran ? base->seconds / r->seconds : NAN;
    r->predicted = base->ran ? base->bytes / r->bytes : NAN;
    r->error_ratio = fp64->ran && fp64->error > 0.0 ? r->error / fp64->error : NAN;
}

const char *bench_schedule_text(const tess_precision_schedule *schedule, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int i = 0; i < schedule->count && used < size; i++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s:%lld", i == 0 ? "" : ",",
                                 tess_schedule_entry_name(schedule->entry[i].what),
                                 (long long)schedule->entry[i].iterations);
    }
    return buffer;
}

void bench_schedule_print_head(const char *error)
{
    printf("%-28s %-20s %10s %9s %9s %8s %6s %7s %7s %6s %10s %8s\n", "matrix", "variant", "seconds", "us per",
           "MB per", "GB/s", "share", "speed-", "by", "of its", error, "over");
    printf("%-28s %-20s %10s %9s %9s %8s %6s %7s %7s %6s %10s %8s  %s\n", "", "", "", "iteration", "iteration",
           "by model", "", "up", "bytes", "bytes", "", "fp64's", "steps");
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void bench_schedule_report(bench_run *run, const char *matrix, const bench_csr *a, bool in_cache,
                           const bench_schedule_variant *v, const bench_schedule_result *r, const char *error)
{
    const double each = r->seconds / (double)r->iterations, rate = r->bytes / r->seconds;
    const double share = rate / bench_ceiling_of(run);
    char text[160];
    json_t *row =
        json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:b, s:I, s:b}", "matrix", matrix, "variant", v->name, "nrows",
                  (json_int_t)a->nrows, "nnz", (json_int_t)a->nnz, "steps",
                  bench_schedule_text(&r->schedule, text, sizeof text), "levels", v->levels ? v->levels : "fp64,fp32",
                  "by_entries", v->entries, "iterations", (json_int_t)r->iterations, "in_cache", in_cache);

    json_object_set_new(row, "seconds", json_real(r->seconds));
    json_object_set_new(row, "setup_seconds", json_real(r->setup_seconds));
    json_object_set_new(row, "seconds_per_iteration", json_real(each));
    json_object_set_new(row, "bytes_by_model", json_real(r->bytes));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate));
    json_object_set_new(row, "share_of_measured_bandwidth", json_real(share));
    json_object_set_new(row, "speedup", real_or_null(r->speedup));
    json_object_set_new(row, "predicted_speedup", real_or_null(r->predicted));
    json_object_set_new(row, "of_its_bytes", real_or_null(r->speedup / r->predicted));
    json_object_set_new(row, error, real_or_null(r->error));
    json_object_set_new(row, "over_fp64", real_or_null(r->error_ratio));
    printf("%-28s %-20s %10.4f %9.2f %9.3f %8.1f %5.1f%% %7.3f %7.3f %6.3f %10.2e %8.2f  %s%s\n", matrix, v->name,
           r->seconds, 1e6 * each, 1e-6 * r->bytes / (double)r->iterations, 1e-9 * rate, 100.0 * share, r->speedup,
           r->predicted, r->speedup / r->predicted, r->error, r->error_ratio, text, in_cache ? "  in cache" : "");
    bench_add(run, row);
}
