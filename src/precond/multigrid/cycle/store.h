/* SPDX-License-Identifier: Apache-2.0 */
/* A level's matrices as the cycle multiplies them: scaled, in a low precision, on the context's device. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_STORE_H
#define TESS_PRECOND_MULTIGRID_CYCLE_STORE_H

#include "matrix/host_csr.h"

/* Entry (i, j) is stored as a_ij (left[i] right[j]). The product in parentheses is the same from both sides, so that a
   symmetric matrix stays symmetric and a transpose a transpose. */
typedef struct amg_scaled {
    const host_csr *a;
    const double *left, *right;
} amg_scaled;

/* Magnitudes of a scaled matrix: its largest entry, and the smallest of its rows' largest (rows of zeros left out). */
typedef struct amg_range {
    double largest, smallest_row;
} amg_range;

/* How it is stored: the precision of its values and of the vectors that it multiplies; and its blocks of nodes, of
   which its rows and columns are multiples (node_block.h). A size of 0: there are none. */
typedef struct amg_layout {
    tess_precision precision, vectors;
    int height, width;
} amg_layout;

amg_range amg_find_range(const tess_context *ctx, const amg_scaled *s);
/* Stores it by blocks of nodes, on a GPU by diagonals or in slices, where these pay, else as CSR. Products allocate
   nothing. `outlives`: s->a lives longer than *out, which borrows its index arrays on a CPU. */
tess_status amg_store(tess_context *ctx, const amg_scaled *s, const amg_layout *layout, bool outlives,
                      tess_matrix **out);
/* On a CPU: new values for a stored matrix of the same pattern, whose precision stays. */
void amg_store_again(tess_context *ctx, const amg_scaled *s, tess_matrix *m);
/* Stores an assembled matrix of a GPU by diagonals, if `diagonals`, by blocks of nodes or in slices, if they pay; else
 *out is NULL. It stays the caller's. Without values only places are made. */
tess_status amg_store_in_formats(tess_matrix *assembled, const amg_layout *layout, bool diagonals, tess_matrix **out);

#endif
