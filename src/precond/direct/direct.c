/* SPDX-License-Identifier: Apache-2.0 */
/* lu and cholesky: analysis, memory, factors, application. */
#include "precond/direct/direct.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <tessera/codec.h>
#include <tessera/names.h>

#include "base/blas_calls.h"
#include "base/deadline.h"
#include "base/stages.h"
#include "precond/direct/direct_device.h"
#include "precond/direct/direct_host.h"

/* Workspace beyond the estimate, in percent, at most: after doublings where pivoting needs more. The limit of memory
   ends them before, but for small matrices. */
enum { MOST_RELAXATION = 1 << 20 };
/* Failures that MUMPS names. */
enum { NO_ENTRIES = -2, STRUCTURALLY_SINGULAR = -6, NUMERICALLY_SINGULAR = -10 };
enum { NO_MEMORY = -13, NO_MEMORY_IN_C = -7, NO_MEMORY_IN_ORDERING = -5 };

static const char *name_of(const direct_factors *m)
{
    return m->cholesky ? "cholesky" : "lu";
}

/* Of what is factored. */
static int64_t rows_of(const direct_factors *m)
{
    return m->n / m->parts;
}

/* MUMPS is built in, but cannot be loaded. The words are the dynamic linker's. */
static tess_status refuse_absent(tess_context *ctx, tess_precond_kind kind)
{
    const char *why = mumps_absence();
    const bool memory = strstr(why, "failed to map") || strstr(why, "cannot map") || strstr(why, "annot allocate");

    return memory
               ? tess_fail(ctx, TESS_OUT_OF_MEMORY, "raise the limit (ulimit -v, control group)",
                           "preconditioner %s: there is no memory to load MUMPS: %s", tess_precond_kind_name(kind), why)
               : tess_fail_here(ctx, "install MUMPS' libraries; or use ilut, ict, ilu0 or ic0",
                                "preconditioner %s: MUMPS cannot be loaded: %s", tess_precond_kind_name(kind), why);
}

static tess_status check(const tess_matrix *a, const tess_precond_options *o)
{
    if (!mumps_is_here() && a->ctx->device == TESS_DEVICE_GPU && !cudss_is_here()) {
        return tess_fail_here(
            a->ctx, DIRECT_CUDSS_HINT "; or install MUMPS and build again",
            "preconditioner %s needs cuDSS, which was not found (%s), or MUMPS, which this build lacks",
            tess_precond_kind_name(o->kind), cudss_absence());
    }
    if (!mumps_is_here() && mumps_absence()[0] != '\0' && a->ctx->device == TESS_DEVICE_CPU) {
        return refuse_absent(a->ctx, o->kind);
    }
    if (!mumps_is_here() && a->ctx->device == TESS_DEVICE_CPU) {
        return tess_fail_here(a->ctx,
                              "install MUMPS (Debian: libmumps-seq-dev) and build again; or use ilut, ict, ilu0 or ic0",
                              "preconditioner %s needs MUMPS, which is not installed or was not when this was built",
                              tess_precond_kind_name(o->kind));
    }
    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi with a diagonal function, or a shell preconditioner",
                         "complete factors need the entries of the matrix, but a shell matrix has none");
    }
    if (o->direct.memory_limit < 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "give a number of bytes; 0 is half of the free memory",
                         "factors cannot take %s", tess_count(o->direct.memory_limit, "byte").text);
    }
    return TESS_SUCCESS;
}

