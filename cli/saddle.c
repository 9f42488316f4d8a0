/* SPDX-License-Identifier: Apache-2.0 */
/* What the preconditioner saddle takes from files: the rows of the second block, and a matrix for the Schur complement.
 */
#include <argp.h>
#include <math.h>
#include <stdlib.h>

#include "cli.h"

enum { KEY_INDEX = 1260, KEY_SCHUR_MATRIX };

/* ---- options ---- */

static error_t parse_saddle(int key, char *arg, struct argp_state *state)
{
    cli_saddle *saddle = state->input;
    switch (key) {
    case KEY_INDEX: saddle->index = cli_parse_input(state, "saddle-index", arg); return 0;
    case KEY_SCHUR_MATRIX: saddle->schur = cli_parse_input(state, "schur-matrix", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option saddle_options[] = {
    {"saddle-index", KEY_INDEX, "FILE", 0,
     "saddle: the rows of the second block, the constraints, a table with one column of numbers from 1\n"
     "(default: rows without a diagonal entry, or with a small one)",
     TESS_SECTION_PRECOND},
    {"schur-matrix", KEY_SCHUR_MATRIX, "FILE", 0,
     "saddle: a matrix in place of the Schur complement, such as the mass matrix of pressure; with "
     "--schur-precondition user",
     TESS_SECTION_PRECOND},
    {0}};
const struct argp cli_saddle_argp = {.options = saddle_options, .parser = parse_saddle};

int cli_check_saddle(const cli_saddle *saddle, const tess_precond_options *precond)
{
    const bool user = precond->saddle.schur == TESS_SCHUR_USER;
    if ((saddle->index != NULL || saddle->schur != NULL) && precond->kind != TESS_PRECOND_SADDLE) {
        cli_error("--%s is for --precond saddle", saddle->index != NULL ? "saddle-index" : "schur-matrix");
        return CLI_USAGE;
    }
    if (user != (saddle->schur != NULL)) {
        cli_error("--schur-matrix and --schur-precondition user go together");
        return CLI_USAGE;
    }
    return CLI_CONVERGED;
}

/* ---- what the options get ---- */

/* Numbers from 1, as Matrix Market files have them. */
static int use_rows(const double *values, int64_t count, cli_saddle *saddle, tess_saddle_options *options)
{
    saddle->rows = malloc((size_t)count * sizeof *saddle->rows + 1);
    if (saddle->rows == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    for (int64_t i = 0; i < count; i++) {
        if (!(values[i] >= 1.0 && values[i] < 0x1p31) || values[i] != floor(values[i])) {
            cli_error("%s: entry %lld is %g, but rows count from 1", saddle->index, (long long)i + 1, values[i]);
            return CLI_INPUT;
        }
        saddle->rows[i] = (int64_t)values[i] - 1;
    }
    options->index_count = count;
    options->index = saddle->rows;
    return CLI_CONVERGED;
}

static int load_index(tess_context *ctx, cli_saddle *saddle, tess_saddle_options *options)
{
    int64_t nrows = 0, ncols = 0;
    double *values = NULL;
    tess_status status = tess_array_read(ctx, cli_input_path(saddle->index), &values, &nrows, &ncols);
    if (status != TESS_SUCCESS) {
        int code = cli_report_failure(ctx, status);
        if (status == TESS_NOT_FOUND) { cli_hint_file("saddle-index"); }
        return code;
    }
    int code = CLI_CONVERGED;
    if (ncols != 1 || nrows < 1) {
        cli_error("%s: %s and %s, but --saddle-index needs one column with a row for each constraint", saddle->index,
                  tess_count(nrows, "row").text, tess_count(ncols, "column").text);
        code = CLI_INPUT;
    } else {
        code = use_rows(values, nrows, saddle, options);
    }
    tess_array_free(ctx, values, nrows, ncols);
    return code;
}

int cli_load_saddle(tess_context *ctx, cli_saddle *saddle, tess_saddle_options *options)
{
    int code = saddle->index == NULL ? CLI_CONVERGED : load_index(ctx, saddle, options);
    if (code != CLI_CONVERGED || saddle->schur == NULL) { return code; }
    tess_status status = tess_matrix_read(ctx, cli_input_path(saddle->schur), &saddle->matrix, NULL);
    options->schur_matrix = saddle->matrix;
    if (status == TESS_SUCCESS) { return CLI_CONVERGED; }
    code = cli_report_failure(ctx, status);
    if (status == TESS_NOT_FOUND) { cli_hint_file("schur-matrix"); }
    return code;
}

void cli_free_saddle(cli_saddle *saddle)
{
    free(saddle->rows);
    tess_matrix_destroy(saddle->matrix);
    saddle->rows = NULL;
    saddle->matrix = NULL;
}

void cli_add_saddle_json(json_t *object, const cli_saddle *saddle)
{
    json_object_set_new(object, "saddle_index", saddle->index == NULL ? json_null() : cli_json_text(saddle->index));
    json_object_set_new(object, "schur_matrix", saddle->schur == NULL ? json_null() : cli_json_text(saddle->schur));
}
