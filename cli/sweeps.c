/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner jacobi-sweeps: its options, and its part of reports. */
#include "cli.h"

#include <math.h>

void cli_settle_sweeps(struct argp_state *state, tess_precond_options *precond)
{
    tess_jacobi_sweeps_options *sweeps = &precond->jacobi_sweeps;
    tess_storage_options *squares = &precond->incomplete.squares;
    tess_precond_options defaults;
    tess_precond_options_init(&defaults);
    const char *option = sweeps->schedule.count > 0                                                    ? "steps"
                         : sweeps->omega != 0.0                                                        ? "omega"
                         : sweeps->storage.policy.at_most_one                                          ? "share"
                         : sweeps->storage.policy.share != defaults.jacobi_sweeps.storage.policy.share ? "share"
                                                                                                       : NULL;
    if (precond->kind != TESS_PRECOND_JACOBI_SWEEPS) {
        if (option != NULL) { argp_error(state, "--precond-%s is for --precond jacobi-sweeps", option); }
        sweeps->storage.format = defaults.jacobi_sweeps.storage.format;
        return;
    }
    if (squares->policy.policy != TESS_POLICY_NONE) {
        sweeps->storage.policy.policy = squares->policy.policy;
        sweeps->storage.policy.parameter = squares->policy.parameter;
        sweeps->storage.policy.choose_parameter = squares->policy.choose_parameter;
    }
    if (squares->policy.nlevels > 0) {
        for (int l = 0; l < squares->policy.nlevels; l++) {
            sweeps->storage.policy.level[l] = squares->policy.level[l];
        }
        sweeps->storage.policy.nlevels = squares->policy.nlevels;
        sweeps->storage.policy.choose_fp8 = squares->policy.choose_fp8;
    }
    *squares = defaults.incomplete.squares;
}

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

void cli_add_sweeps_options_json(json_t *options, const tess_precond_options *precond)
{
    const tess_jacobi_sweeps_options *o = &precond->jacobi_sweeps;
    char text[CLI_SCHEDULE_TEXT];
    const bool used = precond->kind == TESS_PRECOND_JACOBI_SWEEPS;
    json_object_set_new(options, "precond_steps",
                        used && o->schedule.count > 0 ? json_string(cli_schedule_text(&o->schedule, text, sizeof text))
                                                      : json_null());
    json_object_set_new(options, "precond_omega", used && o->omega > 0.0 ? cli_json_real(o->omega) : json_null());
    json_object_set_new(options, "precond_share",
                        !used                           ? json_null()
                        : o->storage.policy.at_most_one ? json_string("at-most-one")
                                                        : cli_json_real(o->storage.policy.share));
}
