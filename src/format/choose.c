/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format that auto stands for. The library never changes a requested option: it chooses the fastest format that
 * takes all of them. Measured on one H200: docs/results/product.md. On a host of two cores slices take 1.4 to 2.5
 * times as long as CSR, and tiles 1.9 to 3.8 times, where split by rows takes 0.9 to 1.3 times (docs/howto/choose-
 * formats.md). There policy lossless is chosen by measurement (measured.c), but for full blocks of nodes.
 */
#include "format/choose.h"

#include "format/fit.h"
#include "policy/assignment.h"

/* Slices pay up to this number of entries stored per nonzero: they save 2 bytes of the 4 + those of a value. Diagonals
   save all 4. */
static const double most_padding = 1.15;
/* Blocks of nodes pay where they are full, and large enough for the count of them to pay. */
static const double nodes_most_padding = 1.05;
enum { NODES_LEAST_NONZEROS = 1 << 16 };
/* Tiles pay from this number of nonzeros per block on: with fewer, the data stored for a block outweighs the saving on
   columns. */
enum { MIN_NONZEROS = 4 };

/* The matrix in a format that pads, if this pays; else *out is NULL. */
static tess_status try_format(const tess_matrix *a, const tess_storage_options *options, tess_format format,
                              bool judged, tess_matrix **out)
{
    const tess_error before = a->ctx->error;
    tess_storage_options o = *options;
    tess_status status;

    *out = NULL;
    o.format = format;
    if (o.slices.max_padding == 0.0 || o.slices.max_padding > most_padding) { o.slices.max_padding = most_padding; }
    status = judged ? tess_matrix_convert(a, &o, out) : tess_matrix_convert_unjudged(a, &o, out);
    if (status != TESS_UNSUPPORTED && status != TESS_OUT_OF_RANGE) { return status; }
    a->ctx->error = before; /* a refusal is not a failure */
    return TESS_SUCCESS;
}

static tess_status try_padded(const tess_matrix *a, const tess_storage_options *options, tess_format format,
                              tess_matrix **out)
{
    return try_format(a, options, format, true, out);
}

tess_status tess_matrix_try_diagonals(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    *out = NULL;
    if (a->nrows != a->ncols) { return TESS_SUCCESS; }
    return try_format(a, options, tess_format_in_role(TESS_ROLE_DIAGONALS), false, out);
}

tess_status tess_matrix_try_padded(const tess_matrix *a, const tess_storage_options *options, bool diagonals,
                                   tess_matrix **out)
{
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (diagonals) { status = tess_matrix_try_diagonals(a, options, out); }
    if (status == TESS_SUCCESS && !*out) {
        status = try_format(a, options, tess_format_in_role(TESS_ROLE_SLICES), false, out);
    }
    return status;
}

tess_status tess_matrix_try_slices(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    return try_padded(a, options, tess_format_in_role(TESS_ROLE_SLICES), out);
}

/* ---- nodes, and complex numbers ---- */

static bool takes_whole_lossless(const tess_storage_options *o, tess_format format);

/* The real form of a complex matrix takes 18 to 20 bytes an entry by blocks of (re, im), and 48 by rows. Full blocks of
   real numbers take 9 of the 12 bytes of rows and less; on a host their products are 1.05 to 1.4 times as fast
   (src/format/bsr/README.md), on a GPU it has not been measured. */
static bool nodes_may_pay(const tess_matrix *a, const tess_storage_options *o)
{
    if (a->is_complex) { return a->nnz > 0; }
    return a->ctx->device != TESS_DEVICE_GPU && a->nnz >= NODES_LEAST_NONZEROS && o->arithmetic == TESS_ARITHMETIC_FP64;
}

/* The matrix by blocks of nodes, where one precision is asked for and these are full; else *out is NULL. */
static tess_status try_nodes(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    const tess_format nodes = tess_format_in_role(TESS_ROLE_NODES);
    const bool lossless = options->policy.policy != TESS_POLICY_NONE;
    tess_storage_options o = *options;

    *out = NULL;
    if (!nodes_may_pay(a, &o) || (lossless && !takes_whole_lossless(&o, nodes))) { return TESS_SUCCESS; }
    if (lossless && a->ctx->device != TESS_DEVICE_GPU) { /* a host takes longer to decode less than FP32 */
        tess_policy_default_levels(&o.policy);
        o.policy.choose_fp8 = o.policy.choose_fp8 && o.policy.nlevels <= 2;
        o.policy.nlevels = o.policy.nlevels < 2 ? o.policy.nlevels : 2;
    }
    if (o.slices.max_padding == 0.0 || o.slices.max_padding > nodes_most_padding) {
        o.slices.max_padding = nodes_most_padding;
    }
    return try_padded(a, &o, nodes, out);
}

