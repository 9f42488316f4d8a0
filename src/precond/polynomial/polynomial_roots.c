/* SPDX-License-Identifier: Apache-2.0 */
/* Harmonic Ritz values, their order, and the copies of some that keep the evaluation stable. All on the host, all
 * small. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/blas_calls.h"
#include "precond/polynomial/polynomial.h"

/* A root below this many roundoffs of ||H|| is rounding error: the matrix is singular on the space. */
#define MIN_ROUNDOFFS 4.0
/* A root above this times ||H|| tends to infinity, where GMRES stagnates; it would cost the digits of the others. */
#define LARGEST_ROOT 0x1p20
/* Embree, Loe, Morgan 2021: a root is added if its product exceeds 10^4, and one more for each 14 digits; in FP32 a
   copy gains 6 digits. */
#define STEEP_DIGITS 4.0
#define COPY_DIGITS_FP64 14.0
#define COPY_DIGITS_FP32 6.0

/* Space for the eigenvalues of a matrix of `most` rows. */
typedef struct ritz_workspace {
    double *matrix;   /* most by most */
    double *solution; /* most */
    double *re, *im;  /* most */
    lapack_int *pivots;
    int most;
} ritz_workspace;

static tess_status allocate_workspace(tess_context *ctx, ritz_workspace *workspace)
{
    const int64_t most = workspace->most;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, most * most, sizeof *workspace->matrix, (void **)&workspace->matrix));
    TESS_TRY(tess_host_allocate(ctx, 3 * most, sizeof *workspace->solution, (void **)&workspace->solution));
    TESS_TRY(tess_host_allocate(ctx, most, sizeof *workspace->pivots, (void **)&workspace->pivots));
    workspace->re = workspace->solution + most;
    workspace->im = workspace->re + most;
cleanup:
    return status;
}

static void release_workspace(tess_context *ctx, ritz_workspace *workspace)
{
    const int64_t most = workspace->most;

    tess_host_release(ctx, workspace->matrix, most * most, sizeof *workspace->matrix);
    tess_host_release(ctx, workspace->solution, 3 * most, sizeof *workspace->solution);
    tess_host_release(ctx, workspace->pivots, most, sizeof *workspace->pivots);
}

static tess_status judge_lapack(tess_context *ctx, lapack_int info, bool *done)
{
    *done = info == 0;
    if (info != LAPACK_WORK_MEMORY_ERROR && info != LAPACK_TRANSPOSE_MEMORY_ERROR) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_OUT_OF_MEMORY, "use a lower degree", "there is no memory for the roots of a polynomial");
}

static bool all_finite(const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i])) { return false; }
    }
    return true;
}

/* f with H^T f = e_m; *found is false where H is singular. */
static tess_status solve_for_last(tess_context *ctx, const polynomial_arnoldi *a, int m, ritz_workspace *workspace,
                                  bool *found)
{
    lapack_int info = 0;
    tess_status status = TESS_SUCCESS;

    for (int j = 0; j < m; j++) {
        for (int i = 0; i < m; i++) {
            workspace->matrix[j + m * i] = a->h[i + a->ld * j];
        }
        workspace->solution[j] = j == m - 1 ? 1.0 : 0.0;
    }
    TESS_LAPACK(info,
                LAPACKE_dgesv(LAPACK_COL_MAJOR, m, 1, workspace->matrix, m, workspace->pivots, workspace->solution, m));
    status = judge_lapack(ctx, info, found);
    *found = *found && all_finite(workspace->solution, m);
    return status;
}

/*
 * Eigenvalues of H + h_{m+1,m}^2 H^{-T} e_m e_m^T, the harmonic Ritz values of m steps (Embree, Loe, Morgan 2021,
 * section 2), to workspace->re and workspace->im; *found is false where there are none.
 */
