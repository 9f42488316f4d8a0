/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are forked after the library has computed. fork copies the calling thread alone: OpenMP's other
 * threads are gone, and GNU's runtime waits for them forever in the next parallel region. A region of one thread does
 * not touch them: in a child all contexts have one thread, those that it makes too. A GPU's context works in its own
 * process only.
 */
#ifndef TESS_BASE_FORK_H
#define TESS_BASE_FORK_H

#include "base/context.h"

/* Puts a new context, whose threads are chosen, into the list of those that a fork changes; and takes it out. */
void fork_watch(tess_context *ctx);
void fork_forget(tess_context *ctx);
/* Whether this process is a child of one that had a context with several threads. */
bool fork_lost_threads(void);
/* UNSUPPORTED in a child, for a context of a GPU. */
tess_status fork_require_device(tess_context *ctx);

#endif
