/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel paper of format split: who asks for it, and what it is on each device. */
#include "papers/vector_kernel/vector_kernel.h"

#include "matrix/storage_options.h"

/* The host has no groups of threads for a row: its products are the library's. */
const vector_kernel_ops vector_kernel_host_ops = {.multiply = NULL};

static bool is_asked_for(const tess_storage_options *options)
{
    return storage_papers(options)->kernel == TESS_KERNEL_PAPER;
}

static split_multiply find(const tess_context *ctx)
{
    return vector_kernel_ops_of(ctx)->multiply;
}

const split_product split_product_vector_kernel = {.is_asked_for = is_asked_for, .find = find};
