/* SPDX-License-Identifier: Apache-2.0 */
/* Factors by KLU: backward errors of both sides and of several columns, new values, and what is left to
   MUMPS. */
#include "precond/direct/klu_factors.h"

#include "support/direct.h"

enum { COLUMNS = 7 }; /* KLU takes four at a time */

static tess_context *ctx;

/* One set of exponents for the matrices of a test. */
typedef struct factors {
    klu_factors *klu;
    int32_t *row, *column;
    int64_t n;
} factors;

static factors open_factors(int64_t n)
{
    return (factors){.row = test_allocate(n, sizeof(int32_t)), .column = test_allocate(n, sizeof(int32_t)), .n = n};
}

static void close_factors(factors *f)
{
    klu_close(ctx, f->klu);
    free(f->row);
    free(f->column);
}

static void compute(const oracle_csr *a, int64_t allowed, factors *f)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    direct_system s;

    assert_ok(ctx, direct_read(matrix, false, &s));
    assert_ok(ctx, klu_compute(&s, allowed, f->row, f->column, &f->klu));
    direct_release(&s);
    tess_matrix_destroy(matrix);
}

/* rhs := D_c (D_r A D_c)^-1 D_r rhs, or transposed, for columns one after another. */
static void solve(const factors *f, bool transposed, int columns, double *rhs)
{
    const int32_t *before = transposed ? f->column : f->row, *after = transposed ? f->row : f->column;

    for (int64_t k = 0; k < columns * f->n; k++) {
        rhs[k] = ldexp(rhs[k], before[k % f->n]);
    }
    klu_solve_columns(ctx, f->klu, transposed, columns, rhs);
    for (int64_t k = 0; k < columns * f->n; k++) {
        rhs[k] = ldexp(rhs[k], after[k % f->n]);
    }
}

static oracle_csr transposed_of(const oracle_csr *a)
{
    oracle_csr t = oracle_open(a->ncols, a->nrows);

    for (int64_t j = 0; j < a->ncols; j++) {
        for (int64_t i = 0; i < a->nrows; i++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                if (a->col_ind[k] == j) { oracle_push(&t, (int32_t)i, a->val[k]); }
            }
        }
        oracle_end_row(&t, j);
    }
    return t;
}

/* Both sides, and columns, which have the bits that they have alone. */
static void check_solves(const oracle_csr *a, const factors *f)
{
    oracle_csr t = transposed_of(a);
    double *b = random_values(COLUMNS * a->nrows, 5, -1.0, 1.0), *x = test_allocate(COLUMNS * a->nrows, sizeof *x);
    double *alone = test_allocate(a->nrows, sizeof *alone);
    const size_t bytes = (size_t)a->nrows * sizeof *b;

    memcpy(x, b, COLUMNS * bytes);
    solve(f, false, COLUMNS, x);
    for (int c = 0; c < COLUMNS; c++) {
        const int64_t at = c * a->nrows;

        check_backward_error(a, b + at, x + at, TESS_PRECISION_FP64);
        memcpy(alone, b + at, bytes);
        solve(f, false, 1, alone);
        assert_memory_equal(alone, x + at, bytes);
    }
    memcpy(x, b, 2 * bytes);
    solve(f, true, 2, x);
    check_backward_error(&t, b, x, TESS_PRECISION_FP64);
    check_backward_error(&t, b + a->nrows, x + a->nrows, TESS_PRECISION_FP64);
    oracle_free(&t);
    free(b);
    free(x);
    free(alone);
}

