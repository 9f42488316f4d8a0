/* SPDX-License-Identifier: Apache-2.0 */
/* After a solve that failed: advice, what is wrong with the system, what could be reached, a command that may help. */
#include "hidden_rows.h"
#include "next.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Condition numbers from here on are told. */
#define LARGE_CONDITION 1e8

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

/* ---- the report ---- */

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
    printf("%-17s %s; the first: ", take_label(label), tess_count(kind->count, what).text);
    if (kind->row >= 0) { printf("row %lld", (long long)kind->row + 1); }
    if (kind->column >= 0) { printf("%scolumn %lld", kind->row >= 0 ? ", " : "", (long long)kind->column + 1); }
    putchar('\n');
}

static void print_duplicates(const tess_finding *kind, const char **label)
{
    if (kind->count == 0) { return; }
    printf("%-17s %s equal to a row before; the first: row %lld to row %lld\n", take_label(label),
           tess_count(kind->count, "row is|rows are").text, (long long)kind->row + 1, (long long)kind->column + 1);
}

static void print_inconsistency(const cli_solve_run *run, const char **label)
{
    const tess_findings *f = run->findings;
    if (!cli_has_no_solution(run)) { return; }
    if (f->inconsistent_rows.count == f->nrows) {
        printf("%-17s the columns of A sum to 0, and b does not: ", take_label(label));
    } else {
        printf("%-17s %s, row %lld and all that are coupled to it, have columns that sum to 0, and b does not there: ",
               take_label(label), tess_count(f->inconsistent_rows.count, "row").text,
               (long long)f->inconsistent_rows.row + 1);
    }
    printf("no x has a relative residual below %.1e\n", f->inconsistency);
}

void cli_print_findings(const cli_solve_run *run)
{
    const tess_findings *f = run->findings;
    const char *text = "findings", **label = &text;
    char command[CLI_COMMAND_LENGTH], advice[CLI_ADVICE_LENGTH];
    if (!run->result->converged && cli_advice(run, advice) != NULL) { printf("%-17s %s\n", "advice", advice); }
    if (f->nrows == 0 || run->result->verified) { return; }
    if (run->hidden->count > 0) { cli_print_hidden_rows(run->hidden, take_label(label)); }
    print_kind(&f->nonfinite, "entry is NaN or Inf|entries are NaN or Inf", label);
    const long long line = f->nonfinite.count > 0 ? line_of_nonfinite(run->matrix) : 0;
    if (line > 0) { printf("%-17s it is in line %lld of %s\n", take_label(label), line, cli_shown(run->matrix->name)); }
    print_kind(&f->nonfinite_rhs, "element of b is NaN or Inf|elements of b are NaN or Inf", label);
    if (cli_is_structurally_singular(f)) {
        printf("%-17s structurally singular: rank at most %lld of %lld\n", take_label(label),
               (long long)f->structural_rank, (long long)(f->nrows < f->ncols ? f->nrows : f->ncols));
        print_kind(&f->unmatched_rows, "row without a partner|rows without a partner", label);
        print_kind(&f->unmatched_columns, "column without a partner|columns without a partner", label);
    }
    print_kind(&f->empty_rows, "row is empty|rows are empty", label);
    print_kind(&f->empty_columns, "column is empty|columns are empty", label);
    print_kind(&f->zero_diagonal, "diagonal entry is 0 or absent|diagonal entries are 0 or absent", label);
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
    if (cli_least_condition(run) >= LARGE_CONDITION && !cli_is_structurally_singular(f)) {
        const char *singular = cli_is_nearly_singular(run) ? "; A is singular up to rounding" : "";
        printf("%-17s the condition number is at least %.0e: A x is that much smaller than its terms%s\n",
               take_label(label), cli_least_condition(run), singular);
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
                        cli_least_condition(run) > 0.0 ? cli_json_real(cli_least_condition(run)) : json_null());
    json_object_set_new(root, "hidden_rows", cli_hidden_rows_json(run->hidden));
    json_object_set_new(root, "next",
                        cli_next_command(run, command, sizeof command) != NULL ? cli_json_text(command) : json_null());
    return root;
}
