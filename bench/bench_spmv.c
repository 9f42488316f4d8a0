/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x: formats and storage precisions of choice, on the host or on a GPU, against cuSPARSE on a GPU. With ellr or sell and
 * fp32 there are rows with FP32 vectors as well: fp64 arithmetic on fp32 storage against fp32 throughout. Every result is
 * checked against a product in extended precision before its time counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_spmv.h"
#ifdef BENCH_CUDA
#include "harness_cusparse.h"
#endif

typedef struct outcome {
    bool ran;
    bench_time time;
    int64_t bytes;        /* moved, by model */
    double setup_seconds; /* NaN: not measured */
    double error;         /* largest error over its bound */
} outcome;

/* Vectors of one precision, and x as it is stored there. */
typedef struct vector_pairs {
    tess_precision precision;
    double *host_x;
    tess_vector *x[BENCH_MOST_PAIRS], *y[BENCH_MOST_PAIRS];
} vector_pairs;

/* One matrix under test with its vectors. */
typedef struct trial {
    bench_run *run;
    const bench_case *which;
    tess_matrix *a;
    bench_csr host;
    vector_pairs fp64, fp32;
    bench_rotation rotation;
    int count;
    const bench_contestant *contestants;
    outcome outcomes[BENCH_MOST_CONTESTANTS];
} trial;

typedef struct means {
    bench_mean over_csr, over_sell; /* time of cuSPARSE's in the same vector precision over this one */
    bench_mean share;               /* of the ceiling, not in cache */
} means;

/* ---- set-up of a matrix ---- */

static tess_status make_pairs(trial *t, tess_precision precision, vector_pairs *v)
{
    int64_t nrows = tess_matrix_nrows(t->a), ncols = tess_matrix_ncols(t->a);
    tess_status status = TESS_SUCCESS;

    v->precision = precision;
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_create(t->run->ctx, ncols, precision, &v->x[k]);
        if (status == TESS_SUCCESS) { status = tess_vector_create(t->run->ctx, nrows, precision, &v->y[k]); }
        /* the same values in every pair: one exact product serves them all */
        if (status == TESS_SUCCESS) { status = tess_vector_set_random(v->x[k], 1, -1.0, 1.0); }
    }
    if (status != TESS_SUCCESS) { return status; }
    v->host_x = bench_allocate((size_t)ncols, sizeof *v->host_x);
    return tess_vector_get(v->x[0], v->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

static tess_status make_vectors(trial *t)
{
    int64_t nrows = tess_matrix_nrows(t->a), ncols = tess_matrix_ncols(t->a);
    int64_t matrix_bytes = bench_spmv_bytes(nrows, ncols, tess_matrix_nnz(t->a), 8) - 8 * (nrows + ncols);
    tess_status status = TESS_SUCCESS;

    t->rotation = bench_rotate(t->run, matrix_bytes, 8 * (nrows + ncols));
    status = make_pairs(t, TESS_PRECISION_FP64, &t->fp64);
    if (status == TESS_SUCCESS && bench_spmv_has_fp32_vectors(t->contestants, t->count)) {
        status = make_pairs(t, TESS_PRECISION_FP32, &t->fp32);
    }
    return status;
}

static void release_pairs(vector_pairs *v)
{
    for (int k = 0; k < BENCH_MOST_PAIRS; k++) {
        tess_vector_destroy(v->x[k]);
        tess_vector_destroy(v->y[k]);
    }
    free(v->host_x);
}

static void release(trial *t)
{
    release_pairs(&t->fp64);
    release_pairs(&t->fp32);
    bench_csr_free(&t->host);
    tess_matrix_destroy(t->a);
}

static vector_pairs *pairs_of(trial *t, const bench_contestant *c)
{
    return c->vectors == TESS_PRECISION_FP32 ? &t->fp32 : &t->fp64;
}

/* Largest error over its bound over all y, which are then overwritten so that the next contestant cannot inherit them. */
static tess_status check_results(trial *t, vector_pairs *v, const bench_product *exact, double *error)
{
    double *y = bench_allocate((size_t)exact->nrows, sizeof *y);
    tess_status status = TESS_SUCCESS;

    *error = 0.0;
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_get(v->y[k], y, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        if (status == TESS_SUCCESS) { *error = fmax(*error, bench_product_compare(exact, y)); }
        if (status == TESS_SUCCESS) { status = tess_vector_fill(v->y[k], NAN); }
    }
    free(y);
    return status;
}

/* What the contestant must compute from the values that it holds. */
static void make_exact(const bench_csr *held, const vector_pairs *v, tess_arithmetic arithmetic, bench_product *out)
{
    if (v->precision == TESS_PRECISION_FP64) {
        bench_product_make(held, v->host_x, out);
    } else {
        bench_product_make_fp32(held, v->host_x, arithmetic, out);
    }
}

/* ---- ours ---- */

typedef struct our_call {
    const vector_pairs *v;
    int pairs;
    const tess_matrix *stored;
} our_call;

static tess_status call_ours(void *user, int k)
{
    const our_call *c = user;
    int pair = k % c->pairs;

    return tess_matrix_spmv(c->stored, TESS_OP_NONE, 1.0, c->v->x[pair], 0.0, c->v->y[pair]);
}

/* Every pair computes once more, so that all of them are there to be checked. */
static tess_status measure_and_check(trial *t, vector_pairs *v, bench_call call, void *user, const bench_product *exact,
                                     outcome *o)
{
    tess_status status = bench_measure(t->run, call, user, &o->time);

    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = call(user, k);
    }
    if (status == TESS_SUCCESS) { status = check_results(t, v, exact, &o->error); }
    o->ran = status == TESS_SUCCESS;
    if (o->ran && !(o->error <= 1.0)) {
        char text[96];

        snprintf(text, sizeof text, "wrong result: %.3g times the rounding bound", o->error);
        bench_fault(t->run, t->which->name, text, TESS_SUCCESS);
        o->ran = false;
    }
    return status;
}

