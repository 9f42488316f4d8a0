/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors by sweeps on the host. */
#include <string.h>

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

static void sweep_symmetric_row(const swept_task *t, int64_t i)
{
    const swept_row r = swept_open_row(t, i);

    for (int64_t k = r.begin; k < r.end; k++) {
        t->to.w[k] = swept_next(t, &r, k);
    }
    t->to.inverse[i] = 1.0 / t->to.w[r.diagonal];
}

/* All entries at once: swept_next's sums, term by term in its order. place[j]: the number from 1 of column j in the
   row, 0: it has none; zeros before and after. */
static void sweep_row(const swept_task *t, int64_t i, int32_t *place)
{
    const swept_row r = swept_open_row(t, i);
    const int32_t *col = t->v.col_ind;
    double *w = t->to.w + r.begin - 1;

    for (int64_t k = r.begin; k < r.end; k++) {
        place[col[k]] = (int32_t)(k - r.begin) + 1;
        t->to.w[k] = swept_entry(t, &r, k);
    }
    for (int64_t e = r.begin; e < r.diagonal; e++) {
        const double factor = -(t->from.w[e] * t->from.inverse[col[e]]);
        const int64_t end = csr_offset(&t->v, col[e] + 1);

        for (int64_t other = t->job.diagonal[col[e]] + 1; other < end; other++) {
            const int32_t at = place[col[other]];

            if (at > 0) { w[at] = fma(factor, t->from.w[other], w[at]); }
        }
    }
    for (int64_t k = r.begin; k < r.end; k++) {
        place[col[k]] = 0;
    }
    t->to.inverse[i] = 1.0 / t->to.w[r.diagonal];
}

static bool is_shared(const swept_task *t, int threads)
{
    return threads > 1 && t->v.nnz > HOST_SERIAL_WORK;
}

static void start(const swept_task *t, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (is_shared(t, threads))
    for (int64_t i = 0; i < t->job.n; i++) {
        start_row(t, i);
    }
}

/* places: n zeros for each thread. Rows that come after the deadline stay: the caller looks. */
static void sweep(const swept_task *t, int32_t *places, int threads)
{
    const int shared = is_shared(t, threads) ? threads : 1;

#pragma omp parallel for num_threads(shared) schedule(static, 1) if (shared > 1)
    for (int thread = 0; thread < shared; thread++) {
        for (int64_t i = t->job.n * thread / shared; i < t->job.n * (thread + 1) / shared; i++) {
            if (tess_deadline_passed(t->job.ctx)) { break; }
            if (t->job.cholesky) {
                sweep_symmetric_row(t, i);
            } else {
                sweep_row(t, i, places + thread * t->job.n);
            }
        }
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
    const int64_t nnz = t.v.nnz, places = job->cholesky ? 0 : job->n * ctx->threads;
    int32_t *place = NULL;
    int now = job->sweeps % 2;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *arrays[1].w, (void **)&arrays[1].w));
    TESS_TRY(tess_host_allocate(ctx, job->n, sizeof *arrays[1].inverse, (void **)&arrays[1].inverse));
    TESS_TRY(tess_host_allocate(ctx, places, sizeof *place, (void **)&place));
    if (places > 0) { memset(place, 0, (size_t)places * sizeof *place); }
    t.to = arrays[now];
    start(&t, ctx->threads);
    for (int s = 0; s < job->sweeps; s++) {
        TESS_TRY(tess_deadline_check(ctx, "incomplete factors"));
        t.from = arrays[now];
        now = 1 - now;
        t.to = arrays[now];
        sweep(&t, place, ctx->threads);
    }
    TESS_TRY(tess_deadline_check(ctx, "incomplete factors"));
    t.from = arrays[0];
    *out = finish(&t, ctx->threads);
cleanup:
    tess_host_release(ctx, place, places, sizeof *place);
    tess_host_release(ctx, arrays[1].w, nnz, sizeof *arrays[1].w);
    tess_host_release(ctx, arrays[1].inverse, job->n, sizeof *arrays[1].inverse);
    return status;
}
