/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of extended+i interpolation share: interpolation.c has the method. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_INTERPOLATION_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_CLASSICAL_INTERPOLATION_DEVICE_CUH

#include "precond/multigrid/classical/row_set_device.cuh"
#include "precond/multigrid/classical/split.h"

/* Coarse neighbours of fine rows whose coupling has not the sign of the row's diagonal: a-_kl of eq. (4.10). On a known
   pattern also the others, with 0, so that sets do not depend on the signs of new values. */
struct neighbours {
    int32_t *first;  /* per row, and the end */
    int32_t *column; /* of a strong coupling; of others its complement */
    double *value;
    uint8_t *negative; /* per row: the sign of the diagonal */
    int64_t count;
};

/* Rows of p whose sets had no space, in any order. */
struct row_list {
    int32_t *row;
    int *count; /* then the largest bound of their sets */
};

struct interpolation_task {
    amg_device_interpolation to;
    neighbours near;
    row_output out;
};

/* a_ki, or 0 */
__device__ static inline double find_entry(const device_csr &a, int64_t k, int64_t i)
{
    int32_t low = a.row_ptr[k], high = a.row_ptr[k + 1], end = high;

    while (low < high) {
        const int32_t middle = low + (high - low) / 2;

        if (a.col_ind[middle] >= i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < end && a.col_ind[low] == i ? a.val[low] : 0.0;
}

/* What a~_ii and the sum of eq. (4.10) gain by a_ki: 0 where its sign is that of row k's diagonal. */
__device__ static inline double find_back(const interpolation_task &t, int64_t k, int64_t i)
{
    const double own = find_entry(t.to.a, k, i);

    return (own < 0.0) == (t.near.negative[k] != 0) ? 0.0 : own;
}

__device__ static inline int32_t column_of(int32_t near_column)
{
    return near_column >= 0 ? near_column : ~near_column;
}

__device__ static inline int64_t row_of(const interpolation_task &t, int64_t r)
{
    return t.to.rows ? t.to.rows[r] : r;
}

/* t->near, of which t->out.known decides. Free it, also after a failure. */
tess_status amg_list_neighbours(tess_context *ctx, interpolation_task *t);
void amg_free_neighbours(tess_context *ctx, const interpolation_task *t);
tess_status amg_open_row_list(tess_context *ctx, int64_t rows, row_list *list);
void amg_close_row_list(tess_context *ctx, int64_t rows, const row_list *list);
/* Rows 0 to nrows - 1 of p, or those of a list, by teams of a few threads. Others go to `overflow`. */
tess_status amg_interpolate_by_teams(tess_context *ctx, const interpolation_task *t, const row_list *overflow);
/* The listed rows by a wave each, whose sets may be larger. */
tess_status amg_interpolate_by_waves(tess_context *ctx, const interpolation_task *t, const row_list *rows,
                                     int64_t count, const row_list *overflow);

#endif
