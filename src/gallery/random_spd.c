/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random sparse positive definite matrix S (L + delta I) S with L the Laplacian of a random graph with random
 * weights and S a random diagonal of signs. The smallest eigenvalue is delta (vector S 1); by Gershgorin and by the
 * diagonal the largest lies between w + delta and 2 w + delta, w being the largest weighted degree. With delta = 2 w /
 * (COND - 1) the condition number lies in [COND / 2, COND].
 */
#include "base/offsets.h"
#include "gallery/problem.h"
#include "matrix/assemble.h"

typedef struct random_spd {
    int64_t n, per_row, seed;
    double condition;
    int64_t entries; /* n diagonal places, then the edges */
    int32_t *row, *col;
    double *val;
} random_spd;

static tess_status read_random_spd(const gallery_request *request, random_spd *p)
{
    tess_status status = TESS_SUCCESS;

    p->per_row = 10;
    p->condition = 1e4;
    p->seed = 1;
    TESS_TRY(gallery_integer(request, 0, "N", 1, TESS_MAX_ROWS, &p->n));
    TESS_TRY(gallery_integer(request, 1, "NNZ_PER_ROW", 1, 100000, &p->per_row));
    TESS_TRY(gallery_real(request, 2, "COND", 2.0, 1e15, &p->condition));
    TESS_TRY(gallery_integer(request, 3, "SEED", 0, GALLERY_SEED_MAX, &p->seed));
cleanup:
    return status;
}

/* Number of edges: each gives two nonzeros. */
static int64_t edge_count(const random_spd *p)
{
    return p->n > 1 ? (int64_t)((double)(p->per_row - 1) * (double)p->n / 2.0) : 0;
}

static double random_sign(uint64_t stream, int64_t i)
{
    return tess_random_bits(stream, (uint64_t)i) >> 63 ? 1.0 : -1.0;
}

/* Edge e starts at node e mod n and ends at another one; its weight lies in (0, 1). */
static void draw_edges(const random_spd *p, int threads)
{
    uint64_t ends = gallery_stream(p->seed, 0), weights = gallery_stream(p->seed, 1);
    uint64_t signs = gallery_stream(p->seed, 2);

#pragma omp parallel for num_threads(threads)
    for (int64_t k = 0; k < p->entries; k++) {
        int64_t e = k - p->n, i = k % p->n, j = i;

        p->val[k] = 0.0;
        if (e >= 0) {
            j = (i + 1 + gallery_below(tess_random_bits(ends, (uint64_t)e), p->n - 1)) % p->n;
            p->val[k] = -tess_random_uniform(weights, (uint64_t)e) * random_sign(signs, i) * random_sign(signs, j);
        }
        p->row[k] = (int32_t)(i > j ? i : j);
        p->col[k] = (int32_t)(i > j ? j : i);
    }
}

/* Sum of the magnitudes off the diagonal (which still holds zero). */
static double weighted_degree(const tess_assembled *a, int64_t i)
{
    double sum = 0.0;

    for (int64_t k = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
         k < tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1); k++) {
        sum += fabs(a->val[k]);
    }
    return sum;
}

static void set_diagonal(const tess_assembled *a, double condition, int threads)
{
    double largest = 0.0, delta;

#pragma omp parallel for num_threads(threads) reduction(max : largest)
    for (int64_t i = 0; i < a->nrows; i++) {
        largest = fmax(largest, weighted_degree(a, i));
    }
    delta = largest > 0.0 ? 2.0 * largest / (condition - 1.0) : 1.0;
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < a->nrows; i++) {
        double degree = weighted_degree(a, i);

        for (int64_t k = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
             k < tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1); k++) {
            if (a->col_ind[k] == i) { a->val[k] = degree + delta; }
        }
    }
}

tess_status gallery_randomspd(const gallery_request *request, tess_matrix **out)
{
    tess_context *ctx = request->ctx;
    random_spd p = {.n = 1};
    tess_assembled a = {.nrows = 0};
    tess_entries entries;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_random_spd(request, &p));
    p.entries = p.n + edge_count(&p);
    TESS_TRY(tess_host_allocate(ctx, p.entries, sizeof *p.row, (void **)&p.row));
    TESS_TRY(tess_host_allocate(ctx, p.entries, sizeof *p.col, (void **)&p.col));
    TESS_TRY(tess_host_allocate(ctx, p.entries, sizeof *p.val, (void **)&p.val));
    draw_edges(&p, ctx->threads);
    entries = (tess_entries){.nrows = p.n,
                             .ncols = p.n,
                             .count = p.entries,
                             .row = p.row,
                             .col = p.col,
                             .val = p.val,
                             .symmetry = TESS_SYMMETRY_SYMMETRIC};
    TESS_TRY(tess_assemble_entries(ctx, &entries, &a));
    set_diagonal(&a, p.condition, ctx->threads);
    status = tess_matrix_adopt_csr(ctx, p.n, p.n, a.nnz, a.row_ptr, a.row_ptr_bits, a.col_ind, a.val, out);
cleanup:
    tess_host_release(ctx, p.row, p.entries, sizeof *p.row);
    tess_host_release(ctx, p.col, p.entries, sizeof *p.col);
    tess_host_release(ctx, p.val, p.entries, sizeof *p.val);
    return status;
}
