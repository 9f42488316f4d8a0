/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the assignments on host and device: input and output of the passes, and the level of an item. */
#ifndef TESS_POLICY_ASSIGN_H
#define TESS_POLICY_ASSIGN_H

#include "base/offsets.h"
#include "matrix/assembled.h"
#include "policy/assignment.h"
#include "policy/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The assignment to make. */
typedef struct assign_task {
    csr_view csr;
    policy_rules rules;
    tess_policy policy;
    double parameter;
    tess_arithmetic arithmetic; /* arithmetic of products; only count_inaccurate reads it */
    int matrix_norm;            /* policy error-bound: of the option */
    bool without_diagonal;      /* of the option */
    double norm;                /* for measure_rows: the matrix's norm, as found; 0: each row's own */
    const uint8_t *fits;        /* granularity block, policy error-bound: of find_fits */
    const uint8_t *skip;        /* by entry: not 0 for entries that are left out; NULL: none is left out */
    int measured;               /* for `measure`: the level */
    int whole;                  /* granularity matrix: the level of all entries, once it is known */
    uint8_t *level;             /* by row or entry; NULL: not wanted, or granularity matrix */
    int16_t *exponent;          /* by row; NULL: no level is scaled */
    block_grid grid; /* granularity block: its sides. For the functions after `assign`, the whole grid; level and
                        exponent are then by block */
} assign_task;

/* The counters: by level from these places on, and empty rows. They are integers, so the result does not depend on the
   order. */
enum {
    ASSIGN_ITEMS = 0,
    ASSIGN_NONZEROS = TESS_MAX_LEVELS,
    ASSIGN_SCALED = 2 * TESS_MAX_LEVELS,
    ASSIGN_EMPTY = 3 * TESS_MAX_LEVELS,
    ASSIGN_COUNTS
};

/* The results of the passes for the host. */
typedef struct assign_totals {
    double mean, std;
    policy_ranges ranges;
    double norm; /* policy error-bound against the matrix's norm: that norm, rounded down */
    unsigned long long count[ASSIGN_COUNTS];
    unsigned long long long_rows; /* for the device: number of rows or block rows left to another kernel */
    int64_t nblocks;
} assign_totals;

/* The functions of a backend; arrays are in its memory. */
typedef struct assign_ops {
    /* skip[k] = TESS_LEVEL_NONE for the diagonal's entries, 0 for the others */
    tess_status (*mark_diagonal)(tess_context *ctx, const csr_view *csr, uint8_t *skip);
    /* Fills level and exponent. */
    tess_status (*assign)(tess_context *ctx, const assign_task *task, assign_totals *totals);
    /* Policy error-bound, for blocks: fits[k] has bit l set if entry k may have level l. Also totals->norm. */
    tess_status (*find_fits)(tess_context *ctx, const assign_task *task, uint8_t *fits, assign_totals *totals);
    /* Granularity block: allocates and fills grid, level and, if a level is scaled, exponent of `out`, whose grid has
       its sides. Also of_entry, if out->by_entry requests it and it needs no pass of its own. After a failure the
       allocated arrays stay there. */
    tess_status (*assign_blocks)(tess_context *ctx, const assign_task *task, tess_assignment *out,
                                 assign_totals *totals);
    /* The largest relative error of a value stored at the level task->measured, from level and exponent (task->level
       NULL: level `whole`). */
    tess_status (*measure)(tess_context *ctx, const assign_task *task, double *largest);
    /* The largest backward error of a row by storage, from the same: policy/error_bound.h */
    tess_status (*measure_rows)(tess_context *ctx, const assign_task *task, double *largest);
    /* From the same: the number of rows whose products have too few digits, for each of the random vectors of
       policy/choice.h. */
    tess_status (*count_inaccurate)(tess_context *ctx, const assign_task *task, int rounds,
                                    unsigned long long *inaccurate);
} assign_ops;

extern const assign_ops assign_host_ops;
tess_status assign_blocks_host(tess_context *ctx, const assign_task *task, tess_assignment *out,
                               assign_totals *totals); /* its own, for blocks */
const assign_ops *assign_gpu_ops(void);
const assign_ops *assign_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

/* ---- rows ---- */

TESS_HD int64_t assign_row_start(const csr_view *csr, int64_t row)
{
    return tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
}

TESS_HD double assign_value(const csr_view *csr, int64_t k)
{
    return ((const double *)csr->val)[k];
}

