/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners, for the solvers. */
#ifndef TESS_PRECOND_PRECOND_H
#define TESS_PRECOND_PRECOND_H

#include <tessera/precond.h>

#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table of a kind of preconditioner. The meaning of NULL stands with each function that may be NULL. */
typedef struct tess_precond_ops {
    tess_precond_kind kind;
    /* For `name:NUMBER`: the field that the number sets, and its largest value; NULL: the name takes no number. */
    int *(*number)(tess_precond_options *options, int *most);
    /* For names with other parameters: parses the text after the colon. False: none of them. NULL: there are none. */
    bool (*parse)(const char *text, tess_precond_options *options);
    /* Checks the options. The matrix is assembled or a shell, and square. */
    tess_status (*check)(const tess_matrix *a, const tess_precond_options *options);
    /* What the set-up refuses after a look at the entries, for advice. The matrix is assembled. NULL: nothing. */
    tess_status (*examine)(const tess_matrix *a, const tess_precond_options *options);
    /* Makes m->own for m->matrix. After SINGULAR it exists too: later values may succeed. NULL: nothing to make. */
    tess_status (*create)(tess_precond *m, const tess_precond_options *options);
    tess_status (*renew)(tess_precond *m); /* renews it for the matrix's new values; NULL: nothing to do */
    /* z := M^-1 r; r and z have the precision `vectors`. reduction->state: of the loop that calls it, or NULL. */
    tess_status (*apply)(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction);
    /* z := M^-1 r for FP64 vectors of several columns, by rows (dense/columns.h), if it takes them as it is now. NULL:
       it takes none. After prepare_columns for as many (NULL: nothing to do) it allocates nothing. */
    bool (*takes_columns)(const tess_precond *m);
    tess_status (*prepare_columns)(const tess_precond *m, int columns);
    tess_status (*apply_columns)(const tess_precond *m, int columns, const double *r, double *z);
    /* The same for all columns of the caller's arrays, where they lie on the host. *done false: they do not lie so that
       it can, and z may be anything. NULL: it cannot. */
    tess_status (*apply_where_they_are)(const tess_precond *m, const tess_columns *r, const tess_columns *z,
                                        bool *done);
    /* z := M^-1 r or M^-T r for FP64 arrays of the host, where M is A but for rounding (complete factors); r may be z.
       NULL: it is not. */
    tess_status (*solve_on_host)(const tess_precond *m, bool transposed, const double *r, double *z);
    bool reduces; /* apply also computes the dot products of z */
    bool on_host; /* apply works on the host: no device can record it */
    /* The role in GMRES with such an inner precision, where the options leave it open; NULL: that precision. */
    tess_role_precision (*default_role)(tess_role_precision inner);
    const double *(*scale)(
        const tess_precond *m); /* the inverse diagonal in FP64, if M^-1 is nothing else; NULL: it is not */
    /* After a method found M^-1 not positive definite for a symmetric matrix: changes it so that it may be. *mended: it
       did. NULL: nothing to change. */
    tess_status (*mend)(tess_precond *m, bool *mended);
    /* After a cycle of a method gave NaN or made no progress: sets it up in a higher precision. *widened: it did. NULL:
       it has one precision. */
    tess_status (*widen)(tess_precond *m, bool *widened);
    /* Whether it would. A solve then also ends cycles that stall. With `widen`. */
    bool (*can_widen)(const tess_precond *m);
    /* No new values will come, and no other precision: frees what these would need. It applies without its matrix.
       NULL: it needs that. */
    void (*settle)(tess_precond *m);
    uint64_t (*revision)(
        const tess_precond *m);              /* changes when a recorded application becomes out of date; NULL: never */
    int64_t (*bytes)(const tess_precond *m); /* on the device; NULL: 0 */
    void (*count_blocks)(const tess_precond *m, int64_t *counts);      /* counts by precision; NULL: none */
    void (*factors)(const tess_precond *m, tess_precond_factors *out); /* NULL: it has no factors */
    /* In which precision factors are stored; NULL: that of the role. */
    tess_precision (*stored)(const tess_precond *m);
    void (*levels)(const tess_precond *m, tess_amg_levels *out);     /* NULL: it has no levels */
    void (*sweeps)(const tess_precond *m, tess_precond_sweeps *out); /* NULL: it has no sweeps */
    void (*saddle)(const tess_precond *m, tess_saddle_parts *out);   /* NULL: it has no blocks of a saddle point */
    const tess_precond *(*inside)(const tess_precond *m);            /* the one that iterations within this one
                                                                        apply, or NULL; NULL: there are none */
    void (*destroy)(tess_precond *m);                                /* frees m->own, which may be NULL; NULL: nothing
                                                                        to free */
} tess_precond_ops;

