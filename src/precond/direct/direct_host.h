/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors on the host: what direct.c, which makes and applies them, and direct_columns.c share. */
#ifndef TESS_PRECOND_DIRECT_DIRECT_HOST_H
#define TESS_PRECOND_DIRECT_DIRECT_HOST_H

#include <float.h>
#include <string.h>

#include "precond/direct/direct.h"
#include "precond/direct/klu_factors.h"
#include "precond/precond.h"

/* Arrays for several columns, which grow when more come. */
typedef struct direct_columns {
    int most;      /* columns that they hold */
    void *rhs;     /* in the precision of the factors, one column after another */
    double *alone; /* n values */
    double *copy;  /* of vectors of a GPU; NULL on the CPU */
} direct_columns;

typedef struct direct_factors {
    tess_context *ctx;
    const tess_matrix *matrix; /* borrowed */
    int64_t n;
    int parts; /* 2: the factors are complex, and the vectors' numbers are re and im in turn; else 1 */
    bool cholesky;
    bool negated; /* the factors are those of -A */
    tess_precision precision;
    int64_t memory_limit;  /* bytes; 0: half of what the machine has to spare */
    mumps_instance *mumps; /* NULL: nothing is analysed */
    klu_factors *klu;      /* in place of MUMPS; NULL: MUMPS has the factors */
    mumps_symmetry symmetry;
    int32_t *row_exponent, *column_exponent; /* n each: D_r and D_c */
    void *rhs;                               /* n values of `precision` */
    double *copy;                            /* of a vector of a GPU; NULL on the CPU */
    mumps_reply facts;                       /* of the last factorization */
    int relaxation;
    direct_columns columns;
    bool usable;
    bool moderate;   /* doubles can be multiplied by the powers of two of all exponents */
    bool by_default; /* the caller named no precision */
} direct_factors;

/* Whether the exponent is one of such powers: two of them, and a value near 1, stay in range. */
static inline bool direct_may_multiply(int exponent)
{
    return exponent >= -400 && exponent <= 400;
}

/* 2^exponent, of a normal number. */
static inline double direct_power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + DBL_MAX_EXP - 1) << (DBL_MANT_DIG - 1);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- direct_apply.c ---- */

tess_status direct_apply(const tess_precond *p, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction);
tess_status direct_solve_on_host(const tess_precond *p, bool transposed, const double *r, double *z);
/* z := D_c (D_r A D_c)^-1 D_r r, on the host; transposed: D_r (D_r A D_c)^-T D_c r. r may be z. */
tess_status direct_solve(const direct_factors *m, bool transposed, tess_precision vectors, const void *r, void *z);
/* SINGULAR, if there are no factors. */
tess_status direct_require_usable(const direct_factors *m);
/* rhs := A^-1 rhs or A^-T rhs of the scaled system, by what has the factors. */
mumps_reply direct_run(const direct_factors *m, bool transposed, int columns, void *rhs);
/* ---- direct.c ---- */

/* What MUMPS says about a step that failed. */
tess_status direct_judge(const direct_factors *m, const char *step, const mumps_reply *reply);

/* ---- direct_columns.c ---- */

bool direct_takes_columns(const tess_precond *p);
tess_status direct_apply_columns(const tess_precond *p, int columns, const double *r, double *z);
tess_status direct_apply_where_they_are(const tess_precond *p, const tess_columns *r, const tess_columns *z,
                                        bool *done);
void direct_release_columns(direct_factors *m);

#endif
