/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner saddle: what it reports of its choices, and bad requests. */
#include "support/saddle.h"

/* ---- reports ---- */

static tess_saddle_parts parts_of(tess_context *ctx, const oracle_csr *k, const tess_precond_options *o)
{
    tess_matrix *m = make_matrix(ctx, k);
    tess_precond *made = make_precond(ctx, m, o);
    tess_saddle_parts parts;

    tess_saddle_parts_init(&parts);
    assert_ok(ctx, tess_precond_get_saddle(made, &parts));
    assert_int_equal(tess_precond_get_kind(made), TESS_PRECOND_SADDLE);
    assert_int_equal(tess_precond_get_kind(parts.a_precond), o->saddle.a_precond);
    assert_int_equal(tess_precond_get_kind(parts.schur_precond), o->saddle.schur_precond);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    return parts;
}

/* A C without entries, with small ones, and with large ones of the other sign; and an index. */
static void reports_what_it_found(void **state)
{
    static const double c[] = {0.0, -1e-9, -1.0};
    int64_t index[CONSTRAINTS];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t i = 0; i < CONSTRAINTS; i++) {
        index[i] = UNKNOWNS + i;
    }
    for (int k = 0; k < 3; k++) {
        oracle_csr a = chain_of(-0.75, true, c[k]);
        tess_precond_options o = saddle(TESS_SADDLE_AUTO, TESS_SCHUR_SELFP, TESS_PRECOND_JACOBI);
        tess_saddle_parts parts = parts_of(ctx, &a, &o);

        assert_int_equal(parts.unknowns, UNKNOWNS);
        assert_int_equal(parts.constraints, CONSTRAINTS);
        assert_int_equal(parts.index_given, 0);
        assert_int_equal(parts.zero_diagonals, k == 0 ? CONSTRAINTS : 0);
        assert_int_equal(parts.small_diagonals, k == 1 ? CONSTRAINTS : 0);
        assert_int_equal(parts.opposite_diagonals, k == 2 ? CONSTRAINTS : 0);
        assert_int_equal(parts.factorization, TESS_SADDLE_UPPER);
        assert_int_equal(parts.schur, TESS_SCHUR_SELFP);
        o.saddle.index = index;
        o.saddle.index_count = CONSTRAINTS - (k > 0);
        parts = parts_of(ctx, &a, &o);
        assert_int_equal(parts.constraints, CONSTRAINTS - (k > 0));
        assert_int_equal(parts.index_given, 1);
        assert_int_equal(parts.zero_diagonals + parts.small_diagonals + parts.opposite_diagonals, 0);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void others_have_no_parts(void **state)
{
    oracle_csr a = oracle_laplace2d(3);
    const tess_precond_options o = precond_of(TESS_PRECOND_JACOBI, 0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *made = make_precond(ctx, m, &o);
    tess_saddle_parts parts;

    (void)state;
    tess_saddle_parts_init(&parts);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_get_saddle(made, &parts));
    assert_int_equal(tess_precond_get_kind(made), TESS_PRECOND_JACOBI);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- bad requests ---- */

static void refuse(tess_context *ctx, const oracle_csr *a, const tess_precond_options *o, tess_status status,
                   const char *words)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_precond *made = NULL;

    assert_fails(ctx, status, tess_precond_create(m, o, &made));
    assert_null(made);
    if (!strstr(tess_context_last_error(ctx)->message, words)) {
        fail_msg("'%s' is not in: %s", words, tess_context_last_error(ctx)->message);
    }
    tess_matrix_destroy(m);
}

static void wrong_indices_are_refused(void **state)
{
    oracle_csr a = chain_of(-0.75, true, 0.0);
    tess_precond_options o = precond_of(TESS_PRECOND_SADDLE, 0);
    int64_t index[ROWS] = {UNKNOWNS, UNKNOWNS};
    tess_context *ctx = open_cpu(1);

    (void)state;
    o.saddle.index = index;
    o.saddle.index_count = 2;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "the index has row 41 twice");
    index[1] = ROWS;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "entry 2 of the index is row 53, but the matrix has 52 rows");
    index[1] = -1;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "entry 2 of the index is row 0");
    o.saddle.index_count = ROWS;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "an index of 52 rows does not fit a matrix of 52 rows");
    o.saddle.index_count = -3;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "does not fit");
    o.saddle.index_count = 1; /* the others stay in the first block */
    refuse(ctx, &a, &o, TESS_SINGULAR, "row 42 belongs to the first block, but has no diagonal entry");
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void matrices_that_are_none_are_refused(void **state)
{
    oracle_csr laplace = oracle_laplace2d(6), skew = oracle_tridiagonal(8, -1.0, 0.0, 1.0),
               empty = chain_of(-0.75, true, 0.0), cut = chain_of(-0.75, true, 0.0);
    tess_precond_options o = precond_of(TESS_PRECOND_SADDLE, 0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    refuse(ctx, &laplace, &o, TESS_UNSUPPORTED, "the matrix has no zero block");
    for (int64_t e = 0; e < skew.nnz; e++) {
        skew.val[e] = skew.col_ind[e] == 0 ? 0.0 : skew.val[e];
    }
    refuse(ctx, &skew, &o, TESS_UNSUPPORTED, "no row has a diagonal entry");
    for (int64_t e = empty.row_ptr[UNKNOWNS + 2]; e < empty.row_ptr[UNKNOWNS + 3]; e++) {
        empty.val[e] = 0.0;
    }
    refuse(ctx, &empty, &o, TESS_SINGULAR, "row 43 is a constraint without entries");
    for (int64_t i = 0; i < UNKNOWNS; i++) { /* no unknown sees constraint 3 */
        for (int64_t e = cut.row_ptr[i]; e < cut.row_ptr[i + 1]; e++) {
            cut.val[e] = cut.col_ind[e] == UNKNOWNS + 2 ? 0.0 : cut.val[e];
        }
    }
    refuse(ctx, &cut, &o, TESS_SINGULAR, "the Schur complement breaks down in row 43");
    tess_context_destroy(ctx);
    oracle_free(&laplace);
    oracle_free(&skew);
    oracle_free(&empty);
    oracle_free(&cut);
}

static void bad_values_of_a_schur_matrix_are_its_own(void **state)
{
    oracle_csr a = chain_of(-0.75, true, 0.0), s = oracle_tridiagonal(CONSTRAINTS, -1.0, 2.0, -1.0);
    tess_precond_options o = saddle(TESS_SADDLE_AUTO, TESS_SCHUR_USER, TESS_PRECOND_ILU0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *schur = NULL;

    (void)state;
    s.val[4] = NAN; /* row 2, column 3 */
    schur = make_matrix(ctx, &s);
    o.saddle.schur_matrix = schur;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "schur_matrix holds nan in row 2, column 3");
    tess_matrix_destroy(schur);
    s.val[0] = s.val[1] = s.val[4] = 0.0; /* row 1 is empty */
    schur = make_matrix(ctx, &s);
    o.saddle.schur_matrix = schur;
    refuse(ctx, &a, &o, TESS_SINGULAR, "nothing solves with schur_matrix");
    tess_matrix_destroy(schur);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&s);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    oracle_csr a = chain_of(-0.75, true, 0.0), c = chain_of(-0.75, true, -0.5), s = oracle_laplace2d(3);
    tess_precond_options o = saddle(TESS_SADDLE_AUTO, TESS_SCHUR_USER, TESS_PRECOND_AUTO);
    tess_context *ctx = open_cpu(1);
    tess_matrix *schur = make_matrix(ctx, &s);

    (void)state;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "schur user and schur_matrix go together");
    o.saddle.schur_matrix = schur;
    refuse(ctx, &a, &o, TESS_DIMENSION_MISMATCH, "schur_matrix has 9 rows, but there are 12 constraints");
    o.saddle.schur = TESS_SCHUR_LSC;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "go together");
    o.saddle.schur_matrix = NULL;
    refuse(ctx, &c, &o, TESS_UNSUPPORTED, "lsc is for a zero block C");
    o = saddle(TESS_SADDLE_AUTO, TESS_SCHUR_AUTO, TESS_PRECOND_POLYNOMIAL);
    refuse(ctx, &a, &o, TESS_UNSUPPORTED, "cannot solve with its blocks by polynomial");
    o = precond_of(TESS_PRECOND_SADDLE, 0);
    o.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "--precond-precision is not for --precond saddle");
    o = precond_of(TESS_PRECOND_SADDLE, 0);
    o.saddle.factorization = (tess_saddle_factorization)9;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "tess_saddle_options.factorization");
    o = precond_of(TESS_PRECOND_SADDLE, 0);
    o.saddle.schur = (tess_saddle_schur)9;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "tess_saddle_options.schur");
    o = precond_of(TESS_PRECOND_JACOBI, 0);
    o.saddle.schur = TESS_SCHUR_LSC;
    refuse(ctx, &a, &o, TESS_INVALID_ARGUMENT, "is for --precond saddle");
    tess_matrix_destroy(schur);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&c);
    oracle_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_what_it_found),
        cmocka_unit_test(others_have_no_parts),
        cmocka_unit_test(wrong_indices_are_refused),
        cmocka_unit_test(matrices_that_are_none_are_refused),
        cmocka_unit_test(bad_values_of_a_schur_matrix_are_its_own),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
