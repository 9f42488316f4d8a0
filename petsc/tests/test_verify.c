/* SPDX-License-Identifier: Apache-2.0 */
/* True residuals by themselves: norms and bounds against long double, at the ends of ranges, with what is no number,
   and on processes without rows. */
#include "register.h"
#include "support.h"
#include "verify.h"

#include <float.h>
#include <math.h>
#include <petsc/private/kspimpl.h>

/* ---- in long double ---- */

typedef struct exact_norms {
    long double norm[TP_NORMS]; /* the bounds: on what long double rounds */
    long double backward;
} exact_norms;

static void add_exact(exact_norms *sums, long double r, long double b, long double size, long double largest)
{
    const long double divisor = largest > 0 ? largest : 1;

    sums->norm[TP_NORM] += r * r;
    sums->norm[TP_BOUND] += size * size;
    sums->norm[TP_RHS] += b * b;
    sums->norm[TP_ROWS] += r / divisor * (r / divisor);
    sums->norm[TP_ROWS_BOUND] += size / divisor * (size / divisor);
    sums->norm[TP_ROWS_RHS] += b / divisor * (b / divisor);
    if (r != 0) { sums->backward = fmaxl(sums->backward, fabsl(r) / size); }
}

static PetscErrorCode add_rows(Mat A, const PetscScalar *b, const PetscScalar *x, exact_norms *sums)
{
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        const PetscInt *column;
        const PetscScalar *value;
        PetscInt n;
        long double r = b[i - first], size = fabsl(r), largest = 0;
        PetscCall(MatGetRow(A, i, &n, &column, &value));
        for (PetscInt k = 0; k < n; k++) {
            r -= (long double)value[k] * x[column[k]];
            size += fabsl((long double)value[k] * x[column[k]]);
            largest = fmaxl(largest, fabsl((long double)value[k]));
        }
        PetscCall(MatRestoreRow(A, i, &n, &column, &value));
        add_exact(sums, r, b[i - first], size, largest);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reference(const random_pair *p, Vec b, Vec x, exact_norms *out)
{
    const PetscScalar *vb, *vx;
    VecScatter scatter;
    Vec all;

    PetscFunctionBegin;
    PetscCall(VecScatterCreateToAll(x, &scatter, &all));
    PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(b, &vb));
    PetscCall(VecGetArrayRead(all, &vx));
    *out = (exact_norms){.backward = 0};
    PetscCall(add_rows(p->a, vb, vx, out));
    PetscCall(VecRestoreArrayRead(all, &vx));
    PetscCall(VecRestoreArrayRead(b, &vb));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, out->norm, TP_NORMS, MPI_LONG_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &out->backward, 1, MPI_LONG_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    for (int n = 0; n < TP_NORMS; n++) {
        out->norm[n] = sqrtl(out->norm[n]);
    }
    for (int n = TP_BOUND; n < TP_NORMS; n += TP_ROWS_BOUND - TP_BOUND) {
        out->norm[n] = (long double)(2 * p->longest + 4) * 0x1p-64L * out->norm[n] + 0x1p-50L * out->norm[n - 1];
    }
    DESTROY(&scatter, &all);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- norms ---- */

static PetscErrorCode compare(const tp_norms *found, const exact_norms *wanted, const char *what)
{
    /* long double's rounding of a row, relative to its size, and what two words lose */
    const long double slack = 24 * 0x1p-64L + 0x1p-44L * wanted->backward;

    PetscFunctionBegin;
    for (int n = 0; n < TP_NORMS; n += TP_ROWS) {
        const long double norm = wanted->norm[n], rhs = wanted->norm[n + TP_RHS];
        const double bound = found->norm[n + TP_BOUND], b = found->norm[n + TP_RHS];
        CHECK(fabsl((long double)found->norm[n] - norm) <= (long double)bound + wanted->norm[n + TP_BOUND],
              "%s, norm %d: %g, bound %g, wanted %Lg", what, n, found->norm[n], bound, norm);
        CHECK(bound <= 1e-12 * found->norm[n], "%s, norm %d: %g, bound %g", what, n, found->norm[n], bound);
        CHECK(fabsl((long double)b - rhs) <= 64 * U64 * rhs, "%s, norm %d: b %g, not %Lg", what, n, b, rhs);
    }
    CHECK(fabsl((long double)found->backward - wanted->backward) <= slack, "%s: backward error %g, not %Lg", what,
          found->backward, wanted->backward);
    CHECK(found->backward_most >= found->backward && found->backward_most <= (1 + 1e-12) * found->backward,
          "%s: backward error %g, at most %g", what, found->backward, found->backward_most);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* b is A x up to its rounding, so that an ordinary residual would have no digit right; then one row is far off. */
static PetscErrorCode residuals_are_within_their_bound(void)
{
    static const int exponents[] = {0, -700, 700};

    PetscFunctionBegin;
    for (PetscInt n = 3; n <= 3000; n *= 10) {
        random_pair p;
        Vec b, x, r;
        tp_verifier verifier = {0};
        double first[TP_NORMS] = {0};
        PetscCall(random_matrix(n, n, &p));
        PetscCall(MatCreateVecs(p.a, &x, &b));
        PetscCall(VecDuplicate(b, &r));
        for (int e = 0; e < 3; e++) {
            char what[64];
            tp_norms found;
            exact_norms wanted;
            PetscCall(fill(x, 21));
            PetscCall(VecScale(x, ldexp(1, exponents[e])));
            PetscCall(MatMult(p.a, x, b));
            PetscCall(PetscSNPrintf(what, sizeof what, "%d rows, 2^%d", (int)n, exponents[e]));
            PetscCall(tp_true_residual(&verifier, p.a, b, x, r, &found));
            PetscCall(reference(&p, b, x, &wanted));
            PetscCall(compare(&found, &wanted, what));
            for (int k = 0; k < TP_NORMS; k++) {
                if (e == 0) { first[k] = found.norm[k]; }
                CHECK(found.norm[k] == ldexp(first[k], exponents[e]), "%s: another norm %d", what, k);
            }
            PetscCall(VecSetValue(b, n / 2, ldexp(1, exponents[e]), INSERT_VALUES));
            PetscCall(VecAssemblyBegin(b));
            PetscCall(VecAssemblyEnd(b));
            PetscCall(tp_true_residual(&verifier, p.a, b, x, r, &found));
            PetscCall(reference(&p, b, x, &wanted));
            PetscCall(compare(&found, &wanted, what));
            CHECK(found.row == n / 2, "%s: row %d", what, (int)found.row);
        }
        PetscCall(tp_verifier_destroy(&verifier));
        DESTROY(&x, &b, &r);
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* n numbers of a diagonal matrix, of x and of b, on the processes that there are. */
typedef struct diagonal {
    Mat a;
    Vec x, b, r;
    tp_verifier verifier;
} diagonal;

static PetscErrorCode make_diagonal(PetscInt n, const double *a, const double *b, const double *x, diagonal *out)
{
    PetscInt first, last;

    PetscFunctionBegin;
    out->verifier = (tp_verifier){0};
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 1, NULL, 0, NULL, &out->a));
    PetscCall(MatCreateVecs(out->a, &out->x, &out->b));
    PetscCall(VecDuplicate(out->b, &out->r));
    PetscCall(MatGetOwnershipRange(out->a, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatSetValue(out->a, i, i, a[i], INSERT_VALUES));
        PetscCall(VecSetValue(out->b, i, b[i], INSERT_VALUES));
        PetscCall(VecSetValue(out->x, i, x[i], INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(out->a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(out->a, MAT_FINAL_ASSEMBLY));
    PetscCall(VecAssemblyBegin(out->b));
    PetscCall(VecAssemblyEnd(out->b));
    PetscCall(VecAssemblyBegin(out->x));
    PetscCall(VecAssemblyEnd(out->x));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode destroy_diagonal(diagonal *d)
{
    PetscFunctionBegin;
    PetscCall(tp_verifier_destroy(&d->verifier));
    DESTROY(&d->a, &d->x, &d->b, &d->r);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms that are known, 5 times a power of two: parts of 3 and 4 with zeros, and rows of very different size. */
static PetscErrorCode norms_at_the_ends(void)
{
    int parts;
    static const int exponents[] = {0, -200, -500, -537, -600, -1022, -1060, 300, 511, 600, 1000};

    PetscFunctionBegin;
    PetscCall(rank_count(&parts));
    for (int e = 0; e < 11; e++) {
        const double s = ldexp(1, exponents[e]), half = exponents[e] > 0 ? 0x1p500 : 0x1p-500;
        const double a[8] = {half, 1, 1, 1, 1, 1, 1, 4 * half}, x[8] = {0};
        const double b[8] = {3 * s, 0, 0, 0, 0, 0, 0, 4 * s};
        const double wanted[2] = {5 * s, s / half * sqrt(10)};
        tp_norms found;
        diagonal d;
        PetscCall(make_diagonal(8, a, b, x, &d));
        PetscCall(tp_true_residual(&d.verifier, d.a, d.b, d.x, d.r, &found));
        for (int n = 0; n < 2; n++) {
            const double norm = found.norm[n * TP_ROWS], rhs = found.norm[n * TP_ROWS + TP_RHS];
            const double bound = found.norm[n * TP_ROWS + TP_BOUND];
            const double slack = 8 * U64 * wanted[n] + 0x1p-1073;
            CHECK(fabs(norm - wanted[n]) <= bound && bound <= 40 * U64 * wanted[n] + 0x1p-1069,
                  "2^%d, norm %d: %g, bound %g, wanted %g", exponents[e], n, norm, bound, wanted[n]);
            CHECK(exponents[e] < -1000 || bound >= (parts > 1 ? parts + 12.9
                                                    : n       ? 8.9
                                                              : 4.9) *
                                                       U64 * norm,
                  "2^%d, norm %d: %g, bound %g leaves out a rounding", exponents[e], n, norm, bound);
            CHECK(fabs(rhs - wanted[n]) <= slack, "2^%d, norm %d of b: %g, wanted %g", exponents[e], n, rhs, wanted[n]);
        }
        CHECK(found.backward == 1 && found.backward_most == 1 && found.row == 0, "2^%d: backward error %g, row %d",
              exponents[e], found.backward, (int)found.row);
        PetscCall(destroy_diagonal(&d));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact residuals have norm and bound 0; Inf and NaN show, on whatever process they are. */
static PetscErrorCode no_numbers_and_zeros(void)
{
    random_pair p;
    Vec b, x, r;
    tp_verifier verifier = {0};
    tp_norms found;

    PetscFunctionBegin;
    PetscCall(random_matrix(300, 300, &p));
    PetscCall(MatCreateVecs(p.a, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecZeroEntries(x));
    PetscCall(VecZeroEntries(b));
    PetscCall(tp_true_residual(&verifier, p.a, b, x, r, &found));
    for (int n = 0; n < TP_NORMS; n++) {
        CHECK(found.norm[n] == 0, "zero: norm %d is %g", n, found.norm[n]);
    }
    CHECK(found.backward == 0 && found.row == -1, "zero: backward error %g, row %d", found.backward, (int)found.row);
    PetscCall(VecSetValue(b, 299, 3, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(tp_true_residual(&verifier, p.a, b, x, r, &found));
    CHECK(fabs(found.norm[TP_NORM] - 3) <= found.norm[TP_BOUND], "one value: norm %g, bound %g", found.norm[TP_NORM],
          found.norm[TP_BOUND]);
    CHECK(found.backward == 1 && found.row == 299, "one value: backward error %g, row %d", found.backward,
          (int)found.row);
    for (int k = 0; k < 2; k++) {
        PetscCall(VecSetValue(x, 150, k ? (double)NAN : (double)INFINITY, INSERT_VALUES));
        PetscCall(VecAssemblyBegin(x));
        PetscCall(VecAssemblyEnd(x));
        PetscCall(tp_true_residual(&verifier, p.a, b, x, r, &found));
        CHECK(!isfinite(found.norm[TP_NORM]) && !isfinite(found.norm[TP_ROWS]), "%s: norm %g", k ? "NaN" : "Inf",
              found.norm[TP_NORM]);
        CHECK(isnan(found.backward) && isnan(found.backward_most) && found.row == -1, "%s: backward error %g",
              k ? "NaN" : "Inf", found.backward);
    }
    PetscCall(tp_verifier_destroy(&verifier));
    DESTROY(&x, &b, &r);
    PetscCall(destroy_pair(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what two words lose ---- */

enum { WIDE = 64 };

/* A tolerance between the norm and norm + bound is not met, neither by the guess nor after a round. */
static PetscErrorCode bound_decides(Mat A, Vec b, Vec x, const tp_norms *of)
{
    const double atol = of->norm[TP_NORM] + 0.5 * of->norm[TP_BOUND];
    KSPConvergedReason reason;
    Mat dense; /* one process, too, measures it here */
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &dense));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "b_"));
    PetscCall(option("-b_pc_type", "none"));
    PetscCall(KSPSetType(ksp, KSPTESSERA));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetOperators(ksp, dense, dense));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    for (int proved = 0; proved < 2; proved++) {
        PetscCall(KSPSetTolerances(ksp, 0, proved ? 3 * atol : atol, PETSC_DEFAULT, 0));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        CHECK(reason == (proved ? KSP_CONVERGED_ATOL : KSP_DIVERGED_ITS), "%g for %g, bound %g: reason %d", atol,
              of->norm[TP_NORM], of->norm[TP_BOUND], (int)reason);
    }
    DESTROY(&ksp, &dense);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each row has values over 2^100, their negatives in another order, and b = 1: the exact residual is 1. Two words lose
   far more than a unit of the last place of it, which the bound has to cover. */
static PetscErrorCode cancellation_is_covered(void)
{
    PetscInt first, last;
    tp_verifier verifier = {0};
    tp_norms found;
    Vec b, x, r;
    Mat A;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 2 * WIDE, 2 * WIDE, 2 * WIDE, NULL, 2 * WIDE,
                           NULL, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(fill(b, 31)); /* for its numbers */
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        for (PetscInt k = 0; k < WIDE; k++) {
            const double value =
                ldexp(1 + fmod((double)((k + 1) * (i + 7)) * 0.6180339887498949, 1), (int)(k * 37 % 101));
            PetscCall(MatSetValue(A, i, k, value, INSERT_VALUES));
            PetscCall(MatSetValue(A, i, WIDE + (k * 5 + i) % WIDE, -value, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(VecSet(x, 1));
    PetscCall(VecSet(b, 1));
    PetscCall(tp_true_residual(&verifier, A, b, x, r, &found));
    CHECK(fabs(found.norm[TP_NORM] - sqrt(2 * WIDE)) <= found.norm[TP_BOUND], "norm %g, bound %g, wanted %g",
          found.norm[TP_NORM], found.norm[TP_BOUND], sqrt(2 * WIDE));
    CHECK(fabs(found.norm[TP_NORM] - sqrt(2 * WIDE)) > 1e3 * U64, "the example has nothing to cover");
    CHECK(found.norm[TP_BOUND] < 0x1p12 * U64 * U64 * WIDE * WIDE * 0x1p101, "bound %g", found.norm[TP_BOUND]);
    CHECK(found.norm[TP_BOUND] > 8 * U64 * U64 * WIDE * WIDE * 0x1p100, "bound %g", found.norm[TP_BOUND]);
    PetscCall(bound_decides(A, b, x, &found));
    CHECK(found.norm[TP_ROWS_BOUND] > 0 && found.norm[TP_ROWS_BOUND] <= found.norm[TP_BOUND] * 0x1p-98,
          "bound of scaled rows %g", found.norm[TP_ROWS_BOUND]);
    PetscCall(tp_verifier_destroy(&verifier));
    DESTROY(&x, &b, &r, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is left of two rows but what their second words may have lost, of 1/3 1/3 - 1/3 1/3: no less is promised. */
static PetscErrorCode lost_words_are_covered(void)
{
    const double third = 1.0 / 3, lost = 2 * fabs(fma(third, third, -third * third));
    const double least = 2 * 4 * U64 * lost * sqrt(2); /* 2 gamma of 4 additions a row */
    PetscInt first, last;
    tp_verifier verifier = {0};
    tp_norms found;
    Vec b, x, r;
    Mat A;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 2, 2, 2, NULL, 2, NULL, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatSetValue(A, i, 0, third, INSERT_VALUES));
        PetscCall(MatSetValue(A, i, 1, -third, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(VecSet(x, third));
    PetscCall(tp_true_residual(&verifier, A, b, x, r, &found));
    CHECK(lost > 0 && found.norm[TP_NORM] == 0, "norm %g", found.norm[TP_NORM]);
    CHECK(found.norm[TP_BOUND] >= (1 - 1e-12) * least && found.norm[TP_BOUND] <= 2 * least, "bound %g, not %g",
          found.norm[TP_BOUND], least);
    PetscCall(tp_verifier_destroy(&verifier));
    DESTROY(&x, &b, &r, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products below the normal numbers lose digits, which no other word has. */
static PetscErrorCode underflow_is_covered(void)
{
    double a[8], b[8] = {0}, x[8];
    tp_norms found;
    diagonal d;

    PetscFunctionBegin;
    for (int k = 0; k < 8; k++) {
        a[k] = 0x1p-540;
        x[k] = 0x1p-540; /* the exact product is 2^-1080 */
    }
    PetscCall(make_diagonal(8, a, b, x, &d));
    PetscCall(tp_true_residual(&d.verifier, d.a, d.b, d.x, d.r, &found));
    CHECK(found.norm[TP_NORM] == 0 && found.norm[TP_BOUND] >= 0x1p-1074, "norm %g, bound %g", found.norm[TP_NORM],
          found.norm[TP_BOUND]);
    CHECK(found.norm[TP_ROWS_BOUND] >= 0x1p-1074 / 0x1p-540, "bound of scaled rows %g", found.norm[TP_ROWS_BOUND]);
    CHECK(found.backward == 0 && found.backward_most == 1 && found.row == -1, "backward error %g, at most %g, row %d",
          found.backward, found.backward_most, (int)found.row);
    PetscCall(destroy_diagonal(&d));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of two of the least numbers is none itself; over rows of 2^1000 it vanishes, and its bound does not. */
static PetscErrorCode subnormal_norms_are_covered(void)
{
    const double b[8] = {0x1p-1074, 0, 0, 0, 0, 0, 0, 0x1p-1074}, x[8] = {0};
    tp_norms found;
    diagonal d;

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        const double size = k == 0 ? 1 : 0x1p1000, a[8] = {size, 1, 1, 1, 1, 1, 1, size};
        PetscCall(make_diagonal(8, a, b, x, &d));
        PetscCall(tp_true_residual(&d.verifier, d.a, d.b, d.x, d.r, &found));
        for (int n = 0; n < TP_NORMS; n += TP_ROWS) {
            const long double wanted = sqrtl(2) * 0x1p-1074L / (n == TP_ROWS ? (long double)size : 1);
            CHECK(fabsl((long double)found.norm[n] - wanted) <= (long double)found.norm[n + TP_BOUND],
                  "size %g, norm %d: %g, bound %g", size, n, found.norm[n], found.norm[n + TP_BOUND]);
        }
        PetscCall(destroy_diagonal(&d));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum of magnitudes rounds to 1, the residual is above. */
static PetscErrorCode no_backward_error_exceeds_1(void)
{
    PetscInt first, last;
    tp_verifier verifier = {0};
    tp_norms found;
    Vec b, x, r;
    Mat A;

    PetscFunctionBegin;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, WIDE, WIDE, WIDE, NULL, WIDE, NULL, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        for (PetscInt k = 0; k < WIDE; k++) {
            PetscCall(MatSetValue(A, i, k, -0x1p-54, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(VecSet(x, 1));
    PetscCall(VecSet(b, 1));
    PetscCall(tp_true_residual(&verifier, A, b, x, r, &found));
    CHECK(found.norm[TP_NORM] > 8 && found.backward == 1 && found.backward_most == 1, "backward error 1 + %g, 1 + %g",
          found.backward - 1, found.backward_most - 1);
    PetscCall(tp_verifier_destroy(&verifier));
    DESTROY(&x, &b, &r, &A);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new entry of the same matrix, which another process has the x of. */
static PetscErrorCode patterns_change(void)
{
    const double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    tp_norms found;
    diagonal d;

    PetscFunctionBegin;
    PetscCall(make_diagonal(8, ones, x, x, &d));
    PetscCall(tp_true_residual(&d.verifier, d.a, d.b, d.x, d.r, &found));
    CHECK(found.norm[TP_NORM] == 0, "norm %g", found.norm[TP_NORM]);
    PetscCall(MatSetOption(d.a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(d.a, 0, 7, 1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(d.a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(d.a, MAT_FINAL_ASSEMBLY));
    PetscCall(tp_true_residual(&d.verifier, d.a, d.b, d.x, d.r, &found));
    CHECK(fabs(found.norm[TP_NORM] - 8) <= found.norm[TP_BOUND] && found.row == 0, "norm %g, row %d",
          found.norm[TP_NORM], (int)found.row);
    PetscCall(destroy_diagonal(&d));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tolerances ---- */

/* No tolerance exceeds the exact rtol ||b||, and none is far below it. */
static PetscErrorCode tolerances_are_rounded_down(void)
{
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    for (int k = 0; k < 200; k++) {
        const double rtol = ldexp(1 + fmod(0.6180339887498949 * k, 1), -(k % 50) - 2);
        const double atol = k % 4 == 3 ? 0x1p-20 : 0, rhs = ldexp(1 + fmod(0.7548776662466927 * k, 1), k % 60 - 30);
        const long double exact = fmaxl((long double)rtol * rhs, (long double)atol);
        const long double rows = fmaxl((long double)rtol, (long double)atol / rhs) * 3;
        const tp_norms of = {.norm = {[TP_RHS] = rhs, [TP_ROWS_RHS] = 3}};
        tp_tolerances t;
        PetscCall(KSPSetTolerances(ksp, rtol, atol, PETSC_DEFAULT, PETSC_DEFAULT));
        PetscCall(tp_set_tolerances(ksp, &of, &t));
        CHECK((long double)t.given <= exact && (long double)t.given >= exact * (1 - 64 * 0x1p-53L), "given %g, not %Lg",
              t.given, exact);
        CHECK((long double)t.rows <= rows * (1 - 16 * 0x1p-53L) && (long double)t.rows >= rows * (1 - 64 * 0x1p-53L),
              "rows %g, not %Lg", t.rows, rows);
        CHECK((double)t.given == atol || (long double)t.given <= exact * (1 - 16 * 0x1p-53L), "given %g, not %Lg",
              t.given, exact); /* the norm itself is rounded */
    }
    {
        const tp_norms zero = {.norm = {0}}, tiny = {.norm = {[TP_RHS] = 0x1p-1074, [TP_ROWS_RHS] = 0x1p-1074}};
        const tp_norms small = {.norm = {[TP_RHS] = 100 * 0x1p-1074, [TP_ROWS_RHS] = 100 * 0x1p-1074}};
        tp_tolerances t;
        PetscCall(tp_set_tolerances(ksp, &zero, &t));
        CHECK(t.given == ksp->abstol && t.rows == ksp->abstol, "b = 0: %g, %g", t.given, t.rows);
        PetscCall(KSPSetTolerances(ksp, 0.5, 0, PETSC_DEFAULT, PETSC_DEFAULT));
        PetscCall(tp_set_tolerances(ksp, &tiny, &t));
        CHECK(t.given == 0 && t.rows == 0, "the least b: %g, %g", t.given, t.rows);
        PetscCall(KSPSetTolerances(ksp, 0.99, 0, PETSC_DEFAULT, PETSC_DEFAULT));
        PetscCall(tp_set_tolerances(ksp, &small, &t)); /* whose norm may be off by several units of 2^-1074 */
        CHECK(t.given <= 0.99 * 96 * 0x1p-1074 && t.given >= 80 * 0x1p-1074, "a subnormal b: %g", t.given);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a bound norm and bound; without one, what b - y rounds at least. */
static PetscErrorCode most_has_the_bound(void)
{
    const tp_norms bounded = {.norm = {[TP_NORM] = 1, [TP_BOUND] = 0.5, [TP_RHS] = 8}};
    const tp_norms unknown = {.norm = {[TP_NORM] = 1, [TP_BOUND] = NAN, [TP_RHS] = 7}};

    PetscFunctionBegin;
    CHECK(tp_most(&bounded) == 1.5, "%g", tp_most(&bounded));
    CHECK(tp_most(&unknown) == 1 + 16 * U64, "1 + %g", tp_most(&unknown) - 1);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of vectors whose squares are out of range, from the least number to the largest. */
static PetscErrorCode norms_of_vectors(void)
{
    static const int exponents[] = {-1074, -1050, -540, -301, -299, 0, 299, 301, 540, 1020};
    double norm;
    Vec v;

    PetscFunctionBegin;
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 16, &v));
    for (int e = 0; e < 10; e++) {
        PetscCall(VecSet(v, ldexp(1, exponents[e])));
        PetscCall(tp_norm(v, &norm));
        CHECK(norm == ldexp(4, exponents[e]), "2^%d: %g", exponents[e], norm);
    }
    PetscCall(VecDestroy(&v));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(residuals_are_within_their_bound),
                                      CASE(norms_at_the_ends),
                                      CASE(no_numbers_and_zeros),
                                      CASE(cancellation_is_covered),
                                      CASE(lost_words_are_covered),
                                      CASE(underflow_is_covered),
                                      CASE(subnormal_norms_are_covered),
                                      CASE(no_backward_error_exceeds_1),
                                      CASE(patterns_change),
                                      CASE(tolerances_are_rounded_down),
                                      CASE(most_has_the_bound),
                                      CASE(norms_of_vectors),
                                      {NULL, NULL}};

    return run_tests(argc, argv, tessera_petsc_register, cases);
}
