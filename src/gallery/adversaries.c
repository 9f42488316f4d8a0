/* SPDX-License-Identifier: Apache-2.0 */
/* Small and awkward matrices: Hilbert, arrow, and tridiagonal ones with one defect each. */
#include "gallery/problem.h"

typedef enum adversary_kind {
    ADVERSARY_ZERO_ROW,
    ADVERSARY_NAN,
    ADVERSARY_DENSE_ROW,
    ADVERSARY_INDEFINITE,
    ADVERSARY_SKEW,
    ADVERSARY_EMPTY_ROWS,
    ADVERSARY_WIDE_RANGE,
    ADVERSARY_ONE,
    ADVERSARY_HILBERT,
    ADVERSARY_ARROW
} adversary_kind;

typedef struct adversary {
    adversary_kind kind;
    int64_t n;
} adversary;

/* From 1e-300 to 1e300 along the diagonal. */
static double wide_value(const adversary *a, int64_t i)
{
    return a->n == 1 ? 1e-300 : pow(10.0, -300.0 + 600.0 * (double)i / (double)(a->n - 1));
}

static double diagonal_value(const adversary *a, int64_t i)
{
    bool middle = i == a->n / 2;

    switch (a->kind) {
    case ADVERSARY_ZERO_ROW: return middle ? 0.0 : 2.0;
    case ADVERSARY_NAN: return middle ? (double)NAN : 2.0;
    case ADVERSARY_INDEFINITE: return i % 2 ? -4.0 : 4.0;
    case ADVERSARY_WIDE_RANGE: return wide_value(a, i);
    case ADVERSARY_ONE: return 4.0;
    case ADVERSARY_ARROW: return i == 0 ? (double)a->n : 2.0;
    default: return 2.0;
    }
}

/* Off the diagonal. */
static double neighbour_value(const adversary *a, int64_t i, int64_t j)
{
    switch (a->kind) {
    case ADVERSARY_ZERO_ROW: return i == a->n / 2 ? 0.0 : -1.0;
    case ADVERSARY_SKEW: return i < j ? 1.0 : -1.0;
    case ADVERSARY_WIDE_RANGE: return 0.25 * sqrt(wide_value(a, i)) * sqrt(wide_value(a, j));
    default: return -1.0;
    }
}

static double entry_value(const adversary *a, int64_t i, int64_t j)
{
    if (a->kind == ADVERSARY_HILBERT) { return 1.0 / (double)(i + j + 1); }
    return i == j ? diagonal_value(a, i) : neighbour_value(a, i, j);
}

static bool row_is_full(const adversary *a, int64_t i)
{
    return a->kind == ADVERSARY_HILBERT || (a->kind == ADVERSARY_ARROW && i == 0) ||
           (a->kind == ADVERSARY_DENSE_ROW && i == a->n / 2);
}

static int64_t adversary_length(const void *problem, int64_t row)
{
    const adversary *a = problem;

    if (row_is_full(a, row)) { return a->n; }
    if (a->kind == ADVERSARY_EMPTY_ROWS && row % 3 == 1) { return 0; }
    if (a->kind == ADVERSARY_ARROW) { return 2; }
    return (a->kind != ADVERSARY_SKEW) + (row > 0) + (row + 1 < a->n);
}

static void adversary_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const adversary *a = problem;
    int64_t length = adversary_length(problem, row), k = 0;
    int64_t first = row_is_full(a, row) ? 0 : row - 1, step = 1;

    if (length == 0) { return; }
    if (a->kind == ADVERSARY_ARROW && row > 0) {
        first = 0;
        step = row;
    }
    for (int64_t j = first; k < length; j += step) {
        bool missing = j < 0 || (a->kind == ADVERSARY_SKEW && j == row);

        if (!missing) {
            col[k] = (int32_t)j;
            val[k] = entry_value(a, row, j);
            k++;
        }
    }
}

static tess_status make_adversary(const gallery_request *request, adversary_kind kind, tess_matrix **out)
{
    adversary a = {kind, 1};
    /* A larger dense matrix has more than 2^31 entries. */
    int64_t most = kind == ADVERSARY_HILBERT ? 46340 : TESS_MAX_ROWS;
    tess_status status = gallery_integer(request, 0, "N", 1, most, &a.n);

    if (status != TESS_SUCCESS) { return status; }
    return gallery_build(request->ctx, &(gallery_rows){a.n, a.n, adversary_length, adversary_fill, &a}, out);
}

#define ADVERSARY(maker, KIND)                                           \
    tess_status maker(const gallery_request *request, tess_matrix **out) \
    {                                                                    \
        return make_adversary(request, KIND, out);                       \
    }

ADVERSARY(gallery_zero_row, ADVERSARY_ZERO_ROW)
ADVERSARY(gallery_nan, ADVERSARY_NAN)
ADVERSARY(gallery_denserow, ADVERSARY_DENSE_ROW)
ADVERSARY(gallery_indefinite, ADVERSARY_INDEFINITE)
ADVERSARY(gallery_skew, ADVERSARY_SKEW)
ADVERSARY(gallery_emptyrows, ADVERSARY_EMPTY_ROWS)
ADVERSARY(gallery_wide_range, ADVERSARY_WIDE_RANGE)
ADVERSARY(gallery_one_by_one, ADVERSARY_ONE)
ADVERSARY(gallery_hilbert, ADVERSARY_HILBERT)
ADVERSARY(gallery_arrow, ADVERSARY_ARROW)
