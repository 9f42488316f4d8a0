/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of the emulated GPU's runtime, on request; its memory; what it counts. */
#ifndef TESS_TESTS_EMULATOR_FAILURES_H
#define TESS_TESTS_EMULATOR_FAILURES_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on, the calling thread's first call of the runtime, or launch, from a place that has not failed yet fails. A
   place is the functions that led to the call. */
void emulatedFailAtNewPlace(void);
/* Ends that, and says whether a call has failed. */
int emulatedHasFailed(void);

/* 1: the calling thread has the device's memory, as a library that works on the device does; 0: no longer. */
void emulatedShareMemory(int shared);

/* Whether the device has memory pools. */
void emulatedSetPools(int supported);
/* Bytes of all memory pools: those with an owner, and those that are kept. */
long long emulatedPoolUsed(void);
long long emulatedPoolKept(void);
/* Pools that are open. */
int emulatedPoolCount(void);

#ifdef __cplusplus
}
#endif

#endif
