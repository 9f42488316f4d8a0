/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experimental rooflines of plain and accessor loops, on a GPU or on the host (paper: Table 1, Figures 3 to 6). Every
 * timed loop's result is compared with what the host computes value after value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_roofline.h"

enum { CONFIGS = BENCH_ROOFLINE_CONFIGS, LOWEST = BENCH_ROOFLINE_LOWEST, HIGHEST = BENCH_ROOFLINE_HIGHEST };

typedef struct roofline_options {
    const char *csv;
    int megabytes, blocks;
} roofline_options;

typedef struct roofline {
    bench_run run;
    bench_options options;
    roofline_options own;
    FILE *csv;
    bench_roofline_gpu *gpu;
    bench_roofline_host *host;
    bench_roofline_measured measured;
} roofline;

/* ---- what bounds a configuration ---- */

/* Values per second under the measured ceilings; a sum is one operation where a fused step is two. */
static double ceiling_of(const roofline *r, bench_roofline_config config, int exponent)
{
    double steps = exponent > 0 ? bench_roofline_operations(exponent) / 2.0 : bench_roofline_operations(exponent);

    return fmin(r->run.ceiling.read / bench_roofline_bytes(config),
                r->measured.peak[bench_roofline_infos[config].arithmetic] / 2.0 / steps);
}

/* ---- measuring ---- */

static void add_row(roofline *r, bench_roofline_config config, int exponent, const bench_time *time, double values,
                    int checked)
{
    const bench_roofline_info *info = &bench_roofline_infos[config];
    /* The host's roofs are the best of several runs, as STREAM's are; so is what stands under them. */
    double seconds = r->host ? time->lowest : time->median, rate = values / seconds;
    double flops = rate * bench_roofline_operations(exponent), share = rate / ceiling_of(r, config, exponent);
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:b}", "configuration", info->name, "storage", tess_precision_name(info->storage),
                  "arithmetic", info->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64", "accessor", info->accessor);

    r->measured.rate[config][exponent - LOWEST] = rate;
    json_object_set_new(row, "ops_per_value", json_real(bench_roofline_operations(exponent)));
    json_object_set_new(row, "values", json_real(values));
    json_object_set_new(row, "seconds", json_real(seconds));
    json_object_set_new(row, "seconds_median", json_real(time->median));
    json_object_set_new(row, "seconds_lowest", json_real(time->lowest));
    json_object_set_new(row, "seconds_highest", json_real(time->highest));
    json_object_set_new(row, "samples", json_integer(time->samples));
    json_object_set_new(row, "gflops", json_real(1e-9 * flops));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate * bench_roofline_bytes(config)));
    json_object_set_new(row, "share_of_ceiling", json_real(share));
    json_object_set_new(row, "results_compared", json_integer(checked));
    printf("%-20s %8g %11.1f %10.1f %9.1f %6.1f%%\n", info->name, bench_roofline_operations(exponent), 1e6 * seconds,
           1e-9 * flops, 1e-9 * rate * bench_roofline_bytes(config), 100.0 * share);
    if (r->csv) {
        fprintf(r->csv, "\"%s\",%s,%s,%d,%g,%.9g,%.6g,%.6g,%.4f\n", info->name, tess_precision_name(info->storage),
                info->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64", info->accessor,
                bench_roofline_operations(exponent), seconds, 1e-9 * flops, 1e-9 * rate * bench_roofline_bytes(config),
                share);
    }
    bench_add(&r->run, row);
}

