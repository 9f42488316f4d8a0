/* SPDX-License-Identifier: Apache-2.0 */
#include "cudss/stand_in.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "precond/direct/cudss_library.h"

#define ENTRY __attribute__((visibility("default")))
/* Smaller pivots are replaced, as by cuDSS, which also matches rows with columns before. */
#define SMALL_FP32 1e-5
#define SMALL_FP64 1e-13

enum { BAD_VALUE = 3 };

typedef enum object_kind { HANDLE = 1, CONFIG, DATA, SPARSE, DENSE } object_kind;

typedef struct object {
    object_kind kind;
    int64_t n, count, columns; /* columns: DENSE */
    const int32_t *row_ptr, *column;
    const void *val;
    int type, matrix;            /* of values; of the matrix */
    bool transposed, repeatable; /* CONFIG; repeatable, of the factors too */
    double *lu;                  /* DATA: n x n by rows, and the pivots' rows */
    int64_t *pivot, size;
    int info, changed, type_of_factors, matrix_of_factors;
} object;

static cudss_control control = {.fail_at = -1, .fail_with = 5, .major = 1};

ENTRY cudss_control *cudss_stand_in_control(void);
ENTRY cudss_control *cudss_stand_in_control(void)
{
    return &control;
}

#define FUNCTION(name, parameters) ENTRY int name parameters;
CUDSS_FUNCTIONS(FUNCTION)
#undef FUNCTION

static int begin(void)
{
    return control.calls++ == control.fail_at ? control.fail_with : CUDSS_OK;
}

#define BEGIN                            \
    do {                                 \
        const int failure = begin();     \
        if (failure) { return failure; } \
    } while (0)

static object *take(void *pointer, object_kind kind)
{
    object *o = pointer;

    if (o && o->kind == kind) { return o; }
    control.wrong += 1;
    return NULL;
}

static int make(void **out, object_kind kind)
{
    object *o = NULL;

    BEGIN;
    o = calloc(1, sizeof *o);
    if (!o) { return CUDSS_NO_MEMORY; }
    o->kind = kind;
    control.live += 1;
    *out = o;
    return CUDSS_OK;
}

static int destroy(void *pointer, object_kind kind)
{
    object *o = take(pointer, kind);

    if (!o) { return BAD_VALUE; }
    free(o->lu);
    free(o->pivot);
    o->kind = 0;
    free(o);
    control.live -= 1;
    return CUDSS_OK;
}

int cudssGetProperty(int which, int *value)
{
    *value = which == CUDSS_MAJOR ? control.major : which == CUDSS_MINOR ? control.minor : 0;
    return CUDSS_OK;
}

int cudssCreate(void **handle)
{
    return make(handle, HANDLE);
}

int cudssDestroy(void *handle)
{
    return destroy(handle, HANDLE);
}

int cudssSetStream(void *handle, void *stream)
{
    BEGIN;
    control.stream = stream;
    return take(handle, HANDLE) ? CUDSS_OK : BAD_VALUE;
}

int cudssSetThreadingLayer(void *handle, const char *path)
{
    BEGIN;
    return take(handle, HANDLE) && path ? CUDSS_OK : BAD_VALUE;
}

int cudssConfigCreate(void **config)
{
    return make(config, CONFIG);
}

int cudssConfigDestroy(void *config)
{
    return destroy(config, CONFIG);
}

int cudssConfigSet(void *config, int which, const void *value, size_t bytes)
{
    object *o = take(config, CONFIG);
    int given = 0;

    BEGIN;
    if (!o || bytes != sizeof given) { return BAD_VALUE; }
    memcpy(&given, value, sizeof given);
    if (which == CUDSS_TRANSPOSED) { o->transposed = given == 1; }
    if (which == CUDSS_REPEATABLE) { o->repeatable = given == 1; }
    return CUDSS_OK;
}

int cudssDataCreate(void *handle, void **data)
{
    return take(handle, HANDLE) ? make(data, DATA) : BAD_VALUE;
}

int cudssDataDestroy(void *handle, void *data)
{
    return take(handle, HANDLE) ? destroy(data, DATA) : BAD_VALUE;
}

static int64_t factor_bytes(const object *data)
{
    return data->size * data->size * (int64_t)(data->type_of_factors == CUDSS_FP32 ? 4 : 8);
}

