/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set-up of multigrid on a GPU: levels are made, kept and stored there. Splits are those of the host, bit by bit;
 * patterns are the same, and values differ by rounding. Aggregation: aggregation_device.h.
 */
#ifndef TESS_PRECOND_MULTIGRID_DEVICE_H
#define TESS_PRECOND_MULTIGRID_DEVICE_H

#include "matrix/device_csr.h"
#include "precond/multigrid/cycle/cycle.h"
#include "precond/multigrid/cycle/store.h"
#include "precond/multigrid/sampled_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of the interpolation have at most so many entries on a GPU. */
enum { AMG_DEVICE_TRUNCATION = 5 };

/* As amg_graph, in device memory. */
typedef struct amg_device_graph {
    int64_t n;
    const int32_t *row_ptr, *col_ind;
    const uint8_t *strong; /* NULL: all but the diagonal */
} amg_device_graph;

/* The coarse unknowns of a split: the number of each row, -1 for others, and the list of them. */
typedef struct amg_device_numbers {
    int32_t *number, *list; /* n each */
    int64_t n, count;
} amg_device_numbers;

/* As amg_interpolation. rows NULL: all. */
typedef struct amg_device_interpolation {
    device_csr a;
    const uint8_t *strong, *split;
    const int32_t *number, *rows;
    int64_t nrows, ncoarse;
    int truncation; /* 1 to AMG_DEVICE_TRUNCATION */
} amg_device_interpolation;

/* Where new values of an interpolation go, as amg_weight_plan. code NULL: there is no plan. */
typedef struct amg_device_plan {
    bool made;           /* tried */
    int64_t nrows, n;    /* rows of P and of A */
    int64_t near, units; /* coarse neighbours; units of codes */
    int32_t *first;      /* n + 1: of the coarse neighbours of A's fine rows */
    uint8_t *place;      /* of each, in its row of A */
    uint8_t *diagonal;   /* n: its place in the row */
    int32_t *start;      /* nrows + 1: where codes of a row begin, in units */
    uint8_t *code;
    int32_t *rows; /* as of amg_device_interpolation */
} amg_device_plan;

enum { AMG_DEVICE_PLAN_UNIT = 4 };

/* As amg_scaled. */
typedef struct amg_device_scaled {
    device_csr a;
    const double *left, *right;
} amg_device_scaled;

/* The scales of a level: n values each on the device. */
typedef struct amg_device_scale {
    int64_t n;
    double *s, *inverse;
} amg_device_scale;

/* What kernels find of positive numbers, in device memory: bits of the least and of the largest double; a row. */
typedef struct amg_device_extremes {
    unsigned long long least, most, bad_row;
} amg_device_extremes;

/* The same as numbers. bad_row: the first row whose scale is not finite; -1: none. */
typedef struct amg_extremes {
    double least, most;
    int64_t bad_row;
} amg_extremes;

enum { AMG_MOST_EXTREMES = 3 * TESS_MAX_AMG_LEVELS, AMG_DEVICE_LANCZOS_STEPS = 10 };

/* Of Lanczos steps: alpha_j, and the norms beta_j of the vectors before they are divided by them. */
typedef struct amg_device_tridiagonal {
    double alpha[AMG_DEVICE_LANCZOS_STEPS], beta[AMG_DEVICE_LANCZOS_STEPS + 1];
    double sign; /* of D */
} amg_device_tridiagonal;

struct amg_device_level;

typedef struct amg_device_ops {
    /* The unknowns of a node, by the pattern: as find_block_size. */
    tess_status (*find_block_size)(tess_context *ctx, const device_csr *a, int *size);
    /* As amg_find_strong; *count: how many couplings are strong; NULL: not needed. */
    tess_status (*find_strong)(tess_context *ctx, const device_csr *a, double theta, double max_row_sum,
                               uint8_t *strong, int64_t *count);
    /* As amg_split. */
    tess_status (*split)(tess_context *ctx, const amg_device_graph *g, uint64_t seed, uint8_t *split);
    /* The arrays of `out` are there. */
    tess_status (*number)(tess_context *ctx, const uint8_t *split, amg_device_numbers *out);
    /* The pattern of S + I: rows of coarse unknowns alone, or columns of coarse unknowns alone. */
    tess_status (*take_part)(tess_context *ctx, const device_csr *a, const uint8_t *strong,
                             const amg_device_numbers *coarse, bool rows, device_csr *out);
    /* second[i] from the split of the coarse unknowns; those without paths to others stay. */
    tess_status (*spread_split)(tess_context *ctx, const device_csr *paths, const amg_device_numbers *coarse,
                                const uint8_t *split, uint8_t *second);
    /* As amg_interpolate; known: p has its pattern, and gets values as by amg_interpolate_again. */
    tess_status (*interpolate)(tess_context *ctx, const amg_device_interpolation *to, bool known, device_csr *p);
    /* p := p1 p2, truncated, or on p's pattern. */
    tess_status (*join)(tess_context *ctx, const device_csr *p1, const device_csr *p2, int truncation, bool known,
                        device_csr *p);
    /* Plans new values of p, if its rows and their sets are short enough. */
    tess_status (*plan_weights)(tess_context *ctx, const amg_device_interpolation *to, const device_csr *p,
                                amg_device_plan *plan);
    /* p's values by a plan that has codes. */
    tess_status (*weigh_again)(tess_context *ctx, const device_csr *a, const amg_device_plan *plan, device_csr *p);
    /* As join on a known pattern; rows of p1 and p2 have at most AMG_DEVICE_TRUNCATION entries. */
    tess_status (*join_again)(tess_context *ctx, const device_csr *p1, const device_csr *p2, device_csr *p);
    /* S = D^-1/2 of the rows' l1 norms, or of the diagonal's magnitudes. The arrays of `out` are there; what is found
       of S goes to *of. */
    tess_status (*scale)(tess_context *ctx, const device_csr *a, bool l1, const amg_device_scale *out,
                         amg_device_extremes *of);
    /* *of gets the smallest of the rows' largest entries, and the largest. */
    tess_status (*find_range)(tess_context *ctx, const amg_device_scaled *s, amg_device_extremes *of);
    tess_status (*scaled_values)(tess_context *ctx, const amg_device_scaled *s, double *val);
    /* Whether A and A^T have one pattern, and values that differ by no more than `rounding`. */
    tess_status (*find_symmetry)(tess_context *ctx, const device_csr *a, double rounding, bool *symmetric);
    /* Up to AMG_MOST_EXTREMES, for the functions that find some, which do not wait, and their values. */
    tess_status (*open_extremes)(tess_context *ctx, int count, amg_device_extremes **out);
    tess_status (*read_extremes)(tess_context *ctx, int count, const amg_device_extremes *of, amg_extremes *out);
    /* Rounds the scaled values into a stored matrix of the same pattern, if there is a kernel for its format. *of
       (NULL: not needed) as of find_range. */
    tess_status (*store_again)(tess_context *ctx, const amg_device_scaled *s, amg_device_extremes *of, tess_matrix *m,
                               bool *taken);
    /* Lanczos for S A S of levels, without a wait; and the largest eigenvalues by it, 0 where there is none. */
    tess_status (*estimate_spectra)(tess_context *ctx, int count, const struct amg_device_level *level,
                                    const amg_device_scale *scale, uint64_t seed, amg_device_tridiagonal *found);
    tess_status (*read_spectra)(tess_context *ctx, int count, const struct amg_device_level *level,
                                const amg_device_tridiagonal *found, double *largest);
    /* Of the rows amg_sampled_row(n, seed, k), k < count, to arrays of the host: as amg_sampled_row_largest, and
       as amg_sample_row. */
    tess_status (*sample_largest)(tess_context *ctx, const csr_view *a, uint64_t seed, int64_t count, double *largest);
    tess_status (*sample_sums)(tess_context *ctx, const csr_view *a, uint64_t seed, double scale, int64_t count,
                               amg_row_sums *sums);
} amg_device_ops;

