/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/ladder.h"

#include <math.h>

#include "precond/precond.h"
#include "solver/krylov.h"

matrix_family family_of(const matrix_facts *f)
{
    if (may_be_positive_definite(f)) { return FAMILY_POSITIVE; }
    return f->symmetric ? FAMILY_INDEFINITE : FAMILY_GENERAL;
}

/* ---- the steps ---- */

/* Factors are in FP32, which takes half the time and memory; FP64 follows where these are not good enough (Carson,
   Higham 2018: up to a condition number of about 1e8 they are). Multigrid comes before incomplete factors where a trial
   of these is none; see `settle`. */
static const ladder_step positive[] = {
    {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_IC0, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_TRIAL},
    {TESS_SOLVER_CG, TESS_PRECOND_AMG, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_IC0, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_DIRECT},
    {TESS_SOLVER_CG, TESS_PRECOND_ICT, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE}};
static const ladder_step indefinite[] = {
    {TESS_SOLVER_MINRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_DIRECT},
    {TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECISION_FP64, TESS_SCALING_MAX_PRODUCT, LIMIT_BUDGET},
    {TESS_SOLVER_MINRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE}};
static const ladder_step general[] = {
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_AMG, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP32, TESS_SCALING_NONE, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_DIRECT},
    {TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECISION_FP64, TESS_SCALING_MAX_PRODUCT, LIMIT_BUDGET},
    {TESS_SOLVER_IDR, TESS_PRECOND_ILU0, TESS_PRECISION_FP64, TESS_SCALING_MAX_PRODUCT, LIMIT_BUDGET},
    {TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE}};
/* For a preconditioner that the caller named, by family; its kind replaces that of the step. */
static const ladder_step named[][2] = {
    {{TESS_SOLVER_CG, TESS_PRECOND_NONE, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE},
     {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE}},
    {{TESS_SOLVER_MINRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE},
     {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE}},
    {{TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE},
     {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, TESS_SCALING_NONE, LIMIT_NONE}}};

/* Below so many rows complete factors take less time than multigrid. */
enum { LEAST_MULTIGRID_ROWS = 10000 };
/* A trial of incomplete factors of a larger matrix is none, since triangles leave the other cores idle. */
enum { MOST_TRIAL_NONZEROS = 1 << 19 };

/* Multigrid is for large matrices that look like an equation of diffusion and convection: all of the diagonal positive.
   Measured: convection and diffusion in two and three dimensions, epb1, memplus and pesa take less time with it than
   with ILU(0), or as much; wang4 and cage11, which it does not suit, end before its turn. */
static bool suits_multigrid(const matrix_facts *f)
{
    return f->n >= LEAST_MULTIGRID_ROWS && (f->symmetric || f->positive == f->n);
}

/* Steps that this build and this matrix allow, with what the options say in place of the step's own choice. */
static bool settle(const matrix_facts *f, const tess_solve_options *o, ladder_step *s)
{
    if (o->precond.kind != TESS_PRECOND_AUTO) { s->precond = o->precond.kind; }
    if (o->precond.kind == TESS_PRECOND_AUTO && s->precond == TESS_PRECOND_AMG && !suits_multigrid(f)) { return false; }
    if (s->limit == LIMIT_TRIAL) {
        if (f->nnz > MOST_TRIAL_NONZEROS) { return false; }
        s->limit = LIMIT_BUDGET;
    }
    /* An empty row leaves no diagonal; lu sets its pivot aside. */
    if (f->empty_rows > 0 && (s->precond == TESS_PRECOND_CHOLESKY || s->scale != TESS_SCALING_NONE)) { return false; }
    if (!tess_find_method(s->solver) || !tess_find_precond(s->precond)) { return false; }
    /* As a preconditioner of MINRES the diagonal must be positive; one with zeros scales nothing well. */
    if (s->precond == TESS_PRECOND_JACOBI && s->solver == TESS_SOLVER_MINRES && f->positive < f->n) {
        s->precond = TESS_PRECOND_NONE;
    }
    if (o->automatic.fp64_only) { s->factors = TESS_PRECISION_FP64; }
    return true;
}

static bool same_step(const ladder_step *a, const ladder_step *b)
{
    return a->solver == b->solver && a->precond == b->precond && a->factors == b->factors && a->scale == b->scale &&
           a->limit == b->limit;
}

static void append(ladder *l, ladder_step s)
{
    for (int i = 0; i < l->count; i++) {
        if (same_step(&l->step[i], &s)) { return; } /* --precision fp64 makes steps equal */
    }
    if (l->count < MAX_STEPS) { l->step[l->count++] = s; }
}

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

