/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors: what they are for, their patterns and triangles, who computes them. */
#include <string.h>

#include "base/stages.h"
#include "precond/incomplete/incomplete_parts.h"

/* Approximate cost of factors in nanoseconds: on a host for each product and each entry; on a GPU for each level set,
   and a fixed part. */
enum { HOST_PRODUCT = 2, HOST_ENTRY = 4, DEVICE_LEVEL_SET = 4000, DEVICE_CALLS = 150000 };
/* So many rows are worth a factorization by sweeps where the triangles are solved by sweeps. */
enum { SWEPT_ROWS = 65536 };
/* A GPU finds the level sets of so many rows; at most so many of them; and where the caller leaves the triangles to us,
   those of so many rows each, in the mean, since merged level sets are not faster then. */
enum { LEVELED_ROWS = 65536, MOST_LEVEL_SETS = 8192, ROWS_OF_LEVEL_SET = 1024 };

void incomplete_destroy(tess_incomplete *m)
{
    if (!m) { return; }
    triangle_destroy(m->lower);
    triangle_destroy(m->upper);
    tess_device_release(m->ctx, m->diagonal, m->n, sizeof *m->diagonal);
    tess_device_release(m->ctx, m->order, m->n, sizeof *m->order);
    tess_device_release(m->ctx, m->inverse, m->n, sizeof *m->inverse);
    for (int i = 0; i < 2; i++) {
        tess_device_release(m->ctx, m->work[i], m->n, sizeof *m->work[i]);
    }
    tess_device_release(m->ctx, m->columns_work, incomplete_columns_values(m, m->columns), sizeof *m->columns_work);
    level_sets_release(m->ctx, &m->schedule);
    incomplete_release_pattern(m->ctx, &m->pattern);
    tess_matrix_destroy(m->filled);
    incomplete_colors_close(m->ctx, &m->colors);
    tess_host_release(m->ctx, m, 1, sizeof *m);
}

/* The storage of square blocks, with all options resolved. */
static tess_storage_options resolve_squares(const tess_precond_options *o, tess_precision storage)
{
    tess_storage_options squares = o->incomplete.squares;

    if (squares.precision == TESS_PRECISION_FP64) { squares.precision = storage; }
    if (squares.format == TESS_FORMAT_CSR && squares.policy.policy != TESS_POLICY_NONE) {
        squares.format = tess_format_in_role(TESS_ROLE_BLOCKS); /* this settles the granularity */
    }
    return squares;
}

/* Whether one attempt takes the host less time. ILU(0) multiplies with the upper parts of the rows that a row needs,
   IC(0) with the shorter row of each pair. */
static bool host_is_sooner(const tess_incomplete *m, const incomplete_pattern *p, const triangle_pattern *lower)
{
    int64_t left = DEVICE_LEVEL_SET * m->schedule.level_sets + DEVICE_CALLS - HOST_ENTRY * p->nnz; /* nanoseconds */

    for (int64_t i = 0; i < p->n && left > 0; i++) {
        const int64_t own = lower->row_ptr[i + 1] - lower->row_ptr[i];

        for (int64_t k = lower->row_ptr[i]; k < lower->row_ptr[i + 1]; k++) {
            const int64_t j = lower->col_ind[k], others = lower->row_ptr[j + 1] - lower->row_ptr[j];

            left -= HOST_PRODUCT * (!m->cholesky   ? p->row_ptr[j + 1] - p->diagonal[j] - 1
                                    : own < others ? own
                                                   : others);
        }
    }
    return left > 0;
}

static bool chooses_host(const tess_incomplete *m, tess_factorization where, const incomplete_pattern *p,
                         const triangle_pattern *lower)
{
    if (where != TESS_FACTORIZATION_AUTO) { return where == TESS_FACTORIZATION_HOST; }
    return m->ctx->device == TESS_DEVICE_GPU && host_is_sooner(m, p, lower);
}

