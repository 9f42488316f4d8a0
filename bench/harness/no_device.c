/* SPDX-License-Identifier: Apache-2.0 */
/* A build without CUDA never has a GPU context here, so none of these is reached. */
#ifndef BENCH_CUDA

#include "harness/device.h"
#include "peers/cublas_dense.h"
#include "peers/occupy.h"

void bench_device_wake(void)
{
}

tess_status bench_device_time(void *stream, int count, int calls, bench_call call, void *user, double *samples)
{
    (void)stream, (void)count, (void)calls, (void)call, (void)user, (void)samples;
    return TESS_UNSUPPORTED;
}

void bench_device_ceiling(void *stream, bool quick, bench_ceiling *out)
{
    (void)stream, (void)quick, (void)out;
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

bench_occupant *bench_occupant_open(void)
{
    return NULL;
}

void bench_occupant_start(bench_occupant *o, double seconds)
{
    (void)o, (void)seconds;
}

void bench_occupant_close(bench_occupant *o)
{
    (void)o;
}

#else
typedef int bench_no_device_is_empty; /* ISO C wants a declaration */

#endif
