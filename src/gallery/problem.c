/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of gallery problems, and the builder that turns a row function into an assembled matrix. */
#include "gallery/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/names.h>

#include "base/decimal.h"

/* ---- arguments ---- */

static tess_status refuse(const gallery_request *request, tess_status status, int position, const char *role,
                          const char *expected)
{
    char hint[256];

    snprintf(hint, sizeof hint, "%s %s: %s is %s", request->name, request->usage, role, expected);
    return tess_fail(request->ctx, status, hint, "the model problem %s cannot use argument %d, '%s'", request->name,
                     position + 1, request->args[position]);
}

tess_status gallery_integer(const gallery_request *request, int position, const char *role, int64_t least, int64_t most,
                            int64_t *out)
{
    char expected[96], *end = NULL;
    long long value = 0;

    if (position >= request->nargs) { return TESS_SUCCESS; }
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)least, (long long)most);
    errno = 0;
    value = strtoll(request->args[position], &end, 10);
    if (end == request->args[position] || *end != '\0' || value < least) {
        return refuse(request, TESS_INVALID_ARGUMENT, position, role, expected);
    }
    if (errno == ERANGE || value > most) { return refuse(request, TESS_OUT_OF_RANGE, position, role, expected); }
    *out = value;
    return TESS_SUCCESS;
}

/* The whole of `text` as a number, whatever the locale. */
static bool parse_real(const char *text, double *value)
{
    char padded[64 + TESS_DECIMAL_PADDING] = {0};
    const char *end = NULL;

    if (strlen(text) >= 64) { return false; }
    memcpy(padded, text, strlen(text));
    end = tess_decimal_parse(padded, value);
    return end && end != padded && *end == '\0';
}

tess_status gallery_real(const gallery_request *request, int position, const char *role, double least, double most,
                         double *out)
{
    char expected[96];
    double value = 0.0;

    if (position >= request->nargs) { return TESS_SUCCESS; }
    snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
    if (!parse_real(request->args[position], &value) || !(value >= least && value <= most)) {
        return refuse(request, TESS_INVALID_ARGUMENT, position, role, expected);
    }
    *out = value;
    return TESS_SUCCESS;
}

tess_status gallery_word(const gallery_request *request, int position, const char *role, const char *const *words,
                         int *out)
{
    char expected[96] = "";
    size_t length = 0;

    if (position >= request->nargs) { return TESS_SUCCESS; }
    for (int i = 0; words[i]; i++) {
        if (strcmp(request->args[position], words[i]) == 0) {
            *out = i;
            return TESS_SUCCESS;
        }
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%s%s", i ? ", " : "one of ", words[i]);
    }
    return refuse(request, TESS_INVALID_ARGUMENT, position, role, expected);
}

tess_status gallery_grid(const gallery_request *request, int dimensions, int64_t unknowns_per_point, int64_t *counts)
{
    static const char *const roles[3] = {"N", "NY", "NZ"};
    int64_t rows = unknowns_per_point;
    tess_status status = gallery_integer(request, 0, "N", 1, TESS_MAX_ROWS, &counts[0]);

    for (int d = 1; status == TESS_SUCCESS && d < dimensions; d++) {
        counts[d] = counts[0];
        status = gallery_integer(request, d, roles[d], 1, TESS_MAX_ROWS, &counts[d]);
    }
    if (status != TESS_SUCCESS) { return status; }
    for (int d = 0; d < dimensions; d++) {
        if (counts[d] > TESS_MAX_ROWS / rows) {
            return tess_fail(request->ctx, TESS_OUT_OF_RANGE, "choose a smaller grid",
                             "the model problem %s %s has more than %s", request->name, request->args[0],
                             tess_count(TESS_MAX_ROWS, "unknown").text);
        }
        rows *= counts[d];
    }
    return TESS_SUCCESS;
}

/* ---- matrices ---- */

/* Rows that a thread takes at a time: few enough that rows of very different length spread well. */
#define ROWS_PER_TURN 1024

static void count_rows(const gallery_rows *rows, int threads, int64_t *row_ptr)
{
    row_ptr[0] = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, ROWS_PER_TURN)
    for (int64_t i = 0; i < rows->nrows; i++) {
        row_ptr[i + 1] = rows->length(rows->problem, i);
    }
    for (int64_t i = 0; i < rows->nrows; i++) {
        row_ptr[i + 1] += row_ptr[i];
    }
}

static void fill_rows(const gallery_rows *rows, int threads, const int64_t *row_ptr, int32_t *col, double *val)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, ROWS_PER_TURN)
    for (int64_t i = 0; i < rows->nrows; i++) {
        rows->fill(rows->problem, i, col + row_ptr[i], val + row_ptr[i]);
    }
}

tess_status gallery_adopt(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t *row_ptr, int32_t *col, double *val,
                          tess_matrix **out)
{
    int64_t nnz = row_ptr[nrows];
    int32_t *narrow = NULL;
    tess_status status = TESS_SUCCESS;

    if (nnz > INT32_MAX) { return tess_matrix_adopt_csr(ctx, nrows, ncols, nnz, row_ptr, 64, col, val, out); }
    status = tess_host_allocate(ctx, nrows + 1, sizeof *narrow, (void **)&narrow);
    for (int64_t i = 0; status == TESS_SUCCESS && i <= nrows; i++) {
        narrow[i] = (int32_t)row_ptr[i];
    }
    tess_host_release(ctx, row_ptr, nrows + 1, sizeof *row_ptr);
    if (status == TESS_SUCCESS) { return tess_matrix_adopt_csr(ctx, nrows, ncols, nnz, narrow, 32, col, val, out); }
    tess_host_release(ctx, col, nnz, sizeof *col);
    tess_host_release(ctx, val, nnz, sizeof *val);
    return status;
}

tess_status gallery_build(tess_context *ctx, const gallery_rows *rows, tess_matrix **out)
{
    int64_t *row_ptr = NULL, nnz = 0;
    int32_t *col = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, rows->nrows + 1, sizeof *row_ptr, (void **)&row_ptr));
    count_rows(rows, ctx->threads, row_ptr);
    nnz = row_ptr[rows->nrows];
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *col, (void **)&col));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *val, (void **)&val));
    fill_rows(rows, ctx->threads, row_ptr, col, val);
    return gallery_adopt(ctx, rows->nrows, rows->ncols, row_ptr, col, val, out);
cleanup:
    tess_host_release(ctx, row_ptr, rows->nrows + 1, sizeof *row_ptr);
    tess_host_release(ctx, col, nnz, sizeof *col);
    tess_host_release(ctx, val, nnz, sizeof *val);
    return status;
}

/* Fisher and Yates. */
void gallery_shuffle(uint64_t stream, int64_t n, int32_t *perm)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = gallery_below(tess_random_bits(stream, (uint64_t)i), i + 1);

        perm[i] = perm[j];
        perm[j] = (int32_t)i;
    }
}
