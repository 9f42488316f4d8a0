/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV for bench_dense: square, all operands in the trial's storage (Gruetzmacher et al. 2023, section 4.1); and as
 * GMRES uses it, V of one or six million rows in the trial's storage with FP64 vectors: w := w - V h and h := V^T w,
 * for one and for two right-hand columns. cuBLAS cannot mix precisions: its vectors are stored as A is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/codec.h>

#include "base/random.h"
#include "dense/dense.h"
#include "matrix/matrix.h"

/* What sets one operation apart; it begins with the operation, which the trial points to. */
typedef struct gemv_operation {
    dense_operation base;
    tess_operation operation;
    int64_t rows; /* 0: square */
    int nvec;
} gemv_operation;

/* Arrays are filled with a pattern of so many values: any element can be had again without reading the array back. */
enum { PERIOD = 1000003 };

typedef struct gemv_array {
    tess_dense_view view;
    int64_t bytes;
    const double *value; /* the pattern's, decoded: element e has value[e % PERIOD] */
} gemv_array;

typedef struct gemv_state {
    gemv_array a[DENSE_MAX_SETS], x[DENSE_MAX_SETS], y[DENSE_MAX_SETS];
    gemv_array bare_x, bare_y; /* the baselines' vectors, where they must be stored otherwise than ours */
} gemv_state;

static const gemv_operation *own(const dense_trial *t)
{
    return (const gemv_operation *)t->operation;
}

static bool is_transposed(const dense_trial *t)
{
    return own(t)->operation == TESS_OP_TRANSPOSE;
}

static int64_t rows_of(const dense_trial *t)
{
    int64_t rows = own(t)->rows;

    return rows == 0 ? t->n : t->run->options->quick ? rows / 20 : rows;
}

static tess_precision vector_precision(const dense_trial *t)
{
    return own(t)->rows == 0 ? t->storage : TESS_PRECISION_FP64;
}

/* w := w - V h adds to what is there; the others overwrite. */
static double beta_of(const dense_trial *t)
{
    return own(t)->rows > 0 && !is_transposed(t) ? 1.0 : 0.0;
}

static double alpha_of(const dense_trial *t)
{
    return beta_of(t) == 1.0 ? -1.0 : 1.0;
}

static int64_t footprint(const dense_trial *t)
{
    const int64_t vectors = (rows_of(t) + t->n) * own(t)->nvec;

    return rows_of(t) * t->n * (int64_t)tess_precision_bytes(t->storage) +
           vectors * (int64_t)tess_precision_bytes(vector_precision(t));
}

static int64_t moved_bytes(const dense_trial *t)
{
    const int64_t out = is_transposed(t) ? t->n : rows_of(t);
    const int64_t again =
        beta_of(t) == 0.0 ? 0 : out * own(t)->nvec * (int64_t)tess_precision_bytes(vector_precision(t));

    return footprint(t) + again;
}

/* ---- arrays ---- */

/* The values of a pattern, as they are stored and decoded. Made once; there are a few, by seeds 1 to 3, and they stay.
 */
typedef struct pattern {
    char *stored;
    double *value;
} pattern;

static const pattern *pattern_of(tess_precision precision, uint64_t seed)
{
    static pattern patterns[8][4]; /* by precision and seed */
    pattern *p = &patterns[(unsigned)precision % 8][seed % 4];

    if (p->stored) { return p; }
    p->stored = bench_allocate(PERIOD, tess_precision_bytes(precision));
    p->value = bench_allocate(PERIOD, sizeof *p->value);
    for (int64_t i = 0; i < PERIOD; i++) {
        tess_store(precision, p->stored, i, tess_random_in(seed, (uint64_t)i, -1.0, 1.0), TESS_OVERFLOW_INFINITY);
        p->value[i] = tess_load(precision, p->stored, i);
    }
    return p;
}

static tess_status make_array(const dense_trial *t, int64_t nrows, int64_t ncols, tess_precision precision,
                              uint64_t seed, gemv_array *out)
{
    const pattern *values = pattern_of(precision, seed);
    const int64_t size = (int64_t)tess_precision_bytes(precision);
    tess_status status = TESS_SUCCESS;

    out->view = (tess_dense_view){.nrows = nrows, .ncols = ncols, .ld = nrows, .precision = precision};
    out->bytes = nrows * ncols * size;
    out->value = values->value;
    status = tess_device_allocate(t->run->ctx, out->bytes, 1, &out->view.data);
    if (status != TESS_SUCCESS) { return status; }
    return dense_fill(t->run->ctx, out->view.data, nrows * ncols, values->stored, PERIOD, size);
}

