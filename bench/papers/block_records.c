/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the study of storage by blocks. */
#include <math.h>
#include <stdio.h>

#include "papers/block.h"
#include "papers/split.h"

static const double blocky_from = 4.0; /* nonzeros a block */

/* What assigned precisions, and shares of blocks and nonzeros below the first. */
static void add_policy(json_t *row, const bench_trial *t, const tess_assignment_summary *s)
{
    const tess_policy_options *policy = &s->options;
    const double places = (double)s->items * policy->block_rows * policy->block_cols;
    char text[64];

    json_object_set_new(row, "policy", json_string(tess_policy_name(policy->policy)));
    json_object_set_new(row, "policy_parameter", json_real(policy->parameter));
    snprintf(text, sizeof text, "%dx%d", policy->block_rows, policy->block_cols);
    json_object_set_new(row, "block", json_string(text));
    json_object_set_new(row, "range", json_real(s->range[policy->nlevels - 1]));
    json_object_set_new(row, "blocks", json_integer(s->items));
    json_object_set_new(row, "low_blocks", json_real(1.0 - (double)s->items_at[0] / (double)s->items));
    json_object_set_new(row, "low_nonzeros", json_real(1.0 - (double)s->nonzeros_at[0] / (double)t->host.nnz));
    json_object_set_new(row, "fill", json_real((double)t->host.nnz / places));
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
                        double per_block, const bench_block_result *r)
{
    bench_record record = bench_trial_record(t, c, &r->outcome);
    char levels[64];
    json_t *row = NULL;

    record.part = study->name;
    if (r->mixed) { record.precision = bench_levels_text(&r->summary.options, levels, sizeof levels); }
    row = bench_trial_row(t, c, &r->outcome, &record);
    json_object_set_new(row, "nonzeros_per_block_of_16x16", json_real(per_block));
    json_object_set_new(row, "blocky", json_boolean(per_block >= blocky_from));
    json_object_set_new(row, "stored_bytes", json_integer(r->stored_bytes));
    if (r->mixed) { add_policy(row, t, &r->summary); }
    add_digits(row, r);
    bench_record_add(t->run, &record, row, "set-up %.2f ms, %.1f %% with 7 digits%s", 1e3 * r->outcome.setup_seconds,
                     100.0 * tess_digits_accuracy_ratio(&r->digits), per_block >= blocky_from ? "" : ", not blocky");
}
