/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/ladder.h"

#include <math.h>

#include "precond/direct/direct.h"
#include "precond/multigrid/by_matrix.h"
#include "precond/precond.h"
#include "solver/krylov.h"
#include "solver/verify.h"

matrix_family family_of(const matrix_facts *f)
{
    if (may_be_positive_definite(f) || may_be_negative_definite(f)) { return FAMILY_POSITIVE; }
    return f->symmetric ? FAMILY_INDEFINITE : FAMILY_GENERAL;
}

bool is_saddle_point(const matrix_facts *f)
{
    return has_zero_block(f) && f->empty_rows == 0;
}

bool is_flow(const matrix_facts *f)
{
    return is_saddle_point(f) && 2 * f->near_null_rows >= f->n;
}

bool is_triangular(const matrix_facts *f)
{
    return !f->symmetric && (is_lower_triangular(f) || is_upper_triangular(f));
}

bool has_multigrid(const ladder_step *s)
{
    return s->precond == TESS_PRECOND_AMG || s->precond == TESS_PRECOND_SADDLE;
}

bool is_substitution(const ladder_step *s)
{
    return s->precond == TESS_PRECOND_ILU0 && s->limit == LIMIT_DIRECT;
}

bool has_inverse(const ladder_step *s)
{
    return s->precond == TESS_PRECOND_FSAI || s->precond == TESS_PRECOND_ISAI;
}

/* ---- the steps ---- */

/* The system that a step solves. In a band: by reverse Cuthill-McKee, where band.c says that it pays. With the pattern
   of A, IC(0) and ILU(0), it does not (docs/results/automatic.md). */
#define AS_IT_IS TESS_SCALING_NONE, TESS_REORDERING_NONE
#define MATCHED TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_NONE
#define MATCHED_IN_A_BAND TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_RCM

/* Factors are in FP32, which takes half the time and memory; FP64 follows where these are not good enough (Carson,
   Higham 2018: up to a condition number of about 1e8 they are). Multigrid comes before incomplete factors where a trial
   of these is none; see `settle`. Approximate inverses are for GPUs, where triangles wait for their levels. */
static const ladder_step positive[] = {
    {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_IC0, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_TRIAL},
    {TESS_SOLVER_CG, TESS_PRECOND_AMG, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_FSAI, TESS_PRECISION_FP16, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_IC0, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_CHOLESKY, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_CG, TESS_PRECOND_ICT, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}};
static const ladder_step indefinite[] = {
    {TESS_SOLVER_MINRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECISION_FP64, MATCHED_IN_A_BAND, LIMIT_BUDGET},
    {TESS_SOLVER_MINRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}};
static const ladder_step general[] = {
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_AMG, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECISION_FP64, MATCHED_IN_A_BAND, LIMIT_BUDGET},
    {TESS_SOLVER_IDR, TESS_PRECOND_ILU0, TESS_PRECISION_FP64, MATCHED, LIMIT_BUDGET},
    {TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}};
/* Before the others, for a triangle: substitution, since the factors of ILU(0) are the matrix. */
static const ladder_step triangle[] = {
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_DIRECT}};
/* Saddle points, symmetric or not: their blocks, by multigrid. */
static const ladder_step saddle[] = {
    {TESS_SOLVER_MINRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_SADDLE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECISION_FP64, MATCHED_IN_A_BAND, LIMIT_BUDGET},
    {TESS_SOLVER_MINRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}};
static const ladder_step general_saddle[] = {
    {TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_SADDLE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_BUDGET},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP32, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_FGMRES, TESS_PRECOND_LU, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_DIRECT},
    {TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECISION_FP64, MATCHED_IN_A_BAND, LIMIT_BUDGET},
    {TESS_SOLVER_IDR, TESS_PRECOND_ILU0, TESS_PRECISION_FP64, MATCHED, LIMIT_BUDGET},
    {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}};
/* For a preconditioner that the caller named, by family; its kind replaces that of the step. */
static const ladder_step named[][2] = {
    {{TESS_SOLVER_CG, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE},
     {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}},
    {{TESS_SOLVER_MINRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE},
     {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}},
    {{TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE},
     {TESS_SOLVER_GMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}}};

