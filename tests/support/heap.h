/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that counts held memory and fails where a test requests it. */
#ifndef TESS_TESTS_SUPPORT_HEAP_H
#define TESS_TESTS_SUPPORT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/context.h>

typedef struct heap {
    int64_t calls;   /* allocations since the counter was set to 0 */
    int64_t fail_at; /* the call with this number, counted from 0, fails; -1: none does */
    int64_t live, live_bytes;
    int64_t wrong_releases; /* releases with a wrong size, or of memory that is not held */
    tess_allocator beneath; /* where device memory comes from; all zero: host memory */
} heap;

tess_allocator heap_allocator(heap *h);
/* Starts counting anew and fails call `k` from now on. */
void heap_fail_at(heap *h, int64_t k);
/* Whether so many bytes from `pointer` on lie in one of its allocations. */
bool heap_holds(const heap *h, const void *pointer, size_t bytes);

#endif
