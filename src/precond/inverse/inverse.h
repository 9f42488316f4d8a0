/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate inverses on a pattern: the functions of a device, and what they share. */
#ifndef TESS_PRECOND_INVERSE_INVERSE_H
#define TESS_PRECOND_INVERSE_INVERSE_H

#include "matrix/device_csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The longest row. */
enum { INVERSE_MOST_ENTRIES = 64 };
/* The shifts of a row of FSAI without a usable pivot: s = 1e-3, 2e-3, 4e-3, ... times the diagonal. */
enum { INVERSE_SHIFTS = 24 };
#define INVERSE_FIRST_SHIFT 1e-3
/* A pivot is usable above this times the entry that it was. */
#define INVERSE_LEAST_PIVOT 0x1p-45
/* An adaptive pattern takes no candidates from rows of A with more entries. */
enum { INVERSE_LONG_ROW = 1024 };

/* Rows of the inverse: a pattern, and its values while they are computed. One of both, by the context's device. */
typedef struct inverse_rows {
    host_csr host;
    device_csr device;
} inverse_rows;

/* Which entries there are, as tess_inverse_options has it. */
typedef struct inverse_choice {
    bool adaptive; /* the pattern grows, and is that of no power */
    int power, row;
    double threshold, filter;
    int steps, step_size;
    double tolerance;
} inverse_choice;

struct tess_inverse_options;
inverse_choice inverse_choice_of(const struct tess_inverse_options *options);

/* What is wanted. symmetric: G with (G A G^T)_ii = 1 from the lower triangle of A, else M with M A = I on its pattern.
 */
typedef struct inverse_request {
    const tess_matrix *a;
    inverse_choice entries;
    bool symmetric, negative; /* negative: of -A */
    const double *diagonal;   /* of A, on the device; 0: there is no entry */
    int64_t slice_terms;      /* of a power that a GPU computes at once; 0: as it chooses */
} inverse_request;

typedef struct inverse_outcome {
    int64_t bad_row; /* the first that has no inverse; -1: none */
    int64_t mended;  /* rows whose small system was not usable: shifted, or left with the diagonal alone */
    double shift;    /* the largest */
    double largest;  /* magnitude of an entry */
    double smallest; /* of G the smallest entry of the diagonal, of M the smallest of the rows' largest */
} inverse_outcome;

/* The functions of a device. */
typedef struct inverse_ops {
    /* The pattern, as inverse_pattern_on_host has it. *found false: there is not enough memory, or offsets of 32 bits
       do not hold it. NULL: the host finds it. */
    tess_status (*find_pattern)(const inverse_request *q, inverse_rows *rows, bool *found);
    /* Takes a pattern of the host, or copies it; the caller releases what is left. */
    tess_status (*take_pattern)(tess_context *ctx, host_csr *pattern, inverse_rows *rows);
    /* Values on the pattern, which are allocated where there are none. */
    tess_status (*compute)(const inverse_request *q, inverse_rows *rows, inverse_outcome *out);
    /* Leaves out entries below entries.filter times the diagonal one, both scaled by A's diagonal; the values go. */
    tess_status (*drop_small)(const inverse_request *q, inverse_rows *rows);
    /* The rows times `factor` as an assembled matrix, and if wanted (not NULL) its transpose. The values go. */
    tess_status (*to_matrices)(tess_context *ctx, inverse_rows *rows, double factor, tess_matrix **m,
                               tess_matrix **transpose);
    int64_t (*entries)(const inverse_rows *rows);
    int64_t (*bytes)(const inverse_rows *rows); /* on the device */
    void (*release)(tess_context *ctx, inverse_rows *rows);
} inverse_ops;

extern const inverse_ops inverse_host_ops;
const inverse_ops *inverse_gpu_ops(void);
const inverse_ops *inverse_ops_of(const tess_context *ctx);

/* The pattern on the host, by a copy of A where that is on a GPU: powers of a matrix without its small entries. Rows
   are sorted, with their diagonal entries. */
tess_status inverse_pattern_on_host(const inverse_request *q, host_csr *out);
/* Of an adaptive pattern: rows of A, whose diagonal scaled twice is 1. */
tess_status inverse_adapt_on_host(const inverse_request *q, const host_csr *a, const double *scale, host_csr *out);
/* By the device where it can. */
tess_status inverse_find_pattern(const inverse_request *q, inverse_rows *rows);

#ifdef __cplusplus
}
#endif

#endif
