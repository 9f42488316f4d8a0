/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a solve to an accuracy: stages in accuracy.c, the error of x in accuracy_error.c. */
#ifndef TESS_AUTO_ACCURACY_H
#define TESS_AUTO_ACCURACY_H

#include "auto/auto.h"
#include "auto/condition.h"

typedef struct accuracy_solve {
    tess_solver *inner;
    lanczos_record lanczos;
    lanczos_record random;                  /* of the check with a random right-hand side */
    lanczos_record *noted;                  /* the one that a running solve fills */
    bool checked;                           /* the check was tried for these values */
    double *x, *residual, *magnitude, *rhs; /* on the host; n each */
    tess_vector
        *last;     /* the last iterate for b, where the one of `inner` is that of the check; NULL: no check was made */
    bool replaced; /* it is, */
    bool iterated; /* and there was one for b */
    bool looked;
    uint64_t values_version;
    tess_precond *factors; /* in FP64, where those in FP32 do not tell the error; NULL: not needed */
    tess_accuracy_result reached;
    char why[2 * WHY_LENGTH];
} accuracy_solve;

static inline accuracy_solve *accuracy_of(const tess_solver *s)
{
    return s->state;
}

static inline double accuracy_wanted(const tess_solver *s)
{
    return s->options.accuracy.forward > 0.0 ? s->options.accuracy.forward : s->options.accuracy.backward;
}

/* The caller's options with the tolerances of a stage, after so many iterations. */
tess_solve_options accuracy_stage(tess_solver *s, double rtol, double atol, int64_t before);

/* ---- accuracy_error.c ---- */

/* Adds a line to state->why. */
void accuracy_say(accuracy_solve *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What was known of other values is forgotten, once per version of them. */
void accuracy_look(const tess_solver *s, accuracy_solve *state);
/* Fills state->reached for x. */
tess_status accuracy_find_error(tess_solver *s, const tess_vector *b, const tess_vector *x);

#endif
