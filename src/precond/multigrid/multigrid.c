/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner amg: options, set-up, renewal, application, facts. */
#include <string.h>

#include <tessera/names.h>

#include "base/spare_memory.h"
#include "precond/multigrid/by_matrix.h"
#include "precond/multigrid/choice.h"
#include "precond/multigrid/cycle/columns.h"
#include "precond/multigrid/device.h"
#include "precond/multigrid/modes.h"
#include "precond/precond.h"

/* Vectors that a trial may find: more from the same steps are less good. */
enum { MODES_OF_A_TRIAL = 3 };
/* Levels whose cycles leave less of an error are not compared with others. */
#define GOOD_FACTOR 0.7
/* Nor are those for convection with at most so many times the entries of the matrix. */
#define MOST_FOR_CONVECTION 9.0
/* With more, which graphs without a geometry have, the set-up for convection ends, and the plain choice follows. */
#define END_FOR_CONVECTION 12.0
/* With levels of more than so many times the entries of the matrix no more are looked for. */
#define MOST_COMPLEX 4.0

/* What auto measured of a coarsening that it did not take. */
typedef struct amg_trial {
    tess_amg_coarsening kind; /* AUTO: there was none */
    double complexity, factor;
} amg_trial;

typedef struct amg {
    amg_hierarchy hierarchy;
    amg_cycle cycle;
    amg_columns columns;          /* its vectors for several columns */
    amg_trial trial;              /* of the coarsening that auto did not take */
    tess_amg_options asked;       /* as given; those of the hierarchy have no auto smoother, split, restriction */
    amg_matrix_kind kind;         /* by which these were chosen */
    tess_amg_precision precision; /* the one asked for, or a higher one after a failure */
    bool for_fp32;                /* callers have FP32 vectors */
    bool negative;                /* the matrix has a negative trace */
    int raised;
    uint64_t revision;
    double *near_nullspace; /* a copy of the caller's, and what was found; NULL: there is none */
    int64_t near_values;    /* for which it has space */
    int modes;              /* columns that were found */
} amg;

static const tess_precond_ops precond_amg_on_host;

/* ---- options ---- */

static tess_status refuse(const tess_matrix *a, const char *hint, const char *what)
{
    return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, hint, "amg: %s", what);
}

static tess_status check_near_nullspace(const tess_matrix *a, const tess_amg_options *o)
{
    const int columns = o->near_nullspace_columns;

    if (o->block_size < 0 || o->block_size > TESS_MAX_AMG_BLOCK ||
        (o->block_size > 0 && a->nrows % o->block_size != 0)) {
        return refuse(a, "use 1 to 6, and a matrix of whole blocks, or leave out --amg-block-size",
                      "--amg-block-size does not fit the matrix");
    }
    if (columns < 0 || columns > TESS_MAX_NEAR_NULLSPACE) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "give fewer",
                         "amg: the near-nullspace has %s, but amg takes 16 at most",
                         tess_count(columns, "vector").text);
    }
    if ((columns > 0) != (o->near_nullspace != NULL)) {
        return refuse(a, "give nrows values for each of near_nullspace_columns vectors",
                      "near_nullspace and near_nullspace_columns do not fit together");
    }
    if (columns == TESS_MAX_NEAR_NULLSPACE && o->modes > 0) {
        return refuse(a, "leave out --amg-modes, or give fewer vectors",
                      "a near-nullspace of 16 columns leaves no room for more");
    }
    return TESS_SUCCESS;
}

