/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi on the host. */
#include <string.h>

#include "device/host/host.h"
#include "format/csr/csr_host.h"
#include "precond/block_jacobi/block_jacobi.h"
#include "precond/block_jacobi/block_storage.h"
#include "precond/block_jacobi/invert_block.h"

/* ---- set-up ---- */

/* Copies diagonal block number `block` to `a`; rows beyond the end are those of the identity. */
static void extract_block(const csr_view *v, int64_t block, int k, double *a)
{
    const double *val = v->val;
    int64_t first = block * k;

    memset(a, 0, (size_t)(k * k) * sizeof *a);
    for (int i = 0; i < k; i++) {
        if (first + i >= v->nrows) {
            a[i + k * i] = 1.0;
            continue;
        }
        for (int64_t e = csr_offset(v, first + i); e < csr_offset(v, first + i + 1); e++) {
            int64_t j = v->col_ind[e] - first;

            if (j >= 0 && j < k) { a[i + k * j] = val[e]; }
        }
    }
}

static double norm_1(const double *a, int k, int rows)
{
    double norm = 0.0;

    for (int j = 0; j < rows; j++) {
        norm = larger_of(norm, column_sum(a, k, rows, j));
    }
    return norm;
}

static double largest_entry(const double *a, int k, int rows)
{
    double largest = 0.0;

    for (int e = 0; e < k * rows; e++) {
        if (e % k < rows) { largest = larger_of(largest, fabs(a[e])); }
    }
    return largest;
}

void host_store_block(const tess_block_diagonal *m, int64_t block, const double *a)
{
    const int k = m->block_size, rows = block_rows(m, block);
    const tess_precision precision = block_precision(m, block);
    void *place = block_place(m, block);
    double factor = 1.0;

    if (m->exponents) {
        int exponent = block_exponent(precision, largest_entry(a, k, rows));

        m->exponents[block] = (int16_t)exponent;
        factor = tess_power_of_two(-exponent);
    }
    for (int e = 0; e < k * k; e++) {
        bool inside = e % k < rows && e / k < rows;

        tess_store(precision, place, e, inside ? a[e] * factor : 0.0, TESS_OVERFLOW_INFINITY);
    }
}

/* Returns the number of the block's first row without a usable pivot, or -1. */
static int build_block(const csr_view *v, const tess_block_diagonal *m, tess_block_stage stage, int64_t block)
{
    const int k = m->block_size, rows = block_rows(m, block);
    double a[TESS_MAX_BLOCK_SIZE * TESS_MAX_BLOCK_SIZE], condition = 0.0;
    int bad = -1;

    extract_block(v, block, k, a);
    if (m->mends_zeros && a[0] == 0.0) { a[0] = 1.0; }
    if (stage == TESS_BLOCKS_JUDGE) { condition = norm_1(a, k, rows); }
    bad = invert_block(a, k);
    if (stage == TESS_BLOCKS_STORE) {
        host_store_block(m, block, a);
    } else {
        condition *= norm_1(a, k, rows);
        m->precisions[block] = (uint8_t)choose_block_precision(m->storage, condition);
    }
    return bad;
}

static tess_status build(const tess_matrix *assembled, const tess_block_diagonal *m, tess_block_stage stage,
                         int64_t *singular_row)
{
    const csr_view *v = &csr_of(assembled)->view;
    int64_t nblocks = block_count(m), first_bad = INT64_MAX;

#pragma omp parallel for num_threads(assembled->ctx->threads) schedule(static) \
    reduction(min                                                              \
              : first_bad) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        int bad = build_block(v, m, stage, b);

        if (bad >= 0 && b * m->block_size + bad < first_bad) { first_bad = b * m->block_size + bad; }
    }
    *singular_row = first_bad == INT64_MAX ? -1 : first_bad;
    return TESS_SUCCESS;
}

/* ---- application ---- */

/* Blocks of one precision that are decoded at once. */
enum { BATCH_VALUES = TESS_MAX_BLOCK_SIZE * TESS_MAX_BLOCK_SIZE, BATCH_ROWS = 512 };

/* sum = A x for `count` column-major blocks, one after another; each row's sum in the order of its columns. */
HOST_CLONES static void multiply_fp64(int count, int k, const double *restrict a, const double *restrict x,
                                      double *restrict sum)
{
    for (int b = 0; b < count; b++, a += k * k, x += k, sum += k) {
        for (int i = 0; i < k; i++) {
            sum[i] = 0.0;
        }
        for (int j = 0; j < k; j++) {
            for (int i = 0; i < k; i++) {
                sum[i] += a[i + k * j] * x[j];
            }
        }
    }
}

