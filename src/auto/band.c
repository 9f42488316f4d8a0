/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether reverse Cuthill-McKee pays before incomplete factors with a threshold. Where it halved the profile of A,
 * GMRES with ILUT of the scaled matrix took 0.68 times the iterations over 15 real matrices of 1,000 rows and more, and
 * 1.2 times as many at worst. Elsewhere two systems were not solved any more (docs/results/automatic.md).
 */
#include <tessera/order.h>

#include "auto/auto.h"

/* Of the profile before. */
#define MOST_PROFILE 0.5
/* Smaller systems take milliseconds in any order. */
enum { LEAST_ROWS = 1000 };

/* The sum over rows of how far apart their first and last entry are, the diagonal among them, where row and column i
   are at place[i]; NULL: at i. */
static double profile_of(const csr_view *v, const int32_t *place)
{
    double sum = 0.0;

    for (int64_t i = 0; i < v->nrows; i++) {
        int64_t first = place ? place[i] : i, last = first;

        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            const int64_t j = place ? place[v->col_ind[k]] : v->col_ind[k];

            first = j < first ? j : first;
            last = j > last ? j : last;
        }
        sum += (double)(last - first);
    }
    return sum;
}

tess_status band_pays(const tess_matrix *a, bool *pays)
{
    const int64_t n = a->nrows;
    tess_host_matrix host = {0};
    int32_t *order = NULL, *place = NULL;
    tess_status status = TESS_SUCCESS;

    *pays = false;
    if (n < LEAST_ROWS) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *order, (void **)&order));
    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *place, (void **)&place));
    TESS_TRY(tess_order_rcm(a, order));
    for (int64_t i = 0; i < n; i++) {
        place[order[i]] = (int32_t)i;
    }
    TESS_TRY(tess_matrix_on_host(a, &host));
    {
        const csr_view *v = &csr_of(host.matrix)->view;

        *pays = profile_of(v, place) < MOST_PROFILE * profile_of(v, NULL);
    }
cleanup:
    tess_host_matrix_release(&host);
    tess_host_release(a->ctx, place, n, sizeof *place);
    tess_host_release(a->ctx, order, n, sizeof *order);
    return status;
}
