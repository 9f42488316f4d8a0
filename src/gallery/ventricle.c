/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit time steps of diffusion in a left ventricle: A = I - dt V^-1 L, cell-centred finite volumes without a flux
 * through the boundary (Langguth et al., IEEE Micro 35 (2015); Tezcan et al. 2022, section III-E).
 *
 * The conductivity is that of the monodomain equation without reaction, D = d_t I + (d_l - d_t) f f^T with the fibre f.
 * The flux between two cells is approximated from their two values: T_ij = |S| / (h_i / k_i + h_j / k_j), where S is
 * the face, k = n^T D n along its normal and h = 3 V / (4 |S|) a cell's height above it. The flux along a face is
 * neglected. So A is a time step of a plausible, conservative diffusion, which does not converge to D as cells shrink.
 */
#include "gallery/ventricle.h"

/*
 * mm^2/ms: the harmonic means of intra- and extracellular conductivity, 0.17 and 0.62 S/m along fibres, 0.019 and 0.24
 * across, over 140 mm^-1 times 0.01 uF/mm^2 (Niederer et al., Phil. Trans. R. Soc. A 369 (2011)).
 */
static const double along_fibre = 0.17 * 0.62 / (0.17 + 0.62) / 1.4;
static const double across_fibre = 0.019 * 0.24 / (0.019 + 0.24) / 1.4;
static const double safety = 0.9; /* of the longest time step that keeps A nonnegative */

static const double resting_potential = -85.0, pulse_height = 100.0; /* mV */
static const double pulse_width = 2.0;                               /* mm, a standard deviation */
static const double pulse_centre[3] = {5.0217, 0.0, -11.844}; /* mm, on the inner surface, 0.8 radians off the apex */

typedef struct ventricle_operator {
    const ventricle *mesh;
    double step; /* ms */
} ventricle_operator;

/* ---- the operator ---- */

/* |S|^2 n^T D n */
static double face_conductivity(const double *area, const double *fibre)
{
    double square = area[0] * area[0] + area[1] * area[1] + area[2] * area[2];
    double along = area[0] * fibre[0] + area[1] * fibre[1] + area[2] * fibre[2];

    return across_fibre * square + (along_fibre - across_fibre) * along * along;
}

/* T_ij in mm^3/ms, symmetric to the last bit: with h = 3 V / (4 |S|) the area cancels. */
static double transmissibility(const ventricle *v, int64_t cell, int64_t other, int face)
{
    double area[3], own, others;

    ventricle_face_area(v, cell, face, area);
    own = v->volume[cell] / face_conductivity(area, v->fibre + 3 * cell);
    others = v->volume[other] / face_conductivity(area, v->fibre + 3 * other);
    return (4.0 / 3.0) / (own + others);
}

/* 0.9 of the least V_i / sum_j T_ij. */
static double stable_step(const ventricle *v, int threads)
{
    double least = INFINITY;

#pragma omp parallel for reduction(min : least) num_threads(threads)
    for (int64_t cell = 0; cell < v->cells; cell++) {
        double sum = 0.0;

        for (int face = 0; face < 4; face++) {
            int64_t other = ventricle_neighbour(v, cell, face);

            if (other >= 0) { sum += transmissibility(v, cell, other, face); }
        }
        least = fmin(least, v->volume[cell] / sum);
    }
    return safety * least;
}

static int64_t ventricle_length(const void *problem, int64_t row)
{
    const ventricle *v = ((const ventricle_operator *)problem)->mesh;
    int64_t cell = ventricle_cell_of(v, row), length = 1;

    for (int face = 0; face < 4; face++) {
        length += ventricle_neighbour(v, cell, face) >= 0;
    }
    return length;
}

static void insert_entry(int32_t *col, double *val, int length, int64_t j, double value)
{
    int k = length;

    for (; k > 0 && col[k - 1] > j; k--) {
        col[k] = col[k - 1];
        val[k] = val[k - 1];
    }
    col[k] = (int32_t)j;
    val[k] = value;
}

/* a_ij = dt T_ij / V_i, a_ii = 1 - sum of the others, summed in the order of the faces, whatever the numbering. */
static void ventricle_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const ventricle_operator *a = problem;
    const ventricle *v = a->mesh;
    int64_t cell = ventricle_cell_of(v, row);
    double sum = 0.0;
    int length = 0;

    for (int face = 0; face < 4; face++) {
        int64_t other = ventricle_neighbour(v, cell, face);
        double value;

        if (other < 0) { continue; }
        value = a->step * transmissibility(v, cell, other, face) / v->volume[cell];
        insert_entry(col, val, length++, ventricle_row_of(v, other), value);
        sum += value;
    }
    insert_entry(col, val, length, row, 1.0 - sum);
}

