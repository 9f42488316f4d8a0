/* SPDX-License-Identifier: Apache-2.0 */
/* The device's limits for single kernels, and their launch. */
#include "device/gpu/gpu.h"
#include "device/gpu/mailbox.h"
#include "solver/single_kernel/single_kernel.h"

#include "format/csr/csr.h"
#include "solver/krylov.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "solver/single_kernel/args.cuh"

static single_function cg_function(single_method method, tess_precision precision, bool cluster)
{
    return gpu_by_storage(precision, single_function(nullptr), [&](auto stored) {
        return single_cg_rows<typename decltype(stored)::type>(method, cluster);
    });
}

static single_function bicgstab_function(tess_precision precision, bool cluster)
{
    return gpu_by_storage(precision, single_function(nullptr),
                          [&](auto stored) { return single_bicgstab_rows<typename decltype(stored)::type>(cluster); });
}

/* Blocks of a cluster on any device that has clusters. */
enum { PORTABLE_CLUSTER = 8 };

/* The largest cluster of blocks with all the shared memory of the device: 16 if the kernel may have more than 8, else
   8. */
static int largest_cluster(int64_t shared_bytes)
{
    const single_function kernel = single_cg_rows<double>(SINGLE_CG, true);

    for (int blocks = SINGLE_MAX_CLUSTER; blocks >= 2; blocks /= 2) {
        if (gpu_cluster_fits(kernel, (unsigned)blocks, SINGLE_THREADS, (size_t)shared_bytes)) { return blocks; }
    }
    return 1;
}

static tess_status allow(tess_context *ctx, single_function kernel, int cluster_blocks)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)kernel));
    if (cluster_blocks > PORTABLE_CLUSTER) {
        status = gpu_check(ctx, gpu_allow_large_clusters(kernel), "allowing clusters of 16 blocks");
    }
cleanup:
    return status;
}

static tess_status find_limits(tess_context *ctx, single_limits *limits)
{
    gpu_scope scope(ctx);
    gpu_state *state = gpu_state_of(ctx);
    int cooperative = 0, major = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_check(ctx, GPU(DeviceGetAttribute)(&cooperative, GPU(DevAttrCooperativeLaunch), state->device),
                       "asking for cooperative launches"));
    TESS_TRY(gpu_check(ctx, GPU(DeviceGetAttribute)(&major, GPU(DevAttrComputeCapabilityMajor), state->device),
                       "asking for clusters"));
    if (!cooperative) { return TESS_SUCCESS; }
    limits->blocks = state->multiprocessors < SINGLE_MAX_BLOCKS ? state->multiprocessors : SINGLE_MAX_BLOCKS;
    limits->shared_bytes = state->shared_bytes_per_block - GPU_STATIC_SHARED;
    limits->asked_only = !GPU_TRIES_GRIDS;
    if (major < GPU_CLUSTER_CAPABILITY) { return TESS_SUCCESS; }
    if (state->largest_cluster == 0) {
        TESS_TRY(allow(ctx, single_cg_rows<double>(SINGLE_CG, true), SINGLE_MAX_CLUSTER));
        state->largest_cluster = largest_cluster(limits->shared_bytes);
    }
    limits->cluster_blocks = state->largest_cluster;
cleanup:
    return status;
}

/* The guard may have gone up from rows that are read otherwise to the original. */
static single_function function_of(const tess_krylov *k)
{
    const single_method method = k->single->method;
    const bool cluster = k->single->plan.cluster;
    const tess_precision precision = k->matrix->precision;
    const single_function other = single_more_ops_of(k->ctx)->function(k, method, cluster);

    if (other || single_rows_of(k->matrix)) { return other; }
    return method == SINGLE_BICGSTAB ? bicgstab_function(precision, cluster) : cg_function(method, precision, cluster);
}

/* Values as k->matrix has them now. */
static void find_values(const tess_krylov *k, single_args *a)
{
    if (single_rows_of(k->matrix)) {
        single_more_ops_of(k->ctx)->add_args(k, a);
    } else {
        a->val = csr_of(k->matrix)->view.val;
    }
}

/* The vectors as the method's start leaves them: for CG, p is the first of its own; for BiCGSTAB, r~ is. */
static single_args args_of(const tess_krylov *k, loop_mailbox *mailbox, bool watched)
{
    const single_kernel *single = k->single;
    single_contents what = single_kernel_contents(single->method, k->matrix, k->extension != NULL, true);
    single_args a = {};

    a.plan = single->plan;
    a.at = single_shared_layout(&single->plan, &what);
    a.resident = what.resident = a.at.bytes <= single->shared_bytes;
    if (!a.resident) {
        a.at = single_shared_layout(&single->plan, &what);
        if (what.value_bytes == 0) { a.kept_units = single_take_rest(&a.at, single->shared_bytes); }
    }
    find_values(k, &a);
    a.r = k->r;
    a.p = (const double *)k->v[0];
    a.shadow = (const double *)k->v[0];
    a.scale = tess_precond_scale(k->precond);
    a.d = k->d;
    a.state = k->state;
    a.exchange = single->exchange;
    a.slots = single->slots;
    a.flags = single->flags;
    a.nanoseconds = single->nanoseconds;
    a.mailbox = mailbox;
    a.watched = watched;
    return a;
}

static tess_status launch(tess_context *ctx, const void *solver, loop_mailbox *mailbox, bool watched)
{
    const tess_krylov *k = (const tess_krylov *)solver;
    const single_kernel *single = k->single;
    const single_function kernel = function_of(k);
    tess_status status = TESS_SUCCESS;

    if (!kernel) {
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "no single kernel for values in precision %d", (int)k->matrix->precision);
    }
    TESS_TRY(allow(ctx, kernel, single->plan.cluster ? single->plan.blocks : 0));
    {
        const single_args a = args_of(k, mailbox, watched);

        gpu_launch_resident(kernel, single->plan.cluster, (unsigned)single->plan.blocks, SINGLE_THREADS,
                            (size_t)a.at.bytes, gpu_stream_of(ctx), a);
        status = gpu_check_launch(ctx, "a solve in one kernel");
    }
cleanup:
    return status;
}

static tess_status failed(tess_context *ctx, const void *solver)
{
    const single_kernel *single = ((const tess_krylov *)solver)->single;
    tess_status status = TESS_SUCCESS;

    if (!single->plan.cluster) {
        /* Blocks may disagree about the numbers, which therefore start again. */
        TESS_TRY(ctx->backend->zero(ctx, single->flags, (size_t)single_kernel_exchange_bytes(single)));
    }
    status = tess_fail(ctx, TESS_DEVICE, "use --engine graph",
                       "the single kernel gave up: one block of threads waited %g s for another",
                       1e-9 * (double)single->nanoseconds);
cleanup:
    return status;
}

#else

static tess_status find_limits(tess_context *, single_limits *)
{
    return TESS_SUCCESS; /* none */
}

static tess_status launch(tess_context *ctx, const void *, loop_mailbox *, bool)
{
    return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                     "this build has no single kernel");
}

static tess_status failed(tess_context *ctx, const void *)
{
    return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                     "this build has no single kernel");
}

#endif

extern "C" const single_kernel_ops *single_kernel_gpu_ops(void)
{
    static const single_kernel_ops table = {find_limits, gpu_single_plan, {launch, failed}};

    return &table;
}
