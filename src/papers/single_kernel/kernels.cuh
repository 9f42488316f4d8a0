/* SPDX-License-Identifier: Apache-2.0 */
/* The single kernels of this folder and of one_reduction/, by name. NULL: not with this method or in this precision. */
#ifndef TESS_PAPERS_SINGLE_KERNEL_KERNELS_CUH
#define TESS_PAPERS_SINGLE_KERNEL_KERNELS_CUH

#include "papers/narrowing/narrowing.h"
#include "solver/single_kernel/args.cuh"

/* In single_args.rows, of tiles. */
struct tile_args {
    const char *record; /* as in tiles_view */
    const uint32_t *start;
    narrowing_pass narrowing; /* where the solve has it */
};

static_assert(sizeof(tile_args) <= (size_t)SINGLE_ROWS_BYTES, "there is space for it");

/* For tiles, narrowed or not. */
single_function single_cg_tiles_function(single_method method, bool narrowed, bool cluster);
single_function single_bicgstab_tiles_function(bool narrowed, bool cluster);
/* For rows in CSR order; for tiles. */
single_function single_cg_one_reduction(tess_precision precision, bool cluster);
single_function single_cg_one_reduction_tiles(bool cluster);

#endif
