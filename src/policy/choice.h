/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an assignment keeps products accurate, for host and device: the criterion of options.choose_parameter.
 *
 * For seeded random x each row computes its part of y = A x and of E x in FP64; E is the change of the entries by
 * storage (and by products in FP32). A row is accurate if |E x| < 5 * 10^-7 |A x|: 7 significant digits (Zhao et al.
 * 2024, eqs. (2), (3)). All devices get the same bits, and so the same counts: lane j of a row adds its entries j, j +
 * CHOICE_LANES, ... with fma; then lanes j and j + h are added, for h = CHOICE_LANES / 2 down to 1.
 */
#ifndef TESS_POLICY_CHOICE_H
#define TESS_POLICY_CHOICE_H

#include <float.h>

#include "base/random.h"
#include "policy/assign.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CHOICE_LANES = 16,
    CHOICE_VECTORS = 4,     /* random vectors per round: two in (0, 1), and the same two stretched to (-1, 1) */
    CHOICE_MAX_ROUNDS = 16, /* fewer for more rows than CHOICE_ROWS / CHOICE_MAX_ROUNDS, */
    CHOICE_ROWS = 32768,    /* so that about this many rows are examined in total, and each in at least one round */
    CHOICE_HALVINGS = 24,   /* of the paper's F, down to less than a rounding error of FP32; then DBL_MIN */
    CHOICE_COUNTS = CHOICE_VECTORS * CHOICE_MAX_ROUNDS
};

/* A row's part of A x and E x, for the vectors of a round. */
typedef struct choice_sums {
    double value[CHOICE_VECTORS], error[CHOICE_VECTORS];
} choice_sums;

/* ---- the candidates ---- */

/* F number k of CHOICE_HALVINGS + 1. */
static inline double choice_parameter(int k)
{
    return k < CHOICE_HALVINGS ? ldexp(0.5, -k) : DBL_MIN;
}

/* Few rows need many vectors, because a single row decides between 95 % and less. */
static inline int choice_rounds(int64_t nrows)
{
    int64_t rounds = nrows > 0 ? CHOICE_ROWS / nrows : 0;

    return rounds < 1 ? 1 : rounds < CHOICE_MAX_ROUNDS ? (int)rounds : (int)CHOICE_MAX_ROUNDS;
}

/* Whether with each x fewer than 5 % of the rows have too few digits, as tess_digits_accurate decides. */
static inline bool choice_suffices(int64_t nrows, int rounds, const unsigned long long *inaccurate)
{
    bool suffices = true;

    for (int i = 0; i < rounds * CHOICE_VECTORS; i++) {
        suffices = suffices && (nrows == 0 || 20 * (int64_t)inaccurate[i] < nrows);
    }
    return suffices;
}

/* ---- what backends supply ---- */

/* inaccurate[round * CHOICE_VECTORS + i] = number of rows with too few digits, for vector i of that round;
   CHOICE_COUNTS numbers. */
tess_status choice_count_host(tess_context *ctx, const assign_task *task, int rounds, unsigned long long *inaccurate);

#ifdef __cplusplus
}
#endif

/* ---- rows ---- */

TESS_HD choice_sums choice_start(void)
{
    choice_sums s = {{0.0}, {0.0}};

    return s;
}

/* Element `column` of the vectors of a round. A compiler has nothing to contract here. */
TESS_HD void choice_vectors(int round, int32_t column, double *x)
{
    const uint64_t bits = tess_random_bits((uint64_t)round, (uint64_t)column);

    for (int i = 0; i < CHOICE_VECTORS; i += 2) {
        uint32_t half = (uint32_t)(i == 0 ? bits >> 32 : bits);

        x[i] = ((double)half + 0.5) * 0x1p-32;
        x[i + 1] = fma(2.0, x[i], -1.0);
    }
}

/*
 * Adds entry k of row `row`: a x to the values; to the errors (stored(a) - a) x, or, if products are in FP32 of x
 * rounded to FP32, the computed product less a x. FP64 has no error.
 */
TESS_HD void choice_add(const assign_task *task, int round, int64_t row, int64_t k, choice_sums *s)
{
    const assign_place place = assign_place_of(task, row, k);
    const tess_precision precision = task->rules.precision[place.level == TESS_LEVEL_NONE ? 0 : place.level];
    const double value = assign_value(&task->csr, k);
    double x[CHOICE_VECTORS], code = 0.0, scale, raw;

    if (place.level == TESS_LEVEL_NONE) { return; }
    choice_vectors(round, task->csr.col_ind[k], x);
    for (int i = 0; i < CHOICE_VECTORS; i++) {
        s->value[i] = fma(value, x[i], s->value[i]);
    }
    if (precision == TESS_PRECISION_FP64) { return; }
    scale = tess_power_of_two(place.exponent);
    tess_store(precision, &code, 0, value * tess_power_of_two(-place.exponent), TESS_OVERFLOW_INFINITY);
    raw = tess_load(precision, &code, 0);
    for (int i = 0; i < CHOICE_VECTORS; i++) {
        if (task->arithmetic == TESS_ARITHMETIC_FP32) {
            float product = (float)raw * (float)x[i];

            s->error[i] += fma(-value, x[i], (double)product * scale);
        } else {
            s->error[i] = fma(fma(raw, scale, -value), x[i], s->error[i]);
        }
    }
}

TESS_HD void choice_join(choice_sums *s, const choice_sums *other)
{
    for (int i = 0; i < CHOICE_VECTORS; i++) {
        s->value[i] += other->value[i];
        s->error[i] += other->error[i];
    }
}

/* Whether the row has fewer than 7 digits with vector i of a round. A row that is not finite even without errors counts
   as accurate. */
TESS_HD bool choice_falls_short(const choice_sums *s, int i)
{
    const double value = fabs(s->value[i]), error = fabs(s->error[i]);

    return error != 0.0 && value < (double)INFINITY && !(fma(error, 2e6, -value) < 0.0);
}

#endif