static tess_status convert(trial *t, const bench_contestant *c, outcome *o, tess_matrix **stored)
{
    double start = bench_wall_seconds();
    char text[640];
    tess_status status = tess_matrix_convert(t->a, &c->storage, stored);

    if (status == TESS_SUCCESS) { status = tess_context_synchronize(t->run->ctx); }
    o->setup_seconds = bench_wall_seconds() - start;
    if (status == TESS_UNSUPPORTED) {
        snprintf(text, sizeof text, "%s: %s", c->name, tess_context_last_error(t->run->ctx)->message);
        bench_skip(t->run, t->which->name, text);
    }
    return status;
}

static tess_status run_ours(trial *t, const bench_contestant *c, outcome *o)
{
    tess_matrix *stored = NULL;
    bench_csr decoded = {0};
    bench_product exact = {0};
    vector_pairs *v = pairs_of(t, c);
    our_call call = {v, t->rotation.pairs, NULL};
    tess_status status = convert(t, c, o, &stored);

    if (status == TESS_UNSUPPORTED) { return TESS_SUCCESS; }
    if (status == TESS_SUCCESS) { status = bench_csr_get(stored, &decoded); }
    if (status == TESS_SUCCESS) {
        make_exact(&decoded, v, c->storage.arithmetic, &exact);
        call.stored = stored;
        o->bytes =
            tess_matrix_bytes(stored) + (int64_t)tess_precision_bytes(v->precision) * (t->host.nrows + t->host.ncols);
        status = measure_and_check(t, v, call_ours, &call, &exact, o);
    }
    bench_csr_free(&decoded);
    bench_product_free(&exact);
    tess_matrix_destroy(stored);
    return status;
}

/* ---- cuSPARSE ---- */

#ifdef BENCH_CUDA
/* The product of the values as cuSPARSE holds them. */
static void make_cusparse_exact(const trial *t, const vector_pairs *v, bench_product *exact)
{
    bench_csr rounded = t->host;

    if (v->precision == TESS_PRECISION_FP64) {
        make_exact(&t->host, v, TESS_ARITHMETIC_FP64, exact);
        return;
    }
    rounded.val = bench_allocate((size_t)rounded.nnz, sizeof *rounded.val);
    for (int64_t k = 0; k < rounded.nnz; k++) {
        rounded.val[k] = (double)(float)t->host.val[k];
    }
    make_exact(&rounded, v, TESS_ARITHMETIC_FP32, exact);
    free(rounded.val);
}

