/* SPDX-License-Identifier: Apache-2.0 */
/* After a solve that failed: advice, what is wrong with the system, what could be reached, a command that may help. */
#include "hidden_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A residual within this factor of the attainable estimate is as good as FP64 gives. */
#define NEAR_ATTAINABLE 10.0
/* Over the best residual: a tolerance that another run surely meets. */
#define NEARLY_MET 5.0
/* An automatic solve with another tolerance ends its attempts elsewhere: their best residuals vary more. */
#define NEARLY_MET_BY_AUTO 100.0
/* Beyond this residual a system with a null vector counts as inconsistent. */
#define NO_SOLUTION 1e-6
/* Beyond this residual all methods of the automatic solve count as failed. */
#define NO_ANSWER 1e-3
/* A relative residual of so much is no answer that a tolerance should be raised to. */
#define USELESS_RTOL 0.1
/* Condition numbers from here on are told; from the second one on the matrix is singular up to rounding. */
#define LARGE_CONDITION 1e8
#define SINGULAR_CONDITION 1e14
/* Smaller tolerances are out of reach of the normal equations of many matrices. */
#define LEAST_SQUARES_RTOL 1e-12
/* Of --rtol: a command need not repeat it. */
#define DEFAULT_RTOL 1e-5

/* ---- the line of a file ---- */

/* The first line of a plain Matrix Market file whose value is NaN or Inf; 0: there is none, or the file is of another
   kind. The reader keeps no lines, so that reading stays fast. */
static long long line_of_nonfinite(const cli_matrix *matrix)
{
    if (!matrix->from_file || strcmp(matrix->info.kind, "Matrix Market") != 0 || matrix->info.compressed ||
        matrix->info.cache || !matrix->info.coordinate) {
        return 0;
    }
    FILE *file = fopen(matrix->name, "r");
    if (file == NULL) { return 0; }
    char *text = NULL;
    size_t size = 0;
    long long line = 0, found = 0;
    while (found == 0 && getline(&text, &size, file) >= 0) {
        char value[64];
        line += 1;
        if (text[0] != '%' && sscanf(text, "%*d %*d %63s", value) == 1 && !isfinite(strtod(value, NULL))) {
            found = line;
        }
    }
    free(text);
    fclose(file);
    return found;
}

/* ---- a command that may help ---- */

typedef struct remedy {
    const char *solver, *precond; /* NULL: none is named */
} remedy;

static bool was_automatic(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    return run->solver != NULL && tess_solver_attempts(run->solver, &attempts) > 0;
}

/* Whether an automatic solve has tried it: the preconditioner in any precision, the method if none is named. */
static bool was_tried(const cli_solve_run *run, tess_solver_kind solver, tess_precond_kind precond, bool named)
{
    const tess_attempt *attempts = NULL;
    const int count = run->solver == NULL ? 0 : tess_solver_attempts(run->solver, &attempts);
    bool tried = false;
    for (int i = 0; i < count; i++) {
        tried = tried || (named ? attempts[i].precond == precond : attempts[i].solver == solver);
    }
    return tried;
}

/* The first of the list that this build has, and that was not tried. */
static const remedy *first_known(const cli_solve_run *run, const remedy *list)
{
    for (; list->solver != NULL; list++) {
        tess_solver_kind solver = TESS_SOLVER_AUTO;
        tess_precond_kind precond = TESS_PRECOND_NONE;
        if (tess_solver_kind_parse(list->solver, &solver) == TESS_SUCCESS &&
            (list->precond == NULL || tess_precond_kind_parse(list->precond, &precond) == TESS_SUCCESS) &&
            !was_tried(run, solver, precond, list->precond != NULL)) {
            return list;
        }
    }
    return NULL;
}

static const remedy *remedies_for(const cli_solve_run *run)
{
    static const remedy indefinite[] = {{"minres", NULL}, {"gmres", "lu"}, {"gmres", "ilu0"}, {NULL, NULL}};
    static const remedy direct[] = {{"gmres", "lu"}, {"gmres", "ilut"}, {"gmres", "ilu0"}, {NULL, NULL}};
    static const remedy definite[] = {{"cg", "cholesky"}, {"cg", "ict"}, {"cg", "ic0"}, {NULL, NULL}};
    const tess_solve_result *r = run->result;
    switch (r->reason) {
    case TESS_REASON_INDEFINITE_MATRIX:
    case TESS_REASON_INDEFINITE_PRECOND: return indefinite;
    default: return r->solver == TESS_SOLVER_CG ? definite : direct;
    }
}

