/* SPDX-License-Identifier: Apache-2.0 */
/* Parts over which a matrix sums to 0, and what of b no x reaches. */
#include "matrix/null_parts.h"

#include "support/solve.h"

static tess_context *ctx;

/* A path from row `first` on, of `rows` rows, whose ends are free: `weight` times its Laplacian. */
static void push_path(oracle_csr *a, int first, int rows, double weight)
{
    for (int i = first; i < first + rows; i++) {
        const bool before = i > first, after = i + 1 < first + rows;

        if (before) { oracle_push(a, i - 1, -weight); }
        oracle_push(a, i, weight * (before + after));
        if (after) { oracle_push(a, i + 1, -weight); }
        oracle_end_row(a, i);
    }
}

static null_parts parts_of(const oracle_csr *a)
{
    const tess_csr_view view = {a->nrows, a->ncols, a->nnz, a->row_ptr, a->col_ind, a->val, 64};
    null_parts found;

    assert_ok(ctx, null_parts_find(ctx, &view, &found));
    return found;
}

static null_judgement judge(const null_parts *parts, const double *b)
{
    null_judgement found;

    assert_ok(ctx, null_parts_judge(ctx, parts, b, &found));
    return found;
}

/* Rows 0..3, 4 (held), 5..7. The residual of any x is at least |6| / sqrt(4) and |9| / sqrt(3) there. */
static void each_part_has_its_share(void **state)
{
    oracle_csr a = oracle_open(8, 8);
    double b[8] = {1.0, 2.0, 1.0, 2.0, 7.0, 3.0, 3.0, 3.0};
    null_parts parts;
    null_judgement found;

    (void)state;
    push_path(&a, 0, 4, 1.0);
    oracle_push(&a, 4, 5.0);
    oracle_end_row(&a, 4);
    push_path(&a, 5, 3, 1.0);
    parts = parts_of(&a);
    assert_int_equal(parts.count, 2);
    assert_true(parts.of_row[0] == 0 && parts.of_row[3] == 0 && parts.of_row[4] == -1 && parts.of_row[7] == 1);
    assert_true(parts.part[1].rows == 3 && parts.part[1].first == 5 && parts.part[1].exact);
    found = judge(&parts, b);
    assert_at_most(fabs(found.least - 6.0), 1e-14);
    assert_at_most(fabs(found.norm - sqrt(86.0)), 1e-14);
    assert_int_equal(found.worst.first, 5);
    assert_ok(ctx, null_parts_project(ctx, &parts, b));
    assert_true(b[0] == -0.5 && b[1] == 0.5 && b[4] == 7.0 && b[5] == 0.0);
    assert_true(judge(&parts, b).least == 0.0);
    b[0] = NAN;
    assert_true(judge(&parts, b).least == 0.0);
    null_parts_release(ctx, &parts);
    oracle_free(&a);
}

/* A sum of b of any size is proved to stay where the columns sum to exactly 0. Where a sum is rounding, nothing is
   proved, and the sum of b must be beyond what rounding explains. */
static void only_exact_columns_prove(void **state)
{
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        oracle_csr a = oracle_open(100, 100);
        double b[100];
        null_parts parts;

        push_path(&a, 0, 100, 3.0);
        if (!exact) { a.val[2] = nextafter(a.val[2], 0.0); }
        for (int i = 0; i < 100; i++) {
            b[i] = i % 2 == 0 ? 1.0 : -1.0;
        }
        b[7] += 0x1p-44;
        parts = parts_of(&a);
        assert_int_equal(parts.count, 1);
        assert_true(parts.part[0].exact == exact && parts.part[0].terms == 3);
        assert_true(judge(&parts, b).least == (exact ? 0x1p-44 / 10.0 : 0.0));
        assert_true(judge(&parts, b).near == 0.0 && judge(&parts, b).near_terms == (exact ? 0 : 3));
        b[7] += 0x1p-10;
        for (int k = 0; k < 2; k++) {
            const null_judgement found = judge(&parts, b);
            const double size = (k == 0 ? 1.0 : 1e300) * 0x1p-10 / 10.0;

            assert_true(exact ? found.near == 0.0 : found.least == 0.0);
            assert_true((exact ? found.least : found.near) > 0.9 * size);
            assert_int_equal((exact ? found.worst : found.near_worst).rows, 100);
            for (int i = 0; i < 100; i++) {
                b[i] *= 1e300; /* no square overflows */
            }
        }
        null_parts_release(ctx, &parts);
        oracle_free(&a);
    }
}

/* Sums in two words: 0 only where the exact sum is. Terms that span more leave it open. */
static void sums_are_exact(void **state)
{
    static const struct {
        double term[6];
        bool exact, holds;
    } cases[] = {
        {{1.0, -0.5, -0.5}, true, true},
        {{1e300, 0x1p-900, -1e300, -0x1p-900}, true, true},
        {{1.0, 0x1p-60, -1.0}, false, true},
        {{1.0, 0x1p-60, 0x1p-120, -0x1p-60, -1.0}, false, true}, /* 2^-120, which two words lose */
        {{0.1, 0.2, -0.3}, false, true},
        {{1.0, -0.99}, false, false},
        {{INFINITY, 1.0}, false, false},
        {{INFINITY, -INFINITY}, false, false},
        {{1e308, 1e308, -1e308, -1e308}, false, false}, /* overflows on the way */
        {{0.0}, true, false},
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        null_sum s = {0};

        for (int k = 0; k < 6; k++) {
            null_sum_add(&s, cases[c].term[k]);
        }
        assert_int_equal(null_sum_is_exact(&s), cases[c].exact);
        assert_int_equal(null_sum_holds(&s), cases[c].holds);
    }
}

