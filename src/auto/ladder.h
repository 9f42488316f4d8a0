/* SPDX-License-Identifier: Apache-2.0 */
/* The attempts of an automatic solve, in the order in which they are made, and what they cost. */
#ifndef TESS_AUTO_LADDER_H
#define TESS_AUTO_LADDER_H

#include <tessera/automatic.h>

#include "auto/facts.h"
#include "auto/rates.h"
#include "precond/direct/direct.h"

/* How a matrix is treated. A solve changes to another family if a method finds out that this one is wrong. */
typedef enum matrix_family {
    FAMILY_POSITIVE,   /* symmetric, and A or -A is perhaps positive definite */
    FAMILY_INDEFINITE, /* symmetric */
    FAMILY_GENERAL
} matrix_family;

typedef enum step_limit {
    LIMIT_BUDGET, /* iterations are left when another step should take less time */
    LIMIT_TRIAL,  /* likewise; the step is for matrices of which a trial is cheap (only in the lists of ladder.c) */
    LIMIT_DIRECT, /* factors are expected to solve within few iterations */
    LIMIT_NONE    /* the last resort: up to the caller's limits */
} step_limit;

typedef struct ladder_step {
    tess_solver_kind solver;
    tess_precond_kind precond;
    tess_precision factors; /* of a preconditioner with factors */
    tess_scaling scale;
    tess_reordering reorder;
    step_limit limit;
} ladder_step;

enum { MAX_STEPS = 12 };

typedef struct ladder {
    matrix_family family;
    int count;
    ladder_step step[MAX_STEPS];
} ladder;

/* The family that the facts suggest. */
matrix_family family_of(const matrix_facts *facts);
/* The steps for a family, in the order of ladder.c; on a GPU, after the first, those up to complete factors in the
   order of their cost. With options->precond of a named kind: methods that use that one. */
void make_ladder(const cost_rates *rates, matrix_family family, const matrix_facts *facts,
                 const tess_solve_options *options, ladder *out);
/* On a GPU: steps from this one on, in the order of their cost. */
void sort_steps(const cost_rates *rates, const matrix_facts *facts, int first, ladder *l);
/* Whether levels of multigrid do its work: of the matrix, or of the blocks of a saddle point. */
bool has_multigrid(const ladder_step *step);
/* Whether its products with the preconditioner wait for levels. */
bool has_triangles(const ladder_step *step);
/* Whether its cost depends on the level sets of the triangles. */
bool waits_for_levels(const ladder_step *step);

/* Whether it has an approximate inverse. */
bool has_inverse(const ladder_step *step);

/* ---- estimates of time, in seconds; only their ratios decide ---- */

double iteration_cost(const cost_rates *rates, const matrix_facts *facts, const ladder_step *step);
/* A saddle point: rows without a diagonal have no entries in one another's columns. */
bool is_saddle_point(const matrix_facts *facts);
/* One whose rows nearly sum to 0, as those of a flow: its block A is like a Laplacian. */
bool is_flow(const matrix_facts *facts);
/* A lower or upper triangle: substitution solves, which ILU(0) is. */
bool is_triangular(const matrix_facts *facts);
/* The step that solves with a triangle. */
bool is_substitution(const ladder_step *step);
/* Iterations without a set-up: about the least number that they take to a relative tolerance, as far as the facts tell;
   0 for other steps. modes: vectors of the near-nullspace that the caller gives. */
double least_iterations(const matrix_facts *facts, const ladder_step *step, double tolerance, int modes);
/* Multigrid, of a saddle point that of its blocks: its set-up and the iterations that it usually takes. */
double multigrid_cost(const cost_rates *rates, const matrix_facts *facts);
/* Whether complete factors, which should cost `direct`, come before multigrid on a host. */
bool suits_factors(const cost_rates *rates, const matrix_facts *facts, double direct);
/* A trial of a step with incomplete factors or an approximate inverse; INFINITY for other steps. */
double trial_cost(const cost_rates *rates, const matrix_facts *facts, const ladder_step *step);
/* Whether a step is worth a trial where complete factors cost so much. */
bool trial_pays(const cost_rates *rates, const matrix_facts *facts, const ladder_step *step, double direct);
/* What complete factors cost: at least; and by what their analysis predicts. */
double least_direct_cost(const cost_rates *rates, const matrix_facts *facts);
double direct_cost(const cost_rates *rates, const matrix_facts *facts, const direct_prediction *prediction);
/* An attempt of a step that shows whether it will do. */
double step_cost(const cost_rates *rates, const matrix_facts *facts, const ladder_step *step);

#endif
