/* SPDX-License-Identifier: Apache-2.0 */
/* What the contestants of bench_gmres did, as text, JSON and CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness_gmres_contest.h"

static const char *const part_names[BENCH_GMRES_PARTS] = {"product", "project", "subtract",
                                                          "norm",    "precond", "refinement"};

/* What a row is compared with. */
typedef struct references {
    const gmres_outcome *cu_fp64, *cu_ir, *fp64;
} references;

static const gmres_outcome *find(const gmres_outcome *all, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(all[i].variant->name, name) == 0) { return &all[i]; }
    }
    return NULL;
}

/* How many times as fast; NaN unless both are verified. */
static double speedup(const gmres_outcome *of, const gmres_outcome *over)
{
    return over && over->verified && of->verified ? over->solve_seconds / of->solve_seconds : NAN;
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static const char *verdict_of(const gmres_outcome *o)
{
    return o->verified ? "verified" : o->claimed ? "FALSE" : o->reason;
}

/* ---- JSON ---- */

static json_t *role_json(const tess_role_precision *role)
{
    if (!role->given) { return json_null(); }
    return json_pack("{s:s, s:s}", "storage", tess_precision_name(role->storage), "arithmetic",
                     role->arithmetic == TESS_ARITHMETIC_FP32 ? "fp32" : "fp64");
}

static json_t *describe(const gmres_problem *p, const gmres_settings *s, const char *study, const gmres_outcome *o)
{
    const gmres_variant *v = o->variant;
    json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:i, s:s, s:s, s:b}", "study", study, "matrix", p->name,
                            "set", p->set, "nrows", (json_int_t)p->host.nrows, "nnz", (json_int_t)p->host.nnz,
                            "precond", s->precond, "restart", s->restart, "reorder", tess_reordering_name(s->reorder),
                            "contestant", v->name, "baseline", v->theirs);

    json_object_set_new(row, "solver", json_string(v->theirs ? "cusparse+cublas" : tess_solver_kind_name(v->solver)));
    json_object_set_new(row, "inner", role_json(&v->inner));
    json_object_set_new(row, "basis", role_json(&v->basis));
    json_object_set_new(row, "precond_precision", role_json(&v->precond));
    json_object_set_new(row, "orthogonalization",
                        json_string(v->orthogonalization == TESS_ORTHOGONALIZATION_CGS2 ? "cgs2" : "cgs2-delayed"));
    json_object_set_new(row, "rtol", json_real(s->rtol));
    if (v->switch_at >= 0) { json_object_set_new(row, "switch_at", json_integer(v->switch_at)); }
    json_object_set_new(row, "refused", json_boolean(o->refused));
    json_object_set_new(row, "reason", json_string(o->reason));
    return row;
}

static void add_solve(json_t *row, const gmres_outcome *o)
{
    json_t *samples = json_array();

    for (int i = 0; i < o->samples; i++) {
        json_array_append_new(samples, json_real(o->solve[i]));
    }
    json_object_set_new(row, "solve_seconds", json_real(o->solve_seconds));
    json_object_set_new(row, "setup_seconds", json_real(o->setup_seconds));
    json_object_set_new(row, "total_seconds", json_real(o->solve_seconds + o->setup_seconds));
    json_object_set_new(row, "samples", samples);
    json_object_set_new(row, "iterations", json_integer(o->iterations));
    json_object_set_new(row, "refinements", json_integer(o->refinements));
    json_object_set_new(row, "claimed", json_boolean(o->claimed));
    json_object_set_new(row, "verified", json_boolean(o->verified));
    json_object_set_new(row, "escalated", json_boolean(o->escalated));
    json_object_set_new(row, "true_relative_residual", real_or_null(o->true_relative));
    json_object_set_new(row, "estimated_relative_residual", real_or_null(o->estimated_relative));
    json_object_set_new(row, "format", json_string(tess_format_name(o->format)));
    json_object_set_new(row, "matrix_precision", json_string(tess_precision_name(o->matrix_precision)));
    json_object_set_new(row, "matrix_bytes", json_integer(o->matrix_bytes));
    json_object_set_new(row, "resident_bytes", json_integer(o->resident_bytes));
    json_object_set_new(row, "peak_device_bytes", json_integer(o->peak_bytes));
}

