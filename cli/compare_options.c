/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of solvers, preconditioners and precisions that tessera compare tries, and what suits a matrix. */
#include "compare.h"
#include "streams.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SOLVERS = 800, KEY_PRECONDS, KEY_PRECISIONS, KEY_BUDGET, KEY_RTOL, KEY_MAX_ITERATIONS, KEY_RHS };

/* Complete factors are tried by default up to this many nonzeros: nothing can stop a factorization. */
static const int64_t most_to_factor = 1000000;

void cli_solves_options_init(cli_solves_options *options)
{
    *options = (cli_solves_options){
        .rhs = {.source = CLI_VECTOR_ONES}, .rtol = 1e-5, .budget = 10.0, .max_iterations = 1000000};
    tess_precond_options_init(&options->given);
}

/* Calls `add`, which lengthens the list by what is not in it yet, with each word between commas. */
static void parse_list(struct argp_state *state, const char *option, const char *text, int *listed,
                       void (*add)(struct argp_state *state, const char *word, cli_solves_options *options))
{
    char *copy = strdup(text), *rest = copy;
    int count = 0;
    *listed = 0;
    if (copy == NULL) { argp_failure(state, CLI_DEVICE, 0, "there is no memory for --%s", option); }
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        if (count++ == CLI_MOST_CHOICES) {
            argp_error(state, "--%s takes at most %s", option, tess_count((int)CLI_MOST_CHOICES, "name").text);
        }
        add(state, word, state->input);
    }
    free(copy);
}

static void take_solver(cli_solves_options *options, const tess_solve_options *named)
{
    for (int k = 0; k < options->solvers; k++) {
        if (options->solver[k].kind == named->solver && options->solver[k].idr.s == named->idr.s) { return; }
    }
    options->solver[options->solvers++] = (cli_listed_solver){named->solver, named->idr};
}

/* Beside a solver that is named, auto is none. */
static void take_precond(cli_solves_options *options, const tess_precond_options *named)
{
    tess_precond_options one = *named;
    if (one.kind == TESS_PRECOND_AUTO) { one.kind = TESS_PRECOND_NONE; }
    for (int k = 0; k < options->preconds; k++) {
        if (memcmp(&options->precond[k], &one, sizeof one) == 0) { return; }
    }
    options->precond[options->preconds++] = one;
}

static void take_precision(cli_solves_options *options, tess_precision precision)
{
    for (int k = 0; k < options->precisions; k++) {
        if (options->precision[k] == precision) { return; }
    }
    options->precision[options->precisions++] = precision;
}

static void add_solver(struct argp_state *state, const char *word, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    cli_set_option(state, "solvers", "solver", word, &solve);
    take_solver(options, &solve);
}

static void add_precond(struct argp_state *state, const char *word, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    cli_set_option(state, "preconds", "precond", word, &solve);
    take_precond(options, &solve.precond);
}

static void add_precision(struct argp_state *state, const char *word, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    cli_set_option(state, "precisions", "matrix-precision", word, &solve);
    take_precision(options, solve.storage.precision);
}

/* As solve takes them. */
static void set_limit(struct argp_state *state, const char *name, const char *text, cli_solves_options *options)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    solve.rtol = options->rtol;
    solve.max_iterations = options->max_iterations;
    cli_set_option(state, name, name, text, &solve);
    options->rtol = solve.rtol;
    options->max_iterations = solve.max_iterations;
}

/* ---- options of preconditioners ---- */

static bool is_given(const cli_solves_options *options, const tess_option *option)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    solve.precond = options->given;
    solve.precond.kind = TESS_PRECOND_AUTO;
    return option->scope == TESS_OPTION_OF_PRECOND && strcmp(option->name, "precond") != 0 &&
           tess_options_is_set(&solve, option->name);
}

/* ---- pairs that do not fit ---- */

/* Until a precision is listed, that of the defaults. */
static void set_precision(const cli_solves_options *options, int precision, tess_solve_options *out)
{
    if (precision < options->precisions) { cli_set_precision(options->precision[precision], out); }
}

/* Of a preconditioner of the list: those options that are for its kind. */
static void add_given(const cli_solves_options *options, tess_solve_options *out)
{
    char value[TESS_OPTION_TEXT], message[TESS_OPTION_TEXT];
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        const bool set = is_given(options, option) &&
                         tess_precond_options_get(&options->given, option->name, value, sizeof value) == TESS_SUCCESS;
        if (set) { (void)tess_options_set(out, option->name, value, message, sizeof message); }
    }
    tess_options_prune(out);
}

