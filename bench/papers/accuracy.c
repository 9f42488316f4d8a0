/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relative errors by storage and arithmetic precision, over seeds (Gruetzmacher et al. 2023, section 4 and appendix:
 * Figures 7, 9, 11, 14), against the exact result for the values before they are rounded to storage ("unrounded") and
 * for those that were stored ("stored": what arithmetic and the result's rounding alone do).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/accuracy.h"
#include "papers/papers.h"

typedef struct accuracy_study {
    const char *name;
    accuracy_operation operation;
    int64_t sizes[10]; /* ended by 0 */
} accuracy_study;

static const accuracy_study studies[] = {
    {"dot", ACCURACY_DOT, {64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 0}},
    {"gemv", ACCURACY_GEMV, {64, 128, 256, 512, 1024, 2048, 4096, 0}},
    {"trsv-lower", ACCURACY_TRSV_LOWER, {64, 128, 256, 512, 1024, 2048, 4096, 0}},
    {"trsv-upper", ACCURACY_TRSV_UPPER, {64, 128, 256, 512, 1024, 2048, 4096, 0}},
};
enum { STUDIES = sizeof studies / sizeof *studies, MAX_SEEDS = 1000, MAX_SIZES = 16, QUICK_MAX = 1024 };

/* FP32 throughout comes before FP64 on FP32, which is held against it; kinds of one storage stand together. */
#define ACCURACY_KIND(STORAGE, ARITHMETIC, INVERSION, cublas)                                       \
    {                                                                                               \
        TESS_PRECISION_##STORAGE, TESS_ARITHMETIC_##ARITHMETIC, TESS_ARITHMETIC_##INVERSION, cublas \
    }
static const accuracy_kind kinds[] = {
    ACCURACY_KIND(FP64, FP64, FP64, false), ACCURACY_KIND(FP32, FP32, FP32, false),
    ACCURACY_KIND(FP32, FP32, FP32, true),  ACCURACY_KIND(FP32, FP64, FP64, false),
    ACCURACY_KIND(FP32, FP64, FP32, false), ACCURACY_KIND(BF16, FP64, FP64, false),
    ACCURACY_KIND(FP16, FP64, FP64, false), ACCURACY_KIND(E4M3, FP64, FP64, false),
    ACCURACY_KIND(E5M2, FP64, FP64, false),
};
#undef ACCURACY_KIND
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const distributions[] = {"uniform", "normal"};
static const char *const references[] = {"unrounded", "stored"};
enum { DISTRIBUTIONS = 2, REFERENCES = 2 };

typedef struct accuracy_options {
    const char *operations, *distributions; /* comma-separated; NULL: all */
    int64_t sizes[MAX_SIZES + 1];           /* ended by 0; none: the study's own */
    int seeds;
} accuracy_options;

/* Errors of every kind at one size, over the seeds. */
typedef struct accuracy_table {
    bool known[KINDS];
    double error[KINDS][REFERENCES][MAX_SEEDS];
} accuracy_table;

typedef struct accuracy_run {
    bench_run *run;
    bench_cublas *cublas;
    const accuracy_options *own;
    accuracy_table *table;
} accuracy_run;

/* What is measured at: one line of the report for each kind. */
typedef struct accuracy_point {
    const char *operation, *distribution, *matrix; /* matrix: NULL but for sparse ones */
    int64_t n;
} accuracy_point;

/* ---- errors ---- */

/* ||y - exact||_2 / ||exact||_2; infinite where y is not finite. */
static double relative_error(int64_t n, const double *y, const long double *exact)
{
    long double difference = 0.0L, norm = 0.0L;

    for (int64_t i = 0; i < n; i++) {
        difference += (y[i] - exact[i]) * (y[i] - exact[i]);
        norm += exact[i] * exact[i];
    }
    if (norm == 0.0L) { return difference == 0.0L ? 0.0 : INFINITY; }
    difference = sqrtl(difference / norm);
    return isfinite((double)difference) ? (double)difference : INFINITY;
}

/* Adds the errors of all kinds on one problem as number `seed`. */
static tess_status measure(const accuracy_run *r, const accuracy_problem *p, int seed)
{
    double *a = bench_allocate((size_t)p->na, sizeof *a), *x = bench_allocate((size_t)p->nx, sizeof *x);
    double *y = bench_allocate((size_t)p->ny, sizeof *y);
    long double *exact = bench_allocate((size_t)p->ny, sizeof *exact);
    long double *unrounded = bench_allocate((size_t)p->ny, sizeof *unrounded);
    tess_status status = TESS_SUCCESS;

    accuracy_exact(p, p->a, p->x, unrounded);
    for (int k = 0; k < KINDS && status == TESS_SUCCESS; k++) {
        status = accuracy_compute(r->run, r->cublas, p, &kinds[k], a, x, y);
        r->table->known[k] = status == TESS_SUCCESS;
        if (status == TESS_UNSUPPORTED) {
            status = TESS_SUCCESS;
            continue;
        }
        if (k == 0 || kinds[k].storage != kinds[k - 1].storage) { accuracy_exact(p, a, x, exact); }
        r->table->error[k][0][seed] = relative_error(p->ny, y, unrounded);
        r->table->error[k][1][seed] = relative_error(p->ny, y, exact);
    }
    free(a);
    free(x);
    free(y);
    free(exact);
    free(unrounded);
    return status;
}

/* ---- report ---- */

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double mean_of(const double *errors, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++) {
        sum += errors[i];
    }
    return sum / count;
}

