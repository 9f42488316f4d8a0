/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that call the runtime themselves: the emulated one by CUDA's names. */
#ifndef TESS_TESTS_EMULATOR_CUDA_RUNTIME_H
#define TESS_TESTS_EMULATOR_CUDA_RUNTIME_H

#include "emulator/runtime.h"

#define cudaSuccess emulatedSuccess
#define cudaStream_t emulatedStream_t
#define cudaStreamPerThread emulatedStreamPerThread
#define cudaStreamCreate(stream) emulatedStreamCreateWithFlags(stream, 0)
#define cudaStreamSynchronize emulatedStreamSynchronize
#define cudaStreamDestroy emulatedStreamDestroy
#define cudaGetDeviceCount emulatedGetDeviceCount
#define cudaGetDevice emulatedGetDevice
#define cudaSetDevice emulatedSetDevice
#define cudaGetLastError emulatedGetLastError

#endif
