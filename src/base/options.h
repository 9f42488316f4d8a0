/* SPDX-License-Identifier: Apache-2.0 */
/* Public structs that begin with `size`: those of a caller whose headers are older are taken for what they are. */
#ifndef TESS_BASE_OPTIONS_H
#define TESS_BASE_OPTIONS_H

#include "base/context.h"

/* Copies what the caller's struct has over the defaults in *full, which has `size` bytes; NULL: the defaults stay.
   INVALID_ARGUMENT for a size of 0 or above that. `type` names the struct. */
tess_status options_take(tess_context *ctx, const char *type, const void *given, void *full, size_t size);
/* A member that begins with `size` has the length that it has here, whatever the struct around it. */
tess_status options_require_member(tess_context *ctx, const char *type, size_t given, size_t size);
/* The words that later versions may name are zeros. */
enum { OPTIONS_RESERVED = 4 };
tess_status options_require_reserved(tess_context *ctx, const char *type, const int64_t reserved[OPTIONS_RESERVED]);

/* Of a struct that the library fills: its size is that of this library or of an older one. */
tess_status result_require_size(tess_context *ctx, const char *type, size_t given, size_t size);
/* Fills as much of it as the caller knows; its size stays. */
void result_return(const void *full, void *result);

#endif
