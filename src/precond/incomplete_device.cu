/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors on the GPU in one kernel: a wave takes a row and waits for those that it needs. Blocks take rows in the
 * order of the levels, by a ticket, so that those they wait for have begun. Sums have a fixed order: the same bits on every run.
 */
#include <limits.h>

#include "backend/gpu/wait.cuh"
#include "backend/gpu/wave_sums.cuh"
#include "core/offsets.h"
#include "format/csr/csr.h"
#include "precond/incomplete_rows.h"

namespace {

enum { FACTOR_WAVES = GPU_BLOCK / GPU_WAVE, FACTOR_BLOCKS = 8 };

/* What rows find out, in device memory. */
struct factor_report {
    unsigned long long bad_row; /* ULLONG_MAX: none */
    unsigned long long largest; /* the bits of a double */
    unsigned ticket, not_finite;
};

struct factor_task {
    tess_incomplete_job job;
    csr_view v;
    uint64_t *done; /* 1 for rows that others may read */
    factor_report *report;
    gpu_patience patience;
};

/* A row in the hands of a wave. */
struct open_row {
    int64_t row, begin, diagonal, end;
    int lane;
};

__device__ inline int64_t offset_of(const factor_task &task, int64_t row)
{
    return tess_row_offset(task.v.row_ptr, task.v.row_ptr_bits, row);
}

/* For all threads of the wave. */
__device__ inline double wave_total(double value, int lane)
{
    const double one[1] = {value};

    return wave_sums<GPU_WAVE / 2>(one, lane);
}

/* After a wait that is too long the rows mean nothing. */
__device__ inline void wait_for(const factor_task &task, int32_t row)
{
    uint64_t word[1];
    gpu_wait wait;

    do {
        gpu_peek(task.done + row, word);
    } while (word[0] == 0 && goes_on(task.patience, &wait));
    __threadfence();
}

__device__ inline void publish(const factor_task &task, const open_row &r)
{
    const uint64_t word[1] = {1};

    __threadfence();
    GPU_SYNC_WAVE();
    if (r.lane == 0) { gpu_post(task.done + r.row, word); }
}

/* Copies the row; returns the sum of its magnitudes. */
__device__ inline double copy_row(const factor_task &task, const open_row &r)
{
    const double *val = static_cast<const double *>(task.v.val);
    double sum = 0.0;

    for (int64_t k = r.begin + r.lane; k < r.end; k += GPU_WAVE) {
        task.job.lu[k] = val[k];
        sum += fabs(val[k]);
    }
    return wave_total(sum, r.lane);
}

/* Saad, Algorithm 10.4, lines 3 to 8. Returns the pivot. */
__device__ inline double eliminate_row(const factor_task &task, const open_row &r)
{
    const int32_t *col = task.v.col_ind;
    double *lu = task.job.lu;

    for (int64_t k = r.begin; k < r.diagonal; k++) {
        const int32_t j = col[k];

        wait_for(task, j);
        const double l = lu[k] * GPU_LOAD_L2(&task.job.inverse[j]);
        const int64_t last = offset_of(task, j + 1);
        int64_t at = k + 1;

        GPU_SYNC_WAVE();
        if (r.lane == 0) { lu[k] = l; }
        for (int64_t e = task.job.diagonal[j] + 1 + r.lane; e < last && at < r.end; e += GPU_WAVE) {
            at = incomplete_advance(col, at, r.end, col[e]);
            if (at < r.end && col[at] == col[e]) { lu[at] -= l * GPU_LOAD_L2(&lu[e]); }
        }
        GPU_SYNC_WAVE();
    }
    return lu[r.diagonal];
}

/* l_ij = (a_ij - sum_k l_ik l_jk) / l_jj, k < j; returns a_ii - sum_k l_ik^2. */
__device__ inline double eliminate_symmetric_row(const factor_task &task, const open_row &r)
{
    const int32_t *col = task.v.col_ind;
    double *lu = task.job.lu, pivot = lu[r.diagonal];

    for (int64_t k = r.begin; k < r.diagonal; k++) {
        const int32_t j = col[k];
        double sum = 0.0;
        int64_t at = r.begin;

        wait_for(task, j);
        for (int64_t e = offset_of(task, j) + r.lane; e < task.job.diagonal[j] && at < k; e += GPU_WAVE) {
            at = incomplete_advance(col, at, k, col[e]);
            if (at < k && col[at] == col[e]) { sum += lu[at] * GPU_LOAD_L2(&lu[e]); }
        }
        const double l = (lu[k] - wave_total(sum, r.lane)) * GPU_LOAD_L2(&task.job.inverse[j]);

        GPU_SYNC_WAVE();
        if (r.lane == 0) { lu[k] = l; }
        GPU_SYNC_WAVE();
        pivot -= l * l;
    }
    return pivot;
}

__device__ inline void factor_row(const factor_task &task, const open_row &r)
{
    const tess_incomplete_job &job = task.job;
    const double sum = copy_row(task, r);
    const double shifted = incomplete_diagonal(&job, static_cast<const double *>(task.v.val)[r.diagonal], sum);

    GPU_SYNC_WAVE();
    if (r.lane == 0) { job.lu[r.diagonal] = shifted; }
    GPU_SYNC_WAVE();
    const double pivot = job.cholesky ? eliminate_symmetric_row(task, r) : eliminate_row(task, r);

    if (r.lane == 0) {
        job.inverse[r.row] = 1.0 / (job.cholesky ? sqrt(pivot) : pivot);
        if (!(sum <= DBL_MAX)) { task.report->not_finite = 1; }
        if (!incomplete_accepts(&job, pivot, shifted, sum)) {
            atomicMin(&task.report->bad_row, static_cast<unsigned long long>(r.row));
        }
    }
    publish(task, r);
}

__device__ inline open_row open_wave_row(const factor_task &task, int64_t row)
{
    const int64_t diagonal = task.job.diagonal[row];

    return {row, offset_of(task, row), diagonal, task.job.cholesky ? diagonal + 1 : offset_of(task, row + 1),
            static_cast<int>(threadIdx.x) % GPU_WAVE};
}

__global__ void __launch_bounds__(GPU_BLOCK) factor_rows(const factor_task task)
{
    __shared__ unsigned turn;

    if (threadIdx.x == 0) { turn = atomicAdd(&task.report->ticket, 1U); }
    __syncthreads();
    const int64_t p = static_cast<int64_t>(turn) * FACTOR_WAVES + threadIdx.x / GPU_WAVE;

    if (p < task.job.n) { factor_row(task, open_wave_row(task, task.job.order[p])); }
}

/* The row's entries of L and U with ones on the diagonals. Returns this thread's largest magnitude; not below Inf where one is
   not finite. */
__device__ inline double normalise_row(const factor_task &task, const open_row &r)
{
    const tess_incomplete_job &job = task.job;
    double largest = 0.0;

    for (int64_t k = r.begin + r.lane; k < r.end; k += GPU_WAVE) {
        double value = job.lu[k];

        if (k == r.diagonal) { continue; }
        if (job.cholesky) { value *= job.inverse[task.v.col_ind[k]]; }
        if (k > r.diagonal) { value *= job.inverse[r.row]; }
        job.lu[k] = value;
        largest = fabs(value) <= DBL_MAX ? fmax(largest, fabs(value)) : static_cast<double>(INFINITY);
        if (!(largest <= DBL_MAX)) { break; }
    }
    return largest;
}

__global__ void __launch_bounds__(GPU_BLOCK) normalise_rows(const factor_task task)
{
    const int64_t waves = static_cast<int64_t>(gridDim.x) * FACTOR_WAVES;
    double most = 0.0;

    for (int64_t row = static_cast<int64_t>(blockIdx.x) * FACTOR_WAVES + threadIdx.x / GPU_WAVE; row < task.job.n;
         row += waves) {
        const double largest = normalise_row(task, open_wave_row(task, row));

        if (!(largest <= DBL_MAX)) { atomicMin(&task.report->bad_row, static_cast<unsigned long long>(row)); }
        most = fmax(most, largest);
    }
    if (most > 0.0) { atomicMax(&task.report->largest, static_cast<unsigned long long>(__double_as_longlong(most))); }
}

/* D = diag(l_ii^2) */
__global__ void __launch_bounds__(GPU_BLOCK) square(int64_t n, double *inverse)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < n;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        inverse[i] *= inverse[i];
    }
}

