/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/by_matrix.h"

#include <math.h>

#include "base/random.h"

/* Rows that are looked at. */
enum { SAMPLE = 4096 };
/* Measured: docs/results/multigrid.md, "Smoothers by the matrix". Long rows, as in three dimensions, make levels of
   Ruge and Stueben dense and incomplete factors slow. */
static const double most_in_row = 12.0;
static const double some_convection = 0.03, strong_convection = 0.8, rotated = 0.05, mixed_signs = 0.1;
/* Products in a smoothing with two steps of incomplete factors. */
enum { PLAIN_DEGREE = 2, TWO_STEPS = 4 };

/* ---- facts ---- */

/* a_ij, or 0, in a sorted row. */
static double entry(const host_csr *a, int64_t i, int64_t j)
{
    int64_t low = a->row_ptr[i], high = a->row_ptr[i + 1];

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (a->col_ind[middle] == j) { return a->val[middle]; }
        if (a->col_ind[middle] < j) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0.0;
}

/* Sums over entries off the diagonal. */
typedef struct entry_sums {
    double difference, sum;               /* |a_ij - a_ji|, |a_ij + a_ji| */
    double scaled_difference, scaled_sum; /* with rows divided by the diagonal */
    double other_sign, all;               /* magnitudes */
    double scale;                         /* of entries that are multiplied by one another */
} entry_sums;

static void add_row(const host_csr *a, int64_t i, entry_sums *s)
{
    const double own = entry(a, i, i);

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int64_t j = a->col_ind[k];
        const double there = a->val[k], back = j == i ? 0.0 : entry(a, j, i), its = entry(a, j, j);

        if (j == i) { continue; }
        s->difference += fabs(there - back);
        s->sum += fabs(there + back);
        s->scaled_difference += fabs(s->scale * there * (s->scale * its) - s->scale * back * (s->scale * own));
        s->scaled_sum += fabs(s->scale * there * (s->scale * its) + s->scale * back * (s->scale * own));
        s->all += fabs(there);
        if ((there > 0.0 && own > 0.0) || (there < 0.0 && own < 0.0)) { s->other_sign += fabs(there); }
    }
}

static double largest_of_row(const host_csr *a, int64_t i)
{
    double largest = 0.0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        largest = fmax(largest, fabs(a->val[k]));
    }
    return largest;
}

/* Of few rows all. */
static int64_t sampled_row(int64_t n, uint64_t seed, int64_t k)
{
    return n <= SAMPLE ? k : (int64_t)(tess_random_bits(seed, (uint64_t)k) % (uint64_t)n);
}

static double ratio(double a, double b)
{
    return b > 0.0 && isfinite(a / b) ? a / b : 0.0;
}

void amg_find_matrix_facts(const host_csr *a, uint64_t seed, amg_matrix_facts *facts)
{
    const int64_t n = a->nrows, count = n < SAMPLE ? n : SAMPLE;
    double largest = 0.0;
    entry_sums s = {0};

    for (int64_t k = 0; k < count; k++) {
        largest = fmax(largest, largest_of_row(a, sampled_row(n, seed, k)));
    }
    s.scale = amg_square_scale(largest);
    for (int64_t k = 0; k < count; k++) {
        add_row(a, sampled_row(n, seed, k), &s);
    }
    *facts =
        (amg_matrix_facts){.unsymmetry = fmin(ratio(s.difference, s.sum), ratio(s.scaled_difference, s.scaled_sum)),
                           .other_sign = ratio(s.other_sign, s.all),
                           .mean_row = n > 0 ? (double)host_csr_nnz(a) / (double)n : 0.0};
}

/* ---- choices ---- */

amg_matrix_kind amg_kind_of(const amg_matrix_facts *facts)
{
    if (facts->mean_row > most_in_row) { return AMG_MATRIX_PLAIN; }
    if (facts->unsymmetry >= some_convection) {
        const bool strong = facts->unsymmetry >= strong_convection && facts->other_sign < mixed_signs;

        return strong ? AMG_MATRIX_STRONG_CONVECTION : AMG_MATRIX_CONVECTION;
    }
    /* all of one sign: a mass matrix */
    return facts->other_sign >= rotated && facts->other_sign <= 0.5 ? AMG_MATRIX_ANISOTROPIC : AMG_MATRIX_PLAIN;
}

tess_amg_coarsening amg_settled_coarsening(const tess_amg_options *o, const char **by)
{
    const struct {
        bool given;
        tess_amg_coarsening kind;
        const char *name;
    } ways[] = {{o->coarsening == TESS_AMG_CLASSICAL, TESS_AMG_CLASSICAL, "--amg-coarsening classical"},
                {o->coarsening == TESS_AMG_AGGREGATION, TESS_AMG_AGGREGATION, "--amg-coarsening aggregation"},
                {o->coarsening == TESS_AMG_PLAIN, TESS_AMG_PLAIN, "--amg-coarsening plain"},
                {o->restriction == TESS_AMG_RESTRICTION_AIR, TESS_AMG_CLASSICAL, "--amg-restriction air"},
                {o->smoother == TESS_AMG_FC_JACOBI, TESS_AMG_CLASSICAL, "--amg-smoother fc-jacobi"},
                {o->split == TESS_AMG_SPLIT_RUGE_STUEBEN, TESS_AMG_CLASSICAL, "--amg-split ruge-stueben"},
                {o->near_nullspace != NULL, TESS_AMG_AGGREGATION, "a near-nullspace"},
                {o->modes > 0, TESS_AMG_AGGREGATION, "--amg-modes"},
                {o->block_size > 1, TESS_AMG_AGGREGATION, "--amg-block-size"}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!ways[i].given) { continue; }
        *by = ways[i].name;
        return ways[i].kind;
    }
    *by = NULL;
    return TESS_AMG_AUTO;
}

