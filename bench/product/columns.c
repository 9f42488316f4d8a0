/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x for several columns at once, vectors by rows in the device's memory: against as many products of one column,
 * and on a GPU against cuSPARSE SpMM, its fastest algorithm and layout. Column c of x is a vector times a power of two
 * of its own: the exact product of one checks all, and no column can stand for another.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "harness/record.h"
#include "matrix/matrix.h"
#include "product/formats.h"
#ifdef BENCH_CUDA
#include "peers/cusparse_spmm.h"
#endif

enum { MOST_COUNTS = 8 };

typedef struct columns_options {
    formats_options formats;
    int64_t counts[MOST_COUNTS + 1]; /* ends with 0 */
} columns_options;

/* Ratios over the best cuSPARSE of all matrices. */
typedef struct tally {
    char name[48];
    int matrices[MOST_COUNTS];
    double logarithms[MOST_COUNTS], worst[MOST_COUNTS];
} tally;

/* One matrix with vectors for one number of columns. */
typedef struct trial {
    bench_run *run;
    const char *name;
    tess_matrix *a;
    bench_csr host;
    bench_product exact, exact32; /* of the matrix's values in FP64; in FP32 throughout */
    double *one;                  /* the vector */
    int at;                       /* of the number of columns in the options */
    int columns;
    int64_t most;          /* rows or columns of the matrix */
    double *values;        /* on the host: x or y of all columns */
    double *rows, *by_col; /* on the device: x by rows, by columns */
    double *y;
    double cusparse, cusparse32; /* least seconds; infinite: none */
} trial;

static double scale_of(int column)
{
    return ldexp(column % 2 ? -1.0 : 1.0, column / 2 - 8);
}

/* Value (i, c) of an array of n rows. */
static int64_t place(const trial *t, bool by_rows, int64_t n, int64_t i, int c)
{
    return by_rows ? i * t->columns + c : c * n + i;
}

static tess_status put_x(trial *t, bool by_rows, tess_precision precision, double *device)
{
    const int64_t n = t->host.ncols;
    float *narrow = (float *)t->values;

#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        for (int c = 0; c < t->columns; c++) {
            const double value = scale_of(c) * t->one[i];

            if (precision == TESS_PRECISION_FP32) {
                narrow[place(t, by_rows, n, i, c)] = (float)value;
            } else {
                t->values[place(t, by_rows, n, i, c)] = value;
            }
        }
    }
    return t->run->ctx->backend->upload(t->run->ctx, device, t->values,
                                        (size_t)(n * t->columns) * tess_precision_bytes(precision));
}

/* The largest error of y over its bound, over all columns. */
static tess_status check(trial *t, bool by_rows, tess_precision precision, const bench_product *exact, double *error)
{
    const int64_t n = t->host.nrows;
    const tess_status status = t->run->ctx->backend->download(
        t->run->ctx, t->values, t->y, (size_t)(n * t->columns) * tess_precision_bytes(precision));

    *error = INFINITY;
    if (status != TESS_SUCCESS) { return status; }
    double largest = 0.0;
#pragma omp parallel for reduction(max : largest) schedule(dynamic)
    for (int c = 0; c < t->columns; c++) {
        double *one = bench_allocate((size_t)n, sizeof *one);

        for (int64_t i = 0; i < n; i++) {
            const int64_t at = place(t, by_rows, n, i, c);
            const double value =
                precision == TESS_PRECISION_FP32 ? (double)((const float *)t->values)[at] : t->values[at];

            one[i] = value / scale_of(c);
        }
        largest = fmax(largest, bench_product_compare(exact, one));
        free(one);
    }
    *error = largest;
    return TESS_SUCCESS;
}

/* Times a call, then checks what it makes of a y of NaN. Infinite seconds: wrong, or it failed. */
static bench_time measure(trial *t, const char *what, bench_call call, void *user, bool by_rows,
                          tess_precision precision, const bench_product *exact)
{
    bench_time time = {.median = INFINITY};
    tess_context *ctx = t->run->ctx;
    double error = INFINITY;
    tess_status status = bench_measure(t->run, call, user, &time);

    /* a row that a kernel forgets shows: half of the NaN is one in FP32 */
    if (status == TESS_SUCCESS) { status = ctx->backend->fill(ctx, t->host.nrows * t->columns, NAN, t->y); }
    if (status == TESS_SUCCESS) { status = call(user, 0); }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(ctx); }
    if (status == TESS_SUCCESS) { status = check(t, by_rows, precision, exact, &error); }
    if (status == TESS_SUCCESS && error <= 1.0) { return time; }
    char text[160];

    snprintf(text, sizeof text, "%.60s, %d columns: error %.3g times the rounding bound", what, t->columns, error);
    bench_fault(t->run, t->name, text, status);
    return (bench_time){.median = INFINITY};
}

