/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands have, messages, the context. */
#include "cli.h"

#include <float.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- shared options ---- */

enum {
    KEY_THREADS = 300,
    KEY_JSON,
    KEY_FORCE,
    KEY_DEVICE,
    KEY_FORMAT,
    KEY_PRECISION,
    KEY_PADDING,
    KEY_WINDOW,
    KEY_ARITHMETIC
};

static error_t parse_host(int key, char *arg, struct argp_state *state)
{
    cli_host_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->err_stream = cli_shown_errors(); /* where argp_error quotes the caller's words */
        return 0;
    case KEY_THREADS: options->threads = (int)cli_parse_integer(state, "threads", arg, 1, 4096); return 0;
    case KEY_JSON:
        options->json = cli_parse_input(state, "json", arg); /* - is standard output */
        return 0;
    case KEY_FORCE: options->force = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option host_options[] = {
    {"threads", KEY_THREADS, "N", 0,
     "OpenMP threads of the host (default: OMP_NUM_THREADS, else the processors that the process may use)",
     CLI_GROUP_DEVICE + 1},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output, instead of the text",
     CLI_GROUP_OUTPUT + 1},
    {"force", KEY_FORCE, NULL, 0, "let an output replace a file that the command reads", CLI_GROUP_OUTPUT + 1},
    {0}};
const struct argp cli_host_argp = {.options = host_options, .parser = parse_host};

static error_t parse_device(int key, char *arg, struct argp_state *state)
{
    static const char *const names[] = {"auto", "cpu", "cuda", "hip", NULL};
    static const tess_device devices[] = {TESS_DEVICE_AUTO, TESS_DEVICE_CPU, TESS_DEVICE_GPU, TESS_DEVICE_GPU};
    if (key != KEY_DEVICE) { return ARGP_ERR_UNKNOWN; }
    int index = cli_parse_word(state, "device", arg, names, NULL);
    bool wrong_build = devices[index] == TESS_DEVICE_GPU && strcmp(names[index], tess_gpu_backend()) != 0;
    if (wrong_build) {
        cli_error("this build of tessera has no %s backend (GPU backend: %s); use --device cpu", names[index],
                  tess_gpu_backend());
        exit(CLI_DEVICE);
    }
    *(tess_device *)state->input = devices[index];
    return 0;
}

static const struct argp_option device_options[] = {{"device", KEY_DEVICE, "NAME", 0,
                                                     "auto, cpu, cuda or hip (default auto: the GPU if there is one)",
                                                     CLI_GROUP_DEVICE},
                                                    {0}};
const struct argp cli_device_argp = {.options = device_options, .parser = parse_device};

/* A shorthand means a format by blocks with the policy of its paper, unless --policy is given. */
static void parse_format(struct argp_state *state, const char *text, cli_storage_choice *choice)
{
    const char *available[2 * CLI_MAX_NAMES + 1];
    int count = cli_list_names("tess_format", available);
    count += cli_list_shorthands(available + count);
    available[count] = NULL;
    const char *word = available[cli_parse_word(state, "format", text, available, NULL)];
    const tess_format meant = cli_find_shorthand(word);
    choice->assigns = false;
    choice->given = true;
    choice->shorthand = meant == TESS_FORMAT_AUTO ? NULL : word;
    if (choice->shorthand != NULL) {
        choice->options->format = meant;
        choice->options->policy.granularity = TESS_GRANULARITY_BLOCK;
    } else if (tess_format_parse(text, &choice->options->format) != TESS_SUCCESS) {
        argp_error(state, "--format: '%s' cannot be used", text);
    }
}

tess_precision cli_parse_precision(struct argp_state *state, const char *option, const char *text)
{
    const char *available[CLI_MAX_NAMES];
    cli_list_names("tess_precision", available);
    static const char *const later[] = {"fp8",        "fp32:scaled", "fp16:scaled", "bf16:scaled",
                                        "fp8:scaled", "e4m3:scaled", "e5m2:scaled", NULL};
    return (tess_precision)cli_parse_word(state, option, text, available, later);
}

static tess_arithmetic parse_arithmetic(struct argp_state *state, const char *text)
{
    return (tess_arithmetic)cli_parse_name(state, "arithmetic", text, "tess_arithmetic");
}

