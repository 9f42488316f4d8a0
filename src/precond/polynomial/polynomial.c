/* SPDX-License-Identifier: Apache-2.0 */
/* The GMRES polynomial preconditioner: set-up, renewal, application. */
#include "precond/polynomial/polynomial.h"

#include <string.h>

#include "base/precision_traits.h"
#include "format/choose.h"
#include "precond/precond.h"

static const tess_matrix *matrix_of(const tess_polynomial *p)
{
    return p->copy ? p->copy : p->matrix;
}

static size_t vector_bytes(const tess_polynomial *p)
{
    return tess_precision_bytes(p->precision);
}

/* ---- set-up ---- */

static void release_columns(tess_polynomial *p)
{
    for (int i = 0; i < 2; i++) {
        tess_device_release(p->ctx, p->wide[i], p->n * p->room, sizeof(double));
        p->wide[i] = NULL;
    }
    p->room = 0;
}

void polynomial_destroy(tess_polynomial *p)
{
    if (!p) { return; }
    release_columns(p);
    for (int i = 0; i < 2; i++) {
        tess_device_release(p->ctx, p->work[i], p->n, vector_bytes(p));
    }
    tess_device_release(p->ctx, p->total, p->n, vector_bytes(p));
    tess_device_release(p->ctx, p->product, p->n, vector_bytes(p));
    tess_host_release(p->ctx, p->roots.root, p->roots.capacity, sizeof *p->roots.root);
    tess_host_release(p->ctx, p->steps.step, p->steps.capacity, sizeof *p->steps.step);
    tess_matrix_destroy(p->copy);
    tess_host_release(p->ctx, p, 1, sizeof *p);
}

static tess_status reserve_roots(tess_polynomial *p, int count)
{
    if (count <= p->roots.capacity) { return TESS_SUCCESS; }
    tess_host_release(p->ctx, p->roots.root, p->roots.capacity, sizeof *p->roots.root);
    p->roots = (polynomial_roots){.capacity = count};
    return tess_host_allocate(p->ctx, count, sizeof *p->roots.root, (void **)&p->roots.root);
}

static tess_status reserve_steps(tess_polynomial *p, int count)
{
    if (count <= p->steps.capacity) { return TESS_SUCCESS; }
    tess_host_release(p->ctx, p->steps.step, p->steps.capacity, sizeof *p->steps.step);
    p->steps = (polynomial_steps){.capacity = count};
    return tess_host_allocate(p->ctx, count, sizeof *p->steps.step, (void **)&p->steps.step);
}

static tess_status find_polynomial(tess_polynomial *p, int most)
{
    polynomial_arnoldi arnoldi = {.ld = most + 1};
    const int64_t size = (int64_t)arnoldi.ld * most;
    tess_status status = TESS_SUCCESS;

    p->most = most;
    TESS_TRY(tess_host_allocate(p->ctx, size, sizeof *arnoldi.h, (void **)&arnoldi.h));
    TESS_TRY(polynomial_run_arnoldi(p, most, &arnoldi));
    TESS_TRY(reserve_roots(p, most));
    TESS_TRY(polynomial_find_roots(p->ctx, &arnoldi, p->precision, &p->roots));
    if (p->form == TESS_POLYNOMIAL_ROOTS) { TESS_TRY(polynomial_add_roots(p->ctx, p->precision, &p->roots)); }
    TESS_TRY(reserve_steps(p, polynomial_count_roots(&p->roots)));
    status = polynomial_plan_steps(p, &p->steps);
cleanup:
    tess_host_release(p->ctx, arnoldi.h, size, sizeof *arnoldi.h);
    return status;
}

tess_status polynomial_renew(tess_polynomial *p)
{
    const int most = p->n < p->degree + 1 ? (int)p->n : p->degree + 1;
    tess_status status = TESS_SUCCESS;

    p->revision += 1;
    p->roots.count = 0;
    if (p->copy) { TESS_TRY(tess_matrix_refresh(p->copy)); }
    if (most > 0) { TESS_TRY(find_polynomial(p, most)); }
cleanup:
    if (status != TESS_SUCCESS) { p->roots.count = 0; }
    return status;
}

tess_status polynomial_mend(tess_polynomial *p, bool *mended)
{
    int most = polynomial_count_roots(&p->roots) % 2 == 1 ? p->most / 2 : p->most - 1;
    tess_status status = TESS_SUCCESS;

    *mended = most > 0 && p->roots.count > 0;
    if (!*mended) { return TESS_SUCCESS; }
    p->revision += 1;
    TESS_TRY(find_polynomial(p, most));
    while (polynomial_count_roots(&p->roots) % 2 == 0) { /* one step has one root */
        most -= 1;
        TESS_TRY(find_polynomial(p, most));
    }
cleanup:
    if (status != TESS_SUCCESS) { p->roots.count = 0; }
    return status;
}

