/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: libraries that this one loads when they are first needed. A module and what it is linked with see their own
 * symbols before those of the program, which does not see theirs.
 */
#ifndef TESS_BASE_LIBRARY_H
#define TESS_BASE_LIBRARY_H

/* The address of `symbol` in the module of that file name. It is searched in the folder tessera beside this library; if
   that is linked statically, in lib/tessera and ../lib/tessera from the program; and where the dynamic linker looks. It
   stays loaded. NULL: there is none, or it cannot be loaded. */
const void *tess_module_symbol(const char *file, const char *symbol);

#endif