/* Runs after all options, so that their order does not matter. */
static void complete_storage(struct argp_state *state, cli_storage_choice *choice)
{
    tess_policy_options *policy = &choice->options->policy;
    const char *format = tess_format_name(choice->options->format);
    choice->chosen = choice->options->format == TESS_FORMAT_AUTO;
    if (!choice->shorthand) { return; }
    if (policy->granularity != TESS_GRANULARITY_BLOCK) {
        argp_error(state, "--granularity %s does not fit --format %s, which is %s by blocks",
                   tess_granularity_name(policy->granularity), choice->shorthand, format);
    }
    if (choice->papers.layout == TESS_LAYOUT_RESIDENT && cli_takes_papers(tess_format_can(choice->options->format))) {
        argp_error(state,
                   "--layout resident does not fit --format %s, which is %s with layout grouped; give --format %s",
                   choice->shorthand, format, format);
    }
    if (!choice->policy) { tess_policy_options_parse("mean-3std", policy); }
}

static error_t parse_storage(int key, char *arg, struct argp_state *state)
{
    cli_storage_choice *choice = state->input;
    tess_storage_options *options = choice->options;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = choice; return 0;
    case KEY_FORMAT: parse_format(state, arg, choice); return 0;
    case KEY_PRECISION: options->precision = cli_parse_precision(state, "matrix-precision", arg); return 0;
    case KEY_PADDING: options->slices.max_padding = cli_parse_real(state, "max-padding", arg, 1.0, DBL_MAX); return 0;
    case KEY_WINDOW: options->slices.window = cli_parse_integer(state, "sell-window", arg, 1, 4096); return 0;
    case KEY_ARITHMETIC: options->arithmetic = parse_arithmetic(state, arg); return 0;
    case ARGP_KEY_END: complete_storage(state, choice); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option storage_options[] = {
    {"format", KEY_FORMAT, "NAME", 0, CLI_FORMAT_HELP("csr"), CLI_GROUP_PRECISION},
    {"matrix-precision", KEY_PRECISION, "P", 0, "storage precision (default fp64): {tess_precision}",
     CLI_GROUP_PRECISION},
    {"max-padding", KEY_PADDING, "R", 0, "{pads}: most entries stored per nonzero (default 3)",
     CLI_GROUP_PRECISION + 3},
    {"sell-window", KEY_WINDOW, "N", 0, "{sorts}: sort rows by length within N rows, 1 to 4096 (default 256)",
     CLI_GROUP_PRECISION + 3},
    {"arithmetic", KEY_ARITHMETIC, "NAME", 0,
     "precision of products and sums: {tess_arithmetic} (default fp64)\n"
     "fp32: {fp32-vectors} in spmv, with vectors in fp32; or products of the "
     "low parts of {fp32-products}",
     CLI_GROUP_PRECISION + 2},
    {0}};
static const struct argp_child storage_children[] = {{&cli_policy_argp, 0, NULL, 0}, {0}};
const struct argp cli_storage_argp = {
    .options = storage_options, .parser = parse_storage, .children = storage_children};

const char *cli_format_text(tess_format format, bool chosen, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s%s", tess_format_name(format), chosen ? " (chosen)" : "");
    return buffer;
}

json_t *cli_storage_json(const tess_storage_options *o, bool chosen)
{
    json_t *object = json_pack("{ss sb ss so sI ss}", "format", tess_format_name(o->format), "format_chosen", chosen,
                               "matrix_precision", tess_precision_name(o->precision), "max_padding",
                               cli_json_real(o->slices.max_padding), "sell_window", (json_int_t)o->slices.window,
                               "arithmetic", tess_arithmetic_name(o->arithmetic));
    cli_add_policy_json(object, o);
    return object;
}

/* ---- messages ---- */

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

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- context ---- */

int cli_open_context(tess_device device, int threads, cli_progress *progress, tess_context **out)
{
    tess_context_options options;
    tess_context_options_init(&options);
    options.device = device;
    options.threads = threads;
    options.log = cli_log;
    options.log_user = progress;
    options.log_level = cli_log_level();
    tess_status status = tess_context_create(&options, out);
    if (status == TESS_SUCCESS) { return CLI_CONVERGED; }
    int code = cli_report_failure(NULL, status);
    if (status == TESS_NO_DEVICE) { fprintf(stderr, "  use --device cpu, or a machine and a build with a GPU\n"); }
    return code;
}

const char *cli_device_name(const tess_context *ctx)
{
    return tess_context_device(ctx) == TESS_DEVICE_GPU ? tess_gpu_backend() : "cpu";
}

void cli_print_device(const tess_context *ctx)
{
    bool gpu = tess_context_device(ctx) == TESS_DEVICE_GPU;
    printf("%-17s %s: %s", "device", cli_device_name(ctx), tess_context_device_name(ctx));
    if (gpu) { printf(", %s", tess_count(tess_context_threads(ctx), "host thread").text); }
    putchar('\n');
}