static tess_status find_ritz_values(tess_context *ctx, const polynomial_arnoldi *a, int m, ritz_workspace *workspace,
                                    bool *found)
{
    const double next = a->h[m + a->ld * (m - 1)];
    lapack_int info = 0;
    tess_status status = TESS_SUCCESS;

    *found = true;
    if (next != 0.0) { TESS_TRY(solve_for_last(ctx, a, m, workspace, found)); }
    if (!*found) { return TESS_SUCCESS; }
    for (int j = 0; j < m; j++) {
        memcpy(workspace->matrix + m * j, a->h + a->ld * j, (size_t)m * sizeof *a->h);
    }
    for (int i = 0; next != 0.0 && i < m; i++) {
        workspace->matrix[i + m * (m - 1)] += next * workspace->solution[i] * next;
    }
    *found = all_finite(workspace->matrix, m * m);
    if (*found) {
        TESS_LAPACK(info, LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', 'N', m, workspace->matrix, m, workspace->re,
                                        workspace->im, NULL, 1, NULL, 1));
        status = judge_lapack(ctx, info, found);
    }
cleanup:
    return status;
}

/* ||H|| (Frobenius) of the first m steps, their last row included. */
static double hessenberg_norm(const polynomial_arnoldi *a, int m)
{
    double norm = 0.0;

    for (int j = 0; j < m; j++) {
        for (int i = 0; i <= j + 1; i++) {
            norm = hypot(norm, a->h[i + a->ld * j]);
        }
    }
    return norm;
}

/* Whether the eigenvalues in the workspace can be roots of a polynomial. */
static bool are_roots(const ritz_workspace *workspace, int m, double norm, double roundoff)
{
    for (int i = 0; i < m; i++) {
        const double magnitude = hypot(workspace->re[i], workspace->im[i]);

        if (!(magnitude > MIN_ROUNDOFFS * roundoff * norm) || !(magnitude <= LARGEST_ROOT * norm)) { return false; }
        if (!isfinite(1.0 / magnitude)) { return false; }
    }
    return true;
}

tess_status polynomial_find_roots(tess_context *ctx, const polynomial_arnoldi *arnoldi, tess_precision precision,
                                  polynomial_roots *roots)
{
    const double roundoff = tess_precision_unit_roundoff(precision);
    ritz_workspace workspace = {.most = arnoldi->steps};
    bool found = false;
    int m = arnoldi->steps;
    tess_status status = TESS_SUCCESS;

    roots->count = 0;
    TESS_TRY(allocate_workspace(ctx, &workspace));
    for (; m > 0; m--) { /* a polynomial with one step less is valid too */
        TESS_TRY(find_ritz_values(ctx, arnoldi, m, &workspace, &found));
        if (found && are_roots(&workspace, m, hessenberg_norm(arnoldi, m), roundoff)) { break; }
    }
    for (int i = 0; i < m; i++) {
        if (workspace.im[i] >= 0.0) {
            roots->root[roots->count++] = (polynomial_root){workspace.re[i], workspace.im[i]};
        }
    }
    polynomial_order_roots(roots);
    if (m == 0) {
        status = tess_fail(ctx, TESS_SINGULAR, "use --precond ilu0 or block-jacobi, or in C another polynomial.seed",
                           "polynomial: the matrix is singular on the Krylov space of a random vector");
    }
cleanup:
    release_workspace(ctx, &workspace);
    return status;
}

/* ---- order ---- */

static double magnitude_of(polynomial_root a)
{
    return hypot(a.re, a.im);
}

/* log10 |a - b|, and of a and b's conjugate where b has one. */
static double log_distance(polynomial_root a, polynomial_root b)
{
    const double distance = log10(hypot(a.re - b.re, a.im - b.im));

    return b.im > 0.0 ? distance + log10(hypot(a.re - b.re, a.im + b.im)) : distance;
}

static void swap_roots(polynomial_root *a, polynomial_root *b)
{
    const polynomial_root kept = *a;

    *a = *b;
    *b = kept;
}

