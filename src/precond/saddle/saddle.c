/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preconditioner saddle, of [A F; B C]: block factors with an approximate inverse of A, by another preconditioner,
 * and of the Schur complement S = C - B A^-1 F.
 *
 *   diag    z1 = A^-1 r1             z2 = -S^-1 r2, where A is positive definite
 *   lower   z1 = A^-1 r1             z2 = S^-1 (r2 - B z1)
 *   upper   z2 = S^-1 r2             z1 = A^-1 (r1 - F z2)
 *   full    z2 = S^-1 (r2 - B A^-1 r1),  z1 = A^-1 (r1 - F z2)
 *
 * Sources: Benzi, Golub, Liesen, Acta Numerica 14 (2005), sections 10.1 to 10.3; Murphy, Golub, Wathen, SIAM J. Sci.
 * Comput. 21 (2000), for diag; Elman, Howle, Shadid, Shuttleworth, Tuminaro, SIAM J. Sci. Comput. 27 (2006), for lsc.
 */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "matrix/assembled.h"
#include "precond/direct/mumps.h"
#include "precond/saddle/saddle.h"

static const tess_precond_ops precond_saddle_on_host;

/* ---- options ---- */

static bool is_inner_kind(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_AUTO || kind == TESS_PRECOND_JACOBI || kind == TESS_PRECOND_ILU0 ||
           kind == TESS_PRECOND_IC0 || kind == TESS_PRECOND_AMG || kind == TESS_PRECOND_LU ||
           kind == TESS_PRECOND_CHOLESKY;
}

static tess_status check_schur_matrix(const tess_matrix *a, const tess_saddle_options *o)
{
    const tess_matrix *s = o->schur_matrix;

    if ((o->schur == TESS_SCHUR_USER) != (s != NULL)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "set both, or neither",
                         "saddle: schur user and schur_matrix go together");
    }
    if (s && (s->ctx != a->ctx || !s->ops || s->original || s->nrows != s->ncols)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass an assembled square matrix of the same context",
                         "saddle: schur_matrix cannot stand for the Schur complement");
    }
    return TESS_SUCCESS;
}

static tess_status check(const tess_matrix *a, const tess_precond_options *o)
{
    const bool fp64 = o->role.storage == TESS_PRECISION_FP64 && o->role.arithmetic == TESS_ARITHMETIC_FP64;

    if (!a->ops || a->is_complex) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use a shell preconditioner, or lu for a complex matrix",
                         "saddle needs the entries of a real matrix");
    }
    if (o->role.given && !fp64) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "name the precision of its multigrid (--amg-precision)",
                         "saddle takes no precision of its own (--precond-precision)");
    }
    if (!is_inner_kind(o->saddle.a_precond) || !is_inner_kind(o->saddle.schur_precond)) {
        return tess_fail(
            a->ctx, TESS_UNSUPPORTED, "use auto, jacobi, ilu0, ic0, amg, lu or cholesky",
            "saddle cannot solve with its blocks by %s",
            tess_precond_kind_name(is_inner_kind(o->saddle.a_precond) ? o->saddle.schur_precond : o->saddle.a_precond));
    }
    if (o->amg.near_nullspace || o->amg.block_size > 1) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "leave them out",
                         "saddle: near-nullspace vectors and blocks of amg are of the whole matrix");
    }
    return check_schur_matrix(a, &o->saddle);
}

/* Whether there is a second block. */
static tess_status examine(const tess_matrix *a, const tess_precond_options *o)
{
    host_csr k = {0};
    saddle_split split = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_from_matrix(a, &k));
    status = saddle_split_find(a->ctx, &k, o->saddle.index, o->saddle.index_count, &split);
    saddle_split_release(a->ctx, &split);
cleanup:
    host_csr_release(a->ctx, &k);
    return status;
}

/* ---- choices ---- */

