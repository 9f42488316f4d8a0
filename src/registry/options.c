/* SPDX-License-Identifier: Apache-2.0 */
/* The list of options (options.def) and its public functions: find, set, get. */
#include <float.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "registry/option_entry.h"

/* ---- the list ---- */

#define LIMIT 0x1p61 /* counts of iterations have room to be added */

#define NAMES(enumerators) .type = &option_names, .enumeration = (enumerators), .shown.type = (enumerators)
#define SOME_NAMES(enumerators, list) NAMES(enumerators), .shown.words = (list)
#define SADDLE_KINDS SOME_NAMES("tess_precond_kind", "auto|jacobi|ilu0|ic0|amg|lu|cholesky")
#define OF_TYPE(which, text) .type = &(which), .shown.type = (text)
#define WORDS(list) OF_TYPE(option_words, "words"), .shown.words = (list)
#define WITHIN(least, most) .shown.low = (double)(least), .shown.high = (double)(most)
#define OR_AUTO(number) .opens = true, .open = (double)(number)
#define INTEGER(least, most) OF_TYPE(option_integer, "integer"), WITHIN(least, most)
#define INTEGER_OR_AUTO(least, most, number) INTEGER(least, most), OR_AUTO(number)
#define INT64(least, most) OF_TYPE(option_int64, "integer"), WITHIN(least, most)
#define INT64_OR_AUTO(least, most, number) INT64(least, most), OR_AUTO(number)
#define REAL(least, most) OF_TYPE(option_real, "real"), WITHIN(least, most)
#define REAL_OR_AUTO(least, most, number) REAL(least, most), OR_AUTO(number)
#define BYTES OF_TYPE(option_bytes, "bytes"), OR_AUTO(0)
#define SEED OF_TYPE(option_seed, "seed")
#define FLAG OF_TYPE(option_flag, "flag")
#define TEXT OF_TYPE(option_text, "text")
#define PRECISION_OF_ROLE OF_TYPE(option_precision_of_role, "precision")
#define SCHEDULE OF_TYPE(option_schedule, "schedule")
#define LAYOUT OF_TYPE(option_layout, "tess_layout"), .enumeration = "tess_layout"
#define SOLVER OF_TYPE(option_solver, "solver"), .enumeration = "tess_solver_kind"
#define RECURRENCE OF_TYPE(option_recurrence, "tess_recurrence"), .enumeration = "tess_recurrence"
#define REORDER OF_TYPE(option_reorder, "tess_reordering"), .spreads = true, .enumeration = "tess_reordering"
#define INNER OF_TYPE(option_inner, "role"), .spreads = true
#define ACCURACY OF_TYPE(option_accuracy, "accuracy"), WITHIN(0, 1)
#define PRECONDITIONER OF_TYPE(option_preconditioner, "precond"), .enumeration = "tess_precond_kind"
#define SWEPT(noun) OF_TYPE(option_swept, noun), .spreads = true, .enumeration = "tess_" noun
#define PRECOND_ROLE OF_TYPE(option_precond_role, "role")
#define PRECOND_FORMAT OF_TYPE(option_precond_format, "tess_format"), .enumeration = "tess_format"
#define PRECOND_POLICY OF_TYPE(option_precond_policy, "policy")
#define PRECOND_LEVELS OF_TYPE(option_precond_levels, "levels")
#define AMG_PRECISIONS \
    OF_TYPE(option_amg_precisions, "precisions"), .spreads = true, .enumeration = "tess_amg_precision"
#define FORMAT OF_TYPE(option_format, "tess_format"), .enumeration = "tess_format"
#define POLICY OF_TYPE(option_policy, "policy")
#define GRANULARITY OF_TYPE(option_granularity, "tess_granularity"), .enumeration = "tess_granularity"
#define LEVELS OF_TYPE(option_levels, "levels"), .spreads = true
#define SHARE OF_TYPE(option_share, "share"), .spreads = true, WITHIN(0, 100)
#define BLOCK OF_TYPE(option_block, "words"), .spreads = true, .shown.words = "16x16|16x32|32x16|32x32"
#define BASE OF_TYPE(option_base, "base"), .spreads = true, .enumeration = "tess_format"
#define THRESHOLDS OF_TYPE(option_thresholds, "thresholds")

