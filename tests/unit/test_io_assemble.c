/* SPDX-License-Identifier: Apache-2.0 */
/* Entries to CSR against a slow sort, for any number of threads, with memory given back to the last byte. */
#include "base/offsets.h"
#include "matrix/assemble.h"
#include "support/heap.h"
#include "support/test.h"

typedef struct triplet {
    int32_t row, col;
    int64_t order;
    double val;
} triplet;

static int compare_triplets(const void *a, const void *b)
{
    const triplet *x = a, *y = b;

    if (x->row != y->row) { return x->row < y->row ? -1 : 1; }
    if (x->col != y->col) { return x->col < y->col ? -1 : 1; }
    return (x->order > y->order) - (x->order < y->order);
}

static tess_context *open_counted(heap *h, int threads)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    *h = (heap){.fail_at = -1};
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    options.host_allocator = heap_allocator(h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    return ctx;
}

/* Mirrored entries come right after their originals, as the assembler takes them. */
static int64_t expand(const tess_entries *e, triplet *list)
{
    int64_t n = 0;

    for (int64_t k = 0; k < e->count; k++) {
        double val = e->val ? e->val[k] : 1.0;

        list[n] = (triplet){e->row[k], e->col[k], n, val};
        n++;
        if (e->symmetry != TESS_SYMMETRY_GENERAL && e->row[k] != e->col[k]) {
            list[n] = (triplet){e->col[k], e->row[k], n, e->symmetry == TESS_SYMMETRY_SKEW ? -val : val};
            n++;
        }
    }
    return n;
}

static int64_t offset_of(const tess_assembled *a, int64_t i)
{
    return tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
}

/* Walks the sorted triplets and the rows together. */
static void compare_with_sort(const tess_entries *e, const tess_assembled *made)
{
    triplet *list = test_allocate(2 * e->count, sizeof *list);
    int64_t n = expand(e, list), at = 0, duplicates = 0;

    qsort(list, (size_t)n, sizeof *list, compare_triplets);
    assert_int_equal(offset_of(made, 0), 0);
    for (int64_t k = 0; k < n; at++) {
        double sum = list[k].val;
        int64_t next = k + 1;

        for (; next < n && list[next].row == list[k].row && list[next].col == list[k].col; next++) {
            sum += list[next].val;
            duplicates++;
        }
        assert_true(at < made->nnz);
        assert_true(offset_of(made, list[k].row) <= at && at < offset_of(made, list[k].row + 1));
        assert_int_equal(made->col_ind[at], list[k].col);
        assert_true(same_bits(&made->val[at], &sum, 1));
        k = next;
    }
    assert_int_equal(at, made->nnz);
    assert_int_equal(offset_of(made, e->nrows), made->nnz);
    assert_int_equal(made->duplicates, duplicates);
    free(list);
}

static void check_entries(const tess_entries *e)
{
    for (int threads = 1; threads <= 5; threads += 2) {
        heap h;
        tess_context *ctx = open_counted(&h, threads);
        int64_t held = h.live_bytes;
        tess_assembled made;

        assert_ok(ctx, tess_assemble_entries(ctx, e, &made));
        compare_with_sort(e, &made);
        tess_assembled_release(ctx, &made);
        assert_int_equal(h.live_bytes, held);
        assert_int_equal(h.wrong_releases, 0);
        tess_context_destroy(ctx);
        assert_int_equal(h.live, 0);
    }
}

typedef struct shape {
    int64_t nrows, ncols, count;
    tess_symmetry symmetry;
    bool pattern, one_row;
} shape;

/* Random entries: many duplicates where the matrix is small, one long row where asked. */
static void check_shape(shape s, uint64_t seed)
{
    int32_t *row = test_allocate(s.count, sizeof *row), *col = test_allocate(s.count, sizeof *col);
    double *val = random_values(s.count, seed, -1.0, 1.0);
    tess_entries e = {.nrows = s.nrows,
                      .ncols = s.ncols,
                      .count = s.count,
                      .row = row,
                      .col = col,
                      .val = s.pattern ? NULL : val,
                      .symmetry = s.symmetry};

    for (int64_t k = 0; k < s.count; k++) {
        row[k] = s.one_row && k % 8 ? (int32_t)(s.nrows / 2) : (int32_t)(oracle_random_bits(&seed) % (uint64_t)s.nrows);
        col[k] = (int32_t)(oracle_random_bits(&seed) % (uint64_t)s.ncols);
    }
    check_entries(&e);
    free(row);
    free(col);
    free(val);
}

