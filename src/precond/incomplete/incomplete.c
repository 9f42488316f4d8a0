/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors: shifts, application. */
#include <math.h>
#include <string.h>

#include <tessera/codec.h>

#include "base/deadline.h"
#include "base/stages.h"
#include "precond/incomplete/incomplete_parts.h"
#include "precond/incomplete/incomplete_rows.h"
#include "precond/precond.h"
#include "triangular/leaf.h"

/* Attempts that are made at once. */
#define ATTEMPT_BYTES (INT64_C(256) << 20)
/* ---- numbers ---- */

static const char *name_of(const tess_incomplete *m)
{
    switch (m->kind) {
    case TESS_PRECOND_IC0: return "IC(0)";
    case TESS_PRECOND_ILUT: return "ILUT";
    case TESS_PRECOND_ICT: return "ICT";
    case TESS_PRECOND_ILUK: return "ILU(k)";
    default: return "ILU(0)";
    }
}

/* Space for the attempts that are made at once, in the memory that computes the factors. D^-1 of a single attempt goes
   to its final place. */
typedef struct attempt_workspace {
    int attempts;
    double *lu, *inverse; /* inverse: NULL for one attempt of the device */
    double *val;          /* of the host: the matrix's values */
} attempt_workspace;

static tess_status allocate_workspace(const tess_incomplete *m, int64_t count, double **out)
{
    return m->by_host ? tess_host_allocate(m->ctx, count, sizeof **out, (void **)out)
                      : tess_device_allocate(m->ctx, count, sizeof **out, (void **)out);
}

static void release_values(const tess_incomplete *m, double *values, int64_t count)
{
    if (m->by_host) {
        tess_host_release(m->ctx, values, count, sizeof *values);
    } else {
        tess_device_release(m->ctx, values, count, sizeof *values);
    }
}

static void release_attempts(const tess_incomplete *m, attempt_workspace *workspace)
{
    release_values(m, workspace->lu, workspace->attempts * m->nnz);
    release_values(m, workspace->inverse, workspace->attempts * m->n);
    workspace->attempts = 0;
    workspace->lu = NULL;
    workspace->inverse = NULL;
}

static void release_workspace(const tess_incomplete *m, attempt_workspace *workspace)
{
    release_attempts(m, workspace);
    release_values(m, workspace->val, m->nnz);
    workspace->val = NULL;
}

static tess_status make_workspace(const tess_incomplete *m, int attempts, attempt_workspace *workspace)
{
    tess_status status = TESS_SUCCESS;

    release_attempts(m, workspace);
    workspace->attempts = attempts;
    TESS_TRY(allocate_workspace(m, attempts * m->nnz, &workspace->lu));
    if (attempts > 1 || m->by_host) { status = allocate_workspace(m, attempts * m->n, &workspace->inverse); }
cleanup:
    return status;
}

/* Tries a smaller number of attempts if there is no space for as many. */
static tess_status make_some_workspace(const tess_incomplete *m, int *attempts, attempt_workspace *workspace)
{
    tess_status status = make_workspace(m, *attempts, workspace);

    if ((status == TESS_OUT_OF_DEVICE_MEMORY || status == TESS_OUT_OF_MEMORY) && *attempts > 1) {
        *attempts = 1;
        status = make_workspace(m, 1, workspace);
    }
    return status;
}

/* A GPU makes several attempts in the time of one if they are small; threads of the host make one each. */
static int attempts_at_once(const tess_incomplete *m)
{
    const int64_t bytes = (m->nnz + 2 * m->n) * (int64_t)sizeof(double), workspace = ATTEMPT_BYTES / (bytes + 1);
    const int64_t most = m->by_host && m->ctx->threads < workspace ? m->ctx->threads : workspace;

    if ((m->ctx->device == TESS_DEVICE_CPU && !m->by_host) || m->sweeps > 0 || most < 1) { return 1; }
    return most < TESS_MAX_ATTEMPTS ? (int)most : TESS_MAX_ATTEMPTS;
}

