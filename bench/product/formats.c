/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x: formats and storage precisions of choice, on the host or on a GPU, against cuSPARSE on a GPU. With ellr or
 * sell and fp32 there are rows with FP32 vectors as well: fp64 arithmetic on fp32 storage against fp32 throughout.
 * Every result is checked against a product in extended precision before its time counts.
 */
#include "product/formats.h"
#ifdef BENCH_CUDA
#include "peers/cusparse_products.h"
#endif

static tess_status run_ours(bench_trial *t, const bench_contestant *c, bench_outcome *o)
{
    tess_matrix *stored = NULL;
    bench_csr decoded = {0};
    bench_product exact = {0};
    bench_pairs *v = bench_trial_pairs(t, c);
    bench_product_call call = {v, t->rotation.pairs, 0.0, NULL};
    const bench_expectation expected = {&exact, NULL, NULL};
    tess_status status = bench_trial_convert(t, c, o, &stored);

    if (status == TESS_UNSUPPORTED) { return TESS_SUCCESS; }
    if (status == TESS_SUCCESS) { status = bench_csr_get(stored, &decoded); }
    if (status == TESS_SUCCESS) {
        bench_trial_exact(&decoded, v, c->storage.arithmetic, &exact);
        call.stored = stored;
        o->bytes =
            tess_matrix_bytes(stored) + (int64_t)tess_precision_bytes(v->precision) * (t->host.nrows + t->host.ncols);
        status = bench_trial_measure(t, v, bench_product_run, &call, &expected, o);
    }
    bench_csr_free(&decoded);
    bench_product_free(&exact);
    tess_matrix_destroy(stored);
    return status;
}

static void report(const bench_trial *t, const bench_contestant *c, const bench_outcome *o)
{
    const bench_record record = bench_trial_record(t, c, o);

    bench_record_add(t->run, &record, bench_trial_row(t, c, o, &record), "set-up %.2f ms", 1e3 * o->setup_seconds);
}

/* Complex kinds of cuSPARSE's have no part in a real matrix. */
static bool takes_part(const bench_trial *t, const bench_contestant *c)
{
#ifdef BENCH_CUDA
    return c->ours || !bench_cusparse_is_complex((bench_cusparse_kind)c->kind) || tess_matrix_is_complex(t->a);
#else
    (void)t;
    (void)c;
    return true;
#endif
}

static void run_case(bench_run *run, const bench_case *which, const bench_contestant *contestants, int count)
{
    bench_trial t;
    const bench_trial_options options = {.fp32 = formats_has_fp32_vectors(contestants, count), .reach = 1.0};
    tess_status status = TESS_SUCCESS;

    if (!bench_trial_open(run, which, &options, &t)) { return; }
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        const bench_contestant *c = &contestants[i];
        bench_outcome o = {.ran = false};

        if (!takes_part(&t, c)) { continue; }
        status = c->ours ? run_ours(&t, c, &o) : bench_trial_theirs(&t, c, NULL, &o);
        if (o.ran) { report(&t, c, &o); }
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "SpMV", status); }
    bench_trial_close(&t);
}

int study_formats(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .options = formats_table,
        .parser = formats_parse,
        .doc = "Times y = A x and checks every result. Default: the set large, and laplace3d-100.\v"
               "Times are medians of device events (GPU) or of a wall clock (host). cuSPARSE's work space and "
               "preprocessing are outside of its times. Bytes by model: the stored matrix with its padding, x once, y "
               "once. NAME-fp64-on-fp32 has "
               "values and vectors in fp32 and fp64 arithmetic, NAME-all-fp32 fp32 arithmetic too."};
    bench_options options;
    formats_options spmv = {.nformats = 0};
    bench_contestant contestants[BENCH_MAX_CONTESTANTS];
    bench_run run;
    bench_cases cases;
    int count;

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &spmv);
    if (options.nsets + options.nmatrices == 0) {
        options.matrices[options.nmatrices++] = "gallery:laplace3d:100";
        options.sets[options.nsets++] = "large";
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "formats", true);
    count = formats_contestants(&spmv, run.gpu, contestants);
    bench_load_kernels(&run, contestants, count);
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&run, &cases.items[i], contestants, count);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
