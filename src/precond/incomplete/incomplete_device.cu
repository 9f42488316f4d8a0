/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors on the GPU in one kernel: a wave takes a row and waits for the rows that it needs. Blocks take
 * rows in the order of the level sets, by a ticket, so that the rows they wait for have begun. Sums have a fixed order:
 * the same bits on every run.
 */
#include <limits.h>

#include "base/offsets.h"
#include "device/gpu/wait.cuh"
#include "device/gpu/wave_sums.cuh"
#include "format/csr/csr.h"
#include "precond/incomplete/fill_rounds.h"
#include "precond/incomplete/incomplete.h"
#include "precond/incomplete/incomplete_rows.h"

namespace {

enum { FACTOR_WAVES = GPU_BLOCK / GPU_WAVE, FACTOR_BLOCKS = 8 };

/* The results of all rows, in device memory. */
struct factor_report {
    unsigned long long bad_row;    /* ULLONG_MAX: none */
    unsigned long long largest;    /* the bits of a double */
    unsigned long long not_finite; /* the first row that is not finite; ULLONG_MAX: none */
    unsigned ticket;
};

struct factor_task {
    tess_incomplete_job job;
    csr_view v;
    uint64_t *done; /* 1 for rows that others may read */
    factor_report *report;
    gpu_timeout timeout;
    bool has_retry; /* another attempt follows: after the first bad row, rows are left as they are */
};

/* A row that a wave processes. */
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

/* After a timeout the rows mean nothing. */
__device__ inline void wait_for(const factor_task &task, int32_t row)
{
    uint64_t word[1];
    gpu_wait wait;

    do {
        gpu_peek(task.done + row, word);
    } while (word[0] == 0 && goes_on(task.timeout, &wait));
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
        task.job.lu[k] = incomplete_entry(&task.job, val[k]);
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

/* The data of attempt k. */
__device__ inline factor_task task_of(const factor_task &all, int k)
{
    factor_task task = all;

    task.job.shift *= static_cast<double>(1ULL << k);
    task.job.lu += k * all.v.nnz;
    task.job.inverse += k * all.job.n;
    task.done += k * all.job.n;
    task.report += k;
    task.has_retry = k + 1 < all.job.attempts;
    return task;
}

/* The same for all threads of a wave: other waves may find a bad row meanwhile. */
__device__ inline bool has_failed(const factor_task &task)
{
    const volatile factor_report *report = task.report;
    const int failed = task.has_retry && report->bad_row != ULLONG_MAX;

    return GPU_SHUFFLE(failed, 0, GPU_WAVE) != 0;
}

__device__ inline void factor_row(const factor_task &task, const open_row &r)
{
    const tess_incomplete_job &job = task.job;
    const double sum = copy_row(task, r);
    const double diagonal = incomplete_entry(&job, static_cast<const double *>(task.v.val)[r.diagonal]);
    const double shifted = incomplete_diagonal(&job, diagonal, sum);

    GPU_SYNC_WAVE();
    if (r.lane == 0) { job.lu[r.diagonal] = shifted; }
    GPU_SYNC_WAVE();
    const double pivot = job.cholesky ? eliminate_symmetric_row(task, r) : eliminate_row(task, r);

    if (r.lane == 0) {
        job.inverse[r.row] = 1.0 / (job.cholesky ? sqrt(pivot) : pivot);
        if (!(sum <= DBL_MAX)) { atomicMin(&task.report->not_finite, static_cast<unsigned long long>(r.row)); }
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

/* Attempts alternate, because each waits most of the time. */
__global__ void __launch_bounds__(GPU_BLOCK) factor_rows(const factor_task all)
{
    __shared__ unsigned turn;

    if (threadIdx.x == 0) { turn = atomicAdd(&all.report->ticket, 1U); }
    __syncthreads();
    const unsigned attempts = static_cast<unsigned>(all.job.attempts);
    const factor_task task = task_of(all, static_cast<int>(turn % attempts));
    const int64_t p = static_cast<int64_t>(turn / attempts) * FACTOR_WAVES + threadIdx.x / GPU_WAVE;

    if (p >= task.job.n) { return; }
    const open_row row = open_wave_row(task, task.job.order[p]);

    if (has_failed(task)) {
        publish(task, row);
    } else {
        factor_row(task, row);
    }
}

/* The row's entries of L and U with ones on the diagonals. Returns this thread's largest magnitude; Inf or NaN if one
   is not finite. */
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

__global__ void __launch_bounds__(GPU_BLOCK) normalise_rows(const factor_task all)
{
    const factor_task task = task_of(all, static_cast<int>(blockIdx.y));
    const int64_t waves = static_cast<int64_t>(gridDim.x) * FACTOR_WAVES;
    double most = 0.0;

    if (has_failed(task)) { return; }
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * FACTOR_WAVES + threadIdx.x / GPU_WAVE; row < task.job.n;
         row += waves) {
        const double largest = normalise_row(task, open_wave_row(task, row));

        if (!(largest <= DBL_MAX)) { atomicMin(&task.report->bad_row, static_cast<unsigned long long>(row)); }
        most = fmax(most, largest);
    }
    if (most > 0.0) { atomicMax(&task.report->largest, static_cast<unsigned long long>(__double_as_longlong(most))); }
}

/* D = diag(l_ii^2), or its negative */
__global__ void __launch_bounds__(GPU_BLOCK) square(int64_t n, bool negative, double *inverse)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < n;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        inverse[i] *= negative ? -inverse[i] : inverse[i];
    }
}

tess_status launch_factor(tess_context *ctx, const factor_task &task)
{
    const int attempts = task.job.attempts;
    const int64_t n = task.job.n, blocks = attempts * ((n + FACTOR_WAVES - 1) / FACTOR_WAVES);
    const dim3 grid(gpu_grid(ctx, n * GPU_WAVE, FACTOR_BLOCKS), static_cast<unsigned>(attempts));

    factor_rows<<<static_cast<unsigned>(blocks), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(task);
    normalise_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(task);
    if (task.job.cholesky) {
        square<<<gpu_grid(ctx, attempts * n, FACTOR_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
            attempts * n, task.job.negative, task.job.inverse);
    }
    return gpu_check_launch(ctx, "incomplete factors");
}

} // namespace

