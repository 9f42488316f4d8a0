/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x: formats and storage precisions of choice, on the host or on a GPU, against cuSPARSE on a GPU. With ellr or
 * sell and fp32 there are rows with FP32 vectors as well: fp64 arithmetic on fp32 storage against fp32 throughout.
 * Every result is checked against a product in extended precision before its time counts.
 */
#include <stdio.h>

#include "harness_spmv.h"

/* One matrix under test, and what came out. */
typedef struct trial {
    bench_trial of;
    int count;
    const bench_contestant *contestants;
    bench_outcome outcomes[BENCH_MAX_CONTESTANTS];
} trial;

typedef struct means {
    bench_mean over_csr, over_sell; /* time of cuSPARSE's in the same vector precision over this one */
    bench_mean share;               /* of the ceiling, not in cache */
} means;

/* ---- measuring ---- */

static bench_pairs *pairs_of(trial *t, const bench_contestant *c)
{
    return c->vectors == TESS_PRECISION_FP32 ? &t->of.fp32 : &t->of.fp64;
}

/* What the contestant must compute from the values that it holds. */
static void make_exact(const bench_csr *held, const bench_pairs *v, tess_arithmetic arithmetic, bench_product *out)
{
    if (v->precision == TESS_PRECISION_FP64) {
        bench_product_make(held, v->host_x, out);
    } else {
        bench_product_make_fp32(held, v->host_x, arithmetic, out);
    }
}

static tess_status run_ours(trial *t, const bench_contestant *c, bench_outcome *o)
{
    tess_matrix *stored = NULL;
    bench_csr decoded = {0};
    bench_product exact = {0};
    bench_pairs *v = pairs_of(t, c);
    bench_product_call call = {v, t->of.rotation.pairs, 0.0, NULL};
    const bench_expectation expected = {&exact, NULL, NULL};
    tess_status status = bench_trial_convert(&t->of, c, o, &stored);

    if (status == TESS_UNSUPPORTED) { return TESS_SUCCESS; }
    if (status == TESS_SUCCESS) { status = bench_csr_get(stored, &decoded); }
    if (status == TESS_SUCCESS) {
        make_exact(&decoded, v, c->storage.arithmetic, &exact);
        call.stored = stored;
        o->bytes = tess_matrix_bytes(stored) +
                   (int64_t)tess_precision_bytes(v->precision) * (t->of.host.nrows + t->of.host.ncols);
        status = bench_trial_measure(&t->of, v, bench_product_run, &call, &expected, o);
    }
    bench_csr_free(&decoded);
    bench_product_free(&exact);
    tess_matrix_destroy(stored);
    return status;
}

/* ---- report ---- */

/* The outcome of cuSPARSE's `kind` with vectors of the same precision; NULL: it did not run. */
static const bench_outcome *baseline_of(const trial *t, const bench_contestant *c, int kind)
{
    for (int i = 0; i < t->count; i++) {
        const bench_contestant *b = &t->contestants[i];

        if (!b->ours && b->kind == kind && b->vectors == c->vectors && t->outcomes[i].ran) { return &t->outcomes[i]; }
    }
    return NULL;
}

static json_t *speedups(const trial *t, const bench_contestant *c, const bench_outcome *o)
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
    const bench_outcome *o = &t->outcomes[index], *csr = baseline_of(t, c, 0);
    double rate = (double)o->bytes / o->time.median, share = rate / bench_ceiling_of(t->of.run);
    const bool fp32 = c->ours ? c->storage.arithmetic == TESS_ARITHMETIC_FP32 : c->vectors == TESS_PRECISION_FP32;
    char speedup[32] = "-";
    json_t *row = bench_row_begin(&t->of, c);

    json_object_set_new(row, "precision", json_string(tess_precision_name(c->storage.precision)));
    json_object_set_new(row, "vectors", json_string(tess_precision_name(c->vectors)));
    json_object_set_new(row, "arithmetic", json_string(fp32 ? "fp32" : "fp64"));
    bench_row_add_outcome(row, &t->of, o);
    json_object_set_new(row, "vector_pairs", json_integer(t->of.rotation.pairs));
    json_object_set_new(row, "setup_seconds", json_real(o->setup_seconds));
    json_object_set_new(row, "setup_in_spmvs", json_real(o->setup_seconds / o->time.median));
    if (c->ours) { json_object_set_new(row, "speedup_over", speedups(t, c, o)); }
    if (csr) { snprintf(speedup, sizeof speedup, "%.2f", csr->time.median / o->time.median); }
    printf("%-22s %9lld %9lld  %-22s %10.2f %8.1f %6.1f%% %9.1f %8s  %s\n", t->of.which->name,
           (long long)t->of.host.nrows, (long long)t->of.host.nnz, c->name, 1e6 * o->time.median, 1e-9 * rate,
           100.0 * share, o->setup_seconds / o->time.median, speedup, t->of.rotation.in_cache ? "in cache" : "");
    bench_add(t->of.run, row);
}

static void collect(const trial *t, int index, means *m)
{
    const bench_outcome *o = &t->outcomes[index];
    const bench_outcome *csr = baseline_of(t, &t->contestants[index], 0),
                        *sell = baseline_of(t, &t->contestants[index], 2);

    if (!o->ran || !t->contestants[index].ours) { return; }
    if (csr) { bench_mean_add(&m->over_csr, csr->time.median / o->time.median); }
    if (sell) { bench_mean_add(&m->over_sell, sell->time.median / o->time.median); }
    if (!t->of.rotation.in_cache) {
        bench_mean_add(&m->share, (double)o->bytes / o->time.median / bench_ceiling_of(t->of.run));
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

    return c->ours ? run_ours(t, c, &t->outcomes[index]) : bench_trial_theirs(&t->of, c, NULL, &t->outcomes[index]);
}

static void run_case(bench_run *run, const bench_case *which, const bench_contestant *contestants, int count, means *m)
{
    trial t = {.contestants = contestants, .count = count};
    const bench_trial_options options = {.fp32 = bench_spmv_has_fp32_vectors(contestants, count), .reach = 1.0};
    tess_status status = TESS_SUCCESS;

    if (!bench_trial_open(run, which, &options, &t.of)) { return; }
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        status = run_contestant(&t, i);
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "SpMV", status); }
    for (int i = 0; i < count; i++) {
        if (t.outcomes[i].ran) { report_row(&t, i); }
        collect(&t, i, &m[i]);
    }
    bench_trial_close(&t.of);
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
    bench_contestant contestants[BENCH_MAX_CONTESTANTS];
    means m[BENCH_MAX_CONTESTANTS] = {0};
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
    bench_load_kernels(&run, contestants, count);
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
