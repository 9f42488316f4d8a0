/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers a precision can hold, and what follows from it, for host and device. Everything comes from
   TESS_PRECISION_LIST. */
#ifndef TESS_BASE_PRECISION_TRAITS_H
#define TESS_BASE_PRECISION_TRAITS_H

#include <stdbool.h>

#include <tessera/codec.h>

/* A line of the list; zeros for a value outside the enum. */
typedef struct precision_traits {
    int bytes, digits, emin, emax; /* digits: significand bits, with the hidden one */
    double largest;
} precision_traits;

/* Folds to a constant if the precision is one. */
TESS_HD precision_traits precision_traits_of(tess_precision precision)
{
    precision_traits traits = {0, 0, 0, 0, 0.0};

    switch (precision) {
#define TRAITS(NAME, value, name, type, digits_, emin_, emax_, largest_) \
    case TESS_PRECISION_##NAME:                                          \
        traits.bytes = (int)sizeof(type);                                \
        traits.digits = digits_;                                         \
        traits.emin = emin_;                                             \
        traits.emax = emax_;                                             \
        traits.largest = largest_;                                       \
        break;
        TESS_PRECISION_LIST(TRAITS)
#undef TRAITS
    }
    return traits;
}

/* Whether the largest numbers are far below those of FP32, so that stored values need a scale or may overflow. */
TESS_HD bool precision_has_narrow_range(tess_precision precision)
{
    return precision_traits_of(precision).emax < precision_traits_of(TESS_PRECISION_FP32).emax;
}

/* Of the precisions with twice the bytes, the one with the most digits; FP64 if there is none. */
TESS_HD tess_precision next_wider_precision(tess_precision precision)
{
    const int bytes = 2 * precision_traits_of(precision).bytes;
    tess_precision wider = TESS_PRECISION_FP64;
    int most = 0;

#define CONSIDER(NAME, value, name, type, digits, ...)   \
    if ((int)sizeof(type) == bytes && (digits) > most) { \
        wider = TESS_PRECISION_##NAME;                   \
        most = digits;                                   \
    }
    TESS_PRECISION_LIST(CONSIDER)
#undef CONSIDER
    return wider;
}

/* The set (bit 1 << precision) of the precisions whose values have at least `least` bytes; a constant if `least` is
   one. */
#define PRECISIONS_OF_BYTES(least) (0U TESS_PRECISION_LIST_WITH(PRECISIONS_OF_BYTES_BIT, least))
#define PRECISIONS_OF_BYTES_BIT(least, NAME, value, name, type, ...) | (sizeof(type) >= (least) ? 1U << (value) : 0U)

/* All names, as a literal. */
#define PRECISION_NAMES "one of" TESS_PRECISION_LIST(PRECISION_NAME)
#define PRECISION_NAME(NAME, value, name, ...) " " #name

#endif
