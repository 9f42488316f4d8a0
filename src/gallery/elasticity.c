/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear elasticity on N^3 unit cubes with trilinear shape functions, Poisson's ratio 0.3, the face z = 0 clamped and
 * its unknowns left out. Young's modulus is 1, and 1000 inside spheres placed at random. Three unknowns per node,
 * adjacent.
 */
#include "gallery/problem.h"

enum { CORNERS = 8, INCLUSIONS = 24 };

/* Stiffness of a cube between corners a and b, directions i and j, in STIFFNESS_UNIT. Corner bits: 1 x, 2 y, 4 z. */
typedef struct element_stiffness {
    int k[CORNERS][CORNERS][3][3];
} element_stiffness;

/*
 * Integers while elements are summed, so that what cancels leaves exact zeros (they are kept) and the matrix is
 * symmetric to the last bit: with Poisson's ratio 0.3 Lame's constants are as 3 to 2, and the integrals are multiples
 * of 1/72. The unit is mu / 2 / 72 with mu = 1 / 2.6, that of Young's modulus 1.
 */
#define STIFFNESS_UNIT (1.0 / 2.6 / 144.0)
#define LAMBDA 3
#define MU 2
#define INCLUSION_MODULUS 1000

typedef struct elasticity {
    int64_t n;
    const unsigned char *stiff; /* n^3 flags */
    element_stiffness element;
} elasticity;

/* ---- element matrix ---- */

static int corner_sign(int a, int d)
{
    return a >> d & 1 ? 1 : -1;
}

/* Six times the integral over [0, 1] of the product of two linear shape functions. */
static int mass(int a, int b, int d)
{
    return corner_sign(a, d) == corner_sign(b, d) ? 2 : 1;
}

/* 72 times the integral over the cube of (d/di of shape function a) times (d/dj of b). */
static int gradient_product(int a, int b, int i, int j)
{
    int k = 3 - i - j;

    if (i == j) {
        return 2 * corner_sign(a, i) * corner_sign(b, i) * mass(a, b, (i + 1) % 3) * mass(a, b, (i + 2) % 3);
    }
    return 3 * corner_sign(a, i) * corner_sign(b, j) * mass(a, b, k);
}

/* lambda d_i a d_j b + mu d_j a d_i b + mu delta_ij grad a . grad b. */
static void integrate_element(element_stiffness *element)
{
    for (int c = 0; c < CORNERS * CORNERS * 9; c++) {
        int a = c / 72, b = c / 9 % 8, i = c / 3 % 3, j = c % 3;
        int k = LAMBDA * gradient_product(a, b, i, j) + MU * gradient_product(a, b, j, i);

        for (int d = 0; i == j && d < 3; d++) {
            k += MU * gradient_product(a, b, d, d);
        }
        element->k[a][b][i][j] = k;
    }
}

/* ---- inclusions ---- */

/* Spheres with centres in the cube and radii from 0.08 to 0.18 of its side: about a fifth of the volume. */
static void mark_inclusions(int64_t n, int64_t seed, int threads, unsigned char *stiff)
{
    double sphere[INCLUSIONS][4];
    uint64_t stream = gallery_stream(seed, 0);

    for (int s = 0; s < INCLUSIONS; s++) {
        for (int d = 0; d < 4; d++) {
            sphere[s][d] = tess_random_uniform(stream, (uint64_t)(4 * s + d));
        }
        sphere[s][3] = 0.08 + 0.1 * sphere[s][3];
    }
#pragma omp parallel for num_threads(threads)
    for (int64_t e = 0; e < n * n * n; e++) {
        double x = ((double)(e % n) + 0.5) / (double)n, y = ((double)(e / n % n) + 0.5) / (double)n;
        double z = ((double)(e / n / n) + 0.5) / (double)n;

        stiff[e] = 0;
        for (int s = 0; s < INCLUSIONS; s++) {
            double dx = x - sphere[s][0], dy = y - sphere[s][1], dz = z - sphere[s][2];

            stiff[e] |= dx * dx + dy * dy + dz * dz < sphere[s][3] * sphere[s][3];
        }
    }
}

/* ---- rows ---- */