/* Prepares a factorization on the device. */
static tess_status upload_schedule(tess_incomplete *m, const incomplete_pattern *p)
{
    tess_status status = TESS_SUCCESS;

    if (m->sweeps == 0) {
        TESS_TRY(tess_device_upload(m->ctx, m->schedule.order, m->n, sizeof *m->order, (void **)&m->order));
    }
    status = tess_device_upload(m->ctx, p->diagonal, m->n, sizeof *m->diagonal, (void **)&m->diagonal);
cleanup:
    return status;
}

static triangle_options options_of_triangles(const tess_incomplete *m, const tess_precond_options *o,
                                             const tess_storage_options *squares)
{
    const tess_incomplete_options *own = &o->incomplete;
    const bool blocks = own->triangular == TESS_TRIANGULAR_BLOCKS ||
                        (own->triangular == TESS_TRIANGULAR_AUTO && incomplete_has_squares(&own->squares));
    const bool merged = own->triangular == TESS_TRIANGULAR_MERGED ||
                        (own->triangular == TESS_TRIANGULAR_AUTO && !blocks && m->ctx->device == TESS_DEVICE_GPU);

    return (triangle_options){.blocks = blocks,
                              .merged = merged,
                              .weighs = merged && own->triangular == TESS_TRIANGULAR_AUTO,
                              .sweeps = own->triangular == TESS_TRIANGULAR_SWEEPS ? own->sweeps : 0,
                              .leaf = own->leaf,
                              .precision = m->storage,
                              .squares = squares};
}

static tess_status make_triangles(tess_incomplete *m, const incomplete_pattern *p, const tess_precond_options *o)
{
    tess_context *ctx = m->ctx;
    const tess_storage_options squares = resolve_squares(o, m->storage);
    const triangle_options options = options_of_triangles(m, o, &squares);
    triangle_options of_lower = options;
    triangle_pattern lower = {0}, upper = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(incomplete_take_lower(ctx, p, &lower));
    if (m->sweeps == 0) {
        TESS_TRY(level_sets_find(ctx, &lower, 0, m->n, &m->schedule));
        TESS_TRY(tess_stage_end(ctx, "levels of the factors"));
    }
    m->by_host = chooses_host(m, o->incomplete.factorization, p, &lower);
    if (!m->by_host) { TESS_TRY(upload_schedule(m, p)); }
    TESS_TRY(m->cholesky ? incomplete_mirror(ctx, &lower, &upper) : incomplete_take_upper(ctx, p, &upper));
    if (ctx->device == TESS_DEVICE_GPU && m->sweeps == 0) { of_lower.level_sets = &m->schedule; }
    TESS_TRY(triangle_create(ctx, &lower, &of_lower, &m->lower));
    status = triangle_create(ctx, &upper, &options, &m->upper);
cleanup:
    if (m->by_host) { level_sets_release(ctx, &m->schedule); } /* one thread takes the rows in their order */
    incomplete_release_triangle(ctx, &lower);
    incomplete_release_triangle(ctx, &upper);
    return status;
}

/* ---- on a GPU ---- */

/* How many level sets a GPU looks for itself; 0: the host finds all. Many rows in each need no merging. */
static int64_t most_level_sets(const tess_incomplete *m, const tess_precond_options *o)
{
    const tess_incomplete_options *own = &o->incomplete;
    const bool by_device =
        own->factorization == TESS_FACTORIZATION_AUTO || own->factorization == TESS_FACTORIZATION_DEVICE;

    if (m->sweeps > 0 || !by_device || m->n < LEVELED_ROWS || incomplete_has_squares(&own->squares)) { return 0; }
    if (own->triangular == TESS_TRIANGULAR_LEVELS) { return MOST_LEVEL_SETS; }
    return own->triangular == TESS_TRIANGULAR_AUTO ? m->n / ROWS_OF_LEVEL_SET : 0;
}