tess_status launch_factor(tess_context *ctx, const factor_task &task)
{
    const int64_t n = task.job.n, blocks = (n + FACTOR_WAVES - 1) / FACTOR_WAVES;
    const unsigned grid = gpu_grid(ctx, n * GPU_WAVE, FACTOR_BLOCKS);

    factor_rows<<<static_cast<unsigned>(blocks), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(task);
    normalise_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(task);
    if (task.job.cholesky) {
        square<<<gpu_grid(ctx, n, FACTOR_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, task.job.inverse);
    }
    return gpu_check_launch(ctx, "incomplete factors");
}

} // namespace

extern "C" tess_status gpu_incomplete_factor(const tess_matrix *assembled, const tess_incomplete_job *job,
                                             tess_incomplete_outcome *out)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    factor_report report = {ULLONG_MAX, 0, 0, 0};
    factor_task task = {*job, csr_of(assembled)->view, nullptr, nullptr, gpu_state_of(ctx)->patience};
    tess_status status = TESS_SUCCESS;

    *out = {-1, true, 0.0};
    if (job->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, job->n, sizeof *task.done, reinterpret_cast<void **>(&task.done)));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof report, reinterpret_cast<void **>(&task.report)));
    TESS_TRY(ctx->backend->zero(ctx, task.done, static_cast<size_t>(job->n) * sizeof *task.done));
    TESS_TRY(ctx->backend->upload(ctx, task.report, &report, sizeof report));
    TESS_TRY(launch_factor(ctx, task));
    TESS_TRY(ctx->backend->download(ctx, &report, task.report, sizeof report));
    out->bad_row = report.bad_row == ULLONG_MAX ? -1 : static_cast<int64_t>(report.bad_row);
    out->finite = report.not_finite == 0;
    memcpy(&out->largest, &report.largest, sizeof out->largest);
cleanup:
    tess_device_release(ctx, task.done, job->n, sizeof *task.done);
    tess_device_release(ctx, task.report, 1, sizeof report);
    return status;
}
