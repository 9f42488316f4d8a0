/* SPDX-License-Identifier: Apache-2.0 */
/* Files and standard output. */
#ifndef TESS_CLI_OUTPUT_H
#define TESS_CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- files.c ---- */

enum { CLI_MAX_FILES = 10 };
typedef struct cli_output {
    const char *option; /* without dashes */
    const char **path;  /* where its value is; NULL there: not given */
} cli_output;
typedef struct cli_files {
    const char *input[CLI_MAX_FILES]; /* NULL, and names that are no file, are passed over */
    cli_output output[CLI_MAX_FILES]; /* up to the first without a path */
    const char *resume;               /* one of the inputs, which --checkpoint may replace */
    bool force;
} cli_files;
/* Before the work starts: checks that all outputs can be written, and that none is an input. An output on standard
   output gets it for itself, and the report goes to stderr. Returns an exit code, message printed. */
int cli_prepare_files(const cli_files *files);
/* Refuses a name for --choices, --checkpoint or --resume (NULL is fine) that is a folder, a device or a pipe, or,
   unless `force`, a file that such an option has not written. Returns 0 or CLI_USAGE, message printed. */
int cli_check_own_file(const char *option, const char *path, bool force);

/* ---- output.c ---- */

/* Checks before the work starts that `path` can be written (NULL is fine). Returns 0 or CLI_INPUT, message printed. */
int cli_check_output(const char *path);
/* Right before the library writes to a name: whether its named pipe, if it is one, still has a reader. 0, or CLI_INPUT
   and a message. */
int cli_check_reader(const char *path);
/* Writes a complete file under another name and renames it. Devices and pipes are written directly; "-" is stdout. */
int cli_write_file(const char *path, int (*write)(FILE *file, const void *user), const void *user);
int cli_write_json(const char *path, json_t *root); /* takes the reference to root */
bool cli_text_wanted(const char *json_path);        /* false when the JSON itself goes to stdout */
json_t *cli_json_real(double value);                /* null for NaN and Inf */
json_t *cli_json_text(const char *text);            /* bytes that are not UTF-8 become '?' */
const char *cli_bytes_text(double bytes, char *buffer, size_t size);
const char *cli_seconds_text(double seconds, char *buffer, size_t size);

#endif