static void add_rates(json_t *row, const gmres_problem *p, const gmres_outcome *o, const references *r)
{
    const double rate = o->model_bytes / o->solve_seconds, iterations = (double)o->iterations;

    json_object_set_new(row, "bytes_by_model", json_real(o->model_bytes));
    json_object_set_new(row, "seconds_per_iteration", real_or_null(o->solve_seconds / iterations));
    json_object_set_new(row, "gbs", json_real(1e-9 * rate));
    json_object_set_new(row, "share_of_measured_bandwidth", json_real(rate / bench_ceiling_of(p->run)));
    json_object_set_new(row, "speedup_over_cu_fp64", real_or_null(speedup(o, r->cu_fp64)));
    json_object_set_new(row, "speedup_over_cu_ir", real_or_null(speedup(o, r->cu_ir)));
    json_object_set_new(row, "speedup_over_fp64", real_or_null(speedup(o, r->fp64)));
    json_object_set_new(
        row, "iterations_over_fp64",
        real_or_null(r->fp64 && r->fp64->iterations > 0 ? iterations / (double)r->fp64->iterations : NAN));
}

static void add_parts(json_t *row, const gmres_outcome *o)
{
    json_t *parts = json_object();

    for (int k = 0; k < BENCH_GMRES_PARTS && o->profiled; k++) {
        json_object_set_new(parts, part_names[k], json_real(o->part_seconds[k]));
    }
    json_object_set_new(row, "part_seconds", parts);
    json_object_set_new(row, "profiled_seconds", real_or_null(o->profiled_seconds > 0.0 ? o->profiled_seconds : NAN));
    json_object_set_new(row, "product_seconds", real_or_null(o->product_seconds > 0.0 ? o->product_seconds : NAN));
}

/* ---- text ---- */

void gmres_print_head(const bench_run *run)
{
    printf("%-20s %-14s %4s %-22s %6s %5s %9s %9s %9s %8s %7s %8s %6s %6s %6s %7s  %s\n", "matrix", "precond", "m",
           "contestant", "iter", "refin", "solve s", "set-up s", "us/it", "GB/s", run->gpu ? "of read" : "of triad",
           "true res", "x cu64", "x cuIR", "x fp64", "peak MB", "");
}

static void print_ratio(double value)
{
    if (isfinite(value)) {
        printf(" %6.2f", value);
    } else {
        printf(" %6s", "-");
    }
}

static void print_row(const gmres_problem *p, const gmres_settings *s, const gmres_outcome *o, const references *r)
{
    const double rate = o->model_bytes / o->solve_seconds;

    printf("%-20s %-14s %4d %-22s ", p->name, s->precond, s->restart, o->variant->name);
    if (o->samples == 0) {
        printf("%s\n", o->reason);
        return;
    }
    printf("%6lld %5lld %9.4f %9.4f %9.2f %8.1f %6.1f%% %8.1e", (long long)o->iterations, (long long)o->refinements,
           o->solve_seconds, o->setup_seconds, 1e6 * o->solve_seconds / (double)o->iterations, 1e-9 * rate,
           100.0 * rate / bench_ceiling_of(p->run), o->true_relative);
    print_ratio(speedup(o, r->cu_fp64));
    print_ratio(speedup(o, r->cu_ir));
    print_ratio(speedup(o, r->fp64));
    printf(" %7.0f  %s%s\n", 1e-6 * (double)o->peak_bytes, verdict_of(o), o->escalated ? ", escalated" : "");
}

static void print_parts(const gmres_outcome *o)
{
    double rest = o->profiled_seconds > 0.0 ? o->profiled_seconds : o->solve_seconds;

    if (o->samples == 0 || !o->profiled) { return; }
    printf("    %-18s", o->variant->name);
    for (int k = 0; k < BENCH_GMRES_PARTS; k++) {
        printf(" %s %.4f s,", part_names[k], o->part_seconds[k]);
        rest -= o->part_seconds[k];
    }
    printf(" rest %.4f s; one product %.2f us", rest, 1e6 * o->product_seconds);
    if (o->profiled_seconds > 0.0) {
        printf("; measuring cost %.1f %%", 100.0 * (o->profiled_seconds / o->solve_seconds - 1.0));
    }
    printf("\n");
}

