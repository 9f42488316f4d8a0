/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of cuDSS. Each runs while the context's device is the current one. */
#include "precond/direct/cudss.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "precond/direct/cudss_library.h"

enum { ABSENCE_LENGTH = 256 };

struct cudss_solver {
    tess_context *ctx;
    mumps_symmetry symmetry;
    tess_precision precision;
    bool repeatable, threaded;
    void *handle, *config, *data, *matrix, *solution, *rhs; /* NULL: not made */
    cudss_arrays arrays;
};

/* Loaded at the first question. */
static cudss_library library;
static char absence[ABSENCE_LENGTH];
static bool found, asked;
static atomic_bool begun;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void)
{
    const char *path = getenv("TESSERA_CUDSS");

    if (path && strcmp(path, "none") == 0) {
        memcpy(absence, "TESSERA_CUDSS is none", sizeof "TESSERA_CUDSS is none");
        return;
    }
    asked = path && *path && strcmp(path, "auto") != 0;
    found = cudss_load(asked ? path : NULL, &library, absence, sizeof absence);
    if (found) { absence[0] = '\0'; }
}

bool cudss_is_here(void)
{
    pthread_once(&loaded, load);
    return found;
}

const char *cudss_absence(void)
{
    return cudss_is_here() ? "" : absence;
}

bool cudss_is_asked_for(void)
{
    return cudss_is_here() && asked;
}

bool cudss_has_begun(void)
{
    return atomic_load(&begun);
}

/* SUCCESS for code 0. */
static tess_status check(tess_context *ctx, int code, const char *call)
{
    switch (code) {
    case CUDSS_OK: return TESS_SUCCESS;
    case CUDSS_NO_MEMORY:
        return tess_fail(ctx, TESS_OUT_OF_DEVICE_MEMORY, "choose ilu0, ic0 or amg, or set TESSERA_CUDSS=none",
                         "cuDSS had too little memory in %s", call);
    case CUDSS_UNSUPPORTED:
        return tess_fail(ctx, TESS_UNSUPPORTED, "set TESSERA_CUDSS=none, or choose another preconditioner",
                         "this version of cuDSS does not support what %s asks for", call);
    default:
        return tess_fail(ctx, TESS_DEVICE, "set TESSERA_CUDSS=none to use the host's factors",
                         "cuDSS failed in %s with status %d", call, code);
    }
}

#define TRY_CALL(name, arguments) TESS_TRY(check(s->ctx, library.name arguments, #name))

/* ---- objects ---- */

typedef struct opening {
    cudss_solver *solver;
    tess_precision precision;
    const cudss_arrays *arrays;
} opening;

static tess_status set(cudss_solver *s, int which, int value)
{
    return check(s->ctx, library.cudssConfigSet(s->config, which, &value, sizeof value), "cudssConfigSet");
}

static tess_status configure(cudss_solver *s)
{
    tess_status status = TESS_SUCCESS;

    TRY_CALL(cudssConfigCreate, (&s->config));
    TESS_TRY(set(s, CUDSS_REPEATABLE, s->repeatable));
    if (s->threaded) { TESS_TRY(set(s, CUDSS_THREADS, s->ctx->threads)); }
cleanup:
    return status;
}

static int type_of(tess_precision precision)
{
    return precision == TESS_PRECISION_FP32 ? CUDSS_FP32 : CUDSS_FP64;
}

