/* SPDX-License-Identifier: Apache-2.0 */
/* Whether storage options fit a format. The formats' tables hold the rules as data; this is the only place that applies
   them. */
#ifndef TESS_FORMAT_FIT_H
#define TESS_FORMAT_FIT_H

#include "base/context.h"
#include "matrix/format.h"

/* Sets the format's granularity if it is open. Granularity matrix is open for formats in parts, and so is row, a
   policy's default, if the format does not have it; neither is where the caller gave it. */
void tess_storage_settle(tess_storage_options *options);

/* Whether a conversion takes the (settled) options. nrows, ncols: -1 if unknown. */
tess_status tess_storage_fits(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options);

/* The first option that was changed from its default though the format does not read it, by its name in messages; NULL:
   none. */
const char *tess_storage_find_unread(const tess_format_capabilities *can, const tess_storage_options *options);

/* Refuses options that were changed from their defaults though their format, or the format of its parts, does not read
   them. options: with a format, not auto. */
tess_status tess_storage_require_read(tess_context *ctx, const tess_storage_options *options);

/* Refuses options that the format in parts reads, but not with this granularity or this policy. options: settled. */
tess_status tess_storage_require_effect(tess_context *ctx, const tess_storage_options *options);

/* For checks without a context of the caller's: on the host, and fit to receive an error, nothing else. */
tess_context tess_storage_judge(void);

/* The precisions that values may be stored in on the context's device. */
unsigned tess_format_precisions(const tess_context *ctx, const tess_format_capabilities *can);

#endif
