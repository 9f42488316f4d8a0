/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations in rising precisions: what a variant did, against FP64, as text and JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "papers/schedule.h"

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
                                bench_time *time)
{
    double samples[BENCH_SCHEDULE_REPEATS] = {0.0};
    const int count = run->options->quick ? 1 : BENCH_SCHEDULE_REPEATS;
    tess_status status = TESS_SUCCESS;

    for (int k = -1; k < count && status == TESS_SUCCESS; k++) { /* -1: warm-up */
        status = call(user, &samples[k < 0 ? 0 : k]);
    }
    *time = bench_time_of_samples(samples, count, 1);
    return status;
}

static const char *bench_schedule_text(const tess_precision_schedule *schedule, char *buffer, size_t size)
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

void bench_schedule_report(bench_run *run, const char *matrix, const bench_csr *a, bool in_cache,
                           const bench_schedule_variant *all, int index, const bench_schedule_result *r,
                           const char *error)
{
    const bench_schedule_variant *v = &all[index];
    const char *levels = v->levels ? v->levels : "fp64,fp32";
    char text[160];
    const bench_record record = {.matrix = matrix,
                                 .nrows = a->nrows,
                                 .ncols = a->ncols,
                                 .nnz = a->nnz,
                                 .contestant = v->name,
                                 .ours = true,
                                 .precision = bench_schedule_text(&r->schedule, text, sizeof text),
                                 .of = "run",
                                 .time = r->time,
                                 .bytes = r->bytes,
                                 .setup_seconds = r->setup_seconds,
                                 .solved = true,
                                 .iterations = r->iterations,
                                 .true_residual = strcmp(error, "relative_residual") == 0 ? r->error : NAN,
                                 .in_cache = in_cache};
    json_t *row = bench_record_row(run, &record);

    json_object_set_new(row, "steps", json_string(text));
    json_object_set_new(row, "levels", json_string(levels));
    json_object_set_new(row, "by_entries", json_boolean(v->entries));
    json_object_set_new(row, "base", json_string(all[v->base].name));
    bench_set_real(row, "seconds_per_iteration", r->time.median / (double)r->iterations);
    bench_set_real(row, error, r->error);
    bench_record_add(run, &record, row, "%s, %s %.2e", text, error, r->error);
}
