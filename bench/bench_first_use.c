/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fresh process waits for: the device's context, the library's, and the first matrix, set-up and solve beside
 * the same again. The first ones load the device code that they use. One process measures once: run it several times.
 *
 *   bench_first_use [--device cpu] [--edge N] [--solver S] [--precond P] [--format F] [--policy P] [--rounds N]
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_device.h"

enum { MAX_ROUNDS = 64, NEIGHBOURS = 7 };

typedef struct use_options {
    tess_device device;
    int64_t edge;
    int rounds;
    tess_solve_options solve;
} use_options;

/* Seconds of each stage of a round. */
typedef struct use_round {
    double matrix, set_up, solve, all;
} use_round;

static void check(tess_status status, const tess_context *ctx, const char *what)
{
    if (status == TESS_SUCCESS) { return; }
    bench_die("%s: %s: %s", what, tess_status_text(status), ctx ? tess_context_last_error(ctx)->message : "");
}

/* ---- the problem: seven-point Laplacian on a cube, on the host ---- */

typedef struct laplacian {
    int64_t n, nnz;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val, *b;
} laplacian;

static void fill_row(laplacian *a, const int64_t place[3], int64_t edge, int64_t row)
{
    const int64_t stride[3] = {edge * edge, edge, 1};

    for (int d = 0; d < 3; d++) {
        if (place[d] > 0) {
            a->col_ind[a->nnz] = (int32_t)(row - stride[d]);
            a->val[a->nnz++] = -1.0;
        }
    }
    a->col_ind[a->nnz] = (int32_t)row;
    a->val[a->nnz++] = NEIGHBOURS - 1;
    for (int d = 2; d >= 0; d--) {
        if (place[d] < edge - 1) {
            a->col_ind[a->nnz] = (int32_t)(row + stride[d]);
            a->val[a->nnz++] = -1.0;
        }
    }
}

static laplacian make_laplacian(int64_t edge)
{
    const int64_t n = edge * edge * edge;
    laplacian a = {.n = n};

    a.row_ptr = bench_allocate((size_t)n + 1, sizeof *a.row_ptr);
    a.col_ind = bench_allocate((size_t)(n * NEIGHBOURS), sizeof *a.col_ind);
    a.val = bench_allocate((size_t)(n * NEIGHBOURS), sizeof *a.val);
    a.b = bench_allocate((size_t)n, sizeof *a.b);
    for (int64_t row = 0; row < n; row++) {
        const int64_t place[3] = {row / (edge * edge), row / edge % edge, row % edge};

        a.row_ptr[row] = a.nnz;
        fill_row(&a, place, edge, row);
        a.b[row] = 1.0 + (double)(row % NEIGHBOURS);
    }
    a.row_ptr[n] = a.nnz;
    return a;
}

/* ---- a round ---- */

static tess_matrix *make_matrix(tess_context *ctx, const laplacian *a)
{
    const tess_csr_arrays arrays = {.nrows = a->n,
                                    .ncols = a->n,
                                    .nnz = a->nnz,
                                    .row_ptr = a->row_ptr,
                                    .col_ind = a->col_ind,
                                    .val = a->val,
                                    .row_ptr_bits = 64,
                                    .col_ind_bits = 32,
                                    .where = TESS_MEMORY_HOST,
                                    .ownership = TESS_COPY};
    tess_matrix *matrix = NULL;

    check(tess_matrix_create_csr(ctx, &arrays, &matrix), ctx, "matrix");
    return matrix;
}