static void report_wrong(roofline *r, const char *name, int exponent, int wrong, int compared)
{
    char text[96];

    snprintf(text, sizeof text, "%g operations per value: %d of %d results are wrong",
             bench_roofline_operations(exponent), wrong, compared);
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

    r->measured.peak[TESS_ARITHMETIC_FP64] = measure_launch(r, &launch, "peak fp64", &time, &compared);
    launch.config = BENCH_ROOFLINE_PLAIN_FP32;
    r->measured.peak[TESS_ARITHMETIC_FP32] = measure_launch(r, &launch, "peak fp32", &time, &compared);
    bench_roofline_gpu_theory(&bandwidth, &fp64, &fp32);
    printf("by properties (0: unknown): %.0f GB/s, fp64 %.0f GFLOP/s, fp32 %.0f GFLOP/s\n", 1e-9 * bandwidth,
           1e-9 * fp64, 1e-9 * fp32);
    json_object_set_new(
        r->run.root, "by_properties",
        json_pack("{s:f, s:f, s:f}", "gbs", 1e-9 * bandwidth, "fp64_gflops", 1e-9 * fp64, "fp32_gflops", 1e-9 * fp32));
}

/* What decoding alone allows, and the loads alone. */
static void measure_parts(roofline *r)
{
    json_t *rows = json_array();

    printf("\nwithout decoding, and decoding in registers: 1e9 values per second (share of the ceiling by read "
           "bandwidth)\n"
           "%-20s %19s %19s %19s\n",
           "", "loads, bits only", "decode, xor", "decode, fused step");
    for (int c = BENCH_ROOFLINE_ACCESSOR_FP64_FP32; c < CONFIGS; c++) {
        static const bench_roofline_work works[3] = {BENCH_ROOFLINE_RAW, BENCH_ROOFLINE_DECODE_XOR,
                                                     BENCH_ROOFLINE_DECODE_FMA};
        const bench_roofline_info *info = &bench_roofline_infos[c];
        double rate[3], ceiling = r->run.ceiling.read / bench_roofline_bytes((bench_roofline_config)c);

        for (int w = 0; w < 3; w++) {
            bench_roofline_launch launch = {r->gpu, works[w], (bench_roofline_config)c, 0};
            bench_time time;
            int compared = 0;

            rate[w] = measure_launch(r, &launch, info->name, &time, &compared);
        }
        rate[0] /= bench_roofline_bytes((bench_roofline_config)c);
        printf("%-20s %11.0f (%4.0f%%) %11.0f (%4.0f%%) %11.0f (%4.0f%%)\n", info->name, 1e-9 * rate[0],
               100.0 * rate[0] / ceiling, 1e-9 * rate[1], 100.0 * rate[1] / ceiling, 1e-9 * rate[2],
               100.0 * rate[2] / ceiling);
        json_array_append_new(rows,
                              json_pack("{s:s, s:f, s:f, s:f, s:f}", "storage", tess_precision_name(info->storage),
                                        "loads_gvalues", 1e-9 * rate[0], "decode_xor_gvalues", 1e-9 * rate[1],
                                        "decode_fma_gvalues", 1e-9 * rate[2], "ceiling_gvalues", 1e-9 * ceiling));
    }
    json_object_set_new(r->run.root, "decoding", rows);
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
    r->measured.peak[TESS_ARITHMETIC_FP64] = bench_roofline_host_peak(r->host, TESS_ARITHMETIC_FP64);
    r->measured.peak[TESS_ARITHMETIC_FP32] = bench_roofline_host_peak(r->host, TESS_ARITHMETIC_FP32);
}

static void measure_all(roofline *r)
{
    printf("\n%-20s %8s %11s %10s %9s %7s\n%-20s %8s %11s %10s %9s %7s\n", "configuration", "ops per", "us", "GFLOP/s",
           "GB/s", "share", "", "value", r->host ? "lowest" : "median", "", "", "of roof");
    for (int e = LOWEST; e <= HIGHEST; e++) {
        for (int c = 0; c < CONFIGS; c++) {
            if (r->host) { measure_on_host(r, (bench_roofline_config)c, e); }
#ifdef BENCH_CUDA
            if (r->gpu) { measure_on_gpu(r, (bench_roofline_config)c, e); }
#endif
        }
    }
}

/* ---- tables ---- */

