/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sequence.h  Sequences of systems on one pattern: time steps, Newton steps, parameter studies.
 *
 *     tess_sequence_create(a, &solve, NULL, &sequence);                        solve: tess_solve_options, or NULL
 *     const tess_sequence_values values = tess_sequence_values_of(nnz, val, TESS_MEMORY_HOST);
 *     tess_sequence_solve(sequence, &values, b, x, &result);                   in each step
 *     puts(tess_sequence_why(sequence));                                       renewed or kept, and why
 *
 * A step begins from a guess out of the last solutions, and keeps the preconditioner of an earlier step while that
 * pays. Each step is verified as by tess_solver_solve, against its own values. How to: docs/howto/sequences.md.
 */
#ifndef TESSERA_SEQUENCE_H
#define TESSERA_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/matrix.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

typedef struct tess_sequence tess_sequence;

/** The most solutions that a sequence keeps. */
#define TESS_MAX_KEPT_SOLUTIONS 16

/** When a preconditioner of earlier values is renewed. Jacobi, which costs nothing, always is. */
typedef enum tess_renewal {
    /** When the iterations that it cost since its set-up, beyond those of the best step, took as long as a set-up
        takes. So a sequence loses at most twice what the best choice of steps would. Times are measured: steps may
        differ from run to run. */
    TESS_RENEWAL_AUTO = 0,
    TESS_RENEWAL_COUNTED = 1, /**< when these iterations are more than extra_iterations: the same on every run */
    TESS_RENEWAL_ALWAYS = 2,  /**< for all new values */
    TESS_RENEWAL_NEVER = 3    /**< only after a step that failed with it; extra iterations are told all the same */
} tess_renewal;

/** Options of a sequence, beside those of its solves. */
typedef struct tess_sequence_options {
    size_t size;              /**< sizeof(tess_sequence_options) */
    int kept_solutions;       /**< the last so many make the guess (8), 0 to TESS_MAX_KEPT_SOLUTIONS */
    tess_renewal renewal;     /**< (auto) */
    int64_t extra_iterations; /**< of renewal COUNTED (20), 0 or more */
    int64_t reserved[4];      /**< zeros */
} tess_sequence_options;

/** New values of the matrix: @c count values in the order of its nonzeros, as tess_matrix_update_values takes them. */
typedef struct tess_sequence_values {
    int64_t count;
    const void *val;
    tess_precision precision;
    tess_memory where;
} tess_sequence_values;

/** @p count values in FP64. */
static inline tess_sequence_values tess_sequence_values_of(int64_t count, const double *val, tess_memory where)
{
    const tess_sequence_values v = {count, val, TESS_PRECISION_FP64, where};

    return v;
}

/** What a step began from. */
typedef enum tess_guess {
    TESS_GUESS_ZERO = 0,     /**< zero */
    TESS_GUESS_GIVEN = 1,    /**< x as given */
    TESS_GUESS_PROJECTED = 2 /**< the best combination of the last solutions */
} tess_guess;

/** The last step. */
typedef struct tess_sequence_step {
    size_t size;           /**< sizeof(tess_sequence_step), set by the caller */
    int64_t step;          /**< from 1: solves so far */
    int renewed;           /**< 1: the preconditioner is of this step's values, and was set up or renewed for them */
    int solved_again;      /**< 1: with the kept preconditioner the step failed or took too long, and went on anew */
    int64_t age;           /**< steps since the preconditioner was renewed; 0: in this one */
    tess_guess guess;      /**< what the step began from */
    int solutions;         /**< how many were projected onto; 0: none */
    double guess_residual; /**< ||b - A x0|| of the guess x0 that was taken */
    double given_residual; /**< the same of x as given */
    int64_t products;      /**< with A, for the guess */
    double guess_seconds;
    double extra_iterations; /**< of steps with an older preconditioner, beyond those of the best step since it was made
                                  or renewed */
    double extra_seconds;    /**< their time */
    double setup_seconds;    /**< of the preconditioner's last set-up or renewal; 0: it has none */
    int64_t reserved[4];
} tess_sequence_step;

