/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plug-in share: the process' context, errors, options, a stored copy of a matrix. */
#ifndef TESS_PETSC_PLUGIN_H
#define TESS_PETSC_PLUGIN_H

#include <tessera/tessera.h>
#include <tessera_petsc.h>

#include <petsc/private/petscimpl.h>
#include <petscvec.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
#define PETSC_SUCCESS 0
#endif
/* From 3.23 PetscOptionItems is a pointer itself. */
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *tp_option_items;
#else
typedef PetscOptionItems tp_option_items;
#endif

/* A PETSc built with CUDA that tells its stream, which 3.18 does not. */
#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
#define TP_HAVE_CUDA 1
#else
#define TP_HAVE_CUDA 0
#endif

/* ---- the context of this process (context.c) ---- */

/* Processes of one machine share its processors: before the first use. Collective. */
PetscErrorCode tp_find_place(void);
/* Created at the first use, destroyed by PetscFinalize. */
PetscErrorCode tp_context(tess_context **out);
/* Whether PETSc's vectors may be on the context's GPU. Work of both is then in the order of one stream. */
PetscErrorCode tp_shares_gpu(PetscBool *out);
/* PETSc's GPU of this process and its stream, or the host (device.c); process: its number on its machine. */
PetscErrorCode tp_choose_device(int process, tess_context_options *options);
/* Whether each process shares a GPU with PETSc, and with no other process of its machine (gpu_users.c). Collective. */
PetscErrorCode tp_has_own_gpu(MPI_Comm comm, PetscBool *out);
/* Turns a status of the library into an error of PETSc, with the library's message and hint. */
PetscErrorCode tp_check(tess_status status, const char *call);
#define TessCall(call) PetscCall(tp_check((call), #call))
/* An error of one process becomes an error of all, which would else wait for that one in what they do next: each gets
   its own, or is told of another's. Collective. */
PetscErrorCode tp_agree(MPI_Comm comm, PetscErrorCode code);
/* Prints a line on the standard error of the first process. */
PetscErrorCode tp_warn(MPI_Comm comm, const char *message);

/* ---- options (options.c, storage.c) ---- */

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

/* How a matrix is stored, and how values of x travel between processes. */
typedef struct tp_storage {
    tess_storage_options options;
    tess_precision halo;
} tp_storage;

/* Storage in the lowest precision that holds each value exactly; the halo in FP64. */
void tp_storage_default(tp_storage *storage);
/* -mat_tessera_*, within PetscOptionsBegin. */
PetscErrorCode tp_storage_read(tp_option_items PetscOptionsObject, tp_storage *storage);
/* The same at a place that has no PetscOptionsBegin. */
PetscErrorCode tp_storage_read_for(PetscObject object, tp_storage *storage);

/* ---- a stored copy of rows (copy.c) ---- */

/* Rows of AIJ on the host, as PETSc has them. */
typedef struct tp_rows {
    PetscInt nrows, ncols;
    const PetscInt *i, *j;
    const PetscScalar *a;
} tp_rows;

/* A matrix of the library that owns its arrays. */
PetscErrorCode tp_matrix_create(const tp_rows *rows, tess_matrix **out);

enum { TP_RUNS = 2 };

/* Rows one after the other. */
typedef struct tp_run {
    PetscInt row, count;
} tp_run;

/*
 * A copy in one of Tessera's formats. Where most rows are empty, as off the diagonal block, the copy has the others
 * alone: on a GPU if these are in few runs, which have few empty rows between. Values that FP16 would not hold are
 * stored over a power of two.
 */
typedef struct tp_copy {
    tess_matrix *assembled, *stored; /* NULL: there are no entries */
    PetscInt nrows, ncols, kept;
    PetscInt *row;        /* kept numbers: which row; NULL: every row */
    tp_run run[TP_RUNS];  /* the same in runs, on a GPU */
    int nruns;            /* 0 on a host */
    PetscInt *row_ptr;    /* of the kept rows; NULL: PETSc's */
    double *val;          /* scaled values; NULL: PETSc's */
    double scale;         /* stored = scale * A, a power of two */
    tess_vector *partial; /* products of the kept rows, in the precision of the first one */
    void *owned[3];       /* arrays that the copy may read, freed with it by PetscFree */
} tp_copy;

PetscErrorCode tp_copy_build(const tp_rows *rows, const tess_storage_options *options, tp_copy *copy);
/* factor * diag(left) A diag(right), in arrays of its own: those of A may change. */
PetscErrorCode tp_copy_build_scaled(const tp_rows *rows, double factor, const PetscScalar *left,
                                    const PetscScalar *right, const tess_storage_options *options, tp_copy *copy);
/* y := alpha A x, or y := y + alpha A x; both vectors in FP64, or both in FP32. */
PetscErrorCode tp_copy_product(tp_copy *copy, double alpha, const tess_vector *x, tess_vector *y, PetscBool add);
/* The main diagonal as products have it: min(nrows, ncols) numbers on the host, 0 where there is no entry. */
PetscErrorCode tp_copy_diagonal(const tp_copy *copy, PetscScalar *diagonal);
void tp_copy_free(tp_copy *copy);

/* ---- arrays of PETSc as vectors of the library (vectors.c) ---- */

typedef enum tp_access { TP_READ, TP_WRITE, TP_UPDATE } tp_access;

/* A vector of the library around an array, which is not written through a const one. Where the context computes in
   another memory the vector has a copy, whose values tp_vector_end brings back. */
PetscErrorCode tp_vector_begin(PetscInt n, const PetscScalar *array, PetscMemType where, tp_access access,
                               tess_vector **out);
PetscErrorCode tp_vector_end(tess_vector **v, PetscScalar *array, tp_access access);

/* A Vec of PETSc as a vector of the library, the entries of this process. */
typedef struct tp_view {
    tess_vector *v;
    PetscScalar *array;
    PetscMemType where;
    tp_access access;
    PetscBool shared;
} tp_view;

PetscErrorCode tp_view_begin(Vec vec, tp_access access, tp_view *view);
PetscErrorCode tp_view_end(Vec vec, tp_view *view);

/* The other way: a Vec of this process around n values where the context computes. */
PetscErrorCode tp_vec_create(PetscInt n, Vec *out);
PetscErrorCode tp_vec_place(Vec vec, const double *array);
PetscErrorCode tp_vec_reset(Vec vec);

/* Memory of the host; pinned: page-locked, which a GPU that is shared with PETSc reads and writes in place. Freed once
   the GPU has done what was queued. */
PetscErrorCode tp_pinned_allocate(PetscBool pinned, size_t bytes, void **out);
PetscErrorCode tp_pinned_free(PetscBool pinned, void **memory);

/* ---- registration (register.c) ---- */

PETSC_EXTERN PetscErrorCode tessera_petsc_register(void);
PetscErrorCode tp_register_mat(void);
PetscErrorCode tp_register_pc(void);
PetscErrorCode tp_register_ksp(void);

#endif
