/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch that runs a whole cycle of CG or BiCGSTAB instead of the loop. The start of a cycle and its judgement
 * (solver/guard.c) are those of every engine, and so are the scalar updates.
 */
#ifndef TESS_SOLVER_SINGLE_KERNEL_H
#define TESS_SOLVER_SINGLE_KERNEL_H

#include "matrix/matrix.h"
#include "solver/single_kernel/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tess_solver;

/* The device's functions for such kernels; NULL on the host. */
typedef struct single_kernel_ops {
    tess_status (*limits)(tess_context *ctx, single_limits *limits);
    /* As single_plan_make, on the device, for an order that single_plan_can_hold accepts. */
    tess_status (*plan)(const tess_matrix *assembled, const single_shape *shape, single_plan *plan);
    tess_whole_loop loop; /* of a tess_krylov */
} single_kernel_ops;

const single_kernel_ops *single_kernel_gpu_ops(void);
const single_kernel_ops *single_kernel_ops_of(const tess_context *ctx);
/* solver/single_kernel/plan_device.cu */
tess_status gpu_single_plan(const tess_matrix *assembled, const single_shape *shape, single_plan *plan);

/* Iterations of the one-reduction recurrence between two replacements of r by b - A x and of s by A p. */
enum { SINGLE_REPLACE_EVERY = 50 };

/* Of a grid: the numbers of arrivals continue from launch to launch, and LAST is the last number used; FAILED is not 0
   once a wait timed out. */
enum { SINGLE_FLAG_LAST, SINGLE_FLAG_FAILED, SINGLE_FLAGS };

/* Made once for all solves. Arrays are on the device, also those of the plan. */
typedef struct single_kernel {
    single_plan plan;
    single_method method;
    int64_t shared_bytes; /* of a block: the device's limit */
    int64_t nanoseconds;  /* a block that waits longer than this for another gives up, and the solve fails */
    uint64_t *flags;      /* a grid's: SINGLE_FLAG_...; in one array with: */
    uint64_t *slots;      /* messages of sums: 2 * SINGLE_COPIES * SINGLE_MESSAGES * blocks */
    uint64_t *exchange;   /* messages of vectors: single_windows * n */
} single_kernel;

/*
 * Sets up s->krylov.single if the solve can run in one kernel. `asked`: the engine was requested by name. Then an error
 * (UNSUPPORTED) says what prevents it, and entries that do not fit into shared memory are read from device memory,
 * whatever their number. Otherwise they are read from there if they are few; else s->krylov.single stays NULL, as it
 * does if a single kernel is impossible.
 */
tess_status single_kernel_setup(struct tess_solver *s, bool asked);
void single_kernel_destroy(tess_context *ctx, single_kernel *single);
/* Whether a single kernel is likely for the present matrix, before a plan is made: by size, or if it is requested by
   name. */
tess_status single_kernel_expects(const struct tess_solver *s, bool asked, bool *expects);
/* Whether a kernel reads it as tiles; how it is divided, except for the number of blocks; what shared memory must hold.
 */
bool single_kernel_reads_tiles(const tess_matrix *m);
single_shape single_kernel_shape(const tess_matrix *m);
single_contents single_kernel_contents(single_method method, const tess_matrix *m, bool narrowed, bool resident);
/* How the method continues from one iteration to the next. */
tess_recurrence single_kernel_recurrence(single_method method);
/* Bytes from `flags` on: everything through which blocks of a grid communicate. All zero before the first launch, and
   again after one that failed. */
int64_t single_kernel_exchange_bytes(const single_kernel *single);
/* Bytes of its arrays on the device. */
int64_t single_kernel_bytes(const single_kernel *single);

#ifdef __cplusplus
}
#endif

#endif