/* Columns of slices take half the bytes of CSR's, if rows have similar lengths. */
static tess_status make_copy(tess_polynomial *p, tess_precision storage)
{
    tess_storage_options options;
    tess_status status = TESS_SUCCESS;

    tess_storage_options_init(&options);
    options.precision = storage;
    if (p->precision == TESS_PRECISION_FP32) { options.arithmetic = TESS_ARITHMETIC_FP32; }
    TESS_TRY(tess_matrix_try_slices(p->matrix, &options, &p->copy));
    if (p->copy) { return TESS_SUCCESS; }
    options.format = TESS_FORMAT_CSR;
    options.arithmetic = TESS_ARITHMETIC_FP64;
    status = tess_matrix_convert(p->matrix, &options, &p->copy);
cleanup:
    return status;
}

/* Prepares everything that products need, so that products allocate nothing. */
static tess_status prepare(tess_polynomial *p, tess_precision storage)
{
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < 2; i++) {
        TESS_TRY(tess_device_allocate(p->ctx, p->n, vector_bytes(p), &p->work[i]));
    }
    TESS_TRY(tess_device_allocate(p->ctx, p->n, vector_bytes(p), &p->total));
    if (!p->matrix->ops) { return tess_device_allocate(p->ctx, p->n, vector_bytes(p), &p->product); }
    TESS_TRY(p->matrix->ops->prepare(p->matrix));
    if (storage == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    TESS_TRY(make_copy(p, storage));
    status = p->copy->ops->prepare(p->copy);
cleanup:
    return status;
}

tess_status polynomial_create(const tess_matrix *a, const tess_precond_options *options, tess_polynomial **out)
{
    const tess_role_precision role = options->role.given ? options->role : (tess_role_precision){0};
    tess_polynomial *p = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *p, (void **)&p));
    memset(p, 0, sizeof *p);
    p->ctx = a->ctx;
    p->n = a->nrows;
    p->matrix = a;
    p->degree = options->polynomial.degree;
    p->form = options->polynomial.form;
    p->seed = options->polynomial.seed;
    p->precision = role.arithmetic == TESS_ARITHMETIC_FP32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
    TESS_TRY(prepare(p, role.storage));
    TESS_TRY(polynomial_renew(p));
cleanup:
    if (status == TESS_SUCCESS || status == TESS_SINGULAR || status == TESS_OUT_OF_RANGE) {
        *out = p;
    } else {
        polynomial_destroy(p);
    }
    return status;
}

int64_t polynomial_bytes(const tess_polynomial *p)
{
    int64_t copied = 0;

    if (p->copy) {
        copied = p->copy->format == TESS_FORMAT_CSR ? p->copy->nnz * (int64_t)tess_precision_bytes(p->copy->precision)
                                                    : tess_matrix_bytes(p->copy);
    }
    copied += 2 * p->room * p->n * (int64_t)sizeof(double);
    return copied + (p->product ? 4 : 3) * p->n * (int64_t)vector_bytes(p);
}

/* ---- products ---- */

/* Fills in the addresses of x and y. */
static void set_vectors(tess_spmv_args *args, tess_precision precision, const void *x, void *y)
{
    args->vectors = precision;
    if (precision == TESS_PRECISION_FP32) {
        args->x_fp32 = x;
        args->y_fp32 = y;
    } else {
        args->x = x;
        args->y = y;
    }
}

tess_status polynomial_multiply(const tess_polynomial *p, const void *x, void *y)
{
    const tess_matrix *matrix = matrix_of(p);
    tess_spmv_args args = {.operation = TESS_OP_NONE, .alpha = 1.0};

    if (!matrix->ops) { return tess_matrix_apply_shell(matrix, TESS_OP_NONE, x, y); }
    set_vectors(&args, p->precision, x, y);
    return matrix->ops->spmv(matrix, &args);
}

/* The vectors that a step reads and writes; y may be NULL in the last. */
typedef struct step_vectors {
    const void *x, *base;
    void *y, *total;
    double *wide_total;
    tess_loop_state *state;
} step_vectors;

static tess_status run_fused(const tess_polynomial *p, const step_vectors *v, tess_fused op)
{
    op.n = p->n;
    op.state = v->state;
    return p->ctx->backend->fused(p->ctx, &op);
}