/* One that varies, such as a K cycle. */
static const ladder_step named_varying[] = {
    {TESS_SOLVER_FGMRES, TESS_PRECOND_NONE, TESS_PRECISION_FP64, AS_IT_IS, LIMIT_NONE}};

/* Below so many rows complete factors take less time than multigrid. */
enum { LEAST_MULTIGRID_ROWS = 10000 };
/* A trial of incomplete factors of a larger matrix is none, since triangles leave the other cores idle. */
enum { MOST_TRIAL_NONZEROS = 1 << 19 };

static bool has_diagonal_of_one_sign(const matrix_facts *f)
{
    return f->positive == 0 || f->negative == 0;
}

/* Multigrid is for large matrices that look like an equation of diffusion and convection, with a diagonal of one sign,
   and for saddle points of such equations: with both signs, as in hangGlider_3, the first block is none. Measured:
   convection and diffusion in two and three dimensions, epb1, memplus and pesa take less time with it than with ILU(0),
   or as much; wang4 and cage11, which it does not suit, end before its turn. */
static bool suits_multigrid(const matrix_facts *f)
{
    if (f->n < LEAST_MULTIGRID_ROWS) { return false; }
    if (is_saddle_point(f)) { return has_diagonal_of_one_sign(f); }
    return f->symmetric || f->positive == f->n || f->negative == f->n;
}

/* Complete factors of a complex matrix of so many rows of its real form are in FP64 at once: one application then does
   what takes several iterations otherwise. helmholtz2d:20 and :45: 0.45 and 0.73 of the time with FP32; :100: 1.3. */
enum { MOST_FP64_ROWS = 8192 };

/* Beyond this ratio of rows, large ones hide the small in the inner products of CG. */
#define MOST_APART 0x1p52

/* CG with Jacobi brings rows to one size, and takes 3 to 20 % more iterations with both (docs/results/automatic.md). */
static bool scales_itself(const matrix_facts *f, const ladder_step *s)
{
    return s->solver == TESS_SOLVER_CG && s->precond == TESS_PRECOND_JACOBI &&
           f->greatest_row <= MOST_APART * f->least_row;
}

/* Where the row-scaled residual counts, rows of very different size are brought to one first. Not for multigrid, whose
   levels are for the matrix as its equation gives it. */
static bool wants_scale(const matrix_facts *f, const tess_solve_options *o, const ladder_step *s)
{
    const tess_stop_norm norm = verify_stop_norm(o);

    return !has_multigrid(s) && !scales_itself(f, s) && rows_are_apart(f) && f->finite &&
           (norm == TESS_STOP_NORM_ROWS || norm == TESS_STOP_NORM_BOTH) && !tess_precond_needs_order(&o->precond);
}

/* Steps that this build and this matrix allow, with what the options say in place of the step's own choice. */
static bool settle(const cost_rates *r, const matrix_facts *f, const tess_solve_options *o, ladder_step *s)
{
    bool last = false; /* the last resort takes the system as it is */

    if (has_inverse(s) && !r->sorts) { return false; }
    if (o->precond.kind != TESS_PRECOND_AUTO) { s->precond = o->precond.kind; }
    if (o->precond.kind == TESS_PRECOND_AUTO && has_multigrid(s) && !suits_multigrid(f)) { return false; }
    if (s->precond == TESS_PRECOND_SADDLE && f->is_complex) { return false; }
    if (s->limit == LIMIT_TRIAL) {
        if (f->nnz > MOST_TRIAL_NONZEROS) { return false; }
        s->limit = LIMIT_BUDGET;
    }
    /* An empty row leaves no diagonal; lu sets its pivot aside. */
    if (f->empty_rows > 0 && (s->precond == TESS_PRECOND_CHOLESKY || s->scale != TESS_SCALING_NONE)) { return false; }
    if (!tess_find_method(s->solver) || !tess_find_precond(s->precond)) { return false; }
    /* As a preconditioner of MINRES the diagonal must have one sign; one with zeros scales nothing well. */
    if (s->precond == TESS_PRECOND_JACOBI && s->solver == TESS_SOLVER_MINRES && f->positive < f->n &&
        f->negative < f->n) {
        s->precond = TESS_PRECOND_NONE;
    }
    if (o->automatic.fp64_only || (f->is_complex && f->n <= MOST_FP64_ROWS && s->precond == TESS_PRECOND_LU)) {
        s->factors = TESS_PRECISION_FP64;
    }
    last = s->limit == LIMIT_NONE && o->precond.kind == TESS_PRECOND_AUTO;
    if (s->scale == TESS_SCALING_NONE && !last && wants_scale(f, o, s)) {
        s->scale = f->symmetric ? TESS_SCALING_SYMMETRIC : TESS_SCALING_ROWS;
    }
    return true;
}

