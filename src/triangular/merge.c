/* SPDX-License-Identifier: Apache-2.0 */
/* Merging of level sets by substitution. */
#include "triangular/merge.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "device/host/host.h"

/* Level sets are merged in separate chunks: at most so many, of at least so many level sets. Rewritten rows have at
   most so many times their original entries. */
enum { MAX_CHUNKS = 16, LEVEL_SETS_OF_CHUNK = 64, MAX_FILL = 12 };
/* Each thread has a chunk if level sets have fewer rows than this per chunk: threads that shared rows would wait for
   one another longer than a level set takes. Otherwise they share the rows of a level set, this many at a time. */
enum { ROWS_TO_SHARE = 64, ROWS_AT_ONCE = 8 };
/* Current rows get their places once they have more entries than this. */
enum { ENTRIES_AT_HAND = 4096 };
/* While a pass begins, the previous one is still read; the next one is cleared. */
enum { PASSES = 3 };

/* Shared by all chunks, read only. */
typedef struct merge_task {
    const triangle_pattern *p;
    const double *val;
    const merge_rule *rule;
    const int32_t *level_set; /* of each row */
    const int32_t *place;     /* of each row: its position */
    const int64_t *plain;     /* level sets + 1: original entries of the earlier level sets, counting those of b */
    int64_t longest;          /* the most entries that a row may have */
    bool keep;
} merge_task;

/* The state of a level set while threads share its rows. */
typedef struct merge_pass {
    int64_t rows, entries;
    int failed;
} merge_pass;

/* One thread, or all threads that share rows. */
typedef struct merge_team {
    bool shares;
    merge_pass pass[PASSES];
} merge_team;

/* A thread's workspace: one row or several, before they have a place among all rows. */
typedef struct merge_worker {
    merge_team *team;
    unsigned passes;
    bool first;    /* one thread of the team: it clears passes */
    int32_t *slot; /* n + rows of the chunk: the place of an index in the row, counted from its start */
    int32_t *index;
    double *val;
    int64_t used, limit; /* number of entries, and where those of the current row end */
    double growth, largest;
} merge_worker;

/* The state of a chunk; threads that share its rows have equal copies. */
typedef struct merge_chunk {
    const merge_task *task;
    merged_rows *m;
    int64_t first, end;  /* level sets */
    int64_t group;       /* first level set of the open group */
    int64_t used, limit; /* number of entries: written, and allowed for the level set */
    int64_t most, last;  /* limits: for the open group, MAX_FILL times its original entries; and for the chunk */
    double cost;         /* of the open group: its step and its additional entries */
} merge_chunk;

void merge_release(tess_context *ctx, merged_rows *m)
{
    tess_host_release(ctx, m->begin, m->level_sets + 1, sizeof *m->begin);
    tess_host_release(ctx, m->opens, m->level_sets, sizeof *m->opens);
    tess_host_release(ctx, m->level_set_at, m->level_sets + 1, sizeof *m->level_set_at);
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

/* ---- level sets ---- */

tess_status merge_open(tess_context *ctx, const triangle_pattern *p, const level_schedule *level_sets, merged_rows *m)
{
    level_schedule own = {0};
    tess_status status = TESS_SUCCESS;

    *m = (merged_rows){0};
    if (!level_sets) {
        TESS_TRY(level_sets_find_each(ctx, p, &own));
        level_sets = &own;
    }
    m->n = level_sets->n;
    m->level_sets = level_sets->level_sets;
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->row, (void **)&m->row));
    memcpy(m->row, level_sets->order, (size_t)m->n * sizeof *m->row);
    m->capacity = MAX_FILL * (p->row_ptr[p->n] + p->n);
    TESS_TRY(tess_host_allocate(ctx, m->level_sets + 1, sizeof *m->begin, (void **)&m->begin));
    TESS_TRY(tess_host_allocate(ctx, m->level_sets, sizeof *m->opens, (void **)&m->opens));
    TESS_TRY(tess_host_allocate(ctx, m->level_sets + 1, sizeof *m->level_set_at, (void **)&m->level_set_at));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->start, (void **)&m->start));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *m->length, (void **)&m->length));
    for (int64_t l = 0; l < m->level_sets; l++) {
        m->level_set_at[l] = level_sets->runs[l].begin;
    }
    m->level_set_at[m->level_sets] = m->n;
