/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a solve, before it is set up. */
#ifndef TESS_SOLVER_ESTIMATE_H
#define TESS_SOLVER_ESTIMATE_H

#include <tessera/estimate.h>

/* OUT_OF_MEMORY, with the figures, for a solve on the host that the memory cannot hold. The options are complete. */
tess_status solver_require_memory(const tess_matrix *a, const tess_solve_options *options);

#endif
