/* SPDX-License-Identifier: Apache-2.0 */
/* The storage formats of this build: formats.def has the list, papers.def other ways to store some of them. */
#include "format/split/split.h"
#include "matrix/format.h"

#define FORMAT(name, number) extern const tess_format_ops name##_format;
#include "registry/formats.def"
#undef FORMAT
#define FORMAT_VARIANT(format, name) extern const tess_format_ops name##_format;
#include "registry/papers.def"

static const struct {
    tess_format format;
    const tess_format_ops *ops;
} formats[] = {
#define FORMAT(name, number) {(tess_format)(number), &name##_format},
#include "registry/formats.def"
#undef FORMAT
};

#define FORMAT_VARIANT(format, name) {(format), &name##_format},
static const struct {
    tess_format format;
    const tess_format_ops *ops;
} variants[] = {
#include "registry/papers.def"
};

#define SPLIT_PRODUCT(name) extern const split_product split_product_##name;
#include "registry/papers.def"
#define SPLIT_PRODUCT(name) &split_product_##name,
static const split_product *const products[] = {
#include "registry/papers.def"
    NULL};

split_multiply split_find_product(const tess_context *ctx, const tess_storage_options *options)
{
    for (const split_product *const *p = products; *p; p++) {
        if ((*p)->is_asked_for(options)) { return (*p)->find(ctx); }
    }
    return NULL;
}

enum { FORMATS = sizeof formats / sizeof *formats };

const tess_format_ops *tess_find_format(tess_format format)
{
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].format == format) { return formats[i].ops; }
    }
    return NULL;
}

const tess_format_ops *tess_find_storage(const tess_storage_options *options)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (variants[i].format == options->format && variants[i].ops->is_asked_for(options)) { return variants[i].ops; }
    }
    return tess_find_format(options->format);
}

tess_format tess_format_in_role(tess_format_role role)
{
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].ops->role == role) { return formats[i].format; }
    }
    return TESS_FORMAT_CSR;
}

int tess_format_count(void)
{
    return FORMATS;
}

tess_format tess_format_at(int index)
{
    if (index < 0 || index >= tess_format_count()) { return TESS_FORMAT_AUTO; }
    return formats[index].format;
}

const tess_format_capabilities *tess_format_can(tess_format format)
{
    static const tess_format_capabilities nothing = {.description = ""};
    const tess_format_ops *ops = tess_find_format(format);

    return ops ? &ops->can : &nothing;
}