static bool same_step(const ladder_step *a, const ladder_step *b)
{
    return a->solver == b->solver && a->precond == b->precond && a->factors == b->factors && a->scale == b->scale &&
           a->reorder == b->reorder && a->limit == b->limit;
}

static void append(ladder *l, ladder_step s)
{
    for (int i = 0; i < l->count; i++) {
        if (same_step(&l->step[i], &s)) { return; } /* --precision fp64 makes steps equal */
    }
    if (l->count < MAX_STEPS) { l->step[l->count++] = s; }
}

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

typedef struct step_list {
    const ladder_step *step;
    int count;
} step_list;

static step_list list_of(matrix_family family, const matrix_facts *f)
{
    static const step_list lists[] = {
        {positive, COUNT(positive)}, {indefinite, COUNT(indefinite)}, {general, COUNT(general)}};

    if (!is_saddle_point(f)) { return lists[family]; }
    return family == FAMILY_GENERAL ? (step_list){general_saddle, COUNT(general_saddle)}
                                    : (step_list){saddle, COUNT(saddle)};
}

static void append_list(step_list list, const cost_rates *r, const matrix_facts *f, const tess_solve_options *o,
                        ladder *out)
{
    for (int i = 0; i < list.count; i++) {
        ladder_step s = list.step[i];

        if (settle(r, f, o, &s)) { append(out, s); }
    }
}

/* Whether M of a symmetric A is not: CG and MINRES are no methods for it. Thresholds drop entries of L and U apart. */
static bool loses_symmetry(const tess_precond_options *p)
{
    const bool air = amg_loses_symmetry(&p->amg);

    switch (p->kind) {
    case TESS_PRECOND_ILUT:
    case TESS_PRECOND_ISAI: return true;
    case TESS_PRECOND_AMG:
    case TESS_PRECOND_SADDLE: return air;
    default: return false;
    }
}

static step_list list_of_named(matrix_family family, const tess_precond_options *p)
{
    const bool multigrid = p->kind == TESS_PRECOND_AMG || p->kind == TESS_PRECOND_SADDLE;
    const matrix_family taken = loses_symmetry(p) ? FAMILY_GENERAL : family;

    if (multigrid && p->amg.cycle == TESS_AMG_K) { return (step_list){named_varying, COUNT(named_varying)}; }
    return (step_list){named[taken], COUNT(named[taken])};
}

static void list_steps(const cost_rates *r, matrix_family family, const matrix_facts *f, const tess_solve_options *o,
                       ladder *out)
{
    const bool chosen = o->precond.kind == TESS_PRECOND_AUTO;

    *out = (ladder){.family = family};
    if (chosen && is_triangular(f)) { append_list((step_list){triangle, COUNT(triangle)}, r, f, o, out); }
    append_list(chosen ? list_of(family, f) : list_of_named(family, &o->precond), r, f, o, out);
}

/* Convection that leaves diffusion no say: rows follow one another, which ILU(0) knows and multigrid does not. On grids
   of 250,000 rows ILU(0) takes 0.2 times as long as multigrid where this share is 0.97, except in a closed vortex,
   which shows soon; at 0.77 and 0.83 either may be faster, and below multigrid is (docs/results/automatic.md). */
#define ONE_WAY 0.9

static bool flows_one_way(const matrix_facts *f)
{
    return f->one_way >= ONE_WAY;
}

