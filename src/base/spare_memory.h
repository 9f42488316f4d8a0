/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of the host a process may still take. */
#ifndef TESS_BASE_SPARE_MEMORY_H
#define TESS_BASE_SPARE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The least of what the machine has available, what the limits of the control groups leave, and what the limit of
   address space (ulimit -v) leaves; INT64_MAX: nothing tells. */
int64_t tess_spare_memory(void);

/* What the memory limits of control groups leave; INT64_MAX: there is none. The paths: control_group_visit. */
int64_t tess_group_memory(const char *membership, const char *root);

#ifdef __cplusplus
}
#endif

#endif
