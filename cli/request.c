/* SPDX-License-Identifier: Apache-2.0 */
/* What a printed command asks for: the system, the norm and the tolerance, as the caller wanted them. */
#include "request.h"

#include "solve.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Smaller tolerances are out of reach of the normal equations of many matrices. */
#define LEAST_SQUARES_RTOL 1e-12

/* ---- the request ---- */

bool cli_wants_accuracy(const tess_solve_options *options)
{
    return options->accuracy.forward > 0.0 || options->accuracy.backward > 0.0;
}

static tess_stop_norm norm_of_solver(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_AUTO ? TESS_STOP_NORM_BOTH : TESS_STOP_NORM_GIVEN;
}

tess_stop_norm cli_request_norm(const cli_solve_run *run)
{
    const tess_stop_norm asked = run->asked->stop_norm;
    return asked != TESS_STOP_NORM_AUTO ? asked : norm_of_solver(run->asked->solver);
}

/* A norm that was not asked for is repeated where that of the other solver would be weaker. */
static tess_stop_norm norm_for(const cli_solve_run *run, tess_solver_kind solver)
{
    const bool weaker = cli_request_norm(run) == TESS_STOP_NORM_BOTH && norm_of_solver(solver) != TESS_STOP_NORM_BOTH;
    return weaker ? TESS_STOP_NORM_BOTH : run->asked->stop_norm;
}

tess_solve_options cli_request_for(const cli_solve_run *run, tess_solver_kind solver)
{
    const tess_solve_options *o = run->asked;
    tess_solve_options request;
    tess_solve_options_init(&request);
    request.solver = solver;
    request.scale = o->scale;
    request.reorder = o->reorder;
    request.keep_order = o->keep_order;
    request.stop_norm = norm_for(run, solver);
    request.rtol = o->rtol;
    request.atol = o->atol;
    request.divergence_tolerance = o->divergence_tolerance;
    request.accuracy = o->accuracy;
    request.return_last = o->return_last;
    request.automatic.fp64_only = solver == TESS_SOLVER_AUTO && o->automatic.fp64_only;
    if (o->max_iterations > request.max_iterations) { request.max_iterations = o->max_iterations; }
    if (!cli_is_least_squares(solver)) { return request; }
    request.rtol =
        fmax(cli_wants_accuracy(o) ? fmax(o->accuracy.forward, o->accuracy.backward) : o->rtol, LEAST_SQUARES_RTOL);
    request.accuracy = (tess_accuracy_options){.forward = 0.0};
    if (!run->transformed) { /* else the system is the transformed one */
        request.scale = TESS_SCALING_NONE;
        request.reorder = TESS_REORDERING_NONE;
    }
    return request;
}

/* ---- text ---- */

/* What is the default of the format, or chosen with the policy, needs no option. */
static void leave_out_storage(tess_storage_options *storage)
{
    tess_storage_options plain = *storage;
    plain.policy.granularity = TESS_GRANULARITY_ROW;
    cli_settle_granularity(&plain);
    const bool open = storage->format == TESS_FORMAT_AUTO && storage->policy.granularity == TESS_GRANULARITY_MATRIX;
    if (open || storage->policy.granularity == plain.policy.granularity) {
        storage->policy.granularity = TESS_GRANULARITY_ROW;
    }
    if (storage->policy.policy != TESS_POLICY_NONE) { storage->precision = TESS_PRECISION_FP64; }
}

/* Without what follows from the rest. */
static tess_solve_options leave_out(const tess_solve_options *options)
{
    tess_solve_options o = *options, defaults;
    const tess_precond_kind kind = o.precond.kind;
    tess_solve_options_init(&defaults);
    if (cli_wants_accuracy(&o)) {
        o.rtol = defaults.rtol;
        o.atol = defaults.atol;
    }
    if (cli_is_least_squares(o.solver) || o.stop_norm == norm_of_solver(o.solver)) {
        o.stop_norm = TESS_STOP_NORM_AUTO;
    }
    if (kind == TESS_PRECOND_NONE || kind == TESS_PRECOND_JACOBI || kind == TESS_PRECOND_AUTO) {
        o.precond.role.given = 0;
    }
    if (cli_is_flexible(o.solver)) { o.gmres.orthogonalization = defaults.gmres.orthogonalization; }
    o.timings = 0;
    leave_out_storage(&o.storage);
    return o;
}

/* One of the solve's options, if it is set. */
static void write_set(FILE *to, const tess_solve_options *o, const char *name)
{
    if (tess_options_is_set(o, name)) { cli_write_option(to, o, tess_option_find(name)); }
}

/* The solve's options of some parts of the help, but for those that are written by name. */
static void write_sections(FILE *to, const tess_solve_options *o, int from, int to_before)
{
    static const char named[] = " solver scale reorder stop-norm rtol max-iterations ";
    char name[64];
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        const bool there = option->section >= from && option->section < to_before;
        snprintf(name, sizeof name, " %s ", option->name);
        if (there && option->scope == TESS_OPTION_OF_SOLVE && strstr(named, name) == NULL) {
            write_set(to, o, option->name);
        }
    }
}

void cli_write_request(FILE *to, const tess_solve_options *request, const cli_request_words *words)
{
    char name[CLI_QUOTED_LENGTH];
    const tess_solve_options o = leave_out(request);
    const bool rtol = words->rtol && !cli_wants_accuracy(&o);
    fprintf(to, "tessera solve %s", cli_quoted_file(words->matrix, name, sizeof name));
    if (words->solver) { cli_write_option(to, &o, tess_option_find("solver")); }
    cli_write_options(to, &o, TESS_OPTION_OF_PRECOND);
    write_set(to, &o, "scale");
    write_set(to, &o, "reorder");
    if (words->transformed) { fputs(" --system transformed", to); }
    if (words->format && !tess_options_is_set(&o, "format")) { cli_write_option(to, &o, tess_option_find("format")); }
    cli_write_options(to, &o, TESS_OPTION_OF_STORAGE);
    write_sections(to, &o, TESS_SECTION_MAIN, TESS_SECTION_STOPPING);
    write_set(to, &o, "stop-norm");
    if (rtol || tess_options_is_set(&o, "rtol")) { cli_write_option(to, &o, tess_option_find("rtol")); }
    write_sections(to, &o, TESS_SECTION_STOPPING, TESS_SECTION_PRECISION);
    fputs(cli_rhs_option(words->rhs, name, sizeof name), to);
    write_set(to, &o, "max-iterations");
    write_sections(to, &o, TESS_SECTION_PRECISION, INT_MAX);
    if (words->device != NULL) { fprintf(to, " --device %s", words->device); }
}
