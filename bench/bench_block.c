/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = A x with a precision for each block of the matrix, as tiles and as a split by blocks (PBP), against FP64: Figures
 * 4 and 6 to 9 of Zhao et al. (2024) and the study of a block's sides. Before times count, results are held to the
 * exact product of the stored values, and these to what their assignment may have altered.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_block.h"
#include "harness_cusparse.h"

/* One matrix under test. */
typedef struct trial {
    bench_trial of;
    const bench_block_study *study;
    const bench_contestant *list;
    int count;
    double *y64, *y; /* of FP64; of the contestant */
    bench_block_record *record;
} trial;

/* ---- one contestant ---- */

static tess_status measure_ours(trial *t, const bench_contestant *c, const tess_matrix *stored, const bench_csr *held,
                                bench_block_result *r)
{
    bench_product_call call = {&t->of.fp64, t->of.rotation.pairs, 0.0, stored};
    bench_product exact = {0};
    const bench_expectation expected = {&exact, NULL, t->y};
    tess_status status = TESS_SUCCESS;

    bench_product_make(held, t->of.fp64.host_x, &exact);
    r->outcome.bytes = bench_block_bytes(c, stored);
    r->stored_bytes = tess_matrix_bytes(stored);
    status = bench_trial_measure(&t->of, &t->of.fp64, bench_product_run, &call, &expected, &r->outcome);
    bench_product_free(&exact);
    return status;
}

static tess_status run_ours(trial *t, const bench_contestant *c, bench_block_result *r)
{
    const tess_assignment_summary *summary = NULL;
    tess_matrix *stored = NULL;
    bench_csr held = {0};
    tess_status status = bench_trial_set_up(&t->of, c, &r->outcome, &stored);

    if (status == TESS_SUCCESS) { status = bench_csr_get(stored, &held); }
    if (status == TESS_SUCCESS) {
        summary = bench_block_summary(stored);
        r->mixed = summary != NULL;
        if (summary) { r->summary = *summary; }
        if (bench_block_is_assigned(&t->of.host, &held, summary)) {
            status = measure_ours(t, c, stored, &held, r);
        } else {
            char text[96];

            snprintf(text, sizeof text, "%s: values are altered that should not be", c->name);
            bench_fault(t->of.run, t->of.which->name, text, TESS_SUCCESS);
        }
    }
    bench_csr_free(&held);
    tess_matrix_destroy(stored);
    return status == TESS_UNSUPPORTED ? TESS_SUCCESS : status;
}

static void count_digits(const trial *t, bench_block_result *r)
{
    int64_t elements[TESS_MAX_DIGITS + 1] = {0};

#pragma omp parallel for reduction(+ : elements[:TESS_MAX_DIGITS + 1])
    for (int64_t i = 0; i < t->of.host.nrows; i++) {
        elements[tess_significant_digits(t->y64[i], t->y[i])] += 1;
    }
    memcpy(r->digits.elements, elements, sizeof elements);
}

static tess_status run_contestant(trial *t, int index)
{
    const bench_contestant *c = &t->list[index];
    bench_block_result *r = &t->record->of[index];
    tess_status status = c->ours ? run_ours(t, c, r) : bench_trial_theirs(&t->of, c, t->y, &r->outcome);

    r->ran = status == TESS_SUCCESS && r->outcome.ran;
    if (!r->ran) { return status; }
    if (!c->ours) { r->stored_bytes = r->outcome.bytes - 8 * (t->of.host.nrows + t->of.host.ncols); }
    if (index == BENCH_BLOCK_FP64) { memcpy(t->y64, t->y, (size_t)t->of.host.nrows * sizeof *t->y); }
    count_digits(t, r);
    return TESS_SUCCESS;
}

/* ---- one matrix ---- */

/* The time of cuSPARSE's SELL; NaN: it did not run. */
static double sell_seconds(const trial *t)
{
    for (int i = 0; i < t->count; i++) {
        const bench_contestant *c = &t->list[i];

        if (t->record->of[i].ran && !c->ours && !c->peer && c->kind == BENCH_CUSPARSE_SELL) {
            return t->record->of[i].outcome.time.median;
        }
    }
    return NAN;
}

static void set_shares(const trial *t, bench_block_result *r)
{
    const tess_assignment_summary *s = &r->summary;
    const double places = (double)s->items * s->options.block_rows * s->options.block_cols;

    r->low_blocks = r->mixed ? 1.0 - (double)s->items_at[0] / (double)s->items : NAN;
    r->low_nonzeros = r->mixed ? 1.0 - (double)s->nonzeros_at[0] / (double)t->of.host.nnz : NAN;
    r->fill = r->mixed ? (double)t->of.host.nnz / places : NAN;
}