static tess_status prepare(dense_trial *t)
{
    gemv_state *s = bench_allocate(1, sizeof *s);
    const int64_t rows = rows_of(t), in = is_transposed(t) ? rows : t->n, out = is_transposed(t) ? t->n : rows;
    const tess_precision vectors = vector_precision(t);
    const int nvec = own(t)->nvec;
    tess_status status = TESS_SUCCESS;

    *s = (gemv_state){.a = {{.bytes = 0}}};
    t->state = s;
    for (int k = 0; k < t->sets && status == TESS_SUCCESS; k++) {
        status = make_array(t, rows, t->n, t->storage, 1, &s->a[k]);
        if (status == TESS_SUCCESS) { status = make_array(t, in, nvec, vectors, 2, &s->x[k]); }
        if (status == TESS_SUCCESS) { status = make_array(t, out, nvec, vectors, 3, &s->y[k]); }
    }
    if (status == TESS_SUCCESS && t->cublas && vectors != t->storage) {
        status = make_array(t, in, nvec, t->storage, 2, &s->bare_x);
        if (status == TESS_SUCCESS) { status = make_array(t, out, nvec, t->storage, 3, &s->bare_y); }
    }
    return status;
}

static void release(dense_trial *t)
{
    gemv_state *s = t->state;
    tess_context *ctx = t->run->ctx;

    if (!s) { return; }
    (void)ctx->backend->synchronize(ctx);
    for (int k = 0; k < t->sets; k++) {
        tess_device_release(ctx, s->a[k].view.data, s->a[k].bytes, 1);
        tess_device_release(ctx, s->x[k].view.data, s->x[k].bytes, 1);
        tess_device_release(ctx, s->y[k].view.data, s->y[k].bytes, 1);
    }
    tess_device_release(ctx, s->bare_x.view.data, s->bare_x.bytes, 1);
    tess_device_release(ctx, s->bare_y.view.data, s->bare_y.bytes, 1);
    free(s);
}

/* ---- calls ---- */

static tess_status our_call(void *user, int k)
{
    const dense_trial *t = user;
    const gemv_state *s = t->state;
    const int set = k % t->sets;

    return tess_gemv(t->run->ctx, own(t)->operation, alpha_of(t), &s->a[set].view, &s->x[set].view, beta_of(t),
                     &s->y[set].view, t->arithmetic);
}

static const gemv_array *bare_vector(const dense_trial *t, const gemv_array *ours, const gemv_array *bare)
{
    return vector_precision(t) == t->storage ? ours : bare;
}

static tess_status cublas_gemv_call(void *user, int k)
{
    const dense_trial *t = user;
    const gemv_state *s = t->state;
    const int set = k % t->sets;
    const gemv_array *x = bare_vector(t, &s->x[set], &s->bare_x), *y = bare_vector(t, &s->y[set], &s->bare_y);
    const int64_t size = (int64_t)tess_precision_bytes(t->storage);
    tess_status status = TESS_SUCCESS;

    for (int v = 0; v < own(t)->nvec && status == TESS_SUCCESS; v++) {
        status = t->cublas->gemv(t->cublas, t->storage, own(t)->operation, rows_of(t), t->n, alpha_of(t),
                                 s->a[set].view.data, s->a[set].view.ld, (char *)x->view.data + v * x->view.ld * size,
                                 beta_of(t), (char *)y->view.data + v * y->view.ld * size);
    }
    return status;
}

static tess_status cublas_gemm_call(void *user, int k)
{
    const dense_trial *t = user;
    const gemv_state *s = t->state;
    const int set = k % t->sets;
    const gemv_array *x = bare_vector(t, &s->x[set], &s->bare_x), *y = bare_vector(t, &s->y[set], &s->bare_y);

    return t->cublas->gemm(t->cublas, t->storage, own(t)->operation, rows_of(t), t->n, own(t)->nvec, alpha_of(t),
                           s->a[set].view.data, s->a[set].view.ld, x->view.data, beta_of(t), y->view.data);
}

static bool fits_two(const dense_trial *t)
{
    return own(t)->nvec == 2 && dense_cublas_fits(t);
}

/* ---- check: elements of the first set's result in long double, against the bound of tessera/dense.h ---- */

/* Half the distance of neighbours among a storage's smallest values. */
static double smallest_half(tess_precision precision)
{
    switch (precision) {
#define HALF(NAME, value, name, bytes, bits, emin, ...) \
    case TESS_PRECISION_##NAME: return ldexp(1.0, (emin) - (bits));
        TESS_PRECISION_LIST(HALF)
#undef HALF
    }
    return 0.0;
}

