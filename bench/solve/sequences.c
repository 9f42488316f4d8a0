/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of systems: steps of a heat equation whose coefficients change slowly, against as many single solves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tessera/sequence.h>

#include "harness/record.h"
#include "matrix/matrix.h"
#include "solve/contest.h"
#include "solve/solve.h"

enum { STEPS = 50, QUICK_STEPS = 4, SIDE_ON_HOST = 48, SIDE_ON_GPU = 128, QUICK_SIDE = 12 };
/* Implicit steps of this length, over the square of a cell's width: some 10 cells of diffusion. */
#define STEP_NUMBER 100.0
#define RTOL 1e-8
#define PI 3.14159265358979323846

/* (I + dt K(t)) u = u_before + dt f(t) on a cube of side^3 cells, Dirichlet, K by finite volumes. */
typedef struct heat {
    int side;
    int64_t n, nnz;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val, *b, *x;
} heat;

/* The coefficient between two cells: it moves by 1 % a step. */
static double coefficient(const heat *h, const int at[3], int axis, double t)
{
    double phase = 0.5 * axis + t;

    for (int d = 0; d < 3; d++) {
        phase += (1.0 + d) * PI * at[d] / h->side;
    }
    return exp(sin(phase));
}

static void open_heat(heat *h, int side)
{
    const int64_t n = (int64_t)side * side * side;

    *h = (heat){.side = side,
                .n = n,
                .row_ptr = bench_allocate((size_t)n + 1, sizeof *h->row_ptr),
                .col_ind = bench_allocate((size_t)n * 7, sizeof *h->col_ind),
                .val = bench_allocate((size_t)n * 7, sizeof *h->val),
                .b = bench_allocate((size_t)n, sizeof *h->b),
                .x = bench_allocate((size_t)n, sizeof *h->x)};
}

static void close_heat(heat *h)
{
    free(h->row_ptr);
    free(h->col_ind);
    free(h->val);
    free(h->b);
    free(h->x);
}

/* A row: the neighbours in ascending order, and the diagonal. */
static void fill_row(heat *h, const int at[3], double t)
{
    const int64_t stride[3] = {1, h->side, (int64_t)h->side * h->side},
                  row = at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2];
    double sum = 0.0;
    int64_t diagonal = -1;

    for (int k = 0; k < 7; k++) { /* -z, -y, -x, the cell, +x, +y, +z */
        const int axis = k < 3 ? 2 - k : k - 4;
        int face[3] = {at[0], at[1], at[2]};
        double value = 0.0;

        if (k == 3) {
            diagonal = h->nnz;
            h->col_ind[h->nnz++] = (int32_t)row;
            continue;
        }
        face[axis] += k > 3;
        value = STEP_NUMBER * coefficient(h, face, axis, t);
        sum += value;
        if (k < 3 ? at[axis] == 0 : at[axis] == h->side - 1) { continue; } /* beyond lies zero */
        h->col_ind[h->nnz] = (int32_t)(row + (k < 3 ? -stride[axis] : stride[axis]));
        h->val[h->nnz++] = -value;
    }
    h->val[diagonal] = 1.0 + sum;
    h->row_ptr[row + 1] = h->nnz;
}

static void fill_matrix(heat *h, double t)
{
    h->nnz = 0;
    h->row_ptr[0] = 0;
    for (int z = 0; z < h->side; z++) {
        for (int y = 0; y < h->side; y++) {
            for (int x = 0; x < h->side; x++) {
                fill_row(h, (const int[3]){x, y, z}, t);
            }
        }
    }
}

/* The last x, and a source that moves. */
static void fill_rhs(heat *h, double t)
{
    for (int64_t i = 0; i < h->n; i++) {
        const double place = (double)i / (double)h->n - 0.5 - 0.2 * sin(t);

        h->b[i] = h->x[i] + exp(-100.0 * place * place);
    }
}

/* How a sequence is solved. */
typedef struct way {
    const char *name;
    bool sequence;  /* else a set-up and a solve for each step, */
    bool from_last; /* from the last x */
    int kept;
    tess_renewal renewal;
} way;

