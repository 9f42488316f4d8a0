/* SPDX-License-Identifier: Apache-2.0 */
/** @file reason.h  Why a solve ended: tess_solve_result.reason. */
#ifndef TESSERA_REASON_H
#define TESSERA_REASON_H

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/** Why a solve ended. Numbers and names are PETSc's where PETSc has one; -100 and below are ours. Never renumber. */
typedef enum tess_reason {
    TESS_REASON_RUNNING = 0,              /**< the solve is still running */
    TESS_REASON_LEAST_SQUARES = 1,        /**< converged: x solves the normal equations; lsqr and lsmr */
    TESS_REASON_RTOL = 2,                 /**< converged: relative tolerance met */
    TESS_REASON_ATOL = 3,                 /**< converged: absolute tolerance met */
    TESS_REASON_HAPPY_BREAKDOWN = 7,      /**< converged: both tolerances are 0 and x is exact */
    TESS_REASON_ITERATIONS = -3,          /**< iteration limit reached */
    TESS_REASON_DIVERGENCE = -4,          /**< the residual grew beyond the divergence limit */
    TESS_REASON_BREAKDOWN = -5,           /**< the recurrence broke down */
    TESS_REASON_NONSYMMETRIC = -7,        /**< the method needs a symmetric matrix */
    TESS_REASON_INDEFINITE_PRECOND = -8,  /**< the preconditioner is not positive definite */
    TESS_REASON_NAN_OR_INF = -9,          /**< NaN or Inf appeared */
    TESS_REASON_INDEFINITE_MATRIX = -10,  /**< the matrix is not positive definite */
    TESS_REASON_PRECOND_SETUP = -11,      /**< the preconditioner could not be set up */
    TESS_REASON_FALSE_CONVERGENCE = -100, /**< the estimate met the tolerance, the true residual did not */
    TESS_REASON_STAGNATION = -101,        /**< no further progress in the working precision */
    TESS_REASON_CANCELLED = -102,         /**< cancelled by the monitor */
    TESS_REASON_OVERFLOW = -103,          /**< a value overflowed in a low precision */
    TESS_REASON_TIME_LIMIT = -104,        /**< the limit of time was reached */
    TESS_REASON_INTERRUPTED = -105        /**< interrupted, as a monitor said: for signals and the like */
} tess_reason;

/** One-line description; "?" for a value outside the list. */
TESS_EXPORT const char *tess_reason_text(tess_reason reason);

/** The name: "rtol" for TESS_REASON_RTOL. "?" for a value outside the list. */
TESS_EXPORT const char *tess_reason_name(tess_reason reason);
/** Errors: INVALID_ARGUMENT (an unknown name, which leaves *out unchanged). tests/unit/test_names.c */
TESS_EXPORT tess_status tess_reason_parse(const char *name, tess_reason *out);

TESS_END_DECLS

#endif
