/* SPDX-License-Identifier: Apache-2.0 */
/** @file gallery.h  Model problems, as `tessera generate` makes them. */
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

/** The list of problems; *count receives its length. */
TESS_EXPORT const tess_gallery_entry *tess_gallery_list(size_t *count);

/**
 * Makes the problem @p name with @p nargs textual arguments (as on the command line: `laplace3d 150`,
 * `uniflow2d 2500`, `replicate FILE 24`, ...) as an assembled matrix in @p ctx. Stencils and rowscale are generated on
 * the device in a GPU context, the others on the host. The same arguments give the same bits on every device.
 * Errors: NOT_FOUND (unknown name; the hint gives the nearest), INVALID_ARGUMENT (with the expected arguments),
 * OUT_OF_RANGE, memory.
 */
TESS_EXPORT tess_status tess_gallery_create(tess_context *ctx, const char *name, int nargs, const char *const *args,
                                            tess_matrix **out);

/**
 * Centres of the cells of `ventricle` made with the same arguments, in mm: @p xyz (host, 3 n values) receives the x of all n
 * rows of the matrix, then y, then z. The apex points down: z from -20 to 5. Errors: INVALID_ARGUMENT, OUT_OF_RANGE,
 * memory. tests/unit/test_ventricle.c
 */
TESS_EXPORT tess_status tess_gallery_ventricle_points(tess_context *ctx, int nargs, const char *const *args,
                                                      double *xyz);

/**
 * An initial potential for it, in mV: -85 at rest, and a pulse of 100 exp(-d^2 / (2 w^2)), w = 2 mm, around a point of the
 * inner surface, d the distance from (5.02, 0, -11.84). Errors as above.
 */
TESS_EXPORT tess_status tess_gallery_ventricle_potential(tess_context *ctx, int nargs, const char *const *args,
                                                         tess_vector **out);

TESS_END_DECLS

#endif