/* ---- cost ---- */

/* MINRES passes over so many times as many vectors. */
#define MINRES_VECTORS 2.0
/* Methods with complex scalars, whose inner products the host waits for. BiCGSTAB with Jacobi on helmholtz2d:20 to 200
   and eddy3d:12 to 25, one thread: 2.0 to 2.4 times the cost of a real matrix of that size. */
#define COMPLEX_TIMES 2.2
/* A trial of incomplete factors, and a solve with multigrid, is so many iterations. */
enum { TRIAL_ITERATIONS = 20, MULTIGRID_ITERATIONS = 20 };
/* Saddle points: 38 to 65 by FGMRES, whose vectors count as much as a cycle. */
enum { SADDLE_ITERATIONS = 80 };
/* On a host, levels for convection (by_matrix.c) take so many times as long as plain ones: seconds of bentpipe2d,
   recirc2d and uniflow2d of 360,000 rows (docs/results/multigrid.md). Their cycles, 3 to 7 with BiCGSTAB, are within
   MULTIGRID_ITERATIONS. */
#define CONVECTION_SETUP 2.0
/* A trial is left out where complete factors take fewer times as long: it fails more often than not. */
#define TIMES_WORTH 2.5
/* Complete factors take so many times their least cost, where nothing predicts it. */
#define TIMES_LEAST 2.0

static bool has_threshold(const ladder_step *s)
{
    return s->precond == TESS_PRECOND_ILUT || s->precond == TESS_PRECOND_ICT;
}

bool has_triangles(const ladder_step *s)
{
    return has_threshold(s) || s->precond == TESS_PRECOND_ILU0 || s->precond == TESS_PRECOND_IC0;
}

bool waits_for_levels(const ladder_step *s)
{
    return has_triangles(s) || has_inverse(s);
}

/* One application of the preconditioner. */
static double application_cost(const cost_rates *r, const matrix_facts *f, const ladder_step *s)
{
    const double pass = r->entry * (double)f->nnz + r->start;

    if (s->precond == TESS_PRECOND_NONE || s->precond == TESS_PRECOND_JACOBI) { return 0.0; }
    if (has_multigrid(s)) { return r->cycle_passes * pass + r->cycle_row * (double)f->n + r->cycle_start; }
    if (has_inverse(s)) { return r->inverse_passes * pass; }
    return r->triangle_passes * pass + 2.0 * r->level * (double)f->levels;
}

static bool has_complex_scalars(const matrix_facts *f, const ladder_step *s)
{
    return f->is_complex &&
           (s->solver == TESS_SOLVER_BICGSTAB || s->solver == TESS_SOLVER_GMRES || s->solver == TESS_SOLVER_FGMRES);
}

double iteration_cost(const cost_rates *r, const matrix_facts *f, const ladder_step *s)
{
    const double vectors = s->solver == TESS_SOLVER_MINRES ? MINRES_VECTORS : 1.0;
    const double products = s->solver == TESS_SOLVER_BICGSTAB ? 2.0 : 1.0;
    const double start = r->start + (s->solver == TESS_SOLVER_MINRES ? r->minres_start : 0.0);

    return (has_complex_scalars(f, s) ? COMPLEX_TIMES : 1.0) * products *
           (r->entry * (double)f->nnz + start + application_cost(r, f, s) + vectors * r->vector * (double)f->n);
}

double multigrid_cost(const cost_rates *r, const matrix_facts *f)
{
    const ladder_step cycle = {.precond = TESS_PRECOND_AMG};
    const int iterations = is_saddle_point(f) ? SADDLE_ITERATIONS : MULTIGRID_ITERATIONS;
    const double setup = r->multigrid_start + r->multigrid_row * (double)f->n + r->multigrid_entry * (double)f->nnz;

    return (!r->sorts && flows_one_way(f) ? CONVECTION_SETUP : 1.0) * setup +
           iterations * application_cost(r, f, &cycle);
}

/* So many of the rows at least sum to 0. */
#define SHARE_OF_NULL_ROWS 0.5
/* CG takes this share of what the bound by the condition number says, measured on stencils with random b. */
#define SHARE_OF_BOUND 0.5
/* Where the caller only gives an absolute tolerance. */
#define USUAL_TOLERANCE 1e-8