/* Node (x, y, z), 0 <= x, y <= n and 1 <= z <= n. */
static void locate_node(const elasticity *p, int64_t node, int64_t *at)
{
    int64_t side = p->n + 1;

    at[0] = node % side;
    at[1] = node / side % side;
    at[2] = node / side / side + 1;
}

static int64_t elasticity_length(const void *problem, int64_t row)
{
    const elasticity *p = problem;
    int64_t at[3], nodes = 1;

    locate_node(p, row / 3, at);
    for (int d = 0; d < 3; d++) {
        nodes *= 1 + (at[d] > (d == 2)) + (at[d] < p->n);
    }
    return 3 * nodes;
}

/* Elements e with e <= at and at <= e + 1 for both nodes, per direction: from first to last. */
static void shared_elements(const elasticity *p, const int64_t *at, const int *step, int64_t *first, int64_t *last)
{
    for (int d = 0; d < 3; d++) {
        int64_t low = step[d] < 0 ? at[d] - 1 : at[d], high = step[d] > 0 ? at[d] + 1 : at[d];

        first[d] = high - 1 > 0 ? high - 1 : 0;
        last[d] = low < p->n - 1 ? low : p->n - 1;
    }
}

/* The three entries that couple direction i of node `at` with the node one step away: a sum over shared elements. */
static void couple_nodes(const elasticity *p, const int64_t *at, const int *step, int64_t i, double *val)
{
    int64_t first[3], last[3], sum[3] = {0, 0, 0};

    shared_elements(p, at, step, first, last);
    for (int64_t z = first[2]; z <= last[2]; z++) {
        for (int64_t y = first[1]; y <= last[1]; y++) {
            for (int64_t x = first[0]; x <= last[0]; x++) {
                int64_t a = (at[0] - x) + 2 * (at[1] - y) + 4 * (at[2] - z);
                int64_t b = a + step[0] + 2 * step[1] + 4 * step[2];
                int64_t modulus = p->stiff[x + p->n * (y + p->n * z)] ? INCLUSION_MODULUS : 1;

                for (int j = 0; j < 3; j++) {
                    sum[j] += modulus * p->element.k[a][b][i][j];
                }
            }
        }
    }
    for (int j = 0; j < 3; j++) {
        val[j] = STIFFNESS_UNIT * (double)sum[j];
    }
}

static void elasticity_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const elasticity *p = problem;
    int64_t at[3], node = row / 3, side = p->n + 1, k = 0;

    locate_node(p, node, at);
    for (int c = 0; c < 27; c++) {
        int step[3] = {c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1};
        int64_t x = at[0] + step[0], y = at[1] + step[1], z = at[2] + step[2];

        if (x < 0 || x > p->n || y < 0 || y > p->n || z < 1 || z > p->n) { continue; }
        couple_nodes(p, at, step, row % 3, val + k);
        for (int j = 0; j < 3; j++, k++) {
            col[k] = (int32_t)(3 * (x + side * (y + side * (z - 1))) + j);
        }
    }
}

tess_status gallery_elasticity3d(const gallery_request *request, tess_matrix **out)
{
    elasticity p = {.n = 1};
    unsigned char *stiff = NULL;
    int64_t seed = 1, rows;
    tess_status status = TESS_SUCCESS;

    /* 893 is the largest N with 3 N (N + 1)^2 below 2^31. */
    TESS_TRY(gallery_integer(request, 0, "N", 1, 893, &p.n));
    TESS_TRY(gallery_integer(request, 1, "SEED", 0, GALLERY_SEED_MAX, &seed));
    rows = 3 * p.n * (p.n + 1) * (p.n + 1);
    TESS_TRY(tess_host_allocate(request->ctx, p.n * p.n * p.n, 1, (void **)&stiff));
    mark_inclusions(p.n, seed, request->ctx->threads, stiff);
    p.stiff = stiff;
    integrate_element(&p.element);
    status = gallery_build(request->ctx, &(gallery_rows){rows, rows, elasticity_length, elasticity_fill, &p}, out);
cleanup:
    tess_host_release(request->ctx, stiff, p.n * p.n * p.n, 1);
    return status;
}