static double check_element(const dense_trial *t, const gemv_state *s, int64_t i, int k, double computed)
{
    const int64_t in = s->x[0].view.nrows, ld = s->a[0].view.ld;
    const double u = dense_unit_roundoff(t), u_out = tess_precision_unit_roundoff(vector_precision(t));
    long double sum = 0.0L;
    double magnitude = 0.0, bound = 0.0;

    for (int64_t q = 0; q < in; q++) {
        const int64_t at = is_transposed(t) ? q + i * ld : i + q * ld;
        const long double a = (long double)s->a[0].value[at % PERIOD];
        const long double term = a * (long double)s->x[0].value[(q + k * in) % PERIOD];

        sum += term;
        magnitude += fabs((double)term);
    }
    bound = dense_gamma(u, (double)in + 2.0) * magnitude;
    bound += u_out * (fabs((double)sum) + bound) + smallest_half(vector_precision(t));
    return fabs((double)((long double)computed - (long double)alpha_of(t) * sum)) / bound;
}

/* From a Y of zeros: then it does not matter whether the operation adds to it. */
static tess_status check(dense_trial *t, bench_call call, double *error)
{
    const gemv_state *s = t->state;
    const gemv_array *y = &s->y[0];
    tess_context *ctx = t->run->ctx;
    const int64_t out = y->view.nrows, work = 2000000 / s->x[0].view.nrows + 2;
    const int64_t every = out > work ? out / work : 1;
    void *values = bench_allocate((size_t)y->bytes, 1);
    tess_status status = ctx->backend->zero(ctx, y->view.data, (size_t)y->bytes);

    if (status == TESS_SUCCESS) { status = call(t, 0); }
    if (status == TESS_SUCCESS) { status = ctx->backend->download(ctx, values, y->view.data, (size_t)y->bytes); }
    *error = 0.0;
    for (int k = 0; k < own(t)->nvec && status == TESS_SUCCESS; k++) {
        for (int64_t i = out - 1; i >= 0; i -= every) {
            const double ratio = check_element(t, s, i, k, tess_load(y->view.precision, values, i + k * y->view.ld));

            *error = ratio <= *error ? *error : ratio; /* a NaN stays */
        }
    }
    free(values);
    return status;
}

/* ---- the operations ---- */

static const int64_t square_sizes[] = {1024, 2048, 4096, 8192, 16384, 32768, 65536, 0};
static const int64_t square_host_sizes[] = {1024, 4096, 16384, 0};
static const int64_t column_counts[] = {1, 5, 10, 25, 50, 100, 200, 400, 0};
static const int64_t column_host_counts[] = {1, 10, 50, 0};
static const int64_t none[] = {0};

#define GEMV_BASE(NAME, DEVICE, HOST, QUICK)                                                                           \
    {                                                                                                                  \
        .name = (NAME), .device_sizes = (DEVICE), .host_sizes = (HOST), .quick_most = (QUICK), .footprint = footprint, \
        .bytes = moved_bytes, .prepare = prepare, .ours = our_call, .check = check, .release = release, .baselines = { \
            {"cublas", dense_cublas_fits, cublas_gemv_call},                                                           \
            {"gemm", fits_two, cublas_gemm_call}                                                                       \
        }                                                                                                              \
    }
#define SQUARE(NAME, OP)                                                           \
    {                                                                              \
        GEMV_BASE(NAME, square_sizes, square_host_sizes, 4096), TESS_OP_##OP, 0, 1 \
    }
#define TALL(NAME, OP, ROWS, HOST, NVEC)                                   \
    {                                                                      \
        GEMV_BASE(NAME, column_counts, HOST, 50), TESS_OP_##OP, ROWS, NVEC \
    }

static const gemv_operation square_n = SQUARE("gemv-n", NONE), square_t = SQUARE("gemv-t", TRANSPOSE);
static const gemv_operation one_n = TALL("V-1m", NONE, 1000000, column_host_counts, 1);
static const gemv_operation one_t = TALL("Vt-1m", TRANSPOSE, 1000000, column_host_counts, 1);
static const gemv_operation one_n2 = TALL("V-1m-2", NONE, 1000000, column_host_counts, 2);
static const gemv_operation one_t2 = TALL("Vt-1m-2", TRANSPOSE, 1000000, column_host_counts, 2);
static const gemv_operation six_n = TALL("V-6m", NONE, 6000000, none, 1);
static const gemv_operation six_t = TALL("Vt-6m", TRANSPOSE, 6000000, none, 1);
static const gemv_operation six_n2 = TALL("V-6m-2", NONE, 6000000, none, 2);
static const gemv_operation six_t2 = TALL("Vt-6m-2", TRANSPOSE, 6000000, none, 2);

const dense_operation *const dense_gemv[] = {&square_n.base, &square_t.base, &one_n.base, &one_t.base,
                                             &one_n2.base,   &one_t2.base,   &six_n.base, &six_t.base,
                                             &six_n2.base,   &six_t2.base,   NULL};