/* n rows with few entries off the diagonal; `diagonal` of every third row is 0: its pivot is another entry. */
static oracle_csr network(int64_t n, double diagonal, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t far = (int64_t)(oracle_random_bits(&seed) % (uint64_t)n);

        for (int64_t j = 0; j < n; j++) {
            const double value = (double)(oracle_random_bits(&seed) >> 11) * 0x1p-53 + 0.5;

            if (j == i && (i % 3 > 0 || diagonal != 0.0)) { oracle_push(&a, (int32_t)j, diagonal + value); }
            if (j != i && (j == (i + 1) % n || j == (i + n - 1) % n || (i % 8 == 0 && j == far))) {
                oracle_push(&a, (int32_t)j, value);
            }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void systems_are_solved(void **state)
{
    oracle_csr cases[] = {network(300, 4.0, 3),
                          network(300, 0.0, 4),
                          oracle_laplace2d(20),
                          oracle_convection2d(18, 5.0),
                          oracle_diagonal(3, (double[]){1e-300, 2.0, -1e300}),
                          oracle_tridiagonal(50, -1.0, 2.0, -1.0)};

    (void)state;
    for (int64_t i = 0; i < cases[0].nrows; i++) { /* rows and columns of different size */
        for (int64_t k = cases[0].row_ptr[i]; k < cases[0].row_ptr[i + 1]; k++) {
            cases[0].val[k] = ldexp(cases[0].val[k], (int)(i % 7) * 60 - 200 + 3 * (cases[0].col_ind[k] % 4));
        }
    }
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        factors f = open_factors(cases[c].nrows);

        compute(&cases[c], INT64_MAX, &f);
        assert_non_null(f.klu);
        assert_true(klu_entries(f.klu) >= cases[c].nrows);
        assert_true(klu_bytes(f.klu) > 8 * klu_entries(f.klu));
        check_solves(&cases[c], &f);
        for (int64_t k = 0; k < cases[c].nnz; k++) { /* new values, in the order that is there */
            cases[c].val[k] *= 3.0;
        }
        compute(&cases[c], INT64_MAX, &f);
        assert_non_null(f.klu);
        check_solves(&cases[c], &f);
        close_factors(&f);
        oracle_free(&cases[c]);
    }
}

/* No pivot, too many operations for an entry, too little memory, new values without the pivots of those before. */
static void the_rest_is_left_to_others(void **state)
{
    oracle_csr singular = oracle_tridiagonal(41, 1.0, 1.0, 1.0), dense = oracle_open(400, 400);
    oracle_csr network_of = network(300, 4.0, 3);
    factors f = open_factors(400);

    (void)state;
    for (int64_t i = 0; i < 400; i++) { /* 2 n^3 / 3 operations for n^2 entries; its pivots are the diagonal */
        for (int64_t j = 0; j < 400; j++) {
            oracle_push(&dense, (int32_t)j, i == j ? 400.0 : 1.0 / (double)(1 + i + j));
        }
        oracle_end_row(&dense, i);
    }
    compute(&singular, INT64_MAX, &f); /* of n = 3 m + 2 rows: the determinant is 0 */
    assert_null(f.klu);
    compute(&dense, INT64_MAX, &f);
    assert_null(f.klu);
    compute(&network_of, 100, &f);
    assert_null(f.klu);
    close_factors(&f);
    oracle_free(&singular);
    oracle_free(&dense);
    oracle_free(&network_of);
}

/* The diagonal was the pivot of each row. With these values it is tiny, and then 0, in places, and others must be. */
static void new_values_get_new_pivots(void **state)
{
    static const double pivots[] = {0x1p-30, 0.0};
    oracle_csr a = network(300, 4.0, 3);
    factors f = open_factors(a.nrows);

    (void)state;
    compute(&a, INT64_MAX, &f);
    assert_non_null(f.klu);
    for (size_t p = 0; p < sizeof pivots / sizeof *pivots; p++) {
        for (int64_t i = 1; i < a.nrows; i += 2) { /* these are eliminated first */
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                if (a.col_ind[k] == i) { a.val[k] = pivots[p]; }
            }
        }
        compute(&a, INT64_MAX, &f);
        assert_non_null(f.klu);
        check_solves(&a, &f);
    }
    close_factors(&f);
    oracle_free(&a);
}

/* lu in FP64 takes them, new values too, and takes MUMPS where new values have no pivot for them. */
static void the_preconditioner_takes_them(void **state)
{
    oracle_csr a = network(200, 4.0, 9), worse = network(200, 4.0, 9);
    const tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP64);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double *b = random_values(200, 5, -1.0, 1.0), z[200];
    tess_precond *m = NULL;

    (void)state;
    if (tess_precond_create(matrix, &options, &m) == TESS_UNSUPPORTED) { goto cleanup; } /* a build without MUMPS */
    apply_precond(m, 200, b, z);
    check_backward_error(&a, b, z, TESS_PRECISION_FP64);
    for (int64_t k = a.row_ptr[7]; k < a.row_ptr[8]; k++) { /* an empty row */
        worse.val[k] = 0.0;
    }
    replace_values(ctx, matrix, &worse);
    if (tess_precond_update(m) == TESS_SUCCESS) { apply_precond(m, 200, b, z); } /* a pivot was set aside */
    replace_values(ctx, matrix, &a);
    assert_ok(ctx, tess_precond_update(m));
    apply_precond(m, 200, b, z);
    check_backward_error(&a, b, z, TESS_PRECISION_FP64);
    tess_precond_destroy(m);
cleanup:
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    oracle_free(&worse);
    free(b);
}

int main(void)
{
    if (!klu_is_here()) { return 77; } /* a build without it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_are_solved),
        cmocka_unit_test(the_rest_is_left_to_others),
        cmocka_unit_test(new_values_get_new_pivots),
        cmocka_unit_test(the_preconditioner_takes_them),
    };

    return run_with_context(open_cpu(2), tests, &ctx);
}
