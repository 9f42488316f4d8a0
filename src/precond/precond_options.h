/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's options of a preconditioner, copied together with the data that they point to. */
#ifndef TESS_PRECOND_PRECOND_OPTIONS_H
#define TESS_PRECOND_PRECOND_OPTIONS_H

#include <tessera/precond.h>

#include "matrix/storage_options.h"

/* Copies a caller's options, or the defaults if they are NULL; the pointer in the copy leads to *papers.
   INVALID_ARGUMENT for sizes and reserved words. */
tess_status precond_options_take(tess_context *ctx, const tess_precond_options *given, tess_precond_options *out,
                                 tess_papers_storage *papers);
/* The same for options that are a member of others. */
tess_status precond_options_take_member(tess_context *ctx, tess_precond_options *options, tess_papers_storage *papers);

/* Errors: INVALID_ARGUMENT for what has no effect, and for what the kind does not take (registry/options_check.c). */
tess_status precond_options_require_fit(tess_context *ctx, const tess_precond_options *taken);

/* Errors: of jacobi-sweeps, a schedule that is none, or that the format does not take. */
tess_status sweeps_require_fit(tess_context *ctx, const tess_jacobi_sweeps_options *options);

#endif
