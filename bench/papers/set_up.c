/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a set-up: conversion, and what the first product would prepare. */
#include "papers/set_up.h"
#include "matrix/matrix.h"

enum { SETUPS = 3 };

/* What its first product does too. */
static tess_status prepare(bench_trial *t, const tess_matrix *stored)
{
    tess_status status = stored->ops->prepare(stored);

    return status == TESS_SUCCESS ? tess_context_synchronize(t->run->ctx) : status;
}

tess_status bench_trial_set_up(bench_trial *t, const bench_contestant *c, bench_outcome *o, tess_matrix **stored)
{
    double seconds[SETUPS] = {0.0};
    tess_status status = tess_context_trim(t->run->ctx);

    for (int k = -1; k < SETUPS && status == TESS_SUCCESS; k++) {
        double start;

        tess_matrix_destroy(*stored);
        *stored = NULL;
        start = bench_wall_seconds();
        status = bench_trial_convert(t, c, o, stored);
        if (status == TESS_SUCCESS) { status = prepare(t, *stored); }
        *(k < 0 ? &o->first_setup_seconds : &seconds[k]) = bench_wall_seconds() - start;
    }
    o->setup_seconds = bench_time_of_samples(seconds, SETUPS, 1).median;
    return status;
}
