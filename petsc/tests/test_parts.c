/* SPDX-License-Identifier: Apache-2.0 */
/* Halos and true residuals by themselves: errors against bounds, at the ends of ranges and with what is no number. */
#include "halo_values.h"
#include "ksp.h"
#include "mat.h"
#include "residual.h"
#include "support.h"

#include <math.h>
#include <tessera/codec.h>

/* ---- halos ---- */

enum { KINDS = 9 };

/* Values of x by kind: of a size, over a range, zeros, with Inf or NaN among them, about the largest of FP16. */
static double value_of(int kind, PetscInt k, double random)
{
    switch (kind) {
    case 0: return random;
    case 1: return ldexp(random, -(int)(k % 60));
    case 2: return 1e300 * random;
    case 3: return 1e-310 * random;
    case 4: return 0;
    case 5: return k % 50 == 3 ? (double)INFINITY : 1e5 * random;
    case 6: return k % 50 == 3 ? (double)NAN : random;
    case 7: return ldexp(1 + random * 0x1p-12, 15);
    default: return k % 2 ? 65519.99 : -65504;
    }
}

static PetscErrorCode fill_kind(Vec x, int kind)
{
    PetscScalar *array;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(fill(x, kind));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetArray(x, &array));
    for (PetscInt k = 0; k < n; k++) {
        array[k] = value_of(kind, k, array[k]);
    }
    PetscCall(VecRestoreArray(x, &array));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* FP16: half a unit of the last place, or of the smallest subnormal number where the largest is 2^14 at least. Without
   a scale, which Inf prevents, what exceeds its range becomes Inf. */
static double allowed(tess_precision precision, double exact, double largest)
{
    if (precision == TESS_PRECISION_FP64) { return 0; }
    if (precision == TESS_PRECISION_FP32) { return U32 * fabs(exact) + 0x1p-150; }
    if (isinf(largest)) { return fabs(exact) >= 65520 ? (double)INFINITY : U16 * fabs(exact) + 0x1p-25; }
    return U16 * fabs(exact) + 0x1p-39 * largest + 0x1p-1047; /* a scale is at least 2^-1022 */
}

