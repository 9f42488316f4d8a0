/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments over a backend's passes: the code that all backends share. */
#include <math.h>
#include <string.h>

#include "policy/choice.h"

/* Number of levels in the array. */
static int64_t level_count(const tess_assignment *assignment)
{
    switch (assignment->summary.options.granularity) {
    case TESS_GRANULARITY_MATRIX: break;
    case TESS_GRANULARITY_ROW: return assignment->nrows;
    case TESS_GRANULARITY_ENTRY: return assignment->nnz;
    case TESS_GRANULARITY_BLOCK: return assignment->grid.nblocks;
    }
    return 0;
}

static int64_t exponent_count(const tess_assignment *assignment)
{
    return assignment->grid.rows > 0 ? assignment->grid.nblocks : assignment->nrows;
}

static void release_exponents(tess_assignment *assignment)
{
    tess_device_release(assignment->ctx, assignment->exponent, exponent_count(assignment),
                        sizeof *assignment->exponent);
    assignment->exponent = NULL;
}

static void release_arrays(tess_assignment *assignment)
{
    tess_device_release(assignment->ctx, assignment->level, level_count(assignment), sizeof *assignment->level);
    assignment->level = NULL;
    tess_device_release(assignment->ctx, assignment->of_entry, assignment->nnz, sizeof *assignment->of_entry);
    assignment->of_entry = NULL;
    release_exponents(assignment);
    block_grid_release(assignment->ctx, &assignment->grid);
}

void tess_assignment_hold(const tess_assignment *assignment)
{
    if (assignment) { ((tess_assignment *)(uintptr_t)assignment)->holders += 1; }
}

void tess_assignment_release(const tess_assignment *assignment)
{
    tess_assignment_destroy((tess_assignment *)(uintptr_t)assignment);
}

void tess_assignment_destroy(tess_assignment *assignment)
{
    tess_context *ctx = assignment ? assignment->ctx : NULL;

    if (!assignment) { return; }
    assignment->holders -= 1;
    if (assignment->holders > 0) { return; }
    release_arrays(assignment);
    tess_host_release(ctx, assignment, 1, sizeof *assignment);
    tess_context_destroy(ctx);
}

static tess_status require_assembled(const tess_matrix *a)
{
    if (a->ops && !a->original) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix that it was made from",
                     "an assignment of precisions needs an assembled matrix, not %s",
                     a->ops ? "a stored one" : "a shell");
}

static assign_task task_of(const tess_assignment *assignment, const tess_matrix *a)
{
    const tess_policy_options *o = &assignment->summary.options;

    return (assign_task){.csr = csr_of(a)->view,
                         .rules = tess_policy_rules(o),
                         .policy = o->policy,
                         .parameter = o->parameter,
                         .arithmetic = o->arithmetic,
                         .matrix_norm = o->matrix_norm != 0,
                         .without_diagonal = o->without_diagonal != 0,
                         .norm = assignment->norm,
                         .whole = assignment->whole,
                         .level = assignment->level,
                         .exponent = assignment->exponent,
                         .grid = assignment->grid};
}

/*
 * If the diagonal is left out: marks its entries in the levels, if those are by entry, else in an array of its own
 * (*own, which the caller releases), and lets the task skip them.
 */
static tess_status skip_diagonal(const tess_assignment *assignment, assign_task *task, uint8_t **own)
{
    bool by_entry = assignment->summary.options.granularity == TESS_GRANULARITY_ENTRY;
    uint8_t *skip = assignment->level;
    tess_status status = TESS_SUCCESS;

    *own = NULL;
    if (!assignment->summary.options.without_diagonal) { return TESS_SUCCESS; }
    if (!by_entry) {
        TESS_TRY(tess_device_allocate(assignment->ctx, assignment->nnz, sizeof *skip, (void **)own));
        skip = *own;
    }
    TESS_TRY(assign_ops_of(assignment->ctx)->mark_diagonal(assignment->ctx, &task->csr, skip));
    task->skip = skip;
cleanup:
    return status;
}

/* Puts everything at one level. */
static void gather_nonzeros(int64_t nonzeros[TESS_MAX_LEVELS], int level)
{
    int64_t all = 0;

    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        all += nonzeros[l];
        nonzeros[l] = 0;
    }
    nonzeros[level] = all;
}

