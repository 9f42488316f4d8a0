/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/direct/klu_factors.h"

#ifdef TESS_KLU

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/deadline.h"
#include "base/library.h"
#include "device/host/host.h"
#include "precond/direct/klu_module.h"

/* Operations for an entry of the factors, by the analysis, from which dense blocks pay (docs/results/python.md), and
   operations that nothing can interrupt: about a second. */
static const double most_operations_per_entry = 100.0, most_operations = 1e9;
/* The least reciprocal growth of entries: the root of FP64's unit roundoff, so that a step of refinement gains. */
static const double least_growth = 0x1p-26;

struct klu_factors {
    int n, parts; /* numbers of a value: 2 of complex ones */
    const klu_numbers *numbers;
    klu_common common;
    klu_symbolic *symbolic;
    klu_numeric *numeric; /* NULL: there are none */
};

/* Columns of A^T, which are rows of A. */
typedef struct columns_of_transpose {
    tess_context *ctx;
    int64_t n, count;
    int parts;
    int *start, *index; /* n + 1; count */
    double *val;        /* count, of `parts` numbers each */
} columns_of_transpose;

/* Loaded at the first question. */
static const klu_module *module;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void)
{
    char problem[256];

    module = tess_module_symbol(KLU_MODULE_FILE, KLU_MODULE_SYMBOL, problem, sizeof problem);
    if (module && module->version != KLU_MODULE_VERSION) { module = NULL; }
}

bool klu_is_here(void)
{
    pthread_once(&loaded, load);
    return module != NULL;
}

/* ---- the matrix ---- */

static bool is_halved(const direct_system *s)
{
    return s->symmetry != MUMPS_UNSYMMETRIC;
}

static void release(columns_of_transpose *t)
{
    tess_host_release(t->ctx, t->start, t->n + 1, sizeof *t->start);
    tess_host_release(t->ctx, t->index, t->count, sizeof *t->index);
    tess_host_release(t->ctx, t->val, t->parts * t->count, sizeof *t->val);
}

static void put(columns_of_transpose *t, int row, int column, const double *value)
{
    const int at = t->start[row]++;

    t->index[at] = column;
    memcpy(t->val + (int64_t)at * t->parts, value, (size_t)t->parts * sizeof *value);
}

/* start[i + 1] := entries of row i */
static void count_entries(const direct_system *s, columns_of_transpose *t)
{
    memset(t->start, 0, (size_t)(t->n + 1) * sizeof *t->start);
    for (int64_t k = 0; k < s->count; k++) {
        t->start[s->row[k]] += 1;
        if (is_halved(s) && s->row[k] != s->column[k]) { t->start[s->column[k]] += 1; }
    }
}

static void fill(const direct_system *s, columns_of_transpose *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        t->start[i + 1] += t->start[i];
    }
    for (int64_t i = t->n; i > 0; i--) { /* where each row is filled next */
        t->start[i] = t->start[i - 1];
    }
    for (int64_t k = 0; k < s->count; k++) {
        const int row = s->row[k] - 1, column = s->column[k] - 1;

        put(t, row + 1, column, s->val + s->parts * k);
        if (is_halved(s) && row != column) { put(t, column + 1, row, s->val + s->parts * k); }
    }
}

/* Rows of A, of both halves. */
static tess_status take_rows(const direct_system *s, columns_of_transpose *t)
{
    tess_status status = TESS_SUCCESS;

    *t = (columns_of_transpose){.ctx = s->ctx, .n = s->n, .count = s->capacity, .parts = s->parts};
    TESS_TRY(tess_host_allocate(t->ctx, t->n + 1, sizeof *t->start, (void **)&t->start));
    TESS_TRY(tess_host_allocate(t->ctx, t->count, sizeof *t->index, (void **)&t->index));
    TESS_TRY(tess_host_allocate(t->ctx, t->parts * t->count, sizeof *t->val, (void **)&t->val));
    count_entries(s, t);
    fill(s, t);
cleanup:
    return status;
}

