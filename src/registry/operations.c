/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the library's parts, by device: operations.def has the list. */
#include "auto/facts.h"
#include "base/gpu_found.h"
#include "dense/columns.h"
#include "dense/gemv.h"
#include "dense/pairs.h"
#include "dense/trsv.h"
#include "format/bsr/bsr.h"
#include "format/dia/dia.h"
#include "format/ellr/ellr.h"
#include "format/packed/packed.h"
#include "format/split/split.h"
#include "gallery/stencils.h"
#include "matrix/device_csr.h"
#include "matrix/null_parts.h"
#include "order/clusters.h"
#include "papers/narrowing/narrowing.h"
#include "papers/single_kernel/tile_rows.h"
#include "papers/tiles/resident.h"
#include "papers/tiles/tcki.h"
#include "papers/vector_kernel/vector_kernel.h"
#include "policy/assign.h"
#include "precond/block_jacobi/block_jacobi.h"
#include "precond/incomplete/incomplete.h"
#include "precond/inverse/inverse.h"
#include "precond/multigrid/aggregation/aggregation_device.h"
#include "precond/saddle/rows.h"
#include "solver/batch/batch.h"
#include "solver/block_cg/block_ops.h"
#include "solver/gmres/arnoldi.h"
#include "solver/single_kernel/single_kernel.h"
#include "solver/symmetry.h"
#include "triangular/merged.h"

#if TESS_HAVE_GPU
#define ON_GPU(ctx, table) ((ctx)->device == TESS_DEVICE_GPU ? (table) : NULL)
#else
#define ON_GPU(ctx, table) ((void)(ctx), NULL)

const tess_backend *tess_gpu_backend_table(void)
{
    return NULL;
}

bool tess_gpu_is_found(void)
{
    return false;
}
#endif

#define OPERATIONS(part, type)                              \
    const type *part##_ops_of(const tess_context *ctx)      \
    {                                                       \
        const type *on_gpu = ON_GPU(ctx, part##_gpu_ops()); \
                                                            \
        return on_gpu ? on_gpu : &part##_host_ops;          \
    }
#define GPU_OPERATIONS(part, type)                     \
    const type *part##_ops_of(const tess_context *ctx) \
    {                                                  \
        return ON_GPU(ctx, part##_gpu_ops());          \
    }
#include "registry/operations.def"
