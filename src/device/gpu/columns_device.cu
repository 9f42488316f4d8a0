/* SPDX-License-Identifier: Apache-2.0 */
/* Fused passes over vectors of several columns on the GPU. */
#include "device/gpu/columns.cuh"
#include "device/gpu/solver_pass.cuh"

/* Blocks per multiprocessor: a reducing pass has fewer, because its last block adds up the sums of all. */
template <tess_fused_op OP, int NDOTS>
constexpr int column_blocks(void)
{
    return NDOTS > 0 ? 4 : needs_registers(OP) ? 5 : 8;
}

template <tess_fused_op OP, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (column_blocks<OP, NDOTS>()))
    columns_kernel(const tess_fused op, const columns_target target, int columns_log)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    tess_scalars scalars = {0.0, 0.0, 0.0};
    tess_fused own = op;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    const bool runs = column_enter(target, NDOTS > 0, &scalars);

    if (op.coefficients) {
        const char *first = (const char *)op.coefficients;

        own.coefficients = (const double *)(const void *)(first + column_of_thread(target) * op.coefficient_stride);
    }
    if (runs) {
        for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < op.n; i += step) {
            apply_body<OP>(&own, scalars, i, i >> columns_log, dots);
        }
    }
    if (NDOTS > 0) { column_grid_reduce(dots, runs, target); }
}

/* ---- two columns a thread ---- */

/* Columns of a thread; blocks per multiprocessor, for which registers must suffice. */
enum { PAIR = 2, PAIR_BLOCKS = 4 };

/* The vectors of a pass, as bits of the numbers in tess_fused.in and out. None: it has no such kernel. */
struct pass_vectors {
    unsigned in, changed, written; /* out: read and written; only written */
};

/* scaled: with a diagonal preconditioner. */
__host__ __device__ constexpr pass_vectors vectors_of(tess_fused_op op, bool scaled)
{
    const unsigned second = scaled ? 2U : 0U, third = scaled ? 4U : 0U;

    switch (op) {
    case TESS_FUSED_DOT_ONE: return {3U, 0U, 0U};
    case TESS_FUSED_DOT_TWO: return {7U, 0U, 0U};
    case TESS_FUSED_CG_START: return {1U, 0U, 1U};
    case TESS_FUSED_CG_RESIDUAL: return {1U, 1U, 0U};
    case TESS_FUSED_CG_DIRECTION: return {1U, 3U, 0U};
    case TESS_FUSED_BICGSTAB_DIRECTION: return {3U, 1U, second};
    case TESS_FUSED_BICGSTAB_HALF: return {1U, 1U, second};
    case TESS_FUSED_BICGSTAB_UPDATE: return {15U, 3U, 0U};
    case TESS_FUSED_MINRES_LANCZOS: return {1U, 3U, 0U};
    case TESS_FUSED_MINRES_DIRECTION: return {1U | second, 3U, third};
    case TESS_FUSED_ADVANCE: return {3U, 3U, 0U};
    case TESS_FUSED_DIAGONAL: return {1U, 0U, 1U};
    default: return {0U, 0U, 0U};
    }
}

__host__ __device__ constexpr bool has_coefficients(tess_fused_op op)
{
    return op == TESS_FUSED_MINRES_LANCZOS || op == TESS_FUSED_MINRES_DIRECTION || op == TESS_FUSED_ADVANCE;
}

/* Of the first vector that it writes. */
__host__ __device__ constexpr bool has_shadow(tess_fused_op op)
{
    return op == TESS_FUSED_DIAGONAL;
}

constexpr bool takes_scale(tess_fused_op op)
{
    return op != TESS_FUSED_DOT_ONE && op != TESS_FUSED_DOT_TWO && op != TESS_FUSED_BICGSTAB_UPDATE &&
           op != TESS_FUSED_ADVANCE;
}

enum { PASS_INPUTS = 4, PASS_OUTPUTS = 3, PASS_COEFFICIENTS = 3 };

/* What a thread knows of its columns. */
struct pair_scalars {
    tess_scalars loop[PAIR];
    double coefficients[PAIR][PASS_COEFFICIENTS];
};

template <tess_fused_op OP>
__device__ static inline void read_scalars(const tess_fused &op, int first, pair_scalars *s)
{
#pragma unroll
    for (int w = 0; w < PAIR; w++) {
        s->loop[w] = {};
        if (op.state) { s->loop[w] = {op.state[first + w].alpha, op.state[first + w].beta, op.state[first + w].omega}; }
        if constexpr (has_coefficients(OP)) {
            const char *const of_first = (const char *)op.coefficients;
            const double *const own = (const double *)(const void *)(of_first + (first + w) * op.coefficient_stride);

#pragma unroll
            for (int k = 0; k < PASS_COEFFICIENTS; k++) {
                s->coefficients[w][k] = own[k];
            }
        }
    }
}

typedef thread_columns<PAIR> pair_columns;

