/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that stands in for cuDSS where there is no GPU: the same entry points, and dense factors by the host, whose
 * memory is that of the device there. Tests see and steer it by its control block.
 */
#ifndef TESS_TESTS_CUDSS_STAND_IN_H
#define TESS_TESTS_CUDSS_STAND_IN_H

#include <stdint.h>

typedef struct cudss_control {
    int64_t calls;   /* so far, but for those that destroy and that tell the version */
    int64_t fail_at; /* the call with this number, from 0, fails; -1: none does */
    int fail_with;   /* its status */
    int64_t live;    /* objects that exist */
    int64_t wrong;   /* uses of objects that do not, or of other kinds than the call takes */
    int64_t analyses, factorizations, solves;
    int64_t peak_bytes; /* what an analysis predicts; 0: that of dense factors */
    int major, minor;   /* the version that it tells */
    void *stream;       /* the last that was set */
    /* Before and after it reads and writes arrays of the device, whose stream it does not know; or NULL. */
    void (*begin)(const struct cudss_control *), (*end)(const struct cudss_control *);
} cudss_control;

/* Its only function beside those of cuDSS. */
#define CUDSS_CONTROL "cudss_stand_in_control"
typedef cudss_control *cudss_control_function(void);

#endif
