/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the host's product: sums of val[k] x[col_ind[k]] over a range of entries. */
#ifndef TESS_FORMAT_CSR_CSR_SUMS_H
#define TESS_FORMAT_CSR_CSR_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/codec.h>

/* Entries that a row prefetches ahead of their use: about 4 KiB of values. Hardware prefetchers alone leave a stream of
   short rows far below the memory's bandwidth. */
enum { AHEAD = 512 };

/* Rows up to this length are summed without a loop. */
enum { SHORT = 7 };

/* Entries of one row or segment. The precision, and whether products are in FP32, are constants wherever these
   functions are inlined. */
typedef struct csr_entries {
    const void *val;
    const int32_t *col_ind;
    const double *x;
    const float *x_shadow;
    bool low; /* of x_shadow; products in FP32, except for values in FP64 */
} csr_entries;

TESS_INLINE double term(csr_entries e, tess_precision precision, int64_t k)
{
    if (e.low && precision == TESS_PRECISION_FP64) {
        return tess_load(precision, e.val, k) * (double)e.x_shadow[e.col_ind[k]];
    }
    if (e.low) { return (double)(tess_load_float(precision, e.val, k) * e.x_shadow[e.col_ind[k]]); }
    return tess_load(precision, e.val, k) * e.x[e.col_ind[k]];
}

/* Prefetches the entries AHEAD of k. Beyond the end of the arrays it prefetches addresses that are never used. */
TESS_INLINE void prefetch(csr_entries e, tess_precision precision, int64_t k)
{
    uintptr_t bytes = tess_storage_bytes(precision);

    __builtin_prefetch((const void *)((uintptr_t)e.val + (uintptr_t)(k + AHEAD) * bytes), 0, 3);
    __builtin_prefetch((const void *)((uintptr_t)e.col_ind + (uintptr_t)(k + AHEAD) * sizeof *e.col_ind), 0, 3);
}

/* Entries begin .. end - 1: entry begin + k goes to running sum k mod 4, and the four are added in a fixed order. */
TESS_INLINE double sum_range(csr_entries e, tess_precision precision, int64_t begin, int64_t end)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int64_t k = begin;

    for (; k + 8 <= end; k += 8) {
        prefetch(e, precision, k);
        s0 = (s0 + term(e, precision, k)) + term(e, precision, k + 4);
        s1 = (s1 + term(e, precision, k + 1)) + term(e, precision, k + 5);
        s2 = (s2 + term(e, precision, k + 2)) + term(e, precision, k + 6);
        s3 = (s3 + term(e, precision, k + 3)) + term(e, precision, k + 7);
    }
    if (k + 4 <= end) {
        s0 += term(e, precision, k);
        s1 += term(e, precision, k + 1);
        s2 += term(e, precision, k + 2);
        s3 += term(e, precision, k + 3);
        k += 4;
    }
    if (k < end) { s0 += term(e, precision, k); }
    if (k + 1 < end) { s1 += term(e, precision, k + 1); }
    if (k + 2 < end) { s2 += term(e, precision, k + 2); }
    return (s0 + s1) + (s2 + s3);
}

/* The same sum for at most SHORT entries from k on. */
TESS_INLINE double sum_short_row(csr_entries e, tess_precision t, int64_t k, int64_t end)
{
    prefetch(e, t, k);
    switch (end - k) {
    case 1: return term(e, t, k);
    case 2: return term(e, t, k) + term(e, t, k + 1);
    case 3: return (term(e, t, k) + term(e, t, k + 1)) + term(e, t, k + 2);
    case 4: return (term(e, t, k) + term(e, t, k + 1)) + (term(e, t, k + 2) + term(e, t, k + 3));
    case 5: return ((term(e, t, k) + term(e, t, k + 4)) + term(e, t, k + 1)) + (term(e, t, k + 2) + term(e, t, k + 3));
    case 6:
        return ((term(e, t, k) + term(e, t, k + 4)) + (term(e, t, k + 1) + term(e, t, k + 5))) +
               (term(e, t, k + 2) + term(e, t, k + 3));
    case 7:
        return ((term(e, t, k) + term(e, t, k + 4)) + (term(e, t, k + 1) + term(e, t, k + 5))) +
               ((term(e, t, k + 2) + term(e, t, k + 6)) + term(e, t, k + 3));
    default: return 0.0;
    }
}

#endif
