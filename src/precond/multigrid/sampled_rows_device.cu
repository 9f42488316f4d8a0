/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that choose smoother and degree, on a GPU: a thread for each of them. */
#include "device/gpu/gpu.h"
#include "precond/multigrid/passes_device.cuh"
#include "precond/multigrid/sampled_rows.h"

namespace {

__global__ void __launch_bounds__(GPU_BLOCK)
    largest_kernel(const csr_view a, uint64_t seed, int64_t count, double *largest)
{
    for (int64_t k = first_thread(); k < count; k += all_threads()) {
        largest[k] = amg_sampled_row_largest(&a, amg_sampled_row(a.nrows, seed, k));
    }
}

__global__ void __launch_bounds__(GPU_BLOCK)
    sums_kernel(const csr_view a, uint64_t seed, double scale, int64_t count, amg_row_sums *sums)
{
    for (int64_t k = first_thread(); k < count; k += all_threads()) {
        sums[k] = amg_sample_row(&a, amg_sampled_row(a.nrows, seed, k), scale);
    }
}

/* A kernel writes `count` values on the device, which go to `out`. */
template <typename value, typename kernel, typename... given>
tess_status sample(tess_context *ctx, const char *what, int64_t count, value *out, kernel run,
                   const given &...arguments)
{
    gpu_scope scope(ctx);
    value *found = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, count, sizeof *found, reinterpret_cast<void **>(&found)));
    TESS_TRY(gpu_launch(ctx, what, run, gpu_grid(ctx, count, AMG_SAMPLE / GPU_BLOCK), 0, arguments..., count, found));
    status = ctx->backend->download(ctx, out, found, static_cast<size_t>(count) * sizeof *found);
cleanup:
    tess_device_release(ctx, found, count, sizeof *found);
    return status;
}

} // namespace

tess_status amg_device_sample_largest(tess_context *ctx, const csr_view *a, uint64_t seed, int64_t count,
                                      double *largest)
{
    return sample(ctx, "the largest entries of rows", count, largest, largest_kernel, *a, seed);
}

tess_status amg_device_sample_sums(tess_context *ctx, const csr_view *a, uint64_t seed, double scale, int64_t count,
                                   amg_row_sums *sums)
{
    return sample(ctx, "sums of rows", count, sums, sums_kernel, *a, seed, scale);
}
