/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approximate inverses as preconditioners. fsai: M^-1 = G^T G with a lower triangle G that minimises ||I - G L||_F over
 * its pattern, where A = L L^T (Kolotilin, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993)). isai: M^-1 = M with M A = I
 * on the pattern of M (Anzt, Huckle, Braeckle, Dongarra, Parallel Comput. 71 (2018)). Rows do not need each other, and
 * an application is one product, or two.
 */
#include "precond/inverse/inverse.h"

#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "base/deadline.h"
#include "base/precision_traits.h"
#include "base/stages.h"
#include "format/choose.h"
#include "format/csr/csr.h"
#include "matrix/assembled.h"
#include "precond/precond.h"

_Static_assert(INVERSE_MOST_ENTRIES == TESS_MAX_INVERSE_ROW, "rows have room for what options allow");

typedef struct inverse {
    inverse_choice entries;
    bool symmetric, negative;
    bool usable;
    bool patterned;         /* rows has its pattern */
    tess_precision storage; /* wanted */
    inverse_rows rows;      /* the pattern */
    inverse_outcome outcome;
    tess_matrix *factor[2]; /* the rows, and of fsai their transpose, as they are multiplied */
    double alpha;           /* of each product */
    double *work[2];        /* n each: G r, and z of vectors in FP32 */
    double *wide;           /* G r of `room` columns */
    int64_t n;
    int room;
    uint64_t revision;
} inverse;

static inverse *own_of(const tess_precond *m)
{
    return m->own;
}

static const char *name_of(const tess_precond *m)
{
    return tess_precond_kind_name(m->kind);
}

/* ---- options ---- */

static int *power_of(tess_precond_options *options, int *most)
{
    *most = TESS_MAX_INVERSE_POWER;
    return &options->inverse.power;
}

/* fsai:adaptive */
static bool parse_adaptive(const char *text, tess_precond_options *options)
{
    const bool adaptive = options->kind == TESS_PRECOND_FSAI && strcmp(text, "adaptive") == 0;

    if (adaptive) { options->inverse.power = TESS_INVERSE_ADAPTIVE; }
    return adaptive;
}

inverse_choice inverse_choice_of(const tess_inverse_options *o)
{
    return (inverse_choice){.adaptive = o->power == TESS_INVERSE_ADAPTIVE,
                            .power = o->power,
                            .row = o->row,
                            .threshold = o->threshold,
                            .filter = o->filter,
                            .steps = o->steps,
                            .step_size = o->step_size,
                            .tolerance = o->tolerance};
}

static tess_status check_growth(tess_context *ctx, const tess_inverse_options *o)
{
    const int most = TESS_MAX_INVERSE_ROW - 1;

    if (o->steps < 1 || o->steps > most || o->step_size < 1 || o->step_size > most) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use 1 to 63",
                         "an adaptive pattern cannot grow in %s of %d entries", tess_count(o->steps, "step").text,
                         o->step_size);
    }
    if (o->tolerance >= 0.0 && o->tolerance < 1.0) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give a number from 0 to below 1",
                     "an adaptive pattern cannot have the tolerance %g", o->tolerance);
}

static tess_status check_numbers(tess_context *ctx, const tess_precond_options *options)
{
    const tess_inverse_options *o = &options->inverse;
    const bool adaptive = options->kind == TESS_PRECOND_FSAI && o->power == TESS_INVERSE_ADAPTIVE;

    if (!adaptive && (o->power < 1 || o->power > TESS_MAX_INVERSE_POWER)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use 1 to 8",
                         "the pattern of an approximate inverse cannot be the power %d of the matrix's", o->power);
    }
    if (o->row < 1 || o->row > TESS_MAX_INVERSE_ROW) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use 1 to 64", "a row of an approximate inverse cannot have %s",
                         tess_count(o->row, "entry|entries").text);
    }
    if (!(o->threshold >= 0.0 && o->threshold < 1.0 && o->filter >= 0.0 && o->filter < 1.0)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give numbers from 0 to below 1",
                         "an approximate inverse cannot have the threshold %g and the filter %g", o->threshold,
                         o->filter);
    }
    return adaptive ? check_growth(ctx, o) : TESS_SUCCESS;
}

