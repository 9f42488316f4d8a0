/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE's SpGEMM: the baseline of products of sparse matrices. */
#ifndef TESS_BENCH_PEERS_CUSPARSE_SPGEMM_H
#define TESS_BENCH_PEERS_CUSPARSE_SPGEMM_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_spgemm bench_spgemm;

/* For C = A B of matrices of a GPU context, which stay the caller's. */
bench_spgemm *bench_spgemm_open(const tess_matrix *a, const tess_matrix *b);
/* A bench_call: user is the bench_spgemm. The whole product, from no pattern to C's arrays, which are freed. Memory is
   from the context, as that of ours. OUT_OF_DEVICE_MEMORY: cuSPARSE needs more than there is. */
tess_status bench_spgemm_call(void *user, int k);
/* Nonzeros of the last C. */
int64_t bench_spgemm_nnz(const bench_spgemm *s);
void bench_spgemm_close(bench_spgemm *s);

#ifdef __cplusplus
}
#endif

#endif
