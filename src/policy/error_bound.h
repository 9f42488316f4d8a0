/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy error-bound, for host and device: levels for which each row's errors of storage sum up to at most its budget.
 *
 * The budget of row i is E ||a_i||_1, or E max_j ||a_j||_1. Errors are integers: units of 2^-32 of the budget, rounded
 * up. Norms are integers too, rounded down. Sums of integers do not depend on their order, so host and device agree on
 * every level, and no rounding hides an error. (Graillat, Jezequel, Mary and Molina 2024 bound errors by u |a|
 * instead.)
 *
 * Entries and blocks: a threshold per row. An entry may have each level whose error is at most the threshold, and by
 * entry it may be left out, with the error |a|. The threshold is the largest of four an octave for which the sum over
 * entries of the largest error so allowed is within the budget. Then every choice among what is allowed is.
 */
#ifndef TESS_POLICY_ERROR_BOUND_H
#define TESS_POLICY_ERROR_BOUND_H

#include "policy/assign.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BOUND_BITS = 32,                     /* the budget is 2^BOUND_BITS units */
    BOUND_PER_OCTAVE = 4,                /* thresholds */
    BOUND_STEPS = BOUND_PER_OCTAVE * 32, /* their number; the last is the whole budget */
    BOUND_LANES = 16,                    /* of a row whose error is measured: entries j, j + 16, ... are lane j's */
    BOUND_OUT = TESS_MAX_LEVELS,         /* the choice below all levels: the entry is left out */
    BOUND_CHOICES
};

#define BOUND_BUDGET (UINT64_C(1) << BOUND_BITS)
#define BOUND_OVER (BOUND_BUDGET + 1) /* units of any error above the budget: 2^31 of them have 64 bits */

/* A row's extremes, and its budget. */
typedef struct bound_row {
    item_statistics entries; /* without counts of what is outside */
    int exponent;            /* the largest magnitude is in [2^exponent, 2^(exponent + 1)) */
    double budget;           /* over 2^exponent, rounded down; 0: no error is allowed */
} bound_row;

/* Errors of an entry at levels 1, 2, ..., and if it is left out, in units. */
typedef struct bound_errors {
    uint64_t at[BOUND_CHOICES];
} bound_errors;

/* Fills what assign_ops.assign fills. fits, by entry: bit l is set if the entry may have level l; NULL: levels of rows
   or entries are wanted. */
tess_status bound_assign_host(tess_context *ctx, const assign_task *task, uint8_t *fits, assign_totals *totals);
/* assign_ops.measure_rows */
tess_status bound_measure_host(tess_context *ctx, const assign_task *task, double *largest);

#ifdef __cplusplus
}
#endif

/* ---- scales ---- */

/* value * 2^exponent, for exponents up to twice those of a power of two. */
TESS_HD double bound_scale(double value, int exponent)
{
    const int half = exponent / 2;

    return value * tess_power_of_two(half) * tess_power_of_two(exponent - half);
}

/* The least power of two that is at least `count`; 0 for none. */
TESS_HD int bound_octaves(int32_t count)
{
    return count < 2 ? 0 : tess_leading_exponent((double)(count - 1)) + 1;
}

/* ---- extremes and norms ---- */

/* Adds a value to a row's extremes. */
TESS_HD void bound_look_at(item_statistics *s, double value)
{
    const double magnitude = fabs(value);
    const bool finite = magnitude < (double)INFINITY;

    s->count += 1;
    s->not_finite += !finite;
    s->largest = finite && magnitude > s->largest ? magnitude : s->largest;
    s->smallest = magnitude > 0.0 && magnitude < s->smallest ? magnitude : s->smallest;
}

TESS_HD int bound_exponent(const item_statistics *s)
{
    return s->largest > 0.0 ? tess_leading_exponent(s->largest) : 0;
}

/* Bits of a norm's integers below the leading bit of the row's largest magnitude: the sum stays below 2^63. */
TESS_HD int bound_norm_bits(const item_statistics *s)
{
    return 62 - bound_octaves(s->count);
}

/* A finite magnitude as an integer, rounded down; not finite: 0. */
TESS_HD uint64_t bound_norm_units(const item_statistics *s, double value)
{
    const double magnitude = fabs(value);

    if (!(magnitude < (double)INFINITY)) { return 0; }
    return (uint64_t)bound_scale(magnitude, bound_norm_bits(s) - bound_exponent(s));
}

/* The norm over 2^bound_exponent. */
TESS_HD double bound_norm_of(const item_statistics *s, uint64_t units)
{
    return (double)units * tess_power_of_two(-bound_norm_bits(s));
}

/* The row's norm, as far as FP64 has it: a largest norm beyond that is a smaller budget. */
TESS_HD double bound_whole_norm(const item_statistics *s, uint64_t units)
{
    const double norm = s->not_finite > 0 ? 0.0 : bound_scale(bound_norm_of(s, units), bound_exponent(s));

    return norm < (double)INFINITY ? norm : 0x1.fffffffffffffp1023;
}