static tess_status open_all(void *user)
{
    static const int kinds[] = {
        [MUMPS_UNSYMMETRIC] = CUDSS_GENERAL, [MUMPS_DEFINITE] = CUDSS_DEFINITE, [MUMPS_INDEFINITE] = CUDSS_SYMMETRIC};
    const opening *o = user;
    const cudss_arrays *a = o->arrays;
    const int type = type_of(o->precision);
    cudss_solver *s = o->solver;
    tess_status status = TESS_SUCCESS;

    TRY_CALL(cudssCreate, (&s->handle));
    TRY_CALL(cudssSetStream, (s->handle, s->ctx->backend->stream(s->ctx)));
    /* Without its layer the analysis has one thread. */
    s->threaded = library.threads[0] && library.cudssSetThreadingLayer(s->handle, library.threads) == CUDSS_OK;
    TESS_TRY(configure(s));
    TRY_CALL(cudssDataCreate, (s->handle, &s->data));
    TRY_CALL(cudssMatrixCreateCsr,
             (&s->matrix, a->n, a->n, a->count, a->row_ptr, NULL, a->column, a->val, CUDSS_INT32, CUDSS_INT32, type,
              kinds[s->symmetry], s->symmetry == MUMPS_UNSYMMETRIC ? CUDSS_WHOLE : CUDSS_LOWER, CUDSS_FROM_ONE));
    TRY_CALL(cudssMatrixCreateDn, (&s->rhs, a->n, 1, a->n, a->rhs, type, CUDSS_BY_COLUMNS));
    TRY_CALL(cudssMatrixCreateDn, (&s->solution, a->n, 1, a->n, a->solution, type, CUDSS_BY_COLUMNS));
cleanup:
    return status;
}

/* Nothing can be done about a failure in these. */
static tess_status close_all(void *user)
{
    cudss_solver *s = user;

    if (s->solution) { (void)library.cudssMatrixDestroy(s->solution); }
    if (s->rhs) { (void)library.cudssMatrixDestroy(s->rhs); }
    if (s->matrix) { (void)library.cudssMatrixDestroy(s->matrix); }
    if (s->data) { (void)library.cudssDataDestroy(s->handle, s->data); }
    if (s->config) { (void)library.cudssConfigDestroy(s->config); }
    if (s->handle) { (void)library.cudssDestroy(s->handle); }
    return TESS_SUCCESS;
}

tess_status cudss_open(tess_context *ctx, tess_precision precision, mumps_symmetry symmetry, bool repeatable,
                       const cudss_arrays *arrays, cudss_solver **out)
{
    opening o = {.precision = precision, .arrays = arrays};
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *o.solver, (void **)&o.solver));
    *o.solver = (cudss_solver){
        .ctx = ctx, .symmetry = symmetry, .precision = precision, .repeatable = repeatable, .arrays = *arrays};
    status = ctx->backend->within(ctx, open_all, &o);
    if (status == TESS_SUCCESS) {
        *out = o.solver;
        atomic_store(&begun, true);
    } else {
        cudss_close(o.solver);
    }
cleanup:
    return status;
}

void cudss_close(cudss_solver *s)
{
    if (!s) { return; }
    (void)s->ctx->backend->synchronize(s->ctx); /* queued work may still use its memory */
    (void)s->ctx->backend->within(s->ctx, close_all, s);
    tess_host_release(s->ctx, s, 1, sizeof *s);
}

/* ---- steps ---- */

typedef struct step {
    cudss_solver *solver;
    cudss_facts *facts;
    bool transposed;
    int columns;
    void *rhs, *solution;
} step;

static int run(cudss_solver *s, int which)
{
    return library.cudssExecute(s->handle, which, s->config, s->data, s->matrix, s->solution, s->rhs);
}

static tess_status ask(const cudss_solver *s, int which, void *value, size_t bytes)
{
    size_t written = 0;

    return check(s->ctx, library.cudssDataGet(s->handle, s->data, which, value, bytes, &written), "cudssDataGet");
}

/* Versions differ in the type of the number of operations: as a whole number it cannot be as large as the bits of a
   double that is 2 or more. */
