/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi and block Jacobi below fp64: errors against dense solves, scales, adaptive precisions, renewal, and solves
 * with them. */
#include "precond/precond.h"

#include <tessera/codec.h>

#include "precond/block_jacobi/block_jacobi.h"
#include "support/solve.h"

static const tess_precision vector_precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32};

static tess_precond_options block_options(int block_size)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = block_size == 1 ? TESS_PRECOND_JACOBI : TESS_PRECOND_BLOCK_JACOBI;
    options.block_jacobi.block_size = block_size;
    return options;
}

static tess_precond_options low_options(int block_size, tess_precision storage, tess_arithmetic arithmetic)
{
    tess_precond_options options = block_options(block_size);

    options.role = (tess_role_precision){1, storage, arithmetic};
    return options;
}

static tess_precond *make_precond(const tess_matrix *a, tess_precond_options options)
{
    tess_precond *m = NULL;

    assert_ok(a->ctx, tess_precond_create(a, &options, &m));
    return m;
}

/* z := M^-1 r with vectors of that precision, as FP64 values. */
static void apply(const tess_precond *m, tess_precision vectors, const double *r, double *z)
{
    const tess_reduction none = {0};

    if (vectors == TESS_PRECISION_FP64) {
        assert_ok(m->ctx, tess_precond_apply_fused(m, vectors, r, z, &none));
        return;
    }
    float *narrow = test_allocate(2 * m->n, sizeof *narrow);

    for (int64_t i = 0; i < m->n; i++) {
        narrow[i] = (float)r[i];
    }
    assert_ok(m->ctx, tess_precond_apply_fused(m, vectors, narrow, narrow + m->n, &none));
    for (int64_t i = 0; i < m->n; i++) {
        z[i] = (double)narrow[m->n + i];
    }
    free(narrow);
}

/* Diagonal block first .. first + size - 1 of a, as a matrix of its own. */
static oracle_csr block_of(const oracle_csr *a, int64_t first, int64_t size)
{
    oracle_csr block = oracle_open(size, size);

    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = a->row_ptr[first + i]; k < a->row_ptr[first + i + 1]; k++) {
            int64_t j = a->col_ind[k] - first;

            if (j >= 0 && j < size) { oracle_push(&block, j, a->val[k]); }
        }
        oracle_end_row(&block, i);
    }
    return block;
}

/* exact = B^-1 r, block by block. */
static void solve_blocks(const oracle_csr *a, int64_t block_size, const double *r, double *exact)
{
    for (int64_t first = 0; first < a->nrows; first += block_size) {
        int64_t size = first + block_size < a->nrows ? block_size : a->nrows - first;
        oracle_csr block = block_of(a, first, size);

        assert_true(oracle_solve_dense(&block, r + first, exact + first));
        oracle_free(&block);
    }
}

/* n values in (-1, 1) that FP32 holds. */
static double *float_values(int64_t n, uint64_t seed)
{
    double *r = random_values(n, seed, -1.0, 1.0);

    for (int64_t i = 0; i < n; i++) {
        r[i] = (double)(float)r[i];
    }
    return r;
}

/* ---- every storage ---- */

typedef struct reference {
    const tess_matrix *matrix;
    int64_t n;
    int block_size;
    const double *r;
    double *exact, *magnitude; /* B^-1 r, |B^-1| |r| */
} reference;

/* Entries of the inverses are at most 1: a value that is too small for the storage is below half its smallest number
   times the scale. */
