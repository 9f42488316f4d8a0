/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations in rising precisions: what a variant did, against FP64, as text and JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "papers/schedule.h"
#include "papers/split.h"

void bench_schedule_init(const char *rows, const char *entries, bench_schedule_policies *out)
{
    tess_policy_options_init(&out->rows);
    out->entries = out->rows;
    out->rows.at_most_one = 1; /* the tables come from the published code */
    out->entries.granularity = TESS_GRANULARITY_ENTRY;
    (void)tess_policy_options_parse(rows, &out->rows);
    (void)tess_policy_options_parse(entries, &out->entries);
}

error_t bench_schedule_parse(int key, char *arg, struct argp_state *state, bench_schedule_policies *out)
{
    switch (key) {
    case BENCH_KEY_POLICY: bench_read_policy(state, arg, &out->rows); return 0;
    case BENCH_KEY_SHARE: bench_read_share(state, arg, &out->rows); return 0;
    case BENCH_KEY_LEVELS: bench_read_levels(state, arg, &out->rows); return 0;
    case BENCH_KEY_ENTRY_POLICY: bench_read_policy(state, arg, &out->entries); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

bool bench_schedule_storage(const bench_schedule_variant *v, const bench_schedule_policies *policies,
                            tess_storage_options *out)
{
    tess_storage_options_init(out);
    if (!v->schedule) { return true; }
    out->format = v->entries ? TESS_FORMAT_SPLIT : TESS_FORMAT_COMPOSITE;
    out->policy = v->entries ? policies->entries : policies->rows;
    return !v->levels || tess_precision_levels_parse(v->levels, &out->policy) == TESS_SUCCESS;
}

void bench_schedule_note(const tess_policy_options *policy, const int64_t per_precision[TESS_MAX_PRECISIONS],
                         bench_schedule_result *r)
{
    tess_policy_options o = *policy;
    int64_t all = 0;

    tess_policy_default_levels(&o);
    (void)bench_levels_text(&o, r->levels, sizeof r->levels);
    for (int p = 0; p < TESS_MAX_PRECISIONS; p++) {
        all += per_precision[p];
    }
    r->low_share = all > 0 ? 1.0 - (double)per_precision[TESS_PRECISION_FP64] / (double)all : 0.0;
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
    json_object_set_new(row, "levels", json_string(r->levels));
    bench_set_real(row, "low_share", v->schedule && strstr(v->schedule, "mixed") ? r->low_share : NAN);
    json_object_set_new(row, "by_entries", json_boolean(v->entries));
    json_object_set_new(row, "base", json_string(all[v->base].name));
    bench_set_real(row, "seconds_per_iteration", r->time.median / (double)r->iterations);
    bench_set_real(row, error, r->error);
    bench_record_add(run, &record, row, "%s, %s %.2e", text, error, r->error);
}
