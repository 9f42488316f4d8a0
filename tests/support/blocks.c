/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"

#include <tessera/codec.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"

/* ---- mean and standard deviation ---- */

static bool is_counted(double value)
{
    return isfinite(value) && value != 0.0;
}

void oracle_magnitudes(const oracle_csr *a, wide *mean, wide *std)
{
    wide sum = 0, squares = 0;
    int64_t count = 0;

    for (int64_t k = 0; k < a->nnz; k++) {
        if (is_counted(a->val[k])) {
            sum += wide_abs((wide)a->val[k]);
            count++;
        }
    }
    *mean = count > 0 ? sum / (wide)count : 0;
    for (int64_t k = 0; k < a->nnz; k++) {
        wide deviation = is_counted(a->val[k]) ? wide_abs((wide)a->val[k]) - *mean : 0;

        squares += deviation * deviation;
    }
    *std = count > 0 ? wide_sqrt(squares / (wide)count) : 0;
}

/* The documented bounds. */
static void check_magnitudes(const oracle_csr *a, const tess_assignment_summary *s)
{
    const tess_policy_options *o = &s->options;
    wide mean = 0, std = 0;
    double depth = 40.0 + (double)a->nnz / 0x1p20, rms2, bound, range;

    if (o->policy != TESS_POLICY_MEAN_3STD) {
        assert_true(s->std_magnitude == 0.0);
        return;
    }
    oracle_magnitudes(a, &mean, &std);
    rms2 = (double)(mean * mean + std * std);
    assert_at_most(fabs(s->mean_magnitude - (double)mean), 3.0 * U64 * (double)mean);
    if ((double)std <= 0x1p-39 * (double)mean && s->std_magnitude == 0.0) { return; }
    bound = 8.0 * U64 * (double)std + 4.0 * depth * depth * U64 * U64 * rms2 / (double)std;
    assert_at_most((double)wide_abs((wide)s->std_magnitude - std), bound);
    range = o->parameter * fma(3.0, s->std_magnitude, s->mean_magnitude);
    assert_at_most(fabs(s->range[1] - range), 2.0 * U64 * range);
}

/* ---- blocks ---- */

/* Facts about one place of the grid, from a pass over all entries. */
typedef struct place {
    int64_t count;
    double value[32 * 32];
    bool finite;
    double smallest, largest;
} place;

static place look_at_place(const oracle_csr *a, const tess_policy_options *o, int64_t block_row, int64_t block_column)
{
    place p = {.finite = true, .smallest = (double)INFINITY};
    int64_t end = (block_row + 1) * o->block_rows;

    for (int64_t i = block_row * o->block_rows; i < end && i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            double magnitude = fabs(a->val[k]);

            if (a->col_ind[k] / o->block_cols != block_column) { continue; }
            p.value[p.count++] = a->val[k];
            p.finite = p.finite && isfinite(magnitude);
            p.largest = fmax(p.largest, magnitude);
            if (magnitude > 0.0) { p.smallest = fmin(p.smallest, magnitude); }
        }
    }
    return p;
}

static double largest_of(tess_precision precision)
{
#define LARGEST(NAME, value, name, type, bits, emin, emax, max) [value] = (max),
    static const double largest[] = {TESS_PRECISION_LIST(LARGEST)};
#undef LARGEST

    return largest[precision];
}

/* The smallest normal number; everything fits into fp64. */
static double smallest_of(tess_precision precision)
{
#define SMALLEST(NAME, value, name, type, bits, emin, emax, max) [value] = (emin),
    static const int exponent[] = {TESS_PRECISION_LIST(SMALLEST)};
#undef SMALLEST

    return precision == TESS_PRECISION_FP64 ? 0.0 : ldexp(1.0, exponent[precision]);
}

/* Whether storage over 2^exponent loses no more than `loss` of any value, by the codec. */
static bool keeps_all(tess_precision precision, int exponent, const place *p, double loss)
{
    for (int64_t k = 0; k < p->count; k++) {
        double code = 0.0, stored;

        tess_store(precision, &code, 0, ldexp(p->value[k], -exponent), TESS_OVERFLOW_INFINITY);
        stored = ldexp(tess_load(precision, &code, 0), exponent);
        if (!isfinite(stored) ||
            wide_abs((wide)p->value[k] - (wide)stored) > (wide)loss * wide_abs((wide)p->value[k])) {
            return false;
        }
    }
    return true;
}

/* The rules as the public header words them. */
static int expected_exponent(const tess_policy_options *o, const tess_precision_level *level, const place *p)
{
    double top = largest_of(level->precision), least = smallest_of(level->precision);
    int exponent = 0;

    if (!level->scaled || !p->finite || p->largest == 0.0) { return 0; }
    if (o->policy == TESS_POLICY_LOSSLESS ? keeps_all(level->precision, 0, p, o->parameter)
                                          : p->largest <= top && p->smallest >= least) {
        return 0;
    }
    (void)frexp(p->largest, &exponent);
    exponent -= 1; /* 2^exponent <= largest */
    exponent -=
        level->precision == TESS_PRECISION_FP32 || level->precision == TESS_PRECISION_BF16 ? 62 : ilogb(top) - 1;
    return exponent < -1022 ? -1022 : exponent > 1022 ? 1022 : exponent;
}

