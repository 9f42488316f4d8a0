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
    double high, low;
} two_words;

/* A row while it is summed: |b_i| + sum |a_ij x_j|, and the largest |a_ij|. */
typedef struct row_sum {
    two_words sum;
    double magnitude, largest;
    int64_t terms, underflows;
} row_sum;

/* sum += a * x */
static inline double add_product(two_words *sum, double a, double x)
{
    const double p = a * x, e = fma(a, x, -p); /* TwoProd */
    const double s = sum->high + p, z = s - sum->high;

    sum->low += (sum->high - (s - z)) + (p - z) + e; /* TwoSum, and both errors */
    sum->high = s;
    return p;
}

static inline void add_row(row_sum *row, const tp_rows *rows, PetscInt r, const PetscScalar *x)
{
    for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
        const double a = rows->a[k], p = fabs(add_product(&row->sum, -a, x[rows->j[k]]));
        row->magnitude += p;
        row->largest = fabs(a) > row->largest ? fabs(a) : row->largest;
        row->underflows += p < LEAST_EXACT_PRODUCT && a != 0 && x[rows->j[k]] != 0;
    }
    row->terms += rows->i[r + 1] - rows->i[r];
}

/* gamma(n)^2 |a| |x|, twice, for |a| |x| is rounded too. */
static inline double error_of(const row_sum *row, double value)
{
    const double gamma = (double)row->terms * U / (1 - (double)row->terms * U);

    return U * fabs(value) + 2 * gamma * gamma * row->magnitude + (double)row->underflows * UNDERFLOW;
}

/* ---- sums over rows ---- */

/* Squares times 4^-exponent of what the norms are of, and whether any of these is not 0; the largest backward error. */
typedef struct row_sums {
    two_words square[TP_NORMS];
    PetscBool some[TP_NORMS];
    double backward, backward_most;
    PetscInt row;
} row_sums;

static inline void add_square(row_sums *sums, int which, double v)
{
    add_product(&sums->square[which], v, v);
}

/* value * scale / largest, in two roundings at most. */
static inline double quotient(double value, double scale, double largest)
{
    const double factor = scale / largest;

    return factor >= 0x1p-1000 && factor <= 0x1p1000 ? factor * value : scale * value / largest;
}

/* A row that is solved exactly has no part. No error exceeds 1: x = 0 has it. Oettli and Prager, Numer. Math. 6
   (1964). `magnitude` is rounded by `terms` additions and a product. */
static inline void add_backward(row_sums *sums, const row_sum *row, double value, double bound, PetscInt r)
{
    const double roundings = (double)(row->terms + 1), most = fabs(value) + bound;
    const double least = row->magnitude * (1 - roundings * U) - roundings * UNDERFLOW;
    const double error = value == 0 ? 0 : fmin(fabs(value) / row->magnitude, 1);

    if (most == 0) { return; }
    if (error > sums->backward) {
        sums->backward = error;
        sums->row = r;
    }
    sums->backward_most = fmax(sums->backward_most, least > most ? most / least * (1 + 4 * U) : 1);
}

static inline void add_norms(row_sums *sums, const row_sum *row, double value, double b, PetscInt r, double scale)
{
    const double bound = error_of(row, value), largest = row->largest > 0 ? row->largest : 1;
    const double v = quotient(value, scale, largest);

    add_square(sums, TP_NORM, scale * value);
    add_square(sums, TP_BOUND, scale * bound);
    add_square(sums, TP_RHS, scale * b);
    add_square(sums, TP_ROWS, v);
    add_square(sums, TP_ROWS_BOUND, quotient(bound, scale, largest) + 4 * U * fabs(v));
    add_square(sums, TP_ROWS_RHS, quotient(b, scale, largest));
    if (value != 0) { sums->some[TP_NORM] = sums->some[TP_ROWS] = PETSC_TRUE; }
    if (bound != 0) { sums->some[TP_BOUND] = sums->some[TP_ROWS_BOUND] = PETSC_TRUE; }
    if (b != 0) { sums->some[TP_RHS] = sums->some[TP_ROWS_RHS] = PETSC_TRUE; }
    add_backward(sums, row, value, bound, r);
}