static tess_status check(const tess_matrix *a, const tess_precond_options *o)
{
    const tess_role_precision *role = &o->role;

    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi with a diagonal function, or a shell preconditioner",
                         "an approximate inverse needs the entries of the matrix, but a shell matrix has none");
    }
    if (role->given && (role->arithmetic != TESS_ARITHMETIC_FP64 || tess_precision_bytes(role->storage) < 2)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use fp64, fp32/fp64, bf16/fp64 or fp16/fp64",
                         "an approximate inverse cannot be stored in %s with %s arithmetic",
                         tess_precision_name(role->storage), tess_arithmetic_name(role->arithmetic));
    }
    return check_numbers(a->ctx, o);
}

static tess_role_precision default_role(tess_role_precision inner)
{
    const bool fp64 = inner.storage == TESS_PRECISION_FP64;

    return (tess_role_precision){1, fp64 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
}

/* ---- storage ---- */

/* Whether a precision holds the entries times 2^*exponent: none overflows, and those that keep the rows independent
   are normal numbers. */
static bool holds(tess_precision precision, const inverse_outcome *o, int *exponent)
{
    const precision_traits traits = precision_traits_of(precision);
    int top = 0, bottom = 0;

    *exponent = 0;
    if (precision == TESS_PRECISION_FP64 || o->largest == 0.0) { return true; }
    (void)frexp(o->largest, &top); /* below 2^top */
    (void)frexp(o->smallest, &bottom);
    if (top > traits.emax || bottom - 1 < traits.emin) { *exponent = traits.emax - top; }
    return o->smallest > 0.0 && bottom - 1 + *exponent >= traits.emin;
}

/* The matrix with values in a lower precision. It takes the index arrays. */
static tess_status narrow(tess_matrix *assembled, tess_precision precision, tess_matrix **out)
{
    tess_context *ctx = assembled->ctx;
    csr_storage *given = assembled->storage;
    csr_view view = given->view;
    void *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, view.nnz, tess_precision_bytes(precision), &val));
    TESS_TRY(ctx->backend->convert(ctx, view.nnz, TESS_PRECISION_FP64, view.val, precision, val));
    given->owns_index = false;
    view.val = val;
    view.precision = precision;
    val = NULL;
    TESS_TRY(tess_matrix_from_view(ctx, &view, true, out));
    (*out)->precision = precision;
cleanup:
    tess_device_release(ctx, val, view.nnz, tess_precision_bytes(precision));
    return status;
}

/* The form in which products read it: on a GPU by diagonals or in slices where these pay, else as CSR. Takes the
   assembled matrix, also on failure. */
static tess_status store(tess_matrix *assembled, tess_precision precision, tess_matrix **out)
{
    tess_storage_options options;
    tess_status status = TESS_SUCCESS;

    tess_storage_options_init(&options);
    options.precision = precision;
    *out = NULL;
    if (assembled->ctx->device == TESS_DEVICE_GPU && assembled->nnz > 0) {
        TESS_TRY(tess_matrix_try_padded(assembled, &options, true, out));
    }
    if (*out) { /* products need no original, and new values make new matrices */
        tess_matrix_release((*out)->original);
        (*out)->original = NULL;
    } else if (precision != TESS_PRECISION_FP64) {
        TESS_TRY(narrow(assembled, precision, out));
    } else {
        *out = assembled;
        assembled = NULL;
    }
    status = (*out)->ops->prepare(*out);
cleanup:
    tess_matrix_destroy(assembled);
    return status;
}

static void release_factors(inverse *v)
{
    for (int k = 0; k < 2; k++) {
        tess_matrix_destroy(v->factor[k]);
        v->factor[k] = NULL;
    }
}

