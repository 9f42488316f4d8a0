/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The k-th allocation fails, for k = 0, 1, 2, ... until the call succeeds. After every failure the status says so, the
 * context has a message, all memory is freed, and the context still works. On the host, and on the device if there is
 * one.
 */
#include "support/heap.h"
#include "support/scenarios.h"
#include "support/stand_in.h"

enum { MAX_ALLOCATIONS = 2000 };
/* With instruments, which make it five times as long, beyond the first 50 one thread has the odd ones and two threads
   the even ones. The optimised build, whose heap finds what is lost as well, has all. */
#ifdef TESS_INSTRUMENTED
enum { FIRST = 50, STEP = 2 };
#else
enum { FIRST = MAX_ALLOCATIONS, STEP = 1 };
#endif

static int64_t next_allocation(int64_t k, int threads)
{
    return k < FIRST + threads % 2 ? k + 1 : k + STEP;
}

/*
 * Fails call after call of `failing`. What the context keeps between calls (space for partial sums) may grow while the
 * scenario runs, so that memory is compared with a context that has been through it once.
 */
static int64_t run_scenario(const named_scenario *test, scene *s, heap *failing, heap *host, tess_status expected)
{
    int64_t live = 0, bytes = 0, device_live = 0, k = 0;
    tess_status status = TESS_INTERNAL;

    for (k = 0; k < MAX_ALLOCATIONS; k = next_allocation(k, tess_context_threads(s->ctx))) {
        live = host->live;
        bytes = host->live_bytes;
        device_live = failing->live;
        heap_fail_at(failing, k);
        status = test->run(s);
        failing->fail_at = -1;
        if (status == TESS_SUCCESS && failing->calls <= k) { break; }
        if (status != TESS_SUCCESS) {
            const tess_error *error = tess_context_last_error(s->ctx);

            if (status != expected) {
                fail_msg("%s, allocation %lld: %s: %s", test->name, (long long)k, tess_status_text(status),
                         error->message);
            }
            assert_int_equal(error->status, expected);
            assert_true(error->message[0] != '\0');
        }
        if (host->live > live + 1 || failing->live > device_live + 1) { /* one workspace may have grown */
            fail_msg("%s, allocation %lld: %lld allocations of %lld bytes are lost", test->name, (long long)k,
                     (long long)(host->live - live), (long long)(host->live_bytes - bytes));
        }
        assert_int_equal(host->wrong_releases, 0);
        assert_int_equal(failing->wrong_releases, 0);
        scene_assert_usable(s);
    }
    assert_true(k < MAX_ALLOCATIONS);
    live = host->live;
    device_live = failing->live;
    assert_ok(s->ctx, test->run(s)); /* once more: nothing may be left behind now */
    assert_int_equal(host->live, live);
    assert_int_equal(failing->live, device_live);
    scene_assert_usable(s);
    return k;
}

/* Each failed attempt, one after the other on one context, must not lose memory in sum either. */
static void fail_scenario(const named_scenario *test, scene *s, heap *failing, heap *host, tess_status expected,
                          bool must_allocate)
{
    int64_t before = host->live + (failing != host ? failing->live : 0);
    int64_t count = run_scenario(test, s, failing, host, expected);
    int64_t after = host->live + (failing != host ? failing->live : 0);

    if (after > before + 2) { fail_msg("%s: %lld allocations are lost", test->name, (long long)(after - before)); }
    if (must_allocate && count == 0 && !test->may_do_without) {
        fail_msg("%s: allocates nothing through the context", test->name);
    }
}

/* takes: whether the device takes the scenario of this name; NULL: it takes all. */
static void fail_each(tess_context *ctx, heap *failing, heap *host, tess_status expected, bool must_allocate,
                      bool (*takes)(const char *name))
{
    scene s = scene_open(ctx);

    scene_assert_usable(&s);
    for (int group = 0; scenario_groups[group]; group++) {
        for (const named_scenario *test = scenario_groups[group]; test->name; test++) {
            if (takes && !takes(test->name)) { continue; }
            fail_scenario(test, &s, failing, host, expected, must_allocate);
        }
    }
    scene_close(&s);
}

static void host_allocations(void **state)
{
    heap host = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        tess_context_options_init(&options);
        options.device = TESS_DEVICE_CPU;
        options.threads = threads;
        options.host_allocator = heap_allocator(&host);
        assert_ok(NULL, tess_context_create(&options, &ctx));
        fail_each(ctx, &host, &host, TESS_OUT_OF_MEMORY, true, NULL);
        tess_context_destroy(ctx);
        assert_int_equal(host.live, 0);
        assert_int_equal(host.live_bytes, 0);
        assert_int_equal(host.wrong_releases, 0);
    }
}

