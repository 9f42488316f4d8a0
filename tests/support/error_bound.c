/* SPDX-License-Identifier: Apache-2.0 */
#include "support/error_bound.h"

#include <float.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "support/product.h"

const bound_case bound_cases[] = {
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ROW, "", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ROW, "fp64,fp32:scaled,fp16:scaled,fp8:scaled", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, "", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, "fp64,fp32,fp16,fp8", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_ENTRY, "fp64,fp16,bf16,e5m2", 16},
    {TESS_FORMAT_SPLIT, TESS_GRANULARITY_BLOCK, "fp64,fp32,fp16,bf16", 16},
    {TESS_FORMAT_COMPOSITE, TESS_GRANULARITY_ROW, "fp64,fp32,bf16:scaled", 16},
    {TESS_FORMAT_TILES, TESS_GRANULARITY_BLOCK, "fp64,fp32,fp16,fp8", 16},
    {TESS_FORMAT_TILES, TESS_GRANULARITY_BLOCK, "fp64,bf16", 32},
    {TESS_FORMAT_PACKED, TESS_GRANULARITY_ENTRY, "", 16},
    {TESS_FORMAT_PACKED, TESS_GRANULARITY_ENTRY, "fp64,fp32,fp16,fp8", 16},
    {TESS_FORMAT_CSR, TESS_GRANULARITY_MATRIX, "", 16},
    {TESS_FORMAT_SELL, TESS_GRANULARITY_MATRIX, "fp64,fp32,fp16,fp8", 16},
};
_Static_assert(sizeof bound_cases / sizeof *bound_cases == BOUND_CASES, "the header counts them");

tess_storage_options bound_options(const bound_case *c, double bound, bound_kind kind)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = c->format;
    o.slices.max_padding = c->format == TESS_FORMAT_SELL ? 1e5 : o.slices.max_padding;
    o.policy.granularity = c->granularity;
    o.policy.policy = TESS_POLICY_ERROR_BOUND;
    o.policy.parameter = bound;
    o.policy.matrix_norm = kind == BOUND_OF_MATRIX;
    o.policy.componentwise = kind == BOUND_OF_VALUES;
    o.policy.block_rows = o.policy.block_cols = c->side;
    if (*c->levels) { assert_int_equal(tess_precision_levels_parse(c->levels, &o.policy), TESS_SUCCESS); }
    return o;
}

/* ---- rows ---- */

bool bound_is_finite(const oracle_csr *a, int64_t row)
{
    bool finite = true;

    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        finite = finite && isfinite(a->val[k]);
    }
    return finite;
}

wide bound_norm_of(const oracle_csr *a, int64_t row)
{
    wide norm = 0;

    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        norm += wide_abs((wide)a->val[k]);
    }
    return norm;
}

/* The largest norm of a row that is finite; the library's stays in FP64. */
static wide matrix_norm_of(const oracle_csr *a)
{
    wide largest = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        const wide norm = bound_is_finite(a, i) ? bound_norm_of(a, i) : 0;

        largest = norm > largest ? norm : largest;
    }
    return largest > (wide)DBL_MAX ? (wide)DBL_MAX : largest;
}

/* The error of a row that its norm bounds. */
static wide check_row(const oracle_csr *a, const oracle_csr *stored, const tess_policy_options *o, int64_t i, wide norm)
{
    wide error = 0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (stored->val[k] != a->val[k]) { error += wide_abs((wide)a->val[k] - (wide)stored->val[k]); }
    }
    if (!(error <= (wide)o->parameter * norm)) {
        print_message("row %lld: error %g of %g\n", (long long)i, (double)error, (double)norm);
    }
    assert_true(error <= (wide)o->parameter * norm);
    return norm > 0 ? error / norm : 0;
}

