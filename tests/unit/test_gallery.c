/* SPDX-License-Identifier: Apache-2.0 */
/* The gallery: sizes, values in rows worked out by hand, threads, arguments. */
#include <unistd.h>

#include <tessera/gallery.h>

#include "gallery/stencils.h"
#include "support/gallery.h"
#include "support/heap.h"

/* ---- sizes ---- */

static void assert_size(const char *request, int64_t n, int64_t nnz)
{
    oracle_csr a = generate_problem(request, 2);

    assert_int_equal(a.nrows, n);
    assert_int_equal(a.ncols, n);
    assert_int_equal(a.nnz, nnz);
    assert_sorted(&a);
    oracle_free(&a);
}

static void sizes_follow_from_the_grid(void **state)
{
    (void)state;
    assert_size("laplace1d 10", 10, 28);
    assert_size("laplace2d 10", 100, 460);
    assert_size("laplace2d 10 3", 30, 30 + 2 * (9 * 3 + 10 * 2));
    assert_size("star2d 6", 36, 16 * 16);
    assert_size("stretched2d 6", 36, 16 * 16);
    assert_size("laplace3d 5 4 3", 60, 60 + 2 * (4 * 4 * 3 + 5 * 3 * 3 + 5 * 4 * 2));
    assert_size("laplace3d27 4", 64, 1000);
    assert_size("uniflow2d 10", 100, 460);
    assert_size("bentpipe2d 10", 100, 460);
    assert_size("recirc2d 10", 100, 460);
    assert_size("anisotropic2d 10 0.01", 100, 460);
    assert_size("anisotropic2d 10 0.01 90", 100, 460);
    assert_size("anisotropic2d 10 0.01 30", 100, 28 * 28);
    assert_size("randomdiffusion2d 10", 100, 460);
    assert_size("helmholtz2d 10", 200, 4 * 460);
    assert_size("eddy3d 5 2.5", 250, 4 * (125 + 6 * 4 * 5 * 5));
    assert_size("accircuit 10 3", 200, 4 * 460);
    assert_size("randomdiffusion3d 4", 64, 64 + 6 * 48);
    /* 20 faces across each direction, with 31 couplings; 40 faces have two cells, but 2 lose the last one */
    assert_size("stokes2d 5", 64, 2 * (20 + 2 * 31) + 2 * (2 * 40 - 2));
    assert_size("stokes3d 3", 80, 3 * (18 + 2 * 33) + 2 * (2 * 54 - 3));
    assert_size("elasticity3d 4", 300, 10 * 13 * 13 * 9);
    assert_size("rowscale 6 50", 216, 216 + 6 * 180);
    assert_size("powerlaw 1000", 1000, 20000);
    assert_size("powerlaw 7 21", 7, 49);
    assert_size("powerlaw 1", 1, 1);
    assert_size("hilbert 12", 12, 144);
    assert_size("arrow 12", 12, 34);
    assert_size("denserow 9", 9, 31);
    assert_size("emptyrows 9", 9, 16);
    assert_size("one-by-one", 1, 1);
}

/* The points of the 3 by 3 by 3 box with at most `reach` nonzero offsets. */
static tess_stencil box_stencil(int64_t nx, int64_t ny, int64_t nz, int reach)
{
    tess_stencil s = {.nx = nx, .ny = ny, .nz = nz};

    for (int c = 0; c < 27; c++) {
        int dx = c % 3 - 1, dy = c / 3 % 3 - 1, dz = c / 9 - 1;

        if (abs(dx) + abs(dy) + abs(dz) > reach) { continue; }
        s.dx[s.points] = (signed char)dx;
        s.dy[s.points] = (signed char)dy;
        s.dz[s.points++] = (signed char)dz;
    }
    return s;
}

static int64_t stencil_nnz(int64_t nx, int64_t ny, int64_t nz, int reach)
{
    tess_stencil s = box_stencil(nx, ny, nz, reach);

    return stencil_row_offset(&s, nx * ny * nz);
}