#define ENTRY(NAME, PATH, SCOPE, HOME, TYPE, FIELD, STANDARD, NEED, SECTION, ARGUMENT, HELP, ...) \
    {.shown.name = (NAME),                                                                        \
     .shown.path = (PATH),                                                                        \
     .shown.scope = (SCOPE),                                                                      \
     .shown.standard = (STANDARD),                                                                \
     .shown.section = (SECTION),                                                                  \
     .shown.argument = (ARGUMENT),                                                                \
     .shown.help = (HELP),                                                                        \
     .home = (HOME),                                                                              \
     .offset = offsetof(TYPE, FIELD),                                                             \
     .bytes = sizeof(((TYPE *)NULL)->FIELD),                                                      \
     .need = NEED_##NEED,                                                                         \
     .shown.needs = NEED_TEXT_##NEED,                                                             \
     __VA_ARGS__},
#define SOLVE(name, field, type, standard, need, section, argument, help)                                     \
    ENTRY(name, #field, TESS_OPTION_OF_SOLVE, HOME_SOLVE, tess_solve_options, field, standard, need, section, \
          argument, help, type)
#define PRECOND(name, field, type, standard, need, section, argument, help)                                           \
    ENTRY(name, "precond." #field, TESS_OPTION_OF_PRECOND, HOME_PRECOND, tess_precond_options, field, standard, need, \
          section, argument, help, type)
#define STORAGE(name, field, type, standard, need, section, argument, help)                                           \
    ENTRY(name, "storage." #field, TESS_OPTION_OF_STORAGE, HOME_STORAGE, tess_storage_options, field, standard, need, \
          section, argument, help, type)
#define PAPERS_SOLVE(name, field, type, standard, need, section, argument, help)                                     \
    ENTRY(name, "papers." #field, TESS_OPTION_OF_SOLVE, HOME_PAPERS_SOLVE, tess_papers_solve, field, standard, need, \
          section, argument, help, type)
#define PAPERS_STORAGE(name, field, type, standard, need, section, argument, help)                                 \
    ENTRY(name, "storage.papers." #field, TESS_OPTION_OF_STORAGE, HOME_PAPERS_STORAGE, tess_papers_storage, field, \
          standard, need, section, argument, help, type)

const option_entry option_entries[] = {
#include "registry/options.def"
};
const int option_entry_count = (int)(sizeof option_entries / sizeof *option_entries);

/* ---- finding ---- */

const tess_option *tess_option_at(int index)
{
    return index >= 0 && index < option_entry_count ? &option_entries[index].shown : NULL;
}

