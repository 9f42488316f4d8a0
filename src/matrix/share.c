/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix that several contexts read: the arrays go to a record with an atomic count of its holders, and each context
 * gets a matrix over them, with plans and facts of its own. The last holder frees the arrays, in whichever thread.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/handed_over.h"
#include "matrix/assembled.h"

struct csr_shared {
    atomic_int holders;
    const tess_context *home; /* counts the arrays, as long as it has one of these matrices: at_home */
    atomic_int at_home;
    bool owns_index, owns_values; /* of the matrix that was shared first; else the arrays are the caller's */
    csr_view view;
    tess_allocator allocator;
};

static void free_arrays(const csr_shared *shared)
{
    const csr_view *v = &shared->view;
    const tess_allocator *from = &shared->allocator;

    if (shared->owns_index) {
        tess_host_free(from, v->row_ptr, v->nrows + 1, (size_t)v->row_ptr_bits / 8);
        tess_host_free(from, v->col_ind, v->nnz, sizeof *v->col_ind);
    }
    if (shared->owns_values) { tess_host_free(from, v->val, v->nnz, sizeof(double)); }
}

static void forget_arrays(tess_context *ctx, const csr_shared *shared)
{
    const csr_view *v = &shared->view;

    if (shared->owns_index) {
        tess_host_forget(ctx, v->nrows + 1, (size_t)v->row_ptr_bits / 8);
        tess_host_forget(ctx, v->nnz, sizeof *v->col_ind);
    }
    if (shared->owns_values) { tess_host_forget(ctx, v->nnz, sizeof(double)); }
}

/* Whether a matrix of that context is one of those for which the arrays are counted. Once there is none, there never is
   again: another context at the address of the first one counts nothing. */
static bool is_at_home(const csr_shared *shared, const tess_context *ctx)
{
    return ctx == shared->home && atomic_load(&shared->at_home) > 0;
}

void csr_shared_release(tess_context *ctx, csr_storage *s)
{
    csr_shared *shared = s->shared;
    const tess_allocator from = shared->allocator;

    if (is_at_home(shared, ctx) && atomic_fetch_sub(&shared->at_home, 1) == 1) { forget_arrays(ctx, shared); }
    s->owns_index = s->owns_values = false;
    s->shared = NULL;
    if (atomic_fetch_sub(&shared->holders, 1) > 1) { return; }
    free_arrays(shared);
    tess_host_free(&from, shared, 1, sizeof *shared);
}

bool csr_shared_is_fixed(const csr_storage *s)
{
    const csr_shared *shared = s->shared;

    return shared && (atomic_load(&shared->holders) > 1 || shared->owns_values != s->owns_values);
}

/* Moves the arrays of an assembled matrix to a record that others may hold. */
static tess_status make_shared(tess_context *ctx, csr_storage *s)
{
    const tess_allocator *from = &ctx->host_allocator;
    csr_shared *shared = NULL;

    if (s->shared) { return TESS_SUCCESS; }
    shared = from->allocate(from->user, sizeof *shared);
    if (!shared) {
        return tess_fail(ctx, TESS_OUT_OF_MEMORY, "free memory", "host memory is exhausted: a matrix cannot be shared");
    }
    atomic_init(&shared->holders, 1);
    atomic_init(&shared->at_home, 1);
    shared->home = ctx;
    shared->owns_index = s->owns_index;
    shared->owns_values = s->owns_values;
    shared->view = s->view;
    shared->allocator = *from;
    s->shared = shared;
    return TESS_SUCCESS;
}

tess_status tess_matrix_share(const tess_matrix *a, tess_context *ctx, tess_matrix **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    TESS_REQUIRE(a->ctx, ctx);
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_share");
    csr_storage *s = a->storage, *reader = NULL;

    if (status != TESS_SUCCESS) { return status; }
    if (a->ctx->device != TESS_DEVICE_CPU || ctx->device != TESS_DEVICE_CPU) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "give each context a copy, by tess_matrix_copy_to",
                         "matrices are shared between contexts on the CPU alone");
    }
    status = make_shared(a->ctx, s);
    if (status != TESS_SUCCESS) { return status; }
    status = tess_matrix_from_view(ctx, &s->view, false, out);
    if (status != TESS_SUCCESS) {
        if (ctx != a->ctx) { a->ctx->error = ctx->error; }
        return status;
    }
    atomic_fetch_add(&s->shared->holders, 1);
    if (is_at_home(s->shared, ctx)) { atomic_fetch_add(&s->shared->at_home, 1); }
    reader = (*out)->storage;
    reader->shared = s->shared;
    (*out)->keeps_order = a->keeps_order;
    (*out)->is_complex = a->is_complex;
    return TESS_SUCCESS;
}
