/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients in one kernel on rows of tiles. */
#include "device/gpu/gpu.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "papers/single_kernel/tile_rows.cuh"
#include "solver/single_kernel/cg_kernel.cuh"

single_function single_cg_tiles_function(single_method method, bool narrowed, bool cluster)
{
    if (method == SINGLE_CG_ONE_REDUCTION) { return narrowed ? NULL : single_cg_one_reduction_tiles(cluster); }
    if (!narrowed) { return cg_of<tile_rows<false>>(method, cluster); }
    if (method != SINGLE_CG) { return NULL; }
    return cluster ? cg_kernel<tile_rows<true>, cluster_team> : cg_kernel<tile_rows<true>, grid_team>;
}

#endif
