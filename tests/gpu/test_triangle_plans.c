/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plans by which a GPU solves a triangle by level sets: one block of threads, or rows that wait for one another
 * with so many blocks at a time. All give the same bits, so that a measured choice changes times alone.
 */
#include "support/gallery.h"
#include "support/incomplete.h"
#include "triangular/pieces.h"

static tess_context *gpu = NULL;

/* The entries left of the diagonal; entry k has value k. */
static triangle_pattern lower_of(const oracle_csr *a)
{
    triangle_pattern p = {.n = a->nrows};
    int64_t nnz = 0;

    assert_ok(gpu, tess_host_allocate(gpu, p.n + 1, sizeof *p.row_ptr, (void **)&p.row_ptr));
    assert_ok(gpu, tess_host_allocate(gpu, a->nnz, sizeof *p.col_ind, (void **)&p.col_ind));
    assert_ok(gpu, tess_host_allocate(gpu, a->nnz, sizeof *p.source, (void **)&p.source));
    for (int64_t i = 0; i < p.n; i++) {
        p.row_ptr[i] = nnz;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && a->col_ind[k] < i; k++) {
            p.col_ind[nnz] = (int32_t)a->col_ind[k];
            p.source[nnz] = nnz;
            nnz += 1;
        }
    }
    p.row_ptr[p.n] = nnz;
    return p;
}

static void release_pattern(triangle_pattern *p, int64_t capacity)
{
    tess_host_release(gpu, p->row_ptr, p->n + 1, sizeof *p->row_ptr);
    tess_host_release(gpu, p->col_ind, capacity, sizeof *p->col_ind);
    tess_host_release(gpu, p->source, capacity, sizeof *p->source);
}

/* x := T^-1 b by a plan. */
static void solve_by(sparse_triangle *t, leaf_plan plan, const double *b, double *x)
{
    double *device = NULL;

    assert_ok(gpu, tess_device_upload(gpu, b, t->n, sizeof *b, (void **)&device));
    assert_ok(gpu, triangle_ops_of(gpu)->set_plan(gpu, &t->pieces[0].leaf, plan));
    for (int turn = 0; turn < 2; turn++) { /* the workspace is left as the next call needs it */
        assert_ok(gpu, gpu->backend->upload(gpu, device, b, (size_t)t->n * sizeof *b));
        assert_ok(gpu, triangle_solve(t, (triangle_args){.b = device, .x = device}));
    }
    assert_ok(gpu, gpu->backend->download(gpu, x, device, (size_t)t->n * sizeof *x));
    tess_device_release(gpu, device, t->n, sizeof *device);
}

/* The same for columns that are b and multiples of it, by rows: each has the bits of x, which a factor of two keeps. */
static void check_columns(sparse_triangle *t, int columns, const double *b, const double *x)
{
    const int64_t all = t->n * columns;
    double *right = test_allocate(all, sizeof *right), *solution = test_allocate(all, sizeof *solution);
    double *device = NULL, *out = NULL;

    for (int64_t k = 0; k < all; k++) {
        right[k] = ldexp(b[k / columns], (int)(k % columns));
    }
    assert_ok(gpu, tess_device_upload(gpu, right, all, sizeof *right, (void **)&device));
    assert_ok(gpu, tess_device_allocate(gpu, all, sizeof *out, (void **)&out));
    assert_true(triangle_takes_columns(t));
    assert_ok(gpu, triangle_prepare_columns(t, columns));
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(gpu, gpu->backend->zero(gpu, out, (size_t)all * sizeof *out));
        assert_ok(gpu, triangle_solve(t, (triangle_args){.b = device, .x = out, .columns = columns}));
        assert_ok(gpu, gpu->backend->download(gpu, solution, out, (size_t)all * sizeof *out));
        for (int64_t k = 0; k < all; k++) {
            const double expected = ldexp(x[k / columns], (int)(k % columns));

            assert_true(same_bits(&solution[k], &expected, 1));
        }
    }
    tess_device_release(gpu, device, all, sizeof *device);
    tess_device_release(gpu, out, all, sizeof *out);
    free(right);
    free(solution);
}

/* x_i + sum_j l_ij x_j = b_i, up to gamma(length + 1) times the magnitudes. */
static void check_solution(const triangle_pattern *p, const double *val, const double *b, const double *x)
{
    for (int64_t i = 0; i < p->n; i++) {
        wide rest = (wide)x[i] - (wide)b[i], size = wide_abs(x[i]) + wide_abs(b[i]);

        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
            rest += (wide)val[k] * (wide)x[p->col_ind[k]];
            size += wide_abs((wide)val[k] * (wide)x[p->col_ind[k]]);
        }
        assert_at_most((double)(wide_abs(rest) / size), gamma_of((double)(p->row_ptr[i + 1] - p->row_ptr[i] + 2)));
    }
}

static sparse_triangle *make_triangle(triangle_pattern *p, const double *val, int64_t leaf)
{
    tess_storage_options squares;
    triangle_options options = {
        .blocks = leaf > 0, .leaf = leaf, .precision = TESS_PRECISION_FP64, .squares = &squares};
    triangle_values values = {.count = p->row_ptr[p->n], .host = val};
    sparse_triangle *t = NULL;

    tess_storage_options_init(&squares);
    assert_ok(gpu, triangle_create(gpu, p, &options, &t));
    assert_ok(gpu, triangle_fill(t, &values));
    triangle_values_release(gpu, &values);
    return t;
}

