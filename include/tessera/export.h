/* SPDX-License-Identifier: Apache-2.0 */
/** @file export.h  Symbol visibility and C/C++ linkage of the public interface. */
#ifndef TESSERA_EXPORT_H
#define TESSERA_EXPORT_H

#if defined(__GNUC__)
#define TESS_EXPORT __attribute__((visibility("default")))
#else
#define TESS_EXPORT
#endif

#if defined(__HIPCC__)
#include <hip/hip_runtime.h> /* device versions of memcpy and assert; nvcc includes its own */
#endif

/* Marks functions of inner loops, which every caller has its own copy of. With TESS_SMALL_CODE the compiler decides:
   instrumented copies take minutes to compile. */
#if defined(__GNUC__) && !defined(TESS_SMALL_CODE)
#define TESS_INLINE static inline __attribute__((always_inline))
#else
#define TESS_INLINE static inline
#endif

/* Marks inline functions for host and device code. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define TESS_HD static inline __host__ __device__ __attribute__((unused))
#elif defined(__GNUC__)
#define TESS_HD static inline __attribute__((always_inline, unused))
#else
#define TESS_HD static inline
#endif

/* Products that are rounded by themselves: CUDA's compiler may join others with an addition. */
#if defined(__CUDA_ARCH__)
#define TESS_ROUNDED_PRODUCT(a, b) __dmul_rn(a, b)
#define TESS_ROUNDED_PRODUCT_FP32(a, b) __fmul_rn(a, b)
#else
#define TESS_ROUNDED_PRODUCT(a, b) ((a) * (b))
#define TESS_ROUNDED_PRODUCT_FP32(a, b) ((a) * (b))
#endif

#ifdef __cplusplus
#define TESS_BEGIN_DECLS extern "C" {
#define TESS_END_DECLS }
#else
#define TESS_BEGIN_DECLS
#define TESS_END_DECLS
#endif

#endif