cleanup:
    level_sets_release(ctx, &own);
    return status;
}

/* ---- rows ---- */

/* Adds to the row that begins at `start`; `at` is the index's slot. False: no space. */
static bool add(merge_worker *h, int64_t start, int64_t at, int32_t index, double value)
{
    const int64_t place = start + h->slot[at];

    if (place < h->used && h->index[place] == index) {
        h->val[place] += value;
        return true;
    }
    if (h->used == h->limit) { return false; }
    h->slot[at] = (int32_t)(h->used - start);
    h->index[h->used] = index;
    h->val[h->used++] = value;
    return true;
}

/* Adds factor times the entries of a rewritten row. */
static bool add_row(const merge_chunk *c, merge_worker *h, int64_t start, double factor, int64_t source)
{
    const merged_rows *m = c->m;
    const int64_t begin = m->start[source], end = begin + m->length[source], first = m->level_set_at[c->first];

    for (int64_t k = begin; k < end; k++) {
        const int32_t index = m->index[k];
        const int64_t at = index < m->n ? index : m->n + c->task->place[index - m->n] - first;

        if (!add(h, start, at, index, factor * m->val[k])) { return false; }
    }
    return true;
}

/* Whether a row of the open group, written from `start` on, keeps to the rule; `before`: its original magnitudes. */
static bool judge_row(const merge_rule *rule, merge_worker *h, int64_t start, double before, bool limited)
{
    double after = 0.0;

    for (int64_t k = start; k < h->used; k++) {
        after += fabs(h->val[k]);
    }
    if (!(after <= DBL_MAX)) { after = (double)INFINITY; } /* NaN stays the largest */
    if (limited && (!(after / before <= rule->growth && after <= rule->largest) || h->used - start > rule->longest)) {
        return false;
    }
    h->growth = fmax(h->growth, after / before);
    h->largest = fmax(h->largest, after);
    return true;
}

/* Rewrites the row at a position, which then begins at m->start in the thread's workspace. False: it grows too much. */
static bool rewrite_row(const merge_chunk *c, merge_worker *h, int64_t position, bool limited)
{
    const merge_task *t = c->task;
    merged_rows *m = c->m;
    const int32_t row = m->row[position];
    const int64_t start = h->used, n = m->n;
    bool merged = false;
    double before = 1.0;

    h->limit = start + t->longest;
    m->start[position] = start;
    if (!add(h, start, n + position - m->level_set_at[c->first], (int32_t)n + row, 1.0)) { return false; }
    for (int64_t k = t->p->row_ptr[row]; k < t->p->row_ptr[row + 1]; k++) {
        const int32_t j = t->p->col_ind[k];
        const bool inside = t->level_set[j] >= c->group;

        before += fabs(t->val[k]);
        merged = merged || inside;
        if (!(inside ? add_row(c, h, start, -t->val[k], t->place[j]) : add(h, start, j, j, -t->val[k]))) {
            return false;
        }
    }
    m->length[position] = (int32_t)(h->used - start);
    return !merged || judge_row(t->rule, h, start, before, limited);
}

/* Gives the current rows, at positions begin .. end - 1, a place among all rows. False: there is no space. */
static bool place_rows(const merge_chunk *c, merge_worker *h, merge_pass *pass, int64_t begin, int64_t end)
{
    merged_rows *m = c->m;
    int64_t taken = 0;

#pragma omp atomic capture
    {
        taken = pass->entries;
        pass->entries += h->used;
    }
    if (taken + h->used > c->limit) { return false; }
    memcpy(m->index + c->used + taken, h->index, (size_t)h->used * sizeof *h->index);
    memcpy(m->val + c->used + taken, h->val, (size_t)h->used * sizeof *h->val);
    for (int64_t p = begin; p < end; p++) {
        m->start[p] += c->used + taken;
    }
    h->used = 0;
    return true;
}

