/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors by sweeps on the GPU. A few neighbouring threads take a row, each its own entries: nobody waits.
 */
#include <limits.h>

#include "device/gpu/gpu.h"
#include "precond/incomplete/incomplete.h"
#include "precond/incomplete/incomplete_swept.h"

namespace {

enum { ROW_LANES = 8, SWEEP_BLOCKS = 8 };

/* In device memory. */
struct swept_report {
    unsigned long long bad_row, not_finite; /* ULLONG_MAX: none */
    unsigned long long largest;             /* the bits of a double */
};

__device__ inline int64_t first_row()
{
    return (static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x) / ROW_LANES;
}

__device__ inline int64_t rows_at_once()
{
    return static_cast<int64_t>(gridDim.x) * GPU_BLOCK / ROW_LANES;
}

/* The first w, or the next one. */
template <bool START>
__global__ void __launch_bounds__(GPU_BLOCK) sweep_rows(const swept_task t)
{
    const int lane = static_cast<int>(threadIdx.x) % ROW_LANES;

    for (int64_t i = first_row(); i < t.job.n; i += rows_at_once()) {
        const swept_row r = swept_open_row(&t, i);

        for (int64_t k = r.begin + lane; k < r.end; k += ROW_LANES) {
            const double value = START ? swept_entry(&t, &r, k) : swept_next(&t, &r, k);

            t.to.w[k] = value;
            if (k == r.diagonal) { t.to.inverse[i] = 1.0 / value; }
        }
    }
}

__device__ inline void judge_row(const swept_task &t, const swept_row &r, swept_report *report)
{
    const double sum = swept_size(&t, &r);

    if (!(sum <= DBL_MAX)) { atomicMin(&report->not_finite, static_cast<unsigned long long>(r.row)); }
    if (!incomplete_accepts(&t.job, t.from.w[r.diagonal], swept_entry(&t, &r, r.diagonal), sum)) {
        atomicMin(&report->bad_row, static_cast<unsigned long long>(r.row));
    }
}

/* Judges the pivots, and divides by them in place. */
__global__ void __launch_bounds__(GPU_BLOCK) finish_rows(const swept_task t, swept_report *report)
{
    const int lane = static_cast<int>(threadIdx.x) % ROW_LANES;
    double largest = 0.0;

    for (int64_t i = first_row(); i < t.job.n; i += rows_at_once()) {
        const swept_row r = swept_open_row(&t, i);

        for (int64_t k = r.begin + lane; k < r.end; k += ROW_LANES) {
            if (k == r.diagonal) {
                judge_row(t, r, report);
                continue;
            }
            const double value = swept_factor(&t, &r, k);

            t.from.w[k] = value;
            if (!(fabs(value) <= DBL_MAX)) { atomicMin(&report->bad_row, static_cast<unsigned long long>(i)); }
            if (fabs(value) > largest) { largest = fabs(value); }
        }
    }
    if (largest > 0.0) { atomicMax(&report->largest, static_cast<unsigned long long>(__double_as_longlong(largest))); }
}

__global__ void __launch_bounds__(GPU_BLOCK) negate(int64_t n, double *inverse)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < n;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        inverse[i] = -inverse[i];
    }
}

/* All sweeps; the last one writes to arrays[0]. */
tess_status launch_sweeps(tess_context *ctx, swept_task t, const swept_arrays *arrays, swept_report *report)
{
    const unsigned grid = gpu_grid(ctx, t.job.n * ROW_LANES, SWEEP_BLOCKS);
    int now = t.job.sweeps % 2;

    t.to = arrays[now];
    sweep_rows<true><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    for (int s = 0; s < t.job.sweeps; s++) {
        t.from = arrays[now];
        now = 1 - now;
        t.to = arrays[now];
        sweep_rows<false><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    }
    t.from = arrays[0];
    finish_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, report);
    if (t.job.negative) {
        negate<<<gpu_grid(ctx, t.job.n, SWEEP_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t.job.n, t.from.inverse);
    }
    return gpu_check_launch(ctx, "incomplete factors by sweeps");
}

} // namespace

extern "C" tess_status incomplete_sweep_on_gpu(const tess_matrix *assembled, const tess_incomplete_job *job,
                                               tess_incomplete_outcome *out)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const swept_task t = {*job, csr_of(assembled)->view, {nullptr, nullptr}, {nullptr, nullptr}};
    swept_arrays arrays[2] = {{job->lu, job->inverse}, {nullptr, nullptr}};
    swept_report report = {ULLONG_MAX, ULLONG_MAX, 0}, *place = nullptr;
    tess_status status = TESS_SUCCESS;

    *out = {-1, 0.0, 0, true, false};
    if (job->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, t.v.nnz, sizeof *arrays[1].w, reinterpret_cast<void **>(&arrays[1].w)));
    TESS_TRY(
        tess_device_allocate(ctx, job->n, sizeof *arrays[1].inverse, reinterpret_cast<void **>(&arrays[1].inverse)));
    TESS_TRY(tess_device_upload(ctx, &report, 1, sizeof report, reinterpret_cast<void **>(&place)));
    TESS_TRY(launch_sweeps(ctx, t, arrays, place));
    TESS_TRY(ctx->backend->download(ctx, &report, place, sizeof report));
    out->finite = report.not_finite == ULLONG_MAX;
    out->bad_row = static_cast<int64_t>(out->finite ? report.bad_row : report.not_finite); /* ULLONG_MAX: -1 */
    memcpy(&out->largest, &report.largest, sizeof out->largest);
cleanup:
    tess_device_release(ctx, arrays[1].w, t.v.nnz, sizeof *arrays[1].w);
    tess_device_release(ctx, arrays[1].inverse, job->n, sizeof *arrays[1].inverse);
    tess_device_release(ctx, place, 1, sizeof report);
    return status;
}
