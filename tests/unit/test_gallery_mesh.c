/* SPDX-License-Identifier: Apache-2.0 */
/* The triangulation under unstructured2d: whole, positively oriented, Delaunay, irregular. */
#include "gallery/triangulation.h"
#include "support/test.h"

/* Twice the signed area of the corners a, b, c, in the widest arithmetic. */
static wide area_of(const triangulation *m, int32_t a, int32_t b, int32_t c)
{
    wide x = m->x[a], y = m->y[a];

    return (m->x[b] - x) * (m->y[c] - y) - (m->x[c] - x) * (m->y[b] - y);
}

/* Whether d lies inside the circle through a, b, c, on the other side of the edge
   (a, b): the angles at c and d then add up to more than a straight one, sin(c + d) < 0. */
static bool breaks_circle(const triangulation *m, int32_t a, int32_t b, int32_t c, int32_t d)
{
    double cx = m->x[c], cy = m->y[c], dx = m->x[d], dy = m->y[d];
    double cosine_c = (m->x[a] - cx) * (m->x[b] - cx) + (m->y[a] - cy) * (m->y[b] - cy);
    double cosine_d = (m->x[a] - dx) * (m->x[b] - dx) + (m->y[a] - dy) * (m->y[b] - dy);
    double sine_c = (double)area_of(m, a, b, c), sine_d = (double)area_of(m, b, a, d);

    /* scaled by four edges, about 1 each; rounding is far below */
    return sine_c * cosine_d + cosine_c * sine_d < -1e-6;
}

/* Each inner edge is known to both of its triangles, with its ends the other way round. */
static void assert_neighbour(const triangulation *m, int64_t t, int i)
{
    int64_t u = m->neighbour[3 * t + i];
    int32_t a = m->corner[3 * t + (i + 1) % 3], b = m->corner[3 * t + (i + 2) % 3];
    int shared = 0;

    if (u < 0) {
        assert_true(m->unknown[a] < 0 && m->unknown[b] < 0);
        return;
    }
    for (int j = 0; j < 3; j++) {
        if (m->neighbour[3 * u + j] != t) { continue; }
        shared++;
        assert_int_equal(m->corner[3 * u + (j + 1) % 3], b);
        assert_int_equal(m->corner[3 * u + (j + 2) % 3], a);
        assert_false(breaks_circle(m, a, b, m->corner[3 * t + i], m->corner[3 * u + j]));
    }
    assert_int_equal(shared, 1);
}

static void assert_sound(const triangulation *m, int64_t unknowns)
{
    wide area = 0;
    double width = 0.0, height = 0.0;
    int64_t boundary = 0;

    assert_int_equal(m->unknowns, unknowns);
    assert_true(m->points <= m->point_capacity && m->triangles <= m->triangle_capacity);
    for (int64_t p = 0; p < m->points; p++) {
        boundary += m->unknown[p] < 0;
        width = fmax(width, m->x[p]);
        height = fmax(height, m->y[p]);
    }
    assert_int_equal(m->points, unknowns + boundary);
    assert_int_equal(m->triangles, 2 * unknowns + boundary - 2); /* Euler */
    for (int64_t t = 0; t < m->triangles; t++) {
        const int32_t *c = m->corner + 3 * t;

        assert_true(area_of(m, c[0], c[1], c[2]) > 0);
        area += area_of(m, c[0], c[1], c[2]);
        for (int i = 0; i < 3; i++) {
            assert_neighbour(m, t, i);
        }
    }
    /* They cover the rectangle once. */
    assert_at_most(fabs((double)area - 2.0 * width * height), 1e-10 * width * height);
}

static void check_mesh(int64_t unknowns, int64_t seed)
{
    tess_context *ctx = open_cpu(1);
    triangulation mesh;

    assert_ok(ctx, triangulate(ctx, unknowns, seed, &mesh));
    assert_sound(&mesh, unknowns);
    release_triangulation(ctx, &mesh);
    tess_context_destroy(ctx);
}

static void small_meshes_are_sound(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 120; n++) {
        check_mesh(n, n % 7);
    }
}

static void a_large_mesh_is_sound(void **state)
{
    (void)state;
    check_mesh(30011, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_meshes_are_sound),
        cmocka_unit_test(a_large_mesh_is_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
