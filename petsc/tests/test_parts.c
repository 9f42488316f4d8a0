/* SPDX-License-Identifier: Apache-2.0 */
/* Halos by themselves: errors against bounds, at the ends of ranges and with what is no number. */
#include "context.h"
#include "errors.h"
#include "halo.h"
#include "halo_values.h"
#include "register.h"
#include "support.h"
#include "vectors.h"

#include <math.h>
#include <tessera/codec.h>

/* ---- halos ---- */

enum { KINDS = 9 };

/* Values of x by kind: of a size, over a range, zeros, with Inf or NaN among them, about the largest of FP16. */
static double value_of(int kind, PetscInt k, double random)
{
    switch (kind) {
    case 0: return random;
    case 1: return ldexp(random, -(int)(k % 60));
    case 2: return 1e300 * random;
    case 3: return 1e-310 * random;
    case 4: return 0;
    case 5: return k % 50 == 3 ? (double)INFINITY : 1e5 * random;
    case 6: return k % 50 == 3 ? (double)NAN : random;
    case 7: return ldexp(1 + random * 0x1p-12, 15);
    default: return k % 2 ? 65519.99 : -65504;
    }
}

static PetscErrorCode fill_kind(Vec x, int kind)
{
    PetscScalar *array;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(fill(x, kind));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetArray(x, &array));
    for (PetscInt k = 0; k < n; k++) {
        array[k] = value_of(kind, k, array[k]);
    }
    PetscCall(VecRestoreArray(x, &array));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* FP16: half a unit of the last place, or of the smallest subnormal number where the largest is 2^14 at least. Without
   a scale, which Inf prevents, what exceeds its range becomes Inf. */
static double allowed(tess_precision precision, double exact, double largest)
{
    if (precision == TESS_PRECISION_FP64) { return 0; }
    if (precision == TESS_PRECISION_FP32) { return U32 * fabs(exact) + 0x1p-150; }
    if (isinf(largest)) { return fabs(exact) >= 65520 ? (double)INFINITY : U16 * fabs(exact) + 0x1p-25; }
    return U16 * fabs(exact) + 0x1p-39 * largest + 0x1p-1047; /* a scale is at least 2^-1022 */
}

