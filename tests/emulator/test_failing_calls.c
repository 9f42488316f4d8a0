/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the device's runtime fail, one at a time, until each place that makes one has failed: allocations, copies,
 * launches, recordings, waits. After every failure the status says so, the context has a message, no memory is lost,
 * and the context still works.
 */
#include "emulator/failures.h"
#include "support/heap.h"
#include "support/scenarios.h"

enum { MOST_PLACES = 5000 };

static void check_failure(scene *s, const char *name, tess_status status)
{
    const tess_error *error = tess_context_last_error(s->ctx);

    if (status != TESS_DEVICE && status != TESS_OUT_OF_DEVICE_MEMORY) {
        fail_msg("%s: %s: %s", name, tess_status_text(status), error->message);
    }
    assert_int_equal(error->status, status);
    assert_true(error->message[0] != '\0');
}

/* The number of places that failed. Some calls are made again after a failure, or are not needed. */
static int fail_scenario(const named_scenario *test, scene *s, const heap *host)
{
    int places = 0;

    for (;; places++) {
        const int64_t live = host->live;
        tess_status status;
        bool failed;

        emulatedFailAtNewPlace();
        if (getenv("TESS_EMULATOR_PLACES")) { print_message("%s\n", test->name); }
        status = test->run(s);
        failed = emulatedHasFailed();
        if (!failed) {
            assert_ok(s->ctx, status);
            return places;
        }
        if (status != TESS_SUCCESS) { check_failure(s, test->name, status); }
        if (host->live > live + 1) { /* one workspace may have grown */
            fail_msg("%s: %lld allocations are lost", test->name, (long long)(host->live - live));
        }
        assert_int_equal(host->wrong_releases, 0);
        scene_assert_usable(s);
        assert_true(places < MOST_PLACES);
    }
}

static void every_place_may_fail(void **state)
{
    heap host = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    scene s;
    int places = 0;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    options.host_allocator = heap_allocator(&host);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    s = scene_open(ctx);
    for (int group = 0; scenario_groups[group]; group++) {
        for (const named_scenario *test = scenario_groups[group]; test->name; test++) {
            places += fail_scenario(test, &s, &host);
        }
    }
    print_message("%d places failed\n", places);
    scene_close(&s);
    tess_context_destroy(ctx);
    assert_int_equal(host.live, 0);
    assert_int_equal(host.wrong_releases, 0);
}

/* An error, never the CPU in silence. */
static void contexts_may_fail(void **state)
{
    bool failed = true;

    (void)state;
    for (int turn = 0; failed; turn++) {
        tess_context *ctx = NULL;
        tess_context_options options;
        tess_status status;

        tess_context_options_init(&options);
        options.device = TESS_DEVICE_GPU;
        emulatedFailAtNewPlace();
        status = tess_context_create(&options, &ctx);
        failed = emulatedHasFailed();
        assert_true((status == TESS_SUCCESS) == (ctx != NULL));
        assert_true(failed || status == TESS_SUCCESS);
        tess_context_destroy(ctx);
        assert_true(turn < MOST_PLACES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_may_fail),
        cmocka_unit_test(every_place_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