static void report(trial *t, const char *contestant, bool ours, tess_precision precision, bench_time time, double bytes,
                   double alone, const char *stored)
{
    const bench_record record = {.part = "columns",
                                 .matrix = t->name,
                                 .nrows = t->host.nrows,
                                 .ncols = t->host.ncols,
                                 .nnz = t->host.nnz,
                                 .contestant = contestant,
                                 .ours = ours,
                                 .precision = tess_precision_name(precision),
                                 .of = "product",
                                 .time = time,
                                 .bytes = bytes,
                                 .in_cache = bytes < (double)t->run->cache_bytes};
    const double over = t->cusparse / time.median, over32 = t->cusparse32 / time.median,
                 over_alone = alone / time.median;
    json_t *row = bench_record_row(t->run, &record);
    char text[96] = "";

    json_object_set_new(row, "columns", json_integer(t->columns));
    json_object_set_new(row, "stored", json_string(stored));
    bench_set_real(row, "over_cusparse", over);
    bench_set_real(row, "over_cusparse_fp32", over32);
    bench_set_real(row, "over_one_column", over_alone);
    if (ours && isfinite(over)) { snprintf(text, sizeof text, ", %.2f over cuSPARSE", over); }
    if (ours) {
        bench_record_add(t->run, &record, row, "k = %d (%s): %.2f over one column%s", t->columns, stored, over_alone,
                         text);
    } else {
        bench_record_add(t->run, &record, row, "k = %d", t->columns);
    }
}

/* ---- ours ---- */

typedef struct product_call {
    const trial *t;
    const tess_matrix *stored;
} product_call;

static tess_status together(void *user, int k)
{
    const product_call *p = user;
    const tess_spmv_args args = {
        .operation = TESS_OP_NONE, .x = p->t->rows, .y = p->t->y, .alpha = 1.0, .columns = p->t->columns};

    (void)k;
    return p->stored->ops->multiply_columns(p->stored, &args);
}

static tess_status one_by_one(void *user, int k)
{
    const product_call *p = user;
    tess_status status = TESS_SUCCESS;

    (void)k;
    for (int c = 0; c < p->t->columns && status == TESS_SUCCESS; c++) {
        const tess_spmv_args args = {.operation = TESS_OP_NONE,
                                     .x = p->t->by_col + c * p->t->host.ncols,
                                     .y = p->t->y + c * p->t->host.nrows,
                                     .alpha = 1.0};

        status = p->stored->ops->spmv(p->stored, &args);
    }
    return status;
}

static void count_ratio(tally *sum, const trial *t, double seconds)
{
    const double ratio = t->cusparse / seconds;

    if (!isfinite(ratio) || !(ratio > 0.0)) { return; }
    sum->worst[t->at] = sum->matrices[t->at]++ == 0 ? ratio : fmin(sum->worst[t->at], ratio);
    sum->logarithms[t->at] += log(ratio);
}

static void run_stored(trial *t, const tess_matrix *stored, const bench_product *exact, tally *sum)
{
    const int64_t vectors = 8 * (int64_t)t->columns * (t->host.nrows + t->host.ncols);
    const double bytes = (double)(tess_matrix_bytes(stored) + vectors);
    const char *format = tess_format_name(tess_matrix_format(stored));
    product_call call = {t, stored};
    const bench_time alone = measure(t, sum->name, one_by_one, &call, false, TESS_PRECISION_FP64, exact);
    const bench_time all = measure(t, sum->name, together, &call, true, TESS_PRECISION_FP64, exact);

    report(t, sum->name, true, tess_matrix_precision(stored), all, bytes, alone.median, format);
    count_ratio(sum, t, all.median);
}

static void skip(const trial *t, const tally *sum, const char *why)
{
    char text[640];

    snprintf(text, sizeof text, "%.47s: %.500s", sum->name, why);
    bench_skip(t->run, t->name, text);
}

