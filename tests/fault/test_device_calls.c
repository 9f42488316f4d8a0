/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The k-th operation of a device fails, for k = 0, 1, 2, ... until the call succeeds. Tests run on a stand-in for a GPU
 * (tests/support/stand_in.h). After every failure the status and the message are the device's, all memory is freed, and
 * the context still works.
 */
#include "support/scenarios.h"
#include "support/stand_in.h"

/* All of the first operations fail in turn, then every STEP-th. */
enum { FIRST = 60, STEP = 17, MOST = 100000 };

/* One failure: what the call says of it, and that nothing stays behind. *done: there are fewer operations. */
static void fail_once(const named_scenario *test, scene *s, stand_in *device, heap *host, int64_t k, bool *done)
{
    int64_t live = device->memory.live, live_host = host->live;
    tess_status status = TESS_INTERNAL;

    stand_in_fail_at(device, k);
    status = test->run(s);
    device->fail_at = -1;
    *done = status == TESS_SUCCESS && device->calls <= k;
    if (status != TESS_SUCCESS) {
        const tess_error *error = tess_context_last_error(s->ctx);

        if (status != TESS_DEVICE || !strstr(error->message, "told to fail")) {
            fail_msg("%s, operation %lld: %s: %s", test->name, (long long)k, tess_status_text(status), error->message);
        }
    } else if (!*done) {
        fail_msg("%s, operation %lld: the failure is lost", test->name, (long long)k);
    }
    if (device->memory.live > live + 1 || host->live > live_host + 1) { /* one workspace may have grown */
        fail_msg("%s, operation %lld: %lld allocations of the device and %lld of the host are lost", test->name,
                 (long long)k, (long long)(device->memory.live - live), (long long)(host->live - live_host));
    }
    if (device->misplaced > 0 || device->memory.wrong_releases > 0 || host->wrong_releases > 0) {
        fail_msg("%s, operation %lld: %lld arrays are in another memory, %lld releases are wrong", test->name,
                 (long long)k, (long long)device->misplaced,
                 (long long)(device->memory.wrong_releases + host->wrong_releases));
    }
    scene_assert_usable(s);
}

static void each_operation_fails(void **state)
{
    stand_in device;
    heap host = {.fail_at = -1};
    tess_context *ctx = NULL;
    scene s;

    (void)state;
    if (!stand_in_is_possible()) { skip(); }
    ctx = open_stand_in(&device, &host, 1);
    s = scene_open(ctx);
    for (int group = 0; scenario_groups[group]; group++) {
        for (const named_scenario *test = scenario_groups[group]; test->name; test++) {
            bool done = false;

            if (!stand_in_takes(test->name)) { continue; }
            assert_ok(ctx, test->run(&s));
            for (int64_t k = 0; !done && k < MOST; k += k < FIRST ? 1 : STEP) {
                fail_once(test, &s, &device, &host, k, &done);
            }
            assert_true(done);
            assert_ok(ctx, test->run(&s));
        }
    }
    scene_close(&s);
    tess_context_destroy(ctx);
    assert_int_equal(device.memory.live, 0);
    assert_int_equal(host.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
