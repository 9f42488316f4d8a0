/* SPDX-License-Identifier: Apache-2.0 */
/* Another kernel beside the one that is measured, on a stream of its own. */
#ifndef TESS_BENCH_PEERS_OCCUPY_H
#define TESS_BENCH_PEERS_OCCUPY_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_occupant bench_occupant;

/* A build without CUDA has none: NULL. */
bench_occupant *bench_occupant_open(void);
/* Enqueues a kernel that keeps half of the multiprocessors to itself for that long. Does not wait. */
void bench_occupant_start(bench_occupant *o, double seconds);
/* Waits for what was enqueued. NULL is allowed. */
void bench_occupant_close(bench_occupant *o);

#ifdef __cplusplus
}
#endif

#endif
