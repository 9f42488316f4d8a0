/* SPDX-License-Identifier: Apache-2.0 */
/* Where cuDSS is looked for. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "precond/direct/cudss_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"

/* Where Python's packages put it, as seen from the folder of this library's Python package, and from that of a program
   or library in an environment's bin or lib. */
static const char *const folders[] = {"../nvidia/cu13/lib/", "../nvidia/cu12/lib/", NULL};
static const char *const names[] = {"libcudss.so.1", "libcudss.so"};

/* Whether the loader says that there is no such library; else there is one, and it or what it needs does not load. */
static bool is_missing(const char *reason)
{
    return !reason || (strstr(reason, "libcudss") && strstr(reason, "No such file"));
}

static void *find(const char *path, char *why, size_t length)
{
    void *library = NULL;

    (void)snprintf(why, length, "there is no libcudss.so.1 %s%s", path ? "at " : "where it was looked for",
                   path ? path : "");
    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++) {
        const char *reason = NULL;

        library = tess_library_open(path, names[i], folders);
        reason = library ? NULL : dlerror();
        if (!is_missing(reason)) { (void)snprintf(why, length, "%s", reason); }
    }
    return library;
}

/* The layer by GNU OpenMP: this library's own threads. */
static void find_threads(cudss_library *found)
{
    Dl_info place;
    void *symbol = NULL;
    const char *slash = NULL;
    int length = 0;

    memcpy(&symbol, &found->cudssCreate, sizeof symbol);
    if (dladdr(symbol, &place) && place.dli_fname) { slash = strrchr(place.dli_fname, '/'); }
    if (slash) {
        length = snprintf(found->threads, sizeof found->threads, "%.*s/libcudss_mtlayer_gomp.so.%d",
                          (int)(slash - place.dli_fname), place.dli_fname, found->version / 100);
    }
    if (length <= 0 || (size_t)length >= sizeof found->threads || access(found->threads, R_OK) != 0) {
        found->threads[0] = '\0';
    }
}

bool cudss_load(const char *path, cudss_library *out, char *why, size_t length)
{
    void *library = find(path, why, length);
    int major = 0, minor = 0;

    memset(out, 0, sizeof *out);
    if (!library) { return false; }
#define FUNCTION(name, parameters)                                       \
    {                                                                    \
        void *symbol = dlsym(library, #name);                            \
        if (!symbol) {                                                   \
            (void)snprintf(why, length, "it has no function %s", #name); \
            return false;                                                \
        }                                                                \
        memcpy(&out->name, &symbol, sizeof symbol);                      \
    }
    CUDSS_FUNCTIONS(FUNCTION)
#undef FUNCTION
    if (out->cudssGetProperty(CUDSS_MAJOR, &major) != CUDSS_OK ||
        out->cudssGetProperty(CUDSS_MINOR, &minor) != CUDSS_OK) {
        (void)snprintf(why, length, "it does not tell its version");
        return false;
    }
    out->version = 100 * major + minor;
    if (out->version < CUDSS_LEAST_VERSION) {
        (void)snprintf(why, length, "version %d.%d is too old; 1.0 or later is needed", major, minor);
        return false;
    }
    find_threads(out);
    return true;
}
