/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file verify.h  Verifies anybody's answer: how far x is from A x = b, proved as a solve's own answer is.
 *
 *     tess_verification_init(&found);
 *     tess_verify(a, b, x, NULL, &found);           NULL: rtol 1e-5, in both norms
 *     found.met, found.relative_residual, found.rows.relative
 *     tess_verify_columns(a, &b, &x, NULL, found);  several columns at once
 *
 * x may come from any program. A tool: tessera verify. docs/concepts/verification.md
 */
#ifndef TESSERA_VERIFY_H
#define TESSERA_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/columns.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

/** What x must meet. */
typedef struct tess_verify_options {
    size_t size;              /**< sizeof(tess_verify_options) */
    double rtol;              /**< --rtol (1e-5): ||b - A x|| <= max(rtol ||b||, atol); 0 is allowed */
    double atol;              /**< --atol (0) */
    tess_stop_norm stop_norm; /**< --stop-norm (both): given, rows or both; auto stands for both */
    int forward_error;        /**< --accuracy (0): 1 estimates the error of x, by complete factors of A in FP64 */
    int64_t reserved[4];      /**< zeros */
} tess_verify_options;

/** What is known of x. */
typedef struct tess_verification {
    size_t size;              /**< sizeof(tess_verification) */
    int met;                  /**< 1: proved to meet the tolerance in the norms of options.stop_norm */
    int given_met;            /**< 1: in the norm as given; rows.met: of scaled rows. 0 where no bound is known */
    double rhs_norm;          /**< ||b||_2 */
    double tolerance;         /**< max(rtol ||b||, atol), rounded down */
    double residual_norm;     /**< ||b - A x||_2, compensated */
    double relative_residual; /**< residual_norm / ||b||; residual_norm itself if b = 0 */
    double residual_bound;    /**< bound on the rounding error of residual_norm; NaN: unknown (shell) */
    tess_row_residual rows;   /**< the same of scaled rows, and the row-wise backward error */
    double backward_error;    /**< ||b - A x||_2 / (||A||_F ||x||_2 + ||b||_2); NaN: unknown */
    double matrix_norm;       /**< ||A||_F; NaN: unknown (shell) */
    double solution_norm;     /**< ||x||_2 */
    /** Estimate of ||x - x*||_2 / ||x||_2 for the exact solution x*, where asked for; NaN: unknown, because A is not
        square, x is 0, there are no complete factors, or they do not solve a random system to one digit. */
    double forward_error;
    int64_t nonfinite_solution; /**< the first element of x that is NaN or Inf, from 0; -1: none */
    int64_t nonfinite_rhs;      /**< likewise of b */
    int64_t reserved[4];
} tess_verification;

/** A row of the residual r = b - A x. */
typedef struct tess_verify_row {
    int64_t row;           /**< from 0 */
    double residual;       /**< r_i */
    double backward_error; /**< |r_i| / (|A| |x| + |b|)_i, from 0 to 1; NaN: r_i is none */
    double share;          /**< of the squared norm of r with scaled rows, from 0 to 1; NaN: unknown */
} tess_verify_row;

/** Sets the defaults (above, in parentheses) and `size`. */
TESS_EXPORT void tess_verify_options_init_sized(tess_verify_options *options, size_t size);
static inline void tess_verify_options_init(tess_verify_options *options)
{
    tess_verify_options_init_sized(options, sizeof *options);
}
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_verification_init_sized(tess_verification *verification, size_t size);
static inline void tess_verification_init(tess_verification *verification)
{
    tess_verification_init_sized(verification, sizeof *verification);
}

/**
 * Computes the true residual of x, its norms and their rounding bounds, and judges them by a tolerance.
 * @param a        assembled, or a shell, of any shape. Of a shell all that needs its entries is NaN.
 * @param b, x     FP64; x may have NaN and Inf, and then meets nothing
 * @param options  NULL: the defaults
 * @param out      initialised by tess_verification_init
 * Cost: one pass over A; with forward_error the factors of A, and four solves with them.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT (`size`, negative tolerances, stop_norm preconditioned), those of a
 * shell, memory. Tests: tests/unit/test_verify_answer.c, test_verify_rows.c
 */
TESS_EXPORT tess_status tess_verify(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                    const tess_verify_options *options, tess_verification *out);

/**
 * tess_verify for each column of @p x, with the bits that each has alone. On a host eight columns share a pass over A.
 * @param b    one column for all of x, or as many as x
 * @param out  one for each column of x, initialised
 * Errors: those of tess_verify; INVALID_ARGUMENT (`where`, NULL). Test: tests/unit/test_verify_columns.c
 */
TESS_EXPORT tess_status tess_verify_columns(const tess_matrix *a, const tess_columns *b, const tess_columns *x,
                                            const tess_verify_options *options, tess_verification *out);

/**
 * The rows with the largest row-wise backward error, largest first; of equal ones the first. Rows whose residual is
 * NaN come before all others, and rows whose residual is 0 are left out.
 * @param rows   room for @p count rows
 * @param found  how many there are, at most @p count
 * Errors: UNSUPPORTED (shell), DIMENSION_MISMATCH, INVALID_ARGUMENT, memory. tests/unit/test_verify_rows.c
 */
TESS_EXPORT tess_status tess_verify_rows(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                         int64_t count, tess_verify_row *rows, int64_t *found);

TESS_END_DECLS

#endif
