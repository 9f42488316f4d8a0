/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of multigrid's set-up: teams of threads that read a row together, and what each file has. */
#ifndef TESS_PRECOND_MULTIGRID_PASSES_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_PASSES_DEVICE_CUH

#include "device/gpu/scan_grid.cuh"
#include "precond/multigrid/device.h"

enum { TEAM = 8, PASS_BLOCKS = 16 };

__device__ static inline int64_t first_thread(void)
{
    return (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
}

__device__ static inline int64_t all_threads(void)
{
    return (int64_t)gridDim.x * GPU_BLOCK;
}

__device__ static inline int64_t first_team(void)
{
    return first_thread() / TEAM;
}

__device__ static inline int64_t all_teams(void)
{
    return all_threads() / TEAM;
}

__device__ static inline int team_lane(void)
{
    return (int)threadIdx.x % TEAM;
}

/* A loop over rows whose teams exchange values ends for all teams of a wave together: when its first one has no row. */
__device__ static inline int team_in_wave(void)
{
    return (int)threadIdx.x % GPU_WAVE / TEAM;
}

/* A team's row; empty beyond the last one. */
struct team_span {
    int64_t row;
    int32_t begin, end;
    int lane;
};

__device__ static inline team_span open_span(int64_t nrows, const int32_t *row_ptr, int64_t row)
{
    return {row, row < nrows ? row_ptr[row] : 0, row < nrows ? row_ptr[row + 1] : 0, team_lane()};
}

extern "C" {
tess_status amg_device_find_strong(tess_context *ctx, const device_csr *a, double theta, double max_row_sum,
                                   uint8_t *strong, int64_t *count);
tess_status amg_device_split(tess_context *ctx, const amg_device_graph *g, uint64_t seed, uint8_t *split);
tess_status amg_device_number(tess_context *ctx, const uint8_t *split, amg_device_numbers *out);
tess_status amg_device_interpolate(tess_context *ctx, const amg_device_interpolation *to, bool known, device_csr *p);
tess_status amg_device_join(tess_context *ctx, const device_csr *p1, const device_csr *p2, int truncation, bool known,
                            device_csr *p);
tess_status amg_device_plan_weights(tess_context *ctx, const amg_device_interpolation *to, const device_csr *p,
                                    amg_device_plan *plan);
tess_status amg_device_weigh_again(tess_context *ctx, const device_csr *a, const amg_device_plan *plan, device_csr *p);
tess_status amg_device_join_again(tess_context *ctx, const device_csr *p1, const device_csr *p2, device_csr *p);
tess_status amg_device_store_again(tess_context *ctx, const amg_device_scaled *s, amg_device_extremes *of_all,
                                   tess_matrix *m, bool *taken);
tess_status amg_device_estimate_spectra(tess_context *ctx, int count, const amg_device_level *level,
                                        const amg_device_scale *scale, uint64_t seed, amg_device_tridiagonal *found);
tess_status amg_device_read_spectra(tess_context *ctx, int count, const amg_device_level *level,
                                    const amg_device_tridiagonal *found, double *largest);
tess_status amg_device_sample_largest(tess_context *ctx, const csr_view *a, uint64_t seed, int64_t count,
                                      double *largest);
tess_status amg_device_sample_sums(tess_context *ctx, const csr_view *a, uint64_t seed, double scale, int64_t count,
                                   amg_row_sums *sums);
}

#endif
