/* SPDX-License-Identifier: Apache-2.0 */
/* After a solve that failed: advice, and a command that may help. It keeps the norm, the tolerance or accuracy, the
   scaling and the right-hand side of the caller. */
#include "next.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hidden_rows.h"
#include "request.h"
#include "solve.h"

/* A residual within this factor of the attainable estimate is as good as FP64 gives. */
#define NEAR_ATTAINABLE 10.0
/* In the norm of scaled rows: each row is solved up to this share of its terms. */
#define NEAR_ATTAINABLE_ROWS 1e-12
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
/* From this condition number on the matrix is singular up to rounding. */
#define SINGULAR_CONDITION 1e14
/* A larger iteration limit. */
enum { MORE_ITERATIONS = 10 };

/* ---- what is known of the failure ---- */

static int attempts_of(const cli_solve_run *run, const tess_attempt **attempts)
{
    *attempts = NULL;
    return run->solver == NULL ? 0 : tess_solver_attempts(run->solver, attempts);
}

static bool was_automatic(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    return attempts_of(run, &attempts) > 0;
}

/* The smallest relative residual that x had: under --iterate last the x that is returned may have a larger one. */
static double best_residual(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    const int count = attempts_of(run, &attempts);
    double best = run->result->relative_residual;
    for (int i = 0; i < count; i++) {
        if (attempts[i].status == TESS_SUCCESS) { best = fmin(best, attempts[i].relative_residual); }
    }
    return best;
}

/* The relative residual in the norm that decides, with its bound: a tolerance that it would meet. */
static double deciding_residual(const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    const tess_stop_norm norm = cli_request_norm(run);
    const double given = (r->residual_norm + r->residual_bound) / (r->rhs_norm > 0.0 ? r->rhs_norm : 1.0);
    const double rows = (r->rows.norm + r->rows.bound) / (r->rows.rhs_norm > 0.0 ? r->rows.rhs_norm : 1.0);
    if (isnan(rows) || norm == TESS_STOP_NORM_GIVEN || norm == TESS_STOP_NORM_PRECONDITIONED) { return given; }
    return norm == TESS_STOP_NORM_ROWS ? rows : fmax(given, rows);
}

static bool stops_by_rows(const cli_solve_run *run)
{
    const tess_stop_norm norm = cli_request_norm(run);
    return norm == TESS_STOP_NORM_ROWS || norm == TESS_STOP_NORM_BOTH;
}

static bool is_near_attainable(const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    const bool rows_too = !stops_by_rows(run) || !(r->rows.backward_error > NEAR_ATTAINABLE_ROWS);
    return r->relative_residual <= NEAR_ATTAINABLE * run->findings->attainable_residual && rows_too;
}

/* Whether b is so small that its residuals are below the normal numbers. */
static bool is_out_of_range(const cli_solve_run *run)
{
    return run->result->rhs_norm > 0.0 && run->result->rhs_norm < DBL_MIN;
}

/* Whether not even factors in FP64 tell the error that was asked for. */
static bool is_unknowable(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    return run->asked->accuracy.forward > 0.0 && r->source == TESS_CONDITION_FACTORS && isnan(r->forward_error);
}

bool cli_is_structurally_singular(const tess_findings *f)
{
    return f->structural_rank >= 0 && f->structural_rank < (f->nrows < f->ncols ? f->nrows : f->ncols);
}

bool cli_has_no_solution(const cli_solve_run *run)
{
    return run->findings->inconsistency * run->result->rhs_norm > run->result->tolerance;
}

/* From the attainable residual u (||A||_F ||x|| + ||b||) / ||b|| and ||A x|| <= ||b|| + ||r||. */
double cli_least_condition(const cli_solve_run *run)
{
    const double sizes = run->findings->attainable_residual / 0x1p-53 - 1.0;
    const double least = sizes / (1.0 + run->result->relative_residual);
    return run->findings->nrows == run->findings->ncols && isfinite(least) && least > 0.0 ? least : 0.0;
}

bool cli_is_nearly_singular(const cli_solve_run *run)
{
    return cli_least_condition(run) >= SINGULAR_CONDITION;
}

/* Without a tolerance: a run that ends at its limit as intended. */
static bool is_fixed(const cli_solve_run *run)
{
    return run->asked->rtol == 0.0 && run->asked->atol == 0.0 && !cli_wants_accuracy(run->asked);
}

