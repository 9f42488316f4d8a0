/* SPDX-License-Identifier: Apache-2.0 */
/* Why an automatic solve did what it did, in a few lines. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tessera/findings.h>
#include <tessera/names.h>

#include "auto/auto.h"
#include "solver/stop.h"

enum { NOTE_LENGTH = 256 };

static void say(auto_solve *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(auto_solve *state, const char *format, ...)
{
    const size_t used = strlen(state->why);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(state->why + used, sizeof state->why - used, format, arguments);
    va_end(arguments);
}

/* The facts of a complex matrix are those of its real form. */
static const char *symmetric_of(const auto_solve *state)
{
    return state->facts.is_complex ? "Hermitian" : "symmetric";
}

static void say_facts(auto_solve *state)
{
    const matrix_facts *f = &state->facts;

    if (f->empty_rows > 0) { say(state, "%s; ", tess_count(f->empty_rows, "empty row").text); }
    if (!f->finite) {
        say(state, "NaN or Inf in the matrix");
    } else if (is_triangular(f)) {
        say(state, "the matrix is %s triangular: substitution solves", is_lower_triangular(f) ? "lower" : "upper");
    } else if (is_saddle_point(f)) {
        say(state, "the matrix is %s with a zero block of %s: a saddle point",
            f->symmetric ? "symmetric," : "not symmetric,", tess_count(f->zero, "row").text);
    } else if (!f->symmetric) {
        say(state, "the matrix is not %s", symmetric_of(state));
    } else if (may_be_negative_definite(f)) {
        say(state, "the matrix is %s, all of its diagonal is negative, and %s: treated as -A", symmetric_of(state),
            f->dominant_rows == f->n ? "dominates" : "nothing speaks against negative definite");
    } else if (f->positive < f->n) {
        say(state, "the matrix is %s and not positive definite: %lld of %s %s 0 or negative", symmetric_of(state),
            (long long)(f->n - f->positive), tess_count(f->n, "diagonal entry").text,
            f->n - f->positive == 1 ? "is" : "are");
    } else if (f->improper_minors > 0) {
        say(state, "the matrix is %s and not positive definite: %s too large beside the diagonal", symmetric_of(state),
            tess_count(f->improper_minors, "entry is|entries are").text);
    } else if (f->dominant_rows == f->n) {
        say(state, "the matrix is %s, positive and dominated by its diagonal", symmetric_of(state));
    } else {
        say(state, "the matrix is %s, and nothing speaks against positive definite", symmetric_of(state));
    }
    say(state, state->remembered ? "; the method is from the file of choices\n" : "\n");
}

void explain_facts(auto_solve *state)
{
    state->why[0] = '\0';
    say_facts(state);
}

/* Only where it has an effect: the caller may ask for the norm as given. */
static void say_rows(auto_solve *state)
{
    const matrix_facts *f = &state->facts;
    const tess_scaling scale = state->ladder.count > 0 ? state->ladder.step[0].scale : TESS_SCALING_NONE;

    if (!rows_are_apart(f) || (scale != TESS_SCALING_SYMMETRIC && scale != TESS_SCALING_ROWS)) { return; }
    say(state, "the largest magnitudes of rows differ by a factor of %.1e: rows are scaled to one size\n",
        f->greatest_row / f->least_row);
}

static void say_unreachable(const tess_context *ctx, auto_solve *state)
{
    const char *rounding = state->proved > 0.0 ? "" : " up to rounding";

    if (state->unreachable == 0.0) { return; }
    if (state->torn.rows == state->facts.n) {
        say(state, "the columns of A sum to 0%s, and b does not: ", rounding);
    } else {
        say(state,
            "%s of A, row %lld and all that are coupled to it, have columns that sum to 0%s, and b does not there: ",
            tess_count(state->torn.rows, "row").text, tess_number(ctx, state->torn.first), rounding);
    }
    if (state->proved > 0.0) {
        say(state, "no x has a relative residual below %.1e\n", state->proved);
    } else {
        say(state, "A is singular up to rounding, and attempts leave the mean of b there out\n");
    }
}

static void say_method(auto_solve *state, const tess_attempt *a)
{
    say(state, "%s", tess_solver_kind_name(a->solver));
    if (a->precond != TESS_PRECOND_NONE) { say(state, " with %s", tess_precond_kind_name(a->precond)); }
    if (a->factors != TESS_PRECISION_FP64 && a->precond != TESS_PRECOND_AMG) {
        say(state, " in %s", tess_precision_name(a->factors));
    }
    if (a->scale != TESS_SCALING_NONE) { say(state, ", scaled by %s", tess_scaling_name(a->scale)); }
    if (a->reorder != TESS_REORDERING_NONE) { say(state, ", reordered by %s", tess_reordering_name(a->reorder)); }
    say(state, ": ");
}

