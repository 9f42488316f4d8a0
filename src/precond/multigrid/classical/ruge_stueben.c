/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split of Ruge and Stueben: "Algebraic multigrid", in Multigrid Methods (McCormick, ed., SIAM 1987),
 * section 4.6.2, algorithms A2 and A3. One thread takes one unknown after another, so that the bits do not depend on
 * threads.
 */
#include <string.h>

#include "precond/multigrid/classical/split.h"

enum { UNDECIDED = 2 };

/* Unknowns of equal measure are a doubly linked list; the last that was added is the first. */
typedef struct buckets {
    int32_t *head, *next, *before, *measure;
    int64_t n, most; /* unknowns; the largest measure there can be */
    int64_t highest; /* no list above is filled */
} buckets;

typedef struct first_pass {
    const amg_graph *g;
    int64_t *first;   /* of S^T: offsets, */
    int32_t *depends; /* and who depends on an unknown */
    int64_t strong;
    buckets b;
    uint8_t *split;
} first_pass;

static void take_out(buckets *b, int32_t i)
{
    if (b->before[i] >= 0) {
        b->next[b->before[i]] = b->next[i];
    } else {
        b->head[b->measure[i]] = b->next[i];
    }
    if (b->next[i] >= 0) { b->before[b->next[i]] = b->before[i]; }
}

static void put_in(buckets *b, int32_t i, int32_t measure)
{
    const int32_t old = b->head[measure];

    b->measure[i] = measure;
    b->next[i] = old;
    b->before[i] = -1;
    b->head[measure] = i;
    if (old >= 0) { b->before[old] = i; }
    if (measure > b->highest) { b->highest = measure; }
}

static int32_t take_highest(buckets *b)
{
    int32_t i = -1;

    while (b->highest > 0 && b->head[b->highest] < 0) {
        b->highest--;
    }
    i = b->highest > 0 ? b->head[b->highest] : -1; /* nothing depends on what is left */
    if (i >= 0) { take_out(b, i); }
    return i;
}

/* ---- who depends on whom ---- */

static tess_status transpose_graph(tess_context *ctx, first_pass *p)
{
    const amg_graph *g = p->g;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, g->n + 1, sizeof *p->first, (void **)&p->first));
    memset(p->first, 0, (size_t)(g->n + 1) * sizeof *p->first);
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            if (amg_is_strong(g, i, k)) { p->first[g->col_ind[k] + 1] += 1; }
        }
    }
    for (int64_t i = 0; i < g->n; i++) {
        p->first[i + 1] += p->first[i];
    }
    p->strong = p->first[g->n];
    TESS_TRY(tess_host_allocate(ctx, p->strong, sizeof *p->depends, (void **)&p->depends));
    for (int64_t i = g->n - 1; i >= 0; i--) { /* from the end: first[j + 1] goes down to the begin of j's list */
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            if (amg_is_strong(g, i, k)) { p->depends[--p->first[g->col_ind[k] + 1]] = (int32_t)i; }
        }
    }
    memmove(p->first, p->first + 1, (size_t)g->n * sizeof *p->first);
    p->first[g->n] = p->strong;
cleanup:
    return status;
}

static tess_status open_buckets(tess_context *ctx, const first_pass *p, buckets *b)
{
    const int64_t n = p->g->n;
    int32_t **const arrays[] = {&b->next, &b->before, &b->measure};
    int64_t longest = 0;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < n; i++) { /* each strong coupling adds at most one to what the lists count */
        longest = p->first[i + 1] - p->first[i] > longest ? p->first[i + 1] - p->first[i] : longest;
    }
    b->n = n;
    b->most = 2 * longest;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        TESS_TRY(tess_host_allocate(ctx, n, sizeof(int32_t), (void **)arrays[k]));
    }
    TESS_TRY(tess_host_allocate(ctx, b->most + 1, sizeof *b->head, (void **)&b->head));
    memset(b->head, 0xff, (size_t)(b->most + 1) * sizeof *b->head);
    for (int64_t i = n - 1; i >= 0; i--) {
        put_in(b, (int32_t)i, (int32_t)(p->first[i + 1] - p->first[i]));
    }
cleanup:
    return status;
}