/* The library's own code for a device, in builds without one. */
static void stand_in_allocations(void **state)
{
    heap host = {.fail_at = -1};
    stand_in device;
    tess_context *ctx = NULL;

    (void)state;
    if (!stand_in_is_possible()) { skip(); }
    ctx = open_stand_in(&device, &host, 1);
    fail_each(ctx, &device.memory, &host, TESS_OUT_OF_DEVICE_MEMORY, false, stand_in_takes);
    fail_each(ctx, &host, &host, TESS_OUT_OF_MEMORY, true, stand_in_takes);
    tess_context_destroy(ctx);
    assert_int_equal(device.misplaced, 0);
    assert_int_equal(device.memory.live, 0);
    assert_int_equal(host.live, 0);
}

/* Device memory that a test can fail comes from vectors of a second context. */
typedef struct loan {
    struct loan *next;
    tess_vector *vector;
    void *pointer;
} loan;

typedef struct lender {
    tess_context *ctx;
    loan *loans;
} lender;

static void *lend(void *user, size_t bytes)
{
    lender *l = user;
    tess_vector *v = NULL;
    loan *note = NULL;

    if (tess_vector_create(l->ctx, (int64_t)(bytes + 7) / 8, TESS_PRECISION_FP64, &v) != TESS_SUCCESS) { return NULL; }
    assert_ok(l->ctx, tess_context_synchronize(l->ctx)); /* before another stream uses it */
    note = test_allocate(1, sizeof *note);
    *note = (loan){l->loans, v, tess_vector_data(v)};
    l->loans = note;
    return note->pointer;
}

static void take_back(void *user, void *pointer, size_t bytes)
{
    lender *l = user;

    (void)bytes;
    for (loan **place = &l->loans; *place; place = &(*place)->next) {
        loan *note = *place;

        if (note->pointer == pointer) {
            *place = note->next;
            tess_vector_destroy(note->vector);
            free(note);
            return;
        }
    }
    fail_msg("device memory was released that was not lent");
}

static void device_allocations(void **state)
{
    lender l = {open_gpu(), NULL};
    heap host = {.fail_at = -1}, device = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    if (!l.ctx) {
        print_message("SKIPPED: device allocations need a GPU\n");
        skip();
    }
    device.beneath = (tess_allocator){lend, take_back, &l};
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    options.host_allocator = heap_allocator(&host);
    options.device_allocator = heap_allocator(&device);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    fail_each(ctx, &device, &host, TESS_OUT_OF_DEVICE_MEMORY, false, NULL);
    fail_each(ctx, &host, &host, TESS_OUT_OF_MEMORY, true, NULL);
    tess_context_destroy(ctx);
    assert_int_equal(host.live, 0);
    assert_int_equal(device.live, 0);
    assert_int_equal(device.live_bytes, 0);
    assert_null(l.loans);
    tess_context_destroy(l.ctx);
}

/* Creating a context on the device with the k-th device allocation failing: an error, never the CPU in silence. */
static void device_context_creation(void **state)
{
    lender l = {open_gpu(), NULL};
    heap device = {.fail_at = -1};
    tess_context_options options;
    tess_status status = TESS_INTERNAL;

    (void)state;
    if (!l.ctx) {
        print_message("SKIPPED: device allocations need a GPU\n");
        skip();
    }
    device.beneath = (tess_allocator){lend, take_back, &l};
    for (int64_t k = 0; status != TESS_SUCCESS; k++) {
        tess_context *ctx = NULL;

        tess_context_options_init(&options);
        options.device = k % 2 ? TESS_DEVICE_GPU : TESS_DEVICE_AUTO;
        options.device_allocator = heap_allocator(&device);
        heap_fail_at(&device, k / 2);
        status = tess_context_create(&options, &ctx);
        if (device.calls > k / 2) {
            assert_int_equal(status, TESS_OUT_OF_DEVICE_MEMORY);
            assert_null(ctx);
        }
        tess_context_destroy(ctx);
        assert_int_equal(device.live, 0);
    }
    tess_context_destroy(l.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_allocations),
        cmocka_unit_test(stand_in_allocations),
        cmocka_unit_test(device_allocations),
        cmocka_unit_test(device_context_creation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
