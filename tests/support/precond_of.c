/* SPDX-License-Identifier: Apache-2.0 */
#include "support/precond_of.h"

tess_precond_options precond_of(tess_precond_kind kind, int block_size)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = kind;
    if (block_size > 0) { options.block_jacobi.block_size = block_size; }
    return options;
}
