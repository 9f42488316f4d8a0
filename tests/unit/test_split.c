/* SPDX-License-Identifier: Apache-2.0 */
/* Split and composite storage: bytes, row orders, copies, refusals. Products in general are in conformance, those of
   iterations in test_split_products.c. */
#include "matrix/matrix.h"
#include "support/product.h"
#include "support/variants.h"

static const tess_storage_options base_options = {
    .size = sizeof(tess_storage_options),
    .format = TESS_FORMAT_SPLIT,
    .slices.max_padding = 1000.0,
    .policy = {
        .granularity = TESS_GRANULARITY_ROW, .policy = TESS_POLICY_FIXED_RANGE, .parameter = 0.7, .share = 60.0}};

static const tess_precision_level three_levels[3] = {
    {TESS_PRECISION_FP64, 0}, {TESS_PRECISION_FP32, 0}, {TESS_PRECISION_FP16, 1}};

static tess_storage_options options_of(tess_format format, tess_format base, tess_row_order order)
{
    tess_storage_options o = base_options;

    o.format = format;
    o.split.base = base;
    o.split.row_order = order;
    return o;
}

static void set_three_levels(tess_storage_options *o)
{
    o->policy.policy = TESS_POLICY_MEAN_RANGE;
    o->policy.parameter = 900.0;
    o->policy.nlevels = 3;
    memcpy(o->policy.level, three_levels, sizeof three_levels);
}

static tess_matrix *convert(const tess_matrix *a, const tess_storage_options *options)
{
    tess_matrix *stored = NULL;

    assert_ok(a->ctx, tess_matrix_convert(a, options, &stored));
    return stored;
}

static tess_assignment_summary summary_of(const tess_matrix *a, const tess_policy_options *policy)
{
    tess_assignment *assignment = NULL;
    tess_assignment_summary summary = {.size = sizeof summary};

    assert_ok(a->ctx, tess_assignment_create(a, policy, &assignment));
    tess_assignment_get_summary(assignment, &summary);
    tess_assignment_destroy(assignment);
    return summary;
}

/* Rows of 0 to 10 entries; some rows scaled so that a scale is needed in FP16. */
static oracle_csr make_sample(void)
{
    oracle_csr a = oracle_random(700, 700, 5, 21);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= i % 5 == 4 ? 0x1p-12 : 1.0;
        }
    }
    return a;
}

/* ---- bytes ---- */

/* Tezcan et al. 2022, Table I: M non-empty rows, V nonzeros, V64 of them in FP64. */
static void bytes_are_those_of_table_one(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = make_sample();
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_ROW_ORDER_PERMUTED);
    tess_assignment_summary s = summary_of(m, &o.policy);
    int64_t rows = a.nrows - s.empty, all_rows = a.nrows, nnz = a.nnz, high = s.nonzeros_at[0];

    (void)state;
    assert_true(s.empty > 0 && high > 0 && s.nonzeros_at[1] > 0);
    stored = convert(m, &o);
    assert_int_equal(tess_matrix_bytes(stored), 4 * rows + 8 * nnz + 4 * high + 12);
    tess_matrix_destroy(stored);
    o.split.row_order = TESS_ROW_ORDER_ORIGINAL;
    stored = convert(m, &o);
    assert_int_equal(tess_matrix_bytes(stored), 4 * rows + 8 * nnz + 4 * high + 12 + 4 * all_rows);
    tess_matrix_destroy(stored);
    o = options_of(TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_ROW_ORDER_PERMUTED);
    stored = convert(m, &o);
    assert_int_equal(tess_matrix_bytes(stored), 4 * rows + 16 * nnz + 8);
    tess_matrix_destroy(stored);
    o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_ROW_ORDER_PERMUTED);
    o.policy.granularity = TESS_GRANULARITY_ENTRY;
    s = summary_of(m, &o.policy);
    stored = convert(m, &o);
    assert_int_equal(tess_matrix_bytes(stored), 8 * all_rows + 8 * nnz + 4 * s.nonzeros_at[0] + 8);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Three row_ptr, two places where levels meet, 8, 4 and 2 bytes per value, an exponent for each row. */
