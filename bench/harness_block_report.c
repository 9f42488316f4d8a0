/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and means of the studies of storage by blocks, as text and JSON. */
#include <math.h>
#include <stdio.h>

#include "harness_block.h"
#include "harness_split.h"

static const double blocky_from = 4.0; /* nonzeros a block */

bool bench_block_is_blocky(const bench_block_record *r)
{
    return r->per_block >= blocky_from;
}

bool bench_block_counts(const bench_block_record *r, bool blocky_only)
{
    return !r->in_cache && (!blocky_only || bench_block_is_blocky(r));
}

int bench_block_count(const bench_block_records *records, bool blocky_only)
{
    int matrices = 0;

    for (int m = 0; m < records->count; m++) {
        matrices += bench_block_counts(&records->items[m], blocky_only);
    }
    return matrices;
}

/* ---- rows ---- */

void bench_block_print_head(bool gpu)
{
    printf("%-20s %-27s %9s %8s %8s %6s %8s %8s %8s %6s %6s %7s %7s %6s %6s %6s %6s\n", "matrix", "kernel", "us", "MB",
           "GB/s", "share", "over", "over", "over", "of its", "bytes", "set-up", "first", "% low", "% low", "a",
           "%, 7");
    printf("%-20s %-27s %9s %8s %8s %6s %8s %8s %8s %6s %6s %7s %7s %6s %6s %6s %6s\n", "", "", "median", "by model",
           "", gpu ? "read" : "triad", "cusparse", "sell", "csr-fp64", "bytes", "of csr", "in SpMVs", "set-up",
           "blocks", "nnz", "block", "digits");
}

/* A number, or a dash where there is none. */
static void print_number(int width, int digits, double value)
{
    if (isfinite(value)) {
        printf(" %*.*f", width, digits, value);
    } else {
        printf(" %*s", width, "-");
    }
}

static double nonzeros_per_block(const bench_trial *t, const bench_block_result *r)
{
    return r->mixed ? (double)t->host.nnz / (double)r->summary.items : NAN;
}

static void print_row(const bench_trial *t, const bench_contestant *c, const bench_block_record *record,
                      const bench_block_result *r)
{
    const double rate = (double)r->outcome.bytes / r->outcome.time.median;

    printf("%-20s %-27s %9.2f %8.1f %8.1f %5.1f%%", t->which->name, c->name, 1e6 * r->outcome.time.median,
           1e-6 * (double)r->outcome.bytes, 1e-9 * rate, 100.0 * rate / bench_ceiling_of(t->run));
    print_number(8, 3, r->over_cusparse);
    print_number(8, 3, r->over_sell);
    print_number(8, 3, r->over_fp64);
    print_number(6, 3, r->of_its_bytes);
    print_number(6, 3, r->stored_ratio);
    print_number(7, 1, r->setup);
    print_number(7, 1, r->first_setup);
    print_number(6, 1, 100.0 * r->low_blocks);
    print_number(6, 1, 100.0 * r->low_nonzeros);
    print_number(6, 1, nonzeros_per_block(t, r));
    print_number(6, 1, 100.0 * tess_digits_accuracy_ratio(&r->digits));
    printf("%s%s\n", record->in_cache ? " in cache" : "", bench_block_is_blocky(record) ? "" : " not blocky");
}

/* Precisions, and what assigned them. */
static void add_storage(json_t *row, const bench_contestant *c, const bench_block_result *r)
{
    const tess_policy_options *policy = &r->summary.options;
    char text[64];

    json_object_set_new(row, "vectors", json_string("fp64"));
    json_object_set_new(row, "arithmetic", json_string("fp64"));
    json_object_set_new(row, "precision",
                        json_string(r->mixed ? bench_levels_text(policy, text, sizeof text)
                                             : tess_precision_name(c->storage.precision)));
    if (!r->mixed) { return; }
    json_object_set_new(row, "policy", json_string(tess_policy_name(policy->policy)));
    json_object_set_new(row, "policy_parameter", json_real(policy->parameter));
    snprintf(text, sizeof text, "%dx%d", policy->block_rows, policy->block_cols);
    json_object_set_new(row, "block", json_string(text));
    json_object_set_new(row, "range", json_real(r->summary.range[policy->nlevels - 1]));
    json_object_set_new(row, "blocks", json_integer(r->summary.items));
    json_object_set_new(row, "low_blocks", json_real(r->low_blocks));
    json_object_set_new(row, "low_nonzeros", json_real(r->low_nonzeros));
    json_object_set_new(row, "fill", json_real(r->fill));
}

static void add_digits(json_t *row, const bench_block_result *r)
{
    json_t *counts = json_array();

    for (int n = 0; n <= TESS_MAX_DIGITS; n++) {
        json_array_append_new(counts, json_integer(r->digits.elements[n]));
    }
    json_object_set_new(row, "elements_by_digits", counts);
    json_object_set_new(row, "accuracy_ratio", json_real(tess_digits_accuracy_ratio(&r->digits)));
    json_object_set_new(row, "accurate", json_boolean(tess_digits_accurate(&r->digits)));
}