/* Sizes of the published tables, through the closed form that the device builder uses, without building. */
static void published_sizes_agree(void **state)
{
    (void)state;
    assert_int_equal(stencil_nnz(150, 150, 150, 1), 23490000); /* Laplace3D150 */
    assert_int_equal(stencil_nnz(2500, 2500, 1, 1), 31240000); /* UniFlow2D2500 */
    assert_int_equal(stencil_nnz(1500, 1500, 1, 1), 11244000); /* BentPipe2D1500 */
    assert_int_equal(stencil_nnz(1500, 1500, 1, 2), 20232004); /* Stretched2D1500 */
}

static void closed_form_offsets_agree_with_counting(void **state)
{
    static const int64_t grids[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {2, 2, 2}, {5, 4, 3}, {1, 4, 5}, {7, 1, 2}};

    (void)state;
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        tess_stencil s = box_stencil(grids[g][0], grids[g][1], grids[g][2], 3);
        int64_t counted = 0;

        for (int64_t row = 0; row < s.nx * s.ny * s.nz; row++) {
            assert_int_equal(stencil_row_offset(&s, row), counted);
            counted += stencil_row_length(&s, row);
        }
        assert_int_equal(stencil_row_offset(&s, s.nx * s.ny * s.nz), counted);
    }
}

/* ---- rows by hand ---- */

static void laplacians_have_their_rows(void **state)
{
    oracle_csr a = generate_problem("laplace2d 4 3", 1), b = generate_problem("laplace3d27 3", 1),
               c = generate_problem("stretched2d 3 0.25", 1);

    (void)state;
    /* point (1, 1) of 4 by 3 is row 5 */
    assert_int_equal(a.row_ptr[6] - a.row_ptr[5], 5);
    assert_memory_equal(a.col_ind + a.row_ptr[5], ((int32_t[]){1, 4, 5, 6, 9}), 5 * sizeof(int32_t));
    assert_memory_equal(a.val + a.row_ptr[5], ((double[]){-1, -1, 4, -1, -1}), 5 * sizeof(double));
    /* the end of one line is no neighbour of the start of the next */
    assert_true(entry(&a, 3, 4) == 0.0);
    assert_int_equal(b.row_ptr[14] - b.row_ptr[13], 27);
    assert_true(entry(&b, 13, 13) == 26.0 && entry(&b, 13, 0) == -1.0 && entry(&b, 0, 2) == 0.0);
    assert_memory_equal(c.val + c.row_ptr[4], ((double[]){-1, -3.75, -1, 1.75, 8, 1.75, -1, -3.75, -1}),
                        9 * sizeof(double));
    oracle_free(&a);
    oracle_free(&b);
    oracle_free(&c);
}

static void assert_near(double value, double expected)
{
    assert_at_most(fabs(value - expected), 16 * U64 * fabs(expected));
}