/* A step in separate passes, for an operator that has only a product. FP64. */
static tess_status run_shell_step(const tess_polynomial *p, const polynomial_step *s, const step_vectors *v)
{
    void *y = v->y ? v->y : p->product;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(polynomial_multiply(p, v->x, p->product));
    TESS_TRY(run_fused(p, v,
                       (tess_fused){.op = s->beta == 0.0 ? TESS_FUSED_SCALE : TESS_FUSED_AXPBY,
                                    .x = {.data = p->product},
                                    .y = {.data = v->base},
                                    .result = y,
                                    .a = s->alpha,
                                    .b = s->beta}));
    status = run_fused(p, v,
                       (tess_fused){.op = TESS_FUSED_AXPBY,
                                    .x = {.data = y},
                                    .y = {.data = v->total},
                                    .result = v->total,
                                    .a = s->gamma,
                                    .b = 1.0});
cleanup:
    return status;
}

static tess_status run_scalar_update(const tess_polynomial *p, const polynomial_step *s, const step_vectors *v)
{
    const tess_matrix *matrix = matrix_of(p);
    tess_spmv_args args = {.operation = TESS_OP_NONE,
                           .alpha = s->alpha,
                           .beta = s->beta,
                           .reduction = {.state = v->state},
                           .update = {.kind = TESS_UPDATE_POLYNOMIAL,
                                      .base = v->base,
                                      .total = v->total,
                                      .wide_total = v->wide_total,
                                      .gamma = s->gamma}};

    if (!matrix->ops) { return run_shell_step(p, s, v); }
    set_vectors(&args, p->precision, v->x, v->y);
    args.columns = p->columns;
    return p->columns > 1 ? matrix->ops->multiply_columns(matrix, &args) : matrix->ops->spmv(matrix, &args);
}

/* ---- application ---- */

/* All products; v->x, v->total and v->state are set. The result of the last one goes to `wide` if that is not NULL. */
static tess_status run_steps(const tess_polynomial *p, double *wide, step_vectors v)
{
    const void *before = v.x;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < p->steps.count; k++) {
        const polynomial_step *s = &p->steps.step[k];
        const bool last = k + 1 == p->steps.count;
        void *y = p->work[v.x == p->work[0] ? 1 : 0];

        v.base = s->closes_pair ? before : v.x;
        v.y = last && p->columns < 2 ? NULL : y;
        v.wide_total = last ? wide : NULL;
        TESS_TRY(run_scalar_update(p, s, &v));
        before = v.x;
        v.x = y;
    }
cleanup:
    return status;
}

/* A polynomial whose vectors have another precision than the caller's: casts before the products, and in the last
   product or, to lower precision, after it. */
static tess_status apply_converted(const tess_polynomial *p, tess_precision vectors, const void *r, void *z,
                                   tess_loop_state *state)
{
    const bool widens = vectors == TESS_PRECISION_FP64 && p->steps.count > 0;
    const tess_operand own = {p->work[0], p->precision}, total = {p->total, p->precision};
    const step_vectors v = {.x = p->work[0], .total = p->total, .state = state};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(run_fused(
        p, &v, (tess_fused){.op = TESS_FUSED_SCALE, .x = {r, vectors}, .y = own, .result = p->work[0], .a = 1.0}));
    TESS_TRY(run_fused(
        p, &v, (tess_fused){.op = TESS_FUSED_SCALE, .x = own, .y = total, .result = p->total, .a = p->steps.first}));
    TESS_TRY(run_steps(p, widens ? z : NULL, v));
    if (widens) { return TESS_SUCCESS; }
    status =
        run_fused(p, &v, (tess_fused){.op = TESS_FUSED_SCALE, .x = total, .y = {z, vectors}, .result = z, .a = 1.0});
cleanup:
    return status;
}

tess_status polynomial_apply(const tess_polynomial *p, tess_precision vectors, const void *r, void *z,
                             tess_loop_state *state)
{
    const step_vectors v = {.x = r, .total = z, .state = state};
    tess_status status = TESS_SUCCESS;

    if (p->n == 0) { return TESS_SUCCESS; }
    if (p->roots.count == 0) {
        return tess_fail(p->ctx, TESS_SINGULAR, "renew the preconditioner with values that have a polynomial",
                         "the preconditioner cannot be applied, because its polynomial was not found");
    }
    if (vectors != p->precision) { return apply_converted(p, vectors, r, z, state); }
    TESS_TRY(run_fused(
        p, &v,
        (tess_fused){.op = TESS_FUSED_SCALE, .x = {r, vectors}, .y = {z, vectors}, .result = z, .a = p->steps.first}));
    status = run_steps(p, NULL, v);
cleanup:
    return status;
}

/* ---- several columns ---- */

