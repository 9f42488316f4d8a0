/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the accessor's reference class beside conversions by hand, and compares what both leave. */
#include "papers/roofline_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    tess_precision storage;
} pairs[BENCH_REFERENCE_PAIRS] = {
#define BENCH_REFERENCE_ROW(NAME, name, storage, arithmetic) {name, TESS_PRECISION_##storage},
    BENCH_REFERENCE_LIST(BENCH_REFERENCE_ROW)
#undef BENCH_REFERENCE_ROW
};

static const char *const works[BENCH_REFERENCE_WORKS] = {"read, 1 operation", "read, 32 operations", "update"};

static void fill(const bench_run *run, const bench_reference_loop *loop)
{
#ifdef BENCH_CUDA
    if (run->gpu) {
        bench_reference_fill_gpu(loop);
        return;
    }
#endif
    (void)run;
    bench_reference_fill_host(loop);
}

static tess_status call(void *user, int k)
{
    bench_reference_loop *loop = user;

#ifdef BENCH_CUDA
    if (loop->bits) { return bench_reference_on_gpu(loop, k); }
#endif
    return bench_reference_on_host(loop, k);
}

/* What one call from the initial values leaves. */
static uint64_t outcome_of(const bench_run *run, bench_reference_loop *loop)
{
    uint64_t bits = 0;

    fill(run, loop);
    (void)call(loop, 0);
#ifdef BENCH_CUDA
    if (run->gpu) { return bench_reference_fold_gpu(loop); }
#endif
    if (loop->work != BENCH_REFERENCE_UPDATE) { return loop->result; }
    for (int64_t k = 0; k < loop->n * (int64_t)tess_precision_bytes(pairs[loop->pair].storage) / 8; k++) {
        uint64_t word;

        memcpy(&word, (const char *)loop->data + 8 * k, sizeof word);
        bits ^= word * (2 * (uint64_t)k + 1);
    }
    return bits;
}

static double measure(bench_run *run, bench_reference_loop *loop)
{
    const tess_precision storage = pairs[loop->pair].storage;
    const double bytes = (double)loop->n * (double)tess_precision_bytes(storage);
    char name[48];
    bench_record record = {.part = "reference",
                           .matrix = works[loop->work],
                           .contestant = name,
                           .ours = loop->by_reference,
                           .precision = tess_precision_name(storage),
                           .of = "pass",
                           .bytes = loop->work == BENCH_REFERENCE_UPDATE ? 2.0 * bytes : bytes,
                           .ceiling = loop->work == BENCH_REFERENCE_UPDATE ? run->ceiling.copy : run->ceiling.read};

    snprintf(name, sizeof name, "%s<%s>", loop->by_reference ? "reference" : "by hand", pairs[loop->pair].name);
    if (bench_measure(run, call, loop, &record.time) != TESS_SUCCESS) {
        bench_fault(run, name, "a measurement", TESS_DEVICE);
        return 0.0;
    }
    json_t *row = bench_record_row(run, &record);

    json_object_set_new(row, "values_per_second", json_real((double)loop->n / record.time.median));
    bench_record_add(run, &record, row, "%8.2f billion values/s", 1e-9 * (double)loop->n / record.time.median);
    return record.time.median;
}

static void measure_pair(bench_run *run, bench_reference_loop *loop, int64_t bytes)
{
    loop->n = bytes / (int64_t)tess_precision_bytes(pairs[loop->pair].storage);
    for (int w = 0; w < BENCH_REFERENCE_WORKS; w++) {
        uint64_t left[2] = {0};

        loop->work = (bench_reference_work)w;
        for (int k = 0; k < 2; k++) {
            loop->by_reference = k != 0;
            (void)measure(run, loop);
            left[k] = outcome_of(run, loop);
        }
        if (left[0] != left[1]) {
            bench_fault(run, works[w], "the reference class leaves other results than conversions by hand",
                        TESS_SUCCESS);
        }
    }
}

void bench_reference_measure(bench_run *run, int64_t bytes, int threads)
{
    bench_reference_loop loop = {.threads = threads, .stream = tess_context_stream(run->ctx)};

#ifdef BENCH_CUDA
    if (run->gpu) { bench_reference_open_gpu(&loop, &bytes); }
#endif
    if (!run->gpu) { loop.data = bench_allocate((size_t)bytes, 1); }
    for (int p = 0; p < BENCH_REFERENCE_PAIRS; p++) {
        loop.pair = (bench_reference_pair)p;
        measure_pair(run, &loop, bytes);
    }
#ifdef BENCH_CUDA
    if (run->gpu) {
        bench_reference_close_gpu(&loop);
        return;
    }
#endif
    free(loop.data);
}