static tess_role_precision default_role(tess_role_precision inner)
{
    (void)inner;
    return (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
}

/* ---- set-up ---- */

static tess_status check_memory(const direct_factors *m, int64_t predicted, int relaxation)
{
    const int64_t needed = (int64_t)((double)predicted * (100 + relaxation) / (100 + DIRECT_RELAXATION));

    return direct_check_memory(m->ctx, name_of(m), needed, direct_allowed_memory(m->ctx, m->memory_limit, false));
}

/* Failures after which MUMPS' guide asks for a larger ICNTL(14): integers (-8, -14), reals (-9, -11), buffers (-17,
   -20). */
static bool lacks_workspace(int code)
{
    return code == -8 || code == -9 || code == -11 || code == -14 || code == -17 || code == -20;
}

tess_status direct_judge(const direct_factors *m, const char *step, const mumps_reply *reply)
{
    switch (reply->code) {
    case STRUCTURALLY_SINGULAR:
        return tess_fail(m->ctx, TESS_SINGULAR, "choose another preconditioner, or none",
                         "%s: the matrix is singular for any values: its structural rank is %d of %lld", name_of(m),
                         reply->detail, (long long)rows_of(m));
    case NO_ENTRIES:
        return tess_fail(m->ctx, TESS_SINGULAR, "remove the empty rows", "%s: the matrix has no entries", name_of(m));
    case NUMERICALLY_SINGULAR:
        return tess_fail(m->ctx, TESS_SINGULAR,
                         "try --precond-precision fp64, or ilut or ilu0, which shift the diagonal",
                         "%s: the matrix is singular in %s: pivot %d of %lld is zero", name_of(m),
                         tess_precision_name(m->precision), reply->detail + 1, (long long)rows_of(m));
    case NO_MEMORY:
    case NO_MEMORY_IN_C:
    case NO_MEMORY_IN_ORDERING:
        return tess_fail(m->ctx, TESS_OUT_OF_MEMORY, "choose ilut, ict, ilu0 or ic0",
                         "%s: MUMPS had too little memory for the %s", name_of(m), step);
    default: break;
    }
    if (lacks_workspace(reply->code)) {
        return tess_fail(m->ctx, TESS_OUT_OF_MEMORY, "choose ilut, ict, ilu0 or ic0",
                         "%s: MUMPS needs more workspace for the %s than %d %% beyond its estimate (INFOG %d, %d)",
                         name_of(m), step, m->relaxation, reply->code, reply->detail);
    }
    return tess_fail(m->ctx, TESS_INTERNAL, "choose ilut, ict, ilu0 or ic0, and please report it",
                     "%s: the %s of MUMPS failed with INFOG %d, %d", name_of(m), step, reply->code, reply->detail);
}

static mumps_arguments arguments_of(const direct_factors *m, const direct_system *s)
{
    return (mumps_arguments){.n = s->n,
                             .nnz = s->count,
                             .row = s->row,
                             .column = s->column,
                             .val = s->rounded,
                             .rhs = m->rhs,
                             .relaxation = m->relaxation};
}

/* Once for a pattern, and again if the matrix gains or loses its symmetry. */
static tess_status analyse(direct_factors *m, const direct_system *s)
{
    direct_analysis analysis = {.mumps = NULL};
    const mumps_reply *reply = &analysis.reply;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(m->ctx, name_of(m)));
    mumps_close(m->ctx, m->mumps);
    m->mumps = NULL;
    m->symmetry = s->symmetry;
    if (!direct_take_analysis(m->matrix, m->precision, s, &analysis)) {
        status = direct_analyse(s, m->relaxation, &analysis);
    }
    m->mumps = analysis.mumps;
    if (status == TESS_SUCCESS) {
        status =
            reply->code < 0 ? direct_judge(m, "analysis", reply) : check_memory(m, reply->predicted, m->relaxation);
    }
    if (status != TESS_SUCCESS) { /* other values are analysed anew */
        mumps_close(m->ctx, m->mumps);
        m->mumps = NULL;
    }
    TESS_TRY(status);
    m->facts = *reply;
    status = tess_stage_end(m->ctx, "analysis of the factors");
cleanup:
    return status;
}

/* Again with twice the workspace, while pivoting needs more than the analysis foresaw. */
static tess_status run_with_space(direct_factors *m, mumps_arguments *arguments, int64_t predicted, mumps_reply *reply)
{
    tess_status status = TESS_SUCCESS;

    *reply = mumps_run(m->mumps, MUMPS_FACTOR, arguments);
    while (lacks_workspace(reply->code) && 2 * m->relaxation <= MOST_RELAXATION) {
        TESS_TRY(check_memory(m, predicted, 2 * m->relaxation));
        TESS_TRY(tess_deadline_check(m->ctx, name_of(m)));
        m->relaxation *= 2;
        arguments->relaxation = m->relaxation;
        *reply = mumps_run(m->mumps, MUMPS_FACTOR, arguments);
    }
cleanup:
    return status;
}

