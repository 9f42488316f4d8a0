/* SPDX-License-Identifier: Apache-2.0 */
/* Problems whose levels on a GPU get new values. */
#ifndef TESS_TESTS_SUPPORT_RENEWALS_H
#define TESS_TESTS_SUPPORT_RENEWALS_H

#include <tessera/precond.h>

#include "support/gallery.h"
#include "support/test.h"

/* Those before LARGE_SETS are model problems. */
enum { LARGE_SETS = 4, LONG_ROW = 5, RENEWED_PROBLEMS = 6 };

oracle_csr renewed_problem(int k);
/* Classical coarsening to 20 unknowns. */
tess_amg_options renewed_options(int aggressive);
/* Each value times a factor from 1 - spread to 1 + spread. */
void change_values(oracle_csr *a, uint64_t seed, double spread);
void give_values(tess_matrix *m, const oracle_csr *a);

#endif