static const way ways[] = {{"single solves", false, false, 0, TESS_RENEWAL_ALWAYS},
                           {"single, from the last x", false, true, 0, TESS_RENEWAL_ALWAYS},
                           {"renewed values", true, true, 0, TESS_RENEWAL_ALWAYS},
                           {"guess", true, true, 8, TESS_RENEWAL_ALWAYS},
                           {"kept", true, true, 0, TESS_RENEWAL_AUTO},
                           {"sequence", true, true, 8, TESS_RENEWAL_AUTO}};

typedef struct method {
    const char *name;
    tess_solver_kind solver;
    tess_precond_kind precond;
} method;

static const method methods[] = {{"cg-amg", TESS_SOLVER_CG, TESS_PRECOND_AMG},
                                 {"cg-ic0", TESS_SOLVER_CG, TESS_PRECOND_IC0},
                                 {"cg-jacobi", TESS_SOLVER_CG, TESS_PRECOND_JACOBI},
                                 {"auto", TESS_SOLVER_AUTO, TESS_PRECOND_AUTO}};

/* What all steps took. */
typedef struct totals {
    double seconds, cpu_seconds, worst; /* by the clock, and of the processors: on a loaded machine these say more */
    int64_t iterations, products, renewals;
} totals;

typedef struct heat_run {
    bench_run *run;
    heat *h;
    tess_matrix *a; /* the pattern, with the values of the first step */
    tess_vector *b, *x;
    tess_solve_options options;
} heat_run;

static tess_status make_matrix(const heat_run *c, tess_matrix **out)
{
    const heat *h = c->h;
    const tess_csr_arrays arrays = {.size = sizeof arrays,
                                    .nrows = h->n,
                                    .ncols = h->n,
                                    .nnz = h->nnz,
                                    .row_ptr = h->row_ptr,
                                    .col_ind = h->col_ind,
                                    .val = h->val,
                                    .row_ptr_bits = 64,
                                    .col_ind_bits = 32,
                                    .where = TESS_MEMORY_HOST,
                                    .ownership = TESS_COPY};

    return tess_matrix_create_csr(c->run->ctx, &arrays, out);
}

static tess_status solve_single(const heat_run *c, tess_solve_result *result)
{
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;
    tess_status status = make_matrix(c, &a);

    if (status == TESS_SUCCESS) { status = tess_solver_create(a, &c->options, &solver); }
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, c->b, c->x, result); }
    tess_solver_destroy(solver);
    tess_matrix_destroy(a);
    return status;
}

static tess_status solve_in_sequence(const heat_run *c, tess_sequence *sequence, tess_solve_result *result, totals *sum)
{
    const tess_sequence_values values = tess_sequence_values_of(c->h->nnz, c->h->val, TESS_MEMORY_HOST);
    tess_sequence_step step;
    const tess_status status = tess_sequence_solve(sequence, &values, c->b, c->x, result);

    tess_sequence_step_init(&step);
    (void)tess_sequence_get_step(sequence, &step);
    sum->products += step.products;
    sum->renewals += step.renewed;
    return status;
}

