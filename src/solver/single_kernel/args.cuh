/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a kernel that runs a whole cycle, and the kernels by name. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_ARGS_CUH
#define TESS_SOLVER_SINGLE_KERNEL_ARGS_CUH

#include "device/gpu/gpu.h"
#include "device/gpu/mailbox.h"
#include "device/gpu/storage_types.cuh" /* after the vendor's header: HIP declares memcpy for the device there */
#include "solver/narrowing/narrowing.h"
#include "solver/single_kernel/single_kernel.h"

struct single_args {
    single_plan plan; /* on the device */
    single_layout at;
    bool resident;
    const void *val; /* nnz values in the kernel's precision, in CSR order */
    /* Or tiles, and where the record of each block row begins; their narrowing, if there is any. */
    const char *record;
    const uint32_t *tile_start;
    narrowing_pass narrowing;
    /* r and, for CG, the first direction p = z from the method's start; d is written at the end. */
    const double *r, *p, *shadow;
    const double *scale; /* the diagonal preconditioner; NULL: none */
    double *d;
    tess_loop_state *state;
    uint64_t *exchange, *slots, *flags;
    int64_t nanoseconds;
    loop_mailbox *mailbox;
    bool watched; /* the host reads the mailbox while the kernel runs */
};

typedef void (*single_function)(single_args);

/* On CSR rows with values of type STORED; NULL: not in this precision, or not with this method. */
template <typename STORED>
single_function single_cg_rows(single_method method, bool cluster);
template <typename STORED>
single_function single_bicgstab_rows(bool cluster);
single_function single_cg_one_reduction(tess_precision precision, bool cluster);
single_function single_cg_one_reduction_tiles(bool cluster);
/* For tiles, narrowed or not; NULL: not with this method. */
single_function single_cg_tiles_function(single_method method, bool narrowed, bool cluster);
single_function single_bicgstab_tiles_function(bool narrowed, bool cluster);

/* The storage types that have kernels. */
typedef storage_of_bytes_or_more<2> single_storage;

#endif