/* ---- formats with a policy: by blocks, or in parts ---- */

static bool fills_blocks(int64_t nnz, int64_t blocks)
{
    return blocks > 0 && nnz / MIN_NONZEROS >= blocks;
}

/* Policy none puts all blocks at one level; they are counted. */
tess_status tess_blocks_are_full(const tess_matrix *a, const tess_policy_options *policy, bool *full)
{
    const tess_policy_options blocks = {
        .granularity = TESS_GRANULARITY_BLOCK, .block_rows = policy->block_rows, .block_cols = policy->block_cols};
    tess_assignment *counted = NULL;
    const tess_status status = tess_assignment_create(a, &blocks, &counted);

    *full = status == TESS_SUCCESS && fills_blocks(a->nnz, counted->summary.items);
    tess_assignment_destroy(counted);
    return status;
}

/* Whether the format by blocks takes all options. Granularity matrix leaves the choice open. */
static bool blocks_take(const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(tess_format_in_role(TESS_ROLE_BLOCKS));
    const bool open = o->policy.granularity == TESS_GRANULARITY_MATRIX;

    return (open || tess_in_set(can->granularities, (int)o->policy.granularity)) &&
           tess_in_set(can->arithmetics, (int)o->arithmetic) && !tess_storage_find_unread(can, o);
}

/* Whether an option does not fit the format in parts: the papers' tiles, a precision, scales by blocks. */
static bool parts_refuse(const tess_context *ctx, const tess_storage_options *o)
{
    const tess_format_capabilities *can = tess_format_can(tess_format_in_role(TESS_ROLE_PARTS));
    bool refused = tess_storage_find_unread(can, o) != NULL;
    tess_policy_options policy = o->policy;

    tess_policy_default_levels(&policy);
    for (int l = 0; l < policy.nlevels && l < TESS_MAX_LEVELS; l++) {
        const tess_precision_level *level = &policy.level[l];
        const bool known = tess_precision_bytes(level->precision) > 0;

        refused = refused || (known && !tess_in_set(tess_format_precisions(ctx, can), (int)level->precision)) ||
                  (level->scaled && o->policy.granularity == TESS_GRANULARITY_BLOCK &&
                   !tess_in_set(can->scales, TESS_GRANULARITY_BLOCK));
    }
    return refused;
}

/* Formats in parts do not sum in pairs of FP32 numbers. */
static bool has_pairs_alone(const tess_storage_options *o)
{
    return o->arithmetic == TESS_ARITHMETIC_FP32X2 && tess_policy_judges_values(o->policy.policy);
}

tess_format tess_format_that_takes(const tess_context *ctx, const tess_storage_options *o)
{
    if (o->policy.policy == TESS_POLICY_NONE) {
        const bool plain = tess_in_set(tess_format_can(TESS_FORMAT_CSR)->arithmetics, (int)o->arithmetic);

        return plain ? TESS_FORMAT_CSR : tess_format_in_role(TESS_ROLE_SLICES);
    }
    if (has_pairs_alone(o)) { return TESS_FORMAT_CSR; }
    return tess_format_in_role(blocks_take(o) && parts_refuse(ctx, o) ? TESS_ROLE_BLOCKS : TESS_ROLE_PARTS);
}

tess_format tess_format_of_assignment(const tess_matrix *a, const tess_storage_options *options,
                                      const tess_assignment *assignment)
{
    tess_storage_options o = *options;
    bool blocks = a->ctx->device == TESS_DEVICE_GPU && fills_blocks(a->nnz, assignment->summary.items);

    o.policy = assignment->summary.options;
    blocks = o.policy.granularity == TESS_GRANULARITY_BLOCK && blocks_take(&o) && (blocks || parts_refuse(a->ctx, &o));
    return tess_format_in_role(blocks ? TESS_ROLE_BLOCKS : TESS_ROLE_PARTS);
}

/* Whether the options ask for one lossless precision of the whole matrix in a format: they leave the granularity open,
   and the format takes all of them. */
