/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_VERIFY_H
#define TESS_SOLVER_VERIFY_H

#include <stdbool.h>

#include <tessera/solver.h>

struct residual_columns;
struct tess_residual_norms;

/* Norms in which rows of very different size weigh alike: row i of b and of b - A x is divided by its largest |a_ij|, a
   row of zeros by 1. And the row-wise backward error. All are NaN for a shell. */
typedef struct row_residual_norms {
    bool known;
    double norm, bound; /* of the residual */
    double rhs_norm, rhs_least;
    double backward, backward_bound; /* the largest |r_i| / (|A| |x| + |b|)_i, and a bound on its error */
    int64_t backward_row;            /* that row; -1: the residual is 0 */
} row_residual_norms;

/* The result of a verification of x. */
typedef struct true_residual {
    double norm;      /* ||b - A x|| */
    double bound;     /* on the error of the norm; NaN: unknown */
    double of_vector; /* bound on the norm of the error of the residual as it is stored; NaN: unknown */
    bool bounded;     /* the bound is known, so that conclusions from it are proved */
    double rounding;  /* u || |A| |x| + |b| ||: about the rounding error of x; 0: unknown */
    double rhs_norm;  /* ||b|| */
    double rhs_least; /* a lower bound of the exact ||b|| */
    row_residual_norms rows;
    double preconditioned; /* ||M^-1 r|| ||b|| / ||M^-1 b||, in the units of `norm`; NaN where nobody asked for it */
} true_residual;

/* tess_verify_residual on arrays of the device; `a` is assembled or a shell; residual is written. */
tess_status verify_residual(const tess_matrix *a, const double *b, const double *x, double *residual,
                            true_residual *out);
/* The same of q->columns columns in one pass, each with the bits that it has alone; q->exponent is not read. Only of a
   matrix that takes columns. verify_columns.c */
bool verify_takes_columns(const tess_matrix *a);
tess_status verify_residuals(const tess_matrix *a, const struct residual_columns *q, true_residual *out);
/* What tess_residual_norms says. */
void verify_take_norms(const tess_matrix *a, const struct tess_residual_norms *found, true_residual *out);
/* Fills in stop_norm, rhs_norm and the tolerances: max(rtol ||b||, atol) of the exact norms of b, or less by a few
   roundings. */
void verify_set_tolerances(const tess_solve_options *o, const true_residual *of_b, tess_solve_result *r);
/* The norm that decides, never AUTO. */
tess_stop_norm verify_stop_norm(const tess_solve_options *o);
/* Whether a true residual proves convergence in the norm that decides. */
bool meets_tolerance(const tess_solve_result *r, const true_residual *now);
/* Likewise of the norm as given, and of the row-scaled one with `slack` times its tolerance. */
bool meets_given(const tess_solve_result *r, const true_residual *now);
bool meets_rows(const tess_solve_result *r, const true_residual *now, double slack);
/* The residual norm in which iterates are compared: that which decides, in the units of now->norm. It meets
   r->tolerance where the deciding norms meet theirs. */
double deciding_norm(const tess_solve_result *r, const true_residual *now);
/* Whether the residual is as small as FP64 gives for an x of this size. */
bool is_rounding(const true_residual *now);
/* The bound on the error of that norm; 0: none is known. */
double deciding_bound(const tess_solve_result *r, const true_residual *now);
/* Whether `next` is proved to have no larger residual than `now` in that norm, with both bounds; where they do not
   tell, and the norm as given meets its tolerance or is rounding, in that of scaled rows. Without bounds the norms
   alone tell. */
bool is_no_worse(const tess_solve_result *r, const true_residual *next, const true_residual *now);
/* Whether `next` may take the place of `now` in a solve that began at `first`: it is no worse as computed, and proved
   to be no worse than `first`. */
bool may_replace(const tess_solve_result *r, const true_residual *next, const true_residual *now,
                 const true_residual *first);
/* What the result tells of rows. */
void verify_report_rows(const true_residual *now, tess_solve_result *r);

#endif
