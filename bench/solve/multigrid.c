/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algebraic multigrid: its set-up stage by stage and again for new values, CG to a verified tolerance, and the products
 * of its finest level against cuSPARSE.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"
#include "harness/stages.h"
#include "matrix/device_csr.h"
#include "peers/cusparse_spgemm.h"
#include "precond/multigrid/device.h"
#include "precond/precond.h"
#include "solve/contest.h"
#include "solve/solve.h"

enum { REPETITIONS = 5 };

typedef struct own_options {
    double rtol;
    tess_precond_options precond;
    const char *coordinates; /* a file; NULL: none */
    double *modes;           /* rigid-body modes of its nodes */
} own_options;

typedef struct session {
    bench_run run;
    const own_options *own;
    const char *parts;
} session;

/* ---- products ---- */

/* C = A B, and the nonzeros of the last C. */
typedef struct factors {
    const tess_matrix *a, *b;
    int64_t nnz;
} factors;

static tess_status multiply(void *user, int k)
{
    factors *f = user;
    tess_matrix *c = NULL;
    const tess_status status = tess_matrix_multiply(f->a, TESS_OP_NONE, f->b, TESS_OP_NONE, &c);

    (void)k;
    if (status == TESS_SUCCESS) { f->nnz = tess_matrix_nnz(c); }
    tess_matrix_destroy(c);
    return status;
}

/* Factors read once and the product written once: no product moves less. */
static double bytes_of(const factors *f)
{
    const int64_t entries = tess_matrix_nnz(f->a) + tess_matrix_nnz(f->b) + f->nnz;
    const int64_t rows = 2 * tess_matrix_nrows(f->a) + tess_matrix_nrows(f->b);

    return 12.0 * (double)entries + 4.0 * (double)rows;
}

static void report_product(session *s, const char *matrix, const char *name, const factors *f, bool ours,
                           const bench_time *time, tess_status status)
{
    const bench_record record = {.part = "products",
                                 .matrix = matrix,
                                 .nrows = tess_matrix_nrows(f->a),
                                 .ncols = tess_matrix_ncols(f->b),
                                 .nnz = f->nnz,
                                 .contestant = name,
                                 .ours = ours,
                                 .precision = "fp64",
                                 .of = "product of matrices",
                                 .time = *time,
                                 .bytes = bytes_of(f),
                                 .refused = status == TESS_SUCCESS ? NULL : tess_status_text(status)};

    bench_record_add(&s->run, &record, bench_record_row(&s->run, &record), "%lld nonzeros", (long long)f->nnz);
}

static void compare_products(session *s, const char *matrix, const char *name, const tess_matrix *a,
                             const tess_matrix *b)
{
    factors f = {a, b, 0};
    bench_time time = {0};
    tess_status status = bench_measure(&s->run, multiply, &f, &time);

    report_product(s, matrix, name, &f, true, &time, status);
#ifdef BENCH_CUDA
    if (s->run.gpu) {
        char contestant[48];
        bench_spgemm *theirs = bench_spgemm_open(a, b);

        time = (bench_time){0};
        status = bench_measure(&s->run, bench_spgemm_call, theirs, &time);
        snprintf(contestant, sizeof contestant, "%s-cusparse", name);
        report_product(s, matrix, contestant, &f, false, &time, status);
        if (status == TESS_SUCCESS && bench_spgemm_nnz(theirs) != f.nnz) {
            bench_fault(&s->run, matrix, "cuSPARSE's product has another number of nonzeros", TESS_SUCCESS);
        }
        bench_spgemm_close(theirs);
    }
#endif
}

/* A matrix over the arrays of a level, which live longer. */
static tess_matrix *borrow(tess_context *ctx, const device_csr *a)
{
    const tess_csr_arrays arrays = {.size = sizeof arrays,
                                    .nrows = a->nrows,
                                    .ncols = a->ncols,
                                    .nnz = a->nnz,
                                    .row_ptr = a->row_ptr,
                                    .col_ind = a->col_ind,
                                    .val = a->val,
                                    .row_ptr_bits = 32,
                                    .col_ind_bits = 32,
                                    .val_precision = TESS_PRECISION_FP64,
                                    .where = TESS_MEMORY_DEVICE,
                                    .ownership = TESS_BORROW};
    tess_matrix *out = NULL;

    bench_require(tess_matrix_create_csr(ctx, &arrays, &out), ctx, "a level's matrix");
    return out;
}