/* Rows that sum to 0 are not enough: columns must, and nothing may lead out of the part or into it. */
static void what_is_no_part(void **state)
{
    for (int kind = 0; kind < 4; kind++) {
        oracle_csr a = oracle_open(6, kind == 3 ? 7 : 6);
        null_parts parts;

        push_path(&a, 0, 3, 1.0);
        oracle_push(&a, kind == 1 ? 0 : 3, kind == 1 ? 1.0 : 4.0); /* 1: row 3 leads into the part */
        oracle_end_row(&a, 3);
        push_path(&a, 4, 2, 1.0);
        if (kind == 0) { a.val[0] = 2.0, a.val[1] = -2.0; } /* the row sums to 0, the column does not */
        if (kind == 2) { a.col_ind[1] = 3; }                /* row 0 leads out of it */
        parts = parts_of(&a);
        assert_int_equal(parts.count, kind == 3 ? 0 : 1);
        if (kind < 3) { assert_true(parts.part[0].first == 4 && parts.of_row[0] == -1 && parts.of_row[5] == 0); }
        null_parts_release(ctx, &parts);
        oracle_free(&a);
    }
    (void)state;
}

/* A row of zeros has no sum, and a zero couples nothing. Without parts nothing is projected. */
static void zeros(void **state)
{
    oracle_csr a = oracle_open(3, 3);
    double b[3] = {1.0, 2.0, 4.0};
    null_parts parts;

    (void)state;
    push_path(&a, 0, 2, 1.0);
    oracle_push(&a, 0, 0.0);
    oracle_end_row(&a, 2);
    parts = parts_of(&a);
    assert_int_equal(parts.count, 1);
    assert_true(parts.part[0].rows == 2 && parts.of_row[2] == -1);
    null_parts_release(ctx, &parts);
    assert_ok(ctx, null_parts_project(ctx, &parts, b));
    assert_true(b[0] == 1.0 && judge(&parts, b).least == 0.0);
    oracle_free(&a);
    assert_true(null_parts_scale(2, (double[]){INFINITY, 1.0}) == 1.0);
    assert_true(null_parts_scale(1, (double[]){4e-320}) == 0x1p1000);
    assert_true(null_parts_scale(1, (double[]){1e308}) == 0x1p-1000);
}

/* Trees as a GPU finds them, in any order: rows 0 and 1, 2 and 4, 5; the columns of the last do not sum to 0. */
static void candidates_become_parts(void **state)
{
    const int32_t trees[] = {1, 1, 3, 0, 3, 6}, expected[] = {0, 0, 1, -1, 1, -1};
    const null_part found[] = {{-1, 5, false, 1}, {2, 2, true, 2}, {2, 0, false, 2}};
    null_candidates c = {.known = true, .n = 6, .count = 3};
    null_part failed[] = {{-1, 0, false, 1}};
    null_candidates none = {.known = true, .n = 1, .count = 1, .part = failed};
    null_parts parts = {0};
    null_part copy[3];

    (void)state;
    memcpy(copy, found, sizeof found);
    c.part = copy;
    assert_ok(ctx, tess_host_allocate(ctx, c.n, sizeof *c.tree, (void **)&c.tree));
    memcpy(c.tree, trees, sizeof trees);
    assert_ok(ctx, null_parts_take(ctx, &c, &parts));
    assert_null(c.tree);
    assert_true(parts.n == 6 && parts.count == 2);
    assert_memory_equal(parts.of_row, expected, sizeof expected);
    assert_true(parts.part[0].first == 0 && !parts.part[0].exact && parts.part[1].first == 2 && parts.part[1].exact);
    null_parts_release(ctx, &parts);
    assert_ok(ctx, null_parts_take(ctx, &none, &parts));
    assert_int_equal(parts.count, 0);
    none.count = 0;
    assert_ok(ctx, null_parts_take(ctx, &none, &parts));
    assert_int_equal(parts.count, 0);
}

/* A row of three parts, whose sum is that of its parts. */
static void long_rows_have_parts(void **state)
{
    oracle_csr a = oracle_open(2500, 2500);
    null_parts parts;

    (void)state;
    for (int j = 0; j < 2500; j++) {
        oracle_push(&a, j, j == 0 ? 2499.0 : -1.0);
    }
    oracle_end_row(&a, 0);
    for (int i = 1; i < 2500; i++) {
        oracle_push(&a, 0, -1.0);
        oracle_push(&a, i, 1.0);
        oracle_end_row(&a, i);
    }
    parts = parts_of(&a);
    assert_true(parts.count == 1 && parts.part[0].rows == 2500 && parts.part[0].exact);
    null_parts_release(ctx, &parts);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_has_its_share),
        cmocka_unit_test(only_exact_columns_prove),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(what_is_no_part),
        cmocka_unit_test(zeros),
        cmocka_unit_test(candidates_become_parts),
        cmocka_unit_test(long_rows_have_parts),
    };
    int failed = 0;

    ctx = open_cpu(1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return failed;
}