static bool takes_whole_lossless(const tess_storage_options *o, tess_format format)
{
    tess_storage_options whole = *o; /* options for blocks do not matter to a matrix in one precision */
    bool scaled = false;

    for (int l = 0; l < o->policy.nlevels && l < TESS_MAX_LEVELS; l++) {
        scaled = scaled || o->policy.level[l].scaled;
    }
    whole.policy.block_rows = whole.policy.block_cols = 0;
    whole.policy.allow_underflow = 0;
    return o->policy.policy == TESS_POLICY_LOSSLESS && o->policy.granularity == TESS_GRANULARITY_MATRIX && !scaled &&
           o->arithmetic == TESS_ARITHMETIC_FP64 && !tess_storage_find_unread(tess_format_can(format), &whole);
}

/* Diagonals in one lossless precision. At most 1.15 values per nonzero without indices are fewer bytes than tiles have.
   This holds even if tiles have values in two precisions, the lower one next to that of the diagonals. */
static tess_status try_lossless_diagonals(const tess_matrix *a, const tess_storage_options *o, tess_matrix **out)
{
    const tess_format diagonals = tess_format_in_role(TESS_ROLE_DIAGONALS);

    *out = NULL;
    return takes_whole_lossless(o, diagonals) ? try_padded(a, o, diagonals, out) : TESS_SUCCESS;
}

/* On a host, rows in the precision that is measured to be the fastest; FP64 among them. */
static tess_status choose_lossless_rows(const tess_matrix *a, const tess_storage_options *o, tess_matrix **out)
{
    tess_storage_options fp64 = *o;
    tess_precision level = TESS_PRECISION_FP64;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (o->policy.parameter > 0.0 || !takes_whole_lossless(o, TESS_FORMAT_CSR)) { return TESS_SUCCESS; }
    TESS_TRY(tess_matrix_try_lower(a, &o->policy, &level, out));
    if (*out) { return TESS_SUCCESS; }
    tess_policy_options_init(&fp64.policy);
    fp64.format = TESS_FORMAT_CSR;
    fp64.precision = TESS_PRECISION_FP64;
    status = tess_matrix_convert(a, &fp64, out);
cleanup:
    return status;
}

/* The format for a policy. If that is diagonals, or rows of one precision, *out is the matrix. */
static tess_status choose_for_policy(const tess_matrix *a, tess_storage_options *o, tess_matrix **out)
{
    const bool on_gpu = a->ctx->device == TESS_DEVICE_GPU;
    bool blocks = false;
    tess_status status = TESS_SUCCESS;

    if (on_gpu && a->nnz > 0) { TESS_TRY(try_lossless_diagonals(a, o, out)); }
    if (!on_gpu && a->nnz > 0) { TESS_TRY(choose_lossless_rows(a, o, out)); }
    if (*out) { return TESS_SUCCESS; }
    if (blocks_take(o)) {
        blocks = parts_refuse(a->ctx, o);
        if (!blocks && on_gpu) { TESS_TRY(tess_blocks_are_full(a, &o->policy, &blocks)); }
    }
    o->format = tess_format_in_role(blocks ? TESS_ROLE_BLOCKS : TESS_ROLE_PARTS);
cleanup:
    return status;
}

/* ---- all ---- */

tess_status tess_matrix_convert_chosen(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    tess_storage_options o = *options;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(try_nodes(a, &o, out));
    if (*out) { return TESS_SUCCESS; }
    if (has_pairs_alone(&o)) {
        o.format = TESS_FORMAT_CSR;
    } else if (o.policy.policy != TESS_POLICY_NONE) {
        TESS_TRY(choose_for_policy(a, &o, out));
    } else if (o.arithmetic == TESS_ARITHMETIC_FP32) {
        o.format = tess_format_in_role(TESS_ROLE_SLICES); /* csr has none */
    } else {
        const bool on_gpu = a->ctx->device == TESS_DEVICE_GPU;

        if (on_gpu && a->nnz > 0) { TESS_TRY(try_padded(a, &o, tess_format_in_role(TESS_ROLE_DIAGONALS), out)); }
        if (on_gpu && !*out && o.arithmetic == TESS_ARITHMETIC_FP64) { TESS_TRY(tess_matrix_try_slices(a, &o, out)); }
        o.format = TESS_FORMAT_CSR;
    }
    if (!*out) { status = tess_matrix_convert(a, &o, out); }
cleanup:
    return status;
}
