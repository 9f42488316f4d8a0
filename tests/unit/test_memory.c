/* SPDX-License-Identifier: Apache-2.0 */
/* Host arrays that a context keeps for later: which, how many, and when they go. */
#include "matrix/matrix.h"
#include "support/heap.h"
#include "support/test.h"

enum { KEPT_AT_LEAST = 1 << 14 };
#define KEPT_AT_MOST (INT64_C(256) << 20)

/* A CPU context that keeps arrays, from an allocator that counts. */
typedef struct fixture {
    tess_context *ctx;
    heap h;
    tess_allocator own; /* which the context itself came from */
} fixture;

static void open_keeping(fixture *f)
{
    *f = (fixture){.ctx = open_cpu(1), .h = {.fail_at = -1}};
    assert_true(f->ctx->kept.enabled);
    tess_host_trim(f->ctx);
    f->own = f->ctx->host_allocator;
    f->ctx->host_allocator = heap_allocator(&f->h);
}

static void close_keeping(fixture *f)
{
    tess_host_trim(f->ctx);
    assert_int_equal(f->h.live, 0);
    assert_int_equal(f->h.live_bytes, 0);
    assert_int_equal(f->h.wrong_releases, 0);
    f->ctx->host_allocator = f->own;
    tess_context_destroy(f->ctx);
}

static char *take(tess_context *ctx, int64_t bytes)
{
    void *memory = NULL;

    assert_ok(ctx, tess_host_allocate(ctx, bytes, 1, &memory));
    memset(memory, 1, (size_t)bytes);
    return memory;
}

static void arrays_serve_again(void **state)
{
    fixture f;

    (void)state;
    open_keeping(&f);
    for (int64_t bytes = KEPT_AT_LEAST; bytes <= 1 << 20; bytes += bytes / 3) {
        char *a = take(f.ctx, bytes), *b = take(f.ctx, bytes);

        tess_host_release(f.ctx, a, bytes, 1);
        tess_host_release(f.ctx, b, bytes, 1);
        f.h.calls = 0;
        assert_ptr_equal(take(f.ctx, bytes), b); /* the last one first: its memory is the likeliest to be in a cache */
        assert_ptr_equal(take(f.ctx, bytes), a);
        assert_int_equal(f.h.calls, 0);
        tess_host_release(f.ctx, a, bytes, 1);
        tess_host_release(f.ctx, b, bytes, 1);
    }
    close_keeping(&f);
}

/* An array is at most an eighth larger than requested, and never smaller. */
static void sizes_are_near(void **state)
{
    fixture f;

    (void)state;
    open_keeping(&f);
    for (int64_t bytes = 1; bytes < 1 << 22; bytes += 1 + bytes / 5) {
        char *a = take(f.ctx, bytes);

        assert_true(f.h.live_bytes >= bytes && f.h.live_bytes - bytes <= bytes / 8);
        assert_true(bytes >= KEPT_AT_LEAST || f.h.live_bytes == bytes);
        tess_host_release(f.ctx, a, bytes, 1);
        assert_int_equal(f.h.live, bytes >= KEPT_AT_LEAST);
        tess_host_trim(f.ctx);
        assert_int_equal(f.h.live, 0);
    }
    close_keeping(&f);
}

/* Memory of objects lies near the threads that wrote it first. */
static void device_arrays_are_new(void **state)
{
    fixture f;
    void *a = NULL;

    (void)state;
    open_keeping(&f);
    tess_host_release(f.ctx, take(f.ctx, 100000), 100000, 1);
    f.h.calls = 0;
    assert_ok(f.ctx, tess_device_allocate(f.ctx, 100000, 1, &a));
    assert_int_equal(f.h.calls, 1);
    assert_int_equal(f.h.live, 2);
    tess_device_release(f.ctx, a, 100000, 1);
    assert_int_equal(f.h.live, 1);
    close_keeping(&f);
}

