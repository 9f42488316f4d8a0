/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jacobi and block Jacobi: memory and set-up. Blocks of one precision lie at equal distances. Adaptive blocks (Anzt et
 * al., CPE 31 (2019)) are inverted twice: first for their condition numbers, then, when their places are known, to be
 * stored.
 */
#include "precond/block_jacobi/block_jacobi.h"

#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "precond/block_jacobi/block_storage.h"
#include "precond/precond.h"

tess_status block_jacobi_check(const tess_matrix *a, const tess_precond_options *options)
{
    const tess_role_precision *role = &options->role;

    if (options->kind == TESS_PRECOND_BLOCK_JACOBI &&
        (options->block_jacobi.block_size < 1 || options->block_jacobi.block_size > TESS_MAX_BLOCK_SIZE)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use 1 to 64 rows",
                         "a diagonal block of block Jacobi cannot have %s",
                         tess_count(options->block_jacobi.block_size, "row").text);
    }
    if (options->kind == TESS_PRECOND_BLOCK_JACOBI && !a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi with a diagonal function, or a shell preconditioner",
                         "block Jacobi needs the entries of the matrix, but a shell matrix has none");
    }
    if (role->given && (tess_precision_bytes(role->storage) == 0 ||
                        (role->arithmetic != TESS_ARITHMETIC_FP64 && role->arithmetic != TESS_ARITHMETIC_FP32))) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use values of tess_precision and tess_arithmetic",
                         "the preconditioner has the unknown precision %d or arithmetic %d", (int)role->storage,
                         (int)role->arithmetic);
    }
    return TESS_SUCCESS;
}

void block_jacobi_close(tess_context *ctx, tess_block_diagonal *m)
{
    const int64_t nblocks = block_count(m);

    tess_device_release(ctx, m->inverse, m->bytes, 1);
    tess_device_release(ctx, m->exponents, nblocks, sizeof *m->exponents);
    tess_device_release(ctx, m->precisions, nblocks, sizeof *m->precisions);
    tess_device_release(ctx, m->places, nblocks + 1, sizeof *m->places);
    memset(m, 0, sizeof *m);
}

int64_t block_jacobi_bytes(const tess_block_diagonal *m)
{
    const int64_t nblocks = block_count(m);

    return m->bytes + (m->exponents ? nblocks * (int64_t)sizeof *m->exponents : 0) +
           (m->precisions ? nblocks * (int64_t)sizeof *m->precisions : 0) +
           (m->places ? (nblocks + 1) * (int64_t)sizeof *m->places : 0);
}

tess_status block_jacobi_open(const tess_matrix *a, const tess_precond_options *options, tess_block_diagonal *m)
{
    const tess_role_precision *role = &options->role;
    bool adaptive = options->kind == TESS_PRECOND_BLOCK_JACOBI && options->block_jacobi.adaptive;
    int64_t nblocks = 0;
    tess_status status = TESS_SUCCESS;

    m->n = a->nrows;
    m->block_size = options->kind == TESS_PRECOND_JACOBI ? 1 : options->block_jacobi.block_size;
    m->mends_zeros = options->kind == TESS_PRECOND_JACOBI;
    m->storage = role->given ? role->storage : adaptive ? TESS_PRECISION_FP16 : TESS_PRECISION_FP64;
    m->arithmetic = role->given ? role->arithmetic : TESS_ARITHMETIC_FP64;
    if (adaptive && (m->block_size == 1 || m->storage == TESS_PRECISION_FP64)) {
        m->storage = choose_block_precision(m->storage, 1.0); /* for all blocks: blocks of one row have condition 1 */
        adaptive = false;
    }
    nblocks = block_count(m);
    if (m->storage != TESS_PRECISION_FP64 || m->arithmetic != TESS_ARITHMETIC_FP64) {
        TESS_TRY(tess_device_allocate(a->ctx, nblocks, sizeof *m->exponents, (void **)&m->exponents));
    }
    if (!adaptive) {
        m->bytes = nblocks * block_bytes(m, m->storage);
        m->counts[m->storage] = nblocks;
        return tess_device_allocate(a->ctx, m->bytes, 1, &m->inverse);
    }
    TESS_TRY(tess_device_allocate(a->ctx, nblocks, sizeof *m->precisions, (void **)&m->precisions));
    TESS_TRY(tess_device_allocate(a->ctx, nblocks + 1, sizeof *m->places, (void **)&m->places));
cleanup:
    return status;
}

/* ---- adaptive precision ---- */

/* Allocates m->inverse for blocks of these precisions, and writes to `places` (on the host) where they begin and end.
 */
