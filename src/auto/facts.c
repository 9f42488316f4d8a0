/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a matrix where it lies: on its device, from where only numbers come. */
#include "auto/facts.h"

#include "base/stages.h"
#include "solver/symmetry.h"

bool may_be_positive_definite(const matrix_facts *f)
{
    return f->symmetric && f->positive == f->n && f->improper_minors == 0;
}

bool may_be_negative_definite(const matrix_facts *f)
{
    return f->symmetric && f->n > 0 && f->negative == f->n && f->improper_minors == 0;
}

bool is_lower_triangular(const matrix_facts *f)
{
    return f->finite && f->above == 0 && f->zero == 0;
}

bool is_upper_triangular(const matrix_facts *f)
{
    return f->finite && f->below == 0 && f->zero == 0;
}

bool has_zero_block(const matrix_facts *f)
{
    return f->finite && f->zero > 0 && f->zero < f->n && f->among_zeros == 0 && (f->above > 0) == (f->below > 0);
}

/* Rows whose sizes differ by more than a norm in FP64 resolves of their squares. Below, cycles that meet the tolerance
   as given go on until the small rows meet theirs (solver/guard_cycle.c). */
#define ROWS_APART 0x1p26

bool rows_are_apart(const matrix_facts *f)
{
    return f->least_row > 0.0 && f->greatest_row / f->least_row > ROWS_APART;
}

static double most_of(double most)
{
    return most == -INFINITY ? 0.0 : most;
}

static void take_sums(const fact_sums *s, matrix_facts *f)
{
    f->finite = s->count[FACT_NOT_FINITE] == 0;
    f->positive = s->count[FACT_POSITIVE];
    f->negative = s->count[FACT_NEGATIVE];
    f->zero = s->count[FACT_ZERO];
    f->empty_rows = s->count[FACT_EMPTY];
    f->dominant_rows = s->count[FACT_DOMINANT];
    f->improper_minors = s->count[FACT_MINORS];
    f->null_rows = s->count[FACT_NULL];
    f->near_null_rows = s->count[FACT_NEAR_NULL];
    f->same_sign = s->count[FACT_SAME_SIGN];
    f->above = s->count[FACT_ABOVE];
    f->below = s->count[FACT_BELOW];
    f->among_zeros = s->count[FACT_AMONG_ZEROS];
    f->longest_row = (int64_t)most_of(s->most[FACT_LENGTH]);
    f->bandwidth = (int64_t)most_of(s->most[FACT_DISTANCE]);
    f->greatest_row = most_of(s->most[FACT_ROW]);
    f->least_row = fabs(most_of(s->most[FACT_MINUS_ROW]));
    f->greatest_diagonal = most_of(s->most[FACT_DIAGONAL]);
    f->least_diagonal = fabs(most_of(s->most[FACT_MINUS_DIAGONAL]));
    f->row_ratio = most_of(s->most[FACT_RATIO]);
}

