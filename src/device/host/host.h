/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the host backend. */
#ifndef TESS_DEVICE_HOST_HOST_H
#define TESS_DEVICE_HOST_HOST_H

#include "base/context.h"

/* Elements per partial sum. It is fixed, so that sums do not depend on the number of threads. */
enum { HOST_BLOCK = 4096 };
/* Loops with no more elements or nonzeros than this run on the calling thread: waking other threads would take longer.
 */
enum { HOST_SERIAL_WORK = 16384 };

/* Threads for so much work: one, or all. For a smaller number OpenMP's runtimes end threads and start them again later,
   which takes longer than the surplus threads do. */
static inline int host_threads_for(const tess_context *ctx, int64_t work)
{
    return work > HOST_SERIAL_WORK ? ctx->threads : 1;
}

/*
 * Compiled a second time for wider vectors, if compiler, C library and processor can choose at load time. Results do
 * not depend on it: the number of running sums is fixed, and nothing is contracted.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOST_CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define HOST_CLONES
#endif

/* Decodes `count` values of an array from value `first` on into `workspace`; returns the array itself if they need no
   decoding. */
const double *host_read_fp64(tess_operand from, int64_t first, int count, double *workspace);
const float *host_read_fp32(tess_operand from, int64_t first, int count, float *workspace);
/* The reverse: encodes `count` values, from place `first` on. */
void host_write_fp64(tess_precision precision, void *to, int64_t first, int count, const double *values);
void host_write_fp32(tess_precision precision, void *to, int64_t first, int count, const float *values);

/* Space for `count` partial sums, kept by the context between calls. */
tess_status host_partials(tess_context *ctx, int64_t count, double **out);

/* Adds ndots rows of `count` partial sums in order (partials[k * count + i]), stores them in the state and runs the
 * scalar update. */
void host_finish_reduction(const double *partials, int64_t count, int ndots, tess_scalar_update scalar,
                           tess_loop_state *state);

/* Whether an operation must run in the loop's present phase. A skipped one completes the phase FINISHING. */
bool host_enter(tess_loop_state *state, bool finishing, bool reduces);

tess_status host_fused(tess_context *ctx, const tess_fused *op);
tess_status host_run_loop(tess_context *ctx, tess_loop *loop);
tess_status host_repeat(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                        void **graph_slot);

#endif
