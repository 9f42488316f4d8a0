/* SPDX-License-Identifier: Apache-2.0 */
/* Records of solves by GMRES, and their histories as CSV. */
#include <math.h>

#include "papers/gmres.h"

static const char *const part_names[BENCH_GMRES_PARTS] = {"product", "project", "subtract",
                                                          "norm",    "precond", "refinement"};

static const char *verdict_of(const gmres_outcome *o)
{
    return o->verified ? "verified" : o->claimed ? "FALSE" : o->reason;
}

static json_t *role_json(const tess_role_precision *role)
{
    if (!role->given) { return json_null(); }
    return json_pack("{s:s, s:s}", "storage", tess_precision_name(role->storage), "arithmetic",
                     role->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64");
}

static void add_settings(json_t *row, const gmres_problem *p, const gmres_settings *s, const gmres_variant *v)
{
    json_object_set_new(row, "precond", json_string(s->precond));
    json_object_set_new(row, "restart", json_integer(s->restart));
    json_object_set_new(row, "reorder", json_string(tess_reordering_name(s->reorder)));
    json_object_set_new(row, "rtol", json_real(s->rtol));
    json_object_set_new(row, "solver", json_string(v->theirs ? "cusparse+cublas" : tess_solver_kind_name(v->solver)));
    json_object_set_new(row, "inner", role_json(&v->inner));
    json_object_set_new(row, "basis", role_json(&v->basis));
    json_object_set_new(row, "precond_precision", role_json(&v->precond));
    json_object_set_new(row, "orthogonalization",
                        json_string(v->orthogonalization == TESS_ORTHOGONALIZATION_CGS2 ? "cgs2" : "cgs2-delayed"));
    if (v->switch_at >= 0) { json_object_set_new(row, "switch_at", json_integer(v->switch_at)); }
    json_object_set_new(row, "working_set_bytes", json_integer(gmres_working_set(p, s->restart)));
}

static void add_solve(json_t *row, const gmres_outcome *o)
{
    json_object_set_new(row, "refinements", json_integer(o->refinements));
    json_object_set_new(row, "claimed", json_boolean(o->claimed));
    json_object_set_new(row, "verified", json_boolean(o->verified));
    json_object_set_new(row, "solved", json_boolean(o->verified));
    json_object_set_new(row, "reason", json_string(o->reason));
    json_object_set_new(row, "escalated", json_boolean(o->escalated));
    bench_set_real(row, "estimated_relative_residual", o->estimated_relative);
    bench_set_real(row, "seconds_per_iteration", o->solve_time.median / (double)o->iterations);
    json_object_set_new(row, "format", json_string(tess_format_name(o->format)));
    json_object_set_new(row, "matrix_precision", json_string(tess_precision_name(o->matrix_precision)));
    if (o->product) { json_object_set_new(row, "product", json_string(o->product)); }
    json_object_set_new(row, "matrix_bytes", json_integer(o->matrix_bytes));
    json_object_set_new(row, "resident_bytes", json_integer(o->resident_bytes));
    json_object_set_new(row, "peak_device_bytes", json_integer(o->peak_bytes));
}

static void add_parts(json_t *row, const gmres_outcome *o)
{
    json_t *parts = json_object();

    for (int k = 0; k < BENCH_GMRES_PARTS && o->profiled; k++) {
        json_object_set_new(parts, part_names[k], json_real(o->part_seconds[k]));
    }
    json_object_set_new(row, "part_seconds", parts);
    bench_set_real(row, "profiled_seconds", o->profiled_seconds > 0.0 ? o->profiled_seconds : NAN);
    bench_set_real(row, "product_seconds", o->product_seconds > 0.0 ? o->product_seconds : NAN);
}

/* Not supported, or too large: a row; anything else is a failure of the run too. */
static bool is_failure(const gmres_outcome *o)
{
    switch (o->status) {
    case TESS_SUCCESS:
    case TESS_UNSUPPORTED:
    case TESS_INVALID_ARGUMENT:
    case TESS_OUT_OF_MEMORY:
    case TESS_OUT_OF_DEVICE_MEMORY: return false;
    default: return true;
    }
}

static bench_record record_of(const gmres_problem *p, const char *part, const gmres_outcome *o)
{
    const bool ran = o->samples > 0;

    return (bench_record){.part = part,
                          .set = p->set[0] != '\0' ? p->set : NULL,
                          .matrix = p->name,
                          .nrows = p->host.nrows,
                          .ncols = p->host.ncols,
                          .nnz = p->host.nnz,
                          .contestant = o->variant->name,
                          .ours = !o->variant->theirs,
                          .precision = tess_precision_name(o->matrix_precision),
                          .of = "solve",
                          .time = ran ? o->solve_time : (bench_time){.samples = 0},
                          .bytes = ran ? o->model_bytes : 0.0,
                          .setup_seconds = ran ? o->setup_time.median : 0.0,
                          .solved = ran,
                          .iterations = o->iterations,
                          .true_residual = o->true_relative,
                          .refused = o->refused ? o->reason : NULL};
}

void gmres_report(const gmres_problem *p, const gmres_settings *settings, const char *part, const gmres_outcome *o)
{
    const bench_record record = record_of(p, part, o);
    json_t *row = bench_record_row(p->run, &record);

    add_settings(row, p, settings, o->variant);
    if (o->samples > 0) { add_solve(row, o); }
    if (o->samples > 0 && settings->profile) { add_parts(row, o); }
    bench_record_add(p->run, &record, row, "%s, restart %d: %s%s", settings->precond, settings->restart, verdict_of(o),
                     o->escalated ? ", escalated" : "");
    p->run->failures += is_failure(o) ? 1 : 0;
}

void gmres_write_history(FILE *file, const gmres_problem *p, const gmres_settings *settings, const char *part,
                         const gmres_outcome *o)
{
    for (int64_t k = 0; k < o->history_length; k++) {
        if (isnan(o->history[k])) { continue; }
        fprintf(file, "\"%s\",%s,%s,%d,%s,%lld,%.9e\n", part, p->name, settings->precond, settings->restart,
                o->variant->name, (long long)k, o->history[k]);
    }
    fflush(file);
}