static tess_status run_cusparse(trial *t, const bench_contestant *c, outcome *o)
{
    void *x[BENCH_MOST_PAIRS], *y[BENCH_MOST_PAIRS];
    vector_pairs *v = pairs_of(t, c);
    bench_product exact = {0};
    bench_cusparse *s = NULL;
    char reason[160], text[224];
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < t->rotation.pairs; k++) {
        x[k] = tess_vector_data(v->x[k]);
        y[k] = tess_vector_data(v->y[k]);
    }
    status = bench_cusparse_create(t->a, &t->host, (bench_cusparse_kind)c->kind, v->precision, t->rotation.pairs, x, y,
                                   &s, &o->setup_seconds, reason, sizeof reason);
    if (status == TESS_UNSUPPORTED) {
        snprintf(text, sizeof text, "%s: %s", c->name, reason);
        bench_skip(t->run, t->which->name, text);
        return TESS_SUCCESS;
    }
    make_cusparse_exact(t, v, &exact);
    o->bytes = bench_cusparse_bytes(s);
    status = measure_and_check(t, v, bench_cusparse_call, s, &exact, o);
    bench_cusparse_destroy(s);
    bench_product_free(&exact);
    return status;
}
#endif

/* ---- report ---- */

/* The outcome of cuSPARSE's `kind` with vectors of the same precision; NULL: it did not run. */
static const outcome *baseline_of(const trial *t, const bench_contestant *c, int kind)
{
    for (int i = 0; i < t->count; i++) {
        const bench_contestant *b = &t->contestants[i];

        if (!b->ours && b->kind == kind && b->vectors == c->vectors && t->outcomes[i].ran) { return &t->outcomes[i]; }
    }
    return NULL;
}

static json_t *speedups(const trial *t, const bench_contestant *c, const outcome *o)
{
    json_t *json = json_object();

    for (int i = 0; i < t->count; i++) {
        const bench_contestant *b = &t->contestants[i];

        if (!b->ours && b->vectors == c->vectors && t->outcomes[i].ran) {
            json_object_set_new(json, b->name, json_real(t->outcomes[i].time.median / o->time.median));
        }
    }
    return json;
}

static void report_row(trial *t, int index)
{
    const bench_contestant *c = &t->contestants[index];
    const outcome *o = &t->outcomes[index], *csr = baseline_of(t, c, 0);
    double rate = (double)o->bytes / o->time.median, share = rate / bench_ceiling_of(t->run);
    const bool fp32 = c->ours ? c->storage.arithmetic == TESS_ARITHMETIC_FP32 : c->vectors == TESS_PRECISION_FP32;
    char speedup[32] = "-";
    json_t *row =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:s}", "matrix", t->which->name, "nrows", (json_int_t)t->host.nrows,
                  "ncols", (json_int_t)t->host.ncols, "nnz", (json_int_t)t->host.nnz, "kernel", c->name, "precision",
                  tess_precision_name(c->storage.precision));

    json_object_set_new(row, "vectors", json_string(tess_precision_name(c->vectors)));
    json_object_set_new(row, "arithmetic", json_string(fp32 ? "fp32" : "fp64"));
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
    if (c->ours) { json_object_set_new(row, "speedup_over", speedups(t, c, o)); }
    if (csr) { snprintf(speedup, sizeof speedup, "%.2f", csr->time.median / o->time.median); }
    printf("%-22s %9lld %9lld  %-22s %10.2f %8.1f %6.1f%% %9.1f %8s  %s\n", t->which->name, (long long)t->host.nrows,
           (long long)t->host.nnz, c->name, 1e6 * o->time.median, 1e-9 * rate, 100.0 * share,
           o->setup_seconds / o->time.median, speedup, t->rotation.in_cache ? "in cache" : "");
    bench_add(t->run, row);
}

static void collect(const trial *t, int index, means *m)
{
    const outcome *o = &t->outcomes[index];
    const outcome *csr = baseline_of(t, &t->contestants[index], 0), *sell = baseline_of(t, &t->contestants[index], 2);

    if (!o->ran || !t->contestants[index].ours) { return; }
    if (csr) { bench_mean_add(&m->over_csr, csr->time.median / o->time.median); }
    if (sell) { bench_mean_add(&m->over_sell, sell->time.median / o->time.median); }
    if (!t->rotation.in_cache) {
        bench_mean_add(&m->share, (double)o->bytes / o->time.median / bench_ceiling_of(t->run));
    }
}

