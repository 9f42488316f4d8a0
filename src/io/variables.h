/* SPDX-License-Identifier: Apache-2.0 */
/* Files with several variables, each with a name: which one is meant. */
#ifndef TESS_IO_VARIABLES_H
#define TESS_IO_VARIABLES_H

#include "io/binary.h"

enum { MOST_VARIABLES = 128, VARIABLE_NAME_BYTES = 136 /* two of MATLAB's, of 63 letters */ };

typedef struct file_variable {
    char name[VARIABLE_NAME_BYTES]; /* of a field: "Problem.A" */
    bool sparse;
    int64_t nrows, ncols;
    int64_t place; /* for the reader */
} file_variable;

typedef struct file_variables {
    file_variable list[MOST_VARIABLES]; /* those with numbers */
    int count;
    bool more; /* than the list can hold */
} file_variables;

/* Space for one more; NULL when the list is full. `in`: the structure that has it, or NULL. */
file_variable *file_add_variable(file_variables *all, const char *in, const char *name, size_t length);

/* The variable that b->member names, or the only one that can be meant: A, or b. Error NOT_FOUND, with the names. */
tess_status file_choose_variable(const blob *b, const file_variables *all, source_role role,
                                 const file_variable **chosen);

/* A vector may lie in a row. */
static inline void file_turn_row(file_array *a)
{
    if (a->nrows == 1 && a->ncols > 1) {
        a->nrows = a->ncols;
        a->ncols = 1;
    }
}

#endif
