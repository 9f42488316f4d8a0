/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of the BLAS operations on the GPU: loads per thread, the loop over a vector, and launches. Operands of one
 * precision at multiples of 16 bytes are read 16 bytes at a time (packed_values). Others are read four values at a
 * time, each in its own precision (quad_values), or, if an array is not aligned for that, one at a time
 * (single_values).
 */
#ifndef TESS_DEVICE_GPU_BLAS_DEVICE_CUH
#define TESS_DEVICE_GPU_BLAS_DEVICE_CUH

/* Plain loads and stores, which stay coherent: results may overwrite operands. */
#include "device/gpu/fused_pass.cuh"
#include "device/gpu/storage_types.cuh"

#define REAL double
#define NAMED(f) f##_fp64
#include "device/blas_bodies.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(f) f##_fp32
#include "device/blas_bodies.h"
#undef REAL
#undef NAMED

/* The body of the operation for one element. */
template <tess_fused_op OP, typename REAL>
__device__ static inline REAL blas_element(REAL a, REAL b, REAL x, REAL y, REAL *sum)
{
    if constexpr (sizeof(REAL) == sizeof(double)) {
        return apply_blas_fp64(OP, a, b, x, y, sum);
    } else {
        return apply_blas_fp32(OP, a, b, x, y, sum);
    }
}

template <tess_fused_op OP>
constexpr int blas_operands()
{
    switch (OP) {
#define TESS_BLAS(NAME, function, operands, ndots) \
    case TESS_FUSED_##NAME:                        \
        return operands;
#define TESS_FUSED(NAME, function, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default: return 0;
    }
}

