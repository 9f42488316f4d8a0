/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the storage precisions, from TESS_PRECISION_LIST. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/precision_traits.h"

#define SAME_NUMBER(NAME, value, ...) \
    _Static_assert(TESS_PRECISION_##NAME == (value), "the enum of precision.h and the list of codec.h agree");
TESS_PRECISION_LIST(SAME_NUMBER)
#undef SAME_NUMBER
#define COUNT_ONE(...) +1
_Static_assert(TESS_PRECISION_COUNT == TESS_PRECISION_LIST(COUNT_ONE), "so do the numbers of precisions");
#undef COUNT_ONE

static int is_known(tess_precision precision)
{
    return (int)precision >= 0 && (int)precision < TESS_PRECISION_COUNT;
}

size_t tess_precision_bytes(tess_precision precision)
{
    return tess_storage_bytes(precision);
}

tess_status tess_role_precision_parse(const char *text, tess_role_precision *out)
{
    if (!text || !out) { return TESS_INVALID_ARGUMENT; }
    static const char *const arithmetics[] = {"/fp64", "/fp32"}; /* by tess_arithmetic */
    const size_t length = strcspn(text, "/");
    tess_role_precision role = {.given = 1};
    char storage[8];

    if (length >= sizeof storage) { return TESS_INVALID_ARGUMENT; }
    memcpy(storage, text, length);
    storage[length] = '\0';
    if (tess_precision_parse(storage, &role.storage) != TESS_SUCCESS) { return TESS_INVALID_ARGUMENT; }
    role.arithmetic = role.storage == TESS_PRECISION_FP64 ? TESS_ARITHMETIC_FP64 : TESS_ARITHMETIC_FP32;
    if (text[length] != '\0') {
        if (strcasecmp(text + length, arithmetics[TESS_ARITHMETIC_FP64]) == 0) {
            role.arithmetic = TESS_ARITHMETIC_FP64;
        } else if (strcasecmp(text + length, arithmetics[TESS_ARITHMETIC_FP32]) != 0 ||
                   role.storage == TESS_PRECISION_FP64) {
            return TESS_INVALID_ARGUMENT;
        }
    }
    *out = role;
    return TESS_SUCCESS;
}

double tess_precision_unit_roundoff(tess_precision precision)
{
    return is_known(precision) ? ldexp(1.0, -precision_traits_of(precision).digits) : NAN;
}

double tess_precision_smallest(tess_precision precision)
{
    const precision_traits t = precision_traits_of(precision);

    return is_known(precision) ? ldexp(1.0, t.emin - t.digits + 1) : NAN;
}

int tess_precision_holds(tess_precision precision, double value)
{
    const precision_traits t = precision_traits_of(precision);
    double scaled;
    int exponent = 0, lowest;

    if (!is_known(precision)) { return 0; }
    if (isnan(value)) { return 1; }
    if (isinf(value)) { return tess_has_infinity(precision); }
    if (value == 0.0) { return 1; }
    if (fabs(value) > t.largest) { return 0; }
    /* The value must be a multiple of the spacing at its exponent, or of the smallest subnormal. */
    frexp(value, &exponent);
    exponent -= 1;
    lowest = (exponent < t.emin ? t.emin : exponent) - (t.digits - 1);
    scaled = ldexp(fabs(value), -lowest / 2);
    scaled = ldexp(scaled, -lowest - -lowest / 2);
    return scaled == floor(scaled);
}
