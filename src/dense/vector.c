/* SPDX-License-Identifier: Apache-2.0 */
/* Typed vectors on the context's device. */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "base/options.h"
#include "dense/vector.h"

static size_t value_bytes(const tess_vector *v)
{
    return tess_precision_bytes(v->precision);
}

static tess_status check_type(tess_context *ctx, int64_t n, tess_precision precision)
{
    if (n < 0) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "a length is 0 or more, and its bytes must fit 64 bits",
                         "a vector cannot have %s", tess_count(n, "value").text);
    }
    if (tess_precision_bytes(precision) == 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_precision", "unknown storage precision %d",
                         (int)precision);
    }
    return TESS_SUCCESS;
}

static tess_status make_vector(tess_context *ctx, int64_t n, tess_precision precision, tess_vector **out)
{
    tess_status status = check_type(ctx, n, precision);

    *out = NULL;
    if (status != TESS_SUCCESS) { return status; }
    status = tess_host_allocate(ctx, 1, sizeof **out, (void **)out);
    if (status != TESS_SUCCESS) { return status; }
    memset(*out, 0, sizeof **out);
    (*out)->ctx = ctx;
    tess_context_hold(ctx);
    (*out)->n = n;
    (*out)->precision = precision;
    return TESS_SUCCESS;
}

tess_status tess_vector_create(tess_context *ctx, int64_t n, tess_precision precision, tess_vector **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    tess_vector *v = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_vector(ctx, n, precision, &v));
    TESS_TRY(tess_device_allocate(ctx, n, value_bytes(v), &v->data));
    v->owned = true;
    TESS_TRY(ctx->backend->zero(ctx, v->data, (size_t)n * value_bytes(v)));
    *out = v;
cleanup:
    if (status != TESS_SUCCESS) { tess_vector_destroy(v); }
    return status;
}

tess_status tess_vector_wrap(tess_context *ctx, int64_t n, tess_precision precision, void *data, tess_vector **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    tess_status status = TESS_SUCCESS;

    if (!data && n > 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass an array with as many values",
                         "the array for a vector of %s is NULL", tess_count(n, "value").text);
    }
    status = make_vector(ctx, n, precision, out);
    if (status == TESS_SUCCESS) { (*out)->data = data; }
    return status;
}

void tess_vector_destroy(tess_vector *v)
{
    tess_context *ctx = v ? v->ctx : NULL;

    if (!v) { return; }
    if (v->owned) { tess_device_release(v->ctx, v->data, v->n, value_bytes(v)); }
    tess_device_release(v->ctx, v->shadow, v->n, sizeof(float));
    tess_host_release(ctx, v, 1, sizeof *v);
    tess_context_destroy(ctx);
}

int64_t tess_vector_size(const tess_vector *v)
{
    if (!v) { return 0; }
    return v->n;
}

tess_precision tess_vector_precision(const tess_vector *v)
{
    if (!v) { return TESS_PRECISION_FP64; }
    return v->precision;
}

tess_context *tess_vector_context(const tess_vector *v)
{
    if (!v) { return NULL; }
    return v->ctx;
}

void *tess_vector_data(tess_vector *v)
{
    if (!v) { return NULL; }
    return v->data;
}

const void *tess_vector_data_const(const tess_vector *v)
{
    if (!v) { return NULL; }
    return v->data;
}

const void *tess_vector_shadow(const tess_vector *v)
{
    if (!v) { return NULL; }
    return v->shadow;
}

tess_status tess_vector_refresh_shadow(tess_vector *v)
{
    TESS_REQUIRE(NULL, v);
    if (!v->shadow) { return TESS_SUCCESS; }
    return v->ctx->backend->convert(v->ctx, v->n, v->precision, v->data, TESS_PRECISION_FP32, v->shadow);
}

tess_status tess_vector_add_shadow(tess_vector *v, tess_precision precision)
{
    TESS_REQUIRE(NULL, v);
    tess_status status = TESS_SUCCESS;

    if (v->precision != TESS_PRECISION_FP64 || precision != TESS_PRECISION_FP32) {
        return tess_fail(v->ctx, TESS_UNSUPPORTED, "only a vector in fp64 takes a shadow, in fp32",
                         "a shadow in %s cannot be added to a vector in %s", tess_precision_name(precision),
                         tess_precision_name(v->precision));
    }
    if (!v->shadow) { status = tess_device_allocate(v->ctx, v->n, sizeof(float), (void **)&v->shadow); }
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(v) : status;
}

