/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of AIJ's rows in one of Tessera's formats, and its products. */
#include "copy.h"

#include "context.h"
#include "errors.h"
#include "rows.h"

#include <math.h>
#include <string.h>
#include <tessera/names.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera/vector.h>

/* Fewer rows with entries than this share: the others are left out. PETSc's "compressed rows" begin at the same one. */
static const double KEPT_SHARE = 0.4;

/* On a GPU: rows whose offsets and sums take as long to read as two kernels to launch. */
enum { ROWS_FOR_RUNS = 1 << 19 };

void tp_copy_free(tp_copy *copy)
{
    tess_vector_destroy(copy->partial);
    tess_matrix_destroy(copy->stored);
    tess_matrix_destroy(copy->assembled);
    (void)PetscFree(copy->row);
    (void)PetscFree(copy->row_ptr);
    (void)PetscFree(copy->val);
    for (int k = 0; k < 3; k++) {
        (void)PetscFree(copy->owned[k]);
    }
    memset(copy, 0, sizeof *copy);
}

/* The kept rows in runs; more than TP_RUNS: they are not in so few. A GPU reads an eighth of the rows in less time than
   it takes to launch one more kernel, so that empty rows between are kept. */
static int find_runs(const tp_rows *rows, tp_run run[TP_RUNS])
{
    const PetscInt gap = rows->nrows / 8;
    int n = 0;

    for (PetscInt r = 0; r < rows->nrows; r++) {
        if (rows->i[r + 1] == rows->i[r]) { continue; }
        if (n > 0 && r - run[n - 1].row - run[n - 1].count <= gap) {
            run[n - 1].count = r + 1 - run[n - 1].row;
        } else if (n == TP_RUNS) {
            return n + 1;
        } else {
            run[n++] = (tp_run){r, 1};
        }
    }
    return n;
}

/* One run costs no kernel more than all rows; of several the sums are added by a kernel each. */
static PetscInt count_in_runs(const tp_rows *rows, tp_copy *copy)
{
    PetscInt kept = 0;

    copy->nruns = find_runs(rows, copy->run);
    if (copy->nruns > TP_RUNS || (copy->nruns > 1 && rows->nrows < ROWS_FOR_RUNS)) { return rows->nrows; }
    for (int k = 0; k < copy->nruns; k++) {
        kept += copy->run[k].count;
    }
    return kept;
}

static PetscInt count_nonempty(const tp_rows *rows)
{
    PetscInt kept = 0;

    for (PetscInt r = 0; r < rows->nrows; r++) {
        kept += rows->i[r + 1] > rows->i[r];
    }
    return kept;
}

static PetscBool is_kept(const tp_rows *rows, const tp_copy *copy, PetscInt r)
{
    if (copy->nruns == 0) { return rows->i[r + 1] > rows->i[r] ? PETSC_TRUE : PETSC_FALSE; }
    for (int k = 0; k < copy->nruns; k++) {
        if (r >= copy->run[k].row && r < copy->run[k].row + copy->run[k].count) { return PETSC_TRUE; }
    }
    return PETSC_FALSE;
}

