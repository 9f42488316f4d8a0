/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <string.h>

static const char hint[] = "call the _init function of the type; the program's headers may be newer than the library";

tess_status result_require_size(tess_context *ctx, const char *type, size_t given, size_t size)
{
    if (given >= sizeof given && given <= size) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint,
                     "%s.size is %zu, but this library knows a size of at most %zu bytes", type, given, size);
}

tess_status options_take(tess_context *ctx, const char *type, const void *given, void *full, size_t size)
{
    size_t known = 0;
    tess_status status = TESS_SUCCESS;

    if (!given) { return TESS_SUCCESS; }
    memcpy(&known, given, sizeof known);
    status = result_require_size(ctx, type, known, size);
    if (status != TESS_SUCCESS) { return status; }
    memcpy(full, given, known);
    memcpy(full, &size, sizeof size);
    return TESS_SUCCESS;
}

tess_status options_require_member(tess_context *ctx, const char *type, size_t given, size_t size)
{
    if (given == size) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint,
                     "a member of %s has size %zu, but this library knows a size of %zu bytes", type, given, size);
}

tess_status options_require_reserved(tess_context *ctx, const char *type, const int64_t reserved[OPTIONS_RESERVED])
{
    for (int i = 0; i < OPTIONS_RESERVED; i++) {
        if (reserved[i] == 0) { continue; }
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "initialise the struct by its _init function, or update the library",
                         "%s.reserved is not zero; it may hold an option of a later version", type);
    }
    return TESS_SUCCESS;
}

void result_return(const void *full, void *result)
{
    size_t known = 0;

    memcpy(&known, result, sizeof known);
    memcpy(result, full, known);
    memcpy(result, &known, sizeof known);
}