static tess_status reserve_blocks(tess_context *ctx, tess_block_diagonal *m, const uint8_t *precisions, char **places)
{
    const int64_t nblocks = block_count(m);
    int64_t bytes = 0;
    char *place = NULL;
    tess_status status = TESS_SUCCESS;

    for (int64_t b = 0; b < nblocks; b++) {
        bytes += block_bytes(m, (tess_precision)precisions[b]);
    }
    if (!m->inverse || bytes != m->bytes) {
        void *inverse = NULL;

        TESS_TRY(tess_device_allocate(ctx, bytes, 1, &inverse));
        tess_device_release(ctx, m->inverse, m->bytes, 1);
        m->inverse = inverse;
        m->bytes = bytes;
    }
    memset(m->counts, 0, sizeof m->counts);
    place = m->inverse;
    for (int64_t b = 0; b < nblocks; b++) {
        places[b] = place;
        place += block_bytes(m, (tess_precision)precisions[b]);
        m->counts[precisions[b]] += 1;
    }
    places[nblocks] = place;
cleanup:
    return status;
}

/* Gives every block a place for its precision; `chosen` is on the device. */
static tess_status place_blocks(tess_context *ctx, tess_block_diagonal *m, const uint8_t *chosen)
{
    const int64_t nblocks = block_count(m);
    uint8_t *precisions = NULL;
    char **places = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, nblocks, sizeof *precisions, (void **)&precisions));
    TESS_TRY(tess_host_allocate(ctx, nblocks + 1, sizeof *places, (void **)&places));
    TESS_TRY(ctx->backend->download(ctx, precisions, chosen, (size_t)nblocks));
    TESS_TRY(reserve_blocks(ctx, m, precisions, places));
    TESS_TRY(ctx->backend->upload(ctx, m->precisions, precisions, (size_t)nblocks));
    status = ctx->backend->upload(ctx, (void *)m->places, (const void *)places, (size_t)(nblocks + 1) * sizeof *places);
cleanup:
    tess_host_release(ctx, precisions, nblocks, sizeof *precisions);
    tess_host_release(ctx, (void *)places, nblocks + 1, sizeof *places);
    return status;
}

/* The blocks in use stay as they are until there is memory for the new ones. */
static tess_status choose_precisions(const tess_matrix *a, tess_block_diagonal *m)
{
    const int64_t nblocks = block_count(m);
    tess_block_diagonal judged = *m;
    int64_t singular_row = -1;
    tess_status status = TESS_SUCCESS;

    judged.precisions = NULL;
    TESS_TRY(tess_device_allocate(a->ctx, nblocks, sizeof *judged.precisions, (void **)&judged.precisions));
    TESS_TRY(block_jacobi_ops_of(a->ctx)->build(a, &judged, TESS_BLOCKS_JUDGE, &singular_row));
    status = place_blocks(a->ctx, m, judged.precisions);
cleanup:
    tess_device_release(a->ctx, judged.precisions, nblocks, sizeof *judged.precisions);
    return status;
}

/* ---- the diagonal of a shell operator ---- */

/* Stores the inverse of the diagonal, an array on the host. */
static tess_status store_diagonal(tess_context *ctx, const tess_block_diagonal *m, const double *inverse)
{
    tess_block_diagonal host = *m;
    tess_status status = TESS_SUCCESS;

    if (!m->exponents) { return ctx->backend->upload(ctx, m->inverse, inverse, (size_t)m->bytes); }
    host.inverse = NULL;
    host.exponents = NULL;
    TESS_TRY(tess_host_allocate(ctx, m->bytes, 1, &host.inverse));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *host.exponents, (void **)&host.exponents));
    for (int64_t i = 0; i < m->n; i++) {
        host_store_block(&host, i, inverse + i);
    }
    TESS_TRY(ctx->backend->upload(ctx, m->inverse, host.inverse, (size_t)m->bytes));
    status = ctx->backend->upload(ctx, m->exponents, host.exponents, (size_t)m->n * sizeof *host.exponents);
cleanup:
    tess_host_release(ctx, host.inverse, m->bytes, 1);
    tess_host_release(ctx, host.exponents, m->n, sizeof *host.exponents);
    return status;
}

