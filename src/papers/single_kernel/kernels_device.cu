/* SPDX-License-Identifier: Apache-2.0 */
/* What solver/single_kernel finds here: the kernel for a matrix and a method, and what it gets of tiles. */
#include "device/gpu/gpu.h"
#include "papers/single_kernel/tile_rows.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "format/tiles/tiles.h"
#include "papers/single_kernel/kernels.cuh"

static single_function find_kernel(const tess_krylov *k, single_method method, bool cluster)
{
    const bool narrowed = k->extension != NULL;

    if (!single_rows_of(k->matrix)) {
        return method == SINGLE_CG_ONE_REDUCTION ? single_cg_one_reduction(k->matrix->precision, cluster) : NULL;
    }
    return method == SINGLE_BICGSTAB ? single_bicgstab_tiles_function(narrowed, cluster)
                                     : single_cg_tiles_function(method, narrowed, cluster);
}

static void add_args(const tess_krylov *k, single_args *args)
{
    const tiles_view *view = &((const tiles_storage *)k->matrix->storage)->view;
    tile_args *tiles = (tile_args *)(void *)args->rows;

    tiles->record = view->record;
    tiles->start = view->start;
    if (k->extension) { tiles->narrowing = narrowing_of(k)->pass; }
}

#else

static single_function find_kernel(const tess_krylov *, single_method, bool)
{
    return NULL;
}

static void add_args(const tess_krylov *, single_args *)
{
}

#endif

extern "C" const single_more_ops *single_more_gpu_ops(void)
{
    static const single_more_ops table = {find_kernel, add_args};

    return &table;
}
