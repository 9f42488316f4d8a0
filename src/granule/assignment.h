/* SPDX-License-Identifier: Apache-2.0 */
/* An assignment as builders of formats see it. */
#ifndef TESS_GRANULE_ASSIGNMENT_H
#define TESS_GRANULE_ASSIGNMENT_H

#include "core/internal.h"
#include <tessera/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TESS_LEVEL_NONE = 255 };

/* All arrays are on the context's device. */
struct tess_assignment {
    tess_context *ctx;
    int64_t nrows, nnz; /* of the matrix it was made for */
    tess_assignment_summary summary;
    uint8_t *level;    /* by row, or by entry in the matrix's order; granularity matrix: NULL, all at level 0 */
    int16_t *exponent; /* by row: of the scale, values are stored over 2^exponent; NULL: no level is scaled */
};

/* options with every default spelled out, or INVALID_ARGUMENT. */
tess_status tess_policy_resolve(tess_context *ctx, const tess_policy_options *options, tess_policy_options *resolved);

#ifdef __cplusplus
}
#endif

#endif
