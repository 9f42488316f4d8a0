/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners made of turned rows. */
#include "precond/turned.h"

#include <math.h>
#include <string.h>

#include "base/complex_number.h"
#include "dense/pairs.h"
#include "matrix/assembled.h"
#include "matrix/complex_form.h"

/* Imaginary parts of a diagonal below this share are those of a real one. */
#define REAL_SHARE 0x1p-20

typedef struct turned_precond {
    tess_matrix *matrix; /* D A */
    tess_precond *m;     /* of it */
    double *turns;       /* on the device: n / 2 pairs of length 1 */
    double *turned;      /* workspace: D r */
    double *wide;        /* the same for vectors in FP32, and for z; NULL until they come */
} turned_precond;

static turned_precond *own_of(const tess_precond *m)
{
    return m->own;
}

/* ---- the matrix ---- */

/* The entry of row and column i of the complex matrix; 0: there is none. */
static double complex diagonal_of(const csr_view *v, int64_t i)
{
    const int64_t k = csr_find(v, 2 * i, 2 * i);
    const double *val = v->val;

    return k >= 0 ? complex_number(val[k], -val[k + 1]) : 0.0;
}

tess_status turned_is_wanted(const tess_matrix *a, tess_precond_kind kind, bool *wanted)
{
    tess_host_matrix host = {0};
    const csr_view *v = NULL;
    bool found = false;
    tess_status status = TESS_SUCCESS;

    *wanted = false;
    if (!a->is_complex || !a->ops || kind == TESS_PRECOND_NONE || kind == TESS_PRECOND_LU ||
        kind == TESS_PRECOND_CHOLESKY || kind == TESS_PRECOND_POLYNOMIAL) {
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_matrix_on_host(a, &host));
    v = &csr_of(host.matrix)->view;
    for (int64_t i = 0; i < v->nrows / 2 && !found; i++) {
        const double complex d = diagonal_of(v, i);

        found = fabs(cimag(d)) > REAL_SHARE * fabs(creal(d));
    }
    *wanted = found;
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

/* Re and im of each entry of D A, in `val`, and of each element of D. */
static void turn_rows(const csr_view *v, double *val, double *turns)
{
    const double *from = v->val;

    for (int64_t i = 0; i < v->nrows / 2; i++) {
        const double complex d = diagonal_of(v, i);
        const double size = cabs(d);
        const double complex turn = size > 0.0 && isfinite(size) ? conj(d) / size : 1.0;

        turns[2 * i] = creal(turn);
        turns[2 * i + 1] = cimag(turn);
        for (int64_t k = csr_offset(v, 2 * i); k < csr_offset(v, 2 * i + 1); k += 2) {
            const double complex value = turn * complex_number(from[k], -from[k + 1]);
            double *to = val + (csr_offset(v, 2 * i) / 2 + (k - csr_offset(v, 2 * i)));

            to[0] = creal(value);
            to[1] = cimag(value);
        }
    }
}

/* Gives the turned matrix and D the values of the original. */
static tess_status take_values(const tess_matrix *a, turned_precond *t)
{
    tess_host_matrix host = {0};
    double *val = NULL, *turns = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_on_host(a, &host));
    TESS_TRY(tess_host_allocate(a->ctx, a->nnz / 2, sizeof *val, (void **)&val));
    TESS_TRY(tess_host_allocate(a->ctx, a->nrows, sizeof *turns, (void **)&turns));
    turn_rows(&csr_of(host.matrix)->view, val, turns);
    TESS_TRY(tess_matrix_update_values(t->matrix, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    status = a->ctx->backend->upload(a->ctx, t->turns, turns, (size_t)a->nrows * sizeof *turns);
cleanup:
    tess_host_release(a->ctx, val, a->nnz / 2, sizeof *val);
    tess_host_release(a->ctx, turns, a->nrows, sizeof *turns);
    tess_host_matrix_release(&host);
    return status;
}

/* ---- the table ---- */

/* D r, and for FP32 vectors a conversion before it and after. */
static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    turned_precond *t = own_of(m);
    const tess_backend *backend = m->ctx->backend;
    const tess_reduction alone = {.state = reduction->state};
    const bool narrow = vectors != TESS_PRECISION_FP64;
    const double *from = r;
    double *to = z;
    tess_status status = TESS_SUCCESS;

    if (narrow && !t->wide) { TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *t->wide, (void **)&t->wide)); }
    if (narrow) {
        TESS_TRY(backend->convert(m->ctx, m->n, vectors, r, TESS_PRECISION_FP64, t->wide));
        from = t->wide;
        to = t->wide;
    }
    TESS_TRY(pairs_ops_of(m->ctx)->turn(m->ctx, m->n / 2, t->turns, from, t->turned));
    TESS_TRY(tess_precond_apply_fused(t->m, TESS_PRECISION_FP64, t->turned, to, &alone));
    if (narrow) { status = backend->convert(m->ctx, m->n, TESS_PRECISION_FP64, to, vectors, z); }
