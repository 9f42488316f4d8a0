/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fresh process waits for: the device's context, the library's, and the first matrix, set-up and solve beside
 * the same again. The first ones load the device code that they use. One process measures once: run it several times.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device.h"
#include "harness/record.h"
#include "solve/solve.h"

enum { MAX_ROUNDS = 64, NEIGHBOURS = 7 };

typedef struct use_options {
    int64_t edge;
    int rounds;
    tess_solve_options solve;
} use_options;

/* Seconds of each stage of a round. */
typedef struct use_round {
    double matrix, set_up, solve, all;
} use_round;

/* ---- the problem: seven-point Laplacian on a cube, as arrays of the host ---- */

static bench_csr make_laplacian(int64_t edge)
{
    char text[32];
    const char *argument = text;
    tess_context *ctx = bench_context(TESS_DEVICE_CPU, 0);
    tess_matrix *matrix = NULL;
    bench_csr a;

    snprintf(text, sizeof text, "%lld", (long long)edge);
    bench_require(tess_gallery_create(ctx, "laplace3d", 1, &argument, &matrix), ctx, "matrix");
    bench_require(bench_csr_get(matrix, &a), ctx, "arrays");
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return a;
}

static double *make_rhs(int64_t n)
{
    double *b = bench_allocate((size_t)n, sizeof *b);

    for (int64_t i = 0; i < n; i++) {
        b[i] = 1.0 + (double)(i % NEIGHBOURS);
    }
    return b;
}

/* ---- a round ---- */

static tess_matrix *make_matrix(tess_context *ctx, const bench_csr *a)
{
    const tess_csr_arrays arrays = {.size = sizeof arrays,
                                    .nrows = a->nrows,
                                    .ncols = a->nrows,
                                    .nnz = a->nnz,
                                    .row_ptr = a->row_ptr,
                                    .col_ind = a->col_ind,
                                    .val = a->val,
                                    .row_ptr_bits = 64,
                                    .col_ind_bits = 32,
                                    .where = TESS_MEMORY_HOST,
                                    .ownership = TESS_COPY};
    tess_matrix *matrix = NULL;

    bench_require(tess_matrix_create_csr(ctx, &arrays, &matrix), ctx, "matrix");
    return matrix;
}

static use_round run_round(tess_context *ctx, const use_options *options, const bench_csr *a, const double *rhs)
{
    tess_vector *b = NULL, *x = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    double since[4];
    tess_matrix *matrix = NULL;

    since[0] = bench_wall_seconds();
    matrix = make_matrix(ctx, a);
    bench_require(tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP64, &b), ctx, "vector");
    bench_require(tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP64, &x), ctx, "vector");
    bench_require(tess_vector_set(b, rhs, TESS_PRECISION_FP64, TESS_MEMORY_HOST), ctx, "right side");
    bench_require(tess_vector_fill(x, 0.0), ctx, "initial guess");
    bench_require(tess_context_synchronize(ctx), ctx, "waiting");
    since[1] = bench_wall_seconds();
    bench_require(tess_solver_create(matrix, &options->solve, &solver), ctx, "set-up");
    bench_require(tess_context_synchronize(ctx), ctx, "waiting");
    since[2] = bench_wall_seconds();
    tess_solve_result_init(&result);
    bench_require(tess_solver_solve(solver, b, x, &result), ctx, "solve");
    since[3] = bench_wall_seconds();
    if (!result.converged) { bench_die("not converged: %s", tess_reason_text(result.reason)); }
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(matrix);
    return (use_round){since[1] - since[0], since[2] - since[1], since[3] - since[2], since[3] - since[0]};
}

/* ---- the process ---- */

typedef struct use_times {
    double device_context, library_context;
    use_round round[MAX_ROUNDS];
} use_times;

static void measure(const use_options *options, tess_device device, const bench_csr *a, const double *rhs, use_times *t)
{
    tess_context *ctx = NULL;
    double since[3];

    since[0] = bench_wall_seconds();
    if (device != TESS_DEVICE_CPU) { bench_device_wake(); }
    since[1] = bench_wall_seconds();
    ctx = bench_context(device, 0);
    since[2] = bench_wall_seconds();
    for (int r = 0; r < options->rounds; r++) {
        t->round[r] = run_round(ctx, options, a, rhs);
    }
    t->device_context = since[1] - since[0];
    t->library_context = since[2] - since[1];
    tess_context_destroy(ctx);
}

