/* SPDX-License-Identifier: Apache-2.0 */
/* The ventricle: its mesh, conservation and signs of the time step, orders, points, arguments. */
#include "gallery/ventricle.h"
#include "support/gallery.h"
#include "support/heap.h"

static ventricle make_mesh(tess_context *ctx, int64_t cells, ventricle_order order, int64_t seed)
{
    ventricle v;

    assert_ok(ctx, ventricle_create(ctx, &(ventricle_options){cells, order, seed}, &v));
    return v;
}

/* ---- mesh ---- */

static void cells_fill_the_wall(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int64_t seed = 0; seed < 4; seed++) {
        ventricle v = make_mesh(ctx, seed == 3 ? 20000 : 1000 + 500 * seed, VENTRICLE_NATURAL, seed);
        double sum = 0.0, least = INFINITY, mean;

        for (int64_t cell = 0; cell < v.cells; cell++) {
            sum += v.volume[cell];
            least = fmin(least, v.volume[cell]);
        }
        mean = sum / (double)v.cells;
        assert_at_most(0.02 * mean, least);
        /* the curved wall has 3170.13 mm^3, by quadrature of its parametrisation; chords cut off the square of a cell
         */
        assert_at_most(fabs(sum / 3170.13 - 1.0), seed == 3 ? 0.005 : 0.04);
        ventricle_release(ctx, &v);
    }
    tess_context_destroy(ctx);
}

/* Whose neighbour one is, that is one's own neighbour, across the same three nodes. */
static void neighbours_share_a_face(void **state)
{
    tess_context *ctx = open_cpu(2);
    ventricle v = make_mesh(ctx, 1500, VENTRICLE_NATURAL, 3);
    int64_t boundary = 0;

    (void)state;
    for (int64_t cell = 0; cell < v.cells; cell++) {
        for (int face = 0; face < 4; face++) {
            int64_t other = ventricle_neighbour(&v, cell, face);
            double area[3], back[3];
            int mirrored = 0;

            ventricle_face_area(&v, cell, face, area);
            boundary += other < 0;
            for (int f = 0; other >= 0 && f < 4; f++) {
                if (ventricle_neighbour(&v, other, f) != cell) { continue; }
                ventricle_face_area(&v, other, f, back);
                mirrored++;
                assert_memory_equal(area, back, sizeof area);
            }
            assert_int_equal(mirrored, other >= 0);
        }
    }
    /* two triangles for each quadrilateral on the four sides that are no seam */
    assert_int_equal(boundary, 4 * v.counts[1] * (v.counts[0] + v.counts[2]));
    ventricle_release(ctx, &v);
    tess_context_destroy(ctx);
}

static void fibres_turn_through_the_wall(void **state)
{
    tess_context *ctx = open_cpu(2);
    ventricle v = make_mesh(ctx, 20000, VENTRICLE_NATURAL, 1);
    int64_t layers = v.counts[0];

    (void)state;
    for (int64_t cell = 0; cell < v.cells; cell++) {
        const double *f = v.fibre + 3 * cell;
        int64_t layer = cell / 6 % layers;

        assert_at_most(fabs(f[0] * f[0] + f[1] * f[1] + f[2] * f[2] - 1.0), 16 * U64);
        if (layer == 0) { assert_true(f[2] > 0.0); }
        if (layer == layers - 1) { assert_true(f[2] < 0.0); }
    }
    ventricle_release(ctx, &v);
    tess_context_destroy(ctx);
}

/* ---- operator ---- */