/* A P and R (A P) of the finest level; A A on a host. */
static void run_products(session *s, const tess_matrix *a, const char *matrix)
{
    amg_hierarchy h = {.ctx = s->run.ctx, .options = s->own->precond.amg};
    tess_matrix *p = NULL, *r = NULL, *ap = NULL;

    bench_require(amg_hierarchy_build(&h, a), h.ctx, "the levels");
    if (h.device && h.count > 1) {
        p = borrow(h.ctx, &h.device->level[0].p);
        r = borrow(h.ctx, &h.device->level[0].r);
        bench_require(tess_matrix_multiply(a, TESS_OP_NONE, p, TESS_OP_NONE, &ap), h.ctx, "A P");
        compare_products(s, matrix, "A P", a, p);
        compare_products(s, matrix, "R (A P)", r, ap);
    }
    tess_matrix_destroy(ap);
    tess_matrix_destroy(r);
    tess_matrix_destroy(p);
    amg_hierarchy_close(&h);
    compare_products(s, matrix, "A A", a, a);
}

/* ---- set-up ---- */

typedef struct setup {
    const tess_matrix *a;
    const tess_precond_options *options;
} setup;

static tess_status set_up(void *user, int k)
{
    const setup *s = user;
    tess_precond *m = NULL;
    const tess_status status = tess_precond_create(s->a, s->options, &m);

    (void)k;
    tess_precond_destroy(m);
    return status;
}

static void report_setup(session *s, const tess_matrix *a, const char *matrix, bool again, double *seconds,
                         const tess_amg_levels *l)
{
    const bench_record record = {.part = "set-up",
                                 .matrix = matrix,
                                 .nrows = tess_matrix_nrows(a),
                                 .ncols = tess_matrix_ncols(a),
                                 .nnz = tess_matrix_nnz(a),
                                 .contestant = again ? "new values" : "set-up",
                                 .ours = true,
                                 .of = "set-up",
                                 .time = bench_time_of_samples(seconds, REPETITIONS, 1)};
    json_t *row = bench_record_row(&s->run, &record);

    bench_set_real(row, "strength_seconds", l->strength_seconds);
    bench_set_real(row, "split_seconds", l->split_seconds);
    bench_set_real(row, "interpolation_seconds", l->interpolation_seconds);
    bench_set_real(row, "products_seconds", l->product_seconds);
    bench_set_real(row, "storing_seconds", l->storing_seconds);
    bench_set(row, "{s:s, s:i}", "setup_device", tess_device_name(l->setup_device), "levels", l->count);
    bench_record_add(&s->run, &record, row,
                     "on %s: strong %.3f, splits %.3f, interpolation %.3f, products %.3f, storing %.3f ms",
                     tess_device_name(l->setup_device), 1e3 * l->strength_seconds, 1e3 * l->split_seconds,
                     1e3 * l->interpolation_seconds, 1e3 * l->product_seconds, 1e3 * l->storing_seconds);
}

/* Gives a matrix its own values again, so that a preconditioner has something to renew. */
static void touch_values(tess_context *ctx, tess_matrix *a)
{
    double *val = malloc((size_t)tess_matrix_nnz(a) * sizeof *val);

    bench_require(val ? TESS_SUCCESS : TESS_OUT_OF_MEMORY, ctx, "values");
    bench_require(tess_matrix_get_csr(a, NULL, NULL, val), ctx, "values");
    bench_require(tess_matrix_update_values(a, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST), ctx, "new values");
    free(val);
}

