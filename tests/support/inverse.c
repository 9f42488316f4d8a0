/* SPDX-License-Identifier: Apache-2.0 */
#include "support/inverse.h"

#include <string.h>

#include "matrix/assembled.h"
#include "support/gallery.h"

tess_precond_options inverse_options(tess_precond_kind kind, int power, double threshold, double filter)
{
    tess_precond_options o = precond_of(kind, 0);

    o.inverse.power = power;
    o.inverse.threshold = threshold;
    o.inverse.filter = filter;
    return o;
}

int64_t row_of_entry(const oracle_csr *a, int64_t k)
{
    int64_t i = 0;

    while (a->row_ptr[i + 1] <= k) {
        i++;
    }
    return i;
}

/* ---- the library's rows ---- */

/* A request, and what it holds. */
typedef struct inverse_scene {
    tess_context *ctx;
    tess_matrix *matrix;
    double *diagonal;
    inverse_request q;
    inverse_rows rows;
} inverse_scene;

static inverse_scene open_scene(const inverse_place *place, const oracle_csr *a, const tess_precond_options *o)
{
    inverse_scene s = {.ctx = open_on(place->device, place->threads)};

    s.matrix = make_matrix(s.ctx, a);
    assert_ok(s.ctx, tess_device_allocate(s.ctx, a->nrows, sizeof *s.diagonal, (void **)&s.diagonal));
    assert_ok(s.ctx, tess_matrix_raw_diagonal(s.matrix, s.diagonal));
    s.q = (inverse_request){.a = s.matrix,
                            .entries = inverse_choice_of(&o->inverse),
                            .symmetric = o->kind == TESS_PRECOND_FSAI,
                            .negative = a->nnz > 0 && a->val[0] < 0.0,
                            .diagonal = s.diagonal,
                            .slice_terms = place->slice_terms};
    assert_ok(s.ctx, inverse_find_pattern(&s.q, &s.rows));
    return s;
}

static void close_scene(inverse_scene *s)
{
    inverse_ops_of(s->ctx)->release(s->ctx, &s->rows);
    tess_device_release(s->ctx, s->diagonal, s->matrix->nrows, sizeof *s->diagonal);
    tess_matrix_destroy(s->matrix);
    tess_context_destroy(s->ctx);
}

static oracle_csr open_rows(const inverse_scene *s)
{
    oracle_csr out = {.nrows = s->matrix->nrows, .ncols = s->matrix->nrows};

    out.nnz = inverse_ops_of(s->ctx)->entries(&s->rows);
    out.row_ptr = test_allocate(out.nrows + 1, sizeof *out.row_ptr);
    out.col_ind = test_allocate(out.nnz, sizeof *out.col_ind);
    out.val = test_allocate(out.nnz, sizeof *out.val);
    return out;
}

oracle_csr inverse_pattern_at(const inverse_place *place, const oracle_csr *a, const tess_precond_options *o)
{
    inverse_scene s = open_scene(place, a, o);
    oracle_csr out = open_rows(&s);
    const device_csr *own = &s.rows.device;
    int32_t *row_ptr = test_allocate(out.nrows + 1, sizeof *row_ptr);

    if (place->device == TESS_DEVICE_CPU) {
        memcpy(out.row_ptr, s.rows.host.row_ptr, (size_t)(out.nrows + 1) * sizeof *out.row_ptr);
        memcpy(out.col_ind, s.rows.host.col_ind, (size_t)out.nnz * sizeof *out.col_ind);
    } else {
        assert_ok(s.ctx,
                  s.ctx->backend->download(s.ctx, row_ptr, own->row_ptr, (size_t)(out.nrows + 1) * sizeof *row_ptr));
        assert_ok(s.ctx,
                  s.ctx->backend->download(s.ctx, out.col_ind, own->col_ind, (size_t)out.nnz * sizeof *out.col_ind));
        for (int64_t i = 0; i <= out.nrows; i++) {
            out.row_ptr[i] = row_ptr[i];
        }
    }
    free(row_ptr);
    close_scene(&s);
    return out;
}

/* The pattern without what the filter leaves out. */
static void filter_scene(inverse_scene *s, inverse_outcome *outcome)
{
    const inverse_ops *ops = inverse_ops_of(s->ctx);

    if (s->q.entries.filter == 0.0) { return; }
    assert_ok(s->ctx, ops->compute(&s->q, &s->rows, outcome));
    assert_ok(s->ctx, ops->drop_small(&s->q, &s->rows));
}

