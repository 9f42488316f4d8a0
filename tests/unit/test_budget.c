/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After how many iterations an attempt is left, from made residuals: exp(-RATE it) falls by the same factor in each
 * iteration, so that what is left until exp(-RATE last) is last - it iterations. An iteration costs 1.
 */
#include "auto/budget.h"
#include "support/test.h"

#define RATE 0.01

enum { NEVER = -1, MOST = 3000 };

static int predicted, watched;
static double prediction, watched_remaining;
static int64_t watched_iteration;

static double predict(void *owner)
{
    predicted++;
    assert_ptr_equal(owner, &prediction);
    return prediction;
}

static void watch(void *owner, int64_t iteration, double remaining)
{
    watched++;
    assert_ptr_equal(owner, &prediction);
    watched_iteration = iteration;
    watched_remaining = remaining;
}

static attempt_budget budget_of(double other, double trial)
{
    attempt_budget b = {.limited = true,
                        .rows = MOST,
                        .per_iteration = 1.0,
                        .other = other,
                        .trial = trial,
                        .watch = watch,
                        .owner = &prediction};

    predicted = watched = 0;
    watched_remaining = -1.0;
    budget_start(&b);
    return b;
}

/* Residuals that fall until iteration `stops`; the iteration that ends the attempt. */
static int64_t run_until(attempt_budget *b, double last, double stops, int64_t most)
{
    for (int64_t it = 1; it <= most; it++) {
        const tess_progress progress = {
            .iteration = it, .residual_norm = exp(-RATE * fmin((double)it, stops)), .tolerance = exp(-RATE * last)};

        if (budget_monitor(b, &progress) != 0) { return it; }
    }
    return NEVER;
}

static int64_t run(attempt_budget *b, double last)
{
    return run_until(b, last, INFINITY, (int64_t)last);
}

static int64_t run_flat(attempt_budget *b, int64_t most)
{
    return run_until(b, 1e4, 0.0, most);
}

static void caps(void **state)
{
    (void)state;
    assert_int_equal(budget_cap(INFINITY, 1.0), 2000);
    assert_int_equal(budget_cap(1.0005, 1e-3), 1000);
    assert_int_equal(budget_cap(3.0005, 1e-3), 3000);
    assert_int_equal(budget_cap(0.2003, 1e-3), 200);
    assert_int_equal(budget_cap(0.2017, 1e-3), 201);
    assert_int_equal(budget_cap(1e-9, 1.0), 200);
    assert_int_equal(budget_cap(1e12, 1e-3), 1000000000);
}

/* The rest is extrapolated exactly where all iterations reduce the residual alike, also when the list has been thinned
   out again and again. */
static void the_rest_is_extrapolated(void **state)
{
    attempt_budget b = budget_of(INFINITY, INFINITY);

    (void)state;
    for (int64_t it = 1; it <= 2500; it++) {
        const tess_progress progress = {
            .iteration = it, .residual_norm = exp(-RATE * (double)it), .tolerance = exp(-RATE * 2600.0)};

        assert_int_equal(budget_monitor(&b, &progress), 0);
        assert_int_equal(watched, it < 20 ? 0 : it - 19); /* from the fourth entry on */
        if (it < 20) { continue; }
        assert_int_equal(watched_iteration, it);
        assert_true(fabs(watched_remaining - (2600.0 - (double)it)) < 1e-6);
    }
    assert_int_equal(b.trend.every, 40); /* 5, 10, 20: 64 entries each; 40 are enough for 2500 */
    assert_int_equal(b.trend.count, 62);
    for (int i = 0; i < b.trend.count; i++) { /* the least residual after 40, 80, ... iterations */
        assert_true(fabs(b.trend.log_least[i] + RATE * 40.0 * (i + 1)) < 1e-9);
    }
}

