/* SPDX-License-Identifier: Apache-2.0 */
/* Fused passes over vectors of several columns, by rows. Each block of rows has sums of its own, by column. */
#include "device/fused_bodies.h"
#include "device/host/columns.h"
#include "device/run_scalar_update.h"

/* Columns that are processed together, in as many lanes. */
enum { LANES = 8 };

host_columns host_columns_enter(tess_loop_state *state, int count, bool finishing, bool reduces)
{
    host_columns columns = {.count = count};

    for (int c = 0; c < count; c++) {
        columns.runs[c] = !state || host_enter(&state[c], finishing, reduces);
        columns.running += columns.runs[c];
    }
    return columns;
}

void host_columns_finish(const host_columns *columns, const double *partials, int64_t count, int ndots,
                         tess_scalar_update scalar, tess_loop_state *state)
{
    for (int c = 0; c < columns->count; c++) {
        if (!columns->runs[c]) { continue; }
        for (int k = 0; k < ndots; k++) {
            const double *own = partials + ((int64_t)k * columns->count + c) * count;
            double sum = 0.0;

            for (int64_t i = 0; i < count; i++) {
                sum += own[i];
            }
            state[c].dots[k] = sum;
        }
        run_scalar_update(scalar, &state[c]);
    }
}

/* What a pass reads of the columns that it processes together. */
typedef struct lane_scalars {
    double alpha[LANES], beta[LANES], omega[LANES];
    const double *coefficients[LANES];
} lane_scalars;

static lane_scalars read_scalars(const tess_fused *op, int first, int width)
{
    lane_scalars all = {.alpha = {0.0}};

    for (int l = 0; l < width; l++) {
        const tess_loop_state *s = op->state ? &op->state[first + l] : NULL;
        const char *coefficients = (const char *)op->coefficients;

        if (s) {
            all.alpha[l] = s->alpha;
            all.beta[l] = s->beta;
            all.omega[l] = s->omega;
        }
        if (coefficients) { coefficients += (size_t)(first + l) * op->coefficient_stride; }
        all.coefficients[l] = (const double *)(const void *)coefficients;
    }
    return all;
}

typedef void (*element_function)(const tess_fused *f, tess_scalars s, int64_t i, int64_t row, double *dots);

/* `width` columns from `first` on, all of which run, in rows begin .. end - 1. sums: of the first dot product by
   column, then of the second. Constants fold away. */
TESS_INLINE void run_lanes(element_function function, const tess_fused *op, int first, int width, int64_t begin,
                           int64_t end, double *sums)
{
    const tess_fused local = *op;
    const lane_scalars s = read_scalars(op, first, width);
    double d0[LANES] = {0.0}, d1[LANES] = {0.0};

    for (int64_t row = begin; row < end; row++) {
        const int64_t i = row * local.columns + first;

#pragma omp simd
        for (int l = 0; l < width; l++) {
            double element[2] = {0.0, 0.0};

            function(&local, (tess_scalars){s.alpha[l], s.beta[l], s.omega[l]}, i + l, row, element);
            d0[l] += element[0];
            d1[l] += element[1];
        }
    }
    for (int l = 0; l < width; l++) {
        sums[first + l] = d0[l];
        sums[op->columns + first + l] = d1[l];
    }
}

/* One column: beside others that have ended, or with coefficients of its own. */
TESS_INLINE void run_column(element_function function, const tess_fused *op, int c, int64_t begin, int64_t end,
                            double *sums)
{
    const lane_scalars s = read_scalars(op, c, 1);
    tess_fused local = *op;
    double d0 = 0.0, d1 = 0.0;

    local.coefficients = s.coefficients[0];
    for (int64_t row = begin; row < end; row++) {
        double element[2] = {0.0, 0.0};

        function(&local, (tess_scalars){s.alpha[0], s.beta[0], s.omega[0]}, row * local.columns + c, row, element);
        d0 += element[0];
        d1 += element[1];
    }
    sums[c] = d0;
    sums[op->columns + c] = d1;
}

static bool all_run(const host_columns *columns, int first, int width)
{
    bool all = true;

    for (int l = 0; l < width; l++) {
        all = all && columns->runs[first + l];
    }
    return all;
}

TESS_INLINE void run_block(element_function function, const tess_fused *op, const host_columns *columns, int64_t begin,
                           int64_t end, double *sums)
{
    const int width = op->columns < LANES ? op->columns : LANES;

    for (int first = 0; first < op->columns; first += width) {
        const bool together = !op->coefficients && all_run(columns, first, width);

        if (together && width == LANES) {
            run_lanes(function, op, first, LANES, begin, end, sums);
        } else if (together && width == 4) {
            run_lanes(function, op, first, 4, begin, end, sums);
        } else if (together && width == 2) {
            run_lanes(function, op, first, 2, begin, end, sums);
        } else {
            for (int c = first; c < first + width; c++) {
                if (columns->runs[c]) { run_column(function, op, c, begin, end, sums); }
            }
        }
    }
}

typedef void (*block_function)(const tess_fused *op, const host_columns *columns, int64_t begin, int64_t end,
                               double *sums);

#define TESS_FUSED(NAME, function, ndots)                                                                       \
    static void block_##function(const tess_fused *op, const host_columns *columns, int64_t begin, int64_t end, \
                                 double *sums)                                                                  \
    {                                                                                                           \
        run_block(function, op, columns, begin, end, sums);                                                     \
    }
#define TESS_BLAS(NAME, function, operands, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED

static const struct columns_entry {
    block_function block;
    int ndots;
} entries[] = {
#define TESS_FUSED(NAME, function, ndots) [TESS_FUSED_##NAME] = {block_##function, ndots},
#define TESS_BLAS(NAME, function, operands, ndots) [TESS_FUSED_##NAME] = {NULL, 0},
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
};

tess_status host_columns_fused(tess_context *ctx, const tess_fused *op)
{
    const block_function block = entries[op->op].block;
    const int ndots = entries[op->op].ndots;
    const int64_t rows = op->n / op->columns, per_block = HOST_BLOCK / op->columns;
    const int64_t nblocks = (rows + per_block - 1) / per_block;
    const host_columns columns = host_columns_enter(op->state, op->columns, op->finishing, ndots > 0);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!block) {
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "vector operation %d does not take several columns", (int)op->op);
    }
    if (columns.running == 0) { return TESS_SUCCESS; }
    if (ndots > 0) { TESS_TRY(host_partials(ctx, (int64_t)ndots * op->columns * nblocks, &partials)); }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (op->n > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        const int64_t end = (b + 1) * per_block < rows ? (b + 1) * per_block : rows;
        double sums[2 * TESS_MAX_COLUMNS] = {0.0};

        block(op, &columns, b * per_block, end, sums);
        for (int k = 0; k < ndots * op->columns; k++) {
            partials[k * nblocks + b] = sums[k];
        }
    }
    if (ndots > 0) { host_columns_finish(&columns, partials, nblocks, ndots, op->scalar, op->state); }
cleanup:
    return status;
}
