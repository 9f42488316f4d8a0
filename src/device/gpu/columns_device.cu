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

/* ---- COLUMNS_EACH columns a thread ---- */

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

/* Blocks per multiprocessor, for which registers must suffice. */
constexpr int pack_blocks(tess_fused_op op)
{
    return needs_registers(op) ? 2 : 4;
}

enum { PASS_INPUTS = 4, PASS_OUTPUTS = 3, PASS_COEFFICIENTS = 3 };

/* What a thread has of its columns. */
struct pack_scalars {
    tess_scalars loop[COLUMNS_EACH];
    double coefficients[COLUMNS_EACH][PASS_COEFFICIENTS];
    bool runs[COLUMNS_EACH];
    bool all; /* run */
};

template <tess_fused_op OP>
__device__ static inline void read_scalars(const tess_fused &op, int first, pack_scalars *s)
{
    s->all = true;
#pragma unroll
    for (int w = 0; w < COLUMNS_EACH; w++) {
        s->all = s->all && s->runs[w];
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

/* Writes the columns that run. */
template <typename VALUE>
__device__ static inline void store_pack(VALUE *to, const columns_pack<VALUE, COLUMNS_EACH> &from,
                                         const pack_scalars &s)
{
    if (s.all) {
        *(columns_pack<VALUE, COLUMNS_EACH> *)(void *)to = from;
        return;
    }
#pragma unroll
    for (int w = 0; w < COLUMNS_EACH; w++) {
        if (s.runs[w]) { to[w] = from.value[w]; }
    }
}

/* Values at .. at + COLUMNS_EACH - 1, of columns of one row. All are read before one is written. */
template <tess_fused_op OP, bool SCALED, int N>
__device__ static inline void apply_pack(const tess_fused &op, const pack_scalars &s, int64_t at, int64_t row,
                                         double (&dots)[COLUMNS_EACH][N])
{
    constexpr pass_vectors vectors = vectors_of(OP, SCALED);
    columns_pack<double, COLUMNS_EACH> in[PASS_INPUTS], out[PASS_OUTPUTS];
    const double scale = SCALED ? op.scale[row] : 1.0;
    tess_fused own = {};

#pragma unroll
    for (int k = 0; k < PASS_INPUTS; k++) {
        if (vectors.in >> k & 1U) { in[k] = pack_at<COLUMNS_EACH>(op.in[k] + at); }
        own.in[k] = in[k].value;
    }
#pragma unroll
    for (int k = 0; k < PASS_OUTPUTS; k++) {
        if (vectors.changed >> k & 1U) { out[k] = pack_at<COLUMNS_EACH>((const double *)op.out[k] + at); }
        own.out[k] = out[k].value;
    }
    if (SCALED) { own.scale = &scale; }
#pragma unroll
    for (int w = 0; w < COLUMNS_EACH; w++) {
        if (has_coefficients(OP)) { own.coefficients = s.coefficients[w]; }
        apply_body<OP>(&own, s.loop[w], w, 0, dots[w]);
    }
#pragma unroll
    for (int k = 0; k < PASS_OUTPUTS; k++) {
        if ((vectors.changed | vectors.written) >> k & 1U) { store_pack(op.out[k] + at, out[k], s); }
    }
    if (has_shadow(OP) && op.shadow) {
        columns_pack<float, COLUMNS_EACH> narrow;

#pragma unroll
        for (int w = 0; w < COLUMNS_EACH; w++) {
            narrow.value[w] = (float)out[0].value[w];
        }
        store_pack(op.shadow + at, narrow, s);
    }
}

/* 1 << threads_log threads have the columns of a row. */
template <tess_fused_op OP, int NDOTS, bool SCALED>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (pack_blocks(OP)))
    packs_kernel(const tess_fused op, const columns_target target, int threads_log)
{
    const int first = ((int)threadIdx.x & ((1 << threads_log) - 1)) * COLUMNS_EACH;
    const int64_t packs = op.n / COLUMNS_EACH, step = (int64_t)gridDim.x * GPU_BLOCK;
    double dots[COLUMNS_EACH][NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars of_thread;
    pack_scalars s;
    const bool runs = column_enter(target, NDOTS > 0, &of_thread), any = columns_run(target, first, s.runs);

    if (any) {
        read_scalars<OP>(op, first, &s);
        for (int64_t p = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; p < packs; p += step) {
            apply_pack<OP, SCALED>(op, s, p * COLUMNS_EACH, p >> threads_log, dots);
        }
    }
    if constexpr (NDOTS > 0) {
        double own[NDOTS];

        columns_to_threads(dots, target.columns, own);
        column_grid_reduce(own, runs, target);
    }
}

/* Whether all vectors of the pass can be read 16 bytes at a time, and the pass does nothing else. */
template <tess_fused_op OP>
static bool takes_packs(const tess_fused *op)
{
    const pass_vectors vectors = vectors_of(OP, op->scale != NULL);
    uintptr_t places = (uintptr_t)op->shadow;

    for (int k = 0; k < PASS_INPUTS; k++) {
        if (vectors.in >> k & 1U) { places |= (uintptr_t)op->in[k]; }
    }
    for (int k = 0; k < PASS_OUTPUTS; k++) {
        if ((vectors.changed | vectors.written) >> k & 1U) { places |= (uintptr_t)op->out[k]; }
    }
    return vectors.in != 0U && op->columns % COLUMNS_EACH == 0 && places % 16 == 0 && (!op->shadow || has_shadow(OP));
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
    const bool packs = takes_packs<OP>(op);
    const int each = packs ? (int)COLUMNS_EACH : 1, blocks = packs ? pack_blocks(OP) : column_blocks<OP, NDOTS>();
    const unsigned grid = gpu_grid(ctx, op->n / each, blocks);
    columns_target target = {op->state, op->columns, op->finishing, NULL, NULL, TESS_SCALAR_NONE};
    void (*kernel)(tess_fused, columns_target, int) = columns_kernel<OP, NDOTS>;
    tess_status status = TESS_SUCCESS;

    if constexpr (vectors_of(OP, false).in != 0U) {
        if (packs) { kernel = packs_kernel<OP, NDOTS, false>; }
        if (packs && takes_scale(OP) && op->scale) { kernel = packs_kernel<OP, NDOTS, takes_scale(OP)>; }
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