/* The seconds of the second renewal: the first also plans where values go. */
static double time_renewal(tess_context *ctx, tess_matrix *a, tess_precond *m)
{
    double since = 0.0;

    for (int k = 0; k < 2; k++) {
        touch_values(ctx, a);
        bench_require(tess_context_synchronize(ctx), ctx, "waiting");
        since = bench_wall_seconds();
        bench_require(tess_precond_update(m), ctx, "renewal");
        bench_require(tess_context_synchronize(ctx), ctx, "waiting");
    }
    return bench_wall_seconds() - since;
}

/* The parts of the fastest one so far. */
static void keep_parts(tess_context *ctx, const tess_precond *m, const double *seconds, int k, tess_amg_levels *out)
{
    for (int other = 0; other < k; other++) {
        if (seconds[other] <= seconds[k]) { return; }
    }
    *out = (tess_amg_levels){.size = sizeof *out};
    bench_require(tess_precond_get_levels(m, out), ctx, "levels");
}

/* Set-ups, each renewed; the parts are those of the fastest. */
static void run_setup(session *s, tess_matrix *a, const char *matrix)
{
    double seconds[2][REPETITIONS];
    tess_amg_levels levels[2];
    tess_context *ctx = s->run.ctx;

    for (int k = 0; k < REPETITIONS; k++) {
        tess_precond *m = NULL;
        const double since = bench_wall_seconds();

        bench_require(tess_precond_create(a, &s->own->precond, &m), ctx, "set-up");
        bench_require(tess_context_synchronize(ctx), ctx, "waiting");
        seconds[0][k] = bench_wall_seconds() - since;
        keep_parts(ctx, m, seconds[0], k, &levels[0]);
        seconds[1][k] = time_renewal(ctx, a, m);
        keep_parts(ctx, m, seconds[1], k, &levels[1]);
        tess_precond_destroy(m);
    }
    report_setup(s, a, matrix, false, seconds[0], &levels[0]);
    report_setup(s, a, matrix, true, seconds[1], &levels[1]);
}

/* Without values that are new: those of the matrix. */
static tess_status renew(void *user, int k)
{
    tess_precond *m = user;

    (void)k;
    return m->ops->renew(m);
}

/* Of a renewal the second one: the first also plans where values go. */
static void run_stages(session *s, const tess_matrix *a, const char *matrix)
{
    setup own = {a, &s->own->precond};
    tess_precond *m = NULL;
    tess_status status = bench_stages(&s->run, set_up, &own, matrix, "set-up", 0.0);

    if (status == TESS_SUCCESS) { status = tess_precond_create(a, &s->own->precond, &m); }
    if (status == TESS_SUCCESS) { status = bench_stages(&s->run, renew, m, matrix, "new values", 0.0); }
    if (status != TESS_SUCCESS) { bench_fault(&s->run, matrix, "stages", status); }
    tess_precond_destroy(m);
}

/* ---- solves ---- */

static void run_solve(session *s, const tess_matrix *a, const char *matrix)
{
    bench_problem p = {0};
    bench_contest c = {.problem = &p,
                       .solver = TESS_SOLVER_CG,
                       .which = s->run.gpu ? BENCH_OURS_GRAPH : BENCH_OURS_PLAIN,
                       .engine = TESS_ENGINE_GRAPH,
                       .precond = s->own->precond};
    bench_contest_outcome o = {0};
    tess_status status = bench_problem_make(&s->run, a, &p);

    if (status == TESS_SUCCESS) { status = bench_contest_open(&c); }
    if (status == TESS_SUCCESS) { status = bench_contest_time_solve(&c, s->own->rtol, 200, &o); }
    if (status != TESS_SUCCESS) {
        bench_fault(&s->run, matrix, "solve", status);
    } else {
        const bench_record record = {.part = "solve",
                                     .matrix = matrix,
                                     .nrows = tess_matrix_nrows(a),
                                     .ncols = tess_matrix_ncols(a),
                                     .nnz = tess_matrix_nnz(a),
                                     .contestant = "cg-amg",
                                     .ours = true,
                                     .of = "solve",
                                     .time = o.end_to_end,
                                     .setup_seconds = o.setup.median,
                                     .solved = o.solved,
                                     .iterations = o.iterations,
                                     .true_residual = o.true_relative};

        bench_record_add(&s->run, &record, bench_record_row(&s->run, &record), "%lld iterations, %s",
                         (long long)o.iterations, o.verified ? "verified" : "NOT verified");
    }
    bench_contest_close(&c);
    bench_problem_free(&p);
}

