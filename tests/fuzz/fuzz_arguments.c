/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target of the tool's command line: each line of the input is an argument. The whole pass over it runs, from
 * main() to the last check of argp; what would come after, with files and solves, is cut off. So is what would end the
 * program. The linker hands calls of exit(), of argp_parse() by the tool, and of the program's second start to the
 * functions below (cmake/TesseraFuzz.cmake).
 *
 *   bash scripts/fuzz.sh fuzz_arguments
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer/allocator_interface.h>

#include "../../cli/cli.h"

enum { MOST_ARGUMENTS = 64, MOST_BLOCKS = 4096 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int tessera_main(int argc, char **argv);
_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);
void __wrap_cli_arguments_parse(const struct argp *argp, const cli_arguments *arguments, void *input);
void __wrap_cli_limit_spinning(char **argv);

static jmp_buf end;
static bool running;
static int code;                        /* that the program ended with */
static const void *blocks[MOST_BLOCKS]; /* allocated by the program, which frees nothing when it exits */
static int nblocks;
static FILE *nowhere;

static void require(int condition)
{
    if (!condition) { abort(); }
}

static void note_allocation(const volatile void *block, size_t size)
{
    (void)size;
    if (!running) { return; }
    require(nblocks < MOST_BLOCKS);
    blocks[nblocks++] = (const void *)block;
}

static void note_release(const volatile void *block)
{
    for (int i = nblocks - 1; running && i >= 0; i--) {
        if (blocks[i] != block) { continue; }
        blocks[i] = blocks[--nblocks];
        return;
    }
}

/* The program would end here. */
static _Noreturn void leave(int status)
{
    code = status;
    longjmp(end, 1);
}

_Noreturn void __wrap_exit(int status)
{
    if (!running) { __real_exit(status); }
    leave(status);
}

/* The tool's calls; those within libc return to argp_parse(). */
void argp_error(const struct argp_state *state, const char *format, ...)
{
    va_list list;

    (void)state;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    leave(CLI_USAGE);
}

void __wrap_cli_arguments_parse(const struct argp *argp, const cli_arguments *arguments, void *input)
{
    const error_t error = argp_parse(argp, arguments->argc, arguments->argv, ARGP_NO_HELP | ARGP_NO_EXIT, NULL, input);

    leave(error == 0 ? CLI_CONVERGED : CLI_USAGE);
}

/* Starts no program. */
void __wrap_cli_limit_spinning(char **argv)
{
    (void)argv;
}

/* The words of `text`, which it cuts. */
static int split(char *text, size_t length, char *words[MOST_ARGUMENTS + 1])
{
    int count = 1;
    char *rest = length > 0 ? text : NULL;

    for (char *word = strsep(&rest, "\n"); word && count < MOST_ARGUMENTS; word = strsep(&rest, "\n")) {
        words[count++] = word;
    }
    words[count] = NULL;
    return count;
}

static void run(int argc, char **argv)
{
    FILE *const out = stdout, *const err = stderr;

    stdout = nowhere;
    stderr = nowhere;
    nblocks = 0;
    code = -1;
    running = true;
    if (setjmp(end) == 0) { code = tessera_main(argc, argv); }
    running = false;
    stdout = out;
    stderr = err;
    for (int i = 0; i < nblocks; i++) {
        free((void *)blocks[i]);
    }
    require(code >= CLI_CONVERGED && code <= CLI_BREAKDOWN);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    nowhere = fopen("/dev/null", "w");
    require(nowhere && setvbuf(nowhere, NULL, _IONBF, 0) == 0);
    require(cli_shown_errors() != NULL); /* the stream lives as long as the process */
    require(__sanitizer_install_malloc_and_free_hooks(note_allocation, note_release));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = "tessera";
    char *words[MOST_ARGUMENTS + 1] = {name};
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    run(split(text, size, words), words);
    free(text);
    return 0;
}