/* Powers of two throughout, so that the five coefficients are exact: h = 1/4, diffusion 1/16. */
static void convection_is_upwinded(void **state)
{
    oracle_csr a = generate_problem("uniflow2d 3 2 0.0625", 1), b = generate_problem("uniflow2d 3 -2 0.0625", 1);
    oracle_csr c = generate_problem("bentpipe2d 3 1 0.0625", 1), d = generate_problem("recirc2d 3 1 0.0625", 1);

    (void)state;
    /* wind to the right of 2: cx = 8 comes from the left */
    assert_true(entry(&a, 4, 3) == -9.0 && entry(&a, 4, 5) == -1.0 && entry(&a, 4, 4) == 12.0);
    assert_true(entry(&a, 4, 1) == -1.0 && entry(&a, 4, 7) == -1.0);
    assert_true(entry(&b, 4, 3) == -1.0 && entry(&b, 4, 5) == -9.0 && entry(&b, 4, 4) == 12.0);
    /* x = 1/4, y = 1/4: wind 2/4 (-7/8) (1/2) = -7/32 and -4/4 (-3/4) (3/4) = 9/16, times 4 */
    assert_near(entry(&c, 0, 1), -1.0 - 0.875);
    assert_near(entry(&c, 0, 0), 4.0 + 0.875 + 2.25);
    assert_near(entry(&c, 0, 3), -1.0);
    assert_near(entry(&c, 3, 0), -1.0 - 4 * (4 * 0.5 * 0.5 * 0.75)); /* y = 1/2: wind_y = 3/4 from below */
    /* x = 1/4, y = 1/4: wind 4/4 (-3/4) (1/2) = -3/8 and -4/4 (-3/4) (1/2) = 3/8, times 4 */
    assert_near(entry(&d, 0, 1), -1.0 - 1.5);
    assert_near(entry(&d, 0, 3), -1.0);
    assert_near(entry(&d, 0, 0), 4.0 + 1.5 + 1.5);
    oracle_free(&a);
    oracle_free(&b);
    oracle_free(&c);
    oracle_free(&d);
}

static void adversaries_are_what_they_say(void **state)
{
    oracle_csr zero = generate_problem("zero-row 9", 1), nan_row = generate_problem("nan 9", 1),
               wide_range = generate_problem("wide-range 7", 1);
    oracle_csr skew = generate_problem("skew 6", 1), indefinite = generate_problem("indefinite 6", 1),
               hilbert = generate_problem("hilbert 3", 1);
    int64_t nans = 0;

    (void)state;
    assert_int_equal(zero.row_ptr[5] - zero.row_ptr[4], 3);
    assert_true(entry(&zero, 4, 3) == 0.0 && entry(&zero, 4, 4) == 0.0 && entry(&zero, 3, 4) == -1.0);
    for (int64_t k = 0; k < nan_row.nnz; k++) {
        nans += isnan(nan_row.val[k]) != 0;
    }
    assert_int_equal(nans, 1);
    assert_near(entry(&wide_range, 0, 0), 1e-300);
    assert_near(entry(&wide_range, 6, 6), 1e300);
    for (int64_t i = 0; i < 5; i++) {
        assert_true(entry(&skew, i, i + 1) == -entry(&skew, i + 1, i) && entry(&skew, i, i) == 0.0);
    }
    assert_true(entry(&indefinite, 0, 0) == 4.0 && entry(&indefinite, 1, 1) == -4.0);
    assert_true(entry(&hilbert, 1, 2) == 0.25);
    oracle_free(&zero);
    oracle_free(&nan_row);
    oracle_free(&wide_range);
    oracle_free(&skew);
    oracle_free(&indefinite);
    oracle_free(&hilbert);
}

/* ---- determinism, seeds ---- */

static void threads_do_not_matter_and_seeds_do(void **state)
{
    static const char *const requests[][2] = {{"bentpipe2d 60", "bentpipe2d 60 2"},
                                              {"randomdiffusion2d 60 1 4", "randomdiffusion2d 60 1 5"},
                                              {"elasticity3d 12 1", "elasticity3d 12 2"},
                                              {"unstructured2d 3000 1", "unstructured2d 3000 2"},
                                              {"unstructured2d-rcm 3000 1", "unstructured2d-rcm 3000 2"},
                                              {"powerlaw 3000 9000 1", "powerlaw 3000 9000 2"},
                                              {"rowscale 20 50", "rowscale 20 51"},
                                              {"randomspd 3000 9 100 1", "randomspd 3000 9 100 2"}};

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        assert_true(problems_agree(requests[i][0], 1, requests[i][0], 3));
        assert_false(problems_agree(requests[i][0], 1, requests[i][1], 1));
    }
}

/* ---- replicate ---- */