static tess_status attempt(const tess_incomplete *m, const attempt_workspace *workspace, const tess_incomplete_job *job,
                           tess_incomplete_outcome *outcome)
{
    const csr_view v = {.nrows = m->n,
                        .ncols = m->n,
                        .nnz = m->nnz,
                        .row_ptr = m->pattern.row_ptr,
                        .col_ind = m->pattern.col_ind,
                        .val = workspace->val,
                        .row_ptr_bits = 64,
                        .precision = TESS_PRECISION_FP64};

    tess_status status = TESS_SUCCESS;

    if (!m->by_host) { return incomplete_ops_of(m->ctx)->factor(m->matrix, job, outcome); }
    incomplete_factor_on_host(&v, job, m->ctx->threads, outcome);
    TESS_TRY(tess_deadline_check(m->ctx, tess_precond_kind_name(m->kind)));
    status = tess_stage_end(m->ctx, "incomplete factors on the host");
cleanup:
    return status;
}

/* The first attempt. */
static tess_incomplete_job first_job(const tess_incomplete *m, const level_run *all)
{
    return (tess_incomplete_job){.n = m->n,
                                 .cholesky = m->cholesky,
                                 .attempts = 1,
                                 .ctx = m->ctx,
                                 .sweeps = m->sweeps,
                                 .diagonal = m->by_host ? m->pattern.diagonal : m->diagonal,
                                 .order = m->order,
                                 .runs = m->by_host ? all : m->schedule.runs,
                                 .nruns = m->by_host ? 1 : m->schedule.nruns};
}

/* Copies D^-1 of the successful attempt to its final place. */
static tess_status take_inverse(const tess_incomplete *m, const attempt_workspace *workspace, int k)
{
    const tess_backend *backend = m->ctx->backend;
    const double *inverse = workspace->inverse + k * m->n;
    const size_t bytes = (size_t)m->n * sizeof *inverse;

    return m->by_host ? backend->upload(m->ctx, m->inverse, inverse, bytes)
                      : backend->copy(m->ctx, m->inverse, inverse, bytes);
}

/* Whether all of the diagonal is negative, as that of a negative definite matrix is. work[0] is free. */
static tess_status find_negative(const tess_incomplete *m, bool *negative)
{
    double *diagonal = NULL;
    tess_status status = TESS_SUCCESS;

    *negative = m->cholesky && m->n > 0;
    if (!*negative) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(tess_matrix_raw_diagonal(m->matrix, m->work[0]));
    TESS_TRY(m->ctx->backend->download(m->ctx, diagonal, m->work[0], (size_t)m->n * sizeof *diagonal));
    for (int64_t i = 0; i < m->n && *negative; i++) {
        *negative = diagonal[i] < 0.0;
    }
cleanup:
    tess_host_release(m->ctx, diagonal, m->n, sizeof *diagonal);
    return status;
}

/* The next shifts, as many as fit at once; the first is none. */
static tess_status next_job(tess_incomplete *m, attempt_workspace *workspace, int tried, tess_incomplete_job *job)
{
    tess_status status = TESS_SUCCESS;

    if (tried > 0) {
        const int most = attempts_at_once(m), left = INCOMPLETE_SHIFTS + 1 - tried;

        job->shift = ldexp(INCOMPLETE_FIRST_SHIFT, tried - 1);
        job->attempts = left < most ? left : most;
    }
    if (workspace->attempts != job->attempts) { TESS_TRY(make_some_workspace(m, &job->attempts, workspace)); }
    job->has_retry = tried + job->attempts <= INCOMPLETE_SHIFTS;
    job->lu = workspace->lu;
    job->inverse = workspace->inverse ? workspace->inverse : m->inverse;
cleanup:
    return status;
}

/* Where the first attempt of IC failed and the diagonal is negative: another one with -A. */
static tess_status try_negative(const tess_incomplete *m, attempt_workspace *workspace, tess_incomplete_job *job,
                                tess_incomplete_outcome *outcome)
{
    tess_status status = TESS_SUCCESS;

    if (outcome->bad_row < 0 || !outcome->finite) { return TESS_SUCCESS; }
    TESS_TRY(find_negative(m, &job->negative));
    if (job->negative) { status = attempt(m, workspace, job, outcome); }
cleanup:
    return status;
}

