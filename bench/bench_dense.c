/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense operations by size, storage and arithmetic precision, against cuBLAS on a GPU and against plain loops on the
 * host. Every result of ours is checked against its documented bound before its time counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_dense.h"

/* An operation enters the benchmark here. */
static const dense_operation *const operations[] = {&dense_dot, &dense_nrm2, &dense_axpy, &dense_scal};
enum { OPERATIONS = sizeof operations / sizeof *operations };

typedef struct dense_kind {
    tess_precision storage;
    tess_arithmetic arithmetic;
} dense_kind;

/* FP64 throughout comes first: the others are held against it. */
static const dense_kind kinds[] = {
    {TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, {TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64},
    {TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}, {TESS_PRECISION_BF16, TESS_ARITHMETIC_FP64},
    {TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64}, {TESS_PRECISION_E4M3, TESS_ARITHMETIC_FP64},
    {TESS_PRECISION_E5M2, TESS_ARITHMETIC_FP64},
};
enum { KINDS = sizeof kinds / sizeof *kinds, MAX_SIZES = 16 };

typedef struct dense_options {
    const char *operations, *storages; /* comma-separated names; NULL: all */
    int64_t sizes[MAX_SIZES + 1];      /* ended by 0; none: the operation's own */
} dense_options;

bool dense_cublas_fits(const dense_trial *t)
{
    return t->cublas && tess_precision_bytes(t->storage) >= 2;
}

bool dense_cublas_fits_full(const dense_trial *t)
{
    return t->cublas && tess_precision_bytes(t->storage) >= 4;
}

double dense_unit_roundoff(const dense_trial *t)
{
    return tess_precision_unit_roundoff(t->arithmetic == TESS_ARITHMETIC_FP64 ? TESS_PRECISION_FP64
                                                                              : TESS_PRECISION_FP32);
}

double dense_gamma(double u, double k)
{
    return k * u / (1.0 - k * u);
}

/* ---- options ---- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    dense_options *options = state->input;

    switch (key) {
    case 'o': options->operations = arg; break;
    case 's': options->storages = arg; break;
    case 'n': bench_read_sizes(state, arg, MAX_SIZES, options->sizes); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- one trial ---- */

static const char *arithmetic_name(tess_arithmetic arithmetic)
{
    return arithmetic == TESS_ARITHMETIC_FP64 ? "fp64" : "fp32";
}

static json_t *describe_row(const dense_trial *t, const bench_time *time, double error, double fp64_seconds)
{
    double rate = (double)t->operation->bytes(t) / time->median;
    json_t *row = json_pack("{s:s, s:I, s:s, s:s}", "operation", t->operation->name, "n", (json_int_t)t->n, "storage",
                            tess_precision_name(t->storage), "arithmetic", arithmetic_name(t->arithmetic));

    json_object_set_new(row, "seconds", json_real(time->median));
    json_object_set_new(row, "seconds_lowest", json_real(time->lowest));
    json_object_set_new(row, "seconds_highest", json_real(time->highest));
    json_object_set_new(row, "samples", json_integer(time->samples));
    json_object_set_new(row, "calls_per_sample", json_integer(time->calls));
    json_object_set_new(row, "bytes_by_model", json_integer(t->operation->bytes(t)));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate));
    json_object_set_new(row, "share_of_measured_bandwidth", json_real(rate / t->run->ceiling.read));
    json_object_set_new(row, "in_cache", json_boolean(t->in_cache));
    json_object_set_new(row, "operand_sets", json_integer(t->sets));
    json_object_set_new(row, "error_over_bound", json_real(error));
    if (fp64_seconds > 0.0) { json_object_set_new(row, "speedup_over_fp64", json_real(fp64_seconds / time->median)); }
    printf("%-7s %9lld  %-4s on %-4s %10.2f %8.1f %6.1f%% %7.2f %9.1e", t->operation->name, (long long)t->n,
           arithmetic_name(t->arithmetic), tess_precision_name(t->storage), 1e6 * time->median, 1e-9 * rate,
           100.0 * rate / t->run->ceiling.read, fp64_seconds > 0.0 ? fp64_seconds / time->median : 1.0, error);
    return row;
}

static tess_status run_baselines(dense_trial *t, double our_seconds, json_t *row)
{
    json_t *list = json_array();
    tess_status status = TESS_SUCCESS;

    for (const dense_baseline *b = t->operation->baselines; b->name && status == TESS_SUCCESS; b++) {
        bench_time time;

        if (!b->fits(t)) { continue; }
        status = bench_measure(t->run, b->call, t, &time);
        if (status == TESS_UNSUPPORTED) {
            status = TESS_SUCCESS;
            continue;
        }
        if (status != TESS_SUCCESS) { break; }
        printf("  %s %.2f us, %.2f", b->name, 1e6 * time.median, time.median / our_seconds);
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "name", b->name, "seconds", time.median, "speedup",
                                              time.median / our_seconds));
    }
    printf("%s\n", t->in_cache ? "  in cache" : "");
    json_object_set_new(row, "baselines", list);
    return status;
}

