/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors on a GPU, by cuDSS: what direct.c is on the host. */
#ifndef TESS_PRECOND_DIRECT_DIRECT_DEVICE_H
#define TESS_PRECOND_DIRECT_DIRECT_DEVICE_H

#include "precond/direct/cudss.h"
#include "precond/direct/direct.h"
#include "precond/precond.h"

/* Exponents of scale factors beyond this are cut: the device multiplies by doubles. */
enum { DEVICE_MOST_EXPONENT = 1000 };

/* Arrays for several columns on the device, one column after another, which grow when more come. */
typedef struct device_columns {
    int most; /* columns that they hold */
    void *rhs, *solution;
    double *work;
} device_columns;

typedef struct device_factors {
    tess_context *ctx;
    const tess_matrix *matrix; /* borrowed */
    int64_t n, count;          /* of the matrix: rows; entries that cuDSS reads */
    bool cholesky, usable;
    bool negated; /* the factors are those of -A */
    tess_precision precision;
    int64_t memory_limit;
    mumps_symmetry symmetry;
    bool repeatable; /* cudss.h */
    uint64_t values_version;
    cudss_solver *solver; /* NULL: nothing is analysed */
    cudss_facts facts;
    /* On the device: the matrix, and its scale factors; rhs and solution in `precision`; a vector in FP64. */
    int32_t *row_ptr, *column;
    void *val, *rhs, *solution;
    double *row_scale, *column_scale, *work;
    device_columns columns;
} device_factors;

/* The analysis of the matrix as it is now, with its arrays on the device. SINGULAR, OUT_OF_MEMORY: *out exists too.
   Errors: memory, cuDSS. */
tess_status device_factors_analyse(const tess_matrix *a, bool cholesky, tess_precision precision, int64_t memory_limit,
                                   device_factors **out);
/* Whether they are of these values. */
bool device_factors_fit(const device_factors *m, bool cholesky, tess_precision precision, uint64_t values_version);
/* Makes the factors, or new ones for the matrix's new values. SINGULAR: there are none, and later values may have. */
tess_status device_factors_factor(device_factors *m);
tess_status device_factors_renew(device_factors *m);
void device_factors_destroy(device_factors *m);
void device_factors_release_columns(device_factors *m);

/* Makes p->own, after the table of p is changed to that of the device. */
tess_status direct_device_create(tess_precond *p, const tess_precond_options *options);

/* direct_predict.c: the analysis that a prediction keeps with the matrix moves to *out; false: there is none. */
bool direct_take_device_analysis(const tess_matrix *a, bool cholesky, tess_precision precision, device_factors **out);

#endif
