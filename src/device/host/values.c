/* SPDX-License-Identifier: Apache-2.0 */
/* Converts runs of values between their storage precision and the arithmetic, with one loop for each precision. */
#include "device/host/host.h"

#include <tessera/codec.h>

enum { LINE = 64 }; /* bytes of a cache line */

typedef void (*read_function)(const void *from, int64_t first, int count, void *to);
typedef void (*write_function)(void *to, int64_t first, int count, const void *from);

#define PRECISION_LOOPS(NAME, value, name, type, bits, emin, emax, max)                               \
    HOST_CLONES static void read_##NAME##_fp64(const void *from, int64_t first, int count, void *to)  \
    {                                                                                                 \
        read_run_fp64(TESS_PRECISION_##NAME, from, first, count, to);                                 \
    }                                                                                                 \
    HOST_CLONES static void read_##NAME##_fp32(const void *from, int64_t first, int count, void *to)  \
    {                                                                                                 \
        read_run_fp32(TESS_PRECISION_##NAME, from, first, count, to);                                 \
    }                                                                                                 \
    HOST_CLONES static void write_##NAME##_fp64(void *to, int64_t first, int count, const void *from) \
    {                                                                                                 \
        write_run_fp64(TESS_PRECISION_##NAME, to, first, count, from);                                \
    }                                                                                                 \
    HOST_CLONES static void write_##NAME##_fp32(void *to, int64_t first, int count, const void *from) \
    {                                                                                                 \
        write_run_fp32(TESS_PRECISION_##NAME, to, first, count, from);                                \
    }

TESS_INLINE void read_run_fp64(tess_precision precision, const void *from, int64_t first, int count,
                               double *restrict to)
{
    for (int k = 0; k < count; k++) {
        to[k] = tess_load(precision, from, first + k);
    }
}

TESS_INLINE void read_run_fp32(tess_precision precision, const void *from, int64_t first, int count, float *restrict to)
{
    for (int k = 0; k < count; k++) {
        to[k] = tess_load_float(precision, from, first + k);
    }
}

TESS_INLINE void write_run_fp64(tess_precision precision, void *restrict to, int64_t first, int count,
                                const double *from)
{
    for (int k = 0; k < count; k++) {
        tess_store(precision, to, first + k, from[k], TESS_OVERFLOW_INFINITY);
    }
}

TESS_INLINE void write_run_fp32(tess_precision precision, void *restrict to, int64_t first, int count,
                                const float *from)
{
    for (int k = 0; k < count; k++) {
        tess_store_float(precision, to, first + k, from[k], TESS_OVERFLOW_INFINITY);
    }
}

TESS_PRECISION_LIST(PRECISION_LOOPS)
#undef PRECISION_LOOPS

#define READ_FP64(NAME, value, name, type, bits, emin, emax, max) [value] = read_##NAME##_fp64,
#define READ_FP32(NAME, value, name, type, bits, emin, emax, max) [value] = read_##NAME##_fp32,
#define WRITE_FP64(NAME, value, name, type, bits, emin, emax, max) [value] = write_##NAME##_fp64,
#define WRITE_FP32(NAME, value, name, type, bits, emin, emax, max) [value] = write_##NAME##_fp32,
static const read_function reads_fp64[] = {TESS_PRECISION_LIST(READ_FP64)};
static const read_function reads_fp32[] = {TESS_PRECISION_LIST(READ_FP32)};
static const write_function writes_fp64[] = {TESS_PRECISION_LIST(WRITE_FP64)};
static const write_function writes_fp32[] = {TESS_PRECISION_LIST(WRITE_FP32)};
#undef READ_FP64
#undef READ_FP32
#undef WRITE_FP64
#undef WRITE_FP32

/* Prefetches the following values: hardware prefetchers lose a stream that is read in bursts with work in between. */
static void prefetch_next(tess_operand from, int64_t first, int count)
{
    size_t bytes = tess_storage_bytes(from.precision);
    uintptr_t next = (uintptr_t)from.data + (size_t)(first + count) * bytes;

    for (size_t line = 0; line < (size_t)count * bytes; line += LINE) {
        __builtin_prefetch((const void *)(next + line), 0, 3);
    }
}

const double *host_read_fp64(tess_operand from, int64_t first, int count, double *workspace)
{
    if (from.precision == TESS_PRECISION_FP64) { return (const double *)from.data + first; }
    prefetch_next(from, first, count);
    reads_fp64[from.precision](from.data, first, count, workspace);
    return workspace;
}

const float *host_read_fp32(tess_operand from, int64_t first, int count, float *workspace)
{
    if (from.precision == TESS_PRECISION_FP32) { return (const float *)from.data + first; }
    prefetch_next(from, first, count);
    reads_fp32[from.precision](from.data, first, count, workspace);
    return workspace;
}

void host_write_fp64(tess_precision precision, void *to, int64_t first, int count, const double *values)
{
    writes_fp64[precision](to, first, count, values);
}

void host_write_fp32(tess_precision precision, void *to, int64_t first, int count, const float *values)
{
    writes_fp32[precision](to, first, count, values);
}
