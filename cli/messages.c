/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the tool: to standard error, under its name. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>

static char program_name[64] = "tessera";

void cli_set_name(const char *name)
{
    snprintf(program_name, sizeof program_name, "%s", name);
}

void cli_error(const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: ", program_name);
    if (vasprintf(&text, format, list) >= 0) { cli_write_shown(stderr, text, false); }
    fputc('\n', stderr);
    va_end(list);
    free(text);
}

void cli_print_version(FILE *stream)
{
    fprintf(stream, "tessera %s (GPU backend: %s)\n", tess_version(), tess_gpu_backend());
}

int cli_close_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) { return code; }
    cli_error("the results cannot be written to standard output");
    return code == CLI_CONVERGED ? CLI_INPUT : code;
}
