/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diffusion with random coefficients by cell-centred finite volumes: each cell has k = exp(sigma * normal), a face
 * between cells the harmonic mean 2 k l / (k + l), a face on the Dirichlet boundary, half a cell away, 2 k.
 */
#include "gallery/problem.h"

typedef struct diffusion {
    int64_t counts[3];
    int dimensions;
    const double *k;
} diffusion;

static int64_t cell_count(const diffusion *d)
{
    return d->counts[0] * d->counts[1] * d->counts[2];
}

static void locate_cell(const diffusion *d, int64_t row, int64_t *at)
{
    at[0] = row % d->counts[0];
    at[1] = row / d->counts[0] % d->counts[1];
    at[2] = row / d->counts[0] / d->counts[1];
}

static int64_t diffusion_length(const void *problem, int64_t row)
{
    const diffusion *d = problem;
    int64_t at[3], length = 1;

    locate_cell(d, row, at);
    for (int axis = 0; axis < d->dimensions; axis++) {
        length += (at[axis] > 0) + (at[axis] + 1 < d->counts[axis]);
    }
    return length;
}

/* Minus the harmonic mean, or 0 outside. Symmetric in its cells to the last bit. */
static double face_value(const diffusion *d, int64_t row, int64_t other, bool inside)
{
    return inside ? -2.0 * d->k[row] * d->k[other] / (d->k[row] + d->k[other]) : 0.0;
}

static void diffusion_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const diffusion *d = problem;
    double face[6], centre = 0.0;
    int64_t at[3], other[6], stride = 1;
    bool inside[6];
    int length = 0;

    locate_cell(d, row, at);
    for (int axis = 0; axis < d->dimensions; stride *= d->counts[axis], axis++) {
        /* Lower neighbours at 2, 1, 0 and upper ones at 3, 4, 5, so that columns ascend. */
        int lower = 2 - axis, upper = 3 + axis;

        other[lower] = row - stride;
        other[upper] = row + stride;
        inside[lower] = at[axis] > 0;
        inside[upper] = at[axis] + 1 < d->counts[axis];
        face[lower] = face_value(d, row, other[lower], inside[lower]);
        face[upper] = face_value(d, row, other[upper], inside[upper]);
        centre += inside[lower] ? -face[lower] : 2.0 * d->k[row];
        centre += inside[upper] ? -face[upper] : 2.0 * d->k[row];
    }
    for (int f = 3 - d->dimensions; f < 3 + d->dimensions; f++) {
        if (f == 3) {
            col[length] = (int32_t)row;
            val[length++] = centre;
        }
        if (inside[f]) {
            col[length] = (int32_t)other[f];
            val[length++] = face[f];
        }
    }
}

static tess_status make_diffusion(const gallery_request *request, int dimensions, tess_matrix **out)
{
    diffusion d = {{1, 1, 1}, dimensions, NULL};
    gallery_request size = *request;
    double sigma = 1.0, *k = NULL;
    int64_t seed = 1, n = 0;
    uint64_t stream;
    tess_status status = TESS_SUCCESS;

    size.nargs = 1;
    TESS_TRY(gallery_grid(&size, dimensions, 1, d.counts));
    TESS_TRY(gallery_real(request, 1, "SIGMA", 0.0, 30.0, &sigma));
    TESS_TRY(gallery_integer(request, 2, "SEED", 0, GALLERY_SEED_MAX, &seed));
    n = cell_count(&d);
    TESS_TRY(tess_host_allocate(request->ctx, n, sizeof *k, (void **)&k));
    stream = gallery_stream(seed, 0);
#pragma omp parallel for num_threads(request->ctx->threads)
    for (int64_t i = 0; i < n; i++) {
        k[i] = exp(sigma * gallery_normal(stream, (uint64_t)i));
    }
    d.k = k;
    status = gallery_build(request->ctx, &(gallery_rows){n, n, diffusion_length, diffusion_fill, &d}, out);
cleanup:
    tess_host_release(request->ctx, k, n, sizeof *k);
    return status;
}

tess_status gallery_randomdiffusion2d(const gallery_request *request, tess_matrix **out)
{
    return make_diffusion(request, 2, out);
}

tess_status gallery_randomdiffusion3d(const gallery_request *request, tess_matrix **out)
{
    return make_diffusion(request, 3, out);
}
