/* SPDX-License-Identifier: Apache-2.0 */
/* "-" in place of a file: standard input and standard output. */
#ifndef TESS_CLI_STREAMS_H
#define TESS_CLI_STREAMS_H

#include "cli.h"

bool cli_is_stream(const char *path); /* "-" */
/* Calls `write` with the name of a file that ends in `suffix`, and appends that file to `path`, which is open. Returns
   an exit code, message printed. */
int cli_write_through(const char *path, const char *suffix, int (*write)(const char *path, const void *user),
                      const void *user);
/* The name of an output file, or "-". Refuses an empty name. */
const char *cli_parse_output_or_stdout(struct argp_state *state, const char *option, const char *text);

#endif
