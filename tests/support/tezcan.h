/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of Tezcan et al. (2022), section IV-B: 2,000 Jacobi iterations from 0 with the scaled matrix. */
#ifndef TESS_TESTS_SUPPORT_TEZCAN_H
#define TESS_TESTS_SUPPORT_TEZCAN_H

#include <tessera/solver.h>

#include "support/test.h"

/* The matrix with the largest product on the diagonal, scaled to 1, in place of the one given. */
tess_matrix *tezcan_scale(tess_context *ctx, tess_matrix *a);
/* By rows within a tenth of the mean, one value of a short row outside; and the baseline, by entries within 0.01. */
tess_solve_options tezcan_options(const char *steps);
tess_solve_options tezcan_baseline(void);
/* The relative residual of 2,000 iterations, for A x* with x* = i / n; *low: nonzeros below FP64. */
double tezcan_run(tess_context *ctx, const tess_matrix *a, const tess_solve_options *o, int64_t *low);
/* The same in steps; some nonzeros are low unless all are FP64. */
double tezcan_run_steps(tess_context *ctx, const tess_matrix *a, const char *steps);
/* Two and three steps, which end in FP64, end as FP64 alone does. */
void tezcan_check_last_steps(tess_context *ctx, const tess_matrix *a, double fp64);

#endif
