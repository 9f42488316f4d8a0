/* SPDX-License-Identifier: Apache-2.0 */
/* Options of tessera solve that do not go together. */
#include "solve.h"
#include "streams.h"

#include <string.h>

/* Standard input can be read once. */
static void check_input_names(struct argp_state *state, const solve_options *options)
{
    const char *rhs = options->rhs.source == CLI_VECTOR_FILE ? options->rhs.path : NULL;
    if (cli_is_stream(options->matrix) + cli_is_stream(rhs) + cli_is_stream(options->initial_guess) > 1) {
        argp_error(state, "two inputs are -, but standard input can be read once; give a file for one of them");
    }
}

static void check_output_names(struct argp_state *state, const solve_options *options)
{
    const char *names[] = {options->host.json, options->history,         options->output,
                           options->html,      options->stop.checkpoint, options->choices};
    enum { COUNT = sizeof names / sizeof names[0] };
    for (int i = 0; i < COUNT; i++) {
        for (int j = i + 1; j < COUNT; j++) {
            if (names[i] != NULL && names[j] != NULL && strcmp(names[i], names[j]) == 0) {
                argp_error(state, "two outputs have the same name, '%s'; give each a name of its own", names[i]);
            }
        }
    }
}

/* If the schedule has a mixed entry and no policy was given, sets the policy that the library would use, so that
   reports name it. */
static void complete_jacobi(struct argp_state *state, solve_options *options)
{
    tess_solve_options *solve = &options->solve;
    tess_policy_options *policy = &solve->storage.policy;
    if (solve->solver != TESS_SOLVER_JACOBI) {
        if (solve->jacobi.schedule.count > 0 || solve->jacobi.omega != 1.0) {
            argp_error(state, "--%s is for --solver jacobi", solve->jacobi.schedule.count > 0 ? "steps" : "omega");
        }
        return;
    }
    if (solve->precond.kind != TESS_PRECOND_NONE && solve->precond.kind != TESS_PRECOND_AUTO) {
        argp_error(state, "--solver jacobi takes no preconditioner; leave out --precond");
    }
    bool mixed = cli_is_mixed(&solve->storage) && solve->jacobi.schedule.count == 0;
    for (int i = 0; i < solve->jacobi.schedule.count; i++) {
        mixed = mixed || solve->jacobi.schedule.entry[i].what == TESS_MIXED;
    }
    if (mixed && policy->policy == TESS_POLICY_NONE) {
        policy->policy = TESS_POLICY_MEAN_RANGE;
        policy->parameter = 0.1;
    }
    if (mixed && !cli_is_mixed(&solve->storage)) {
        solve->storage.split.base = solve->storage.format;
        solve->storage.format = cli_find_format(cli_copies_levels);
        policy->granularity = TESS_GRANULARITY_ROW;
    }
    if (cli_is_mixed(&solve->storage)) { cli_note_sweep(&solve->storage); }
    if (cli_is_lossless_whole(&solve->storage)) {
        argp_error(state, "--solver jacobi takes --policy lossless only with --format split, composite or auto");
    }
}

static bool is_gmres(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_GMRES || solver == TESS_SOLVER_GMRES_IR || solver == TESS_SOLVER_GMRES_FD ||
           solver == TESS_SOLVER_FGMRES;
}

static void check_gmres(struct argp_state *state, tess_solve_options *solve)
{
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    const struct {
        const char *name;
        bool given;
    } options[] = {{"restart", solve->gmres.restart != defaults.gmres.restart},
                   {"inner-precision", solve->gmres.inner.given != 0 || solve->gmres.inner_auto},
                   {"basis-precision", solve->gmres.basis.given != 0},
                   {"orthogonalization", solve->gmres.orthogonalization != defaults.gmres.orthogonalization}};
    if (solve->gmres.switch_at > 0 && solve->solver != TESS_SOLVER_GMRES_FD) {
        argp_error(state, "--switch-at is for --solver gmres-fd");
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].given && !is_gmres(solve->solver)) {
            argp_error(state, "--%s is for --solver gmres, gmres-ir, gmres-fd or fgmres", options[i].name);
        }
    }
    if (solve->solver == TESS_SOLVER_FGMRES) { solve->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
}