static tess_status factor(const tess_matrix *assembled, const tess_incomplete_job *job, tess_incomplete_outcome *out)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const int64_t flags = job->attempts * job->n;
    factor_report report[TESS_MAX_ATTEMPTS];
    factor_task task = {*job, csr_of(assembled)->view, nullptr, nullptr, gpu_state_of(ctx)->timeout, false};
    int k = 0;
    tess_status status = TESS_SUCCESS;

    if (job->sweeps > 0) { return incomplete_sweep_on_gpu(assembled, job, out); }
    *out = {-1, 0.0, 0, true, false};
    if (job->n == 0) { return TESS_SUCCESS; }
    for (factor_report &each : report) {
        each = {ULLONG_MAX, 0, ULLONG_MAX, 0};
    }
    TESS_TRY(tess_device_allocate(ctx, flags, sizeof *task.done, reinterpret_cast<void **>(&task.done)));
    TESS_TRY(tess_device_allocate(ctx, TESS_MAX_ATTEMPTS, sizeof *report, reinterpret_cast<void **>(&task.report)));
    TESS_TRY(ctx->backend->zero(ctx, task.done, static_cast<size_t>(flags) * sizeof *task.done));
    TESS_TRY(ctx->backend->upload(ctx, task.report, report, sizeof report));
    TESS_TRY(launch_factor(ctx, task));
    TESS_TRY(ctx->backend->download(ctx, report, task.report, sizeof report));
    while (k + 1 < job->attempts && report[k].bad_row != ULLONG_MAX) {
        k += 1;
    }
    out->attempt = k;
    out->finite = report[k].not_finite == ULLONG_MAX;
    out->bad_row = static_cast<int64_t>(out->finite ? report[k].bad_row : report[k].not_finite); /* ULLONG_MAX: -1 */
    memcpy(&out->largest, &report[k].largest, sizeof out->largest);
cleanup:
    tess_device_release(ctx, task.done, flags, sizeof *task.done);
    tess_device_release(ctx, task.report, TESS_MAX_ATTEMPTS, sizeof *report);
    return status;
}

extern "C" const incomplete_ops *incomplete_gpu_ops(void)
{
    static const incomplete_ops table = {factor, incomplete_split_on_gpu, fill_rounds_on_gpu, fill_spread_on_gpu};

    return &table;
}