/* The thread's columns of a row. All vectors are read before one is written. */
template <tess_fused_op OP, bool SCALED, int N>
__device__ static inline void apply_pair(const tess_fused &op, const pair_columns &own, const pair_scalars &s,
                                         int64_t row, double (&dots)[PAIR][N])
{
    constexpr pass_vectors vectors = vectors_of(OP, SCALED);
    const int64_t at = row * own.columns + own.first;
    columns_pack<double, PAIR> in[PASS_INPUTS], out[PASS_OUTPUTS];
    const double scale = SCALED ? op.scale[row] : 1.0;
    tess_fused of_row = {};

#pragma unroll
    for (int k = 0; k < PASS_INPUTS; k++) {
        if (vectors.in >> k & 1U) { in[k] = pack_at<PAIR>(op.in[k] + at); }
        of_row.in[k] = in[k].value;
    }
#pragma unroll
    for (int k = 0; k < PASS_OUTPUTS; k++) {
        if (vectors.changed >> k & 1U) { out[k] = pack_at<PAIR>((const double *)op.out[k] + at); }
        of_row.out[k] = out[k].value;
    }
    if (SCALED) { of_row.scale = &scale; }
#pragma unroll
    for (int w = 0; w < PAIR; w++) {
        if (has_coefficients(OP)) { of_row.coefficients = s.coefficients[w]; }
        apply_body<OP>(&of_row, s.loop[w], w, 0, dots[w]);
    }
#pragma unroll
    for (int k = 0; k < PASS_OUTPUTS; k++) {
        if ((vectors.changed | vectors.written) >> k & 1U) { own.put(op.out[k] + at, out[k]); }
    }
    if (has_shadow(OP) && op.shadow) {
        own.put(op.shadow + at, columns_pack<float, PAIR>{{(float)out[0].value[0], (float)out[0].value[1]}});
    }
}

/* 1 << threads_log threads have the columns of a row. */
template <tess_fused_op OP, int NDOTS, bool SCALED>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, PAIR_BLOCKS)
    pairs_kernel(const tess_fused op, const columns_target target, int threads_log)
{
    const int64_t rows = op.n / target.columns, step = ((int64_t)gridDim.x * GPU_BLOCK) >> threads_log;
    double dots[PAIR][NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars of_thread;
    pair_scalars s;
    const bool runs = column_enter(target, NDOTS > 0, &of_thread);
    const pair_columns own(target);

    if (own.any()) {
        read_scalars<OP>(op, own.first, &s);
        for (int64_t row = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) >> threads_log; row < rows; row += step) {
            apply_pair<OP, SCALED>(op, own, s, row, dots);
        }
    }
    if constexpr (NDOTS > 0) {
        double sums[NDOTS];

        own.give_sums(dots, sums);
        column_grid_reduce(sums, runs, target);
    }
}

/* Whether all vectors of the pass can be read 16 bytes at a time, and the pass does nothing else. */
template <tess_fused_op OP>
static bool takes_pairs(const tess_fused *op)
{
    const pass_vectors vectors = vectors_of(OP, op->scale != NULL);
    uintptr_t places = (uintptr_t)op->shadow;

    for (int k = 0; k < PASS_INPUTS; k++) {
        if (vectors.in >> k & 1U) { places |= (uintptr_t)op->in[k]; }
    }
    for (int k = 0; k < PASS_OUTPUTS; k++) {
        if ((vectors.changed | vectors.written) >> k & 1U) { places |= (uintptr_t)op->out[k]; }
    }
    return vectors.in != 0U && op->columns % PAIR == 0 && places % 16 == 0 && (!op->shadow || has_shadow(OP));
}

/* ---- launches ---- */

static int log_of(int columns)
{
    int log = 0;

    while (1 << log < columns) {
        log += 1;
    }
    return log;
}

template <tess_fused_op OP, int NDOTS>
static tess_status launch_columns(tess_context *ctx, const tess_fused *op)
{
    gpu_scope scope(ctx);
    const bool pairs = takes_pairs<OP>(op);
    const int each = pairs ? (int)PAIR : 1, blocks = pairs ? (int)PAIR_BLOCKS : column_blocks<OP, NDOTS>();
    const unsigned grid = gpu_grid(ctx, op->n / each, blocks);
    columns_target target = {op->state, op->columns, op->finishing, NULL, NULL, TESS_SCALAR_NONE};
    void (*kernel)(tess_fused, columns_target, int) = columns_kernel<OP, NDOTS>;
    tess_status status = TESS_SUCCESS;

    if constexpr (vectors_of(OP, false).in != 0U) {
        if (pairs) { kernel = pairs_kernel<OP, NDOTS, false>; }
        if (pairs && takes_scale(OP) && op->scale) { kernel = pairs_kernel<OP, NDOTS, takes_scale(OP)>; }
    }
    TESS_TRY(prepare_columns(ctx, grid, NDOTS, op->scalar, &target));
    status = gpu_launch(ctx, "a vector operation on several columns", kernel, grid, 0, *op, target,
                        log_of(op->columns / each));
cleanup:
    return status;
}

tess_status gpu_fused_columns(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        return launch_columns<TESS_FUSED_##NAME, ndots>(ctx, op);
#define TESS_BLAS(NAME, function, operands, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default:
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "vector operation %d does not take several columns", (int)op->op);
    }
}
