/* SPDX-License-Identifier: Apache-2.0 */
#include "support/renewals.h"

#include "matrix/matrix.h"

tess_amg_options renewed_options(int aggressive)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.amg.coarsening = TESS_AMG_CLASSICAL;
    options.amg.aggressive = aggressive;
    options.amg.coarsest = 20;
    return options.amg;
}

/* A Laplacian, and a weak coupling of the first unknown to all others: rows that no plan is for. */
static oracle_csr with_a_long_row(void)
{
    oracle_csr a = oracle_laplace2d(20), out = oracle_open(a.nrows, a.ncols);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; j < a.nrows; j++) {
            const double value = entry(&a, i, j), more = (i == 0) != (j == 0) ? -1e-3 : 0.0;

            if (value != 0.0 || more != 0.0) { oracle_push(&out, j, i == j ? value + 1e-3 : value + more); }
        }
        oracle_end_row(&out, i);
    }
    oracle_free(&a);
    return out;
}

/* Each row has `neighbours` random negative couplings: sets that a team of a few threads has no space for. */
static oracle_csr with_large_sets(void)
{
    enum { N = 1200, NEIGHBOURS = 30 };
    uint64_t state = 9;
    double row[N];
    oracle_csr a = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        memset(row, 0, sizeof row);
        for (int k = 0; k < NEIGHBOURS; k++) {
            row[oracle_random_bits(&state) % N] = -oracle_uniform(&state, 0.5, 1.0);
        }
        row[i] = NEIGHBOURS;
        for (int64_t j = 0; j < N; j++) {
            if (row[j] != 0.0) { oracle_push(&a, j, row[j]); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

oracle_csr renewed_problem(int k)
{
    const bool small = on_gpu_or_emulated(0, 1);
    const char *const names[] = {
        small ? "laplace3d 9" : "laplace3d 24", small ? "randomdiffusion3d 8 2.5" : "randomdiffusion3d 20 2.5",
        small ? "laplace3d27 8" : "laplace3d27 20", small ? "unstructured2d 400" : "unstructured2d 6000"};

    return k < LARGE_SETS ? generate_problem(names[k], 2) : k == LARGE_SETS ? with_large_sets() : with_a_long_row();
}

void change_values(oracle_csr *a, uint64_t seed, double spread)
{
    double *factor = random_values(a->nnz, seed, 1.0 - spread, 1.0 + spread);

    for (int64_t k = 0; k < a->nnz; k++) {
        a->val[k] *= factor[k];
    }
    free(factor);
}

void give_values(tess_matrix *m, const oracle_csr *a)
{
    assert_ok(m->ctx, tess_matrix_update_values(m, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
}
