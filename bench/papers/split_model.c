/* SPDX-License-Identifier: Apache-2.0 */
/* What products of split and composite storage must move, and how far they may be off. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "format/split/split.h"
#include "papers/split.h"

/* ---- assignments ---- */

tess_status bench_split_levels_make(const tess_matrix *a, const tess_policy_options *policy, bench_split_levels *out)
{
    tess_assignment *assignment = NULL;
    tess_status status = tess_assignment_create(a, policy, &assignment);

    *out = (bench_split_levels){.level = NULL};
    if (status != TESS_SUCCESS) { return status; }
    tess_assignment_summary_init(&out->summary);
    tess_assignment_get_summary(assignment, &out->summary);
    out->level = bench_allocate((size_t)out->summary.items, sizeof *out->level);
    status = tess_assignment_get_levels(assignment, out->level);
    tess_assignment_destroy(assignment);
    return status;
}

void bench_split_levels_free(bench_split_levels *levels)
{
    free(levels->level);
    levels->level = NULL;
}

/* ---- bytes ---- */

static int64_t value_bytes(const tess_assignment_summary *s, int level)
{
    return (int64_t)tess_precision_bytes(s->options.level[level].precision);
}

/* The copies in a composite that a product does not read. */
static int64_t unread_bytes(const split_storage *s)
{
    int64_t bytes = 0;

    for (int p = 0; s->composite && p < s->nparts && p < s->summary.options.nlevels; p++) {
        const int level = s->summary.options.nlevels - 1 - p; /* parts begin with the lowest */
        const int64_t entries =
            s->slices[p].slice ? s->slices[p].value_units * ELLR_SLICE : s->summary.nonzeros_at[level];

        for (int l = 0; l < s->summary.options.nlevels; l++) {
            if (l != level) { bytes += entries * value_bytes(&s->summary, l); }
        }
    }
    return bytes;
}

/* What a product moves of x and y. */
static int64_t vector_bytes(const split_storage *s)
{
    const tess_assignment_summary *summary = &s->summary;
    const bool fp32 = s->options.arithmetic == TESS_ARITHMETIC_FP32;
    bool high = false, low = false; /* whether levels with entries read x, or its shadow */

    for (int l = 0; l < summary->options.nlevels; l++) {
        const bool shadow = fp32 && summary->options.level[l].precision != TESS_PRECISION_FP64;

        if (summary->nonzeros_at[l] == 0) { continue; }
        low = low || shadow;
        high = high || !shadow;
    }
    return s->ncols * ((high ? 8 : 0) + (low ? 16 : 0)) + 8 * s->nrows;
}

/* Offsets of layers without entries, which products leave out. */
static int64_t idle_bytes(const split_storage *s)
{
    int64_t idle = 0;

    for (int l = 0; s->layered && s->base[0] == TESS_FORMAT_CSR && l < s->nparts; l++) {
        if (s->summary.nonzeros_at[l] == 0) { idle += (s->nrows + 1) * (s->part[l].view.row_ptr_bits / 8); }
    }
    return idle;
}

int64_t bench_split_bytes(const bench_contestant *c, const tess_matrix *stored, bool adds)
{
    const int64_t nrows = tess_matrix_nrows(stored), ncols = tess_matrix_ncols(stored);
    const int64_t bytes = tess_matrix_bytes(stored) + (adds ? 8 * nrows : 0);

    if (c->storage.format != TESS_FORMAT_SPLIT && c->storage.format != TESS_FORMAT_COMPOSITE) {
        return bytes + 8 * (nrows + ncols);
    }
    const split_storage *s = stored->storage;

    return bytes - unread_bytes(s) - idle_bytes(s) + vector_bytes(s);
}

/* ---- errors ---- */

