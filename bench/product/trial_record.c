/* SPDX-License-Identifier: Apache-2.0 */
/* Records of products. */
#include <math.h>

#include "product/trial.h"

/* Of the entries: one name, or mixed where a policy gives them several. */
static const char *precision_of(const tess_storage_options *storage)
{
    if (!tess_format_can(storage->format)->takes_parts) { return tess_precision_name(storage->precision); }
    return storage->policy.nlevels == 1 ? tess_precision_name(storage->policy.level[0].precision) : "mixed";
}

bench_record bench_trial_record(const bench_trial *t, const bench_contestant *c, const bench_outcome *o)
{
    return (bench_record){.matrix = t->which->name,
                          .nrows = t->host.nrows,
                          .ncols = t->host.ncols,
                          .nnz = t->host.nnz,
                          .contestant = c->name,
                          .ours = c->ours,
                          .precision = precision_of(&c->storage),
                          .of = "product",
                          .time = o->time,
                          .bytes = (double)o->bytes,
                          .setup_seconds = o->setup_seconds,
                          .in_cache = t->rotation.in_cache};
}

json_t *bench_trial_row(const bench_trial *t, const bench_contestant *c, const bench_outcome *o,
                        const bench_record *record)
{
    const bool fp32 = !c->ours && c->vectors == TESS_PRECISION_FP32;
    const tess_arithmetic arithmetic = fp32 ? TESS_ARITHMETIC_FP32 : c->storage.arithmetic;
    json_t *row = bench_record_row(t->run, record);

    bench_set(row, "{s:s, s:s, s:i}", "vectors", tess_precision_name(c->vectors), "arithmetic",
              tess_arithmetic_name(arithmetic), "vector_pairs", t->rotation.pairs);
    bench_set_real(row, "first_setup_seconds", o->first_setup_seconds > 0.0 ? o->first_setup_seconds : NAN);
    bench_set_real(row, "error_over_bound", o->error);
    return row;
}