HOST_CLONES static void multiply_fp32(int count, int k, const float *restrict a, const float *restrict x,
                                      float *restrict sum)
{
    for (int b = 0; b < count; b++, a += k * k, x += k, sum += k) {
        for (int i = 0; i < k; i++) {
            sum[i] = 0.0F;
        }
        for (int j = 0; j < k; j++) {
            for (int i = 0; i < k; i++) {
                sum[i] += a[i + k * j] * x[j];
            }
        }
    }
}

/* Rows of r from `first` on, and zeros up to `padded` of them. */
static const double *rows_fp64(tess_operand r, int64_t first, int rows, int padded, double *workspace)
{
    const double *x = host_read_fp64(r, first, rows, workspace);

    if (rows == padded) { return x; }
    if (x != workspace) { memcpy(workspace, x, (size_t)rows * sizeof *workspace); }
    memset(workspace + rows, 0, (size_t)(padded - rows) * sizeof *workspace);
    return workspace;
}

static const float *rows_fp32(tess_operand r, int64_t first, int rows, int padded, float *workspace)
{
    const float *x = host_read_fp32(r, first, rows, workspace);

    if (rows == padded) { return x; }
    if (x != workspace) { memcpy(workspace, x, (size_t)rows * sizeof *workspace); }
    memset(workspace + rows, 0, (size_t)(padded - rows) * sizeof *workspace);
    return workspace;
}

/* The products of `count` blocks of one precision from number `first` on, without their scales. */
static void multiply_batch(const tess_block_diagonal *m, tess_operand r, int64_t first, int count, double *sum)
{
    const int k = m->block_size, values = count * k * k, padded = count * k;
    const int64_t row = first * k;
    const int rows = m->n - row < padded ? (int)(m->n - row) : padded;
    const tess_operand blocks = {block_place(m, first), block_precision(m, first)};

    if (m->arithmetic == TESS_ARITHMETIC_FP64) {
        double a[BATCH_VALUES], x[BATCH_ROWS];

        multiply_fp64(count, k, host_read_fp64(blocks, 0, values, a), rows_fp64(r, row, rows, padded, x), sum);
    } else {
        float a[BATCH_VALUES], x[BATCH_ROWS], narrow[BATCH_ROWS];

        multiply_fp32(count, k, host_read_fp32(blocks, 0, values, a), rows_fp32(r, row, rows, padded, x), narrow);
        for (int i = 0; i < rows; i++) {
            sum[i] = (double)narrow[i];
        }
    }
}

typedef struct block_task {
    const tess_block_diagonal *m;
    tess_operand r;
    void *z;
    const tess_reduction *reduction;
} block_task;

/* z for `count` blocks; adds their share of the dot products to dots. */
static void apply_batch(const block_task *task, int64_t first, int count, double *dots)
{
    const tess_block_diagonal *m = task->m;
    const int k = m->block_size;
    const int64_t row = first * k;
    const int rows = m->n - row < count * k ? (int)(m->n - row) : count * k;
    double value[BATCH_ROWS];

    multiply_batch(m, task->r, first, count, value);
    for (int b = 0; m->exponents && b < count; b++) {
        double scale = block_scale(m, first + b);

        for (int i = b * k; i < (b + 1) * k && i < rows; i++) {
            value[i] *= scale;
        }
    }
    host_write_fp64(task->r.precision, task->z, row, rows, value);
    for (int d = 0; d < task->reduction->ndots; d++) {
        const double *with = task->reduction->with[d] == task->z ? value : task->reduction->with[d] + row;

        for (int i = 0; i < rows; i++) {
            dots[d] += value[i] * with[i];
        }
    }
}

/* Blocks in a batch: adaptive ones are processed one by one. */
static int batch_of(const tess_block_diagonal *m)
{
    const int k = m->block_size, by_values = BATCH_VALUES / (k * k), by_rows = BATCH_ROWS / k;

    return m->precisions ? 1 : by_values < by_rows ? by_values : by_rows;
}