/* Rewrites the rows at positions begin .. end - 1. False: there is no space, or they grow too much. */
static bool rewrite_rows(const merge_chunk *c, merge_worker *h, merge_pass *pass, int64_t begin, int64_t end,
                         bool limited)
{
    h->used = 0;
    for (int64_t p = begin; p < end; p++) {
        if (!rewrite_row(c, h, p, limited)) { return false; }
        if (h->used <= ENTRIES_AT_HAND && p + 1 < end) { continue; }
        if (!place_rows(c, h, pass, begin, p + 1)) { return false; }
        begin = p + 1;
    }
    return true;
}

/* ---- level sets, by one thread or by all ---- */

static merge_pass *next_pass(merge_worker *h)
{
    h->passes += 1;
    if (h->first) { h->team->pass[(h->passes + 1) % PASSES] = (merge_pass){0}; }
    return &h->team->pass[h->passes % PASSES];
}

/* The first of the next rows of a pass. */
static int64_t take_rows(merge_pass *pass)
{
    int64_t taken = 0;

#pragma omp atomic capture
    {
        taken = pass->rows;
        pass->rows += ROWS_AT_ONCE;
    }
    return taken;
}

static bool has_failed(const merge_pass *pass)
{
    int failed = 0;

#pragma omp atomic read
    failed = pass->failed;
    return failed != 0;
}

static void wait_for_all(const merge_worker *h)
{
    if (h->team->shares) {
#pragma omp barrier
    }
}

/* Rewrites a level set's rows within the open group. */
static bool rewrite_level_set(merge_chunk *c, merge_worker *h, int64_t level_set, bool limited)
{
    const int64_t begin = c->m->level_set_at[level_set], end = c->m->level_set_at[level_set + 1];
    merge_pass *pass = next_pass(h);

    for (int64_t p = begin + take_rows(pass); p < end && !has_failed(pass); p = begin + take_rows(pass)) {
        if (!rewrite_rows(c, h, pass, p, p + ROWS_AT_ONCE < end ? p + ROWS_AT_ONCE : end, limited)) {
#pragma omp atomic write
            pass->failed = 1;
        }
    }
    wait_for_all(h);
    if (pass->failed) { return false; }
    c->used += pass->entries;
    return true;
}

/* ---- groups ---- */

/* Adds the level set to the open group, if the group then costs no more per level set than its level sets do on
   average. */
static bool join(merge_chunk *c, merge_worker *h, int64_t level_set, int64_t plain)
{
    const int64_t used = c->used, most = c->most + MAX_FILL * plain;
    const double growth = h->growth, largest = h->largest;
    const double fair = (double)plain + c->cost / (double)(level_set - c->group);

    c->limit = (double)(most - used) > fair ? (int64_t)fair : most - used;
    if (rewrite_level_set(c, h, level_set, true)) {
        c->cost += (double)(c->used - used - plain);
        c->most = most;
        return true;
    }
    h->growth = growth;
    h->largest = largest;
    return false;
}

static void open_group(merge_chunk *c, int64_t level_set, int64_t plain)
{
    c->group = level_set;
    c->cost = c->task->rule->step;
    c->most = c->used + MAX_FILL * plain;
}

static void merge_chunk_level_sets(merge_chunk c, merge_worker *h)
{
    const merge_task *t = c.task;
    merged_rows *m = c.m;

    for (int64_t l = c.first; l < c.end; l++) {
        const int64_t plain = t->plain[l + 1] - t->plain[l];
        const bool alone = l == c.first || (t->keep && m->opens[l]);
        const bool joins = t->keep ? !alone : !alone && join(&c, h, l, plain);

        if (!t->keep && h->first) { m->opens[l] = !joins; }
        if (!joins) { open_group(&c, l, plain); }
        if (joins && !t->keep) { continue; }
        c.limit = c.last - c.used;
        (void)rewrite_level_set(&c, h, l, false); /* has space */
    }
}

/* Chunks have about the same number of entries each. Returns their number; `first`: the beginning of each, and the end.
 */
