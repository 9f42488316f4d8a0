/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file version.h  The version of these headers, and that of the library that runs.
 *
 *     #if TESS_VERSION_NUMBER >= 300                          0.3.0 and later
 *     if (tess_version_number() < TESS_VERSION_NUMBER) ...    the library is older than the headers
 *
 * A program runs with every later library of the same major version; before 1.0, of the same minor version.
 */
#ifndef TESSERA_VERSION_H
#define TESSERA_VERSION_H

#include <tessera/export.h>

TESS_BEGIN_DECLS

#define TESS_VERSION_MAJOR 0
#define TESS_VERSION_MINOR 3
#define TESS_VERSION_PATCH 0
/** One number to compare: 10000 major + 100 minor + patch. */
#define TESS_VERSION_NUMBER (10000 * TESS_VERSION_MAJOR + 100 * TESS_VERSION_MINOR + TESS_VERSION_PATCH)

/** TESS_VERSION_NUMBER of the library. tests/unit/test_headers.c */
TESS_EXPORT int tess_version_number(void);

/** Version of the library, "major.minor.patch". */
TESS_EXPORT const char *tess_version(void);

TESS_END_DECLS

#endif