tess_precision bench_split_precision(const bench_contestant *c, const bench_split_levels *levels, int64_t i, int64_t k)
{
    const tess_policy_options *policy = &c->storage.policy;

    if (!bench_split_has_policy(c)) { return policy->nlevels == 1 ? policy->level[0].precision : c->storage.precision; }
    const uint8_t level = levels->level[policy->granularity == TESS_GRANULARITY_ENTRY ? k : i];

    return policy->level[level < policy->nlevels ? level : 0].precision;
}

uint8_t *bench_split_low(const bench_contestant *c, const bench_split_levels *levels, const bench_csr *a)
{
    uint8_t *low = bench_allocate((size_t)a->nnz, sizeof *low);

    if (c->storage.arithmetic == TESS_ARITHMETIC_FP64) { return low; }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            low[k] = bench_split_precision(c, levels, i, k) != TESS_PRECISION_FP64;
        }
    }
    return low;
}

/* Of one entry: storage, and where the product is made in FP32 the roundings of x and of the product. */
static long double entry_bound(const bench_contestant *c, tess_precision precision, double value, double x)
{
    const long double u32 = 0.5L * FLT_EPSILON, u = tess_precision_unit_roundoff(precision);
    const long double term = fabsl((long double)value * x);

    if (precision == TESS_PRECISION_FP64) { return 0.0L; }
    /* without a policy small values may be subnormal */
    const long double tiny =
        bench_split_has_policy(c) ? 0.0L : 0.5L * tess_precision_smallest(precision) * fabsl((long double)x);

    if (c->storage.arithmetic == TESS_ARITHMETIC_FP64) { return u * term + tiny; }
    return ((1.0L + u) * (1.0L + u32) * (1.0L + u32) - 1.0L) * term + 1.001L * tiny + (long double)FLT_TRUE_MIN;
}

/* The square of row i's bound. */
static long double squared_row_bound(const bench_contestant *c, const bench_split_levels *levels, const bench_csr *a,
                                     const double *x, int64_t i)
{
    const long double ku = (long double)(a->row_ptr[i + 1] - a->row_ptr[i] + 2) * (0.5L * DBL_EPSILON);
    long double low = 0.0L, magnitude = 0.0L;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const double xj = x[a->col_ind[k]];

        low += entry_bound(c, bench_split_precision(c, levels, i, k), a->val[k], xj);
        magnitude += fabsl((long double)a->val[k] * xj);
    }
    /* both products round, the second one with values that are off by `low` */
    low += ku / (1.0L - ku) * (2.0L * magnitude + low);
    return low * low;
}

/* By blocks of rows: clang has no reduction of long double. */
double bench_split_bound(const bench_contestant *c, const bench_split_levels *levels, const bench_csr *a,
                         const double *x)
{
    enum { ROWS_AT_ONCE = 4096 };
    const int64_t blocks = (a->nrows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    long double *part = bench_allocate((size_t)blocks, sizeof *part), sum = 0.0L;

#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t end = (b + 1) * ROWS_AT_ONCE < a->nrows ? (b + 1) * ROWS_AT_ONCE : a->nrows;

        for (int64_t i = b * ROWS_AT_ONCE; i < end; i++) {
            part[b] += squared_row_bound(c, levels, a, x, i);
        }
    }
    for (int64_t b = 0; b < blocks; b++) {
        sum += part[b];
    }
    free(part);
    return (double)sqrtl(sum);
}

void bench_split_make_product(const bench_csr *a, const double *x, const uint8_t *low, bench_product *out)
{
    const double u = 0.5 * (double)FLT_EPSILON, tiny = (double)FLT_TRUE_MIN;

    bench_product_make(a, x, out);
#pragma omp parallel for schedule(dynamic, 1024)
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            double product = fabs(a->val[k] * x[a->col_ind[k]]);

            if (low[k] == 0) { continue; }
            /* the roundings of x and of the product, also as they grow in the sum; beyond FP32 it is infinite */
            out->bound[i] += product > (double)FLT_MAX * (1.0 - u) ? (double)INFINITY : 2.001 * u * product + tiny;
        }
    }
}