/* Where half of the rows sum to nearly 0, a matrix is like a Laplacian. */
static bool is_like_laplacian(int64_t null_rows, int64_t rows)
{
    return 2 * null_rows >= rows;
}

/* Terms of the product B diag(A)^-1 F for each entry of B: finite elements have 2 to 15; dense columns fill S. */
enum { MOST_TERMS = 40 };

/* From this skewness of A on, lsc takes fewer seconds than local: convection (docs/results/saddle-points.md). */
#define SKEW 0x1p-4

static tess_status choose_schur(tess_context *ctx, const saddle *o, const saddle_blocks *blocks,
                                tess_saddle_schur *schur)
{
    const bool laplacian = is_like_laplacian(blocks->null_rows, blocks->split->unknowns);
    const bool fills = blocks->terms > MOST_TERMS * host_csr_nnz(&blocks->b);
    double skewness = 0.0;
    tess_status status = TESS_SUCCESS;

    *schur = o->options.schur;
    if (*schur != TESS_SCHUR_AUTO) { return TESS_SUCCESS; }
    *schur = laplacian || fills ? TESS_SCHUR_LOCAL : TESS_SCHUR_SELFP;
    if (!laplacian || fills || blocks->c.row_ptr) { return TESS_SUCCESS; }
    status = saddle_find_skewness(ctx, &blocks->a, &skewness);
    if (skewness > SKEW) { *schur = TESS_SCHUR_LSC; }
    return status;
}

/* Rows up to which complete factors are cheap beside all else. */
enum { FEW_ROWS = 2000 };

static tess_precond_kind choose_kind(const saddle *o, tess_precond_kind wanted, int64_t rows, bool diagonal,
                                     bool laplacian)
{
    if (wanted != TESS_PRECOND_AUTO) { return wanted; }
    if (diagonal) { return TESS_PRECOND_JACOBI; }
    if (laplacian) { return TESS_PRECOND_AMG; }
    if (mumps_is_here() && rows <= FEW_ROWS) { return TESS_PRECOND_LU; }
    return o->options.factorization == TESS_SADDLE_DIAG ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0;
}

/* ---- set-up ---- */

static void drop_parts(saddle *o)
{
    o->ready = false;
    tess_precond_destroy(o->on_a);
    tess_precond_destroy(o->on_s);
    tess_matrix_destroy(o->a);
    tess_matrix_destroy(o->f);
    tess_matrix_destroy(o->b);
    tess_matrix_destroy(o->divided_f);
    tess_matrix_destroy(o->divided_b);
    tess_matrix_destroy(o->s);
    o->on_a = o->on_s = NULL;
    o->a = o->f = o->b = o->divided_f = o->divided_b = o->s = NULL;
}

static int64_t part_length(const saddle *o, int part)
{
    return part == 0 ? o->split.unknowns : o->split.constraints;
}

/* The split, and what has its lengths. */
static void drop_split(tess_precond *m)
{
    saddle *o = own_of(m);

    for (int part = 0; part < 2; part++) {
        const int64_t length = part_length(o, part);

        tess_device_release(m->ctx, o->r[part], length, sizeof(double));
        tess_device_release(m->ctx, o->z[part], length, sizeof(double));
        tess_device_release(m->ctx, o->t[part], length, sizeof(double));
        o->r[part] = o->z[part] = o->t[part] = NULL;
    }
    tess_device_release(m->ctx, o->w, o->split.unknowns, sizeof *o->w);
    tess_device_release(m->ctx, o->rows, m->n, sizeof *o->rows);
    o->w = NULL;
    o->rows = NULL;
    saddle_split_release(m->ctx, &o->split);
}