/* Whether a GPU finds the patterns itself: it need not order rows, or may. */
static bool splits_on_device(const tess_incomplete *m, const tess_precond_options *o)
{
    const bool swept = m->sweeps > 0 && o->incomplete.triangular == TESS_TRIANGULAR_SWEEPS;

    return (swept || most_level_sets(m, o) > 0) && incomplete_ops_of(m->ctx)->split && device_csr_takes(m->matrix);
}

static tess_status create_swept(tess_incomplete *m, const triangle_options *options, incomplete_split *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(triangle_create_swept(m->ctx, &s->lower.pattern, &s->lower.source, options, &m->lower));
    status = triangle_create_swept(m->ctx, &s->upper.pattern, &s->upper.source, options, &m->upper);
cleanup:
    return status;
}

/* The level sets of one side, which the transpose of the other has where the pattern is symmetric. */
static tess_status find_side_levels(const tess_incomplete *m, const incomplete_side *side,
                                    const incomplete_side *mirrored, int64_t most, leveled_rows *rows, bool *found)
{
    const triangle_ops *ops = triangle_ops_of(m->ctx);
    device_csr own = side->pattern, transpose = {0};
    int32_t *source = NULL;
    tess_status status = TESS_SUCCESS;

    if (mirrored) { return ops->find_levels(m->ctx, &own, &mirrored->pattern, most, rows, found); }
    own.val = NULL;
    TESS_TRY(device_csr_ops_of(m->ctx)->transpose(m->ctx, &own, &transpose, &source));
    status = ops->find_levels(m->ctx, &own, &transpose, most, rows, found);
cleanup:
    tess_device_release(m->ctx, source, own.nnz, sizeof *source);
    device_csr_release(m->ctx, &transpose);
    return status;
}

/* *made false: there are too many level sets. */
static tess_status create_leveled(tess_incomplete *m, const triangle_options *options, int64_t most,
                                  incomplete_split *s, bool *made)
{
    leveled_rows lower = {0}, upper = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_side_levels(m, &s->lower, m->cholesky ? &s->upper : NULL, most, &lower, made));
    if (!*made) { goto cleanup; }
    TESS_TRY(find_side_levels(m, &s->upper, m->cholesky ? &s->lower : NULL, most, &upper, made));
    if (!*made) { goto cleanup; }
    TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *m->order, (void **)&m->order));
    TESS_TRY(m->ctx->backend->copy(m->ctx, m->order, lower.order, (size_t)m->n * sizeof *m->order));
    TESS_TRY(triangle_create_leveled(m->ctx, &s->lower.pattern, &s->lower.source, &lower, options, &m->lower));
    status = triangle_create_leveled(m->ctx, &s->upper.pattern, &s->upper.source, &upper, options, &m->upper);
cleanup:
    leveled_release(m->ctx, &lower);
    leveled_release(m->ctx, &upper);
    return status;
}

/* *made false: the host has to. */
static tess_status split_on_device(tess_incomplete *m, const tess_precond_options *o, bool *made)
{
    tess_context *ctx = m->ctx;
    const tess_storage_options squares = resolve_squares(o, m->storage);
    triangle_options options = options_of_triangles(m, o, &squares);
    incomplete_split s = {0};
    tess_status status = TESS_SUCCESS;

    *made = true;
    options.merged = false;
    TESS_TRY(incomplete_ops_of(ctx)->split(m->matrix, m->cholesky, &s));
    m->missing_row = s.missing_row;
    if (m->missing_row >= 0) { goto cleanup; }
    TESS_TRY(m->sweeps > 0 ? create_swept(m, &options, &s)
                           : create_leveled(m, &options, most_level_sets(m, o), &s, made));
    if (!*made) { goto cleanup; }
    m->nnz = m->matrix->nnz;
    m->by_host = false;
    m->diagonal = s.diagonal;
    s.diagonal = NULL;
    status = tess_stage_end(ctx, "patterns of the factors");
cleanup:
    incomplete_release_split(ctx, m->n, &s);
    return status;
}

/* ---- all ---- */