static tess_status check_numbers(const tess_matrix *a, const tess_amg_options *o)
{
    if (o->degree < 1 || o->degree > AMG_MAX_DEGREE) {
        return refuse(a, "use a degree from 1 to 4", "the smoother's degree is out of range");
    }
    if (o->max_levels < 1 || o->max_levels > TESS_MAX_AMG_LEVELS) {
        return refuse(a, "use 1 to 32", "max_levels is out of range");
    }
    if (!(o->strength <= 1.0)) { return refuse(a, "use 0 to 1; below 0: the default", "strength is above 1"); }
    if (!(o->max_row_sum > 0.0 && o->max_row_sum <= 1.0)) {
        return refuse(a, "use a number up to 1, such as 0.9; 1: all rows", "max_row_sum is out of range");
    }
    if (o->truncation < 0 || o->coarsest < 1 || o->aggressive < -1) {
        return refuse(a, "truncation from 0, coarsest from 1, aggressive from -1", "a number is out of range");
    }
    if (o->modes < 0 || o->modes >= TESS_MAX_NEAR_NULLSPACE) {
        return refuse(a, "use 0 to 15", "the number of modes is out of range");
    }
    if (o->smoother == TESS_AMG_FC_JACOBI && o->restriction == TESS_AMG_RESTRICTION_TRANSPOSE) {
        return refuse(a, "use amg.restriction air (--amg-restriction air), or another smoother",
                      "fc-jacobi smooths only what air leaves");
    }
    if (o->modes > 0 && a->is_complex) { /* vectors would have to come in pairs v, i v */
        return refuse(a, "leave out --amg-modes", "vectors are found for real matrices alone");
    }
    return check_near_nullspace(a, o);
}

static tess_status check(const tess_matrix *a, const tess_precond_options *o)
{
    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi with a diagonal function, or a shell preconditioner",
                         "amg needs the entries of the matrix, but a shell matrix has none");
    }
    return check_numbers(a, &o->amg);
}

/* ---- set-up ---- */

/* Smoothers of a negative definite matrix take steps of the other sign. */
static tess_status find_sign(tess_precond *m)
{
    tess_vector *diagonal = NULL, *ones = NULL;
    double trace = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_create(m->ctx, m->n, TESS_PRECISION_FP64, &diagonal));
    TESS_TRY(tess_vector_create(m->ctx, m->n, TESS_PRECISION_FP64, &ones));
    TESS_TRY(tess_matrix_raw_diagonal(m->matrix, diagonal->data));
    TESS_TRY(tess_vector_fill(ones, 1.0));
    TESS_TRY(tess_vector_dot(diagonal, ones, TESS_ARITHMETIC_FP64, &trace));
    ((amg *)m->own)->negative = trace < 0.0;
cleanup:
    tess_vector_destroy(diagonal);
    tess_vector_destroy(ones);
    return status;
}

/* Stores the levels of a hierarchy in a precision. */
static tess_status open_levels(const amg *own, const amg_hierarchy *h, amg_cycle *cycle)
{
    tess_status status = TESS_SUCCESS;

    *cycle = (amg_cycle){.ctx = h->ctx, .options = h->options, .negative = own->negative};
    status = amg_cycle_open(cycle, h, own->precision, own->for_fp32);
    if (status != TESS_SUCCESS) { amg_cycle_close(cycle); }
    return status;
}

static tess_status open_cycle(tess_precond *m)
{
    amg *own = m->own;

    own->revision += 1;
    return open_levels(own, &own->hierarchy, &own->cycle);
}

static void close_all(amg *own)
{
    amg_cycle_close(&own->cycle);
    amg_hierarchy_close(&own->hierarchy);
}

static void close_candidate(amg_candidate *c)
{
    amg_cycle_close(&c->cycle);
    amg_hierarchy_close(&c->hierarchy);
}

/* Measures both, and leaves the worse in *other. */
static tess_status take_better(tess_precond *m, amg_candidate *other)
{
    amg *own = m->own;
    amg_candidate first = {own->hierarchy, own->cycle};
    double mine = 1.0, its = 1.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_measure_factor(&own->cycle, m->matrix, &mine));
    TESS_TRY(amg_measure_factor(&other->cycle, m->matrix, &its));
    if (amg_is_better(&own->cycle, mine, &other->cycle, its)) {
        own->hierarchy = other->hierarchy;
        own->cycle = other->cycle;
        *other = first;
        its = mine;
    }
    own->trial = (amg_trial){other->hierarchy.coarsening->kind, amg_operator_complexity(&other->cycle), its};
cleanup:
    return status;
}

/* Levels with more entries than these, over those of the matrix, are not finished. */
static double most_of_other(const amg *own)
{
    return fmax(END_FOR_CONVECTION, amg_operator_complexity(&own->cycle));
}

