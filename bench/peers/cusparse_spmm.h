/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE's SpMM on the very arrays that the matrix holds: the baseline of products of several columns. */
#ifndef TESS_BENCH_PEERS_CUSPARSE_SPMM_H
#define TESS_BENCH_PEERS_CUSPARSE_SPMM_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The four algorithms for CSR, each with x and y by rows and by columns. */
enum { BENCH_SPMM_KINDS = 8 };

typedef struct bench_spmm bench_spmm;

/* As "cusparse-spmm-alg2-rows". */
const char *bench_spmm_name(int kind);
/* Whether the kind has value c of row i of x and y at i * columns + c; else at c * rows + i. */
bool bench_spmm_by_rows(int kind);

/*
 * y = A x for device arrays x and y of so many columns, in the kind's layout, in `precision` (FP64 or FP32: values,
 * vectors and arithmetic). Work space and cusparseSpMM_preprocess are done here, outside of what is timed. UNSUPPORTED
 * with a reason where cuSPARSE does not have it.
 */
tess_status bench_spmm_create(const tess_matrix *a, int kind, tess_precision precision, int columns, void *x, void *y,
                              bench_spmm **out, char *reason, size_t reason_size);
void bench_spmm_destroy(bench_spmm *s);
/* A bench_call: user is the bench_spmm. */
tess_status bench_spmm_call(void *user, int k);
/* Bytes of the matrix, x and y. */
int64_t bench_spmm_bytes(const bench_spmm *s);

#ifdef __cplusplus
}
#endif

#endif
