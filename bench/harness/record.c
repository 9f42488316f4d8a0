/* SPDX-License-Identifier: Apache-2.0 */
/* One record of a report, as JSON and as a line. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "harness/record.h"

bench_time bench_time_once(double seconds)
{
    return (bench_time){.median = seconds, .lowest = seconds, .highest = seconds, .samples = 1, .calls = 1};
}

json_t *bench_real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void bench_set_real(json_t *row, const char *key, double value)
{
    json_object_set_new(row, key, bench_real_or_null(value));
}

json_t *bench_counts_json(const int64_t counts[TESS_PRECISION_COUNT])
{
    json_t *object = json_object();

    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (counts[p] == 0) { continue; }
        json_object_set_new(object, tess_precision_name((tess_precision)p), json_integer(counts[p]));
    }
    return object;
}

void bench_set_time(json_t *row, const char *key, const bench_time *time)
{
    const bool known = time->samples > 0 && isfinite(time->median);

    json_object_set_new(row, key,
                        known ? json_pack("{s:o, s:f, s:o}", "min", bench_real_or_null(time->lowest), "median",
                                          time->median, "max", bench_real_or_null(time->highest))
                              : json_null());
}

static bool is_timed(const bench_record *r)
{
    return !r->refused && r->time.samples > 0 && isfinite(r->time.median) && r->time.median > 0.0;
}

/* Bytes a second, or NaN. */
static double rate_of(const bench_record *r)
{
    return is_timed(r) && r->bytes > 0.0 ? r->bytes / r->time.median : NAN;
}

static double share_of(const bench_run *run, const bench_record *r)
{
    const double ceiling = r->ceiling > 0.0 ? r->ceiling : bench_ceiling_of(run);

    return ceiling > 0.0 ? rate_of(r) / ceiling : NAN;
}

static json_t *count_or_null(bool known, int64_t value)
{
    return known ? json_integer(value) : json_null();
}

json_t *bench_record_row(const bench_run *run, const bench_record *r)
{
    const bool timed = is_timed(r), sized = r->nrows > 0;
    json_t *row = json_object();

    bench_set(row, "{s:s, s:s?, s:s?, s:s?, s:s?, s:b, s:s, s:s?, s:s?, s:b, s:s?}", "study", run->study, "part",
              r->part, "set", r->set, "matrix", r->matrix, "contestant", r->contestant, "ours", r->ours, "device",
              tess_context_device_name(run->ctx), "precision", r->precision, "of", r->of, "in_cache", r->in_cache,
              "refused", r->refused);
    bench_set(row, "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "nrows", count_or_null(sized, r->nrows), "ncols",
              count_or_null(sized, r->ncols), "nnz", count_or_null(sized, r->nnz), "samples",
              count_or_null(timed, r->time.samples), "calls_per_sample", count_or_null(timed, r->time.calls), "bytes",
              count_or_null(r->bytes > 0.0, (int64_t)r->bytes), "iterations", count_or_null(r->solved, r->iterations));
    bench_set_time(row, "seconds", timed ? &r->time : &(bench_time){.samples = 0});
    bench_set_real(row, "gbs", 1e-9 * rate_of(r));
    bench_set_real(row, "share_of_ceiling", share_of(run, r));
    bench_set_real(row, "setup_seconds", r->setup_seconds > 0.0 ? r->setup_seconds : NAN);
    bench_set_real(row, "true_relative_residual", r->solved ? r->true_residual : NAN);
    return row;
}

static void print_measured(const bench_run *run, const bench_record *r)
{
    const double share = share_of(run, r);

    if (is_timed(r)) { printf(" %11.2f us", 1e6 * r->time.median); }
    if (is_timed(r) && r->bytes > 0.0) { printf(" %9.3f MB %8.1f GB/s", 1e-6 * r->bytes, 1e-9 * rate_of(r)); }
    if (isfinite(share)) { printf(" %5.1f%% of %s", 100.0 * share, run->gpu || r->ceiling > 0.0 ? "read" : "triad"); }
    if (r->solved) { printf(" %6lld it", (long long)r->iterations); }
    if (r->solved && isfinite(r->true_residual)) { printf(", residual %.2e", r->true_residual); }
}

void bench_record_add(bench_run *run, const bench_record *r, json_t *row, const char *format, ...)
{
    va_list list;

    printf("%-22s %-27s", r->matrix ? r->matrix : "", r->contestant);
    if (r->refused) {
        printf("  not run: %s", r->refused);
    } else {
        print_measured(run, r);
    }
    printf("  ");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("%s\n", r->in_cache ? " in cache" : "");
    bench_add(run, row);
}
