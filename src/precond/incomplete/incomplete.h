/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors: ILU(0) and IC(0) on the pattern of the matrix, ILUT, ICT and ILU(k) on a pattern with fill. All
 * are stored as M = L D U with ones on the diagonals of L and U; IC(0) and ICT have U = L^T. The stored entries are
 * ratios, so that low precisions hold them for any scale of A. IC of a matrix with a negative diagonal is that of -A
 * with a negative D. If M is symmetric, the stored values of U equal those of L^T to the bit.
 *
 * Patterns with fill become a matrix, with zeros, that takes the place of A (incomplete_filled.c). All factors may also
 * be computed approximately, by sweeps (incomplete_swept.h).
 *
 * incomplete_analysis.c: patterns and triangles; incomplete.c: shifts, application; incomplete_pattern.c: the patterns
 * of L and U; fill.h: those with fill by rows, fill_rounds.h: in rounds; incomplete_rows.h: the elimination of a row;
 * incomplete_job.h: what it is told; incomplete_host.c and incomplete_device.cu: the elimination of all rows;
 * incomplete_swept_host.c and incomplete_swept_device.cu: sweeps; incomplete_split_device.cu: patterns for them on a
 * GPU.
 */
#ifndef TESS_PRECOND_INCOMPLETE_INCOMPLETE_H
#define TESS_PRECOND_INCOMPLETE_INCOMPLETE_H

#include <tessera/precond.h>

#include "format/csr/csr.h"
#include "matrix/device_csr.h"
#include "precond/incomplete/incomplete_job.h"
#include "triangular/triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct incomplete_split incomplete_split;
typedef struct fill_rule fill_rule;

/* The functions of a device. */
typedef struct incomplete_ops {
    tess_status (*factor)(const tess_matrix *assembled, const tess_incomplete_job *job, tess_incomplete_outcome *out);
    /* incomplete_split_on_gpu; NULL: the host finds patterns. */
    tess_status (*split)(const tess_matrix *assembled, bool symmetric, incomplete_split *out);
    /* A pattern with fill, in rounds, and the values of A on it. */
    tess_status (*find_fill)(const tess_matrix *assembled, const fill_rule *rule, tess_matrix **filled);
    tess_status (*spread)(tess_context *ctx, const csr_view *a, const csr_view *filled, double *val);
} incomplete_ops;

extern const incomplete_ops incomplete_host_ops;
const incomplete_ops *incomplete_gpu_ops(void);
const incomplete_ops *incomplete_ops_of(const tess_context *ctx);

typedef struct tess_incomplete tess_incomplete;

/* incomplete_precond.c: whether square blocks have a storage of their own; checks the options. */
bool incomplete_has_squares(const tess_storage_options *o);
tess_status incomplete_check(const tess_matrix *a, const tess_precond_options *options);
/* After SINGULAR *out exists too: later values may have factors. */
tess_status incomplete_create(const tess_matrix *a, const tess_precond_options *options, tess_incomplete **out);
/* Computes the factors of the matrix's present values; the analysis stays. After SINGULAR or OUT_OF_RANGE there are
   none. */
tess_status incomplete_renew(tess_incomplete *m);
/* z := M^-1 r; r and z are distinct and have that precision, FP64 or FP32. `state`: of the loop that calls it, or NULL.
 */
tess_status incomplete_apply(const tess_incomplete *m, tess_precision vectors, const void *r, void *z,
                             tess_loop_state *state);
/* The same for FP64 vectors of several columns, by rows, each with the bits that it has alone; whether the factors can,
   and workspace for as many. It prepares itself if nobody has. */
bool incomplete_takes_columns(const tess_incomplete *m);
tess_status incomplete_prepare_columns(tess_incomplete *m, int columns);
tess_status incomplete_apply_columns(tess_incomplete *m, int columns, const double *r, double *z);
/* The shift of the present factors, relative to the diagonal's magnitudes; 0: none. */
double incomplete_shift(const tess_incomplete *m);
void incomplete_describe(const tess_incomplete *m, tess_precond_factors *out);
/* Changes when a recorded application becomes out of date. */
uint64_t incomplete_revision(const tess_incomplete *m);
/* Bytes on the device. */
int64_t incomplete_bytes(const tess_incomplete *m);
void incomplete_destroy(tess_incomplete *m);

