/* SPDX-License-Identifier: Apache-2.0 */
/* Merged triangles on the GPU: the device's limits, and launches. */
#include "triangular/leaf.h"
#include "triangular/merged.h"
#include "triangular/merged_device.cuh"

namespace {

/* Blocks of a cluster on any device that has clusters. */
enum { PORTABLE_CLUSTER = 8 };

typedef void (*merged_kernel)(merged_task);

template <bool CLUSTER>
merged_kernel kernel_for(tess_precision precision)
{
    typedef storage_of_bytes_or_more<2> of_factors;

    return gpu_by_storage<of_factors>(precision, merged_kernel(nullptr), [](auto stored) {
        return merged_kernel(solve_merged<typename decltype(stored)::type, CLUSTER>);
    });
}

merged_kernel kernel_of(tess_precision precision, bool cluster)
{
#if GPU_HAS_RESIDENT_GRIDS
    if (cluster) { return kernel_for<true>(precision); }
#else
    (void)cluster;
#endif
    return kernel_for<false>(precision);
}

int64_t shared_limit(const tess_context *ctx)
{
    return gpu_state_of(ctx)->shared_bytes_per_block - GPU_STATIC_SHARED;
}

tess_status allow(tess_context *ctx, merged_kernel kernel, int blocks)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, reinterpret_cast<const void *>(kernel)));
#if GPU_HAS_RESIDENT_GRIDS
    if (blocks > PORTABLE_CLUSTER) {
        status = gpu_check(ctx, gpu_allow_large_clusters(kernel), "allowing clusters of 16 blocks");
    }
#else
    (void)blocks;
#endif
cleanup:
    return status;
}

/* The largest cluster of blocks with all the shared memory of the device; 1: there are no clusters. */
tess_status find_cluster(tess_context *ctx, int *blocks)
{
    *blocks = 1;
#if GPU_HAS_RESIDENT_GRIDS
    const merged_kernel kernel = kernel_of(TESS_PRECISION_FP64, true);
    int major = 0;
    tess_status status =
        gpu_check(ctx, GPU(DeviceGetAttribute)(&major, GPU(DevAttrComputeCapabilityMajor), gpu_state_of(ctx)->device),
                  "asking for clusters");

    if (status != TESS_SUCCESS || major < GPU_CLUSTER_CAPABILITY) { return status; }
    status = allow(ctx, kernel, MERGED_MAX_BLOCKS);
    if (status != TESS_SUCCESS) { return status; }
    for (int most = MERGED_MAX_BLOCKS; most >= 2 && *blocks == 1; most /= 2) {
        if (gpu_cluster_fits(kernel, static_cast<unsigned>(most), MERGED_THREADS,
                             static_cast<size_t>(shared_limit(ctx)))) {
            *blocks = most;
        }
    }
#else
    (void)ctx;
#endif
    return TESS_SUCCESS;
}

tess_status launch(tess_context *ctx, const merged_view *v, merged_kernel kernel, const merged_task &task)
{
    const size_t shared = static_cast<size_t>(merged_slots_at(v->local) + MERGED_SLOTS * v->slot_bytes);

#if GPU_HAS_RESIDENT_GRIDS
    if (v->blocks > 1) {
        gpu_launch_clusters(kernel, static_cast<unsigned>(task.columns), static_cast<unsigned>(v->blocks),
                            MERGED_THREADS, shared, gpu_stream_of(ctx), task);
        return gpu_check_launch(ctx, "a merged triangular solve");
    }
#endif
    return gpu_launch_blocks(ctx, "a merged triangular solve", kernel, static_cast<unsigned>(task.columns),
                             MERGED_THREADS, shared, task);
}

} // namespace

static tess_status find_limits(tess_context *ctx, merged_limits *limits)
{
    gpu_scope scope(ctx);

    limits->shared_bytes = shared_limit(ctx);
    return find_cluster(ctx, &limits->blocks);
}

static tess_status solve(tess_context *ctx, const merged_view *v, const triangle_args *args)
{
    gpu_scope scope(ctx);
    const merged_kernel kernel = kernel_of(v->precision, v->blocks > 1);
    merged_task task = {};
    tess_status status = TESS_SUCCESS;

    if (!kernel) {
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "no kernel for triangles stored in precision %d", static_cast<int>(v->precision));
    }
    TESS_TRY(allow(ctx, kernel, v->blocks));
    task.records = v->records;
    task.streams = v->streams;
    task.row = v->row;
    task.local = static_cast<int>(v->local);
    task.slot_bytes = static_cast<int>(v->slot_bytes);
    task.columns = columns_of(args);
    task.args = *args;
    TESS_TRY(make_settled_predicate(ctx, args->state, &task.predicate));
    status = launch(ctx, v, kernel, task);
cleanup:
    return status;
}

extern "C" const merged_ops *merged_gpu_ops(void)
{
    static const merged_ops table = {find_limits, solve};

    return &table;
}
