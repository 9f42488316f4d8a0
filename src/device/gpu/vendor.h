/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's names. */
#ifndef TESS_DEVICE_GPU_VENDOR_H
#define TESS_DEVICE_GPU_VENDOR_H

#if defined(TESS_EMULATED_GPU)
#include "emulator/vendor_emulated.h"
#elif defined(__HIPCC__) && !defined(__CUDACC__)
#include "device/gpu/vendor_hip.h"
#else
#include "device/gpu/vendor_cuda.h"
#endif

/* Of `capacity` bytes, those after the first `bytes` are unused from now on, in the stream's order. A device does not
   check this; an emulated one may. */
#ifndef GPU_KEEP_WITHIN
#define GPU_KEEP_WITHIN(pointer, bytes, capacity, stream) \
    ((void)(pointer), (void)(bytes), (void)(capacity), (void)(stream))
#endif

#endif