static PetscErrorCode compare_ghosts(const tp_halo *halo, tess_precision precision, const double *exact,
                                     const double *got, const char *what, int kind)
{
    PetscFunctionBegin;
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        double largest = 0;
        for (PetscInt e = halo->receive_at[k]; e < halo->receive_at[k + 1]; e++) {
            const double x = fabs(exact[halo->receive_index[e]]);
            if (x > largest) { largest = x; }
        }
        for (PetscInt e = halo->receive_at[k]; e < halo->receive_at[k + 1]; e++) {
            const double x = exact[halo->receive_index[e]], y = got[halo->receive_index[e]];
            const PetscBool same = (isnan(x) && isnan(y)) || x == y ? PETSC_TRUE : PETSC_FALSE;
            CHECK(same || (isfinite(x) && fabs(x - y) <= allowed(precision, x, largest)) ||
                      (precision == TESS_PRECISION_FP32 && fabs(x) > 3.5e38 && isinf(y)),
                  "%s, kind %d, in %s: %a became %a", what, kind, tess_precision_name(precision), x, y);
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* By arrays; then the same with messages that come in another order than the ghosts. */
static PetscErrorCode exchange_arrays(Mat A, Vec x, int kind, tess_precision precision)
{
    const PetscScalar *local;
    tp_halo *plain, *halo;
    double *exact, *got;

    PetscFunctionBegin;
    PetscCall(tp_halo_create(A, TESS_PRECISION_FP64, &plain));
    PetscCall(tp_halo_create(A, precision, &halo));
    PetscCall(PetscMalloc2(plain->nghosts, &exact, plain->nghosts, &got));
    PetscCall(VecGetArrayRead(x, &local));
    PetscCall(tp_halo_begin(plain, local));
    PetscCall(tp_halo_end(plain, exact));
    for (int order = 0; order < 2; order++) {
        PetscCall(tp_halo_begin(halo, local));
        PetscCall(tp_halo_end(halo, got));
        PetscCall(compare_ghosts(halo, precision, exact, got, "arrays", kind));
        if (halo->in_order && order == 0) {
            halo->in_order = PETSC_FALSE;
            PetscCall(PetscMalloc(sizeof(double) * (size_t)halo->nghosts, &halo->unordered));
        }
    }
    CHECK(precision == TESS_PRECISION_FP16 ? halo->largest_error <= U16
                                           : halo->largest_error <= U32 || kind == 2 || kind == 3,
          "kind %d, in %s: an error of %g is told", kind, tess_precision_name(precision), halo->largest_error);
    CHECK(precision == TESS_PRECISION_FP64 || kind != 0 || halo->nsends == 0 || halo->largest_error > 0,
          "no error is told");
    PetscCall(VecRestoreArrayRead(x, &local));
    PetscCall(PetscFree2(exact, got));
    PetscCall(tp_halo_destroy(&halo));
    PetscCall(tp_halo_destroy(&plain));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* By vectors in FP32. */
static PetscErrorCode exchange_vectors(Mat A, Vec x, int kind, tess_precision precision)
{
    const tess_precision halo_precision[2] = {TESS_PRECISION_FP32, precision};
    double *ghosts[2];
    tess_vector *rounded;
    tp_view view;
    tp_halo *halo;
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(tp_view_begin(x, TP_READ, &view));
    TessCall(tess_vector_create(ctx, tess_vector_size(view.v), TESS_PRECISION_FP32, &rounded));
    TessCall(tess_vector_copy(view.v, rounded));
    for (int k = 0; k < 2; k++) {
        tess_vector *out;
        PetscCall(tp_halo_create(A, halo_precision[k], &halo));
        TessCall(tess_vector_create(ctx, halo->nghosts, TESS_PRECISION_FP32, &out));
        PetscCall(tp_halo_begin_vector(halo, rounded));
        PetscCall(tp_halo_end_vector(halo, out));
        PetscCall(PetscMalloc1(halo->nghosts + 1, &ghosts[k]));
        TessCall(tess_vector_get(out, ghosts[k], TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        tess_vector_destroy(out);
        if (k == 1) { PetscCall(compare_ghosts(halo, precision, ghosts[0], ghosts[1], "vectors", kind)); }
        CHECK(k == 1 || halo->largest_error == 0, "FP32 to FP32: error %g", halo->largest_error);
        PetscCall(tp_halo_destroy(&halo));
    }
    PetscCall(PetscFree(ghosts[0]));
    PetscCall(PetscFree(ghosts[1]));
    PetscCall(tp_view_end(x, &view));
    tess_vector_destroy(rounded);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode halos_keep_what_they_promise(void)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16};

    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    for (int shape = 0; shape < 2 && ranks > 1; shape++) {
        random_pair p;
        Vec x;
        PetscCall(random_matrix(shape ? 40 : 900, shape ? 3 : 900, &p)); /* some processes have no columns then */
        PetscCall(MatCreateVecs(p.a, &x, NULL));
        for (int kind = 0; kind < KINDS; kind++) {
            PetscCall(fill_kind(x, kind));
            for (int k = 0; k < 3; k++) {
                PetscCall(exchange_arrays(p.a, x, kind, precisions[k]));
                PetscCall(exchange_vectors(p.a, x, kind, precisions[k]));
            }
        }
        PetscCall(VecDestroy(&x));
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every code of FP16, and numbers about the midpoints between two, against the codec; and as the library widens. */
static PetscErrorCode values_are_the_codecs(void)
{
    enum { COUNT = 3 * 65536 };
    double *x, *wide[2];
    uint16_t *half;
    tess_vector *from, *to;
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(PetscMalloc4(COUNT, &x, COUNT, &half, COUNT, &wide[0], COUNT, &wide[1]));
    for (uint32_t k = 0; k < COUNT; k++) {
        const double value = tess_fp16_to_double((uint16_t)(k / 3)), step = isfinite(value) ? 0x1p-11 : 0;
        x[k] = ldexp(value * (1 + step) * (1 + ((double)(k % 3) - 1) * 0x1p-50), -40);
    }
    tp_round_values(&(tp_values){x, TESS_PRECISION_FP64}, COUNT, 0x1p-40, &(tp_values){half, TESS_PRECISION_FP16});
    for (int k = 0; k < COUNT; k++) {
        const uint16_t wanted = tess_fp16_from_double(ldexp(x[k], 40), TESS_OVERFLOW_INFINITY);
        CHECK(half[k] == wanted, "%a became %#x, not %#x", ldexp(x[k], 40), half[k], wanted);
    }
    tp_widen_values(&(tp_values){half, TESS_PRECISION_FP16}, COUNT, 0x1p-40,
                    &(tp_values){wide[0], TESS_PRECISION_FP64});
    if (tess_context_device(ctx) == TESS_DEVICE_CPU) {
        TessCall(tess_vector_wrap(ctx, COUNT, TESS_PRECISION_FP16, half, &from));
        TessCall(tess_vector_wrap(ctx, COUNT, TESS_PRECISION_FP64, wide[1], &to));
        TessCall(tess_vector_axpby(0x1p-40, from, 0, to, TESS_ARITHMETIC_FP64)); /* as a GPU does */
        tess_vector_destroy(from);
        tess_vector_destroy(to);
        for (int k = 0; k < COUNT; k++) {
            const PetscBool both = isnan(wide[0][k]) && isnan(wide[1][k]) ? PETSC_TRUE : PETSC_FALSE;
            CHECK(both || wide[0][k] == wide[1][k], "%#x became %a and %a", half[k], wide[0][k], wide[1][k]);
        }
    }
    PetscCall(PetscFree4(x, half, wide[0], wide[1]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- true residuals ---- */

/* The norm of b - A x in long double, and a bound on its error: of sums of `longest` products, rounded alike. */
static PetscErrorCode reference(const random_pair *p, Vec b, Vec x, long double norm_error[2])
{
    const PetscScalar *vb, *vx;
    Vec all;
    VecScatter scatter;
    PetscInt first, last;
    long double sums[2] = {0, 0};

    PetscFunctionBegin;
    PetscCall(VecScatterCreateToAll(x, &scatter, &all));
    PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(b, &vb));
    PetscCall(VecGetArrayRead(all, &vx));
    PetscCall(MatGetOwnershipRange(p->a, &first, &last));
    for (PetscInt r = first; r < last; r++) {
        const PetscInt *column;
        const PetscScalar *value;
        PetscInt n;
        long double sum = vb[r - first], size = fabsl(sum);
        PetscCall(MatGetRow(p->a, r, &n, &column, &value));
        for (PetscInt k = 0; k < n; k++) {
            sum -= (long double)value[k] * vx[column[k]];
            size += fabsl((long double)value[k] * vx[column[k]]);
        }
        PetscCall(MatRestoreRow(p->a, r, &n, &column, &value));
        sums[0] += sum * sum;
        sums[1] += size * size;
    }
    PetscCall(VecRestoreArrayRead(all, &vx));
    PetscCall(VecRestoreArrayRead(b, &vb));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    norm_error[0] = sqrtl(sums[0]);
    norm_error[1] = (long double)(2 * p->longest + 4) * 0x1p-64L * sqrtl(sums[1]) + 0x1p-50L * norm_error[0];
    PetscCall(VecScatterDestroy(&scatter));
    PetscCall(VecDestroy(&all));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* b is A x up to its rounding, so that an ordinary residual would have no digit right. */
static PetscErrorCode residuals_are_within_their_bound(void)
{
    static const int exponents[] = {0, -700, 700};

    PetscFunctionBegin;
    for (PetscInt n = 3; n <= 3000; n *= 10) {
        random_pair p;
        Vec b, x, r;
        tp_verifier verifier = {0};
        double first = 0;
        PetscCall(random_matrix(n, n, &p));
        PetscCall(MatCreateVecs(p.a, &x, &b));
        PetscCall(VecDuplicate(b, &r));
        for (int e = 0; e < 3; e++) {
            double found[2];
            long double wanted[2] = {0, 0};
            PetscBool known;
            PetscCall(fill(x, 21));
            PetscCall(VecScale(x, ldexp(1, exponents[e])));
            PetscCall(MatMult(p.a, x, b));
            PetscCall(tp_true_residual(&verifier, p.a, b, x, r, found, &known));
            PetscCall(reference(&p, b, x, wanted));
            CHECK(known && fabsl((long double)found[0] - wanted[0]) <= (long double)found[1] + wanted[1],
                  "%d rows, 2^%d: %g, bound %g, wanted %Lg", (int)n, exponents[e], found[0], found[1], wanted[0]);
            CHECK(found[1] <= 1e-12 * found[0], "%d rows, 2^%d: norm %g, bound %g", (int)n, exponents[e], found[0],
                  found[1]);
            if (e == 0) { first = found[0]; }
            CHECK(found[0] == ldexp(first, exponents[e]), "2^%d: another norm", exponents[e]);
        }
        PetscCall(tp_verifier_reset(&verifier));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
        PetscCall(VecDestroy(&r));
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact residuals have norm and bound 0; Inf and NaN show. */
static PetscErrorCode residuals_at_the_ends(void)
{
    random_pair p;
    Vec b, x, r;
    tp_verifier verifier = {0};
    double found[2];
    PetscBool known;

    PetscFunctionBegin;
    PetscCall(random_matrix(300, 300, &p));
    PetscCall(MatCreateVecs(p.a, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecZeroEntries(x));
    PetscCall(VecZeroEntries(b));
    PetscCall(tp_true_residual(&verifier, p.a, b, x, r, found, &known));
    CHECK(found[0] == 0 && found[1] == 0, "zero: norm %g, bound %g", found[0], found[1]);
    PetscCall(VecSetValue(b, 299, 3, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(tp_true_residual(&verifier, p.a, b, x, r, found, &known));
    CHECK(fabs(found[0] - 3) <= found[1], "one value: norm %g, bound %g", found[0], found[1]);
    for (int k = 0; k < 2; k++) {
        PetscCall(VecSetValue(x, 150, k ? (double)NAN : (double)INFINITY, INSERT_VALUES));
        PetscCall(VecAssemblyBegin(x));
        PetscCall(VecAssemblyEnd(x));
        PetscCall(tp_true_residual(&verifier, p.a, b, x, r, found, &known));
        CHECK(!isfinite(found[0]), "%s: norm %g, bound %g", k ? "NaN" : "Inf", found[0], found[1]);
    }
    PetscCall(tp_verifier_reset(&verifier));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&r));
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* [x; ghosts] as a vector of the library. */
static PetscErrorCode with_ghosts(tp_halo *halo, Vec x, tess_vector **out)
{
    const PetscInt nghosts = halo ? halo->nghosts : 0;
    const PetscScalar *own;
    double *both;
    tess_context *ctx;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(PetscMalloc1((size_t)(n + nghosts + 1), &both));
    PetscCall(VecGetArrayRead(x, &own));
    PetscCall(PetscArraycpy(both, own, n));
    if (halo) {
        PetscCall(tp_halo_begin(halo, own));
        PetscCall(tp_halo_end(halo, both + n));
    }
    PetscCall(VecRestoreArrayRead(x, &own));
    TessCall(tess_vector_create(ctx, n + nghosts, TESS_PRECISION_FP64, out));
    TessCall(tess_vector_set(*out, both, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    PetscCall(PetscFree(both));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this process as one matrix. */
static PetscErrorCode join(Mat A, tess_matrix **joined)
{
    Mat block[2] = {A, NULL};
    tp_rows rows[2];
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL)); }
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscCall(tp_rows_get(block[k], &rows[k]));
    }
    PetscCall(tp_join_rows(&rows[0], mpi ? &rows[1] : NULL, joined));
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscCall(tp_rows_restore(block[k], &rows[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As a GPU verifies them: *sum is the square of this process' norm, *difference the norm of what r differs by. */
static PetscErrorCode residual_of_joined(tp_verifier *verifier, tess_matrix *joined, Vec b, Vec x, Vec r, double *sum,
                                         double *difference)
{
    tess_vector *both, *residual;
    tp_view view[2];
    double norm, bound;

    PetscFunctionBegin;
    PetscCall(with_ghosts(verifier->halo, x, &both));
    PetscCall(tp_view_begin(b, TP_READ, &view[0]));
    PetscCall(tp_view_begin(r, TP_READ, &view[1]));
    CHECK(tess_matrix_ncols(joined) == tess_vector_size(both), "columns of the joined rows");
    TessCall(
        tess_vector_create(tess_matrix_context(joined), tess_matrix_nrows(joined), TESS_PRECISION_FP64, &residual));
    TessCall(tess_verify_residual(joined, view[0].v, both, residual, &norm, &bound));
    *sum = norm * norm;
    TessCall(tess_vector_axpby(-1, view[1].v, 1, residual, TESS_ARITHMETIC_FP64));
    TessCall(tess_vector_norm2(residual, TESS_ARITHMETIC_FP64, difference));
    tess_vector_destroy(both);
    tess_vector_destroy(residual);
    PetscCall(tp_view_end(r, &view[1]));
    PetscCall(tp_view_end(b, &view[0]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same residual from the joined rows, also after new values, and where a process has no rows. */
static PetscErrorCode joined_rows_have_the_same_residual(void)
{
    PetscFunctionBegin;
    for (PetscInt n = 3; n <= 300; n *= 100) {
        random_pair p;
        Vec b, x, r;
        tp_verifier verifier = {0};
        tess_matrix *joined = NULL;
        PetscCall(random_matrix(n, n, &p));
        PetscCall(MatCreateVecs(p.a, &x, &b));
        PetscCall(VecDuplicate(b, &r));
        PetscCall(fill(b, 23));
        PetscCall(fill(x, 24));
        for (int again = 0; again < 2; again++) {
            double found[2], sum, difference;
            PetscBool known;
            PetscCall(MatScale(p.a, again ? 0.3 : 1));
            PetscCall(tp_true_residual(&verifier, p.a, b, x, r, found, &known));
            PetscCall(join(p.a, &joined));
            PetscCall(residual_of_joined(&verifier, joined, b, x, r, &sum, &difference));
            PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
            CHECK(difference <= 4 * U64 * found[0], "residuals differ by %g", difference);
            CHECK(fabs(sqrt(sum) - found[0]) <= 8 * U64 * found[0], "norms are %g and %g", sqrt(sum), found[0]);
        }
        tess_matrix_destroy(joined);
        PetscCall(tp_verifier_reset(&verifier));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
        PetscCall(VecDestroy(&r));
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(tessera_petsc_register());
    RUN(values_are_the_codecs);
    RUN(halos_keep_what_they_promise);
    RUN(residuals_are_within_their_bound);
    RUN(residuals_at_the_ends);
    RUN(joined_rows_have_the_same_residual);
    PetscCall(PetscFinalize());
    return 0;
}
