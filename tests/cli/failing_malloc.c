/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: memory and threads that end. No more than TESSERA_FAIL_THREADS threads start at a time. The allocation
 * with the number TESSERA_FAIL_AT, counted from 0, fails. The tool's own count, the library's and jansson's. Those of
 * libc and of OpenMP do not: both end the program where there is none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool inside = false; /* of a function of this file: dlsym and dladdr may allocate */

static bool counts(const void *caller)
{
    static const char *const objects[] = {"/tessera", "/libtessera.", "/libjansson."};
    Dl_info of;

    if (dladdr(caller, &of) == 0 || !of.dli_fname) { return false; }
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        if (strstr(of.dli_fname, objects[i])) { return true; }
    }
    return false;
}

static bool fails(const void *caller)
{
    static long left = -2;
    bool failing = false;

    if (inside) { return false; }
    inside = true;
    if (left == -2) {
        const char *at = getenv("TESSERA_FAIL_AT");

        left = at ? strtol(at, NULL, 10) : -1;
    }
    if (left >= 0 && counts(caller)) { failing = left-- == 0; }
    inside = false;
    if (failing) { errno = ENOMEM; }
    return failing;
}

#define CALLER __builtin_return_address(0)

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return fails(CALLER) ? NULL : __libc_calloc(count, size);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

char *strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = fails(CALLER) ? NULL : __libc_malloc(bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

int vasprintf(char **out, const char *format, va_list list)
{
    va_list again;
    int length;

    va_copy(again, list);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *out = fails(CALLER) ? NULL : __libc_malloc((size_t)length + 1);
    return *out ? vsnprintf(*out, (size_t)length + 1, format, list) : -1;
}

int asprintf(char **out, const char *format, ...)
{
    const void *caller = CALLER;
    va_list list;
    int length;

    if (fails(caller)) { return -1; }
    va_start(list, format);
    inside = true;
    length = vasprintf(out, format, list);
    inside = false;
    va_end(list);
    return length;
}

/* Threads beside the first, as the system sees them. */
static long count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long count = -3; /* ., .. and the first */

    while (tasks && readdir(tasks)) {
        count += 1;
    }
    if (tasks) { closedir(tasks); }
    return count;
}

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *user)
{
    const char *most = getenv("TESSERA_FAIL_THREADS");
    create_function real = (create_function)(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");

    if (most && count_threads() >= strtol(most, NULL, 10)) { return EAGAIN; }
    return real(thread, attributes, start, user);
}
