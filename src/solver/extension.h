/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solver extension changes the products of a method. It is called before each cycle and before each product, and the
 * guard stops it if it misleads a cycle. A solve has one extension at most, and then uses the standard recurrence.
 */
#ifndef TESS_SOLVER_EXTENSION_H
#define TESS_SOLVER_EXTENSION_H

#include <tessera/papers.h>
#include <tessera/solver.h>

#include "solver/krylov.h"

/* The table of an extension, listed in registry/papers.def. Its state is krylov.extended. */
typedef struct tess_solver_extension {
    bool (*is_asked_for)(const tess_solve_options *options);
    /* Called when method, matrix, engine and recurrence are known. UNSUPPORTED: the extension cannot use these. */
    tess_status (*setup)(method_solver *s);
    void (*destroy)(method_solver *s);        /* also after a setup that failed */
    int64_t (*bytes)(const method_solver *s); /* bytes of its arrays on the device */
    /* Before each solve. */
    tess_status (*start)(method_solver *s);
    /* Before each cycle. krylov.r has the residual divided by 2^exponent; `norm` is the norm of the residual. */
    tess_status (*start_cycle)(method_solver *s, double rhs_norm, double norm, int exponent);
    /* Before product 0 or 1 of an iteration, with x: sets the `segments` argument of the format's product. */
    tess_status (*before_product)(const tess_krylov *k, int product, const double *x, const uint8_t **segments);
    /* Whether it may have changed products of the last cycle, and whether it changed products at the end of it. */
    bool (*is_active)(const method_solver *s);
    tess_status (*acts)(const method_solver *s, bool *acts);
    /* Called if it misled the last cycle: it changes nothing more in this solve. */
    tess_status (*stop)(method_solver *s);
    /* After a solve: fills s->head->papers_result, which was cleared. */
    tess_status (*report)(method_solver *s);
    /* For a solve that consists of inner solves: initialises its report, and adds the report of an inner solve. */
    void (*start_sum)(const tess_solve_options *options, tess_papers_result *sum);
    void (*add_report)(const tess_papers_result *inner, tess_papers_result *sum);
} tess_solver_extension;

/* The extension that the options request, or NULL (registry/solvers.c). */
const tess_solver_extension *tess_find_extension(const tess_solve_options *options);

#endif