static double median_of(const double *errors, int count)
{
    double sorted[MAX_SEEDS];

    memcpy(sorted, errors, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

/* E[d^2] / E[v^2] of rounding to nearest, in units of u^2; docs/reference/accessor-accuracy.md derives them. */
static const double rounding_variance[DISTRIBUTIONS] = {1.0 / 7.0, 0.180953};

/*
 * What storage alone does to a dense product, summed in FP64 (mean), or to a dot product (median): 0 where there is no
 * prediction. A result is nearly normal, whatever the values are.
 */
static double predicted_error(const accuracy_point *at, int k, const char *reference)
{
    const bool uniform = strcmp(at->distribution, distributions[ACCURACY_UNIFORM]) == 0;
    const bool unrounded = strcmp(reference, references[0]) == 0;
    const double u = tess_precision_unit_roundoff(kinds[k].storage);
    const double in = rounding_variance[uniform ? ACCURACY_UNIFORM : ACCURACY_NORMAL];
    const double out = tess_precision_unit_roundoff(TESS_PRECISION_FP32);
    double variance = unrounded ? 2.0 * in * u * u : 0.0;

    if (kinds[k].arithmetic != TESS_ARITHMETIC_FP64 || kinds[k].storage == TESS_PRECISION_FP64 || at->matrix) {
        return 0.0;
    }
    if (strcmp(at->operation, "gemv") == 0) { variance += rounding_variance[ACCURACY_NORMAL] * out * out; }
    return strncmp(at->operation, "trsv", 4) == 0 ? 0.0 : sqrt(variance);
}

/* What sets a kind apart from the others of its storage and arithmetic. */
static const char *note_of(int k)
{
    return kinds[k].cublas ? "cublas" : kinds[k].inversion != kinds[k].arithmetic ? "inv-fp32" : "";
}

/* Mean and median over the seeds, against one reference; and what rounding to storage alone should give. */
static json_t *errors_json(const accuracy_run *r, const accuracy_point *at, int k, int reference)
{
    const double *errors = r->table->error[k][reference];
    const double predicted = predicted_error(at, k, references[reference]);
    json_t *all = json_object();

    bench_set_real(all, "mean", mean_of(errors, r->own->seeds));
    bench_set_real(all, "median", median_of(errors, r->own->seeds));
    bench_set_real(all, "predicted_by_storage", predicted > 0.0 ? predicted : NAN);
    return all;
}

static void add_record(const accuracy_run *r, const accuracy_point *at, int k)
{
    const char *arithmetic = kinds[k].arithmetic == TESS_ARITHMETIC_FP64 ? "fp64" : "fp32", *note = note_of(k);
    const char *storage = tess_precision_name(kinds[k].storage);
    char problem[96], name[48];
    const bench_record record = {.matrix = problem, .contestant = name, .ours = !kinds[k].cublas, .precision = storage};
    json_t *row = NULL;

    snprintf(problem, sizeof problem, "%s %s %lld", at->matrix ? at->matrix : at->operation, at->distribution,
             (long long)at->n);
    snprintf(name, sizeof name, "%s on %s%s%s", arithmetic, storage, note[0] ? ", " : "", note);
    row = bench_record_row(r->run, &record);
    json_object_set_new(row, "operation", json_string(at->operation));
    json_object_set_new(row, "of_matrix", at->matrix ? json_string(at->matrix) : json_null());
    json_object_set_new(row, "distribution", json_string(at->distribution));
    json_object_set_new(row, "n", json_integer(at->n));
    json_object_set_new(row, "arithmetic", json_string(arithmetic));
    json_object_set_new(row, "library", json_string(note[0] ? note : "tessera"));
    json_object_set_new(row, "seeds", json_integer(r->own->seeds));
    for (int reference = 0; reference < REFERENCES; reference++) {
        json_object_set_new(row, references[reference], errors_json(r, at, k, reference));
    }
    bench_record_add(r->run, &record, row, "mean error %.2e unrounded, %.2e stored",
                     mean_of(r->table->error[k][0], r->own->seeds), mean_of(r->table->error[k][1], r->own->seeds));
}

static void report(const accuracy_run *r, const accuracy_point *at)
{
    for (int k = 0; k < KINDS; k++) {
        if (r->table->known[k]) { add_record(r, at, k); }
    }
}

/* ---- studies ---- */

static void run_dense(const accuracy_run *r, const accuracy_study *study, accuracy_distribution distribution, int64_t n)
{
    const accuracy_point at = {.operation = study->name, .distribution = distributions[distribution], .n = n};
    tess_status status = TESS_SUCCESS;

    for (int seed = 0; seed < r->own->seeds && status == TESS_SUCCESS; seed++) {
        accuracy_problem p;

        accuracy_make(&p, study->operation, distribution, n, (uint64_t)seed + 1);
        status = measure(r, &p, seed);
        accuracy_free(&p);
    }
    if (status == TESS_SUCCESS) {
        report(r, &at);
    } else {
        bench_fault(r->run, study->name, "a study", status);
    }
}

static void run_study(const accuracy_run *r, const accuracy_study *study)
{
    const int64_t *sizes = r->own->sizes[0] > 0 ? r->own->sizes : study->sizes;
    const char *reason = "";

    if (!bench_is_named(r->own->operations, study->name)) { return; }
    if (!accuracy_possible(study->operation, &reason)) {
        bench_skip(r->run, study->name, reason);
        return;
    }
    for (int d = 0; d < DISTRIBUTIONS; d++) {
        if (!bench_is_named(r->own->distributions, distributions[d])) { continue; }
        for (const int64_t *n = sizes; *n > 0; n++) {
            if (r->run->options->quick && *n > QUICK_MAX) { break; }
            run_dense(r, study, (accuracy_distribution)d, *n);
        }
    }
}

static tess_status run_seeds(const accuracy_run *r, const tess_matrix *matrix, const bench_csr *csr,
                             accuracy_distribution distribution)
{
    tess_status status = TESS_SUCCESS;

    for (int seed = 0; seed < r->own->seeds && status == TESS_SUCCESS; seed++) {
        accuracy_problem p;

        accuracy_make_spmv(&p, matrix, csr, distribution, (uint64_t)seed + 1);
        status = measure(r, &p, seed);
        accuracy_free(&p);
    }
    return status;
}

static void run_matrix(const accuracy_run *r, const bench_case *which)
{
    char reason[256] = "";
    tess_matrix *matrix = NULL;
    bench_csr csr = {0};
    tess_status status = bench_case_load(r->run->ctx, r->run->options, which, &matrix, reason, sizeof reason);

    if (!matrix) {
        bench_skip(r->run, which->name, reason);
        return;
    }
    if (status == TESS_SUCCESS) { status = bench_csr_get(matrix, &csr); }
    for (int d = 0; d < DISTRIBUTIONS && status == TESS_SUCCESS; d++) {
        const accuracy_point at = {
            .operation = "spmv", .distribution = distributions[d], .matrix = which->name, .n = csr.nrows};

        if (!bench_is_named(r->own->distributions, distributions[d])) { continue; }
        status = run_seeds(r, matrix, &csr, (accuracy_distribution)d);
        if (status == TESS_SUCCESS) { report(r, &at); }
    }
    if (status == TESS_UNSUPPORTED) {
        bench_skip(r->run, which->name, tess_context_last_error(r->run->ctx)->message);
    } else if (status != TESS_SUCCESS) {
        bench_fault(r->run, which->name, "a product", status);
    }
    bench_csr_free(&csr);
    tess_matrix_destroy(matrix);
}

/* ---- the program ---- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    accuracy_options *own = state->input;

    switch (key) {
    case 'o': own->operations = arg; break;
    case 'D': own->distributions = arg; break;
    case 'S':
        own->seeds = atoi(arg);
        if (own->seeds < 1 || own->seeds > MAX_SEEDS) { argp_error(state, "--seeds: '%s' is not in 1..1000", arg); }
        break;
    case 'n': bench_read_sizes(state, arg, MAX_SIZES, own->sizes); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int study_accuracy(int argc, char **argv, const char *parts)
{
    static const struct argp_option table[] = {
        {"operation", 'o', "NAME[,NAME..]", 0, "only these: dot, gemv, trsv-lower, trsv-upper, spmv", 0},
        {"distribution", 'D', "NAME", 0, "only uniform (in (-1, 1)) or normal", 0},
        {"seeds", 'S', "N", 0, "default 10", 0},
        {"sizes", 'n', "N[,N..]", 0, "these sizes for every dense operation", 0},
        {0}};
    static const struct argp program = {
        .options = table,
        .parser = parse,
        .doc =
            "Relative errors of products, dot products and triangular solves by storage and arithmetic precision; the "
            "sparse ones on the matrices of --set and --matrix, in sliced ELLPACK.\v"
            "A line has the mean over the seeds, against the exact result for the values before they are rounded to "
            "storage, and for those that were stored. The report has medians too, and what rounding to storage alone "
            "should give (gemv: mean, dot: median)."};
    accuracy_options own = {.seeds = 10};
    bench_options options;
    bench_run run;
    accuracy_run r = {.run = &run, .own = &own};
    bench_cases cases;

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    bench_begin(&run, &options, "accuracy", false);
    r.table = bench_allocate(1, sizeof *r.table);
    if (run.gpu) { r.cublas = bench_cublas_open(tess_context_stream(run.ctx)); }
    for (int k = 0; k < STUDIES; k++) {
        run_study(&r, &studies[k]);
    }
    if (bench_is_named(own.operations, "spmv")) {
        cases = bench_cases_select(&options, "papers");
        for (size_t i = 0; i < cases.count; i++) {
            run_matrix(&r, &cases.items[i]);
        }
        bench_cases_free(&cases);
    }
    bench_cublas_close(r.cublas);
    free(r.table);
    return bench_end(&run);
}