static tess_status store_rows(const tess_precond *m)
{
    inverse *v = own_of(m);
    tess_precision precision = v->storage;
    tess_matrix *assembled[2] = {NULL, NULL}, *given = NULL;
    int exponent = 0;
    tess_status status = TESS_SUCCESS;

    while (!holds(precision, &v->outcome, &exponent)) {
        precision = next_wider_precision(precision);
    }
    if (precision != v->storage) {
        tess_log(m->ctx, TESS_LOG_INFO, "%s: entries from %.3g to %.3g do not fit %s; they are stored in %s",
                 name_of(m), v->outcome.smallest, v->outcome.largest, tess_precision_name(v->storage),
                 tess_precision_name(precision));
    }
    v->alpha = ldexp(1.0, -exponent);
    TESS_TRY(inverse_ops_of(m->ctx)->to_matrices(m->ctx, &v->rows, ldexp(1.0, exponent), &assembled[0],
                                                 v->symmetric ? &assembled[1] : NULL));
    release_factors(v);
    for (int k = 0; k < 2 && assembled[k]; k++) {
        given = assembled[k];
        assembled[k] = NULL;
        TESS_TRY(store(given, precision, &v->factor[k]));
    }
    status = tess_stage_end(m->ctx, "storage of the approximate inverse");
cleanup:
    tess_matrix_destroy(assembled[0]);
    tess_matrix_destroy(assembled[1]);
    return status;
}

/* ---- set-up ---- */

/* A, or -A, has a positive diagonal: else fsai has nothing to factor. `diagonal` is on the host. */
static tess_status judge_diagonal(const tess_precond *m, const double *diagonal)
{
    inverse *v = own_of(m);
    int64_t bad = -1;

    v->negative = v->n > 0 && diagonal[0] < 0.0;
    for (int64_t i = 0; i < v->n && bad < 0; i++) {
        const double entry = v->negative ? -diagonal[i] : diagonal[i];

        if (!(entry > 0.0 && isfinite(entry))) { bad = i; }
    }
    if (bad < 0) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_SINGULAR, "use isai, or another preconditioner: fsai is for definite matrices",
                     "fsai: the diagonal entry of row %lld is %g, and those of a definite matrix have one sign",
                     tess_number(m->ctx, bad), diagonal[bad]);
}

static tess_status read_diagonal(const tess_precond *m, double *on_device)
{
    inverse *v = own_of(m);
    double *diagonal = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_raw_diagonal(m->matrix, on_device));
    if (!v->symmetric) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(m->ctx, v->n, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(m->ctx->backend->download(m->ctx, diagonal, on_device, (size_t)v->n * sizeof *diagonal));
    status = judge_diagonal(m, diagonal);
cleanup:
    tess_host_release(m->ctx, diagonal, v->n, sizeof *diagonal);
    return status;
}

static tess_status judge(const tess_precond *m)
{
    const inverse *v = own_of(m);

    if (v->outcome.bad_row >= 0) {
        return tess_fail(m->ctx, TESS_SINGULAR,
                         v->symmetric ? "remove NaN and Inf from the matrix, or choose another preconditioner"
                                      : "remove NaN and Inf from the matrix, or try --scale max-product",
                         "%s: the rows and columns that row %lld of the inverse needs are singular or not finite",
                         name_of(m), tess_number(m->ctx, v->outcome.bad_row));
    }
    if (v->outcome.mended > 0) {
        tess_log(m->ctx, TESS_LOG_INFO,
                 v->symmetric ? "%s: the diagonals of %s are shifted, by at most %g times themselves"
                              : "%s: %s have the diagonal alone, since their systems are singular",
                 name_of(m), tess_count(v->outcome.mended, "small system").text, v->outcome.shift);
    }
    return TESS_SUCCESS;
}

static tess_status compute(const tess_precond *m, const inverse_request *q)
{
    inverse *v = own_of(m);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(m->ctx, name_of(m)));
    TESS_TRY(inverse_ops_of(m->ctx)->compute(q, &v->rows, &v->outcome));
    TESS_TRY(judge(m));
    status = tess_stage_end(m->ctx, "rows of the approximate inverse");
cleanup:
    return status;
}

/* Once: later values keep it. */
static tess_status find_pattern(const tess_precond *m, const inverse_request *q)
{
    inverse *v = own_of(m);
    const inverse_ops *ops = inverse_ops_of(m->ctx);
    tess_status status = TESS_SUCCESS;

    ops->release(m->ctx, &v->rows);
    TESS_TRY(inverse_find_pattern(q, &v->rows));
    TESS_TRY(tess_stage_end(m->ctx, "pattern of the approximate inverse"));
    if (v->entries.filter > 0.0) {
        TESS_TRY(compute(m, q));
        TESS_TRY(ops->drop_small(q, &v->rows));
    }
    v->patterned = true;
cleanup:
    return status;
}

