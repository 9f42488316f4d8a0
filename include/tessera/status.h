/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h  The one list of status codes that every entry point returns. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include <tessera/export.h>

TESS_BEGIN_DECLS

/* X(name, value, message). Values are part of the ABI: append, never renumber. */
#define TESS_STATUS_LIST(X)                                            \
    X(SUCCESS, 0, "success")                                           \
    X(OUT_OF_MEMORY, 1, "out of host memory")                          \
    X(OUT_OF_DEVICE_MEMORY, 2, "out of device memory")                 \
    X(INVALID_ARGUMENT, 3, "invalid argument")                         \
    X(DIMENSION_MISMATCH, 4, "dimensions do not match")                \
    X(OUT_OF_RANGE, 5, "size or index out of range")                   \
    X(UNSUPPORTED, 6, "not supported")                                 \
    X(NOT_FOUND, 7, "not found")                                       \
    X(IO, 8, "input or output failed")                                 \
    X(PARSE, 9, "malformed input")                                     \
    X(CORRUPT, 10, "file is damaged or of another version")            \
    X(NO_DEVICE, 11, "no usable device")                               \
    X(DEVICE, 12, "the device runtime reported an error")              \
    X(CALLBACK, 13, "a user callback reported failure")                \
    X(SINGULAR, 14, "a matrix, a diagonal block or entry is singular") \
    X(INTERNAL, 15, "internal error")

typedef enum tess_status {
#define TESS_STATUS_ENUM(name, value, message) TESS_##name = (value),
    TESS_STATUS_LIST(TESS_STATUS_ENUM)
#undef TESS_STATUS_ENUM
} tess_status;

/** One-line description of @p status; never NULL, also for values outside the list. */
TESS_EXPORT const char *tess_status_string(tess_status status);

TESS_END_DECLS

#endif
