/* SPDX-License-Identifier: Apache-2.0 */
/* Records of CG and BiCGSTAB. */
#include <math.h>
#include <stdio.h>

#include "solve/krylov.h"

/* Of a solve of fewer iterations, what begins and ends it is most: it says nothing of an iteration. */
enum { FEWEST_ITERATIONS = 10 };

double krylov_iteration_bytes(const bench_problem *p, tess_solver_kind solver, int64_t matrix_bytes)
{
    const int64_t n = p->host.nrows;
    const int64_t product = matrix_bytes > 0 ? matrix_bytes + 16 * n : bench_spmv_bytes(n, n, p->host.nnz, 8);

    /* doubles that the vectors of an iteration read and write in two fused passes, apart from x and y of the products
     */
    return (double)(solver == TESS_SOLVER_CG ? product + 8 * 9 * n : 2 * product + 8 * 15 * n);
}

bench_record krylov_record(const krylov_session *s, const krylov_variant *v)
{
    const bench_problem *p = s->problem;

    return (bench_record){.part = s->part,
                          .set = s->row->set,
                          .matrix = s->matrix,
                          .nrows = p->host.nrows,
                          .ncols = p->host.ncols,
                          .nnz = p->host.nnz,
                          .contestant = v->name,
                          .ours = krylov_variant_is_ours(v),
                          .precision = v->policy ? v->policy : "fp64",
                          .in_cache = krylov_iteration_bytes(p, s->solver, 0) <= (double)s->run.cache_bytes};
}

json_t *krylov_record_row(const krylov_session *s, const bench_record *record)
{
    json_t *row = bench_record_row(&s->run, record);

    bench_set(row, "{s:s, s:s}", "solver", tess_solver_kind_name(s->solver), "rhs",
              s->row->five_sides ? "random, of five the median" : "A * ones");
    return row;
}

static bool is_solved(const krylov_outcome *o)
{
    return krylov_variant_is_ours(o->variant) ? o->run.verified : o->run.claimed;
}

static bench_time divided(bench_time time, double by)
{
    time.median /= by;
    time.lowest /= by;
    time.highest /= by;
    return time;
}

/* By two fixed runs, else by the solve with narrowing, else by one run of KRYLOV_FIXED_ITERATIONS. */
static bench_time iteration_time(const krylov_outcome *o, const char **from)
{
    *from = "two fixed runs";
    if (o->run.timed) { return o->run.iteration; }
    *from = "the solve by its iterations";
    if (o->variant->narrowing != TESS_NARROWING_OFF && is_solved(o) && o->run.iterations >= FEWEST_ITERATIONS) {
        return divided(o->solve, (double)o->run.iterations);
    }
    *from = "one fixed run";
    return divided(o->fixed, KRYLOV_FIXED_ITERATIONS);
}

static const char *state_of(const krylov_outcome *o)
{
    if (!o->run.solved) { return ""; }
    return o->false_claims > 0 || (o->run.claimed && !o->run.verified) ? "FALSE"
           : o->run.verified                                           ? "verified"
                                                                       : o->run.reason;
}

static void add_solve(json_t *row, const krylov_outcome *o)
{
    const bench_time none = {.samples = 0};

    bench_set_time(row, "solve_seconds", is_solved(o) ? &o->solve : &none);
    bench_set_time(row, "end_to_end_seconds", is_solved(o) ? &o->run.end_to_end : &none);
    bench_set(row, "{s:b, s:b, s:b, s:i, s:i, s:s?}", "claimed", o->run.claimed, "verified", o->run.verified, "solved",
              is_solved(o), "claims", o->claims, "false_claims", o->false_claims, "reason", o->run.reason);
}

static void add_narrowing(json_t *row, const tess_papers_result *r)
{
    bench_set(row, "{s:s, s:b, s:o, s:I}", "narrowing", tess_narrowing_name(r->narrowing), "narrowing_misled",
              r->narrowing_misled != 0, "tile_products", bench_counts_json(r->tile_products), "tile_products_bypassed",
              (json_int_t)r->tile_products_bypassed);
}

static void add_bypassed(json_t *row, const krylov_bypassed *b)
{
    bench_set(row, "{s:I, s:I, s:I, s:I, s:I}", "fixed_iterations_made", (json_int_t)b->made, "fixed_tile_products",
              (json_int_t)b->products, "fixed_bypassed", (json_int_t)b->all, "fixed_bypassed_before_convergence",
              (json_int_t)b->before, "fixed_iterations_to_convergence", (json_int_t)b->iterations);
    bench_set_real(row, "fixed_bypassed_share", b->products > 0 ? (double)b->all / (double)b->products : NAN);
    bench_set_real(row, "bypassed_past_convergence", b->all > 0 ? 1.0 - (double)b->before / (double)b->all : NAN);
}

/* What our last solve says of its matrix. */
static void add_facts(json_t *row, const tess_solve_result *r)
{
    bench_set(row, "{s:s, s:s, s:s, s:b, s:I, s:o}", "engine", tess_engine_name(r->engine), "recurrence",
              tess_recurrence_name(r->cg.recurrence), "format", tess_format_name(r->storage.format), "escalated",
              r->escalated != 0, "matrix_bytes", (json_int_t)r->storage.matrix_bytes, "nonzeros_per_precision",
              bench_counts_json(r->storage.nonzeros_per_precision));
}

static void write_history(FILE *file, const krylov_session *s, const krylov_outcome *o)
{
    for (int64_t k = 0; k < o->history_length; k++) {
        if (isnan(o->history[k])) { continue; }
        fprintf(file, "%s,%s,none,0,%s,%lld,%.9e\n", s->part, s->matrix, o->variant->name, (long long)k, o->history[k]);
    }
}

static json_t *describe(const krylov_session *s, const krylov_outcome *o, const bench_record *record, const char *from,
                        double product_seconds)
{
    json_t *row = krylov_record_row(s, record);

    bench_set(row, "{s:s, s:[I, I]}", "seconds_from", from, "runs", (json_int_t)o->run.from, (json_int_t)o->run.to);
    bench_set_time(row, "fixed_seconds", &o->fixed);
    bench_set_real(row, "product_seconds", product_seconds);
    if (o->run.solved) { add_solve(row, o); }
    if (krylov_variant_is_ours(o->variant)) { add_facts(row, &o->result); }
    bench_contest_describe(s->problem, o->variant->which, s->solver, row);
    if (o->papers.narrowing != TESS_NARROWING_OFF) { add_narrowing(row, &o->papers); }
    if (o->bypassed.counted) { add_bypassed(row, &o->bypassed); }
    return row;
}

void krylov_report(krylov_session *s, const krylov_outcome *o, double product_seconds)
{
    const bool ours = krylov_variant_is_ours(o->variant);
    const char *from = NULL;
    bench_record record = krylov_record(s, o->variant);

    record.of = "iteration";
    record.time = iteration_time(o, &from);
    record.bytes = krylov_iteration_bytes(s->problem, s->solver, ours ? o->result.storage.matrix_bytes : 0);
    record.in_cache = record.bytes <= (double)s->run.cache_bytes;
    record.setup_seconds = o->run.setup.median;
    record.solved = o->run.solved;
    record.iterations = o->run.iterations;
    record.true_residual = o->run.true_relative;
    record.refused = o->refused ? o->why : NULL;
    if (!s->begun) { printf("\n%s: %s\n", s->part, s->row->set); }
    s->begun = true;
    bench_record_add(&s->run, &record, describe(s, o, &record, from, product_seconds), "%s", state_of(o));
    if (s->histories) { write_history(s->histories, s, o); }
}
