/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the study of split and composite storage. */
#include <math.h>

#include "papers/split.h"

static bool is_mixed(const bench_contestant *c)
{
    return c->ours && (c->storage.format == TESS_FORMAT_SPLIT || c->storage.format == TESS_FORMAT_COMPOSITE);
}

static void add_storage(json_t *row, const bench_contestant *c)
{
    static const char *const orders[] = {"original", "permuted", "symmetric"};
    const tess_storage_options *s = &c->storage;

    json_object_set_new(row, "base", json_string(tess_format_name(is_mixed(c) ? s->split.base : s->format)));
    json_object_set_new(row, "row_order", json_string(orders[s->split.row_order]));
    if (!bench_split_has_policy(c)) { return; }
    json_object_set_new(row, "granularity", json_string(tess_granularity_name(s->policy.granularity)));
    json_object_set_new(row, "policy", json_string(tess_policy_name(s->policy.policy)));
    json_object_set_new(row, "policy_parameter", json_real(s->policy.parameter));
    json_object_set_new(row, "share", s->policy.at_most_one ? json_string("at-most-one") : json_real(s->policy.share));
}

void bench_split_report(const bench_split_row *line)
{
    const bench_contestant *c = line->contestant;
    const tess_storage_options *s = &c->storage;
    tess_policy_options policy = s->policy;
    bench_record record = bench_trial_record(line->trial, c, line->outcome);
    char levels[64];
    json_t *row = NULL;

    tess_policy_default_levels(&policy);
    if (is_mixed(c)) { record.precision = bench_levels_text(&policy, levels, sizeof levels); }
    row = bench_trial_row(line->trial, c, line->outcome, &record);
    add_storage(row, c);
    json_object_set_new(row, "vectors", json_string("fp64"));
    json_object_set_new(row, "arithmetic", json_string(s->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64"));
    json_object_set_new(row, "density", json_real(line->density));
    bench_set_real(row, "low_share", line->low_share);
    bench_set_real(row, "relative_residual", line->residual);
    bench_set_real(row, "relative_residual_bound", line->bound);
    bench_set_real(row, "residual_over_bound", line->over_bound);
    bench_record_add(line->trial->run, &record, row, "residual %.2e, %.3f of its bound", line->residual,
                     line->over_bound);
}