static inline bool is_multiple(const void *pointer, size_t bytes)
{
    return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

/*
 * ---- the three ways to read and write ----
 * `count` values at a time, i being a multiple of that, decoded in parts of `piece`; read_one and write_one take any i.
 * A thread has loads() loads of each operand in flight; registers must allow `blocks` blocks per multiprocessor.
 */

template <typename STORAGE>
struct packed_values {
    typedef tess::full_pack<STORAGE> raw;
    static constexpr int count = raw::count;
    static constexpr int piece = count < 8 ? count : 8; /* decoded at a time */
    static constexpr int blocks = count <= 4 ? 5 : 4;   /* more values need more registers */

    template <bool READS_Y, bool WRITES>
    static constexpr int loads()
    {
        return 4 / (READS_Y ? 2 : 1) / (WRITES && count > 4 ? 2 : 1);
    }

    __device__ static inline raw load(const tess_operand &from, int64_t i)
    {
        return tess::load_pack<count>(static_cast<const STORAGE *>(from.data) + i);
    }
    template <typename REAL>
    __device__ static inline void decode(tess_precision, const raw &from, int part, REAL (&to)[piece])
    {
        tess::pack<STORAGE, piece> values;

        memcpy(&values, from.value + part * piece, sizeof values);
        tess::decode_pack<REAL>(values, to);
    }
    template <typename REAL>
    __device__ static inline void encode(tess_precision, const REAL (&from)[piece], int part, raw *to)
    {
        tess::pack<STORAGE, piece> values = tess::encode_pack<STORAGE>(from);

        memcpy(to->value + part * piece, &values, sizeof values);
    }
    __device__ static inline void store(void *to, tess_precision, int64_t i, const raw &from)
    {
        tess::store_pack(static_cast<STORAGE *>(to) + i, from);
    }
    template <typename REAL>
    __device__ static inline REAL read_one(const tess_operand &from, int64_t i)
    {
        return tess::decode<REAL>(static_cast<const STORAGE *>(from.data)[i]);
    }
    template <typename REAL>
    __device__ static inline void write_one(void *to, tess_precision, int64_t i, REAL value)
    {
        static_cast<STORAGE *>(to)[i] = tess::encode<STORAGE>(value);
    }
};

template <typename REAL>
__device__ static inline REAL read_any(const tess_operand &from, int64_t i)
{
    if constexpr (sizeof(REAL) == sizeof(double)) {
        return tess_load(from.precision, from.data, i);
    } else {
        return tess_load_float(from.precision, from.data, i);
    }
}

template <typename REAL>
__device__ static inline void write_any(void *to, tess_precision precision, int64_t i, REAL value)
{
    if constexpr (sizeof(REAL) == sizeof(double)) {
        tess_store(precision, to, i, value, TESS_OVERFLOW_INFINITY);
    } else {
        tess_store_float(precision, to, i, value, TESS_OVERFLOW_INFINITY);
    }
}

struct quad_values {
    static constexpr int count = 4, piece = 4, blocks = 5;

    template <bool READS_Y, bool WRITES>
    static constexpr int loads()
    {
        return 1;
    }
    struct raw {
        uint4 words[2];
    };

    static bool fits(const void *data, tess_precision precision)
    {
        return is_multiple(data, count * tess_storage_bytes(precision));
    }
    /* Loads are issued here, and decode() waits for them: several may be in flight. */
    __device__ static inline raw load(const tess_operand &from, int64_t i)
    {
        raw value = {};

        switch (from.precision) {
#define LOAD(STORAGE, NAME)                                                                \
    case TESS_PRECISION_##NAME: {                                                          \
        auto values = tess::load_pack<count>(static_cast<const STORAGE *>(from.data) + i); \
        memcpy(&value, &values, sizeof values);                                            \
        break;                                                                             \
    }
            STORAGE_TYPES(LOAD)
#undef LOAD
        }
        return value;
    }
    template <typename REAL>
    __device__ static inline void decode(tess_precision precision, const raw &from, int, REAL (&to)[piece])
    {
        switch (precision) {
#define DECODE(STORAGE, NAME)                  \
    case TESS_PRECISION_##NAME: {              \
        tess::pack<STORAGE, count> values;     \
        memcpy(&values, &from, sizeof values); \
        tess::decode_pack<REAL>(values, to);   \
        break;                                 \
    }
            STORAGE_TYPES(DECODE)
#undef DECODE
        }
    }
    template <typename REAL>
    __device__ static inline void encode(tess_precision precision, const REAL (&from)[piece], int, raw *to)
    {
        switch (precision) {
#define ENCODE(STORAGE, NAME)                           \
    case TESS_PRECISION_##NAME: {                       \
        auto values = tess::encode_pack<STORAGE>(from); \
        memcpy(to, &values, sizeof values);             \
        break;                                          \
    }
            STORAGE_TYPES(ENCODE)
#undef ENCODE
        }
    }
    __device__ static inline void store(void *to, tess_precision precision, int64_t i, const raw &from)
    {
        switch (precision) {
#define STORE(STORAGE, NAME)                                      \
    case TESS_PRECISION_##NAME: {                                 \
        tess::pack<STORAGE, count> values;                        \
        memcpy(&values, &from, sizeof values);                    \
        tess::store_pack(static_cast<STORAGE *>(to) + i, values); \
        break;                                                    \
    }
            STORAGE_TYPES(STORE)
#undef STORE
        }
    }
    template <typename REAL>
    __device__ static inline REAL read_one(const tess_operand &from, int64_t i)
    {
        return read_any<REAL>(from, i);
    }
    template <typename REAL>
    __device__ static inline void write_one(void *to, tess_precision precision, int64_t i, REAL value)
    {
        write_any(to, precision, i, value);
    }
};

/* A value is decoded when it is loaded, one at a time, because they are few. */
struct single_values {
    typedef double raw;
    static constexpr int count = 1, piece = 1, blocks = 5;

    template <bool READS_Y, bool WRITES>
    static constexpr int loads()
    {
        return READS_Y ? 2 : 4;
    }

    __device__ static inline raw load(const tess_operand &from, int64_t i)
    {
        return tess_load(from.precision, from.data, i);
    }
    template <typename REAL>
    __device__ static inline void decode(tess_precision, const raw &from, int, REAL (&to)[1])
    {
        to[0] = (REAL)from;
    }
    template <typename REAL>
    __device__ static inline void encode(tess_precision, const REAL (&from)[1], int, raw *to)
    {
        *to = (raw)from[0];
    }
    __device__ static inline void store(void *to, tess_precision precision, int64_t i, const raw &from)
    {
        tess_store(precision, to, i, from, TESS_OVERFLOW_INFINITY);
    }
    template <typename REAL>
    __device__ static inline REAL read_one(const tess_operand &from, int64_t i)
    {
        return read_any<REAL>(from, i);
    }
    template <typename REAL>
    __device__ static inline void write_one(void *to, tess_precision precision, int64_t i, REAL value)
    {
        write_any(to, precision, i, value);
    }
};

/* ---- the loop ---- */