static void replicate_copies_blocks(void **state)
{
    char path[] = "/tmp/tess_gallery_XXXXXX.mtx", request[64];
    int file = mkstemps(path, 4);
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n1 3 -2\n2 2 4\n";
    oracle_csr a;

    (void)state;
    assert_true(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)(sizeof text - 1));
    assert_int_equal(close(file), 0);
    snprintf(request, sizeof request, "replicate %s 3", path);
    a = generate_problem(request, 1);
    remove(path);
    assert_int_equal(a.nrows, 6);
    assert_int_equal(a.ncols, 9);
    assert_int_equal(a.nnz, 9);
    for (int64_t b = 0; b < 3; b++) {
        assert_true(entry(&a, 2 * b, 3 * b) == 1.5 && entry(&a, 2 * b, 3 * b + 2) == -2.0);
        assert_true(entry(&a, 2 * b + 1, 3 * b + 1) == 4.0);
    }
    oracle_free(&a);
}

/* ---- arguments ---- */

static void wrong_arguments_are_refused(void **state)
{
    static const struct {
        const char *request;
        tess_status status;
        const char *hint; /* part of it */
    } cases[] = {{"laplace2", TESS_NOT_FOUND, "laplace2d"},
                 {"bentpip2d 5", TESS_NOT_FOUND, "bentpipe2d"},
                 {"elasticity 4", TESS_NOT_FOUND, "elasticity3d"},
                 {"laplace2d", TESS_INVALID_ARGUMENT, "laplace2d N [NY]"},
                 {"laplace1d 4 4", TESS_INVALID_ARGUMENT, "laplace1d N"},
                 {"one-by-one 1", TESS_INVALID_ARGUMENT, "one-by-one"},
                 {"laplace2d 0", TESS_INVALID_ARGUMENT, "from 1"},
                 {"laplace2d -3", TESS_INVALID_ARGUMENT, "from 1"},
                 {"laplace2d 4x", TESS_INVALID_ARGUMENT, "integer"},
                 {"laplace2d 4.5", TESS_INVALID_ARGUMENT, "integer"},
                 {"laplace2d 5 0", TESS_INVALID_ARGUMENT, "NY"},
                 {"uniflow2d 5 1 -1", TESS_INVALID_ARGUMENT, "DIFF"},
                 {"uniflow2d 5 nan", TESS_INVALID_ARGUMENT, "CONV"},
                 {"uniflow2d 5 1,5", TESS_INVALID_ARGUMENT, "CONV"},
                 {"anisotropic2d 5 0", TESS_INVALID_ARGUMENT, "EPS"},
                 {"rowscale 5 101", TESS_INVALID_ARGUMENT, "PERCENT"},
                 {"randomspd 5 5 1", TESS_INVALID_ARGUMENT, "COND"},
                 {"helmholtz2d 5 -1", TESS_INVALID_ARGUMENT, "KH"},
                 {"helmholtz2d 40000", TESS_OUT_OF_RANGE, "32767"},
                 {"eddy3d 0", TESS_INVALID_ARGUMENT, "N"},
                 {"eddy3d 5 x", TESS_INVALID_ARGUMENT, "OMEGA"},
                 {"accircuit 5 -1", TESS_INVALID_ARGUMENT, "SEED"},
                 {"accircuit x", TESS_INVALID_ARGUMENT, "N"},
                 {"laplace1d 2147483648", TESS_OUT_OF_RANGE, "2147483647"},
                 {"laplace1d 99999999999999999999", TESS_OUT_OF_RANGE, "2147483647"},
                 {"laplace2d 46341", TESS_OUT_OF_RANGE, "smaller"},
                 {"laplace3d 1291", TESS_OUT_OF_RANGE, "smaller"},
                 {"laplace3d 2147483647 2147483647 2147483647", TESS_OUT_OF_RANGE, "smaller"},
                 {"elasticity3d 894", TESS_OUT_OF_RANGE, "893"},
                 {"hilbert 46341", TESS_OUT_OF_RANGE, "46340"},
                 {"powerlaw 10 46", TESS_OUT_OF_RANGE, "45"},
                 {"replicate /nonexistent/a.mtx 2", TESS_NOT_FOUND, ""},
                 {"replicate /nonexistent/a.mtx 0", TESS_INVALID_ARGUMENT, "K"}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *m = (tess_matrix *)ctx;

        assert_fails(ctx, cases[i].status, create_problem(ctx, cases[i].request, &m));
        assert_null(m);
        if (!strstr(tess_context_last_error(ctx)->hint, cases[i].hint)) {
            fail_msg("%s: the hint is '%s'", cases[i].request, tess_context_last_error(ctx)->hint);
        }
    }
    tess_context_destroy(ctx);
}