static void close_buckets(tess_context *ctx, buckets *b)
{
    tess_host_release(ctx, b->next, b->n, sizeof *b->next);
    tess_host_release(ctx, b->before, b->n, sizeof *b->before);
    tess_host_release(ctx, b->measure, b->n, sizeof *b->measure);
    tess_host_release(ctx, b->head, b->most + 1, sizeof *b->head);
}

/* ---- the first pass ---- */

/* An undecided unknown that i depends on counts `step` more. */
static void count_again(first_pass *p, int64_t i, int32_t step)
{
    const amg_graph *g = p->g;

    for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
        const int32_t j = g->col_ind[k];

        if (!amg_is_strong(g, i, k) || p->split[j] != UNDECIDED) { continue; }
        take_out(&p->b, j);
        put_in(&p->b, j, p->b.measure[j] + step);
    }
}

/* i becomes coarse, and those that depend on it fine: they count twice for what they depend on. */
static void take_coarse(first_pass *p, int32_t i)
{
    p->split[i] = AMG_COARSE;
    for (int64_t k = p->first[i]; k < p->first[i + 1]; k++) {
        const int32_t j = p->depends[k];

        if (p->split[j] != UNDECIDED) { continue; }
        p->split[j] = AMG_FINE;
        take_out(&p->b, j);
        count_again(p, j, 1);
    }
    count_again(p, i, -1);
}

/* ---- the second pass ---- */

static bool have_common(const amg_graph *g, const uint8_t *split, const int32_t *of, int32_t i, int64_t j)
{
    for (int64_t k = g->row_ptr[j]; k < g->row_ptr[j + 1]; k++) {
        if (amg_is_strong(g, j, k) && split[g->col_ind[k]] == AMG_COARSE && of[g->col_ind[k]] == i) { return true; }
    }
    return false;
}

/* A fine unknown that i depends on must depend on a coarse one of i. One that does not becomes coarse; at a second one
   i does, in its place. of[j] = i: i depends on j. */
static void share_coarse(const amg_graph *g, uint8_t *split, int32_t *of, int32_t i)
{
    int32_t added = -1;

    for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
        if (amg_is_strong(g, i, k)) { of[g->col_ind[k]] = i; }
    }
    for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
        const int32_t j = g->col_ind[k];

        if (!amg_is_strong(g, i, k) || split[j] != AMG_FINE || have_common(g, split, of, i, j)) { continue; }
        if (added >= 0) {
            split[added] = AMG_FINE;
            split[i] = AMG_COARSE;
            return;
        }
        split[j] = AMG_COARSE;
        added = j;
    }
}

static tess_status run_second_pass(tess_context *ctx, const amg_graph *g, uint8_t *split)
{
    int32_t *of = NULL;
    const tess_status status = tess_host_allocate(ctx, g->n, sizeof *of, (void **)&of);

    if (status != TESS_SUCCESS) { return status; }
    memset(of, 0xff, (size_t)g->n * sizeof *of);
    for (int64_t i = 0; i < g->n; i++) {
        if (split[i] == AMG_FINE) { share_coarse(g, split, of, (int32_t)i); }
    }
    tess_host_release(ctx, of, g->n, sizeof *of);
    return TESS_SUCCESS;
}

tess_status amg_split_in_turn(tess_context *ctx, const amg_graph *g, bool second, uint8_t *split)
{
    first_pass p = {.g = g, .split = split};
    tess_status status = TESS_SUCCESS;

    memset(split, UNDECIDED, (size_t)g->n);
    TESS_TRY(transpose_graph(ctx, &p));
    TESS_TRY(open_buckets(ctx, &p, &p.b));
    for (int32_t i = take_highest(&p.b); i >= 0; i = take_highest(&p.b)) {
        take_coarse(&p, i);
    }
    for (int64_t i = 0; i < g->n; i++) {
        if (split[i] == UNDECIDED) { split[i] = AMG_FINE; }
    }
    if (second) { status = run_second_pass(ctx, g, split); }
cleanup:
    close_buckets(ctx, &p.b);
    tess_host_release(ctx, p.depends, p.strong, sizeof *p.depends);
    tess_host_release(ctx, p.first, g->n + 1, sizeof *p.first);
    return status;
}
