/* SPDX-License-Identifier: Apache-2.0 */
/* Names and values of a public enum, by the type's name. */
#ifndef TESS_REGISTRY_NAMES_H
#define TESS_REGISTRY_NAMES_H

#include <tessera/status.h>

/* "?": there is no such value. */
const char *tess_name_of(const char *type, int value);
/* `out` points to an enum. Errors: INVALID_ARGUMENT, which leaves it unchanged. */
tess_status tess_value_of(const char *type, const char *name, void *out);

#endif
