/* SPDX-License-Identifier: Apache-2.0 */
/* Merged triangles on the host: one thread processes the records group by group, and adds as the lanes of a GPU do. */
#include "base/by_precision.h"
#include "device/host/host.h"
#include "triangular/leaf.h"
#include "triangular/merged.h"

/* The limits of an H200: the host uses the same records. */
enum { BLOCKS = 16, SHARED_BYTES = 230400 };

static tess_status limits(tess_context *ctx, merged_limits *limits)
{
    (void)ctx;
    *limits = (merged_limits){BLOCKS, SHARED_BYTES};
    return TESS_SUCCESS;
}

/* A record of one of the blocks. */
typedef struct host_record {
    const merged_view *v;
    const char *at;
    int block;
} host_record;

static const merged_record *head_of(const host_record *r)
{
    return (const merged_record *)r->at;
}

/* The element that an index refers to. */
static int64_t place_of(const host_record *r, int64_t entry)
{
    const merged_view *v = r->v;
    const char *indices = r->at + head_of(r)->index_at;
    uint32_t index = 0;

    if (!v->wide) { return ((const uint16_t *)indices)[entry]; }
    index = ((const uint32_t *)indices)[entry];
    return v->blocks == 1 ? index : (int64_t)(index >> 16) * 2 * v->local + (index & 0xFFFFU);
}

TESS_INLINE double sum_lane(tess_precision precision, const host_record *r, int lane, int64_t begin, int64_t end)
{
    const char *val = r->at + head_of(r)->val_at;
    double sum = 0.0;

    for (int64_t k = begin; k < end; k++) {
        const int64_t entry = k * MERGED_LANES + lane;

        sum += tess_load(precision, val, entry) * r->v->workspace[place_of(r, entry)];
    }
    return sum;
}

TESS_INLINE void solve_slice(tess_precision precision, const host_record *r, int64_t slice)
{
    const merged_record *head = head_of(r);
    const uint16_t *offset = (const uint16_t *)(r->at + sizeof *head);
    const int width = 1 << head->shift;
    double *x = r->v->workspace + r->block * 2 * r->v->local + head->first;
    double sum[MERGED_LANES];

    for (int lane = 0; lane < MERGED_LANES; lane++) {
        sum[lane] = sum_lane(precision, r, lane, offset[slice], offset[slice + 1]);
    }
    for (int distance = width / 2; distance > 0; distance /= 2) {
        for (int lane = 0; lane + distance < MERGED_LANES; lane++) {
            sum[lane] += sum[lane + distance]; /* the entries that matter have not changed yet */
        }
    }
    for (int lane = 0; lane < MERGED_LANES; lane += width) {
        const int64_t row = (slice * MERGED_LANES + lane) / width;

        if (row < head->rows) { x[row] = sum[lane]; }
    }
}

TESS_INLINE void solve_slices(tess_precision precision, const host_record *r, int64_t slices)
{
    for (int64_t s = 0; s < slices; s++) {
        solve_slice(precision, r, s);
    }
}

static void solve_record(const host_record *r)
{
    CALL_BY_PRECISION(r->v->precision, solve_slices, r, head_of(r)->slices);
}

/* Column c of b. */
static void load_right_side(const merged_view *v, const triangle_args *args, int c)
{
    const int64_t columns = columns_of(args);

    for (int block = 0; block < v->blocks; block++) {
        for (int64_t i = 0; i < v->streams[block].rows; i++) {
            v->workspace[(2 * block + 1) * v->local + i] = args->b[v->row[block * v->local + i] * columns + c];
        }
    }
}

static void store_solution(const merged_view *v, const triangle_args *args, int c)
{
    const int64_t columns = columns_of(args);

    for (int block = 0; block < v->blocks; block++) {
        for (int64_t i = 0; i < v->streams[block].rows; i++) {
            const int32_t row = v->row[block * v->local + i];
            const double value = v->workspace[2 * block * v->local + i];

            args->x[row * columns + c] = value;
            if (args->scaled) { args->scaled[row * columns + c] = args->scale[row] * value; }
        }
    }
}

static void solve_column(const merged_view *v, const triangle_args *args, int c)
{
    const char *next[MERGED_MAX_BLOCKS];

    for (int block = 0; block < v->blocks; block++) {
        next[block] = v->records + v->streams[block].begin;
    }
    load_right_side(v, args, c);
    for (int64_t g = 0; g < v->groups; g++) {
        for (int block = 0; block < v->blocks; block++) {
            bool last = false;

            while (!last) {
                const host_record r = {v, next[block], block};

                solve_record(&r);
                last = head_of(&r)->last != 0;
                next[block] += head_of(&r)->bytes;
            }
        }
    }
    store_solution(v, args, c);
}

/* One column after another: b and x of a block's rows should be in a cache. */
static tess_status solve(tess_context *ctx, const merged_view *v, const triangle_args *args)
{
    (void)ctx;
    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
    for (int c = 0; c < columns_of(args); c++) {
        solve_column(v, args, c);
    }
    return TESS_SUCCESS;
}

const merged_ops merged_host_ops = {limits, solve};
