/* SPDX-License-Identifier: Apache-2.0 */
/* What the iterations of the baseline of CG and BiCGSTAB consist of (Yang et al. 2024, Figure 2). */
#ifndef TESS_BENCH_PAPERS_KRYLOV_PARTS_H
#define TESS_BENCH_PAPERS_KRYLOV_PARTS_H

#include "peers/krylov.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an iteration without preconditioner consists of. */
typedef enum bench_krylov_part {
    BENCH_KRYLOV_SPMV = 0,
    BENCH_KRYLOV_DOT = 1,
    BENCH_KRYLOV_AXPY = 2, /* scalings too */
    BENCH_KRYLOV_PARTS = 3
} bench_krylov_part;

/*
 * Seconds that the calls of each kind take in one iteration with separate updates, as their kernels run one after
 * another in a CUDA graph of calls of that kind alone: nothing waits for the host. `b` lies on the device.
 */
void bench_krylov_time_parts(bench_krylov_handles *handles, tess_solver_kind solver, const double *b,
                             double seconds[BENCH_KRYLOV_PARTS]);

#ifdef __cplusplus
}
#endif

#endif
