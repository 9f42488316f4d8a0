/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices, for the library's own sources. */
#ifndef TESS_MATRIX_MATRIX_H
#define TESS_MATRIX_MATRIX_H

#include "dense/vector.h"
#include "matrix/format.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tess_matrix {
    tess_context *ctx;
    int64_t holders; /* the caller, and each object that reads it: the last one frees the matrix */
    tess_format format;
    tess_precision precision;
    tess_precision given; /* in which the caller's values were assembled: symmetry is judged by its rounding */
    int64_t nrows, ncols, nnz;
    const tess_format_ops *ops;  /* NULL for a shell */
    void *storage;               /* the format's own, on the context's device */
    const tess_matrix *original; /* what this was converted from (borrowed); NULL for an assembled matrix or a shell */
    tess_status (*renew)(tess_matrix *a); /* gives the storage the original's values; of a matrix with an original */
    const tess_assignment *assignment;    /* the caller's, if the storage reads it */
    void (*release_assignment)(const tess_assignment *assignment);
    struct storage_request *asked; /* to build the storage anew for new values, because entries are left out; or NULL */
    uint64_t builds;               /* counts these times: recordings of products are then out of date */
    bool is_complex;               /* the real form of a complex matrix (matrix/complex_form.h), assembled or stored */
    bool keeps_order;              /* update_values may use the caller's order */
    uint64_t values_version;       /* counts update_values */
    double loss; /* the largest relative error of a stored value; Inf: unknown. For parts: beyond what their policy
                    allows */
    tess_arithmetic arithmetic; /* of products */
    double accepted_loss;       /* the bound up to which `loss` was searched */
    bool symmetric;             /* as found by solver/symmetry.h */
    uint64_t symmetry_version;  /* of which values; 0: not looked for */
    double norm;                /* ||A||_F, as found by solver/verify_answer.c */
    uint64_t norm_version;      /* of which values; 0: not computed */
    /* What a part of the library keeps with the matrix for another one, and how to free it (precond/direct); NULL:
       nothing. */
    void *kept;
    void (*drop_kept)(tess_context *ctx, void *kept);
    tess_shell_operator shell;
};

/*
 * Assembled matrix from host arrays that the library allocated with tess_host_allocate. The function takes them, also
 * on failure. row_ptr has nrows + 1 entries: int32_t if nnz < 2^31 (row_ptr_bits 32), else int64_t. Rows must be sorted
 * and without duplicates; this is not checked. On a GPU context the arrays go to the device and are freed.
 */
tess_status tess_matrix_adopt_csr(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr,
                                  int row_ptr_bits, int32_t *col_ind, double *val, tess_matrix **out);

/* The same for arrays on the context's device (allocated with tess_device_allocate; taken, also on failure). */
tess_status tess_matrix_adopt_device_csr(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr,
                                         int row_ptr_bits, int32_t *col_ind, double *val, tess_matrix **out);

/* A matrix without storage, in FP64, to be completed by the caller. */
tess_status tess_matrix_make(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, tess_matrix **out);
/* An object that reads a matrix of the caller holds it until tess_matrix_release: so the caller may destroy them in any
   order. NULL is allowed. */
void tess_matrix_hold(const tess_matrix *a);
void tess_matrix_release(const tess_matrix *a);
/* UNSUPPORTED for a stored matrix or a shell; the error names the purpose. */
tess_status tess_matrix_require_assembled(const tess_matrix *a, const char *purpose);

/* An assembled matrix on the host: the matrix itself, or a copy in a CPU context of its own. */
typedef struct tess_host_matrix {
    const tess_matrix *matrix;
    tess_matrix *copy; /* NULL: there is no copy */
    tess_context *ctx; /* of the copy */
} tess_host_matrix;

/* Release it also after a failure. */
tess_status tess_matrix_on_host(const tess_matrix *a, tess_host_matrix *out);
void tess_host_matrix_release(tess_host_matrix *m);

/* y := op(A) x through the user's function. */
tess_status tess_matrix_apply_shell(const tess_matrix *a, tess_operation operation, const double *x, double *y);
/* Of a shell with an error_bound: *bound is at least the norm of the error of A x as apply computes it. */
tess_status tess_matrix_bound_shell(const tess_matrix *a, const double *x, double *bound);
/* The diagonal of an assembled or shell matrix to an array on the device. */
tess_status tess_matrix_raw_diagonal(const tess_matrix *a, double *diagonal);

/* The error of formats that have only FP64 vectors. */
tess_status tess_spmv_require_fp64_vectors(const tess_matrix *a, const tess_spmv_args *args);
/* A transposed product by the matrix that a stored one was made from. If the stored one is exact, both hold the same
   values. */
tess_status tess_spmv_of_original(const tess_matrix *a, const tess_spmv_args *args);

/* Renews a stored matrix whose original has new values. */
tess_status tess_matrix_refresh(tess_matrix *a);
/* From now on new values keep the levels, and entries that are left out stay out: for preconditioners. */
void tess_matrix_keep_levels(tess_matrix *a);
/* The assignment of split, composite, tiles or packed; NULL for other formats. */
const tess_assignment_summary *tess_matrix_assigned_to(const tess_matrix *a);
/* The largest relative change of a value by storage, if known; otherwise, or if parts are multiplied in FP32, Inf. */
double tess_matrix_bounded_loss(const tess_matrix *a);

#ifdef __cplusplus
}
#endif

#endif
