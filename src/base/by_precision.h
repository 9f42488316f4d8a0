/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with the precision as a constant, for loops that are compiled once per precision. The only switch over
   precisions in host code. */
#ifndef TESS_BASE_BY_PRECISION_H
#define TESS_BASE_BY_PRECISION_H

#include <tessera/codec.h>

/*
 * The statement function(precision, ...), in which the compiler knows the precision. It does nothing for a value
 * outside the enum. Make the function TESS_INLINE, so that its tests of the precision fold away.
 */
#define CALL_BY_PRECISION(precision, function, ...)                                   \
    do {                                                                              \
        switch (precision) {                                                          \
            TESS_PRECISION_LIST_WITH(CALL_BY_PRECISION_CASE, (function, __VA_ARGS__)) \
        }                                                                             \
    } while (0)

#define CALL_BY_PRECISION_CASE(call, NAME, ...)                                       \
    case TESS_PRECISION_##NAME:                                                       \
        CALL_BY_PRECISION_SPREAD(TESS_PRECISION_##NAME, CALL_BY_PRECISION_OPEN call); \
        break;
#define CALL_BY_PRECISION_OPEN(...) __VA_ARGS__
#define CALL_BY_PRECISION_SPREAD(...) CALL_BY_PRECISION_NOW(__VA_ARGS__)
#define CALL_BY_PRECISION_NOW(precision, function, ...) function(precision, __VA_ARGS__)

#endif
