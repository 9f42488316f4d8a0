/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the rows of patterns on the GPU. */
#ifndef TESS_PRECOND_INVERSE_INVERSE_PATTERN_DEVICE_CUH
#define TESS_PRECOND_INVERSE_INVERSE_PATTERN_DEVICE_CUH

#include "precond/inverse/inverse_device.cuh"

/* Blocks of a multiprocessor. */
enum { PATTERN_BLOCKS = 8 };

/* Which entries of a row stay. */
enum pattern_rule {
    TAKE_WEIGHTS, /* all weights that are numbers */
    TAKE_LARGE,   /* of A: at least `least` times the largest off the diagonal, both scaled by A's diagonal */
    TAKE_USEFUL   /* of the inverse: at least `least` times the diagonal one, likewise */
};

struct pattern_task {
    csr_view from;
    int64_t first_row; /* of the rows of `from` in the whole matrix */
    pattern_rule rule;
    bool lower;
    int most; /* entries of a row that stay, with the diagonal one */
    double least;
    const double *diagonal;
    device_csr to;
    int *longest; /* row, before it is cut */
};

csr_view inverse_view_of(const device_csr &a);
/* The large entries of A. */
pattern_task inverse_large_entries(const inverse_request *q, bool lower, int most);
/* *to := the rows, with weights if wanted. None (to->row_ptr NULL) where one is too long and has no weights to cut it
   by. */
tess_status inverse_keep_rows(tess_context *ctx, pattern_task t, bool weights, device_csr *to);
/* The pattern of a power of A. */
tess_status inverse_power_on_device(const inverse_request *q, device_csr *out);

#endif
