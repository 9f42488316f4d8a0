/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky factors of small matrices, with pivots where ranks matter. */
#include "solver/block_cg/small.h"

#include <math.h>
#include <string.h>

#include "device/iteration_end.h"

/* Pivots of a matrix with a unit diagonal that rounding alone may leave, of either sign. */
#define ROUNDING (0x1p-52 * SMALL_MOST)
/* A column is left for the next pass below this sine of its angle to the others: of what is left of it, 1e-16 / 1e-4
   is rounding. */
#define SMALLEST_SINE 1e-4

void small_multiply(int rows, int inner, int columns, small_matrix a, small_matrix b, small_matrix out)
{
    memset(out, 0, sizeof(small_matrix));
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            double sum = 0.0;

            for (int l = 0; l < inner; l++) {
                sum += a[i][l] * b[l][j];
            }
            out[i][j] = sum;
        }
    }
}

/* unit[i] := 1 / sqrt(a_ii), and 0 for a zero. */
static small_verdict find_units(int order, small_matrix a, double *unit)
{
    for (int i = 0; i < order; i++) {
        for (int j = i; j < order; j++) {
            if (!scalar_is_finite(a[i][j])) { return SMALL_NOT_FINITE; }
        }
    }
    for (int i = 0; i < order; i++) {
        if (a[i][i] < 0.0) { return SMALL_INDEFINITE; }
        unit[i] = a[i][i] > 0.0 ? 1.0 / sqrt(a[i][i]) : 0.0;
        if (!scalar_is_finite(unit[i])) { return SMALL_NOT_FINITE; }
    }
    return SMALL_DEFINITE;
}

/* ---- positive definite systems ---- */

/* t^T t = the matrix with a unit diagonal */
static small_verdict factor(int order, small_matrix k, const double *unit, small_matrix t)
{
    for (int i = 0; i < order; i++) {
        for (int j = i; j < order; j++) {
            double sum = i == j ? 1.0 : unit[i] * k[i][j] * unit[j];

            for (int l = 0; l < i; l++) {
                sum -= t[l][i] * t[l][j];
            }
            if (i == j && !(sum > ROUNDING)) { return sum < -ROUNDING ? SMALL_INDEFINITE : SMALL_SINGULAR; }
            t[i][j] = i == j ? sqrt(sum) : sum / t[i][i];
        }
    }
    return SMALL_DEFINITE;
}

static void solve_column(int order, small_matrix t, const double *unit, int c, small_matrix x)
{
    for (int i = 0; i < order; i++) {
        double sum = unit[i] * x[i][c];

        for (int l = 0; l < i; l++) {
            sum -= t[l][i] * x[l][c];
        }
        x[i][c] = sum / t[i][i];
    }
    for (int i = order - 1; i >= 0; i--) {
        double sum = x[i][c];

        for (int l = i + 1; l < order; l++) {
            sum -= t[i][l] * x[l][c];
        }
        x[i][c] = sum / t[i][i];
    }
    for (int i = 0; i < order; i++) {
        x[i][c] *= unit[i];
    }
}

small_verdict small_solve(int order, small_matrix k, int columns, small_matrix rhs, small_matrix out)
{
    double unit[SMALL_MOST];
    small_matrix t;
    small_verdict verdict = find_units(order, k, unit);

    for (int i = 0; i < order && verdict == SMALL_DEFINITE; i++) {
        if (unit[i] == 0.0) { verdict = SMALL_SINGULAR; }
    }
    if (verdict == SMALL_DEFINITE) { verdict = factor(order, k, unit, t); }
    if (verdict != SMALL_DEFINITE) { return verdict; }
    for (int c = 0; c < columns; c++) {
        for (int i = 0; i < order; i++) {
            out[i][c] = rhs[i][c];
        }
        solve_column(order, t, unit, c, out);
    }
    return SMALL_DEFINITE;
}

/* ---- bases ---- */

