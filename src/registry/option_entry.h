/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of the list of options (options.def), and how its values are read from text and written as text. */
#ifndef TESS_REGISTRY_OPTION_ENTRY_H
#define TESS_REGISTRY_OPTION_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/options.h>
#include <tessera/papers.h>

/* Where a message goes. */
typedef struct option_message {
    char *text;
    size_t size;
} option_message;

typedef struct option_entry option_entry;

/* A type of values. `place` is the field; for types whose fields lie apart it is the tess_solve_options. */
typedef struct option_type {
    const char *name;
    bool whole; /* place is the tess_solve_options */
    /* False: the text is no value; the message says why, and *place is unchanged. */
    bool (*parse)(const option_entry *entry, const char *text, void *place, const option_message *message);
    void (*print)(const option_entry *entry, const void *place, char *buffer, size_t size);
} option_type;

/* Where the field lies: in a struct of a scope, or in one of papers.h that it points to. */
typedef enum option_home { HOME_SOLVE, HOME_PRECOND, HOME_STORAGE, HOME_PAPERS_SOLVE, HOME_PAPERS_STORAGE } option_home;

/* What an option is for, as messages say it. options_check.c has the predicate of each. */
#define NEED_TEXT_ALWAYS ""
#define NEED_TEXT_AUTO "--solver auto"
#define NEED_TEXT_GMRES "--solver gmres, gmres-ir, gmres-fd, fgmres or nested"
#define NEED_TEXT_GMRES_FD "--solver gmres-fd"
#define NEED_TEXT_NESTED "--solver nested"
#define NEED_TEXT_CG "--solver cg or bicgstab"
#define NEED_TEXT_JACOBI "--solver jacobi"
#define NEED_TEXT_SOME_PRECOND "--precond"
#define NEED_TEXT_POLYNOMIAL "--precond polynomial"
#define NEED_TEXT_INCOMPLETE "--precond ilu0, ic0, ilut, ict or iluk"
#define NEED_TEXT_INCOMPLETE_OR_SWEEPS "--precond ilu0, ic0, ilut, ict, iluk or jacobi-sweeps"
#define NEED_TEXT_SWEEPS "--precond jacobi-sweeps"
#define NEED_TEXT_DIRECT "--precond lu or cholesky"
#define NEED_TEXT_AMG "--precond amg or saddle"
#define NEED_TEXT_SADDLE "--precond saddle"
#define NEED_TEXT_INVERSE "--precond fsai or isai"
#define NEED_TEXT_POWER "--precond fsai:K or isai:K"
#define NEED_TEXT_ADAPTIVE "--precond fsai:adaptive"
#define NEED_TEXT_PAPER_KERNEL "--kernel paper"
#define NEED_TEXT_NARROWING "--narrowing paper or safe"
typedef enum option_need {
    NEED_ALWAYS,
    NEED_AUTO,
    NEED_GMRES,
    NEED_GMRES_FD,
    NEED_NESTED,
    NEED_CG,
    NEED_JACOBI,
    NEED_SOME_PRECOND,
    NEED_POLYNOMIAL,
    NEED_INCOMPLETE,
    NEED_INCOMPLETE_OR_SWEEPS,
    NEED_SWEEPS,
    NEED_DIRECT,
    NEED_AMG,
    NEED_SADDLE,
    NEED_INVERSE,
    NEED_POWER,
    NEED_ADAPTIVE,
    NEED_PAPER_KERNEL,
    NEED_NARROWING,
    NEED_COUNT
} option_need;

struct option_entry {
    tess_option shown;
    const option_type *type;
    const char *enumeration; /* types of names: the enum */
    double open;             /* the number that stands for auto */
    bool opens;              /* there is one */
    option_home home;
    size_t offset, bytes; /* of the field */
    bool spreads;         /* its text sets fields beside that one, too */
    option_need need;
};

/* options.c */
extern const option_entry option_entries[];
extern const int option_entry_count;
const option_entry *option_find(const char *name);
/* The field, or the struct; NULL: the struct of papers.h is not there. */
const void *option_place(const option_entry *entry, const tess_solve_options *options);
bool option_is_set(const option_entry *entry, const tess_solve_options *options);
/* A caller's options, which may be shorter, over the defaults. False: NULL, or a `size` that is none. */
bool options_complete(const tess_solve_options *options, tess_solve_options *full);

/* option_values.c, option_parts.c, option_storage.c: the types of options.def */
extern const option_type option_names, option_words, option_integer, option_int64, option_real, option_bytes,
    option_seed, option_flag, option_text, option_precision_of_role, option_schedule, option_layout;
extern const option_type option_solver, option_recurrence, option_reorder, option_inner, option_accuracy,
    option_preconditioner, option_swept, option_precond_role, option_precond_format, option_precond_policy,
    option_precond_levels, option_amg_precisions, option_format, option_policy, option_granularity, option_levels,
    option_share, option_block, option_base, option_thresholds;

/* ---- shared by the types ---- */

/* The struct that holds the field at `place`. */
#define OWNER(type, member, place) ((type *)(void *)((char *)(place)-offsetof(type, member)))
#define CONST_OWNER(type, member, place) ((const type *)(const void *)((const char *)(place)-offsetof(type, member)))

/* Writes the message. Returns false. */
bool option_refuse(const option_message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A word that is none of `words`, of which `count` are told, with the nearest one. Returns false. */
bool option_refuse_word(const option_entry *entry, const char *text, const char *const *words, int count,
                        const option_message *message);
/* Numbers within the entry's limits. */
bool option_read_integer(const option_entry *entry, const char *text, int64_t *out, const option_message *message);
bool option_read_real(const option_entry *entry, const char *text, double *out, const option_message *message);
/* The value of a name of an enum, but for shell. */
bool option_read_name(const option_entry *entry, const char *type, const char *text, int *out,
                      const option_message *message);
/* "?" for a value outside the enum. */
const char *option_name_of(const char *type, int value);
/* STORAGE/ARITHMETIC; an empty text where none is given. */
bool option_read_role(const option_entry *entry, const char *text, tess_role_precision *out,
                      const option_message *message);
void option_print_role(const tess_role_precision *role, char *buffer, size_t size);
/* Whether a basis has a storage for the arithmetic of its cycles. */
bool option_check_basis(const tess_solve_options *o, const option_message *message);
/* Options of multigrid that contradict one another; a K cycle with a method that needs a linear preconditioner. */
bool option_check_multigrid(const tess_solve_options *o, const option_message *message);
bool option_check_cycle(const tess_solve_options *o, const option_message *message);
/* CG or MINRES with a preconditioner that is not positive definite by what options say of it. */
bool option_check_definite(const tess_solve_options *o, const option_message *message);
/* With as few digits as give the value back. */
void option_print_real(double value, char *buffer, size_t size);

#endif
