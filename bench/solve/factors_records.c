/* SPDX-License-Identifier: Apache-2.0 */
/* Records of solves with incomplete factors. */
#include <math.h>

#include "solve/factors.h"

static bool is_timed(const factors_outcome *o)
{
    return o->run.timed || o->from_solve;
}

static const char *state_of(const factors_outcome *o)
{
    return o->run.verified ? "verified" : o->run.claimed ? "FALSE" : o->run.reason ? o->run.reason : "";
}

/* Products, vectors' passes and applications; the factors' values and indices are read once an application. */
static double iteration_bytes(const bench_problem *p, const factors_outcome *o)
{
    const int64_t n = p->host.nrows, product = bench_spmv_bytes(n, n, p->host.nnz, 8);
    const int64_t application = o->bytes + 16 * n;

    if (o->variant->solver == TESS_SOLVER_CG) { return (double)(product + application + 8 * 9 * n); }
    return (double)(2 * (product + application) + 8 * 15 * n);
}

static void add_solve(json_t *row, const bench_contest_outcome *r)
{
    bench_set_time(row, "end_to_end_seconds", &r->end_to_end);
    bench_set(row, "{s:b, s:b, s:b, s:s?}", "claimed", r->claimed, "verified", r->verified, "solved", r->verified,
              "reason", r->reason);
    bench_set_real(row, "precond_setup_seconds", r->precond_seconds);
}

static void add_facts(json_t *row, const factors_outcome *o)
{
    const tess_precond_factors *f = &o->facts;

    bench_set(row, "{s:I}", "precond_bytes", (json_int_t)o->bytes);
    if (!o->incomplete) { return; }
    json_object_set_new(row, "shift", json_real(f->shift));
    if (o->variant->theirs) {
        json_object_set_new(row, "factors", json_string(o->made_by));
        return;
    }
    bench_set(row, "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "factorization",
              tess_factorization_name(f->factorization), "lower_levels", (json_int_t)f->lower_level_sets,
              "upper_levels", (json_int_t)f->upper_level_sets, "lower_steps", (json_int_t)f->lower_groups,
              "upper_steps", (json_int_t)f->upper_groups, "entries", (json_int_t)f->entries, "leaves",
              (json_int_t)f->leaves, "squares", (json_int_t)f->squares);
}

static json_t *describe(const bench_problem *p, const factors_outcome *o, const bench_record *record)
{
    json_t *row = bench_record_row(p->run, record);

    bench_set(row, "{s:s, s:s}", "solver", tess_solver_kind_name(o->variant->solver), "precond",
              tess_precond_kind_name(o->variant->precond.kind));
    if (o->refused) { return row; }
    bench_set(row, "{s:s, s:[I, I]}", "seconds_from", o->run.timed ? "two fixed runs" : "the solve by its iterations",
              "runs", (json_int_t)o->run.from, (json_int_t)o->run.to);
    bench_set_real(row, "application_seconds", o->apply_seconds > 0.0 ? o->apply_seconds : NAN);
    if (o->run.solved) { add_solve(row, &o->run); }
    bench_contest_describe(p, o->variant->theirs ? o->variant->which : BENCH_OURS_PLAIN, o->variant->solver, row);
    add_facts(row, o);
    return row;
}

void factors_report(const bench_problem *p, const char *matrix, const factors_outcome *o)
{
    const tess_precond_options *m = &o->variant->precond;
    const double bytes = iteration_bytes(p, o);
    const bench_record record = {.matrix = matrix,
                                 .nrows = p->host.nrows,
                                 .ncols = p->host.ncols,
                                 .nnz = p->host.nnz,
                                 .contestant = o->variant->name,
                                 .ours = !o->variant->theirs,
                                 .precision =
                                     tess_precision_name(m->role.given ? m->role.storage : TESS_PRECISION_FP64),
                                 .of = "iteration",
                                 .time = is_timed(o) ? o->run.iteration : (bench_time){.samples = 0},
                                 .bytes = bytes,
                                 .setup_seconds = o->run.setup.median,
                                 .solved = o->run.solved,
                                 .iterations = o->run.iterations,
                                 .true_residual = o->run.true_relative,
                                 .in_cache = bytes <= (double)p->run->cache_bytes,
                                 .refused = o->refused ? o->why : NULL};

    bench_record_add(p->run, &record, describe(p, o, &record), "M^-1 %.2f us, %s%s", 1e6 * o->apply_seconds,
                     o->from_solve ? "time of the solve by its iterations, " : "", state_of(o));
}
