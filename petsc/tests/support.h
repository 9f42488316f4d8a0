/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices, options and checks of the plug-in's tests. */
#ifndef TESS_PETSC_TESTS_SUPPORT_H
#define TESS_PETSC_TESTS_SUPPORT_H

#include <petscksp.h>
#include <tessera_petsc.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
#define PETSC_SUCCESS 0
#endif

/* Not PETSC_ERR_PLIB: 77, by which a program says that it is skipped. */
#define CHECK(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_USER, __VA_ARGS__)
/* Destroys objects of any type, in their order; NULL is none. */
#define DESTROY(...) PetscCall(destroy_all((void *[]){__VA_ARGS__, NULL}))

typedef struct test_case {
    const char *name;
    PetscErrorCode (*run)(void);
} test_case;
/* clang-format off */
#define CASE(test) {#test, test}
/* clang-format on */

/* Unit roundoffs. */
#define U64 0x1p-53
#define U32 0x1p-24
#define U16 0x1p-11

typedef struct random_pair {
    Mat a, magnitudes; /* AIJ: values, and their absolute values */
    PetscInt longest;  /* most entries of a row */
} random_pair;

/* n rows of some ten entries in random places, with values that FP32 does not hold; rows by columns. */
PetscErrorCode random_matrix(PetscInt nrows, PetscInt ncols, random_pair *out);
PetscErrorCode destroy_pair(random_pair *pair);
/* The five-point Laplacian of m by m points, in the type of -PREFIXmat_type. */
PetscErrorCode laplacian(PetscInt m, const char *prefix, Mat *out);
/* A vector of random numbers from -1 to 1, which depend on their place alone. */
PetscErrorCode fill(Vec v, int seed);
/* ||b - A x|| / ||b|| by a plain AIJ copy. */
PetscErrorCode relative_residual(Mat A, Vec b, Vec x, double *out);
/* NAME VALUE as on the command line; an empty value takes it away. */
PetscErrorCode option(const char *name, const char *value);
PetscErrorCode rank_count(int *ranks);
/* Whether a matrix' type begins with a word. */
PetscErrorCode type_begins(Mat A, const char *word, PetscBool *out);
PetscErrorCode destroy_all(void *const *objects);
/* Runs test cases up to one without a name, and says which. */
PetscErrorCode run_cases(const test_case *cases);
/* What main returns of these, between PetscInitialize, then `initialize`, and PetscFinalize. */
int run_tests(int argc, char **argv, PetscErrorCode (*initialize)(void), const test_case *cases);

#endif
