/* SPDX-License-Identifier: Apache-2.0 */
/* Options with one field: how each type of value is read from text and written. */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tessera/codec.h>
#include <tessera/names.h>

#include "base/decimal.h"
#include "registry/option_entry.h"

enum { MOST_WORDS = 40 };

/* ---- messages ---- */

bool option_refuse(const option_message *message, const char *format, ...)
{
    va_list list;

    if (!message->text || message->size == 0) { return false; }
    va_start(list, format);
    vsnprintf(message->text, message->size, format, list);
    va_end(list);
    return false;
}

static const char *join(const char *const *words, int count, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int i = 0; i < count && used < size; i++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    return buffer;
}

bool option_refuse_word(const option_entry *entry, const char *text, const char *const *words, int count,
                        const option_message *message)
{
    char list[TESS_OPTION_TEXT / 2];
    const char *nearest = tess_nearest_word(text, words, count);

    join(words, count, list, sizeof list);
    if (nearest) {
        return option_refuse(message, "--%s: unknown value '%s'; did you mean '%s'? Available: %s", entry->shown.name,
                             text, nearest, list);
    }
    return option_refuse(message, "--%s: unknown value '%s'; available: %s", entry->shown.name, text, list);
}

/* ---- numbers ---- */

/* The whole text as a number, whatever the locale; NULL: it is none. */
static bool read_number(const char *text, double *out)
{
    char padded[64 + TESS_DECIMAL_PADDING] = {0};
    const size_t length = strlen(text);
    const char *end = NULL;

    if (length == 0 || length >= 64) { return false; }
    memcpy(padded, text, length);
    end = tess_decimal_parse(padded, out);
    return end && *end == '\0';
}

/* Above which a limit is none. */
#define UNLIMITED 1e15

/* The limit is the number below this one; 0: it is a limit itself. */
static double excluded_by(double high)
{
    const double above = nextafter(high, DBL_MAX);

    return above == round(above) && high != round(high) ? above : 0.0;
}

const char *tess_range_text(double low, double high, char *buffer, size_t size)
{
    const double excluded = excluded_by(high);
    char least[48], most[48] = "";

    if (!buffer || size == 0) { return NULL; }
    if (low == DBL_MIN) {
        snprintf(least, sizeof least, high > UNLIMITED ? "above 0" : "above 0, up");
    } else {
        snprintf(least, sizeof least, high > UNLIMITED ? "from %.10g" : "%.10g", low);
    }
    if (high <= UNLIMITED) {
        snprintf(most, sizeof most, excluded > 0.0 ? " to below %.10g" : " to %.10g", excluded > 0.0 ? excluded : high);
    }
    snprintf(buffer, size, "%s%s", least, most);
    return buffer;
}

static bool refuse_number(const option_entry *entry, const char *text, const option_message *message)
{
    char range[96];

    return option_refuse(message, "--%s: %s is out of range (%s)", entry->shown.name, text,
                         tess_range_text(entry->shown.low, entry->shown.high, range, sizeof range));
}

bool option_read_real(const option_entry *entry, const char *text, double *out, const option_message *message)
{
    double value = 0.0;

    if (!read_number(text, &value)) {
        return option_refuse(message, "--%s: '%s' is not a number", entry->shown.name, text);
    }
    if (!(value >= entry->shown.low && value <= entry->shown.high)) { return refuse_number(entry, text, message); }
    *out = value;
    return true;
}

bool option_read_integer(const option_entry *entry, const char *text, int64_t *out, const option_message *message)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || isspace((unsigned char)text[0])) {
        return option_refuse(message, "--%s: '%s' is not an integer", entry->shown.name, text);
    }
    if (errno == ERANGE || (double)value < entry->shown.low || (double)value > entry->shown.high) {
        return refuse_number(entry, text, message);
    }
    *out = value;
    return true;
}

void option_print_real(double value, char *buffer, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        double back = 0.0;

        snprintf(buffer, size, "%.*g", digits, value);
        for (char *c = buffer; *c; c++) {
            if (*c == ',') { *c = '.'; } /* the decimal point of some locales */
        }
        if (read_number(buffer, &back) && back == value) { break; }
    }
}

static bool is_auto(const option_entry *entry, const char *text)
{
    return entry->opens && strcasecmp(text, "auto") == 0;
}

static bool parse_integer(const option_entry *e, const char *text, void *place, const option_message *message)
{
    int64_t value = (int64_t)e->open;

    if (!is_auto(e, text) && !option_read_integer(e, text, &value, message)) { return false; }
    *(int *)place = (int)value;
    return true;
}

static bool parse_int64(const option_entry *e, const char *text, void *place, const option_message *message)
{
    int64_t value = (int64_t)e->open;

    if (!is_auto(e, text) && !option_read_integer(e, text, &value, message)) { return false; }
    *(int64_t *)place = value;
    return true;
}