static bool was_stopped(const cli_solve_run *run)
{
    const tess_reason reason = run->result->reason;
    return reason == TESS_REASON_CANCELLED || reason == TESS_REASON_TIME_LIMIT || reason == TESS_REASON_INTERRUPTED;
}

/* Whether no method of the list came near, within at least as many iterations as the default allows. */
static bool has_tried_all(const cli_solve_run *run)
{
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    return was_automatic(run) && best_residual(run) > NO_ANSWER &&
           (run->result->reason != TESS_REASON_ITERATIONS || run->asked->max_iterations >= defaults.max_iterations);
}

/* ---- a method that was not tried ---- */

static bool was_tried(const cli_solve_run *run, const tess_advised_attempt *advised)
{
    const tess_attempt *attempts = NULL;
    const int count = attempts_of(run, &attempts);
    bool tried = false;
    for (int i = 0; i < count; i++) {
        tried = tried || (attempts[i].precond == advised->precond &&
                          (attempts[i].solver == advised->solver || advised->precond != TESS_PRECOND_NONE));
    }
    return tried;
}

/* A norm of M^-1 r needs an M; what a matrix that is not positive definite ended has no use for CG. */
static bool may_help(const cli_solve_run *run, const tess_advised_attempt *advised)
{
    const tess_reason reason = run->result->reason;
    const bool indefinite = reason == TESS_REASON_INDEFINITE_MATRIX || reason == TESS_REASON_INDEFINITE_PRECOND;
    return (advised->precond != TESS_PRECOND_NONE || cli_request_norm(run) != TESS_STOP_NORM_PRECONDITIONED) &&
           !(indefinite && advised->solver == TESS_SOLVER_CG);
}

/* The first attempt of the library's advice that was not made; false: there is none. */
static bool find_remedy(const cli_solve_run *run, tess_advised_attempt *remedy)
{
    tess_advice advice;
    tess_advice_init(&advice);
    if (tess_advise(run->matrix->a, NULL, &advice) != TESS_SUCCESS) { return false; }
    for (int k = 0; k < advice.count; k++) {
        *remedy = advice.attempt[k];
        if (may_help(run, remedy) && !was_tried(run, remedy)) { return true; }
    }
    return false;
}

/* ---- a command that may help ---- */

typedef struct suggestion {
    const cli_solve_run *run;
    tess_solve_options request;
    bool found, names_solver;
} suggestion;

static void name_solver(suggestion *s, tess_solver_kind solver)
{
    s->request = cli_request_for(s->run, solver);
    s->found = s->names_solver = true;
}

/* The automatic solve; the caller's norm of M^-1 r keeps its M. */
static void suggest_automatic(suggestion *s)
{
    name_solver(s, TESS_SOLVER_AUTO);
    if (cli_request_norm(s->run) == TESS_STOP_NORM_PRECONDITIONED) { s->request.precond = s->run->asked->precond; }
}

static void suggest_least_squares(suggestion *s)
{
    name_solver(s, TESS_SOLVER_LSQR);
    s->request.precond.kind = TESS_PRECOND_JACOBI;
}

/* The same method, or the same automatic solve, whose name is the default. */
static void suggest_same(suggestion *s)
{
    const cli_solve_run *run = s->run;
    const bool automatic = was_automatic(run);
    name_solver(s, automatic ? TESS_SOLVER_AUTO : run->result->solver);
    s->names_solver = !automatic;
    if (automatic || run->asked->precond.kind != TESS_PRECOND_NONE) { s->request.precond = run->asked->precond; }
}

/* The same method in the norms that see the rows; least squares stop by the norm as given alone. */
static void suggest_rows(suggestion *s)
{
    const cli_solve_run *run = s->run;
    if (cli_is_least_squares(run->result->solver)) {
        name_solver(s, TESS_SOLVER_AUTO);
        return;
    }
    name_solver(s, run->result->solver);
    if (run->options->precond.kind != TESS_PRECOND_NONE) { s->request.precond = run->options->precond; }
    s->request.stop_norm = TESS_STOP_NORM_BOTH;
    if (s->request.scale == TESS_SCALING_NONE && !run->transformed) { s->request.scale = run->hidden->scale; }
}

static double one_digit(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.1g", value);
    return strtod(text, NULL);
}

