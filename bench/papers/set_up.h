/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a set-up: conversion, and what the first product would prepare. */
#ifndef TESS_BENCH_PAPERS_SET_UP_H
#define TESS_BENCH_PAPERS_SET_UP_H

#include "product/trial.h"

/*
 * Converts, and does what the first product would prepare, several times: the median is the set-up time, in memory that
 * the context has kept; the first time it has none. The last one stays.
 */
tess_status bench_trial_set_up(bench_trial *t, const bench_contestant *c, bench_outcome *o, tess_matrix **stored);

#endif
