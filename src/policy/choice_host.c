/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the rows that have fewer than 7 significant digits with an assignment, on the host. */
#include <string.h>

#include "device/host/host.h"
#include "policy/choice.h"

/* Lanes without entries have nothing to add. */
static choice_sums join_lanes(choice_sums *lane, int64_t length)
{
    for (int half = CHOICE_LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half && j + half < length; j++) {
            choice_join(&lane[j], &lane[j + half]);
        }
    }
    return lane[0];
}

HOST_CLONES static void count_row(const assign_task *task, int round, int64_t row, unsigned long long *inaccurate)
{
    const int64_t start = assign_row_start(&task->csr, row), length = assign_row_start(&task->csr, row + 1) - start;
    choice_sums lane[CHOICE_LANES];

    for (int j = 0; j < CHOICE_LANES; j++) {
        lane[j] = choice_start();
    }
    for (int64_t i = 0; i < length; i++) {
        choice_add(task, round, row, start + i, &lane[i % CHOICE_LANES]);
    }
    lane[0] = join_lanes(lane, length);
    for (int i = 0; i < CHOICE_VECTORS; i++) {
        inaccurate[round * CHOICE_VECTORS + i] += choice_falls_short(&lane[0], i);
    }
}

tess_status choice_count_host(tess_context *ctx, const assign_task *task, int rounds, unsigned long long *inaccurate)
{
    unsigned long long count[CHOICE_COUNTS] = {0};
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 256) reduction(+ : count) if (parallel)
    for (int64_t row = 0; row < task->csr.nrows; row++) {
        for (int round = 0; round < rounds; round++) {
            count_row(task, round, row, count);
        }
    }
    memcpy(inaccurate, count, sizeof count);
    return TESS_SUCCESS;
}
