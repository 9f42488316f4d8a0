/* SPDX-License-Identifier: Apache-2.0 */
/* The words through which the device and the host exchange progress and cancellation of a running loop. */
#ifndef TESS_DEVICE_GPU_MAILBOX_H
#define TESS_DEVICE_GPU_MAILBOX_H

#include <stdint.h>

#include "base/loop_state.h"

/* The phase of a single kernel that has not reached its end; it need not reach it if there is nothing to do. */
enum { LOOP_NOT_ENDED = -1 };

/* In mapped host memory. */
typedef struct loop_mailbox {
    int64_t iteration;
    double residual_norm;
    double tolerance; /* of several columns alone: of the one that is told here */
    int32_t phase;
    int32_t cancel;      /* written by the host */
    int64_t pause_at;    /* of a recording: the host looks after so many iterations */
    int32_t failed;      /* a block of a single kernel timed out */
    tess_loop_state end; /* of a single kernel: its final state, once phase is not LOOP_NOT_ENDED */
} loop_mailbox;

#endif