static void steps_conserve_and_keep_signs(void **state)
{
    tess_context *ctx = open_cpu(2);
    ventricle v = make_mesh(ctx, 3000, VENTRICLE_NATURAL, 5);
    oracle_csr a = generate_problem("ventricle 3000 natural 5", 2);
    double smallest = 1.0;

    (void)state;
    assert_int_equal(a.nrows, v.cells);
    for (int64_t i = 0; i < a.nrows; i++) {
        double sum = 0.0;

        assert_in_range(a.row_ptr[i + 1] - a.row_ptr[i], 3, 5);
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            int64_t j = a.col_ind[k];

            assert_true(k == a.row_ptr[i] || a.col_ind[k - 1] < j);
            assert_true(a.val[k] > 0.0 && a.val[k] < 1.0);
            sum += a.val[k];
            if (j == i) { smallest = fmin(smallest, a.val[k]); }
            /* the flow from i to j equals that from j to i: both from the same T, with three roundings each */
            if (j != i) {
                double given = v.volume[i] * a.val[k], taken = v.volume[j] * entry(&a, j, i);

                assert_at_most(fabs(given - taken), gamma_of(6) * given);
            }
        }
        assert_at_most(fabs(sum - 1.0), gamma_of(10));
    }
    assert_at_most(fabs(smallest - 0.1), gamma_of(10)); /* the row that limits the time step */
    oracle_free(&a);
    ventricle_release(ctx, &v);
    tess_context_destroy(ctx);
}

/* Bit for bit the natural matrix, permuted. Returns the greatest distance of an entry from the diagonal. */
static int64_t check_order(const oracle_csr *natural, const char *request, ventricle_order order)
{
    tess_context *ctx = open_cpu(2);
    ventricle v = make_mesh(ctx, 2000, order, 4);
    oracle_csr a = generate_problem(request, 2);
    int64_t bandwidth = 0;

    assert_int_equal(a.nnz, natural->nnz);
    for (int64_t i = 0; i < a.nrows; i++) {
        assert_int_equal(ventricle_row_of(&v, ventricle_cell_of(&v, i)), i);
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            int64_t j = a.col_ind[k], distance = i > j ? i - j : j - i;

            assert_true(a.val[k] == entry(natural, ventricle_cell_of(&v, i), ventricle_cell_of(&v, j)));
            bandwidth = distance > bandwidth ? distance : bandwidth;
        }
    }
    oracle_free(&a);
    ventricle_release(ctx, &v);
    tess_context_destroy(ctx);
    return bandwidth;
}

static void orders_permute_one_matrix(void **state)
{
    oracle_csr natural = generate_problem("ventricle 2000 natural 4", 1);
    int64_t random_width = check_order(&natural, "ventricle 2000 random 4", VENTRICLE_RANDOM);
    int64_t rcm_width = check_order(&natural, "ventricle 2000 rcm 4", VENTRICLE_RCM);

    (void)state;
    assert_true(random_width > natural.nrows / 2);
    assert_true(rcm_width < natural.nrows / 4);
    oracle_free(&natural);
}

static void threads_do_not_matter_and_seeds_do(void **state)
{
    (void)state;
    assert_true(problems_agree("ventricle 2000 rcm 1", 1, "ventricle 2000 rcm 1", 3));
    assert_false(problems_agree("ventricle 2000 rcm 1", 1, "ventricle 2000 rcm 2", 1));
}

/* ---- points and potential ---- */

static void points_and_potential_follow_the_rows(void **state)
{
    const char *const args[] = {"20000", "random", "2"};
    tess_context *ctx = open_cpu(2);
    ventricle v = make_mesh(ctx, 20000, VENTRICLE_RANDOM, 2);
    int64_t n = v.cells;
    double *xyz = test_allocate(3 * n, sizeof *xyz), *u = test_allocate(n, sizeof *u), highest = -INFINITY;
    tess_vector *potential = NULL;

    (void)state;
    assert_ok(ctx, tess_gallery_ventricle_points(ctx, 3, args, xyz));
    assert_ok(ctx, tess_gallery_ventricle_potential(ctx, 3, args, &potential));
    assert_int_equal(tess_vector_size(potential), n);
    read_vector(potential, u);
    for (int64_t i = 0; i < n; i++) {
        double x = xyz[i], y = xyz[n + i], z = xyz[2 * n + i], mean[3] = {0.0, 0.0, 0.0}, squared;
        int64_t corner[4];

        ventricle_corners(&v, ventricle_cell_of(&v, i), corner);
        for (int c = 0; c < 4; c++) {
            for (int d = 0; d < 3; d++) {
                mean[d] += 0.25 * v.node[3 * corner[c] + d];
            }
        }
        assert_at_most(fabs(x - mean[0]) + fabs(y - mean[1]) + fabs(z - mean[2]), gamma_of(8) * 60.0);
        assert_true(z > -20.0 && z < 5.0 && x * x + y * y < 100.0);
        squared = (x - 5.0217) * (x - 5.0217) + y * y + (z + 11.844) * (z + 11.844);
        assert_at_most(fabs(u[i] - (-85.0 + 100.0 * exp(-squared / 8.0))), 1e-12);
        highest = fmax(highest, u[i]);
    }
    assert_true(highest > 5.0); /* some cell lies at the pulse */
    tess_vector_destroy(potential);
    free(xyz);
    free(u);
    ventricle_release(ctx, &v);
    tess_context_destroy(ctx);
}