static int cut_chunks(const merge_task *t, const merged_rows *m, int64_t *first)
{
    const int64_t total = t->plain[m->level_sets], most = m->level_sets / LEVEL_SETS_OF_CHUNK;
    const int64_t count = most < 1 ? 1 : most < MAX_CHUNKS ? most : MAX_CHUNKS;
    int chunks = 0;

    for (int64_t l = 0; l < m->level_sets; l++) {
        if (t->plain[l] * count >= chunks * total && chunks < count) { first[chunks++] = l; }
    }
    first[chunks] = m->level_sets;
    return chunks;
}

/* Rows of the longest chunk. */
static int64_t widest_chunk(const merged_rows *m, const int64_t *first, int chunks)
{
    int64_t widest = 0;

    for (int i = 0; i < chunks; i++) {
        const int64_t rows = m->level_set_at[first[i + 1]] - m->level_set_at[first[i]];

        if (rows > widest) { widest = rows; }
    }
    return widest;
}

static void list_groups(merged_rows *m)
{
    m->groups = 0;
    m->entries = 0;
    for (int64_t l = 0; l < m->level_sets; l++) {
        if (m->opens[l]) { m->begin[m->groups++] = m->level_set_at[l]; }
    }
    m->begin[m->groups] = m->n;
    for (int64_t p = 0; p < m->n; p++) {
        m->entries += m->length[p];
    }
}

/* Each chunk has space for MAX_FILL times its entries. */
static merge_chunk make_chunk(const merge_task *t, merged_rows *m, int64_t first, int64_t end)
{
    return (merge_chunk){.task = t,
                         .m = m,
                         .first = first,
                         .end = end,
                         .used = MAX_FILL * t->plain[first],
                         .last = MAX_FILL * t->plain[end]};
}

/* The workspace of threads: slots, and current rows. */
typedef struct merge_workspace {
    int64_t places, taken; /* one for each thread that has work */
    int64_t slots, entries;
    int32_t *slot, *index;
    double *val;
} merge_workspace;

static tess_status make_workspace(tess_context *ctx, int64_t places, int64_t slots, int64_t longest, merge_workspace *d)
{
    tess_status status = TESS_SUCCESS;

    *d = (merge_workspace){.places = places, .slots = slots, .entries = ENTRIES_AT_HAND + longest};
    TESS_TRY(tess_host_allocate(ctx, places * d->slots, sizeof *d->slot, (void **)&d->slot));
    TESS_TRY(tess_host_allocate(ctx, places * d->entries, sizeof *d->index, (void **)&d->index));
    status = tess_host_allocate(ctx, places * d->entries, sizeof *d->val, (void **)&d->val);
cleanup:
    return status;
}

static void release_workspace(tess_context *ctx, merge_workspace *d)
{
    tess_host_release(ctx, d->slot, d->places * d->slots, sizeof *d->slot);
    tess_host_release(ctx, d->index, d->places * d->entries, sizeof *d->index);
    tess_host_release(ctx, d->val, d->places * d->entries, sizeof *d->val);
}

/* A thread's part of the workspace, cleared. */
static merge_worker take_worker(merge_workspace *d, merge_team *team)
{
    merge_worker h = {.team = team, .growth = 1.0};
    int64_t turn = 0;

#pragma omp atomic capture
    turn = d->taken++;
    h.first = !team->shares || turn == 0;
    h.slot = d->slot + turn * d->slots;
    h.index = d->index + turn * d->entries;
    h.val = d->val + turn * d->entries;
    memset(h.slot, 0, (size_t)d->slots * sizeof *h.slot);
    return h;
}

