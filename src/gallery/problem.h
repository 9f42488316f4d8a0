/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the gallery's problems: a request with its arguments, and matrices built row by row. */
#ifndef TESS_GALLERY_PROBLEM_H
#define TESS_GALLERY_PROBLEM_H

#include <math.h>
#include <stdio.h>

#include <tessera/gallery.h>

#include "base/random.h"
#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- requests and their arguments ---- */

typedef struct gallery_request {
    tess_context *ctx;
    const char *name;
    const char *usage; /* the arguments in words, for errors */
    int nargs;
    const char *const *args;
} gallery_request;

/* A request for the problem `name`. Errors: NOT_FOUND; INVALID_ARGUMENT for too few or too many arguments. */
tess_status gallery_request_create(tess_context *ctx, const char *name, int nargs, const char *const *args,
                                   gallery_request *out);

typedef tess_status (*gallery_maker)(const gallery_request *request, tess_matrix **out);

/*
 * Argument `position` (from 0) as an integer in [least, most] or as a finite number; `role` names it in errors. Without
 * the argument *out, the default, stays. Errors: INVALID_ARGUMENT; OUT_OF_RANGE above `most`.
 */
tess_status gallery_integer(const gallery_request *request, int position, const char *role, int64_t least, int64_t most,
                            int64_t *out);
tess_status gallery_real(const gallery_request *request, int position, const char *role, double least, double most,
                         double *out);

/* Argument `position` as the index of a word in `words`, which ends with NULL. */
tess_status gallery_word(const gallery_request *request, int position, const char *role, const char *const *words,
                         int *out);

/* Sizes N [NY [NZ]] of a grid from the arguments; counts[0 .. dimensions). NY and NZ default to N. Their product times
   `unknowns_per_point` must be a possible number of rows. */
tess_status gallery_grid(const gallery_request *request, int dimensions, int64_t unknowns_per_point, int64_t *counts);

/* ---- matrices, row by row ---- */

/* Returns the length of each row and writes it in ascending column order. Many threads call it. */
typedef struct gallery_rows {
    int64_t nrows, ncols;
    int64_t (*length)(const void *problem, int64_t row);
    void (*fill)(const void *problem, int64_t row, int32_t *col, double *val);
    const void *problem;
} gallery_rows;

tess_status gallery_build(tess_context *ctx, const gallery_rows *rows, tess_matrix **out);

/* Narrows offsets to 32 bits where nnz allows; takes row_ptr also on failure. */
tess_status gallery_adopt(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t *row_ptr, int32_t *col, double *val,
                          tess_matrix **out);

/* ---- random numbers ---- */

/* A different seed for each use of a problem's seed. */
static inline uint64_t gallery_stream(int64_t seed, uint64_t use)
{
    return tess_random_bits((uint64_t)seed, use);
}

/* Standard normal by Box and Muller; host only: the device's logarithm rounds differently. */
static inline double gallery_normal(uint64_t stream, uint64_t index)
{
    double radius = sqrt(-2.0 * log(tess_random_uniform(stream, 2 * index)));

    return radius * cos(6.283185307179586 * tess_random_uniform(stream, 2 * index + 1));
}

/* Index below `count` from 64 random bits; the bias is below count / 2^32. */
static inline int64_t gallery_below(uint64_t bits, int64_t count)
{
    return (int64_t)(((bits >> 32) * (uint64_t)count) >> 32);
}

/* perm[0 .. n) becomes a random permutation. */
void gallery_shuffle(uint64_t stream, int64_t n, int32_t *perm);

#define GALLERY_SEED_MAX (INT64_C(1) << 53)

/* ---- the problems, as gallery.def lists them ---- */

#define TESS_GALLERY(name, maker, least, most, arguments, description) \
    tess_status maker(const gallery_request *request, tess_matrix **out);
#include "gallery/gallery.def"
#undef TESS_GALLERY

#ifdef __cplusplus
}
#endif

#endif