TESS_HD bool assign_skips(const uint8_t *skip, int64_t k)
{
    return skip && skip[k] != 0;
}

/* Place of the diagonal's entry of a row, -1 if there is none. Columns ascend. */
TESS_HD int64_t assign_find_diagonal(const csr_view *csr, int64_t row)
{
    return csr_find(csr, row, row);
}

/* The level and scale of an item. */
typedef struct assign_outcome {
    int level; /* TESS_LEVEL_NONE for an empty row */
    int exponent;
    int scaled_level; /* the level that the exponent is for */
    int32_t nonzeros;
} assign_outcome;

/* Counts an item on the host. */
static inline void assign_count(const assign_outcome *o, unsigned long long *count)
{
    if (o->level == TESS_LEVEL_NONE) {
        count[ASSIGN_EMPTY] += 1;
        return;
    }
    count[ASSIGN_ITEMS + o->level] += 1;
    count[ASSIGN_NONZEROS + o->level] += (unsigned)o->nonzeros;
    count[ASSIGN_SCALED + o->scaled_level] += o->exponent != 0;
}

/* The level that a row's exponent is for: the row's own; if that has no scales, the lowest level that has, because
   composites keep copies of all rows at all levels. */
TESS_HD int assign_scaled_level(const policy_rules *rules, int level)
{
    int lowest = level;

    if (rules->scaled[level]) { return level; }
    for (int l = 0; l < rules->nlevels; l++) {
        if (rules->scaled[l]) { lowest = l; }
    }
    return lowest;
}

/* Writes the level, below `bound`, and the exponent of a row. */
TESS_HD assign_outcome assign_row(const assign_task *task, int bound, int64_t row, const item_statistics *s)
{
    assign_outcome o = {TESS_LEVEL_NONE, 0, 0, s->count};

    if (s->count > 0) {
        o.level = policy_level(&task->rules, bound, s);
        o.scaled_level = assign_scaled_level(&task->rules, o.level);
        o.exponent = policy_exponent(&task->rules, o.scaled_level, s);
    }
    if (task->level) { task->level[row] = (uint8_t)o.level; }
    if (task->exponent) { task->exponent[row] = (int16_t)o.exponent; }
    return o;
}

/* The level, below `bound`, of an entry that is not left out; lossless as in item_add. */
TESS_HD int assign_entry_level(const assign_task *task, int bound, bool lossless, const policy_ranges *ranges,
                               double value)
{
    item_statistics s = item_start();

    item_add(&s, ranges, lossless, value);
    return policy_level(&task->rules, bound, &s);
}

/* The level and scale of a block. */
TESS_HD assign_outcome assign_block(const policy_rules *rules, int bound, const item_statistics *s)
{
    int level = policy_level(rules, bound, s);
    assign_outcome o = {level, policy_exponent(rules, level, s), level, s->count};

    return o;
}

/* The block of entry k, which its grid contains. */
TESS_HD int64_t assign_find_block(const assign_task *task, int64_t row, int64_t k)
{
    const block_grid *grid = &task->grid;
    int64_t low = grid->first[row / grid->rows], high = grid->first[row / grid->rows + 1] - 1;
    int32_t column = task->csr.col_ind[k] / grid->cols;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (grid->column[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How an entry is stored. */
typedef struct assign_place {
    int level; /* TESS_LEVEL_NONE for an entry that is left out */
    int exponent;
} assign_place;

/* Of entry k in row `row`. */
TESS_HD assign_place assign_place_of(const assign_task *task, int64_t row, int64_t k)
{
    int64_t item = !task->level          ? 0
                   : task->rules.entries ? k
                   : task->grid.rows > 0 ? assign_find_block(task, row, k)
                                         : row;
    assign_place place = {!task->level ? task->whole : task->level[item], 0};

    if (assign_skips(task->skip, k)) { place.level = TESS_LEVEL_NONE; }
    if (place.level != TESS_LEVEL_NONE && task->exponent && task->rules.scaled[place.level]) {
        place.exponent = task->exponent[item];
    }
    return place;
}

/* The relative error of entry k in row `row` as stored at the level that is measured; 0 for any other entry. */
TESS_HD double assign_error(const assign_task *task, int64_t row, int64_t k)
{
    const assign_place place = assign_place_of(task, row, k);

    if (place.level == TESS_LEVEL_NONE || (int)place.level != task->measured) { return 0.0; }
    return policy_relative_error(task->rules.precision[place.level], place.exponent, assign_value(&task->csr, k));
}

#endif