/* Residuals that go up in between do not count, and reports at intervals do. */
static void the_least_residual_counts(void **state)
{
    static const int64_t its[] = {7, 23, 24, 61, 100};
    attempt_budget b = budget_of(INFINITY, INFINITY);

    (void)state;
    for (int k = 0; k < 5; k++) {
        const tess_progress progress = {.iteration = its[k],
                                        .residual_norm = k % 2 ? 10.0 : exp(-RATE * (double)its[k]),
                                        .tolerance = exp(-RATE * 200.0)};

        assert_int_equal(budget_monitor(&b, &progress), 0);
    }
    assert_int_equal(b.trend.count, 20);
    for (int i = 0; i < 20; i++) { /* after 5 to 20, 25 to 60, 65 to 100 iterations */
        const double at = i < 4 ? 7.0 : i < 12 ? 24.0 : 100.0;

        assert_true(fabs(b.trend.log_least[i] + RATE * at) < 1e-12);
    }
    assert_true(fabs(b.least + RATE * 100.0) < 1e-12);
}

/* Faster in the second half, or before: the faster one of it and the last three quarters is taken. */
static void the_faster_half_counts(void **state)
{
    attempt_budget slow_end = budget_of(INFINITY, INFINITY), fast_end = slow_end;

    (void)state;
    assert_int_equal(run_until(&slow_end, 200.0, 50.0, 100), NEVER);
    /* entries after 5 to 100 iterations: from 30 on, 20 in 70; of the half from 55 on, nothing */
    assert_true(fabs(watched_remaining - 150.0 * 70.0 / 20.0) < 1e-6);
    for (int64_t it = 1; it <= 100; it++) {
        const double fallen = it < 55 ? 0.0 : 2.0 * (double)(it - 55);
        const tess_progress progress = {
            .iteration = it, .residual_norm = exp(-RATE * fallen), .tolerance = exp(-RATE * 200.0)};

        assert_int_equal(budget_monitor(&fast_end, &progress), 0);
    }
    assert_true(fabs(watched_remaining - 110.0 / 2.0) < 1e-6);
}

static void what_meets_the_tolerance_is_not_left(void **state)
{
    attempt_budget b = budget_of(1e-3, 1e-3);
    const tess_progress done = {.iteration = 40, .residual_norm = 1e-9, .tolerance = 1e-8},
                        zero = {.iteration = 41, .residual_norm = 0.0, .tolerance = 1e-8};

    (void)state;
    assert_int_equal(budget_monitor(&b, &done), 0);
    assert_true(watched_remaining == 0.0 && b.remaining == 0.0);
    assert_int_equal(budget_monitor(&b, &zero), 0);
    assert_true(watched_remaining == 0.0 && b.least == -INFINITY && !b.left);
    for (int above = 0; above < 2; above++) { /* half an iteration before and behind the tolerance */
        attempt_budget near_end = budget_of(INFINITY, INFINITY);

        run_until(&near_end, above ? 40.5 : 39.5, INFINITY, 40);
        assert_true(fabs(watched_remaining - (above ? 0.5 : 0.0)) < 1e-6);
    }
}

/* Another method would take 100. An attempt that has taken t of these is left if more than 100, and more than 30 * 100
   / t, remain. */
static void shares_of_the_other_method(void **state)
{
    static const struct {
        double last;
        int64_t left;
    } cases[] = {{1e4, 20}, {226.5, 20}, {150.5, 24}, {130.5, 30}, {129.5, NEVER}, {40.0, NEVER}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attempt_budget b = budget_of(100.0, INFINITY);

        assert_int_equal(run(&b, cases[k].last), cases[k].left);
        assert_int_equal(b.left, cases[k].left != NEVER);
        assert_false(b.cancelled);
    }
    {
        attempt_budget b = budget_of(100.0, INFINITY), nearly = b;

        /* after 100 half as much is too much: 39 75 / 60 are less, 39 80 / 60 are more */
        assert_int_equal(run_until(&b, 129.0, 90.0, 300), 110);
        assert_true(fabs(b.remaining - 39.0 * 80.0 / 60.0) < 1e-6);
        assert_int_equal(run_until(&nearly, 129.0, 90.0, 109), NEVER);
    }
}

