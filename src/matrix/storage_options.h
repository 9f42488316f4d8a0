/* SPDX-License-Identifier: Apache-2.0 */
/* Storage options of a caller, with what they point to. */
#ifndef TESS_MATRIX_STORAGE_OPTIONS_H
#define TESS_MATRIX_STORAGE_OPTIONS_H

#include <tessera/papers.h>

#include "base/options.h"

/* options.papers is NULL or points to `papers`, so that nothing of the caller's is kept. It is not copied by
   assignment: storage_request_set does that. */
typedef struct storage_request {
    tess_storage_options options;
    tess_papers_storage papers;
} storage_request;

/* A caller's options, or the defaults where they are NULL. INVALID_ARGUMENT for sizes and reserved words. */
tess_status storage_request_take(tess_context *ctx, const tess_storage_options *given, storage_request *out);
/* Options that were taken before. */
void storage_request_set(storage_request *out, const tess_storage_options *options);
/* The same for options that are a member of others: checks them, copies what they point to, and points there. */
tess_status storage_options_take_member(tess_context *ctx, tess_storage_options *options, tess_papers_storage *papers);
/* What options that were taken say of the papers' tiles; the defaults where they point to nothing. */
const tess_papers_storage *storage_papers(const tess_storage_options *options);

#endif
