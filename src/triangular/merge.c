/* SPDX-License-Identifier: Apache-2.0 */
/* Merging of level sets by substitution. */
#include "triangular/merge.h"

#include <math.h>
#include <string.h>

#include "backend/host/host.h"

/* Levels are merged in chunks, apart from each other: so many at most, of so many levels at least. Rewritten rows have so many times
   the entries of the rows as they were at most. */
enum { MOST_CHUNKS = 16, LEVELS_OF_CHUNK = 64, MOST_FILL = 12 };

/* What all chunks read. */
typedef struct merge_task {
    const triangle_pattern *p;
    const double *val;
    const merge_rule *rule;
    const int32_t *level; /* of each row */
    const int32_t *place; /* of each row: its position */
    bool keep;
} merge_task;

/* A chunk at work. */
typedef struct merge_chunk {
    const merge_task *task;
    merged_rows *m;
    int64_t first, end; /* levels */
    int64_t group;      /* first level of the open group */
    int64_t used, room; /* entries: those written, and where the level's room ends */
    int64_t most, last; /* where the open group's does: MOST_FILL times its entries as they were; and the chunk's */
    double cost;        /* of the open group: its step and the entries more */
    double growth, largest;
    int32_t *slot; /* n + rows of the chunk: where a row has an index, counted from its start */
} merge_chunk;

void merge_release(tess_context *ctx, merged_rows *m)
{
    tess_host_release(ctx, m->begin, m->levels + 1, sizeof *m->begin);
    tess_host_release(ctx, m->opens, m->levels, sizeof *m->opens);
    tess_host_release(ctx, m->level_at, m->levels + 1, sizeof *m->level_at);
    tess_host_release(ctx, m->row, m->n, sizeof *m->row);
    tess_host_release(ctx, m->start, m->n, sizeof *m->start);
    tess_host_release(ctx, m->length, m->n, sizeof *m->length);
    merge_release_entries(ctx, m);
    *m = (merged_rows){0};
}

void merge_release_entries(tess_context *ctx, merged_rows *m)
{
    tess_host_release(ctx, m->index, m->capacity, sizeof *m->index);
    tess_host_release(ctx, m->val, m->capacity, sizeof *m->val);
    m->index = NULL;
    m->val = NULL;
}

/* ---- levels ---- */

tess_status merge_open(tess_context *ctx, const triangle_pattern *p, merged_rows *m)
{
    level_schedule s = {0};
    tess_status status = TESS_SUCCESS;

    *m = (merged_rows){0};
    TESS_TRY(levels_find_each(ctx, p, &s));
    m->n = s.n;
    m->levels = s.levels;
    m->row = s.order;
    s.order = NULL;
    m->capacity = MOST_FILL * (p->row_ptr[p->n] + p->n);
    TESS_TRY(tess_host_allocate(ctx, m->levels + 1, sizeof *m->begin, (void **)&m->begin));
    TESS_TRY(tess_host_allocate(ctx, m->levels, sizeof *m->opens, (void **)&m->opens));
    TESS_TRY(tess_host_allocate(ctx, m->levels + 1, sizeof *m->level_at, (void **)&m->level_at));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->start, (void **)&m->start));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->length, (void **)&m->length));
    for (int64_t l = 0; l < m->levels; l++) {
        m->level_at[l] = s.runs[l].begin;
    }
    m->level_at[m->levels] = m->n;
cleanup:
    levels_release(ctx, &s);
    return status;
}

static int64_t row_entries(const merge_task *t, int64_t row)
{
    return t->p->row_ptr[row + 1] - t->p->row_ptr[row];
}

/* Entries of positions begin .. end - 1 as they are, with that of b. */
static int64_t plain_entries(const merge_task *t, const merged_rows *m, int64_t begin, int64_t end)
{
    int64_t entries = end - begin;

    for (int64_t p = begin; p < end; p++) {
        entries += row_entries(t, m->row[p]);
    }
    return entries;
}

/* ---- rows ---- */

/* Adds to the row that begins at `start`; `at` is the index's slot. False: no room. */
static bool add(merge_chunk *c, int64_t start, int64_t at, int32_t index, double value)
{
    merged_rows *m = c->m;
    const int64_t place = start + c->slot[at];

    if (place < c->used && m->index[place] == index) {
        m->val[place] += value;
        return true;
    }
    if (c->used == c->room) { return false; }
    c->slot[at] = (int32_t)(c->used - start);
    m->index[c->used] = index;
    m->val[c->used++] = value;
    return true;
}