const amg_device_ops *amg_device_gpu_ops(void);
/* NULL: the context has no GPU. */
const amg_device_ops *amg_device_ops_of(const tess_context *ctx);

/* ---- levels, in C ---- */

typedef struct amg_device_level {
    device_csr a;      /* of the finest level borrowed */
    device_csr p, r;   /* P and P^T; no matrices on the coarsest level */
    device_csr ap;     /* the pattern of A P, for renewals */
    device_csr p1, p2; /* of an aggressive level, the patterns of the stages of P */
    int32_t *source;   /* P's entry of each of r's */
    /* For renewals, from the first one on: of P, or of P_1 and P_2; of A P and R (A P). */
    amg_device_plan plan, second_plan;
    device_csr_plan ap_plan, coarse_plan;
    uint8_t *strong, *split, *second; /* second NULL: the level is not aggressive */
} amg_device_level;

typedef struct amg_device {
    int max_levels, aggressive; /* aggressive: how many first levels are; -1: not decided yet */
    amg_device_level *level;
    struct amg_device_node_level *nodes; /* of aggregation, max_levels of them; NULL: classical */
} amg_device;

/* By the rule of amg_choose_coarsening; *block: the unknowns of a node. */
tess_status amg_device_choose_coarsening(tess_context *ctx, const tess_amg_options *o, const tess_matrix *a,
                                         const amg_coarsening **coarsening, int *block);
/* Builds the levels if the device has a way to do so; else h->device stays NULL. Close it also after a failure. */
tess_status amg_device_build(amg_hierarchy *h, const tess_matrix *a);
tess_status amg_device_renew(amg_hierarchy *h, const tess_matrix *a);
void amg_device_close(amg_hierarchy *h);
void amg_device_plan_release(tess_context *ctx, amg_device_plan *plan);
/* The plans of a level. */
int64_t amg_device_plans_bytes(const amg_device_level *own);
void amg_device_release_plans(tess_context *ctx, amg_device_level *own);
/* The numbers of a split's coarse unknowns. Free them, also after a failure. */
tess_status amg_device_make_numbers(tess_context *ctx, int64_t n, const uint8_t *split, amg_device_numbers *out);
void amg_device_free_numbers(tess_context *ctx, amg_device_numbers *n);
/* known: P has its pattern. */
tess_status amg_device_interpolate_level(const amg_hierarchy *h, bool known, amg_device_level *own);
/* Waits for the device, and adds the seconds since *since to a stage. */
tess_status amg_device_end_stage(amg_hierarchy *h, amg_set_up_stage stage, const char *name, double *since);
/* Bytes of device memory that the levels keep for renewals and for higher precisions. */
int64_t amg_device_bytes(const amg_hierarchy *h);
/* The bounds of all levels' spectra: begins without a wait, and ends with one. Close what begin gives, also after a
   failure. */
tess_status amg_device_begin_spectra(amg_cycle *c, const amg_hierarchy *h, const amg_device_scale *scale,
                                     amg_device_tridiagonal **out);
tess_status amg_device_end_spectra(amg_cycle *c, const amg_hierarchy *h, const amg_device_tridiagonal *found);
void amg_device_close_spectra(const amg_cycle *c, const amg_hierarchy *h, amg_device_tridiagonal *found);
/* New values of a cycle that has stored these levels before. */
tess_status amg_device_renew_cycle(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted);
/* As amg_cycle_open stores levels of the host. */
tess_status amg_device_store_levels(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted);

#ifdef __cplusplus
}
#endif

#endif
