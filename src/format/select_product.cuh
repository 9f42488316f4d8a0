/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the kernel of a product, for formats that have a kernel for each precision of vectors and arithmetic, number
 * of dot products, and steps of a polynomial; and stores a kernel's sums.
 *
 * FORMAT::launch<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>(ctx, view, args) launches it. A view has `nrows`, `precision`
 * and `arithmetic`.
 */
#ifndef TESS_FORMAT_SELECT_PRODUCT_CUH
#define TESS_FORMAT_SELECT_PRODUCT_CUH

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh" /* after the vendor's header: HIP declares memcpy for the device there */
#include "format/row_epilogue.h"

/* ---- in the kernel ---- */

/* Writes y, in FP64 with its dot products or in FP32; STEP: a step of a polynomial. Skips rows beyond the end. */
template <typename VECTOR, int NDOTS, bool STEP, typename VIEW, typename ARITHMETIC>
__device__ static inline void store_row(const VIEW &v, const tess_spmv_args &args, int64_t row, ARITHMETIC sum,
                                        double *dots)
{
    if (row >= v.nrows) { return; }
    if constexpr (STEP) {
        spmv_finish_step(&args, sizeof(VECTOR) == sizeof(float), row, (double)sum);
    } else if constexpr (sizeof(VECTOR) == sizeof(double)) {
        finish_row<NDOTS>(args, row, sum, dots);
    } else {
        args.y_fp32[row] = spmv_result_fp32(&args, v.arithmetic, row, (double)sum);
    }
}

/* Whether the epilogue's FP64 vectors can be read and written two elements at a time. */
__device__ static inline bool epilogue_has_pairs(const tess_spmv_args &args)
{
    const uintptr_t places = (uintptr_t)args.y | (uintptr_t)args.reduction.with[0] | (uintptr_t)args.reduction.with[1];

    return places % sizeof(tess::full_pack<double>) == 0;
}

/* Rows `row` (even) and row + 1, as store_row does, in stores of 16 bytes. Smaller stores would write each sector
   twice. */
template <int NDOTS>
__device__ static inline void store_pair(const tess_spmv_args &args, int64_t row, const double *sum, double *dots)
{
    typedef tess::full_pack<double> pair;
    pair value;

#pragma unroll
    for (int r = 0; r < pair::count; r++) {
        value.value[r] = spmv_result(&args, row + r, sum[r]);
    }
    gpu_store_whole(reinterpret_cast<pair *>(args.y + row), value);
#pragma unroll
    for (int k = 0; k < NDOTS; k++) {
        const double *with = args.reduction.with[k];
        const pair other = with == args.y ? value : tess::load_pack<pair::count>(with + row);

#pragma unroll
        for (int r = 0; r < pair::count; r++) {
            dots[k] += value.value[r] * other.value[r];
        }
    }
}

/* Whether the vectors of a step of a polynomial can be read and written COUNT elements at a time. */
template <typename VECTOR, int COUNT>
__device__ static inline bool step_has_packs(const tess_spmv_args &args)
{
    const tess_update *u = &args.update;
    const uintptr_t places = (sizeof(VECTOR) == sizeof(float) ? (uintptr_t)args.y_fp32 : (uintptr_t)args.y) |
                             (uintptr_t)u->base | (uintptr_t)u->total | (uintptr_t)u->wide_total;

    return places % (COUNT * sizeof(VECTOR)) == 0 && (uintptr_t)u->wide_total % 16 == 0;
}

/* Rows row .. row + COUNT - 1 of a step, as spmv_finish_step has them. Smaller stores would write each sector more than
   once. */
