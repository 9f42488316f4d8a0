/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of the condition number and of the error of x, from what a solve leaves behind. */
#ifndef TESS_AUTO_CONDITION_H
#define TESS_AUTO_CONDITION_H

#include "solver/solver.h"

/* The Lanczos matrix of CG: diagonal and off-diagonal of T, whose eigenvalues approximate those of M^-1 A (Saad,
   Iterative Methods for Sparse Linear Systems, 2nd ed. 2003, section 6.7.3). Each cycle of CG is a block of its own. */
typedef struct lanczos_record {
    int64_t capacity, count;
    double *diagonal, *beside; /* beside[k] couples k and k + 1; 0 between cycles */
    double alpha, beta;        /* of the iteration before */
    int64_t cycle;
    tess_precond_kind precond; /* M */
} lanczos_record;

tess_status lanczos_allocate(tess_context *ctx, int64_t capacity, lanczos_record *out);
void lanczos_release(tess_context *ctx, lanczos_record *record);
/* Takes the last iteration of a solver that runs CG on a CPU without a preconditioner or with jacobi; of any other,
   the record becomes empty. */
void lanczos_note(lanczos_record *record, const method_solver *running);

/* On the host: the system, x, its true residual, and |A| |x| + |b|. */
typedef struct error_of_x {
    const tess_matrix *a;
    const double *x, *residual, *magnitude;
    const lanczos_record *random; /* of a solve with a random right-hand side; NULL: there was none */
    double x_norm, residual_norm; /* 2-norms */
} error_of_x;

/* b - A x in two words, rounded, and |A| |x| + |b|; on the host, n values each. */
tess_status find_rows(const tess_matrix *a, const double *b, const double *x, double *residual, double *magnitude);
/* max_i |r_i| / (|A| |x| + |b|)_i (Oettli, Prager, Numer. Math. 6 (1964)). */
double rowwise_backward_error(int64_t n, const double *residual, const double *magnitude);
/* On the host, without overflow. */
double vector_norm2(int64_t n, const double *v);
/* Fills source, condition and forward_error of a result as far as `solver`, the last one (NULL: it is not known), its
   preconditioner or other factors, and the record tell. Errors: memory. */
tess_status estimate_error(const method_solver *solver, const tess_precond *precond, const lanczos_record *record,
                           const error_of_x *e, tess_accuracy_result *out);

#endif
