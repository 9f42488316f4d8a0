/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a solve, before it is set up. */
#ifndef TESS_SOLVER_ESTIMATE_H
#define TESS_SOLVER_ESTIMATE_H

#include <tessera/estimate.h>

/* The estimate for complete options; of those that leave the method open, of the least that an automatic solve takes.
 */
tess_status solver_estimate_memory(const tess_matrix *a, const tess_solve_options *options, int64_t columns,
                                   tess_solve_estimate *out);
/* OUT_OF_MEMORY, with the figures, for a solve on the host that the memory cannot hold. The options are complete. */
tess_status solver_require_memory(const tess_matrix *a, const tess_solve_options *options);

#endif
