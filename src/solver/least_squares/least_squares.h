/* SPDX-License-Identifier: Apache-2.0 */
/*
 * min ||b - A x|| for any m by n matrix: LSQR (Paige and Saunders, ACM Trans. Math. Softw. 8 (1982)) and LSMR (Fong and
 * Saunders, SIAM J. Sci. Comput. 33 (2011)). Set-up in setup.c, one cycle in bidiagonal.c, cycles and the verification
 * of the normal equations in least_squares.c.
 */
#ifndef TESS_SOLVER_LEAST_SQUARES_LEAST_SQUARES_H
#define TESS_SOLVER_LEAST_SQUARES_LEAST_SQUARES_H

#include "solver/solver.h"

/* The state of a solver of this kind, whose table is solver_least_squares. D = diag(1 / ||column||) with preconditioner
 * jacobi, else the identity. */
typedef struct least_squares {
    tess_matrix *stored;           /* the matrix of the iterations, if it is another */
    uint64_t values_version;       /* of the values that the rest was made from; 0: there is no rest */
    tess_matrix *transpose;        /* A^T, assembled; NULL for a user's operator */
    tess_matrix *stored_transpose; /* A^T in the storage of the iterations; NULL: the same */
    const tess_matrix *a, *at;     /* those of the present cycle */
    tess_operation of_at;          /* what at must do to give A^T: nothing; a user's operator: the transpose */
    double norm, norm_least;       /* ||A||_F, and a lower bound; of an operator only ||A||_F as iterations find it */
    double norm_most;              /* an upper bound */
    double scaled_norm;            /* ||A D||_F */
    double *scale;                 /* D, on the device; NULL: the identity */
    tess_vector *u, *residual;     /* of length m */
    tess_vector *v, *w, *extra;    /* of length n: v_k and the directions of the methods */
    tess_vector *step;             /* D^-1 times the correction of a cycle */
    tess_vector *product;          /* scratch */
    tess_vector *candidate, *zero;
} least_squares;

/* The verified state of an x: ||A^T (b - A x)|| and a bound on the error of that number. */
typedef struct normal_residual {
    double norm, bound;
} normal_residual;

/* One run of the bidiagonalization. */
typedef struct least_cycle {
    /* in */
    double goal;        /* ends at an estimate of ||r|| of at most this, */
    double normal_goal; /* or of ||D A^T r|| of at most this times ||A D||_F ||r|| */
    double divergence;  /* or of ||r|| above this */
    int64_t first;      /* iterations before it */
    double start;       /* seconds when the solve began */
    /* out */
    int64_t iterations;
    double residual_norm; /* the estimate */
    tess_reason reason;   /* LEAST_SQUARES: the second of the goals, or nothing is left to do */
} least_cycle;

/* ---- bidiagonal.c ---- */

/* The scalars of either method. */
typedef struct bidiagonal {
    double alpha, beta;
    /* LSQR, section 4 */
    double phi_bar, rho_bar;
    /* LSMR, Table 3.1 and section 5.1; `rho_tilde` is the paper's rho~ of the estimate of ||r|| */
    double alpha_bar, zeta_bar, zeta, rho, rho_bar_before, c_bar, s_bar;
    double beta_dd, beta_d, rho_d_before, tau_tilde_before, theta_tilde;
    double residual, normal; /* estimates of ||r|| and ||(A D)^T r|| */
    double norm;             /* ||B||_F */
} bidiagonal;

/* What an iteration does to vectors: the direction m, which is w but for LSMR (m := w + before m); y += step m;
   w := v + next w. Nothing, where it does not move. */
typedef struct bidiagonal_step {
    bool moves;
    double before, step, next;
} bidiagonal_step;

/* alpha and beta are those of the start, ||r|| is `norm`. */
void bidiagonal_begin(tess_solver_kind kind, double norm, bidiagonal *k);
/* After new alpha and beta. */
bidiagonal_step bidiagonal_advance(tess_solver_kind kind, bidiagonal *k);
/* RUNNING: the cycle goes on. */
tess_reason bidiagonal_reason(const tess_solver *s, const bidiagonal *k, const least_cycle *cycle);
/* One cycle from the state's residual r = b - A x, whose norm is `norm`: step := D^-1 d, where d is the correction. */
tess_status least_squares_run(tess_solver *s, double norm, least_cycle *cycle);
/* For a user's operator, whose A^T is not stored. */
bool least_squares_of_shell(const tess_solver *s);
/* y := D x; x may be y. */
tess_status least_squares_scale(const tess_solver *s, const tess_vector *x, tess_vector *y);

/* ---- least_squares.c ---- */

/* A solve under way. */
typedef struct least_run {
    tess_solver *s;
    least_squares *own;
    const tess_vector *b;
    tess_vector *x;
    tess_solve_result *result;
    double start;
    true_residual now; /* of x; the residual itself is in own->residual */
    normal_residual normal;
    double share; /* of rtol: the goal of cycles for the normal residual */
    int fruitless;
    bool low;
} least_run;

/* A solve before its first cycle. *cycles: one is needed; else *reason is final. */
tess_status least_squares_open(least_run *run, tess_reason *reason, bool *cycles);
least_cycle least_squares_plan(const least_run *run);
/* Cycles to the end of the solve. first: one that has been run elsewhere, whose step is in the state; NULL: none has.
 */
tess_status least_squares_go_on(least_run *run, const least_cycle *first, tess_reason *reason);
/* The matrices of a run's first cycles; residual: the state's residual of its x, too. */
tess_status least_squares_return_to(least_run *run, bool residual);
tess_status least_squares_close(const least_run *run, tess_reason reason);

/* ---- columns.c ---- */

/* The functions of the table for several columns. */
int least_squares_columns_together(const tess_solver *s, int64_t left);
tess_status least_squares_solve_columns(tess_solver *s, int count, tess_vector *const *b, tess_vector *const *x,
                                        tess_solve_result *results);

/* ---- setup.c ---- */

tess_status least_squares_setup(tess_solver *s);
void least_squares_destroy(tess_solver *s);
/* After new values of the matrix: makes all that depends on them once more. */
tess_status least_squares_renew(tess_solver *s);
void least_squares_describe(const tess_solver *s, tess_solve_result *r);
/* The matrix of the first iterations. */
const tess_matrix *least_squares_matrix(const tess_solver *s);
tess_status least_squares_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);

#endif
