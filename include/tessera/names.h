/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file names.h  The names of all public enums, for bindings, menus and messages.
 *
 *     tess_enum_names("tess_format");         {"csr", 0}, {"ellr", 1}, ..., {NULL, 0}
 *
 * Each enum `tess_thing` also has tess_thing_name and tess_thing_parse in its own header. Names are those of the
 * command line. They are as stable as the enumerators. Parsers accept upper and lower case. For any other text they
 * return INVALID_ARGUMENT and leave *out unchanged. tests/unit/test_names.c
 */
#ifndef TESSERA_NAMES_H
#define TESSERA_NAMES_H

#include <stdint.h>

#include <tessera/export.h>

TESS_BEGIN_DECLS

/** Name and value of an enumerator. */
typedef struct tess_named_value {
    const char *name;
    int value;
} tess_named_value;

/** The names of an enum, in the order of its header; the list ends with a NULL name. NULL for an unknown enum. */
TESS_EXPORT const tess_named_value *tess_enum_names(const char *type);

/** A number with its noun. */
typedef struct tess_counted {
    char text[64];
} tess_counted;

/**
 * A count as messages have it: tess_count(1, "entry").text is "1 entry", and of 2 it is "2 entries".
 * @param noun  in the singular; or both forms, as in "row is|rows are". NULL: the number alone
 */
TESS_EXPORT tess_counted tess_count(int64_t count, const char *noun);

TESS_END_DECLS

#endif
