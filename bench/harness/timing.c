/* SPDX-License-Identifier: Apache-2.0 */
/* Medians of repeated calls, and the host's own bandwidth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <omp.h>

#include "harness/device.h"
#include "harness/harness.h"

enum { WARM_UP_CALLS = 3, FEWEST_SAMPLES = 5, MAX_CALLS = 64, MAX_PAIRS = 8 };
static const double sample_seconds = 2e-4; /* short calls are timed together until a sample lasts this long */
static const double full_limit = 1.5, quick_limit = 0.2;

double bench_wall_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bench_time bench_time_of_samples(double *samples, int count, int calls)
{
    bench_time t = {.samples = count, .calls = calls};

    qsort(samples, (size_t)count, sizeof *samples, ascending);
    t.lowest = samples[0] / calls;
    t.highest = samples[count - 1] / calls;
    t.median = 0.5 * (samples[(count - 1) / 2] + samples[count / 2]) / calls;
    return t;
}

int bench_calls_per_sample(double seconds_per_call)
{
    double calls = seconds_per_call > 0.0 ? ceil(sample_seconds / seconds_per_call) : MAX_CALLS;

    return (int)fmin(fmax(calls, 1.0), MAX_CALLS);
}

static tess_status time_on_host(int repeat, int calls, double limit, bench_call call, void *user, double *samples,
                                int *count)
{
    double start = bench_wall_seconds();
    int k = 0;

    *count = 0;
    while (*count < repeat && (*count < FEWEST_SAMPLES || bench_wall_seconds() - start < limit)) {
        double from = bench_wall_seconds();

        for (int i = 0; i < calls; i++) {
            tess_status status = call(user, k++);

            if (status != TESS_SUCCESS) { return status; }
        }
        samples[(*count)++] = bench_wall_seconds() - from;
    }
    return TESS_SUCCESS;
}

static tess_status warm_up(const bench_run *run, bench_call call, void *user, double *seconds_per_call)
{
    tess_status status = call(user, 0);
    double from = 0.0;

    if (status == TESS_SUCCESS) { status = tess_context_synchronize(run->ctx); }
    from = bench_wall_seconds();
    for (int k = 0; k < WARM_UP_CALLS && status == TESS_SUCCESS; k++) {
        status = call(user, k);
    }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(run->ctx); }
    *seconds_per_call = (bench_wall_seconds() - from) / WARM_UP_CALLS;
    return status;
}

tess_status bench_measure(const bench_run *run, bench_call call, void *user, bench_time *out)
{
    int repeat = run->options->repeat < FEWEST_SAMPLES ? FEWEST_SAMPLES : run->options->repeat;
    double limit = run->options->quick ? quick_limit : full_limit, each = 0.0;
    double *samples = bench_allocate((size_t)repeat, sizeof *samples);
    tess_status status = warm_up(run, call, user, &each);
    int calls = bench_calls_per_sample(each), count = repeat;

    memset(out, 0, sizeof *out);
    if (status == TESS_SUCCESS && run->gpu) {
        count = (int)fmin(fmax(limit / (each * calls + 1e-9), FEWEST_SAMPLES), repeat);
        status = bench_device_time(tess_context_stream(run->ctx), count, calls, call, user, samples);
    } else if (status == TESS_SUCCESS) {
        status = time_on_host(repeat, calls, limit, call, user, samples, &count);
    }
    if (status == TESS_SUCCESS) { *out = bench_time_of_samples(samples, count, calls); }
    free(samples);
    return status;
}

bench_rotation bench_rotate(const bench_run *run, int64_t matrix_bytes, int64_t vector_bytes)
{
    bench_rotation r = {.pairs = 1, .in_cache = matrix_bytes + vector_bytes <= run->cache_bytes};
    int64_t wanted = (2 * run->cache_bytes + vector_bytes) / (vector_bytes > 0 ? vector_bytes : 1);

    /* With the matrix in the cache, other vectors would not bring it out of there: the report says "in cache". */
    if (!r.in_cache) { r.pairs = wanted < 1 ? 1 : wanted > MAX_PAIRS ? MAX_PAIRS : (int)wanted; }
    return r;
}

/* ---- the host's bandwidth ---- */

/* The kernel knows what one core shares; the C library's guess (second) multiplies it on some processors. */
int64_t bench_host_cache_bytes(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    long long kilobytes = 0;
    long bytes = 0;

    if (file) {
        if (fscanf(file, "%lldK", &kilobytes) != 1) { kilobytes = 0; }
        fclose(file);
    }
    if (kilobytes > 0) { return (int64_t)kilobytes << 10; }
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? bytes : INT64_C(32) << 20;
}

/* STREAM: arrays of at least four times the last-level cache, but three of them within a quarter of the memory; less
   for a trial. */
static int64_t triad_length(bool quick)
{
    const int64_t least = INT64_C(256) << 20, most_of_a_trial = INT64_C(64) << 20;
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
    int64_t bytes = 4 * bench_host_cache_bytes(), most = memory / 12;

    if (bytes < least && !quick) { bytes = least; }
    if (bytes > most_of_a_trial && quick) { bytes = most_of_a_trial; }
    return (bytes < most ? bytes : most) / (int64_t)sizeof(double);
}

typedef struct triad_arrays {
    double *a, *b, *c;
    int64_t n;
    int threads;
    double sum;
} triad_arrays;

static void triad(triad_arrays *t)
{
    double *restrict a = t->a;
    const double *restrict b = t->b, *restrict c = t->c;

#pragma omp parallel for simd num_threads(t->threads) schedule(static)
    for (int64_t i = 0; i < t->n; i++) {
        a[i] = b[i] + 3.0 * c[i];
    }
}

static void read_all(triad_arrays *t)
{
    const double *restrict b = t->b;
    double sum = 0.0;

#pragma omp parallel for simd num_threads(t->threads) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < t->n; i++) {
        sum += b[i];
    }
    t->sum = sum;
}

static void touch(triad_arrays *t)
{
#pragma omp parallel for num_threads(t->threads) schedule(static)
    for (int64_t i = 0; i < t->n; i++) {
        t->a[i] = 0.0;
        t->b[i] = 1.0;
        t->c[i] = 2.0;
    }
}

/* STREAM reports the best of its runs; so does this. */
static double best_seconds(void (*pass)(triad_arrays *), triad_arrays *t, int runs)
{
    double best = INFINITY;

    for (int i = 0; i < runs; i++) {
        double from = bench_wall_seconds();

        pass(t);
        best = fmin(best, bench_wall_seconds() - from);
    }
    return best;
}

void bench_host_ceiling(int threads, bool quick, bench_ceiling *out)
{
    triad_arrays t = {.n = triad_length(quick), .threads = threads > 0 ? threads : omp_get_max_threads()};
    int runs = quick ? 5 : 15;

    t.a = bench_allocate((size_t)t.n, sizeof *t.a);
    t.b = bench_allocate((size_t)t.n, sizeof *t.b);
    t.c = bench_allocate((size_t)t.n, sizeof *t.c);
    touch(&t);
    out->triad = 24.0 * (double)t.n / best_seconds(triad, &t, runs);
    out->read = 8.0 * (double)t.n / best_seconds(read_all, &t, runs);
    if (t.a[t.n / 2] != 7.0 || t.sum != (double)t.n) { bench_die("the triad or the sum is wrong"); }
    free(t.a);
    free(t.b);
    free(t.c);
}