static void check_storage(const reference *f, tess_precision storage, tess_arithmetic arithmetic,
                          tess_precision vectors)
{
    const bool narrow = storage == TESS_PRECISION_E4M3 || storage == TESS_PRECISION_E5M2;
    const double top = !narrow ? 65504.0 : storage == TESS_PRECISION_E4M3 ? 448.0 : 57344.0;
    const double u_arithmetic = arithmetic == TESS_ARITHMETIC_FP32 ? 0x1p-24 : 0x1p-53;
    const double tiny = tess_precision_smallest(storage) / top * (double)f->block_size;
    const double relative = tess_precision_unit_roundoff(storage) * 1.01 + 2.0 * (f->block_size + 2) * u_arithmetic +
                            2.0 * tess_precision_unit_roundoff(vectors) + 100.0 * f->block_size * 0x1p-53;
    tess_precond *m = make_precond(f->matrix, low_options(f->block_size, storage, arithmetic));
    double *z = test_allocate(f->n, sizeof *z);
    const int64_t blocks = (f->n + f->block_size - 1) / f->block_size;
    const bool plain = storage == TESS_PRECISION_FP64 && arithmetic == TESS_ARITHMETIC_FP64;
    int64_t counts[TESS_MAX_PRECISIONS];

    apply(m, vectors, f->r, z);
    for (int64_t i = 0; i < f->n; i++) {
        assert_at_most(fabs(z[i] - f->exact[i]), relative * f->magnitude[i] + tiny);
    }
    assert_int_equal(tess_precond_bytes(m),
                     blocks *
                         (f->block_size * f->block_size * (int64_t)tess_precision_bytes(storage) + (plain ? 0 : 2)));
    tess_precond_blocks_per_precision(m, counts);
    assert_int_equal(counts[storage], blocks);
    assert_int_equal(tess_precond_scale(m) != NULL, plain && f->block_size == 1);
    tess_precond_destroy(m);
    free(z);
}

static void every_storage_keeps_its_roundoff(void **state)
{
    oracle_csr a = oracle_convection2d(11, 0.5); /* 121 rows; inverses of its blocks have no negative entries */
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double *r = float_values(a.nrows, 7), *magnitudes = test_allocate(a.nrows, sizeof *r);
    reference f = {matrix, a.nrows, 0, r, test_allocate(a.nrows, sizeof *r), test_allocate(a.nrows, sizeof *r)};

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        magnitudes[i] = fabs(r[i]);
    }
    for (f.block_size = 1; f.block_size <= TESS_MAX_BLOCK_SIZE; f.block_size++) {
        solve_blocks(&a, f.block_size, r, f.exact);
        solve_blocks(&a, f.block_size, magnitudes, f.magnitude);
        for (int k = 0; k < TESS_PRECISION_COUNT * 4; k++) {
            check_storage(&f, (tess_precision)(k / 4), (tess_arithmetic)(k / 2 % 2), vector_precisions[k % 2]);
        }
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(magnitudes);
    free(f.exact);
    free(f.magnitude);
}

/* Rows first .. end - 1 times 2^exponent. */
static void scale_rows(oracle_csr *a, int64_t first, int64_t end, int exponent)
{
    for (int64_t k = a->row_ptr[first]; k < a->row_ptr[end]; k++) {
        a->val[k] = ldexp(a->val[k], exponent);
    }
}

/* Blocks times a power of two far outside of FP32 give results that are exactly those over it. */
static void scales_are_each_blocks_own(void **state)
{
    enum { K = 5, N = 18, LARGE = 997 }; /* 2^997 is about 1e300; the last block has 3 rows */
    oracle_csr a = oracle_tridiagonal(N, -1.0, 4.0, -1.0), scaled = oracle_copy(&a);
    tess_context *ctx = open_cpu(1);
    double *r = float_values(N, 3), z[N], expected[N];

    (void)state;
    scale_rows(&scaled, 0, K, LARGE);
    scale_rows(&scaled, K, 2 * K, -LARGE);
    scale_rows(&scaled, 3 * K, N, LARGE);
    tess_matrix *plain = make_matrix(ctx, &a), *wide_ranged = make_matrix(ctx, &scaled);
    for (int k = 0; k < TESS_PRECISION_COUNT * 4; k++) {
        const int size = k % 2 ? K : 1, exponents[] = {-LARGE, LARGE, 0, -LARGE};
        tess_precond_options o = low_options(size, (tess_precision)(k / 4), (tess_arithmetic)(k / 2 % 2));
        tess_precond *one = make_precond(plain, o), *other = make_precond(wide_ranged, o);

        apply(one, TESS_PRECISION_FP64, r, expected);
        apply(other, TESS_PRECISION_FP64, r, z);
        for (int64_t i = 0; i < N; i++) {
            expected[i] = ldexp(expected[i], exponents[i / K]);
        }
        assert_true(same_bits(z, expected, N));
        tess_precond_destroy(one);
        tess_precond_destroy(other);
    }
    tess_matrix_destroy(plain);
    tess_matrix_destroy(wide_ranged);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&scaled);
    free(r);
}