template <typename VECTOR, int COUNT, typename ARITHMETIC>
__device__ static inline void store_step(const tess_spmv_args &args, int64_t row, const ARITHMETIC *sum)
{
    typedef tess::pack<VECTOR, COUNT> pack;
    const tess_update *u = &args.update;
    VECTOR *const y = sizeof(VECTOR) == sizeof(float) ? (VECTOR *)(void *)args.y_fp32 : (VECTOR *)(void *)args.y;
    pack base = {}, total = {}, to;
    double value[COUNT];

    if (args.beta != 0.0) { base = *(const pack *)((const VECTOR *)u->base + row); }
    if (u->total) { total = *(const pack *)((const VECTOR *)u->total + row); }
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
        value[r] = args.alpha * (double)sum[r];
        if (args.beta != 0.0) { value[r] += args.beta * (double)base.value[r]; }
        to.value[r] = (VECTOR)value[r];
    }
    if (y) { *(pack *)(y + row) = to; }
    if (!u->total) { return; }
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
        value[r] = (double)total.value[r] + u->gamma * value[r];
        to.value[r] = (VECTOR)value[r];
    }
    if (!u->wide_total) {
        *(pack *)((VECTOR *)u->total + row) = to;
        return;
    }
#pragma unroll
    for (int r = 0; r < COUNT; r += 2) {
        *(tess::full_pack<double> *)(u->wide_total + row + r) = {{value[r], value[r + 1]}};
    }
}

/* ROWS neighbouring rows, the first at a multiple of ROWS. */
template <typename VECTOR, int NDOTS, bool STEP, int ROWS, typename VIEW, typename ARITHMETIC>
__device__ static inline void store_rows(const VIEW &v, const tess_spmv_args &args, int64_t row,
                                         const ARITHMETIC (&sum)[ROWS], double *dots)
{
    if constexpr (!STEP && sizeof(VECTOR) == sizeof(double) && ROWS % 2 == 0) {
        if (row + ROWS <= v.nrows && epilogue_has_pairs(args)) {
#pragma unroll
            for (int r = 0; r < ROWS; r += 2) {
                store_pair<NDOTS>(args, row + r, sum + r, dots);
            }
            return;
        }
    }
    if constexpr (STEP && ROWS % 2 == 0) {
        constexpr int COUNT = ROWS * sizeof(VECTOR) <= 16 ? ROWS : 16 / (int)sizeof(VECTOR);

        if (row + ROWS <= v.nrows && step_has_packs<VECTOR, COUNT>(args)) {
#pragma unroll
            for (int r = 0; r < ROWS; r += COUNT) {
                store_step<VECTOR, COUNT>(args, row + r, sum + r);
            }
            return;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        store_row<VECTOR, NDOTS, STEP>(v, args, row + r, sum[r], dots);
    }
}

template <typename VECTOR>
__host__ __device__ static inline const VECTOR *factors_of(const tess_spmv_args &args)
{
    if constexpr (sizeof(VECTOR) == sizeof(double)) {
        return args.x;
    } else {
        return args.x_fp32;
    }
}

/* ---- selecting ---- */

template <typename FORMAT, typename STORED, bool STEP, typename VIEW>
static tess_status select_vectors(tess_context *ctx, const VIEW *v, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP64) {
        return FORMAT::template launch<STORED, double, double, 0, STEP>(ctx, v, args);
    }
    return v->arithmetic == TESS_ARITHMETIC_FP64 ? FORMAT::template launch<STORED, float, double, 0, STEP>(ctx, v, args)
                                                 : FORMAT::template launch<STORED, float, float, 0, STEP>(ctx, v, args);
}

template <typename FORMAT, typename STORED, typename VIEW>
static tess_status select_kernel(tess_context *ctx, const VIEW *v, const tess_spmv_args *args)
{
    if (args->update.kind == TESS_UPDATE_POLYNOMIAL) { return select_vectors<FORMAT, STORED, true>(ctx, v, args); }
    switch (args->reduction.ndots) {
    case 0: return select_vectors<FORMAT, STORED, false>(ctx, v, args);
    case 1: return FORMAT::template launch<STORED, double, double, 1, false>(ctx, v, args);
    default: return FORMAT::template launch<STORED, double, double, 2, false>(ctx, v, args);
    }
}

#endif
