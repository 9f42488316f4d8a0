/* SPDX-License-Identifier: Apache-2.0 */
/* The state of IDR(s) between iterations: krylov.own. */
#ifndef TESS_SOLVER_IDR_IDR_H
#define TESS_SOLVER_IDR_IDR_H

#include "solver/method_solver.h"

enum { IDR_MOST = 64 };

/* The blocks of `blocks`, one after another. SHADOW is P. */
enum { SHADOW, G, U, BLOCKS };

typedef struct tess_idr {
    int s;
    int64_t ld;
    double *blocks;               /* on the device; ld by s each */
    int shadow;                   /* the attempt that P was made for; -1: none yet */
    double m[IDR_MOST][IDR_MOST]; /* m[i][k] = (p_i, g_k), a lower triangle */
    double f[IDR_MOST];           /* P^T r */
    double omega;
} tess_idr;

#endif
