/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that another owner than its context frees, from any thread. */
#ifndef TESS_BASE_HANDED_OVER_H
#define TESS_BASE_HANDED_OVER_H

#include "base/context.h"

/* The context counts the array no longer as its own. */
void tess_host_forget(tess_context *ctx, int64_t count, size_t size);
/* Frees it by the allocator that it came from. */
void tess_host_free(const tess_allocator *allocator, const void *pointer, int64_t count, size_t size);

#endif