static bool parse_real(const option_entry *e, const char *text, void *place, const option_message *message)
{
    double value = e->open;

    if (!is_auto(e, text) && !option_read_real(e, text, &value, message)) { return false; }
    *(double *)place = value;
    return true;
}

static void print_whole(const option_entry *e, int64_t value, char *buffer, size_t size)
{
    if (e->opens && value == (int64_t)e->open) {
        snprintf(buffer, size, "auto");
    } else {
        snprintf(buffer, size, "%" PRId64, value);
    }
}

static void print_integer(const option_entry *e, const void *place, char *buffer, size_t size)
{
    print_whole(e, *(const int *)place, buffer, size);
}

static void print_int64(const option_entry *e, const void *place, char *buffer, size_t size)
{
    print_whole(e, *(const int64_t *)place, buffer, size);
}

/* What stands for auto is the least of its kind: -1 where 0 is a value, and all below it. */
static void print_real(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const double value = *(const double *)place;

    if (e->opens && value <= e->open) {
        snprintf(buffer, size, "auto");
    } else {
        option_print_real(value, buffer, size);
    }
}

const option_type option_integer = {"integer", false, parse_integer, print_integer};
const option_type option_int64 = {"integer", false, parse_int64, print_int64};
const option_type option_real = {"real", false, parse_real, print_real};

static bool parse_bytes(const option_entry *e, const char *text, void *place, const option_message *message)
{
    static const char units[] = "KMGT";
    char digits[64];
    const size_t length = strcspn(text, units);
    const char *unit = text[length] ? strchr(units, text[length]) : NULL;
    double value = 0.0;
    bool fits = length < sizeof digits && (!unit || text[length + 1] == '\0');

    if (is_auto(e, text)) {
        *(int64_t *)place = 0;
        return true;
    }
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    fits = fits && read_number(digits, &value);
    value = unit ? ldexp(value, 10 * (int)(unit - units + 1)) : value;
    if (!fits || !(value >= 1.0 && value < 0x1p62)) {
        return option_refuse(message, "--%s: '%s' is not a number of bytes such as 500M or 8G", e->shown.name, text);
    }
    *(int64_t *)place = (int64_t)value;
    return true;
}

const option_type option_bytes = {"bytes", false, parse_bytes, print_int64};

static bool parse_seed(const option_entry *e, const char *text, void *place, const option_message *message)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);

    if (end == text || *end != '\0' || strchr(text, '-') || errno == ERANGE) { /* strtoull would wrap a minus */
        return option_refuse(message, "--%s: '%s' is not a seed (an integer from 0 to 2^64 - 1)", e->shown.name, text);
    }
    *(uint64_t *)place = value;
    return true;
}

static void print_seed(const option_entry *e, const void *place, char *buffer, size_t size)
{
    (void)e;
    snprintf(buffer, size, "%" PRIu64, *(const uint64_t *)place);
}

const option_type option_seed = {"seed", false, parse_seed, print_seed};

/* ---- words ---- */

/* The words of a list such as best|last, in `buffer`. */
static int split_words(const char *list, char *buffer, size_t size, const char **words)
{
    int count = 0;

    snprintf(buffer, size, "%s", list);
    words[count++] = buffer;
    for (char *bar = strchr(buffer, '|'); bar; bar = strchr(bar + 1, '|')) {
        *bar = '\0';
        words[count++] = bar + 1;
    }
    return count;
}

/* Whether an option takes a name: all of its enumeration, or those of its list. */
static bool takes_name(const option_entry *entry, const char *name)
{
    char buffer[128];
    const char *words[MOST_WORDS];
    const int count = entry->shown.words ? split_words(entry->shown.words, buffer, sizeof buffer, words) : 0;
    bool found = count == 0;

    for (int i = 0; i < count; i++) {
        found = found || strcmp(words[i], name) == 0;
    }
    return found && strcmp(name, "shell") != 0; /* a user's function has no word */
}

bool option_read_name(const option_entry *entry, const char *type, const char *text, int *out,
                      const option_message *message)
{
    const char *words[MOST_WORDS];
    int count = 0;

    for (const tess_named_value *name = tess_enum_names(type); name->name; name++) {
        if (!takes_name(entry, name->name)) { continue; }
        if (strcasecmp(name->name, text) == 0) {
            *out = name->value;
            return true;
        }
        if (count < MOST_WORDS) { words[count++] = name->name; }
    }
    return option_refuse_word(entry, text, words, count, message);
}

const char *option_name_of(const char *type, int value)
{
    for (const tess_named_value *name = tess_enum_names(type); name->name; name++) {
        if (name->value == value) { return name->name; }
    }
    return "?";
}

static bool parse_name(const option_entry *e, const char *text, void *place, const option_message *message)
{
    return option_read_name(e, e->enumeration, text, place, message);
}

