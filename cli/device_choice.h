/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_CLI_DEVICE_CHOICE_H
#define TESS_CLI_DEVICE_CHOICE_H

#include "cli.h"

/* Where to make the matrix with --device auto: CPU where a GPU is found that it may be too small for, else AUTO. */
tess_device cli_first_device(const char *matrix);
/* Decides by the size of the matrix, and moves it with a new *ctx to the GPU if that should be faster. why: empty if
   there was no choice. Returns an exit code, message printed. */
int cli_settle_device(int threads, cli_progress *progress, tess_context **ctx, cli_matrix *matrix,
                      char why[TESS_ADVICE_LENGTH]);

#endif
