/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two published CSR products, written anew from their descriptions: baselines of the study of blocks, FP64 throughout,
 * on the very arrays that the matrix holds. Neither is its authors' code, and the reports say so.
 */
#ifndef TESS_BENCH_PAPERS_PUBLISHED_PRODUCTS_H
#define TESS_BENCH_PAPERS_PUBLISHED_PRODUCTS_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_peer_kind {
    BENCH_PEER_MERGE = 0,   /* Merrill, Garland, Merge-based parallel sparse matrix-vector multiplication, SC (2016) */
    BENCH_PEER_BALANCED = 1 /* Flegar, Quintana-Orti, Balanced CSR sparse matrix-vector product on graphics processors,
                               Euro-Par (2017) */
} bench_peer_kind;

typedef struct bench_peer bench_peer;

/*
 * For `pairs` pairs of FP64 device vectors x[k], y[k]. *setup_seconds: work space, and for balanced CSR the row that
 * each warp begins in; the merge path has nothing to prepare. UNSUPPORTED from 2^31 nonzeros on.
 */
tess_status bench_peer_create(const tess_matrix *a, bench_peer_kind kind, int pairs, void *const *x, void *const *y,
                              bench_peer **out, double *setup_seconds);
void bench_peer_destroy(bench_peer *p);
/* A bench_call: user is the bench_peer, y[k % pairs] = A x[k % pairs]. */
tess_status bench_peer_call(void *user, int k);
/* Bytes of the matrix, x and y, and what the method keeps beside them. */
int64_t bench_peer_bytes(const bench_peer *p);

#ifdef __cplusplus
}
#endif

#endif
