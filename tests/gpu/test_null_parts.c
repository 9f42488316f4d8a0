/* SPDX-License-Identifier: Apache-2.0 */
/* Parts over which a matrix sums to 0: a GPU finds those that the host finds. */
#include "matrix/null_parts.h"

#include "support/test.h"

static tess_context *gpu = NULL;

/* Grids of so many rows by columns beside one another, with free ends: `weight` times their Laplacians. Rows are at
   place[row], so that neighbours are anywhere. held: 1 is added to the diagonal of each of these rows. */
typedef struct grids {
    int rows, columns, count, stride, held;
    double weight;
} grids;

static double coupling(const grids *g, int i, int j)
{
    const int size = g->rows * g->columns, x = i % size % g->columns, y = i % size / g->columns;
    const int u = j % size % g->columns, v = j % size / g->columns;

    return i / size == j / size && abs(x - u) + abs(y - v) == 1 ? -g->weight * (1 + (i + j) % 3) : 0.0;
}

static oracle_csr make_grids(const grids *g)
{
    const int n = g->rows * g->columns * g->count;
    oracle_csr a = oracle_open(n, n);

    for (int i = 0; i < n; i++) {
        const int from = (int)((int64_t)i * g->stride % n); /* where this row was */
        double sum = 0.0;

        for (int j = 0; j < n; j++) {
            sum -= coupling(g, from, (int)((int64_t)j * g->stride % n));
        }
        for (int j = 0; j < n; j++) {
            const double c = coupling(g, from, (int)((int64_t)j * g->stride % n));
            const bool held = g->held > 0 && from % g->held == g->held - 1;

            if (i == j) { oracle_push(&a, j, sum + (held ? 1.0 : 0.0)); }
            if (c != 0.0) { oracle_push(&a, j, c); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void same_parts(const oracle_csr *a)
{
    const tess_csr_view view = {a->nrows, a->ncols, a->nnz, a->row_ptr, a->col_ind, a->val, 64};
    tess_matrix *m = make_matrix(gpu, a);
    null_parts here, there;

    assert_ok(gpu, null_parts_find(gpu, &view, &here));
    assert_ok(gpu, null_parts_of(m, &there));
    assert_int_equal(there.count, here.count);
    for (int64_t k = 0; k < here.count; k++) {
        assert_int_equal(there.part[k].rows, here.part[k].rows);
        assert_int_equal(there.part[k].first, here.part[k].first);
        assert_int_equal(there.part[k].exact, here.part[k].exact);
    }
    for (int64_t i = 0; i < a->nrows && here.count > 0; i++) {
        assert_int_equal(there.of_row[i], here.of_row[i]);
    }
    null_parts_release(gpu, &here);
    null_parts_release(gpu, &there);
    tess_matrix_destroy(m);
}

static void grids_of_all_kinds(void **state)
{
    static const grids all[] = {
        {1, 1, 1, 1, 0, 1.0},    {9, 8, 1, 1, 0, 1.0},   {9, 8, 1, 1, 72, 1.0},      {1, 300, 1, 1, 0, 1.0},
        {1, 300, 1, 7, 0, 1.0},  {1, 300, 1, 7, 300, 1}, {5, 5, 8, 1, 0, 1.0 / 3.0}, {5, 5, 8, 3, 50, 1.0},
        {3, 1, 70, 11, 42, 0.1}, {7, 9, 3, 5, 0, 0.1},   {1, 2, 40, 3, 0, 1e-200},
    };

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        oracle_csr a = make_grids(&all[k]);

        same_parts(&a);
        oracle_free(&a);
    }
}

/* Rows that sum to 0 are not enough; rows that are not columns are for the host. */
static void what_is_no_part(void **state)
{
    const grids two = {1, 6, 2, 1, 0, 1.0};

    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        oracle_csr a = make_grids(&two);

        if (kind == 0) { a.val[0] = 2.0, a.val[1] = -2.0; } /* the row sums to 0, the column does not */
        if (kind == 1) { a.col_ind[1] = 7; }                /* row 0 leads out */
        if (kind == 2) { a.val[3] = NAN; }
        if (kind == 3) { a.val[0] = nextafter(a.val[0], 2.0); } /* up to rounding */
        if (kind == 4) { a.val[0] = 0.0, a.val[1] = 0.0; }      /* a row of zeros */
        if (kind == 5) { a.val[0] = 0.0; }
        same_parts(&a);
        oracle_free(&a);
    }
}

static void nothing_to_look_at(void **state)
{
    oracle_csr empty = oracle_open(0, 0), tall = oracle_random(30, 20, 3, 1);
    tess_matrix *m = make_matrix(gpu, &empty), *t = make_matrix(gpu, &tall);
    null_parts found;

    (void)state;
    assert_ok(gpu, null_parts_of(m, &found));
    assert_int_equal(found.count, 0);
    assert_ok(gpu, null_parts_of(t, &found));
    assert_int_equal(found.count, 0);
    tess_matrix_destroy(m);
    tess_matrix_destroy(t);
    oracle_free(&empty);
    oracle_free(&tall);
}

/* A hub: a row and a column of all, so that one row is of several parts. */
static void long_rows(void **state)
{
    const int n = 2500;
    oracle_csr a = oracle_open(n, n);

    (void)state;
    for (int j = 0; j < n; j++) {
        oracle_push(&a, j, j == 0 ? 0.1 * (n - 1) : -0.1);
    }
    oracle_end_row(&a, 0);
    for (int i = 1; i < n; i++) {
        oracle_push(&a, 0, -0.1);
        oracle_push(&a, i, 0.1);
        oracle_end_row(&a, i);
    }
    same_parts(&a);
    a.val[a.nnz - 1] = 1.0;
    same_parts(&a);
    oracle_free(&a);
}

/* The device knows a symmetric matrix's parts by itself, and asks the host about another one. */
static void only_unsymmetric_candidates_are_copied(void **state)
{
    const grids two = {4, 6, 2, 5, 0, 1.0};
    const null_parts_ops *ops = null_parts_ops_of(gpu);

    (void)state;
    for (int kind = 0; kind < 2 && ops; kind++) {
        oracle_csr a = make_grids(&two);
        tess_matrix *m = NULL;
        null_candidates found;

        if (kind == 1) { /* a circulation within a row: rows sum to 0 */
            a.val[a.row_ptr[5]] += 0.25;
            a.val[a.row_ptr[5] + 1] -= 0.25;
        }
        m = make_matrix(gpu, &a);
        assert_ok(gpu, ops->candidates(m, &found));
        assert_int_equal(found.known, kind == 0);
        assert_int_equal(found.count, 2);
        tess_host_release(gpu, found.tree, found.n, sizeof *found.tree);
        tess_host_release(gpu, found.part, found.count, sizeof *found.part);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_of_all_kinds),
        cmocka_unit_test(what_is_no_part),
        cmocka_unit_test(nothing_to_look_at),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(only_unsymmetric_candidates_are_copied),
    };

    return run_gpu_tests(tests, &gpu);
}