static void report(bench_run *run, const char *matrix, const bench_csr *a, const char *stage, double seconds,
                   const use_round *round)
{
    const bench_record record = {.matrix = matrix,
                                 .nrows = a->nrows,
                                 .ncols = a->nrows,
                                 .nnz = a->nnz,
                                 .contestant = stage,
                                 .ours = true,
                                 .of = round ? "round" : "context",
                                 .time = bench_time_once(seconds),
                                 .setup_seconds = round ? round->set_up : 0.0};
    json_t *row = bench_record_row(run, &record);

    if (!round) {
        bench_record_add(run, &record, row, "%s", "");
        return;
    }
    json_object_set_new(row, "matrix_seconds", json_real(round->matrix));
    bench_set_time(row, "solve_seconds", &(bench_time){round->solve, round->solve, round->solve, 1, 1});
    bench_record_add(run, &record, row, "matrix %.3f ms, set-up %.3f ms, solve %.3f ms", 1e3 * round->matrix,
                     1e3 * round->set_up, 1e3 * round->solve);
}

static int report_all(const use_options *options, const bench_options *bench, const bench_csr *a, const use_times *t)
{
    char matrix[32], name[32];
    bench_run run;

    bench_begin(&run, bench, "first-use", false);
    snprintf(matrix, sizeof matrix, "laplace3d-%lld", (long long)options->edge);
    report(&run, matrix, a, "device's context", t->device_context, NULL);
    report(&run, matrix, a, "library's context", t->library_context, NULL);
    for (int r = 0; r < options->rounds; r++) {
        snprintf(name, sizeof name, "round %d", r + 1);
        report(&run, matrix, a, name, t->round[r].all, &t->round[r]);
    }
    return bench_end(&run);
}

/* ---- options ---- */

static void refuse(struct argp_state *state, const char *option, const char *text, tess_status status)
{
    if (status != TESS_SUCCESS) { argp_error(state, "--%s %s: no such name", option, text); }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    use_options *o = state->input;

    switch (key) {
    case 'n': o->edge = strtoll(text, NULL, 10); break;
    case 'r': o->rounds = atoi(text); break;
    case 's': refuse(state, "solver", text, tess_solver_kind_parse(text, &o->solve.solver)); break;
    case 'p': refuse(state, "precond", text, tess_precond_options_parse(text, &o->solve.precond)); break;
    case 'f': refuse(state, "format", text, tess_format_parse(text, &o->solve.storage.format)); break;
    case 'y': refuse(state, "policy", text, tess_policy_options_parse(text, &o->solve.storage.policy)); break;
    case ARGP_KEY_END:
        if (o->rounds < 1 || o->rounds > MAX_ROUNDS) { argp_error(state, "--rounds: 1 to %d", MAX_ROUNDS); }
        if (o->edge < 2 || o->edge > 500) { argp_error(state, "--edge: 2 to 500"); }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int study_first_use(int argc, char **argv, const char *parts)
{
    static const struct argp_option accepted[] = {
        {"edge", 'n', "N", 0, "unknowns along each edge of the cube (default 32)", 0},
        {"rounds", 'r', "N", 0, "rounds of matrix, set-up and solve (default 10)", 0},
        {"solver", 's', "NAME", 0, "as the tool's --solver (default cg)", 0},
        {"precond", 'p', "NAME", 0, "as the tool's --precond (default none)", 0},
        {"format", 'f', "NAME", 0, "as the tool's --format (default csr)", 0},
        {"policy", 'y', "NAME", 0, "as the tool's --policy", 0},
        {0},
    };
    static const struct argp program = {
        .options = accepted,
        .parser = parse_option,
        .doc =
            "What a fresh process waits for: contexts, and its first matrix, set-up and solve beside later ones. The "
            "first ones load the device code that they use. One process measures once: run it several times."};
    use_options own = {.edge = 32, .rounds = 10};
    use_times *times = bench_allocate(1, sizeof *times);
    bench_options options;
    bench_csr a;
    double *b = NULL;
    int code = 0;

    (void)parts;
    tess_solve_options_init(&own.solve);
    own.solve.solver = TESS_SOLVER_CG;
    own.solve.rtol = 1e-8;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, &own);
    a = make_laplacian(own.edge);
    b = make_rhs(a.nrows);
    measure(&own, options.device, &a, b, times);
    code = report_all(&own, &options, &a, times);
    bench_csr_free(&a);
    free(b);
    free(times);
    return code;
}
