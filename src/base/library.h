/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: libraries that this one loads when they are first needed. A module and what it is linked with see their own
 * symbols before those of the program, which does not see theirs.
 */
#ifndef TESS_BASE_LIBRARY_H
#define TESS_BASE_LIBRARY_H

#include <stddef.h>

/* The address of `symbol` in the module of that file name. It is searched in the folder tessera beside this library; if
   that is linked statically, in lib/tessera and ../lib/tessera from the program; and where the dynamic linker looks. It
   stays loaded. NULL: there is none, and `problem` is empty; or it cannot be loaded, and `problem` has the linker's
   words. */
const void *tess_module_symbol(const char *file, const char *symbol, char *problem, size_t size);

/* Another vendor's library, which stays loaded: `path` if it is not NULL, a file or a folder that holds `file`; else
   `file` where the dynamic linker looks, and then in each of the folders, as seen from this library's own (a list that
   NULL ends). NULL: there is none; dlerror tells about the last that failed. */
void *tess_library_open(const char *path, const char *file, const char *const *folders);

#endif
