/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of the caller's arrays. */
#include "dense/columns.h"

#include <tessera/names.h>

#include "base/context.h"
#include "base/options.h"
#include "device/host/host.h"

static tess_status move_on_host(tess_context *ctx, int64_t rows, int64_t columns, columns_place from, columns_place to)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows * columns > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < columns; c++) {
            to.data[i * to.row_stride + c * to.column_stride] = from.data[i * from.row_stride + c * from.column_stride];
        }
    }
    return TESS_SUCCESS;
}

const columns_ops columns_host_ops = {.move = move_on_host};

static bool is_elsewhere(const tess_context *ctx, const tess_columns *v)
{
    return ctx->device == TESS_DEVICE_GPU && v->where == TESS_MEMORY_HOST;
}

static columns_place place_of(const tess_columns *v, int64_t first)
{
    double *const data = v->data ? v->data + first * v->column_stride : NULL; /* of no rows */

    return (columns_place){data, v->row_stride, v->column_stride};
}

static columns_place by_rows(const double *data, int columns)
{
    return (columns_place){(double *)(uintptr_t)data, columns, 1};
}

tess_status columns_get(tess_context *ctx, const tess_columns *from, int64_t first, int columns, double *to)
{
    const int64_t values = from->rows * columns;
    double *staging = NULL;
    tess_status status = TESS_SUCCESS;

    if (!is_elsewhere(ctx, from)) {
        return columns_ops_of(ctx)->move(ctx, from->rows, columns, place_of(from, first), by_rows(to, columns));
    }
    TESS_TRY(tess_host_allocate(ctx, values, sizeof *staging, (void **)&staging));
    TESS_TRY(move_on_host(ctx, from->rows, columns, place_of(from, first), by_rows(staging, columns)));
    status = ctx->backend->upload(ctx, to, staging, (size_t)values * sizeof *staging);
cleanup:
    tess_host_release(ctx, staging, values, sizeof *staging);
    return status;
}

tess_status columns_set(tess_context *ctx, const double *from, const tess_columns *to, int64_t first, int columns)
{
    const int64_t values = to->rows * columns;
    double *staging = NULL;
    tess_status status = TESS_SUCCESS;

    if (!is_elsewhere(ctx, to)) {
        return columns_ops_of(ctx)->move(ctx, to->rows, columns, by_rows(from, columns), place_of(to, first));
    }
    TESS_TRY(tess_host_allocate(ctx, values, sizeof *staging, (void **)&staging));
    TESS_TRY(ctx->backend->download(ctx, staging, from, (size_t)values * sizeof *staging));
    status = move_on_host(ctx, to->rows, columns, by_rows(staging, columns), place_of(to, first));
cleanup:
    tess_host_release(ctx, staging, values, sizeof *staging);
    return status;
}

tess_status columns_require(tess_context *ctx, const tess_columns *v, int64_t rows, const char *role)
{
    tess_status status = TESS_SUCCESS;

    if (!v) { return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s is NULL", role); }
    TESS_TRY(options_require_name(ctx, "tess_memory", "where", (int)v->where));
    if (v->where == TESS_MEMORY_DEVICE && ctx->device == TESS_DEVICE_CPU) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass TESS_MEMORY_HOST, or create the context on a GPU",
                         "%s is said to be in device memory, but the context is on the CPU", role);
    }
    if (v->columns < 0 || v->rows != rows) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "pass an array with a row for each row of the matrix",
                         "%s has %s and %s, where the matrix needs %s", role, tess_count(v->rows, "row").text,
                         tess_count(v->columns, "column").text, tess_count(rows, "row").text);
    }
    if (!v->data && rows > 0 && v->columns > 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass an array of rows times columns values",
                         "the array of %s is NULL", role);
    }
cleanup:
    return status;
}