static PetscErrorCode leave_out_empty_rows(const tp_rows *rows, PetscBool on_host, tp_copy *copy)
{
    const PetscInt kept = on_host ? count_nonempty(rows) : count_in_runs(rows, copy);

    PetscFunctionBegin;
    copy->kept = rows->nrows;
    if ((double)kept >= KEPT_SHARE * (double)rows->nrows) {
        copy->nruns = 0;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscMalloc1(kept + 1, &copy->row_ptr));
    PetscCall(PetscMalloc1(kept + 1, &copy->row));
    copy->kept = 0;
    copy->row_ptr[0] = 0;
    for (PetscInt r = 0; r < rows->nrows; r++) {
        if (!is_kept(rows, copy, r)) { continue; }
        copy->row[copy->kept++] = r;
        copy->row_ptr[copy->kept] = rows->i[r + 1];
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether values may be stored in FP16 whose range they exceed: by request, or as the last level of lossless:E. */
static PetscBool may_overflow(const tess_storage_options *options)
{
    if (options->policy.policy == TESS_POLICY_NONE) {
        return tess_precision_bytes(options->precision) <= 2 ? PETSC_TRUE : PETSC_FALSE;
    }
    return options->policy.policy == TESS_POLICY_LOSSLESS && options->policy.parameter > 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* The largest value becomes one below 2^15 (E4M3: below 2^8), which leaves room for its rounding. */
static PetscErrorCode scale_values(const tp_rows *rows, const tess_storage_options *options, tp_copy *copy)
{
    const PetscInt nnz = rows->i[rows->nrows];
    const int top = options->policy.policy == TESS_POLICY_NONE && options->precision == TESS_PRECISION_E4M3 ? 8 : 15;
    double largest = 0;
    int exponent = 0;

    PetscFunctionBegin;
    copy->scale = 1;
    if (!may_overflow(options)) { PetscFunctionReturn(PETSC_SUCCESS); }
    for (PetscInt k = 0; k < nnz; k++) {
        largest = PetscMax(largest, fabs(rows->a[k]));
    }
    if (largest == 0 || !isfinite(largest)) { PetscFunctionReturn(PETSC_SUCCESS); }
    (void)frexp(largest, &exponent);
    if (exponent <= top && exponent >= 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    copy->scale = ldexp(1, top - exponent);
    PetscCall(PetscMalloc1(nnz, &copy->val));
    for (PetscInt k = 0; k < nnz; k++) {
        copy->val[k] = copy->scale * rows->a[k];
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column indices of 64 bits are converted, so that the arrays are copied; those of 32 bits are read in place. */
static tess_ownership ownership_on(tess_context *ctx)
{
    return sizeof(PetscInt) == 4 && tess_context_device(ctx) == TESS_DEVICE_CPU ? TESS_BORROW : TESS_COPY;
}

/* A padded format that suits the matrix may not suit a block of it, or its transpose: such a part takes csr. */
static PetscErrorCode convert(const tess_storage_options *options, tp_copy *copy)
{
    const tess_format_capabilities *const can = tess_format_can(options->format);
    tess_storage_options csr = *options;
    tess_status status = tess_matrix_convert(copy->assembled, options, &copy->stored);

    PetscFunctionBegin;
    if (status == TESS_UNSUPPORTED && can && can->pads) {
        PetscCall(PetscInfo(NULL, "%s csr in place of %s\n", tess_count(copy->kept, "row takes|rows take").text,
                            tess_format_name(options->format)));
        csr.format = TESS_FORMAT_CSR;
        status = tess_matrix_convert(copy->assembled, &csr, &copy->stored);
    }
    TessCall(status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_copy_build(const tp_rows *rows, const tess_storage_options *options, tp_copy *copy)
{
    tess_context *ctx;
    tess_csr_arrays arrays;

    PetscFunctionBegin;
    tp_copy_free(copy);
    copy->nrows = rows->nrows;
    copy->ncols = rows->ncols;
    if (rows->nrows == 0 || rows->i[rows->nrows] == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_context(&ctx));
    PetscCall(leave_out_empty_rows(rows, tess_context_device(ctx) == TESS_DEVICE_CPU ? PETSC_TRUE : PETSC_FALSE, copy));
    PetscCall(scale_values(rows, options, copy));
    arrays = tp_rows_arrays(rows);
    arrays.nrows = copy->kept;
    if (copy->row_ptr) { arrays.row_ptr = copy->row_ptr; }
    if (copy->val) { arrays.val = copy->val; }
    arrays.ownership = ownership_on(ctx);
    TessCall(tess_matrix_create_csr(ctx, &arrays, &copy->assembled));
    PetscCall(convert(options, copy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As tp_copy_build borrows them. */
static PetscErrorCode own_arrays(void *i, void *j, void *a, tp_copy *copy)
{
    void *array[3] = {i, j, a};
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    for (int k = 0; k < 3; k++) {
        if (ownership_on(ctx) == TESS_BORROW) {
            copy->owned[k] = array[k];
        } else {
            PetscCall(PetscFree(array[k]));
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_copy_build_scaled(const tp_rows *rows, double factor, const PetscScalar *left,
                                    const PetscScalar *right, const tess_storage_options *options, tp_copy *copy)
{
    const PetscInt nnz = rows->nrows > 0 ? rows->i[rows->nrows] : 0;
    tp_rows scaled = *rows;
    PetscInt *i, *j;
    PetscScalar *a;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(rows->nrows + 1, &i));
    PetscCall(PetscMalloc1(nnz, &j));
    PetscCall(PetscMalloc1(nnz, &a));
    i[0] = 0;
    for (PetscInt r = 0; r < rows->nrows; r++) {
        i[r + 1] = rows->i[r + 1];
        for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
            j[k] = rows->j[k];
            a[k] = factor * left[r] * rows->a[k] * right[rows->j[k]];
        }
    }
    scaled.i = i;
    scaled.j = j;
    scaled.a = a;
    PetscCall(tp_copy_build(&scaled, options, copy));
    PetscCall(own_arrays(i, j, a, copy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void add_rows(const tp_copy *copy, tess_vector *y)
{
    const void *const from = tess_vector_data_const(copy->partial);
    void *const to = tess_vector_data(y);

    if (tess_vector_precision(y) == TESS_PRECISION_FP32) {
        for (PetscInt k = 0; k < copy->kept; k++) {
            ((float *)to)[copy->row[k]] += ((const float *)from)[k];
        }
    } else {
        for (PetscInt k = 0; k < copy->kept; k++) {
            ((double *)to)[copy->row[k]] += ((const double *)from)[k];
        }
    }
}

/* Values of v from `first` on. */
static PetscErrorCode part_of(tess_vector *v, PetscInt first, PetscInt count, tess_vector **out)
{
    const tess_precision precision = tess_vector_precision(v);
    char *const data = tess_vector_data(v);

    PetscFunctionBegin;
    TessCall(tess_vector_wrap(tess_vector_context(v), count, precision,
                              data + (size_t)first * tess_precision_bytes(precision), out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* y := y + the sums of the kept rows, run by run. */
static PetscErrorCode add_runs(const tp_copy *copy, tess_vector *y)
{
    PetscInt first = 0;

    PetscFunctionBegin;
    for (int k = 0; k < copy->nruns; k++) {
        tess_vector *from, *to;
        tess_status status;
        PetscCall(part_of(copy->partial, first, copy->run[k].count, &from));
        PetscCall(part_of(y, copy->run[k].row, copy->run[k].count, &to));
        status = tess_vector_axpby(1, from, 1, to, TESS_ARITHMETIC_FP64);
        tess_vector_destroy(from);
        tess_vector_destroy(to);
        TessCall(status);
        first += copy->run[k].count;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* One run: its rows of y, by the product itself. */
static PetscErrorCode add_product_of_run(const tp_copy *copy, double alpha, const tess_vector *x, tess_vector *y)
{
    tess_vector *part;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(part_of(y, copy->run[0].row, copy->run[0].count, &part));
    status = tess_matrix_spmv(copy->stored, TESS_OP_NONE, alpha / copy->scale, x, 1, part);
    tess_vector_destroy(part);
    TessCall(status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode product_of_kept_rows(tp_copy *copy, double alpha, const tess_vector *x, tess_vector *y,
                                           PetscBool add)
{
    PetscFunctionBegin;
    if (!add) { TessCall(tess_vector_fill(y, 0)); }
    if (copy->nruns == 1) {
        PetscCall(add_product_of_run(copy, alpha, x, y));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (!copy->partial) {
        TessCall(tess_vector_create(tess_vector_context(x), copy->kept, tess_vector_precision(x), &copy->partial));
    }
    TessCall(tess_matrix_spmv(copy->stored, TESS_OP_NONE, alpha / copy->scale, x, 0, copy->partial));
    if (copy->nruns > 1) {
        PetscCall(add_runs(copy, y));
    } else {
        add_rows(copy, y);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_copy_product(tp_copy *copy, double alpha, const tess_vector *x, tess_vector *y, PetscBool add)
{
    PetscFunctionBegin;
    if (!copy->stored) {
        if (!add) { TessCall(tess_vector_fill(y, 0)); }
    } else if (copy->row) {
        PetscCall(product_of_kept_rows(copy, alpha, x, y, add));
    } else {
        TessCall(tess_matrix_spmv(copy->stored, TESS_OP_NONE, alpha / copy->scale, x, add ? 1 : 0, y));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_copy_diagonal(const tp_copy *copy, PetscScalar *diagonal)
{
    const int64_t nnz = copy->stored ? tess_matrix_nnz(copy->stored) : 0;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;

    PetscFunctionBegin;
    PetscCall(PetscArrayzero(diagonal, PetscMin(copy->nrows, copy->ncols)));
    if (nnz == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscMalloc3(copy->kept + 1, &row_ptr, nnz, &col_ind, nnz, &val));
    TessCall(tess_matrix_get_csr(copy->stored, row_ptr, col_ind, val));
    for (PetscInt k = 0; k < copy->kept; k++) {
        const PetscInt row = copy->row ? copy->row[k] : k;
        for (int64_t e = row_ptr[k]; e < row_ptr[k + 1]; e++) {
            if (col_ind[e] == row) { diagonal[row] = val[e] / copy->scale; }
        }
    }
    PetscCall(PetscFree3(row_ptr, col_ind, val));
    PetscFunctionReturn(PETSC_SUCCESS);
}