tess_status tess_move_values(tess_context *ctx, int64_t n, tess_value_array from, tess_value_place to)
{
    size_t from_bytes = (size_t)n * tess_precision_bytes(from.precision);
    size_t to_bytes = (size_t)n * tess_precision_bytes(to.precision);
    const tess_backend *host = ctx->host, *device = ctx->backend;
    void *staging = NULL;
    tess_status status = TESS_SUCCESS;

    if (n == 0) { return TESS_SUCCESS; }
    if (from.on_device == to.on_device) {
        const tess_backend *here = from.on_device ? device : host;

        return from.precision == to.precision ? here->copy(ctx, to.data, from.data, to_bytes)
                                              : here->convert(ctx, n, from.precision, from.data, to.precision, to.data);
    }
    if (from.precision == to.precision) {
        return to.on_device ? device->upload(ctx, to.data, from.data, to_bytes)
                            : device->download(ctx, to.data, from.data, to_bytes);
    }
    if (to.on_device) { /* convert on the host, then upload */
        TESS_TRY(tess_host_allocate(ctx, 1, to_bytes, &staging));
        TESS_TRY(host->convert(ctx, n, from.precision, from.data, to.precision, staging));
        TESS_TRY(device->upload(ctx, to.data, staging, to_bytes));
    } else {
        TESS_TRY(tess_host_allocate(ctx, 1, from_bytes, &staging));
        TESS_TRY(device->download(ctx, staging, from.data, from_bytes));
        TESS_TRY(host->convert(ctx, n, from.precision, staging, to.precision, to.data));
    }
cleanup:
    tess_host_release(ctx, staging, 1, to.on_device ? to_bytes : from_bytes);
    return status;
}

static tess_status check_place(const tess_vector *v, tess_precision precision, tess_memory where)
{
    const tess_status status = options_require_name(v->ctx, "tess_memory", "where", (int)where);

    if (status != TESS_SUCCESS) { return status; }
    if (where == TESS_MEMORY_DEVICE && v->ctx->device == TESS_DEVICE_CPU) {
        return tess_fail(v->ctx, TESS_INVALID_ARGUMENT, "pass TESS_MEMORY_HOST, or create the context on a GPU",
                         "the array is said to be in device memory, but the context is on the CPU");
    }
    return check_type(v->ctx, v->n, precision);
}

tess_status tess_vector_set(tess_vector *v, const void *source, tess_precision precision, tess_memory where)
{
    TESS_REQUIRE(NULL, v);
    if (v->n > 0) { TESS_REQUIRE(v->ctx, source); }
    tess_status status = check_place(v, precision, where);
    bool gpu = v->ctx->device == TESS_DEVICE_GPU;
    tess_value_array from = {source, precision, where == TESS_MEMORY_DEVICE};
    tess_value_place to = {v->data, v->precision, gpu};

    if (status == TESS_SUCCESS) { status = tess_move_values(v->ctx, v->n, from, to); }
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(v) : status;
}

tess_status tess_vector_get(const tess_vector *v, void *destination, tess_precision precision, tess_memory where)
{
    TESS_REQUIRE(NULL, v);
    if (v->n > 0) { TESS_REQUIRE(v->ctx, destination); }
    tess_status status = check_place(v, precision, where);
    bool gpu = v->ctx->device == TESS_DEVICE_GPU;
    tess_value_array from = {v->data, v->precision, gpu};
    tess_value_place to = {destination, precision, where == TESS_MEMORY_DEVICE};

    if (status == TESS_SUCCESS) { status = tess_move_values(v->ctx, v->n, from, to); }
    return status == TESS_SUCCESS && gpu ? v->ctx->backend->synchronize(v->ctx) : status;
}

/* Checks that v is a vector of n values in ctx, in any precision. */
static tess_status require_vector(tess_context *ctx, const tess_vector *v, int64_t n, const char *role)
{
    if (!v) { return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass a vector", "vector %s is NULL", role); }
    if (v->ctx != ctx) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "create all vectors and matrices of an operation in one context",
                         "vector %s belongs to another context", role);
    }
    if (v->n != n) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "pass a vector of the right length",
                         "vector %s has %s, but %lld are needed", role, tess_count(v->n, "value").text, (long long)n);
    }
    return TESS_SUCCESS;
}

