/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of the SpMV studies' JSON reports have in common. */
#include <math.h>

#include "harness_product.h"

json_t *bench_real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *bench_row_begin(const bench_trial *t, const bench_contestant *c)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:s}", "matrix", t->which->name, "nrows", (json_int_t)t->host.nrows, "ncols",
                     (json_int_t)t->host.ncols, "nnz", (json_int_t)t->host.nnz, "kernel", c->name);
}

void bench_row_add_outcome(json_t *row, const bench_trial *t, const bench_outcome *o)
{
    const double rate = (double)o->bytes / o->time.median;

    json_object_set_new(row, "seconds", json_real(o->time.median));
    json_object_set_new(row, "seconds_lowest", json_real(o->time.lowest));
    json_object_set_new(row, "seconds_highest", json_real(o->time.highest));
    json_object_set_new(row, "samples", json_integer(o->time.samples));
    json_object_set_new(row, "calls_per_sample", json_integer(o->time.calls));
    json_object_set_new(row, "bytes_by_model", json_integer(o->bytes));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate));
    json_object_set_new(row, "share_of_measured_bandwidth", json_real(rate / bench_ceiling_of(t->run)));
    json_object_set_new(row, "in_cache", json_boolean(t->rotation.in_cache));
    json_object_set_new(row, "error_over_bound", json_real(o->error));
}