/* ---- tests ---- */

static void every_plan_has_the_same_bits(void **state)
{
    static const leaf_plan plans[] = {{0, false}, {1, false}, {2, false}, {8, false}, {1, true}, {4, true}, {0, false}};
    oracle_csr problems[] = {generate_problem("laplace3d 13", 2), random_dominant(2100, 40, false, 5),
                             oracle_laplace2d(on_gpu_or_emulated(200, 47))};

    (void)state;
    for (size_t c = 0; c < sizeof problems / sizeof *problems; c++) {
        triangle_pattern p = lower_of(&problems[c]);
        const int64_t nnz = p.row_ptr[p.n];
        double *val = random_values(nnz, 5, -0.3, 0.3), *b = random_values(p.n, 7, -1.0, 1.0);
        double *x = test_allocate(2 * p.n, sizeof *x);
        sparse_triangle *t = make_triangle(&p, val, 0);

        assert_true(t->pieces[0].leaf.has_chosen == triangle_ops_of(gpu)->has_clock);
        for (size_t k = 0; k < sizeof plans / sizeof *plans; k++) {
            solve_by(t, plans[k], b, x + (k > 0 ? p.n : 0));
            assert_int_equal(t->pieces[0].leaf.plan.blocks, plans[k].blocks);
            if (k > 0) { assert_true(same_bits(x, x + p.n, p.n)); }
            if (k % 2 == 0) { check_columns(t, c == 1 ? 2 << k / 2 : 4, b, x); }
        }
        check_solution(&p, val, b, x);
        triangle_destroy(t);
        release_pattern(&p, problems[c].nnz);
        free(val);
        free(b);
        free(x);
        oracle_free(&problems[c]);
    }
}

/* A search with time takes one of the plans, and leaves a triangle that solves. */
static void a_search_leaves_a_plan_that_solves(void **state)
{
    oracle_csr a = generate_problem("laplace3d 13", 2);
    triangle_pattern p = lower_of(&a);
    double *val = random_values(p.row_ptr[p.n], 5, -0.3, 0.3), *b = random_values(p.n, 7, -1.0, 1.0);
    double *x = test_allocate(p.n, sizeof *x);
    sparse_triangle *t = make_triangle(&p, val, 0);
    triangle_leaf *leaf = &t->pieces[0].leaf;

    (void)state;
    for (int turn = 0; turn < 2; turn++) { /* the first seconds are enough for all plans, the second for none */
        assert_ok(gpu, triangle_ops_of(gpu)->choose_plan(gpu, leaf, turn == 0 ? 60.0 : 0.0));
        assert_true(leaf->plan.blocks >= 0 && leaf->plan.blocks <= MOST_RESIDENT);
        solve_by(t, leaf->plan, b, x);
        check_solution(&p, val, b, x);
    }
    triangle_destroy(t);
    release_pattern(&p, a.nnz);
    free(val);
    free(b);
    free(x);
    oracle_free(&a);
}

/* A grid of n^3 points has 3 n - 2 level sets. In blocks of reordered rows it has one more for each cut at most; in the
   order of the rows each leaf of 8 planes alone would have 2 n + 6. */
static void blocks_add_few_level_sets(void **state)
{
    enum { EDGE = 16, LEAF = 512 };
    oracle_csr a = generate_problem("laplace3d 16", 2);
    triangle_pattern p = lower_of(&a);
    double *val = random_values(p.row_ptr[p.n], 5, -0.3, 0.3), *b = random_values(p.n, 7, -1.0, 1.0);
    double *x = test_allocate(p.n, sizeof *x), *device = NULL;
    sparse_triangle *t = make_triangle(&p, val, LEAF);
    const triangle_facts facts = triangle_describe(t);

    (void)state;
    assert_int_equal(p.n, EDGE * EDGE * EDGE);
    assert_true(facts.leaves >= 3 && facts.squares == facts.leaves - 1);
    assert_true(facts.level_sets >= 3 * EDGE - 2 && facts.level_sets <= 3 * EDGE - 2 + facts.squares);
    assert_true(facts.square_nonzeros > 0 && facts.nonzeros == p.row_ptr[p.n]);
    assert_ok(gpu, tess_device_upload(gpu, b, t->n, sizeof *b, (void **)&device));
    assert_ok(gpu, triangle_solve(t, (triangle_args){.b = device, .x = device}));
    assert_ok(gpu, gpu->backend->download(gpu, x, device, (size_t)t->n * sizeof *x));
    check_solution(&p, val, b, x);
    tess_device_release(gpu, device, t->n, sizeof *device);
    triangle_destroy(t);
    release_pattern(&p, a.nnz);
    free(val);
    free(b);
    free(x);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_has_the_same_bits),
        cmocka_unit_test(a_search_leaves_a_plan_that_solves),
        cmocka_unit_test(blocks_add_few_level_sets),
    };

    return run_gpu_tests(tests, &gpu);
}