static tess_status exact_of(const trial *t, const tess_matrix *stored, bench_product *out)
{
    bench_csr decoded = {0};
    const tess_status status = bench_csr_get(stored, &decoded);

    if (status == TESS_SUCCESS) { bench_product_make(&decoded, t->one, out); }
    bench_csr_free(&decoded);
    return status;
}

static void close_columns(trial *t)
{
    tess_context *ctx = t->run->ctx;

    tess_device_release(ctx, t->rows, t->host.ncols * t->columns, sizeof *t->rows);
    tess_device_release(ctx, t->by_col, t->host.ncols * t->columns, sizeof *t->by_col);
    tess_device_release(ctx, t->y, t->host.nrows * t->columns, sizeof *t->y);
    free(t->values);
    t->rows = t->by_col = t->y = t->values = NULL;
}

static tess_status open_columns(trial *t, int columns)
{
    tess_context *ctx = t->run->ctx;
    tess_status status = TESS_SUCCESS;

    t->columns = columns;
    t->values = bench_allocate((size_t)(t->most * columns), sizeof *t->values);
    TESS_TRY(tess_device_allocate(ctx, t->host.ncols * columns, sizeof *t->rows, (void **)&t->rows));
    TESS_TRY(tess_device_allocate(ctx, t->host.ncols * columns, sizeof *t->by_col, (void **)&t->by_col));
    TESS_TRY(tess_device_allocate(ctx, t->host.nrows * columns, sizeof *t->y, (void **)&t->y));
    TESS_TRY(put_x(t, true, TESS_PRECISION_FP64, t->rows));
    status = put_x(t, false, TESS_PRECISION_FP64, t->by_col);
cleanup:
    return status;
}

/* ---- theirs ---- */

#ifdef BENCH_CUDA
/* All kinds in a precision; the record is the fastest's, with the seconds of all. */
static double run_cusparse(trial *t, tess_precision precision, const bench_product *exact)
{
    const bool fp32 = precision == TESS_PRECISION_FP32;
    json_t *seconds = json_object();
    bench_time best = {.median = INFINITY};
    double bytes = 0.0;
    int fastest = 0;

    for (int kind = 0; kind < BENCH_SPMM_KINDS; kind++) {
        const bool by_rows = bench_spmm_by_rows(kind);
        char reason[160];
        bench_spmm *s = NULL;
        bench_time time = {.median = INFINITY};

        if (bench_spmm_create(t->a, kind, precision, t->columns, by_rows ? t->rows : t->by_col, t->y, &s, reason,
                              sizeof reason) == TESS_SUCCESS) {
            time = measure(t, bench_spmm_name(kind), bench_spmm_call, s, by_rows, precision, exact);
            bytes = (double)bench_spmm_bytes(s);
        }
        bench_spmm_destroy(s);
        bench_set_real(seconds, bench_spmm_name(kind), time.median);
        if (time.median < best.median) {
            best = time;
            fastest = kind;
        }
    }
    if (isfinite(best.median)) {
        report(t, fp32 ? "cusparse-spmm-fp32" : "cusparse-spmm", false, precision, best, bytes, INFINITY,
               bench_spmm_name(fastest));
        json_object_set(json_array_get(t->run->results, json_array_size(t->run->results) - 1), "kinds", seconds);
    }
    json_decref(seconds);
    return best.median;
}
#endif

/* FP32 first: its x takes the place of the one in FP64. */
static tess_status run_theirs(trial *t)
{
    tess_status status = TESS_SUCCESS;

    t->cusparse = t->cusparse32 = INFINITY;
#ifdef BENCH_CUDA
    if (!t->run->gpu) { return status; }
    TESS_TRY(put_x(t, true, TESS_PRECISION_FP32, t->rows));
    TESS_TRY(put_x(t, false, TESS_PRECISION_FP32, t->by_col));
    t->cusparse32 = run_cusparse(t, TESS_PRECISION_FP32, &t->exact32);
    TESS_TRY(put_x(t, true, TESS_PRECISION_FP64, t->rows));
    TESS_TRY(put_x(t, false, TESS_PRECISION_FP64, t->by_col));
    t->cusparse = run_cusparse(t, TESS_PRECISION_FP64, &t->exact);
cleanup:
#endif
    return status;
}

/* ---- a matrix ---- */