int cudssDataGet(void *handle, void *data, int which, void *value, size_t bytes, size_t *written)
{
    const object *o = take(data, DATA);
    int64_t estimates[CUDSS_ESTIMATE_COUNT] = {0}, number = 0;
    const void *from = &number;
    size_t size = sizeof number;

    BEGIN;
    if (!o || !take(handle, HANDLE)) { return BAD_VALUE; }
    estimates[0] = factor_bytes(o);
    estimates[1] = control.peak_bytes > 0 ? control.peak_bytes : 2 * factor_bytes(o);
    switch (which) {
    case CUDSS_ESTIMATES:
        from = estimates;
        size = sizeof estimates;
        break;
    case CUDSS_FACTOR_ENTRIES: number = o->size * o->size; break;
    case CUDSS_FLOPS: number = o->size * o->size * o->size; break;
    case CUDSS_INFO:
        from = &o->info;
        size = sizeof o->info;
        break;
    case CUDSS_CHANGED_PIVOTS:
        from = &o->changed;
        size = sizeof o->changed;
        break;
    default: return CUDSS_UNSUPPORTED;
    }
    if (bytes != size) { return BAD_VALUE; }
    memcpy(value, from, size);
    *written = size;
    return CUDSS_OK;
}

int cudssDataSet(void *handle, void *data, int which, const void *value, size_t bytes)
{
    object *o = take(data, DATA);

    BEGIN;
    if (!o || !take(handle, HANDLE) || which != CUDSS_INFO || bytes != sizeof o->info) { return BAD_VALUE; }
    memcpy(&o->info, value, sizeof o->info);
    return CUDSS_OK;
}

int cudssMatrixCreateCsr(void **matrix, int64_t nrows, int64_t ncols, int64_t nnz, const void *row_start,
                         const void *row_end, const void *column, const void *val, int offset_type, int index_type,
                         int value_type, int kind, int part, int base)
{
    const int failure = make(matrix, SPARSE);
    object *o = *matrix;

    if (failure) { return failure; }
    if (nrows != ncols || row_end || offset_type != CUDSS_INT32 || index_type != CUDSS_INT32 ||
        base != CUDSS_FROM_ONE || (part == CUDSS_LOWER) != (kind != CUDSS_GENERAL)) {
        control.wrong += 1;
        return BAD_VALUE;
    }
    o->n = nrows;
    o->count = nnz;
    o->row_ptr = row_start;
    o->column = column;
    o->val = val;
    o->type = value_type;
    o->matrix = kind;
    return CUDSS_OK;
}

int cudssMatrixCreateDn(void **matrix, int64_t nrows, int64_t ncols, int64_t stride, const void *val, int value_type,
                        int layout)
{
    const int failure = make(matrix, DENSE);
    object *o = *matrix;

    if (failure) { return failure; }
    if (ncols < 1 || stride != nrows || layout != CUDSS_BY_COLUMNS) {
        control.wrong += 1;
        return BAD_VALUE;
    }
    o->n = nrows;
    o->columns = ncols;
    o->val = val;
    o->type = value_type;
    return CUDSS_OK;
}

int cudssMatrixSetValues(void *matrix, const void *val)
{
    object *o = take(matrix, DENSE);

    BEGIN;
    if (!o) { return BAD_VALUE; }
    o->val = val;
    return CUDSS_OK;
}

int cudssMatrixDestroy(void *matrix)
{
    const object *o = matrix;

    return destroy(matrix, o && o->kind == DENSE ? DENSE : SPARSE);
}

/* ---- factors ---- */

static double get(const object *o, int64_t k)
{
    return o->type == CUDSS_FP32 ? (double)((const float *)o->val)[k] : ((const double *)o->val)[k];
}

static double rounded(const object *data, double x)
{
    return data->type_of_factors == CUDSS_FP32 ? (double)(float)x : x;
}

static int analyse(object *data, const object *a)
{
    control.analyses += 1;
    free(data->lu);
    free(data->pivot);
    data->size = a->n;
    data->type_of_factors = a->type;
    data->matrix_of_factors = a->matrix;
    data->lu = calloc((size_t)(a->n * a->n), sizeof *data->lu);
    data->pivot = calloc((size_t)a->n, sizeof *data->pivot);
    return data->lu && data->pivot ? CUDSS_OK : CUDSS_NO_MEMORY;
}

static void fill(object *data, const object *a)
{
    memset(data->lu, 0, (size_t)(a->n * a->n) * sizeof *data->lu);
    for (int64_t i = 0; i < a->n; i++) {
        for (int64_t k = a->row_ptr[i] - 1; k < a->row_ptr[i + 1] - 1; k++) {
            const int64_t j = a->column[k] - 1;

            data->lu[i * a->n + j] = get(a, k);
            if (a->matrix != CUDSS_GENERAL) { data->lu[j * a->n + i] = get(a, k); }
        }
    }
}

/* Rows are exchanged unless the matrix counts as positive definite, or is symmetric and the factors repeat: cuDSS 1.0.0
   then does not match rows with columns either. */
static bool exchanges(const object *data)
{
    return data->matrix_of_factors == CUDSS_GENERAL ||
           (data->matrix_of_factors == CUDSS_SYMMETRIC && !data->repeatable);
}

