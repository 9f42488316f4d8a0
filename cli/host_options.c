/* SPDX-License-Identifier: Apache-2.0 */
/* Options of all commands: --threads --json --force, and --device. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_THREADS = 300, KEY_JSON, KEY_FORCE, KEY_DEVICE };

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
     TESS_SECTION_DEVICE + 1},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output, instead of the text",
     TESS_SECTION_OUTPUT + 1},
    {"force", KEY_FORCE, NULL, 0, "let an output replace a file that the command reads", TESS_SECTION_OUTPUT + 1},
    {0}};
const struct argp cli_host_argp = {.options = host_options, .parser = parse_host};

static error_t parse_device(int key, char *arg, struct argp_state *state)
{
    static const char *const names[] = {"auto", "cpu", "gpu", "cuda", "hip", NULL}; /* gpu: of this build */
    enum { AUTO, CPU, GPU };
    if (key != KEY_DEVICE) { return ARGP_ERR_UNKNOWN; }
    int index = cli_parse_word(state, "device", arg, names);
    const bool emulated = strcmp(tess_gpu_backend(), "emulated") == 0; /* tests: any name stands for it */
    const bool there = index == GPU ? tess_has_gpu_backend() != 0 : strcmp(names[index], tess_gpu_backend()) == 0;
    if (index >= GPU && !there && !emulated) {
        cli_error("this build of tessera has no %s backend (GPU backend: %s); use --device cpu",
                  index == GPU ? "GPU" : names[index], tess_gpu_backend());
        exit(CLI_DEVICE);
    }
    *(tess_device *)state->input = index == AUTO ? TESS_DEVICE_AUTO : index == CPU ? TESS_DEVICE_CPU : TESS_DEVICE_GPU;
    return 0;
}

static const struct argp_option device_options[] = {
    {"device", KEY_DEVICE, "NAME", 0,
     "auto, cpu, gpu, cuda or hip (default auto: the GPU if there is one; solve: the host for small matrices)",
     TESS_SECTION_DEVICE},
    {0}};
const struct argp cli_device_argp = {.options = device_options, .parser = parse_device};
