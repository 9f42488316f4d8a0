/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input and output as files; see streams.h. */
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_is_stream(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

const char *cli_input_path(const char *path)
{
    return cli_is_stream(path) ? "/dev/stdin" : path;
}

static int fail_output(const char *path)
{
    cli_error("%s: the file cannot be written: %s", path, strerror(errno));
    return CLI_INPUT;
}

static int send_bytes(int output, const char *path, const char *bytes, ssize_t count)
{
    while (count > 0) {
        const ssize_t done = write(output, bytes, (size_t)count);
        if (done < 0 && errno == EINTR) { continue; }
        if (done < 0) { return fail_output(path); }
        bytes += done;
        count -= done;
    }
    return CLI_CONVERGED;
}

static int append_file(const char *from, const char *path)
{
    char bytes[1 << 16];
    ssize_t got = 1;
    const int file = open(from, O_RDONLY | O_CLOEXEC), output = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    int code = file < 0 || output < 0 ? fail_output(path) : CLI_CONVERGED;
    while (got > 0 && code == CLI_CONVERGED) {
        got = read(file, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got < 0) {
            code = fail_output(path);
        } else {
            code = send_bytes(output, path, bytes, got);
        }
    }
    if (file >= 0) { close(file); }
    if (output >= 0) { close(output); }
    return code;
}

int cli_write_through(const char *path, const char *suffix, int (*write)(const char *path, const void *user),
                      const void *user)
{
    const char *folder = getenv("TMPDIR");
    char *aside = NULL;
    if (asprintf(&aside, "%s/tessera-XXXXXX%s", folder == NULL || folder[0] == '\0' ? "/tmp" : folder, suffix) < 0) {
        return cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    }
    const int file = mkostemps(aside, (int)strlen(suffix), O_CLOEXEC);
    int code = CLI_INPUT;
    if (file < 0) {
        cli_error("%s: no temporary file can be made: %s; set TMPDIR", aside, strerror(errno));
    } else {
        close(file);
        code = write(aside, user);
        if (code == CLI_CONVERGED) { code = append_file(aside, path); }
        unlink(aside);
    }
    free(aside);
    return code;
}

const char *cli_parse_output_or_stdout(struct argp_state *state, const char *option, const char *text)
{
    return cli_is_stream(text) ? text : cli_parse_output(state, option, text);
}