/* What the factors say of the matrix. */
static tess_status judge_pivots(const direct_factors *m)
{
    if (m->facts.null_pivots > 0) {
        tess_log(m->ctx, TESS_LOG_INFO, "%s: the matrix is singular in %s: %d of %s %s zero and set aside", name_of(m),
                 tess_precision_name(m->precision), m->facts.null_pivots, tess_count(rows_of(m), "pivot").text,
                 m->facts.null_pivots == 1 ? "is" : "are");
    }
    if (m->cholesky && m->facts.negative_pivots > 0) {
        return tess_fail(m->ctx, TESS_SINGULAR, "use lu; for a large condition number --precond-precision fp64",
                         "cholesky: the matrix is not positive definite in %s: %d of %s %s negative",
                         tess_precision_name(m->precision), m->facts.negative_pivots,
                         tess_count(rows_of(m), "pivot").text, m->facts.negative_pivots == 1 ? "is" : "are");
    }
    return TESS_SUCCESS;
}

/* OpenBLAS: of nine matrices with 1e9 to 2e10 operations on two cores with AVX-512, at most 0.08 ns in FP32 and 0.11 in
   FP64, half of it for most. Of fewer operations other work decides (docs/results/automatic.md). */
#define OPENBLAS_FLOP_SECONDS 0.08e-9

double direct_flop_seconds(void)
{
    return tess_blas_is_open() ? OPENBLAS_FLOP_SECONDS : DIRECT_FLOP_SECONDS;
}

static tess_status factor(direct_factors *m, const direct_system *s, bool rescale)
{
    const int64_t predicted = m->facts.predicted;
    const double flops = m->facts.flops;
    mumps_arguments arguments = arguments_of(m, s);
    mumps_reply reply;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(m->ctx, name_of(m)));
    TESS_TRY(direct_check_time(m->ctx, name_of(m), m->facts.flops, direct_flop_seconds()));
    arguments.rescale = rescale;
    TESS_TRY(run_with_space(m, &arguments, predicted, &reply));
    if (reply.code == NUMERICALLY_SINGULAR && !m->cholesky) { /* the rest of A may do, if b allows it */
        const mumps_reply singular = reply;

        arguments.null_pivots = true;
        TESS_TRY(run_with_space(m, &arguments, predicted, &reply));
        if (reply.code >= 0 && reply.null_pivots == rows_of(m)) { reply = singular; }
    }
    if (reply.code < 0) { return direct_judge(m, "factorization", &reply); }
    m->facts = reply;
    m->facts.predicted = predicted;
    m->facts.flops = flops;
    TESS_TRY(judge_pivots(m));
    status = tess_stage_end(m->ctx, "factors");
cleanup:
    return status;
}

static bool is_moderate(const direct_factors *m)
{
    bool all = true;

    for (int64_t i = 0; i < m->n; i++) {
        all = all && direct_may_multiply(m->row_exponent[i]) && direct_may_multiply(m->column_exponent[i]);
    }
    return all;
}

/* Factors without MUMPS, where KLU's are the faster ones. */
static tess_status compute_sparse(direct_factors *m, const direct_system *s)
{
    tess_status status = TESS_SUCCESS;

    if (m->mumps || m->cholesky || m->precision != TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    TESS_TRY(klu_compute(s, direct_allowed_memory(m->ctx, m->memory_limit, false), m->row_exponent, m->column_exponent,
                         &m->klu));
    if (!m->klu) { return TESS_SUCCESS; }
    m->facts = (mumps_reply){.entries = klu_entries(m->klu), .bytes = klu_bytes(m->klu)};
    m->moderate = is_moderate(m);
    m->usable = true;
    status = tess_stage_end(m->ctx, "factors");
cleanup:
    return status;
}

static tess_status compute(direct_factors *m)
{
    direct_system s;
    const int parts = m->parts;
    bool analysed = false;
    tess_status status = TESS_SUCCESS;

    m->usable = false;
    TESS_TRY(direct_read(m->matrix, m->cholesky, &s));
    TESS_TRY(direct_check_values(&s, name_of(m), m->cholesky));
    m->negated = s.negated;
    m->parts = s.parts;
    TESS_TRY(compute_sparse(m, &s));
    if (m->klu) { goto cleanup; }
    TESS_TRY(direct_scale(&s, m->precision, INT_MAX, m->row_exponent, m->column_exponent));
    analysed = m->mumps && m->symmetry == s.symmetry && parts == s.parts;
    if (!analysed) { TESS_TRY(analyse(m, &s)); }
    TESS_TRY(factor(m, &s, analysed));
    m->moderate = is_moderate(m);
    m->usable = true;
cleanup:
    direct_release(&s);
    return status;
}

static void close_factors(direct_factors *m)
{
    mumps_close(m->ctx, m->mumps);
    klu_close(m->ctx, m->klu);
    tess_host_release(m->ctx, m->row_exponent, m->n, sizeof *m->row_exponent);
    tess_host_release(m->ctx, m->column_exponent, m->n, sizeof *m->column_exponent);
    tess_host_release(m->ctx, m->rhs, m->n, tess_precision_bytes(m->precision));
}

static tess_status open_exponents(direct_factors *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *m->row_exponent, (void **)&m->row_exponent));
    status = tess_host_allocate(m->ctx, m->n, sizeof *m->column_exponent, (void **)&m->column_exponent);