/* Whether two names are the same but for - and _. */
static bool is_same_name(const char *a, const char *b)
{
    while (*a && (*a == *b || (strchr("-_", *a) && strchr("-_", *b) && *b))) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

/* The path without the member of the scope, such as "amg.cycle". */
static const char *path_in_scope(const tess_option *option)
{
    const char *dot = strchr(option->path, '.');

    return option->scope != TESS_OPTION_OF_SOLVE && dot ? dot + 1 : option->path;
}

const option_entry *option_find(const char *name)
{
    for (int i = 0; name && i < option_entry_count; i++) {
        const tess_option *shown = &option_entries[i].shown;

        if (is_same_name(name, shown->name) || is_same_name(name, shown->path)) { return &option_entries[i]; }
    }
    return NULL;
}

/* The same for options of one scope, whose paths may begin in its struct. */
static const option_entry *find_in_scope(const char *name, int scope)
{
    const option_entry *found = option_find(name);

    if (found && found->shown.scope == scope) { return found; }
    for (int i = 0; name && i < option_entry_count; i++) {
        const tess_option *shown = &option_entries[i].shown;

        if (shown->scope == scope && is_same_name(name, path_in_scope(shown))) { return &option_entries[i]; }
    }
    return NULL;
}

const tess_option *tess_option_find(const char *name)
{
    const option_entry *found = option_find(name);

    return found ? &found->shown : NULL;
}

/* The name without the word that the prefix of its object says already. */
static const char *word_of_petsc(const tess_option *option)
{
    static const char precond[] = "precond-", matrix[] = "matrix-";
    const char *name = option->name;

    if (strcmp(name, "precond") == 0) { return "type"; }
    if (option->scope == TESS_OPTION_OF_PRECOND && strncmp(name, precond, sizeof precond - 1) == 0) {
        return name + sizeof precond - 1;
    }
    if (option->scope == TESS_OPTION_OF_STORAGE && strncmp(name, matrix, sizeof matrix - 1) == 0) {
        return name + sizeof matrix - 1;
    }
    return name;
}

const char *tess_option_petsc(const tess_option *option, char *buffer, size_t size)
{
    static const char *const prefixes[] = {"ksp", "pc", "mat"};

    if (!option || !buffer || size == 0) { return NULL; }
    snprintf(buffer, size, "-%s_tessera_%s", prefixes[option->scope], word_of_petsc(option));
    for (char *c = buffer; *c; c++) {
        if (c > buffer && (*c == '-' || *c == '.')) { *c = '_'; }
    }
    return buffer;
}

/* ---- where a value lies ---- */

static const void *struct_of(const option_entry *entry, const tess_solve_options *options)
{
    switch (entry->home) {
    case HOME_PRECOND: return &options->precond;
    case HOME_STORAGE: return &options->storage;
    case HOME_PAPERS_SOLVE: return options->papers;
    case HOME_PAPERS_STORAGE: return options->storage.papers;
    case HOME_SOLVE: break;
    }
    return options;
}

const void *option_place(const option_entry *entry, const tess_solve_options *options)
{
    const void *owner = entry->type->whole ? options : struct_of(entry, options);

    return owner && !entry->type->whole ? (const char *)owner + entry->offset : owner;
}

static tess_status print_entry(const option_entry *entry, const tess_solve_options *options, char *buffer, size_t size)
{
    const void *place = option_place(entry, options);

    if (!buffer || size == 0) { return TESS_INVALID_ARGUMENT; }
    buffer[0] = '\0';
    if (place) {
        entry->type->print(entry, place, buffer, size);
    } else {
        snprintf(buffer, size, "%s", entry->shown.standard);
    }
    return TESS_SUCCESS;
}

bool option_is_set(const option_entry *entry, const tess_solve_options *options)
{
    char text[TESS_OPTION_TEXT];

    (void)print_entry(entry, options, text, sizeof text);
    return strcmp(text, entry->shown.standard) != 0;
}

/* ---- set and get ---- */

static tess_status refuse_name(const char *name, const option_message *message)
{
    const char *names[sizeof option_entries / sizeof *option_entries], *nearest = NULL;

    for (int i = 0; i < option_entry_count; i++) {
        names[i] = option_entries[i].shown.name;
    }
    nearest = name ? tess_nearest_word(name, names, option_entry_count) : NULL;
    option_refuse(message, "there is no option '%s'%s%s%s", name ? name : "", nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "");
    return TESS_NOT_FOUND;
}

static tess_status set_entry(const option_entry *entry, tess_solve_options *options, const char *value,
                             const option_message *message)
{
    void *place = (void *)option_place(entry, options); /* options is not const, nor need be what it points to */

    if (!value) {
        option_refuse(message, "--%s: there is no value", entry->shown.name);
        return TESS_INVALID_ARGUMENT;
    }
    if (!place) {
        option_refuse(message, "--%s is an option of papers.h: point options.papers or options.storage.papers to one",
                      entry->shown.name);
        return TESS_INVALID_ARGUMENT;
    }
    return entry->type->parse(entry, value, place, message) ? TESS_SUCCESS : TESS_INVALID_ARGUMENT;
}

/* ---- structs of callers, which may be shorter by older headers ---- */

/* A caller's struct and the library's copy of it, in a tess_solve_options that is complete. */
typedef struct window {
    void *caller, *own;
    size_t known, size; /* bytes by the caller's headers, and by the library's */
} window;

/* Copies the caller's fields over the defaults. False: its `size` is none. */
static bool open_window(window *w)
{
    if (!w->caller) { return false; }
    memcpy(&w->known, w->caller, sizeof w->known);
    if (w->known < sizeof w->known || w->known > w->size) { return false; }
    memcpy(w->own, w->caller, w->known);
    memcpy(w->own, &w->size, sizeof w->size);
    return true;
}

static window window_of(int scope, const void *caller, tess_solve_options *full)
{
    void *given = (void *)(uintptr_t)caller; /* written to by set alone, whose caller's struct is not const */

    tess_solve_options_init(full);
    switch (scope) {
    case TESS_OPTION_OF_PRECOND: return (window){given, &full->precond, 0, sizeof full->precond};
    case TESS_OPTION_OF_STORAGE: return (window){given, &full->storage, 0, sizeof full->storage};
    default: return (window){given, full, 0, sizeof *full};
    }
}

bool options_complete(const tess_solve_options *options, tess_solve_options *full)
{
    window w = window_of(TESS_OPTION_OF_SOLVE, options, full);

    return open_window(&w);
}

static tess_status refuse_size(const window *w, const option_message *message)
{
    option_refuse(message, "the struct's size is %zu, but this library knows 1 to %zu bytes: call its _init function",
                  w->known, w->size);
    return TESS_INVALID_ARGUMENT;
}

/* Sets the option in the copy, and writes back what the caller's headers know. */
static tess_status set_in(int scope, const option_entry *entry, void *caller, const char *value,
                          const option_message *message)
{
    tess_solve_options full, before;
    window w = window_of(scope, caller, &full);
    tess_status status = TESS_SUCCESS;

    if (!caller) { return TESS_INVALID_ARGUMENT; }
    if (!open_window(&w)) { return refuse_size(&w, message); }
    memcpy(&before, &full, sizeof full);
    status = set_entry(entry, &full, value, message);
    if (status != TESS_SUCCESS) { return status; }
    const char *own = w.own, *old = (const char *)&before + (own - (const char *)&full);

    if (memcmp(own + w.known, old + w.known, w.size - w.known) != 0) {
        option_refuse(message, "--%s is newer than the headers of the program", entry->shown.name);
        return TESS_INVALID_ARGUMENT;
    }
    memcpy((char *)caller + sizeof w.known, own + sizeof w.known, w.known - sizeof w.known);
    return TESS_SUCCESS;
}

static tess_status get_in(int scope, const option_entry *entry, const void *caller, char *buffer, size_t size)
{
    tess_solve_options full;
    window w = window_of(scope, caller, &full);

    if (!open_window(&w)) { return TESS_INVALID_ARGUMENT; }
    return entry ? print_entry(entry, &full, buffer, size) : TESS_NOT_FOUND;
}

/* ---- public ---- */

tess_status tess_options_set(tess_solve_options *options, const char *name, const char *value, char *text, size_t size)
{
    const option_message message = {text, size};
    const option_entry *entry = option_find(name);

    if (!options) { return TESS_INVALID_ARGUMENT; }
    return entry ? set_in(TESS_OPTION_OF_SOLVE, entry, options, value, &message) : refuse_name(name, &message);
}

tess_status tess_options_get(const tess_solve_options *options, const char *name, char *buffer, size_t size)
{
    return get_in(TESS_OPTION_OF_SOLVE, option_find(name), options, buffer, size);
}

int tess_options_is_set(const tess_solve_options *options, const char *name)
{
    const option_entry *entry = option_find(name);
    tess_solve_options full;

    return entry && options_complete(options, &full) && option_is_set(entry, &full);
}

tess_status tess_precond_options_set(tess_precond_options *options, const char *name, const char *value, char *text,
                                     size_t size)
{
    const option_message message = {text, size};
    const option_entry *entry = find_in_scope(name, TESS_OPTION_OF_PRECOND);

    if (!options) { return TESS_INVALID_ARGUMENT; }
    return entry ? set_in(TESS_OPTION_OF_PRECOND, entry, options, value, &message) : refuse_name(name, &message);
}

tess_status tess_precond_options_get(const tess_precond_options *options, const char *name, char *buffer, size_t size)
{
    return get_in(TESS_OPTION_OF_PRECOND, find_in_scope(name, TESS_OPTION_OF_PRECOND), options, buffer, size);
}

tess_status tess_storage_options_set(tess_storage_options *options, const char *name, const char *value, char *text,
                                     size_t size)
{
    const option_message message = {text, size};
    const option_entry *entry = find_in_scope(name, TESS_OPTION_OF_STORAGE);

    if (!options) { return TESS_INVALID_ARGUMENT; }
    return entry ? set_in(TESS_OPTION_OF_STORAGE, entry, options, value, &message) : refuse_name(name, &message);
}

tess_status tess_storage_options_get(const tess_storage_options *options, const char *name, char *buffer, size_t size)
{
    return get_in(TESS_OPTION_OF_STORAGE, find_in_scope(name, TESS_OPTION_OF_STORAGE), options, buffer, size);
}