/* Twice the error that x has, or factors that tell it; false: x has no digit, or more iterations may do. */
static bool suggest_accuracy(suggestion *s)
{
    const cli_solve_run *run = s->run;
    const tess_accuracy_result *r = &run->result->accuracy;
    const bool backward = run->asked->accuracy.backward > 0.0;
    const double error = backward ? r->backward_error : r->forward_error;
    if (!backward && r->source != TESS_CONDITION_FACTORS && !(error > r->wanted)) { /* it is not known */
        name_solver(s, TESS_SOLVER_GMRES);
        s->request.precond.kind = TESS_PRECOND_LU;
        (void)tess_role_precision_parse("fp64", &s->request.precond.role);
        return true;
    }
    if (run->result->reason == TESS_REASON_ITERATIONS || !(2.0 * error < 0.5) || !(error > 0.0)) { return false; }
    suggest_same(s);
    *(backward ? &s->request.accuracy.backward : &s->request.accuracy.forward) = one_digit(2.0 * error);
    return true;
}

/* A tolerance that was nearly met. An absolute one stays absolute. */
static void suggest_attainable(suggestion *s)
{
    const cli_solve_run *run = s->run;
    const double best = deciding_residual(run);
    const double met = was_automatic(run) ? fmin(0.5, NEARLY_MET_BY_AUTO * best) : NEARLY_MET * best;
    suggest_same(s);
    if (run->asked->rtol == 0.0) {
        s->request.atol = one_digit(met * run->result->rhs_norm);
    } else {
        s->request.rtol = one_digit(met);
    }
}

static void suggest_remedy(suggestion *s)
{
    const cli_solve_run *run = s->run;
    tess_advised_attempt remedy;
    if (find_remedy(run, &remedy)) {
        const bool free_to_scale =
            run->asked->scale == TESS_SCALING_NONE && cli_request_norm(run) != TESS_STOP_NORM_PRECONDITIONED;
        name_solver(s, remedy.solver);
        s->request.precond.kind = remedy.precond;
        if (!free_to_scale) { return; }
        s->request.scale = remedy.scale;
        if (remedy.precond != TESS_PRECOND_NONE && run->findings->zero_diagonal.count > 0) {
            s->request.scale = TESS_SCALING_MAX_PRODUCT;
        }
    } else if (run->result->reason == TESS_REASON_ITERATIONS) {
        suggest_same(s);
        s->request.max_iterations = MORE_ITERATIONS * run->asked->max_iterations;
    }
}

/* Least squares, tried already. */
static void suggest_more_least_squares(suggestion *s)
{
    name_solver(s, TESS_SOLVER_LSMR);
    s->request.precond.kind = TESS_PRECOND_JACOBI;
    s->request.max_iterations = MORE_ITERATIONS * s->run->options->max_iterations;
}

/* Nothing helps: numbers that are none, runs that ended as they were asked to. */
static bool is_beyond_help(const cli_solve_run *run)
{
    const tess_findings *f = run->findings;
    return f->nonfinite.count > 0 || f->nonfinite_rhs.count > 0 || was_stopped(run) || is_out_of_range(run) ||
           (is_fixed(run) && run->result->reason == TESS_REASON_ITERATIONS);
}

static void suggest(suggestion *s)
{
    const cli_solve_run *run = s->run;
    const tess_findings *f = run->findings;
    const bool least_squares = cli_is_least_squares(run->result->solver);
    const bool singular = cli_is_structurally_singular(f) || f->constant_null_vector;
    const bool missed = cli_accuracy_missed(run);
    if (is_beyond_help(run)) { return; }
    if (run->hidden->count > 0) {
        suggest_rows(s);
    } else if (singular && !least_squares && best_residual(run) > NO_SOLUTION) {
        suggest_least_squares(s);
    } else if (missed && suggest_accuracy(s)) {
        return;
    } else if (cli_is_nearly_singular(run) && best_residual(run) > USELESS_RTOL / NEARLY_MET && was_automatic(run)) {
        suggest_least_squares(s);
    } else if (!missed && is_near_attainable(run) && NEARLY_MET * deciding_residual(run) < 1.0) {
        suggest_attainable(s);
    } else if (is_fixed(run)) {
        return; /* no command meets a tolerance of 0 */
    } else if (least_squares && (f->nrows != f->ncols || singular)) {
        suggest_more_least_squares(s);
    } else if (singular) {
        suggest_least_squares(s);
    } else if (!was_automatic(run) && !is_unknowable(run)) {
        suggest_automatic(s); /* solves what a named method does not, more often than any other */
    } else if (has_tried_all(run)) {
        suggest_least_squares(s);
    } else if (!is_unknowable(run)) {
        suggest_remedy(s);
    }
}