static void three_levels_cost_what_they_hold(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = make_sample();
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_ROW_ORDER_PERMUTED);
    tess_assignment_summary s = {.size = sizeof s};
    int64_t rows;

    (void)state;
    set_three_levels(&o);
    s = summary_of(m, &o.policy);
    rows = a.nrows - s.empty;
    assert_true(s.nonzeros_at[1] > 0 && s.nonzeros_at[2] > 0 && s.scaled[2]);
    stored = convert(m, &o);
    assert_int_equal(tess_matrix_bytes(stored), 4 * rows + 12 + 8 + 4 * a.nnz + 8 * s.nonzeros_at[0] +
                                                    4 * s.nonzeros_at[1] + 2 * s.nonzeros_at[2] + 2 * a.nrows);
    tess_matrix_destroy(stored);
    o.format = TESS_FORMAT_COMPOSITE;
    stored = convert(m, &o);
    assert_int_equal(tess_matrix_bytes(stored), 4 * rows + 4 + 8 + 4 * a.nnz + (8 + 4 + 2) * a.nnz + 2 * a.nrows);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- row orders ---- */

/* Lowest level first, empty rows last, rows of one level in their order. */
static void rows_are_sorted_by_level_and_keep_their_order(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_random(9001, 9001, 2, 22);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_ROW_ORDER_SYMMETRIC);
    uint8_t *level = NULL;
    int32_t *perm = NULL;
    int rank[4] = {0};

    (void)state;
    set_three_levels(&o);
    o.policy.parameter = 9000.0;
    level = levels_of_entries(m, &a, &o.policy);
    stored = convert(m, &o);
    perm = permutation_of(stored);
    free(inverse_permutation(a.nrows, perm));
    for (int64_t p = 0, before = -1; p < a.nrows; p++) {
        int64_t begin = a.row_ptr[perm[p]];
        int at = begin == a.row_ptr[perm[p] + 1] ? 3 : 2 - level[begin];

        rank[at] += 1;
        assert_true(p == 0 || at >= before);
        assert_true(p == 0 || at > before || perm[p] > perm[p - 1]);
        before = at;
    }
    assert_true(rank[0] > 0 && rank[1] + rank[2] > 0 && rank[3] > 0);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(level);
    free(perm);
    tess_context_destroy(ctx);
}

/* ---- copies ---- */

/* y of a stored matrix at a level (-1: as assigned), brought to the matrix's own order. */
static double *product_at(const tess_matrix *stored, int level, const double *x, tess_row_order order)
{
    tess_context *ctx = stored->ctx;
    int64_t n = stored->nrows;
    double *y = test_allocate(n, sizeof *y), *out = test_allocate(n, sizeof *out);
    int32_t *perm = permutation_of(stored);
    tess_vector *vx = make_vector(ctx, stored->ncols, x), *vy = make_zeros(ctx, n);

    if (level < 0) {
        assert_ok(ctx, tess_matrix_spmv(stored, TESS_OP_NONE, 1.5, vx, 0.0, vy));
    } else {
        assert_ok(ctx, tess_matrix_spmv_level(stored, level, 1.5, vx, 0.0, vy));
    }
    read_vector(vy, y);
    for (int64_t p = 0; p < n; p++) {
        out[order == TESS_ROW_ORDER_ORIGINAL ? p : perm[p]] = y[p];
    }
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    free(perm);
    free(y);
    return out;
}

static double *plain_product(const tess_matrix *m, tess_format format, tess_precision precision, const double *x)
{
    const tess_storage_options o = {
        .size = sizeof(tess_storage_options), .format = format, .precision = precision, .slices.max_padding = 1000.0};
    tess_matrix *stored = convert(m, &o);
    double *y = test_allocate(m->nrows, sizeof *y);

    multiply(stored, TESS_OP_NONE, 1.5, x, 0.0, y, y);
    tess_matrix_destroy(stored);
    return y;
}