/* What each number of columns is measured with. */
typedef struct stored_matrix {
    tess_matrix *matrix; /* NULL: the format does not take it */
    bench_product exact;
} stored_matrix;

static void store(trial *t, const columns_options *o, tally *sum, tess_format format, tess_precision precision,
                  stored_matrix *out)
{
    const tess_storage_options storage = {.size = sizeof storage,
                                          .format = format,
                                          .precision = precision,
                                          .slices.max_padding = o->formats.max_padding,
                                          .slices.window = o->formats.window};
    tess_status status = tess_matrix_convert(t->a, &storage, &out->matrix);

    snprintf(sum->name, sizeof sum->name, "%s-%s", tess_format_name(format), tess_precision_name(precision));
    if (status == TESS_SUCCESS &&
        (tess_matrix_precision(out->matrix) != precision || !out->matrix->ops->takes_columns ||
         !out->matrix->ops->takes_columns(out->matrix, false))) {
        skip(t, sum, "the format has no such product of several columns");
        tess_matrix_destroy(out->matrix);
        out->matrix = NULL;
        return;
    }
    if (status == TESS_SUCCESS && out->matrix->ops->prepare) { status = out->matrix->ops->prepare(out->matrix); }
    if (status == TESS_SUCCESS) { status = exact_of(t, out->matrix, &out->exact); }
    if (status == TESS_SUCCESS) { return; }
    skip(t, sum, tess_context_last_error(t->run->ctx)->message);
    tess_matrix_destroy(out->matrix);
    out->matrix = NULL;
}

static void run_columns(trial *t, const columns_options *o, tally *sums)
{
    const int nprecisions = o->formats.nprecisions, count = o->formats.nformats * nprecisions;
    stored_matrix *stored = bench_allocate((size_t)count, sizeof *stored);

    memset(stored, 0, (size_t)count * sizeof *stored);
    for (int k = 0; k < count; k++) {
        store(t, o, &sums[k], o->formats.formats[k / nprecisions], o->formats.precisions[k % nprecisions], &stored[k]);
    }
    for (t->at = 0; o->counts[t->at] > 0; t->at++) {
        tess_status status = open_columns(t, (int)o->counts[t->at]);

        if (status == TESS_SUCCESS) { status = run_theirs(t); }
        for (int k = 0; k < count && status == TESS_SUCCESS; k++) {
            if (stored[k].matrix) { run_stored(t, stored[k].matrix, &stored[k].exact, &sums[k]); }
        }
        close_columns(t);
        if (status != TESS_SUCCESS) { bench_fault(t->run, t->name, "vectors of several columns", status); }
    }
    for (int k = 0; k < count; k++) {
        tess_matrix_destroy(stored[k].matrix);
        bench_product_free(&stored[k].exact);
    }
    free(stored);
}

/* The vector, and what FP64 and FP32 make of the matrix as it is. */
static void make_exact(trial *t)
{
    bench_csr narrow = t->host;

    t->most = t->host.nrows > t->host.ncols ? t->host.nrows : t->host.ncols;
    t->one = bench_allocate((size_t)t->host.ncols, sizeof *t->one);
    srand(1);
    for (int64_t i = 0; i < t->host.ncols; i++) {
        t->one[i] = (double)(float)(2.0 * (double)rand() / (double)RAND_MAX - 1.0);
    }
    if (!t->run->gpu) { return; }
    bench_product_make(&t->host, t->one, &t->exact);
    narrow.val = bench_allocate((size_t)narrow.nnz, sizeof *narrow.val);
    for (int64_t k = 0; k < narrow.nnz; k++) {
        narrow.val[k] = (double)(float)t->host.val[k];
    }
    bench_product_make_fp32(&narrow, t->one, TESS_ARITHMETIC_FP32, &t->exact32);
    free(narrow.val);
}

static void run_case(bench_run *run, const bench_case *which, const columns_options *o, tally *sums)
{
    trial t = {.run = run, .name = which->name};
    char reason[640];
    tess_status status = bench_case_load(run->ctx, run->options, which, &t.a, reason, sizeof reason);

    if (status != TESS_SUCCESS || tess_matrix_nnz(t.a) == 0) {
        bench_skip(run, which->name, status == TESS_SUCCESS ? "has no nonzeros" : reason);
        tess_matrix_destroy(t.a);
        return;
    }
    status = bench_csr_get(t.a, &t.host);
    if (status == TESS_SUCCESS) {
        make_exact(&t);
        run_columns(&t, o, sums);
    } else {
        bench_fault(run, which->name, "the matrix", status);
    }
    free(t.one);
    bench_product_free(&t.exact);
    bench_product_free(&t.exact32);
    bench_csr_free(&t.host);
    tess_matrix_destroy(t.a);
}