tess_status tess_vector_require_in(tess_context *ctx, const tess_vector *v, int64_t n, tess_precision precision,
                                   const char *role)
{
    tess_status status = require_vector(ctx, v, n, role);

    if (status != TESS_SUCCESS) { return status; }
    if (v->precision != precision) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "copy it to a vector of that precision by tess_vector_copy",
                         "vector %s is stored in %s, but %s is needed", role, tess_precision_name(v->precision),
                         tess_precision_name(precision));
    }
    return TESS_SUCCESS;
}

tess_status tess_vector_require(tess_context *ctx, const tess_vector *v, int64_t n, const char *role)
{
    return tess_vector_require_in(ctx, v, n, TESS_PRECISION_FP64, role);
}

/* Runs an FP64 writer through a staging array if the vector is not FP64. */
static tess_status write_fp64(tess_vector *v, tess_status (*write)(tess_vector *v, double *to, const void *arguments),
                              const void *arguments)
{
    double *values = v->data;
    tess_status status = TESS_SUCCESS;

    if (v->precision != TESS_PRECISION_FP64) {
        TESS_TRY(tess_device_allocate(v->ctx, v->n, sizeof *values, (void **)&values));
    }
    TESS_TRY(write(v, values, arguments));
    if (v->precision != TESS_PRECISION_FP64) {
        TESS_TRY(v->ctx->backend->convert(v->ctx, v->n, TESS_PRECISION_FP64, values, v->precision, v->data));
    }
    status = tess_vector_refresh_shadow(v);
cleanup:
    if (values != v->data) { tess_device_release(v->ctx, values, v->n, sizeof *values); }
    return status;
}

static tess_status write_constant(tess_vector *v, double *to, const void *arguments)
{
    return v->ctx->backend->fill(v->ctx, v->n, *(const double *)arguments, to);
}

tess_status tess_vector_fill(tess_vector *v, double value)
{
    TESS_REQUIRE(NULL, v);
    return write_fp64(v, write_constant, &value);
}

typedef struct random_arguments {
    uint64_t seed;
    double low, high;
} random_arguments;

static tess_status write_random(tess_vector *v, double *to, const void *arguments)
{
    const random_arguments *r = arguments;

    return v->ctx->backend->random(v->ctx, v->n, r->seed, r->low, r->high, to);
}

tess_status tess_vector_set_random(tess_vector *v, uint64_t seed, double low, double high)
{
    TESS_REQUIRE(NULL, v);
    random_arguments arguments = {seed, low, high};

    return write_fp64(v, write_random, &arguments);
}

tess_status tess_vector_copy(const tess_vector *x, tess_vector *y)
{
    TESS_REQUIRE(NULL, y);
    TESS_REQUIRE(y->ctx, x);
    bool gpu = y->ctx->device == TESS_DEVICE_GPU;
    const tess_value_array from = {x->data, x->precision, gpu};
    const tess_value_place to = {y->data, y->precision, gpu};
    tess_status status = TESS_SUCCESS;

    if (x->ctx != y->ctx || x->n != y->n) {
        return tess_fail(y->ctx, x->n != y->n ? TESS_DIMENSION_MISMATCH : TESS_INVALID_ARGUMENT,
                         "both must have the same length and the same context",
                         "a vector of %s cannot be copied to one of %lld", tess_count(x->n, "value").text,
                         (long long)y->n);
    }
    if (x == y) { return TESS_SUCCESS; }
    status = tess_move_values(y->ctx, y->n, from, to);
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(y) : status;
}

/* ---- BLAS ---- */

static tess_operand operand_of(const tess_vector *v)
{
    return (tess_operand){v->data, v->precision};
}