static PetscErrorCode compare_ghosts(const tp_halo *halo, tess_precision precision, const double *exact,
                                     const double *got, const char *what, int kind)
{
    PetscFunctionBegin;
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        double largest = 0;
        for (PetscInt e = halo->receive_at[k]; e < halo->receive_at[k + 1]; e++) {
            const double x = fabs(exact[halo->receive_index[e]]);
            if (x > largest) { largest = x; }
        }
        for (PetscInt e = halo->receive_at[k]; e < halo->receive_at[k + 1]; e++) {
            const double x = exact[halo->receive_index[e]], y = got[halo->receive_index[e]];
            const PetscBool same = (isnan(x) && isnan(y)) || x == y ? PETSC_TRUE : PETSC_FALSE;
            CHECK(same || (isfinite(x) && fabs(x - y) <= allowed(precision, x, largest)) ||
                      (precision == TESS_PRECISION_FP32 && fabs(x) > 3.5e38 && isinf(y)),
                  "%s, kind %d, in %s: %a became %a", what, kind, tess_precision_name(precision), x, y);
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* By arrays; then the same with messages that come in another order than the ghosts. */
static PetscErrorCode exchange_arrays(Mat A, Vec x, int kind, tess_precision precision)
{
    const PetscScalar *local;
    tp_halo *plain, *halo;
    double *exact, *got;

    PetscFunctionBegin;
    PetscCall(tp_halo_create(A, TESS_PRECISION_FP64, &plain));
    PetscCall(tp_halo_create(A, precision, &halo));
    PetscCall(PetscMalloc2(plain->nghosts, &exact, plain->nghosts, &got));
    PetscCall(VecGetArrayRead(x, &local));
    PetscCall(tp_halo_begin(plain, local));
    PetscCall(tp_halo_end(plain, exact));
    for (int order = 0; order < 2; order++) {
        PetscCall(tp_halo_begin(halo, local));
        PetscCall(tp_halo_end(halo, got));
        PetscCall(compare_ghosts(halo, precision, exact, got, "arrays", kind));
        if (halo->in_order && order == 0) {
            halo->in_order = PETSC_FALSE;
            PetscCall(PetscMalloc(sizeof(double) * (size_t)halo->nghosts, &halo->unordered));
        }
    }
    CHECK(precision == TESS_PRECISION_FP16 ? halo->largest_error <= U16
                                           : halo->largest_error <= U32 || kind == 2 || kind == 3,
          "kind %d, in %s: an error of %g is told", kind, tess_precision_name(precision), halo->largest_error);
    CHECK(precision == TESS_PRECISION_FP64 || kind != 0 || halo->nsends == 0 || halo->largest_error > 0,
          "no error is told");
    PetscCall(VecRestoreArrayRead(x, &local));
    PetscCall(PetscFree2(exact, got));
    PetscCall(tp_halo_destroy(&halo));
    PetscCall(tp_halo_destroy(&plain));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* By vectors in FP32. */
static PetscErrorCode exchange_vectors(Mat A, Vec x, int kind, tess_precision precision)
{
    const tess_precision halo_precision[2] = {TESS_PRECISION_FP32, precision};
    double *ghosts[2];
    tess_vector *rounded;
    tp_view view;
    tp_halo *halo;
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(tp_view_begin(x, TP_READ, &view));
    TessCall(tess_vector_create(ctx, tess_vector_size(view.v), TESS_PRECISION_FP32, &rounded));
    TessCall(tess_vector_copy(view.v, rounded));
    for (int k = 0; k < 2; k++) {
        tess_vector *out;
        PetscCall(tp_halo_create(A, halo_precision[k], &halo));
        TessCall(tess_vector_create(ctx, halo->nghosts, TESS_PRECISION_FP32, &out));
        PetscCall(tp_halo_begin_vector(halo, rounded));
        PetscCall(tp_halo_end_vector(halo, out));
        PetscCall(PetscMalloc1(halo->nghosts + 1, &ghosts[k]));
        TessCall(tess_vector_get(out, ghosts[k], TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        tess_vector_destroy(out);
        if (k == 1) { PetscCall(compare_ghosts(halo, precision, ghosts[0], ghosts[1], "vectors", kind)); }
        CHECK(k == 1 || halo->largest_error == 0, "FP32 to FP32: error %g", halo->largest_error);
        PetscCall(tp_halo_destroy(&halo));
    }
    PetscCall(PetscFree(ghosts[0]));
    PetscCall(PetscFree(ghosts[1]));
    PetscCall(tp_view_end(x, &view));
    tess_vector_destroy(rounded);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode halos_keep_what_they_promise(void)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16};

    int ranks;

    PetscFunctionBegin;
    PetscCall(rank_count(&ranks));
    for (int shape = 0; shape < 2 && ranks > 1; shape++) {
        random_pair p;
        Vec x;
        PetscCall(random_matrix(shape ? 40 : 900, shape ? 3 : 900, &p)); /* some processes have no columns then */
        PetscCall(MatCreateVecs(p.a, &x, NULL));
        for (int kind = 0; kind < KINDS; kind++) {
            PetscCall(fill_kind(x, kind));
            for (int k = 0; k < 3; k++) {
                PetscCall(exchange_arrays(p.a, x, kind, precisions[k]));
                PetscCall(exchange_vectors(p.a, x, kind, precisions[k]));
            }
        }
        PetscCall(VecDestroy(&x));
        PetscCall(destroy_pair(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every code of FP16, and numbers about the midpoints between two, against the codec; and as the library widens. */
static PetscErrorCode values_are_the_codecs(void)
{
    enum { COUNT = 3 * 65536 };
    double *x, *wide[2];
    uint16_t *half;
    tess_vector *from, *to;
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(PetscMalloc4(COUNT, &x, COUNT, &half, COUNT, &wide[0], COUNT, &wide[1]));
    for (uint32_t k = 0; k < COUNT; k++) {
        const double value = tess_fp16_to_double((uint16_t)(k / 3)), step = isfinite(value) ? 0x1p-11 : 0;
        x[k] = ldexp(value * (1 + step) * (1 + ((double)(k % 3) - 1) * 0x1p-50), -40);
    }
    tp_round_values(&(tp_values){x, TESS_PRECISION_FP64}, COUNT, 0x1p-40, &(tp_values){half, TESS_PRECISION_FP16});
    for (int k = 0; k < COUNT; k++) {
        const uint16_t wanted = tess_fp16_from_double(ldexp(x[k], 40), TESS_OVERFLOW_INFINITY);
        CHECK(half[k] == wanted, "%a became %#x, not %#x", ldexp(x[k], 40), half[k], wanted);
    }
    tp_widen_values(&(tp_values){half, TESS_PRECISION_FP16}, COUNT, 0x1p-40,
                    &(tp_values){wide[0], TESS_PRECISION_FP64});
    if (tess_context_device(ctx) == TESS_DEVICE_CPU) {
        TessCall(tess_vector_wrap(ctx, COUNT, TESS_PRECISION_FP16, half, &from));
        TessCall(tess_vector_wrap(ctx, COUNT, TESS_PRECISION_FP64, wide[1], &to));
        TessCall(tess_vector_axpby(0x1p-40, from, 0, to, TESS_ARITHMETIC_FP64)); /* as a GPU does */
        tess_vector_destroy(from);
        tess_vector_destroy(to);
        for (int k = 0; k < COUNT; k++) {
            const PetscBool both = isnan(wide[0][k]) && isnan(wide[1][k]) ? PETSC_TRUE : PETSC_FALSE;
            CHECK(both || wide[0][k] == wide[1][k], "%#x became %a and %a", half[k], wide[0][k], wide[1][k]);
        }
    }
    PetscCall(PetscFree4(x, half, wide[0], wide[1]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {CASE(values_are_the_codecs), CASE(halos_keep_what_they_promise), {NULL, NULL}};

    return run_tests(argc, argv, tessera_petsc_register, cases);
}
