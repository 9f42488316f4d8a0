/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of BLAS and LAPACK, which may be OpenBLAS. Compiled without threads (Debian's libopenblas0-serial 0.3.21) it
 * returns wrong products when two threads call it at once: they take turns. Compiled with OpenMP it computes on one
 * thread: it splits products among threads, and bits would be as their number is.
 */
#ifndef TESS_BASE_BLAS_CALLS_H
#define TESS_BASE_BLAS_CALLS_H

#include <stdbool.h>

/* Around a call or several; not nested. What begin returns goes to end, in the same thread. */
int tess_blas_begin(void);
void tess_blas_end(int threads);

/* Whether it is OpenBLAS, of any kind; another one may be Netlib's. */
bool tess_blas_is_open(void);

/* info = call, as one such call. */
#define TESS_LAPACK(info, call)                 \
    do {                                        \
        const int threads_ = tess_blas_begin(); \
        (info) = (call);                        \
        tess_blas_end(threads_);                \
    } while (0)

#endif