/* Takes the split. */
static tess_status open_split(tess_precond *m, saddle_split *split)
{
    saddle *o = own_of(m);
    tess_context *ctx = m->ctx;
    tess_status status = TESS_SUCCESS;

    o->split = *split;
    *split = (saddle_split){0};
    TESS_TRY(tess_device_allocate(ctx, m->n, sizeof *o->rows, (void **)&o->rows));
    TESS_TRY(ctx->backend->upload(ctx, o->rows, o->split.rows, (size_t)m->n * sizeof *o->rows));
    for (int part = 0; part < 2; part++) {
        const int64_t length = part_length(o, part);

        TESS_TRY(tess_device_allocate(ctx, length, sizeof(double), (void **)&o->r[part]));
        TESS_TRY(tess_device_allocate(ctx, length, sizeof(double), (void **)&o->z[part]));
        TESS_TRY(tess_device_allocate(ctx, length, sizeof(double), (void **)&o->t[part]));
    }
cleanup:
    return status;
}

/* A matrix of a block; or new values, where it is there and has as many entries: blocks of one split keep their
   pattern. */
static tess_status set_matrix(tess_context *ctx, const host_csr *block, tess_matrix **matrix)
{
    tess_status status = TESS_SUCCESS;

    if (*matrix && (*matrix)->nnz == host_csr_nnz(block)) {
        return tess_matrix_update_values(*matrix, block->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    tess_matrix_destroy(*matrix);
    *matrix = NULL;
    TESS_TRY(host_csr_to_matrix(ctx, block, matrix));
    if ((*matrix)->ops->prepare) { status = (*matrix)->ops->prepare(*matrix); }
cleanup:
    return status;
}

static tess_status explain_failure(tess_context *ctx, tess_status status, const char *what, const char *hint)
{
    tess_error before = ctx->error;

    if (status != TESS_SINGULAR) { return status; }
    return tess_fail(ctx, TESS_SINGULAR, hint, "saddle: %s: %s", what, before.message);
}

static tess_status set_precond(const saddle *o, const tess_matrix *a, tess_precond_kind kind, tess_precond **m)
{
    const bool complete = kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY;
    tess_precond_options options;

    if (*m && (*m)->matrix == a && (*m)->kind == kind) { return tess_precond_update(*m); }
    tess_precond_destroy(*m);
    *m = NULL;
    tess_precond_options_init(&options);
    options.kind = kind;
    if (kind == TESS_PRECOND_AMG) { options.amg = o->amg; }
    if (complete) { options.role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}; }
    return tess_precond_create(a, &options, m);
}

static double trace_sign(const double *diagonal, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += diagonal[i] / fabs(diagonal[i]);
    }
    return sum < 0.0 ? -1.0 : 1.0;
}

/* Of a row without a diagonal entry 0. */
static double diagonal_sum(const host_csr *a)
{
    double sum = 0.0;

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t e = a->row_ptr[i]; e < a->row_ptr[i + 1]; e++) {
            sum += a->col_ind[e] == i ? a->val[e] : 0.0;
        }
    }
    return sum;
}

/* A constraint that depends on others leaves S singular; one whose own number is 0 shows at once. */
static tess_status check_schur(tess_context *ctx, const saddle *o, const host_csr *s)
{
    for (int64_t i = 0; i < s->nrows; i++) {
        double d = 0.0;

        for (int64_t e = s->row_ptr[i]; e < s->row_ptr[i + 1]; e++) {
            d = s->col_ind[e] == i ? s->val[e] : d;
        }
        if (!saddle_breaks_down(d)) { continue; }
        return tess_fail(ctx, TESS_SINGULAR, "see whether this row couples to any unknown of the first block",
                         "saddle: the Schur complement breaks down in row %lld: its diagonal is %g",
                         tess_number(ctx, saddle_constraint(&o->split, i)), d);
    }
    return TESS_SUCCESS;
}

/* diag(A)^-1 F and B diag(A)^-1. */
static tess_status set_divided(tess_context *ctx, saddle *o, saddle_blocks *blocks)
{
    tess_status status = TESS_SUCCESS;

    saddle_divide_rows(&blocks->f, blocks->diagonal);
    saddle_divide_columns(&blocks->b, blocks->diagonal);
    TESS_TRY(set_matrix(ctx, &blocks->f, &o->divided_f));
    status = set_matrix(ctx, &blocks->b, &o->divided_b);
cleanup:
    return status;
}

