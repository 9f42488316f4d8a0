/* SPDX-License-Identifier: Apache-2.0 */
/* Level sets of a triangle. */
#include "triangular/level_sets.h"

#include <string.h>

#include "device/host/host.h"
#include "triangular/leaf.h"
#include "triangular/leveled.h"

/* First the number of rows of each level set, then their places. */
typedef struct level_set_work {
    int64_t first, end;
    int32_t *level_set; /* of each row, from 0 */
    int64_t *place;     /* where each level set's rows begin; one more than there may be level sets */
    int64_t *work;      /* rows and entries of each level set */
    bool each;          /* every level set is a run */
} level_set_work;

void level_sets_release(tess_context *ctx, level_schedule *s)
{
    tess_host_release(ctx, s->order, s->n, sizeof *s->order);
    tess_host_release(ctx, s->runs, s->nruns, sizeof *s->runs);
    *s = (level_schedule){0};
}

void leveled_release(tess_context *ctx, leveled_rows *r)
{
    tess_device_release(ctx, r->order, r->n, sizeof *r->order);
    tess_host_release(ctx, r->runs, r->level_sets, sizeof *r->runs);
    *r = (leveled_rows){0};
}

/* Row number i in the order of the solution. */
static int64_t row_at(const triangle_pattern *p, const level_set_work *w, int64_t i)
{
    return p->upper ? w->end - 1 - i : w->first + i;
}

static int32_t level_of(const triangle_pattern *p, const level_set_work *w, int64_t row, int64_t *entries)
{
    int32_t level_set = 0;

    *entries = 0;
    for (int64_t k = p->row_ptr[row]; k < p->row_ptr[row + 1]; k++) {
        const int32_t j = p->col_ind[k];

        if (j < w->first || j >= w->end) { continue; }
        *entries += 1;
        if (w->level_set[j - w->first] >= level_set) { level_set = w->level_set[j - w->first] + 1; }
    }
    return level_set;
}

static void count_level_sets(const triangle_pattern *p, level_set_work *w, level_schedule *s)
{
    memset(w->place, 0, (size_t)(s->n + 1) * sizeof *w->place);
    memset(w->work, 0, (size_t)s->n * sizeof *w->work);
    s->level_sets = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t row = row_at(p, w, i);
        int64_t entries = 0;
        const int32_t level_set = level_of(p, w, row, &entries);

        w->level_set[row - w->first] = level_set;
        w->place[level_set + 1] += 1;
        w->work[level_set] += 1 + entries;
        if (level_set >= s->level_sets) { s->level_sets = level_set + 1; }
    }
    for (int64_t l = 0; l < s->level_sets; l++) {
        w->place[l + 1] += w->place[l];
    }
}

/* Whether threads share the rows of a level set: on a GPU always. */
static bool is_shared(const tess_context *ctx, const level_set_work *w, int64_t level_set)
{
    if (w->each || ctx->device == TESS_DEVICE_GPU) { return true; }
    return ctx->threads > 1 && w->work[level_set] > HOST_SERIAL_WORK;
}

/* Runs of the level sets; `runs` may be NULL. Returns their number. */
static int64_t list_runs(const tess_context *ctx, const level_set_work *w, int64_t level_sets, level_run *runs)
{
    int64_t count = 0;
    bool open = false;

    for (int64_t l = 0; l < level_sets; l++) {
        const bool shared = is_shared(ctx, w, l);

        if (shared || !open) {
            if (runs) { runs[count] = (level_run){w->place[l], w->place[l], shared}; }
            count += 1;
        }
        if (runs) { runs[count - 1].end = w->place[l + 1]; }
        open = !shared;
    }
    return count;
}

/* A schedule of one run for one thread keeps the rows in their order, because their entries and x are then near one
   another. */
static void order_rows(const triangle_pattern *p, level_set_work *w, level_schedule *s)
{
    const bool by_level_set = s->nruns > 1 || (s->nruns == 1 && s->runs[0].shared);

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t row = row_at(p, w, i);

        s->order[by_level_set ? w->place[w->level_set[row - w->first]]++ : i] = (int32_t)row;
    }
}

static tess_status find(tess_context *ctx, const triangle_pattern *p, level_set_work w, level_schedule *out)
{
    const int64_t n = w.end - w.first;
    tess_status status = TESS_SUCCESS;

    *out = (level_schedule){.n = n};
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *w.level_set, (void **)&w.level_set));
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *w.place, (void **)&w.place));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *w.work, (void **)&w.work));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *out->order, (void **)&out->order));
    count_level_sets(p, &w, out);
    out->nruns = list_runs(ctx, &w, out->level_sets, NULL);
    TESS_TRY(tess_host_allocate(ctx, out->nruns, sizeof *out->runs, (void **)&out->runs));
    list_runs(ctx, &w, out->level_sets, out->runs);
    order_rows(p, &w, out);
cleanup:
    tess_host_release(ctx, w.level_set, n, sizeof *w.level_set);
    tess_host_release(ctx, w.place, n + 1, sizeof *w.place);
    tess_host_release(ctx, w.work, n, sizeof *w.work);
    return status;
}

tess_status level_sets_find(tess_context *ctx, const triangle_pattern *p, int64_t first, int64_t end,
                            level_schedule *out)
{
    return find(ctx, p, (level_set_work){.first = first, .end = end}, out);
}

tess_status level_sets_find_each(tess_context *ctx, const triangle_pattern *p, level_schedule *out)
{
    return find(ctx, p, (level_set_work){.end = p->n, .each = true}, out);
}
