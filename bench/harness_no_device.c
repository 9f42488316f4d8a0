/* SPDX-License-Identifier: Apache-2.0 */
/* A build without CUDA never has a GPU context here, so none of these is reached. */
#ifndef BENCH_CUDA

#include <stdio.h>

#include "harness_cublas.h"
#include "harness_device.h"
#include "harness_gmres.h"
#include "harness_occupy.h"

void bench_device_wake(void)
{
}

tess_status bench_device_time(void *stream, int count, int calls, bench_call call, void *user, double *samples)
{
    (void)stream;
    (void)count;
    (void)calls;
    (void)call;
    (void)user;
    (void)samples;
    return TESS_UNSUPPORTED;
}

void bench_device_ceiling(void *stream, bool quick, bench_ceiling *out)
{
    (void)stream;
    (void)quick;
    (void)out;
    bench_die("these benchmarks were built without CUDA; use --device cpu");
}

int64_t bench_device_cache_bytes(void)
{
    return 0;
}

void bench_device_describe(json_t *root)
{
    (void)root;
}

bench_cublas *bench_cublas_open(void *stream)
{
    (void)stream;
    return NULL;
}

void bench_cublas_close(bench_cublas *c)
{
    (void)c;
}

double bench_cublas_result(bench_cublas *c)
{
    (void)c;
    return 0.0;
}

tess_status bench_cublas_dot(bench_cublas *c, tess_precision precision, int64_t n, const void *x, const void *y)
{
    (void)c, (void)precision, (void)n, (void)x, (void)y;
    return TESS_UNSUPPORTED;
}

tess_status bench_cublas_nrm2(bench_cublas *c, tess_precision precision, int64_t n, const void *x)
{
    (void)c, (void)precision, (void)n, (void)x;
    return TESS_UNSUPPORTED;
}

tess_status bench_cublas_axpy(bench_cublas *c, tess_precision precision, int64_t n, double alpha, const void *x,
                              void *y)
{
    (void)c, (void)precision, (void)n, (void)alpha, (void)x, (void)y;
    return TESS_UNSUPPORTED;
}

tess_status bench_cublas_scal(bench_cublas *c, tess_precision precision, int64_t n, double alpha, void *x)
{
    (void)c, (void)precision, (void)n, (void)alpha, (void)x;
    return TESS_UNSUPPORTED;
}

tess_status bench_cublas_gemv(bench_cublas *c, tess_precision precision, tess_operation operation, int64_t nrows,
                              int64_t ncols, double alpha, const void *a, int64_t ld, const void *x, double beta,
                              void *y)
{
    (void)c, (void)precision, (void)operation, (void)nrows, (void)ncols;
    (void)alpha, (void)a, (void)ld, (void)x, (void)beta, (void)y;
    return TESS_UNSUPPORTED;
}

tess_status bench_cublas_gemm(bench_cublas *c, tess_precision precision, tess_operation operation, int64_t nrows,
                              int64_t ncols, int nvec, double alpha, const void *a, int64_t ld, const void *x,
                              double beta, void *y)
{
    (void)c, (void)precision, (void)operation, (void)nrows, (void)ncols, (void)nvec;
    (void)alpha, (void)a, (void)ld, (void)x, (void)beta, (void)y;
    return TESS_UNSUPPORTED;
}

tess_status bench_cublas_trsv(bench_cublas *c, tess_precision precision, tess_triangle triangle,
                              tess_operation operation, tess_unit_diagonal diagonal, int64_t n, const void *a,
                              int64_t ld, void *x)
{
    (void)c, (void)precision, (void)triangle, (void)operation, (void)diagonal, (void)n, (void)a, (void)ld, (void)x;
    return TESS_UNSUPPORTED;
}

bench_gmres_handles *bench_gmres_open(tess_context *ctx, char *reason, size_t reason_size)
{
    (void)ctx;
    snprintf(reason, reason_size, "needs CUDA");
    return NULL;
}

void bench_gmres_close(bench_gmres_handles *handles)
{
    (void)handles;
}

bench_gmres *bench_gmres_create(bench_gmres_handles *handles, const tess_matrix *a, bench_gmres_kind kind, int restart,
                                char *reason, size_t reason_size)
{
    (void)handles, (void)a, (void)kind, (void)restart;
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

bench_occupant *bench_occupant_open(void)
{
    return NULL;
}

void bench_occupant_start(bench_occupant *o, double seconds)
{
    (void)o;
    (void)seconds;
}

void bench_occupant_close(bench_occupant *o)
{
    (void)o;
}

#else
typedef int bench_no_device_is_empty; /* ISO C wants a declaration */

#endif
