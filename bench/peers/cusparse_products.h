/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE's SpMV on the very arrays that the matrix holds: the baseline of SpMV benchmarks. */
#ifndef TESS_BENCH_PEERS_CUSPARSE_PRODUCTS_H
#define TESS_BENCH_PEERS_CUSPARSE_PRODUCTS_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_cusparse_kind {
    BENCH_CUSPARSE_CSR = 0,      /* CUSPARSE_SPMV_ALG_DEFAULT */
    BENCH_CUSPARSE_CSR_ALG2 = 1, /* CUSPARSE_SPMV_CSR_ALG2: the deterministic one */
    BENCH_CUSPARSE_SELL = 2,     /* sliced ELLPACK, slices of 32 rows */
    BENCH_CUSPARSE_SELL_128 = 3, /* of 128 */
    BENCH_CUSPARSE_SELL_256 = 4,
    BENCH_CUSPARSE_BSR_2 = 5, /* square blocks of 2, 3, 4 rows, where the matrix has such blocks */
    BENCH_CUSPARSE_BSR_3 = 6,
    BENCH_CUSPARSE_BSR_4 = 7,
    BENCH_CUSPARSE_COMPLEX_CSR = 8, /* complex numbers, one index an entry; for complex matrices alone */
    BENCH_CUSPARSE_COMPLEX_CSR_ALG2 = 9,
    BENCH_CUSPARSE_KINDS = 10,
    BENCH_CUSPARSE_CSR_KINDS = 2 /* the first ones read the matrix's own values */
} bench_cusparse_kind;

typedef struct bench_cusparse bench_cusparse;

const char *bench_cusparse_name(bench_cusparse_kind kind);
/* Whether a kind has complex numbers: real matrices have no use for it. */
bool bench_cusparse_is_complex(bench_cusparse_kind kind);

/*
 * SpMV in `precision` (FP64 or FP32: values, vectors and arithmetic) for `pairs` pairs of device vectors x[k], y[k].
 * Work space and cusparseSpMV_preprocess are done here, outside of what is timed; *setup_seconds is what they took (for
 * SELL and BSR without the building of the format). UNSUPPORTED with a reason where cuSPARSE or the memory does not
 * allow it.
 */
tess_status bench_cusparse_create(const tess_matrix *a, const bench_csr *host, bench_cusparse_kind kind,
                                  tess_precision precision, int pairs, void *const *x, void *const *y,
                                  bench_cusparse **out, double *setup_seconds, char *reason, size_t reason_size);
void bench_cusparse_destroy(bench_cusparse *s);
/* From now on y += A x; reading y is not in bench_cusparse_bytes. */
void bench_cusparse_add(bench_cusparse *s);
/* A bench_call: user is the bench_cusparse, y[k % pairs] = A x[k % pairs]. */
tess_status bench_cusparse_call(void *user, int k);
/* y := alpha A x + beta y on any device vectors of the precision; may be captured after a first call. */
tess_status bench_cusparse_multiply(bench_cusparse *s, double alpha, const void *x, double beta, void *y);
/*
 * The fastest of the first `kinds` kinds for the matrix, by the time of CUDA graphs of products, ready to multiply;
 * NULL with a reason where there is none. Vectors of the times are zeros. *seconds: what trying all of them took.
 */
bench_cusparse *bench_cusparse_choose(const tess_matrix *a, const bench_csr *host, tess_precision precision, int kinds,
                                      double *seconds, char *reason, size_t reason_size);
bench_cusparse_kind bench_cusparse_kind_of(const bench_cusparse *s);
/* Bytes of the format's arrays and vectors, padding included: what this contestant has to move. */
int64_t bench_cusparse_bytes(const bench_cusparse *s);

#ifdef __cplusplus
}
#endif

#endif
