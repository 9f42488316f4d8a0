/* SPDX-License-Identifier: Apache-2.0 */
/* A solve in pieces of time, with a checkpoint after each. Without --checkpoint there is one piece. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The estimates of a piece follow those of the pieces before; its first is the last one before it. */
static int append_history(cli_solve_pieces *all, const tess_solve_result *piece)
{
    const int64_t skipped = all->length > 0 && piece->history_length > 0 ? 1 : 0;
    const int64_t more = piece->history_length - skipped;
    if (more <= 0) { return CLI_CONVERGED; }
    double *longer = realloc(all->history, (size_t)(all->length + more) * sizeof *longer);
    if (longer == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    all->history = longer;
    memcpy(longer + all->length, piece->history + skipped, (size_t)more * sizeof *longer);
    all->length += more;
    return CLI_CONVERGED;
}

/* The numbers that count work are those of all pieces; the others are those of the last one. */
static void add_piece(tess_solve_result *sum, const tess_solve_result *piece)
{
    const tess_solve_result before = *sum;
    *sum = *piece;
    sum->iterations += before.iterations;
    sum->refinements += before.refinements;
    sum->solve_seconds += before.solve_seconds;
    sum->escalated = sum->escalated || before.escalated;
    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        sum->phase_seconds[p] += before.phase_seconds[p];
    }
}

static tess_status solve_piece(tess_solver *solver, const tess_solve_options *asked, const cli_session *session,
                               int64_t before, const tess_vector *b, tess_vector *x, tess_solve_result *piece)
{
    tess_solve_options limits = *asked;
    limits.time_limit = cli_piece_seconds(session);
    limits.max_iterations -= before;
    tess_solve_result_init(piece);
    tess_status status = tess_solver_set_limits(solver, &limits);
    return status == TESS_SUCCESS ? tess_solver_solve(solver, b, x, piece) : status;
}

bool cli_setup_timed_out(const tess_context *ctx, const tess_solve_result *result)
{
    return result->reason == TESS_REASON_TIME_LIMIT && result->iterations == 0 &&
           tess_context_last_error(ctx)->status == TESS_TIMED_OUT;
}

/* What a method goes on from is its last iterate, which need not be the best x so far. */
typedef struct iterates {
    tess_vector *last, *best; /* NULL without checkpoints */
    tess_solve_result of_best;
} iterates;

static tess_status open_iterates(const tess_vector *x, iterates *it)
{
    tess_status status =
        tess_vector_create(tess_vector_context(x), tess_vector_size(x), TESS_PRECISION_FP64, &it->last);
    if (status == TESS_SUCCESS) {
        status = tess_vector_create(tess_vector_context(x), tess_vector_size(x), TESS_PRECISION_FP64, &it->best);
    }
    it->of_best.residual_norm = INFINITY;
    return status;
}

/* After a piece: notes its x if it is the best, and writes its last iterate as a checkpoint. */
static tess_status keep(iterates *it, const tess_solver *solver, cli_session *session, const tess_vector *x,
                        const tess_solve_result *piece)
{
    tess_status status = tess_vector_copy(x, it->last);
    if (status == TESS_SUCCESS && !piece->converged) { status = tess_solver_last_iterate(solver, it->last); }
    if (status == TESS_SUCCESS && piece->residual_norm < it->of_best.residual_norm) {
        it->of_best = *piece;
        status = tess_vector_copy(x, it->best);
    }
    if (status == TESS_SUCCESS) {
        cli_session_save(session, it->last, piece->iterations, piece->setup_seconds + piece->solve_seconds);
    }
    return status;
}

/* x and its residual are the best of all pieces. */
static tess_status return_best(const iterates *it, tess_vector *x, tess_solve_result *result)
{
    if (result->converged || !(it->of_best.residual_norm < result->residual_norm)) { return TESS_SUCCESS; }
    result->residual_norm = it->of_best.residual_norm;
    result->residual_bound = it->of_best.residual_bound;
    result->relative_residual = it->of_best.relative_residual;
    return tess_vector_copy(it->best, x);
}

static int solve_pieces(tess_solver *solver, const tess_solve_options *asked, cli_session *session,
                        const tess_vector *b, tess_vector *x, iterates *it, cli_solve_pieces *all)
{
    tess_solve_result piece;
    bool goes_on = true;
    int code = CLI_CONVERGED;
    while (goes_on && code == CLI_CONVERGED) {
        all->status = solve_piece(solver, asked, session, all->result.iterations, b, x, &piece);
        if (all->status == TESS_SINGULAR) { return CLI_BREAKDOWN; }
        if (all->status == TESS_SUCCESS) { all->status = keep(it, solver, session, x, &piece); }
        if (all->status != TESS_SUCCESS) { return cli_report_failure(tess_vector_context(x), all->status); }
        add_piece(&all->result, &piece);
        code = append_history(all, &piece);
        goes_on = cli_goes_on(session, piece.reason) && !cli_setup_timed_out(tess_vector_context(x), &piece) &&
                  all->result.iterations < asked->max_iterations;
        if (goes_on) { all->status = tess_vector_copy(it->last, x); }
    }
    all->result.reason = cli_reason_of_end(session, all->result.reason);
    if (all->status == TESS_SUCCESS && !asked->return_last) { all->status = return_best(it, x, &all->result); }
    all->result.history = all->history;
    all->result.history_length = all->length;
    return all->status == TESS_SUCCESS ? code : cli_report_failure(tess_vector_context(x), all->status);
}

int cli_solve_in_pieces(tess_solver *solver, const tess_solve_options *asked, cli_session *session,
                        const tess_vector *b, tess_vector *x, cli_solve_pieces *all)
{
    iterates it = {.last = NULL};
    int code = CLI_CONVERGED;
    if (session->options->checkpoint == NULL) {
        all->status = solve_piece(solver, asked, session, 0, b, x, &all->result);
        if (all->status == TESS_SINGULAR) { return CLI_BREAKDOWN; }
        return all->status == TESS_SUCCESS ? code : cli_report_failure(tess_vector_context(x), all->status);
    }
    all->status = open_iterates(x, &it);
    code = all->status == TESS_SUCCESS ? solve_pieces(solver, asked, session, b, x, &it, all)
                                       : cli_report_failure(tess_vector_context(x), all->status);
    tess_vector_destroy(it.last);
    tess_vector_destroy(it.best);
    return code;
}
