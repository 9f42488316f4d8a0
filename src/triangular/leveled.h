/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level sets of a triangle that is in the memory of a GPU, found there: rows that need nothing more are solved, and the
 * rows that need them need one less (Kahn's order, level set by level set). Within a level set rows ascend.
 */
#ifndef TESS_TRIANGULAR_LEVELED_H
#define TESS_TRIANGULAR_LEVELED_H

#include "matrix/device_csr.h"
#include "triangular/leaf.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leveled_rows {
    int64_t n, level_sets;
    int32_t *order;  /* n, on the device: level set by level set */
    level_run *runs; /* level_sets, on the host */
} leveled_rows;

/* As triangle_ops.find_levels: the level sets of the triangle t, whose transpose is `needed_by`: the rows that need a
   row. *found false: there are more than `most`, or no memory to sort rows by them. Release it, also after a failure.
 */
tess_status leveled_find(tess_context *ctx, const device_csr *t, const device_csr *needed_by, int64_t most,
                         leveled_rows *out, bool *found);
void leveled_release(tess_context *ctx, leveled_rows *r);
/* As triangle_ops.take_rows: the rows of t and their sources in that order. to: empty before. */
tess_status leveled_take_rows(tess_context *ctx, const device_csr *t, const int64_t *source, const int32_t *order,
                              device_csr *to, int64_t **to_source);

#ifdef __cplusplus
}
#endif

#endif