static tess_status allocate_vectors(tess_incomplete *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *m->inverse, (void **)&m->inverse));
    for (int i = 0; i < 2; i++) {
        TESS_TRY(tess_device_allocate(m->ctx, m->n, sizeof *m->work[i], (void **)&m->work[i]));
    }
cleanup:
    return status;
}

static tess_status analyse(tess_incomplete *m, const tess_precond_options *o)
{
    tess_context *ctx = m->ctx;
    incomplete_pattern p = {0};
    bool made = false;
    tess_status status = TESS_SUCCESS;

    if (splits_on_device(m, o)) { TESS_TRY(split_on_device(m, o, &made)); }
    if (m->missing_row >= 0) { goto cleanup; }
    if (made) { return allocate_vectors(m); }
    TESS_TRY(incomplete_read_pattern(m->matrix, &p, &m->missing_row));
    if (m->missing_row >= 0) { goto cleanup; }
    m->nnz = p.nnz;
    TESS_TRY(make_triangles(m, &p, o));
    if (m->by_host) {
        m->pattern = p;
        p = (incomplete_pattern){0};
    }
    status = allocate_vectors(m);
cleanup:
    incomplete_release_pattern(ctx, &p);
    return status;
}

/* From here on all is of the matrix in that order, but for vectors and messages. */
static tess_status order_by_colors(tess_incomplete *m)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(incomplete_colors_open(m->given, m->cholesky, &m->colors));
    TESS_TRY(incomplete_colors_renew(m->given, &m->colors));
    m->matrix = m->colors.matrix;
cleanup:
    return status;
}

/* From here on all is of the matrix with fill. */
static tess_status add_fill(tess_incomplete *m, const tess_precond_options *o)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(incomplete_filled_open(m->matrix, o, m->sweeps > 0, &m->filled));
    m->matrix = m->filled;
cleanup:
    return status;
}

/* The sweeps of the factorization, if any. On a GPU, triangles of many rows that are solved by sweeps are computed by
   them too, unless the caller chooses: then nothing is found or computed on the host. */
static int choose_sweeps(const tess_incomplete *m, const tess_incomplete_options *o)
{
    const bool chosen = o->factorization == TESS_FACTORIZATION_AUTO && o->triangular == TESS_TRIANGULAR_SWEEPS &&
                        m->ctx->device == TESS_DEVICE_GPU && m->n >= SWEPT_ROWS;

    return chosen || o->factorization == TESS_FACTORIZATION_SWEEPS ? o->factorization_sweeps : 0;
}

tess_status incomplete_create(const tess_matrix *a, const tess_precond_options *options, tess_incomplete **out)
{
    tess_incomplete *m = NULL;
    bool has_fill = false;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *m, (void **)&m));
    memset(m, 0, sizeof *m);
    m->ctx = a->ctx;
    m->given = m->matrix = a;
    m->n = a->nrows;
    m->kind = options->kind;
    m->cholesky = m->kind == TESS_PRECOND_IC0 || m->kind == TESS_PRECOND_ICT;
    has_fill = m->kind != TESS_PRECOND_IC0 && m->kind != TESS_PRECOND_ILU0;
    m->missing_row = -1;
    m->by_host = options->incomplete.factorization == TESS_FACTORIZATION_HOST;
    m->sweeps = choose_sweeps(m, &options->incomplete);
    m->storage = options->role.given ? options->role.storage : TESS_PRECISION_FP64;
    if (options->incomplete.triangular == TESS_TRIANGULAR_COLORS) { TESS_TRY(order_by_colors(m)); }
    if (has_fill && m->n > 0) { TESS_TRY(add_fill(m, options)); }
    TESS_TRY(analyse(m, options));
    status = incomplete_renew(m);
cleanup:
    if (status == TESS_SUCCESS || status == TESS_SINGULAR || status == TESS_OUT_OF_RANGE) {
        *out = m;
    } else {
        incomplete_destroy(m);
    }
    return status;
}
