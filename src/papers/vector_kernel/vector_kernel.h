/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel paper of format split: CSR-Vector (Bell, Garland, SC 2009), with which Tezcan et al. 2022 multiply their
 * row-wise and entry-wise storage. Storage is the format's own; README.md says which products take it.
 */
#ifndef TESS_PAPERS_VECTOR_KERNEL_VECTOR_KERNEL_H
#define TESS_PAPERS_VECTOR_KERNEL_VECTOR_KERNEL_H

#include "format/split/split.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vector_kernel_ops {
    split_multiply multiply;
} vector_kernel_ops;

extern const vector_kernel_ops vector_kernel_host_ops;
const vector_kernel_ops *vector_kernel_gpu_ops(void);
const vector_kernel_ops *vector_kernel_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