static bool is_near_attainable(const cli_solve_run *run)
{
    return run->result->relative_residual <= NEAR_ATTAINABLE * run->findings->attainable_residual;
}

bool cli_is_structurally_singular(const tess_findings *f)
{
    return f->structural_rank >= 0 && f->structural_rank < (f->nrows < f->ncols ? f->nrows : f->ncols);
}

/* ||A||_F ||x|| / ||A x||, which the condition number ||A||_F ||A^-1|| is at least, from the attainable residual
   u (||A||_F ||x|| + ||b||) / ||b|| and ||A x|| <= ||b|| + ||r||. 0: nothing is known. */
static double least_condition(const cli_solve_run *run)
{
    const double sizes = run->findings->attainable_residual / 0x1p-53 - 1.0;
    const double least = sizes / (1.0 + run->result->relative_residual);
    return run->findings->nrows == run->findings->ncols && isfinite(least) && least > 0.0 ? least : 0.0;
}

static bool is_nearly_singular(const cli_solve_run *run)
{
    return least_condition(run) >= SINGULAR_CONDITION;
}

/* Without a tolerance: a run that ends at its limit as intended. */
static bool is_fixed(const cli_solve_run *run)
{
    const tess_accuracy_options *wanted = &run->asked->accuracy;
    return run->options->rtol == 0.0 && run->options->atol == 0.0 && wanted->forward == 0.0 && wanted->backward == 0.0;
}

static bool was_stopped(const cli_solve_run *run)
{
    const tess_reason reason = run->result->reason;
    return reason == TESS_REASON_CANCELLED || reason == TESS_REASON_TIME_LIMIT || reason == TESS_REASON_INTERRUPTED;
}

static bool is_transformed(const cli_solve_run *run)
{
    return run->asked->scale != TESS_SCALING_NONE || run->asked->reorder != TESS_REORDERING_NONE;
}

/* Whether no method of the list came near, within at least as many iterations as the default allows. */
static bool has_tried_all(const cli_solve_run *run)
{
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    return was_automatic(run) && run->result->relative_residual > NO_ANSWER &&
           (run->result->reason != TESS_REASON_ITERATIONS || run->asked->max_iterations >= defaults.max_iterations);
}

/* Twice the error that x has, or factors that tell it. */
static void write_accuracy(const cli_solve_run *run, char *buffer, size_t size)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    const bool backward = run->asked->accuracy.backward > 0.0;
    const double error = backward ? r->backward_error : r->forward_error;
    if (!backward && r->source != TESS_CONDITION_FACTORS && !(error > r->wanted)) { /* it is not known */
        snprintf(buffer, size, "--solver gmres --precond lu --precond-precision fp64 --accuracy %g", r->wanted);
        return;
    }
    if (2.0 * error < 0.5) { snprintf(buffer, size, "--accuracy %s%.1g", backward ? "backward:" : "", 2.0 * error); }
}

/* A tolerance that was nearly met, by the same method; an automatic solve chooses again. */
static void write_attainable(const cli_solve_run *run, char *buffer, size_t size)
{
    const double best = run->result->relative_residual;
    if (was_automatic(run)) {
        snprintf(buffer, size, "--rtol %.1g", fmin(0.5, NEARLY_MET_BY_AUTO * best));
    } else {
        snprintf(buffer, size, "--solver %s --rtol %.1g", tess_solver_kind_name(run->result->solver),
                 NEARLY_MET * best);
    }
}

