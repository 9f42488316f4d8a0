/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file estimate.h  How much memory a solve takes, before it is set up.
 *
 *     tess_solve_estimate_init(&estimate);
 *     tess_solve_estimate_memory(a, &options, &estimate);
 *     printf("%lld of %lld bytes\n", (long long)estimate.total, (long long)estimate.spare);
 */
#ifndef TESSERA_ESTIMATE_H
#define TESSERA_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/solver.h>

TESS_BEGIN_DECLS

/** Bytes by part. On a GPU most are on the device; the factors of lu and cholesky are on the host without cuDSS. */
typedef struct tess_solve_estimate {
    size_t size;             /**< sizeof(tess_solve_estimate) */
    int64_t matrix;          /**< the assembled matrix, which exists already */
    int64_t stored;          /**< the matrix of the iterations, if it is another */
    int64_t precond;         /**< the preconditioner */
    int64_t vectors;         /**< vectors of the method and of the verification, and its basis */
    int64_t history;         /**< residual norms of the iterations */
    int64_t total;           /**< all but `matrix`, with `setup`, `loop`, `arrays`: what the solve adds */
    int64_t spare;           /**< what the host has left: memory, control groups, ulimit -v; INT64_MAX: unknown */
    tess_solver_kind solver; /**< that the numbers are for; of auto the first attempt's */
    tess_precond_kind precond_kind;
    int64_t together; /**< columns in one loop, at the most; 1: one after another; 0: one column was asked for */
    int64_t loop;     /**< what several columns take more: vectors of a loop, histories */
    int64_t arrays;   /**< b and x of several columns, which are the caller's; of one column they are not counted */
    int64_t setup;    /**< what setting up the preconditioner takes beside it, and frees: fsai, isai, amg with fsai */
} tess_solve_estimate;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_solve_estimate_init_sized(tess_solve_estimate *estimate, size_t size);
static inline void tess_solve_estimate_init(tess_solve_estimate *estimate)
{
    tess_solve_estimate_init_sized(estimate, sizeof *estimate);
}

/**
 * Estimates the memory of a solve. Vectors and history are close; stored matrices, incomplete factors and
 * approximate inverses are typical, as padding, fill and patterns depend on values. Complete factors are counted by
 * their analysis, which takes a part of the time of the factorization; 0 in a build without MUMPS. On the host
 * tess_solver_create refuses a solve whose parts, without complete factors, exceed `spare` (OUT_OF_MEMORY).
 * @param a        assembled, or a shell
 * @param options  NULL: the defaults. With solver auto the numbers are for what tess_advise names first
 * Errors: those of wrong options in tess_solver_create, memory. tests/unit/test_estimate.c
 */
TESS_EXPORT tess_status tess_solve_estimate_memory(const tess_matrix *a, const tess_solve_options *options,
                                                   tess_solve_estimate *out);

/**
 * The same of a tess_solver_solve_many of @p columns right-hand sides, from 1 to 2^31 - 1, by the device of the
 * matrix's context. They are solved in slices of `together` columns, as many as method, preconditioner, format and
 * `spare` allow; what a preconditioner turns out to be may make them fewer. Errors: INVALID_ARGUMENT for another
 * number; as above. Test: tests/unit/test_estimate.c
 */
TESS_EXPORT tess_status tess_solve_estimate_columns(const tess_matrix *a, const tess_solve_options *options,
                                                    int64_t columns, tess_solve_estimate *out);

TESS_END_DECLS

#endif