void cli_set_pair(const cli_solves_options *options, int solver, int precond, int precision, tess_solve_options *out)
{
    out->solver = options->solver[solver].kind;
    out->idr = options->solver[solver].idr;
    out->precond = options->precond[precond];
    add_given(options, out);
    set_precision(options, precision, out);
}

void cli_set_attempt(const cli_solves_options *options, int attempt, int precision, tess_solve_options *out)
{
    (void)tess_advised_options(&options->advice.attempt[attempt], out);
    set_precision(options, precision, out);
}

/* What solve refuses before a set-up: by the options alone, and by the matrix. */
static bool check_request(const cli_solves_options *options, const tess_solve_options *solve, char *text, size_t size)
{
    tess_advice advice;
    if (solve->solver == TESS_SOLVER_AUTO) { return true; }
    if (tess_options_check(solve, text, size) != TESS_SUCCESS) { return false; }
    tess_advice_init(&advice);
    if (options->a == NULL || tess_advise(options->a, solve, &advice) == TESS_SUCCESS) { return true; }
    snprintf(text, size, "%s", tess_context_last_error(tess_matrix_context(options->a))->message);
    return false;
}

bool cli_request_fits(const cli_solves_options *options, const tess_solve_options *request)
{
    char text[TESS_OPTION_TEXT];
    return check_request(options, request, text, sizeof text);
}

static void note_left_out(cli_solves_options *options, const char *solver, const char *precond, const char *reason)
{
    cli_left_out *part = NULL;
    for (int i = 0; i < options->parts_left_out && part == NULL; i++) {
        cli_left_out *other = &options->left_out[i];
        if (strcmp(other->solver, solver) == 0 && strcmp(other->reason, reason) == 0) { part = other; }
    }
    if (part == NULL) {
        if (options->parts_left_out == CLI_MOST_LEFT_OUT) { return; }
        part = &options->left_out[options->parts_left_out++];
        part->preconds = 0;
        snprintf(part->solver, sizeof part->solver, "%s", solver);
        snprintf(part->reason, sizeof part->reason, "%s", reason);
    }
    for (int k = 0; k < part->preconds; k++) {
        if (strcmp(part->precond[k], precond) == 0) { return; }
    }
    if (part->preconds == CLI_MOST_CHOICES) { return; }
    snprintf(part->precond[part->preconds++], CLI_NAME_LENGTH, "%s", precond);
}

/* Whether a solve takes it; else it is noted. */
static bool keeps(cli_solves_options *options, const tess_solve_options *request)
{
    char solver[CLI_NAME_LENGTH], precond[64], message[TESS_OPTION_TEXT], reason[CLI_REASON_LENGTH];
    tess_precond_options plain;
    if (check_request(options, request, message, sizeof message)) { return true; }
    plain = request->precond;
    plain.role.given = 0; /* the reason names the precision */
    note_left_out(options, cli_value_text(request, "solver", solver, sizeof solver),
                  cli_precond_text(&plain, precond, sizeof precond), cli_spelled(message, reason, sizeof reason));
    return false;
}

/* Notes what no solve takes of the lists, or of the advice. Returns how many requests are left. */
static int leave_out(cli_solves_options *options)
{
    tess_solve_options request;
    const int precisions = options->precisions > 0 ? options->precisions : 1;
    const int attempts = options->solvers == 0 && options->preconds == 0 ? options->advice.count : 0;
    int fitting = 0;
    for (int i = 0; i < options->solvers * options->preconds * precisions; i++) {
        const int pair = i / precisions;
        tess_solve_options_init(&request);
        cli_set_pair(options, pair / options->preconds, pair % options->preconds, i % precisions, &request);
        fitting += keeps(options, &request);
    }
    for (int i = 0; i < attempts * precisions; i++) {
        tess_solve_options_init(&request);
        cli_set_attempt(options, i / precisions, i % precisions, &request);
        fitting += keeps(options, &request);
    }
    return fitting;
}

