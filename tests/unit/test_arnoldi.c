/* SPDX-License-Identifier: Apache-2.0 */
/* Arnoldi's process of GMRES on small dense matrices: A V = V H with all that was subtracted in H, and norms that what
   is stored is divided by. */
#include "solver/gmres/hessenberg.h"
#include "support/test.h"

enum { N = 24, MOST = 6, PACKED = MOST * (MOST + 3) / 2 };

/* A process with everything that it works on. */
typedef struct process {
    tess_context *ctx;
    tess_arnoldi arnoldi;
    tess_loop_state state;
    double vector[N], w[N], residual[N], columns[N * (MOST + 1)]; /* columns: the basis, of any precision */
    int32_t last, stored;
    double norms[ARNOLDI_NORMS], first[MOST + 1], second[MOST + 1], remove[2 * MOST + 2], scale[MOST + 1];
    double unit[MOST + 1], r[PACKED], h[PACKED], cosine[MOST], sine[MOST], g[MOST + 1], y[MOST];
    double first_before[MOST + 1], second_before[MOST + 1], carried[ARNOLDI_CARRIED];
} process;

static process *open_process(bool delayed, tess_precision precision)
{
    process *p = test_allocate(1, sizeof *p);
    double *residual = random_values(N, 3, -1.0, 1.0);

    memset(p, 0, sizeof *p);
    memcpy(p->residual, residual, sizeof p->residual);
    free(residual);
    p->ctx = open_cpu(1);
    p->state = (tess_loop_state){.phase = TESS_LOOP_RUNNING,
                                 .residual_norm = (double)oracle_norm2(p->residual, N),
                                 .divergence_limit = HUGE_VAL,
                                 .max_iterations = 1000,
                                 .scale = 1.0};
    p->arnoldi = (tess_arnoldi){.n = N,
                                .ld = N,
                                .delayed = delayed,
                                .precision = precision,
                                .vectors = TESS_PRECISION_FP64,
                                .basis = p->columns,
                                .vector = p->vector,
                                .w = p->w,
                                .residual = p->residual,
                                .state = &p->state,
                                .small = {.most = MOST,
                                          .last = &p->last,
                                          .stored = &p->stored,
                                          .first = p->first,
                                          .second = p->second,
                                          .remove = p->remove,
                                          .norms = p->norms,
                                          .scale = p->scale,
                                          .unit = p->unit,
                                          .r = p->r,
                                          .cosine = p->cosine,
                                          .sine = p->sine,
                                          .g = p->g,
                                          .y = p->y,
                                          .h = p->h,
                                          .first_before = p->first_before,
                                          .second_before = p->second_before,
                                          .carried = p->carried}};
    assert_ok(p->ctx, arnoldi_ops_of(p->ctx)->run(p->ctx, &p->arnoldi, TESS_ARNOLDI_START));
    return p;
}

static void close_process(process *p)
{
    tess_context_destroy(p->ctx);
    free(p);
}

static void multiply(const double *a, const double *x, double *y)
{
    for (int i = 0; i < N; i++) {
        y[i] = 0.0;
        for (int j = 0; j < N; j++) {
            y[i] += a[i * N + j] * x[j];
        }
    }
}

static void step(process *p, const double *a)
{
    multiply(a, p->vector, p->w);
    assert_ok(p->ctx, arnoldi_ops_of(p->ctx)->run(p->ctx, &p->arnoldi, TESS_ARNOLDI_STEP));
}

/* Basis vector k as it is stored. */
static void read_basis(const process *p, int k, double *v)
{
    for (int i = 0; i < N; i++) {
        v[i] = p->scale[k] * tess_load(p->arnoldi.precision, p->columns, k * N + i);
    }
}

/* Column j of H, j + 2 entries: that of the triangle with its rotations undone. */
static void read_column_of_h(const process *p, int j, double *h)
{
    memcpy(h, p->r + j * (j + 1) / 2, (size_t)(j + 1) * sizeof *h);
    h[j + 1] = 0.0;
    for (int k = j; k >= 0; k--) {
        const double x = h[k], y = h[k + 1];

        h[k] = p->cosine[k] * x - p->sine[k] * y;
        h[k + 1] = p->sine[k] * x + p->cosine[k] * y;
    }
}

static double norm_of(const double *a, int64_t n)
{
    return (double)oracle_norm2(a, n);
}

/* Roundings of a column of A V = V H: n in the product, 2 for each vector and pass, 6 for each rotation and its
   undoing; each of magnitude ||A|| at most, of w as of what is subtracted. */
