/* SPDX-License-Identifier: Apache-2.0 */
/* The storage formats of this build: formats.def has the list. */
#include "matrix/format.h"

#define FORMAT(name) extern const tess_format_ops name##_format;
#include "registry/formats.def"
#undef FORMAT

#define FORMAT(name) &name##_format,
const tess_format_ops *const tess_formats[] = {
#include "registry/formats.def"
    NULL};
#undef FORMAT

const tess_format_ops *tess_find_format(tess_format format)
{
    for (const tess_format_ops *const *ops = tess_formats; *ops; ops++) {
        if ((*ops)->format == format) { return *ops; }
    }
    return NULL;
}