const char *cli_left_out_text(const cli_left_out *part, char *buffer, size_t size)
{
    int used = snprintf(buffer, size, "%s with ", part->solver);
    for (int k = 0; k < part->preconds && (size_t)used < size; k++) {
        used += snprintf(buffer + used, size - (size_t)used, "%s%s", k == 0 ? "" : ", ", part->precond[k]);
    }
    if ((size_t)used < size) { snprintf(buffer + used, size - (size_t)used, ": %s", part->reason); }
    return buffer;
}

enum { PART_LENGTH = 2 * CLI_REASON_LENGTH + CLI_MOST_CHOICES * CLI_NAME_LENGTH };

/* A line for each part that was left out. */
static const char *parts_text(const cli_solves_options *options, char *text, size_t size)
{
    char part[PART_LENGTH];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < options->parts_left_out && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s  %s", i == 0 ? "" : "\n",
                                 cli_left_out_text(&options->left_out[i], part, sizeof part));
    }
    return text;
}

/* Each option is for a kind that is listed. */
static void check_given(struct argp_state *state, const cli_solves_options *options)
{
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        bool taken = !is_given(options, option);
        for (int k = 0; k < options->preconds && !taken; k++) {
            tess_solve_options solve;
            tess_solve_options_init(&solve);
            solve.precond = options->precond[k];
            add_given(options, &solve);
            taken = tess_options_is_set(&solve, option->name) != 0;
        }
        if (!taken) { cli_refuse(state, "--%s is for %s; name it in --preconds", option->name, option->needs); }
    }
}

/* Before the matrix is read. */
static void check_pairs(struct argp_state *state, cli_solves_options *options)
{
    char text[4 * PART_LENGTH];
    if (options->solvers == 0 || options->preconds == 0 || leave_out(options) > 0) { return; }
    argp_error(state, "no solver of --solvers takes a preconditioner of --preconds:\n%s",
               parts_text(options, text, sizeof text));
}

static error_t parse_solves(int key, char *arg, struct argp_state *state)
{
    cli_solves_options *options = state->input;
    options->asked = options->asked || (key >= KEY_SOLVERS && key <= KEY_RHS);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->given; return 0;
    case KEY_SOLVERS: parse_list(state, "solvers", arg, &options->solvers, add_solver); return 0;
    case KEY_PRECONDS: parse_list(state, "preconds", arg, &options->preconds, add_precond); return 0;
    case KEY_PRECISIONS: parse_list(state, "precisions", arg, &options->precisions, add_precision); return 0;
    case KEY_BUDGET: options->budget = cli_parse_real(state, "budget", arg, DBL_MIN, DBL_MAX); return 0;
    case KEY_RTOL: set_limit(state, "rtol", arg, options); return 0;
    case KEY_MAX_ITERATIONS: set_limit(state, "max-iterations", arg, options); return 0;
    case KEY_RHS:
        options->rhs = cli_parse_vector(state, "rhs", arg, true);
        if (cli_is_stream(arg)) {
            argp_error(state, "--rhs: a comparison reads b for each device; give a file, not -");
        }
        return 0;
    case ARGP_KEY_END:
        check_given(state, options);
        check_pairs(state, options);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option solves_options[] = {
    {"solvers", KEY_SOLVERS, "LIST", 0,
     "solves: names of --solver with commas between them (default: auto and those that suit the matrix)",
     TESS_SECTION_MAIN},
    {"preconds", KEY_PRECONDS, "LIST", 0,
     "solves: names of --precond with commas between them (default: none and those that suit the matrix)",
     TESS_SECTION_MAIN},
    {"precisions", KEY_PRECISIONS, "LIST", 0,
     "solves: precisions of matrix and preconditioner, and of the cycles of gmres (default fp64,fp32)",
     TESS_SECTION_MAIN},
    {"budget", KEY_BUDGET, "S", 0, "solves: stop each after S seconds (default 10)", TESS_SECTION_MAIN},
    {"rhs", KEY_RHS, "NAME|FILE", 0,
     "solves: right-hand side b (default ones): ones, a-times-ones, a-times-ramp, "
     "random[:SEED] in (-1, 1), uniform[:SEED] in (0, 1), or a file",
     TESS_SECTION_MAIN + 1},
    {"rtol", KEY_RTOL, "R", 0, "solves: " CLI_LISTED("rtol", "1e-5"), TESS_SECTION_STOPPING},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "solves: " CLI_LISTED("max-iterations", "1000000"),
     TESS_SECTION_STOPPING},
    {0}};