static void choose_pivot(object *data, int64_t k)
{
    const int64_t n = data->size;
    const double small = data->type_of_factors == CUDSS_FP32 ? SMALL_FP32 : SMALL_FP64;
    int64_t best = k;

    for (int64_t i = k + 1; i < n && exchanges(data); i++) {
        if (fabs(data->lu[i * n + k]) > fabs(data->lu[best * n + k])) { best = i; }
    }
    data->pivot[k] = best;
    for (int64_t j = 0; j < n && best != k; j++) {
        const double kept = data->lu[k * n + j];

        data->lu[k * n + j] = data->lu[best * n + j];
        data->lu[best * n + j] = kept;
    }
    if (data->matrix_of_factors == CUDSS_DEFINITE && data->info == 0 && data->lu[k * n + k] <= 0.0) {
        data->info = (int)k + 1;
    }
    if (fabs(data->lu[k * n + k]) < small) {
        data->lu[k * n + k] = data->lu[k * n + k] < 0.0 ? -small : small;
        data->changed += 1;
    }
}

static int factor(object *data, const object *a)
{
    const int64_t n = data->size;

    control.factorizations += 1;
    if (!data->lu || n != a->n) { return BAD_VALUE; }
    fill(data, a);
    data->changed = 0; /* a failure stays until it is set, as with cuDSS */
    for (int64_t k = 0; k < n; k++) {
        choose_pivot(data, k);
        for (int64_t i = k + 1; i < n; i++) {
            const double factor_of_row = rounded(data, data->lu[i * n + k] / data->lu[k * n + k]);

            data->lu[i * n + k] = factor_of_row;
            for (int64_t j = k + 1; j < n && factor_of_row != 0.0; j++) {
                data->lu[i * n + j] = rounded(data, data->lu[i * n + j] - factor_of_row * data->lu[k * n + j]);
            }
        }
    }
    return CUDSS_OK;
}

static void exchange(double *x, int64_t i, int64_t j)
{
    const double kept = x[i];

    x[i] = x[j];
    x[j] = kept;
}

/* P A = L U: x := U^-1 L^-1 P x, or P^T L^-T U^-T x. */
static void solve(const object *data, bool transposed, double *x)
{
    const int64_t n = data->size;
    const double *lu = data->lu;

    for (int64_t k = 0; k < n && !transposed; k++) {
        exchange(x, k, data->pivot[k]);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            x[i] = rounded(data, x[i] - (transposed ? lu[j * n + i] : lu[i * n + j]) * x[j]);
        }
        if (transposed) { x[i] = rounded(data, x[i] / lu[i * n + i]); }
    }
    for (int64_t i = n; i-- > 0;) {
        for (int64_t j = i + 1; j < n; j++) {
            x[i] = rounded(data, x[i] - (transposed ? lu[j * n + i] : lu[i * n + j]) * x[j]);
        }
        if (!transposed) { x[i] = rounded(data, x[i] / lu[i * n + i]); }
    }
    for (int64_t k = n; k-- > 0 && transposed;) {
        exchange(x, k, data->pivot[k]);
    }
}

static int solve_columns(const object *data, bool transposed, const object *solution, const object *rhs)
{
    const int64_t n = data->size;
    double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);

    control.solves += 1;
    if (!x) { return CUDSS_NO_MEMORY; }
    for (int64_t c = 0; c < rhs->columns; c++) {
        void *to = (void *)(uintptr_t)solution->val;

        for (int64_t i = 0; i < n; i++) {
            x[i] = get(rhs, c * n + i);
        }
        solve(data, transposed, x);
        for (int64_t i = 0; i < n; i++) {
            if (solution->type == CUDSS_FP32) {
                ((float *)to)[c * n + i] = (float)x[i];
            } else {
                ((double *)to)[c * n + i] = x[i];
            }
        }
    }
    free(x);
    return CUDSS_OK;
}

static int execute(int step, const object *config, object *data, const object *a, const object *x, const object *b)
{
    switch (step) {
    case CUDSS_ANALYSE: data->repeatable = config->repeatable; return analyse(data, a);
    case CUDSS_FACTOR: return factor(data, a);
    /* as cuDSS 1.0.0 */
    case CUDSS_SOLVE:
        return config->repeatable && b->columns > 1 ? CUDSS_UNSUPPORTED : solve_columns(data, config->transposed, x, b);
    default: return CUDSS_UNSUPPORTED;
    }
}

int cudssExecute(void *handle, int step, void *config, void *data, void *matrix, void *solution, void *rhs)
{
    const object *o = take(config, CONFIG), *a = take(matrix, SPARSE), *x = take(solution, DENSE),
                 *b = take(rhs, DENSE);
    object *d = take(data, DATA);
    int outcome = CUDSS_OK;

    BEGIN;
    if (!take(handle, HANDLE) || !o || !a || !x || !b || !d || x->columns != b->columns) { return BAD_VALUE; }
    if (control.begin) { control.begin(&control); }
    outcome = execute(step, o, d, a, x, b);
    if (control.end) { control.end(&control); }
    return outcome;
}