TP_CLONES static row_sums sums_of_block(const tp_residual *of, PetscInt first, PetscInt last, double scale)
{
    row_sums sums = {.row = -1};

    for (PetscInt r = first; r < last; r++) {
        row_sum row = {.sum = {of->b[r], 0}, .magnitude = fabs(of->b[r]), .terms = 1};
        add_row(&row, of->rows[0], r, of->x[0]);
        if (of->rows[1]) { add_row(&row, of->rows[1], r, of->x[1]); }
        of->r[r] = row.sum.high + row.sum.low;
        add_norms(&sums, &row, of->r[r], of->b[r], r, scale);
    }
    return sums;
}

/* Later rows. */
static void add_sums(row_sums *sums, const row_sums *more)
{
    for (int n = 0; n < TP_NORMS; n++) {
        add_product(&sums->square[n], 1, more->square[n].high);
        sums->square[n].low += more->square[n].low;
        if (more->some[n]) { sums->some[n] = PETSC_TRUE; }
    }
    if (more->backward > sums->backward) {
        sums->backward = more->backward;
        sums->row = more->row;
    }
    sums->backward_most = fmax(sums->backward_most, more->backward_most);
}

/* With a power of two for which squares are in range. */
static PetscErrorCode sums_at(const tp_residual *of, int exponent, row_sums *all)
{
    const PetscInt n = of->rows[0]->nrows, nblocks = (n + ROWS - 1) / ROWS;
    row_sums *blocks;
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
    *all = (row_sums){.row = -1};
    for (PetscInt k = 0; k < nblocks; k++) {
        add_sums(all, &blocks[k]);
    }
    PetscCall(PetscFree(blocks));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of numbers whose squares are out of range, which of the scales brings them into it. */
enum { PLAIN, DOWN, UP, SCALES };
static const int EXPONENT[SCALES] = {0, 600, -800};

static int fitting_scale(double norm, PetscBool some)
{
    if (!some || isnan(norm) || (norm > 0x1p-450 && norm < 0x1p500)) { return PLAIN; }
    return norm > 1 ? DOWN : UP;
}

static double norm_of(const row_sums *sums, int which, int scale)
{
    const two_words square = sums->square[which];

    return ldexp(sqrt(isfinite(square.high) ? square.high + square.low : square.high), EXPONENT[scale]);
}

/* To a bound: what the sum of its squares and the root may have lost, and the same of the norm. The last product with
   a power of two may round below the normal numbers, to 0 as well where `some` of the numbers are not 0. */
static double complete_bound(double bound, double norm, PetscBool some)
{
    return bound * (1 + 16 * U) + 4 * U * norm + (some && norm < DBL_MIN ? UNDERFLOW : 0);
}

PetscErrorCode tp_residual_of_rows(const tp_residual *of, tp_norms *out)
{
    row_sums sums[SCALES];
    PetscBool there[SCALES] = {PETSC_TRUE};

    PetscFunctionBegin;
    PetscCall(sums_at(of, 0, &sums[PLAIN]));
    for (int n = 0; n < TP_NORMS; n++) {
        const int scale = fitting_scale(norm_of(&sums[PLAIN], n, PLAIN), sums[PLAIN].some[n]);
        if (!there[scale]) { PetscCall(sums_at(of, EXPONENT[scale], &sums[scale])); }
        there[scale] = PETSC_TRUE;
        out->norm[n] = norm_of(&sums[scale], n, scale);
    }
    out->norm[TP_BOUND] = complete_bound(out->norm[TP_BOUND], out->norm[TP_NORM], sums[PLAIN].some[TP_NORM]);
    out->norm[TP_ROWS_BOUND] = complete_bound(out->norm[TP_ROWS_BOUND], out->norm[TP_ROWS], sums[PLAIN].some[TP_ROWS]);
    out->backward = sums[PLAIN].backward;
    out->backward_most = sums[PLAIN].backward_most;
    out->row = sums[PLAIN].row;
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
