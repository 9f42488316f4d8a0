/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_BASE_GPU_FOUND_H
#define TESS_BASE_GPU_FOUND_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether this machine has a GPU for the backend of this build, by files of its driver: nothing is started, and a
   context may still find that the GPU cannot be used. false: unknown. */
bool tess_gpu_is_found(void);

#ifdef __cplusplus
}
#endif

#endif
