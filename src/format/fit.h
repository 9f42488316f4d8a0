/* SPDX-License-Identifier: Apache-2.0 */
/* Whether storage options fit a format: the rules that the formats' tables hold as data, in one place. */
#ifndef TESS_FORMAT_FIT_H
#define TESS_FORMAT_FIT_H

#include "matrix/format.h"

/* Puts the format's granularity in place of an open one: matrix is open where there are parts, and so is row, the
   default of a policy, where the format does not have it. */
void tess_storage_settle(tess_storage_options *options);

/* Whether a conversion takes the options, which are settled. nrows, ncols: -1 where they are not known. */
tess_status tess_storage_fits(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options);

/* The first option that a format does not read, though it is not at its default, as messages call it; NULL: none. */
const char *tess_storage_find_unread(const tess_format_capabilities *can, const tess_storage_options *options);

/* The precisions that values may be stored in on the context's device. */
unsigned tess_format_precisions(const tess_context *ctx, const tess_format_capabilities *can);

#endif
