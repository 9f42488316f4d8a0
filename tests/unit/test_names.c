/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The enums of the public headers, read as text, against the tables of names: every enumerator has a number and a name
 * of its own, every name parses back to it, and no enum is without both functions.
 */
#include "support/test.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/codec.h>
#include <tessera/dense.h>
#include <tessera/names.h>
#include <tessera/papers.h>
#include <tessera/sequence.h>
#include <tessera/solver.h>

/* ---- the functions of each enum ---- */

/* The library's functions with int for the enum. */
#define ENUM_ADAPTERS(type)                                  \
    static const char *name_of_##type(int value)             \
    {                                                        \
        return type##_name((type)value);                     \
    }                                                        \
    static tess_status parse_##type(const char *t, int *out) \
    {                                                        \
        type value = (type)*out;                             \
        const tess_status status = type##_parse(t, &value);  \
                                                             \
        *out = (int)value;                                   \
        return status;                                       \
    }
#define ENUM(noun) ENUM_ADAPTERS(tess_##noun)
#include "registry/enums.def"
#undef ENUM

typedef struct named_enum {
    const char *type;
    const char *(*name)(int value);
    tess_status (*parse)(const char *text, int *out);
} named_enum;

static const named_enum enums[] = {
#define ENUM(noun) {"tess_" #noun, name_of_tess_##noun, parse_tess_##noun},
#include "registry/enums.def"
#undef ENUM
};
enum { ENUM_COUNT = sizeof enums / sizeof *enums };

static const named_enum *find_enum(const char *type)
{
    for (int i = 0; i < ENUM_COUNT; i++) {
        if (strcmp(enums[i].type, type) == 0) { return &enums[i]; }
    }
    return NULL;
}

/* ---- the headers' text ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = 0;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    return text;
}

/* Comments become blanks. */
static void blank_comments(char *text)
{
    for (char *at = strstr(text, "/*"); at; at = strstr(at, "/*")) {
        char *end = strstr(at, "*/");

        assert_non_null(end);
        memset(at, ' ', (size_t)(end + 2 - at));
    }
}

static size_t word_length(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || text[length] == '_') {
        length++;
    }
    return length;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\n");
}

typedef struct enumerator {
    char name[64];
    int value;
} enumerator;

enum { MAX_ENUMERATORS = 64 };

/* Between the braces: `NAME = number`, separated by commas, and nothing else. Their number. */
static int read_enumerators(const char *type, const char *text, const char *end, enumerator *list)
{
    int count = 0;

    for (text = skip_blanks(text); text < end; count++) {
        const size_t length = word_length(text);
        char *after = NULL;

        assert_true(count < MAX_ENUMERATORS);
        if (length == 0 || length >= sizeof list->name) { fail_msg("%s: no enumerator at '%.40s'", type, text); }
        memcpy(list[count].name, text, length);
        list[count].name[length] = '\0';
        text = skip_blanks(text + length);
        if (*text != '=') { fail_msg("%s: %s has no number", type, list[count].name); }
        text = skip_blanks(text + 1);
        list[count].value = (int)strtol(text, &after, 10);
        if (after == text) { fail_msg("%s: %s has no plain number", type, list[count].name); }
        text = skip_blanks(after);
        if (*text == ',') { text = skip_blanks(text + 1); }
    }
    return count;
}

/* ---- the comparison ---- */

/* "block-jacobi" is the end of TESS_PRECOND_BLOCK_JACOBI. */
static bool is_name_of(const char *name, const char *identifier)
{
    const size_t length = strlen(name), all = strlen(identifier);

    if (length == 0 || length >= all || identifier[all - length - 1] != '_') { return false; }
    for (size_t i = 0; i < length; i++) {
        const char expected = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);

        if (identifier[all - length + i] != expected) { return false; }
    }
    return true;
}

static void check_enumerator(const named_enum *which, const enumerator *e)
{
    const char *name = which->name(e->value);
    int parsed = ~e->value;

    if (!is_name_of(name, e->name)) { fail_msg("%s: %s is named '%s'", which->type, e->name, name); }
    assert_int_equal(which->parse(name, &parsed), TESS_SUCCESS);
    if (parsed != e->value) { fail_msg("%s: '%s' parses to %d", which->type, name, parsed); }
}

/* Formats from 100 to 999 have no enumerator (matrix.h). */
static bool is_name_alone(const char *type, int value)
{
    return strcmp(type, "tess_format") == 0 && value >= 100 && value < 1000;
}

