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

#include "papers/block.h"
#include "papers/one_product.h"
#include "papers/papers.h"
#include "papers/set_up.h"
#include "peers/cusparse_products.h"

/* One matrix under test. */
typedef struct trial {
    bench_trial of;
    const bench_block_study *study;
    const bench_contestant *list;
    int count;
    double *y64, *y;  /* of FP64; of the contestant */
    double per_block; /* nonzeros of a block of 16 x 16 that holds any */
    bench_block_result of_each[BENCH_BLOCK_MAX];
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
    bench_block_result *r = &t->of_each[index];
    tess_status status = c->ours ? run_ours(t, c, r) : bench_trial_theirs(&t->of, c, t->y, &r->outcome);

    r->ran = status == TESS_SUCCESS && r->outcome.ran;
    if (!r->ran) { return status; }
    if (!c->ours) { r->stored_bytes = r->outcome.bytes - 8 * (t->of.host.nrows + t->of.host.ncols); }
    if (index == BENCH_BLOCK_FP64) { memcpy(t->y64, t->y, (size_t)t->of.host.nrows * sizeof *t->y); }
    count_digits(t, r);
    return TESS_SUCCESS;
}

/* ---- one matrix ---- */

/* Without FP64 there is nothing to compare with. */
static tess_status run_all(trial *t)
{
    tess_status status = bench_block_nonzeros(t->of.a, &t->per_block);

    for (int i = 0; i < t->count && status == TESS_SUCCESS; i++) {
        status = run_contestant(t, i);
        if (!t->of_each[BENCH_BLOCK_FP64].ran) { return status; }
    }
    for (int i = 0; i < t->count && status == TESS_SUCCESS; i++) {
        if (t->of_each[i].ran) { bench_block_report(t->study, &t->of, &t->list[i], t->per_block, &t->of_each[i]); }
    }
    for (int i = 0; i < t->count && status == TESS_SUCCESS && t->study->has_stages; i++) {
        if (t->list[i].ours && t->of_each[i].ran) {
            bench_block_report_stages(&t->of, &t->list[i], t->of_each[BENCH_BLOCK_FP64].outcome.time.median);
        }
    }
    return status;
}

static void run_case(trial *t, bench_run *run, const bench_case *which)
{
    const bench_trial_options options = {.reach = 1.0};
    tess_status status = TESS_SUCCESS;

    if (!bench_trial_open(run, which, &options, &t->of)) { return; }
    t->y64 = bench_allocate((size_t)t->of.host.nrows, sizeof *t->y64);
    t->y = bench_allocate((size_t)t->of.host.nrows, sizeof *t->y);
    status = run_all(t);
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, t->study->name, status); }
    free(t->y64);
    free(t->y);
    bench_trial_close(&t->of);
}

/* ---- driver ---- */

static void run_part(bench_run *run, const bench_cases *cases, const bench_block_study *study, const char *contestants)
{
    bench_contestant list[BENCH_BLOCK_MAX];
    const int count = bench_block_choose(contestants, list, bench_block_contestants(study, list));

    printf("\n%s: %s\n", study->name, study->title);
    bench_load_kernels(run, list, count);
    for (size_t i = 0; i < cases->count; i++) {
        trial *t = bench_allocate(1, sizeof *t);

        t->study = study;
        t->list = list;
        t->count = count;
        run_case(t, run, &cases->items[i]);
        free(t);
    }
}

int study_block(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .options = bench_block_table,
        .parser = bench_block_parse,
        .doc =
            "Times y = A x with a precision for each block against FP64, and checks every result. Default: the set "
            "large, the part goals.\vTILES and PBP (split by blocks, over csr, ellr, sell and dia) read x in FP64 and "
            "compute in FP64. NAME-reimplemented is a published method written anew, not its authors' code. Set-up is "
            "conversion with its policy and what the first product would prepare; for others what they prepare. Digits "
            "are those of y against y of csr-fp64, x uniform in (-1, 1). A matrix is blocky from 4 nonzeros on in a "
            "block of 16 x 16 that holds any."};
    bench_options options;
    bench_block_options block = {.product = NULL};
    bench_contestant list[BENCH_BLOCK_MAX];
    bench_run run;
    bench_cases cases;
    const bench_block_study *study = NULL;
    bool done = false;

    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &block);
    cases = bench_cases_select(&options, "large");
    bench_begin(&run, &options, "block", block.product == NULL);
    for (int k = 0; !done && (study = bench_block_study_at(k)) != NULL; k++) {
        if (!bench_is_named(parts ? parts : "goals", study->name)) { continue; }
        done = block.product != NULL;
        if (block.product) {
            bench_run_products(&run, &cases, block.product, list, bench_block_contestants(study, list));
        } else {
            run_part(&run, &cases, study, block.contestants);
        }
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