/* Distributes the chunks of `first` among threads: one each, or all of them one after another to a team. */
static void merge_chunks(const merge_task *t, const int64_t *first, int chunks, bool shares, int threads,
                         merge_workspace *workspace, merged_rows *m)
{
    merge_team all = {.shares = true};
    double growth = 1.0, largest = 0.0;

#pragma omp parallel num_threads(threads) reduction(max : growth, largest) if (threads > 1)
    {
        merge_team one = {.shares = false};
        merge_worker h = {.growth = 1.0};

        if (shares) {
            h = take_worker(workspace, &all);
            for (int i = 0; i < chunks; i++) {
                merge_chunk_level_sets(make_chunk(t, m, first[i], first[i + 1]), &h);
            }
        } else {
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < chunks; i++) {
                if (!h.slot) { h = take_worker(workspace, &one); }
                merge_chunk_level_sets(make_chunk(t, m, first[i], first[i + 1]), &h);
            }
        }
        growth = h.growth;
        largest = h.largest;
    }
    m->growth = growth;
    m->largest = largest;
    list_groups(m);
}

bool merge_keeps(const merged_rows *m, const merge_rule *rule)
{
    return m->growth <= rule->growth && m->largest <= rule->largest;
}

/* Level sets and positions of rows, and the entries of level sets. */
static void number_rows(const triangle_pattern *p, const merged_rows *m, int32_t *level_set, int32_t *place,
                        int64_t *plain)
{
    plain[0] = 0;
    for (int64_t l = 0; l < m->level_sets; l++) {
        plain[l + 1] = plain[l] + m->level_set_at[l + 1] - m->level_set_at[l];
        for (int64_t q = m->level_set_at[l]; q < m->level_set_at[l + 1]; q++) {
            const int32_t row = m->row[q];

            level_set[row] = (int32_t)l;
            place[row] = (int32_t)q;
            plain[l + 1] += p->row_ptr[row + 1] - p->row_ptr[row];
        }
    }
}

/* The most entries of a current row: the original number, or the rule's, or, if groups stay, the present number. */
static int64_t longest_row(const triangle_pattern *p, const merged_rows *m, const merge_rule *rule, bool keep)
{
    int64_t longest = rule->longest < 2 * m->n ? rule->longest : 2 * m->n;

    for (int64_t i = 0; i < m->n; i++) {
        const int64_t entries = keep ? m->length[i] : p->row_ptr[i + 1] - p->row_ptr[i] + 1;

        if (entries > longest) { longest = entries; }
    }
    return longest;
}

tess_status merge_rewrite(tess_context *ctx, const triangle_pattern *p, const double *val, const merge_rule *rule,
                          bool keep, merged_rows *m)
{
    int32_t *level_set = NULL, *place = NULL;
    int64_t first[MAX_CHUNKS + 1], *plain = NULL;
    merge_task task = {.p = p, .val = val, .rule = rule, .longest = longest_row(p, m, rule, keep), .keep = keep};
    merge_workspace workspace = {0};
    int chunks = 0, threads = 0;
    bool shares = false;
    tess_status status = TESS_SUCCESS;

    if (!m->index) {
        TESS_TRY(tess_host_allocate(ctx, m->capacity, sizeof *m->index, (void **)&m->index));
        TESS_TRY(tess_host_allocate(ctx, m->capacity, sizeof *m->val, (void **)&m->val));
    }
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *level_set, (void **)&level_set));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *place, (void **)&place));
    TESS_TRY(tess_host_allocate(ctx, m->level_sets + 1, sizeof *plain, (void **)&plain));
    number_rows(p, m, level_set, place, plain);
    task.level_set = level_set;
    task.place = place;
    task.plain = plain;
    chunks = cut_chunks(&task, m, first);
    shares = m->n >= ROWS_TO_SHARE * chunks * m->level_sets;
    threads = shares || chunks > 1 ? host_threads_for(ctx, plain[m->level_sets]) : 1;
    TESS_TRY(make_workspace(ctx, shares || threads < chunks ? threads : chunks, m->n + widest_chunk(m, first, chunks),
                            task.longest, &workspace));
    merge_chunks(&task, first, chunks, shares, threads, &workspace, m);
cleanup:
    tess_host_release(ctx, level_set, m->n, sizeof *level_set);
    tess_host_release(ctx, place, m->n, sizeof *place);
    tess_host_release(ctx, plain, m->level_sets + 1, sizeof *plain);
    release_workspace(ctx, &workspace);
    return status;
}
