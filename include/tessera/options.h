/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file options.h  All options of a solve by name: to list, to set from text, to print, to check.
 *
 *     tess_options_set(&options, "amg-cycle", "w", message, sizeof message);      or "precond.amg.cycle"
 *     tess_options_get(&options, "restart", text, sizeof text);                   "50"
 *     tess_options_check(&options, message, sizeof message);                      what does not go together
 *     for (int i = 0; (option = tess_option_at(i)) != NULL; i++) { ... }
 *
 * The command line, PETSc's options, Python's keywords and the reference are made of this list: an option has the same
 * name, values and limits in all of them. tess_solver_create refuses what tess_options_check refuses, in the same
 * words.
 */
#ifndef TESSERA_OPTIONS_H
#define TESSERA_OPTIONS_H

#include <stddef.h>

#include <tessera/export.h>
#include <tessera/precond.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

/** Length of a buffer that has room for every message of this header, and for the text of every value but a path. */
enum { TESS_OPTION_TEXT = 1024 };

/** Whose option it is: in which struct it lies. */
enum {
    TESS_OPTION_OF_SOLVE = 0,   /**< tess_solve_options, but its members precond and storage */
    TESS_OPTION_OF_PRECOND = 1, /**< tess_precond_options */
    TESS_OPTION_OF_STORAGE = 2  /**< tess_storage_options */
};

/** Parts of the help, in their order. Numbers between two of them order the options of a part. */
enum {
    TESS_SECTION_NONE = 0, /**< the tool does not have the option */
    TESS_SECTION_MAIN = 10,
    TESS_SECTION_STOPPING = 20,
    TESS_SECTION_PRECISION = 30,
    TESS_SECTION_PRECOND = 40,
    TESS_SECTION_METHOD = 50,
    TESS_SECTION_OUTPUT = 60,
    TESS_SECTION_DEVICE = 70,
    TESS_SECTION_PAPERS = 80
};

/** An option. The library owns all texts, which stay valid. */
typedef struct tess_option {
    const char *name; /**< "amg-cycle", as on the command line; the path if the tool does not have it */
    const char *path; /**< "precond.amg.cycle": the field in tess_solve_options, or the first of several */
    int scope;        /**< whose it is: TESS_OPTION_OF_SOLVE, ... */
    /** An enum such as "tess_amg_cycle", whose names it takes; or integer, real, bytes, seed, flag, text, words
        ("best|last" in `words`), role, precision, schedule, policy, levels, solver, precond, format, ... */
    const char *type;
    const char *words;    /**< type words: all, separated by |; else NULL */
    double low, high;     /**< limits of a number, both allowed; 0 and 0: none */
    const char *standard; /**< the default, as text; "": none */
    const char *needs; /**< "--precond amg": without it the option does nothing, and is refused; "": it always fits */
    int section;       /**< a part of the help, plus 0 to 9 */
    const char *argument; /**< its value in help, such as NAME; NULL: a flag */
    const char *help;     /**< what it does, with lists in braces, such as {tess_amg_cycle} */
} tess_option;

/** Each option from index 0 on; NULL beyond the last. */
TESS_EXPORT const tess_option *tess_option_at(int index);
/** The option of a name or path, with - or _ between words; NULL: there is none. */
TESS_EXPORT const tess_option *tess_option_find(const char *name);
/** PETSc's name, such as "-pc_tessera_amg_cycle", cut to @p size. Returns @p buffer, or NULL without one. */
TESS_EXPORT const char *tess_option_petsc(const tess_option *option, char *buffer, size_t size);
/** The numbers between limits, such as "0 to 1", "0 to below 1", "above 0" or "from 1", cut to @p size. Returns
    @p buffer, or NULL without one. tests/unit/test_option_help.c */
TESS_EXPORT const char *tess_range_text(double low, double high, char *buffer, size_t size);
/** The help, its lists filled, cut to @p size (TESS_OPTION_TEXT has room). Returns @p buffer, or NULL without one. */
TESS_EXPORT const char *tess_option_help(const tess_option *option, char *buffer, size_t size);

/**
 * Sets an option from text.
 * @param name     name or path
 * @param value    as the command line takes it; flags take 1, 0, true, false, yes, no, on, off. Paths are borrowed.
 * @param message  receives what is wrong and what would be right; may be NULL if @p size is 0
 * Options of the papers need options->papers or options->storage.papers.
 * Errors: NOT_FOUND (no such option), INVALID_ARGUMENT (the value). The options are unchanged then.
 * tests/unit/test_option_table.c
 */
TESS_EXPORT tess_status tess_options_set(tess_solve_options *options, const char *name, const char *value,
                                         char *message, size_t size);
/** Writes the value as text, which tess_options_set takes, cut to @p size. Errors: NOT_FOUND, INVALID_ARGUMENT. */
TESS_EXPORT tess_status tess_options_get(const tess_solve_options *options, const char *name, char *buffer,
                                         size_t size);
/** 1 if the option has another value than by default; 0 also for an unknown name. */
TESS_EXPORT int tess_options_is_set(const tess_solve_options *options, const char *name);
/**
 * Tells whether options go together, before there is a matrix: each one that is set has an effect, the method takes its
 * preconditioner, precisions and norm, and the storage fits some device. @p message receives what does not fit and what
 * would. Errors: INVALID_ARGUMENT. tests/unit/test_option_table.c
 */
TESS_EXPORT tess_status tess_options_check(const tess_solve_options *options, char *message, size_t size);

/**
 * Sets what has no effect with the method and the preconditioner to its defaults: after a change of one of them. What
 * contradicts another option stays. tests/unit/test_option_table.c
 */
TESS_EXPORT void tess_options_prune(tess_solve_options *options);

/** The same for the options of a preconditioner alone: names as above, paths with or without "precond.". */
TESS_EXPORT tess_status tess_precond_options_set(tess_precond_options *options, const char *name, const char *value,
                                                 char *message, size_t size);
TESS_EXPORT tess_status tess_precond_options_get(const tess_precond_options *options, const char *name, char *buffer,
                                                 size_t size);
TESS_EXPORT tess_status tess_precond_options_check(const tess_precond_options *options, char *message, size_t size);

/** The same for how a matrix is stored: paths with or without "storage.". tess_storage_options_check checks these. */
TESS_EXPORT tess_status tess_storage_options_set(tess_storage_options *options, const char *name, const char *value,
                                                 char *message, size_t size);
TESS_EXPORT tess_status tess_storage_options_get(const tess_storage_options *options, const char *name, char *buffer,
                                                 size_t size);

/** The word of a list that resembles @p word most; NULL: none is near. */
TESS_EXPORT const char *tess_nearest_word(const char *word, const char *const *words, int count);

TESS_END_DECLS

#endif
