/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDSS, NVIDIA's sparse direct solver, behind one interface for FP32 and FP64. It is no part of a build: it is looked
 * for at run time, as libcudss.so.1, in version 1.0 or later (cudss_library.h). Environment variable TESSERA_CUDSS:
 * its path, or the folder that holds it; `none`: it is not used; `auto` or nothing: it is looked for.
 */
#ifndef TESS_PRECOND_DIRECT_CUDSS_H
#define TESS_PRECOND_DIRECT_CUDSS_H

#include <tessera/precision.h>

#include "base/context.h"
#include "precond/direct/mumps.h"

/* What it reads and writes, on the device. Entries as MUMPS takes them: all, or those of the lower triangle. */
typedef struct cudss_arrays {
    int64_t n, count;
    const int32_t *row_ptr, *column; /* n + 1; both from 1 */
    const void *val;
    void *rhs, *solution; /* n each */
} cudss_arrays;

/* What an analysis predicts, and a factorization finds. */
typedef struct cudss_facts {
    int64_t entries;                /* of the factors */
    int64_t kept_bytes, peak_bytes; /* on the device */
    double flops;
    int info;           /* 0; else the factorization failed at this row, or for another reason that has a number */
    int changed_pivots; /* too small, and replaced by a larger one */
} cudss_facts;

typedef struct cudss_solver cudss_solver;

/* Looks for it at the first question. The others are called after this. */
bool cudss_is_here(void);
/* Why it is not, in a few words; "" if it is. */
const char *cudss_absence(void);
/* Whether TESSERA_CUDSS names it. */
bool cudss_is_asked_for(void);
/* Whether a solver was opened in this process: the first one takes longer. */
bool cudss_has_begun(void);

/* Each fails with OUT_OF_DEVICE_MEMORY, UNSUPPORTED or DEVICE, and names the call. Work goes to the context's stream.
   The arrays stay the caller's; new values in them need no call but cudss_factor. `repeatable`: the same bits each
   time. cuDSS 1.0.0 then matches no rows with columns of an indefinite matrix, and changes pivots by the thousand. */
tess_status cudss_open(tess_context *ctx, tess_precision precision, mumps_symmetry symmetry, bool repeatable,
                       const cudss_arrays *arrays, cudss_solver **out);
tess_status cudss_analyse(cudss_solver *s, cudss_facts *facts);
tess_status cudss_factor(cudss_solver *s, cudss_facts *facts);
/* solution := A^-1 rhs, or A^-T rhs */
tess_status cudss_solve(cudss_solver *s, bool transposed);
/* solution := A^-1 rhs for arrays of several columns, one after another. Repeatable solves take one column at a time:
   cuDSS 1.0.0 refuses more. */
tess_status cudss_solve_columns(cudss_solver *s, int columns, void *rhs, void *solution);
/* NULL is allowed. */
void cudss_close(cudss_solver *s);

#endif
