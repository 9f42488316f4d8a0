/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop on the device and the host tell each other while it runs. */
#ifndef TESS_BACKEND_GPU_MAILBOX_H
#define TESS_BACKEND_GPU_MAILBOX_H

#include <stdint.h>

/* In mapped host memory. */
typedef struct loop_mailbox {
    int64_t iteration;
    double residual_norm;
    int32_t phase;
    int32_t cancel; /* written by the host */
    int32_t failed; /* a block of a single kernel waited too long for another */
} loop_mailbox;

#endif
