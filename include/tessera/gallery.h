/* SPDX-License-Identifier: Apache-2.0 */
/** @file gallery.h  Model problems, as `tessera generate` makes them. */
#ifndef TESSERA_GALLERY_H
#define TESSERA_GALLERY_H

#include <stddef.h>

#include <tessera/matrix.h>

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

TESS_END_DECLS

#endif