static tess_status apply(tess_context *ctx, const tess_block_diagonal *m, tess_precision vectors, const void *r,
                         void *z, const tess_reduction *reduction)
{
    const block_task task = {m, {r, vectors}, z, reduction};
    const int64_t nblocks = block_count(m), per_group = HOST_BLOCK / m->block_size;
    const int64_t ngroups = (nblocks + per_group - 1) / per_group, batch = batch_of(m);
    double *partials = NULL;
    tess_status status = host_partials(ctx, 2 * ngroups, &partials);

    if (status != TESS_SUCCESS) { return status; }
    if (!host_enter(reduction->state, false, reduction->ndots > 0)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (m->n * m->block_size > HOST_SERIAL_WORK)
    for (int64_t g = 0; g < ngroups; g++) {
        int64_t end = (g + 1) * per_group < nblocks ? (g + 1) * per_group : nblocks;
        double dots[2] = {0.0, 0.0};

        for (int64_t b = g * per_group; b < end; b += batch) {
            apply_batch(&task, b, (int)(end - b < batch ? end - b : batch), dots);
        }
        partials[g] = dots[0];
        partials[ngroups + g] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, ngroups, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

/* ---- several columns ---- */

/* Rows and columns of a block's product whose sums are in registers together. */
enum { ROWS_AT_ONCE = 4, WIDTH = 8 };

/* `count` rows of z = scale A r from row i on, `width` columns; each sum in the order of the block's columns, as for
   one column. Compiled for constant counts and widths. */
TESS_INLINE void multiply_rows(const double *a, int k, int rows, int count, double scale, int columns, int width,
                               const double *r, double *z)
{
    double sum[ROWS_AT_ONCE][WIDTH] = {{0.0}};

    for (int j = 0; j < rows; j++) {
        const double *const x = r + j * columns, *const factor = a + k * j;

        for (int l = 0; l < count; l++) {
#pragma omp simd
            for (int c = 0; c < width; c++) {
                sum[l][c] += factor[l] * x[c];
            }
        }
    }
    for (int l = 0; l < count; l++) {
#pragma omp simd
        for (int c = 0; c < width; c++) {
            z[l * columns + c] = scale * sum[l][c];
        }
    }
}

TESS_INLINE void multiply_columns(const tess_block_diagonal *m, int64_t block, int columns, int width, const double *r,
                                  double *z)
{
    const int k = m->block_size, rows = block_rows(m, block);
    const tess_operand stored = {block_place(m, block), block_precision(m, block)};
    double workspace[BATCH_VALUES];
    const double *a = host_read_fp64(stored, 0, k * k, workspace);
    const double scale = block_scale(m, block);

    for (int c = 0; c < columns; c += width) {
        int i = 0;

        for (; i + ROWS_AT_ONCE <= rows; i += ROWS_AT_ONCE) {
            multiply_rows(a + i, k, rows, ROWS_AT_ONCE, scale, columns, width, r + c, z + i * columns + c);
        }
        for (; i < rows; i++) {
            multiply_rows(a + i, k, rows, 1, scale, columns, width, r + c, z + i * columns + c);
        }
    }
}

/* Blocks first .. end - 1. The usual widths are constants, for the vector instructions. */
HOST_CLONES static void apply_group(const tess_block_diagonal *m, int64_t first, int64_t end, int columns,
                                    const double *r, double *z)
{
    for (int64_t block = first; block < end; block++) {
        const int64_t at = block * m->block_size * columns;

        switch (columns) {
        case 2: multiply_columns(m, block, 2, 2, r + at, z + at); break;
        case 4: multiply_columns(m, block, 4, 4, r + at, z + at); break;
        case WIDTH: multiply_columns(m, block, WIDTH, WIDTH, r + at, z + at); break;
        default: multiply_columns(m, block, columns, WIDTH, r + at, z + at); break;
        }
    }
}

static tess_status apply_columns(tess_context *ctx, const tess_block_diagonal *m, int columns, const double *r,
                                 double *z)
{
    const int64_t nblocks = block_count(m), per_group = HOST_BLOCK / m->block_size;
    const int64_t ngroups = (nblocks + per_group - 1) / per_group;

#pragma omp parallel for num_threads(ctx->threads) \
    schedule(static) if (m->n * m->block_size * columns > HOST_SERIAL_WORK)
    for (int64_t g = 0; g < ngroups; g++) {
        const int64_t end = (g + 1) * per_group < nblocks ? (g + 1) * per_group : nblocks;

        apply_group(m, g * per_group, end, columns, r, z);
    }
    return TESS_SUCCESS;
}

const block_jacobi_ops block_jacobi_host_ops = {build, apply, apply_columns};