cleanup:
    return status;
}

static tess_status open_factors(direct_factors *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_exponents(m));
    status = tess_host_allocate(m->ctx, m->n, tess_precision_bytes(m->precision), &m->rhs);
cleanup:
    return status;
}

/* ---- FP32 that does not do ---- */

static bool can_widen(const tess_precond *p)
{
    const direct_factors *m = p->own;

    return m->n > 0 && m->precision == TESS_PRECISION_FP32;
}

/* Factors in FP64 beside those in FP32, which stay if there are none. */
static tess_status widen(tess_precond *p, bool *widened)
{
    direct_factors *m = p->own, wide = *m;
    const tess_error before = m->ctx->error;
    tess_status status = TESS_SUCCESS;

    *widened = false;
    if (!can_widen(p)) { return TESS_SUCCESS; }
    wide.mumps = NULL;
    wide.klu = NULL;
    wide.row_exponent = wide.column_exponent = NULL;
    wide.rhs = NULL;
    wide.columns = (direct_columns){.most = 0};
    wide.precision = TESS_PRECISION_FP64;
    status = open_factors(&wide);
    if (status == TESS_SUCCESS) { status = compute(&wide); }
    if (status != TESS_SUCCESS) {
        close_factors(&wide);
        m->ctx->error = before;
        return TESS_SUCCESS;
    }
    close_factors(m);
    direct_release_columns(m);
    *m = wide;
    p->role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    *widened = true;
    tess_log(m->ctx, TESS_LOG_INFO, "%s: factors in fp32 did not do, and they are now in fp64", name_of(m));
    return TESS_SUCCESS;
}

/* The default precision is no wish: where FP32 finds no factors, or sets pivots aside, FP64 decides. */
static tess_status compute_by_default(tess_precond *p)
{
    const direct_factors *m = p->own;
    bool widened = false;
    const tess_status status = compute(p->own);

    if (status != TESS_SINGULAR && !(status == TESS_SUCCESS && m->facts.null_pivots > 0)) { return status; }
    return widen(p, &widened) == TESS_SUCCESS && widened ? TESS_SUCCESS : status;
}

static tess_status renew(tess_precond *p)
{
    const direct_factors *m = p->own;

    if (m->n == 0) { return TESS_SUCCESS; }
    return m->by_default ? compute_by_default(p) : compute(p->own);
}

/* Matrices that may be KLU's. */
enum { MOST_SPARSE_ROWS = 1 << 18, MOST_SPARSE_ENTRIES = 12 };

/* Where no precision was named, KLU's factors in FP64: they are applied in less time than MUMPS' in FP32, and once.
 *done: they are there. */
static tess_status try_sparse(tess_precond *p, bool *done)
{
    direct_factors *m = p->own;
    const tess_precision precision = m->precision;
    direct_system s = {.ctx = m->ctx};
    tess_status status = TESS_SUCCESS;

    *done = false;
    if (!m->by_default || m->cholesky || m->n > MOST_SPARSE_ROWS || p->matrix->nnz > MOST_SPARSE_ENTRIES * m->n ||
        !klu_is_here()) {
        return TESS_SUCCESS;
    }
    m->precision = TESS_PRECISION_FP64;
    TESS_TRY(direct_read(m->matrix, false, &s));
    m->parts = s.parts;
    if (s.bad_row < 0) { TESS_TRY(compute_sparse(m, &s)); }
    *done = m->klu != NULL;
    if (*done) { p->role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}; }