const char *amg_find_unread(const tess_amg_options *o, tess_amg_coarsening kind)
{
    tess_precond_options plain;

    tess_precond_options_init(&plain);
    const struct {
        bool given, classical; /* classical coarsening reads it, and aggregation does not; or the reverse */
        const char *name;
    } parts[] = {{o->smoother == TESS_AMG_FC_JACOBI, true, "--amg-smoother fc-jacobi"},
                 {o->split != TESS_AMG_SPLIT_AUTO, true, "--amg-split"},
                 {o->restriction != TESS_AMG_RESTRICTION_AUTO, true, "--amg-restriction"},
                 {o->aggressive > 0, true, "--amg-aggressive"}, /* 0: none, as aggregation has it */
                 {o->truncation != plain.amg.truncation, true, "--amg-truncation"},
                 {o->max_row_sum != plain.amg.max_row_sum, true, "--amg.max-row-sum"},
                 {o->near_nullspace != NULL, false, "a near-nullspace"},
                 {o->modes > 0, false, "--amg-modes"},
                 {o->block_size > 1, false, "--amg-block-size"}, /* 1: none, as classical coarsening has it */
                 {o->format != TESS_AMG_FORMAT_AUTO, false, "--amg-format"}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].given && parts[i].classical != (kind == TESS_AMG_CLASSICAL)) { return parts[i].name; }
    }
    return NULL;
}

/* What goes with the options that are given. */
static void complete(tess_amg_options *o)
{
    const char *by = NULL;

    if (o->coarsening == TESS_AMG_AUTO && amg_settled_coarsening(o, &by) == TESS_AMG_CLASSICAL) {
        o->coarsening = TESS_AMG_CLASSICAL;
    }
    if (o->smoother == TESS_AMG_FC_JACOBI && o->restriction == TESS_AMG_RESTRICTION_AUTO) {
        o->restriction = TESS_AMG_RESTRICTION_AIR;
    }
    if (o->restriction == TESS_AMG_RESTRICTION_AIR) {
        if (o->smoother == TESS_AMG_SMOOTHER_AUTO) { o->smoother = TESS_AMG_FC_JACOBI; }
        if (o->split == TESS_AMG_SPLIT_AUTO) { o->split = TESS_AMG_SPLIT_RUGE_STUEBEN; }
    }
}

void amg_choose_plainly(tess_amg_options *o)
{
    complete(o);
    if (o->smoother == TESS_AMG_SMOOTHER_AUTO) { o->smoother = TESS_AMG_CHEBYSHEV; }
    if (o->split == TESS_AMG_SPLIT_AUTO) { o->split = TESS_AMG_SPLIT_PMIS; }
    if (o->restriction == TESS_AMG_RESTRICTION_AUTO) { o->restriction = TESS_AMG_RESTRICTION_TRANSPOSE; }
}

static void choose(amg_matrix_kind kind, tess_amg_options *o)
{
    switch (kind) {
    case AMG_MATRIX_STRONG_CONVECTION: o->restriction = TESS_AMG_RESTRICTION_AIR; break;
    case AMG_MATRIX_CONVECTION:
        o->split = TESS_AMG_SPLIT_RUGE_STUEBEN;
        o->smoother = TESS_AMG_ILU0;
        break;
    case AMG_MATRIX_ANISOTROPIC:
        o->split = TESS_AMG_SPLIT_RUGE_STUEBEN;
        o->smoother = TESS_AMG_ILU0;
        if (o->degree == PLAIN_DEGREE) { o->degree = TWO_STEPS; }
        if (o->aggressive < 0) { o->aggressive = 1; }
        break;
    case AMG_MATRIX_PLAIN: break;
    }
}

static bool leaves_all(const tess_amg_options *o)
{
    return o->smoother == TESS_AMG_SMOOTHER_AUTO && o->split == TESS_AMG_SPLIT_AUTO &&
           o->restriction == TESS_AMG_RESTRICTION_AUTO;
}

tess_status amg_choose_by_matrix(const tess_matrix *a, tess_amg_options *o, amg_matrix_kind *kind)
{
    host_csr rows = {0};
    amg_matrix_facts facts;
    tess_amg_options without_modes = *o;
    tess_status status = TESS_SUCCESS;

    *kind = AMG_MATRIX_PLAIN;
    if (leaves_all(o) && a->ctx->device == TESS_DEVICE_CPU && !a->is_complex && a->nrows > o->coarsest) {
        TESS_TRY(host_csr_from_matrix(a, &rows));
        amg_find_matrix_facts(&rows, o->seed, &facts);
        if (facts.unsymmetry >= some_convection) { without_modes.modes = 0; } /* none are found */
        if (amg_choose_coarsening(&without_modes, &rows) == &amg_classical) {
            *kind = amg_kind_of(&facts);
            if (without_modes.modes != o->modes && *kind != AMG_MATRIX_PLAIN) { o->modes = 0; }
            choose(*kind, o);
        }
    }
    amg_choose_plainly(o);
cleanup:
    host_csr_release(a->ctx, &rows);
    return status;
}
