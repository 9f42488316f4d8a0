/* SPDX-License-Identifier: Apache-2.0 */
/* What scenarios start from. */
#include <unistd.h>

#include "support/scenarios.h"

scene open_scene(tess_context *ctx)
{
    scene s = {.ctx = ctx, .a = oracle_laplace2d(8), .unsymmetric = oracle_convection2d(8, 1.0)};
    int file = -1;

    for (int i = 0; i < SCENE_N; i++) {
        s.values[i] = 1.0 + i % 5;
    }
    s.m = make_matrix(ctx, &s.a);
    s.other = make_matrix(ctx, &s.unsymmetric);
    s.b = make_vector(ctx, SCENE_N, s.values);
    s.x = make_zeros(ctx, SCENE_N);
    snprintf(s.path, sizeof s.path, "/tmp/tessera-fault-XXXXXX");
    file = mkstemp(s.path);
    assert_true(file >= 0);
    close(file);
    return s;
}

void close_scene(scene *s)
{
    unlink(s->path);
    tess_vector_destroy(s->b);
    tess_vector_destroy(s->x);
    tess_matrix_destroy(s->m);
    tess_matrix_destroy(s->other);
    oracle_free(&s->a);
    oracle_free(&s->unsymmetric);
}

void assert_usable(scene *s)
{
    double dot = 0.0;

    assert_ok(s->ctx, tess_matrix_spmv(s->m, TESS_OP_NONE, 1.0, s->b, 0.0, s->x));
    assert_ok(s->ctx, tess_vector_dot(s->b, s->x, TESS_ARITHMETIC_FP64, &dot));
    assert_true(dot > 0.0);
}
