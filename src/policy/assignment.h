/* SPDX-License-Identifier: Apache-2.0 */
/* An assignment, for the builders of formats. */
#ifndef TESS_POLICY_ASSIGNMENT_H
#define TESS_POLICY_ASSIGNMENT_H

#include <stdbool.h>

#include "matrix/matrix.h"
#include "policy/block_grid.h"
#include <tessera/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TESS_LEVEL_NONE = 255 };

/* All arrays are on the context's device. */
struct tess_assignment {
    tess_context *ctx;
    int64_t holders;    /* the caller, and each matrix that was made with it */
    int64_t nrows, nnz; /* of the matrix that it was made for */
    tess_assignment_summary summary;
    /* By row, by entry in the matrix's order, or by block in the grid's; granularity matrix: NULL, all at level
     * `whole`. */
    uint8_t *level;
    int whole;
    /* By row or block: values are stored over 2^exponent; NULL: nothing is scaled. A row whose level has no scales has
       the exponent for the lowest scaled level; a block has 0 then. */
    int16_t *exponent;
    double norm;     /* policy error-bound against the matrix's norm: that norm, rounded down; else 0 */
    block_grid grid; /* granularity block; else all zero */
    /* Granularity block: levels by entry too, if requested and free for the backend; a builder may take the array. */
    bool by_entry;
    uint8_t *of_entry;
};

/* A stored matrix holds the assignment of the caller that it was made with. NULL is allowed. */
void tess_assignment_hold(const tess_assignment *assignment);
void tess_assignment_release(const tess_assignment *assignment);

/* As tess_assignment_create, for a builder that works entry by entry. */
tess_status tess_assignment_create_by_entry(const tess_matrix *a, const tess_policy_options *options,
                                            tess_assignment **out);

/* Returns the options with every default written out, or INVALID_ARGUMENT. */
tess_status tess_policy_resolve(tess_context *ctx, const tess_policy_options *options, tess_policy_options *resolved);

#ifdef __cplusplus
}
#endif

#endif
