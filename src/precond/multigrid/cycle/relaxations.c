/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/relaxations.h"

#include "precond/multigrid/classical/split.h"

static double scaled_diagonal(const amg_scaled *s, int64_t i)
{
    for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
        if (s->a->col_ind[k] == i) { return s->a->val[k] * (s->left[i] * s->right[i]); }
    }
    return 0.0;
}

/* The inverse of the diagonal for one kind of unknowns; where that is 0 the other smoothing steps do. */
static tess_status make_one(const amg_cycle *c, const amg_scaled *s, const uint8_t *split, uint8_t kind,
                            tess_matrix **out)
{
    const int64_t n = s->a->nrows;
    host_csr m = {0};
    double *ones = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(c->ctx, n, n, &m));
    TESS_TRY(tess_host_allocate(c->ctx, n, sizeof *ones, (void **)&ones));
    m.row_ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        ones[i] = 1.0;
        m.row_ptr[i + 1] = split[i] == kind && scaled_diagonal(s, i) != 0.0;
    }
    host_csr_sum_lengths(&m);
    TESS_TRY(host_csr_allocate_entries(c->ctx, &m));
    for (int64_t i = 0; i < n; i++) {
        if (m.row_ptr[i + 1] == m.row_ptr[i]) { continue; }
        m.col_ind[m.row_ptr[i]] = (int32_t)i;
        m.val[m.row_ptr[i]] = 1.0 / scaled_diagonal(s, i);
    }
    status = amg_store(c->ctx, &(amg_scaled){&m, ones, ones},
                       &(amg_layout){.precision = c->vectors, .vectors = c->vectors}, false, out);
cleanup:
    tess_host_release(c->ctx, ones, n, sizeof *ones);
    host_csr_release(c->ctx, &m);
    return status;
}

tess_status amg_make_relaxations(const amg_cycle *c, const amg_hierarchy *h, int l, const amg_scaled *a,
                                 amg_cycle_level *out)
{
    const uint8_t *split = NULL;
    tess_status status = TESS_SUCCESS;

    if (c->options.smoother != TESS_AMG_FC_JACOBI || l + 1 == h->count || !h->coarsening->split) {
        return TESS_SUCCESS;
    }
    split = h->coarsening->split(h->state, l);
    for (int k = 0; k < 2; k++) { /* of the values before */
        tess_matrix_destroy(out->relax[k]);
        out->relax[k] = NULL;
    }
    TESS_TRY(make_one(c, a, split, AMG_FINE, &out->relax[0]));
    status = make_one(c, a, split, AMG_COARSE, &out->relax[1]);
cleanup:
    return status;
}