bool cli_is_least_squares(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_LSQR || solver == TESS_SOLVER_LSMR;
}

bool cli_needs_gpu(tess_engine engine)
{
    return engine == TESS_ENGINE_GRAPH || engine == TESS_ENGINE_SINGLE_KERNEL;
}

static void check_engine(struct argp_state *state, const solve_options *options)
{
    const tess_solve_options *solve = &options->solve;
    const bool other =
        solve->solver != TESS_SOLVER_AUTO && solve->solver != TESS_SOLVER_CG && solve->solver != TESS_SOLVER_BICGSTAB;
    if (cli_needs_gpu(solve->engine) && options->device == TESS_DEVICE_CPU) {
        argp_error(state, "--engine %s needs a GPU, but --device cpu is given", tess_engine_name(solve->engine));
    }
    if (other && (solve->cg.recurrence != TESS_RECURRENCE_AUTO || options->papers.one_reduction)) {
        argp_error(state, "--recurrence is for --solver cg or bicgstab");
    }
    if (other && options->papers.narrowing != TESS_NARROWING_OFF) {
        argp_error(state, "--narrowing is for --solver cg or bicgstab");
    }
    if (options->papers.narrowing_epsilon > 0.0 && options->papers.narrowing == TESS_NARROWING_OFF) {
        argp_error(state, "--narrowing-epsilon needs --narrowing paper or safe");
    }
}

static void check_tolerances(struct argp_state *state, const tess_solve_options *solve)
{
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    const bool accuracy = solve->accuracy.forward > 0.0 || solve->accuracy.backward > 0.0;
    if (accuracy && (solve->rtol != defaults.rtol || solve->atol != defaults.atol)) {
        argp_error(state, "--accuracy sets the tolerance by itself; leave out --rtol and --atol");
    }
}

static void check_stop_norm(struct argp_state *state, const tess_solve_options *solve)
{
    const tess_stop_norm norm = solve->stop_norm;
    const bool transformed = solve->scale != TESS_SCALING_NONE || solve->reorder != TESS_REORDERING_NONE;
    const bool without_precond = solve->precond.kind == TESS_PRECOND_NONE ||
                                 (solve->precond.kind == TESS_PRECOND_AUTO && solve->solver != TESS_SOLVER_AUTO);
    if (norm == TESS_STOP_NORM_AUTO || norm == TESS_STOP_NORM_GIVEN) { return; }
    if (cli_is_least_squares(solve->solver)) {
        argp_error(state, "--solver %s stops by the norm as given; leave out --stop-norm",
                   tess_solver_kind_name(solve->solver));
    }
    if (solve->accuracy.forward > 0.0 || solve->accuracy.backward > 0.0) {
        argp_error(state, "--accuracy sets the tolerance by itself; leave out --stop-norm");
    }
    if (norm == TESS_STOP_NORM_PRECONDITIONED && (without_precond || transformed)) {
        argp_error(state, "--stop-norm preconditioned needs --precond, without --scale and --reorder");
    }
}

static void check_system(struct argp_state *state, const solve_options *options)
{
    const tess_solve_options *solve = &options->solve;
    if (!options->transformed) { return; }
    if (solve->scale == TESS_SCALING_NONE && solve->reorder == TESS_REORDERING_NONE) {
        argp_error(state, "--system transformed needs --scale or --reorder");
    }
    if (options->nullspace.coordinates != NULL || options->nullspace.vectors != NULL) {
        argp_error(state, "--system transformed does not go with --coordinates or --near-nullspace, which are of the "
                          "original rows");
    }
}

void cli_check_solve(struct argp_state *state, solve_options *options)
{
    check_input_names(state, options);
    if (options->initial_guess != NULL && options->stop.resume != NULL) {
        argp_error(state, "--resume brings x along; leave out --initial-guess");
    }
    check_output_names(state, options);
    complete_jacobi(state, options);
    check_gmres(state, &options->solve);
    check_engine(state, options);
    check_tolerances(state, &options->solve);
    check_stop_norm(state, &options->solve);
    check_system(state, options);
}
