/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors on the pattern of the matrix: ILU(0) and IC(0). Both are kept as M = L D U with ones on the
 * diagonals of L and U; IC(0) has U = L^T. Ratios take the place of entries, so that low precisions hold them whatever
 * the scale of A, and stored values of U are those of L^T to the bit where M is symmetric.
 *
 * incomplete.c: analysis, shifts, application; incomplete_pattern.c: the patterns of L and U; incomplete_rows.h: the
 * elimination of a row; incomplete_host.c and incomplete_device.cu: of all.
 */
#ifndef TESS_PRECOND_INCOMPLETE_H
#define TESS_PRECOND_INCOMPLETE_H

#include "format/csr/csr.h"
#include "triangular/leaf.h"
#include "triangular/triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TESS_MAX_ATTEMPTS = 8 };

/* An incomplete factorization on the pattern of the matrix; arrays are where it is computed, `runs` on the host. */
typedef struct tess_incomplete_job {
    int64_t n;
    bool cholesky;           /* IC(0): entries right of the diagonal are neither read nor written */
    double shift;            /* of the diagonal, over its magnitudes */
    int attempts;            /* at once, with that shift, twice that, ...: 1 to TESS_MAX_ATTEMPTS */
    bool has_retry;          /* other attempts follow: what a bad row leaves behind does not matter */
    const int64_t *diagonal; /* n: places of the diagonal entries among the matrix's */
    const int32_t *order;    /* n: rows, those that a row needs before it; NULL, on the host: as they lie */
    const level_run *runs;   /* of the host */
    int64_t nruns;
    double *lu;      /* of each attempt the matrix's entries: those of L and U beside the ones on their diagonals */
    double *inverse; /* of each n: D^-1 */
} tess_incomplete_job;

/* Of the first attempt without a bad row, or else of the last. */
typedef struct tess_incomplete_outcome {
    int64_t bad_row; /* the first that is not finite, or else without a usable pivot; -1: none */
    double largest;  /* magnitude in lu, where no row is bad */
    int attempt;
    bool finite; /* whether the matrix is, where that was looked at */
} tess_incomplete_outcome;

/* What a device supplies. */
typedef struct incomplete_ops {
    tess_status (*factor)(const tess_matrix *assembled, const tess_incomplete_job *job, tess_incomplete_outcome *out);
} incomplete_ops;

extern const incomplete_ops incomplete_host_ops;
const incomplete_ops *incomplete_gpu_ops(void);
const incomplete_ops *incomplete_ops_of(const tess_context *ctx);

typedef struct tess_incomplete tess_incomplete;

/* Whether the options are possible. */
tess_status incomplete_check(const tess_matrix *a, const tess_precond_options *options);
/* With SINGULAR *out is made all the same: later values may have factors. */
tess_status incomplete_create(const tess_matrix *a, const tess_precond_options *options, tess_incomplete **out);
/* The factors of the matrix's present values; the analysis stays. SINGULAR, OUT_OF_RANGE: there are none. */
tess_status incomplete_renew(tess_incomplete *m);
/* z := M^-1 r, r and z apart; vectors of that precision, FP64 or FP32. `state`: of the loop that this is part of, or
 * NULL. */
tess_status incomplete_apply(const tess_incomplete *m, tess_precision vectors, const void *r, void *z,
                             tess_loop_state *state);
/* The shift of the present factors, over the diagonal's magnitudes; 0: none. */
double incomplete_shift(const tess_incomplete *m);
void incomplete_describe(const tess_incomplete *m, tess_precond_factors *out);
/* Changes with what a recorded application has become out of date by. */
uint64_t incomplete_revision(const tess_incomplete *m);
/* Bytes on the device. */
int64_t incomplete_bytes(const tess_incomplete *m);
void incomplete_destroy(tess_incomplete *m);

/* As incomplete_ops.factor, with all arrays on the host. Attempts, where there are several, are shared by threads. */
void incomplete_factor_on_host(const csr_view *v, const tess_incomplete_job *job, int threads,
                               tess_incomplete_outcome *out);

/* ---- patterns, on the host ---- */

/* A square matrix's pattern and where its diagonal entries are. */
typedef struct incomplete_pattern {
    int64_t n, nnz;
    int64_t *row_ptr;  /* n + 1 */
    int32_t *col_ind;  /* nnz */
    int64_t *diagonal; /* n */
} incomplete_pattern;

/* *missing_row: the first row without a diagonal entry, or -1. To be released, also on failure. */
tess_status incomplete_read_pattern(const tess_matrix *a, incomplete_pattern *p, int64_t *missing_row);
void incomplete_release_pattern(tess_context *ctx, incomplete_pattern *p);
/* The entries left or right of the diagonal; `transposed`: right of it those of the left, mirrored. To be released with
   incomplete_release_triangle, also on failure. */
tess_status incomplete_take_lower(tess_context *ctx, const incomplete_pattern *p, triangle_pattern *out);
tess_status incomplete_take_upper(tess_context *ctx, const incomplete_pattern *p, triangle_pattern *out);
tess_status incomplete_mirror(tess_context *ctx, const triangle_pattern *lower, triangle_pattern *out);
void incomplete_release_triangle(tess_context *ctx, triangle_pattern *t);

#ifdef __cplusplus
}
#endif

#endif
