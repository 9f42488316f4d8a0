/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors on the host: level set by level set of L, each row by one thread in the order of its columns; or
   several attempts side by side, each by one thread. */
#include "base/deadline.h"
#include "device/host/host.h"
#include "format/csr/csr_host.h"
#include "precond/incomplete/fill_rounds.h"
#include "precond/incomplete/incomplete.h"
#include "precond/incomplete/incomplete_rows.h"
#include "triangular/leaf.h"

typedef struct factor_task {
    const tess_incomplete_job *job;
    const csr_view *v;
} factor_task;

/* The results of a thread: the first row without a usable pivot and the first that is not finite; INT64_MAX: none. */
typedef struct factor_report {
    int64_t bad_row, not_finite;
} factor_report;

/* Copies the row's entries up to `end`; returns the sum of their magnitudes. */
static double open_row(const factor_task *task, int64_t begin, int64_t end)
{
    const double *val = task->v->val;
    double sum = 0.0;

    for (int64_t k = begin; k < end; k++) {
        task->job->lu[k] = incomplete_entry(task->job, val[k]);
        sum += fabs(val[k]);
    }
    return sum;
}

/* Subtracts l times the upper part of row j from the row's entries at..end - 1, in the pattern of the row. */
static void subtract_row(const factor_task *task, double l, int64_t j, int64_t at, int64_t end)
{
    const int32_t *col = task->v->col_ind;
    double *lu = task->job->lu;
    const int64_t last = csr_offset(task->v, j + 1);

    for (int64_t e = task->job->diagonal[j] + 1; e < last; e++) {
        at = incomplete_advance(col, at, end, col[e]);
        if (at == end) { return; }
        if (col[at] == col[e]) { lu[at] -= l * lu[e]; }
    }
}

/* Saad, Algorithm 10.4, lines 3 to 8 for row i. Returns the pivot. */
static double eliminate_row(const factor_task *task, int64_t i, int64_t begin, int64_t end)
{
    const tess_incomplete_job *job = task->job;

    for (int64_t k = begin; k < job->diagonal[i]; k++) {
        const int32_t j = task->v->col_ind[k];

        job->lu[k] *= job->inverse[j];
        subtract_row(task, job->lu[k], j, k + 1, end);
    }
    return job->lu[job->diagonal[i]];
}

/* The product of entries a..a_end - 1 and b..b_end - 1 of two rows over their common columns, in ascending order. */
static double multiply_rows(const factor_task *task, int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
    const int32_t *col = task->v->col_ind;
    const double *lu = task->job->lu;
    double sum = 0.0;

    if (a_end - a > b_end - b) { return multiply_rows(task, b, b_end, a, a_end); } /* the shorter one is traversed */
    for (; a < a_end; a++) {
        b = incomplete_advance(col, b, b_end, col[a]);
        if (b == b_end) { break; }
        if (col[b] == col[a]) { sum += lu[a] * lu[b]; }
    }
    return sum;
}

/* l_ij = (a_ij - sum_k l_ik l_jk) / l_jj, k < j; returns a_ii - sum_k l_ik^2. */
static double eliminate_symmetric_row(const factor_task *task, int64_t i, int64_t begin)
{
    const tess_incomplete_job *job = task->job;
    const int64_t diagonal = job->diagonal[i];
    double pivot = job->lu[diagonal];

    for (int64_t k = begin; k < diagonal; k++) {
        const int32_t j = task->v->col_ind[k];
        const double sum = multiply_rows(task, begin, k, csr_offset(task->v, j), job->diagonal[j]);

        job->lu[k] = (job->lu[k] - sum) * job->inverse[j];
        pivot -= job->lu[k] * job->lu[k];
    }
    return pivot;
}

static void factor_row(const factor_task *task, int64_t i, factor_report *report)
{
    const tess_incomplete_job *job = task->job;
    const int64_t begin = csr_offset(task->v, i), diagonal = job->diagonal[i];
    const int64_t end = job->cholesky ? diagonal + 1 : csr_offset(task->v, i + 1);
    const double sum = open_row(task, begin, end), shifted = incomplete_diagonal(job, job->lu[diagonal], sum);
    double pivot = 0.0;

    job->lu[diagonal] = shifted;
    pivot = job->cholesky ? eliminate_symmetric_row(task, i, begin) : eliminate_row(task, i, begin, end);
    if (!(sum <= DBL_MAX) && i < report->not_finite) { report->not_finite = i; }
    if (!incomplete_accepts(job, pivot, shifted, sum) && i < report->bad_row) { report->bad_row = i; }
    job->inverse[i] = 1.0 / (job->cholesky ? sqrt(pivot) : pivot);
}

/* Only checks whether the row is finite. */
static void look_at_row(const factor_task *task, int64_t i, factor_report *report)
{
    const double *val = task->v->val;
    const int64_t end = task->job->cholesky ? task->job->diagonal[i] + 1 : csr_offset(task->v, i + 1);
    double sum = 0.0;

    for (int64_t k = csr_offset(task->v, i); k < end; k++) {
        sum += fabs(val[k]);
    }
    if (!(sum <= DBL_MAX) && i < report->not_finite) { report->not_finite = i; }
}