/* A smaller share of the couplings may be that of single rows, which say nothing of the others. */
#define LEAST_FAR_SHARE 0.1

/* A Laplacian on a grid of as many planes of rows as bandwidths fit into the rows, in as many dimensions: far_share
   says how strongly planes are coupled. The diagonal leaves a condition number of 4 planes^2 / (pi^2 dimensions
   far_share), and CG takes log(2 / tolerance) / 2 square roots of it at most (Shewchuk 1994). */
static double iterations_of_laplacian(const matrix_facts *f, double tolerance)
{
    const double planes = (double)f->n / (double)f->bandwidth;
    const double dimensions = planes > 2.0 ? fmin(fmax(round(log((double)f->n) / log(planes)), 1.0), 3.0) : 3.0;
    const double root = 2.0 * planes / (M_PI * sqrt(dimensions * fmax(f->far_share, LEAST_FAR_SHARE)));

    return SHARE_OF_BOUND * 0.5 * log(2.0 / tolerance) * root;
}

/* Of an elastic body, as rigid-body modes tell, CG takes 23 to 26 times as many as of a Laplacian on its grid:
   elasticity3d:24 1,367, assembled bodies of 37,800 and 91,200 unknowns 915 and 1,239. */
#define TIMES_ELASTIC 15.0

/* Where rows sum to 0, nothing is forgotten on the way from one end of the matrix to the other. An unsymmetric method
   takes n / bandwidth products at least for that way. */
double least_iterations(const matrix_facts *f, const ladder_step *step, double tolerance, int modes)
{
    const bool plain = step->precond == TESS_PRECOND_NONE || step->precond == TESS_PRECOND_JACOBI;

    if (!plain || f->bandwidth == 0 || (double)f->null_rows < SHARE_OF_NULL_ROWS * (double)f->n) { return 0.0; }
    if (!f->symmetric) { return (double)f->n / (double)f->bandwidth; }
    return (modes > 1 ? TIMES_ELASTIC : 1.0) *
           iterations_of_laplacian(f, tolerance > 0.0 ? fmin(tolerance, 1.0) : USUAL_TOLERANCE);
}

double least_direct_cost(const cost_rates *r, const matrix_facts *f)
{
    const bool as_complex = f->is_complex && family_of(f) != FAMILY_POSITIVE; /* else Cholesky, of the real form */
    const double rows = (double)f->n / (as_complex ? 2.0 : 1.0), entries = (double)f->nnz / (as_complex ? 4.0 : 1.0);

    return (f->symmetric ? 1.0 : r->direct_unsymmetric) *
           (r->direct_start + r->direct_row * rows + r->direct_entry * entries);
}

double direct_cost(const cost_rates *r, const matrix_facts *f, const direct_prediction *p)
{
    const double flop = r->direct_flop > 0.0 ? r->direct_flop : direct_flop_seconds();

    return p->possible ? least_direct_cost(r, f) + flop * p->flops : INFINITY;
}

/* Where fewer of the rows sum to nearly 0, constants are no near-null vector. */
#define SHARE_FOR_MULTIGRID 0.5
/* Of bcsstk17, bcsstk18, bcsstk25, cvxbqp1, epb1 and gyro_m, which are of that kind, multigrid takes 4 to 120 times as
   long as complete factors, whose costs were expected to be up to 5 times those of multigrid
   (docs/results/automatic.md). */
#define TIMES_MULTIGRID 6.0

bool suits_factors(const cost_rates *r, const matrix_facts *f, double direct)
{
    return !is_saddle_point(f) && (double)f->near_null_rows < SHARE_FOR_MULTIGRID * (double)f->n &&
           direct <= TIMES_MULTIGRID * multigrid_cost(r, f);
}