static void say_end(auto_solve *state, const tess_attempt *a, const attempt_note *note)
{
    if (a->left && isfinite(note->remaining)) {
        say(state, "left, since it would need some %.2g more iterations", note->remaining);
    } else if (a->left) {
        say(state, "left for another method");
    } else if (a->reason > 0) {
        say(state, "solved");
    } else {
        say(state, "%s", tess_reason_text(a->reason));
    }
    say(state, " (%s, %.3g s", tess_count(a->iterations, "iteration").text, a->setup_seconds + a->solve_seconds);
    if (a->reason <= 0) { say(state, ", residual %.1e", a->relative_residual); }
    say(state, ")\n");
}

/* What low precision saved: it is used for factors, where rounding costs few iterations. */
static void say_saving(auto_solve *state, const tess_solve_result *r)
{
    const tess_attempt *last = &state->attempt[state->nattempts - 1];

    if (!r->converged) { return; }
    if (state->stored == STORAGE_LOWER && last->matrix == state->storage_precision) {
        say(state, "values are exact in %s: the matrix takes %.3g MB instead of %.3g\n",
            tess_precision_name(last->matrix), (double)state->stored_bytes / 1e6, (double)state->fp64_bytes / 1e6);
    }
    if (state->tried && !state->exact) { say(state, "fp32 does not hold every value: the matrix stays in fp64\n"); }
    if (state->exact && state->stored == STORAGE_FP64) {
        say(state, "values are exact in %s, but products take no less time there: the matrix stays in fp64\n",
            tess_precision_name(state->storage_precision));
    }
    if (last->factors == TESS_PRECISION_FP64) { return; }
    if (last->precond == TESS_PRECOND_AMG) {
        say(state, "the levels of amg are in low precision; the residual is fp64 as ever\n");
        return;
    }
    if (last->factors == TESS_PRECISION_FP16) { /* or wider, where that does not hold its entries */
        say(state, "the approximate inverse is in low precision; the residual is fp64 as ever\n");
        return;
    }
    say(state, "%s halves the memory of the factors; the residual is fp64 as ever\n",
        tess_precision_name(last->factors));
}

/* What complete factors of the last attempt tell beside the residual. */
static void say_factors(auto_solve *state)
{
    char note[NOTE_LENGTH];

    if (state->solver && direct_note(tess_solver_precond(state->solver), note, sizeof note)) {
        say(state, "%s\n", note);
    }
}

/* Of a square matrix as many rows as columns. */
static void say_unmatched(const tess_context *ctx, auto_solve *state, const tess_findings *f)
{
    const long long row = tess_number(ctx, f->unmatched_rows.row),
                    column = tess_number(ctx, f->unmatched_columns.column);

    if (f->unmatched_rows.count == 1) {
        say(state, "; row %lld and column %lld have no partner", row, column);
    } else {
        say(state, "; %s and as many columns have no partner, row %lld and column %lld the first",
            tess_count(f->unmatched_rows.count, "row").text, row, column);
    }
}

/* After a failure that neither the caller nor a clock ended: no values of this pattern have an inverse. The search
   takes as long as some products; an error of it tells nothing. */
static void say_singular(const tess_solver *s, auto_solve *state, const tess_solve_result *r)
{
    const tess_error before = s->ctx->error;
    tess_findings f;

    if (r->converged || reason_is_a_stop(r->reason)) { return; }
    tess_findings_init(&f);
    if (tess_find_problems(s->original, NULL, NULL, &f) != TESS_SUCCESS) { s->ctx->error = before; }
    if (f.structural_rank < 0 || f.structural_rank >= f.nrows) { return; }
    say(state, "structurally singular: rank at most %lld of %lld", (long long)f.structural_rank, (long long)f.nrows);
    if (!s->inner) { say_unmatched(s->ctx, state, &f); }
    say(state, "\n");
}

static void say_repeated(auto_solve *state)
{
    if (!state->repeated.factors) { return; }
    say(state, "%s with this matrix before took as long as complete factors do\n",
        tess_count(state->repeated.solves, "solve").text);
}

void explain(const tess_solver *s, auto_solve *state, const tess_solve_result *result)
{
    size_t length = 0;

    say_facts(state);
    say_rows(state);
    say_unreachable(s->ctx, state);
    for (int i = 0; i < state->nattempts; i++) {
        const tess_attempt *a = &state->attempt[i];

        say_method(state, a);
        if (a->status != TESS_SUCCESS) {
            say(state, "not possible: %s\n", state->note[i].failure);
        } else {
            say_end(state, a, &state->note[i]);
        }
    }
    say_repeated(state);
    say_saving(state, result);
    say_factors(state);
    say_singular(s, state, result);
    length = strlen(state->why);
    if (length > 0 && state->why[length - 1] == '\n') { state->why[length - 1] = '\0'; }
}
