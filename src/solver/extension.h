/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may take part in a solve beside its method: it looks at each product before it is made, and has a say in where
 * cycles begin and what follows one that got nowhere. A solve has one at most. Its recurrence is the standard one.
 */
#ifndef TESS_SOLVER_EXTENSION_H
#define TESS_SOLVER_EXTENSION_H

#include <tessera/papers.h>

#include "solver/krylov.h"

/* A table, listed in registry/papers.def. What it keeps is krylov.extended. */
typedef struct tess_solver_extension {
    bool (*is_asked_for)(const tess_solve_options *options);
    /* When method, matrix, engine and recurrence are known. UNSUPPORTED: not with these. */
    tess_status (*setup)(tess_solver *s);
    void (*destroy)(tess_solver *s);        /* what setup has made, however far it went */
    int64_t (*bytes)(const tess_solver *s); /* of its arrays on the device */
    /* Before each solve. */
    tess_status (*start)(tess_solver *s);
    /* Before each cycle, whose residual is in krylov.r, of that norm, over 2^exponent. */
    tess_status (*start_cycle)(tess_solver *s, double rhs_norm, double norm, int exponent);
    /* Before product 0 or 1 of an iteration, with x: what the format's product gets as `segments`. */
    tess_status (*before_product)(const tess_krylov *k, int product, const double *x, const uint8_t **segments);
    /* Whether it may have changed products of the cycle that has ended, and whether it did at its end. */
    bool (*is_active)(const tess_solver *s);
    tess_status (*acts)(const tess_solver *s, bool *acts);
    /* It misled the cycle that has ended: it changes nothing more in this solve. */
    tess_status (*stop)(tess_solver *s);
    /* After a solve: s->papers_result, which was cleared. */
    tess_status (*report)(tess_solver *s);
    /* Of a solve by inner solves: what its result says before the first, and a report that is added. */
    void (*start_sum)(tess_solver *s);
    void (*add_report)(const tess_papers_result *inner, tess_papers_result *sum);
} tess_solver_extension;

/* The one that the options ask for, or NULL (registry/solvers.c). */
const tess_solver_extension *tess_find_extension(const tess_solve_options *options);

#endif
