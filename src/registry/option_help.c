/* SPDX-License-Identifier: Apache-2.0 */
/* The help of an option, with its lists filled: names of an enum, and of formats by what they can. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "registry/option_entry.h"

enum { MOST_WORDS = 40 };

/* Text that grows in a buffer, cut to its size. */
typedef struct help_text {
    char *buffer;
    size_t size, used;
} help_text;

static void append(help_text *out, const char *text, size_t length)
{
    const size_t room = out->size - out->used - 1, taken = length < room ? length : room;

    memcpy(out->buffer + out->used, text, taken);
    out->used += taken;
    out->buffer[out->used] = '\0';
}

static void append_word(help_text *out, const char *text)
{
    append(out, text, strlen(text));
}

/* ---- lists of formats ---- */

typedef bool (*format_filter)(const tess_format_capabilities *can);

static bool is_whole(const tess_format_capabilities *can)
{
    return can->precisions != 0 && !can->takes_parts;
}

static bool is_by_blocks(const tess_format_capabilities *can)
{
    return can->takes_parts && can->granularity == TESS_GRANULARITY_BLOCK;
}

static bool pads(const tess_format_capabilities *can)
{
    return can->pads != 0;
}

static bool sorts(const tess_format_capabilities *can)
{
    return can->sorts_rows != 0;
}

static bool is_base(const tess_format_capabilities *can)
{
    return can->as_base != 0;
}

static bool may_differ(const tess_format_capabilities *can)
{
    return is_base(can) && !can->one_base;
}

static bool is_base_of_layers(const tess_format_capabilities *can)
{
    return is_base(can) && (can->as_base >> TESS_GRANULARITY_ROW & 1U) == 0;
}

static bool takes_bases(const tess_format_capabilities *can)
{
    return can->takes_bases != 0;
}

static bool permutes(const tess_format_capabilities *can)
{
    return (can->row_orders >> TESS_ROW_ORDER_PERMUTED & 1U) != 0;
}

static bool takes_fp32_vectors(const tess_format_capabilities *can)
{
    return (can->arithmetics >> TESS_ARITHMETIC_FP32 & 1U) != 0 && !can->rounds_products;
}

static bool takes_pairs(const tess_format_capabilities *can)
{
    return (can->arithmetics >> TESS_ARITHMETIC_FP32X2 & 1U) != 0;
}

static bool takes_parts(const tess_format_capabilities *can)
{
    return can->takes_parts != 0;
}

static bool rounds_products(const tess_format_capabilities *can)
{
    return can->rounds_products != 0;
}

static const struct {
    const char *word;
    format_filter has;
    const char *last; /* before the last name */
} filters[] = {{"whole", is_whole, ", "},
               {"by-blocks", is_by_blocks, ", "},
               {"by-parts", takes_parts, " or "},
               {"pads", pads, ", "},
               {"sorts", sorts, ", "},
               {"bases", is_base, " or "},
               {"differ", may_differ, ", "},
               {"layers", is_base_of_layers, ", "},
               {"takes-bases", takes_bases, ", "},
               {"permutes", permutes, ", "},
               {"fp32-vectors", takes_fp32_vectors, ", "},
               {"fp32-products", rounds_products, ", "},
               {"fp32-pairs", takes_pairs, ", "}};

/* "a, b or c" */
static void append_joined(help_text *out, const char *const *words, int count, const char *last)
{
    for (int i = 0; i < count; i++) {
        append_word(out, i == 0 ? "" : i == count - 1 ? last : ", ");
        append_word(out, words[i]);
    }
}

static void append_formats(help_text *out, format_filter has, const char *last)
{
    const char *words[MOST_WORDS];
    int count = 0;

    for (int i = 0; i < tess_format_count() && count < MOST_WORDS; i++) {
        if (has(tess_format_can(tess_format_at(i)))) { words[count++] = tess_format_name(tess_format_at(i)); }
    }
    append_joined(out, words, count, last);
}

/* "csr: rows one after another", a line each; or "pbp: split by blocks, tcki: tiles by blocks". */
static void append_descriptions(help_text *out, bool shorthands)
{
    const char *between = "";

    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));
        const char *name = tess_format_name(tess_format_at(i));

        if (shorthands && !can->shorthand) { continue; }
        append_word(out, between);
        append_word(out, shorthands ? can->shorthand : name);
        append_word(out, ": ");
        append_word(out, shorthands ? name : can->description);
        append_word(out, shorthands ? " by blocks" : "");
        between = shorthands ? ", " : "\n";
    }
}

/* ---- what {WORD} stands for ---- */

static void append_names(help_text *out, const char *type)
{
    const char *words[MOST_WORDS];
    int count = 0;

    for (const tess_named_value *name = tess_enum_names(type); name->name && count < MOST_WORDS; name++) {
        if (strcmp(name->name, "shell") != 0) { words[count++] = name->name; } /* a user's function has no word */
    }
    append_joined(out, words, count, " or ");
}

static void append_list(help_text *out, const char *word)
{
    if (strcmp(word, "formats") == 0 || strcmp(word, "shorthands") == 0) {
        append_descriptions(out, word[0] == 's');
    } else if (strncmp(word, "tess_", 5) == 0) {
        append_names(out, word);
    }
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        if (strcmp(filters[i].word, word) == 0) { append_formats(out, filters[i].has, filters[i].last); }
    }
}

const char *tess_option_help(const tess_option *option, char *buffer, size_t size)
{
    help_text out = {buffer, size, 0};

    if (!option || !buffer || size == 0) { return NULL; }
    buffer[0] = '\0';
    for (const char *at = option->help; *at;) {
        const size_t plain = strcspn(at, "{"), length = at[plain] ? strcspn(at + plain, "}") : 0;
        char word[32] = "";

        append(&out, at, plain);
        at += plain;
        if (length == 0) { continue; }
        snprintf(word, sizeof word, "%.*s", (int)length - 1, at + 1);
        append_list(&out, word);
        at += length + 1;
    }
    return buffer;
}
