/* SPDX-License-Identifier: Apache-2.0 */
/* Values for the baseline's incomplete factorization, on the host: shifts, and plain loops for the factors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peers/factor_values.h"
#include "precond/incomplete/incomplete.h"
#include "precond/incomplete/incomplete_rows.h"

void bench_shift_values(const bench_csr *a, bool cholesky, double shift, double *val)
{
    const tess_incomplete_job job = {.cholesky = cholesky, .shift = shift};

    memcpy(val, a->val, (size_t)a->nnz * sizeof *val);
    for (int64_t i = 0; i < a->nrows; i++) {
        double sum = 0.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            sum += a->col_ind[k] <= i || !cholesky ? fabs(a->val[k]) : 0.0;
        }
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (a->col_ind[k] == i) { val[k] = incomplete_diagonal(&job, val[k], sum); }
        }
    }
}

/* place[j]: where the row has column j, or -1 */
static void mark_row(const bench_csr *a, int64_t i, bool marked, int64_t *place)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        place[a->col_ind[k]] = marked ? k : -1;
    }
}

static void eliminate(const bench_csr *a, int64_t i, const int64_t *diagonal, const int64_t *place, double *val)
{
    for (int64_t k = a->row_ptr[i]; a->col_ind[k] < i; k++) {
        const int64_t j = a->col_ind[k];

        val[k] /= val[diagonal[j]];
        for (int64_t e = diagonal[j] + 1; e < a->row_ptr[j + 1]; e++) {
            if (place[a->col_ind[e]] >= 0) { val[place[a->col_ind[e]]] -= val[k] * val[e]; }
        }
    }
}

/* L D becomes L D^1/2: rows of the unit lower triangle times the roots of D. */
static void take_roots(const bench_csr *a, const int64_t *diagonal, double *val)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        val[diagonal[i]] = sqrt(val[diagonal[i]]);
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < diagonal[i]; k++) {
            val[k] *= val[diagonal[a->col_ind[k]]];
        }
    }
}

bool bench_factor_values(const bench_csr *a, bool cholesky, double *val)
{
    int64_t *place = bench_allocate((size_t)a->nrows, sizeof *place), *diagonal = NULL;
    bool good = true;

    diagonal = bench_allocate((size_t)a->nrows, sizeof *diagonal);
    for (int64_t i = 0; i < a->nrows; i++) {
        place[i] = -1;
    }
    for (int64_t i = 0; i < a->nrows && good; i++) {
        mark_row(a, i, true, place);
        diagonal[i] = place[i];
        good = diagonal[i] >= 0;
        if (!good) { break; }
        eliminate(a, i, diagonal, place, val);
        good = cholesky ? val[diagonal[i]] > 0.0 : val[diagonal[i]] != 0.0;
        mark_row(a, i, false, place);
    }
    if (good && cholesky) { take_roots(a, diagonal, val); }
    free(place);
    free(diagonal);
    return good;
}