/* The k-th allocation fails, for k = 0, 1, ...: the error says so, and all memory is freed. */
static void check_failures(const char *request)
{
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_matrix *m = NULL;
    tess_status status = TESS_OUT_OF_MEMORY;
    int64_t before, k = 0;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 2;
    options.host_allocator = heap_allocator(&h);
    assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
    before = h.live;
    for (; status != TESS_SUCCESS; k++) {
        heap_fail_at(&h, k);
        status = create_problem(ctx, request, &m);
        if (status != TESS_SUCCESS) {
            assert_int_equal(status, TESS_OUT_OF_MEMORY);
            assert_null(m);
            assert_int_equal(h.live, before);
        }
    }
    assert_true(k > 3);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    assert_int_equal(h.live, 0);
    assert_int_equal(h.wrong_releases, 0);
}

static void failed_allocations_are_reported_and_leave_nothing(void **state)
{
    (void)state;
    check_failures("laplace2d 5");
    check_failures("randomdiffusion2d 5");
    check_failures("elasticity3d 2");
    check_failures("unstructured2d 20");
    check_failures("unstructured2d-rcm 20");
    check_failures("powerlaw 20");
    check_failures("randomspd 20");
    check_failures("accircuit 4");
}

/* Their real forms have blocks [[re, -im], [im, re]], and equal ones above and below the diagonal. */
static void complex_problems_are_symmetric(void **state)
{
    static const char *const requests[] = {"helmholtz2d 6 0.4", "eddy3d 4 3", "accircuit 6 2"};

    (void)state;
    for (int r = 0; r < 3; r++) {
        oracle_csr a = generate_problem(requests[r], 2);
        bool complex = false;

        for (int64_t i = 0; i < a.nrows; i += 2) {
            const int64_t length = a.row_ptr[i + 1] - a.row_ptr[i];

            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k += 2) {
                const int64_t j = a.col_ind[k];
                int64_t there = a.row_ptr[j];

                while (a.col_ind[there] != i) {
                    there++;
                }
                assert_true(a.val[k + length] == -a.val[k + 1] && a.val[k + length + 1] == a.val[k]);
                assert_true(a.val[there] == a.val[k] && a.val[there + 1] == a.val[k + 1]);
                complex = complex || a.val[k + 1] != 0.0;
            }
        }
        assert_true(complex);
        oracle_free(&a);
    }
}

static void every_problem_is_listed_with_its_arguments(void **state)
{
    size_t count = 0;
    const tess_gallery_entry *list = tess_gallery_list(&count);

    (void)state;
    assert_true(count >= 29);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].name[0] && list[i].description[0] && list[i].arguments);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(list[i].name, list[j].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_from_the_grid),
        cmocka_unit_test(published_sizes_agree),
        cmocka_unit_test(closed_form_offsets_agree_with_counting),
        cmocka_unit_test(laplacians_have_their_rows),
        cmocka_unit_test(convection_is_upwinded),
        cmocka_unit_test(adversaries_are_what_they_say),
        cmocka_unit_test(threads_do_not_matter_and_seeds_do),
        cmocka_unit_test(replicate_copies_blocks),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(failed_allocations_are_reported_and_leave_nothing),
        cmocka_unit_test(complex_problems_are_symmetric),
        cmocka_unit_test(every_problem_is_listed_with_its_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