static int expected_level(const tess_assignment_summary *s, const place *p, int *exponent)
{
    const tess_policy_options *o = &s->options;

    for (int l = o->policy == TESS_POLICY_NONE ? 0 : o->nlevels - 1; l > 0; l--) {
        double largest = largest_of(o->level[l].precision);
        double smallest = smallest_of(o->level[l].precision);

        *exponent = expected_exponent(o, &o->level[l], p);
        if (o->policy == TESS_POLICY_LOSSLESS) {
            if (p->finite && keeps_all(o->level[l].precision, *exponent, p, o->parameter)) { return l; }
            continue;
        }
        if (!p->finite || !(p->largest < s->range[l]) || ldexp(p->largest, -*exponent) > largest) { continue; }
        if (!o->allow_underflow && ldexp(p->smallest, -*exponent) < smallest) { continue; }
        return l;
    }
    *exponent = expected_exponent(o, &o->level[0], p);
    return 0;
}

typedef struct got_blocks {
    int64_t *first;
    int32_t *column;
    uint16_t *count;
    uint8_t *level;
    int16_t *exponent; /* NULL: none */
} got_blocks;

static got_blocks fetch_blocks(tess_context *ctx, const tess_assignment *made)
{
    int64_t nblocks = made->grid.nblocks;
    got_blocks g = {.first = test_allocate(made->grid.nblock_rows + 1, sizeof *g.first),
                    .column = test_allocate(nblocks + 1, sizeof *g.column),
                    .count = test_allocate(nblocks + 1, sizeof *g.count),
                    .level = test_allocate(nblocks + 1, 1)};

    assert_ok(ctx, tess_assignment_get_blocks(made, g.first, g.column, g.count));
    assert_ok(ctx, tess_assignment_get_levels(made, g.level));
    if (made->exponent) {
        g.exponent = test_allocate(nblocks + 1, sizeof *g.exponent);
        assert_ok(ctx, ctx->backend->download(ctx, g.exponent, made->exponent, (size_t)nblocks * sizeof *g.exponent));
    }
    return g;
}

/* The totals over all blocks. */
typedef struct block_sums {
    int64_t items[TESS_MAX_LEVELS], nonzeros[TESS_MAX_LEVELS], scaled[TESS_MAX_LEVELS];
} block_sums;

static void check_block(const oracle_csr *a, const tess_assignment_summary *s, const got_blocks *g, int64_t block_row,
                        int64_t b, block_sums *sums)
{
    place p = look_at_place(a, &s->options, block_row, g->column[b]);
    int exponent = 0, level = expected_level(s, &p, &exponent);

    assert_int_equal(g->count[b], p.count);
    assert_int_equal(g->level[b], level);
    assert_int_equal(g->exponent ? g->exponent[b] : 0, exponent);
    sums->items[level] += 1;
    sums->nonzeros[level] += p.count;
    sums->scaled[level] += exponent != 0;
}

/* Ascending blocks whose counts add up to all entries leave none out, and none is there twice. */
static void check_row(const oracle_csr *a, const tess_assignment_summary *s, const got_blocks *g, int64_t block_row,
                      block_sums *sums)
{
    for (int64_t b = g->first[block_row]; b < g->first[block_row + 1]; b++) {
        assert_true(g->count[b] > 0);
        assert_true(b == g->first[block_row] || g->column[b - 1] < g->column[b]);
        check_block(a, s, g, block_row, b, sums);
    }
}

double shortened(double value, int bits)
{
    int exponent = 0;
    const double fraction = frexp(value, &exponent);

    return isfinite(value) ? ldexp(rint(ldexp(fraction, bits)), exponent - bits) : value;
}

void shorten_values(oracle_csr *a)
{
    static const int lengths[] = {2, 53, 4, 24, 11, 8};

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int length = lengths[(i / 32 * 5 + a->col_ind[k] / 64) % 6];
            int exponent = 0;
            const double fraction = frexp(a->val[k], &exponent);

            if (length < 53) { a->val[k] = shortened(ldexp(fraction, exponent % 12), length); }
        }
    }
}

tess_assignment_summary check_blocks(tess_context *ctx, const oracle_csr *a, const tess_policy_options *options)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_assignment *made = NULL;
    tess_assignment_summary s = {.size = sizeof s};
    got_blocks g;
    block_sums sums = {{0}, {0}, {0}};
    int64_t nonzeros = 0, scaled = 0;

    assert_ok(ctx, tess_assignment_create(m, options, &made));
    assert_ok(ctx, tess_assignment_measure_error(made, m));
    tess_assignment_get_summary(made, &s);
    check_magnitudes(a, &s);
    assert_int_equal(made->grid.nblock_rows, (a->nrows + s.options.block_rows - 1) / s.options.block_rows);
    assert_int_equal(s.items, made->grid.nblocks);
    g = fetch_blocks(ctx, made);
    assert_int_equal(g.first[0], 0);
    assert_int_equal(g.first[made->grid.nblock_rows], s.items);
    for (int64_t i = 0; i < made->grid.nblock_rows; i++) {
        check_row(a, &s, &g, i, &sums);
    }
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        assert_int_equal(s.items_at[l], sums.items[l]);
        assert_int_equal(s.nonzeros_at[l], sums.nonzeros[l]);
        assert_int_equal(s.scaled[l], sums.scaled[l] > 0);
        nonzeros += sums.nonzeros[l];
        scaled += sums.scaled[l];
    }
    assert_int_equal(nonzeros, a->nnz);
    assert_int_equal(g.exponent != NULL, scaled > 0);
    if (s.options.policy == TESS_POLICY_LOSSLESS) { assert_at_most(s.largest_relative_error, s.options.parameter); }
    free(g.first);
    free(g.column);
    free(g.count);
    free(g.level);
    free(g.exponent);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    return s;
}
