/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices and vectors that the command line names: from files, model problems and words. */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* ---- matrices ---- */

static const char gallery_prefix[] = "gallery:";

/* A wrong problem or argument is a usage error; a missing or bad file (replicate FILE K) is an input error. */
static int report_gallery_failure(const tess_context *ctx, tess_status status)
{
    int code = cli_report_failure(ctx, status);
    bool about_file = tess_context_last_error(ctx)->file[0] != '\0';
    bool wrong_words = status == TESS_NOT_FOUND || status == TESS_INVALID_ARGUMENT || status == TESS_OUT_OF_RANGE;
    return wrong_words && !about_file ? CLI_USAGE : code;
}

int cli_generate(tess_context *ctx, const char *name, int nargs, const char *const *args, tess_matrix **out)
{
    tess_status status = tess_gallery_create(ctx, name, nargs, args, out);
    return status == TESS_SUCCESS ? CLI_CONVERGED : report_gallery_failure(ctx, status);
}

static int generate_in_place(tess_context *ctx, const char *text, tess_matrix **out)
{
    enum { ARGUMENT_LIMIT = 16 };
    const char *words[ARGUMENT_LIMIT];
    int count = 0;
    char *copy = strdup(text + sizeof gallery_prefix - 1);
    if (copy == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    char *rest = copy;
    for (char *word = strsep(&rest, ":"); word != NULL && count < ARGUMENT_LIMIT; word = strsep(&rest, ":")) {
        words[count++] = word;
    }
    int code = CLI_USAGE;
    if (rest != NULL) {
        cli_error("there are too many arguments in '%s'", text);
    } else {
        code = cli_generate(ctx, words[0], count - 1, words + 1, out);
    }
    free(copy);
    return code;
}

cli_size cli_size_of(const tess_matrix *a)
{
    const cli_size form = {tess_matrix_nrows(a), tess_matrix_ncols(a), tess_matrix_nnz(a), ""};
    if (!tess_matrix_is_complex(a)) { return form; }
    return (cli_size){form.nrows / 2, form.ncols / 2, form.nnz / 4, ", complex"};
}

const char *cli_size_text(const tess_matrix *a, char *buffer, size_t size)
{
    const cli_size s = cli_size_of(a);
    snprintf(buffer, size, "%lld x %lld, %s%s", (long long)s.nrows, (long long)s.ncols,
             tess_count(s.nnz, "nonzero").text, s.kind);
    return buffer;
}

int cli_load_matrix(tess_context *ctx, const char *name, cli_matrix *out)
{
    *out = (cli_matrix){.name = name};
    double start = cli_seconds();
    int code = CLI_CONVERGED;
    if (strncmp(name, gallery_prefix, sizeof gallery_prefix - 1) == 0) {
        code = generate_in_place(ctx, name, &out->a);
    } else {
        tess_mtx_info_init(&out->info);
        tess_status status = tess_matrix_read(ctx, cli_input_path(name), &out->a, &out->info);
        out->from_file = true;
        if (status != TESS_SUCCESS) { code = cli_report_failure(ctx, status); }
    }
    out->seconds = cli_seconds() - start;
    return code;
}

bool cli_is_matrix_path(const char *path)
{
    static const char *const ends[] = {".mtx", ".mtx.gz", ".tess", ".npz", ".petsc", ".mat"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (cli_ends_with(path, ends[i])) { return true; }
    }
    return false;
}

int cli_write_matrix(const tess_matrix *a, const char *path, bool symmetric)
{
    tess_status status =
        cli_ends_with(path, ".tess") ? tess_matrix_write_cache(a, path) : tess_matrix_write(a, path, symmetric ? 1 : 0);
    if (status == TESS_SUCCESS) { return CLI_CONVERGED; }
    int code = cli_report_failure(tess_matrix_context(a), status);
    return status == TESS_INVALID_ARGUMENT ? CLI_INPUT : code; /* --symmetric was given for a matrix that is not
                                                                  symmetric */
}

/* ---- vectors ---- */

void cli_hint_file(const char *option)
{
    const bool file = strcmp(option, "initial-guess") == 0;
    fprintf(stderr, file ? "  --%s takes the name of a file\n" : "  --%s takes a file or one of the words in --help\n",
            option);
}

/* One column. */
static int read_vector(tess_context *ctx, const char *path, const char *option, int64_t n, const tess_matrix *a,
                       tess_vector **out)
{
    cli_columns read;
    int code = cli_columns_read(ctx, path, option, n, a, &read);
    if (code == CLI_CONVERGED && read.ncols != 1) {
        cli_error("%s: the file for --%s is an array of %lld by %lld, but a vector was expected", path, option,
                  (long long)read.nrows, (long long)read.ncols);
        code = CLI_INPUT;
    }
    tess_status status = TESS_SUCCESS;
    if (code == CLI_CONVERGED) { status = tess_vector_create(ctx, n, TESS_PRECISION_FP64, out); }
    if (code == CLI_CONVERGED && status == TESS_SUCCESS) { status = cli_columns_get(&read, 0, *out); }
    cli_columns_free(&read);
    return status == TESS_SUCCESS ? code : cli_report_failure(ctx, status);
}

/* 1, or the ramp 1 / n, 2 / n, ..., 1: the solution of Tezcan et al. 2022, section IV-B. Real numbers, also where x is
   of the real form of a complex matrix. */
static tess_status fill_real(const tess_matrix *a, bool ramp, tess_vector *x)
{
    const int64_t step = tess_matrix_is_complex(a) ? 2 : 1, n = tess_vector_size(x);
    double *values = calloc((size_t)n + 1, sizeof *values);
    if (values == NULL) { return TESS_OUT_OF_MEMORY; }
    for (int64_t i = 0; i < n; i += step) {
        values[i] = ramp ? (double)(i / step + 1) / (double)(n / step) : 1.0;
    }
    tess_status status = tess_vector_set(x, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    free(values);
    return status;
}

static tess_status make_product(const tess_matrix *a, bool ramp, tess_vector *b)
{
    tess_vector *x = NULL;
    tess_status status = tess_vector_create(tess_matrix_context(a), tess_matrix_ncols(a), TESS_PRECISION_FP64, &x);
    if (status == TESS_SUCCESS) { status = fill_real(a, ramp, x); }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(a, TESS_OP_NONE, 1.0, x, 0.0, b); }
    tess_vector_destroy(x);
    return status;
}

int cli_load_vector(tess_context *ctx, const cli_vector_choice *choice, const char *option, int64_t n,
                    const tess_matrix *a, tess_vector **out)
{
    if (choice->source == CLI_VECTOR_FILE) { return read_vector(ctx, choice->path, option, n, a, out); }
    tess_status status = tess_vector_create(ctx, n, TESS_PRECISION_FP64, out);
    if (status == TESS_SUCCESS) {
        if (choice->source == CLI_VECTOR_ONES) {
            status = fill_real(a, false, *out);
        } else if (choice->source == CLI_VECTOR_RANDOM) {
            status = tess_vector_set_random(*out, choice->seed, -1.0, 1.0);
        } else if (choice->source == CLI_VECTOR_UNIFORM) {
            status = tess_vector_set_random(*out, choice->seed, 0.0, 1.0);
        } else {
            status = make_product(a, choice->source == CLI_VECTOR_A_TIMES_RAMP, *out);
        }
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}
