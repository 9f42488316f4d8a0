/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse triangular solves with a triangle that has ones on its diagonal: by level sets, as one leaf; by merged level
 * sets (merge.h); approximately, by sweeps (swept.h); or in recursive blocks. There the rows are ordered by level sets,
 * and a triangle is halved into two triangles and the square beside them, as long as it has more rows than a leaf may
 * have and more than a few level sets. Leaves are solved by level sets. Squares are matrices of the library, multiplied
 * in the precisions of their storage options or policy. Source: Lu, Niu, Liu, Efficient block algorithms for parallel
 * sparse triangular solve, ICPP (2020); Yang et al. 2024, section III-C.
 */
#ifndef TESS_TRIANGULAR_TRIANGULAR_H
#define TESS_TRIANGULAR_TRIANGULAR_H

#include "matrix/device_csr.h"
#include "triangular/leaf.h"
#include "triangular/level_sets.h"
#include "triangular/leveled.h"

typedef struct sparse_triangle sparse_triangle;

typedef struct triangle_options {
    bool blocks;                         /* recursive blocks, else one leaf */
    bool merged;                         /* merged level sets if they fit the device, else one leaf */
    bool weighs;                         /* merged: level sets if they are measured to be faster */
    int sweeps;                          /* > 0: approximately, by so many Jacobi iterations */
    int64_t leaf;                        /* blocks: most rows of a leaf */
    tess_precision precision;            /* of the values in leaves */
    const tess_storage_options *squares; /* blocks: how squares are stored; sweeps: how all is */
    const level_schedule *level_sets;    /* merged: level sets of all rows, if they are known and each is a run */
} triangle_options;

typedef struct triangle_facts {
    int64_t level_sets; /* level sets, one after another, of all leaves */
    int64_t groups;     /* the same, or the groups of merged level sets, or sweeps, which need no level sets */
    int64_t leaves, squares, nonzeros, square_nonzeros;
    int64_t entries; /* entries that a solve multiplies: nonzeros, or those of rewritten rows */
    uint64_t moves;  /* changes with the memory of merged level sets, and of sweeps */
} triangle_facts;

tess_status triangle_values_upload(tess_context *ctx, triangle_values *v);
void triangle_values_release(tess_context *ctx, triangle_values *v);

/* Only the structure. If the pattern is kept, its arrays are taken and *p is empty; else they stay the caller's. */
tess_status triangle_create(tess_context *ctx, triangle_pattern *p, const triangle_options *options,
                            sparse_triangle **out);
/* Of level sets, from a pattern on the device whose level sets are `rows`, and the place of each entry among the
   values. It takes all three, also on failure. */
tess_status triangle_create_leveled(tess_context *ctx, device_csr *pattern, int64_t **source, leveled_rows *rows,
                                    const triangle_options *options, sparse_triangle **out);
/* Of sweeps, from a pattern on the device that has space for values, and the place of each among them. It takes both,
   also on failure. */
tess_status triangle_create_swept(tess_context *ctx, device_csr *pattern, int64_t **source,
                                  const triangle_options *options, sparse_triangle **out);
/* Sets the values, and uploads them if they are needed on the device. */
tess_status triangle_fill(sparse_triangle *t, triangle_values *values);
/* Solves for all of x; args as for a leaf. */
tess_status triangle_solve(const sparse_triangle *t, triangle_args args);
/* Whether it solves for several columns at once: square blocks, if there are any, are in formats that multiply them.
   After the first values. triangle_prepare_columns comes before solves of as many; later ones allocate nothing. */
bool triangle_takes_columns(const sparse_triangle *t);
tess_status triangle_prepare_columns(sparse_triangle *t, int columns);
triangle_facts triangle_describe(const sparse_triangle *t);
/* Bytes on the device. */
int64_t triangle_bytes(const sparse_triangle *t);
void triangle_destroy(sparse_triangle *t);

#endif
