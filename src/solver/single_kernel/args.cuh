/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a kernel that runs a whole cycle, and the kernels of this folder by name. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_ARGS_CUH
#define TESS_SOLVER_SINGLE_KERNEL_ARGS_CUH

#include "device/gpu/gpu.h"
#include "device/gpu/mailbox.h"
#include "device/gpu/storage_types.cuh" /* after the vendor's header: HIP declares memcpy for the device there */
#include "solver/single_kernel/single_kernel.h"

/* Of what single_rows need, at most. */
enum { SINGLE_ROWS_BYTES = 96 };

struct single_args {
    single_plan plan; /* on the device */
    single_layout at;
    bool resident;
    int32_t kept_units; /* of rows in tiles, if not all are resident: space for records, in units of TILES_UNIT */
    const void *val;    /* nnz values in the kernel's precision, in CSR order */
    /* Or what single_rows need, an object of their own. */
    alignas(8) unsigned char rows[SINGLE_ROWS_BYTES];
    /* r and, of CG, the first direction p = z as the method's start left them; d is written at the end. */
    const double *r, *p, *shadow;
    const double *scale; /* the diagonal preconditioner; NULL: none */
    double *d;
    tess_loop_state *state;
    uint64_t *exchange, *slots, *flags;
    int64_t nanoseconds;
    loop_mailbox *mailbox;
    bool watched; /* the host reads the mailbox while the kernel runs */
};

/* On CSR rows whose type is STORED; NULL: not in this precision, or not with this method. */
template <typename STORED>
single_function single_cg_rows(single_method method, bool cluster);
template <typename STORED>
single_function single_bicgstab_rows(bool cluster);

/* The storage types that have kernels. */
typedef storage_of_bytes_or_more<2> single_storage;

#endif