/* The larger part of a complex value. */
static double size_of(const columns_of_transpose *t, int64_t k)
{
    return t->parts == 2 ? fmax(fabs(t->val[2 * k]), fabs(t->val[2 * k + 1])) : fabs(t->val[k]);
}

/* The exponents that bring rows, and then columns, to about 1; 0 where there is nothing. Scales the values. */
static void scale(columns_of_transpose *t, int32_t *row_exponent, int32_t *column_exponent)
{
    for (int64_t j = 0; j < t->n; j++) {
        column_exponent[j] = INT_MIN;
    }
    for (int64_t i = 0; i < t->n; i++) {
        double largest = 0.0;

        for (int k = t->start[i]; k < t->start[i + 1]; k++) {
            largest = fmax(largest, size_of(t, k));
        }
        row_exponent[i] = largest > 0.0 ? -ilogb(largest) : 0;
        for (int k = t->start[i]; k < t->start[i + 1] && largest > 0.0; k++) {
            const double size = size_of(t, k);
            const int32_t exponent = size > 0.0 ? ilogb(size) + row_exponent[i] : INT_MIN;

            if (exponent > column_exponent[t->index[k]]) { column_exponent[t->index[k]] = exponent; }
        }
    }
    for (int64_t j = 0; j < t->n; j++) {
        column_exponent[j] = column_exponent[j] == INT_MIN ? 0 : -column_exponent[j];
    }
    for (int64_t i = 0; i < t->n; i++) {
        for (int k = t->start[i]; k < t->start[i + 1]; k++) {
            for (int64_t at = (int64_t)t->parts * k; at < (int64_t)t->parts * (k + 1); at++) {
                t->val[at] = ldexp(t->val[at], row_exponent[i] + column_exponent[t->index[k]]);
            }
        }
    }
}

/* ---- factors ---- */

static bool suits(const klu_factors *f, int64_t allowed)
{
    const double entries = f->symbolic->lnz + f->symbolic->unz, operations = f->symbolic->est_flops;
    const double bytes = (double)((size_t)f->parts * sizeof(double) + sizeof(int)) * entries;

    return entries >= 0.0 && operations <= most_operations_per_entry * entries &&
           f->parts * f->parts * operations <= most_operations && bytes <= (double)allowed;
}

/* New values in the order and with the pivots that are there. */
static bool renew(klu_factors *f, columns_of_transpose *t)
{
    return f->numeric && f->numbers->refactor(t->start, t->index, t->val, f->symbolic, f->numeric, &f->common) &&
           f->numbers->rgrowth(t->start, t->index, t->val, f->symbolic, f->numeric, &f->common) &&
           f->common.rgrowth >= least_growth;
}

static bool compute(klu_factors *f, columns_of_transpose *t)
{
    if (f->numeric) { f->numbers->free_numeric(&f->numeric, &f->common); }
    f->numeric = f->numbers->factor(t->start, t->index, t->val, f->symbolic, &f->common);
    return f->numeric && f->numbers->rgrowth(t->start, t->index, t->val, f->symbolic, f->numeric, &f->common) &&
           f->common.rgrowth >= least_growth;
}

static tess_status open_factors(const direct_system *s, columns_of_transpose *t, klu_factors **out)
{
    klu_factors *f = NULL;
    tess_status status = tess_host_allocate(s->ctx, 1, sizeof *f, (void **)&f);

    if (status != TESS_SUCCESS) { return status; }
    *f = (klu_factors){
        .n = (int)s->n, .parts = s->parts, .numbers = s->parts == 2 ? &module->complex_numbers : &module->real};
    module->defaults(&f->common);
    f->common.scale = 0; /* done by powers of two */
    f->symbolic = module->analyze(f->n, t->start, t->index, &f->common);
    *out = f;
    return TESS_SUCCESS;
}