/* Sets up the other coarsening too, where auto is in doubt, and takes the better of both. One that fails is not taken.
 */
static void try_other(tess_precond *m)
{
    const tess_error before = m->ctx->error;
    amg *own = m->own;
    amg_candidate first = {own->hierarchy, own->cycle},
                  other = {.hierarchy = {.ctx = m->ctx}, .cycle = {.ctx = m->ctx}};
    tess_status status = TESS_SUCCESS;

    own->trial = (amg_trial){.kind = TESS_AMG_AUTO};
    if (own->kind >= AMG_MATRIX_CONVECTION && own->cycle.count > 1) { return; } /* aggregation fails there */
    if (!amg_is_doubtful(&first) || amg_predict_bytes(m->matrix) > tess_spare_memory()) { return; }
    other.hierarchy.options = own->asked;
    amg_choose_plainly(&other.hierarchy.options);
    other.hierarchy.options.coarsening = amg_other_coarsening(own->hierarchy.coarsening->kind);
    other.hierarchy.most_entries = most_of_other(own);
    TESS_TRY(amg_hierarchy_build(&other.hierarchy, m->matrix));
    TESS_TRY(open_levels(own, &other.hierarchy, &other.cycle));
    status = take_better(m, &other);
cleanup:
    if (status != TESS_SUCCESS) { m->ctx->error = before; }
    close_candidate(&other);
}

/* Levels that were chosen for convection, where a few cycles show that they do little: the plain choice too, and the
   better of both. */
static void check_choice(tess_precond *m)
{
    const tess_error before = m->ctx->error;
    amg *own = m->own;
    amg_candidate other = {.hierarchy = {.ctx = m->ctx}, .cycle = {.ctx = m->ctx}};
    double factor = 1.0, plain = 1.0;
    bool large = false;
    tess_status status = TESS_SUCCESS;

    if (own->kind < AMG_MATRIX_CONVECTION || own->hierarchy.device) { return; } /* a GPU's levels are plain */
    TESS_TRY(amg_measure_factor(&own->cycle, m->matrix, &factor));
    large = amg_operator_complexity(&own->cycle) > MOST_FOR_CONVECTION;
    if ((factor <= GOOD_FACTOR && !large) || amg_predict_bytes(m->matrix) > tess_spare_memory()) { return; }
    other.hierarchy.options = own->asked;
    amg_choose_plainly(&other.hierarchy.options);
    other.hierarchy.most_entries = most_of_other(own);
    TESS_TRY(amg_hierarchy_build(&other.hierarchy, m->matrix));
    TESS_TRY(open_levels(own, &other.hierarchy, &other.cycle));
    TESS_TRY(amg_measure_factor(&other.cycle, m->matrix, &plain));
    if ((plain <= GOOD_FACTOR || large) && amg_is_better(&own->cycle, factor, &other.cycle, plain)) {
        const amg_candidate first = {own->hierarchy, own->cycle};

        own->hierarchy = other.hierarchy;
        own->cycle = other.cycle;
        other = first;
    }
cleanup:
    if (status != TESS_SUCCESS) { m->ctx->error = before; }
    close_candidate(&other);
}

/* Levels for the first time, by the matrix. Factors that break down leave the plain choice. */
static tess_status build_levels(tess_precond *m)
{
    amg *own = m->own;
    amg_hierarchy *h = &own->hierarchy;
    const tess_error before = m->ctx->error;
    tess_status status = TESS_SUCCESS;

    h->options = own->asked;
    TESS_TRY(amg_choose_by_matrix(m->matrix, &h->options, &own->kind));
    if (own->kind >= AMG_MATRIX_CONVECTION && m->ctx->device == TESS_DEVICE_CPU) {
        h->most_entries = END_FOR_CONVECTION;
    }
    status = amg_hierarchy_build(h, m->matrix);
    if (status == TESS_SUCCESS) { status = open_cycle(m); }
    if ((status != TESS_SINGULAR && !h->too_large) || own->kind == AMG_MATRIX_PLAIN) { goto cleanup; }
    m->ctx->error = before;
    close_all(own);
    own->kind = AMG_MATRIX_PLAIN;
    *h = (amg_hierarchy){.ctx = m->ctx, .options = own->asked};
    amg_choose_plainly(&h->options);
    TESS_TRY(amg_hierarchy_build(h, m->matrix));
    status = open_cycle(m);
cleanup:
    return status;
}

