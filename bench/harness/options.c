/* SPDX-License-Identifier: Apache-2.0 */
/* Options that every benchmark has. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/harness.h"

#ifndef BENCH_COMMIT
#define BENCH_COMMIT "unknown"
#endif

enum {
    KEY_SET = 400,
    KEY_MATRIX,
    KEY_MATRICES,
    KEY_CACHE,
    KEY_JSON,
    KEY_DEVICE,
    KEY_THREADS,
    KEY_REPEAT,
    KEY_QUICK,
    KEY_COMMIT,
    KEY_LIST
};

static const struct argp_option options_table[] = {
    {"set", KEY_SET, "NAME[,NAME..]", 0, "matrix sets: spd, unsym, papers, factors, all, large, large-symmetric", 1},
    {"matrix", KEY_MATRIX, "FILE|gallery:NAME:ARG..", 0, "one matrix; may be repeated", 1},
    {"matrices", KEY_MATRICES, "DIR", 0,
     "directory of the real matrices (default: TESSERA_MATRICES, else ../shared/matrices beside the source)", 1},
    {"cache", KEY_CACHE, "DIR", 0, "keep slowly generated matrices here as binary caches", 1},
    {"list", KEY_LIST, NULL, 0, "print the selected matrices and end", 1},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON", 2},
    {"device", KEY_DEVICE, "cpu|cuda", 0, "default: the GPU if there is one", 2},
    {"threads", KEY_THREADS, "N", 0, "OpenMP threads of the host (default: OMP_NUM_THREADS, else all cores)", 2},
    {"repeat", KEY_REPEAT, "N", 0, "samples per measurement (default 30, --quick 7)", 2},
    {"quick", KEY_QUICK, NULL, 0, "fewer samples and smaller arrays: a trial, not a result", 2},
    {"commit", KEY_COMMIT, "TEXT", 0, "commit to name in the report (default: as configured)", 2},
    {0}};

static void add_names(struct argp_state *state, const char **list, int *count, char *text)
{
    char *rest = NULL;

    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (*count == BENCH_MAX_NAMES) { argp_error(state, "more than %d names", BENCH_MAX_NAMES); }
        list[(*count)++] = name;
    }
}

static int read_small(struct argp_state *state, const char *option, const char *text)
{
    const int64_t value = bench_read_count(state, option, text, 1, 1), most = 100000;

    if (value > most) { argp_error(state, "--%s: '%s' is more than %lld", option, text, (long long)most); }
    return (int)value;
}

static tess_device parse_device(struct argp_state *state, const char *text)
{
    if (strcmp(text, "cpu") == 0) { return TESS_DEVICE_CPU; }
    if (strcmp(text, "auto") == 0) { return TESS_DEVICE_AUTO; }
    if (strcmp(text, "cuda") != 0) { argp_error(state, "--device: '%s' is neither cpu nor cuda", text); }
    return TESS_DEVICE_GPU;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    bench_options *options = state->input;

    switch (key) {
    case KEY_SET: add_names(state, options->sets, &options->nsets, arg); break;
    case KEY_MATRIX:
        if (options->nmatrices == BENCH_MAX_NAMES) { argp_error(state, "more than %d matrices", BENCH_MAX_NAMES); }
        options->matrices[options->nmatrices++] = arg;
        break;
    case KEY_MATRICES: options->directory = arg; break;
    case KEY_CACHE: options->cache = arg; break;
    case KEY_JSON: options->json = arg; break;
    case KEY_DEVICE: options->device = parse_device(state, arg); break;
    case KEY_THREADS: options->threads = read_small(state, "threads", arg); break;
    case KEY_REPEAT: options->repeat = read_small(state, "repeat", arg); break;
    case KEY_QUICK: options->quick = true; break;
    case KEY_COMMIT: options->commit = arg; break;
    case KEY_LIST: options->listing = true; break;
    case ARGP_KEY_END:
        if (options->repeat == 0) { options->repeat = options->quick ? 7 : 30; }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp bench_argp = {.options = options_table, .parser = parse_option};

static const char *default_directory(void)
{
    const char *environment = getenv("TESSERA_MATRICES");

    if (environment && environment[0] != '\0') { return environment; }
#ifdef BENCH_MATRICES
    if (access(BENCH_MATRICES, R_OK) == 0) { return BENCH_MATRICES; }
#endif
    return access("shared/matrices", R_OK) == 0 ? "shared/matrices" : NULL;
}

void bench_options_init(bench_options *options)
{
    memset(options, 0, sizeof *options);
    options->directory = default_directory();
    options->commit = BENCH_COMMIT;
    options->device = TESS_DEVICE_AUTO;
}

/* argp hands each parser its input through its parent: children[0] is bench_argp, the program's own table is above. */
typedef struct parse_input {
    bench_options *options;
    void *input;
    const struct argp *program;
} parse_input;

static error_t parse_top(int key, char *arg, struct argp_state *state)
{
    parse_input *in = state->input;

    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = in->options;
        if (in->program && in->program->parser) { state->child_inputs[1] = in->input; }
        return 0;
    }
    if (key == ARGP_KEY_ARG) { argp_error(state, "unexpected argument '%s'; see --matrix", arg); }
    return ARGP_ERR_UNKNOWN;
}

void bench_parse(int argc, char **argv, const struct argp *program, bench_options *options, void *input)
{
    struct argp_child children[3] = {{&bench_argp, 0, "Matrices and measurement:", 1}, {0}, {0}};
    struct argp own = {.options = program ? program->options : NULL,
                       .parser = program ? program->parser : NULL,
                       .children = program ? program->children : NULL};
    struct argp top = {.parser = parse_top, .doc = program ? program->doc : NULL, .children = children};
    parse_input in = {options, input, program};

    if (program && program->parser) { children[1] = (struct argp_child){&own, 0, "This benchmark:", 0}; }
    if (argp_parse(&top, argc, argv, 0, NULL, &in) != 0) { bench_die("cannot read the options"); }
}

bool bench_is_named(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) { return true; }
    }
    return list == NULL;
}

int64_t bench_read_count(struct argp_state *state, const char *option, const char *text, int64_t lowest,
                         int64_t multiple)
{
    char *end = NULL;
    const long long value = strtoll(text, &end, 10);

    if (*end != '\0' || value < lowest) {
        argp_error(state, "--%s: '%s' is no number from %lld on", option, text, (long long)lowest);
    }
    if (value % multiple != 0) {
        argp_error(state, "--%s: %s is no multiple of %lld", option, text, (long long)multiple);
    }
    return value;
}

void bench_read_sizes(struct argp_state *state, char *text, int most, int64_t *sizes)
{
    char *rest = NULL;
    int count = 0;

    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *end = NULL;
        const long long size = strtoll(word, &end, 10);

        if (*end != '\0' || size < 1 || count == most) { argp_error(state, "sizes: '%s'", word); }
        sizes[count++] = size;
    }
    sizes[count] = 0;
}