/* A row of an unscaled level may be far beyond the range of a scaled one: its copy there is stored over a scale too. */
static void copies_at_a_scaled_level_hold_all_rows(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_random(700, 700, 5, 24);
    tess_storage_options o = options_of(TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_ROW_ORDER_ORIGINAL);
    double *x = random_values(a.ncols, 6, 1.0, 2.0);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = (a.val[k] < 0.0 ? -1.0 : 1.0) * (1.0 + (double)(k % 1000) / 1000.0);
    }
    for (int64_t i = 0; i < a.nrows; i += 3) { /* 2^20 is beyond FP16 */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= 0x1p20;
        }
    }
    o.policy.policy = TESS_POLICY_FIXED_RANGE;
    o.policy.parameter = 0x1p15;
    o.policy.nlevels = 2;
    o.policy.level[1] = (tess_precision_level){TESS_PRECISION_FP16, 1};
    for (int base = 0; base < 2; base++) {
        tess_matrix *m = make_matrix(ctx, &a), *composite = NULL;
        const tess_assignment_summary summary = summary_of(m, &o.policy);
        double *y = NULL;

        assert_true(summary.nonzeros_at[0] > 0 && summary.nonzeros_at[1] > 0 && summary.scaled[1]);
        o.split.base = base ? TESS_FORMAT_ELLR : TESS_FORMAT_CSR;
        composite = convert(m, &o);
        y = product_at(composite, 1, x, o.split.row_order);
        for (int64_t i = 0; i < a.nrows; i++) {
            double sum = 0.0, magnitude = 0.0;

            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                sum += 1.5 * a.val[k] * x[a.col_ind[k]];
                magnitude += fabs(1.5 * a.val[k] * x[a.col_ind[k]]);
            }
            assert_true(fabs(y[i] - sum) <= (0x1p-11 + 0x1p-40) * magnitude);
        }
        free(y);
        tess_matrix_destroy(composite);
        tess_matrix_destroy(m);
    }
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void check_copies(tess_context *ctx, tess_format base, tess_row_order order)
{
    oracle_csr a = make_sample();
    tess_matrix *m = make_matrix(ctx, &a);
    tess_storage_options o = options_of(TESS_FORMAT_COMPOSITE, base, order);
    tess_matrix *composite = convert(m, &o), *split = NULL;
    double *x = random_values(a.ncols, 5, -1.0, 1.0);
    double *plain[2] = {plain_product(m, base, TESS_PRECISION_FP64, x), plain_product(m, base, TESS_PRECISION_FP32, x)};
    double *copy[2] = {product_at(composite, 0, x, order), product_at(composite, 1, x, order)};
    double *assigned = product_at(composite, -1, x, order), *parts = NULL;
    uint8_t *level = levels_of_entries(m, &a, &o.policy);

    o.format = TESS_FORMAT_SPLIT;
    split = convert(m, &o);
    parts = product_at(split, -1, x, order);
    assert_true(same_bits(copy[0], plain[0], a.nrows));
    assert_true(same_bits(copy[1], plain[1], a.nrows));
    assert_false(same_bits(copy[0], copy[1], a.nrows));
    assert_true(same_bits(parts, assigned, a.nrows));
    for (int64_t i = 0; i < a.nrows; i++) {
        bool empty = a.row_ptr[i] == a.row_ptr[i + 1];

        assert_true(assigned[i] == (empty ? 0.0 : plain[level[a.row_ptr[i]]][i]));
    }
    free(x);
    for (int l = 0; l < 2; l++) {
        free(plain[l]);
        free(copy[l]);
    }
    free(assigned);
    free(parts);
    free(level);
    tess_matrix_destroy(split);
    tess_matrix_destroy(composite);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* Each row's sum has one order, so a copy and plain storage agree in every bit. */
static void a_composite_serves_three_precisions(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    check_copies(ctx, TESS_FORMAT_CSR, TESS_ROW_ORDER_ORIGINAL);
    check_copies(ctx, TESS_FORMAT_CSR, TESS_ROW_ORDER_PERMUTED);
    check_copies(ctx, TESS_FORMAT_ELLR, TESS_ROW_ORDER_ORIGINAL);
    check_copies(ctx, TESS_FORMAT_ELLR, TESS_ROW_ORDER_PERMUTED);
    tess_context_destroy(ctx);
}

/* ---- assignments ---- */

static void check_renewed(tess_context *ctx, tess_storage_options o)
{
    oracle_csr a = make_sample();
    tess_matrix *m = make_matrix(ctx, &a), *stored = convert(m, &o), *fresh = NULL;
    tess_assignment *assignment = NULL;
    oracle_csr held, expected;

    /* levels stay, so the new values keep to them */
    assert_ok(ctx, tess_assignment_create(m, &o.policy, &assignment));
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 0.7;
    }
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_matrix_convert_assigned(m, &o, assignment, &fresh));
    held = decode_matrix(stored);
    expected = decode_matrix(fresh);
    assert_true(same_bits(held.val, expected.val, a.nnz));
    if (o.format == TESS_FORMAT_COMPOSITE) {
        double *x = random_values(a.ncols, 6, -1.0, 1.0);

        for (int l = 0; l < 2; l++) {
            double *y = product_at(stored, l, x, o.split.row_order), *z = product_at(fresh, l, x, o.split.row_order);

            assert_true(same_bits(y, z, a.nrows));
            free(y);
            free(z);
        }
        free(x);
    }
    oracle_free(&held);
    oracle_free(&expected);
    oracle_free(&a);
    tess_matrix_destroy(fresh);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_assignment_destroy(assignment);
}