static tess_status look_at_rows(const tess_matrix *a, matrix_facts *f)
{
    double *diagonal = NULL;
    fact_sums sums;
    tess_status status = TESS_SUCCESS;

    fact_sums_start(&sums);
    TESS_TRY(tess_device_allocate(a->ctx, f->n, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(assembled_ops_of(a->ctx)->diagonal(a, diagonal));
    TESS_TRY(tess_stage_note(a->ctx, "facts: diagonal"));
    TESS_TRY(facts_ops_of(a->ctx)->look(a, diagonal, &sums));
    TESS_TRY(tess_stage_note(a->ctx, "facts: rows"));
    take_sums(&sums, f);
cleanup:
    tess_device_release(a->ctx, diagonal, f->n, sizeof *diagonal);
    return status;
}

/* ---- pairs of entries ---- */

/* Rows that are looked at, evenly spread. */
enum { SAMPLED_ROWS = 4096 };

/* The sum of | |a_ij| - |a_ji| | over that of |a_ij| + |a_ji|, beside the diagonal: 0 for a symmetric matrix, 1 where
   no row has an entry of a column that has one of it. */
static void take_ways(const fact_way *ways, int64_t count, matrix_facts *f)
{
    fact_way all = {0.0, 0.0, 0.0};

    for (int64_t i = 0; i < count; i++) {
        fact_way_join(&all, &ways[i]);
    }
    if (all.sum == 0.0) { return; }
    f->one_way = f->symmetric ? 0.0 : all.differences / all.sum;
    f->far_share = 2.0 * all.far / all.sum;
}

static tess_status look_at_pairs(const tess_matrix *a, matrix_facts *f)
{
    const int64_t step = f->n > SAMPLED_ROWS ? f->n / SAMPLED_ROWS : 1, count = (f->n + step - 1) / step;
    fact_way *ways = NULL, *on_host = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(a->ctx, count, sizeof *ways, (void **)&ways));
    TESS_TRY(tess_host_allocate(a->ctx, count, sizeof *on_host, (void **)&on_host));
    TESS_TRY(facts_ops_of(a->ctx)->pair(a, step, f->bandwidth / 2, ways));
    TESS_TRY(a->ctx->backend->download(a->ctx, on_host, ways, (size_t)count * sizeof *ways));
    take_ways(on_host, count, f);
    TESS_TRY(tess_stage_note(a->ctx, "facts: pairs"));
cleanup:
    tess_host_release(a->ctx, on_host, count, sizeof *on_host);
    tess_device_release(a->ctx, ways, count, sizeof *ways);
    return status;
}

/* ---- all ---- */

tess_status find_facts(const tess_matrix *a, matrix_facts *facts)
{
    tess_status status = TESS_SUCCESS;

    *facts = (matrix_facts){.n = a->nrows, .nnz = a->nnz, .finite = true, .is_complex = a->is_complex};
    TESS_TRY(probe_symmetry(a, &facts->symmetric));
    TESS_TRY(tess_stage_note(a->ctx, "facts: symmetry"));
    if (facts->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(look_at_rows(a, facts));
    status = look_at_pairs(a, facts);
cleanup:
    return status;
}

/* ---- levels ---- */

/* Up to so many entries the host counts the levels of a matrix on a GPU, in about the time that sweeps take. */
enum { COUNTED_ENTRIES = 1 << 19 };

static tess_status count_on_host(const tess_matrix *a, int64_t *levels)
{
    tess_context *ctx = a->ctx;
    csr_view v = csr_of(a)->view;
    const int64_t bytes = (a->nrows + 1) * v.row_ptr_bits / 8;
    void *row_ptr = NULL;
    int32_t *col_ind = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, bytes, 1, &row_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col_ind, (void **)&col_ind));
    TESS_TRY(ctx->backend->download(ctx, row_ptr, v.row_ptr, (size_t)bytes));
    TESS_TRY(ctx->backend->download(ctx, col_ind, v.col_ind, (size_t)a->nnz * sizeof *col_ind));
    v.row_ptr = row_ptr;
    v.col_ind = col_ind;
    status = facts_levels_host(ctx, &v, levels);
cleanup:
    tess_host_release(ctx, col_ind, a->nnz, sizeof *col_ind);
    tess_host_release(ctx, row_ptr, bytes, 1);
    return status;
}

tess_status find_levels(const tess_matrix *a, matrix_facts *facts)
{
    const bool copies = a->ctx->device == TESS_DEVICE_GPU && a->nnz <= COUNTED_ENTRIES;
    tess_status status = TESS_SUCCESS;

    if (facts->levels > 0 || facts->n == 0) { return TESS_SUCCESS; }
    TESS_TRY(copies ? count_on_host(a, &facts->levels) : facts_ops_of(a->ctx)->levels(a, &facts->levels));
    status = tess_stage_note(a->ctx, "facts: levels");
cleanup:
    return status;
}
