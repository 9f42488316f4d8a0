/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experimental rooflines of plain and accessor loops, on a GPU or on the host (paper: Table 1, Figures 3 to 6). Every
 * timed loop's result is compared with what the host computes value after value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "papers/papers.h"
#include "papers/roofline.h"
#include "papers/roofline_reference.h"

enum { CONFIGS = BENCH_ROOFLINE_CONFIGS, LOWEST = BENCH_ROOFLINE_LOWEST, HIGHEST = BENCH_ROOFLINE_HIGHEST };

typedef struct roofline_options {
    int megabytes, blocks;
} roofline_options;

typedef struct roofline {
    bench_run run;
    bench_options options;
    roofline_options own;
    bench_roofline_gpu *gpu;
    bench_roofline_host *host;
    double peak[2]; /* operations per second, by tess_arithmetic */
} roofline;

/* ---- what bounds a configuration ---- */

static double bytes_of(bench_roofline_config config)
{
    return (double)tess_precision_bytes(bench_roofline_infos[config].storage);
}

static double operations_of(int exponent)
{
    return ldexp(1.0, exponent);
}

/* Values per second under the measured ceilings; a sum is one operation where a fused step is two. */
static double ceiling_of(const roofline *r, bench_roofline_config config, int exponent)
{
    double steps = exponent > 0 ? operations_of(exponent) / 2.0 : operations_of(exponent);

    return fmin(r->run.ceiling.read / bytes_of(config), r->peak[bench_roofline_infos[config].arithmetic] / 2.0 / steps);
}

/* ---- measuring ---- */

/* One operation of the configuration's loop over the array; `work` is its name. */
static bench_record record_of(const roofline *r, bench_roofline_config config, const char *work, const bench_time *time,
                              double bytes)
{
    const bench_roofline_info *info = &bench_roofline_infos[config];

    return (bench_record){.matrix = work,
                          .contestant = info->name,
                          .ours = info->accessor,
                          .precision = tess_precision_name(info->storage),
                          .of = "pass",
                          .time = *time,
                          .bytes = bytes,
                          .ceiling = r->run.ceiling.read};
}

