/* SPDX-License-Identifier: Apache-2.0 */
/* The gallery's mathematics: symmetry, definiteness, eigenvalues, irregularity, shares of low rows. */
#include "support/gallery.h"

static double *to_dense(const oracle_csr *a)
{
    double *dense = test_allocate(a->nrows * a->ncols, sizeof *dense);

    memset(dense, 0, (size_t)(a->nrows * a->ncols) * sizeof *dense);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            dense[i * a->ncols + a->col_ind[k]] = a->val[k];
        }
    }
    return dense;
}

/* a_ij and a_ji agree in every bit. */
static void assert_symmetric(const oracle_csr *a)
{
    double *dense = to_dense(a);

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t j = 0; j < i; j++) {
            assert_memory_equal(&dense[i * a->ncols + j], &dense[j * a->ncols + i], sizeof(double));
        }
    }
    free(dense);
}

/* Smallest pivot of a Cholesky factorisation; stops at the first that is not positive. */
static double smallest_pivot(const oracle_csr *a)
{
    double *l = to_dense(a), least = INFINITY;
    int64_t n = a->nrows;

    for (int64_t k = 0; k < n && least > 0.0; k++) {
        double pivot = l[k * n + k];

        least = fmin(least, pivot);
        for (int64_t i = k + 1; i < n; i++) {
            double factor = l[i * n + k] / pivot;

            for (int64_t j = k + 1; j < n && factor != 0.0; j++) {
                l[i * n + j] -= factor * l[k * n + j];
            }
        }
    }
    free(l);
    return least;
}

/* ---- mathematics ---- */

static void symmetric_problems_are_positive_definite(void **state)
{
    static const char *const requests[] = {"laplace1d 20",
                                           "laplace2d 8",
                                           "star2d 7",
                                           "laplace3d 5",
                                           "laplace3d27 5",
                                           "anisotropic2d 9 0.001 30",
                                           "anisotropic2d 9 1000 -50",
                                           "randomdiffusion2d 9 3 5",
                                           "randomdiffusion3d 5 2",
                                           "elasticity3d 1",
                                           "elasticity3d 4 7",
                                           "unstructured2d 1",
                                           "unstructured2d 2",
                                           "unstructured2d 5",
                                           "unstructured2d 300",
                                           "unstructured2d-rcm 300",
                                           "powerlaw 200",
                                           "randomspd 100",
                                           "randomspd 1",
                                           "randomspd 2 3",
                                           "arrow 20",
                                           "one-by-one",
                                           "hilbert 4"};

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        oracle_csr a = generate_problem(requests[i], 2);

        assert_sorted(&a);
        assert_symmetric(&a);
        if (!(smallest_pivot(&a) > 0.0)) { fail_msg("%s is not positive definite", requests[i]); }
        oracle_free(&a);
    }
}

static void indefinite_problem_is_not_positive_definite(void **state)
{
    oracle_csr a = generate_problem("indefinite 8", 1);

    (void)state;
    assert_symmetric(&a);
    assert_true(smallest_pivot(&a) < 0.0);
    oracle_free(&a);
}

/* Symmetric, with a positive definite A and a definite S: as many negative pivots as pressures, and none near 0. */
static void flows_are_saddle_points(void **state)
{
    static const struct {
        const char *request;
        int64_t pressures;
    } flows[] = {{"stokes2d 2", 3}, {"stokes2d 7", 48}, {"stokes3d 2", 7}, {"stokes3d 4", 63}};

    (void)state;
    for (size_t f = 0; f < sizeof flows / sizeof flows[0]; f++) {
        oracle_csr a = generate_problem(flows[f].request, 2);
        const int64_t n = a.nrows, first = n - flows[f].pressures;
        double *l = to_dense(&a);

        assert_sorted(&a);
        assert_symmetric(&a);
        for (int64_t k = 0; k < n; k++) {
            const double pivot = l[k * n + k];

            assert_true(k < first ? pivot > 0.5 : pivot < -1e-3);
            for (int64_t i = k + 1; i < n; i++) {
                for (int64_t j = k + 1; j < n && l[i * n + k] != 0.0; j++) {
                    l[i * n + j] -= l[i * n + k] / pivot * l[k * n + j];
                }
            }
        }
        for (int64_t i = first; i < n; i++) {
            assert_true(entry(&a, i, i) == 0.0);
        }
        free(l);
        oracle_free(&a);
    }
}

/* Away from the clamped face a translation needs no force, whatever the coefficients. */
static void elasticity_leaves_translations_alone(void **state)
{
    oracle_csr a = generate_problem("elasticity3d 5 3", 2);

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        double sum[3] = {0.0, 0.0, 0.0}, magnitude = 0.0;

        if (i / 3 < 36) { continue; } /* coupled to the clamped face */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            sum[a.col_ind[k] % 3] += a.val[k];
            magnitude += fabs(a.val[k]);
        }
        for (int j = 0; j < 3; j++) {
            assert_at_most(fabs(sum[j]), gamma_of(82) * magnitude);
        }
    }
    oracle_free(&a);
}

