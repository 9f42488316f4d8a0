/* SPDX-License-Identifier: Apache-2.0 */
/* After a solve that met its tolerance in the norm as given: the rows that this norm hides. */
#include "hidden_rows.h"

#include <math.h>
#include <stdlib.h>

/* Rows whose largest magnitudes differ by more are to be scaled. */
#define ROWS_APART 0x1p10

/* Row-scaled, the residual is far from the tolerance, and as given it is not. */
static bool hides(const tess_solve_result *r)
{
    return r->converged && !r->verified && r->rows.tolerance > 0.0 && !isnan(r->rows.norm) &&
           r->rows.norm > TESS_ROWS_SLACK * r->rows.tolerance;
}

static void count_rows(const tess_verify_row *rows, int64_t found, double most, cli_hidden_rows *out)
{
    for (int64_t k = 0; k < found; k++) {
        if (k > 0 && !(rows[k].backward_error > most)) { continue; }
        out->count += 1;
        if (out->count == 1 || rows[k].row < out->first) { out->first = rows[k].row; }
    }
}

/* The largest power of two that two rows' factors differ by. */
static double spread_of(const double *scale, int64_t n)
{
    double least = INFINITY, most = 0.0;
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, scale[i]);
        most = fmax(most, scale[i]);
    }
    return most / least;
}

/* Methods that have solved with A, which is symmetric at least up to rounding, and which rows scaled apart end. */
static bool needs_symmetry(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_CG || solver == TESS_SOLVER_MINRES || solver == TESS_SOLVER_BLOCK_CG;
}

static void choose_scale(const tess_matrix *a, tess_solver_kind solver, cli_hidden_rows *out)
{
    const int64_t n = tess_matrix_nrows(a);
    double *scale = malloc((size_t)n * sizeof *scale + 1);
    tess_matrix_analysis facts = {.size = sizeof facts};
    if (scale != NULL && tess_order_row_scale(a, scale) == TESS_SUCCESS && spread_of(scale, n) > ROWS_APART &&
        tess_matrix_analyze(a, &facts) == TESS_SUCCESS) {
        out->scale =
            needs_symmetry(solver) || facts.numerically_symmetric == 1 ? TESS_SCALING_SYMMETRIC : TESS_SCALING_ROWS;
    }
    free(scale);
}

void cli_find_hidden_rows(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                          const tess_solve_result *result, cli_hidden_rows *out)
{
    const tess_row_residual *r = &result->rows;
    *out = (cli_hidden_rows){.scale = TESS_SCALING_NONE};
    if (!hides(result)) { return; }
    const int64_t n = tess_matrix_nrows(a);
    const double most = TESS_ROWS_SLACK * r->tolerance / (r->rhs_norm > 0.0 ? r->rhs_norm : 1.0);
    int64_t found = 0;
    tess_verify_row *rows = malloc((size_t)n * sizeof *rows + 1);
    if (rows != NULL && tess_verify_rows(a, b, x, n, rows, &found) == TESS_SUCCESS) {
        count_rows(rows, found, most, out);
        choose_scale(a, result->solver, out);
    }
    out->times = r->norm / r->tolerance;
    free(rows);
}

void cli_print_hidden_rows(const cli_hidden_rows *h, const char *label)
{
    printf("%-17s the row-scaled residual is %.0e times its tolerance: %s (the first is row %lld) %s far from "
           "solved; the norm as given hides them\n",
           label, h->times, tess_count(h->count, "row").text, (long long)h->first + 1, h->count == 1 ? "is" : "are");
}

json_t *cli_hidden_rows_json(const cli_hidden_rows *h)
{
    return h->count == 0 ? json_null()
                         : json_pack("{sI sI so}", "count", (json_int_t)h->count, "row", (json_int_t)h->first + 1,
                                     "times_tolerance", cli_json_real(h->times));
}
