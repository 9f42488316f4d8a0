/* SPDX-License-Identifier: Apache-2.0 */
/* Options of tessera solve that do not go together: those of the library ask tess_options_check. */
#include "request.h"
#include "solve.h"
#include "streams.h"

#include <string.h>

/* Standard input can be read once. */
static void check_input_names(struct argp_state *state, const solve_options *options)
{
    const char *rhs = options->rhs.source == CLI_VECTOR_FILE ? options->rhs.path : NULL;
    if (cli_is_stream(options->matrix) + cli_is_stream(rhs) + cli_is_stream(options->initial_guess) > 1) {
        cli_refuse(state, "two inputs are -, but standard input can be read once; give a file for one of them");
    }
}

static void check_output_names(struct argp_state *state, const solve_options *options)
{
    const char *names[] = {options->host.json, options->history,         options->output,
                           options->html,      options->stop.checkpoint, options->solve.automatic.choices};
    enum { COUNT = sizeof names / sizeof names[0] };
    for (int i = 0; i < COUNT; i++) {
        for (int j = i + 1; j < COUNT; j++) {
            if (names[i] != NULL && names[j] != NULL && strcmp(names[i], names[j]) == 0) {
                cli_refuse(state, "two outputs have the same name, '%s'; give each a name of its own", names[i]);
            }
        }
    }
}

/* Its default is what fgmres does not do, so that only the command line tells whether it was asked for. */
void cli_check_orthogonalization(struct argp_state *state, const tess_solve_options *solve)
{
    const bool delayed = solve->gmres.orthogonalization == TESS_ORTHOGONALIZATION_CGS2_DELAYED;
    if (!cli_is_flexible(solve->solver) || !delayed || !cli_was_given("orthogonalization")) { return; }
    cli_refuse(state,
               "--orthogonalization cgs2-delayed is not for --solver %s, whose preconditioner need not be "
               "linear; give cgs2",
               tess_solver_kind_name(solve->solver));
}

/* What the library uses in any case. */
static void complete_others(tess_solve_options *solve)
{
    tess_storage_options *squares = &solve->precond.incomplete.squares;
    const bool blocks = cli_is_incomplete(solve->precond.kind) && squares->policy.policy != TESS_POLICY_NONE;
    if (cli_is_flexible(solve->solver)) { solve->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
    if (blocks && squares->format == TESS_FORMAT_CSR) { squares->format = cli_find_format(cli_is_by_blocks); }
}

bool cli_is_flexible(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_FGMRES || solver == TESS_SOLVER_NESTED;
}

bool cli_is_least_squares(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_LSQR || solver == TESS_SOLVER_LSMR;
}

bool cli_needs_gpu(tess_engine engine)
{
    return engine == TESS_ENGINE_GRAPH || engine == TESS_ENGINE_SINGLE_KERNEL;
}

static void check_system(struct argp_state *state, const solve_options *options)
{
    const tess_solve_options *solve = &options->solve;
    if (!options->transformed) { return; }
    if (solve->scale == TESS_SCALING_NONE && solve->reorder == TESS_REORDERING_NONE) {
        cli_refuse(state, "--system transformed needs --scale or --reorder");
    }
    if (options->nullspace.coordinates != NULL || options->nullspace.vectors != NULL) {
        cli_refuse(state, "--system transformed does not go with --coordinates or --near-nullspace, which are of the "
                          "original rows");
    }
    if (options->saddle.index != NULL || options->saddle.schur != NULL) {
        cli_refuse(state, "--system transformed does not go with --saddle-index or --schur-matrix, which are of "
                          "the original rows");
    }
}

static void check_engine(struct argp_state *state, const solve_options *options)
{
    if (cli_needs_gpu(options->solve.engine) && options->device == TESS_DEVICE_CPU) {
        cli_refuse(state, "--engine %s needs a GPU, but --device cpu is given",
                   tess_engine_name(options->solve.engine));
    }
}

/* The library asks for it when it knows the format. */
void cli_check_narrowing(struct argp_state *state, const tess_papers_solve *papers, const cli_storage_choice *storage)
{
    const tess_narrowing narrowing = papers->narrowing;
    if (narrowing == TESS_NARROWING_OFF || storage->papers.layout == TESS_LAYOUT_RESIDENT) { return; }
    cli_refuse(state, "--narrowing %s needs --format tiles --layout resident", tess_narrowing_name(narrowing));
}

/* What comes from a preset is no option that the caller could leave out. */
static void refuse_request(struct argp_state *state, const char *message)
{
    char name[64];
    const size_t length = strncmp(message, "--", 2) == 0 ? strcspn(message + 2, " ") : 0;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), message + 2);
    const char *preset = cli_preset_of(name, state->argc, state->argv);
    if (preset != NULL) { cli_refuse(state, "--preset %s does not fit the other options: its %s", preset, message); }
    cli_refuse(state, "%s", message);
}

void cli_check_solve(struct argp_state *state, solve_options *options)
{
    char message[TESS_OPTION_TEXT];
    check_input_names(state, options);
    if (options->initial_guess != NULL && options->stop.resume != NULL) {
        cli_refuse(state, "--resume brings x along; leave out --initial-guess");
    }
    check_output_names(state, options);
    cli_check_seed(state, &options->seed, "--rhs", &options->rhs, NULL);
    cli_check_orthogonalization(state, &options->solve);
    check_engine(state, options);
    check_system(state, options);
    if (tess_options_check(&options->solve, message, sizeof message) != TESS_SUCCESS) {
        refuse_request(state, message);
    }
    cli_check_narrowing(state, &options->papers, &options->storage);
    if (options->solve.solver == TESS_SOLVER_JACOBI) {
        cli_complete_sweeps(&options->solve.jacobi.schedule, 0.1, &options->solve.storage);
    }
    complete_others(&options->solve);
}