/* A pass of the fused kernel (fused_pass.cuh): operation, arithmetic and the way to read. */
template <tess_fused_op OP, typename REAL_TYPE, typename VALUES>
struct blas_pass {
    typedef REAL_TYPE REAL;
    typedef typename VALUES::raw raw;
    static constexpr bool reads_y = blas_operands<OP>() == 2, writes = OP == TESS_FUSED_AXPBY || OP == TESS_FUSED_SCALE;
    static constexpr bool settled = true;
    static constexpr int count = VALUES::count;
    static constexpr int loads = VALUES::template loads<reads_y, writes>(); /* in flight per operand */
    static constexpr int blocks = VALUES::blocks;

    __device__ static inline void begin(const tess_fused &)
    {
    }

    __device__ static inline void finish(const tess_fused &op, REAL a, REAL b, int64_t i, const raw &from_x,
                                         const raw &from_y, REAL *sum)
    {
        raw out;

#pragma unroll
        for (int part = 0; part < count / VALUES::piece; part++) {
            REAL x[VALUES::piece], y[VALUES::piece] = {};

            VALUES::decode(op.x.precision, from_x, part, x);
            if (reads_y) { VALUES::decode(op.y.precision, from_y, part, y); }
#pragma unroll
            for (int k = 0; k < VALUES::piece; k++) {
                y[k] = blas_element<OP, REAL>(a, b, x[k], y[k], sum);
            }
            if (!writes) { continue; }
            VALUES::encode(op.y.precision, y, part, &out);
            for (int k = 0; op.shadow && k < VALUES::piece; k++) {
                op.shadow[i + part * VALUES::piece + k] = (float)y[k];
            }
        }
        if (writes) { VALUES::store(op.result, op.y.precision, i, out); }
    }

    /* The last n % count elements, one thread each. */
    __device__ static inline void run_tail(const tess_fused &op, REAL a, REAL b, int64_t i, REAL *sum)
    {
        REAL x = VALUES::template read_one<REAL>(op.x, i), y = 0;

        if (reads_y) { y = VALUES::template read_one<REAL>(op.y, i); }
        y = blas_element<OP, REAL>(a, b, x, y, sum);
        if (!writes) { return; }
        VALUES::write_one(op.result, op.y.precision, i, y);
        if (op.shadow) { op.shadow[i] = (float)y; }
    }

    __device__ static inline void run(const tess_fused &op, const tess_scalars &, REAL (&sum)[1])
    {
        const REAL a = (REAL)op.a, b = (REAL)op.b;
        const int64_t step = (int64_t)gridDim.x * GPU_BLOCK, packs = op.n / count;
        int64_t p = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
        const int64_t tail = packs * count + p;

        for (; p + (loads - 1) * step < packs; p += loads * step) {
            raw x[loads], y[loads];

#pragma unroll
            for (int u = 0; u < loads; u++) {
                x[u] = VALUES::load(op.x, (p + u * step) * count);
                if (reads_y) { y[u] = VALUES::load(op.y, (p + u * step) * count); }
            }
#pragma unroll
            for (int u = 0; u < loads; u++) {
                finish(op, a, b, (p + u * step) * count, x[u], y[u], sum);
            }
        }
        for (; p < packs; p += step) {
            raw x = VALUES::load(op.x, p * count), y = {};

            if (reads_y) { y = VALUES::load(op.y, p * count); }
            finish(op, a, b, p * count, x, y, sum);
        }
        if (tail < op.n) { run_tail(op, a, b, tail, sum); }
    }
};

/* ---- launching ---- */

template <tess_fused_op OP, typename VALUES, int NDOTS>
static tess_status launch_arithmetic(tess_context *ctx, const tess_fused *op)
{
    return op->arithmetic == TESS_ARITHMETIC_FP64 ? launch_pass<blas_pass<OP, double, VALUES>, NDOTS>(ctx, op)
                                                  : launch_pass<blas_pass<OP, float, VALUES>, NDOTS>(ctx, op);
}

/* Whether VALUES can read and write all arrays of the operation. */
template <typename VALUES>
static tess_status launch_blas_pass(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_BLAS(NAME, function, operands, ndots) \
    case TESS_FUSED_##NAME:                        \
        return launch_arithmetic<TESS_FUSED_##NAME, VALUES, ndots>(ctx, op);
#define TESS_FUSED(NAME, function, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default:
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "no kernel for vector operation %d", (int)op->op);
    }
}

#endif