const char *cli_next_command(const cli_solve_run *run, char *buffer, size_t size)
{
    suggestion s = {.run = run};
    suggest(&s);
    if (!s.found) { return NULL; }
    const cli_request_words words = {.matrix = run->matrix->name,
                                     .rhs = run->rhs,
                                     .device = run->device,
                                     .transformed = run->transformed,
                                     .solver = s.names_solver};
    FILE *to = fmemopen(buffer, size, "w");
    if (to == NULL) { return NULL; }
    cli_write_request(to, &s.request, &words);
    fclose(to);
    buffer[size - 1] = '\0';
    return buffer;
}

/* ---- advice ---- */

/* In the texts below: the option that sets what the solve should reach. */
#define LARGER "@"

static const char *goal_option(const cli_solve_run *run)
{
    if (cli_wants_accuracy(run->asked)) { return "--accuracy"; }
    return run->asked->rtol == 0.0 && run->asked->atol > 0.0 ? "--atol" : "--rtol";
}

/* After an automatic solve: no method that it has tried. */
static const char *advice_after_attempts(const cli_solve_run *run)
{
    switch (run->result->reason) {
    case TESS_REASON_ITERATIONS: return "raise --max-iterations; --explain shows what was tried";
    case TESS_REASON_NAN_OR_INF: return "look for NaN, Inf and huge values in the matrix ('tessera info') and in b";
    case TESS_REASON_STAGNATION:
    case TESS_REASON_FALSE_CONVERGENCE: return "ask for a larger " LARGER "; --explain shows what was tried";
    default: return "no method of the list solves this system; --explain shows what was tried";
    }
}

static const char *advice_of_reason(const cli_solve_run *run)
{
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
    case TESS_REASON_FALSE_CONVERGENCE: return "use --guard repair, a higher precision, or a larger " LARGER;
    case TESS_REASON_STAGNATION: return "use a higher precision, a preconditioner, or a larger " LARGER;
    case TESS_REASON_OVERFLOW: return "use a precision of wider range, such as bf16 or fp32, or --scale max-product";
    case TESS_REASON_TIME_LIMIT:
    case TESS_REASON_INTERRUPTED:
        return run->session->options->checkpoint == NULL
                   ? "--checkpoint FILE keeps x, and --resume FILE goes on from it"
                   : "the same command with --resume in place of --checkpoint, or with both, goes on";
    default: return NULL;
    }
}

/* What may help after a solve that did not converge; NULL: no advice. */
static const char *advice_of(const cli_solve_run *run)
{
    const bool useless = best_residual(run) > NO_SOLUTION;
    if (cli_has_no_solution(run)) {
        return "the system has no solution; change b, or take least squares (--solver lsqr)";
    }
    if (is_out_of_range(run)) {
        return "b is too small for the range of FP64; multiply it by a power of two, such as 2^600, and divide x by it";
    }
    if (cli_accuracy_missed(run) && run->result->reason == TESS_REASON_STAGNATION) { return cli_accuracy_advice(run); }
    if (cli_is_structurally_singular(run->findings) && useless) {
        return "the matrix is singular for any values; correct the rows named below, or take least squares (--solver "
               "lsqr)";
    }
    if (was_automatic(run) && cli_is_nearly_singular(run) && useless && !was_stopped(run)) {
        return "the matrix is singular up to rounding; take least squares (--solver lsqr), or a larger " LARGER;
    }
    const bool may_end = !is_fixed(run) && !was_stopped(run) && run->options->guard == TESS_GUARD_REPAIR;
    if (may_end && is_near_attainable(run)) {
        return "an x of this size has no much smaller residual in FP64; ask for a larger " LARGER;
    }
    return was_automatic(run) && !was_stopped(run) ? advice_after_attempts(run) : advice_of_reason(run);
}

const char *cli_advice(const cli_solve_run *run, char *buffer)
{
    const char *text = advice_of(run);
    if (text == NULL) { return NULL; }
    const int before = (int)strcspn(text, LARGER);
    const bool larger = text[before] != '\0';
    snprintf(buffer, CLI_ADVICE_LENGTH, "%.*s%s%s", before, text, larger ? goal_option(run) : "",
             larger ? text + before + 1 : "");
    return buffer;
}
