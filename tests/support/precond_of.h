/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a preconditioner in one expression. */
#ifndef TESS_TESTS_SUPPORT_PRECOND_OF_H
#define TESS_TESTS_SUPPORT_PRECOND_OF_H

#include <tessera/precond.h>

/* The default ones, with blocks of so many rows (0: the default). */
tess_precond_options precond_of(tess_precond_kind kind, int block_size);

#endif
