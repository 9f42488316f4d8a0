/* SPDX-License-Identifier: Apache-2.0 */
/* CG with IC(0) and BiCGSTAB with ILU(0): the contestants and what they did. */
#ifndef TESS_BENCH_SOLVE_FACTORS_H
#define TESS_BENCH_SOLVE_FACTORS_H

#include "harness/record.h"
#include "solve/contest.h"

enum { FACTORS_MAX_VARIANTS = 48, FACTORS_NAME = 48 };

/* ---- contestants (factors_variants.c) ---- */

/*
 * A contestant is its name: cg or bicgstab, then jacobi, ilu0 or ic0, then any of a precision of the factors, level
 * sets, blocks, merged, colors or sweepsK, host, device or factorN (ours; K sweeps with each triangle, N of the
 * factorization); or cg-cu-ic0, bicgstab-cu-ilu0, .. (cuSPARSE and cuBLAS) call by call,
 * with -graph or -short as a CUDA graph of ten iterations or of one.
 */
typedef struct factors_variant {
    char name[FACTORS_NAME];
    tess_solver_kind solver;
    bool theirs;
    bench_contestant which; /* of ours: on a GPU */
    tess_precond_options precond;
} factors_variant;

typedef struct factors_variants {
    int count;
    factors_variant items[FACTORS_MAX_VARIANTS];
} factors_variants;

/* Adds those of a comma-separated list of names and patterns (`cg-*`, `all`); false at a wrong one, which is copied to
 *wrong. `triangular` is that of ours whose name says none. */
bool factors_variants_add(factors_variants *list, const char *names, tess_triangular triangular, char *wrong,
                          size_t wrong_size);

/* ---- results ---- */

typedef struct factors_outcome {
    const factors_variant *variant;
    bool refused; /* it could not run: `why` */
    char why[640];
    bench_contest_outcome run;
    bool from_solve;            /* the time per iteration is that of the solve without its set-up, by its iterations */
    double apply_seconds;       /* of one application; 0: not measured */
    bool incomplete;            /* it has the following facts; of theirs the shift alone */
    tess_precond_factors facts; /* a baseline factors A with our shift */
    const char *made_by;        /* the baseline's factors */
    int64_t bytes;              /* of the preconditioner */
} factors_outcome;

/* ---- records (factors_records.c) ---- */

void factors_report(const bench_problem *p, const char *matrix, const factors_outcome *o);

#endif