static void new_values_reach_every_copy(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        tess_storage_options o = policy_variants[k].storage;

        o.policy = policy_of(&o);
        o.slices.max_padding = 1000.0;
        check_renewed(ctx, o);
    }
    tess_context_destroy(ctx);
}

static void the_diagonal_may_be_left_out(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = oracle_convection2d(21, 0.4);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) { /* the expected values, in place of those that the matrix was made of */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = a.col_ind[k] == i ? 0.0 : a.val[k];
        }
    }
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        tess_storage_options o = policy_variants[k].storage;
        tess_matrix *stored = NULL;
        oracle_csr held, seen;

        o.policy = policy_of(&o);
        if (o.policy.granularity == TESS_GRANULARITY_BLOCK) { continue; } /* blocks cannot leave out the diagonal */
        o.policy.without_diagonal = 1;
        o.slices.max_padding = 1000.0;
        stored = convert(m, &o);
        held = decode_matrix(stored);
        for (int64_t e = 0; e < a.nnz; e++) {
            assert_at_most(fabs(held.val[e] - a.val[e]), 0x1p-8 * fabs(a.val[e]));
        }
        seen = reordered(stored, &held, o.split.row_order);
        check_product(stored, &seen, TESS_OP_NONE, 1.0, 1.0);
        oracle_free(&held);
        oracle_free(&seen);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- what is refused ---- */

static void refuse(const tess_matrix *m, tess_storage_options o, tess_status expected)
{
    tess_matrix *stored = NULL;

    assert_fails(m->ctx, expected, tess_matrix_convert(m, &o, &stored));
    assert_null(stored);
}

static void wrong_options_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(40, -1.0, 2.0, -1.0), tall = oracle_random(40, 30, 3, 2);
    tess_matrix *m = make_matrix(ctx, &a), *rectangular = make_matrix(ctx, &tall);
    tess_storage_options o = options_of(TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_ROW_ORDER_ORIGINAL);

    (void)state;
    o.policy.granularity = TESS_GRANULARITY_ENTRY;
    refuse(m, o, TESS_INVALID_ARGUMENT);
    o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_DIA, TESS_ROW_ORDER_ORIGINAL);
    refuse(m, o, TESS_UNSUPPORTED);
    o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_ROW_ORDER_SYMMETRIC);
    refuse(rectangular, o, TESS_INVALID_ARGUMENT);
    o.split.row_order = (tess_row_order)9;
    refuse(m, o, TESS_INVALID_ARGUMENT);
    o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_ROW_ORDER_ORIGINAL);
    o.arithmetic = (tess_arithmetic)9;
    refuse(m, o, TESS_INVALID_ARGUMENT);
    o = options_of(TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_ROW_ORDER_ORIGINAL);
    o.slices.max_padding = 1.0;
    refuse(m, o, TESS_UNSUPPORTED);
    o = base_options;
    o.policy.share = 101.0;
    refuse(m, o, TESS_INVALID_ARGUMENT);
    tess_matrix_destroy(m);
    tess_matrix_destroy(rectangular);
    oracle_free(&a);
    oracle_free(&tall);
    tess_context_destroy(ctx);
}

/* Two matrices of one context, made from two of the oracle's, which are freed with them. */
typedef struct matrix_pair {
    tess_context *ctx;
    oracle_csr *a, *b;
    tess_matrix *m, *other;
} matrix_pair;

static matrix_pair open_pair(oracle_csr *a, oracle_csr *b)
{
    tess_context *ctx = open_cpu(1);

    return (matrix_pair){ctx, a, b, make_matrix(ctx, a), make_matrix(ctx, b)};
}

static void close_pair(const matrix_pair *p)
{
    tess_matrix_destroy(p->m);
    tess_matrix_destroy(p->other);
    oracle_free(p->a);
    oracle_free(p->b);
    tess_context_destroy(p->ctx);
}

