/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/by_matrix.h"

#include <math.h>

#include "precond/multigrid/device.h"

/* Measured: docs/results/multigrid.md, "Smoothers by the matrix". Long rows, as in three dimensions, make levels of
   Ruge and Stueben dense and incomplete factors slow. */
static const double most_in_row = 12.0;
static const double some_convection = 0.03, strong_convection = 0.8, rotated = 0.05, mixed_signs = 0.1;
/* Products in a smoothing with two steps of incomplete factors. */
enum { PLAIN_DEGREE = 2, TWO_STEPS = 4 };

/* ---- facts ---- */

static double ratio(double a, double b)
{
    return b > 0.0 && isfinite(a / b) ? a / b : 0.0;
}

/* What finds the rows' sums: the host, or a GPU. */
typedef struct sampler {
    tess_context *ctx;
    csr_view rows;
    uint64_t seed;
    int64_t count; /* of rows */
} sampler;

static tess_status find_largest(const sampler *s, double *largest)
{
    if (s->ctx->device == TESS_DEVICE_GPU) {
        return amg_device_ops_of(s->ctx)->sample_largest(s->ctx, &s->rows, s->seed, s->count, largest);
    }
    for (int64_t k = 0; k < s->count; k++) {
        largest[k] = amg_sampled_row_largest(&s->rows, amg_sampled_row(s->rows.nrows, s->seed, k));
    }
    return TESS_SUCCESS;
}

static tess_status find_sums(const sampler *s, double scale, amg_row_sums *sums)
{
    if (s->ctx->device == TESS_DEVICE_GPU) {
        return amg_device_ops_of(s->ctx)->sample_sums(s->ctx, &s->rows, s->seed, scale, s->count, sums);
    }
    for (int64_t k = 0; k < s->count; k++) {
        sums[k] = amg_sample_row(&s->rows, amg_sampled_row(s->rows.nrows, s->seed, k), scale);
    }
    return TESS_SUCCESS;
}

static void add(const amg_row_sums *row, amg_row_sums *all)
{
    all->difference += row->difference;
    all->sum += row->sum;
    all->scaled_difference += row->scaled_difference;
    all->scaled_sum += row->scaled_sum;
    all->other_sign += row->other_sign;
    all->all += row->all;
}

static amg_matrix_facts facts_of_sums(const sampler *s, const amg_row_sums *sums)
{
    amg_row_sums all = {0};

    for (int64_t k = 0; k < s->count; k++) {
        add(&sums[k], &all);
    }
    return (amg_matrix_facts){.unsymmetry =
                                  fmin(ratio(all.difference, all.sum), ratio(all.scaled_difference, all.scaled_sum)),
                              .other_sign = ratio(all.other_sign, all.all),
                              .mean_row = s->rows.nrows > 0 ? (double)s->rows.nnz / (double)s->rows.nrows : 0.0};
}

tess_status amg_find_matrix_facts(const tess_matrix *a, uint64_t seed, amg_matrix_facts *facts)
{
    const csr_view *rows = &csr_of(a)->view;
    const sampler s = {a->ctx, *rows, seed, rows->nrows < AMG_SAMPLE ? rows->nrows : AMG_SAMPLE};
    double *largest = NULL, most = 0.0;
    amg_row_sums *sums = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, s.count, sizeof *largest, (void **)&largest));
    TESS_TRY(tess_host_allocate(a->ctx, s.count, sizeof *sums, (void **)&sums));
    TESS_TRY(find_largest(&s, largest));
    for (int64_t k = 0; k < s.count; k++) {
        most = fmax(most, largest[k]);
    }
    TESS_TRY(find_sums(&s, amg_square_scale(most), sums));
    *facts = facts_of_sums(&s, sums);
cleanup:
    tess_host_release(a->ctx, largest, s.count, sizeof *largest);
    tess_host_release(a->ctx, sums, s.count, sizeof *sums);
    return status;
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

bool amg_loses_symmetry(const tess_amg_options *o)
{
    return o->restriction == TESS_AMG_RESTRICTION_AIR || o->smoother == TESS_AMG_FC_JACOBI;
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

/* On a GPU, which has no incomplete factors on levels and no split by Ruge and Stueben. One step of damped Jacobi: the
   eigenvalues of strong convection are not real, and polynomials of a higher degree are large there. */
static void choose_on_device(amg_matrix_kind kind, tess_amg_options *o)
{
    if (kind == AMG_MATRIX_STRONG_CONVECTION && o->degree == PLAIN_DEGREE) { o->degree = 1; }
}

/* The coarsening that a matrix gets: classical or another. */
static tess_status takes_classical(const tess_matrix *a, const tess_amg_options *o, bool *classical)
{
    host_csr rows = {0};
    const amg_coarsening *coarsening = NULL;
    int block = 0;
    tess_status status = TESS_SUCCESS;

    if (a->ctx->device == TESS_DEVICE_GPU) {
        status = amg_device_choose_coarsening(a->ctx, o, a, &coarsening, &block);
    } else {
        TESS_TRY(host_csr_from_matrix(a, &rows));
        coarsening = amg_choose_coarsening(o, &rows);
    }
    *classical = coarsening == &amg_classical;
cleanup:
    host_csr_release(a->ctx, &rows);
    return status;
}

/* Of a matrix whose rows can be looked at. */
static tess_status choose_by_rows(const tess_matrix *a, tess_amg_options *o, amg_matrix_kind *kind)
{
    amg_matrix_facts facts;
    tess_amg_options without_modes = *o;
    bool classical = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_find_matrix_facts(a, o->seed, &facts));
    if (facts.unsymmetry >= some_convection) { without_modes.modes = 0; } /* none are found */
    TESS_TRY(takes_classical(a, &without_modes, &classical));
    if (!classical) { return TESS_SUCCESS; }
    *kind = amg_kind_of(&facts);
    if (without_modes.modes != o->modes && *kind != AMG_MATRIX_PLAIN) { o->modes = 0; }
    if (a->ctx->device == TESS_DEVICE_GPU) {
        choose_on_device(*kind, o);
    } else {
        choose(*kind, o);
    }
cleanup:
    return status;
}

tess_status amg_choose_by_matrix(const tess_matrix *a, tess_amg_options *o, amg_matrix_kind *kind)
{
    const bool readable = a->ctx->device == TESS_DEVICE_CPU || (amg_device_ops_of(a->ctx) && device_csr_takes(a));
    tess_status status = TESS_SUCCESS;

    *kind = AMG_MATRIX_PLAIN;
    if (leaves_all(o) && readable && !a->is_complex && a->nrows > o->coarsest) { TESS_TRY(choose_by_rows(a, o, kind)); }
    amg_choose_plainly(o);
cleanup:
    return status;
}
