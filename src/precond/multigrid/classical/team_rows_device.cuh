/* SPDX-License-Identifier: Apache-2.0 */
/* The set of a row of interpolation, found by a team of threads: for its weights, and for a plan of them. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_TEAM_ROWS_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_CLASSICAL_TEAM_ROWS_DEVICE_CUH

#include "precond/multigrid/classical/interpolation_device.cuh"
#include "precond/multigrid/classical/team_set_device.cuh"

/* The entries of row i of A that the set is found from: none of a coarse row. */
struct row_part {
    int64_t i;
    int32_t begin, end;
};

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). All lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ static inline void find_set(const interpolation_task &t, const team_of<WIDTH> &team, const row_part &row,
                                       team_set<WIDTH, BITS> &set)
{
    const device_csr &a = t.to.a;

    set.clear(team.lane);
    for (int32_t k = row.begin + team.lane; k < row.end; k += WIDTH) {
        if (!t.to.strong[k]) { continue; }
        const int32_t j = a.col_ind[k];

        if (t.to.split[j] == AMG_COARSE) {
            set.add(j);
            continue;
        }
        for (int32_t m = t.near.first[j], end = t.near.first[j + 1]; m < end; m++) {
            if (t.near.column[m] >= 0) { set.add(t.near.column[m]); }
        }
    }
    GPU_SYNC_WAVE();
}

#endif
