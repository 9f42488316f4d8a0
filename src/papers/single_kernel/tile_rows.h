/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of layout resident in a single kernel: what host and device know. */
#ifndef TESS_PAPERS_SINGLE_KERNEL_TILE_ROWS_H
#define TESS_PAPERS_SINGLE_KERNEL_TILE_ROWS_H

#include "papers/narrowing/narrowing_rules.h"
#include "solver/single_kernel/single_kernel.h"

/* A segment of the columns of a block: what it has seen, how its tiles are used, and how often they were used so in
 * this launch. */
typedef struct single_segment {
    narrowing_segment seen;
    uint8_t use;
    uint32_t uses[NARROWING_LEVELS + 1];
} single_segment;

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels that solver/single_kernel finds here. */
const single_more_ops *single_more_gpu_ops(void);

#ifdef __cplusplus
}
#endif

#endif
