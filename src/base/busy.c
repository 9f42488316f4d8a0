/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/busy.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"

/* Processors are asked for so often, in seconds: ticks are hundredths. After a longer time what was is forgotten. */
#define LEAST_INTERVAL 0.1
#define MOST_INTERVAL 5.0

/* "cpu12 user nice system idle iowait irq softirq steal ...": all but idle and iowait, in ticks. */
static double ticks_of_line(const char *line, int *processor)
{
    enum { NUMBERS = 8, IDLE = 3, WAITS = 4 };
    double busy = 0.0;
    char *next = NULL;

    *processor = (int)strtol(line + 3, &next, 10);
    for (int k = 0; k < NUMBERS; k++) {
        const double ticks = (double)strtoull(next, &next, 10);

        if (k != IDLE && k != WAITS) { busy += ticks; }
    }
    return busy;
}

busy_times busy_read(const char *text, const bool *allowed, int count, double ticks)
{
    busy_times times = {.processors = 0};

    for (const char *line = text; line; line = strchr(line, '\n')) {
        int processor = 0;
        double busy = 0.0;

        if (*line == '\n') { line++; }
        if (strncmp(line, "cpu", 3) != 0) { break; }
        if (line[3] == ' ') { continue; } /* all together */
        busy = ticks_of_line(line, &processor);
        if (allowed && (processor < 0 || processor >= count || !allowed[processor])) { continue; }
        times.all += busy / ticks;
        times.processors++;
    }
    return times;
}

int busy_threads_between(const busy_times *before, const busy_times *now, int most)
{
    const double seconds = now->at - before->at;
    const double others = (now->all - before->all - (now->own - before->own)) / seconds;
    const double left = floor((double)now->processors - fmax(others, 0.0) + 0.5);

    if (before->processors == 0 || before->processors != now->processors || !(seconds > 0.0) || !isfinite(left)) {
        return most;
    }
    return left < 1.0 ? 1 : left < (double)most ? (int)left : most;
}

#ifdef __linux__
/* What /proc/stat says of this process' processors now. */
static busy_times read_system(void)
{
    enum { LINE = 256 };
    cpu_set_t set;
    bool allowed[CPU_SETSIZE];
    busy_times times = {.processors = 0};
    FILE *file = NULL;
    char *text = NULL;
    size_t length = 0;

    if (sched_getaffinity(0, sizeof set, &set) != 0) { return times; }
    for (int k = 0; k < CPU_SETSIZE; k++) {
        allowed[k] = CPU_ISSET((size_t)k, &set);
    }
    file = fopen("/proc/stat", "re");
    if (!file) { return times; }
    text = malloc((size_t)LINE * (CPU_SETSIZE + 1));
    if (text) {
        length = fread(text, 1, (size_t)LINE * CPU_SETSIZE, file);
        text[length] = '\0';
        times = busy_read(text, allowed, CPU_SETSIZE, (double)sysconf(_SC_CLK_TCK));
    }
    free(text);
    (void)fclose(file);
    return times;
}
#else
static busy_times read_system(void)
{
    return (busy_times){.processors = 0};
}
#endif

static double seconds_of(clockid_t clock)
{
    struct timespec t = {0, 0};

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void busy_adapt(tess_context *ctx)
{
    busy_times now;
    double at;

    if (ctx->most_threads <= 1 || ctx->keeps_threads || ctx->forked) { return; }
    at = seconds_of(CLOCK_MONOTONIC);
    if (at - ctx->busy.at < LEAST_INTERVAL) { return; }
    now = read_system();
    now.at = at;
    now.own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (at - ctx->busy.at <= MOST_INTERVAL) {
        ctx->threads = busy_threads_between(&ctx->busy, &now, ctx->most_threads);
    } else {
        ctx->threads = ctx->most_threads;
    }
    ctx->busy = now;
}
