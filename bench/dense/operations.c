/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense operations by size, storage and arithmetic precision, against cuBLAS on a GPU and against plain loops on the
 * host. Every result of ours is checked against its documented bound before its time counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dense/dense.h"
#include "matrix/matrix.h"

/* An operation enters the benchmark here. */
static const dense_operation *const operations[] = {&dense_dot, &dense_nrm2, &dense_axpy, &dense_scal};
enum { OPERATIONS = sizeof operations / sizeof *operations };

typedef struct dense_kind {
    tess_precision storage;
    tess_arithmetic arithmetic;
} dense_kind;

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

tess_status dense_fill(tess_context *ctx, void *data, int64_t count, const void *pattern, int64_t period, int64_t size)
{
    const int64_t head = count < period ? count : period;
    tess_status status = ctx->backend->upload(ctx, data, pattern, (size_t)(head * size));

    /* what is there is copied: a multiple of the period until the end */
    for (int64_t done = head; done < count && status == TESS_SUCCESS;) {
        const int64_t more = done < count - done ? done : count - done;

        status = ctx->backend->copy(ctx, (char *)data + done * size, data, (size_t)(more * size));
        done += more;
    }
    return status;
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

/* A pass over the trial's operands; theirs: the name of a baseline, or NULL. */
static void report(const dense_trial *t, const bench_time *time, const char *theirs, double error)
{
    char problem[48], name[48];
    const bench_record record = {.matrix = problem,
                                 .contestant = name,
                                 .ours = theirs == NULL,
                                 .precision = tess_precision_name(t->storage),
                                 .of = "operation",
                                 .time = *time,
                                 .bytes = (double)t->operation->bytes(t),
                                 .in_cache = t->in_cache,
                                 .ceiling = t->run->ceiling.read};
    json_t *row = NULL;

    snprintf(problem, sizeof problem, "%s %lld", t->operation->name, (long long)t->n);
    if (theirs) {
        snprintf(name, sizeof name, "%s, %s", theirs, tess_precision_name(t->storage));
    } else {
        snprintf(name, sizeof name, "%s on %s", arithmetic_name(t->arithmetic), tess_precision_name(t->storage));
    }
    row = bench_record_row(t->run, &record);
    bench_set(row, "{s:s, s:I, s:s, s:s, s:i}", "operation", t->operation->name, "n", (json_int_t)t->n, "arithmetic",
              arithmetic_name(t->arithmetic), "library", theirs ? theirs : "tessera", "operand_sets", t->sets);
    bench_set_real(row, "error_over_bound", error);
    bench_record_add(t->run, &record, row, "%s", "");
}

static tess_status run_baselines(dense_trial *t)
{
    tess_status status = TESS_SUCCESS;

    for (const dense_baseline *b = t->operation->baselines; b->name && status == TESS_SUCCESS; b++) {
        bench_time time;

        if (!b->fits(t)) { continue; }
        status = bench_measure(t->run, b->call, t, &time);
        if (status == TESS_SUCCESS) { report(t, &time, b->name, NAN); }
        if (status == TESS_UNSUPPORTED) { status = TESS_SUCCESS; }
    }
    return status;
}

static tess_status measure(dense_trial *t)
{
    bench_time time;
    double error = 0.0;
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
    report(t, &time, NULL, error);
    return run_baselines(t);
}

static void run_trials(bench_run *run, bench_cublas *cublas, const dense_operation *operation, int64_t n,
                       const dense_options *options)
{
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
        status = measure(&t);
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

int study_operations(int argc, char **argv, const char *parts)
{
    static const struct argp_option own[] = {{"operation", 'o', "NAME[,NAME..]", 0, "only these operations", 0},
                                             {"storage", 's', "NAME[,NAME..]", 0, "only these storage precisions", 0},
                                             {"sizes", 'n', "N[,N..]", 0, "these sizes for every operation", 0},
                                             {0}};
    static const struct argp program = {
        .options = own,
        .parser = parse,
        .doc = "Times dense operations whose storage precision is apart from their arithmetic.\v"
               "After each line of ours come the baselines on the same operands: cuBLAS, or plain loops and OpenBLAS. "
               "Shares are of the measured read bandwidth."};
    dense_options dense = {0};
    bench_options options;
    bench_run run;
    bench_cublas *cublas = NULL;

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &dense);
    bench_begin(&run, &options, "operations", true);
    if (run.gpu) { cublas = bench_cublas_open(tess_context_stream(run.ctx)); }
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