/* ---- the study ---- */

/* The rigid-body modes of the nodes whose coordinates a file has. */
static void load_modes(tess_context *ctx, own_options *own)
{
    const int most = 6;
    double *nodes = NULL;
    int64_t count = 0, dimension = 0;

    if (!own->coordinates) { return; }
    bench_require(tess_array_read(ctx, own->coordinates, &nodes, &count, &dimension), ctx, "coordinates");
    own->modes = bench_allocate((size_t)(count * dimension * most), sizeof *own->modes);
    bench_require(tess_rigid_body_modes(ctx, count, (int)dimension, nodes, own->modes), ctx, "modes");
    tess_array_free(ctx, nodes, count, dimension);
    own->precond.amg.near_nullspace = own->modes;
    own->precond.amg.near_nullspace_columns = dimension == 3 ? most : 3;
    own->precond.amg.block_size = (int)dimension;
}

static void run_case(session *s, const bench_case *which)
{
    tess_matrix *a = bench_problem_load(&s->run, which);

    if (!a) { return; }
    if (bench_is_named(s->parts, "set-up")) { run_setup(s, a, which->name); }
    if (s->parts && bench_is_named(s->parts, "stages")) { run_stages(s, a, which->name); }
    if (bench_is_named(s->parts, "products")) { run_products(s, a, which->name); }
    if (bench_is_named(s->parts, "solve")) { run_solve(s, a, which->name); }
    tess_matrix_destroy(a);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    own_options *o = state->input;

    switch (key) {
    case 'a': o->precond.amg.aggressive = (int)bench_read_count(state, "aggressive", arg, 0, 1); return 0;
    case 'c': o->coordinates = arg; return 0;
    case 'p':
        if (tess_amg_precision_parse(arg, &o->precond.amg.precision) != TESS_SUCCESS) {
            argp_error(state, "--precision: '%s' is no precision of levels", arg);
        }
        return 0;
    case 'r':
        o->rtol = strtod(arg, NULL);
        if (!(o->rtol > 0.0 && o->rtol < 1.0)) { argp_error(state, "--rtol: '%s' is not between 0 and 1", arg); }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int study_multigrid(int argc, char **argv, const char *parts)
{
    static const struct argp_option accepted[] = {
        {"aggressive", 'a', "N", 0, "as the tool's --amg-aggressive (default auto)", 0},
        {"coordinates", 'c', "FILE", 0, "as the tool's --coordinates, for all matrices named", 0},
        {"precision", 'p', "NAME", 0, "as the tool's --amg-precision (default auto)", 0},
        {"rtol", 'r', "R", 0, "tolerance of the timed solves (default 1e-10)", 0},
        {0}};
    static const struct argp program = {
        .options = accepted,
        .parser = parse_option,
        .doc = "Times algebraic multigrid: set-up by its stages and again for new values, CG, and the products of the "
               "finest level against cuSPARSE. Part stages waits for each launch, and runs only if it is named."};
    static const char *const usual[] = {"gallery:laplace3d:150", "gallery:laplace3d:256", "gallery:laplace3d27:200"};
    own_options own = {.rtol = 1e-10};
    session s = {.own = &own, .parts = parts};
    bench_options options;
    bench_cases cases;

    tess_precond_options_init(&own.precond);
    own.precond.kind = TESS_PRECOND_AMG;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    if (options.nsets == 0 && options.nmatrices == 0) {
        memcpy(options.matrices, usual, sizeof usual);
        options.nmatrices = (int)(sizeof usual / sizeof *usual);
    }
    cases = bench_cases_select(&options, NULL);
    bench_begin(&s.run, &options, "multigrid", true);
    load_modes(s.run.ctx, &own);
    for (size_t k = 0; k < cases.count; k++) {
        run_case(&s, &cases.items[k]);
    }
    bench_cases_free(&cases);
    free(own.modes);
    return bench_end(&s.run);
}