/* s: of the row's entries; units: their norm; whole: the matrix's norm, or 0 if the row's own counts. A row with NaN or
   Inf may have no error. Nor may any with E below 2^-53: sums in FP64 lose more. */
TESS_HD bound_row bound_row_of(const item_statistics *s, uint64_t units, double bound, double whole)
{
    bound_row row = {*s, bound_exponent(s), 0.0};

    if (s->not_finite == 0 && bound >= 0x1p-53) {
        const double norm = whole > 0.0 ? bound_scale(whole, -row.exponent) : bound_norm_of(s, units);

        row.budget = bound * norm;
    }
    return row;
}

/* ---- errors ---- */

/* An error, over 2^exponent, in units, rounded up. */
TESS_HD uint64_t bound_units(const bound_row *row, double error, int exponent)
{
    double share = bound_scale(error, exponent - row->exponent) / row->budget * 0x1p32;

    share = share * (1.0 + 0x1p-50); /* rounding of the quotient and of the budget */
    return share < 0x1p32 ? (uint64_t)share + 1 : BOUND_OVER;
}

/* |a - stored(a)| in units; stored over 2^exponent. a - stored(a) is exact: both are within a factor of 2,
   or one is 0. A scale may lose a value below the normal numbers: that is an error too. */
TESS_HD uint64_t bound_error_units(const bound_row *row, tess_precision precision, int exponent, double value)
{
    const double scaled = value * tess_power_of_two(-exponent);
    double code = 0.0, raw, error;

    if (value == 0.0) { return 0; }
    if (!(fabs(value) < (double)INFINITY)) { return BOUND_OVER; }
    tess_store(precision, &code, 0, scaled, TESS_OVERFLOW_INFINITY);
    raw = tess_load(precision, &code, 0);
    error = fabs(scaled - raw);
    if (error == 0.0 && raw * tess_power_of_two(exponent) == value) { return 0; }
    return bound_units(row, error, exponent);
}

/* Of levels that an entry may have without a scale. leaves_out: it may also be stored nowhere; not if it is 0, which is
   there for later values. */
TESS_HD bound_errors bound_errors_of(const policy_rules *rules, const bound_row *row, bool leaves_out, double value)
{
    bound_errors e;

    for (int l = 1; l < TESS_MAX_LEVELS; l++) {
        e.at[l] = l < rules->nlevels ? bound_error_units(row, rules->precision[l], 0, value) : BOUND_OVER;
    }
    e.at[0] = 0;
    e.at[BOUND_OUT] =
        leaves_out && value != 0.0 && value - value == 0.0 ? bound_units(row, fabs(value), 0) : BOUND_OVER;
    return e;
}

/* ---- rows ---- */

/* The errors of an entry at the levels of its row. */
TESS_HD bound_errors bound_row_errors_of(const policy_rules *rules, const bound_row *row, double value)
{
    bound_errors e;

    for (int l = 1; l < TESS_MAX_LEVELS; l++) {
        e.at[l] = l < rules->nlevels
                      ? bound_error_units(row, rules->precision[l], policy_exponent(rules, l, &row->entries), value)
                      : BOUND_OVER;
    }
    e.at[0] = 0;
    e.at[BOUND_OUT] = BOUND_OVER;
    return e;
}

/* Writes the level and the exponent of a row. sum: of the errors at each level. */
TESS_HD assign_outcome bound_assign_row(const assign_task *task, int64_t index, const bound_row *row,
                                        const uint64_t *sum)
{
    assign_outcome o = {TESS_LEVEL_NONE, 0, 0, row->entries.count};

    if (o.nonzeros > 0) {
        o.level = 0;
        for (int l = 1; l < TESS_MAX_LEVELS; l++) {
            if (l < task->rules.nlevels && sum[l] <= BOUND_BUDGET) { o.level = l; }
        }
        o.scaled_level = assign_scaled_level(&task->rules, o.level);
        o.exponent = policy_exponent(&task->rules, o.scaled_level, &row->entries);
    }
    if (task->level) { task->level[index] = (uint8_t)o.level; }
    if (task->exponent) { task->exponent[index] = (int16_t)o.exponent; }
    return o;
}

/* ---- thresholds ---- */

/* The first step whose threshold is at least `units`, 1 to the budget. */
TESS_HD int bound_step(uint64_t units)
{
    const uint64_t below = units - 1;
    const int octave = below > 0 ? tess_leading_exponent((double)below) : 0;
    const uint64_t quarter = octave >= 2 ? below >> (octave - 2) : below << (2 - octave);

    return BOUND_PER_OCTAVE * octave + (int)(quarter & 3);
}

