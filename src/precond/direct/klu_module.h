/* SPDX-License-Identifier: Apache-2.0 */
/* What libtessera_klu.so offers to the library: KLU, which it is linked with. */
#ifndef TESS_PRECOND_DIRECT_KLU_MODULE_H
#define TESS_PRECOND_DIRECT_KLU_MODULE_H

#include <klu.h>

enum { KLU_MODULE_VERSION = 2 };
#define KLU_MODULE_FILE "libtessera_klu.so"
#define KLU_MODULE_SYMBOL "tess_klu_module"

/* KLU's functions; of `numbers` the values, their factors and right-hand sides are real, or re and im in turn. */
typedef struct klu_numbers {
    klu_numeric *(*factor)(int *start, int *index, double *val, klu_symbolic *symbolic, klu_common *common);
    int (*refactor)(int *start, int *index, double *val, klu_symbolic *symbolic, klu_numeric *numeric,
                    klu_common *common);
    int (*rgrowth)(int *start, int *index, double *val, klu_symbolic *symbolic, klu_numeric *numeric,
                   klu_common *common);
    int (*solve)(klu_symbolic *symbolic, klu_numeric *numeric, int n, int columns, double *rhs, klu_common *common);
    int (*tsolve)(klu_symbolic *symbolic, klu_numeric *numeric, int n, int columns, double *rhs, klu_common *common);
    int (*free_numeric)(klu_numeric **numeric, klu_common *common);
} klu_numbers;

typedef struct klu_module {
    int version;
    int (*defaults)(klu_common *common);
    klu_symbolic *(*analyze)(int n, int *start, int *index, klu_common *common);
    int (*free_symbolic)(klu_symbolic **symbolic, klu_common *common);
    klu_numbers real, complex_numbers;
} klu_module;

#endif
