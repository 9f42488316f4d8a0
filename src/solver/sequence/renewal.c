/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a preconditioner of earlier values is renewed: when it has cost as much as a set-up takes. Its cost is counted
 * from the best step since its set-up: iterations beyond those that this step's rate would need. With the cost of a
 * set-up as the bound, the sum of both is at most twice what any other choice of steps would have taken, as in the
 * problem of renting or buying skis (Karlin et al., Algorithmica 3, 1988).
 */
#include <math.h>

#include "solver/sequence/renewal.h"

/* A step with an old preconditioner is not stopped for fewer extra iterations than this. */
enum { LEAST_SLACK = 10 };
/* Residuals that fall by less than this say nothing about a rate. */
#define LEAST_FALL 0.5

bool renewal_keeps(const sequence_renewal *r)
{
    if (r->unproved) { return !r->timed && r->most_extra == INFINITY; }
    return r->timed ? r->extra_seconds < r->setup_seconds : r->extra_iterations <= r->most_extra;
}

/* How far the residual must fall, as a power of e. */
static double fall_of(double start, double tolerance)
{
    return start > tolerance && tolerance > 0.0 && isfinite(start) ? log(start / tolerance) : 0.0;
}

int64_t renewal_cap(const sequence_renewal *r, double start, double tolerance, int64_t max_iterations)
{
    const int64_t half = max_iterations - max_iterations / 2; /* the renewed one has the others */
    const double expected = ceil(r->best_rate * fmax(fall_of(start, tolerance), LEAST_FALL));
    const double slack = !r->timed                    ? r->most_extra
                         : r->iteration_seconds > 0.0 ? r->setup_seconds / r->iteration_seconds
                                                      : INFINITY;
    const double cap = expected + fmax(slack, LEAST_SLACK);

    return cap < (double)half ? (int64_t)cap : half;
}

void renewal_restart(sequence_renewal *r, double setup_seconds)
{
    r->age = 0;
    r->unproved = false;
    r->setup_seconds = setup_seconds;
    r->best_rate = INFINITY;
    r->extra_iterations = r->extra_seconds = 0.0;
}

void renewal_note(sequence_renewal *r, const sequence_outcome *seen)
{
    const double fall = fall_of(seen->start, seen->tolerance), iterations = (double)seen->iterations;
    double extra = 0.0;

    r->unproved = false;
    if (seen->iterations == 0) { return; }
    r->iteration_seconds = seen->seconds / iterations;
    if (fall < LEAST_FALL) { return; }
    if (seen->old && isfinite(r->best_rate)) { extra = fmax(iterations - ceil(r->best_rate * fall), 0.0); }
    r->extra_iterations += extra;
    r->extra_seconds += extra * r->iteration_seconds;
    r->best_rate = fmin(r->best_rate, iterations / fall);
}
