/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people and shells may read them: without control characters, which a terminal would obey, and quoted. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* A byte, or the first of two in UTF-8, of a character that a terminal obeys. */
static bool is_control(const char *text)
{
    const unsigned char c = (unsigned char)text[0], next = c == 0 ? 0 : (unsigned char)text[1];
    return c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0);
}

/* ---- for people ---- */

void cli_write_shown(FILE *to, const char *text, bool lines)
{
    for (; *text != '\0'; text++) {
        if (!is_control(text) || (lines && *text == '\n')) {
            fputc(*text, to);
        } else if (*text == '\n') {
            fputs("\\n", to);
        } else {
            fprintf(to, "\\x%02x", (unsigned)(unsigned char)*text);
            if ((unsigned char)*text == 0xc2) { fprintf(to, "\\x%02x", (unsigned)(unsigned char)*++text); }
        }
    }
}

const char *cli_shown(const char *text)
{
    enum { AT_ONCE = 4 };
    static char buffers[AT_ONCE][4 * CLI_PATH_LENGTH];
    static int turn;
    const char *c = text;
    while (*c != '\0' && !is_control(c)) {
        c++;
    }
    if (*c == '\0') { return text; }
    char *buffer = buffers[turn++ % AT_ONCE];
    FILE *to = fmemopen(buffer, sizeof buffers[0], "w");
    if (to == NULL) { return "?"; }
    cli_write_shown(to, text, false);
    fclose(to);
    buffer[sizeof buffers[0] - 1] = '\0';
    return buffer;
}

static ssize_t send_shown(void *unused, const char *bytes, size_t count)
{
    (void)unused;
    char text[512];
    for (size_t at = 0; at < count;) {
        const size_t some = count - at < sizeof text - 1 ? count - at : sizeof text - 1;
        memcpy(text, bytes + at, some);
        text[some] = '\0';
        cli_write_shown(stderr, text, true);
        at += some;
    }
    return (ssize_t)count;
}

FILE *cli_shown_errors(void)
{
    static FILE *stream;
    if (stream == NULL) {
        stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = send_shown});
        if (stream != NULL) { setvbuf(stream, NULL, _IONBF, 0); }
    }
    return stream == NULL ? stderr : stream;
}

/* ---- for shells ---- */

static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%";
    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

/* Whether quotes do not suffice: control characters, and bytes that are no UTF-8. */
static bool needs_escapes(const char *text)
{
    json_t *value = json_string(text);
    const bool utf8 = value != NULL;
    json_decref(value);
    for (; utf8 && *text != '\0'; text++) {
        if (is_control(text)) { return true; }
    }
    return !utf8;
}

/* $'...', as ksh, bash, zsh and POSIX of 2024 have it. */
static void write_escapes(FILE *to, const char *text)
{
    fputs("$'", to);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f) {
            fprintf(to, "\\%03o", (unsigned)c);
        } else {
            fprintf(to, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
        }
    }
    fputc('\'', to);
}

void cli_write_quoted(FILE *to, const char *text)
{
    if (is_plain(text)) {
        fputs(text, to);
        return;
    }
    if (needs_escapes(text)) {
        write_escapes(to, text);
        return;
    }
    fputc('\'', to);
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", to);
        } else {
            fputc(*text, to);
        }
    }
    fputc('\'', to);
}

const char *cli_quoted_file(const char *name, char *buffer, size_t size)
{
    FILE *to = fmemopen(buffer, size, "w");
    if (to == NULL) { return "?"; }
    char *path = NULL;
    if (name[0] == '-' && name[1] != '\0' && asprintf(&path, "./%s", name) >= 0) { /* no option */
        cli_write_quoted(to, path);
        free(path);
    } else {
        cli_write_quoted(to, name);
    }
    fclose(to);
    buffer[size - 1] = '\0';
    return buffer;
}