static tess_status check_schur_choice(tess_context *ctx, const saddle *o, const saddle_blocks *blocks)
{
    const tess_matrix *user = o->options.schur_matrix;

    if (o->schur == TESS_SCHUR_LSC && blocks->c.row_ptr) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "use selfp or local",
                         "saddle: lsc is for a zero block C, but this one has entries");
    }
    if (user && user->nrows != o->split.constraints) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "give a row for each constraint, in their ascending order",
                         "saddle: schur_matrix has %s, but there are %s", tess_count(user->nrows, "row").text,
                         tess_count(o->split.constraints, "constraint").text);
    }
    return TESS_SUCCESS;
}

/* The caller's matrix for S. */
static tess_status take_user_schur(tess_context *ctx, const saddle *o, host_csr *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_from_matrix(o->options.schur_matrix, s));
    for (int64_t i = 0; i < s->nrows; i++) {
        for (int64_t e = s->row_ptr[i]; e < s->row_ptr[i + 1]; e++) {
            if (isfinite(s->val[e])) { continue; }
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "see how it was assembled",
                             "saddle: schur_matrix holds %g in row %lld, column %lld", s->val[e], tess_number(ctx, i),
                             tess_number(ctx, s->col_ind[e]));
        }
    }
cleanup:
    return status;
}

/* What solves with S. */
static tess_status set_schur(tess_precond *m, saddle_blocks *blocks)
{
    saddle *o = own_of(m);
    const bool user = o->schur == TESS_SCHUR_USER;
    const char *hint = user ? "give another schur_matrix, or another preconditioner for it"
                            : "constraints may depend on one another: remove those, or regularise C";
    host_csr s = {0};
    tess_precond_kind kind = TESS_PRECOND_NONE;
    const tess_matrix *matrix = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_schur_choice(m->ctx, o, blocks));
    TESS_TRY(o->schur == TESS_SCHUR_LOCAL || user ? saddle_schur_local(m->ctx, blocks, &s)
                                                  : saddle_schur_selfp(m->ctx, blocks, &s));
    TESS_TRY(check_schur(m->ctx, o, &s));
    o->sign_s = diagonal_sum(&s) < 0.0 ? -1.0 : 1.0;
    if (user) {
        host_csr_release(m->ctx, &s);
        TESS_TRY(take_user_schur(m->ctx, o, &s));
        o->user_sign = o->sign_s * (diagonal_sum(&s) < 0.0 ? -1.0 : 1.0);
    } else {
        TESS_TRY(set_matrix(m->ctx, &s, &o->s));
    }
    matrix = user ? o->options.schur_matrix : o->s;
    kind = choose_kind(o, o->options.schur_precond, s.nrows, host_csr_nnz(&s) == s.nrows,
                       is_like_laplacian(saddle_count_null_rows(&s), s.nrows));
    if (o->schur == TESS_SCHUR_LSC) { TESS_TRY(set_divided(m->ctx, o, blocks)); }
    status = explain_failure(m->ctx, set_precond(o, matrix, kind, &o->on_s),
                             user ? "nothing solves with schur_matrix" : "the Schur complement breaks down", hint);
cleanup:
    host_csr_release(m->ctx, &s);
    return status;
}