static void print_name(const option_entry *e, const void *place, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", option_name_of(e->enumeration, *(const int *)place));
}

const option_type option_names = {"name", false, parse_name, print_name};

/* tcki is a word of the papers for the layout grouped. */
static bool parse_layout(const option_entry *e, const char *text, void *place, const option_message *message)
{
    return tess_layout_parse(text, place) == TESS_SUCCESS || parse_name(e, text, place, message);
}

const option_type option_layout = {"name", false, parse_layout, print_name};

static bool parse_words(const option_entry *e, const char *text, void *place, const option_message *message)
{
    char buffer[128];
    const char *words[MOST_WORDS];
    const int count = split_words(e->shown.words, buffer, sizeof buffer, words);

    for (int i = 0; i < count; i++) {
        if (strcasecmp(words[i], text) != 0) { continue; }
        *(int *)place = i;
        return true;
    }
    return option_refuse_word(e, text, words, count, message);
}

static void print_words(const option_entry *e, const void *place, char *buffer, size_t size)
{
    char list[128];
    const char *words[MOST_WORDS];
    const int count = split_words(e->shown.words, list, sizeof list, words), index = *(const int *)place;

    snprintf(buffer, size, "%s", index >= 0 && index < count ? words[index] : "?");
}

const option_type option_words = {"words", false, parse_words, print_words};

static bool parse_flag(const option_entry *e, const char *text, void *place, const option_message *message)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};

    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        if (strcasecmp(words[i], text) != 0) { continue; }
        *(int *)place = i % 2;
        return true;
    }
    return option_refuse(message, "--%s: '%s' is not 1 or 0, true or false", e->shown.name, text);
}

static void print_flag(const option_entry *e, const void *place, char *buffer, size_t size)
{
    (void)e;
    snprintf(buffer, size, "%d", *(const int *)place != 0);
}

const option_type option_flag = {"flag", false, parse_flag, print_flag};

static bool parse_text(const option_entry *e, const char *text, void *place, const option_message *message)
{
    if (!*text) { return option_refuse(message, "--%s: the value is empty", e->shown.name); }
    *(const char **)place = text;
    return true;
}

static void print_text(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const char *text = *(const char *const *)place;

    (void)e;
    snprintf(buffer, size, "%s", text ? text : "");
}

const option_type option_text = {"text", false, parse_text, print_text};

/* ---- precisions ---- */

#define PRECISION_NAME(NAME, value, name, ...) " " #name

bool option_read_role(const option_entry *e, const char *text, tess_role_precision *out, const option_message *message)
{
    if (tess_role_precision_parse(text, out) == TESS_SUCCESS) { return true; }
    return option_refuse(message,
                         "--%s: '%s' is not STORAGE or STORAGE/ARITHMETIC; storage:" TESS_PRECISION_LIST(
                             PRECISION_NAME) "; arithmetic: fp64, or fp32 with storage below fp64",
                         e->shown.name, text);
}

void option_print_role(const tess_role_precision *role, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s%s%s", role->given ? tess_precision_name(role->storage) : "", role->given ? "/" : "",
             role->given ? tess_arithmetic_name(role->arithmetic) : "");
}

static bool parse_precision(const option_entry *e, const char *text, void *place, const option_message *message)
{
    int precision = 0;

    if (!option_read_name(e, "tess_precision", text, &precision, message)) { return false; }
    *(tess_role_precision *)place = (tess_role_precision){.given = 1, .storage = (tess_precision)precision};
    return true;
}

static void print_precision(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_role_precision *role = place;

    (void)e;
    snprintf(buffer, size, "%s", role->given ? tess_precision_name(role->storage) : "");
}

const option_type option_precision_of_role = {"precision", false, parse_precision, print_precision};

static bool parse_schedule(const option_entry *e, const char *text, void *place, const option_message *message)
{
    if (tess_schedule_parse(text, place) == TESS_SUCCESS) { return true; }
    return option_refuse(message,
                         "--%s: '%s' is not a list of up to %d of mixed and the precisions, each with :N for N "
                         "iterations, such as fp32,mixed,fp64 or mixed:100,fp64:50",
                         e->shown.name, text, (int)TESS_MAX_SCHEDULE);
}

static void print_schedule(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_precision_schedule *schedule = place;
    size_t used = 0;

    (void)e;
    buffer[0] = '\0';
    for (int i = 0; i < schedule->count && used < size; i++) {
        const tess_schedule_entry *step = &schedule->entry[i];

        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i == 0 ? "" : ",",
                                 tess_schedule_entry_name(step->what));
        if (step->iterations == 0 || used >= size) { continue; }
        used += (size_t)snprintf(buffer + used, size - used, ":%" PRId64, step->iterations);
    }
}

const option_type option_schedule = {"schedule", false, parse_schedule, print_schedule};