/* The command's options behind the matrix; empty: no options help. */
static void write_options(const cli_solve_run *run, char *buffer, size_t size)
{
    const tess_findings *f = run->findings;
    const bool least_squares = run->result->solver == TESS_SOLVER_LSQR || run->result->solver == TESS_SOLVER_LSMR;
    const remedy *remedy = NULL;
    buffer[0] = '\0';
    if (f->nonfinite.count > 0 || f->nonfinite_rhs.count > 0 || was_stopped(run) ||
        (is_fixed(run) && run->result->reason == TESS_REASON_ITERATIONS)) {
        return;
    }
    if (run->hidden->count > 0) {
        cli_hidden_rows_options(run, buffer, size);
    } else if ((f->constant_null_vector || cli_is_structurally_singular(f)) && !least_squares &&
               run->result->relative_residual > NO_SOLUTION) {
        snprintf(buffer, size, "--solver lsqr --precond jacobi");
    } else if (cli_accuracy_missed(run)) {
        write_accuracy(run, buffer, size);
    } else if (is_nearly_singular(run) && run->result->relative_residual > USELESS_RTOL / NEARLY_MET &&
               was_automatic(run)) {
        snprintf(buffer, size, "--solver lsqr --precond jacobi");
    } else if (is_near_attainable(run) && NEARLY_MET * run->result->relative_residual < 1.0) {
        write_attainable(run, buffer, size);
    } else if (is_fixed(run)) {
        return; /* no command meets a tolerance of 0 */
    } else if (least_squares && (f->nrows != f->ncols || cli_is_structurally_singular(f) || f->constant_null_vector)) {
        snprintf(buffer, size, "--solver lsmr --precond jacobi --max-iterations %lld",
                 10 * (long long)run->options->max_iterations);
    } else if (cli_is_structurally_singular(f) || f->constant_null_vector) {
        snprintf(buffer, size, "--solver lsqr --precond jacobi");
    } else if (!was_automatic(run) || is_transformed(run)) {
        snprintf(buffer, size, "--solver auto"); /* solves what a named method does not, more often than any other */
    } else if (has_tried_all(run)) {
        snprintf(buffer, size, "--solver lsqr --precond jacobi");
    } else if ((remedy = first_known(run, remedies_for(run))) != NULL) {
        const bool scaled = remedy->precond != NULL && f->zero_diagonal.count > 0;
        snprintf(buffer, size, "--solver %s%s%s%s", remedy->solver, remedy->precond == NULL ? "" : " --precond ",
                 remedy->precond == NULL ? "" : remedy->precond, scaled ? " --scale max-product" : "");
    } else if (run->result->reason == TESS_REASON_ITERATIONS) {
        snprintf(buffer, size, "--max-iterations %lld", 10 * (long long)run->asked->max_iterations);
    }
}

const char *cli_next_command(const cli_solve_run *run, char *buffer, size_t size)
{
    char options[128], tolerance[32] = "", atol[32] = "", rhs[CLI_QUOTED_LENGTH], name[CLI_QUOTED_LENGTH];
    write_options(run, options, sizeof options);
    if (options[0] == '\0') { return NULL; }
    const bool least_squares = strstr(options, "lsqr") != NULL || strstr(options, "lsmr") != NULL;
    const double rtol = least_squares ? fmax(run->options->rtol, LEAST_SQUARES_RTOL) : run->options->rtol;
    if (rtol != DEFAULT_RTOL && strstr(options, "--rtol") == NULL) {
        snprintf(tolerance, sizeof tolerance, " --rtol %g", rtol);
    }
    if (run->options->atol > 0.0) { snprintf(atol, sizeof atol, " --atol %g", run->options->atol); }
    snprintf(buffer, size, "tessera solve %s %s%s%s%s", cli_quoted_file(run->matrix->name, name, sizeof name), options,
             tolerance, atol, cli_rhs_option(run->rhs, rhs, sizeof rhs));
    return buffer;
}

/* ---- the report ---- */

/* After an automatic solve: no method that it has tried. */
static const char *advice_after_attempts(const cli_solve_run *run)
{
    switch (run->result->reason) {
    case TESS_REASON_ITERATIONS: return "raise --max-iterations; --explain shows what was tried";
    case TESS_REASON_NAN_OR_INF: return "look for NaN, Inf and huge values in the matrix ('tessera info') and in b";
    case TESS_REASON_STAGNATION:
    case TESS_REASON_FALSE_CONVERGENCE: return "ask for a larger --rtol; --explain shows what was tried";
    default: return "no method of the list solves this system; --explain shows what was tried";
    }
}

/* Whether what no x reaches is more than the tolerance. */
static bool has_no_solution(const cli_solve_run *run)
{
    return run->findings->inconsistency * run->result->rhs_norm > run->result->tolerance;
}

