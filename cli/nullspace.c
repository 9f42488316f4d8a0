/* SPDX-License-Identifier: Apache-2.0 */
/* What multigrid by aggregation takes from files: near-nullspace vectors, or coordinates of nodes. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { KEY_COORDINATES = 1250, KEY_NEAR_NULLSPACE };

/* ---- options ---- */

static error_t parse_nullspace(int key, char *arg, struct argp_state *state)
{
    cli_nullspace *nullspace = state->input;
    switch (key) {
    case KEY_COORDINATES: nullspace->coordinates = cli_parse_input(state, "coordinates", arg); return 0;
    case KEY_NEAR_NULLSPACE: nullspace->vectors = cli_parse_input(state, "near-nullspace", arg); return 0;
    case ARGP_KEY_END:
        if (nullspace->coordinates != NULL && nullspace->vectors != NULL) {
            argp_error(state, "--coordinates and --near-nullspace both say what the near-nullspace is; give one");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option nullspace_options[] = {
    {"coordinates", KEY_COORDINATES, "FILE", 0,
     "amg: the nodes of an elastic body, a table with a row for each node and 2 or 3 columns; for its rigid-body modes",
     TESS_SECTION_PRECOND},
    {"near-nullspace", KEY_NEAR_NULLSPACE, "FILE", 0,
     "amg: vectors that A nearly maps to zero, a table with a row for each row of A\n"
     "(default: a constant for each unknown of a node)",
     TESS_SECTION_PRECOND},
    {0}};
const struct argp cli_nullspace_argp = {.options = nullspace_options, .parser = parse_nullspace};

int cli_check_nullspace(const cli_nullspace *nullspace, const tess_precond_options *precond)
{
    const char *option = nullspace->coordinates != NULL ? "coordinates" : "near-nullspace";
    if (nullspace->coordinates == NULL && nullspace->vectors == NULL) { return CLI_CONVERGED; }
    const bool multigrid = precond->kind == TESS_PRECOND_AMG || precond->kind == TESS_PRECOND_AUTO;
    if (multigrid && precond->amg.coarsening != TESS_AMG_CLASSICAL) { return CLI_CONVERGED; }
    cli_error("--%s is for --precond amg by aggregation, or auto; take one of these, and leave out "
              "--amg-coarsening classical",
              option);
    return CLI_USAGE;
}

/* ---- what the options of amg get ---- */

typedef struct table {
    int64_t nrows, ncols;
    double *values; /* column after column */
} table;

static int read_table(tess_context *ctx, const char *option, const char *path, table *out)
{
    tess_status status = tess_array_read(ctx, cli_input_path(path), &out->values, &out->nrows, &out->ncols);
    if (status == TESS_SUCCESS) { return CLI_CONVERGED; }
    int code = cli_report_failure(ctx, status);
    if (status == TESS_NOT_FOUND) { cli_hint_file(option); }
    return code;
}

static int use_vectors(int64_t n, const table *vectors, cli_nullspace *nullspace, tess_amg_options *amg)
{
    const size_t bytes = (size_t)(vectors->nrows * vectors->ncols) * sizeof *nullspace->values;
    if (vectors->nrows != n || vectors->ncols < 1 || vectors->ncols > TESS_MAX_NEAR_NULLSPACE) {
        cli_error("%s: %s and %s, but --near-nullspace needs %s, as the matrix has, and 1 to %s", nullspace->vectors,
                  tess_count(vectors->nrows, "row").text, tess_count(vectors->ncols, "column").text,
                  tess_count(n, "row").text, tess_count(TESS_MAX_NEAR_NULLSPACE, "column").text);
        return CLI_INPUT;
    }
    nullspace->values = malloc(bytes + 1);
    if (nullspace->values == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    memcpy(nullspace->values, vectors->values, bytes);
    amg->near_nullspace_columns = (int)vectors->ncols;
    return CLI_CONVERGED;
}

static int use_modes(tess_context *ctx, int64_t n, const table *nodes, cli_nullspace *nullspace,
                     tess_precond_options *precond)
{
    tess_amg_options *amg = &precond->amg;
    const int columns = nodes->ncols == 3 ? 6 : 3;
    if (nodes->ncols < 2 || nodes->ncols > 3 || nodes->nrows * nodes->ncols != n) {
        cli_error("%s: %s and %s, but --coordinates needs a row with 2 or 3 coordinates for each node, and the matrix "
                  "as many rows for each node; it has %lld",
                  nullspace->coordinates, tess_count(nodes->nrows, "row").text, tess_count(nodes->ncols, "column").text,
                  (long long)n);
        return CLI_INPUT;
    }
    if (amg->block_size > 0 && amg->block_size != nodes->ncols) {
        cli_error("%s: %s, the unknowns of a node, but --amg-block-size is %d; leave it out", nullspace->coordinates,
                  tess_count(nodes->ncols, "coordinate").text, amg->block_size);
        return CLI_USAGE;
    }
    nullspace->values = malloc((size_t)(n * columns) * sizeof *nullspace->values + 1);
    if (nullspace->values == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    amg->near_nullspace_columns = columns;
    if (precond->kind == TESS_PRECOND_AMG) { amg->block_size = (int)nodes->ncols; } /* auto finds it in the pattern */
    tess_status status = tess_rigid_body_modes(ctx, nodes->nrows, (int)nodes->ncols, nodes->values, nullspace->values);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

int cli_load_nullspace(tess_context *ctx, const tess_matrix *a, cli_nullspace *nullspace, tess_precond_options *precond)
{
    const bool modes = nullspace->coordinates != NULL;
    const int64_t n = tess_matrix_nrows(a);
    const char *path = modes ? nullspace->coordinates : nullspace->vectors;
    table read = {0};
    if (path == NULL) { return CLI_CONVERGED; }
    int code = read_table(ctx, modes ? "coordinates" : "near-nullspace", path, &read);
    if (code == CLI_CONVERGED) {
        code = modes ? use_modes(ctx, n, &read, nullspace, precond) : use_vectors(n, &read, nullspace, &precond->amg);
    }
    precond->amg.near_nullspace = nullspace->values;
    tess_array_free(ctx, read.values, read.nrows, read.ncols);
    return code;
}

void cli_free_nullspace(cli_nullspace *nullspace)
{
    free(nullspace->values);
    nullspace->values = NULL;
}

void cli_add_nullspace_json(json_t *object, const cli_nullspace *nullspace)
{
    const char *coordinates = nullspace->coordinates, *vectors = nullspace->vectors;
    json_object_set_new(object, "coordinates", coordinates == NULL ? json_null() : cli_json_text(coordinates));
    json_object_set_new(object, "near_nullspace", vectors == NULL ? json_null() : cli_json_text(vectors));
}
