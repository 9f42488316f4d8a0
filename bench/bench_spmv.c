/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x: CSR with FP64 and with FP32 values, on the host or on a GPU, against cuSPARSE on a GPU. Every result is checked
 * against a product in extended precision before its time counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#ifdef BENCH_CUDA
#include "harness_cusparse.h"
#endif

enum { MOST_PAIRS = 8, OURS = 2, CONTESTANTS = 5 };

/* ours first; the baselines follow in the order of bench_cusparse_kind */
static const char *const contestant_names[CONTESTANTS] = {"csr-fp64", "csr-fp32", "cusparse-csr", "cusparse-csr-alg2",
                                                          "cusparse-sell"};

typedef struct outcome {
    bool ran;
    const char *precision;
    bench_time time;
    int64_t bytes;        /* moved, by model */
    double setup_seconds; /* NaN: not measured */
    double error;         /* largest error over its bound */
} outcome;

/* One matrix under test with its vectors and what the products must be. */
typedef struct trial {
    bench_run *run;
    const bench_case *which;
    tess_matrix *a;
    bench_csr host;
    bench_product exact;
    double *host_x;
    tess_vector *x[MOST_PAIRS], *y[MOST_PAIRS];
    bench_rotation rotation;
    outcome outcomes[CONTESTANTS];
} trial;

typedef struct means {
    bench_mean over[CONTESTANTS]; /* time of each baseline over ours in FP64 */
    bench_mean fp32;              /* ours FP64 over ours FP32 */
    bench_mean share;             /* of the ceiling, ours FP64, not in cache */
} means;

/* ---- set-up of a matrix ---- */

static tess_status make_vectors(trial *t)
{
    int64_t nrows = tess_matrix_nrows(t->a), ncols = tess_matrix_ncols(t->a);
    int64_t matrix_bytes = bench_spmv_bytes(nrows, ncols, tess_matrix_nnz(t->a), 8) - 8 * (nrows + ncols);
    tess_status status = TESS_SUCCESS;

    t->rotation = bench_rotate(t->run, matrix_bytes, 8 * (nrows + ncols));
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_create(t->run->ctx, ncols, TESS_PRECISION_FP64, &t->x[k]);
        if (status == TESS_SUCCESS) { status = tess_vector_create(t->run->ctx, nrows, TESS_PRECISION_FP64, &t->y[k]); }
        /* the same values in every pair: one exact product serves them all */
        if (status == TESS_SUCCESS) { status = tess_vector_set_random(t->x[k], 1, -1.0, 1.0); }
    }
    if (status != TESS_SUCCESS) { return status; }
    t->host_x = bench_allocate((size_t)ncols, sizeof *t->host_x);
    return tess_vector_get(t->x[0], t->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

static void release(trial *t)
{
    for (int k = 0; k < MOST_PAIRS; k++) {
        tess_vector_destroy(t->x[k]);
        tess_vector_destroy(t->y[k]);
    }
    bench_csr_free(&t->host);
    bench_product_free(&t->exact);
    free(t->host_x);
    tess_matrix_destroy(t->a);
}

/* Largest error over its bound over all y, which are then overwritten so that the next contestant cannot inherit them. */
static tess_status check_results(trial *t, const bench_product *exact, double *error)
{
    double *y = bench_allocate((size_t)exact->nrows, sizeof *y);
    tess_status status = TESS_SUCCESS;

    *error = 0.0;
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_get(t->y[k], y, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        if (status == TESS_SUCCESS) { *error = fmax(*error, bench_product_compare(exact, y)); }
        if (status == TESS_SUCCESS) { status = tess_vector_fill(t->y[k], NAN); }
    }
    free(y);
    return status;
}

/* ---- ours ---- */

typedef struct our_call {
    const trial *t;
    const tess_matrix *stored;
} our_call;

static tess_status call_ours(void *user, int k)
{
    const our_call *c = user;
    int pair = k % c->t->rotation.pairs;

    return tess_matrix_spmv(c->stored, TESS_OP_NONE, 1.0, c->t->x[pair], 0.0, c->t->y[pair]);
}

/* Every pair computes once more, so that all of them are there to be checked. */
static tess_status measure_and_check(trial *t, bench_call call, void *user, const bench_product *exact, outcome *o)
{
    tess_status status = bench_measure(t->run, call, user, &o->time);

    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = call(user, k);
    }
    if (status == TESS_SUCCESS) { status = check_results(t, exact, &o->error); }
    o->ran = status == TESS_SUCCESS;
    if (o->ran && !(o->error <= 1.0)) {
        char text[96];

        snprintf(text, sizeof text, "wrong result: %.3g times the rounding bound", o->error);
        bench_fault(t->run, t->which->name, text, TESS_SUCCESS);
        o->ran = false;
    }
    return status;
}

