/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to solve in one kernel, on matrices stored in several ways. */
#ifndef TESS_TESTS_SUPPORT_SINGLE_KERNEL_H
#define TESS_TESTS_SUPPORT_SINGLE_KERNEL_H

#include "support/solve.h"

/* The edge of a square grid that has too many rows for a cluster, 16 blocks of 1,024 or 4 of the emulated GPU. */
int64_t beyond_clusters(void);

/* How matrices are stored: CSR, tiles without loss, tiles of which some lose, in FP16 with scales and in FP8. */
enum { STORAGES = 4 };
tess_storage_options stored_as(int which);

typedef struct solve_way {
    const char *name;
    tess_solver_kind kind;
    tess_recurrence recurrence;
} solve_way;

enum { WAYS = 4 };
extern const solve_way solve_ways[WAYS];

#endif
