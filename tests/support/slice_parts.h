/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a matrix as slices, on any device: every step-th row from some row on, as split and composite formats keep
 * them. */
#ifndef TESS_TESTS_SUPPORT_SLICE_PARTS_H
#define TESS_TESTS_SUPPORT_SLICE_PARTS_H

#include "format/ellr/ellr.h"
#include "matrix/matrix.h"
#include "support/slices.h"

/* Which rows: first, first + step, ... */
typedef struct part_rule {
    int64_t first, step;
    bool scaled;   /* with exponents from -3 to 3 */
    bool unsorted; /* each row backwards */
} part_rule;

/* The rows of a part on the host, with places that are no entries before them, and the same on the context's device. */
typedef struct slice_part {
    tess_context *ctx;
    part_rule rule;
    csr_view host, device;
    int64_t places; /* of col_ind and val */
} slice_part;

slice_part make_part(tess_context *ctx, const oracle_csr *a, part_rule rule);
void free_part(slice_part *part);

int64_t part_offset(const slice_part *part, int64_t i);
/* Row of the matrix that row i of the part is. */
int64_t part_target(const slice_part *part, int64_t i);
/* The value at place k of row i in a precision, without the scale. */
double part_value(const slice_part *part, tess_precision precision, bool scaled, int64_t i, int64_t k);

/* Products of matrices in four parts, of several precisions and one of them empty, with every epilogue. */
void check_slice_parts(tess_context *ctx);

#endif