/* The last step whose threshold times the number of entries is at most the budget: whatever the errors are. */
TESS_HD int bound_least_step(int32_t count)
{
    return BOUND_STEPS - 1 - BOUND_PER_OCTAVE * bound_octaves(count);
}

/* What an entry adds to its row's sum at a step. */
typedef struct bound_rise {
    int step;       /* at most -1: nothing */
    uint64_t units; /* more than at the steps before */
} bound_rise;

/* rise[i]: by the errors in ascending order, from the step on at which each is allowed. */
TESS_HD void bound_rises_of(const bound_errors *e, int least, bound_rise *rise)
{
    uint64_t before = 0;

    for (int i = 1; i < BOUND_CHOICES; i++) {
        uint64_t next = BOUND_OVER;
        int step;

        for (int l = 1; l < BOUND_CHOICES; l++) {
            if (e->at[l] > before && e->at[l] < next) { next = e->at[l]; }
        }
        rise[i].step = -1;
        rise[i].units = 0;
        if (next > BOUND_BUDGET) { continue; }
        step = bound_step(next);
        rise[i].step = step > least ? step : least;
        rise[i].units = next - before;
        before = next;
    }
}

/* The last step at which the sum is within the budget. rise: by step, from `least` on. */
TESS_HD int bound_last_step(const uint64_t *rise, int least)
{
    uint64_t sum = rise[least];
    int step = least;

    while (step + 1 < BOUND_STEPS && sum + rise[step + 1] <= BOUND_BUDGET) {
        step += 1;
        sum += rise[step];
    }
    return step;
}

/* The levels that an entry may have at a step, as bits; bit BOUND_OUT: it may be left out. */
TESS_HD unsigned bound_fits_of(const bound_errors *e, int step)
{
    unsigned fits = 1;

    for (int l = 1; l < BOUND_CHOICES; l++) {
        if (e->at[l] <= BOUND_BUDGET && (e->at[l] == 0 || bound_step(e->at[l]) <= step)) { fits |= 1U << l; }
    }
    return fits;
}

/* The lowest of them. */
TESS_HD int bound_lowest(unsigned fits)
{
    return fits >> BOUND_OUT & 1U ? TESS_LEVEL_NONE : fits & 8U ? 3 : fits & 4U ? 2 : fits & 2U ? 1 : 0;
}

/* The same for an item whose values have been judged: not a range, but `fits` says what is outside. */
TESS_HD void item_add_fits(item_statistics *s, unsigned fits)
{
    s->count += 1;
    for (int l = 1; l < TESS_MAX_LEVELS; l++) {
        s->outside[l] += (fits >> l & 1U) == 0;
    }
}

/* ---- the backward error of a row ---- */

typedef struct bound_sums {
    double error, norm; /* over 2^exponent of the row */
} bound_sums;

TESS_HD bound_sums bound_sums_start(void)
{
    const bound_sums s = {0.0, 0.0};

    return s;
}

/* Whether entry k is of the row that the bound is for: not if the diagonal is omitted and this is it. */
TESS_HD bool bound_counts(const assign_task *task, int64_t row, int64_t k)
{
    return !task->without_diagonal || task->csr.col_ind[k] != row;
}

/* s: the extremes of the row's entries that count. An entry without a level is stored nowhere, as 0. */
TESS_HD void bound_add_entry(const assign_task *task, const item_statistics *s, int64_t row, int64_t k,
                             bound_sums *sums)
{
    const assign_place place = assign_place_of(task, row, k);
    const double value = assign_value(&task->csr, k);
    double code = 0.0, stored = 0.0;

    if (!bound_counts(task, row, k)) { return; }
    if (place.level != TESS_LEVEL_NONE) {
        tess_store(task->rules.precision[place.level], &code, 0, value * tess_power_of_two(-place.exponent),
                   TESS_OVERFLOW_INFINITY);
        stored = tess_load(task->rules.precision[place.level], &code, 0) * tess_power_of_two(place.exponent);
    }
    sums->error += bound_scale(fabs(value - stored), -bound_exponent(s));
    sums->norm += bound_scale(fabs(value), -bound_exponent(s));
}

TESS_HD void bound_join_sums(bound_sums *s, const bound_sums *other)
{
    s->error += other->error;
    s->norm += other->norm;
}

/* Of the row's sums, for its own norm or the matrix's (whole, or 0); Inf if something overflows. A row that is not
   finite by itself has none. */
TESS_HD double bound_backward_error(const item_statistics *s, const bound_sums *sums, double whole)
{
    const double norm = whole > 0.0 ? bound_scale(whole, -bound_exponent(s)) : sums->norm;

    if (s->not_finite > 0 || sums->error == 0.0) { return 0.0; }
    return sums->error < (double)INFINITY ? sums->error / norm : (double)INFINITY;
}

#endif