void make_ladder(matrix_family family, const matrix_facts *f, const tess_solve_options *o, ladder *out)
{
    const ladder_step *const steps[] = {positive, indefinite, general};
    const int counts[] = {COUNT(positive), COUNT(indefinite), COUNT(general)};
    const bool chosen = o->precond.kind == TESS_PRECOND_AUTO;
    const ladder_step *list = chosen ? steps[family] : named[family];
    const int count = chosen ? counts[family] : COUNT(named[family]);

    *out = (ladder){.family = family};
    for (int i = 0; i < count; i++) {
        ladder_step s = list[i];

        if (settle(f, o, &s)) { append(out, s); }
    }
}

/* ---- cost ---- */

/* Measured on one core of an x86 server with the reference BLAS: seconds for an entry of a product, for an entry of a
   vector in all operations of an iteration, and for what an iteration begins with. */
#define ENTRY_SECONDS 0.43e-9
#define VECTOR_SECONDS 2.5e-9
#define START_SECONDS 2e-6
/* MINRES passes over so many times as many vectors. */
#define MINRES_VECTORS 2.0
/* A product with both triangles takes so many times as long as one with the matrix: levels wait for one another. Their
   set-up takes as long as so many products. */
#define TRIANGLES 2.5
#define INCOMPLETE_PRODUCTS 130.0
/* Likewise multigrid: a cycle, and the set-up. Measured on laplace3d-64 and on finite elements of 115 thousand rows. */
#define CYCLE_PRODUCTS 20.0
#define MULTIGRID_PRODUCTS 580.0
/* Complete factors: once, for a row, an entry, and an operation of the factorization. Of an unsymmetric matrix they
   take so many times as long: its entries are matched first, and both sides are kept. */
#define DIRECT_SECONDS 1e-3
#define DIRECT_ROW_SECONDS 1.2e-6
#define DIRECT_ENTRY_SECONDS 70e-9
#define UNSYMMETRIC 1.6
/* A trial of incomplete factors, and a solve with multigrid, is so many iterations. */
enum { TRIAL_ITERATIONS = 20, MULTIGRID_ITERATIONS = 20 };
/* A trial is left out where complete factors take fewer times as long: it fails more often than not. */
#define TIMES_WORTH 2.5

/* The same on an H200, where a launch takes the time of a small iteration. */
#define GPU_ENTRY_SECONDS 4e-12
#define GPU_VECTOR_SECONDS 3e-11
#define GPU_START_SECONDS 3e-6

double iteration_cost(const matrix_facts *f, const ladder_step *s, bool on_gpu)
{
    const double entry = on_gpu ? GPU_ENTRY_SECONDS : ENTRY_SECONDS, start = on_gpu ? GPU_START_SECONDS : START_SECONDS;
    const double vectors = s->solver == TESS_SOLVER_MINRES ? MINRES_VECTORS : 1.0;
    const double vector = vectors * (on_gpu ? GPU_VECTOR_SECONDS : VECTOR_SECONDS);
    const double products = s->solver == TESS_SOLVER_BICGSTAB ? 2.0 : 1.0;
    const bool diagonal = s->precond == TESS_PRECOND_NONE || s->precond == TESS_PRECOND_JACOBI;
    const double passes = diagonal ? 1.0 : 1.0 + (s->precond == TESS_PRECOND_AMG ? CYCLE_PRODUCTS : TRIANGLES);

    return products * (passes * (entry * (double)f->nnz + start) + vector * (double)f->n);
}

double multigrid_cost(const matrix_facts *f)
{
    return (MULTIGRID_PRODUCTS + MULTIGRID_ITERATIONS * CYCLE_PRODUCTS) * ENTRY_SECONDS * (double)f->nnz;
}

double least_direct_cost(const matrix_facts *f)
{
    return (f->symmetric ? 1.0 : UNSYMMETRIC) *
           (DIRECT_SECONDS + DIRECT_ROW_SECONDS * (double)f->n + DIRECT_ENTRY_SECONDS * (double)f->nnz);
}

double direct_cost(const matrix_facts *f, const direct_prediction *p)
{
    return p->possible ? least_direct_cost(f) + DIRECT_FLOP_SECONDS * p->flops : INFINITY;
}

static bool has_incomplete_factors(const ladder_step *s)
{
    return s->limit == LIMIT_BUDGET && (s->precond == TESS_PRECOND_IC0 || s->precond == TESS_PRECOND_ICT ||
                                        s->precond == TESS_PRECOND_ILU0 || s->precond == TESS_PRECOND_ILUT);
}

static double cost_of_trial(const matrix_facts *f, const ladder_step *s)
{
    return TRIAL_ITERATIONS * iteration_cost(f, s, false) + INCOMPLETE_PRODUCTS * ENTRY_SECONDS * (double)f->nnz;
}

double trial_cost(const matrix_facts *f, const ladder_step *s)
{
    return has_incomplete_factors(s) && f->nnz <= MOST_TRIAL_NONZEROS ? cost_of_trial(f, s) : INFINITY;
}

bool trial_pays(const matrix_facts *f, const ladder_step *s, double direct)
{
    return !has_incomplete_factors(s) || TIMES_WORTH * cost_of_trial(f, s) < direct;
}