/* Adds factor times entries begin .. end - 1, rewritten ones. */
static bool add_row(merge_chunk *c, int64_t start, double factor, int64_t source)
{
    const merged_rows *m = c->m;
    const int64_t begin = m->start[source], end = begin + m->length[source], first = m->level_at[c->first];

    for (int64_t k = begin; k < end; k++) {
        const int32_t index = m->index[k];
        const int64_t at = index < m->n ? index : m->n + c->task->place[index - m->n] - first;

        if (!add(c, start, at, index, factor * m->val[k])) { return false; }
    }
    return true;
}

/* Whether a row of the open group, written from `start` on, keeps to the rule; `before`: its magnitudes as it was. */
static bool judge_row(merge_chunk *c, int64_t start, double before, bool limited)
{
    const merge_rule *rule = c->task->rule;
    double after = 0.0;

    for (int64_t k = start; k < c->used; k++) {
        after += fabs(c->m->val[k]);
    }
    if (limited && (!(after <= rule->growth * before && after <= rule->largest) || c->used - start > rule->longest)) {
        return false;
    }
    if (!(after <= c->growth * before)) { c->growth = after / before; }
    if (!(after <= c->largest)) { c->largest = after; }
    return true;
}

/* Rewrites the row at a position. False: it has no room, or grows too much. */
static bool rewrite_row(merge_chunk *c, int64_t position, bool limited)
{
    const merge_task *t = c->task;
    merged_rows *m = c->m;
    const int32_t row = m->row[position];
    const int64_t start = c->used, n = m->n;
    bool merged = false;
    double before = 1.0;

    m->start[position] = start;
    if (!add(c, start, n + position - m->level_at[c->first], (int32_t)n + row, 1.0)) { return false; }
    for (int64_t k = t->p->row_ptr[row]; k < t->p->row_ptr[row + 1]; k++) {
        const int32_t j = t->p->col_ind[k];
        const bool inside = t->level[j] >= c->group;

        before += fabs(t->val[k]);
        merged = merged || inside;
        if (!(inside ? add_row(c, start, -t->val[k], t->place[j]) : add(c, start, j, j, -t->val[k]))) { return false; }
    }
    m->length[position] = (int32_t)(c->used - start);
    return !merged || judge_row(c, start, before, limited);
}

/* ---- groups ---- */

/* Rewrites a level's rows within the open group. */
static bool rewrite_level(merge_chunk *c, int64_t level, bool limited)
{
    for (int64_t p = c->m->level_at[level]; p < c->m->level_at[level + 1]; p++) {
        if (!rewrite_row(c, p, limited)) { return false; }
    }
    return true;
}

/* Lets the open group have the level too, if that costs no more than its levels cost on average. */
static bool join(merge_chunk *c, int64_t level, int64_t plain)
{
    const int64_t used = c->used, most = c->most + MOST_FILL * plain;
    const double growth = c->growth, largest = c->largest;
    const double fair = (double)plain + c->cost / (double)(level - c->group);

    c->room = (double)(most - used) > fair ? used + (int64_t)fair : most;
    if (rewrite_level(c, level, true)) {
        c->cost += (double)(c->used - used - plain);
        c->most = most;
        return true;
    }
    c->used = used;
    c->growth = growth;
    c->largest = largest;
    return false;
}

static void open_group(merge_chunk *c, int64_t level, int64_t plain)
{
    c->group = level;
    c->cost = c->task->rule->step;
    c->most = c->used + MOST_FILL * plain;
    c->m->opens[level] = true;
}

static void merge_chunk_levels(merge_chunk *c)
{
    const merge_task *t = c->task;
    merged_rows *m = c->m;

    for (int64_t l = c->first; l < c->end; l++) {
        const int64_t plain = plain_entries(t, m, m->level_at[l], m->level_at[l + 1]);
        const bool alone = l == c->first || (t->keep && m->opens[l]);

        if (!t->keep && !alone && join(c, l, plain)) {
            m->opens[l] = false;
            continue;
        }
        if (!t->keep || alone) { open_group(c, l, plain); }
        c->room = c->last;
        (void)rewrite_level(c, l, false); /* has room */
    }
}

