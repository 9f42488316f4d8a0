/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h  Status codes. tess_context_last_error has the detail of a failure. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include <tessera/export.h>

TESS_BEGIN_DECLS

/** What functions return. Values are part of the ABI: append, never renumber. */
typedef enum tess_status {
    TESS_SUCCESS = 0,              /**< success */
    TESS_OUT_OF_MEMORY = 1,        /**< out of host memory */
    TESS_OUT_OF_DEVICE_MEMORY = 2, /**< out of device memory */
    TESS_INVALID_ARGUMENT = 3,     /**< an argument or option has no meaning */
    TESS_DIMENSION_MISMATCH = 4,   /**< sizes of operands do not match */
    TESS_OUT_OF_RANGE = 5,         /**< a size or index is out of range */
    TESS_UNSUPPORTED = 6,          /**< the request has a meaning, but the library does not support it */
    TESS_NOT_FOUND = 7,            /**< no such file or name */
    TESS_IO = 8,                   /**< reading or writing failed */
    TESS_PARSE = 9,                /**< malformed input */
    TESS_CORRUPT = 10,             /**< a file is damaged or has another version */
    TESS_NO_DEVICE = 11,           /**< no usable device */
    TESS_DEVICE = 12,              /**< the device runtime reported an error */
    TESS_CALLBACK = 13,            /**< a user callback reported failure */
    TESS_SINGULAR = 14,            /**< a matrix, a diagonal block or a diagonal entry is singular */
    TESS_INTERNAL = 15,            /**< an error of the library's own */
    TESS_TIMED_OUT = 16            /**< a set-up would not end, or did not end, within the limit of time */
} tess_status;

/** One-line description of @p status; never NULL, even for values outside the list. */
TESS_EXPORT const char *tess_status_text(tess_status status);
TESS_EXPORT const char *tess_status_name(tess_status status);
TESS_EXPORT tess_status tess_status_parse(const char *name, tess_status *out);

TESS_END_DECLS

#endif
