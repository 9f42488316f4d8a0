/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/budget.h"

#include <math.h>

#include "base/context.h"

/* No attempt is left before so many iterations: the first ones say little about the rate. */
enum { LEAST_ITERATIONS = 50 };
/* When an attempt has taken this share of the other method's time, it is left if the rest should take so many times as
   long as the other method. Early plateaus mislead the rate, so that the share is not smaller. */
#define TRIAL_SHARE 0.25
#define FAR_FROM_DONE 2.0
/* When it has taken as long as the other method would, it is left if the rest takes more than this share of it. */
#define NEARLY_DONE 0.5
/* Where no other method has a known cost: without a fall by this factor in the last half of the iterations, of which
   there must be so many, the attempt has stalled. In exact arithmetic there are no more than rows. */
#define STALL_FACTOR 0.5
enum { STALL_ITERATIONS = 1000, STALL_PASSES = 20 };

/* Where the pace is the device's: factors take about so many times as long as their analysis. */
#define FACTORS_OVER_ANALYSIS 2.0
enum { LEAST_CAP = 300, CAP_WITHOUT_FACTORS = 2000 };

int64_t budget_cap(double analysis, double per_iteration)
{
    const double most = FACTORS_OVER_ANALYSIS * analysis / per_iteration;

    if (isinf(analysis)) { return CAP_WITHOUT_FACTORS; }
    return most < LEAST_CAP ? LEAST_CAP : most < 1e9 ? (int64_t)most : (int64_t)1e9;
}

void budget_start(attempt_budget *b)
{
    b->trend = (residual_trend){.every = 5};
    b->first = b->least = INFINITY;
    b->remaining = INFINITY;
    b->left = b->cancelled = false;
    b->code = 0;
}

static void note_residual(attempt_budget *b, int64_t iteration, double residual)
{
    residual_trend *t = &b->trend;
    const double now = residual > 0.0 ? log(residual) : -INFINITY;

    if (isinf(b->first)) { b->first = now; }
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

/* Iterations to the tolerance, at the rate of the last half of all. */
static double remaining_iterations(const attempt_budget *b, double tolerance)
{
    const residual_trend *t = &b->trend;
    const int half = t->count / 2;
    const double fall = t->log_least[half] - t->log_least[t->count - 1];
    const double to_go = b->least - log(tolerance);

    if (to_go <= 0.0) { return 0.0; }
    return fall > 0.0 ? to_go / fall * (double)(t->every * (t->count - 1 - half)) : INFINITY;
}

static bool has_stalled(const attempt_budget *b, int64_t iteration)
{
    const residual_trend *t = &b->trend;
    const int64_t passes = STALL_PASSES * b->rows;

    return iteration >= (passes < STALL_ITERATIONS ? passes : STALL_ITERATIONS) &&
           t->log_least[t->count / 2] - t->log_least[t->count - 1] < -log(STALL_FACTOR);
}

/* Whether the rest should take longer than complete factors, or has stalled where there are none. */
static bool is_slower(const attempt_budget *b, int64_t iteration)
{
    const double spent = b->per_iteration * (double)iteration, rest = b->per_iteration * b->remaining;

    if (isinf(b->other)) { return has_stalled(b, iteration); }
    return (spent > TRIAL_SHARE * b->other && rest > FAR_FROM_DONE * b->other) ||
           (spent > b->other && rest > NEARLY_DONE * b->other);
}

static bool should_leave(attempt_budget *b, int64_t iteration, double tolerance)
{
    if (!b->limited || b->cap > 0 || iteration < LEAST_ITERATIONS || b->trend.count < 4) { return false; }
    b->remaining = remaining_iterations(b, tolerance);
    if (!is_slower(b, iteration)) { return false; }
    if (!b->predict) { return true; }
    b->other = b->predict(b->owner);
    b->predict = NULL;
    return is_slower(b, iteration);
}

int budget_monitor(void *user, const tess_progress *progress)
{
    attempt_budget *b = user;
    tess_progress seen = *progress;

    seen.iteration += b->before;
    seen.elapsed_seconds = tess_wall_seconds() - b->start;
    if (b->monitor && !b->cancelled) { b->code = b->monitor(b->user, &seen); }
    b->cancelled = b->code != 0;
    note_residual(b, progress->iteration, progress->residual_norm);
    if (b->floor > 0.0 && progress->residual_norm <= b->floor) {
        b->left = true;
        return 1;
    }
    if (!b->cancelled) { b->left = should_leave(b, progress->iteration, progress->tolerance); }
    if (b->watch && !b->cancelled && !b->left && b->trend.count >= 4) {
        b->watch(b->owner, progress->iteration, remaining_iterations(b, progress->tolerance));
    }
    return b->cancelled ? b->code : b->left;
}
