/* SPDX-License-Identifier: Apache-2.0 */
/* Complex symmetric problems on grids: waves with absorbing boundaries, eddy currents, circuits with alternating
   current. A row of a problem is two of its real form (matrix/complex_form.h). */
#include "gallery/problem.h"
#include "matrix/complex_form.h"

enum { MOST = 7 }; /* entries of a row */

/* The entries of a row, columns ascending. */
typedef struct complex_row {
    int count;
    int64_t col[MOST];
    double re[MOST], im[MOST];
} complex_row;

typedef struct complex_problem {
    int64_t counts[3];
    double number; /* kh or omega */
    uint64_t kinds, sizes;
    void (*row)(const struct complex_problem *p, int64_t i, complex_row *out);
} complex_problem;

static void push(complex_row *row, int64_t col, double re, double im)
{
    row->col[row->count] = col;
    row->re[row->count] = re;
    row->im[row->count] = im;
    row->count += 1;
}

static int64_t length_of(const void *problem, int64_t i)
{
    const complex_problem *p = problem;
    complex_row row = {.count = 0};

    p->row(p, i / 2, &row);
    return 2 * row.count;
}

static void fill(const void *problem, int64_t i, int32_t *col, double *val)
{
    const complex_problem *p = problem;
    complex_row row = {.count = 0};

    p->row(p, i / 2, &row);
    for (int k = 0; k < row.count; k++) {
        col[2 * k] = (int32_t)(2 * row.col[k]);
        col[2 * k + 1] = (int32_t)(2 * row.col[k] + 1);
        val[2 * k] = i % 2 == 0 ? row.re[k] : row.im[k];
        val[2 * k + 1] = i % 2 == 0 ? -row.im[k] : row.re[k];
    }
}

static tess_status build(const gallery_request *request, const complex_problem *p, tess_matrix **out)
{
    const int64_t n = 2 * p->counts[0] * p->counts[1] * p->counts[2];
    const gallery_rows rows = {.nrows = n, .ncols = n, .length = length_of, .fill = fill, .problem = p};
    const tess_status status = gallery_build(request->ctx, &rows, out);

    if (status == TESS_SUCCESS) { tess_matrix_mark_complex(*out); }
    return status;
}

/* ---- waves ---- */

/* 5 points of -Laplace - k^2; beyond the boundary u (1 + i k h) stands for the next point (Sommerfeld's condition). */
static void helmholtz_row(const complex_problem *p, int64_t i, complex_row *out)
{
    const int64_t nx = p->counts[0], x = i % nx, y = i / nx;
    const bool inside[4] = {y > 0, x > 0, x + 1 < nx, y + 1 < p->counts[1]};
    const int64_t other[4] = {i - nx, i - 1, i + 1, i + nx};
    double re = 4.0 - p->number * p->number, im = 0.0;

    for (int side = 0; side < 4; side++) {
        re -= inside[side] ? 0.0 : 1.0;
        im -= inside[side] ? 0.0 : p->number;
    }
    for (int side = 0; side < 4; side++) {
        if (side == 2) { push(out, i, re, im); }
        if (inside[side]) { push(out, other[side], -1.0, 0.0); }
    }
}

tess_status gallery_helmholtz2d(const gallery_request *request, tess_matrix **out)
{
    complex_problem p = {.counts = {1, 1, 1}, .number = 0.6283185307179586, .row = helmholtz_row};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gallery_integer(request, 0, "N", 1, 32767, &p.counts[0]));
    TESS_TRY(gallery_real(request, 1, "KH", 0.0, 10.0, &p.number));
    p.counts[1] = p.counts[0];
    status = build(request, &p, out);
cleanup:
    return status;
}

/* ---- eddy currents ---- */

/* 7 points of -Laplace + i omega sigma, where sigma is 1 in the middle half of each direction, and 0 elsewhere. */
static void eddy_row(const complex_problem *p, int64_t i, complex_row *out)
{
    const int64_t n = p->counts[0], at[3] = {i % n, i / n % n, i / n / n}, stride[3] = {1, n, n * n};
    bool conducts = true;

    for (int axis = 0; axis < 3; axis++) {
        conducts = conducts && 4 * at[axis] + 2 > n && 4 * at[axis] + 2 < 3 * n;
    }
    for (int axis = 2; axis >= 0; axis--) {
        if (at[axis] > 0) { push(out, i - stride[axis], -1.0, 0.0); }
    }
    push(out, i, 6.0, conducts ? p->number : 0.0);
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] + 1 < n) { push(out, i + stride[axis], -1.0, 0.0); }
    }
}

tess_status gallery_eddy3d(const gallery_request *request, tess_matrix **out)
{
    complex_problem p = {.number = 1.0, .row = eddy_row};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gallery_integer(request, 0, "N", 1, 1023, &p.counts[0]));
    TESS_TRY(gallery_real(request, 1, "OMEGA", 0.0, 1e15, &p.number));
    p.counts[1] = p.counts[2] = p.counts[0];
    status = build(request, &p, out);
cleanup:
    return status;
}

/* ---- circuits ---- */

/* The admittance of a branch: a resistor, a capacitor or a coil, each with a log-normal size. */
static void admittance(const complex_problem *p, uint64_t branch, double *re, double *im)
{
    const int64_t kind = gallery_below(tess_random_bits(p->kinds, branch), 3);
    const double size = exp(gallery_normal(p->sizes, branch));

    *re = kind == 0 ? size : 0.0;
    *im = kind == 1 ? size : kind == 2 ? -size : 0.0;
}

/* Branches to the right and up have the numbers 2 i and 2 i + 1 of the node where they begin. Each node leaks. */
static void circuit_row(const complex_problem *p, int64_t i, complex_row *out)
{
    const int64_t n = p->counts[0], x = i % n, y = i / n;
    const bool inside[4] = {y > 0, x > 0, x + 1 < n, y + 1 < n};
    const int64_t other[4] = {i - n, i - 1, i + 1, i + n};
    const int64_t branch[4] = {2 * (i - n) + 1, 2 * (i - 1), 2 * i, 2 * i + 1};
    double re[4] = {0.0}, im[4] = {0.0}, sum[2] = {0.01, 0.0};

    for (int side = 0; side < 4; side++) {
        if (!inside[side]) { continue; }
        admittance(p, (uint64_t)branch[side], &re[side], &im[side]);
        sum[0] += re[side];
        sum[1] += im[side];
    }
    for (int side = 0; side < 4; side++) {
        if (side == 2) { push(out, i, sum[0], sum[1]); }
        if (inside[side]) { push(out, other[side], -re[side], -im[side]); }
    }
}

tess_status gallery_accircuit(const gallery_request *request, tess_matrix **out)
{
    complex_problem p = {.counts = {1, 1, 1}, .row = circuit_row};
    int64_t seed = 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gallery_integer(request, 0, "N", 1, 32767, &p.counts[0]));
    TESS_TRY(gallery_integer(request, 1, "SEED", 0, GALLERY_SEED_MAX, &seed));
    p.counts[1] = p.counts[0];
    p.kinds = gallery_stream(seed, 0);
    p.sizes = gallery_stream(seed, 1);
    status = build(request, &p, out);
cleanup:
    return status;
}