static bool are_zero(const double *val, int64_t count)
{
    bool zero = true;

    for (int64_t k = 0; k < count; k++) {
        zero = zero && val[k] == 0.0;
    }
    return zero;
}

/* Where entries of the row begin and end in arrays of the context's device. */
static tess_status download_bounds(const tess_incomplete *m, const csr_view *v, int64_t row, int64_t bounds[2])
{
    const size_t width = (size_t)v->row_ptr_bits / 8;
    int32_t narrow[2] = {0};
    void *const to = v->row_ptr_bits == 32 ? (void *)narrow : (void *)bounds;
    const tess_status status =
        m->ctx->backend->download(m->ctx, to, (const char *)v->row_ptr + (size_t)row * width, 2 * width);

    for (int k = 0; k < 2 && v->row_ptr_bits == 32; k++) {
        bounds[k] = narrow[k];
    }
    return status;
}

/* Whether the row that failed has no entry but zeros: no shift mends it. */
static tess_status row_is_zero(const tess_incomplete *m, const attempt_workspace *workspace, int64_t row, bool *zero)
{
    csr_view v;
    int64_t bounds[2] = {0}, count = 0;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    if (m->by_host) {
        const int64_t *row_ptr = m->pattern.row_ptr;

        *zero = are_zero(workspace->val + row_ptr[row], row_ptr[row + 1] - row_ptr[row]);
        return TESS_SUCCESS;
    }
    v = csr_of(m->matrix)->view;
    TESS_TRY(download_bounds(m, &v, row, bounds));
    count = bounds[1] - bounds[0];
    TESS_TRY(tess_host_allocate(m->ctx, count, sizeof *val, (void **)&val));
    TESS_TRY(m->ctx->backend->download(m->ctx, val, (const double *)v.val + bounds[0], (size_t)count * sizeof *val));
    *zero = are_zero(val, count);
cleanup:
    tess_host_release(m->ctx, val, count, sizeof *val);
    return status;
}

/* Shift number `tried`, and those that fit beside it; number 0 is none, and of IC also with -A where its diagonal is
   negative. *ended: it succeeded, or no shift can. */
static tess_status try_shift(tess_incomplete *m, attempt_workspace *workspace, int tried, tess_incomplete_job *job,
                             tess_incomplete_outcome *outcome, bool *ended)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(m->ctx, tess_precond_kind_name(m->kind)));
    TESS_TRY(next_job(m, workspace, tried, job));
    TESS_TRY(attempt(m, workspace, job, outcome));
    if (tried == 0) { TESS_TRY(try_negative(m, workspace, job, outcome)); }
    m->shift = ldexp(job->shift, outcome->attempt);
    *ended = outcome->bad_row < 0 || !outcome->finite;
    outcome->empty = false;
    if (*ended) { goto cleanup; }
    TESS_TRY(row_is_zero(m, workspace, outcome->bad_row, &outcome->empty));
    *ended = outcome->empty;
cleanup:
    return status;
}

/* Sweeps take as long where they fail as where they do not: the largest shift, then the least by bisection. */
static tess_status bisect_shifts(tess_incomplete *m, attempt_workspace *workspace, tess_incomplete_job *job,
                                 tess_incomplete_outcome *outcome)
{
    int low = 0, high = INCOMPLETE_SHIFTS, last = high;
    bool ended = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(try_shift(m, workspace, high, job, outcome, &ended));
    while (outcome->finite && ended && outcome->bad_row < 0 && high - low > 1) {
        last = (low + high) / 2;
        TESS_TRY(try_shift(m, workspace, last, job, outcome, &ended));
        if (outcome->bad_row < 0) {
            high = last;
        } else {
            low = last;
            outcome->bad_row = -1; /* a larger one is known to succeed */
            ended = true;
        }
    }
    if (ended && last != high) { status = try_shift(m, workspace, high, job, outcome, &ended); }
cleanup:
    return status;
}