static void print_means(const columns_options *o, const tally *sums)
{
    for (int k = 0; k < o->formats.nformats * o->formats.nprecisions; k++) {
        for (int at = 0; o->counts[at] > 0; at++) {
            const int matrices = sums[k].matrices[at];

            if (matrices == 0) { continue; }
            printf("%-16s k = %2d over cuSPARSE: mean %.2f, worst %.2f of %d matrices\n", sums[k].name,
                   (int)o->counts[at], exp(sums[k].logarithms[at] / matrices), sums[k].worst[at], matrices);
        }
    }
}

/* ---- the study ---- */

enum { KEY_COLUMNS = 800 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    columns_options *o = state->input;

    if (key == KEY_COLUMNS) {
        bench_read_sizes(state, arg, MOST_COUNTS, o->counts);
        for (int k = 0; o->counts[k] > 0; k++) {
            if (o->counts[k] < 2 || o->counts[k] > TESS_MAX_COLUMNS || (o->counts[k] & (o->counts[k] - 1)) != 0) {
                argp_error(state, "--columns: 2, 4, 8, 16 and 32 are multiplied at once");
            }
        }
        return 0;
    }
    if (key != ARGP_KEY_INIT) { return ARGP_ERR_UNKNOWN; }
    state->child_inputs[0] = &o->formats;
    return 0;
}

int study_columns(int argc, char **argv, const char *parts)
{
    static const struct argp_option own[] = {
        {"columns", KEY_COLUMNS, "K[,K..]", 0, "numbers of columns (default 2,8,32)", 0}, {0}};
    static const struct argp of_formats = {.options = formats_table, .parser = formats_parse};
    static const struct argp_child children[] = {{&of_formats, 0, NULL, 0}, {0}};
    static const struct argp program = {
        .options = own,
        .parser = parse,
        .children = children,
        .doc = "Times y = A x for several columns at once and checks every result. Default: matrices of 5 to 80 "
               "entries a row, in csr, sell, dia, ellr, tiles and auto.\vVectors by rows in the device's memory. Over "
               "one column: as many products of "
               "one column. cuSPARSE SpMM: CSR, the fastest of its algorithms, x and y by rows or by columns; its "
               "preprocessing is outside of its times. Bytes by model: the stored matrix with its padding once, x "
               "and y once for each column."};
    static const char *const usual[] = {"gallery:laplace3d:150",   "gallery:laplace3d27:128",
                                        "gallery:uniflow2d:2000",  "gallery:unstructured2d:1000000",
                                        "gallery:elasticity3d:70", "gallery:powerlaw:1000000:9500000"};
    static const char *const on_host[] = {"gallery:laplace3d27:64", "gallery:laplace3d:64", "gallery:elasticity3d:24"};
    bench_options options;
    static const tess_format formats[] = {TESS_FORMAT_CSR,  TESS_FORMAT_SELL,  TESS_FORMAT_DIA,
                                          TESS_FORMAT_ELLR, TESS_FORMAT_TILES, TESS_FORMAT_AUTO};
    columns_options o = {.counts = {2, 8, 32},
                         .formats = {.usual = formats, .nusual = (int)(sizeof formats / sizeof *formats)}};
    static tally sums[BENCH_FORMATS * TESS_PRECISION_COUNT];
    bench_cases cases;
    bench_run run;

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &o);
    bench_begin(&run, &options, "columns", true);
    if (options.nsets + options.nmatrices == 0) {
        const char *const *names = run.gpu ? usual : on_host;
        const size_t count = run.gpu ? sizeof usual / sizeof *usual : sizeof on_host / sizeof *on_host;

        memcpy(options.matrices, names, count * sizeof *names);
        options.nmatrices = (int)count;
    }
    cases = bench_cases_select(&options, NULL);
    for (size_t i = 0; i < cases.count; i++) {
        run_case(&run, &cases.items[i], &o, sums);
    }
    print_means(&o, sums);
    bench_cases_free(&cases);
    return bench_end(&run);
}
