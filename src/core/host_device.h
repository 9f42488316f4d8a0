/* SPDX-License-Identifier: Apache-2.0 */
/* Marks inline functions that host and device code share. */
#ifndef TESS_CORE_HOST_DEVICE_H
#define TESS_CORE_HOST_DEVICE_H

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TESS_HD static inline __host__ __device__ __attribute__((unused))
#else
#define TESS_HD static inline __attribute__((always_inline, unused))
#endif

#endif