/* An operation on x and y, which are checked. Its result, if any, is stored in y. */
static tess_status begin_blas(const tess_vector *x, const tess_vector *y, tess_arithmetic arithmetic, tess_fused *op)
{
    tess_status status = require_vector(y->ctx, x, y->n, "x");

    if (status != TESS_SUCCESS) { return status; }
    if (arithmetic != TESS_ARITHMETIC_FP64 && arithmetic != TESS_ARITHMETIC_FP32) {
        return tess_fail(y->ctx, TESS_INVALID_ARGUMENT, "use a value of tess_arithmetic",
                         "unknown arithmetic precision %d", (int)arithmetic);
    }
    op->n = y->n;
    op->x = operand_of(x);
    op->y = operand_of(y);
    op->arithmetic = arithmetic;
    return TESS_SUCCESS;
}

/* The same for one that writes y, and its shadow. */
static tess_status begin_update(const tess_vector *x, tess_vector *y, tess_arithmetic arithmetic, tess_fused *op)
{
    op->result = y->data;
    op->shadow = y->shadow;
    return begin_blas(x, y, arithmetic, op);
}

tess_status tess_vector_axpby(double alpha, const tess_vector *x, double beta, tess_vector *y,
                              tess_arithmetic arithmetic)
{
    TESS_REQUIRE(NULL, y);
    /* with beta = 0 y is not read */
    tess_fused op = {.op = beta == 0.0 ? TESS_FUSED_SCALE : TESS_FUSED_AXPBY, .a = alpha, .b = beta};
    tess_status status = begin_update(x, y, arithmetic, &op);

    return status == TESS_SUCCESS ? y->ctx->backend->fused(y->ctx, &op) : status;
}

tess_status tess_vector_scale(double alpha, tess_vector *x, tess_arithmetic arithmetic)
{
    TESS_REQUIRE(NULL, x);
    tess_fused op = {.op = TESS_FUSED_SCALE, .a = alpha};
    tess_status status = begin_update(x, x, arithmetic, &op);

    return status == TESS_SUCCESS ? x->ctx->backend->fused(x->ctx, &op) : status;
}

tess_status tess_fused_dots(tess_context *ctx, tess_fused *op, int ndots, double *dots)
{
    tess_loop_state state;
    tess_status status = TESS_SUCCESS;

    op->state = ctx->scratch_state;
    op->scalar = TESS_SCALAR_NONE;
    TESS_TRY(ctx->backend->fused(ctx, op));
    TESS_TRY(ctx->backend->download(ctx, &state, ctx->scratch_state, sizeof state));
    memcpy(dots, state.dots, (size_t)ndots * sizeof *dots);
cleanup:
    return status;
}

tess_status tess_vector_dot(const tess_vector *x, const tess_vector *y, tess_arithmetic arithmetic, double *result)
{
    TESS_REQUIRE(NULL, y);
    TESS_REQUIRE(y->ctx, result);
    tess_fused op = {.op = TESS_FUSED_DOT};
    tess_status status = begin_blas(x, y, arithmetic, &op);

    return status == TESS_SUCCESS ? tess_fused_dots(y->ctx, &op, 1, result) : status;
}

/* A sum of squares outside low .. high has lost digits to underflow or may have overflowed. It is then computed again
   from values scaled by a power of two, which brings every such sum into range for any length. */
typedef struct squares_range {
    double low, up, high, down;
} squares_range;

static const squares_range squares_ranges[] = {[TESS_ARITHMETIC_FP64] = {0x1p-900, 0x1p800, 0x1p1000, 0x1p-600},
                                               [TESS_ARITHMETIC_FP32] = {0x1p-100, 0x1p100, 0x1p120, 0x1p-80}};

tess_status tess_vector_norm2(const tess_vector *x, tess_arithmetic arithmetic, double *result)
{
    TESS_REQUIRE(NULL, x);
    TESS_REQUIRE(x->ctx, result);
    tess_fused op = {.op = TESS_FUSED_SQUARES, .a = 1.0};
    const squares_range *range = NULL;
    double sum = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(begin_blas(x, x, arithmetic, &op));
    range = &squares_ranges[arithmetic];
    TESS_TRY(tess_fused_dots(x->ctx, &op, 1, &sum));
    if (sum < range->low || sum > range->high) { /* zero too */
        op.a = sum < range->low ? range->up : range->down;
        TESS_TRY(tess_fused_dots(x->ctx, &op, 1, &sum));
    }
    *result = sqrt(sum) / op.a;
cleanup:
    return status;
}