/* Space for the near-nullspace and `most` columns more, which begins with the caller's or with constants. */
static tess_status open_modes(const tess_precond *m, int most, amg_modes *modes)
{
    const amg *own = m->own;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, m->n * (modes->given + most), sizeof *modes->values, (void **)&modes->values));
    for (int64_t c = 0; c < modes->given; c++) {
        for (int64_t i = 0; i < m->n; i++) {
            modes->values[c * m->n + i] =
                own->near_nullspace ? own->near_nullspace[c * m->n + i] : (double)(i % modes->given == c);
        }
    }
cleanup:
    return status;
}

/* Levels anew by these options, in place of those of the preconditioner. */
static tess_status coarsen_again(tess_precond *m, const tess_amg_options *options)
{
    amg *own = m->own;
    amg_candidate first = {own->hierarchy, own->cycle},
                  other = {.hierarchy = {.ctx = m->ctx, .options = *options}, .cycle = {.ctx = m->ctx}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_hierarchy_build(&other.hierarchy, m->matrix));
    TESS_TRY(open_levels(own, &other.hierarchy, &other.cycle));
    own->hierarchy = other.hierarchy;
    own->cycle = other.cycle;
    other = first;
cleanup:
    close_candidate(&other);
    return status;
}

/* Trial cycles, and levels of what they leave, until that is little. `modes` has the columns of the levels. */
static tess_status search_modes(tess_precond *m, int most, amg_modes *modes)
{
    amg *own = m->own;
    int tried = -1;
    tess_status status = TESS_SUCCESS;

    while (modes->found < most && modes->found > tried && amg_operator_complexity(&own->cycle) <= MOST_COMPLEX) {
        const int left = most - modes->found;

        tried = modes->found;
        TESS_TRY(amg_find_modes(&own->cycle, m->matrix, left < MODES_OF_A_TRIAL ? left : MODES_OF_A_TRIAL, modes));
        if (modes->found > tried) {
            tess_amg_options options = own->hierarchy.options;

            options.coarsening = own->hierarchy.coarsening->kind;
            options.near_nullspace = modes->values;
            options.near_nullspace_columns = modes->given + modes->found;
            TESS_TRY(coarsen_again(m, &options));
        }
    }
cleanup:
    if (status != TESS_SUCCESS) { modes->found = tried > 0 ? tried : 0; }
    return status;
}

/* Finds near-null vectors, if they are asked for. Where memory does not suffice for more, the levels stay. */
static tess_status add_modes(tess_precond *m)
{
    amg *own = m->own;
    const tess_amg_options *o = &own->hierarchy.options;
    const int given = own->near_nullspace ? o->near_nullspace_columns : amg_unknowns_of_node(&own->hierarchy);
    const int left = TESS_MAX_NEAR_NULLSPACE - given, most = o->modes < left ? (int)o->modes : left;
    const tess_error before = m->ctx->error;
    amg_modes modes = {.given = given};
    tess_status status = TESS_SUCCESS;

    if (most <= 0 || own->modes > 0 || own->cycle.count < 2) { return TESS_SUCCESS; }
    TESS_TRY(open_modes(m, most, &modes));
    TESS_TRY(search_modes(m, most, &modes));
    if (modes.found == 0 && o->coarsening == TESS_AMG_AUTO) { /* as without the wish for vectors */
        tess_amg_options options = *o;

        options.modes = 0;
        status = coarsen_again(m, &options);
    }
cleanup:
    if (modes.found > 0) {
        tess_host_release(m->ctx, own->near_nullspace, own->near_values, sizeof *own->near_nullspace);
        own->near_nullspace = modes.values;
        own->near_values = m->n * (given + most);
        own->modes = modes.found;
    } else {
        tess_host_release(m->ctx, modes.values, m->n * (given + most), sizeof *modes.values);
    }
    if (status != TESS_OUT_OF_MEMORY && status != TESS_OUT_OF_DEVICE_MEMORY) { return status; }
    m->ctx->error = before;
    return TESS_SUCCESS;
}