cleanup:
    direct_release(&s);
    if (!*done) { m->precision = precision; }
    return status;
}

static tess_status create_on_host(tess_precond *p, const tess_precond_options *options)
{
    direct_factors *m = NULL;
    bool done = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(p->ctx, 1, sizeof *m, &p->own));
    m = p->own;
    memset(m, 0, sizeof *m);
    m->ctx = p->ctx;
    m->matrix = p->matrix;
    m->n = p->n;
    m->cholesky = options->kind == TESS_PRECOND_CHOLESKY;
    m->precision = p->role.storage;
    m->memory_limit = options->direct.memory_limit;
    m->relaxation = DIRECT_RELAXATION;
    m->parts = 1;
    m->by_default = !options->role.given;
    TESS_TRY(open_exponents(m));
    TESS_TRY(try_sparse(p, &done));
    TESS_TRY(tess_host_allocate(m->ctx, m->n, tess_precision_bytes(m->precision), &m->rhs));
    if (p->ctx->device == TESS_DEVICE_GPU) {
        TESS_TRY(tess_host_allocate(p->ctx, m->n, sizeof *m->copy, (void **)&m->copy));
    }
    status = done ? TESS_SUCCESS : renew(p);
cleanup:
    return status;
}

/* What cuDSS does not support is the host's. */
static tess_status create(tess_precond *p, const tess_precond_options *options)
{
    const tess_precond_ops *const of_the_host = p->ops;
    const tess_error before = p->ctx->error;
    tess_status status = TESS_SUCCESS;

    if (!p->role.given) { p->role = default_role(p->role); }
    if (!direct_is_on_device(p->matrix)) { return create_on_host(p, options); }
    status = direct_device_create(p, options);
    if (status != TESS_UNSUPPORTED || !mumps_is_here()) { return status; }
    tess_log(p->ctx, TESS_LOG_INFO, "the host computes the factors: %s", p->ctx->error.message);
    p->ctx->error = before;
    p->ops->destroy(p);
    p->own = NULL;
    p->ops = of_the_host;
    return create_on_host(p, options);
}

static void destroy(tess_precond *p)
{
    direct_factors *m = p->own;

    if (!m) { return; }
    close_factors(m);
    direct_release_columns(m);
    tess_host_release(m->ctx, m->copy, m->n, sizeof *m->copy);
    tess_host_release(m->ctx, m, 1, sizeof *m);
}

/* ---- questions ---- */

/* A GPU's memory holds none of it. */
static int64_t bytes(const tess_precond *p)
{
    const direct_factors *m = p->own;

    if (m->ctx->device == TESS_DEVICE_GPU) { return 0; }
    return (m->usable ? m->facts.bytes : 0) +
           m->n * (int64_t)(2 * sizeof *m->row_exponent + tess_precision_bytes(m->precision));
}

static void describe(const tess_precond *p, tess_precond_factors *out)
{
    const direct_factors *m = p->own;

    *out = (tess_precond_factors){.factorization = TESS_FACTORIZATION_HOST};
    if (m->usable) { out->nonzeros = out->entries = m->facts.entries; }
}

#define DIRECT(KIND)                                                                                     \
    {                                                                                                    \
        .kind = (KIND), .on_host = true, .default_role = default_role, .check = check, .create = create, \
        .renew = renew, .apply = direct_apply, .takes_columns = direct_takes_columns,                    \
        .apply_columns = direct_apply_columns, .apply_where_they_are = direct_apply_where_they_are,      \
        .solve_on_host = direct_solve_on_host, .bytes = bytes, .factors = describe, .widen = widen,      \
        .can_widen = can_widen, .destroy = destroy                                                       \
    }
const tess_precond_ops precond_lu = DIRECT(TESS_PRECOND_LU);
const tess_precond_ops precond_cholesky = DIRECT(TESS_PRECOND_CHOLESKY);
#undef DIRECT
