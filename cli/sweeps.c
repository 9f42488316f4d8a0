/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner jacobi-sweeps: its part of reports. */
#include "cli.h"

#include <math.h>

static bool find_sweeps(const cli_solve_run *run, tess_precond_sweeps *out)
{
    const tess_precond *m = run->solver == NULL ? NULL : tess_solver_precond(run->solver);
    *out = (tess_precond_sweeps){.size = sizeof *out};
    return m != NULL && tess_precond_get_sweeps(m, out) == TESS_SUCCESS;
}

/* Leaves out steps that have no sweep. */
static void drop_empty(tess_precision_schedule *schedule)
{
    int count = 0;
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->entry[i].iterations > 0) { schedule->entry[count++] = schedule->entry[i]; }
    }
    schedule->count = count;
}

void cli_print_sweeps(const cli_solve_run *run)
{
    tess_precond_sweeps sweeps;
    char text[CLI_SCHEDULE_TEXT];
    if (!find_sweeps(run, &sweeps)) { return; }
    drop_empty(&sweeps.schedule);
    printf("%-17s %d (%s), weight %.4g; nonzeros", "sweeps", sweeps.count,
           cli_schedule_text(&sweeps.schedule, text, sizeof text), sweeps.omega);
    for (int p = 0, shown = 0; p < TESS_MAX_PRECISIONS; p++) {
        if (sweeps.nonzeros_per_precision[p] == 0) { continue; }
        printf("%s %lld in %s", shown++ > 0 ? "," : "", (long long)sweeps.nonzeros_per_precision[p],
               tess_precision_name((tess_precision)p));
    }
    printf("%s\n", sweeps.raised ? "; a failure raised them to fp64" : "");
    const tess_storage_options *storage = &run->options->precond.jacobi_sweeps.storage;
    tess_policy_options policy = storage->policy;
    if (policy.policy == TESS_POLICY_NONE) { policy.policy = TESS_POLICY_MEAN_RANGE; } /* the default of sweeps */
    if (!sweeps.raised && cli_takes_policy(storage->format) && cli_has_mixed(&sweeps.schedule)) {
        cli_print_untouched(&policy, sweeps.nonzeros_per_precision);
    }
}

json_t *cli_sweeps_json(const cli_solve_run *run)
{
    tess_precond_sweeps sweeps;
    if (!find_sweeps(run, &sweeps)) { return json_null(); }
    json_t *steps = json_array(), *nonzeros = json_object();
    for (int i = 0; i < sweeps.schedule.count; i++) {
        json_array_append_new(steps,
                              json_pack("{ss sI}", "what", tess_schedule_entry_name(sweeps.schedule.entry[i].what),
                                        "sweeps", (json_int_t)sweeps.schedule.entry[i].iterations));
    }
    for (int p = 0; p < TESS_MAX_PRECISIONS; p++) {
        if (tess_precision_bytes((tess_precision)p) == 0) { continue; }
        json_object_set_new(nonzeros, tess_precision_name((tess_precision)p),
                            json_integer(sweeps.nonzeros_per_precision[p]));
    }
    return json_pack("{si so so so sb}", "count", sweeps.count, "weight", cli_json_real(sweeps.omega), "steps", steps,
                     "nonzeros_per_precision", nonzeros, "raised", sweeps.raised);
}