/* Once all have run: ratios to those that are bases, and the report. */
static void report_all(trial *t)
{
    const bench_block_result *fp64 = &t->record->of[BENCH_BLOCK_FP64];
    const bench_block_result *cusparse = &t->record->of[BENCH_BLOCK_CUSPARSE];
    const double sell = sell_seconds(t);

    for (int i = 0; i < t->count; i++) {
        bench_block_result *r = &t->record->of[i];
        const double seconds = r->outcome.time.median, base = fp64->outcome.time.median;

        if (!r->ran) { continue; }
        set_shares(t, r);
        r->over_fp64 = base / seconds;
        r->over_cusparse = cusparse->ran ? cusparse->outcome.time.median / seconds : NAN;
        r->over_sell = sell / seconds;
        r->of_its_bytes = r->over_fp64 * (double)r->outcome.bytes / (double)fp64->outcome.bytes;
        r->stored_ratio = (double)r->stored_bytes / (double)fp64->stored_bytes;
        r->setup = r->outcome.setup_seconds / base;
        r->first_setup = r->outcome.first_setup_seconds > 0.0 ? r->outcome.first_setup_seconds / base : NAN;
        bench_block_report(t->study, &t->of, &t->list[i], t->record, r);
    }
}

/* Without FP64 there is nothing to compare with. */
static tess_status run_all(trial *t)
{
    tess_status status = bench_block_nonzeros(t->of.a, &t->record->per_block);

    for (int i = 0; i < t->count && status == TESS_SUCCESS; i++) {
        status = run_contestant(t, i);
        if (!t->record->of[BENCH_BLOCK_FP64].ran) { return status; }
    }
    if (status == TESS_SUCCESS) { report_all(t); }
    for (int i = 0; i < t->count && status == TESS_SUCCESS && t->study->has_stages; i++) {
        if (t->list[i].ours && t->record->of[i].ran) {
            bench_block_report_stages(&t->of, &t->list[i], t->record->of[BENCH_BLOCK_FP64].outcome.time.median);
        }
    }
    return status;
}

/* False: the matrix could not be had. */
static bool run_case(trial *t, bench_run *run, const bench_case *which)
{
    const bench_trial_options options = {.reach = 1.0};
    tess_status status = TESS_SUCCESS;

    if (!bench_trial_open(run, which, &options, &t->of)) { return false; }
    snprintf(t->record->name, sizeof t->record->name, "%s", which->name);
    t->record->in_cache = t->of.rotation.in_cache;
    t->y64 = bench_allocate((size_t)t->of.host.nrows, sizeof *t->y64);
    t->y = bench_allocate((size_t)t->of.host.nrows, sizeof *t->y);
    status = run_all(t);
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, t->study->name, status); }
    free(t->y64);
    free(t->y);
    bench_trial_close(&t->of);
    return true;
}

/* ---- driver ---- */

static void run_study(bench_run *run, const bench_cases *cases, const bench_block_study *study)
{
    bench_contestant list[BENCH_BLOCK_MAX];
    const int count = bench_block_contestants(study, list);
    bench_block_records records = {bench_allocate(cases->count, sizeof *records.items), 0};

    printf("\n%s: %s\n", study->name, study->title);
    bench_load_kernels(run, list, count);
    bench_block_print_head(run->gpu);
    for (size_t i = 0; i < cases->count; i++) {
        trial t = {.study = study, .list = list, .count = count, .record = &records.items[records.count]};

        records.count += run_case(&t, run, &cases->items[i]);
    }
    bench_block_report_means(run, study, list, count, &records);
    if (study->has_goals) { bench_block_report_goals(run, list, count, &records); }
    free(records.items);
}

int main(int argc, char **argv)
{
    static const struct argp program = {
        .options = bench_block_table,
        .parser = bench_block_parse,
        .doc =
            "Times y = A x with a precision for each block against FP64, and checks every result. Default: the set "
            "large.\vTILES and PBP (split by blocks, over csr, ellr, sell and dia) read x in FP64 and compute in FP64. "
            "NAME-reimplemented is a published method written anew, not its authors' code. Set-up is conversion with "
            "its policy and what the first product would prepare, in products of csr-fp64; for others what they "
            "prepare. Digits are those of y against y of csr-fp64, x uniform in (-1, 1). A matrix is blocky from 4 "
            "nonzeros on in a block of 16 x 16 that holds any."};
    bench_options options;
    bench_block_options block = {.studies = "goals"};
    bench_contestant list[BENCH_BLOCK_MAX];
    bench_run run;
    bench_cases cases;
    const bench_block_study *study = NULL;
    bool done = false;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &block);
    cases = bench_cases_select(&options, "large");
    bench_begin(&run, &options, "bench_block", block.product == NULL);
    for (int k = 0; !done && (study = bench_block_study_at(k)) != NULL; k++) {
        if (!bench_is_named(block.studies, study->name)) { continue; }
        done = block.product != NULL;
        if (block.product) {
            bench_run_products(&run, &cases, block.product, list, bench_block_contestants(study, list));
        } else {
            run_study(&run, &cases, study);
        }
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
