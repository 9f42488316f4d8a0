/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file accuracy.h  Solves to a wanted error, in place of a tolerance for the residual.
 *
 *     options.accuracy.forward = 1e-8;              tess_solve_options: 8 digits of x
 *     tess_solver_solve(solver, b, x, &result);
 *     result.accuracy.forward_error                 what x has, as far as it is known
 *
 * The solve sets its own tolerance: it estimates the error of x, and goes on from x until the estimate is at most what
 * is wanted. docs/concepts/accuracy.md
 */
#ifndef TESSERA_ACCURACY_H
#define TESSERA_ACCURACY_H

#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/** Which error is wanted; at most one of the two is not 0. Both below 1. */
typedef struct tess_accuracy_options {
    double forward;      /**< --accuracy E: ||x - x*||_2 <= E ||x||_2, for the exact solution x*, by an estimate */
    double backward;     /**< --accuracy backward:E: |b - A x| <= E (|A| |x| + |b|) in each row */
    int64_t reserved[4]; /**< zeros */
} tess_accuracy_options;

/** What the condition number and the forward error come from. */
typedef enum tess_condition_source {
    TESS_CONDITION_UNKNOWN = 0, /**< nothing: the method tells nothing about A^-1 */
    TESS_CONDITION_FACTORS = 1, /**< complete factors of A (lu, cholesky), whose precision must allow it */
    TESS_CONDITION_LANCZOS = 2  /**< the extreme Ritz values of CG, without a preconditioner or with jacobi, on a CPU */
} tess_condition_source;

/** What a solve to an accuracy reached; all 0 for other solves. */
typedef struct tess_accuracy_result {
    double wanted; /**< the option; 0: none was given */
    int reached;   /**< 1: the error that was asked for is known, and is at most `wanted`. An unknown one is not reached
                    */
    tess_condition_source source; /**< of the next two */
    double forward_error;         /**< estimate of ||x - x*||_2 / ||x||_2, no row scaling changes it; NaN: unknown */
    /** Estimate: of A in the 1-norm by factors; of D^-1/2 A D^-1/2 in the 2-norm by Lanczos, where D is the diagonal
        with jacobi, else 1; NaN: unknown. */
    double condition;
    double backward_error; /**< max_i |b - A x|_i / (|A| |x| + |b|)_i; the residual is the true one */
    int64_t reserved[4];
} tess_accuracy_result;

/** Names of the enum above. The parser returns INVALID_ARGUMENT for an unknown name and leaves *out unchanged. */
TESS_EXPORT const char *tess_condition_source_name(tess_condition_source source);
TESS_EXPORT tess_status tess_condition_source_parse(const char *name, tess_condition_source *out);

TESS_END_DECLS

#endif
