/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block Jacobi on the GPU: it stores the same bits as the host, and its results are within the rounding of the sums.
 * Solves with low precisions by both engines, also after new values that change the precisions.
 */
#include <tessera/codec.h>

#include "precond/block_jacobi/block_storage.h"
#include "precond/precond.h"
#include "solver/method_solver.h"
#include "support/solve.h"

static tess_context *gpu = NULL;

/* Random values within `width` of the diagonal, none of them outstanding: elimination has rows to exchange. */
static oracle_csr random_band(int64_t n, int64_t width, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > width ? i - width : 0; j <= i + width && j < n; j++) {
            oracle_push(&a, j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static tess_precond_options options_of(int block_size, tess_precision storage, tess_arithmetic arithmetic, int adaptive)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = block_size == 1 ? TESS_PRECOND_JACOBI : TESS_PRECOND_BLOCK_JACOBI;
    options.block_jacobi.block_size = block_size;
    options.role = (tess_role_precision){1, storage, arithmetic};
    options.block_jacobi.adaptive = adaptive && block_size > 1;
    return options;
}

/* The same preconditioner on the host and on the GPU. */
typedef struct twins {
    tess_context *cpu;
    tess_matrix *matrix[2];
    tess_precond *precond[2];
} twins;

static twins make_twins(const oracle_csr *a, const tess_precond_options *options)
{
    twins t = {.cpu = open_cpu(2)};

    for (int k = 0; k < 2; k++) {
        tess_context *ctx = k == 0 ? t.cpu : gpu;

        t.matrix[k] = make_matrix(ctx, a);
        assert_ok(ctx, tess_precond_create(t.matrix[k], options, &t.precond[k]));
    }
    return t;
}

static void destroy_twins(twins *t)
{
    for (int k = 0; k < 2; k++) {
        tess_precond_destroy(t->precond[k]);
        tess_matrix_destroy(t->matrix[k]);
    }
    tess_context_destroy(t->cpu);
}

/* A copy of a device array on the host; NULL for NULL. */
static void *fetch(const void *device, int64_t bytes)
{
    void *host = device ? test_allocate(bytes, 1) : NULL;

    if (device) { assert_ok(gpu, gpu->backend->download(gpu, host, device, (size_t)bytes)); }
    return host;
}

/* ---- set-up ---- */

static void check_stored(const twins *t)
{
    const tess_block_diagonal *host = t->precond[0]->own, *device = t->precond[1]->own;
    const int64_t nblocks = block_count(host), values = (int64_t)host->block_size * host->block_size;
    char *inverse = fetch(device->inverse, device->bytes);
    int16_t *exponents = fetch(device->exponents, nblocks * 2);
    uint8_t *precisions = fetch(device->precisions, nblocks);
    char **places = fetch((const void *)device->places, (nblocks + 1) * (int64_t)sizeof *places);

    assert_int_equal(host->bytes, device->bytes);
    assert_int_equal(tess_precond_bytes(t->precond[0]), tess_precond_bytes(t->precond[1]));
    assert_memory_equal(host->counts, device->counts, sizeof host->counts);
    for (int64_t b = 0; b < nblocks; b++) {
        const int64_t offset = block_place(host, b) - (char *)host->inverse;
        const size_t bytes = (size_t)values * tess_precision_bytes(block_precision(host, b));

        if (host->exponents) { assert_int_equal(host->exponents[b], exponents[b]); }
        if (host->precisions) {
            assert_int_equal(host->precisions[b], precisions[b]);
            assert_int_equal(places[b] - (char *)device->inverse, offset);
        }
        assert_memory_equal(block_place(host, b), inverse + offset, bytes);
    }
    free(inverse);
    free(exponents);
    free(precisions);
    free((void *)places);
}

static void stores_the_hosts_bits(void **state)
{
    (void)state;
    for (int k = 1; k <= TESS_MAX_BLOCK_SIZE; k += (int)on_gpu_or_emulated(1, k < 9 ? 1 : 11)) {
        oracle_csr a = random_band(5 * k + k / 2 + 1, k, (uint64_t)k); /* a short last block */

        for (int c = 0; c < TESS_PRECISION_COUNT * 2; c++) {
            tess_precond_options o = options_of(k, (tess_precision)(c / 2), TESS_ARITHMETIC_FP64, c % 2);
            twins t = make_twins(&a, &o);

            check_stored(&t);
            destroy_twins(&t);
        }
        oracle_free(&a);
    }
}

/* A row of zeros; for Jacobi, which takes 1 for a zero, one of NaN. */
static void names_the_singular_row(void **state)
{
    oracle_csr a = oracle_tridiagonal(300, -1.0, 4.0, -1.0);
    tess_precond *m = NULL;

    (void)state;
    for (int c = 0; c < 6; c++) {
        const int sizes[] = {1, 8, 64};
        tess_precond_options o = options_of(sizes[c / 2], TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64, c % 2);
        tess_matrix *matrix = NULL;

        for (int64_t k = a.row_ptr[256]; k < a.row_ptr[257]; k++) {
            a.val[k] = c < 2 ? NAN : 0.0;
        }
        matrix = make_matrix(gpu, &a);
        assert_fails(gpu, TESS_SINGULAR, tess_precond_create(matrix, &o, &m));
        assert_null(m);
        if (c < 2) { assert_non_null(strstr(tess_context_last_error(gpu)->message, "row 257")); }
        tess_matrix_destroy(matrix);
    }
    oracle_free(&a);
}

/* ---- application ---- */

/* magnitude = |M^-1| |r| with the stored values. */
static void bound_products(const tess_block_diagonal *m, const double *r, double *magnitude)
{
    for (int64_t b = 0; b < block_count(m); b++) {
        const int64_t first = b * m->block_size;

        for (int i = 0; i < block_rows(m, b); i++) {
            double sum = 0.0;

            for (int j = 0; j < block_rows(m, b); j++) {
                sum += fabs(tess_load(block_precision(m, b), block_place(m, b), i + m->block_size * j) * r[first + j]);
            }
            magnitude[first + i] = sum * block_scale(m, b);
        }
    }
}

/* z := M^-1 r with vectors of that precision; nothing is written past its end. */
static void apply(tess_context *ctx, const tess_precond *m, tess_precision vectors, const double *r, double *z)
{
    const size_t size = tess_precision_bytes(vectors), bytes = (size_t)m->n * size;
    const tess_reduction none = {0};
    void *workspace = NULL, *result = NULL;
    char *values = test_allocate((int64_t)bytes + 8, 1);

    assert_ok(ctx, tess_device_allocate(ctx, (int64_t)bytes, 1, &workspace));
    assert_ok(ctx, tess_device_allocate(ctx, (int64_t)bytes + 8, 1, &result));
    for (int64_t i = 0; i < m->n; i++) {
        tess_store(vectors, values, i, r[i], TESS_OVERFLOW_INFINITY);
    }
    assert_ok(ctx, ctx->backend->upload(ctx, workspace, values, bytes));
    memset(values, 77, bytes + 8);
    assert_ok(ctx, ctx->backend->upload(ctx, result, values, bytes + 8));
    assert_ok(ctx, tess_precond_apply_fused(m, vectors, workspace, result, &none));
    assert_ok(ctx, ctx->backend->download(ctx, values, result, bytes + 8));
    for (int64_t i = 0; i < m->n; i++) {
        z[i] = tess_load(vectors, values, i);
    }
    for (size_t i = bytes; i < bytes + 8; i++) {
        assert_int_equal(values[i], 77);
    }
    tess_device_release(ctx, workspace, (int64_t)bytes, 1);
    tess_device_release(ctx, result, (int64_t)bytes + 8, 1);
    free(values);
}

static void check_applied(const oracle_csr *a, const tess_precond_options *o)
{
    const int64_t n = a->nrows;
    double *r = random_values(n, 3, -1.0, 1.0), *magnitude = test_allocate(n, sizeof *r);
    double *here = test_allocate(n, sizeof *r), *there = test_allocate(n, sizeof *r);
    const double u = o->role.arithmetic == TESS_ARITHMETIC_FP32 ? 0x1p-24 : 0x1p-53;
    twins t = make_twins(a, o);

    for (int64_t i = 0; i < n; i++) {
        r[i] = (double)(float)r[i];
    }
    bound_products(t.precond[0]->own, r, magnitude);
    for (int v = TESS_PRECISION_FP64; v <= TESS_PRECISION_FP32; v++) {
        const double rounding = v == TESS_PRECISION_FP32 ? 0x1p-23 : 0x1p-52;

        apply(t.cpu, t.precond[0], (tess_precision)v, r, here);
        apply(gpu, t.precond[1], (tess_precision)v, r, there);
        for (int64_t i = 0; i < n; i++) {
            assert_at_most(fabs(here[i] - there[i]),
                           (2.0 * (o->block_jacobi.block_size + 4) * u + rounding) * magnitude[i] * (1.0 + 1e-4));
        }
    }
    destroy_twins(&t);
    free(r);
    free(magnitude);
    free(here);
    free(there);
}

static void applies_as_the_host_does(void **state)
{
    (void)state;
    for (int k = 1; k <= TESS_MAX_BLOCK_SIZE; k += (int)on_gpu_or_emulated(1, k < 9 ? 1 : 11)) {
        oracle_csr a = random_band(7 * k + k / 2 + 1, k, (uint64_t)k + 100);

        for (int c = 0; c < TESS_PRECISION_COUNT * 4; c++) {
            tess_precond_options o = options_of(k, (tess_precision)(c / 4), (tess_arithmetic)(c / 2 % 2), c % 2);

            check_applied(&a, &o);
        }
        oracle_free(&a);
    }
}

/* More tiles than the grid has blocks, and blocks of every place in a tile. */
static void applies_to_many_tiles(void **state)
{
    const int sizes[] = {1, 2, 7, 8, 33, 64};
    oracle_csr a = oracle_tridiagonal(on_gpu_or_emulated(700001, 20001), -1.0, 3.0, -1.5);

    (void)state;
    for (int c = 0; c < 6 * TESS_PRECISION_COUNT; c++) {
        if (gpu_is_emulated() && (c + c / 6) % 2 != 0) { continue; } /* each size and precision, not each pair */
        tess_precond_options o =
            options_of(sizes[c % 6], (tess_precision)(c / 6), TESS_ARITHMETIC_FP64, c / 6 == TESS_PRECISION_FP16);

        check_applied(&a, &o);
    }
    oracle_free(&a);
}

/* ---- solves ---- */

static tess_precond_options solve_precond(int k)
{
    const int sizes[] = {1, 5, 8};

    return options_of(sizes[k % 3], (tess_precision)(k / 6), (tess_arithmetic)(k / 3 % 2), k % 2);
}

static void engines_agree_bit_for_bit(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES};

    (void)state;
    for (int s = 0; s < 3; s++) {
        oracle_csr a = s == 0 ? oracle_laplace2d(on_gpu_or_emulated(50, 16))
                              : oracle_convection2d(on_gpu_or_emulated(50, 16), 0.5);

        for (int k = 0; k < 6 * TESS_PRECISION_COUNT; k++) {
            if (gpu_is_emulated() && (k + k / 6) % 3 != s) { continue; } /* each with one of the solvers */
            tess_solve_options options = solve_options(kinds[s]);

            options.precond = solve_precond(k);
            check_engines_agree(gpu, &a, options);
        }
        oracle_free(&a);
    }
}