/* *fp64_seconds: in, what FP64 throughout took (0: not known); out, the same after that kind's trial. */
static tess_status measure(dense_trial *t, double *fp64_seconds)
{
    bench_time time;
    double error = 0.0;
    json_t *row = NULL;
    tess_status status = t->operation->prepare(t);

    if (status == TESS_SUCCESS) { status = t->operation->check(t, t->operation->ours, &error); }
    if (status == TESS_SUCCESS && !(error <= 1.0)) {
        char text[96];

        snprintf(text, sizeof text, "wrong result: %.3g times its bound (n = %lld, %s)", error, (long long)t->n,
                 tess_precision_name(t->storage));
        bench_fault(t->run, t->operation->name, text, TESS_SUCCESS);
        return TESS_SUCCESS;
    }
    if (status == TESS_SUCCESS) { status = bench_measure(t->run, t->operation->ours, t, &time); }
    if (status != TESS_SUCCESS) { return status; }
    if (t->storage == TESS_PRECISION_FP64) { *fp64_seconds = time.median; }
    row = describe_row(t, &time, error, *fp64_seconds);
    status = run_baselines(t, time.median, row);
    bench_add(t->run, row);
    return status;
}

static void run_trials(bench_run *run, bench_cublas *cublas, const dense_operation *operation, int64_t n,
                       const dense_options *options)
{
    double fp64_seconds = 0.0;

    for (int k = 0; k < KINDS; k++) {
        dense_trial t = {.run = run,
                         .cublas = cublas,
                         .operation = operation,
                         .n = n,
                         .storage = kinds[k].storage,
                         .arithmetic = kinds[k].arithmetic};
        bench_rotation rotation;
        tess_status status = TESS_SUCCESS;

        if (!bench_is_named(options->storages, tess_precision_name(t.storage))) { continue; }
        rotation = bench_rotate(run, 0, operation->footprint(&t));
        t.sets = rotation.pairs < DENSE_MAX_SETS ? rotation.pairs : DENSE_MAX_SETS;
        t.in_cache = rotation.in_cache;
        status = measure(&t, &fp64_seconds);
        if (status != TESS_SUCCESS) { bench_fault(run, operation->name, "a trial", status); }
        operation->release(&t);
    }
}

static void run_operation(bench_run *run, bench_cublas *cublas, const dense_operation *operation,
                          const dense_options *options)
{
    const int64_t *sizes = run->gpu ? operation->device_sizes : operation->host_sizes;
    const bool given = options->sizes[0] > 0;

    if (!bench_is_named(options->operations, operation->name)) { return; }
    for (const int64_t *n = given ? options->sizes : sizes; *n > 0; n++) {
        if (!given && run->options->quick && operation->quick_most > 0 && *n > operation->quick_most) { continue; }
        run_trials(run, cublas, operation, *n, options);
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option own[] = {{"operation", 'o', "NAME[,NAME..]", 0, "only these operations", 0},
                                             {"storage", 's', "NAME[,NAME..]", 0, "only these storage precisions", 0},
                                             {"sizes", 'n', "N[,N..]", 0, "these sizes for every operation", 0},
                                             {0}};
    static const struct argp program = {
        .options = own,
        .parser = parse,
        .doc = "Times dense operations whose storage precision is apart from their arithmetic.\v"
               "Columns: time, bandwidth by model, its share of the measured read bandwidth, speed-up over FP64 "
               "throughout, "
               "largest error over its bound; then each baseline's time and our speed-up over it."};
    dense_options dense = {0};
    bench_options options;
    bench_run run;
    bench_cublas *cublas = NULL;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &dense);
    bench_begin(&run, &options, "bench_dense", true);
    if (run.gpu) { cublas = bench_cublas_open(tess_context_stream(run.ctx)); }
    printf("%-7s %9s  %-12s %10s %8s %7s %7s %9s  %s\n", "", "n", "arithmetic", "us", "GB/s", "share", "x fp64",
           "error", "baseline, our speed-up");
    for (int k = 0; k < OPERATIONS; k++) {
        run_operation(&run, cublas, operations[k], &dense);
    }
    for (const dense_operation *const *gemv = dense_gemv; *gemv; gemv++) {
        run_operation(&run, cublas, *gemv, &dense);
    }
    for (const dense_operation *const *trsv = dense_trsv; *trsv; trsv++) {
        run_operation(&run, cublas, *trsv, &dense);
    }
    bench_cublas_close(cublas);
    return bench_end(&run);
}