/* New values of levels whose stored matrices and vectors stay too: of those on a GPU, and of a CPU. Without memory of
   the GPU for both, *renewed is false. */
static tess_status renew_kept(tess_precond *m, bool *renewed)
{
    const tess_error before = m->ctx->error;
    amg *own = m->own;
    tess_status status = TESS_SUCCESS;

    *renewed = false;
    if (own->cycle.count == 0 || (!own->hierarchy.device && m->ctx->device == TESS_DEVICE_GPU)) { return TESS_SUCCESS; }
    TESS_TRY(amg_hierarchy_renew(&own->hierarchy, m->matrix));
    own->revision += 1;
    status = own->hierarchy.device ? amg_device_renew_cycle(&own->cycle, &own->hierarchy, own->precision)
                                   : amg_cycle_renew(&own->cycle, &own->hierarchy, own->precision);
    *renewed = status == TESS_SUCCESS;
cleanup:
    if (status != TESS_OUT_OF_DEVICE_MEMORY) { return status; }
    m->ctx->error = before;
    return TESS_SUCCESS;
}

/* Options that turned out to be without effect, because the matrix decided. */
static void tell_unread(const tess_precond *m)
{
    const amg *own = m->own;
    const tess_amg_coarsening kind = own->hierarchy.coarsening->kind;
    const char *unread = amg_find_unread(&own->asked, kind);

    if (unread) {
        tess_log(m->ctx, TESS_LOG_WARN, "amg: %s has no effect, because the levels are by %s", unread,
                 kind == TESS_AMG_CLASSICAL ? "classical coarsening" : "aggregation");
    } else if (own->near_nullspace && own->cycle.count == 1 && m->n > own->asked.coarsest &&
               own->asked.max_levels > 1) {
        tess_log(m->ctx, TESS_LOG_WARN,
                 "amg: one level is left alone, because with %s of a near-nullspace the next has as many rows",
                 tess_count(own->asked.near_nullspace_columns, "column").text);
    } else if (own->asked.modes > 0 && own->modes == 0) {
        tess_log(m->ctx, TESS_LOG_WARN, "amg: --amg-modes has no effect, because trial cycles found no vector");
    }
}

/* The levels for the matrix's values: anew, or if there are some on their patterns. */
static tess_status set_up(tess_precond *m)
{
    amg *own = m->own;
    amg_hierarchy *h = &own->hierarchy;
    const bool renews = h->count > 0;
    bool renewed = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_sign(m));
    own->cycle.negative = own->negative;
    if (renews) { TESS_TRY(renew_kept(m, &renewed)); }
    if (renewed) { return TESS_SUCCESS; }
    amg_cycle_close(&own->cycle);
    if (renews) {
        TESS_TRY(amg_hierarchy_renew(h, m->matrix));
        TESS_TRY(open_cycle(m));
    } else {
        TESS_TRY(build_levels(m));
        check_choice(m);
        try_other(m);
        TESS_TRY(add_modes(m));
        tell_unread(m);
    }
cleanup:
    if (status != TESS_SUCCESS) { close_all(own); }
    return status;
}

static void destroy(tess_precond *m)
{
    amg *own = m->own;

    if (!own) { return; }
    close_all(own);
    amg_columns_release(&own->columns);
    tess_host_release(m->ctx, own->near_nullspace, own->near_values, sizeof *own->near_nullspace);
    tess_host_release(m->ctx, own, 1, sizeof *own);
    m->own = NULL;
}

