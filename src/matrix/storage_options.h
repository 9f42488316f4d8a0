/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's storage options, copied together with the data that they point to. */
#ifndef TESS_MATRIX_STORAGE_OPTIONS_H
#define TESS_MATRIX_STORAGE_OPTIONS_H

#include <tessera/papers.h>

#include "base/options.h"

/* options.papers is NULL or points to `papers`, so that no pointer of the caller's is kept. Do not copy the struct by
   assignment: storage_request_set copies it. */
typedef struct storage_request {
    tess_storage_options options;
    tess_papers_storage papers;
} storage_request;

/* Copies a caller's options, or the defaults if they are NULL. INVALID_ARGUMENT for sizes and reserved words. */
tess_status storage_request_take(tess_context *ctx, const tess_storage_options *given, storage_request *out);
/* Copies options that were taken before. */
void storage_request_set(storage_request *out, const tess_storage_options *options);
/* The same for options that are a member of others: checks them, and copies the data that they point to. */
tess_status storage_options_take_member(tess_context *ctx, tess_storage_options *options, tess_papers_storage *papers);
/* The options of the papers' tiles; the defaults if the pointer is NULL. */
const tess_papers_storage *storage_papers(const tess_storage_options *options);
/* slices.max_padding and slices.window; the defaults where they are 0. */
double storage_max_padding(const tess_storage_options *options);
int64_t storage_window(const tess_storage_options *options);

#endif
