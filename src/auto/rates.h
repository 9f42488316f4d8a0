/* SPDX-License-Identifier: Apache-2.0 */
/* What work costs on each kind of device: all constants of the estimates of time, in one table. */
#ifndef TESS_AUTO_RATES_H
#define TESS_AUTO_RATES_H

#include <tessera/matrix.h>

#include "base/context.h"

/* Seconds, but for counts of passes over the matrix (a pass: one product). */
typedef struct cost_rates {
    const char *name;
    /* Of a whole solve: what the set-up begins with; and the start of a context, once for a process. */
    double solve_start, context_start;
    bool sorts; /* attempts are made in the order of their cost, not of the lists in ladder.c */
    /* An iteration: an entry of the product, an entry of a vector in all operations, what it begins with. */
    double entry, vector, start;
    double minres_start; /* of MINRES, whose iterations have more kernels */
    /* A product with both triangles of incomplete factors: passes, and a level set of either, which waits for the one
       before. Their set-up: once, and for an entry of the matrix. */
    double triangle_passes, level, incomplete_start, incomplete_entry;
    /* The set-up of factors with a threshold (ilut, ict), which the host makes, for an entry of the matrix. */
    double threshold_entry;
    /* A product with an approximate inverse of fp16, fsai:2: passes. Its set-up: once, and for an entry. */
    double inverse_passes, inverse_start, inverse_entry;
    /* Multigrid: a cycle, beside its passes for a row and what it begins with; the set-up: once, for a row and an
       entry. */
    double cycle_passes, cycle_row, cycle_start, multigrid_start, multigrid_row, multigrid_entry;
    /* Complete factors: once, for a row, an entry, and an operation of the factorization (0: as the host's BLAS has
       it). Of an unsymmetric matrix they take so many times as long: its entries are matched first, and both sides are
       kept. */
    double direct_start, direct_row, direct_entry, direct_flop, direct_unsymmetric;
} cost_rates;

typedef enum rates_kind {
    RATES_HOST,
    RATES_GPU,             /* where the host computes complete factors */
    RATES_GPU_CUDSS,       /* where the device does, */
    RATES_GPU_CUDSS_FIRST, /* for the first time in this process */
    RATES_COUNT
} rates_kind;

const cost_rates *rates_of_kind(rates_kind kind);
/* Those of a context. */
const cost_rates *rates_of(const tess_matrix *a);

#endif