static void triangulation_is_irregular_and_of_the_right_size(void **state)
{
    oracle_csr a = generate_problem("unstructured2d 4000", 2);
    int64_t least = INT64_MAX, most = 0;

    (void)state;
    assert_int_equal(a.nrows, 4000);
    for (int64_t i = 0; i < a.nrows; i++) {
        int64_t length = a.row_ptr[i + 1] - a.row_ptr[i];

        least = length < least ? length : least;
        most = length > most ? length : most;
    }
    assert_in_range(least, 2, 4);
    assert_in_range(most, 10, 20);
    assert_in_range(a.nnz, 27000, 28000); /* 7 per row, less at the boundary */
    oracle_free(&a);
}

static void random_spd_has_its_smallest_eigenvalue(void **state)
{
    /* With v the vector of signs, A v = delta v; signs are those of row 0's neighbours, followed through the graph. */
    oracle_csr a = generate_problem("randomspd 60 12 1000 9", 1);
    double sign[60] = {1.0}, delta, largest = 0.0;

    (void)state;
    for (int pass = 0; pass < 60; pass++) {
        for (int64_t i = 0; i < 60; i++) {
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                int64_t j = a.col_ind[k];

                if (sign[i] != 0.0 && j != i) { sign[j] = a.val[k] < 0.0 ? sign[i] : -sign[i]; }
            }
        }
    }
    for (int64_t i = 0; i < 60; i++) {
        largest = fmax(largest, entry(&a, i, i));
    }
    delta = 2.0 * largest / (1000.0 + 1.0); /* largest = w + delta, delta = 2 w / 999 */
    for (int64_t i = 0; i < 60; i++) {
        double sum = 0.0;

        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            sum += a.val[k] * sign[a.col_ind[k]];
        }
        assert_at_most(fabs(sum * sign[i] - delta), gamma_of(40) * 2.0 * largest);
    }
    oracle_free(&a);
}

static void power_law_is_a_graph_laplacian_with_hubs(void **state)
{
    oracle_csr a = generate_problem("powerlaw 5000 20000", 2);
    int64_t most = 0;

    (void)state;
    assert_int_equal(a.nnz, 5000 + 2 * 20000);
    for (int64_t i = 0; i < a.nrows; i++) {
        int64_t length = a.row_ptr[i + 1] - a.row_ptr[i];

        assert_true(entry(&a, i, i) == (double)length);
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            assert_true(a.col_ind[k] == i || a.val[k] == -1.0);
        }
        most = length > most ? length : most;
    }
    assert_in_range(most, 500, 2000); /* the mean is 9 */
    oracle_free(&a);
}

/* ---- row rule ---- */

/* Percentage of the nonzeros in rows whose values all lie strictly inside a tenth of the mean magnitude. */
static double low_percentage(const oracle_csr *a)
{
    double sum = 0.0, r;
    int64_t low = 0;

    for (int64_t k = 0; k < a->nnz; k++) {
        sum += fabs(a->val[k]);
    }
    r = 0.1 * sum / (double)a->nnz;
    for (int64_t i = 0; i < a->nrows; i++) {
        bool inside = true;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            inside = inside && fabs(a->val[k]) < r;
        }
        low += inside ? a->row_ptr[i + 1] - a->row_ptr[i] : 0;
    }
    return 100.0 * (double)low / (double)a->nnz;
}

static void assert_low(const char *request, double least, double most)
{
    oracle_csr a = generate_problem(request, 2);
    double percent = low_percentage(&a);

    assert_at_most(least, percent);
    assert_at_most(percent, most);
    oracle_free(&a);
}

/* 27,000 rows: the sequence is even to a few rows, and rows differ by at most 3 nonzeros. */
static void scaled_rows_are_low_in_the_share_asked_for(void **state)
{
    (void)state;
    assert_low("rowscale 30 0", 0.0, 0.0);
    assert_low("rowscale 30 10", 9.9, 10.1);
    assert_low("rowscale 30 25", 24.9, 25.1);
    assert_low("rowscale 30 50", 49.9, 50.1);
    assert_low("rowscale 30 75", 74.9, 75.1);
    assert_low("rowscale 30 99", 98.9, 99.1);
    assert_low("rowscale 30 100", 99.9, 99.9999);
    /* small ones: one high row at least */
    assert_low("rowscale 2 50", 12.5, 87.5);
    assert_low("rowscale 1 100", 0.0, 0.0);
}

static void scaled_rows_are_exact_multiples(void **state)
{
    oracle_csr a = generate_problem("rowscale 8 50", 1), b = generate_problem("laplace3d 8", 1);

    (void)state;
    assert_int_equal(a.nnz, b.nnz);
    for (int64_t i = 0; i < a.nrows; i++) {
        double scale = a.val[a.row_ptr[i]] / b.val[b.row_ptr[i]];
        int exponent;

        assert_true(frexp(scale, &exponent) == 0.5);
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            assert_true(a.val[k] == scale * b.val[k]);
        }
    }
    oracle_free(&a);
    oracle_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_problems_are_positive_definite),
        cmocka_unit_test(indefinite_problem_is_not_positive_definite),
        cmocka_unit_test(flows_are_saddle_points),
        cmocka_unit_test(elasticity_leaves_translations_alone),
        cmocka_unit_test(triangulation_is_irregular_and_of_the_right_size),
        cmocka_unit_test(random_spd_has_its_smallest_eigenvalue),
        cmocka_unit_test(power_law_is_a_graph_laplacian_with_hubs),
        cmocka_unit_test(scaled_rows_are_low_in_the_share_asked_for),
        cmocka_unit_test(scaled_rows_are_exact_multiples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