/* What may help after a solve that did not converge; NULL: no advice. */
static const char *advice_of(const cli_solve_run *run)
{
    if (has_no_solution(run)) { return "the system has no solution; change b, or take least squares (--solver lsqr)"; }
    if (cli_accuracy_missed(run) && run->result->reason == TESS_REASON_STAGNATION) {
        const tess_accuracy_result *r = &run->result->accuracy;
        if (run->asked->accuracy.forward > 0.0 && r->source != TESS_CONDITION_FACTORS &&
            !(r->forward_error > r->wanted)) {
            return "the residual is small, but not known is the error of x; complete factors in FP64 tell it "
                   "(--precond lu "
                   "--precond-precision fp64)";
        }
        return "FP64 gives no smaller error here; ask for less (--accuracy), or scale the system (--scale)";
    }
    if (cli_is_structurally_singular(run->findings) && run->result->relative_residual > NO_SOLUTION) {
        return "the matrix is singular for any values; correct the rows named below, or take least squares (--solver "
               "lsqr)";
    }
    if (was_automatic(run) && is_nearly_singular(run) && run->result->relative_residual > NO_SOLUTION &&
        !was_stopped(run)) {
        return "the matrix is singular up to rounding; take least squares (--solver lsqr), or a larger --rtol";
    }
    const bool may_end = !is_fixed(run) && !was_stopped(run) && run->options->guard == TESS_GUARD_REPAIR;
    if (may_end && is_near_attainable(run)) {
        return "an x of this size has no much smaller residual in FP64; ask for a larger --rtol";
    }
    if (was_automatic(run) && !was_stopped(run)) { return advice_after_attempts(run); }
    switch (run->result->reason) {
    case TESS_REASON_ITERATIONS:
        return is_fixed(run) ? NULL : "raise --max-iterations, or try a preconditioner (--precond)";
    case TESS_REASON_DIVERGENCE: return "try another --solver, or a preconditioner (--precond)";
    case TESS_REASON_BREAKDOWN:
        return run->result->solver == TESS_SOLVER_GMRES ? "try a preconditioner, such as --precond lu"
                                                        : "try another --solver, such as gmres";
    case TESS_REASON_NONSYMMETRIC:
    case TESS_REASON_INDEFINITE_MATRIX: return "use --solver bicgstab or gmres";
    case TESS_REASON_INDEFINITE_PRECOND: return "try another --precond, or --solver bicgstab or gmres";
    case TESS_REASON_NAN_OR_INF: return "look for NaN, Inf and huge values in the matrix ('tessera info') and in b";
    case TESS_REASON_FALSE_CONVERGENCE: return "use --guard repair, a higher precision, or a larger --rtol";
    case TESS_REASON_STAGNATION: return "use a higher precision, a preconditioner, or a larger --rtol";
    case TESS_REASON_OVERFLOW: return "use a precision of wider range, such as bf16 or fp32, or --scale max-product";
    case TESS_REASON_TIME_LIMIT:
    case TESS_REASON_INTERRUPTED:
        return run->session->options->checkpoint == NULL
                   ? "--checkpoint FILE keeps x, and --resume FILE goes on from it"
                   : "the same command with --resume in place of --checkpoint, or with both, goes on";
    default: return NULL;
    }
}

/* The label stands before the first line alone. */
static const char *take_label(const char **label)
{
    const char *now = *label;
    *label = "";
    return now;
}

static void print_kind(const tess_finding *kind, const char *what, const char **label)
{
    if (kind->count == 0) { return; }
    printf("%-17s %lld %s; the first: ", take_label(label), (long long)kind->count, what);
    if (kind->row >= 0) { printf("row %lld", (long long)kind->row + 1); }
    if (kind->column >= 0) { printf("%scolumn %lld", kind->row >= 0 ? ", " : "", (long long)kind->column + 1); }
    putchar('\n');
}

static void print_duplicates(const tess_finding *kind, const char **label)
{
    if (kind->count == 0) { return; }
    printf("%-17s %lld rows are equal to a row before; the first: row %lld to row %lld\n", take_label(label),
           (long long)kind->count, (long long)kind->row + 1, (long long)kind->column + 1);
}

static void print_inconsistency(const cli_solve_run *run, const char **label)
{
    const tess_findings *f = run->findings;
    if (!has_no_solution(run)) { return; }
    if (f->inconsistent_rows.count == f->nrows) {
        printf("%-17s the columns of A sum to 0, and b does not: ", take_label(label));
    } else {
        printf("%-17s %lld rows, row %lld and all that are coupled to it, have columns that sum to 0, and b does not "
               "there: ",
               take_label(label), (long long)f->inconsistent_rows.count, (long long)f->inconsistent_rows.row + 1);
    }
    printf("no x has a relative residual below %.1e\n", f->inconsistency);
}