/* As many nonzeros in all, but not at each level: row 0 is low and has one more. */
static void assignments_of_other_patterns_are_refused(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_SPLIT, TESS_FORMAT_COMPOSITE};
    oracle_csr a = oracle_tridiagonal(40, -1.0, 2.0, -1.0), b = oracle_tridiagonal(40, -1.0, 2.0, -1.0);
    tess_matrix *stored = NULL;
    tess_assignment *assignment = NULL;
    tess_storage_options o = base_options;
    matrix_pair p;

    (void)state;
    a.val[0] = a.val[1] = 0.25;
    b.row_ptr[1] = 3;
    b.col_ind[2] = 2;
    p = open_pair(&a, &b);
    assert_ok(p.ctx, tess_policy_options_parse("fixed-range:1", &o.policy));
    assert_ok(p.ctx, tess_assignment_create(p.m, &o.policy, &assignment));
    for (int f = 0; f < 2; f++) {
        o.format = formats[f];
        assert_fails(p.ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert_assigned(p.other, &o, assignment, &stored));
        assert_null(stored);
        assert_ok(p.ctx, tess_matrix_convert_assigned(p.m, &o, assignment, &stored));
        tess_matrix_destroy(stored);
        stored = NULL;
    }
    tess_assignment_destroy(assignment);
    close_pair(&p);
}

static void wrong_assignments_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(40, -1.0, 2.0, -1.0), b = oracle_tridiagonal(41, -1.0, 2.0, -1.0);
    matrix_pair p = open_pair(&a, &b);
    tess_matrix *stored = NULL;
    tess_storage_options o = base_options;
    tess_assignment *assignment = NULL;

    (void)state;
    assert_ok(p.ctx, tess_assignment_create(p.other, &o.policy, &assignment));
    assert_fails(p.ctx, TESS_DIMENSION_MISMATCH, tess_matrix_convert_assigned(p.m, &o, assignment, &stored));
    o.format = TESS_FORMAT_CSR;
    assert_fails(p.ctx, TESS_UNSUPPORTED, tess_matrix_convert_assigned(p.other, &o, assignment, &stored));
    tess_assignment_destroy(assignment);
    o.policy = (tess_policy_options){.granularity = TESS_GRANULARITY_MATRIX};
    o.format = TESS_FORMAT_SPLIT;
    assert_ok(p.ctx, tess_assignment_create(p.m, &o.policy, &assignment));
    assert_fails(p.ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert_assigned(p.m, &o, assignment, &stored));
    assert_null(stored);
    tess_assignment_destroy(assignment);
    close_pair(&p);
}

static void wrong_products_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(40, -0.1, 2.0, -0.1);
    tess_matrix *m = make_matrix(ctx, &a), *split = NULL, *composite = NULL;
    tess_storage_options o = base_options;
    tess_vector *x = make_zeros(ctx, 40), *y = make_zeros(ctx, 40), *narrow[2] = {NULL, NULL};
    int32_t perm[40];

    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_ok(ctx, tess_vector_create(ctx, 40, TESS_PRECISION_FP32, &narrow[k]));
    }
    split = convert(m, &o);
    o.format = TESS_FORMAT_COMPOSITE;
    composite = convert(m, &o);
    assert_int_equal(tess_matrix_precision(composite), TESS_PRECISION_FP64);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv_level(split, 0, 1.0, x, 0.0, y));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_spmv_level(composite, 2, 1.0, x, 0.0, y));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_spmv_level(composite, -1, 1.0, x, 0.0, y));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(split, TESS_OP_NONE, 1.0, narrow[0], 0.0, narrow[1]));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_spmv(split, TESS_OP_TRANSPOSE, 1.0, x, 0.0, y));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_row_permutation(m, perm));
    tess_vector_destroy(narrow[0]);
    tess_vector_destroy(narrow[1]);
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    tess_matrix_destroy(split);
    tess_matrix_destroy(composite);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_at_a_scaled_level_hold_all_rows),
        cmocka_unit_test(bytes_are_those_of_table_one),
        cmocka_unit_test(three_levels_cost_what_they_hold),
        cmocka_unit_test(rows_are_sorted_by_level_and_keep_their_order),
        cmocka_unit_test(a_composite_serves_three_precisions),
        cmocka_unit_test(new_values_reach_every_copy),
        cmocka_unit_test(the_diagonal_may_be_left_out),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(wrong_assignments_are_refused),
        cmocka_unit_test(assignments_of_other_patterns_are_refused),
        cmocka_unit_test(wrong_products_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