static tess_status copy_near_nullspace(tess_precond *m)
{
    amg *own = m->own;
    tess_amg_options *o = &own->hierarchy.options;

    if (m->n * o->near_nullspace_columns == 0) { return TESS_SUCCESS; }
    own->near_values = m->n * o->near_nullspace_columns;
    return amg_copy_near_nullspace(m->ctx, m->n, o, &own->near_nullspace);
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    amg *own = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, 1, sizeof *own, &m->own));
    own = m->own;
    memset(own, 0, sizeof *own);
    own->precision = options->amg.precision;
    own->for_fp32 = options->role.given && options->role.arithmetic == TESS_ARITHMETIC_FP32;
    own->cycle.ctx = m->ctx;
    own->hierarchy = (amg_hierarchy){.ctx = m->ctx, .options = options->amg};
    TESS_TRY(copy_near_nullspace(m));
    own->asked = own->hierarchy.options;
    m->varies = options->amg.cycle == TESS_AMG_K;
    if (m->varies) { m->ops = &precond_amg_on_host; }
    if (amg_loses_symmetry(&options->amg)) {
        m->unsymmetric = options->amg.smoother == TESS_AMG_FC_JACOBI ? "amg with --amg-smoother fc-jacobi"
                                                                     : "amg with --amg-restriction air";
    }
    status = set_up(m);
cleanup:
    return status;
}

/* Precisions in steps of bytes: what a failure raises a level to. */
static int step_of(tess_precision p)
{
    const size_t bytes = tess_precision_bytes(p);

    return bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
}

static int lowest_step(const amg *own)
{
    int lowest = step_of(TESS_PRECISION_FP64);

    for (int l = 0; l < own->cycle.count; l++) {
        const int step = step_of(own->cycle.level[l].precision);

        lowest = step < lowest ? step : lowest;
    }
    return own->cycle.vectors == TESS_PRECISION_FP64 ? lowest : lowest < 2 ? lowest : 2;
}

static bool can_widen(const tess_precond *m)
{
    return lowest_step(m->own) < step_of(TESS_PRECISION_FP64);
}

/* The levels of the lowest precision go one step up. Returns the precision that they get. */
static tess_amg_precision raise_lowest(amg *own)
{
    static const tess_amg_precision next[] = {TESS_AMG_PRECISION_FP16, TESS_AMG_PRECISION_FP32,
                                              TESS_AMG_PRECISION_FP64};
    const int lowest = lowest_step(own);
    uint8_t *wanted = own->hierarchy.options.level_precision;

    for (int l = 0; l < own->cycle.count && l < TESS_AMG_LEVEL_PRECISIONS; l++) {
        if (step_of(own->cycle.level[l].precision) == lowest) { wanted[l] = (uint8_t)next[lowest]; }
    }
    own->precision = next[lowest];
    return next[lowest];
}

static tess_status widen(tess_precond *m, bool *widened)
{
    amg *own = m->own;
    tess_amg_precision higher = TESS_AMG_PRECISION_FP64;
    tess_status status = TESS_SUCCESS;

    *widened = can_widen(m);
    if (!*widened) { return TESS_SUCCESS; }
    higher = raise_lowest(own);
    own->raised += 1;
    amg_cycle_close(&own->cycle);
    status = open_cycle(m);
    if (status == TESS_SUCCESS) {
        tess_log(m->ctx, TESS_LOG_INFO, "amg: the levels did not do, and those of the lowest precision are now in %s",
                 tess_amg_precision_name(higher));
    }
    return status;
}

/* ---- application ---- */

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const amg *own = m->own;

    if (own->cycle.count == 0) {
        return tess_fail(m->ctx, TESS_SINGULAR, "renew the preconditioner with other values",
                         "amg cannot be applied, because its set-up failed");
    }
    return amg_cycle_apply(&own->cycle, vectors, r, z, reduction->state);
}

static bool takes_columns(const tess_precond *m)
{
    const amg *own = m->own;

    return own && own->cycle.count > 0 && amg_columns_fit(&own->cycle);
}

static tess_status prepare_columns(const tess_precond *m, int columns)
{
    amg *own = m->own;

    return amg_columns_prepare(&own->columns, &own->cycle, columns);
}

static tess_status apply_columns(const tess_precond *m, int columns, const double *r, double *z)
{
    amg *own = m->own;

    return amg_columns_apply(&own->columns, &own->cycle, columns, r, z);
}