/* The first 20 iterations say little. */
static void no_attempt_is_left_at_once(void **state)
{
    attempt_budget b = budget_of(1.0, INFINITY), trial = budget_of(1e6, 1.0), other_cost = budget_of(10.0, INFINITY);

    (void)state;
    assert_int_equal(run_flat(&b, 100), 20);
    assert_int_equal(watched, 0);
    assert_int_equal(run_flat(&trial, 100), 20);
    other_cost.per_iteration = 1.0 / 32.0; /* 0.12 times 10 after 38.4 */
    assert_int_equal(run_flat(&other_cost, 100), 39);
}

/* A trial costs 30: the attempt makes room when it has cost more, and twice as much remains. */
static void trials(void **state)
{
    attempt_budget b = budget_of(1e6, 30.0), near_end = b, late = b;

    (void)state;
    assert_int_equal(run(&b, 92.5), 31);
    assert_true(fabs(b.remaining - 61.5) < 1e-6);
    assert_int_equal(run(&near_end, 90.5), NEVER);
    late.per_iteration = 0.5; /* 30 after 60 iterations; twice 30 are 120 */
    assert_int_equal(run(&late, 182.5), 61);
}

/* Nothing can follow: the attempt ends when it has not fallen by half in the last half of so many iterations. */
static void stalls(void **state)
{
    (void)state;
    for (int rows = 10; rows <= 1000; rows += 990) { /* 20 passes over the rows, at most 1000 */
        attempt_budget b = budget_of(INFINITY, INFINITY);

        b.rows = rows;
        assert_int_equal(run_flat(&b, MOST), rows == 10 ? 200 : 1000);
    }
    for (int fast = 0; fast < 2; fast++) { /* after 200 iterations the last half are those from 105 on */
        attempt_budget b = budget_of(INFINITY, INFINITY);
        const double rate = log(2.0) / 95.0 * (fast ? 1.01 : 0.99);
        int64_t left = NEVER;

        b.rows = 10;
        for (int64_t it = 1; it <= 330 && left == NEVER; it++) {
            const tess_progress progress = {
                .iteration = it, .residual_norm = exp(-rate * (double)it), .tolerance = 1e-100};

            if (budget_monitor(&b, &progress) != 0) { left = it; }
        }
        assert_int_equal(left, fast ? NEVER : 200);
    }
}

/* The other method's cost is asked for once, when its lower bound would end the attempt. */
static void the_prediction_is_asked_once(void **state)
{
    attempt_budget b = budget_of(10.0, INFINITY), quick = b;

    (void)state;
    prediction = 300.0;
    b.predict = quick.predict = predict;
    assert_int_equal(run_flat(&b, 100), 37); /* 0.12 times 300 are 36 */
    assert_int_equal(predicted, 1);
    assert_true(b.predict == NULL && b.other == 300.0);
    predicted = 0;
    prediction = 10.0;
    assert_int_equal(run_flat(&quick, 100), 20);
    assert_int_equal(predicted, 1);
    quick = budget_of(100.0, INFINITY);
    quick.predict = predict;
    assert_int_equal(run(&quick, 60.0), NEVER); /* it is fast enough for the bound */
    assert_int_equal(predicted, 0);
}