static double relation_bound(const double *a)
{
    return 2.0 * gamma_of(N + 2.0 * 2.0 * (MOST + 1) + 2.0 * 6.0 * MOST + 16.0) * norm_of(a, (int64_t)N * N);
}

/* A v_j = sum_i h_ij v_i + h_j+1,j v_j+1 for v_j as it was multiplied and the stored v_i, of any precision: what the
   second pass takes away from w is in H as well. In a basis of bf16 that is some 2^-8 of w. */
static void second_pass_is_in_h(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16,
                                                TESS_PRECISION_BF16};
    double *a = random_values((int64_t)N * N, 9, -1.0, 1.0), largest = 0.0;

    (void)state;
    for (int k = 0; k < 4; k++) {
        process *p = open_process(false, precisions[k]);

        for (int j = 0; j < MOST; j++) {
            double image[N], v[N], h[MOST + 1];

            multiply(a, p->vector, image);
            for (int i = 0; i < N; i++) {
                image[i] *= p->unit[j];
            }
            step(p, a);
            read_column_of_h(p, j, h);
            for (int l = 0; l <= j; l++) {
                read_basis(p, l, v);
                for (int i = 0; i < N; i++) {
                    image[i] -= h[l] * v[i];
                }
                largest = fmax(largest, fabs(p->second[l]));
            }
            for (int i = 0; i < N; i++) {
                image[i] -= h[j + 1] * p->unit[j + 1] * p->vector[i];
            }
            assert_at_most(norm_of(image, N), relation_bound(a));
        }
        assert_int_equal(p->last, MOST);
        close_process(p);
    }
    assert_at_most(0x1p-12, largest); /* there was something to leave out */
    free(a);
}

/* Delayed: A Q = Q H of the finished columns, which are orthonormal; what is divided by, nu, is the norm of what is
   left after the first pass: the norm that the next iteration finds is 1, to the cancellation in nu. */
static void delayed_columns_have_their_h(void **state)
{
    double *a = random_values((int64_t)N * N, 9, -1.0, 1.0), q[(MOST + 1) * N];
    process *p = open_process(true, TESS_PRECISION_FP64);

    (void)state;
    for (int k = 0; k <= MOST; k++) {
        const double nu = p->carried[ARNOLDI_NU], whole = p->carried[ARNOLDI_WHOLE_BEFORE];

        step(p, a);
        if (k > 0 && k < MOST) {
            const double lost = gamma_of(N + 2.0 * MOST + 8.0) * whole * whole / (nu * nu);

            assert_at_most(lost, 0x1p-40); /* else the next line says nothing */
            assert_at_most(fabs(p->carried[ARNOLDI_ALPHA] - 1.0), lost);
        }
    }
    assert_int_equal(p->last, MOST);
    for (int k = 0; k < MOST; k++) {
        read_basis(p, k, q + (int64_t)k * N);
        for (int l = 0; l <= k; l++) {
            assert_at_most(fabs((double)oracle_dot(q + (int64_t)k * N, q + (int64_t)l * N, N) - (k == l ? 1.0 : 0.0)),
                           4.0 * gamma_of(N + 2.0 * MOST));
        }
    }
    for (int j = 0; j + 1 < MOST; j++) {
        double image[N], h[MOST + 1];

        multiply(a, q + (int64_t)j * N, image);
        read_column_of_h(p, j, h);
        for (int l = 0; l <= j + 1; l++) {
            for (int i = 0; i < N; i++) {
                image[i] -= h[l] * q[(int64_t)l * N + i];
            }
            assert_at_most(fabs(h[l] - p->h[j * (j + 3) / 2 + l]), relation_bound(a));
        }
        assert_at_most(norm_of(image, N),
                       2.0 * relation_bound(a)); /* A q_j comes from A u_j and what u_j was short of */
    }
    close_process(p);
    free(a);
}

/* A vector is stored over about its norm, by Pythagoras: sqrt(once - removed). Below sqrt(u) of the norm before, that
   difference of squares is rounding, and the divisor stays there; it is never 0. */
static void divisors_are_norms_down_to_rounding(void **state)
{
    (void)state;
    assert_true(arnoldi_divisor(25.0, 9.0) == 4.0);
    assert_true(arnoldi_divisor(1.0, 0.0) == 1.0);
    for (int exponent = -2; exponent >= -50; exponent -= 2) {
        assert_true(arnoldi_divisor(4.0, 4.0 - ldexp(4.0, exponent)) == ldexp(2.0, exponent / 2));
    }
    for (int k = 0; k < 2; k++) { /* all was taken away, or more by rounding */
        const double divisor = arnoldi_divisor(4.0, 4.0 + 0x1p-50 * k);

        assert_in_range((int64_t)ldexp(divisor / 2.0, 30), (int64_t)ldexp(sqrt(U64), 30),
                        (int64_t)ldexp(sqrt(U64), 31));
    }
    assert_true(arnoldi_divisor(0.0, 0.0) == 1.0);
}

