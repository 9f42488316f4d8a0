/* SPDX-License-Identifier: Apache-2.0 */
/* BiCGSTAB in one kernel on rows of tiles. */
#include "device/gpu/gpu.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "papers/single_kernel/tile_rows.cuh"
#include "solver/single_kernel/bicgstab_kernel.cuh"

single_function single_bicgstab_tiles_function(bool narrowed, bool cluster)
{
    return narrowed ? bicgstab_of<tile_rows<true>>(cluster) : bicgstab_of<tile_rows<false>>(cluster);
}

#endif
