/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline's preconditioner: incomplete factors by cuSPARSE's csrilu02 and csric02, both triangles solved by
 * cusparseSpSV, as NVIDIA's samples do it. Where this CUDA has no such factorizations any more, plain loops on the host
 * make the factors, outside of what is timed.
 */
#ifndef TESS_BENCH_PEERS_FACTORS_H
#define TESS_BENCH_PEERS_FACTORS_H

#include "peers/krylov.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_cufactors bench_cufactors;

/* What makes the factors: "cusparse" or "host". */
const char *bench_cufactors_source(void);

/*
 * ILU0 or IC0 on the pattern of `a`, with analysis and work space. `values`, on the device: A's, shifted so
 * for this kind. NULL with a reason where a pivot is zero or there are 2^31 entries.
 */
bench_cufactors *bench_cufactors_create(bench_krylov_handles *handles, const tess_matrix *a, tess_precond_kind kind,
                                        const double *values, char *reason, size_t reason_size);
void bench_cufactors_destroy(bench_cufactors *s);
/* For bench_krylov_precond: user is the bench_cufactors. */
void bench_cufactors_apply(void *user, const double *r, double *z);
/* Whether an application can be captured into a graph; r and z as for an application. */
bool bench_cufactors_recordable(bench_cufactors *s, const double *r, double *z);
/* Values and work space on the device; the pattern is the matrix's. */
int64_t bench_cufactors_bytes(const bench_cufactors *s);

#ifdef __cplusplus
}
#endif

#endif