static tess_status renew(tess_precond *m)
{
    inverse *v = own_of(m);
    double *diagonal = NULL;
    inverse_request q = {.a = m->matrix, .entries = v->entries, .symmetric = v->symmetric};
    tess_status status = TESS_SUCCESS;

    v->usable = false;
    v->revision += 1;
    TESS_TRY(tess_device_allocate(m->ctx, v->n, sizeof *diagonal, (void **)&diagonal));
    TESS_TRY(read_diagonal(m, diagonal));
    q.diagonal = diagonal;
    q.negative = v->negative;
    if (!v->patterned) { TESS_TRY(find_pattern(m, &q)); }
    TESS_TRY(compute(m, &q));
    TESS_TRY(store_rows(m));
    v->usable = true;
cleanup:
    tess_device_release(m->ctx, diagonal, v->n, sizeof *diagonal);
    return status;
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    inverse *v = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, 1, sizeof *v, (void **)&v));
    memset(v, 0, sizeof *v);
    m->own = v;
    v->entries = inverse_choice_of(&options->inverse);
    v->symmetric = m->kind == TESS_PRECOND_FSAI;
    v->storage = options->role.given ? options->role.storage : TESS_PRECISION_FP64;
    v->n = m->n;
    for (int k = 0; k < 2; k++) {
        TESS_TRY(tess_device_allocate(m->ctx, v->n, sizeof *v->work[k], (void **)&v->work[k]));
    }
    status = renew(m);
cleanup:
    return status;
}

static bool can_widen(const tess_precond *m)
{
    return own_of(m)->storage != TESS_PRECISION_FP64;
}

static tess_status widen(tess_precond *m, bool *widened)
{
    inverse *v = own_of(m);

    *widened = can_widen(m);
    if (!*widened) { return TESS_SUCCESS; }
    v->storage = next_wider_precision(v->storage);
    tess_log(m->ctx, TESS_LOG_INFO, "%s: from now on in %s", name_of(m), tess_precision_name(v->storage));
    return renew(m);
}

static void settle(tess_precond *m)
{
    inverse *v = own_of(m);

    inverse_ops_of(m->ctx)->release(m->ctx, &v->rows);
    v->patterned = false;
}

static void destroy(tess_precond *m)
{
    inverse *v = own_of(m);

    if (!v) { return; }
    release_factors(v);
    inverse_ops_of(m->ctx)->release(m->ctx, &v->rows);
    for (int k = 0; k < 2; k++) {
        tess_device_release(m->ctx, v->work[k], v->n, sizeof *v->work[k]);
    }
    tess_device_release(m->ctx, v->wide, v->n * v->room, sizeof *v->wide);
    tess_host_release(m->ctx, v, 1, sizeof *v);
    m->own = NULL;
}

/* ---- application ---- */

static tess_status multiply(const tess_matrix *a, double alpha, int columns, const double *x, double *y,
                            const tess_reduction *reduction)
{
    const tess_spmv_args args = {
        .operation = TESS_OP_NONE, .x = x, .y = y, .alpha = alpha, .columns = columns, .reduction = *reduction};

    return columns > 1 ? a->ops->multiply_columns(a, &args) : a->ops->spmv(a, &args);
}

/* z := G^T (G r), or M r. */
static tess_status multiply_all(const inverse *v, int columns, const double *r, double *between, double *z,
                                const tess_reduction *reduction)
{
    const tess_reduction none = {.state = reduction->state};
    const double sign = v->negative ? -1.0 : 1.0;
    tess_status status = TESS_SUCCESS;

    if (!v->symmetric) { return multiply(v->factor[0], v->alpha, columns, r, z, reduction); }
    TESS_TRY(multiply(v->factor[0], v->alpha, columns, r, between, &none));
    status = multiply(v->factor[1], sign * v->alpha, columns, between, z, reduction);
cleanup:
    return status;
}

static tess_status require_usable(const tess_precond *m)
{
    if (own_of(m)->usable) { return TESS_SUCCESS; }
    return tess_fail(m->ctx, TESS_SINGULAR, "renew the preconditioner with values that have an approximate inverse",
                     "the preconditioner cannot be applied, because its set-up failed");
}

