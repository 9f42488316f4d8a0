/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of the library: the message, and the exit code that belongs to it. */
#include "cli.h"

static int exit_code_of(tess_status status)
{
    switch (status) {
    case TESS_SUCCESS: return CLI_CONVERGED;
    case TESS_INVALID_ARGUMENT: return CLI_USAGE;
    case TESS_DIMENSION_MISMATCH:
    case TESS_OUT_OF_RANGE:
    case TESS_UNSUPPORTED:
    case TESS_NOT_FOUND:
    case TESS_IO:
    case TESS_PARSE:
    case TESS_CORRUPT: return CLI_INPUT;
    case TESS_SINGULAR: return CLI_BREAKDOWN;
    case TESS_TIMED_OUT: return CLI_NOT_CONVERGED;
    case TESS_OUT_OF_MEMORY:
    case TESS_OUT_OF_DEVICE_MEMORY:
    case TESS_NO_DEVICE:
    case TESS_DEVICE:
    case TESS_CALLBACK:
    case TESS_INTERNAL: break;
    }
    return CLI_DEVICE;
}

/* What neither a file, nor the size of a format for this matrix, nor a library that is not installed is to blame for:
   options that do not go together. */
static bool is_about_options(const tess_error *error)
{
    return error == NULL || (error->file[0] == '\0' && !error->circumstance);
}

int cli_report_failure(const tess_context *ctx, tess_status status)
{
    const tess_error *error = ctx == NULL ? NULL : tess_context_last_error(ctx);
    char message[sizeof error->message + 128], hint[sizeof error->hint + 128];
    if (error != NULL) { cli_spelled(error->message, message, sizeof message); }
    if (error == NULL || error->status != status || error->message[0] == '\0') {
        cli_error("%s", tess_status_text(status));
    } else if (error->file[0] != '\0' && error->line > 0) {
        cli_error("%s:%lld: %s", error->file, (long long)error->line, message);
    } else if (error->file[0] != '\0') {
        cli_error("%s: %s", error->file, message);
    } else {
        cli_error("%s", message);
    }
    if (error != NULL && error->status == status && error->hint[0] != '\0') {
        fputs("  ", stderr);
        cli_write_shown(stderr, cli_spelled(error->hint, hint, sizeof hint), false);
        fputc('\n', stderr);
    }
    return status == TESS_UNSUPPORTED && is_about_options(error) ? CLI_USAGE : exit_code_of(status);
}