static json_t *row_of(const roofline *r, bench_roofline_config config, const bench_record *record, double rate)
{
    const bench_roofline_info *info = &bench_roofline_infos[config];
    json_t *row = bench_record_row(&r->run, record);

    json_object_set_new(row, "arithmetic", json_string(info->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64"));
    json_object_set_new(row, "accessor", json_boolean(info->accessor));
    json_object_set_new(row, "values_per_second", json_real(rate));
    return row;
}

static void add_row(roofline *r, bench_roofline_config config, int exponent, const bench_time *time, double values,
                    int checked)
{
    /* The host's roofs are the best of several runs, as STREAM's are; so is what stands under them. */
    const double seconds = r->host ? time->lowest : time->median, rate = values / seconds;
    const double gflops = 1e-9 * rate * operations_of(exponent), share = rate / ceiling_of(r, config, exponent);
    char work[32];
    const bench_record record = record_of(r, config, work, time, values * bytes_of(config));
    json_t *row = NULL;

    snprintf(work, sizeof work, "%g per value", operations_of(exponent));
    row = row_of(r, config, &record, rate);
    json_object_set_new(row, "ops_per_value", json_real(operations_of(exponent)));
    json_object_set_new(row, "values", json_real(values));
    json_object_set_new(row, "gflops", json_real(gflops));
    json_object_set_new(row, "share_of_roof", json_real(share));
    json_object_set_new(row, "results_compared", json_integer(checked));
    bench_record_add(&r->run, &record, row, "%10.1f GFLOP/s, %5.1f %% of the roof", gflops, 100.0 * share);
}

static void report_wrong(roofline *r, const char *name, int exponent, int wrong, int compared)
{
    char text[96];

    snprintf(text, sizeof text, "%g operations per value: %d of %d results are wrong", operations_of(exponent), wrong,
             compared);
    bench_fault(&r->run, name, text, TESS_SUCCESS);
}

static void measure_on_host(roofline *r, bench_roofline_config config, int exponent)
{
    const bench_roofline_info *info = &bench_roofline_infos[config];
    bench_roofline_host_pass pass = {.host = r->host, .config = config, .exponent = exponent};
    bench_time time;
    tess_status status;

    bench_roofline_host_fill(r->host, info->storage);
    pass.values = bench_roofline_host_values(r->host, info->storage, exponent);
    status = bench_measure(&r->run, bench_roofline_host_call, &pass, &time);
    if (status != TESS_SUCCESS) {
        bench_fault(&r->run, info->name, "a measurement", status);
        return;
    }
    if (pass.result != bench_roofline_host_expected(&pass)) {
        report_wrong(r, info->name, exponent, 1, 1);
        return;
    }
    add_row(r, config, exponent, &time, (double)pass.values, 1);
}

#ifdef BENCH_CUDA
/* Units (values, bytes, operations) per second of a launch whose results are right; 0 otherwise. */
static double measure_launch(roofline *r, const bench_roofline_launch *launch, const char *name, bench_time *time,
                             int *compared)
{
    bench_roofline_launch own = *launch;
    tess_status status;
    int wrong = 0;

    bench_roofline_gpu_fill(r->gpu, bench_roofline_infos[launch->config].storage);
    status = bench_measure(&r->run, bench_roofline_gpu_call, &own, time);
    if (status != TESS_SUCCESS) {
        bench_fault(&r->run, name, "launch", status);
        return 0.0;
    }
    wrong = bench_roofline_gpu_check(launch, compared);
    if (wrong > 0) {
        report_wrong(r, name, launch->exponent, wrong, *compared);
        return 0.0;
    }
    return bench_roofline_gpu_amount(launch) / time->median;
}

static void measure_on_gpu(roofline *r, bench_roofline_config config, int exponent)
{
    bench_roofline_launch launch = {r->gpu, BENCH_ROOFLINE_PASS, config, exponent};
    bench_time time;
    int compared = 0;

    if (measure_launch(r, &launch, bench_roofline_infos[config].name, &time, &compared) > 0.0) {
        add_row(r, config, exponent, &time, bench_roofline_gpu_amount(&launch), compared);
    }
}

static void measure_peaks_on_gpu(roofline *r)
{
    bench_roofline_launch launch = {r->gpu, BENCH_ROOFLINE_PEAK, BENCH_ROOFLINE_PLAIN_FP64, 0};
    double bandwidth, fp64, fp32;
    bench_time time;
    int compared = 0;

    r->peak[TESS_ARITHMETIC_FP64] = measure_launch(r, &launch, "peak fp64", &time, &compared);
    launch.config = BENCH_ROOFLINE_PLAIN_FP32;
    r->peak[TESS_ARITHMETIC_FP32] = measure_launch(r, &launch, "peak fp32", &time, &compared);
    bench_roofline_gpu_theory(&bandwidth, &fp64, &fp32);
    printf("by properties (0: unknown): %.0f GB/s, fp64 %.0f GFLOP/s, fp32 %.0f GFLOP/s\n", 1e-9 * bandwidth,
           1e-9 * fp64, 1e-9 * fp32);
    json_object_set_new(
        r->run.root, "by_properties",
        json_pack("{s:f, s:f, s:f}", "gbs", 1e-9 * bandwidth, "fp64_gflops", 1e-9 * fp64, "fp32_gflops", 1e-9 * fp32));
}

/* What the loads alone reach, and how many values are decoded in registers, without memory. */
static void measure_parts(roofline *r)
{
    static const struct {
        bench_roofline_work work;
        const char *name;
    } works[] = {{BENCH_ROOFLINE_RAW, "loads, bits only"},
                 {BENCH_ROOFLINE_DECODE_XOR, "decode, xor"},
                 {BENCH_ROOFLINE_DECODE_FMA, "decode, fused step"}};

    for (int c = BENCH_ROOFLINE_ACCESSOR_FP64_FP32; c < CONFIGS; c++) {
        for (size_t w = 0; w < sizeof works / sizeof *works; w++) {
            const bench_roofline_config config = (bench_roofline_config)c;
            const bench_roofline_launch launch = {r->gpu, works[w].work, config, 0};
            const bool loads = works[w].work == BENCH_ROOFLINE_RAW;
            bench_time time = {.samples = 0};
            int compared = 0;
            const double amount = measure_launch(r, &launch, bench_roofline_infos[c].name, &time, &compared);
            bench_record record = record_of(r, config, works[w].name, &time, loads ? amount * time.median : 0.0);

            record.part = "decoding";
            bench_record_add(&r->run, &record, row_of(r, config, &record, loads ? amount / bytes_of(config) : amount),
                             "%s", "");
        }
    }
}
#endif

static void open_device(roofline *r)
{
    const int64_t megabyte = INT64_C(1) << 20;
    const int64_t cached = r->run.cache_bytes / megabyte;
    int64_t megabytes = r->own.megabytes;

#ifdef BENCH_CUDA
    if (r->run.gpu) {
        bench_roofline_shape shape;

        if (megabytes == 0) { megabytes = r->options.quick ? 256 : 2048; }
        r->gpu = bench_roofline_gpu_create(tess_context_stream(r->run.ctx), megabytes * megabyte, r->own.blocks);
        shape = bench_roofline_gpu_shape(r->gpu);
        printf("array: %.0f MB for every storage, %d loads of 16 bytes in flight for each of %lld threads\n",
               1e-6 * (double)shape.bytes, BENCH_ROOFLINE_LOADS, (long long)shape.threads);
        json_object_set_new(r->run.root, "array_bytes", json_integer(shape.bytes));
        json_object_set_new(r->run.root, "grid_threads", json_integer(shape.threads));
        measure_peaks_on_gpu(r);
        return;
    }
#endif
    if (megabytes == 0) { megabytes = (r->options.quick ? 2 : 8) * (cached > 8 ? cached : 8); }
    r->host = bench_roofline_host_create(megabytes * megabyte, r->options.threads);
    printf("array: %.0f MB for every storage, %s instructions\n", 1e-6 * (double)(megabytes * megabyte),
           bench_roofline_host_instructions());
    json_object_set_new(r->run.root, "array_bytes", json_integer(megabytes * megabyte));
    json_object_set_new(r->run.root, "instructions", json_string(bench_roofline_host_instructions()));
    r->peak[TESS_ARITHMETIC_FP64] = bench_roofline_host_peak(r->host, TESS_ARITHMETIC_FP64);
    r->peak[TESS_ARITHMETIC_FP32] = bench_roofline_host_peak(r->host, TESS_ARITHMETIC_FP32);
}

static void measure_all(roofline *r)
{
    for (int e = LOWEST; e <= HIGHEST; e++) {
        for (int c = 0; c < CONFIGS; c++) {
            if (r->host) { measure_on_host(r, (bench_roofline_config)c, e); }
#ifdef BENCH_CUDA
            if (r->gpu) { measure_on_gpu(r, (bench_roofline_config)c, e); }
#endif
        }
    }
}

/* Table 1 of the paper, measured. */
static void report_peaks(roofline *r)
{
    const double fp64 = 1e-9 * r->peak[TESS_ARITHMETIC_FP64], fp32 = 1e-9 * r->peak[TESS_ARITHMETIC_FP32];

    printf("peak: fp64 %.0f GFLOP/s, fp32 %.0f GFLOP/s\n", fp64, fp32);
    json_object_set_new(r->run.root, "peak", json_pack("{s:f, s:f}", "fp64_gflops", fp64, "fp32_gflops", fp32));
}

#ifdef BENCH_REFERENCE
/* The array of the other loops, or a quarter of it: each value is a load of its own. */
static void measure_references(roofline *r)
{
    const int64_t part = json_integer_value(json_object_get(r->run.root, "array_bytes")) / 4 / 64 * 64;

    bench_reference_measure(&r->run, part, r->options.threads > 0 ? r->options.threads : omp_get_max_threads());
}
#endif

/* ---- program ---- */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    roofline_options *own = state->input;

    switch (key) {
    case 'm':
    case 'b': {
        char *end = NULL;
        long value = strtol(arg, &end, 10);

        if (*end != '\0' || end == arg || value < 1 || value > 65536) {
            argp_error(state, "'%s' is no number here", arg);
        }
        *(key == 'm' ? &own->megabytes : &own->blocks) = (int)value;
        return 0;
    }
    default: return ARGP_ERR_UNKNOWN;
    }
}

int study_roofline(int argc, char **argv, const char *parts)
{
    static const struct argp_option table[] = {
        {"megabytes", 'm', "N", 0, "size of the array (default: GPU 2048, host 8 times the last-level cache)", 0},
        {"blocks", 'b', "N", 0, "blocks of the grid per multiprocessor (default 16)", 0},
        {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse_option,
        .doc = "Rooflines of plain and accessor loops from 1/4 to 1024 operations per value.\v"
               "The same bytes for every storage precision. A share is that of the measured roof: read bandwidth, or "
               "fused steps in registers. Exit code 1 when a result is wrong."};
    roofline r;

    (void)parts;
    memset(&r, 0, sizeof r);
    bench_options_init(&r.options);
    bench_parse(argc, argv, &program, &r.options, &r.own);
    bench_begin(&r.run, &r.options, "roofline", true);
    open_device(&r);
    report_peaks(&r);
#ifdef BENCH_CUDA
    if (r.gpu) { measure_parts(&r); }
#endif
    measure_all(&r);
#ifdef BENCH_REFERENCE
    measure_references(&r);
#endif
#ifdef BENCH_CUDA
    bench_roofline_gpu_destroy(r.gpu);
#endif
    bench_roofline_host_destroy(r.host);
    return bench_end(&r.run);
}