/* Takes the values of the pattern. */
static oracle_csr compute_rows(inverse_scene *s, inverse_outcome *outcome)
{
    const inverse_ops *ops = inverse_ops_of(s->ctx);
    tess_matrix *made = NULL;
    oracle_csr out;

    assert_ok(s->ctx, ops->compute(&s->q, &s->rows, outcome));
    assert_ok(s->ctx, ops->to_matrices(s->ctx, &s->rows, 1.0, &made, NULL));
    out = open_rows(s);
    assert_ok(s->ctx, tess_matrix_get_csr(made, out.row_ptr, out.col_ind, out.val));
    tess_matrix_destroy(made);
    return out;
}

oracle_csr inverse_rows_at(const inverse_place *place, const oracle_csr *a, const tess_precond_options *o,
                           inverse_outcome *outcome)
{
    inverse_scene s = open_scene(place, a, o);
    oracle_csr out;

    filter_scene(&s, outcome);
    out = compute_rows(&s, outcome);
    close_scene(&s);
    return out;
}

oracle_csr inverse_renewed_at(const inverse_place *place, const oracle_csr *a, const double *values,
                              const tess_precond_options *o, inverse_outcome *outcome)
{
    inverse_scene s = open_scene(place, a, o);
    oracle_csr out;

    filter_scene(&s, outcome);
    out = compute_rows(&s, outcome);
    oracle_free(&out);
    assert_ok(s.ctx, tess_matrix_update_values(s.matrix, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(s.ctx, tess_matrix_raw_diagonal(s.matrix, s.diagonal));
    out = compute_rows(&s, outcome);
    close_scene(&s);
    return out;
}

/* ---- what holds ---- */

/* (row i of `rows`) A e_j, and the sum of magnitudes. */
static wide product_at(const oracle_csr *rows, const oracle_csr *a, int64_t i, int64_t j, double *magnitude)
{
    wide sum = 0.0;

    *magnitude = 0.0;
    for (int64_t k = rows->row_ptr[i]; k < rows->row_ptr[i + 1]; k++) {
        const double value = entry(a, rows->col_ind[k], j);

        sum += (wide)rows->val[k] * value;
        *magnitude += fabs(rows->val[k] * value);
    }
    return sum;
}

double diagonal_of(const oracle_csr *a, int64_t i)
{
    return entry(a, i, i);
}

/* (G A)_ij = 0 for j < i on the pattern, and g_ii (G A)_ii = 1. Cholesky's factors solve (A + E) y = e with |E| <=
   gamma(3 m + 1) |L| |L^T|, whose entries are at most sqrt(a_kk a_jj) (Higham 2002, Theorem 10.4). */
void check_factor(const oracle_csr *a, const oracle_csr *g)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t first = g->row_ptr[i], end = g->row_ptr[i + 1];
        double size = 0.0, magnitude = 0.0;

        assert_int_equal(g->col_ind[end - 1], i);
        for (int64_t k = first; k < end; k++) {
            size += fabs(g->val[k]) * sqrt(fabs(diagonal_of(a, g->col_ind[k])));
        }
        for (int64_t k = first; k < end; k++) {
            const int64_t j = g->col_ind[k];
            const double sign = diagonal_of(a, 0) < 0.0 ? -1.0 : 1.0;
            const double bound = gamma_of(4.0 * (double)(end - first) + 8.0) * size * sqrt(fabs(diagonal_of(a, j)));
            const wide product = (wide)sign * product_at(g, a, i, j, &magnitude);

            if (j < i) {
                assert_at_most((double)wide_abs(product), bound);
            } else {
                assert_at_most((double)wide_abs(product * g->val[end - 1] - 1.0), bound * g->val[end - 1]);
            }
        }
    }
}

/* (M A)_ij = delta_ij on the pattern, for dominant rows, where elimination grows no entry. */
void check_inverse(const oracle_csr *a, const oracle_csr *m)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        const double length = (double)(m->row_ptr[i + 1] - m->row_ptr[i]);
        double size = 0.0;

        for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
            size += fabs(m->val[k]) * fabs(diagonal_of(a, m->col_ind[k]));
        }
        for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
            double magnitude = 0.0;
            const wide product = product_at(m, a, i, m->col_ind[k], &magnitude);

            assert_at_most((double)wide_abs(product - (m->col_ind[k] == i ? 1.0 : 0.0)),
                           4.0 * gamma_of(3.0 * length + 8.0) * (size + 1.0));
        }
    }
}

void check_same_pattern(const oracle_csr *a, const oracle_csr *b)
{
    assert_int_equal(a->nnz, b->nnz);
    assert_memory_equal(a->row_ptr, b->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    assert_memory_equal(a->col_ind, b->col_ind, (size_t)a->nnz * sizeof *a->col_ind);
}

void check_same_rows(const oracle_csr *a, const oracle_csr *b)
{
    check_same_pattern(a, b);
    assert_memory_equal(a->val, b->val, (size_t)a->nnz * sizeof *a->val);
}
