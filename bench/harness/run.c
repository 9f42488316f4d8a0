/* SPDX-License-Identifier: Apache-2.0 */
/* The run's context, its ceilings and its report. */
#include <errno.h> /* program_invocation_short_name */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    json_object_set_new(run->root, "program", json_string(program_invocation_short_name));
    json_object_set_new(run->root, "study", json_string(run->study));
    json_object_set_new(run->root, "version", json_string(tess_version()));
    json_object_set_new(run->root, "commit", json_string(run->options->commit));
    json_object_set_new(run->root, "date", json_string(date));
    json_object_set_new(run->root, "backend", json_string(run->gpu ? tess_gpu_backend() : "cpu"));
    json_object_set_new(run->root, "device", json_string(tess_context_device_name(run->ctx)));
    json_object_set_new(run->root, "threads",
                        json_integer(run->options->threads > 0 ? run->options->threads : omp_get_max_threads()));
    json_object_set_new(run->root, "quick", json_boolean(run->options->quick));
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
    tess_context_options wanted;
    tess_status status = TESS_SUCCESS;

    memset(run, 0, sizeof *run);
    run->options = options;
    run->study = study;
    heed_signals();
    tess_context_options_init(&wanted);
    wanted.device = options->device;
    wanted.threads = options->threads;
    status = tess_context_create(&wanted, &run->ctx);
    if (status != TESS_SUCCESS) { bench_die("no context: %s", tess_status_text(status)); }
    run->gpu = tess_context_device(run->ctx) == TESS_DEVICE_GPU;
    run->cache_bytes = run->gpu ? bench_device_cache_bytes() : bench_host_cache_bytes();
    run->root = json_object();
    run->results = json_array();
    run->skipped = json_array();
    describe(run);
    if (with_ceiling) { measure_ceiling(run); }
    json_object_set_new(run->root, "results", run->results);
    json_object_set_new(run->root, "skipped", run->skipped);
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
    json_object_set_new(run->root, "failures", json_integer(run->failures));
    json_object_set_new(run->root, "ended_early", json_boolean(bench_is_ending()));
    write_json(run);
    if (run->failures > 0) { printf("%d failed\n", run->failures); }
    if (bench_is_ending()) { printf("ended early by a signal: the report is of what ran\n"); }
    json_decref(run->root);
    tess_context_destroy(run->ctx);
    return run->failures > 0 || bench_is_ending() ? 1 : 0;
}