static use_round run_round(tess_context *ctx, const use_options *options, const laplacian *a)
{
    use_round t;
    tess_vector *b = NULL, *x = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    double since[4];
    tess_matrix *matrix = NULL;

    since[0] = bench_wall_seconds();
    matrix = make_matrix(ctx, a);
    check(tess_vector_create(ctx, a->n, TESS_PRECISION_FP64, &b), ctx, "vector");
    check(tess_vector_create(ctx, a->n, TESS_PRECISION_FP64, &x), ctx, "vector");
    check(tess_vector_set(b, a->b, TESS_PRECISION_FP64, TESS_MEMORY_HOST), ctx, "right side");
    check(tess_vector_fill(x, 0.0), ctx, "initial guess");
    check(tess_context_synchronize(ctx), ctx, "waiting");
    since[1] = bench_wall_seconds();
    check(tess_solver_create(matrix, &options->solve, &solver), ctx, "set-up");
    check(tess_context_synchronize(ctx), ctx, "waiting");
    since[2] = bench_wall_seconds();
    tess_solve_result_init(&result);
    check(tess_solver_solve(solver, b, x, &result), ctx, "solve");
    since[3] = bench_wall_seconds();
    if (!result.converged) { bench_die("not converged: %s", tess_reason_text(result.reason)); }
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(matrix);
    t = (use_round){since[1] - since[0], since[2] - since[1], since[3] - since[2], since[3] - since[0]};
    return t;
}

static void print_round(const char *name, const use_round *t)
{
    printf("%-10s %8.3f %8.3f %8.3f %8.3f\n", name, 1e3 * t->matrix, 1e3 * t->set_up, 1e3 * t->solve, 1e3 * t->all);
}

static void measure(const use_options *options)
{
    const laplacian a = make_laplacian(options->edge);
    use_round round[MAX_ROUNDS];
    tess_context_options context_options;
    tess_context *ctx = NULL;
    double since[3];

    since[0] = bench_wall_seconds();
    if (options->device != TESS_DEVICE_CPU) { bench_device_wake(); }
    since[1] = bench_wall_seconds();
    tess_context_options_init(&context_options);
    context_options.device = options->device;
    check(tess_context_create(&context_options, &ctx), NULL, "context");
    since[2] = bench_wall_seconds();
    for (int r = 0; r < options->rounds; r++) {
        round[r] = run_round(ctx, options, &a);
    }
    printf("%lld rows, %lld nonzeros, %s\n", (long long)a.n, (long long)a.nnz, tess_context_device_name(ctx));
    printf("device's context %.3f ms, library's %.3f ms\n", 1e3 * (since[1] - since[0]), 1e3 * (since[2] - since[1]));
    printf("%-10s %8s %8s %8s %8s  ms\n", "round", "matrix", "set-up", "solve", "all");
    print_round("first", &round[0]);
    if (options->rounds > 1) { print_round("second", &round[1]); }
    if (options->rounds > 2) { print_round("last", &round[options->rounds - 1]); }
    tess_context_destroy(ctx);
    free(a.row_ptr);
    free(a.col_ind);
    free(a.val);
    free(a.b);
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
    case 'd': o->device = strcmp(text, "cpu") == 0 ? TESS_DEVICE_CPU : TESS_DEVICE_AUTO; break;
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

int main(int argc, char **argv)
{
    static const struct argp_option accepted[] = {
        {"device", 'd', "auto|cpu", 0, "Where (auto)", 0},
        {"edge", 'n', "N", 0, "Unknowns along each edge of the cube (32)", 0},
        {"rounds", 'r', "N", 0, "Rounds: matrix, set-up, solve (10)", 0},
        {"solver", 's', "NAME", 0, "As the tool's --solver (cg)", 0},
        {"precond", 'p', "NAME", 0, "As the tool's --precond (none)", 0},
        {"format", 'f', "NAME", 0, "As the tool's --format (csr)", 0},
        {"policy", 'y', "NAME", 0, "As the tool's --policy", 0},
        {0},
    };
    static const struct argp program = {accepted, parse_option, NULL, "What a fresh process waits for.",
                                        NULL,     NULL,         NULL};
    use_options options = {.device = TESS_DEVICE_AUTO, .edge = 32, .rounds = 10};

    tess_solve_options_init(&options.solve);
    options.solve.solver = TESS_SOLVER_CG;
    options.solve.rtol = 1e-8;
    argp_parse(&program, argc, argv, 0, NULL, &options);
    measure(&options);
    return 0;
}