/* Tries no shift, then one after another. The last outcome is in `outcome`, its factors in *lu, which is in the
   workspace. */
static tess_status factor(tess_incomplete *m, attempt_workspace *workspace, double **lu,
                          tess_incomplete_outcome *outcome)
{
    const level_run all = {0, m->n, false};
    tess_incomplete_job job = first_job(m, &all);
    bool ended = false;
    tess_status status = TESS_SUCCESS;

    for (int tried = 0; tried <= INCOMPLETE_SHIFTS && !ended; tried += job.attempts) {
        TESS_TRY(try_shift(m, workspace, tried, &job, outcome, &ended));
        if (m->sweeps == 0 || ended) { continue; }
        TESS_TRY(bisect_shifts(m, workspace, &job, outcome));
        ended = true;
    }
    *lu = workspace->lu + outcome->attempt * m->nnz;
    if (workspace->inverse && outcome->bad_row < 0) { status = take_inverse(m, workspace, outcome->attempt); }
cleanup:
    return status;
}

/* The number of a row of the matrix that is factored. */
static long long number_of(const tess_incomplete *m, int64_t row)
{
    return tess_number(m->ctx, m->colors.row ? m->colors.row[row] : row);
}

static tess_status judge(const tess_incomplete *m, const tess_incomplete_outcome *outcome)
{
    uint64_t stored = 0;

    if (outcome->bad_row >= 0 && !outcome->finite) {
        return tess_fail(m->ctx, TESS_SINGULAR, "remove NaN and Inf from the matrix",
                         "%s: the matrix has NaN or Inf, first seen in row %lld", name_of(m),
                         number_of(m, outcome->bad_row));
    }
    if (outcome->bad_row >= 0 && outcome->empty && m->filled) {
        return tess_fail(m->ctx, TESS_SINGULAR, "lower the threshold, choose lu, or try --scale max-product",
                         "%s: row %lld keeps no entries but zeros", name_of(m), number_of(m, outcome->bad_row));
    }
    if (outcome->bad_row >= 0 && outcome->empty) {
        return tess_fail(m->ctx, TESS_SINGULAR, "remove the row and its unknown, or choose lu, which sets it aside",
                         "%s: row %lld has no entries but zeros: the matrix is singular", name_of(m),
                         number_of(m, outcome->bad_row));
    }
    if (outcome->bad_row >= 0) {
        return tess_fail(m->ctx, TESS_SINGULAR, "choose another preconditioner, or try --scale max-product",
                         "%s: row %lld has no usable pivot, even with the diagonal shifted by %g times itself",
                         name_of(m), number_of(m, outcome->bad_row), m->shift);
    }
    tess_store(m->storage, &stored, 0, outcome->largest, TESS_OVERFLOW_INFINITY);
    if (!isfinite(tess_load(m->storage, &stored, 0))) {
        return tess_fail(m->ctx, TESS_OUT_OF_RANGE, "choose --precond-precision fp64, or try --scale",
                         "%s: an entry of the factors has the magnitude %g, which does not fit %s", name_of(m),
                         outcome->largest, tess_precision_name(m->storage));
    }
    return TESS_SUCCESS;
}

/* Whether a recorded application may be out of date: square blocks may move each time. */
static bool has_moved(tess_incomplete *m)
{
    const triangle_facts lower = triangle_describe(m->lower), upper = triangle_describe(m->upper);
    const uint64_t moves = lower.moves + upper.moves, before = m->moves;

    m->moves = moves;
    return moves != before || lower.squares + upper.squares > 0;
}

