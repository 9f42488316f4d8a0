/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors by sweeps on the host. */
#include "base/deadline.h"
#include "device/host/host.h"
#include "precond/incomplete/incomplete.h"
#include "precond/incomplete/incomplete_swept.h"

/* The first row that is bad and the first that is not finite, INT64_MAX: none; magnitudes of the factors. */
typedef struct swept_report {
    int64_t bad_row, not_finite;
    double largest;
} swept_report;

static void start_row(const swept_task *t, int64_t i)
{
    const swept_row r = swept_open_row(t, i);

    for (int64_t k = r.begin; k < r.end; k++) {
        t->to.w[k] = swept_entry(t, &r, k);
    }
    t->to.inverse[i] = 1.0 / t->to.w[r.diagonal];
}

static void sweep_row(const swept_task *t, int64_t i)
{
    const swept_row r = swept_open_row(t, i);

    for (int64_t k = r.begin; k < r.end; k++) {
        t->to.w[k] = swept_next(t, &r, k);
    }
    t->to.inverse[i] = 1.0 / t->to.w[r.diagonal];
}

static void run(const swept_task *t, void (*of_row)(const swept_task *t, int64_t i), int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && t->v.nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < t->job.n; i++) {
        of_row(t, i);
    }
}

/* Judges the pivot, and divides by pivots in place: other rows read their inverses alone. */
static void finish_row(const swept_task *t, int64_t i, swept_report *report)
{
    const swept_row r = swept_open_row(t, i);
    const double sum = swept_size(t, &r);

    if (!(sum <= DBL_MAX) && i < report->not_finite) { report->not_finite = i; }
    if (!incomplete_accepts(&t->job, t->from.w[r.diagonal], swept_entry(t, &r, r.diagonal), sum) &&
        i < report->bad_row) {
        report->bad_row = i;
    }
    for (int64_t k = r.begin; k < r.end; k++) {
        if (k == r.diagonal) { continue; }
        const double value = swept_factor(t, &r, k);

        t->from.w[k] = value;
        if (!(fabs(value) <= DBL_MAX) && i < report->bad_row) { report->bad_row = i; }
        if (fabs(value) > report->largest) { report->largest = fabs(value); }
    }
}

static tess_incomplete_outcome finish(const swept_task *t, int threads)
{
    int64_t bad_row = INT64_MAX, not_finite = INT64_MAX;
    double largest = 0.0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(max        \
                                                                         : largest) \
    reduction(min                                                                   \
              : bad_row, not_finite) if (threads > 1 && t->v.nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < t->job.n; i++) {
        swept_report report = {bad_row, not_finite, largest};

        finish_row(t, i, &report);
        bad_row = report.bad_row;
        not_finite = report.not_finite;
        largest = report.largest;
    }
    for (int64_t i = 0; t->job.negative && i < t->job.n; i++) {
        t->from.inverse[i] = -t->from.inverse[i];
    }
    const bool finite = not_finite == INT64_MAX;
    const int64_t bad = finite ? bad_row : not_finite;

    return (tess_incomplete_outcome){
        .bad_row = bad == INT64_MAX ? -1 : bad, .largest = largest, .attempt = 0, .finite = finite};
}

/* The last sweep writes to the arrays of the job. */
tess_status incomplete_sweep_on_host(const tess_matrix *assembled, const tess_incomplete_job *job,
                                     tess_incomplete_outcome *out)
{
    tess_context *ctx = assembled->ctx;
    swept_arrays arrays[2] = {{job->lu, job->inverse}, {NULL, NULL}};
    swept_task t = {.job = *job, .v = csr_of(assembled)->view};
    const int64_t nnz = t.v.nnz;
    int now = job->sweeps % 2;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *arrays[1].w, (void **)&arrays[1].w));
    TESS_TRY(tess_host_allocate(ctx, job->n, sizeof *arrays[1].inverse, (void **)&arrays[1].inverse));
    t.to = arrays[now];
    run(&t, start_row, ctx->threads);
    for (int s = 0; s < job->sweeps; s++) {
        TESS_TRY(tess_deadline_check(ctx, "incomplete factors"));
        t.from = arrays[now];
        now = 1 - now;
        t.to = arrays[now];
        run(&t, sweep_row, ctx->threads);
    }
    t.from = arrays[0];
    *out = finish(&t, ctx->threads);
cleanup:
    tess_host_release(ctx, arrays[1].w, nnz, sizeof *arrays[1].w);
    tess_host_release(ctx, arrays[1].inverse, job->n, sizeof *arrays[1].inverse);
    return status;
}
