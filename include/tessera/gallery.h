/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gallery.h  Model problems, those of `tessera generate`.
 *
 *     const char *size[] = {"150"};
 *     tess_gallery_create(ctx, "laplace3d", 1, size, &a);          3,375,000 rows
 *
 * docs/howto/gallery.md describes them.
 */
#ifndef TESSERA_GALLERY_H
#define TESSERA_GALLERY_H

#include <stddef.h>

#include <tessera/matrix.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** One model problem: its name, its arguments in words, one line of description. */
typedef struct tess_gallery_entry {
    const char *name;
    const char *arguments;
    const char *description;
} tess_gallery_entry;

/** The list of all problems; *count receives its length. */
TESS_EXPORT const tess_gallery_entry *tess_gallery_list(size_t *count);

/**
 * Makes a model problem as an assembled matrix.
 * @param name   such as laplace3d, uniflow2d, replicate
 * @param nargs  number of arguments
 * @param args   texts as on the command line: "150", or "FILE", "24" for replicate
 * A GPU context generates stencils and rowscale on the device; the host generates the others. The same arguments give
 * the same bits on every device.
 * Errors: NOT_FOUND (unknown name; the hint has the nearest), INVALID_ARGUMENT (the message has the expected
 * arguments), OUT_OF_RANGE, memory.
 */
TESS_EXPORT tess_status tess_gallery_create(tess_context *ctx, const char *name, int nargs, const char *const *args,
                                            tess_matrix **out);

/**
 * Centres of the cells of the problem `ventricle` with the same arguments, in mm.
 * @param xyz  3 n values on the host: x of all n rows of the matrix, then y, then z
 * The apex points down: z is from -20 to 5 mm. Errors: INVALID_ARGUMENT, OUT_OF_RANGE, memory.
 * tests/unit/test_ventricle.c
 */
TESS_EXPORT tess_status tess_gallery_ventricle_points(tess_context *ctx, int nargs, const char *const *args,
                                                      double *xyz);

/**
 * An initial potential for `ventricle`, in mV: -85 + 100 exp(-d^2 / (2 w^2)), with w = 2 mm and d the distance in mm
 * from (5.02, 0, -11.84), a point of the inner surface. Errors: INVALID_ARGUMENT, OUT_OF_RANGE, memory.
 */
TESS_EXPORT tess_status tess_gallery_ventricle_potential(tess_context *ctx, int nargs, const char *const *args,
                                                         tess_vector **out);

TESS_END_DECLS

#endif
