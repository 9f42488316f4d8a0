/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangle solved by merged groups of level sets: one record after another (merged.h). Groups are chosen with the
 * first values; later values keep them, unless rows grow too much.
 */
#ifndef TESS_TRIANGULAR_MERGED_TRIANGLE_H
#define TESS_TRIANGULAR_MERGED_TRIANGLE_H

#include "triangular/level_sets.h"
#include "triangular/merged.h"

typedef struct merged_triangle merged_triangle;

/* *out: NULL if the context's device has no space for it, or if level sets are few or wide. Otherwise it has taken the
   pattern's arrays, and p is empty. Level sets as for merge_open. */
tess_status merged_create(tess_context *ctx, triangle_pattern *p, const level_schedule *level_sets,
                          tess_precision precision, merged_triangle **out);
/* Values as for triangle_fill. *fits false: rows are too long, and another method is needed. */
tess_status merged_fill(merged_triangle *t, const triangle_values *values, bool *fits);
/* NULL before the first values. */
const merged_view *merged_view_of(const merged_triangle *t);
const triangle_pattern *merged_pattern(const merged_triangle *t);
int64_t merged_level_sets(const merged_triangle *t);
/* Entries of the rewritten rows. */
int64_t merged_entries(const merged_triangle *t);
/* How often its memory has moved. */
uint64_t merged_moves(const merged_triangle *t);
/* Bytes on the device. */
int64_t merged_bytes(const merged_triangle *t);
void merged_destroy(merged_triangle *t);

#endif