cleanup:
    return status;
}

static tess_status renew(tess_precond *m)
{
    turned_precond *t = own_of(m);
    const tess_status status = take_values(m->matrix, t);

    return status == TESS_SUCCESS ? tess_precond_update(t->m) : status;
}

static tess_status mend(tess_precond *m, bool *mended)
{
    return tess_precond_mend(own_of(m)->m, mended);
}

static tess_status widen(tess_precond *m, bool *widened)
{
    return tess_precond_widen(own_of(m)->m, widened);
}

static bool can_widen(const tess_precond *m)
{
    return tess_precond_can_widen(own_of(m)->m);
}

static int64_t bytes(const tess_precond *m)
{
    const turned_precond *t = own_of(m);
    const int64_t vectors = 2 + (t->wide != NULL);

    return tess_precond_bytes(t->m) + tess_matrix_bytes(t->matrix) + vectors * m->n * (int64_t)sizeof(double);
}

static void count_blocks(const tess_precond *m, int64_t *counts)
{
    tess_precond_blocks_per_precision(own_of(m)->m, counts);
}

static void destroy(tess_precond *m)
{
    turned_precond *t = own_of(m);

    if (!t) { return; }
    tess_precond_destroy(t->m);
    tess_matrix_destroy(t->matrix);
    tess_device_release(m->ctx, t->turns, m->n, sizeof *t->turns);
    tess_device_release(m->ctx, t->turned, m->n, sizeof *t->turned);
    tess_device_release(m->ctx, t->wide, m->n, sizeof *t->wide);
    tess_host_release(m->ctx, t, 1, sizeof *t);
}

/* The host may take part in what is inside. */
static const tess_precond_ops turned_ops = {.kind = TESS_PRECOND_NONE,
                                            .on_host = true,
                                            .apply = apply,
                                            .renew = renew,
                                            .mend = mend,
                                            .widen = widen,
                                            .can_widen = can_widen,
                                            .bytes = bytes,
                                            .count_blocks = count_blocks,
                                            .destroy = destroy};

static tess_status fill(tess_precond *m)
{
    const tess_matrix *a = m->matrix;
    turned_precond *t = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, 1, sizeof *t, (void **)&t));
    memset(t, 0, sizeof *t);
    m->own = t;
    TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *t->turns, (void **)&t->turns));
    TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *t->turned, (void **)&t->turned));
    TESS_TRY(tess_matrix_copy_to(a, m->ctx, &t->matrix));
    t->matrix->keeps_order = true; /* values come in the order of its own rows */
    status = take_values(a, t);
cleanup:
    return status;
}

tess_status turned_create(const tess_matrix *a, const tess_precond_options *options,
                          tess_status (*create)(const tess_matrix *turned, const tess_precond_options *options,
                                                tess_precond **out),
                          tess_precond **out)
{
    tess_precond *m = NULL;
    turned_precond *t = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_precond_make(a, &turned_ops, &m));
    TESS_TRY(fill(m));
    t = own_of(m);
    status = create(t->matrix, options, &t->m);
    if (!t->m) { goto cleanup; }
    m->kind = t->m->kind;
    m->role = t->m->role;
    m->varies = t->m->varies;
    m->unsymmetric = t->m->unsymmetric;
    if (status == TESS_SUCCESS) { m->values_version = a->values_version; }
    *out = m;
    return status;
cleanup:
    tess_precond_destroy(m);
    return status;
}

const tess_precond *turned_inside(const tess_precond *m)
{
    return m && m->ops == &turned_ops ? own_of(m)->m : m;
}
