/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, RTLD_DEEPBIND */
#endif
#include "base/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* AddressSanitizer and ThreadSanitizer replace functions, and refuse libraries that would see their own first. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(SANITIZED) || !defined(RTLD_DEEPBIND)
enum { MODE = RTLD_NOW | RTLD_LOCAL };
#else
enum { MODE = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

static const char here;

/* From the folder that holds this code. `problem` (NULL: not wanted): why a file that is there was not loaded. */
static void *open_beside(const char *folder_from_here, const char *file, int mode, char *problem, size_t size)
{
    char path[PATH_MAX];
    Dl_info own;
    const char *slash = NULL, *why = NULL;
    void *library = NULL;
    int length = 0;

    if (!dladdr(&here, &own) || !own.dli_fname) { return NULL; }
    slash = strrchr(own.dli_fname, '/');
    if (!slash) { return NULL; }
    length =
        snprintf(path, sizeof path, "%.*s/%s%s", (int)(slash - own.dli_fname), own.dli_fname, folder_from_here, file);
    if (length <= 0 || (size_t)length >= sizeof path) { return NULL; }
    library = dlopen(path, mode);
    if (!library && problem && access(path, F_OK) == 0 && (why = dlerror()) != NULL) {
        (void)snprintf(problem, size, "%s", why);
    }
    return library;
}

const void *tess_module_symbol(const char *file, const char *symbol, char *problem, size_t size)
{
    static const char *const folders[] = {"tessera/", "lib/tessera/", "../lib/tessera/"};
    void *module = NULL;

    problem[0] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && !module; i++) {
        module = open_beside(folders[i], file, MODE, problem, size);
    }
    if (!module) { module = dlopen(file, MODE); }
    return module ? dlsym(module, symbol) : NULL;
}

void *tess_library_open(const char *path, const char *file, const char *const *folders)
{
    enum { OTHERS = RTLD_NOW | RTLD_LOCAL };
    char inside[PATH_MAX];
    void *library = NULL;

    if (path) {
        const int length = snprintf(inside, sizeof inside, "%s/%s", path, file);

        library = dlopen(path, OTHERS);
        return library || (size_t)length >= sizeof inside ? library : dlopen(inside, OTHERS);
    }
    library = dlopen(file, OTHERS);
    for (; !library && *folders; folders++) {
        library = open_beside(*folders, file, OTHERS, NULL, 0);
    }
    return library;
}