void bench_block_report(const bench_block_study *study, const bench_trial *t, const bench_contestant *c,
                        const bench_block_record *record, const bench_block_result *r)
{
    json_t *row = bench_row_begin(t, c);

    json_object_set_new(row, "study", json_string(study->name));
    json_object_set_new(row, "nonzeros_per_block_of_16x16", json_real(record->per_block));
    json_object_set_new(row, "blocky", json_boolean(bench_block_is_blocky(record)));
    add_storage(row, c, r);
    bench_row_add_outcome(row, t, &r->outcome);
    json_object_set_new(row, "stored_bytes", json_integer(r->stored_bytes));
    json_object_set_new(row, "stored_bytes_over_csr_fp64", json_real(r->stored_ratio));
    json_object_set_new(row, "speedup", json_real(r->over_fp64));
    json_object_set_new(row, "speedup_over_cusparse", bench_real_or_null(r->over_cusparse));
    json_object_set_new(row, "speedup_over_sell", bench_real_or_null(r->over_sell));
    json_object_set_new(row, "of_its_bytes", json_real(r->of_its_bytes));
    json_object_set_new(row, "setup_seconds", bench_real_or_null(r->outcome.setup_seconds));
    json_object_set_new(row, "setup_in_spmvs", bench_real_or_null(r->setup));
    json_object_set_new(row, "first_setup_in_spmvs", bench_real_or_null(r->first_setup));
    add_digits(row, r);
    print_row(t, c, record, r);
    bench_add(t->run, row);
}

/* ---- means ---- */

enum { OVER_CUSPARSE, OVER_SELL, OVER_FP64, OF_ITS_BYTES, STORED, SETUP, GEOMETRIC };

typedef struct means {
    int matrices, accurate;
    bench_mean of[GEOMETRIC];
    double low_blocks, low_nonzeros, fill, accuracy; /* sums */
} means;

static void add_positive(bench_mean *mean, double value)
{
    if (isfinite(value) && value > 0.0) { bench_mean_add(mean, value); }
}

static void add_result(means *m, const bench_block_result *r)
{
    m->matrices += 1;
    m->accurate += tess_digits_accurate(&r->digits);
    add_positive(&m->of[OVER_CUSPARSE], r->over_cusparse);
    add_positive(&m->of[OVER_SELL], r->over_sell);
    add_positive(&m->of[OVER_FP64], r->over_fp64);
    add_positive(&m->of[OF_ITS_BYTES], r->of_its_bytes);
    add_positive(&m->of[STORED], r->stored_ratio);
    add_positive(&m->of[SETUP], r->setup);
    m->low_blocks += r->low_blocks; /* NaN unless mixed: of all matrices or of none */
    m->low_nonzeros += r->low_nonzeros;
    m->fill += r->fill;
    m->accuracy += tess_digits_accuracy_ratio(&r->digits);
}

static void report_contestant(json_t *rows, const char *over, const bench_contestant *c, const means *m)
{
    static const char *const names[] = {"speedup_over_cusparse", "speedup_over_sell",          "speedup",
                                        "of_its_bytes",          "stored_bytes_over_csr_fp64", "setup_in_spmvs"};
    const double n = m->matrices;
    json_t *row = json_pack("{s:s, s:s, s:i}", "over", over, "kernel", c->name, "matrices", m->matrices);

    printf("  %-27s %8d", c->name, m->matrices);
    for (int k = 0; k < GEOMETRIC; k++) {
        const double value = m->of[k].count > 0 ? bench_mean_value(&m->of[k]) : NAN;

        print_number(8, 3, value);
        json_object_set_new(row, names[k], bench_real_or_null(value));
    }
    print_number(8, 1, 100.0 * m->low_blocks / n);
    print_number(8, 1, 100.0 * m->low_nonzeros / n);
    print_number(8, 1, 100.0 * m->fill / n);
    print_number(8, 2, 100.0 * m->accuracy / n);
    printf(" %8.1f\n", 100.0 * m->accurate / n);
    json_object_set_new(row, "low_blocks", bench_real_or_null(m->low_blocks / n));
    json_object_set_new(row, "low_nonzeros", bench_real_or_null(m->low_nonzeros / n));
    json_object_set_new(row, "fill", bench_real_or_null(m->fill / n));
    json_object_set_new(row, "accuracy_ratio", json_real(m->accuracy / n));
    json_object_set_new(row, "accurate_matrices", json_real(m->accurate / n));
    json_array_append_new(rows, row);
}

static void report_group(json_t *rows, bool blocky_only, const bench_contestant *list, int count,
                         const bench_block_records *records)
{
    const char *over = blocky_only ? "blocky" : "all";

    if (bench_block_count(records, blocky_only) == 0) { return; }
    printf("\nmeans over %s that do not lie in the cache: geometric ones of ratios, arithmetic ones of shares\n",
           blocky_only ? "blocky matrices" : "all matrices");
    printf("  %-27s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "kernel", "matrices", "cusparse", "sell",
           "csr-fp64", "of bytes", "bytes", "set-up", "% low bl", "% low nz", "% fill", "% 7 dig", "% accur");
    for (int i = 0; i < count; i++) {
        means m = {0};

        for (int k = 0; k < records->count; k++) {
            const bench_block_record *r = &records->items[k];

            if (r->of[i].ran && bench_block_counts(r, blocky_only)) { add_result(&m, &r->of[i]); }
        }
        if (m.matrices > 0) { report_contestant(rows, over, &list[i], &m); }
    }
}

void bench_block_report_means(bench_run *run, const bench_block_study *study, const bench_contestant *list, int count,
                              const bench_block_records *records)
{
    json_t *rows = json_array(), *all = json_object_get(run->root, "means");

    if (!all) {
        all = json_object();
        json_object_set_new(run->root, "means", all);
    }
    report_group(rows, true, list, count, records);
    report_group(rows, false, list, count, records);
    json_object_set_new(all, study->name, rows);
}
