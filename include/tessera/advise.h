/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file advise.h  Which methods suit a matrix, in the order in which an automatic solve tries them, and why.
 *
 *     tess_advice_init(&advice);
 *     tess_advise(a, NULL, &advice);
 *     printf("%s: %s\n", tess_solver_kind_name(advice.attempt[0].solver), advice.attempt[0].why);
 *
 * The automatic solve takes its attempts from the same code: its first one is advice.attempt[0], and each one that
 * fails, or that another should beat, is followed by the next. docs/concepts/automatic.md
 */
#ifndef TESSERA_ADVISE_H
#define TESSERA_ADVISE_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/solver.h>

TESS_BEGIN_DECLS

enum { TESS_MOST_ADVISED = 12, TESS_ADVICE_LENGTH = 256 };

/** One attempt. */
typedef struct tess_advised_attempt {
    tess_solver_kind solver;
    tess_precond_kind precond;
    tess_precision factors; /**< storage of the preconditioner; fp64 for none and jacobi */
    tess_scaling scale;
    tess_reordering reorder; /**< of the system, after `scale` */
    int last;                /**< 1: nothing follows it; 0: it is left where another should take less time */
    int open;                /**< 1: a solve leaves it out if an analysis of complete factors finds that it does not
                                  pay; the matrix is too large for that here */
    int reserved[5];
    char why[TESS_ADVICE_LENGTH]; /**< in a few words */
} tess_advised_attempt;

typedef struct tess_advice {
    size_t size;                                     /**< sizeof(tess_advice) */
    int count;                                       /**< of attempts; 0: no solver can use the matrix */
    char why[TESS_ADVICE_LENGTH];                    /**< what was found of the matrix */
    tess_advised_attempt attempt[TESS_MOST_ADVISED]; /**< in order */
    int64_t reserved[4];                             /**< zeros */
} tess_advice;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_advice_init_sized(tess_advice *advice, size_t size);
static inline void tess_advice_init(tess_advice *advice)
{
    tess_advice_init_sized(advice, sizeof *advice);
}

/**
 * The attempts that tess_solver_solve would make with these options, on the device of the matrix. It reads the matrix a
 * few times; up to 2^19 nonzeros it also makes the analysis of complete factors, where they are worth a thought.
 * Nothing is solved. If an attempt finds that the matrix is not what it looks like (such as CG that it is indefinite),
 * a solve goes on with the list for what it is.
 * @param a        assembled, or a shell
 * @param options  NULL: the defaults; a solver that they name is the only attempt
 * Errors: those of wrong options in tess_solver_create, memory. tests/unit/test_advise.c
 */
TESS_EXPORT tess_status tess_advise(const tess_matrix *a, const tess_solve_options *options, tess_advice *out);

/**
 * Options that request an attempt by hand: *options with the solver, preconditioner, precision, scaling and order of
 * the attempt. The preconditioner of an attempt that *options names already stays as it is there. Errors:
 * INVALID_ARGUMENT (NULL).
 */
TESS_EXPORT tess_status tess_advised_options(const tess_advised_attempt *attempt, tess_solve_options *options);

/**
 * Where a solve of a matrix should take less time, by its size and a model of both devices: a GPU pays for the start of
 * its context and of its kernels. The same sizes give the same answer, and a larger matrix never goes back to the host.
 * @param started  1: a context on a GPU has been made in this process
 * @param device   CPU or GPU; AUTO where this build or this machine has no GPU, or does not tell without starting it
 * @param why      in a few words; empty with AUTO; may be NULL
 * Errors: INVALID_ARGUMENT (NULL, a negative size). tests/unit/test_device_choice.c
 */
TESS_EXPORT tess_status tess_advise_device(int64_t nrows, int64_t nnz, int started, tess_device *device,
                                           char why[TESS_ADVICE_LENGTH]);

TESS_END_DECLS

#endif