static double cost_of_trial(const cost_rates *r, const matrix_facts *f, const ladder_step *s)
{
    if (has_inverse(s)) {
        return TRIAL_ITERATIONS * iteration_cost(r, f, s) + r->inverse_start + r->inverse_entry * (double)f->nnz;
    }
    const double entry = has_threshold(s) && r->sorts ? r->threshold_entry : r->incomplete_entry;

    return TRIAL_ITERATIONS * iteration_cost(r, f, s) + r->incomplete_start + entry * (double)f->nnz;
}

static bool has_incomplete_factors(const ladder_step *s)
{
    return s->limit == LIMIT_BUDGET && has_triangles(s);
}

double trial_cost(const cost_rates *r, const matrix_facts *f, const ladder_step *s)
{
    const bool pays = f->nnz <= MOST_TRIAL_NONZEROS || flows_one_way(f);

    return has_inverse(s) || (has_incomplete_factors(s) && pays) ? cost_of_trial(r, f, s) : INFINITY;
}

bool trial_pays(const cost_rates *r, const matrix_facts *f, const ladder_step *s, double direct)
{
    return !has_incomplete_factors(s) || TIMES_WORTH * cost_of_trial(r, f, s) < direct;
}

/* ---- order ---- */

/* An approximate inverse is tried before IC(0), which takes longer on 38 of 49 matrices; but where multigrid suits the
   matrix, which is then faster, behind that (docs/results/preconditioners.md). */
#define BEFORE_TRIANGLES 0.99
#define BEHIND_MULTIGRID 1.01

static double cost_of_inverse(const cost_rates *r, const matrix_facts *f, const ladder_step *s)
{
    const ladder_step triangles = {.solver = s->solver, .precond = TESS_PRECOND_IC0, .limit = LIMIT_BUDGET};
    const double own = cost_of_trial(r, f, s),
                 behind = suits_multigrid(f) ? fmax(own, BEHIND_MULTIGRID * multigrid_cost(r, f)) : own;

    return fmin(behind, BEFORE_TRIANGLES * cost_of_trial(r, f, &triangles));
}

double step_cost(const cost_rates *r, const matrix_facts *f, const ladder_step *s)
{
    if (has_inverse(s)) { return cost_of_inverse(r, f, s); }
    if (s->limit == LIMIT_DIRECT) { return TIMES_LEAST * least_direct_cost(r, f); }
    if (has_multigrid(s)) { return multigrid_cost(r, f); }
    return has_triangles(s) ? cost_of_trial(r, f, s) : TRIAL_ITERATIONS * iteration_cost(r, f, s);
}

/* Which step is the last with complete factors; 0: none. */
static int last_direct(const ladder *l)
{
    int last = 0;

    for (int i = 0; i < l->count; i++) {
        if (l->step[i].limit == LIMIT_DIRECT) { last = i; }
    }
    return last;
}

/* Those behind complete factors stay, too: they are for matrices without them. Equal costs keep the order of the lists:
   factors in FP64 follow those in FP32. */
void sort_steps(const cost_rates *r, const matrix_facts *f, int first, ladder *l)
{
    const int last = last_direct(l);

    for (int i = first + 1; i <= last; i++) {
        const ladder_step moved = l->step[i];
        int place = i;

        while (place > first && step_cost(r, f, &moved) < step_cost(r, f, &l->step[place - 1])) {
            l->step[place] = l->step[place - 1];
            place--;
        }
        l->step[place] = moved;
    }
}

static void follow_the_flow(const matrix_facts *f, ladder *l)
{
    for (int i = 0; i + 1 < l->count && flows_one_way(f); i++) {
        const ladder_step multigrid = l->step[i];

        if (multigrid.precond != TESS_PRECOND_AMG || l->step[i + 1].precond != TESS_PRECOND_ILU0) { continue; }
        l->step[i] = l->step[i + 1];
        l->step[i + 1] = multigrid;
        return;
    }
}

void make_ladder(const cost_rates *r, matrix_family family, const matrix_facts *f, const tess_solve_options *o,
                 ladder *out)
{
    list_steps(r, family, f, o, out);
    if (!r->sorts) { follow_the_flow(f, out); }
    /* The first step, which costs no set-up, stays. */
    if (r->sorts && o->precond.kind == TESS_PRECOND_AUTO) { sort_steps(r, f, 1, out); }
}
