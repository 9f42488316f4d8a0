/* SPDX-License-Identifier: Apache-2.0 */
/* Public structs that begin with `size`: also accepts the shorter structs of callers with older headers. */
#ifndef TESS_BASE_OPTIONS_H
#define TESS_BASE_OPTIONS_H

#include "base/context.h"

/* Copies the fields of the caller's struct over the defaults in *full, which has `size` bytes. NULL: the defaults stay.
   INVALID_ARGUMENT for a size of 0 or above `size`. `type` names the struct. */
tess_status options_take(tess_context *ctx, const char *type, const void *given, void *full, size_t size);
/* Writes the defaults in *full, of `size` bytes, to a struct of the caller, which has `given` bytes by its headers:
   those that both know, zeros beyond, and its `size`. NULL, or a length without room for `size`: nothing. */
void options_init(void *out, size_t given, const void *full, size_t size);
/* The same for a struct without `size`. */
void options_init_bare(void *out, size_t given, const void *full, size_t size);
/* The same where all is zero but `size`. */
void result_init(void *out, size_t given);
/* Checks a member that begins with `size`: it must have exactly this library's length, whatever struct contains it. */
tess_status options_require_member(tess_context *ctx, const char *type, size_t given, size_t size);
/* Checks that the words reserved for later versions, an array, are zero. */
#define options_require_reserved(ctx, type, words) \
    options_require_zeros(ctx, type, words, (int)(sizeof(words) / sizeof *(words)))
tess_status options_require_zeros(tess_context *ctx, const char *type, const int64_t *words, int count);

/* Beside the words of tess_options_check. */
#define TESS_OPTIONS_HINT "docs/reference/options.md tells what each option is for"

/* Checks that a field has a value of the enum `type`; `field` names it, such as "tess_solve_options.engine". */
tess_status options_require_name(tess_context *ctx, const char *type, const char *field, int value);
/* The same for the two enums of a role that is given. */
tess_status options_require_role(tess_context *ctx, const char *field, const tess_role_precision *role);

/* Checks the size of a struct that the library fills: this library's or an older one's. */
tess_status result_require_size(tess_context *ctx, const char *type, size_t given, size_t size);
/* Fills as much of the struct as the caller knows, and keeps its `size`. */
void result_return(const void *full, void *result);

#endif
