/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch that runs a whole cycle of CG or BiCGSTAB instead of the loop. The start of a cycle and its judgement
 * (solver/guard.c) are those of every engine, and so are the scalar updates.
 */
#ifndef TESS_SOLVER_SINGLE_KERNEL_SINGLE_KERNEL_H
#define TESS_SOLVER_SINGLE_KERNEL_SINGLE_KERNEL_H

#include <tessera/solver.h>

#include "solver/krylov.h"
#include "solver/single_kernel/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a device has such kernels; NULL on the host. */
typedef struct single_kernel_ops {
    tess_status (*limits)(tess_context *ctx, single_limits *limits);
    /* As single_plan_make, on the device, for an order that single_plan_can_hold accepts. */
    tess_status (*plan)(const tess_matrix *assembled, const single_shape *shape, single_plan *plan);
    tess_whole_loop loop; /* of a tess_krylov */
} single_kernel_ops;

const single_kernel_ops *single_kernel_gpu_ops(void);
const single_kernel_ops *single_kernel_ops_of(const tess_context *ctx);

/* How single kernels read a matrix that is not in CSR order: a table, listed in registry/papers.def. */
typedef struct single_rows {
    bool (*reads)(const tess_matrix *m);
    single_shape (*shape)(const tess_matrix *m);
    int block_bytes, run_bytes; /* as in single_contents, in a solve with an extension; in others 0 */
} single_rows;

/* NULL: in CSR order (registry/solvers.c). */
const single_rows *single_rows_of(const tess_matrix *m);

/* A kernel that runs a whole cycle (args.cuh). */
struct single_args;
typedef void (*single_function)(struct single_args);

/* Kernels beside those of this folder: for single_rows, and for recurrences that it has none for. */
typedef struct single_more_ops {
    single_function (*function)(const tess_krylov *k, single_method method, bool cluster); /* NULL: none */
    void (*add_args)(const tess_krylov *k, struct single_args *args); /* what single_rows of k->matrix need */
} single_more_ops;

const single_more_ops *single_more_ops_of(const tess_context *ctx);

/* solver/single_kernel/plan_device.cu */
tess_status gpu_single_plan(const tess_matrix *assembled, const single_shape *shape, single_plan *plan);

/* Of a grid: arrivals are numbered on from launch to launch, LAST being the last launch's last; FAILED is not 0 once a
 * wait was too long. */
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
tess_status single_kernel_setup(method_solver *s, bool asked);
void single_kernel_destroy(tess_context *ctx, single_kernel *single);
/* Whether one is likely to be set up for the matrix as it is, before any plan is made: by size, or where it is asked
 * for by name. */
tess_status single_kernel_expects(const method_solver *s, bool asked, bool *expects);
/* The parts that only a device with such kernels takes. Whether a single kernel should gain, by sizes alone. */
bool single_kernel_gains(const method_solver *s, const single_limits *limits, bool asked);
/* Makes s->krylov.single; else *why says what has no room. */
tess_status single_kernel_make(method_solver *s, const single_limits *limits, bool asked, const char **why);
/* How the matrix is divided, but for the number of blocks; what shared memory has to hold for it. */
single_shape single_kernel_shape(const tess_matrix *m);
single_contents single_kernel_contents(single_method method, const tess_matrix *m, bool extended, bool resident);
/* How the method goes on from one iteration to the next. */
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
