/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Krylov methods with complex scalars, for the real form of a complex matrix. In real scalars a space of so many
 * products holds half as much: BiCGSTAB and GMRES then take about twice the iterations for a spectrum in a half plane,
 * and may not converge at all for one around the imaginary axis. CG and MINRES need no others: for a Hermitian matrix
 * their scalars are real.
 *
 * The scalars are the host's, which waits for inner products.
 */
#ifndef TESS_SOLVER_COMPLEX_COMPLEX_METHOD_H
#define TESS_SOLVER_COMPLEX_COMPLEX_METHOD_H

#include "base/complex_number.h"

#include "dense/pairs.h"
#include "solver/krylov.h"

static inline double complex complex_of(pair p)
{
    return complex_number(p.re, p.im);
}

static inline pair pair_of(double complex z)
{
    return (pair){creal(z), cimag(z)};
}

static inline bool complex_is_finite(double complex z)
{
    return creal(z) - creal(z) == 0.0 && cimag(z) - cimag(z) == 0.0;
}

extern const tess_method complex_bicgstab_method, complex_gmres_method, complex_fgmres_method;

/* Whether the loop runs on; it may have ended since the iteration was enqueued. */
tess_status complex_runs(const tess_krylov *k, bool *runs);
/* The end of an iteration with that residual norm. reason: RUNNING, or why the recurrence ends here, if the residual
   does not. */
tess_status complex_end_iteration(const tess_krylov *k, double norm, tess_reason reason);
/* z := M^-1 r; without a preconditioner a copy, unless z is r. */
tess_status complex_precondition(const tess_krylov *k, const double *r, double *z);

#endif