static tess_status set_blocks(tess_precond *m, saddle_blocks *blocks)
{
    static const char hint[] = "name all rows of the second block (--saddle-index), or another --saddle-a-precond";
    saddle *o = own_of(m);
    tess_precond_kind kind = TESS_PRECOND_NONE;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(choose_schur(m->ctx, o, blocks, &o->schur));
    if (o->schur == TESS_SCHUR_LSC && !o->w) {
        TESS_TRY(tess_device_allocate(m->ctx, o->split.unknowns, sizeof *o->w, (void **)&o->w));
    }
    o->sign_a = trace_sign(blocks->diagonal, o->split.unknowns);
    TESS_TRY(set_matrix(m->ctx, &blocks->a, &o->a));
    TESS_TRY(set_matrix(m->ctx, &blocks->f, &o->f));
    TESS_TRY(set_matrix(m->ctx, &blocks->b, &o->b));
    kind = choose_kind(o, o->options.a_precond, o->split.unknowns, blocks->diagonal_alone,
                       is_like_laplacian(blocks->null_rows, o->split.unknowns));
    TESS_TRY(
        explain_failure(m->ctx, set_precond(o, o->a, kind, &o->on_a), "nothing solves with A, the first block", hint));
    status = set_schur(m, blocks);
cleanup:
    return status;
}

/* For the values of the matrix: what has the same split and patterns is renewed, all else is made anew. */
static tess_status set_up(tess_precond *m)
{
    saddle *o = own_of(m);
    host_csr k = {0};
    saddle_split split = {0};
    saddle_blocks blocks = {0};
    tess_status status = TESS_SUCCESS;

    o->built += 1;
    TESS_TRY(host_csr_from_matrix(m->matrix, &k));
    TESS_TRY(saddle_split_find(m->ctx, &k, o->options.index, o->options.index_count, &split));
    if (!o->rows || !saddle_split_is_same(&split, &o->split)) {
        drop_parts(o);
        drop_split(m);
        TESS_TRY(open_split(m, &split));
    }
    o->ready = false;
    TESS_TRY(saddle_blocks_take(m->ctx, &k, &o->split, &blocks));
    TESS_TRY(set_blocks(m, &blocks));
    o->ready = true;
    if (!tess_precond_is_recordable(o->on_a) || !tess_precond_is_recordable(o->on_s)) {
        m->ops = &precond_saddle_on_host;
    }
    m->varies = o->on_a->varies || o->on_s->varies;
    if (!m->unsymmetric) { m->unsymmetric = o->on_a->unsymmetric ? o->on_a->unsymmetric : o->on_s->unsymmetric; }
    tess_log(m->ctx, TESS_LOG_INFO, "saddle: %s, %s; A by %s, S by %s and %s",
             tess_count(o->split.unknowns, "unknown").text, tess_count(o->split.constraints, "constraint").text,
             tess_precond_kind_name(o->on_a->kind), tess_saddle_schur_name(o->schur),
             tess_precond_kind_name(o->on_s->kind));
cleanup:
    if (status != TESS_SUCCESS) { drop_parts(o); }
    saddle_blocks_release(m->ctx, &blocks);
    saddle_split_release(m->ctx, &split);
    host_csr_release(m->ctx, &k);
    return status;
}

static void destroy(tess_precond *m)
{
    saddle *o = own_of(m);

    if (!o) { return; }
    drop_parts(o);
    drop_split(m);
    tess_matrix_release(o->options.schur_matrix);
    tess_host_release(m->ctx, o->options.index, o->options.index_count, sizeof *o->options.index);
    tess_host_release(m->ctx, o, 1, sizeof *o);
    m->own = NULL;
}

/* The caller's arrays: a copy of the index, a hold on the matrix. */
static tess_status copy_options(tess_precond *m, const tess_saddle_options *options)
{
    saddle *o = own_of(m);
    const int64_t count = options->index_count > 0 && options->index ? options->index_count : 0;
    int64_t *index = NULL;
    tess_status status = TESS_SUCCESS;

    o->options = *options;
    o->options.index = NULL;
    if (o->options.factorization == TESS_SADDLE_AUTO) { o->options.factorization = TESS_SADDLE_UPPER; }
    if (o->options.factorization != TESS_SADDLE_DIAG) {
        m->unsymmetric = "saddle other than by --schur-fact-type diag";
    }
    if (o->options.factorization == TESS_SADDLE_DIAG && o->amg.precision == TESS_AMG_PRECISION_AUTO) {
        o->amg.precision = TESS_AMG_PRECISION_FP64; /* rounded levels may not be definite */
    }
    if (options->schur_matrix) { tess_matrix_hold(options->schur_matrix); }
    if (count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(m->ctx, count, sizeof *index, (void **)&index));
    memcpy(index, options->index, (size_t)count * sizeof *index);
    o->options.index = index;
cleanup:
    return status;
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    saddle *o = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, 1, sizeof *o, &m->own));
    o = m->own;
    memset(o, 0, sizeof *o);
    o->amg = options->amg;
    TESS_TRY(copy_options(m, &options->saddle));
    status = set_up(m);