static void print_mean(json_t *json, const char *name, const char *what, const bench_mean *mean)
{
    char key[96];

    if (mean->count == 0) { return; }
    snprintf(key, sizeof key, "%.47s %.47s", name, what);
    printf("  %-58s %6.3f  (%d matrices)\n", key, bench_mean_value(mean), mean->count);
    json_object_set_new(json, key, json_pack("{s:f, s:i}", "value", bench_mean_value(mean), "matrices", mean->count));
}

static void report_means(bench_run *run, const bench_contestant *contestants, int count, const means *m)
{
    json_t *json = json_object();

    printf("geometric means\n");
    for (int i = 0; i < count; i++) {
        print_mean(json, contestants[i].name, "over cusparse-csr", &m[i].over_csr);
        print_mean(json, contestants[i].name, "over cusparse-sell", &m[i].over_sell);
        print_mean(json, contestants[i].name, "share of bandwidth, not in cache", &m[i].share);
    }
    json_object_set_new(run->root, "geometric_means", json);
}

/* ---- driver ---- */

static tess_status run_contestant(trial *t, int index)
{
    const bench_contestant *c = &t->contestants[index];

    if (c->ours) { return run_ours(t, c, &t->outcomes[index]); }
#ifdef BENCH_CUDA
    return run_cusparse(t, c, &t->outcomes[index]);
#else
    return TESS_SUCCESS;
#endif
}

static void run_case(bench_run *run, const bench_case *which, const bench_contestant *contestants, int count, means *m)
{
    trial t = {.run = run, .which = which, .contestants = contestants, .count = count};
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
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        status = run_contestant(&t, i);
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "SpMV", status); }
    for (int i = 0; i < count; i++) {
        if (t.outcomes[i].ran) { report_row(&t, i); }
        collect(&t, i, &m[i]);
    }
    release(&t);
}

/* Kernels are loaded at their first use; a small matrix takes that out of the set-up times. */
static void load_kernels(bench_run *run, const bench_contestant *contestants, int count)
{
    static const char *const order[] = {"64"};
    tess_matrix *a = NULL;

    if (tess_gallery_create(run->ctx, "laplace2d", 1, order, &a) != TESS_SUCCESS) {
        bench_die("cannot make a small matrix: %s", tess_context_last_error(run->ctx)->message);
    }
    for (int i = 0; i < count; i++) {
        tess_matrix *stored = NULL;

        if (contestants[i].ours) { (void)tess_matrix_convert(a, &contestants[i].storage, &stored); }
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(a);
}

int main(int argc, char **argv)
{
    static const struct argp program = {
        .options = bench_spmv_table,
        .parser = bench_spmv_parse,
        .doc = "Times y = A x and checks every result. Default: the set large, and laplace3d-100.\v"
               "Times are medians of device events (GPU) or of a wall clock (host). cuSPARSE's work space and "
               "preprocessing are outside of its times; speed-up is over cusparse-csr with vectors of the same "
               "precision. Bytes by model: the stored matrix with its padding, x once, y once. NAME-fp64-on-fp32 has "
               "values and vectors in fp32 and fp64 arithmetic, NAME-all-fp32 fp32 arithmetic too."};
    bench_options options;
    bench_spmv_options spmv = {.nformats = 0};
    bench_contestant contestants[BENCH_MOST_CONTESTANTS];
    means m[BENCH_MOST_CONTESTANTS] = {0};
    bench_run run;
    bench_cases cases;
    int count;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &spmv);
    if (options.nsets + options.nmatrices == 0) {
        options.matrices[options.nmatrices++] = "gallery:laplace3d:100";
        options.sets[options.nsets++] = "large";
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "bench_spmv", true);
    count = bench_spmv_contestants(&spmv, run.gpu, contestants);
    load_kernels(&run, contestants, count);
    printf("%-22s %9s %9s  %-22s %10s %8s %7s %9s %8s\n", "matrix", "rows", "nnz", "kernel", "us", "GB/s", "share",
           "set-up", "speed-up");
    printf("%-22s %9s %9s  %-22s %10s %8s %7s %9s %8s\n", "", "", "", "", "median", "by model",
           run.gpu ? "of read" : "of triad", "in SpMVs", "over csr");
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&run, &cases.items[i], contestants, count, m);
    }
    report_means(&run, contestants, count, m);
    bench_cases_free(&cases);
    return bench_end(&run);
}
