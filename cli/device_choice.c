/* SPDX-License-Identifier: Apache-2.0 */
/* --device auto of a solve: a matrix that may be small is made on the host, and moves to a GPU if that should be
   faster. */
#include "device_choice.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is larger is made where a GPU is from the start. The choice itself needs no more than rows and nonzeros, so
   these bounds only save a detour. */
static const double most_rows = 1e6, most_bytes = 64e6;

/* gallery:laplace3d:60 has 60^3 rows; problems that are not of a grid are made by the host anyway. */
static bool is_large_problem(const char *spec)
{
    const char *size = strchr(spec, ':');
    const char *grid = strstr(spec, "d:") != NULL ? strstr(spec, "d:") - 1 : strstr(spec, "3d27:");
    const double n = size == NULL ? 0.0 : strtod(size + 1, NULL);
    if (strncmp(spec, "rowscale:", strlen("rowscale:")) == 0) { return n * n * n > most_rows; }
    if (grid == NULL || strncmp(spec, "unstructured", strlen("unstructured")) == 0) { return false; }
    return (*grid == '3' ? n * n * n : *grid == '2' ? n * n : n) > most_rows;
}

static bool is_large(const char *matrix)
{
    static const char gallery[] = "gallery:";
    struct stat file;
    if (strncmp(matrix, gallery, strlen(gallery)) == 0) { return is_large_problem(matrix + strlen(gallery)); }
    return stat(cli_input_path(matrix), &file) == 0 && (double)file.st_size > most_bytes;
}

tess_device cli_first_device(const char *matrix)
{
    tess_device advised = TESS_DEVICE_AUTO;
    (void)tess_advise_device(0, 0, 0, &advised, NULL);
    return is_large(matrix) || advised == TESS_DEVICE_AUTO ? TESS_DEVICE_AUTO : TESS_DEVICE_CPU;
}

/* To a GPU, if one can be used. */
static int move_matrix(int threads, cli_progress *progress, tess_context **ctx, cli_matrix *matrix)
{
    tess_context *left = NULL;
    tess_matrix *moved = NULL;
    int code = cli_open_context(TESS_DEVICE_AUTO, threads, progress, &left);
    if (code != CLI_CONVERGED) { return code; }
    if (tess_context_device(left) == TESS_DEVICE_GPU) {
        tess_context *gpu = left;
        tess_status status = tess_matrix_copy_to(matrix->a, gpu, &moved);
        if (status != TESS_SUCCESS) {
            code = cli_report_failure(gpu, status);
        } else {
            tess_matrix_destroy(matrix->a);
            matrix->a = moved;
            left = *ctx;
            *ctx = gpu;
        }
    }
    tess_context_destroy(left);
    return code;
}

int cli_settle_device(int threads, cli_progress *progress, tess_context **ctx, cli_matrix *matrix,
                      char why[TESS_ADVICE_LENGTH])
{
    tess_device device = TESS_DEVICE_AUTO;
    int code = CLI_CONVERGED;
    (void)tess_advise_device(tess_matrix_nrows(matrix->a), tess_matrix_nnz(matrix->a), 0, &device, why);
    if (device == TESS_DEVICE_GPU && tess_context_device(*ctx) != device) {
        code = move_matrix(threads, progress, ctx, matrix);
    }
    if (tess_context_device(*ctx) != device) { why[0] = '\0'; }
    return code;
}