/* A factor with pivots: the Gram matrix with a unit diagonal, whose columns before `rank` have been taken. */
typedef struct pivoted {
    int order, rank;
    int column[SMALL_MOST];  /* of the Gram matrix, by position */
    double left[SMALL_MOST]; /* of the diagonal, by position */
    small_matrix t;          /* rank rows, by position */
} pivoted;

static void swap_positions(pivoted *p, int a, int b)
{
    const int column = p->column[a];
    const double left = p->left[a];

    p->column[a] = p->column[b];
    p->column[b] = column;
    p->left[a] = p->left[b];
    p->left[b] = left;
    for (int l = 0; l < p->rank; l++) {
        const double value = p->t[l][a];

        p->t[l][a] = p->t[l][b];
        p->t[l][b] = value;
    }
}

/* Takes the column of which most is left; false: too little is left of all. */
static bool take_next(pivoted *p, small_matrix g, const double *unit)
{
    const int k = p->rank;
    int best = k;

    for (int j = k + 1; j < p->order; j++) {
        if (p->left[j] > p->left[best]) { best = j; }
    }
    if (k == p->order || !(p->left[best] > SMALLEST_SINE * SMALLEST_SINE)) { return false; }
    swap_positions(p, k, best);
    p->t[k][k] = sqrt(p->left[k]);
    for (int j = k + 1; j < p->order; j++) {
        const int a = p->column[k], b = p->column[j];
        double sum = unit[a] * (a < b ? g[a][b] : g[b][a]) * unit[b];

        for (int l = 0; l < k; l++) {
            sum -= p->t[l][k] * p->t[l][j];
        }
        p->t[k][j] = sum / p->t[k][k];
        p->left[j] -= p->t[k][j] * p->t[k][j];
    }
    p->rank += 1;
    return true;
}

/* F and B from the factor: those taken become W T^-1, the others lose T^-1 times their column of T. */
static void make_basis(const pivoted *p, const double *unit, small_basis *out)
{
    const int rank = p->rank;
    small_matrix inverse;

    memset(out->f, 0, sizeof out->f);
    memset(out->b, 0, sizeof out->b);
    for (int j = 0; j < rank; j++) {
        for (int i = j; i >= 0; i--) {
            double sum = i == j ? 1.0 : 0.0;

            for (int l = i + 1; l <= j; l++) {
                sum -= p->t[i][l] * inverse[l][j];
            }
            inverse[i][j] = sum / p->t[i][i];
            out->f[p->column[i]][j] = unit[p->column[i]] * inverse[i][j];
        }
    }
    for (int j = 0; j < p->order; j++) {
        const int column = p->column[j];
        const double length = unit[column] > 0.0 ? 1.0 / unit[column] : 1.0;

        for (int i = 0; i < rank && i <= j; i++) {
            out->b[i][column] = length * p->t[i][j];
        }
        if (j < rank) { continue; }
        out->b[j][column] = length;
        out->f[column][j] = 1.0 / length;
        for (int i = 0; i < rank; i++) {
            double sum = 0.0;

            for (int l = i; l < rank; l++) {
                sum += inverse[i][l] * p->t[l][j];
            }
            out->f[p->column[i]][j] = -unit[p->column[i]] * sum;
        }
    }
}

small_verdict small_orthonormalise(int order, small_matrix g, small_basis *out)
{
    double unit[SMALL_MOST];
    pivoted p = {.order = order};
    const small_verdict verdict = find_units(order, g, unit);

    if (verdict != SMALL_DEFINITE) { return verdict; }
    for (int j = 0; j < order; j++) {
        p.column[j] = j;
        p.left[j] = unit[j] > 0.0 ? 1.0 : 0.0;
    }
    while (take_next(&p, g, unit)) {}
    out->rank = p.rank;
    out->least = 1.0;
    for (int j = 0; j < p.rank; j++) {
        out->least = fmin(out->least, p.t[j][j]);
    }
    make_basis(&p, unit, out);
    return SMALL_DEFINITE;
}