static void test_random_shapes(void **state)
{
    const shape shapes[] = {
        {1, 1, 1, TESS_SYMMETRY_GENERAL, false, false},          {5, 7, 0, TESS_SYMMETRY_GENERAL, false, false},
        {3, 3, 500, TESS_SYMMETRY_GENERAL, false, false},        {100, 20, 3000, TESS_SYMMETRY_GENERAL, false, false},
        {20, 1000, 4000, TESS_SYMMETRY_GENERAL, true, false},    {60, 60, 2000, TESS_SYMMETRY_SYMMETRIC, false, false},
        {300, 300, 2000, TESS_SYMMETRY_SKEW, false, false},      {50, 50, 300, TESS_SYMMETRY_SYMMETRIC, true, false},
        {10000, 10000, 50, TESS_SYMMETRY_GENERAL, false, false}, {64, 3000, 20000, TESS_SYMMETRY_GENERAL, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_shape(shapes[i], 10 + i);
    }
}

/* A row beyond the length that threads share is sorted on its own. */
static void test_very_long_row(void **state)
{
    (void)state;
    check_shape((shape){9, 400000, 150000, TESS_SYMMETRY_GENERAL, false, true}, 99);
}

static void test_unsorted_csr(void **state)
{
    heap h;
    tess_context *ctx = open_counted(&h, 2);
    int64_t held = h.live_bytes, *row_ptr = NULL;
    int32_t *col = NULL;
    double *val = NULL;
    tess_assembled made;

    (void)state;
    assert_ok(ctx, tess_host_allocate(ctx, 4, sizeof *row_ptr, (void **)&row_ptr));
    assert_ok(ctx, tess_host_allocate(ctx, 5, sizeof *col, (void **)&col));
    assert_ok(ctx, tess_host_allocate(ctx, 5, sizeof *val, (void **)&val));
    memcpy(row_ptr, (int64_t[]){0, 3, 3, 5}, 4 * sizeof *row_ptr);
    memcpy(col, (int32_t[]){2, 0, 2, 1, 0}, 5 * sizeof *col);
    memcpy(val, (double[]){1.0, 2.0, 3.0, 4.0, 5.0}, 5 * sizeof *val);
    assert_ok(ctx, tess_assemble_csr(ctx, 3, 5, row_ptr, col, val, &made));
    assert_int_equal(made.nnz, 4);
    assert_int_equal(made.duplicates, 1);
    assert_int_equal(made.row_ptr_bits, 32);
    assert_memory_equal(made.row_ptr, ((int32_t[]){0, 2, 2, 4}), 4 * sizeof(int32_t));
    assert_memory_equal(made.col_ind, ((int32_t[]){0, 2, 0, 1}), 4 * sizeof(int32_t));
    assert_true(same_bits(made.val, (double[]){2.0, 4.0, 5.0, 4.0}, 4));
    tess_assembled_release(ctx, &made);
    assert_int_equal(h.live_bytes, held);
    assert_int_equal(h.wrong_releases, 0);
    tess_context_destroy(ctx);
}

/* ---- entries in order ---- */

enum { SORTED_ROWS = 9000, SORTED_COUNT = 50000 }; /* several parts, and stretches of one */

/* Ascending entries; rows without any at both ends and in between. Row 700 has 40,000, most of all. */
static void fill_sorted(int32_t *row, int32_t *col, double *val)
{
    int32_t i = 5, j = -1;

    for (int64_t k = 0; k < SORTED_COUNT; k++) {
        if (j > 2 && (i != 700 || j > 60000)) {
            i += k % 97 == 0 ? 7 : 1;
            j = -1;
        }
        j += 1 + (int32_t)(k % 2);
        row[k] = i;
        col[k] = j;
        val[k] = (double)k + 0.5;
    }
}

/* The same entries by both functions; `at` >= 0: the one there is changed first, and the result must be nothing. */
static void check_sorted(int threads, int64_t at, int32_t row_of, int32_t col_of)
{
    heap h;
    tess_context *ctx = open_counted(&h, threads);
    int64_t held = h.live_bytes;
    int32_t *row = test_allocate(SORTED_COUNT, sizeof *row), *col = NULL;
    double *val = NULL;
    tess_assembled made, expected;
    tess_entries e = {.nrows = SORTED_ROWS, .ncols = 1 << 17, .count = SORTED_COUNT, .row = row};

    assert_ok(ctx, tess_host_allocate(ctx, SORTED_COUNT, sizeof *col, (void **)&col));
    assert_ok(ctx, tess_host_allocate(ctx, SORTED_COUNT, sizeof *val, (void **)&val));
    fill_sorted(row, col, val);
    assert_true(row[SORTED_COUNT - 1] < SORTED_ROWS - 1);
    if (at >= 0) {
        row[at] = row_of < 0 ? row[at] : row_of;
        col[at] = col_of < 0 ? col[at - 1] : col_of;
    }
    e.col = col;
    e.val = val;
    assert_ok(ctx, tess_assemble_sorted(ctx, SORTED_ROWS, SORTED_COUNT, row, col, val, &made));
    if (at >= 0) {
        assert_null(made.row_ptr);
        assert_null(made.col_ind);
        tess_host_release(ctx, col, SORTED_COUNT, sizeof *col);
        tess_host_release(ctx, val, SORTED_COUNT, sizeof *val);
    } else {
        assert_ok(ctx, tess_assemble_entries(ctx, &e, &expected));
        assert_ptr_equal(made.col_ind, col);
        assert_ptr_equal(made.val, val);
        assert_int_equal(made.nnz, expected.nnz);
        assert_int_equal(made.row_ptr_bits, expected.row_ptr_bits);
        assert_memory_equal(made.row_ptr, expected.row_ptr, (SORTED_ROWS + 1) * sizeof(int32_t));
        assert_memory_equal(made.col_ind, expected.col_ind, SORTED_COUNT * sizeof *col);
        assert_true(same_bits(made.val, expected.val, SORTED_COUNT));
        tess_assembled_release(ctx, &expected);
        tess_assembled_release(ctx, &made);
    }
    assert_int_equal(h.live_bytes, held);
    assert_int_equal(h.wrong_releases, 0);
    tess_context_destroy(ctx);
    free(row);
}

/* Disorder at the start, at the end, and beside the places where parts and their stretches (16384 entries) begin. */
static void test_sorted_entries(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads += 2) {
        const int64_t third = SORTED_COUNT / 3 + 1;
        const int64_t places[] = {1, 16383, 16384, 16385, third - 1, third, third + 1, SORTED_COUNT - 1};

        check_sorted(threads, -1, 0, 0);
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            check_sorted(threads, places[i], 0, 0);                                   /* a row that was before */
            if (i < 4) { check_sorted(threads, places[i] == 1 ? 1 : 16390, -1, -1); } /* the same place twice */
        }
    }
}

