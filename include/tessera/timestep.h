/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file timestep.h  Explicit time stepping: x := A x, again and again.
 *
 * One step of an explicit scheme for a linear problem is a product with a fixed matrix. Here A = D + R is split into its
 * diagonal, which stays FP64, and the rest, which is multiplied in low, mixed or full precision: x := R x + D o x (Tezcan et
 * al. 2022, section III-E, Algorithm 2; in its line 4 the diagonal multiplies the previous x).
 */
#ifndef TESSERA_TIMESTEP_H
#define TESSERA_TIMESTEP_H

#include <tessera/matrix.h>
#include <tessera/solver.h>
#include <tessera/steps.h>

TESS_BEGIN_DECLS

typedef struct tess_timestep tess_timestep;

/** How the steps are made; mirrors the options of `tessera timestep`. */
typedef struct tess_timestep_options {
    size_t size; /**< sizeof(tess_timestep_options) */
    /**
     * composite (default) or split: as said above, with rows and columns permuted alike. csr, ellr, sell or dia without a list of
     * steps: plain products x := A x in `storage.precision`, diagonal and all, the two vectors taking turns: in fp64 the ground
     * truth that others are compared with. csr and ellr with a list of steps: a composite over them. Default of the policy:
     * mean-range with F = 2, share 99 (the paper, section IV).
     */
    tess_storage_options storage;
    /** Default: mixed. Steps without a number of their own share the count equally, the remainder goes to the last. */
    tess_step_list steps;
    tess_engine engine; /**< PLAIN: steps are launched one by one; else they are recorded where the device can */
} tess_timestep_options;

/** Set `size` by tess_timestep_result_init before tess_timestep_run, which fills as much. */
typedef struct tess_timestep_result {
    size_t size; /**< sizeof(tess_timestep_result) */
    /** Steps made: fewer than asked for where the observer stopped them, x was not finite, or all steps are named and fewer. */
    int64_t count;
    tess_step_list steps; /**< by kind, with the number made of each */
    /** Bytes that a step of each kind moves, by model: matrix as multiplied, x read once and written, diagonal. */
    int64_t bytes_per_step[TESS_MOST_STEPS];
    int finite;           /**< 0: NaN or Inf was found in x, at a snapshot or at the end */
    double setup_seconds; /**< of tess_timestep_create */
    double seconds;       /**< of all steps, with observers and snapshots */
    int64_t matrix_bytes;
    int64_t nonzeros_per_precision[TESS_MOST_PRECISIONS]; /**< as assigned, without what `steps` keeps apart */
    tess_format format;
} tess_timestep_result;

/** Sees x after step @p step; x is valid during the call, in the context's memory. Nonzero: no more steps. */
typedef int (*tess_observer)(void *user, int64_t step, const tess_vector *x);

/** composite, mean-range with F = 2, share 99; no steps (mixed); engine AUTO. Sets `size`. */
TESS_EXPORT void tess_timestep_options_init(tess_timestep_options *options);
/** Zeros, and `size`. */
TESS_EXPORT void tess_timestep_result_init(tess_timestep_result *result);

/**
 * Sets up steps with the square assembled matrix @p a, which is borrowed; NULL options stand for the defaults. New values of
 * @p a are noticed at the next run. Errors: DIMENSION_MISMATCH (not square), UNSUPPORTED (a shell or stored matrix, a format, a
 * precision that split does not have), INVALID_ARGUMENT, memory.
 */
TESS_EXPORT tess_status tess_timestep_create(const tess_matrix *a, const tess_timestep_options *options,
                                             tess_timestep **out);

/**
 * Makes @p count steps from @p x, an FP64 vector of n values, which receives the last one. After every multiple of @p every
 * steps (0: never) @p observer sees x. Steps below fp64 keep x in FP32 alone, mixed ones in both precisions. Blocks until done.
 * Error of one step: u_l (|R| |x|) + gamma(longest row + 2) |A| |x| componentwise, with u_l about 4 unit roundoffs of FP32 for
 * what is stored in FP32. Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT (negative count), memory. tests/unit/test_timestep.c
 */
TESS_EXPORT tess_status tess_timestep_run(tess_timestep *ts, tess_vector *x, int64_t count, tess_observer observer,
                                          void *user, int64_t every, tess_timestep_result *result);

TESS_EXPORT void tess_timestep_destroy(tess_timestep *ts);

TESS_END_DECLS

#endif
