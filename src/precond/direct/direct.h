/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complete factors of the matrix on the host, in FP32 or FP64: L U, or L D L^T for a symmetric matrix. direct_system.c
 * prepares what is factored, D_r A D_c with factors of two (matrix/equilibrate.h), which FP32 can hold for any range of
 * A; analysis.c orders the rows; direct.c is the preconditioner; mumps.h computes. Source: Carson, Higham, SIAM J. Sci.
 * Comput. 40 (2018).
 */
#ifndef TESS_PRECOND_DIRECT_DIRECT_H
#define TESS_PRECOND_DIRECT_DIRECT_H

#include "matrix/matrix.h"
#include "precond/direct/mumps.h"

struct tess_precond;

/* Entries as MUMPS takes them: all, or for a symmetric factorization those of the lower triangle. */
typedef struct direct_system {
    tess_context *ctx;
    int64_t n, rows;         /* of what is factored; of the matrix, twice as many where that is a real form */
    int64_t capacity, count; /* the matrix' entries; those taken */
    int parts;               /* numbers of a value: 2, re and im in turn, where complex entries are taken; else 1 */
    int node;                /* rows that have one pattern: 2 of a real form that is taken as it is, else 1 */
    mumps_symmetry symmetry;
    bool negated;          /* val is that of -A */
    int64_t bad_row;       /* the first row with NaN or Inf, or -1: then there is nothing else */
    int64_t *row_ptr;      /* n + 1 */
    int32_t *row, *column; /* from 1 */
    double *val;
    void *rounded; /* the scaled values in `precision` */
    tess_precision precision;
} direct_system;

/* Reads the matrix. `cholesky`: the lower triangle of a matrix that counts as positive definite, -A where the diagonal
   of A is negative. Otherwise a matrix that is symmetric to the bit is taken as that. Release it, also after a failure.
 */
tess_status direct_read(const tess_matrix *a, bool cholesky, direct_system *out);
/* Of a complex matrix the real form as it is, where direct_read takes the complex entries, but for `cholesky`: real
   factors of the form of a Hermitian matrix cost as much as complex ones of both its halves, and tell whether it is
   positive definite. */
tess_status direct_read_form(const tess_matrix *a, bool cholesky, direct_system *out);
/* Exponents of the rows of what is factored become those of the matrix: twice as many where that is a real form. */
void direct_spread(const direct_system *s, int32_t *exponent);
/* The magnitude of entry k, within a factor of the root of 2: the larger part of a complex one. */
double direct_size(const direct_system *s, int64_t k);
/* Scales and rounds the values; fills the exponents of both sides (n times `parts` each: one for each row of the
   matrix), whose magnitude is `most` at most. */
tess_status direct_scale(direct_system *s, tess_precision precision, int most, int32_t *row_exponent,
                         int32_t *column_exponent);
void direct_release(direct_system *s);

/* What complete factors take, by the analysis alone. */
typedef struct direct_prediction {
    bool possible;  /* false: neither MUMPS nor cuDSS, NaN or Inf, no or too few pivots, too little memory */
    bool on_device; /* by cuDSS */
    double flops;
    int64_t bytes; /* in `precision` */
} direct_prediction;

/* An analysis that a prediction keeps with the matrix. Factors of the same values take it over. */
typedef struct direct_analysis {
    tess_precision precision;
    int parts;
    mumps_symmetry symmetry;
    uint64_t values_version;
    mumps_instance *mumps;
    mumps_reply reply;
} direct_analysis;

/* The analysis of a scaled system. A pattern whose factors take much work is analysed twice, with a local order and
   with nested dissection, and the analysis that predicts fewer operations stays. out->mumps is the caller's, also after
   a failure; out->reply.code < 0: MUMPS refuses. The rest of *out is the caller's alone. Errors: memory. */
tess_status direct_analyse(const direct_system *s, int relaxation, direct_analysis *out);
/* Moves it to *out; false: there is none for these values and such a system in `precision`. */
bool direct_take_analysis(const tess_matrix *a, tess_precision precision, const direct_system *s, direct_analysis *out);
/* Frees it, if there is one. */
void direct_drop_analysis(const tess_matrix *a);

/* Seconds of an operation of a factorization with Netlib's BLAS, or without one: one core of an x86 server. */
#define DIRECT_FLOP_SECONDS 0.3e-9
/* Of MUMPS', with the BLAS at hand. */
double direct_flop_seconds(void);

/* The same for cuDSS on an H100 or H200, an upper bound until it is measured there: 2 % of its FP64 rate. */
#define DIRECT_DEVICE_FLOP_SECONDS 1e-12

/* direct_limits.c. `limit`: bytes; 0: half of what the machine has to spare, or nine tenths of a device's. */
int64_t direct_allowed_memory(tess_context *ctx, int64_t limit, bool on_device);
/* OUT_OF_MEMORY if needed > allowed. */
tess_status direct_check_memory(tess_context *ctx, const char *name, int64_t needed, int64_t allowed);
/* Under a limit of time: TIMED_OUT if so many operations should take longer than is left. */
tess_status direct_check_time(tess_context *ctx, const char *name, double flops, double flop_seconds);
/* SINGULAR: NaN or Inf; for `cholesky` a diagonal entry that is not positive. */
tess_status direct_check_values(const direct_system *s, const char *name, bool cholesky);

/* Workspace beyond the estimate of an analysis, in percent. */
enum { DIRECT_RELAXATION = 30 };

/* Whether the matrix' factors are computed and applied on its device, by cuDSS: where TESSERA_CUDSS names it or there
   is no other way, else from DIRECT_DEVICE_LEAST_ROWS rows on. */
bool direct_is_on_device(const tess_matrix *a);
/* Where cuDSS comes from. */
#define DIRECT_CUDSS_HINT \
    "pip install nvidia-cudss-cu13 (or -cu12); if it is elsewhere, set TESSERA_CUDSS to the path of libcudss"

/* What complete factors tell beside the residual: pivots that were changed, or why the host computed factors for a
   device. false: nothing. */
bool direct_note(const struct tess_precond *m, char *text, size_t length);

/* Errors: memory; those of cuDSS. */
tess_status direct_predict(const tess_matrix *a, bool cholesky, tess_precision precision, int64_t memory_limit,
                           direct_prediction *out);

#endif
