/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage types (tessera/storage.cuh) by a precision that only the run knows: the one switch on it in GPU sources.
 *
 *     return gpu_by_storage(ctx, v->precision, [&](auto stored) {
 *         return csr_multiply<typename decltype(stored)::type>(ctx, v, p, args);
 *     });
 */
#ifndef TESS_DEVICE_GPU_STORAGE_TYPES_CUH
#define TESS_DEVICE_GPU_STORAGE_TYPES_CUH

#include "device/gpu/gpu.h" /* before what follows: HIP declares memcpy for the device there */

#include <tessera/storage.cuh>

/* X(type, NAME) for each, for kernels of src/device that nvcc compiles better as plain cases (blas_device.cuh). */
#define STORAGE_TYPE(X, NAME, value, name, ...) X(tess::name, NAME)
#define STORAGE_TYPES(X) TESS_PRECISION_LIST_WITH(STORAGE_TYPE, X)

/* An argument that names the storage type. */
template <typename STORAGE>
struct storage_type {
    typedef STORAGE type;
    static constexpr tess_precision precision = tess::storage_traits<STORAGE>::precision;
};

/* Subsets of the storage types, for code that is compiled for some of them only: subset::has<type>. */
struct every_storage {
    template <typename STORAGE>
    static constexpr bool has = true;
};
template <size_t BYTES>
struct storage_of_bytes_or_more {
    template <typename STORAGE>
    static constexpr bool has = sizeof(STORAGE) >= BYTES;
};

/* In host code: what `use` returns for the storage type of `precision`; `otherwise` outside the subset. */
#define STORAGE_CASE(use, NAME, value, name, ...)                                                   \
    case TESS_PRECISION_##NAME:                                                                     \
        if constexpr (SUBSET::template has<tess::name>) { return use(storage_type<tess::name>()); } \
        break;

template <typename SUBSET = every_storage, typename RESULT, typename USE>
static inline RESULT gpu_by_storage(tess_precision precision, RESULT otherwise, USE use)
{
    switch (precision) {
        TESS_PRECISION_LIST_WITH(STORAGE_CASE, use)
    }
    return otherwise;
}

/* The same if `use` returns a status: an error outside the subset. */
template <typename SUBSET = every_storage, typename USE>
static inline tess_status gpu_by_storage(tess_context *ctx, tess_precision precision, USE use)
{
    switch (precision) {
        TESS_PRECISION_LIST_WITH(STORAGE_CASE, use)
    }
    return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                     "no kernel for values stored in precision %d", (int)precision);
}
#undef STORAGE_CASE

/*
 * In a kernel: returns the result of `use` for the storage type of `precision` and the arguments; `otherwise` outside
 * the subset. Pass the variables of a long function as arguments: nvcc allocates registers worse for variables that a
 * lambda captures.
 */
#define STORAGE_CASE(use, NAME, value, name, ...)                                                                 \
    case TESS_PRECISION_##NAME:                                                                                   \
        if constexpr (SUBSET::template has<tess::name>) { return use(storage_type<tess::name>(), arguments...); } \
        break;

template <typename SUBSET = every_storage, typename RESULT, typename USE, typename... ARGUMENTS>
__device__ static __forceinline__ RESULT gpu_value_by_storage(tess_precision precision, RESULT otherwise, USE use,
                                                              ARGUMENTS &&...arguments)
{
    switch (precision) {
        TESS_PRECISION_LIST_WITH(STORAGE_CASE, use)
    }
    return otherwise;
}

/* The same for functions without a result. */
template <typename SUBSET = every_storage, typename USE, typename... ARGUMENTS>
__device__ static __forceinline__ void gpu_call_by_storage(tess_precision precision, USE use, ARGUMENTS &&...arguments)
{
    switch (precision) {
        TESS_PRECISION_LIST_WITH(STORAGE_CASE, use)
    }
}
#undef STORAGE_CASE

/*
 * STORED_TYPES(X), in sources *_stored_device.cu: X(type) for the types that are compiled now. The CUDA build compiles
 * such a source once for each line of TESS_PRECISION_LIST (cmake/TesseraGpu.cmake). A process loads the device code of
 * a source as a whole with its first kernel, and usually needs one or two types. Other builds compile it once, for all
 * types.
 */
#ifdef TESS_STORED_TYPE
#define STORED_TYPES(X) X(TESS_STORED_TYPE)
static_assert(TESS_STORED_COUNT == TESS_PRECISION_COUNT, "cmake/TesseraGpu.cmake has read every line of the list");
#else
#define STORED_TYPE(X, NAME, value, name, ...) X(tess::name)
#define STORED_TYPES(X) TESS_PRECISION_LIST_WITH(STORED_TYPE, X)
#endif

#endif
