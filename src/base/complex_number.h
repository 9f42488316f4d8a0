/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers of C, from their parts: clang 14 has no CMPLX, and re + im * I loses signs and infinities. */
#ifndef TESS_BASE_COMPLEX_NUMBER_H
#define TESS_BASE_COMPLEX_NUMBER_H

#include <complex.h>

static inline double complex complex_number(double re, double im)
{
    union {
        double part[2];
        double complex whole;
    } number = {{re, im}};

    return number.whole;
}

#endif
