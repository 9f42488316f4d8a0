/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the library's list, as PETSc's options. */
#ifndef TESS_PETSC_OPTIONS_H
#define TESS_PETSC_OPTIONS_H

#include "versions.h"

#include <tessera/options.h>

/* Options of an object that a user has given. */
typedef struct tp_words {
    tess_solve_options options;       /* or those of its preconditioner or storage alone */
    char path[PETSC_MAX_PATH_LEN];    /* which these may point to */
    char wrong[2 * TESS_OPTION_TEXT]; /* what the first wrong word is told; empty: none */
} tp_words;

void tp_words_init(tp_words *words);
/* One option of the library's list, by its name there, within PetscOptionsBegin. A wrong word is no error yet: what is
   read on one process alone may be told where all processes meet. */
PetscErrorCode tp_option_read(tp_option_items PetscOptionsObject, const char *name, tp_words *words, PetscBool *set);
/* All of a scope, but those of a list that ends with NULL, and studies of the papers. */
PetscErrorCode tp_options_read(tp_option_items PetscOptionsObject, int scope, const char *const *left_out,
                               tp_words *words);
/* An error if a word was wrong; and if the options do not go together. */
PetscErrorCode tp_words_require(const tp_words *words);
PetscErrorCode tp_words_require_fit(const tp_words *words);
/* A message of the library with options as PETSc has them: --amg-cycle is -pc_tessera_amg_cycle. */
const char *tp_spell(const char *message, char *buffer, size_t size);

#endif