static void fill_summary(tess_assignment *assignment, const assign_totals *totals)
{
    tess_assignment_summary *s = &assignment->summary;
    bool whole = s->options.granularity == TESS_GRANULARITY_MATRIX;
    bool entries = s->options.granularity == TESS_GRANULARITY_ENTRY;
    bool by_range = s->options.policy != TESS_POLICY_LOSSLESS && s->options.policy != TESS_POLICY_ERROR_BOUND;

    assignment->norm = totals->norm;
    s->items = whole ? 1 : level_count(assignment);
    s->empty = whole || entries ? 0 : (int64_t)totals->count[ASSIGN_EMPTY];
    s->left_out = entries ? (int64_t)totals->count[ASSIGN_EMPTY] : 0;
    s->mean_magnitude = totals->mean;
    s->std_magnitude = totals->std;
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        s->range[l] = !by_range && totals->ranges.range[l] > 0.0 ? (double)INFINITY : totals->ranges.range[l];
        s->items_at[l] = whole ? l == assignment->whole : (int64_t)totals->count[ASSIGN_ITEMS + l];
        s->nonzeros_at[l] = (int64_t)totals->count[ASSIGN_NONZEROS + l];
        s->scaled[l] = totals->count[ASSIGN_SCALED + l] > 0;
    }
    if (whole) { gather_nonzeros(s->nonzeros_at, assignment->whole); }
    s->largest_relative_error = s->backward_error = -1.0;
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        s->largest_error_at[l] = -1.0;
    }
}

/* Allocates the arrays, with lengths from the matrix, and fills them. */
static tess_status make_levels(tess_assignment *assignment, const tess_matrix *a, assign_totals *totals)
{
    tess_context *ctx = assignment->ctx;
    const tess_policy_options *o = &assignment->summary.options;
    const policy_rules rules = tess_policy_rules(o);
    uint8_t *skip = NULL;
    assign_task task;
    tess_status status = TESS_SUCCESS;

    if (o->granularity != TESS_GRANULARITY_MATRIX) {
        TESS_TRY(
            tess_device_allocate(ctx, level_count(assignment), sizeof *assignment->level, (void **)&assignment->level));
    }
    if (policy_has_scales(&rules)) {
        TESS_TRY(tess_device_allocate(ctx, a->nrows, sizeof *assignment->exponent, (void **)&assignment->exponent));
    }
    task = task_of(assignment, a);
    TESS_TRY(skip_diagonal(assignment, &task, &skip));
    TESS_TRY(assign_ops_of(ctx)->assign(ctx, &task, totals));
cleanup:
    tess_device_release(ctx, skip, assignment->nnz, sizeof *skip);
    return status;
}

/* The first of the levels with rows; the last if there are none. */
static int highest_level(int nlevels, const assign_totals *totals)
{
    int level = 0;

    while (level < nlevels - 1 && totals->count[ASSIGN_ITEMS + level] == 0) {
        level++;
    }
    return level;
}

/* Whether level l, not the first, takes all rows. */
static tess_status takes_all(const tess_assignment *assignment, const tess_matrix *a, int l, bool *all)
{
    tess_assignment one = *assignment;
    assign_totals totals;
    tess_status status;

    one.summary.options.nlevels = 2;
    one.summary.options.level[1] = assignment->summary.options.level[l];
    status = make_levels(&one, a, &totals);
    *all = status == TESS_SUCCESS && totals.count[ASSIGN_ITEMS] == 0;
    return status;
}

/* Whether the options alone say what each entry gets: one level without scales, for all entries. */
static bool is_decided(const tess_policy_options *o)
{
    const policy_rules rules = tess_policy_rules(o);

    return o->policy == TESS_POLICY_NONE && !policy_has_scales(&rules) && !o->without_diagonal;
}

/* What passes over the entries would find. */
static void count_decided(tess_assignment *assignment, const tess_matrix *a, assign_totals *totals)
{
    const tess_policy_options *o = &assignment->summary.options;
    const policy_rules rules = tess_policy_rules(o);

    *totals = (assign_totals){.ranges = policy_ranges_of(&rules, o->parameter)};
    totals->count[ASSIGN_NONZEROS] = (unsigned long long)a->nnz;
    assignment->whole = 0;
}

/*
 * Granularity matrix: the lowest level that takes all rows. It is none below the highest level that a row needs. That
 * level may not take other rows (fp16 has more bits than bf16, but less range); then the levels above it are tried.
 */
