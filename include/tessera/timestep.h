/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file timestep.h  Explicit time stepping: x := A x, many times.
 *
 *     tess_timestep_create(a, NULL, &ts);
 *     tess_timestep_run(ts, x, 8000, NULL, NULL, 0, &result);      x after 8,000 steps
 *
 * One step of an explicit scheme for a linear problem is a product with a fixed matrix. The library splits A = D + R
 * into its diagonal D, in FP64, and the rest R, in low, mixed or full precision. A step is x := R x + D o x.
 * Source: Tezcan et al. 2022, section III-E, Algorithm 2; in its line 4 the diagonal multiplies the previous x.
 * How to use it: docs/howto/time-stepping.md.
 */
#ifndef TESSERA_TIMESTEP_H
#define TESSERA_TIMESTEP_H

#include <tessera/matrix.h>
#include <tessera/schedule.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

typedef struct tess_timestep tess_timestep;

/** Options of a run: those of `tessera timestep`. */
typedef struct tess_timestep_options {
    size_t size; /**< sizeof(tess_timestep_options) */
    /** composite (default) or split: R, permuted symmetrically; policy mean-range with F = 2, share 99 (section IV).
        csr, ellr, sell, dia, bsr without a schedule: x := A x in storage.precision; in fp64 the reference for the
       others. csr, ellr with a schedule: a composite with this base. */
    tess_storage_options storage;
    /** The precision schedule (default: mixed). Entries without a number share the count equally; the last of them gets
        the remainder. */
    tess_precision_schedule schedule;
    tess_engine engine; /**< PLAIN: steps are launched one by one; else they are recorded if the device can */
    /** Steps that were made before, by a run that ended early: this one goes on after them, and its @c count, its
        schedule and the numbers of its snapshots still begin with the first step of all. */
    int64_t first_step;
    double time_limit;    /**< --time-limit (0: none): seconds of a run */
    tess_monitor monitor; /**< may be NULL; called about ten times a second, with the steps made as iterations */
    void *monitor_user;   /**< passed to the monitor */
} tess_timestep_options;

/** What a run did. Call tess_timestep_result_init first: it sets `size`, and the run fills that many bytes. */
typedef struct tess_timestep_result {
    size_t size; /**< sizeof(tess_timestep_result) */
    /** Steps made, those of earlier runs included. Fewer than requested if something stopped the run (@c reason), or
        every entry of the schedule has a number and their sum is smaller. */
    int64_t count;
    tess_precision_schedule schedule; /**< the schedule, with the number of steps made of each entry */
    /** Bytes that a step of each entry moves, by a model: matrix values and indices, x read once and written, diagonal.
     */
    int64_t bytes_per_step[TESS_MAX_SCHEDULE];
    int finite;           /**< 0: x had NaN or Inf, at a snapshot or at the end */
    double setup_seconds; /**< time of tess_timestep_create */
    double seconds;       /**< time of all steps, with observers and snapshots */
    int64_t matrix_bytes;
    int64_t nonzeros_per_precision[TESS_MAX_PRECISIONS]; /**< as assigned, without the separate diagonal */
    tess_format format;
    /** RUNNING: all steps were made. Else what stopped them: CANCELLED (the observer, or the monitor), TIME_LIMIT,
        INTERRUPTED, NAN_OR_INF. */
    tess_reason reason;
} tess_timestep_result;

/** Called with x after step @p step. x is in the context's memory and valid during the call. Nonzero stops the run. */
typedef int (*tess_observer)(void *user, int64_t step, const tess_vector *x);

/** Sets the defaults: composite, mean-range with F = 2, share 99, schedule mixed, engine AUTO. Sets `size`. */
TESS_EXPORT void tess_timestep_options_init_sized(tess_timestep_options *options, size_t size);
static inline void tess_timestep_options_init(tess_timestep_options *options)
{
    tess_timestep_options_init_sized(options, sizeof *options);
}
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_timestep_result_init_sized(tess_timestep_result *result, size_t size);
static inline void tess_timestep_result_init(tess_timestep_result *result)
{
    tess_timestep_result_init_sized(result, sizeof *result);
}

/**
 * Sets up time steps with a matrix. After tess_matrix_update_values the next run uses the new values.
 * @param a        square and assembled; *out keeps it
 * @param options  NULL: the defaults
 * Errors: DIMENSION_MISMATCH (not square), UNSUPPORTED (a shell or stored matrix, a format, a precision that split does
 * not have), INVALID_ARGUMENT (also storage options that nothing reads), memory.
 */
TESS_EXPORT tess_status tess_timestep_create(const tess_matrix *a, const tess_timestep_options *options,
                                             tess_timestep **out);

/**
 * Makes @p count steps. Returns when all are done.
 * @param x         FP64 vector of n values. In: the start. Out: x after the last step.
 * @param observer  called with x after every @p every steps; NULL or @p every = 0: never
 * x is kept in FP64, in entries below fp64 and mixed ones beside an FP32 copy, which the low values of R multiply.
 * Error of one step, componentwise: u_l (|R| |x|) + gamma(longest row + 2) |A| |x|, with u_l about 4 unit roundoffs of
 * FP32 for values stored in FP32.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT (negative count, or below first_step), memory. Tests:
 * tests/unit/test_timestep.c, test_stop.c
 */
TESS_EXPORT tess_status tess_timestep_run(tess_timestep *ts, tess_vector *x, int64_t count, tess_observer observer,
                                          void *user, int64_t every, tess_timestep_result *result);

/** Frees the time steps; NULL is allowed. */
TESS_EXPORT void tess_timestep_destroy(tess_timestep *ts);

TESS_END_DECLS

#endif