/* One step: the time is that of all that follows the assembly, with transfers of values and vectors. */
static tess_status make_step(heat_run *c, const way *w, tess_sequence **sequence, totals *sum)
{
    heat *h = c->h;
    tess_sequence_options options;
    tess_solve_result result;
    const double start = bench_wall_seconds();
    const clock_t busy = clock();
    tess_status status = tess_vector_set(c->b, h->b, TESS_PRECISION_FP64, TESS_MEMORY_HOST);

    tess_solve_result_init(&result);
    if (status == TESS_SUCCESS && !w->from_last) { status = tess_vector_fill(c->x, 0.0); }
    if (w->sequence && !*sequence && status == TESS_SUCCESS) {
        tess_sequence_options_init(&options);
        options.kept_solutions = w->kept;
        options.renewal = w->renewal;
        status = tess_sequence_create(c->a, &c->options, &options, sequence);
    }
    if (status == TESS_SUCCESS) {
        status = w->sequence ? solve_in_sequence(c, *sequence, &result, sum) : solve_single(c, &result);
    }
    if (status == TESS_SUCCESS) { status = tess_vector_get(c->x, h->x, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    sum->seconds += bench_wall_seconds() - start;
    sum->cpu_seconds += (double)(clock() - busy) / CLOCKS_PER_SEC;
    sum->iterations += result.iterations;
    sum->worst = fmax(sum->worst, result.verified ? result.relative_residual : INFINITY);
    return status;
}

static tess_status run_way(heat_run *c, const way *w, int steps, totals *sum)
{
    heat *h = c->h;
    tess_sequence *sequence = NULL;
    tess_status status = TESS_SUCCESS;

    *sum = (totals){0};
    memset(h->x, 0, (size_t)h->n * sizeof *h->x);
    status = tess_vector_fill(c->x, 0.0);
    for (int k = 0; k < steps && status == TESS_SUCCESS; k++) {
        fill_matrix(h, 0.01 * k);
        fill_rhs(h, 0.05 * k);
        status = make_step(c, w, &sequence, sum);
    }
    tess_sequence_destroy(sequence);
    return status;
}

static void record_way(heat_run *c, const method *m, const way *w, int steps, const totals *alone, const totals *sum,
                       tess_status status)
{
    char name[64];
    const bench_record record = {.part = "sequence",
                                 .matrix = name,
                                 .nrows = c->h->n,
                                 .ncols = c->h->n,
                                 .nnz = c->h->nnz,
                                 .contestant = w->name,
                                 .ours = w->sequence,
                                 .precision = "fp64",
                                 .of = "solve",
                                 .time = bench_time_once(sum->seconds),
                                 .solved = true,
                                 .iterations = sum->iterations,
                                 .true_residual = sum->worst,
                                 .refused = status == TESS_SUCCESS ? NULL : tess_status_text(status)};
    json_t *row = NULL;

    (void)snprintf(name, sizeof name, "heat3d %s", m->name);
    row = bench_record_row(c->run, &record);
    json_object_set_new(row, "steps", json_integer(steps));
    json_object_set_new(row, "method", json_string(m->name));
    json_object_set_new(row, "cpu_seconds", json_real(sum->cpu_seconds));
    json_object_set_new(row, "renewals", json_integer(sum->renewals));
    json_object_set_new(row, "guess_products", json_integer(sum->products));
    bench_record_add(c->run, &record, row, "%d steps: %.2f times as fast as single solves, %.2f by processor time",
                     steps, alone->seconds / sum->seconds, alone->cpu_seconds / sum->cpu_seconds);
}

static void run_method(heat_run *c, const method *m, int steps)
{
    totals alone = {0};

    tess_solve_options_init(&c->options);
    c->options.solver = m->solver;
    c->options.precond.kind = m->precond;
    c->options.rtol = RTOL;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        totals sum;
        const tess_status status = run_way(c, &ways[k], steps, &sum);

        if (k == 0) { alone = sum; }
        record_way(c, m, &ways[k], steps, &alone, &sum, status);
    }
}

int study_sequences(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .doc =
            "Times 50 implicit steps of a heat equation on a cube, whose coefficients change by 1 % a step: by single "
            "solves, each with its set-up, and as a sequence, by its parts."};
    bench_options options;
    bench_run run;
    heat h;
    heat_run c = {.run = &run, .h = &h};

    (void)parts;
    bench_options_init(&options);
    bench_parse(argc, argv, &program, &options, NULL);
    bench_begin(&run, &options, "sequences", true);
    open_heat(&h, options.quick ? QUICK_SIDE : run.gpu ? SIDE_ON_GPU : SIDE_ON_HOST);
    fill_matrix(&h, 0.0);
    if (make_matrix(&c, &c.a) == TESS_SUCCESS &&
        tess_vector_create(run.ctx, h.n, TESS_PRECISION_FP64, &c.b) == TESS_SUCCESS &&
        tess_vector_create(run.ctx, h.n, TESS_PRECISION_FP64, &c.x) == TESS_SUCCESS) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            run_method(&c, &methods[m], options.quick ? QUICK_STEPS : STEPS);
        }
    } else {
        bench_fault(&run, "heat3d", "sequence", tess_context_last_error(run.ctx)->status);
    }
    tess_vector_destroy(c.b);
    tess_vector_destroy(c.x);
    tess_matrix_destroy(c.a);
    close_heat(&h);
    return bench_end(&run);
}