static tess_status make_whole(tess_assignment *assignment, const tess_matrix *a, assign_totals *totals)
{
    int level;
    bool all;
    tess_status status = TESS_SUCCESS;

    if (is_decided(&assignment->summary.options)) {
        count_decided(assignment, a, totals);
        return TESS_SUCCESS;
    }
    TESS_TRY(make_levels(assignment, a, totals));
    level = highest_level(tess_policy_rules(&assignment->summary.options).nlevels, totals);
    all = totals->count[ASSIGN_ITEMS + level] + totals->count[ASSIGN_EMPTY] == (uint64_t)a->nrows;
    while (!all && level > 0) {
        TESS_TRY(takes_all(assignment, a, level, &all));
        level -= all ? 0 : 1;
    }
    assignment->whole = level;
cleanup:
    return status;
}

static tess_status make_block_levels(tess_assignment *assignment, const tess_matrix *a, assign_totals *totals)
{
    const tess_policy_options *o = &assignment->summary.options;
    uint8_t *fits = NULL;
    double norm = 0.0;
    assign_task task;
    tess_status status = TESS_SUCCESS;

    assignment->grid.rows = o->block_rows;
    assignment->grid.cols = o->block_cols;
    task = task_of(assignment, a);
    if (task.rules.bounded) {
        TESS_TRY(tess_device_allocate(a->ctx, a->nnz, sizeof *fits, (void **)&fits));
        TESS_TRY(assign_ops_of(a->ctx)->find_fits(a->ctx, &task, fits, totals));
        norm = totals->norm;
        task.fits = fits;
    }
    TESS_TRY(assign_ops_of(a->ctx)->assign_blocks(a->ctx, &task, assignment, totals));
    totals->norm = norm;
cleanup:
    tess_device_release(a->ctx, fits, a->nnz, sizeof *fits);
    return status;
}

static tess_status make(tess_assignment *assignment, const tess_matrix *a)
{
    const tess_granularity granularity = assignment->summary.options.granularity;
    assign_totals totals;
    bool scaled = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(granularity == TESS_GRANULARITY_BLOCK    ? make_block_levels(assignment, a, &totals)
             : granularity == TESS_GRANULARITY_MATRIX ? make_whole(assignment, a, &totals)
                                                      : make_levels(assignment, a, &totals));
    fill_summary(assignment, &totals);
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        scaled = scaled || assignment->summary.scaled[l];
    }
    if (!scaled) { release_exponents(assignment); }
cleanup:
    return status;
}

/* Whether the assignment keeps products accurate: policy/choice.h. */
static tess_status judge(const tess_assignment *assignment, const tess_matrix *a, bool *accurate)
{
    const int rounds = choice_rounds(a->nrows);
    unsigned long long inaccurate[CHOICE_COUNTS];
    assign_task task = task_of(assignment, a);
    uint8_t *skip = NULL;
    tess_status status = TESS_SUCCESS;

    if (!task.rules.entries) { TESS_TRY(skip_diagonal(assignment, &task, &skip)); }
    TESS_TRY(assign_ops_of(a->ctx)->count_inaccurate(a->ctx, &task, rounds, inaccurate));
    *accurate = choice_suffices(a->nrows, rounds, inaccurate);
cleanup:
    tess_device_release(a->ctx, skip, assignment->nnz, sizeof *skip);
    return status;
}

/* Makes the assignment with one F after another, until products are accurate or the last F is used. */
static tess_status make_chosen(tess_assignment *assignment, const tess_matrix *a)
{
    tess_assignment_summary *s = &assignment->summary;
    int64_t before[TESS_MAX_LEVELS] = {-1};
    bool accurate = false;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k <= CHOICE_HALVINGS && !accurate; k++) {
        release_arrays(assignment);
        s->options.parameter = choice_parameter(k);
        TESS_TRY(make(assignment, a));
        /* Levels only rise while ranges shrink: equal counts at each level mean that nothing has changed. */
        if (k < CHOICE_HALVINGS && memcmp(before, s->nonzeros_at, sizeof before) != 0) {
            TESS_TRY(judge(assignment, a, &accurate));
        }
        memcpy(before, s->nonzeros_at, sizeof before);
    }
cleanup:
    return status;
}

/* Entries at the lowest level, and those that are stored nowhere. */
static int64_t count_lowest(const tess_assignment *assignment)
{
    const tess_assignment_summary *s = &assignment->summary;

    return s->nonzeros_at[s->options.nlevels - 1] + s->left_out;
}

/* Makes the assignment with e4m3 and with e5m2 at the lowest level, and keeps the one with more entries there; e4m3 if
   equal. */
