/* SPDX-License-Identifier: Apache-2.0 */
/* When the preconditioner of a sequence is renewed. */
#ifndef TESS_SOLVER_SEQUENCE_RENEWAL_H
#define TESS_SOLVER_SEQUENCE_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

/* What a preconditioner has cost since its set-up. */
typedef struct sequence_renewal {
    bool timed;        /* extra iterations may take as long as a set-up; else there may be */
    double most_extra; /* so many. Inf: any number; below 0: an old one is never kept */
    bool unproved;     /* made before the first step, whose values may be far from those that it was made of */
    int64_t age;
    double setup_seconds;
    double best_rate; /* the least iterations to reduce the residual by a factor of e; Inf: unknown */
    double iteration_seconds;
    double extra_iterations, extra_seconds;
} sequence_renewal;

/* A solve as the renewal sees it. */
typedef struct sequence_outcome {
    int64_t iterations;
    double start, tolerance; /* residual norms */
    double seconds;          /* without the preconditioner's */
    bool old;                /* a renewal would have changed the preconditioner: extra iterations count */
} sequence_outcome;

/* Whether an old preconditioner is kept for one more step. */
bool renewal_keeps(const sequence_renewal *r);
/* The most iterations of a step with an old one: what it should take, and a set-up's worth. */
int64_t renewal_cap(const sequence_renewal *r, double start, double tolerance, int64_t max_iterations);
/* It was set up or renewed, which took so long. */
void renewal_restart(sequence_renewal *r, double setup_seconds);
/* A step has converged with it. */
void renewal_note(sequence_renewal *r, const sequence_outcome *seen);

#endif