static tess_status convert(const tess_precond *m, tess_operand from, tess_precision to, void *out,
                           tess_loop_state *state)
{
    const tess_fused op = {
        .op = TESS_FUSED_SCALE, .n = m->n, .x = from, .y = {out, to}, .result = out, .a = 1.0, .state = state};

    return m->ctx->backend->fused(m->ctx, &op);
}

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const inverse *v = own_of(m);
    double *wide = v->work[1];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_usable(m));
    if (v->n == 0) { return TESS_SUCCESS; }
    if (vectors == TESS_PRECISION_FP64) { return multiply_all(v, 1, r, v->work[0], z, reduction); }
    TESS_TRY(convert(m, (tess_operand){r, vectors}, TESS_PRECISION_FP64, v->symmetric ? wide : v->work[0],
                     reduction->state));
    TESS_TRY(multiply_all(v, 1, v->symmetric ? wide : v->work[0], v->work[0], wide,
                          &(tess_reduction){.state = reduction->state}));
    status = convert(m, (tess_operand){wide, TESS_PRECISION_FP64}, vectors, z, reduction->state);
cleanup:
    return status;
}

/* ---- several columns ---- */

static bool takes_columns(const tess_precond *m)
{
    const inverse *v = own_of(m);
    bool takes = v && v->usable;

    for (int k = 0; takes && k < 2 && v->factor[k]; k++) {
        const tess_matrix *a = v->factor[k];

        takes = a->ops->takes_columns && a->ops->takes_columns(a, false);
    }
    return takes;
}

static tess_status prepare_columns(const tess_precond *m, int columns)
{
    inverse *v = own_of(m);
    double *wide = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_usable(m));
    if (columns <= v->room || !v->symmetric) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(m->ctx, v->n * columns, sizeof *wide, (void **)&wide));
    tess_device_release(m->ctx, v->wide, v->n * v->room, sizeof *wide);
    v->wide = wide;
    v->room = columns;
cleanup:
    return status;
}

static tess_status apply_columns(const tess_precond *m, int columns, const double *r, double *z)
{
    const inverse *v = own_of(m);
    const tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(prepare_columns(m, columns));
    if (v->n > 0) { status = multiply_all(v, columns, r, v->wide, z, &none); }
cleanup:
    return status;
}

/* ---- questions ---- */

static uint64_t revision(const tess_precond *m)
{
    return own_of(m)->revision;
}

static int64_t bytes(const tess_precond *m)
{
    const inverse *v = own_of(m);
    int64_t sum = inverse_ops_of(m->ctx)->bytes(&v->rows);

    for (int k = 0; k < 2 && v->factor[k]; k++) {
        sum += tess_matrix_bytes(v->factor[k]);
    }
    return sum + (2 + (int64_t)v->room) * v->n * (int64_t)sizeof(double);
}

/* A wider precision may hold them where the role's does not. */
static tess_precision stored(const tess_precond *m)
{
    const inverse *v = own_of(m);

    return v->factor[0] ? v->factor[0]->precision : v->storage;
}

static void describe(const tess_precond *m, tess_precond_factors *out)
{
    const inverse *v = own_of(m);
    const int64_t entries = v->patterned ? inverse_ops_of(m->ctx)->entries(&v->rows) : 0;

    *out = (tess_precond_factors){.shift = v->usable ? v->outcome.shift : 0.0,
                                  .nonzeros = entries,
                                  .entries = v->symmetric ? 2 * entries : entries,
                                  .factorization = TESS_FACTORIZATION_DEVICE};
}

#define INVERSE(KIND)                                                                                              \
    {                                                                                                              \
        .kind = (KIND), .number = power_of, .parse = parse_adaptive, .check = check, .default_role = default_role, \
        .create = create, .renew = renew, .apply = apply, .takes_columns = takes_columns,                          \
        .prepare_columns = prepare_columns, .apply_columns = apply_columns, .reduces = true, .widen = widen,       \
        .can_widen = can_widen, .settle = settle, .revision = revision, .bytes = bytes, .factors = describe,       \
        .stored = stored, .destroy = destroy                                                                       \
    }
const tess_precond_ops precond_fsai = INVERSE(TESS_PRECOND_FSAI);
const tess_precond_ops precond_isai = INVERSE(TESS_PRECOND_ISAI);
#undef INVERSE
