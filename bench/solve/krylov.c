/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CG and BiCGSTAB without preconditioner: time per iteration by the difference of two fixed runs, and time to a
 * verified tolerance, set-up included; against cuSPARSE+cuBLAS in three variants on a GPU. Parts of the study are in
 * krylov.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "solve/krylov.h"
#include "solve/solve.h"

/* ---- options ---- */

enum { KEY_RTOL = 500, KEY_CONTESTANT, KEY_MAX_ITERATIONS, KEY_SOLVES, KEY_HISTORIES };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    krylov_session *k = state->input;

    switch (key) {
    case KEY_RTOL:
        k->rtol = strtod(arg, NULL);
        if (!(k->rtol > 0.0 && k->rtol < 1.0)) { argp_error(state, "--rtol: '%s' is not between 0 and 1", arg); }
        break;
    case KEY_CONTESTANT: k->contestants = arg; break;
    case KEY_MAX_ITERATIONS: k->max_iterations = bench_read_count(state, "max-iterations", arg, 1, 1); break;
    case KEY_SOLVES: k->solves = bench_read_count(state, "solves", arg, 1, 1); break;
    case KEY_HISTORIES:
        k->histories = fopen(arg, "w");
        if (!k->histories) { argp_error(state, "cannot write %s", arg); }
        fprintf(k->histories, "study,matrix,precond,restart,contestant,iteration,relative_residual\n");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option table[] = {
    {"rtol", KEY_RTOL, "R", 0, "tolerance of the solves (default 1e-10)", 0},
    {"contestant", KEY_CONTESTANT, "LIST", 0, "names and patterns (default: those of the part)", 0},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "of a solve (default 1000)", 0},
    {"solves", KEY_SOLVES, "N", 0, "of part endurance, each way (default 10000, on the CPU 100)", 0},
    {"histories", KEY_HISTORIES, "FILE", 0, "write the residual of each iteration of part papers as CSV", 0},
    {0}};

static const char doc[] =
    "Times CG and BiCGSTAB per iteration and to a tolerance.\v"
    "Time per iteration is the difference of two fixed runs over the difference of their iterations. A solve's "
    "time is that of a wall clock and, for tessera, includes the verification; 'verified' means "
    "that an independent residual in quadruple precision met the tolerance, FALSE that the solver claimed it "
    "and it did not.\n"
    "Parts run from x = 0, over their own matrices or those of --set and --matrix. Without a part runs 'models': 2D "
    "Laplacians of 1,024 to 65,536 unknowns and Laplace3D150.";

int krylov_main(int argc, char **argv, const char *parts, const krylov_row *rows, int count)
{
    static const struct argp own = {.options = table, .parser = parse_option, .doc = doc};
    krylov_session s = {.rows = rows, .row_count = count, .rtol = 1e-10, .max_iterations = 1000};
    bench_options options;
    int code = 0;

    bench_options_init(&options);
    bench_parse(argc, argv, &own, &options, &s);
    code = krylov_run(&s, parts, &options);
    if (s.histories && fclose(s.histories) != 0) { bench_die("cannot write the histories"); }
    return code;
}

int study_krylov(int argc, char **argv, const char *parts)
{
    return krylov_main(argc, argv, parts ? parts : "models", krylov_rows, krylov_row_count);
}