/* Chunks have about the same number of entries each. Returns how many there are; `first`: of each, and the end. */
static int cut_chunks(const merge_task *t, const merged_rows *m, int64_t *first)
{
    const int64_t total = plain_entries(t, m, 0, m->n), most = m->levels / LEVELS_OF_CHUNK;
    const int64_t count = most < 1 ? 1 : most < MOST_CHUNKS ? most : MOST_CHUNKS;
    int64_t entries = 0;
    int chunks = 0;

    for (int64_t l = 0; l < m->levels; l++) {
        if (entries * count >= chunks * total && chunks < count) { first[chunks++] = l; }
        entries += plain_entries(t, m, m->level_at[l], m->level_at[l + 1]);
    }
    first[chunks] = m->levels;
    return chunks;
}

static void list_groups(merged_rows *m)
{
    m->groups = 0;
    m->entries = 0;
    for (int64_t l = 0; l < m->levels; l++) {
        if (m->opens[l]) { m->begin[m->groups++] = m->level_at[l]; }
    }
    m->begin[m->groups] = m->n;
    for (int64_t p = 0; p < m->n; p++) {
        m->entries += m->length[p];
    }
}

/* Each chunk has room for MOST_FILL times its entries. */
static merge_chunk make_chunk(const merge_task *t, merged_rows *m, int64_t first, int64_t end)
{
    const int64_t before = MOST_FILL * plain_entries(t, m, 0, m->level_at[first]);
    const int64_t plain = plain_entries(t, m, m->level_at[first], m->level_at[end]);

    return (merge_chunk){
        .task = t, .m = m, .first = first, .end = end, .used = before, .last = before + MOST_FILL * plain};
}

/* Chunks `first` tells of, by threads; those that get one take and clear 2 n slots, which as many have as there are chunks or threads. */
static void merge_chunks(const merge_task *t, const int64_t *first, int chunks, int threads, int32_t *slots,
                         merged_rows *m)
{
    double growth = 1.0, largest = 0.0;
    int64_t taken = 0;

#pragma omp parallel num_threads(threads) reduction(max : growth, largest)
    {
        int32_t *own = NULL;

#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < chunks; i++) {
            merge_chunk c = make_chunk(t, m, first[i], first[i + 1]);

            if (!own) {
                int64_t turn = 0;

#pragma omp atomic capture
                turn = taken++;
                own = slots + turn * 2 * m->n;
                memset(own, 0, (size_t)(2 * m->n) * sizeof *own);
            }
            c.slot = own;
            merge_chunk_levels(&c);
            if (!(c.growth <= growth)) { growth = c.growth; }
            if (!(c.largest <= largest)) { largest = c.largest; }
        }
    }
    m->growth = growth;
    m->largest = largest;
    list_groups(m);
}

bool merge_keeps(const merged_rows *m, const merge_rule *rule)
{
    return m->growth <= rule->growth && m->largest <= rule->largest;
}

static void number_rows(const merged_rows *m, int32_t *level, int32_t *place)
{
    for (int64_t l = 0; l < m->levels; l++) {
        for (int64_t p = m->level_at[l]; p < m->level_at[l + 1]; p++) {
            level[m->row[p]] = (int32_t)l;
            place[m->row[p]] = (int32_t)p;
        }
    }
}

tess_status merge_rewrite(tess_context *ctx, const triangle_pattern *p, const double *val, const merge_rule *rule,
                          bool keep, merged_rows *m)
{
    int32_t *level = NULL, *place = NULL, *slots = NULL;
    int64_t first[MOST_CHUNKS + 1], slot_count = 0;
    merge_task task = {.p = p, .val = val, .rule = rule, .keep = keep};
    int chunks = 0, threads = 0;
    tess_status status = TESS_SUCCESS;

    if (!m->index) {
        TESS_TRY(tess_host_allocate(ctx, m->capacity, sizeof *m->index, (void **)&m->index));
        TESS_TRY(tess_host_allocate(ctx, m->capacity, sizeof *m->val, (void **)&m->val));
    }
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *level, (void **)&level));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *place, (void **)&place));
    number_rows(m, level, place);
    task.level = level;
    task.place = place;
    chunks = cut_chunks(&task, m, first);
    threads = chunks > 1 ? host_threads_for(ctx, p->row_ptr[p->n] + p->n) : 1;
    slot_count = (threads < chunks ? threads : chunks) * 2 * m->n;
    TESS_TRY(tess_host_allocate(ctx, slot_count, sizeof *slots, (void **)&slots));
    merge_chunks(&task, first, chunks, threads, slots, m);
cleanup:
    tess_host_release(ctx, level, m->n, sizeof *level);
    tess_host_release(ctx, place, m->n, sizeof *place);
    tess_host_release(ctx, slots, slot_count, sizeof *slots);
    return status;
}