/* Rows are read in strips: the sums of a step are over all of them. */
static void sums_are_over_all_rows(void **state)
{
    enum { ROWS = 1300 };
    process *p = open_process(true, TESS_PRECISION_FP64);
    double *u = test_allocate(ROWS, sizeof *u), *w = random_values(ROWS, 4, -1.0, 1.0), *copy[2];
    double *residual = random_values(ROWS, 3, -1.0, 1.0), *columns = test_allocate(ROWS * (MOST + 1), sizeof *columns);

    (void)state;
    p->arnoldi.n = p->arnoldi.ld = ROWS;
    p->arnoldi.basis = columns;
    p->arnoldi.vector = u;
    p->arnoldi.w = w;
    p->arnoldi.residual = residual;
    assert_ok(p->ctx, arnoldi_ops_of(p->ctx)->run(p->ctx, &p->arnoldi, TESS_ARNOLDI_START));
    for (int k = 0; k < 2; k++) { /* a step overwrites both */
        copy[k] = test_allocate(ROWS, sizeof *u);
        memcpy(copy[k], k == 0 ? u : w, ROWS * sizeof *u);
    }
    assert_ok(p->ctx, arnoldi_ops_of(p->ctx)->run(p->ctx, &p->arnoldi, TESS_ARNOLDI_STEP));
    for (int k = 0; k < 3; k++) {
        const double sum = (double)oracle_dot(copy[k / 2], copy[(k + 1) / 2], ROWS);
        const double size = norm_of(copy[k / 2], ROWS) * norm_of(copy[(k + 1) / 2], ROWS);

        assert_true(size > 0.0);
        assert_at_most(fabs(p->norms[k] - sum), gamma_of(ROWS + 1.0) * size);
    }
    for (int k = 0; k < 2; k++) {
        free(copy[k]);
    }
    free(u);
    free(w);
    free(residual);
    free(columns);
    close_process(p);
}

/* The right-hand side is the first vector's norm times e_1, and no later norm changes it. */
static void the_first_norm_alone_is_in_the_right_side(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        double first[2] = {0.0}, norms[ARNOLDI_NORMS] = {4.0, 2.0, 16.0}, scale[2] = {0.0}, g[2] = {3.0, 0.0};
        double carried[ARNOLDI_CARRIED] = {0.0};
        int32_t stored = k;
        tess_loop_state s = {.phase = TESS_LOOP_RUNNING};
        const arnoldi_small a = {
            .stored = &stored, .first = first, .norms = norms, .scale = scale, .g = g, .carried = carried};

        arnoldi_continue_delayed(&a, k, 2.0, 0.0, 0.0, 0, &s);
        assert_int_equal(s.phase, TESS_LOOP_RUNNING);
        assert_int_equal(stored, k + 1);
        assert_true(first[k] == 1.0 && carried[ARNOLDI_ALPHA] == 2.0 && carried[ARNOLDI_WHOLE_BEFORE] == 4.0);
        assert_true(g[0] == (k == 0 ? 6.0 : 3.0));
    }
}

/* Columns are scaled where the range of their precision is narrower than that of FP32, and nowhere else. */
static void narrow_columns_are_scaled(void **state)
{
    (void)state;
    assert_int_equal(arnoldi_exponent(TESS_PRECISION_FP64), 0);
    assert_int_equal(arnoldi_exponent(TESS_PRECISION_FP32), 0);
    assert_int_equal(arnoldi_exponent(TESS_PRECISION_BF16), 0);
    assert_int_equal(arnoldi_exponent(TESS_PRECISION_FP16), 14); /* 2^14 <= 65504 / 2 */
    assert_int_equal(arnoldi_exponent(TESS_PRECISION_E5M2), 14);
    assert_int_equal(arnoldi_exponent(TESS_PRECISION_E4M3), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_pass_is_in_h),
        cmocka_unit_test(delayed_columns_have_their_h),
        cmocka_unit_test(divisors_are_norms_down_to_rounding),
        cmocka_unit_test(sums_are_over_all_rows),
        cmocka_unit_test(the_first_norm_alone_is_in_the_right_side),
        cmocka_unit_test(narrow_columns_are_scaled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