static void test_sorted_without_entries(void **state)
{
    heap h;
    tess_context *ctx = open_counted(&h, 2);
    const int64_t held = h.live_bytes;
    int32_t *col = NULL;
    double *val = NULL;
    tess_assembled made;

    (void)state;
    assert_ok(ctx, tess_host_allocate(ctx, 0, sizeof *col, (void **)&col));
    assert_ok(ctx, tess_host_allocate(ctx, 0, sizeof *val, (void **)&val));
    assert_ok(ctx, tess_assemble_sorted(ctx, 2, 0, NULL, col, val, &made));
    assert_memory_equal(made.row_ptr, ((int32_t[]){0, 0, 0}), 3 * sizeof(int32_t));
    tess_assembled_release(ctx, &made);
    assert_int_equal(h.live_bytes, held);
    tess_context_destroy(ctx);
}

/* Each allocation fails in turn: the status says so and all memory is freed. */
static void test_failing_allocations(void **state)
{
    const int32_t row[] = {1, 0, 1, 1}, col[] = {1, 0, 0, 1};
    const double val[] = {1.0, 2.0, 3.0, 4.0};
    heap h;
    tess_context *ctx = open_counted(&h, 2);
    int64_t held = h.live;
    tess_assembled made;
    tess_status status = TESS_OUT_OF_MEMORY;

    (void)state;
    for (int k = 0; status != TESS_SUCCESS && k < 100; k++) {
        heap_fail_at(&h, k);
        status = tess_assemble_coo(ctx, 2, 2, 4, row, col, val, &made);
        if (status == TESS_SUCCESS) {
            assert_true(k > 5);
            tess_assembled_release(ctx, &made);
        } else {
            assert_int_equal(status, TESS_OUT_OF_MEMORY);
            assert_null(made.row_ptr);
        }
        assert_int_equal(h.live, held);
    }
    assert_int_equal(status, TESS_SUCCESS);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shapes),          cmocka_unit_test(test_very_long_row),
        cmocka_unit_test(test_unsorted_csr),           cmocka_unit_test(test_sorted_entries),
        cmocka_unit_test(test_sorted_without_entries), cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
