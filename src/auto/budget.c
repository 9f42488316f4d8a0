/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/budget.h"

#include <math.h>

#include "base/context.h"

/* No attempt is left before so many iterations: the first ones say little about the rate. */
enum { LEAST_ITERATIONS = 20 };
/* In times of the other method's: an attempt that has taken TRIAL_SHARE is left if the rest should take more than 1,
   and what it has taken times that rest is more than this. The rate is surer the longer it was watched: after an eighth
   of the other's time the rest must be 2.5 times as long, after a quarter 1.2 times. Early plateaus mislead it, so that
   the share is not smaller. bench/budget.py finds these two from recorded residuals (docs/results/automatic.md). */
#define TRIAL_SHARE 0.12
#define TAKEN_TIMES_REST 0.3
/* An attempt that has taken longer than the other would is left if more than this remains. */
#define NEARLY_DONE 0.5
/* An attempt makes room for a trial of the next step when it has taken as long, and would still take so many times as
   long. */
#define TIMES_TRIAL 2.0
/* Where no other method has a known cost: without a fall by this factor in the last half of the iterations, of which
   there must be so many, the attempt has stalled. In exact arithmetic there are no more than rows. */
#define STALL_FACTOR 0.5
enum { STALL_ITERATIONS = 1000, STALL_PASSES = 20 };

/* Where nothing can be looked at within an attempt: so many times the least time of what may follow. With c of them the
   whole takes at most 1 + c times what the other would, and 1 + 1 / c times what the attempt would have. */
#define TIMES_LEAST_OTHER 1.0
enum { LEAST_CAP = 200, CAP_WITHOUT_FACTORS = 2000 };

int64_t budget_cap(double least_other, double per_iteration)
{
    const double most = TIMES_LEAST_OTHER * least_other / per_iteration;

    if (isinf(least_other)) { return CAP_WITHOUT_FACTORS; }
    return most < LEAST_CAP ? LEAST_CAP : most < 1e9 ? (int64_t)most : (int64_t)1e9;
}

static void note_residual(attempt_budget *b, int64_t iteration, double residual)
{
    residual_trend *t = &b->trend;
    const double now = residual > 0.0 ? log(residual) : -INFINITY;

    if (now < b->least) { b->least = now; }
    while (iteration >= t->every * (t->count + 1)) { /* a GPU reports at intervals */
        if (t->count == TREND_LENGTH) {
            for (int i = 0; i < TREND_LENGTH / 2; i++) {
                t->log_least[i] = t->log_least[2 * i + 1];
            }
            t->count /= 2;
            t->every *= 2;
            continue;
        }
        t->log_least[t->count++] = b->least;
    }
}

/* Iterations to the tolerance, at the rate of the last half or of the last three quarters of all, whichever is faster:
   Krylov methods have plateaus, and often end faster than they began. The first quarter is left out: b = A x of a rough
   x falls by orders of magnitude at once, which says nothing of the rest. */
static double remaining_iterations(const attempt_budget *b, double tolerance)
{
    const residual_trend *t = &b->trend;
    const int quarter = t->count / 4, half = t->count / 2, last = t->count - 1;
    const double of_half = (t->log_least[half] - t->log_least[last]) / (double)(t->every * (last - half));
    const double of_more = (t->log_least[quarter] - t->log_least[last]) / (double)(t->every * (last - quarter));
    const double rate = fmax(of_half, of_more), to_go = b->least - log(tolerance);

    if (to_go <= 0.0) { return 0.0; }
    return rate > 0.0 ? to_go / rate : INFINITY;
}

static bool has_stalled(const attempt_budget *b, int64_t iteration)
{
    const residual_trend *t = &b->trend;
    const int64_t passes = STALL_PASSES * b->rows;

    return iteration >= (passes < STALL_ITERATIONS ? passes : STALL_ITERATIONS) &&
           t->log_least[t->count / 2] - t->log_least[t->count - 1] < -log(STALL_FACTOR);
}

/* Whether the next step deserves a trial. */
static bool deserves_trial(const attempt_budget *b, int64_t iteration)
{
    const double spent = b->per_iteration * (double)iteration, rest = b->per_iteration * b->remaining;

    return spent > b->trial && rest > TIMES_TRIAL * b->trial;
}

/* Whether the rest should take longer than complete factors, or has stalled where there are none. */
static bool is_slower(const attempt_budget *b, int64_t iteration)
{
    const double spent = b->per_iteration * (double)iteration, rest = b->per_iteration * b->remaining;

    if (isinf(b->other)) { return has_stalled(b, iteration); }
    return spent > TRIAL_SHARE * b->other && rest > (spent > b->other ? NEARLY_DONE : 1.0) * b->other &&
           spent / b->other * (rest / b->other) > TAKEN_TIMES_REST;
}

static bool should_leave(attempt_budget *b, int64_t iteration, double tolerance)
{
    if (!b->limited || b->cap > 0 || iteration < LEAST_ITERATIONS || b->trend.count < 4) { return false; }
    if (iteration < b->patience) { return false; }
    b->remaining = remaining_iterations(b, tolerance);
    if (deserves_trial(b, iteration)) { return true; }
    if (!is_slower(b, iteration)) { return false; }
    if (!b->predict) { return true; }
    b->other = b->predict(b->owner);
    b->predict = NULL;
    return is_slower(b, iteration);
}

/* The next look comes after a quarter of the iterations so far: they cost little, and a rate changes slowly. */
enum { FIRST_LOOK = 32, LOOK_SHARE = 4 };

static bool look(void *user, const double *history, int64_t length, int64_t iteration, double tolerance)
{
    attempt_budget *b = user;

    for (; b->noted < length; b->noted++) {
        if (b->noted > 0) { note_residual(b, b->noted, history[b->noted]); }
    }
    if (!b->cancelled) { b->left = should_leave(b, iteration, tolerance); }
    b->loop.next = iteration + iteration / LOOK_SHARE;
    return !b->left;
}

void budget_start(attempt_budget *b)
{
    b->trend = (residual_trend){.every = 5};
    b->least = INFINITY;
    b->remaining = INFINITY;
    b->left = b->cancelled = false;
    b->code = 0;
    b->noted = 0;
    b->loop = (tess_loop_watch){.look = look, .user = b, .next = FIRST_LOOK};
}

int budget_monitor(void *user, const tess_progress *progress)
{
    attempt_budget *b = user;
    tess_progress seen = *progress;

    seen.iteration += b->before;
    seen.elapsed_seconds = tess_wall_seconds() - b->start;
    if (b->monitor && !b->cancelled) { b->code = b->monitor(b->user, &seen); }
    b->cancelled = b->code != 0;
    if (b->looks) { return b->code; }
    note_residual(b, progress->iteration, progress->residual_norm);
    if (b->left) { return 1; } /* a GPU may call once more */
    if (!b->cancelled) { b->left = should_leave(b, progress->iteration, progress->tolerance); }
    if (b->watch && !b->cancelled && !b->left && b->trend.count >= 4) {
        b->watch(b->owner, progress->iteration, remaining_iterations(b, progress->tolerance));
    }
    return b->cancelled ? b->code : b->left;
}