/* Table 1 of the paper, measured. */
static void print_hardware(roofline *r)
{
    printf("\nhardware: %s\n  read %.0f GB/s, %s %.0f GB/s, peak fp64 %.0f GFLOP/s, fp32 %.0f GFLOP/s\n",
           tess_context_device_name(r->run.ctx), 1e-9 * r->run.ceiling.read, r->gpu ? "copy" : "triad",
           1e-9 * (r->gpu ? r->run.ceiling.copy : r->run.ceiling.triad), 1e-9 * r->measured.peak[TESS_ARITHMETIC_FP64],
           1e-9 * r->measured.peak[TESS_ARITHMETIC_FP32]);
    json_object_set_new(r->run.root, "peak",
                        json_pack("{s:f, s:f}", "fp64_gflops", 1e-9 * r->measured.peak[TESS_ARITHMETIC_FP64],
                                  "fp32_gflops", 1e-9 * r->measured.peak[TESS_ARITHMETIC_FP32]));
    printf("  balance in operations per value:");
    for (int c = 0; c < CONFIGS; c++) {
        printf("%s %s %.1f", c > 0 ? "," : "", bench_roofline_infos[c].name,
               bench_roofline_balance(&r->measured, (bench_roofline_config)c));
    }
    printf("\n");
}

static void print_rooflines(const roofline *r)
{
    printf("\nGFLOP/s\n%8s", "ops");
    for (int c = 0; c < CONFIGS; c++) {
        const bench_roofline_info *info = &bench_roofline_infos[c];

        printf(" %9s%s", tess_precision_name(info->storage), !info->accessor ? "  " : info->arithmetic ? "*4" : "*8");
    }
    printf("\n");
    for (int e = LOWEST; e <= HIGHEST; e++) {
        printf("%8g", bench_roofline_operations(e));
        for (int c = 0; c < CONFIGS; c++) {
            printf(" %11.1f", 1e-9 * bench_roofline_rate(&r->measured, (bench_roofline_config)c, e) *
                                  bench_roofline_operations(e));
        }
        printf("\n");
    }
    printf("(by storage; *8, *4: through the accessor into 8- or 4-byte arithmetic)\n");
}

/* ---- program ---- */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    roofline_options *own = state->input;

    switch (key) {
    case 'c': own->csv = arg; return 0;
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

static void open_csv(roofline *r)
{
    if (!r->own.csv) { return; }
    r->csv = fopen(r->own.csv, "w");
    if (!r->csv) { bench_die("cannot write %s", r->own.csv); }
    fprintf(r->csv, "configuration,storage,arithmetic,accessor,ops_per_value,seconds,gflops,gbs,share_of_ceiling\n");
}

int main(int argc, char **argv)
{
    static const struct argp_option table[] = {
        {"csv", 'c', "FILE", 0, "write the rows as CSV", 0},
        {"megabytes", 'm', "N", 0, "size of the array (default: GPU 2048, host 8 times the last-level cache)", 0},
        {"blocks", 'b', "N", 0, "blocks of the grid per multiprocessor (default 16)", 0},
        {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse_option,
        .doc = "Rooflines of plain and accessor loops from 1/4 to 1024 operations per value.\v"
               "The same bytes for every storage precision. A share is that of the measured roof: read bandwidth, or "
               "fused "
               "steps in registers. Exit code 1 when a result is wrong; goals that are not met do not change it."};
    roofline r;

    memset(&r, 0, sizeof r);
    bench_options_init(&r.options);
    bench_parse(argc, argv, &program, &r.options, &r.own);
    open_csv(&r);
    bench_begin(&r.run, &r.options, "bench_roofline", true);
    r.measured.gpu = r.run.gpu;
    r.measured.bandwidth = r.run.ceiling.read;
    open_device(&r);
    print_hardware(&r);
#ifdef BENCH_CUDA
    if (r.gpu) { measure_parts(&r); }
#endif
    measure_all(&r);
    print_rooflines(&r);
    json_object_set_new(r.run.root, "goals", bench_roofline_goals(&r.measured));
#ifdef BENCH_CUDA
    bench_roofline_gpu_destroy(r.gpu);
#endif
    bench_roofline_host_destroy(r.host);
    if (r.csv && fclose(r.csv) != 0) { bench_die("cannot write %s", r.own.csv); }
    return bench_end(&r.run);
}