/* The row's entries of L and U with ones on the diagonals. Returns the largest magnitude, Inf if one is not finite. */
static double normalise_row(const factor_task *task, int64_t i)
{
    const tess_incomplete_job *job = task->job;
    const int64_t diagonal = job->diagonal[i];
    const int64_t end = job->cholesky ? diagonal : csr_offset(task->v, i + 1);
    double largest = 0.0;

    for (int64_t k = csr_offset(task->v, i); k < end; k++) {
        if (k == diagonal) { continue; }
        if (job->cholesky) { job->lu[k] *= job->inverse[task->v->col_ind[k]]; }
        if (k > diagonal) { job->lu[k] *= job->inverse[i]; }
        if (!(fabs(job->lu[k]) <= largest)) { largest = fabs(job->lu[k]); }
        if (!(largest <= DBL_MAX)) { return (double)INFINITY; }
    }
    return largest;
}

static void normalise(const factor_task *task, int threads, tess_incomplete_outcome *out)
{
    const tess_incomplete_job *job = task->job;
    int64_t bad_row = out->bad_row;
    double most = 0.0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(max     \
                                                                         : most) \
    reduction(min                                                                \
              : bad_row) if (threads > 1 && task->v->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < job->n; i++) {
        const double largest = normalise_row(task, i);

        if (!(largest <= DBL_MAX) && i < bad_row) { bad_row = i; }
        if (largest > most) { most = largest; }
    }
    for (int64_t i = 0; job->cholesky && i < job->n; i++) {
        job->inverse[i] *= incomplete_entry(job, job->inverse[i]); /* D = diag(l_ii^2), or its negative */
    }
    out->largest = most;
    out->bad_row = bad_row;
}

/* The rows of a run. After a bad row, a job with a retry only checks whether the other rows are finite. */
static void factor_run(const factor_task *task, level_run run, int threads, factor_report *all)
{
    const tess_incomplete_job *job = task->job;
    int64_t bad_row = all->bad_row, not_finite = all->not_finite;

#pragma omp parallel for num_threads(threads) schedule(static) \
    reduction(min                                              \
              : bad_row, not_finite) if (threads > 1 && run.shared)
    for (int64_t p = run.begin; p < run.end; p++) {
        const int64_t row = job->order ? job->order[p] : p;
        factor_report report = {bad_row, not_finite};

        if (tess_deadline_passed(job->ctx)) { continue; } /* the caller finds it too */
        if (job->has_retry && (all->bad_row < INT64_MAX || bad_row < INT64_MAX)) {
            look_at_row(task, row, &report);
        } else {
            factor_row(task, row, &report);
        }
        bad_row = report.bad_row;
        not_finite = report.not_finite;
    }
    *all = (factor_report){bad_row, not_finite};
}

static tess_incomplete_outcome attempt(const csr_view *v, const tess_incomplete_job *job, int threads)
{
    const factor_task task = {job, v};
    factor_report report = {INT64_MAX, INT64_MAX};
    tess_incomplete_outcome out;

    for (int64_t r = 0; r < job->nruns; r++) {
        factor_run(&task, job->runs[r], threads, &report);
    }
    out = (tess_incomplete_outcome){.bad_row = report.bad_row, .finite = report.not_finite == INT64_MAX};
    if (!job->has_retry || out.bad_row == INT64_MAX) { normalise(&task, threads, &out); }
    if (out.bad_row == INT64_MAX) { out.bad_row = -1; }
    if (!out.finite) { out.bad_row = report.not_finite; }
    return out;
}

/* The data of attempt k. */
static tess_incomplete_job job_of(const tess_incomplete_job *all, int64_t nnz, int k)
{
    tess_incomplete_job job = *all;

    job.attempts = 1;
    job.shift = ldexp(all->shift, k);
    job.has_retry = all->has_retry || k + 1 < all->attempts;
    job.lu += k * nnz;
    job.inverse += k * all->n;
    return job;
}

void incomplete_factor_on_host(const csr_view *v, const tess_incomplete_job *job, int threads,
                               tess_incomplete_outcome *out)
{
    tess_incomplete_outcome each[TESS_MAX_ATTEMPTS];
    int good = job->attempts; /* the first attempt that is known to succeed */

    if (job->attempts == 1) {
        *out = attempt(v, job, threads);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int k = 0; k < job->attempts; k++) {
        const tess_incomplete_job own = job_of(job, v->nnz, k);
        bool moot = false;

#pragma omp critical(tess_incomplete_attempts)
        moot = good < k;
        if (moot) { continue; }
        each[k] = attempt(v, &own, 1);
#pragma omp critical(tess_incomplete_attempts)
        if (each[k].bad_row < 0 && k < good) { good = k; }
    }
    if (good == job->attempts) { good -= 1; }
    *out = each[good];
    out->attempt = good;
}

static tess_status factor(const tess_matrix *assembled, const tess_incomplete_job *job, tess_incomplete_outcome *out)
{
    if (job->sweeps > 0) { return incomplete_sweep_on_host(assembled, job, out); }
    incomplete_factor_on_host(&csr_of(assembled)->view, job, assembled->ctx->threads, out);
    return TESS_SUCCESS;
}

const incomplete_ops incomplete_host_ops = {factor, NULL, fill_rounds_on_host, fill_spread_on_host};
