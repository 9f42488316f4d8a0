/* SPDX-License-Identifier: Apache-2.0 */
/* The harness's own work on a GPU. A build without CUDA has stand-ins that refuse (no_device.c). */
#ifndef TESS_BENCH_HARNESS_DEVICE_H
#define TESS_BENCH_HARNESS_DEVICE_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the device ready for the process, which takes far longer than what is measured. */
void bench_device_wake(void);
/* Enqueues `count` samples of `calls` calls between events, without waiting in between; seconds per sample. */
tess_status bench_device_time(void *stream, int count, int calls, bench_call call, void *user, double *samples);
/* Bandwidth of a reduction with 16-byte loads and of a copy, over 2 GB or more (quick: 0.5 GB). */
void bench_device_ceiling(void *stream, bool quick, bench_ceiling *out);
int64_t bench_device_cache_bytes(void);
/* What device, driver and toolkit this is, into the report. */
void bench_device_describe(json_t *root);

#ifdef __cplusplus
}
#endif

#endif