/* The diagonal of every third row grows: blocks need other precisions and lie elsewhere; the recorded loop finds them.
 */
static void worsen(oracle_csr *a)
{
    for (int64_t i = 0; i < a->nrows; i += 3) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (a->col_ind[k] == i) { a->val[k] *= 4000.0; }
        }
    }
}

static void recorded_loops_follow_adaptive_blocks(void **state)
{
    oracle_csr a = oracle_laplace2d(40);
    const int64_t n = a.nrows;
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(2 * n, sizeof *x);
    tess_matrix *matrix = make_matrix(gpu, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_solver *solver = NULL;

    (void)state;
    options.precond = options_of(8, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64, 1);
    options.engine = TESS_ENGINE_GRAPH;
    assert_ok(gpu, tess_solver_create(matrix, &options, &solver));
    for (int turn = 0; turn < 2; turn++) {
        memset(x, 0, 2 * (size_t)n * sizeof *x);
        result = solve_with(solver, gpu, n, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_non_null(method_of(solver)->graph);
        result = solve_once(gpu, &a, &options, b, x + n);
        assert_true(same_bits(x, x + n, n));
        check_honest(&a, b, x, &options, &result);
        worsen(&a);
        assert_ok(gpu, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_the_hosts_bits),     cmocka_unit_test(names_the_singular_row),
        cmocka_unit_test(applies_as_the_host_does),  cmocka_unit_test(applies_to_many_tiles),
        cmocka_unit_test(engines_agree_bit_for_bit), cmocka_unit_test(recorded_loops_follow_adaptive_blocks),
    };

    return run_gpu_tests(tests, &gpu);
}
