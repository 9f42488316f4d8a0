/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi and block Jacobi: memory and set-up over the functions of a backend. */
#ifndef TESS_PRECOND_BLOCK_JACOBI_H
#define TESS_PRECOND_BLOCK_JACOBI_H

#include "base/internal.h"

/* Whether the options are possible. */
tess_status block_jacobi_check(const tess_matrix *a, const tess_precond_options *options);
/* Memory for the blocks of `a`; Jacobi is block Jacobi with blocks of one row. To be closed, also on failure. */
tess_status block_jacobi_open(const tess_matrix *a, const tess_precond_options *options, tess_block_diagonal *m);
/* The inverses of the blocks of `a` as it is now. *singular_row: the first row without a usable pivot, or -1. */
tess_status block_jacobi_compute(const tess_matrix *a, tess_block_diagonal *m, int64_t *singular_row);
void block_jacobi_close(tess_context *ctx, tess_block_diagonal *m);
int64_t block_jacobi_bytes(const tess_block_diagonal *m);

/* Stores the inverse `a` (column-major, in FP64) as block number `block` of `m`, whose arrays are on the host. */
void host_store_block(const tess_block_diagonal *m, int64_t block, const double *a);

#endif
