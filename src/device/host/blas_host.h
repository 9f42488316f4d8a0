/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BLAS operations over one block on the host, in the arithmetic REAL (NAMED(f) is f's name for it, WIDENS_FP32
 * whether it is wider than FP32). Included once per arithmetic, so without a guard. Operands in another precision than
 * REAL pass strip by strip through arrays that stay in the first-level cache, so that every precision has a vectorised
 * loop and mixed operands need none of their own.
 */
#include "device/blas_bodies.h"

/* `count` elements; element i adds to sums[i % LANES]. The result may overwrite an operand of the same type. */
#define BLAS_STRIP(name, TYPE)                                                                                     \
    TESS_INLINE void name(tess_fused_op op, REAL a, REAL b, int count, const TYPE *x, const TYPE *y, REAL *result, \
                          REAL *sums)                                                                              \
    {                                                                                                              \
        int i = 0;                                                                                                 \
                                                                                                                   \
        for (; i + LANES <= count; i += LANES) {                                                                   \
            _Pragma("omp simd") for (int k = 0; k < LANES; k++)                                                    \
            {                                                                                                      \
                REAL value = NAMED(apply_blas)(op, a, b, (REAL)x[i + k], (REAL)y[i + k], &sums[k]);                \
                                                                                                                   \
                if (result) { result[i + k] = value; }                                                             \
            }                                                                                                      \
        }                                                                                                          \
        for (int k = 0; i + k < count; k++) {                                                                      \
            REAL value = NAMED(apply_blas)(op, a, b, (REAL)x[i + k], (REAL)y[i + k], &sums[k]);                    \
                                                                                                                   \
            if (result) { result[i + k] = value; }                                                                 \
        }                                                                                                          \
    }
BLAS_STRIP(NAMED(run_strip), REAL)
BLAS_STRIP(NAMED(run_narrow_strip), float)
#undef BLAS_STRIP

TESS_INLINE void NAMED(write_strip)(const tess_fused *f, int64_t first, int count, const REAL *values)
{
    if (values != (const REAL *)f->result + first) {
        NAMED(host_write)(f->y.precision, f->result, first, count, values);
    }
    for (int k = 0; f->shadow && k < count; k++) {
        f->shadow[first + k] = (float)values[k];
    }
}

/* Elements begin .. end - 1; `op`, `operands` and `ndots` are constants. */
TESS_INLINE void NAMED(run_block)(tess_fused_op op, int operands, int ndots, const tess_fused *f, int64_t begin,
                                  int64_t end, double *dots)
{
    const bool in_place = tess_storage_bytes(f->y.precision) == sizeof(REAL);
    /* FP32 storage is the most frequent narrow one: it is converted when used, without an array. */
    const bool narrow = WIDENS_FP32 && f->x.precision == TESS_PRECISION_FP32 &&
                        (operands == 1 || f->y.precision == TESS_PRECISION_FP32);
    REAL x_workspace[STRIP], y_workspace[STRIP], sums[LANES] = {0};

    for (int64_t first = begin; first < end; first += STRIP) {
        int count = end - first < STRIP ? (int)(end - first) : STRIP;
        REAL *result = ndots > 0 ? NULL : in_place ? (REAL *)f->result + first : y_workspace;

        if (narrow) {
            const float *x = (const float *)f->x.data + first;
            const float *y = operands == 2 ? (const float *)f->y.data + first : x;

            NAMED(run_narrow_strip)(op, (REAL)f->a, (REAL)f->b, count, x, y, result, sums);
        } else {
            const REAL *x = NAMED(host_read)(f->x, first, count, x_workspace);
            const REAL *y = operands == 2 ? NAMED(host_read)(f->y, first, count, y_workspace) : x;

            NAMED(run_strip)(op, (REAL)f->a, (REAL)f->b, count, x, y, result, sums);
        }
        if (ndots == 0) { NAMED(write_strip)(f, first, count, result); }
    }
    for (int width = LANES / 2; width > 0; width /= 2) {
        for (int k = 0; k < width; k++) {
            sums[k] += sums[k + width];
        }
    }
    dots[0] = (double)sums[0];
}

#define TESS_BLAS(NAME, function, operands, ndots)                                                            \
    HOST_CLONES static void NAMED(block_##function)(const tess_fused *f, tess_scalars scalars, int64_t begin, \
                                                    int64_t end, double *dots)                                \
    {                                                                                                         \
        (void)scalars;                                                                                        \
        NAMED(run_block)(TESS_FUSED_##NAME, operands, ndots, f, begin, end, dots);                            \
    }
#define TESS_FUSED(NAME, function, ndots)
#include "base/fused.def"
#include "base/fused.h"
#undef TESS_BLAS
#undef TESS_FUSED
