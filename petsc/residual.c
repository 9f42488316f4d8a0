/* SPDX-License-Identifier: Apache-2.0 */
/* Dot2 of Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26 (2005), Algorithm 5.3; the bound is their (5.7): |result -
   exact| <= u |result| + gamma(n)^2 |a| |x|, n terms. It leaves out underflow, which is counted here. */
#include "residual.h"
#include "clones.h"

#include <float.h>
#include <math.h>

static const double U = DBL_EPSILON / 2;

/* Rows whose sums are added first, in their order; blocks are added in theirs. */
enum { ROWS = 1024 };

/* The second word of a product below the first number may be off by the second one. */
static const double LEAST_EXACT_PRODUCT = 0x1p-960, UNDERFLOW = 0x1p-1074;

typedef struct two_words {
    double high, low, magnitude;
    int64_t underflows;
} two_words;

/* sum += a * x */
static inline void add_product(two_words *sum, double a, double x)
{
    const double p = a * x, e = fma(a, x, -p); /* TwoProd */
    const double s = sum->high + p, z = s - sum->high;

    sum->low += (sum->high - (s - z)) + (p - z) + e; /* TwoSum, and both errors */
    sum->high = s;
    sum->magnitude += fabs(p);
    sum->underflows += fabs(p) < LEAST_EXACT_PRODUCT && a != 0 && x != 0;
}

static inline void add_row(two_words *sum, const tp_rows *rows, PetscInt r, const PetscScalar *x)
{
    for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
        add_product(sum, -rows->a[k], x[rows->j[k]]);
    }
}

/* gamma(n)^2 |a| |x|, twice, for |a| |x| is rounded too. */
static inline double error_of(const two_words *sum, double value, int64_t terms)
{
    const double gamma = (double)terms * U / (1 - (double)terms * U);

    return U * fabs(value) + 2 * gamma * gamma * sum->magnitude + (double)sum->underflows * UNDERFLOW;
}

/* Sums of squares times 4^-exponent: of r in two words, and of its bounds. */
typedef struct squares {
    two_words norm;
    double bound;
} squares;

TP_CLONES static squares squares_of_block(const tp_residual *of, PetscInt first, PetscInt last, double scale)
{
    const tp_rows *const own = of->rows[0], *const off = of->rows[1];
    squares sums = {0};

    for (PetscInt row = first; row < last; row++) {
        two_words sum = {.high = of->b[row], .magnitude = fabs(of->b[row])};
        int64_t terms = 1 + own->i[row + 1] - own->i[row];
        double bound;
        add_row(&sum, own, row, of->x[0]);
        if (off) {
            terms += off->i[row + 1] - off->i[row];
            add_row(&sum, off, row, of->x[1]);
        }
        of->r[row] = sum.high + sum.low;
        bound = scale * error_of(&sum, of->r[row], terms);
        add_product(&sums.norm, scale * of->r[row], scale * of->r[row]);
        sums.bound += bound * bound;
    }
    return sums;
}

/* The norms of r and of its bounds, with a power of two for which the squares are in range. */
static PetscErrorCode norms_at(const tp_residual *of, int exponent, double norms[2])
{
    const PetscInt n = of->rows[0]->nrows, nblocks = (n + ROWS - 1) / ROWS;
    squares *blocks, all = {0};
    tess_context *ctx;
    int threads;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    threads = tess_context_threads(ctx);
    PetscCall(PetscMalloc1(nblocks, &blocks));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (nblocks > 4)
    for (PetscInt k = 0; k < nblocks; k++) {
        blocks[k] = squares_of_block(of, k * ROWS, PetscMin((k + 1) * ROWS, n), ldexp(1, -exponent));
    }
    for (PetscInt k = 0; k < nblocks; k++) {
        add_product(&all.norm, 1, blocks[k].norm.high);
        all.norm.low += blocks[k].norm.low;
        all.bound += blocks[k].bound;
    }
    PetscCall(PetscFree(blocks));
    norms[0] = ldexp(sqrt(isfinite(all.norm.high) ? all.norm.high + all.norm.low : all.norm.high), exponent);
    norms[1] = ldexp(sqrt(all.bound) * (1 + (double)(ROWS + nblocks + 8) * U), exponent);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of numbers whose squares are out of range, the exponent of a scale that brings them into it. */
static int fitting_exponent(double norm)
{
    if (norm > 0x1p-450 && norm < 0x1p500) { return 0; }
    return isnan(norm) ? 0 : norm > 1 ? 600 : -800;
}

PetscErrorCode tp_residual_of_rows(const tp_residual *of, double norm_bound[2])
{
    double plain[2], scaled[2];

    PetscFunctionBegin;
    PetscCall(norms_at(of, 0, plain));
    for (int k = 0; k < 2; k++) {
        const int exponent = fitting_exponent(plain[k]);
        norm_bound[k] = plain[k];
        if (exponent == 0) { continue; }
        PetscCall(norms_at(of, exponent, scaled));
        norm_bound[k] = scaled[k];
    }
    norm_bound[1] += 4 * U * norm_bound[0]; /* of the norm's own sum and root, and of this one */
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
    const tess_csr_arrays arrays = {.nrows = diagonal->nrows,
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