bool polynomial_takes_columns(const tess_polynomial *p)
{
    const tess_matrix *a = matrix_of(p);

    return p->precision == TESS_PRECISION_FP64 && p->roots.count > 0 && a->ops && a->ops->takes_columns &&
           a->ops->takes_columns(a, true);
}

tess_status polynomial_prepare_columns(tess_polynomial *p, int columns)
{
    tess_status status = TESS_SUCCESS;

    if (columns <= p->room) { return TESS_SUCCESS; }
    release_columns(p);
    p->room = columns;
    for (int i = 0; i < 2; i++) {
        TESS_TRY(tess_device_allocate(p->ctx, p->n * columns, sizeof(double), (void **)&p->wide[i]));
    }
cleanup:
    if (status != TESS_SUCCESS) { release_columns(p); }
    return status;
}

tess_status polynomial_apply_columns(tess_polynomial *p, int columns, const double *r, double *z)
{
    tess_polynomial all;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(polynomial_prepare_columns(p, columns));
    all = *p;
    all.n = p->n * columns;
    all.columns = columns;
    all.work[0] = p->wide[0];
    all.work[1] = p->wide[1];
    status = polynomial_apply(&all, TESS_PRECISION_FP64, r, z, NULL);
cleanup:
    return status;
}

/* ---- the preconditioner ---- */

static tess_status check_polynomial(const tess_matrix *a, const tess_precond_options *o)
{
    const tess_role_precision role = o->role.given ? o->role : (tess_role_precision){0};
    const bool fp64 = role.storage == TESS_PRECISION_FP64 && role.arithmetic == TESS_ARITHMETIC_FP64;

    if (o->polynomial.degree < 1 || o->polynomial.degree > TESS_MAX_POLYNOMIAL_DEGREE) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use a degree from 1 to 200",
                         "a polynomial preconditioner cannot have the degree %d", o->polynomial.degree);
    }
    if (strcmp(tess_polynomial_form_name(o->polynomial.form), "?") == 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use roots or powers", "unknown form %d of a polynomial",
                         (int)o->polynomial.form);
    }
    if (tess_precision_bytes(role.storage) == 0 ||
        (role.arithmetic != TESS_ARITHMETIC_FP64 && role.arithmetic != TESS_ARITHMETIC_FP32)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use values of tess_precision and tess_arithmetic",
                         "the preconditioner has the unknown precision %d or arithmetic %d", (int)role.storage,
                         (int)role.arithmetic);
    }
    if (!a->ops && !fp64) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --precond-precision fp64/fp64",
                         "a polynomial of a shell matrix cannot be below fp64");
    }
    return TESS_SUCCESS;
}

static int *degree_of(tess_precond_options *options, int *most)
{
    *most = TESS_MAX_POLYNOMIAL_DEGREE;
    return &options->polynomial.degree;
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    return polynomial_create(m->matrix, options, (tess_polynomial **)&m->own);
}

static tess_status renew(tess_precond *m)
{
    return polynomial_renew(m->own);
}

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    return polynomial_apply(m->own, vectors, r, z, reduction->state);
}

static bool takes_columns(const tess_precond *m)
{
    return m->own && polynomial_takes_columns(m->own);
}

static tess_status prepare_columns(const tess_precond *m, int columns)
{
    return polynomial_prepare_columns(m->own, columns);
}

static tess_status apply_columns(const tess_precond *m, int columns, const double *r, double *z)
{
    return polynomial_apply_columns(m->own, columns, r, z);
}

static tess_status mend(tess_precond *m, bool *mended)
{
    tess_polynomial *p = m->own;
    const tess_status status = polynomial_mend(p, mended);

    if (status == TESS_SUCCESS && *mended) {
        tess_log(m->ctx, TESS_LOG_INFO, "the polynomial is not positive on the spectrum: the degree is now %d",
                 p->most - 1);
    }
    return status;
}

static uint64_t revision(const tess_precond *m)
{
    return ((const tess_polynomial *)m->own)->revision;
}

static int64_t bytes(const tess_precond *m)
{
    return polynomial_bytes(m->own);
}

static void destroy(tess_precond *m)
{
    polynomial_destroy(m->own);
}

const tess_precond_ops precond_polynomial = {.kind = TESS_PRECOND_POLYNOMIAL,
                                             .number = degree_of,
                                             .check = check_polynomial,
                                             .create = create,
                                             .renew = renew,
                                             .apply = apply,
                                             .takes_columns = takes_columns,
                                             .prepare_columns = prepare_columns,
                                             .apply_columns = apply_columns,
                                             .mend = mend,
                                             .revision = revision,
                                             .bytes = bytes,
                                             .destroy = destroy};