tess_status incomplete_renew(tess_incomplete *m)
{
    tess_context *ctx = m->ctx;
    tess_incomplete_outcome outcome = {.bad_row = -1, .finite = true};
    attempt_workspace workspace = {0};
    triangle_values values = {.count = m->nnz};
    double *lu = NULL;
    tess_status status = TESS_SUCCESS;

    m->usable = false;
    if (m->missing_row >= 0) {
        return tess_fail(ctx, TESS_SINGULAR, "store it, even if it is zero, or use --scale max-product",
                         "%s: the diagonal entry of row %lld is missing", name_of(m), number_of(m, m->missing_row));
    }
    if (m->colors.matrix) { TESS_TRY(incomplete_colors_renew(m->given, &m->colors)); }
    if (m->filled) { TESS_TRY(incomplete_filled_renew(m->colors.matrix ? m->colors.matrix : m->given, m->filled)); }
    if (m->by_host) {
        TESS_TRY(allocate_workspace(m, m->nnz, &workspace.val));
        TESS_TRY(m->matrix->ops->decode(m->matrix, NULL, NULL, workspace.val));
    }
    TESS_TRY(factor(m, &workspace, &lu, &outcome));
    TESS_TRY(judge(m, &outcome));
    values.host = m->by_host || ctx->device == TESS_DEVICE_CPU ? lu : NULL;
    values.device = m->by_host ? NULL : lu;
    TESS_TRY(triangle_fill(m->lower, &values));
    TESS_TRY(triangle_fill(m->upper, &values));
    m->usable = true;
    if (has_moved(m)) { m->revision += 1; }
    if (m->shift > 0.0) {
        tess_log(ctx, TESS_LOG_INFO, "%s: the diagonal is shifted by %g times itself", name_of(m), m->shift);
    }
cleanup:
    triangle_values_release(ctx, &values);
    release_workspace(m, &workspace);
    return status;
}

/* ---- application ---- */

static tess_status convert(const tess_incomplete *m, tess_operand from, tess_precision to, void *out,
                           tess_loop_state *state)
{
    const tess_fused op = {
        .op = TESS_FUSED_SCALE, .n = m->n, .x = from, .y = {out, to}, .result = out, .a = 1.0, .state = state};

    return m->ctx->backend->fused(m->ctx, &op);
}

/* The same by colors: `ordered` has n values of each column. b may be y. */
static tess_status solve_by_colors(const tess_incomplete *m, int columns, const double *b, double *y, double *ordered,
                                   double *z, tess_loop_state *state)
{
    const triangle_ops *ops = triangle_ops_of(m->ctx);
    const triangle_args from = {.b = b, .state = state, .columns = columns};
    const triangle_args lower = {
        .b = ordered, .x = y, .scale = m->inverse, .scaled = z, .state = state, .columns = columns};
    const triangle_args upper = {.b = z, .x = ordered, .state = state, .columns = columns};
    const triangle_args to = {.x = z, .state = state, .columns = columns};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ops->take(m->ctx, m->n, m->colors.order, &from, ordered));
    TESS_TRY(triangle_solve(m->lower, lower));
    TESS_TRY(triangle_solve(m->upper, upper));
    status = ops->give(m->ctx, m->n, m->colors.order, ordered, &to);
cleanup:
    return status;
}

/* y = L^-1 b; z = U^-1 D^-1 y. b may be y. */
static tess_status solve(const tess_incomplete *m, int columns, const double *b, double *y, double *z,
                         tess_loop_state *state)
{
    const triangle_args lower = {.b = b, .x = y, .scale = m->inverse, .scaled = z, .state = state, .columns = columns};
    tess_status status = TESS_SUCCESS;

    if (m->colors.matrix) {
        double *const ordered = columns > 1 ? m->columns_work + m->n * columns : m->colors.work;

        return solve_by_colors(m, columns, b, y, ordered, z, state);
    }
    status = triangle_solve(m->lower, lower);
    if (status != TESS_SUCCESS) { return status; }
    return triangle_solve(m->upper, (triangle_args){.b = z, .x = z, .state = state, .columns = columns});
}

static tess_status require_usable(const tess_incomplete *m)
{
    if (m->usable) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_SINGULAR, "renew the preconditioner with values that have factors",
                     "the preconditioner cannot be applied, because its factorization failed");
}

