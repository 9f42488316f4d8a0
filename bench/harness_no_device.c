/* SPDX-License-Identifier: Apache-2.0 */
/* A build without CUDA never has a GPU context here, so none of these is reached. */
#ifndef BENCH_CUDA

#include "harness_device.h"

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

#else
typedef int bench_no_device_is_empty; /* ISO C wants a declaration */
#endif