static tess_status run_ours(trial *t, tess_precision precision, outcome *o)
{
    tess_storage_options storage;
    tess_matrix *stored = NULL;
    bench_csr decoded = {0};
    bench_product exact = {0};
    const bool fp64 = precision == TESS_PRECISION_FP64;
    our_call call = {t, NULL};
    double start = 0.0;
    tess_status status = TESS_SUCCESS;

    tess_storage_options_init(&storage);
    storage.precision = precision;
    start = bench_wall_seconds();
    status = tess_matrix_convert(t->a, &storage, &stored);
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(t->run->ctx); }
    o->setup_seconds = bench_wall_seconds() - start;
    if (status == TESS_SUCCESS && !fp64) { status = bench_csr_get(stored, &decoded); }
    if (status == TESS_SUCCESS) {
        if (!fp64) { bench_product_make(&decoded, t->host_x, &exact); }
        call.stored = stored;
        o->bytes = bench_spmv_bytes(t->host.nrows, t->host.ncols, t->host.nnz, fp64 ? 8 : 4);
        o->precision = tess_precision_name(precision);
        status = measure_and_check(t, call_ours, &call, fp64 ? &t->exact : &exact, o);
    }
    bench_csr_free(&decoded);
    bench_product_free(&exact);
    tess_matrix_destroy(stored);
    return status;
}

/* ---- cuSPARSE ---- */

#ifdef BENCH_CUDA
static tess_status run_cusparse(trial *t, bench_cusparse_kind kind, outcome *o)
{
    double *x[MOST_PAIRS], *y[MOST_PAIRS];
    bench_cusparse *s = NULL;
    char reason[160], text[224];
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < t->rotation.pairs; k++) {
        x[k] = tess_vector_data(t->x[k]);
        y[k] = tess_vector_data(t->y[k]);
    }
    status = bench_cusparse_create(t->a, &t->host, kind, t->rotation.pairs, x, y, &s, &o->setup_seconds, reason,
                                   sizeof reason);
    if (status == TESS_UNSUPPORTED) {
        snprintf(text, sizeof text, "%s: %s", bench_cusparse_name(kind), reason);
        bench_skip(t->run, t->which->name, text);
        return TESS_SUCCESS;
    }
    o->bytes = bench_cusparse_bytes(s);
    o->precision = "fp64";
    status = measure_and_check(t, bench_cusparse_call, s, &t->exact, o);
    bench_cusparse_destroy(s);
    return status;
}
#endif

/* ---- report ---- */

static json_t *speedups(const trial *t, const outcome *o)
{
    json_t *json = json_object();

    for (int i = OURS; i < CONTESTANTS; i++) {
        if (t->outcomes[i].ran) {
            json_object_set_new(json, contestant_names[i], json_real(t->outcomes[i].time.median / o->time.median));
        }
    }
    return json;
}

static void report_row(trial *t, int index)
{
    const outcome *o = &t->outcomes[index];
    double rate = (double)o->bytes / o->time.median, share = rate / bench_ceiling_of(t->run);
    char speedup[32] = "-";
    json_t *row = json_pack("{s:s, s:I, s:I, s:I, s:s, s:s}", "matrix", t->which->name, "nrows",
                            (json_int_t)t->host.nrows, "ncols", (json_int_t)t->host.ncols, "nnz",
                            (json_int_t)t->host.nnz, "kernel", contestant_names[index], "precision", o->precision);

    json_object_set_new(row, "seconds", json_real(o->time.median));
    json_object_set_new(row, "seconds_lowest", json_real(o->time.lowest));
    json_object_set_new(row, "seconds_highest", json_real(o->time.highest));
    json_object_set_new(row, "samples", json_integer(o->time.samples));
    json_object_set_new(row, "calls_per_sample", json_integer(o->time.calls));
    json_object_set_new(row, "bytes_by_model", json_integer(o->bytes));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate));
    json_object_set_new(row, "share_of_measured_bandwidth", json_real(share));
    json_object_set_new(row, "in_cache", json_boolean(t->rotation.in_cache));
    json_object_set_new(row, "vector_pairs", json_integer(t->rotation.pairs));
    json_object_set_new(row, "error_over_bound", json_real(o->error));
    json_object_set_new(row, "setup_seconds", json_real(o->setup_seconds));
    json_object_set_new(row, "setup_in_spmvs", json_real(o->setup_seconds / o->time.median));
    if (index < OURS) { json_object_set_new(row, "speedup_over", speedups(t, o)); }
    if (t->outcomes[OURS].ran) {
        snprintf(speedup, sizeof speedup, "%.2f", t->outcomes[OURS].time.median / o->time.median);
    }
    printf("%-22s %9lld %9lld  %-17s %10.2f %8.1f %6.1f%% %9.1f %8s  %s\n", t->which->name, (long long)t->host.nrows,
           (long long)t->host.nnz, contestant_names[index], 1e6 * o->time.median, 1e-9 * rate, 100.0 * share,
           o->setup_seconds / o->time.median, speedup, t->rotation.in_cache ? "in cache" : "");
    bench_add(t->run, row);
}