static void the_oldest_go(void **state)
{
    fixture f;
    char *array[TESS_KEPT_ARRAYS + 1] = {NULL};

    (void)state;
    open_keeping(&f);
    for (int i = 0; i <= TESS_KEPT_ARRAYS; i++) {
        array[i] = take(f.ctx, KEPT_AT_LEAST);
    }
    for (int i = 0; i <= TESS_KEPT_ARRAYS; i++) {
        tess_host_release(f.ctx, array[i], KEPT_AT_LEAST, 1);
    }
    assert_int_equal(f.h.live, TESS_KEPT_ARRAYS);
    f.h.calls = 0;
    for (int i = TESS_KEPT_ARRAYS; i > 0; i--) {
        assert_ptr_equal(take(f.ctx, KEPT_AT_LEAST), array[i]);
    }
    assert_int_equal(f.h.calls, 0);
    array[0] = take(f.ctx, KEPT_AT_LEAST);
    assert_int_equal(f.h.calls, 1);
    for (int i = 0; i <= TESS_KEPT_ARRAYS; i++) {
        tess_host_release(f.ctx, array[i], KEPT_AT_LEAST, 1);
    }
    close_keeping(&f);
}

static void they_have_a_limit(void **state)
{
    const int64_t bytes = KEPT_AT_MOST / 4;
    fixture f;
    char *array[5] = {NULL}, *small = NULL;

    (void)state;
    open_keeping(&f);
    small = take(f.ctx, KEPT_AT_LEAST);
    tess_host_release(f.ctx, take(f.ctx, KEPT_AT_MOST + 1), KEPT_AT_MOST + 1, 1);
    assert_int_equal(f.h.live, 1);
    for (int i = 0; i < 5; i++) {
        array[i] = take(f.ctx, bytes);
    }
    for (int i = 0; i < 5; i++) {
        tess_host_release(f.ctx, array[i], bytes, 1);
        assert_true(f.h.live_bytes - KEPT_AT_LEAST - (4 - i) * bytes <= KEPT_AT_MOST);
    }
    assert_int_equal(f.h.live, 5);
    tess_host_release(f.ctx, small, KEPT_AT_LEAST, 1);
    assert_int_equal(f.h.live, 4); /* one of the large ones went for it */
    assert_ptr_equal(take(f.ctx, bytes), array[4]);
    tess_host_release(f.ctx, array[4], bytes, 1);
    close_keeping(&f);
}

static void they_go_before_memory_is_out(void **state)
{
    fixture f;
    char *a = NULL;
    void *none = &f;

    (void)state;
    open_keeping(&f);
    a = take(f.ctx, 100000);
    tess_host_release(f.ctx, a, 100000, 1);
    heap_fail_at(&f.h, 0);
    a = take(f.ctx, 1000000);
    assert_int_equal(f.h.calls, 2);
    assert_int_equal(f.h.live, 1);
    heap_fail_at(&f.h, 0);
    assert_int_equal(tess_host_allocate(f.ctx, 1000000, 1, &none), TESS_OUT_OF_MEMORY);
    assert_null(none);
    assert_int_equal(f.h.calls, 1);
    heap_fail_at(&f.h, -1);
    assert_int_equal(tess_host_allocate(f.ctx, INT64_MAX, 8, &none), TESS_OUT_OF_MEMORY);
    assert_int_equal(f.h.calls, 0);
    tess_host_release(f.ctx, a, 1000000, 1);
    close_keeping(&f);
}

/* A trim by the user; and kept memory counts as released. */
static void a_trim_gives_them_back(void **state)
{
    fixture f;
    int64_t peak = 0;

    (void)state;
    open_keeping(&f);
    for (int i = 0; i < 3; i++) {
        tess_host_release(f.ctx, take(f.ctx, 100000), 100000, 1);
        peak = i == 0 ? tess_context_peak_bytes(f.ctx) : peak;
    }
    assert_int_equal(tess_context_peak_bytes(f.ctx), peak);
    assert_int_equal(f.h.live, 1);
    assert_ok(f.ctx, tess_context_trim(f.ctx));
    assert_int_equal(f.h.live, 0);
    close_keeping(&f);
}

/* A caller's own allocator gets each release, with the requested size. */
static void callers_allocators_keep_for_themselves(void **state)
{
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    int64_t before = 0;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    before = h.live_bytes;
    char *a = take(ctx, 100001);
    assert_int_equal(h.live_bytes, before + 100001);
    tess_host_release(ctx, a, 100001, 1);
    assert_int_equal(h.live_bytes, before);
    tess_context_destroy(ctx);
    assert_int_equal(h.live, 0);
    assert_int_equal(h.wrong_releases, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_serve_again),     cmocka_unit_test(sizes_are_near),
        cmocka_unit_test(device_arrays_are_new),  cmocka_unit_test(the_oldest_go),
        cmocka_unit_test(they_have_a_limit),      cmocka_unit_test(they_go_before_memory_is_out),
        cmocka_unit_test(a_trim_gives_them_back), cmocka_unit_test(callers_allocators_keep_for_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
