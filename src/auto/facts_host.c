/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a matrix on the host: rows by all threads. */
#include "auto/facts.h"
#include "device/host/host.h"

static void take_row(const csr_view *v, const double *diagonal, int64_t i, fact_sums *sums)
{
    const double *val = v->val, d = diagonal[i];
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1);
    fact_part row = fact_part_start();

    for (int64_t from = begin; from < end; from += FACT_PART) {
        const int64_t to = end - from > FACT_PART ? from + FACT_PART : end;
        fact_part part = fact_part_start();

        for (int64_t k = from; k < to; k++) {
            fact_take_entry(i, v->col_ind[k], val[k], diagonal, d, &part, sums);
        }
        fact_part_join(&row, &part);
    }
    fact_end_row(d, end - begin, &row, sums);
}

enum { ROWS_AT_ONCE = 1024 };

static tess_status look(const tess_matrix *a, const double *diagonal, fact_sums *sums)
{
    const csr_view *v = &csr_of(a)->view;

#pragma omp parallel num_threads(host_threads_for(a->ctx, v->nnz))
    {
        fact_sums mine;

        fact_sums_start(&mine);
#pragma omp for schedule(dynamic, ROWS_AT_ONCE) nowait
        for (int64_t i = 0; i < v->nrows; i++) {
            take_row(v, diagonal, i, &mine);
        }
#pragma omp critical(tess_facts)
        fact_sums_join(sums, &mine);
    }
    return TESS_SUCCESS;
}

/* As many threads of a GPU take a row: sums by each, then over them in halves. */
static fact_way pair_row(const csr_view *v, int64_t reach, int64_t i)
{
    fact_way lane[FACT_LANES] = {{0.0, 0.0, 0.0}};
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1), step = fact_pair_step(end - begin);

    for (int64_t k = begin, l = 0; k < end; k += step, l++) {
        fact_take_pair(v, reach, i, k, &lane[l % FACT_LANES]);
    }
    for (int half = FACT_LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) {
            fact_way_join(&lane[l], &lane[l + half]);
        }
    }
    return lane[0];
}

static tess_status pair(const tess_matrix *a, int64_t step, int64_t reach, fact_way *ways)
{
    const csr_view *v = &csr_of(a)->view;

#pragma omp parallel for num_threads(host_threads_for(a->ctx, v->nnz)) schedule(dynamic, 64)
    for (int64_t i = 0; i < v->nrows; i += step) {
        ways[i / step] = pair_row(v, reach, i);
    }
    return TESS_SUCCESS;
}

tess_status facts_levels_host(tess_context *ctx, const csr_view *v, int64_t *levels)
{
    int32_t *level = NULL, most = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->nrows, sizeof *level, (void **)&level));
    for (int64_t i = 0; i < v->nrows; i++) {
        level[i] = 1;
        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1) && v->col_ind[k] < i; k++) {
            if (level[v->col_ind[k]] >= level[i]) { level[i] = level[v->col_ind[k]] + 1; }
        }
        if (level[i] > most) { most = level[i]; }
    }
    *levels = most;
cleanup:
    tess_host_release(ctx, level, v->nrows, sizeof *level);
    return status;
}

static tess_status levels(const tess_matrix *a, int64_t *out)
{
    return facts_levels_host(a->ctx, &csr_of(a)->view, out);
}

static tess_status pattern(const tess_matrix *a, uint64_t *hash)
{
    const csr_view *v = &csr_of(a)->view;
    uint64_t sum = 0;

#pragma omp parallel for num_threads(host_threads_for(a->ctx, v->nnz)) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < v->nrows; i++) {
        sum += fact_hash_row(v, i, 0, 1);
    }
    *hash = sum;
    return TESS_SUCCESS;
}

const facts_ops facts_host_ops = {look, pair, levels, pattern};
