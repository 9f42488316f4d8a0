/* SPDX-License-Identifier: Apache-2.0 */
/* A build without CUDA has no GMRES to compare with. */
#ifndef BENCH_CUDA

#include <stdio.h>

#include "papers/gmres_peer.h"

bench_gmres_handles *bench_gmres_open(const tess_matrix *a, const bench_csr *host, char *reason, size_t reason_size)
{
    (void)a, (void)host;
    snprintf(reason, reason_size, "needs CUDA");
    return NULL;
}

void bench_gmres_close(bench_gmres_handles *handles)
{
    (void)handles;
}

void bench_gmres_precondition(bench_gmres_handles *handles, const struct tess_polynomial *polynomial)
{
    (void)handles, (void)polynomial;
}

bool bench_gmres_choose(bench_gmres_handles *handles, bench_gmres_kind kind, char *reason, size_t reason_size)
{
    (void)handles, (void)kind;
    snprintf(reason, reason_size, "needs CUDA");
    return false;
}

const char *bench_gmres_product_name(const bench_gmres *s)
{
    (void)s;
    return "";
}

bench_gmres *bench_gmres_create(bench_gmres_handles *handles, bench_gmres_kind kind, bool delayed, int restart,
                                char *reason, size_t reason_size)
{
    (void)handles, (void)kind, (void)delayed, (void)restart;
    snprintf(reason, reason_size, "needs CUDA");
    return NULL;
}

void bench_gmres_destroy(bench_gmres *s)
{
    (void)s;
}

bool bench_gmres_solve(bench_gmres *s, const double *b, double *x, const bench_gmres_limits *limits,
                       bench_gmres_result *out)
{
    (void)s, (void)b, (void)x, (void)limits;
    snprintf(out->reason, sizeof out->reason, "needs CUDA");
    return false;
}

int64_t bench_gmres_bytes(const bench_gmres *s)
{
    (void)s;
    return 0;
}

int64_t bench_gmres_matrix_bytes(const bench_gmres *s)
{
    (void)s;
    return 0;
}

tess_status bench_gmres_product(void *user, int k)
{
    (void)user, (void)k;
    return TESS_UNSUPPORTED;
}

#else
typedef int bench_no_peer_is_empty; /* ISO C wants a declaration */

#endif
