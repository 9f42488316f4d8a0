/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file names.h  The names of all public enums, for bindings, menus and messages.
 *
 * Each enum `tess_thing` also has tess_thing_name and tess_thing_parse in its own header. Names are those of the command
 * line where it has them; they are part of the interface as the enumerators are. Parsers take either case, return
 * INVALID_ARGUMENT for any other text and then leave *out alone. tests/unit/test_names.c
 */
#ifndef TESSERA_NAMES_H
#define TESSERA_NAMES_H

#include <tessera/export.h>

TESS_BEGIN_DECLS

/** An enumerator by name. */
typedef struct tess_named_value {
    const char *name;
    int value;
} tess_named_value;

/** The names of an enum, as tess_enum_names("tess_format"), in the order of its header and ended by a NULL name; NULL for
    an unknown enum. */
TESS_EXPORT const tess_named_value *tess_enum_names(const char *type);

TESS_END_DECLS

#endif
