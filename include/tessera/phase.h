/* SPDX-License-Identifier: Apache-2.0 */
/** @file phase.h  What a solve spends its time on: tess_solve_result.phase_seconds. */
#ifndef TESSERA_PHASE_H
#define TESSERA_PHASE_H

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/**
 * What a solve spends its time on. A fused pass counts as the phase that moves most of its bytes: a norm counts as the
 * pass that computes it. The middle pass of GMRES (cgs2), which subtracts and projects, counts as gemv_n.
 */
typedef enum tess_phase {
    TESS_PHASE_OTHER = 0,     /**< vector updates, small problems, launches */
    TESS_PHASE_SPMV = 1,      /**< products with the matrix */
    TESS_PHASE_GEMV_T = 2,    /**< GMRES: inner products with the basis */
    TESS_PHASE_GEMV_N = 3,    /**< GMRES: combinations of the basis */
    TESS_PHASE_NORM = 4,      /**< norms and other reductions */
    TESS_PHASE_PRECOND = 5,   /**< the preconditioner */
    TESS_PHASE_REFINEMENT = 6 /**< work between cycles: mainly the true residual */
} tess_phase;

/** The number of phases, and the length of arrays in results, which have space for more. */
enum { TESS_PHASE_COUNT = 7, TESS_MAX_PHASES = 16 };

/** The name: "spmv" for TESS_PHASE_SPMV. "?" for a value outside the list. */
TESS_EXPORT const char *tess_phase_name(tess_phase phase);
/** Errors: INVALID_ARGUMENT (an unknown name, which leaves *out unchanged). tests/unit/test_names.c */
TESS_EXPORT tess_status tess_phase_parse(const char *name, tess_phase *out);

TESS_END_DECLS

#endif