static void check_enum(const char *type, const char *body, const char *end)
{
    const named_enum *which = find_enum(type);
    const tess_named_value *table = tess_enum_names(type);
    enumerator list[MAX_ENUMERATORS];
    const int count = read_enumerators(type, body, end, list);
    int named = 0, alone = 0, untouched = 12345;

    if (!which || !table) { fail_msg("%s has no names: see src/registry/names.c and enums.def", type); }
    for (; table[named].name; named++) {
        alone += is_name_alone(type, table[named].value);
        for (int k = 0; k < named; k++) {
            assert_string_not_equal(table[k].name, table[named].name);
            assert_int_not_equal(table[k].value, table[named].value);
        }
    }
    if (named - alone != count) { fail_msg("%s has %d enumerators and %d names", type, count, named - alone); }
    for (int i = 0, place = 0; i < count; i++, place++) {
        while (is_name_alone(type, table[place].value)) {
            place++;
        }
        check_enumerator(which, &list[i]);
        if (table[place].value != list[i].value) { fail_msg("%s: names are in another order", type); }
    }
    assert_string_equal(which->name(untouched), "?");
    assert_int_equal(which->parse("no-such-name", &untouched), TESS_INVALID_ARGUMENT);
    assert_int_equal(which->parse("", &untouched), TESS_INVALID_ARGUMENT);
    assert_int_equal(which->parse(NULL, &untouched), TESS_INVALID_ARGUMENT);
    assert_int_equal(untouched, 12345);
}

/* How many enums with a type a header has. */
static int check_header(const char *path)
{
    char *text = read_text(path);
    int count = 0;

    blank_comments(text);
    for (const char *at = strstr(text, "typedef enum"); at; at = strstr(at + 1, "typedef enum")) {
        const char *type = skip_blanks(at + strlen("typedef enum")), *open = strchr(type, '{'), *close = NULL;
        char name[64] = "";

        assert_non_null(open);
        close = strchr(open, '}');
        assert_non_null(close);
        assert_true(word_length(type) > 0 && word_length(type) < sizeof name);
        memcpy(name, type, word_length(type));
        check_enum(name, open + 1, close);
        count++;
    }
    free(text);
    return count;
}

static void enumerators_have_names_that_parse_back(void **state)
{
    const char *folder = TESS_TEST_DIR "/../include/tessera";
    DIR *headers = opendir(folder);
    int count = 0;

    (void)state;
    assert_non_null(headers);
    for (struct dirent *entry = readdir(headers); entry; entry = readdir(headers)) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[1024];

        if (!dot || strcmp(dot, ".h") != 0) { continue; }
        assert_true(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path);
        count += check_header(path);
    }
    closedir(headers);
    assert_int_equal(count, ENUM_COUNT);
}

/* The counts of enumerators agree with the enums. */
static void counts_are_those_of_the_names(void **state)
{
    const tess_named_value *formats = tess_enum_names("tess_format");

    (void)state;
    for (int i = 0; i < TESS_PRECISION_COUNT; i++) {
        assert_int_equal(tess_enum_names("tess_precision")[i].value, i);
    }
    assert_null(tess_enum_names("tess_precision")[TESS_PRECISION_COUNT].name);
    for (int i = 0; i < TESS_PHASE_COUNT; i++) {
        assert_int_equal(tess_enum_names("tess_phase")[i].value, i);
    }
    assert_null(tess_enum_names("tess_phase")[TESS_PHASE_COUNT].name);
    for (int i = 0; i < tess_format_count(); i++) {
        assert_int_equal(formats[i].value, tess_format_at(i));
        if (i > 0) { assert_true(formats[i].value > formats[i - 1].value); }
    }
    assert_int_equal(formats[tess_format_count()].value, TESS_FORMAT_SHELL);
}

static void case_does_not_matter(void **state)
{
    tess_format format = TESS_FORMAT_AUTO;

    (void)state;
    assert_int_equal(tess_format_parse("CSR", &format), TESS_SUCCESS);
    assert_int_equal(format, TESS_FORMAT_CSR);
}

static void other_enums_are_unknown(void **state)
{
    (void)state;
    assert_null(tess_enum_names("tess_matrix"));
    assert_null(tess_enum_names(NULL));
}

static void counts_have_their_nouns(void **state)
{
    (void)state;
    assert_string_equal(tess_count(1, "row").text, "1 row");
    assert_string_equal(tess_count(2, "row").text, "2 rows");
    assert_string_equal(tess_count(0, "entry").text, "0 entries");
    assert_string_equal(tess_count(1, "entry").text, "1 entry");
    assert_string_equal(tess_count(-1, "way").text, "-1 ways");
    assert_string_equal(tess_count(2, "index").text, "2 indexes");
    assert_string_equal(tess_count(2, "process").text, "2 processes");
    assert_string_equal(tess_count(1, "row is|rows are").text, "1 row is");
    assert_string_equal(tess_count(2, "row is|rows are").text, "2 rows are");
    assert_string_equal(tess_count(INT64_MIN, NULL).text, "-9223372036854775808");
    assert_string_equal(tess_count(2, "").text, "2 s");
    assert_string_equal(tess_count(2, "y").text, "2 ys");
    assert_int_equal(strlen(tess_count(1, "a noun that is far longer than the text of a count has place for it").text),
                     sizeof(tess_counted) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enumerators_have_names_that_parse_back),
        cmocka_unit_test(counts_are_those_of_the_names),
        cmocka_unit_test(case_does_not_matter),
        cmocka_unit_test(other_enums_are_unknown),
        cmocka_unit_test(counts_have_their_nouns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