void cli_print_findings(const cli_solve_run *run)
{
    const tess_findings *f = run->findings;
    const char *text = "findings", **label = &text;
    const char *advice = advice_of(run);
    char command[CLI_COMMAND_LENGTH];
    if (!run->result->converged && advice != NULL) { printf("%-17s %s\n", "advice", advice); }
    if (f->nrows == 0 || run->result->verified) { return; }
    if (run->hidden->count > 0) { cli_print_hidden_rows(run->hidden, take_label(label)); }
    print_kind(&f->nonfinite, "entries are NaN or Inf", label);
    const long long line = f->nonfinite.count > 0 ? line_of_nonfinite(run->matrix) : 0;
    if (line > 0) { printf("%-17s it is in line %lld of %s\n", take_label(label), line, cli_shown(run->matrix->name)); }
    print_kind(&f->nonfinite_rhs, "elements of b are NaN or Inf", label);
    if (cli_is_structurally_singular(f)) {
        printf("%-17s structurally singular: rank at most %lld of %lld\n", take_label(label),
               (long long)f->structural_rank, (long long)(f->nrows < f->ncols ? f->nrows : f->ncols));
        print_kind(&f->unmatched_rows, "rows without a partner", label);
        print_kind(&f->unmatched_columns, "columns without a partner", label);
    }
    print_kind(&f->empty_rows, "rows are empty", label);
    print_kind(&f->empty_columns, "columns are empty", label);
    print_kind(&f->zero_diagonal, "diagonal entries are 0 or absent", label);
    print_duplicates(&f->duplicate_rows, label);
    if (f->constant_null_vector) {
        printf("%-17s A times the vector of ones is 0 up to rounding: x is determined up to a constant\n",
               take_label(label));
    }
    print_inconsistency(run, label);
    if (!isnan(f->attainable_residual)) {
        printf("%-17s best relative residual %.1e; an x of this size can reach about %.1e\n", take_label(label),
               run->result->relative_residual, f->attainable_residual);
    }
    if (least_condition(run) >= LARGE_CONDITION && !cli_is_structurally_singular(f)) {
        const char *singular = is_nearly_singular(run) ? "; A is singular up to rounding" : "";
        printf("%-17s the condition number is at least %.0e: A x is that much smaller than its terms%s\n",
               take_label(label), least_condition(run), singular);
    }
    if (cli_next_command(run, command, sizeof command) != NULL) { printf("%-17s %s\n", "next", command); }
}

/* ---- JSON ---- */

static json_t *place(int64_t index)
{
    return index >= 0 ? json_integer(index + 1) : json_null();
}

static void add_kind(json_t *root, const char *key, const tess_finding *kind)
{
    json_object_set_new(root, key,
                        json_pack("{sI so so}", "count", (json_int_t)kind->count, "row", place(kind->row), "column",
                                  place(kind->column)));
}

json_t *cli_findings_json(const cli_solve_run *run)
{
    const tess_findings *f = run->findings;
    char command[CLI_COMMAND_LENGTH];
    if (f->nrows == 0 || run->result->verified) { return json_null(); }
    json_t *root = json_object();
    json_object_set_new(root, "structural_rank",
                        f->structural_rank >= 0 ? json_integer(f->structural_rank) : json_null());
    add_kind(root, "unmatched_rows", &f->unmatched_rows);
    add_kind(root, "unmatched_columns", &f->unmatched_columns);
    add_kind(root, "empty_rows", &f->empty_rows);
    add_kind(root, "empty_columns", &f->empty_columns);
    add_kind(root, "zero_diagonal", &f->zero_diagonal);
    add_kind(root, "duplicate_rows", &f->duplicate_rows);
    add_kind(root, "nonfinite", &f->nonfinite);
    add_kind(root, "nonfinite_rhs", &f->nonfinite_rhs);
    add_kind(root, "inconsistent_rows", &f->inconsistent_rows);
    json_object_set_new(root, "inconsistency", json_real(f->inconsistency));
    json_object_set_new(root, "constant_null_vector", json_boolean(f->constant_null_vector));
    json_object_set_new(root, "attainable_residual", cli_json_real(f->attainable_residual));
    json_object_set_new(root, "least_condition",
                        least_condition(run) > 0.0 ? cli_json_real(least_condition(run)) : json_null());
    json_object_set_new(root, "hidden_rows", cli_hidden_rows_json(run->hidden));
    json_object_set_new(root, "next",
                        cli_next_command(run, command, sizeof command) != NULL ? cli_json_text(command) : json_null());
    return root;
}
