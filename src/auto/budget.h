/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of an attempt: its monitor extrapolates the residual, and ends the attempt when another method should take
 * less time. It counts iterations, not seconds, so that a solve does the same on every run. A GPU calls monitors at its
 * own pace: there the loop pauses for looks (`loop`), or, where it does not, the attempt gets a number of iterations,
 * `cap`.
 */
#ifndef TESS_AUTO_BUDGET_H
#define TESS_AUTO_BUDGET_H

#include "auto/ladder.h"
#include "base/loop.h"

/* The least residual so far, after every `every` iterations; when the list is full, every other entry goes. */
enum { TREND_LENGTH = 64 };

typedef struct residual_trend {
    int64_t every;
    int count;
    double log_least[TREND_LENGTH];
} residual_trend;

typedef struct attempt_budget {
    tess_monitor monitor; /* the caller's; may be NULL */
    void *user;
    int64_t before; /* iterations of earlier attempts */
    double start;   /* when the whole solve began */
    bool limited;
    int64_t rows;     /* of the matrix */
    int64_t patience; /* iterations that it has in any case */
    int64_t cap;      /* on a GPU; 0: none */
    bool looks;       /* residuals come by looks of `loop`, and the monitor only passes on */
    tess_loop_watch loop;
    int64_t noted;        /* residuals of the history so far, which the trend has */
    double per_iteration; /* iteration_cost */
    double trial;         /* what a trial of the next step costs; INFINITY: there is none */
    /* What multigrid or complete factors should cost, whichever is less; INFINITY: they cannot follow. Of factors it is
       a lower bound at first, until `predict`, which takes some time itself, is asked. */
    double other;
    double (*predict)(void *owner); /* NULL: it was asked */
    /* Called with the iterations so far and those expected after them; NULL: not at all. */
    void (*watch)(void *owner, int64_t iteration, double remaining);
    void *owner;
    residual_trend trend;
    double least;     /* logarithm of the least residual so far */
    double remaining; /* iterations that are left by the trend; INFINITY: it does not fall */
    bool left;        /* the budget ended the attempt */
    bool cancelled;   /* the caller's monitor did */
    int code;         /* what it returned */
} attempt_budget;

void budget_start(attempt_budget *b);
/* The cap of an attempt, from the least time of what may follow (INFINITY: not known) and that of an iteration. */
int64_t budget_cap(double least_other, double per_iteration);
/* A tess_monitor; user: an attempt_budget. */
int budget_monitor(void *user, const tess_progress *progress);

#endif