/* ---- facts ---- */

static uint64_t revision(const tess_precond *m)
{
    return ((const amg *)m->own)->revision;
}

/* On a CPU also the values of the hierarchy and its state, which stay for updates; the cycle's matrices count its
   indices. On a GPU that has built the levels also these. */
static int64_t bytes(const tess_precond *m)
{
    const amg *own = m->own;
    int64_t sum = amg_cycle_bytes(&own->cycle) + amg_device_bytes(&own->hierarchy);

    for (int l = 0; m->ctx->device == TESS_DEVICE_CPU && l < own->hierarchy.count; l++) {
        const amg_level *level = &own->hierarchy.level[l];
        const int64_t entries = host_csr_nnz(&level->p) + host_csr_nnz(&level->r);

        sum += (int64_t)sizeof(double) * (entries + (l > 0 ? host_csr_nnz(&level->a) : 0));
        sum += (int64_t)sizeof(int32_t) * host_csr_nnz(&level->ap);
    }
    if (m->ctx->device == TESS_DEVICE_CPU && own->hierarchy.count > 0 && own->hierarchy.coarsening->bytes) {
        sum += own->hierarchy.coarsening->bytes(own->hierarchy.state, own->hierarchy.count);
    }
    return sum;
}

static void describe_level(const amg_cycle_level *l, tess_amg_level *out)
{
    *out = (tess_amg_level){.rows = l->n,
                            .nonzeros = l->nnz,
                            .transfer = l->p ? l->p->nnz : 0,
                            .precision = l->precision,
                            .format = l->a->format,
                            .bytes = amg_level_bytes(l)};
}

static void levels(const tess_precond *m, tess_amg_levels *out)
{
    const amg *own = m->own;
    const amg_cycle *c = &own->cycle;
    double rows = 0.0, nonzeros = 0.0;

    out->count = c->count;
    out->coarsening = own->hierarchy.coarsening->kind;
    out->given_up = own->trial.kind;
    out->given_up_complexity = own->trial.complexity;
    out->given_up_factor = own->trial.factor;
    out->vectors = c->vectors;
    out->raised = own->raised;
    out->coarsest_rank = c->rank;
    out->modes = own->modes;
    out->smoother = own->hierarchy.options.smoother;
    out->split = own->hierarchy.options.split;
    out->restriction = own->hierarchy.options.restriction;
    out->degree = own->hierarchy.options.degree;
    out->coarsening_seconds = own->hierarchy.coarsening_seconds;
    out->product_seconds = own->hierarchy.product_seconds;
    out->storing_seconds = c->storing_seconds;
    out->setup_device = own->hierarchy.device ? TESS_DEVICE_GPU : TESS_DEVICE_CPU;
    out->strength_seconds = own->hierarchy.stage_seconds[AMG_STAGE_STRENGTH];
    out->split_seconds = own->hierarchy.stage_seconds[AMG_STAGE_SPLIT];
    out->interpolation_seconds = own->hierarchy.stage_seconds[AMG_STAGE_INTERPOLATION];
    for (int l = 0; l < c->count; l++) {
        describe_level(&c->level[l], &out->level[l]);
        rows += (double)out->level[l].rows;
        nonzeros += (double)out->level[l].nonzeros;
    }
    if (c->count > 0 && out->level[0].nonzeros > 0) {
        out->operator_complexity = nonzeros / (double)out->level[0].nonzeros;
        out->grid_complexity = rows / (double)out->level[0].rows;
    }
}

#define AMG_OPERATIONS                                                                                  \
    .kind = TESS_PRECOND_AMG, .check = check, .create = create, .renew = set_up, .apply = apply,        \
    .takes_columns = takes_columns, .prepare_columns = prepare_columns, .apply_columns = apply_columns, \
    .widen = widen, .can_widen = can_widen, .revision = revision, .bytes = bytes, .levels = levels, .destroy = destroy

const tess_precond_ops precond_amg = {AMG_OPERATIONS};
/* With K cycles, whose scalars the host reads. */
static const tess_precond_ops precond_amg_on_host = {AMG_OPERATIONS, .on_host = true};