static double flops_of(int64_t bits)
{
    const int64_t two = INT64_C(0x4000000000000000);
    double value = 0.0;

    if (bits < two) { return (double)bits; }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static tess_status analyse_within(void *user)
{
    const step *t = user;
    int64_t estimates[CUDSS_ESTIMATE_COUNT] = {0}, flops = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check(t->solver->ctx, run(t->solver, CUDSS_ANALYSE), "the analysis"));
    TESS_TRY(ask(t->solver, CUDSS_ESTIMATES, estimates, sizeof estimates));
    TESS_TRY(ask(t->solver, CUDSS_FLOPS, &flops, sizeof flops));
    TESS_TRY(ask(t->solver, CUDSS_FACTOR_ENTRIES, &t->facts->entries, sizeof t->facts->entries));
    t->facts->kept_bytes = estimates[0];
    t->facts->peak_bytes = estimates[1];
    t->facts->flops = flops_of(flops);
cleanup:
    return status;
}

/* INFO of a factorization that failed stays until it is set. */
static tess_status factor_within(void *user)
{
    static const int no_failure = 0;
    const step *t = user;
    const cudss_solver *s = t->solver;
    tess_status status = TESS_SUCCESS;

    TRY_CALL(cudssDataSet, (s->handle, s->data, CUDSS_INFO, &no_failure, sizeof no_failure));
    TESS_TRY(check(t->solver->ctx, run(t->solver, CUDSS_FACTOR), "the factorization"));
    TESS_TRY(ask(t->solver, CUDSS_INFO, &t->facts->info, sizeof t->facts->info)); /* waits */
    if (t->facts->info != 0) { goto cleanup; }
    status = ask(t->solver, CUDSS_CHANGED_PIVOTS, &t->facts->changed_pivots, sizeof t->facts->changed_pivots);
cleanup:
    return status;
}

static tess_status solve_within(void *user)
{
    const step *t = user;
    cudss_solver *s = t->solver;
    const bool transposed = t->transposed && s->symmetry == MUMPS_UNSYMMETRIC;
    tess_status status = TESS_SUCCESS;

    if (!transposed) { return check(s->ctx, run(s, CUDSS_SOLVE), "a solve"); }
    TESS_TRY(set(s, CUDSS_TRANSPOSED, 1));
    TESS_TRY(check(s->ctx, run(s, CUDSS_SOLVE), "a solve"));
    status = set(s, CUDSS_TRANSPOSED, 0);
cleanup:
    return status;
}

/* Where a solve reads and writes. */
static tess_status point_at(cudss_solver *s, void *rhs, void *solution)
{
    tess_status status = TESS_SUCCESS;

    TRY_CALL(cudssMatrixSetValues, (s->rhs, rhs));
    TRY_CALL(cudssMatrixSetValues, (s->solution, solution));
cleanup:
    return status;
}

static tess_status solve_columns_within(void *user)
{
    const step *t = user;
    cudss_solver *s = t->solver;
    const size_t bytes = (size_t)s->arrays.n * tess_precision_bytes(s->precision);
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < t->columns && status == TESS_SUCCESS; c++) {
        TESS_TRY(point_at(s, (char *)t->rhs + (size_t)c * bytes, (char *)t->solution + (size_t)c * bytes));
        status = check(s->ctx, run(s, CUDSS_SOLVE), "a solve");
    }
cleanup:
    (void)point_at(s, s->arrays.rhs, s->arrays.solution); /* fails only where that before has */
    return status;
}

tess_status cudss_analyse(cudss_solver *s, cudss_facts *facts)
{
    step t = {.solver = s, .facts = facts};

    *facts = (cudss_facts){0};
    return s->ctx->backend->within(s->ctx, analyse_within, &t);
}

tess_status cudss_factor(cudss_solver *s, cudss_facts *facts)
{
    step t = {.solver = s, .facts = facts};

    facts->info = facts->changed_pivots = 0;
    return s->ctx->backend->within(s->ctx, factor_within, &t);
}

tess_status cudss_solve(cudss_solver *s, bool transposed)
{
    step t = {.solver = s, .transposed = transposed};

    return s->ctx->backend->within(s->ctx, solve_within, &t);
}

tess_status cudss_solve_columns(cudss_solver *s, int columns, void *rhs, void *solution)
{
    step t = {.solver = s, .columns = columns, .rhs = rhs, .solution = solution};

    return s->ctx->backend->within(s->ctx, solve_columns_within, &t);
}
