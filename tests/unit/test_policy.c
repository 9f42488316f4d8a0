/* SPDX-License-Identifier: Apache-2.0 */
/* Policies rule by rule on the CPU: names, options, ranges, shares, what fits, scales, levels by row and by entry. */
#include <float.h>

#include "core/internal.h"
#include "granule/assignment.h"
#include "support/test.h"

typedef struct outcome {
    tess_assignment_summary summary;
    uint8_t level[4096];
    int16_t exponent[4096];
} outcome;

static outcome assign(const oracle_csr *a, const tess_policy_options *options)
{
    static outcome o;
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, a);
    tess_assignment *assignment = NULL;

    memset(&o, 0, sizeof o);
    assert_true(a->nrows <= 4096 && a->row_ptr[a->nrows] <= 4096);
    assert_ok(ctx, tess_assignment_create(m, options, &assignment));
    assert_ok(ctx, tess_assignment_measure_error(assignment, m));
    assert_ok(ctx, tess_assignment_get_levels(assignment, o.level));
    tess_assignment_get_summary(assignment, &o.summary);
    if (assignment->exponent) { memcpy(o.exponent, assignment->exponent, (size_t)a->nrows * sizeof *o.exponent); }
    tess_matrix_destroy(m);
    tess_assignment_destroy(assignment);
    assert_int_equal(ctx->held_bytes, 0);
    tess_context_destroy(ctx);
    return o;
}

static tess_policy_options options_of(const char *policy, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    assert_int_equal(tess_policy_parse(policy, &o), TESS_SUCCESS);
    assert_int_equal(tess_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
}

/* One row of `count` values, the first ones given and the rest `rest`. */
static oracle_csr one_row(int64_t count, const double *first, int64_t nfirst, double rest)
{
    oracle_csr a = oracle_allocate(1, count, count);

    a.row_ptr[0] = 0;
    a.row_ptr[1] = count;
    for (int64_t k = 0; k < count; k++) {
        a.col_ind[k] = (int32_t)k;
        a.val[k] = k < nfirst ? first[k] : rest;
    }
    return a;
}

static int level_of(int64_t count, const double *first, int64_t nfirst, const tess_policy_options *o)
{
    oracle_csr a = one_row(count, first, nfirst, 0.5);
    int level = assign(&a, o).level[0];

    oracle_free(&a);
    return level;
}