tess_status incomplete_apply(const tess_incomplete *m, tess_precision vectors, const void *r, void *z,
                             tess_loop_state *state)
{
    double *y = m->work[0], *wide = m->work[1];
    tess_status status = TESS_SUCCESS;

    if (m->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(require_usable(m));
    if (vectors == TESS_PRECISION_FP64) { return solve(m, 1, r, y, z, state); }
    TESS_TRY(convert(m, (tess_operand){r, vectors}, TESS_PRECISION_FP64, y, state));
    TESS_TRY(solve(m, 1, y, y, wide, state));
    status = convert(m, (tess_operand){wide, TESS_PRECISION_FP64}, vectors, z, state);
cleanup:
    return status;
}

/* ---- several columns ---- */

bool incomplete_takes_columns(const tess_incomplete *m)
{
    return m->usable && triangle_takes_columns(m->lower) && triangle_takes_columns(m->upper);
}

tess_status incomplete_prepare_columns(tess_incomplete *m, int columns)
{
    double *work = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_usable(m));
    TESS_TRY(triangle_prepare_columns(m->lower, columns));
    TESS_TRY(triangle_prepare_columns(m->upper, columns));
    if (columns <= m->columns) { goto cleanup; }
    TESS_TRY(tess_device_allocate(m->ctx, incomplete_columns_values(m, columns), sizeof *work, (void **)&work));
    tess_device_release(m->ctx, m->columns_work, incomplete_columns_values(m, m->columns), sizeof *work);
    m->columns_work = work;
    m->columns = columns;
cleanup:
    return status;
}

tess_status incomplete_apply_columns(tess_incomplete *m, int columns, const double *r, double *z)
{
    tess_status status = TESS_SUCCESS;

    if (m->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(incomplete_prepare_columns(m, columns));
    status = solve(m, columns, r, m->columns_work, z, NULL);
cleanup:
    return status;
}

/* ---- questions ---- */

double incomplete_shift(const tess_incomplete *m)
{
    return m->usable ? m->shift : 0.0;
}

void incomplete_describe(const tess_incomplete *m, tess_precond_factors *out)
{
    *out = (tess_precond_factors){.shift = incomplete_shift(m),
                                  .factorization = m->sweeps > 0 ? TESS_FACTORIZATION_SWEEPS
                                                   : m->by_host  ? TESS_FACTORIZATION_HOST
                                                                 : TESS_FACTORIZATION_DEVICE};
    if (m->missing_row >= 0) { return; }
    const triangle_facts lower = triangle_describe(m->lower), upper = triangle_describe(m->upper);

    out->lower_level_sets = lower.level_sets;
    out->upper_level_sets = upper.level_sets;
    out->lower_groups = lower.groups;
    out->upper_groups = upper.groups;
    out->entries = lower.entries + upper.entries;
    out->leaves = lower.leaves + upper.leaves;
    out->squares = lower.squares + upper.squares;
    out->nonzeros = lower.nonzeros + upper.nonzeros;
    out->square_nonzeros = lower.square_nonzeros + upper.square_nonzeros;
}

uint64_t incomplete_revision(const tess_incomplete *m)
{
    return m->revision;
}

/* The input of the elimination, if that runs on the context's device. */
static int64_t schedule_bytes(const tess_incomplete *m)
{
    const incomplete_pattern *p = &m->pattern;

    if (!m->by_host) { return m->n * (int64_t)(sizeof *m->diagonal + (m->order ? sizeof *m->order : 0)); }
    if (m->ctx->device == TESS_DEVICE_GPU) { return 0; }
    return (p->n + 1) * (int64_t)sizeof *p->row_ptr + p->nnz * (int64_t)sizeof *p->col_ind +
           p->n * (int64_t)sizeof *p->diagonal;
}

int64_t incomplete_bytes(const tess_incomplete *m)
{
    if (m->missing_row >= 0) { return 0; }
    return triangle_bytes(m->lower) + triangle_bytes(m->upper) +
           m->n * (int64_t)(sizeof *m->inverse + 2 * sizeof *m->work[0]) +
           incomplete_columns_values(m, m->columns) * (int64_t)sizeof *m->work[0] + schedule_bytes(m) +
           incomplete_colors_bytes(&m->colors) + (m->filled ? tess_matrix_bytes(m->filled) : 0);
}