/* Modified Leja order (Bai, Hu, Reichel, IMA J. Numer. Anal. 14 (1994), Algorithm 3.1) with products as sums of
 * logarithms. */
void polynomial_order_roots(polynomial_roots *roots)
{
    polynomial_root *r = roots->root;

    for (int next = 0; next < roots->count; next++) {
        double most = -INFINITY;
        int farthest = next;

        for (int i = next; i < roots->count; i++) {
            double distance = next == 0 ? magnitude_of(r[i]) : 0.0;

            for (int j = 0; j < next; j++) {
                distance += log_distance(r[i], r[j]);
            }
            if (distance > most) {
                most = distance;
                farthest = i;
            }
        }
        swap_roots(&r[next], &r[farthest]);
    }
}

int polynomial_count_roots(const polynomial_roots *roots)
{
    int count = roots->count;

    for (int i = 0; i < roots->count; i++) {
        count += roots->root[i].im > 0.0 ? 1 : 0;
    }
    return count;
}

/* ---- copies ---- */

double polynomial_steepness(const polynomial_roots *roots, int k)
{
    const polynomial_root theta = roots->root[k];
    double sum = 0.0;

    for (int i = 0; i < roots->count; i++) {
        const double conjugates = roots->root[i].im > 0.0 ? 2.0 : 1.0, scale = log10(magnitude_of(roots->root[i]));

        if (i != k) {
            sum += log_distance(theta, roots->root[i]) - conjugates * scale;
        } else if (theta.im > 0.0) { /* its own conjugate */
            sum += log10(2.0 * theta.im) - scale;
        }
    }
    return sum;
}

/* The number of copies to add of root k. */
static int copies_of(const polynomial_roots *roots, int k, tess_precision precision)
{
    const double digits = precision == TESS_PRECISION_FP64 ? COPY_DIGITS_FP64 : COPY_DIGITS_FP32;
    const double excess = polynomial_steepness(roots, k) - STEEP_DIGITS;

    return excess > 0.0 ? (int)ceil(excess / digits) : 0;
}

typedef struct placed_root {
    polynomial_root root;
    double place;
} placed_root;

/* Roots with their places, copies included: the first copy of a root goes to the end, the others spread evenly from the
   root to there (Embree, Loe, Morgan 2021, section 4). */
static void place_roots(const polynomial_roots *roots, tess_precision precision, placed_root *placed)
{
    const double end = (double)roots->count;
    int count = roots->count;

    for (int k = 0; k < roots->count; k++) {
        const int copies = copies_of(roots, k, precision);

        placed[k] = (placed_root){roots->root[k], k};
        for (int c = 0; c < copies; c++) {
            const double share = c == 0 ? 1.0 : (double)c / copies;

            placed[count++] = (placed_root){roots->root[k], k + share * (end - k)};
        }
    }
}

/* By place; roots of the same place keep their order. */
static void sort_places(placed_root *placed, int count)
{
    for (int i = 1; i < count; i++) {
        const placed_root moved = placed[i];
        int j = i;

        for (; j > 0 && placed[j - 1].place > moved.place; j--) {
            placed[j] = placed[j - 1];
        }
        placed[j] = moved;
    }
}

tess_status polynomial_add_roots(tess_context *ctx, tess_precision precision, polynomial_roots *roots)
{
    placed_root *placed = NULL;
    polynomial_root *more = NULL;
    int count = roots->count;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < roots->count; k++) {
        count += copies_of(roots, k, precision);
    }
    if (count == roots->count) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *placed, (void **)&placed));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *more, (void **)&more));
    place_roots(roots, precision, placed);
    sort_places(placed, count);
    for (int i = 0; i < count; i++) {
        more[i] = placed[i].root;
    }
    tess_host_release(ctx, roots->root, roots->capacity, sizeof *roots->root);
    *roots = (polynomial_roots){more, count, count};
cleanup:
    tess_host_release(ctx, placed, count, sizeof *placed);
    return status;
}