tess_status klu_compute(const direct_system *s, int64_t allowed, int32_t *row_exponent, int32_t *column_exponent,
                        klu_factors **factors)
{
    columns_of_transpose t = {.ctx = s->ctx, .parts = s->parts};
    klu_factors *f = *factors;
    bool done = false;
    tess_status status = TESS_SUCCESS;

    if (!klu_is_here() || s->n == 0 || s->capacity >= INT_MAX) { return TESS_SUCCESS; }
    TESS_TRY(tess_deadline_check(s->ctx, "lu"));
    TESS_TRY(take_rows(s, &t));
    if (f && f->parts != s->parts) {
        klu_close(s->ctx, f);
        f = NULL;
    }
    if (!f) { TESS_TRY(open_factors(s, &t, &f)); }
    if (f->symbolic && suits(f, allowed)) {
        TESS_TRY(direct_check_time(s->ctx, "lu", f->symbolic->est_flops, DIRECT_FLOP_SECONDS));
        scale(&t, row_exponent, column_exponent);
        direct_spread(s, row_exponent);
        direct_spread(s, column_exponent);
        done = renew(f, &t) || compute(f, &t);
    }
cleanup:
    release(&t);
    if (!done) {
        klu_close(s->ctx, f);
        f = NULL;
    }
    *factors = f;
    return status;
}

/* Columns that KLU solves at once, with a work space of as many vectors. */
enum { TOGETHER = 4 };

/* Columns of A^T were factored. */
static void solve_part(const klu_factors *f, klu_numeric *numeric, bool transposed, int columns, double *rhs)
{
    klu_common common = f->common;

    (void)(transposed ? f->numbers->solve : f->numbers->tsolve)(f->symbolic, numeric, f->n, columns, rhs, &common);
}

/* Factors are only read, but for their work space: each thread has its own. */
void klu_solve_columns(tess_context *ctx, klu_factors *f, bool transposed, int columns, double *rhs)
{
    const int groups = (columns + TOGETHER - 1) / TOGETHER;
    const int most = host_threads_for(ctx, klu_entries(f)), threads = groups < most ? groups : most;
    const int64_t n = (int64_t)f->n * f->parts, values = TOGETHER * n * threads;
    const tess_error before = ctx->error;
    double *work = NULL;

    if (threads > 1 && tess_host_allocate(ctx, values, sizeof *work, (void **)&work) != TESS_SUCCESS) {
        ctx->error = before;
    }
    if (!work) {
        solve_part(f, f->numeric, transposed, columns, rhs);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int thread = 0; thread < threads; thread++) {
        const int begin = groups * thread / threads * TOGETHER, rest = groups * (thread + 1) / threads * TOGETHER;
        const int end = rest < columns ? rest : columns;
        klu_numeric own = *f->numeric;

        own.Xwork = work + TOGETHER * n * thread;
        solve_part(f, &own, transposed, end - begin, rhs + begin * n);
    }
    tess_host_release(ctx, work, values, sizeof *work);
}

int64_t klu_entries(const klu_factors *f)
{
    return (int64_t)f->numeric->lnz + f->numeric->unz + f->numeric->nzoff;
}

int64_t klu_bytes(const klu_factors *f)
{
    return (int64_t)f->common.memusage;
}

void klu_close(tess_context *ctx, klu_factors *f)
{
    if (!f) { return; }
    if (f->numeric) { f->numbers->free_numeric(&f->numeric, &f->common); }
    if (f->symbolic) { module->free_symbolic(&f->symbolic, &f->common); }
    tess_host_release(ctx, f, 1, sizeof *f);
}

#else

bool klu_is_here(void)
{
    return false;
}

tess_status klu_compute(const direct_system *s, int64_t allowed, int32_t *row_exponent, int32_t *column_exponent,
                        klu_factors **factors)
{
    (void)s;
    (void)allowed;
    (void)row_exponent;
    (void)column_exponent;
    *factors = NULL;
    return TESS_SUCCESS;
}

void klu_solve_columns(tess_context *ctx, klu_factors *f, bool transposed, int columns, double *rhs)
{
    (void)ctx;
    (void)f;
    (void)transposed;
    (void)columns;
    (void)rhs;
}

int64_t klu_entries(const klu_factors *f)
{
    (void)f;
    return 0;
}

int64_t klu_bytes(const klu_factors *f)
{
    (void)f;
    return 0;
}

void klu_close(tess_context *ctx, klu_factors *f)
{
    (void)ctx;
    (void)f;
}

#endif
