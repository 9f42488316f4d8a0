/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a command: device, threads, log. */
#include "cli.h"

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
    cli_print_chosen_device(ctx, NULL);
}

void cli_print_chosen_device(const tess_context *ctx, const char *why)
{
    bool gpu = tess_context_device(ctx) == TESS_DEVICE_GPU;
    printf("%-17s %s: %s", "device", cli_device_name(ctx), tess_context_device_name(ctx));
    if (gpu) { printf(", %s", tess_count(tess_context_threads(ctx), "host thread").text); }
    if (why != NULL) { printf("; chosen, since %s", why); }
    if (why != NULL && !gpu) { printf(": --device %s takes the GPU", tess_gpu_backend()); }
    putchar('\n');
}