/** Sets the defaults (above, in parentheses) and `size`. */
TESS_EXPORT void tess_sequence_options_init_sized(tess_sequence_options *options, size_t size);
static inline void tess_sequence_options_init(tess_sequence_options *options)
{
    tess_sequence_options_init_sized(options, sizeof *options);
}
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_sequence_step_init_sized(tess_sequence_step *step, size_t size);
static inline void tess_sequence_step_init(tess_sequence_step *step)
{
    tess_sequence_step_init_sized(step, sizeof *step);
}

/**
 * Sets up the solver of the first step.
 * @param a        as of tess_solver_create. The sequence has a copy of its values; @p a keeps its own.
 * @param solve    options of each solve; NULL: the defaults
 * @param options  NULL: the defaults
 * Memory beside the solver: the values, and 2 kept_solutions + 2 vectors, made when the guess needs them.
 * Errors: those of tess_solver_create; INVALID_ARGUMENT (an option out of range).
 */
TESS_EXPORT tess_status tess_sequence_create(const tess_matrix *a, const tess_solve_options *solve,
                                             const tess_sequence_options *options, tess_sequence **out);

/**
 * One step: takes new values, makes a guess, solves and verifies.
 * @param values  NULL: those of the last step (at first those of the matrix). A shell takes none.
 * @param b, x    as of tess_solver_solve; x in: one more guess, such as the last solution
 * @param result  initialised by tess_solve_result_init. `iterations` is that of the whole step; its history is that of
 *                the last solve of the step
 * The solve starts from the best, by ||b - A x0||, of zero, x, and the projection onto the last solutions: in the
 * energy norm after CG, else of least residual. It costs a product with A for x, one for the projection, one for each
 * kept solution where A has changed, else one. A kept preconditioner that fails is renewed, and the step goes on.
 * Errors: those of tess_solver_solve and tess_matrix_update_values; DIMENSION_MISMATCH (count), OUT_OF_RANGE (NaN or
 * Inf in the values). Then the sequence has its old values and can go on. Tests: tests/unit/test_sequence.c
 * Source of the projection: Fischer, Comput. Methods Appl. Mech. Engrg. 163 (1998).
 */
TESS_EXPORT tess_status tess_sequence_solve(tess_sequence *sequence, const tess_sequence_values *values,
                                            const tess_vector *b, tess_vector *x, tess_solve_result *result);

/** Changes tolerances, limits and monitor of later steps, as tess_solver_set_limits does. */
TESS_EXPORT tess_status tess_sequence_set_limits(tess_sequence *sequence, const tess_solve_options *solve);

/** Forgets the last solutions: before a jump that makes them useless. The preconditioner stays. */
TESS_EXPORT tess_status tess_sequence_forget(tess_sequence *sequence);

/** What the last step did. Errors: INVALID_ARGUMENT (size). */
TESS_EXPORT tess_status tess_sequence_get_step(const tess_sequence *sequence, tess_sequence_step *out);

/** Why the preconditioner was renewed or kept in the last step; "" before the first. Valid until the next one. */
TESS_EXPORT const char *tess_sequence_why(const tess_sequence *sequence);

/** The solver of the steps, for its facts: tess_solver_why, tess_solver_precond. The sequence owns it. */
TESS_EXPORT const tess_solver *tess_sequence_solver(const tess_sequence *sequence);

/** Frees the sequence; NULL is allowed. */
TESS_EXPORT void tess_sequence_destroy(tess_sequence *sequence);

/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_renewal_name(tess_renewal renewal);
TESS_EXPORT tess_status tess_renewal_parse(const char *name, tess_renewal *out);
TESS_EXPORT const char *tess_guess_name(tess_guess guess);
TESS_EXPORT tess_status tess_guess_parse(const char *name, tess_guess *out);

TESS_END_DECLS

#endif