static tess_status make_either_fp8(tess_assignment *assignment, const tess_matrix *a)
{
    const int lowest = assignment->summary.options.nlevels - 1;
    tess_assignment other = *assignment;
    tess_status status = TESS_SUCCESS;

    assignment->summary.options.level[lowest].precision = TESS_PRECISION_E4M3;
    other.summary.options.level[lowest].precision = TESS_PRECISION_E5M2;
    TESS_TRY(make(assignment, a));
    if (count_lowest(assignment) == a->nnz) { return TESS_SUCCESS; }
    TESS_TRY(make(&other, a));
    if (count_lowest(&other) > count_lowest(assignment)) {
        const tess_assignment kept = other;

        other = *assignment;
        *assignment = kept;
    }
cleanup:
    release_arrays(&other);
    return status;
}

static tess_status create(const tess_matrix *a, const tess_policy_options *options, bool by_entry,
                          tess_assignment **out)
{
    tess_context *ctx = a->ctx;
    tess_policy_options resolved;
    tess_assignment *made = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(require_assembled(a));
    TESS_TRY(tess_policy_resolve(ctx, options, &resolved));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *made, (void **)&made));
    memset(made, 0, sizeof *made);
    made->ctx = ctx;
    made->holders = 1;
    tess_context_hold(ctx);
    made->nrows = a->nrows;
    made->nnz = a->nnz;
    made->by_entry = by_entry;
    made->summary.options = resolved;
    TESS_TRY(resolved.choose_parameter ? make_chosen(made, a)
             : resolved.choose_fp8     ? make_either_fp8(made, a)
                                       : make(made, a));
    *out = made;
cleanup:
    if (status != TESS_SUCCESS) { tess_assignment_destroy(made); }
    return status;
}

tess_status tess_assignment_create(const tess_matrix *a, const tess_policy_options *options, tess_assignment **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    return create(a, options, false, out);
}

tess_status tess_assignment_create_by_entry(const tess_matrix *a, const tess_policy_options *options,
                                            tess_assignment **out)
{
    return create(a, options, true, out);
}

tess_status tess_assignment_get_levels(const tess_assignment *assignment, uint8_t *levels)
{
    TESS_REQUIRE(NULL, assignment);
    TESS_REQUIRE(assignment->ctx, levels);
    if (!assignment->level) {
        levels[0] = (uint8_t)assignment->whole;
        return TESS_SUCCESS;
    }
    return assignment->ctx->backend->download(assignment->ctx, levels, assignment->level,
                                              (size_t)level_count(assignment));
}

/* Level by level; fp64 has no error, and what is left out is lost. */
static tess_status measure_levels(tess_context *ctx, assign_task *task, tess_assignment_summary *s)
{
    double largest = s->left_out > 0 ? 1.0 : 0.0;
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l < s->options.nlevels; l++) {
        const bool exact = s->options.level[l].precision == TESS_PRECISION_FP64 && !s->options.level[l].scaled;

        s->largest_error_at[l] = 0.0;
        task->measured = l;
        if (s->nonzeros_at[l] > 0 && !exact) {
            TESS_TRY(assign_ops_of(ctx)->measure(ctx, task, &s->largest_error_at[l]));
        }
        largest = fmax(largest, s->largest_error_at[l]);
    }
    s->largest_relative_error = largest;
cleanup:
    return status;
}

tess_status tess_assignment_measure_error(tess_assignment *assignment, const tess_matrix *a)
{
    TESS_REQUIRE(NULL, assignment);
    TESS_REQUIRE(assignment->ctx, a);
    tess_context *ctx = assignment->ctx;
    uint8_t *skip = NULL;
    assign_task task;
    tess_status status = TESS_SUCCESS;

    if (a->ctx != ctx || a->nrows != assignment->nrows || a->nnz != assignment->nnz) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass the matrix that the assignment was made for",
                         "the assignment was made for another matrix");
    }
    TESS_TRY(require_assembled(a));
    task = task_of(assignment, a);
    if (!task.rules.entries) { TESS_TRY(skip_diagonal(assignment, &task, &skip)); }
    TESS_TRY(assign_ops_of(ctx)->measure_rows(ctx, &task, &assignment->summary.backward_error));
    TESS_TRY(measure_levels(ctx, &task, &assignment->summary));
    if (assignment->summary.options.componentwise) {
        assignment->summary.backward_error = assignment->summary.largest_relative_error;
    }
cleanup:
    tess_device_release(ctx, skip, assignment->nnz, sizeof *skip);
    return status;
}
