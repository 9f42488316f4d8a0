/* SPDX-License-Identifier: Apache-2.0 */
#include "support/heap.h"

#include "support/test.h"

enum { ALIGNMENT = 256 };

/* Sizes of the allocations that are held, to check releases. A list, because tests hold few allocations at a time. */
typedef struct block {
    struct block *next;
    heap *owner;
    void *pointer;
    size_t bytes;
} block;

static block *held = NULL;

static void *take(const heap *h, size_t bytes)
{
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    if (h->beneath.allocate) { return h->beneath.allocate(h->beneath.user, bytes); }
    return rounded < bytes || rounded > ((size_t)1 << 40) ? NULL : aligned_alloc(ALIGNMENT, rounded);
}

static void *allocate(void *user, size_t bytes)
{
    heap *h = user;
    void *pointer = NULL;
    block *note = NULL;

    if (h->calls++ == h->fail_at) { return NULL; }
    pointer = take(h, bytes);
    if (!pointer) { return NULL; }
    /* Earlier contents must not matter. */
    if (!h->beneath.allocate) { memset(pointer, 0xa5, bytes); }
    note = malloc(sizeof *note);
    assert_non_null(note);
    *note = (block){held, h, pointer, bytes};
    held = note;
    h->live += 1;
    h->live_bytes += (int64_t)bytes;
    return pointer;
}

static void release(void *user, void *pointer, size_t bytes)
{
    heap *h = user;
    block **place = &held;

    while (*place && (*place)->pointer != pointer) {
        place = &(*place)->next;
    }
    if (!*place || (*place)->owner != h || (*place)->bytes != bytes) {
        h->wrong_releases += 1;
        return;
    }
    block *note = *place;
    *place = note->next;
    free(note);
    h->live -= 1;
    h->live_bytes -= (int64_t)bytes;
    if (h->beneath.release) {
        h->beneath.release(h->beneath.user, pointer, bytes);
    } else {
        free(pointer);
    }
}

tess_allocator heap_allocator(heap *h)
{
    return (tess_allocator){allocate, release, h};
}

void heap_fail_at(heap *h, int64_t k)
{
    h->calls = 0;
    h->fail_at = k;
}

bool heap_holds(const heap *h, const void *pointer, size_t bytes)
{
    const uintptr_t at = (uintptr_t)pointer;

    for (const block *b = held; b; b = b->next) {
        const uintptr_t start = (uintptr_t)b->pointer;

        if (b->owner == h && at >= start && at + bytes <= start + b->bytes) { return true; }
    }
    return false;
}