cleanup:
    return status;
}

/* ---- changes ---- */

/* change: of either inner preconditioner. */
static tess_status change_both(tess_precond *m, tess_status (*change)(tess_precond *inner, bool *changed),
                               bool *changed)
{
    saddle *o = own_of(m);
    bool also = false;
    tess_status status = TESS_SUCCESS;

    if (!o->ready) { return TESS_SUCCESS; }
    TESS_TRY(change(o->on_a, changed));
    TESS_TRY(change(o->on_s, &also));
    *changed = *changed || also;
cleanup:
    return status;
}

static tess_status mend(tess_precond *m, bool *mended)
{
    return change_both(m, tess_precond_mend, mended);
}

static tess_status widen(tess_precond *m, bool *widened)
{
    return change_both(m, tess_precond_widen, widened);
}

static bool can_widen(const tess_precond *m)
{
    const saddle *o = own_of(m);

    return o->ready && (tess_precond_can_widen(o->on_a) || tess_precond_can_widen(o->on_s));
}

/* ---- questions ---- */

/* Whatever the vectors' precision is: parts are in FP64, and multigrid has precisions of its own. */
static tess_role_precision default_role(tess_role_precision inner)
{
    (void)inner;
    return (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
}

static uint64_t revision(const tess_precond *m)
{
    const saddle *o = own_of(m);

    return o->built + tess_precond_revision(o->on_a) + tess_precond_revision(o->on_s);
}

enum { MATRICES = 6 };

static int64_t bytes(const tess_precond *m)
{
    const saddle *o = own_of(m);
    const tess_matrix *const matrices[MATRICES] = {o->a, o->f, o->b, o->divided_f, o->divided_b, o->s};
    int64_t sum = tess_precond_bytes(o->on_a) + tess_precond_bytes(o->on_s);

    for (int i = 0; i < MATRICES; i++) {
        sum += matrices[i] ? tess_matrix_bytes(matrices[i]) : 0;
    }
    if (o->w) { sum += o->split.unknowns * (int64_t)sizeof *o->w; }
    return sum + m->n * (int64_t)(3 * sizeof(double) + sizeof(int32_t));
}

static void report(const tess_precond *m, tess_saddle_parts *out)
{
    const saddle *o = own_of(m);

    out->unknowns = o->split.unknowns;
    out->constraints = o->split.constraints;
    out->index_given = o->options.index_count != 0;
    out->zero_diagonals = o->split.zero;
    out->small_diagonals = o->split.small;
    out->opposite_diagonals = o->split.opposite;
    out->factorization = o->options.factorization;
    out->schur = o->schur;
    out->a_precond = o->on_a;
    out->schur_precond = o->on_s;
}

#define SADDLE_OPERATIONS                                                                                            \
    .kind = TESS_PRECOND_SADDLE, .default_role = default_role, .check = check, .examine = examine, .create = create, \
    .renew = set_up, .apply = saddle_apply, .mend = mend, .widen = widen, .can_widen = can_widen,                    \
    .revision = revision, .bytes = bytes, .saddle = report, .destroy = destroy

const tess_precond_ops precond_saddle = {SADDLE_OPERATIONS};
/* With inner preconditioners of the host, such as complete factors. */
static const tess_precond_ops precond_saddle_on_host = {SADDLE_OPERATIONS, .on_host = true};
