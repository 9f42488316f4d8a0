/* SPDX-License-Identifier: Apache-2.0 */
/* The run's context, its ceilings and its report. */
#include <errno.h> /* program_invocation_short_name */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <omp.h>

#include "harness/device.h"
#include "harness/harness.h"

void bench_die(const char *format, ...)
{
    va_list list;

    fputs("bench: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(1);
}

void *bench_allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

    if (!memory) { bench_die("out of memory (%zu values of %zu bytes)", count, size); }
    return memory;
}

void bench_set(json_t *object, const char *format, ...)
{
    json_error_t error = {.text = "out of memory"};
    json_t *more = NULL;
    va_list list;

    va_start(list, format);
    more = json_vpack_ex(&error, 0, format, list);
    va_end(list);
    if (!more || json_object_update(object, more) != 0) { bench_die("a record: %s", error.text); }
    json_decref(more);
}

void bench_require(tess_status status, const tess_context *ctx, const char *what)
{
    if (status == TESS_SUCCESS) { return; }
    bench_die("%s: %s: %s", what, tess_status_text(status), ctx ? tess_context_last_error(ctx)->message : "");
}

tess_context *bench_context(tess_device device, int threads)
{
    tess_context_options wanted;
    tess_context *ctx = NULL;

    tess_context_options_init(&wanted);
    wanted.device = device;
    wanted.threads = threads;
    bench_require(tess_context_create(&wanted, &ctx), NULL, "no context");
    return ctx;
}

double bench_ceiling_of(const bench_run *run)
{
    return run->gpu ? run->ceiling.read : run->ceiling.triad;
}

static void write_json(const bench_run *run)
{
    if (run->options->json &&
        json_dump_file(run->root, run->options->json, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0) {
        bench_die("cannot write %s", run->options->json);
    }
}

static void describe(bench_run *run)
{
    char date[32];
    time_t now = time(NULL);
    struct tm parts;

    gmtime_r(&now, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    bench_set(run->root, "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:b}", "program", program_invocation_short_name,
              "study", run->study, "version", tess_version(), "commit", run->options->commit, "date", date, "backend",
              run->gpu ? tess_gpu_backend() : "cpu", "device", tess_context_device_name(run->ctx), "threads",
              run->options->threads > 0 ? run->options->threads : omp_get_max_threads(), "quick", run->options->quick);
    if (run->gpu) { bench_device_describe(run->root); }
    printf("%s, study %s, tessera %s (%s), %s, %s%s\n", program_invocation_short_name, run->study, tess_version(),
           run->options->commit, tess_context_device_name(run->ctx), date,
           run->options->quick ? ", quick: a trial, not a result" : "");
}

static void measure_ceiling(bench_run *run)
{
    json_t *json = json_object();

    if (run->gpu) {
        bench_device_ceiling(tess_context_stream(run->ctx), run->options->quick, &run->ceiling);
        printf("measured: read %.0f GB/s, copy %.0f GB/s; L2 %.0f MB\n", 1e-9 * run->ceiling.read,
               1e-9 * run->ceiling.copy, 1e-6 * (double)run->cache_bytes);
        json_object_set_new(json, "copy_gbs", json_real(1e-9 * run->ceiling.copy));
    } else {
        bench_host_ceiling(run->options->threads, run->options->quick, &run->ceiling);
        printf("measured: triad %.1f GB/s, read %.1f GB/s; cache %.0f MB\n", 1e-9 * run->ceiling.triad,
               1e-9 * run->ceiling.read, 1e-6 * (double)run->cache_bytes);
        json_object_set_new(json, "triad_gbs", json_real(1e-9 * run->ceiling.triad));
    }
    json_object_set_new(json, "read_gbs", json_real(1e-9 * run->ceiling.read));
    json_object_set_new(run->root, "bandwidth", json);
}

static volatile sig_atomic_t ending, first_second; /* what a signal handler can reach */

/* One request may arrive as several signals: timeout(1) sends one to its child and one to the group. */
static void note_end(int number)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!ending) {
        first_second = (sig_atomic_t)now.tv_sec;
        ending = 1;
    } else if ((sig_atomic_t)now.tv_sec - first_second > 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

bool bench_is_ending(void)
{
    return ending != 0;
}

static void heed_signals(void)
{
    struct sigaction action = {.sa_handler = note_end, .sa_flags = SA_RESTART}, found;

    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGINT, NULL, &found) == 0 && found.sa_handler != SIG_IGN) { sigaction(SIGINT, &action, NULL); }
}

void bench_begin(bench_run *run, const bench_options *options, const char *study, bool with_ceiling)
{
    *run = (bench_run){.options = options, .study = study};
    heed_signals();
    run->ctx = bench_context(options->device, options->threads);
    run->gpu = tess_context_device(run->ctx) == TESS_DEVICE_GPU;
    run->cache_bytes = run->gpu ? bench_device_cache_bytes() : bench_host_cache_bytes();
    run->root = json_object();
    run->results = json_array();
    run->skipped = json_array();
    describe(run);
    if (with_ceiling) { measure_ceiling(run); }
    bench_set(run->root, "{s:o, s:o}", "results", run->results, "skipped", run->skipped);
    fflush(stdout);
}

void bench_add(bench_run *run, json_t *row)
{
    const double seconds_between_writes = 2.0;

    json_array_append_new(run->results, row);
    if (bench_wall_seconds() - run->written > seconds_between_writes) {
        write_json(run);
        run->written = bench_wall_seconds();
    }
    fflush(stdout);
}

void bench_skip(bench_run *run, const char *name, const char *reason)
{
    printf("%-22s skipped: %s\n", name, reason);
    json_array_append_new(run->skipped, json_pack("{s:s, s:s}", "name", name, "reason", reason));
    fflush(stdout);
}

void bench_fault(bench_run *run, const char *name, const char *what, tess_status status)
{
    const tess_error *error = tess_context_last_error(run->ctx);
    char text[640];

    snprintf(text, sizeof text, "%s", what);
    if (status != TESS_SUCCESS) {
        snprintf(text, sizeof text, "%s: %s: %s", what, tess_status_text(status), error ? error->message : "");
    }
    printf("%-22s FAILED: %s\n", name, text);
    json_array_append_new(run->skipped, json_pack("{s:s, s:s, s:b}", "name", name, "reason", text, "failed", 1));
    run->failures += 1;
    fflush(stdout);
}

int bench_end(bench_run *run)
{
    bench_set(run->root, "{s:i, s:b}", "failures", run->failures, "ended_early", bench_is_ending());
    write_json(run);
    if (run->failures > 0) { printf("%d failed\n", run->failures); }
    if (bench_is_ending()) { printf("ended early by a signal: the report is of what ran\n"); }
    json_decref(run->root);
    tess_context_destroy(run->ctx);
    return run->failures > 0 || bench_is_ending() ? 1 : 0;
}
