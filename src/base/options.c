/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

static const char hint[] = "call the _init function of the type; the program's headers may be newer than the library";

tess_status result_require_size(tess_context *ctx, const char *type, size_t given, size_t size)
{
    if (given >= sizeof given && given <= size) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint, "%s.size is %zu, but this library knows a size of at most %s",
                     type, given, tess_count((int64_t)size, "byte").text);
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

tess_status options_require_zeros(tess_context *ctx, const char *type, const int64_t *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (words[i] == 0) { continue; }
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "initialise the struct by its _init function, or update the library",
                         "%s.reserved is not zero; it may hold an option of a later version", type);
    }
    return TESS_SUCCESS;
}

tess_status options_require_name(tess_context *ctx, const char *type, const char *field, int value)
{
    char hint[128];

    for (const tess_named_value *entry = tess_enum_names(type); entry->name; entry++) {
        if (entry->value == value) { return TESS_SUCCESS; }
    }
    snprintf(hint, sizeof hint, "use an enumerator of %s", type);
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint, "%s has the unknown value %d", field, value);
}

tess_status options_require_role(tess_context *ctx, const char *field, const tess_role_precision *role)
{
    tess_status status = TESS_SUCCESS;

    if (!role->given) { return TESS_SUCCESS; }
    status = options_require_name(ctx, "tess_precision", field, (int)role->storage);
    if (status != TESS_SUCCESS) { return status; }
    return options_require_name(ctx, "tess_arithmetic", field, (int)role->arithmetic);
}

void result_return(const void *full, void *result)
{
    size_t known = 0;

    memcpy(&known, result, sizeof known);
    memcpy(result, full, known);
    memcpy(result, &known, sizeof known);
}

void options_init_bare(void *out, size_t given, const void *full, size_t size)
{
    if (!out) { return; }
    memset(out, 0, given);
    memcpy(out, full, given < size ? given : size);
}

void options_init(void *out, size_t given, const void *full, size_t size)
{
    if (!out || given < sizeof given) { return; }
    options_init_bare(out, given, full, size);
    memcpy(out, &given, sizeof given);
}

void result_init(void *out, size_t given)
{
    options_init(out, given, &given, sizeof given);
}
