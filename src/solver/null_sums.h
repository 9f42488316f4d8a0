/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the rows of a matrix all sum to 0 up to rounding. */
#ifndef TESS_SOLVER_NULL_SUMS_H
#define TESS_SOLVER_NULL_SUMS_H

#include "format/csr/csr.h"

/* The first `count` rows. On a host: ends at the first row that does not sum to 0; of most matrices that is one of the
   first. */
bool null_sums_on_host(const csr_view *v, int64_t count);
tess_status null_sums_on_device(const tess_matrix *a, bool *null);

#endif