static const struct argp_child solves_children[] = {{&cli_listed_precond_argp, 0, NULL, 0}, {0}};
const struct argp cli_solves_argp = {.options = solves_options, .parser = parse_solves, .children = solves_children};

/* ---- what suits a matrix: the library's advice ---- */

static void take_solver_kind(cli_solves_options *options, tess_solver_kind kind)
{
    tess_solve_options solve;
    tess_solve_options_init(&solve);
    solve.solver = kind;
    take_solver(options, &solve);
}

static void take_precond_kind(cli_solves_options *options, tess_precond_kind kind)
{
    tess_precond_options precond;
    tess_precond_options_init(&precond);
    precond.kind = kind;
    take_precond(options, &precond);
}

/* Beside preconditioners that were listed. */
static void take_solvers(cli_solves_options *options)
{
    take_solver_kind(options, TESS_SOLVER_AUTO);
    for (int k = 0; k < options->advice.count; k++) {
        take_solver_kind(options, options->advice.attempt[k].solver);
    }
}

/* Beside solvers that were listed. */
static void take_preconds(cli_solves_options *options)
{
    take_precond_kind(options, TESS_PRECOND_NONE);
    for (int k = 0; k < options->advice.count; k++) {
        take_precond_kind(options, options->advice.attempt[k].precond);
    }
}

static bool is_complete(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY;
}

/* An attempt of the advice, which is tried by default: with its solver, or with those that were listed. */
static void note_factors(cli_solves_options *options, const tess_advised_attempt *one)
{
    static const char reason[] = "nothing can stop the analysis of so large a factorization; list it to try it";
    const char *precond = tess_precond_kind_name(one->precond);
    if (options->preconds > 0) { return; }
    if (options->solvers == 0) { note_left_out(options, tess_solver_kind_name(one->solver), precond, reason); }
    for (int k = 0; k < options->solvers; k++) {
        if (options->solver[k].kind == TESS_SOLVER_AUTO) { continue; }
        note_left_out(options, tess_solver_kind_name(options->solver[k].kind), precond, reason);
    }
}

/* Attempts that differ in more than the precision, which is the list's; without factors that nothing could stop. */
static void keep_distinct(const tess_matrix *a, cli_solves_options *options)
{
    tess_advice *advice = &options->advice;
    int kept = 0;
    for (int k = 0; k < advice->count; k++) {
        const tess_advised_attempt one = advice->attempt[k];
        bool taken = is_complete(one.precond) && tess_matrix_nnz(a) > most_to_factor;
        if (taken) { note_factors(options, &one); }
        for (int j = 0; j < kept; j++) {
            taken = taken || (advice->attempt[j].solver == one.solver && advice->attempt[j].precond == one.precond);
        }
        if (!taken) { advice->attempt[kept++] = one; }
    }
    advice->count = kept;
}

/* Least squares know two methods; the advice names one. */
static void choose_least_squares(cli_solves_options *options)
{
    if (options->solvers == 0) {
        take_solvers(options);
        take_solver_kind(options, TESS_SOLVER_LSQR);
    }
    if (options->preconds == 0) { take_preconds(options); }
}

int cli_solves_choose(const tess_matrix *a, cli_solves_options *options)
{
    char text[4 * PART_LENGTH];
    tess_advice *advice = &options->advice;
    tess_advice_init(advice);
    tess_status status = tess_advise(a, NULL, advice);
    if (status != TESS_SUCCESS) { return cli_report_failure(tess_matrix_context(a), status); }
    options->parts_left_out = 0;
    keep_distinct(a, options);
    if (tess_matrix_nrows(a) != tess_matrix_ncols(a)) {
        choose_least_squares(options);
    } else if (options->solvers > 0 && options->preconds == 0) {
        take_preconds(options);
    } else if (options->preconds > 0 && options->solvers == 0) {
        take_solvers(options);
    }
    if (options->precisions == 0) {
        options->precision[options->precisions++] = TESS_PRECISION_FP64;
        options->precision[options->precisions++] = TESS_PRECISION_FP32;
    }
    options->a = a;
    if (leave_out(options) > 0 || options->solvers == 0) { return CLI_CONVERGED; }
    cli_error("the matrix fits no solver with a preconditioner that is listed:");
    fprintf(stderr, "%s\n", parts_text(options, text, sizeof text));
    return CLI_USAGE;
}
