/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MUMPS behind one interface for FP32 and FP64, real and complex, loaded at run time. It is not reentrant: all calls of
 * the process go through one mutex. It never prints, and takes its memory from the system, not from the context's
 * allocator. Source: Amestoy, Duff, L'Excellent, Koster, SIAM J. Matrix Anal. Appl. 23 (2001).
 */
#ifndef TESS_PRECOND_DIRECT_MUMPS_H
#define TESS_PRECOND_DIRECT_MUMPS_H

#include <tessera/precision.h>

#include "base/context.h"

/* What a factorization may assume; the numbers are MUMPS' parameter SYM. */
typedef enum mumps_symmetry {
    MUMPS_UNSYMMETRIC = 0, /* L U */
    MUMPS_DEFINITE = 1,    /* L D L^T without pivoting, from one triangle */
    MUMPS_INDEFINITE = 2   /* L D L^T with pivots of one and two rows, from one triangle */
} mumps_symmetry;

typedef enum mumps_step { MUMPS_ANALYSE = 1, MUMPS_FACTOR = 2, MUMPS_SOLVE = 3 } mumps_step;

/* Arrays that a step reads: indices in all but the last, values in the first two; `rhs` in the last, which it replaces
   by the solution. Values have the instance's precision; complex ones are re and im in turn. */
typedef struct mumps_arguments {
    int64_t n, nnz;
    int32_t *row, *column; /* from 1 */
    void *val, *rhs;
    int32_t *position; /* for an analysis: where each row comes in the order, from 1; NULL: MUMPS finds an order */
    int relaxation;    /* percent of workspace beyond the estimate */
    bool null_pivots;  /* sets a pivot that is zero aside, instead of failing */
    bool transposed;   /* solves with the transpose */
    int columns;       /* of rhs, one after another; 0: one */
    bool rescale;      /* scales the values anew, instead of what the analysis found */
} mumps_arguments;

typedef struct mumps_reply {
    int code, detail;       /* INFOG(1) and INFOG(2); a negative code is a failure */
    int64_t predicted;      /* bytes that the factorization will need, by the analysis */
    int64_t entries, bytes; /* of the factors */
    int negative_pivots;    /* of a symmetric matrix */
    int null_pivots;        /* that were set aside */
    double flops;           /* real ones that the factorization will take, by the analysis */
} mumps_reply;

typedef struct mumps_instance mumps_instance;

/* Whether libtessera_factors.so is built and can be loaded, with MUMPS. The others are called after this. */
bool mumps_is_here(void);
/* Why a module that is there was not loaded, in the dynamic linker's words; empty: it was, or there is none. */
const char *mumps_absence(void);
/* precision: FP32 or FP64; of a complex matrix symmetric is A = A^T. Errors: memory. */
tess_status mumps_open(tess_context *ctx, tess_precision precision, bool is_complex, mumps_symmetry symmetry,
                       mumps_instance **out);
mumps_reply mumps_run(mumps_instance *m, mumps_step step, const mumps_arguments *arguments);
/* Nested dissection by METIS: the order of a graph with n nodes (Karypis, Kumar, SIAM J. Sci. Comput. 20 (1998)). The
   neighbours of node i are neighbour[start[i]] to neighbour[start[i + 1] - 1], each once, without i. place[i]: that of
   node i in the order, from 0; `order`: n values of work space. false: there is no METIS, or it fails. */
bool mumps_dissect(int32_t n, int32_t *start, int32_t *neighbour, int32_t *order, int32_t *place);
void mumps_close(tess_context *ctx, mumps_instance *m);

#endif