/* A loop that pauses for looks is left by the same rule, of which the monitor then says nothing. */
static void looks_do_what_the_monitor_does(void **state)
{
    enum { LENGTH = 400 };
    double history[LENGTH + 1];
    attempt_budget b = budget_of(1000.0, INFINITY), user = b, ended = b;
    int64_t at = 0, looks = 0;

    (void)state;
    for (int64_t it = 0; it <= LENGTH; it++) {
        history[it] = exp(-RATE * (double)it);
    }
    b.looks = true;
    b.loop.user = &b;
    while (at < LENGTH && !b.left) { /* 32, 40, 50, 62, ... */
        const tess_progress progress = {.iteration = at + 1, .residual_norm = 1.0, .tolerance = 0.5};
        bool goes_on = true;

        assert_int_equal(budget_monitor(&b, &progress), 0);
        at = b.loop.next;
        looks++;
        goes_on = b.loop.look(&b, history, at + 1, at, exp(-RATE * 2000.0));
        assert_int_equal(goes_on, !b.left);
        assert_int_equal(b.loop.next, at + at / 4);
    }
    assert_int_equal(b.noted, at + 1);
    /* 0.3 * 1000^2 = t (2000 - t) at t = 163 */
    assert_int_equal(at, 187);
    assert_int_equal(looks, 9);
    assert_true(fabs(b.remaining - (2000.0 - (double)at)) < 1e-6);
    /* what the caller has ended is not left for another method; nor is an attempt without a history that goes on */
    user.cancelled = true;
    assert_true(user.loop.look(&user, history, 201, 200, exp(-RATE * 1e6)));
    assert_false(user.left);
    assert_true(ended.loop.look(&ended, history, 10, 200, exp(-RATE * 1e6)));
}

static void some_attempts_have_no_budget(void **state)
{
    attempt_budget b = budget_of(1.0, 1.0), capped = b;

    (void)state;
    b.limited = false;
    assert_int_equal(run_flat(&b, MOST), NEVER);
    capped.cap = 300;
    assert_int_equal(run_flat(&capped, MOST), NEVER);
}

typedef struct caller {
    int calls, code;
    int64_t stop, seen;
    double seconds;
} caller;

static int listen(void *user, const tess_progress *progress)
{
    caller *c = user;

    c->calls++;
    c->seen = progress->iteration;
    c->seconds = progress->elapsed_seconds;
    return progress->iteration >= c->stop ? c->code : 0;
}

/* The caller's monitor counts the iterations of earlier attempts too, and its number ends the attempt. */
static void the_callers_monitor(void **state)
{
    caller c = {.stop = 107, .code = 42};
    attempt_budget b = budget_of(1e9, INFINITY);
    const tess_progress progress = {.iteration = 7, .residual_norm = 1.0, .tolerance = 0.5};

    (void)state;
    b.monitor = listen;
    b.user = &c;
    b.before = 100;
    b.start = tess_wall_seconds() - 50.0;
    assert_int_equal(run_flat(&b, 6), NEVER);
    assert_true(c.calls == 6 && c.seen == 106 && c.seconds >= 50.0 && c.seconds < 100.0);
    assert_int_equal(budget_monitor(&b, &progress), 42);
    assert_true(b.cancelled && !b.left && b.code == 42);
    assert_int_equal(budget_monitor(&b, &progress), 42);
    assert_int_equal(c.calls, 7);
    assert_int_equal(watched, 0);
    c.code = -7; /* any number but 0 */
    budget_start(&b);
    assert_int_equal(budget_monitor(&b, &progress), -7);
    assert_true(b.cancelled && b.code == -7);
    budget_start(&b);
    assert_true(!b.cancelled && !b.left && b.code == 0 && b.trend.count == 0 && b.remaining == INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caps),
        cmocka_unit_test(the_rest_is_extrapolated),
        cmocka_unit_test(the_least_residual_counts),
        cmocka_unit_test(the_faster_half_counts),
        cmocka_unit_test(what_meets_the_tolerance_is_not_left),
        cmocka_unit_test(shares_of_the_other_method),
        cmocka_unit_test(no_attempt_is_left_at_once),
        cmocka_unit_test(trials),
        cmocka_unit_test(stalls),
        cmocka_unit_test(the_prediction_is_asked_once),
        cmocka_unit_test(looks_do_what_the_monitor_does),
        cmocka_unit_test(some_attempts_have_no_budget),
        cmocka_unit_test(the_callers_monitor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