/* As incomplete_ops.factor for jobs with sweeps. Host and GPU give the same bits. */
tess_status incomplete_sweep_on_host(const tess_matrix *assembled, const tess_incomplete_job *job,
                                     tess_incomplete_outcome *out);
tess_status incomplete_sweep_on_gpu(const tess_matrix *assembled, const tess_incomplete_job *job,
                                    tess_incomplete_outcome *out);
/* As incomplete_ops.factor, with all arrays on the host. Several attempts are shared by threads. */
void incomplete_factor_on_host(const csr_view *v, const tess_incomplete_job *job, int threads,
                               tess_incomplete_outcome *out);

/* ---- an order by colors (incomplete_colors.c) ---- */

typedef struct incomplete_colors {
    int64_t n;
    int count;
    tess_matrix *matrix; /* in that order; if only that is factored, its lower triangle. NULL: there is no such order */
    int64_t *source;     /* on the device: where in A each of its values is */
    int32_t *order;      /* n, on the device: the row of a position */
    int32_t *row;        /* the same on the host */
    double *work;        /* n, on the device */
} incomplete_colors;

/* `lower`: only entries up to the diagonal count. Values come by incomplete_colors_renew. */
tess_status incomplete_colors_open(const tess_matrix *a, bool lower, incomplete_colors *out);
void incomplete_colors_close(tess_context *ctx, incomplete_colors *c);
tess_status incomplete_colors_renew(const tess_matrix *a, incomplete_colors *c);
int64_t incomplete_colors_bytes(const incomplete_colors *c);

/* ---- a pattern with fill (incomplete_filled.c) ---- */

/* An assembled matrix with the pattern of ilut, ict or iluk for the present values of A; of ict the lower triangle.
   swept: sweeps will compute the factors. Its values come by incomplete_filled_renew: those of A, and 0. */
tess_status incomplete_filled_open(const tess_matrix *a, const tess_precond_options *options, bool swept,
                                   tess_matrix **filled);
tess_status incomplete_filled_renew(const tess_matrix *a, tess_matrix *filled);

/* ---- patterns, on the host ---- */

/* A square matrix's pattern and where its diagonal entries are. */
typedef struct incomplete_pattern {
    int64_t n, nnz;
    int64_t *row_ptr;  /* n + 1 */
    int32_t *col_ind;  /* nnz */
    int64_t *diagonal; /* n */
} incomplete_pattern;

/* *missing_row: the first row without a diagonal entry, or -1. Release the pattern, also after a failure. */
tess_status incomplete_read_pattern(const tess_matrix *a, incomplete_pattern *p, int64_t *missing_row);
void incomplete_release_pattern(tess_context *ctx, incomplete_pattern *p);
/* The entries left or right of the diagonal; `transposed`: right of it the mirrored entries of the left. Release it by
   incomplete_release_triangle, also after a failure. */
tess_status incomplete_take_lower(tess_context *ctx, const incomplete_pattern *p, triangle_pattern *out);
tess_status incomplete_take_upper(tess_context *ctx, const incomplete_pattern *p, triangle_pattern *out);
tess_status incomplete_mirror(tess_context *ctx, const triangle_pattern *lower, triangle_pattern *out);
void incomplete_release_triangle(tess_context *ctx, triangle_pattern *t);

/* ---- patterns, on a GPU ---- */

/* One side of the diagonal, with space for values; source: where each comes from among the matrix's. */
typedef struct incomplete_side {
    device_csr pattern;
    int64_t *source;
} incomplete_side;

struct incomplete_split {
    int64_t missing_row; /* the first row without a diagonal entry: then there are no sides; -1: none */
    int64_t *diagonal;   /* n places */
    incomplete_side lower, upper;
};

/* Of a matrix with offsets of 32 bits (device_csr_takes). symmetric: the upper side is the transpose of the lower one.
   Release it, also after a failure. */
tess_status incomplete_split_on_gpu(const tess_matrix *assembled, bool symmetric, incomplete_split *out);
void incomplete_release_split(tess_context *ctx, int64_t n, incomplete_split *s);

#ifdef __cplusplus
}
#endif

#endif
