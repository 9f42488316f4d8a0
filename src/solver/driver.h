/* SPDX-License-Identifier: Apache-2.0 */
/* A driver makes a solve out of other solves. It takes the place of method and preconditioner. */
#ifndef TESS_SOLVER_DRIVER_H
#define TESS_SOLVER_DRIVER_H

#include <tessera/automatic.h>

#include "solver/solver.h"

/* The table of a driver, in registry/solvers.c. Its state is s->driven. */
typedef struct tess_solver_driver {
    /* Whether it takes such a request; the options are complete. */
    bool (*takes)(const tess_matrix *a, const tess_solve_options *options);
    tess_status (*setup)(tess_solver *s);
    void (*destroy)(tess_solver *s); /* also after a setup that failed */
    /* tess_solver_solve; the vectors are checked. */
    tess_status (*solve)(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);
    const tess_solver *(*current)(const tess_solver *s); /* the solver that it uses next; NULL: there is none */
    int (*attempts)(const tess_solver *s, const tess_attempt **out);
    const char *(*why)(const tess_solver *s);
    tess_status (*chosen)(const tess_solver *s, tess_solve_options *out);
} tess_solver_driver;

/* The driver for a request, or NULL (registry/solvers.c). */
const tess_solver_driver *tess_find_driver(const tess_matrix *a, const tess_solve_options *options);

#endif