/* The preconditioner of that kind, or NULL (registry/preconds.c). */
const tess_precond_ops *tess_find_precond(tess_precond_kind kind);

struct tess_precond {
    tess_context *ctx;
    int64_t holders; /* the caller, and each solver that was made with it */
    const tess_precond_ops *ops;
    tess_precond_kind kind;
    int64_t n;
    tess_role_precision role;  /* storage and arithmetic */
    const tess_matrix *matrix; /* held; NULL for a shell */
    uint64_t values_version;
    uint64_t changes; /* times that it was mended or widened, or renewed */
    bool varies;      /* not linear, as K cycles: for flexible methods alone */
    /* The option by which it is not positive definite even for such a matrix: not for CG and MINRES; NULL: none is. */
    const char *unsymmetric;
    tess_shell_precond shell;
    void *own; /* data of the kind */
};

/* A preconditioner of the library's own, without data yet, for an assembled matrix, which it holds. */
tess_status tess_precond_make(const tess_matrix *a, const tess_precond_ops *ops, tess_precond **out);
/* Whether one could be made, as far as options, the matrix and its rows tell; the errors are those of the set-up. */
tess_status tess_precond_examine(const tess_matrix *a, const tess_precond_options *options);
/* The user's: what iterations within this one apply, if it has some. m may be NULL. */
const tess_precond *tess_precond_inmost(const tess_precond *m);
/* Another holder, which destroys it too. NULL is allowed. */
tess_precond *tess_precond_hold(const tess_precond *m);
/* As tess_precond_create, but after SINGULAR *out exists too: tess_precond_update may succeed on later values. */
tess_status tess_precond_create_renewable(const tess_matrix *a, const tess_precond_options *options,
                                          tess_precond **out);
/* The inverse diagonal that fused vector operations apply themselves: that of FP64 Jacobi; else NULL. */
const double *tess_precond_scale(const tess_precond *m);
/* Whether it has factors to tell of; also one of turned rows. */
bool tess_precond_has_factors(const tess_precond *m);
/* Whether its matrix has newer values than those that it is of. m may be NULL. */
bool tess_precond_is_old(const tess_precond *m);
/* It stays as it is: lets go of its matrix and of what renewals need, if it can. */
void tess_precond_settle(tess_precond *m);
/* Changes when a recorded application becomes out of date. */
uint64_t tess_precond_revision(const tess_precond *m);
/* Grows with each change: a column of several may so see that another has changed it. m may be NULL. */
uint64_t tess_precond_changes(const tess_precond *m);
/* Whether it applies itself to several columns at once, as it is now. */
bool tess_precond_takes_columns(const tess_precond *m);
/* Changes one that was found not positive definite for a symmetric matrix, if it can. *mended: it did. m may be NULL.
 */
tess_status tess_precond_mend(tess_precond *m, bool *mended);
/* Raises its precision, if it can. *widened: it did. m may be NULL. */
tess_status tess_precond_widen(tess_precond *m, bool *widened);
bool tess_precond_can_widen(const tess_precond *m);
/* Whether a device can record its application. m may be NULL. */
bool tess_precond_is_recordable(const tess_precond *m);
/* The role of a preconditioner in GMRES, where the options leave it open. */
tess_role_precision tess_precond_default_role(tess_precond_kind kind, tess_role_precision inner);
/* Whether the options hold only for the order and the scale of the rows: blocks or near-nullspace vectors of amg, the
   rows or the matrix of saddle. */
bool tess_precond_needs_order(const tess_precond_options *options);
/* True if z = r: no preconditioner, or one without a pass of its own. */
bool tess_precond_is_identity(const tess_precond *m);
/* z := M^-1 r with dot products of z. r and z have the precision `vectors`, FP64 or FP32 (a reduction needs FP64). */
tess_status tess_precond_apply_fused(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                                     const tess_reduction *reduction);

#ifdef __cplusplus
}
#endif

#endif