/* ---- errors ---- */

static void wrong_arguments_are_refused(void **state)
{
    static const struct {
        const char *args[4];
        int nargs;
        tess_status status;
        const char *hint; /* part of it */
    } cases[] = {{{NULL}, 0, TESS_INVALID_ARGUMENT, "ventricle CELLS [ORDER [SEED]]"},
                 {{"999"}, 1, TESS_INVALID_ARGUMENT, "from 1000"},
                 {{"2000000001"}, 1, TESS_OUT_OF_RANGE, "2000000000"},
                 {{"1000", "rmc"}, 2, TESS_INVALID_ARGUMENT, "natural, random, rcm"},
                 {{"1000", "rcm", "-1"}, 3, TESS_INVALID_ARGUMENT, "SEED"},
                 {{"1000", "rcm", "1", "1"}, 4, TESS_INVALID_ARGUMENT, "ventricle CELLS [ORDER [SEED]]"}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_vector *u = NULL;
        tess_matrix *m = NULL;
        double none = 7.0;

        assert_fails(ctx, cases[i].status, tess_gallery_create(ctx, "ventricle", cases[i].nargs, cases[i].args, &m));
        assert_non_null(strstr(tess_context_last_error(ctx)->hint, cases[i].hint));
        assert_fails(ctx, cases[i].status, tess_gallery_ventricle_points(ctx, cases[i].nargs, cases[i].args, &none));
        assert_fails(ctx, cases[i].status, tess_gallery_ventricle_potential(ctx, cases[i].nargs, cases[i].args, &u));
        assert_true(!m && !u && none == 7.0);
    }
    tess_context_destroy(ctx);
}

static tess_status make_all(tess_context *ctx, double *xyz)
{
    static const char *const args[] = {"1000", "rcm"};
    tess_matrix *m = NULL;
    tess_vector *u = NULL;
    tess_status status = tess_gallery_create(ctx, "ventricle", 2, args, &m);

    if (status == TESS_SUCCESS) { status = tess_gallery_ventricle_points(ctx, 2, args, xyz); }
    if (status == TESS_SUCCESS) { status = tess_gallery_ventricle_potential(ctx, 2, args, &u); }
    assert_int_equal(status == TESS_SUCCESS, u != NULL);
    tess_matrix_destroy(m);
    tess_vector_destroy(u);
    return status;
}

/* The k-th allocation fails, for k = 0, 1, ...: the error says so, and all memory is freed. */
static void failed_allocations_are_reported_and_leave_nothing(void **state)
{
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_status status = TESS_OUT_OF_MEMORY;
    double *xyz = test_allocate(3 * 2000, sizeof *xyz);
    int64_t before, k = 0;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 2;
    options.host_allocator = heap_allocator(&h);
    assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
    before = h.live;
    for (; status != TESS_SUCCESS; k++) {
        heap_fail_at(&h, k);
        status = make_all(ctx, xyz);
        if (status != TESS_SUCCESS) { assert_int_equal(status, TESS_OUT_OF_MEMORY); }
        assert_int_equal(h.live, before);
    }
    assert_true(k > 20);
    free(xyz);
    tess_context_destroy(ctx);
    assert_int_equal(h.live, 0);
    assert_int_equal(h.wrong_releases, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_fill_the_wall),
        cmocka_unit_test(neighbours_share_a_face),
        cmocka_unit_test(fibres_turn_through_the_wall),
        cmocka_unit_test(steps_conserve_and_keep_signs),
        cmocka_unit_test(orders_permute_one_matrix),
        cmocka_unit_test(threads_do_not_matter_and_seeds_do),
        cmocka_unit_test(points_and_potential_follow_the_rows),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(failed_allocations_are_reported_and_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