static void threads_do_not_change_bits(void **state)
{
    oracle_csr a = oracle_convection2d(90, 0.5);
    double *r = float_values(a.nrows, 9), *z[2];
    const int sizes[] = {1, 6, 64};

    (void)state;
    for (int k = 0; k < TESS_PRECISION_COUNT * 3; k++) {
        for (int threads = 1; threads <= 2; threads++) {
            tess_context *ctx = open_cpu(threads);
            tess_matrix *matrix = make_matrix(ctx, &a);
            tess_precond *m =
                make_precond(matrix, low_options(sizes[k % 3], (tess_precision)(k / 3), TESS_ARITHMETIC_FP32));

            z[threads - 1] = test_allocate(a.nrows, sizeof **z);
            apply(m, TESS_PRECISION_FP64, r, z[threads - 1]);
            tess_precond_destroy(m);
            tess_matrix_destroy(matrix);
            tess_context_destroy(ctx);
        }
        assert_true(same_bits(z[0], z[1], a.nrows));
        free(z[0]);
        free(z[1]);
    }
    oracle_free(&a);
    free(r);
}

/* ---- adaptive precision ---- */

enum { ADAPTIVE_BLOCKS = 7, ADAPTIVE_N = 2 * ADAPTIVE_BLOCKS - 1 };

/* Blocks diag(4, 4 / c) of these condition numbers; the last block has only its first row. */
static const double conditions[ADAPTIVE_BLOCKS] = {1.0, 16.0, 32.0, 128.0, 256.0, 0x1p20, 0x1p21};

static oracle_csr adaptive_matrix(bool reversed)
{
    double diagonal[ADAPTIVE_N + 1];

    for (int b = 0; b < ADAPTIVE_BLOCKS; b++) {
        diagonal[2 * b] = 4.0;
        diagonal[2 * b + 1] = 4.0 / conditions[reversed ? ADAPTIVE_BLOCKS - 1 - b : b];
    }
    return oracle_diagonal(ADAPTIVE_N, diagonal);
}

/* And that each block takes its bytes (a multiple of 8) and 11 more, except those that may be only in fp64. */
static void check_counts(const tess_precond *m, const int64_t *expected)
{
    const bool fp64 = expected[TESS_PRECISION_FP64] == ADAPTIVE_BLOCKS;
    int64_t counts[TESS_MAX_PRECISIONS], bytes = fp64 ? 0 : 8;

    tess_precond_blocks_per_precision(m, counts);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        int64_t size = 4 * (int64_t)tess_precision_bytes((tess_precision)p);

        assert_int_equal(counts[p], expected[p]);
        bytes += counts[p] *
                 ((size < 8 ? 8 : size) + (fp64 ? ((const tess_block_diagonal *)m->own)->exponents ? 2 : 0 : 11));
    }
    assert_int_equal(tess_precond_bytes(m), bytes);
}

/* The matrix's entries and those of its inverse are powers of two: any storage holds them. */
static void check_exact(const tess_precond *m, const oracle_csr *a)
{
    double *r = float_values(ADAPTIVE_N, 4), z[ADAPTIVE_N];

    for (int v = 0; v < 2; v++) {
        apply(m, vector_precisions[v], r, z);
        for (int64_t i = 0; i < ADAPTIVE_N; i++) {
            assert_true(z[i] == r[i] / a->val[i]);
        }
    }
    free(r);
}