static void collect(const trial *t, means *m)
{
    const outcome *ours = &t->outcomes[0];

    if (!ours->ran) { return; }
    for (int i = OURS; i < CONTESTANTS; i++) {
        if (t->outcomes[i].ran) { bench_mean_add(&m->over[i], t->outcomes[i].time.median / ours->time.median); }
    }
    if (t->outcomes[1].ran) { bench_mean_add(&m->fp32, ours->time.median / t->outcomes[1].time.median); }
    if (!t->rotation.in_cache) {
        bench_mean_add(&m->share, (double)ours->bytes / ours->time.median / bench_ceiling_of(t->run));
    }
}

static void print_mean(json_t *json, const char *key, const bench_mean *mean)
{
    if (mean->count == 0) { return; }
    printf("  %-42s %6.3f  (%d matrices)\n", key, bench_mean_value(mean), mean->count);
    json_object_set_new(json, key, json_pack("{s:f, s:i}", "value", bench_mean_value(mean), "matrices", mean->count));
}

static void report_means(bench_run *run, const means *m)
{
    json_t *json = json_object();
    char key[64];

    printf("geometric means\n");
    for (int i = OURS; i < CONTESTANTS; i++) {
        snprintf(key, sizeof key, "csr-fp64 over %s", contestant_names[i]);
        print_mean(json, key, &m->over[i]);
    }
    print_mean(json, "csr-fp32 over csr-fp64", &m->fp32);
    print_mean(json, "csr-fp64 share of bandwidth, not in cache", &m->share);
    json_object_set_new(run->root, "geometric_means", json);
}

/* ---- driver ---- */

static tess_status run_contestants(trial *t)
{
    tess_status status = run_ours(t, TESS_PRECISION_FP64, &t->outcomes[0]);

    if (status == TESS_SUCCESS) { status = run_ours(t, TESS_PRECISION_FP32, &t->outcomes[1]); }
#ifdef BENCH_CUDA
    for (int kind = 0; kind < BENCH_CUSPARSE_KINDS && status == TESS_SUCCESS && t->run->gpu; kind++) {
        status = run_cusparse(t, (bench_cusparse_kind)kind, &t->outcomes[OURS + kind]);
    }
#endif
    return status;
}

static void run_case(bench_run *run, const bench_case *which, means *m)
{
    trial t = {.run = run, .which = which};
    char reason[640];
    tess_status status = bench_case_load(run->ctx, run->options, which, &t.a, reason, sizeof reason);

    if (status != TESS_SUCCESS) {
        bench_skip(run, which->name, reason);
        return;
    }
    if (tess_matrix_nnz(t.a) == 0) {
        bench_skip(run, which->name, "has no nonzeros");
        tess_matrix_destroy(t.a);
        return;
    }
    status = bench_csr_get(t.a, &t.host);
    if (status == TESS_SUCCESS) { status = make_vectors(&t); }
    if (status == TESS_SUCCESS) {
        bench_product_make(&t.host, t.host_x, &t.exact);
        status = run_contestants(&t);
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "SpMV", status); }
    for (int i = 0; i < CONTESTANTS; i++) {
        if (t.outcomes[i].ran) { report_row(&t, i); }
    }
    collect(&t, m);
    release(&t);
}

/* Kernels are loaded at their first use; a small matrix takes that out of the set-up times. */
static void load_kernels(bench_run *run)
{
    static const char *const order[] = {"64"};
    tess_storage_options storage;
    tess_matrix *a = NULL, *stored = NULL;

    tess_storage_options_init(&storage);
    storage.precision = TESS_PRECISION_FP32;
    if (tess_gallery_create(run->ctx, "laplace2d", 1, order, &a) != TESS_SUCCESS ||
        tess_matrix_convert(a, &storage, &stored) != TESS_SUCCESS) {
        bench_die("cannot make a small matrix: %s", tess_context_last_error(run->ctx)->message);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(a);
}

int main(int argc, char **argv)
{
    static const struct argp program = {
        .doc = "Times y = A x and checks every result. Default: the set large, and laplace3d-100.\v"
               "Times are medians of device events (GPU) or of a wall clock (host). cuSPARSE's work space and "
               "preprocessing are outside of its times; speed-up is over cusparse-csr. Bytes by "
               "model: values, columns and offsets once (SELL: with its padding), x once, y once."};
    bench_options options;
    bench_run run;
    bench_cases cases;
    means m = {0};

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, NULL);
    if (options.nsets + options.nmatrices == 0) {
        options.matrices[options.nmatrices++] = "gallery:laplace3d:100";
        options.sets[options.nsets++] = "large";
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "bench_spmv", true);
    load_kernels(&run);
    printf("%-22s %9s %9s  %-17s %10s %8s %7s %9s %8s\n", "matrix", "rows", "nnz", "kernel", "us", "GB/s", "share",
           "set-up", "speed-up");
    printf("%-22s %9s %9s  %-17s %10s %8s %7s %9s %8s\n", "", "", "", "", "median", "by model",
           run.gpu ? "of read" : "of triad", "in SpMVs", "over csr");
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&run, &cases.items[i], &m);
    }
    report_means(&run, &m);
    bench_cases_free(&cases);
    return bench_end(&run);
}
