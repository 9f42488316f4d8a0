/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that stands in for a GPU in builds without one. Its memory is the host's, its operations are the host's,
 * and the library takes every decision as for a GPU. The stand-in refuses copies whose arrays are not where the call
 * says, and fails a call where a test asks for it. What GPU code computes is no matter of these tests.
 */
#ifndef TESS_TESTS_SUPPORT_STAND_IN_H
#define TESS_TESTS_SUPPORT_STAND_IN_H

#include "support/heap.h"
#include "support/test.h"

typedef struct stand_in {
    heap memory;       /* of the device */
    int64_t calls;     /* of operations that can fail, since the counter was set to 0 */
    int64_t fail_at;   /* the operation with this number, counted from 0, fails; -1: none does */
    int64_t misplaced; /* copies whose arrays are not in the memory that the operation says */
} stand_in;

/* Whether this build has no GPU backend; else its tables would be taken for the stand-in's. */
bool stand_in_is_possible(void);
/* A context on the stand-in, which *s describes until the context is destroyed. host: NULL for the default. */
tess_context *open_stand_in(stand_in *s, heap *host, int threads);
/* The same for programs of tests/gpu, if TESSERA_STAND_IN is set; else NULL. */
tess_context *open_stand_in_as_gpu(void);
/* Starts counting anew and fails operation `k` from now on. */
void stand_in_fail_at(stand_in *s, int64_t k);
/* Whether the host's tables can run the scenario for a device. */
bool stand_in_takes(const char *scenario);

#endif
