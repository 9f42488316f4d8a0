/* SPDX-License-Identifier: Apache-2.0 */
/* What the makers of assignments on host and device share: the order of the sum of magnitudes, what passes take and leave. */
#ifndef TESS_GRANULE_ASSIGN_H
#define TESS_GRANULE_ASSIGN_H

#include "core/offsets.h"
#include "core/two_word.h"
#include "format/csr/csr.h"
#include "granule/assignment.h"
#include "policy/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be made. */
typedef struct assign_task {
    csr_view csr;
    policy_rules rules;
    tess_policy policy;
    double parameter;
    const uint8_t *skip; /* by entry: not 0 for entries that are left out; NULL: none is */
    uint8_t *level;      /* by row or entry; NULL: not wanted */
    int16_t *exponent;   /* by row; NULL: no level is scaled */
} assign_task;

/* What is counted: by level from these places on, and empty rows. Sums of integers: no order shows. */
enum {
    ASSIGN_GRANULES = 0,
    ASSIGN_NONZEROS = TESS_MOST_LEVELS,
    ASSIGN_SCALED = 2 * TESS_MOST_LEVELS,
    ASSIGN_EMPTY = 3 * TESS_MOST_LEVELS,
    ASSIGN_COUNTS
};

/* What the passes leave for the host. */
typedef struct assign_totals {
    double mean;
    policy_ranges ranges;
    unsigned long long count[ASSIGN_COUNTS];
    unsigned long long long_rows; /* the device's own */
} assign_totals;

/* What a backend supplies; arrays are in its memory. */
typedef struct assign_backend {
    /* skip[k] = TESS_LEVEL_NONE for the diagonal's entries, 0 for the others */
    tess_status (*mark_diagonal)(tess_context *ctx, const csr_view *csr, uint8_t *skip);
    /* Fills level and exponent. */
    tess_status (*assign)(tess_context *ctx, const assign_task *task, assign_totals *totals);
    /* The largest relative error of what is stored, from level and exponent (task->level NULL: level 0). */
    tess_status (*measure)(tess_context *ctx, const assign_task *task, double *largest);
} assign_backend;

extern const assign_backend assign_host;
#if TESS_HAVE_GPU
const assign_backend *assign_gpu(void);
#endif

#ifdef __cplusplus
}
#endif

/* ---- the sum of magnitudes ---- */

/*
 * Two words throughout and one order everywhere, so that all devices get the same double: tiles of MAGNITUDE_TILE entries;
 * lane j of a tile adds up its entries j, j + MAGNITUDE_LANES, ...; then lanes j and j + h become one, for h = LANES / 2 down
 * to 1. The tiles' sums are added up in the same manner.
 */
enum { MAGNITUDE_LANES = 256, MAGNITUDE_TILE = 4096 };

typedef struct magnitude_sum {
    two_word sum;
    int64_t count;
} magnitude_sum;

/* What an entry adds: its magnitude if that is finite, and else nothing. Adding 0 changes no word. On bits, where a comparison
   of integers is no branch. */
TESS_HD double magnitude_of(double value)
{
    const int64_t infinity = INT64_C(0x7ff) << 52;
    int64_t bits = (int64_t)(tess_double_bits(value) & ~(UINT64_C(1) << 63));

    return tess_double_of_bits((uint64_t)(bits & -(int64_t)(bits < infinity)));
}

TESS_HD void magnitude_join(magnitude_sum *s, magnitude_sum other)
{
    two_word_add_pair(&s->sum, other.sum);
    s->count += other.count;
}

/* A sum that overflows is Inf: what is a tenth of it does not fit into a lower precision anyway. */
TESS_HD double magnitude_mean(magnitude_sum s)
{
    if (s.count == 0) { return 0.0; }
    return s.sum.high < (double)INFINITY ? two_word_value(s.sum) / (double)s.count : (double)INFINITY;
}

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
    int64_t low = assign_row_start(csr, row), end = assign_row_start(csr, row + 1), high = end;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (csr->col_ind[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && csr->col_ind[low] == row ? low : -1;
}

/* What became of a granule. */
typedef struct assign_outcome {
    int level; /* TESS_LEVEL_NONE for an empty row */
    int exponent;
    int scaled_level; /* what the exponent is for */
    int32_t nonzeros;
} assign_outcome;

/* The level that a row's exponent is for: its own, or, where that has no scales, the lowest that has: composites keep copies of
   all rows at all levels. */
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
TESS_HD assign_outcome assign_row(const assign_task *task, int bound, int64_t row, const granule_statistics *s)
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

/* The level, below `bound`, of an entry that is not left out. */
TESS_HD int assign_entry_level(const assign_task *task, int bound, const policy_ranges *ranges, double value)
{
    granule_statistics s = granule_start();

    granule_add(&s, ranges, value);
    return policy_level(&task->rules, bound, &s);
}

/* The error of entry k in row `row` as stored; 0 for one that is left out. */
TESS_HD double assign_error(const assign_task *task, int64_t row, int64_t k)
{
    int level = !task->level ? 0 : task->rules.entries ? task->level[k] : task->level[row];

    if (level == TESS_LEVEL_NONE || assign_skips(task->skip, k)) { return 0.0; }
    return policy_relative_error(task->rules.precision[level],
                                 task->exponent && task->rules.scaled[level] ? task->exponent[row] : 0,
                                 assign_value(&task->csr, k));
}

#endif