static tess_status invert_shell_diagonal(const tess_matrix *a, const tess_block_diagonal *m, int64_t *singular_row)
{
    tess_context *ctx = a->ctx;
    double *given = NULL, *diagonal = NULL;
    tess_status status = TESS_SUCCESS;

    *singular_row = -1;
    TESS_TRY(tess_device_allocate(ctx, m->n, sizeof *given, (void **)&given));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(tess_matrix_raw_diagonal(a, given));
    TESS_TRY(ctx->backend->download(ctx, diagonal, given, (size_t)m->n * sizeof *diagonal));
    for (int64_t i = 0; i < m->n; i++) {
        if (diagonal[i] == 0.0) { diagonal[i] = 1.0; }
        if (*singular_row < 0 && (!isfinite(1.0 / diagonal[i]) || !isfinite(diagonal[i]))) { *singular_row = i; }
        diagonal[i] = 1.0 / diagonal[i];
    }
    status = store_diagonal(ctx, m, diagonal);
cleanup:
    tess_device_release(ctx, given, m->n, sizeof *given);
    tess_host_release(ctx, diagonal, m->n, sizeof *diagonal);
    return status;
}

tess_status block_jacobi_compute(const tess_matrix *a, tess_block_diagonal *m, int64_t *singular_row)
{
    tess_status status = TESS_SUCCESS;

    if (!a->ops) { return invert_shell_diagonal(a, m, singular_row); }
    if (m->precisions) { TESS_TRY(choose_precisions(a, m)); }
    status = block_jacobi_ops_of(a->ctx)->build(a, m, TESS_BLOCKS_STORE, singular_row);
cleanup:
    return status;
}

/* ---- the preconditioner ---- */

static int *block_size_of(tess_precond_options *options, int *most)
{
    *most = TESS_MAX_BLOCK_SIZE;
    return &options->block_jacobi.block_size;
}

static tess_status renew(tess_precond *m)
{
    tess_block_diagonal *blocks = m->own;
    int64_t singular_row = -1;
    const tess_status status = block_jacobi_compute(m->matrix, blocks, &singular_row);

    if (status != TESS_SUCCESS || singular_row < 0) { return status; }
    return tess_fail(m->ctx, TESS_SINGULAR, "choose another preconditioner or a larger block",
                     blocks->mends_zeros ? "Jacobi: the diagonal entry of row %lld or its inverse is not finite"
                                         : "block Jacobi: the diagonal block with row %lld is singular or not finite",
                     tess_number(m->ctx, singular_row));
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    tess_status status = tess_host_allocate(m->ctx, 1, sizeof(tess_block_diagonal), &m->own);

    if (status != TESS_SUCCESS) { return status; }
    memset(m->own, 0, sizeof(tess_block_diagonal));
    status = block_jacobi_open(m->matrix, options, m->own);
    return status == TESS_SUCCESS ? renew(m) : status;
}

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    return block_jacobi_ops_of(m->ctx)->apply(m->ctx, m->own, vectors, r, z, reduction);
}

static bool takes_columns(const tess_precond *m)
{
    const tess_block_diagonal *blocks = m->own;

    return blocks && blocks->arithmetic == TESS_ARITHMETIC_FP64;
}

static tess_status apply_columns(const tess_precond *m, int columns, const double *r, double *z)
{
    return block_jacobi_ops_of(m->ctx)->apply_columns(m->ctx, m->own, columns, r, z);
}

static const double *scale(const tess_precond *m)
{
    const tess_block_diagonal *blocks = m->own;

    return blocks && blocks->block_size == 1 && !blocks->exponents ? blocks->inverse : NULL;
}

static int64_t bytes(const tess_precond *m)
{
    return block_jacobi_bytes(m->own);
}

static void count_blocks(const tess_precond *m, int64_t *counts)
{
    const tess_block_diagonal *blocks = m->own;

    memcpy(counts, blocks->counts, sizeof blocks->counts);
}

static void destroy(tess_precond *m)
{
    if (!m->own) { return; }
    block_jacobi_close(m->ctx, m->own);
    tess_host_release(m->ctx, m->own, 1, sizeof(tess_block_diagonal));
}

const tess_precond_ops precond_jacobi = {.kind = TESS_PRECOND_JACOBI,
                                         .check = block_jacobi_check,
                                         .create = create,
                                         .renew = renew,
                                         .apply = apply,
                                         .takes_columns = takes_columns,
                                         .apply_columns = apply_columns,
                                         .reduces = true,
                                         .scale = scale,
                                         .bytes = bytes,
                                         .count_blocks = count_blocks,
                                         .destroy = destroy};
const tess_precond_ops precond_block_jacobi = {.kind = TESS_PRECOND_BLOCK_JACOBI,
                                               .number = block_size_of,
                                               .check = block_jacobi_check,
                                               .create = create,
                                               .renew = renew,
                                               .apply = apply,
                                               .takes_columns = takes_columns,
                                               .apply_columns = apply_columns,
                                               .reduces = true,
                                               .scale = scale,
                                               .bytes = bytes,
                                               .count_blocks = count_blocks,
                                               .destroy = destroy};