/* The largest error of a value relative to itself; values that are not finite are there to the bit. */
static wide check_values(const oracle_csr *a, const oracle_csr *stored, const tess_policy_options *o, int64_t i)
{
    wide largest = 0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const wide size = wide_abs((wide)a->val[k]), error = wide_abs((wide)a->val[k] - (wide)stored->val[k]);

        if (!isfinite(a->val[k])) {
            assert_true(same_bits(a->val + k, stored->val + k, 1));
            continue;
        }
        assert_true(error <= (wide)o->parameter * size);
        if (error > largest * size) { largest = error / size; }
    }
    return largest;
}

double check_bound(const oracle_csr *a, const oracle_csr *stored, const tess_policy_options *o)
{
    const wide whole = o->matrix_norm ? matrix_norm_of(a) : 0;
    wide largest = 0;

    assert_int_equal(a->nnz, stored->nnz);
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t begin = a->row_ptr[i], count = a->row_ptr[i + 1] - begin;
        wide error;

        if (o->parameter < 0x1p-53 || (!o->componentwise && !bound_is_finite(a, i))) {
            assert_true(same_bits(a->val + begin, stored->val + begin, count));
            continue;
        }
        error = o->componentwise ? check_values(a, stored, o, i)
                                 : check_row(a, stored, o, i, o->matrix_norm ? whole : bound_norm_of(a, i));
        largest = error > largest ? error : largest;
    }
    return (double)largest;
}

/* ---- storage ---- */

/* Entries that are stored nowhere have no level. None is 0, which later values may replace. */
static void check_left_out(const tess_assignment *made, const tess_assignment_summary *s, const oracle_csr *a)
{
    int64_t count = 0, stored = 0;
    uint8_t *level;

    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        stored += s->nonzeros_at[l];
    }
    assert_int_equal(stored + s->left_out, a->nnz);
    if (s->options.granularity != TESS_GRANULARITY_ENTRY) {
        assert_int_equal(s->left_out, 0);
        return;
    }
    level = test_allocate(a->nnz, 1);
    assert_ok(made->ctx, tess_assignment_get_levels(made, level));
    for (int64_t k = 0; k < a->nnz; k++) {
        count += level[k] == TESS_LEVEL_NONE;
        assert_true(level[k] != TESS_LEVEL_NONE || a->val[k] != 0.0);
    }
    assert_int_equal(count, s->left_out);
    assert_true(s->left_out == 0 || (s->largest_relative_error >= 1.0 && s->options.parameter >= 0x1p-53));
    free(level);
}

/* What is measured is what is stored. */
static void check_measured(const tess_matrix *m, const tess_policy_options *o, const oracle_csr *a, double expected)
{
    const double n = (double)oracle_longest_row(a, false);
    const double tolerance = 4.0 * gamma_of(n + 10.0) + (o->matrix_norm ? 4.0 * n * n * 0x1p-61 : 0.0);
    tess_assignment *made = NULL;
    tess_assignment_summary s = {.size = sizeof s};

    assert_ok(m->ctx, tess_assignment_create(m, o, &made));
    tess_assignment_get_summary(made, &s);
    assert_true(s.backward_error == -1.0);
    assert_ok(m->ctx, tess_assignment_measure_error(made, m));
    tess_assignment_get_summary(made, &s);
    assert_at_most(fabs(s.backward_error - expected), tolerance * expected);
    assert_at_most(s.backward_error, o->parameter);
    check_left_out(made, &s, a);
    tess_assignment_destroy(made);
}

void check_bound_case(const tess_matrix *m, const oracle_csr *a, const bound_case *c, double bound, bound_kind kind)
{
    const tess_storage_options o = bound_options(c, bound, kind);
    tess_matrix *stored = NULL;
    oracle_csr held;
    double largest;

    assert_ok(m->ctx, tess_matrix_convert(m, &o, &stored));
    held = decode_matrix(stored);
    largest = check_bound(a, &held, &o.policy);
    check_measured(m, &o.policy, a, largest);
    oracle_free(&held);
    tess_matrix_destroy(stored);
}