/* ---- requests ---- */

static tess_status read_options(const gallery_request *request, ventricle_options *options)
{
    static const char *const orders[] = {"natural", "random", "rcm", NULL};
    int order = 0;
    tess_status status = TESS_SUCCESS;

    *options = (ventricle_options){.seed = 1};
    TESS_TRY(gallery_integer(request, 0, "CELLS", VENTRICLE_CELLS_MIN, VENTRICLE_CELLS_MAX, &options->cells));
    TESS_TRY(gallery_word(request, 1, "ORDER", orders, &order));
    TESS_TRY(gallery_integer(request, 2, "SEED", 0, GALLERY_SEED_MAX, &options->seed));
    options->order = (ventricle_order)order;
cleanup:
    return status;
}

tess_status gallery_ventricle(const gallery_request *request, tess_matrix **out)
{
    tess_context *ctx = request->ctx;
    ventricle_options options;
    ventricle v = {.nodes = 0};
    ventricle_operator a = {.mesh = &v};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_options(request, &options));
    TESS_TRY(ventricle_create(ctx, &options, &v));
    a.step = stable_step(&v, ctx->threads);
    tess_log(ctx, TESS_LOG_INFO, "ventricle: a grid of %lld by %lld by %lld hexahedra, time step %.6g ms",
             (long long)v.counts[0], (long long)v.counts[1], (long long)v.counts[2], a.step);
    status = gallery_build(ctx, &(gallery_rows){v.cells, v.cells, ventricle_length, ventricle_fill, &a}, out);
cleanup:
    ventricle_release(ctx, &v);
    return status;
}

/* ---- points and the initial potential ---- */

static void centre_of(const ventricle *v, int64_t row, double *x)
{
    int64_t corner[4];

    ventricle_corners(v, ventricle_cell_of(v, row), corner);
    for (int d = 0; d < 3; d++) {
        x[d] = 0.25 * (v->node[3 * corner[0] + d] + v->node[3 * corner[1] + d] + v->node[3 * corner[2] + d] +
                       v->node[3 * corner[3] + d]);
    }
}

static double potential_at(const double *x)
{
    double distance = 0.0;

    for (int d = 0; d < 3; d++) {
        distance += (x[d] - pulse_centre[d]) * (x[d] - pulse_centre[d]);
    }
    return resting_potential + pulse_height * exp(-distance / (2.0 * pulse_width * pulse_width));
}

/* The mesh for arguments given to one of the public functions; *v can be released after a failure too. */
static tess_status create_mesh(tess_context *ctx, int nargs, const char *const *args, ventricle *v)
{
    gallery_request request;
    ventricle_options options;
    tess_status status = TESS_SUCCESS;

    *v = (ventricle){.nodes = 0};
    TESS_TRY(gallery_request_create(ctx, "ventricle", nargs, args, &request));
    TESS_TRY(read_options(&request, &options));
    status = ventricle_create(ctx, &options, v);
cleanup:
    return status;
}

tess_status tess_gallery_ventricle_points(tess_context *ctx, int nargs, const char *const *args, double *xyz)
{
    TESS_REQUIRE(NULL, ctx);
    TESS_REQUIRE(ctx, xyz);
    ventricle v;
    tess_status status = create_mesh(ctx, nargs, args, &v);

    if (status == TESS_SUCCESS) {
#pragma omp parallel for num_threads(ctx->threads)
        for (int64_t row = 0; row < v.cells; row++) {
            double x[3];

            centre_of(&v, row, x);
            for (int d = 0; d < 3; d++) {
                xyz[row + d * v.cells] = x[d];
            }
        }
    }
    ventricle_release(ctx, &v);
    return status;
}

tess_status tess_gallery_ventricle_potential(tess_context *ctx, int nargs, const char *const *args, tess_vector **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    ventricle v;
    double *potential = NULL;
    tess_vector *made = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(create_mesh(ctx, nargs, args, &v));
    TESS_TRY(tess_host_allocate(ctx, v.cells, sizeof *potential, (void **)&potential));
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t row = 0; row < v.cells; row++) {
        double x[3];

        centre_of(&v, row, x);
        potential[row] = potential_at(x);
    }
    TESS_TRY(tess_vector_create(ctx, v.cells, TESS_PRECISION_FP64, &made));
    TESS_TRY(tess_vector_set(made, potential, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    *out = made;
    made = NULL;
cleanup:
    tess_vector_destroy(made);
    tess_host_release(ctx, potential, v.cells, sizeof *potential);
    ventricle_release(ctx, &v);
    return status;
}
