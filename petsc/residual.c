/* SPDX-License-Identifier: Apache-2.0 */
/* The residual of rows of AIJ's own arrays, by the code that the library decides with (tessera/residual.h). */
#include "residual.h"

#include "clones.h"
#include "context.h"
#include "errors.h"
#include "rows.h"

#include <math.h>
#include <tessera/precision.h>

/* Rows whose sums are added first, in their order; blocks are added in theirs. */
enum { ROWS = 1024 };

static inline void add_row(tess_row_sum *row, const tp_rows *rows, PetscInt r, const PetscScalar *x)
{
    for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
        tess_row_sum_add(row, rows->a[k], x[rows->j[k]]);
    }
}

static inline int64_t length_of(const tp_rows *rows, PetscInt r)
{
    return rows ? (int64_t)(rows->i[r + 1] - rows->i[r]) : 0;
}

TP_CLONES static tess_residual_sums sums_of_block(const tp_residual *of, PetscInt first, PetscInt last, double scale)
{
    tess_residual_sums sums = tess_residual_sums_start();

    for (PetscInt r = first; r < last; r++) {
        tess_row_sum row = tess_row_sum_start(of->b[r]);
        tess_row_terms terms;
        add_row(&row, of->rows[0], r, of->x[0]);
        if (of->rows[1]) { add_row(&row, of->rows[1], r, of->x[1]); }
        terms = tess_row_sum_terms(&row, r, of->b[r], length_of(of->rows[0], r) + length_of(of->rows[1], r), 0);
        of->r[r] = terms.value;
        tess_residual_sums_add_row(&sums, &terms, scale);
    }
    return sums;
}

/* With values times 2^-exponent. */
static int sums_at(void *user, int exponent, tess_residual_sums *all)
{
    const tp_residual *const of = user;
    const PetscInt n = of->rows[0]->nrows, nblocks = (n + ROWS - 1) / ROWS;
    tess_residual_sums *blocks;
    tess_context *ctx;
    int threads;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    threads = tess_context_threads(ctx);
    PetscCall(PetscMalloc1(nblocks, &blocks));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (nblocks > 4)
    for (PetscInt k = 0; k < nblocks; k++) {
        blocks[k] = sums_of_block(of, k * ROWS, PetscMin((k + 1) * ROWS, n), ldexp(1, -exponent));
    }
    *all = tess_residual_sums_start();
    for (PetscInt k = 0; k < nblocks; k++) {
        tess_residual_sums_add(all, &blocks[k]);
    }
    PetscCall(PetscFree(blocks));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_residual_of_rows(tp_residual *of, tp_norms *out)
{
    tess_residual_norms found;

    PetscFunctionBegin;
    PetscCall((PetscErrorCode)tess_residual_norms_by(sums_at, of, &found));
    out->norm[TP_NORM] = found.norm;
    out->norm[TP_BOUND] = found.bound;
    out->norm[TP_RHS] = found.rhs_norm;
    out->norm[TP_ROWS] = found.rows_norm;
    out->norm[TP_ROWS_BOUND] = found.rows_bound;
    out->norm[TP_ROWS_RHS] = found.rows_rhs_norm;
    out->backward = found.backward;
    out->backward_most = found.backward_most;
    out->row = (PetscInt)found.backward_row;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rows as one matrix ---- */

typedef struct joined_rows {
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
} joined_rows;

/* Columns and values of one block, behind those of the block before it in each row. */
static void join_block(const tp_rows *rows, PetscInt shift, const PetscInt *before, int threads, joined_rows *out)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (PetscInt r = 0; r < rows->nrows; r++) {
        const int64_t first = out->row_ptr[r] + (before ? before[r + 1] - before[r] : 0) - rows->i[r];
        for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
            out->col_ind[first + k] = (int32_t)(shift + rows->j[k]);
            out->val[first + k] = rows->a[k];
        }
    }
}

static PetscErrorCode store(tess_context *ctx, const tp_rows *diagonal, const tp_rows *off, const joined_rows *rows,
                            tess_matrix **joined)
{
    const tess_csr_arrays arrays = {.size = sizeof arrays,
                                    .nrows = diagonal->nrows,
                                    .ncols = (int64_t)diagonal->ncols + (off ? off->ncols : 0),
                                    .nnz = rows->row_ptr[diagonal->nrows],
                                    .row_ptr = rows->row_ptr,
                                    .col_ind = rows->col_ind,
                                    .val = rows->val,
                                    .row_ptr_bits = 64,
                                    .col_ind_bits = 32,
                                    .ownership = TESS_COPY};

    PetscFunctionBegin;
    if (*joined) {
        TessCall(tess_matrix_update_values(*joined, rows->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    } else {
        TessCall(tess_matrix_create_csr(ctx, &arrays, joined));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_join_rows(const tp_rows *diagonal, const tp_rows *off, tess_matrix **joined)
{
    const PetscInt n = diagonal->nrows;
    const int64_t nnz = (int64_t)(n > 0 ? diagonal->i[n] : 0) + (off && n > 0 ? off->i[n] : 0);
    joined_rows rows;
    tess_context *ctx;
    int threads;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    threads = tess_context_threads(ctx);
    PetscCall(PetscMalloc1(n + 1, &rows.row_ptr));
    PetscCall(PetscMalloc1(nnz + 1, &rows.col_ind));
    PetscCall(PetscMalloc1(nnz + 1, &rows.val));
    rows.row_ptr[0] = 0;
    for (PetscInt r = 0; r < n; r++) {
        rows.row_ptr[r + 1] = (int64_t)diagonal->i[r + 1] + (off ? off->i[r + 1] : 0);
    }
    join_block(diagonal, 0, NULL, threads, &rows);
    if (off) { join_block(off, diagonal->ncols, diagonal->i, threads, &rows); }
    PetscCall(store(ctx, diagonal, off, &rows, joined));
    PetscCall(PetscFree(rows.row_ptr));
    PetscCall(PetscFree(rows.col_ind));
    PetscCall(PetscFree(rows.val));
    PetscFunctionReturn(PETSC_SUCCESS);
}