static void adaptive_blocks_get_what_their_condition_allows(void **state)
{
    /* lowest precision, then how many of the seven blocks are in fp64, fp32, bf16, fp16, e4m3, e5m2 */
    static const struct {
        int given;
        tess_precision lowest;
        int64_t counts[TESS_MAX_PRECISIONS];
    } cases[] = {
        {0, TESS_PRECISION_FP64, {0, 2, 0, 5, 0, 0}}, {1, TESS_PRECISION_FP16, {0, 2, 0, 5, 0, 0}},
        {1, TESS_PRECISION_BF16, {0, 4, 3, 0, 0, 0}}, {1, TESS_PRECISION_E4M3, {0, 2, 0, 3, 2, 0}},
        {1, TESS_PRECISION_E5M2, {0, 2, 0, 5, 0, 0}}, {1, TESS_PRECISION_FP32, {0, 7, 0, 0, 0, 0}},
        {1, TESS_PRECISION_FP64, {7, 0, 0, 0, 0, 0}},
    };
    oracle_csr a = adaptive_matrix(false);
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
            tess_precond_options o = low_options(2, cases[c].lowest, (tess_arithmetic)arithmetic);

            o.role.given = cases[c].given;
            o.block_jacobi.adaptive = 1;
            tess_precond *m = make_precond(matrix, o);
            check_counts(m, cases[c].counts);
            check_exact(m, &a);
            tess_precond_destroy(m);
        }
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* With the block of condition 2^21 whole, it needs fp64; that of 128 moves on to fp16 no matter where it is. */
static void adaptive_blocks_move_with_new_values(void **state)
{
    static const int64_t before[TESS_PRECISION_COUNT] = {0, 2, 0, 5, 0, 0};
    static const int64_t after[TESS_PRECISION_COUNT] = {1, 2, 0, 4, 0, 0};
    oracle_csr a = adaptive_matrix(false), reversed = adaptive_matrix(true);
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options o = block_options(2);

    (void)state;
    o.block_jacobi.adaptive = 1;
    tess_precond *m = make_precond(matrix, o);
    check_counts(m, before);
    assert_ok(ctx, tess_matrix_update_values(matrix, reversed.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    check_counts(m, after);
    check_exact(m, &reversed);
    reversed.val[4] = 0.0;
    assert_ok(ctx, tess_matrix_update_values(matrix, reversed.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 5"));
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    check_counts(m, before);
    check_exact(m, &a);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&reversed);
}

/* Hilbert blocks of growing order, among them full ones of every size: the error is below the tenth that the rule
 * allows. */
static oracle_csr hilbert_blocks(int64_t n, int64_t size)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t block = i / size, order = block % size + 1, first = block * size;

        for (int64_t j = first; j < first + size && j < n; j++) {
            const bool inside = i - first < order && j - first < order;

            if (inside) { oracle_push(&a, j, 1.0 / (double)(i - first + j - first + 1)); }
            if (!inside && i == j) { oracle_push(&a, j, 1.0); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static double norm_of(const double *x, const double *y, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += fabs(x[i] - (y ? y[i] : 0.0));
    }
    return sum;
}

static void adaptive_blocks_keep_a_digit(void **state)
{
    enum { N = 83, SIZE = 7 };
    oracle_csr a = hilbert_blocks(N, SIZE);
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double *r = float_values(N, 11), exact[N], z[N];
    tess_precond_options o = block_options(SIZE);
    int64_t counts[TESS_MAX_PRECISIONS];

    (void)state;
    o.block_jacobi.adaptive = 1;
    tess_precond *m = make_precond(matrix, o);
    tess_precond_blocks_per_precision(m, counts);
    assert_true(counts[TESS_PRECISION_FP64] > 0 && counts[TESS_PRECISION_FP32] > 0 && counts[TESS_PRECISION_FP16] > 0);
    solve_blocks(&a, SIZE, r, exact);
    apply(m, TESS_PRECISION_FP64, r, z);
    for (int64_t first = 0; first < N; first += SIZE) {
        int64_t size = first + SIZE < N ? SIZE : N - first;

        assert_at_most(norm_of(z + first, exact + first, size), 0.101 * norm_of(exact + first, NULL, size));
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* ---- everything else ---- */

static void low_precisions_follow_new_values(void **state)
{
    enum { N = 100 };
    oracle_csr a = oracle_convection2d(10, 0.5);
    tess_context *ctx = open_cpu(2);
    double *r = float_values(N, 5), z[N], expected[N];

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond *m = make_precond(matrix, low_options(6, (tess_precision)p, TESS_ARITHMETIC_FP64));

        apply(m, TESS_PRECISION_FP64, r, expected);
        scale_rows(&a, 0, N, 300);
        assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply(m, TESS_PRECISION_FP64, r, z);
        scale_rows(&a, 0, N, -300);
        for (int64_t i = 0; i < N; i++) {
            z[i] = ldexp(z[i], 300);
        }
        assert_true(same_bits(z, expected, N));
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

static void solve_and_check(tess_context *ctx, const oracle_csr *a, tess_solve_options *options)
{
    double *b = random_values(a->nrows, 3, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    result = solve_once(ctx, a, options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(a, b, x, options, &result);
    free(b);
    free(x);
}

static void solvers_converge_with_low_precisions(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int s = 0; s < 3; s++) {
        oracle_csr a = s == 0 ? oracle_laplace2d(20) : oracle_convection2d(20, 0.5);

        for (int k = 0; k < TESS_PRECISION_COUNT * 8; k++) {
            tess_solve_options options = solve_options(kinds[s]);

            options.precond = low_options(k / 2 % 2 ? 8 : 1, (tess_precision)(k / 8), (tess_arithmetic)(k / 4 % 2));
            options.precond.block_jacobi.adaptive = options.precond.kind == TESS_PRECOND_BLOCK_JACOBI && k % 2;
            solve_and_check(ctx, &a, &options);
        }
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

typedef struct diagonal_operator {
    int64_t n;
    const double *diagonal;
} diagonal_operator;

static int multiply_diagonal(void *user, tess_operation operation, const double *x, double *y)
{
    const diagonal_operator *d = user;

    (void)operation;
    for (int64_t i = 0; i < d->n; i++) {
        y[i] = d->diagonal[i] * x[i];
    }
    return 0;
}

static int give_diagonal(void *user, double *diagonal)
{
    const diagonal_operator *d = user;

    memcpy(diagonal, d->diagonal, (size_t)d->n * sizeof *diagonal);
    return 0;
}

static void shells_have_low_diagonals(void **state)
{
    enum { N = 5 };
    const double diagonal[N] = {1.0, -0x1p-1000, 0x1p900, 3.0, 0.5}, r[N] = {1.0, 0x1p-980, 1.0, 1.0, -1.0};
    diagonal_operator d = {N, diagonal};
    const tess_shell_operator shell = {.apply = multiply_diagonal, .diagonal = give_diagonal, .user = &d};
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = NULL;
    double z[N];

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &matrix));
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_precond *m = make_precond(matrix, low_options(1, (tess_precision)p, TESS_ARITHMETIC_FP64));

        apply(m, TESS_PRECISION_FP64, r, z);
        for (int i = 0; i < N; i++) {
            assert_at_most(fabs(z[i] - r[i] / diagonal[i]),
                           1.01 * tess_precision_unit_roundoff((tess_precision)p) * fabs(r[i] / diagonal[i]));
        }
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

static void wrong_precisions_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options storage = low_options(2, (tess_precision)TESS_PRECISION_COUNT, TESS_ARITHMETIC_FP64);
    tess_precond_options arithmetic = low_options(1, TESS_PRECISION_FP32, (tess_arithmetic)2);
    tess_precond *m = NULL;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &storage, &m));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &arithmetic, &m));
    assert_null(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_storage_keeps_its_roundoff),
        cmocka_unit_test(scales_are_each_blocks_own),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(adaptive_blocks_get_what_their_condition_allows),
        cmocka_unit_test(adaptive_blocks_move_with_new_values),
        cmocka_unit_test(adaptive_blocks_keep_a_digit),
        cmocka_unit_test(low_precisions_follow_new_values),
        cmocka_unit_test(solvers_converge_with_low_precisions),
        cmocka_unit_test(shells_have_low_diagonals),
        cmocka_unit_test(wrong_precisions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