/* Section V-D: w nonzeros per row; x read for every nonzero in FP64, and once in FP32; or once in both. */
static void report_cache(const gmres_problem *p, const gmres_outcome *wide, const gmres_outcome *low)
{
    const double n = (double)p->host.nrows, nnz = (double)p->host.nnz, w = nnz / n;
    const double model = 5.0 * w / (2.0 * w + 1.0), cached = (12.0 * w + 8.0) / (8.0 * w + 4.0);

    if (!wide || !low || !(wide->product_seconds > 0.0) || !(low->product_seconds > 0.0)) { return; }
    printf("    product %s over %s: %.3f; without and with FP64's x cached: %.3f, %.3f\n", wide->variant->name,
           low->variant->name, wide->product_seconds / low->product_seconds, model, cached);
    bench_add(p->run, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "matrix", p->name, "product_of",
                                low->variant->name, "over", wide->variant->name, "speedup",
                                wide->product_seconds / low->product_seconds, "model_uncached", model, "model_cached",
                                cached, "seconds", low->product_seconds, "seconds_over", wide->product_seconds));
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

static void keep(const gmres_problem *p, const gmres_settings *s, const gmres_outcome *o, gmres_records *records)
{
    gmres_record *grown = realloc(records->items, (records->count + 1) * sizeof *grown), *r = NULL;

    if (!grown) { bench_die("out of memory"); }
    records->items = grown;
    r = &grown[records->count++];
    *r = (gmres_record){.restart = s->restart,
                        .theirs = o->variant->theirs,
                        .claimed = o->claimed,
                        .verified = o->verified,
                        .refused = o->refused,
                        .seconds = o->solve_seconds,
                        .iterations = o->iterations,
                        .working_set = gmres_working_set(p, s->restart)};
    snprintf(r->matrix, sizeof r->matrix, "%s", p->name);
    snprintf(r->set, sizeof r->set, "%s", p->set);
    snprintf(r->precond, sizeof r->precond, "%s", s->precond);
    snprintf(r->contestant, sizeof r->contestant, "%s", o->variant->name);
}

void gmres_report(const gmres_problem *p, const gmres_settings *settings, const char *study, const gmres_outcome *all,
                  int count, gmres_records *records)
{
    const references r = {find(all, count, "cu-fp64"), find(all, count, "cu-ir"), find(all, count, "fp64")};

    for (int i = 0; i < count; i++) {
        json_t *row = describe(p, settings, study, &all[i]);

        print_row(p, settings, &all[i], &r);
        if (all[i].samples > 0) {
            add_solve(row, &all[i]);
            add_rates(row, p, &all[i], &r);
            if (settings->profile) { add_parts(row, &all[i]); }
        }
        bench_add(p->run, row);
        p->run->failures += is_failure(&all[i]) ? 1 : 0;
        keep(p, settings, &all[i], records);
    }
    for (int i = 0; i < count && settings->profile; i++) {
        print_parts(&all[i]);
    }
    if (settings->profile) {
        report_cache(p, r.cu_fp64, r.cu_ir);
        report_cache(p, r.fp64, find(all, count, "ir"));
    }
}

void gmres_write_histories(FILE *file, const gmres_problem *p, const gmres_settings *settings, const char *study,
                           const gmres_outcome *all, int count)
{
    for (int i = 0; i < count; i++) {
        for (int64_t k = 0; k < all[i].history_length; k++) {
            if (isnan(all[i].history[k])) { continue; }
            fprintf(file, "\"%s\",%s,%s,%d,%s,%lld,%.9e\n", study, p->name, settings->precond, settings->restart,
                    all[i].variant->name, (long long)k, all[i].history[k]);
        }
    }
    fflush(file);
}
