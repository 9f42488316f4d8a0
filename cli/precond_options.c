/* SPDX-License-Identifier: Apache-2.0 */
/* The options of preconditioners, and their part of reports. */
#include "cli.h"

#include <float.h>
#include <string.h>

enum {
    KEY_PRECOND = 700,
    KEY_PRECISION,
    KEY_FORM,
    KEY_TRIANGULAR,
    KEY_FACTORIZATION,
    KEY_LEAF,
    KEY_FORMAT,
    KEY_POLICY,
    KEY_LEVELS,
    KEY_STEPS,
    KEY_OMEGA,
    KEY_SHARE,
    KEY_FACTOR_MEMORY,
    KEY_AMG_COARSENING,
    KEY_AMG_PRECISION,
    KEY_AMG_CYCLE,
    KEY_AMG_SMOOTHER,
    KEY_AMG_DEGREE,
    KEY_AMG_STRENGTH,
    KEY_AMG_AGGRESSIVE,
    KEY_AMG_BLOCK_SIZE
};

/* ---- values ---- */

/* Keeps what the other options of preconditioners have set. */
static void parse_precond(struct argp_state *state, const char *text, tess_precond_options *precond)
{
    const tess_precond_options parsed = cli_parse_precond(state, text);
    precond->kind = parsed.kind;
    precond->block_jacobi.block_size = parsed.block_jacobi.block_size;
    precond->polynomial.degree = parsed.polynomial.degree;
    precond->threshold = parsed.threshold;
    precond->jacobi_sweeps.count = parsed.jacobi_sweeps.count;
}

static void parse_precision(struct argp_state *state, const char *text, tess_precond_options *precond)
{
    precond->block_jacobi.adaptive = strcmp(text, "adaptive") == 0;
    precond->role = precond->block_jacobi.adaptive ? (tess_role_precision){.given = 0}
                                                   : cli_parse_role(state, "precond-precision", text);
}

static tess_polynomial_form parse_form(struct argp_state *state, const char *text)
{
    return (tess_polynomial_form)cli_parse_name(state, "polynomial-form", text, "tess_polynomial_form");
}

static tess_format parse_format(struct argp_state *state, const char *text)
{
    return (tess_format)cli_parse_name(state, "precond-format", text, "tess_format");
}

static tess_triangular parse_triangular(struct argp_state *state, const char *text)
{
    return (tess_triangular)cli_parse_name(state, "triangular", text, "tess_triangular");
}

static tess_factorization parse_factorization(struct argp_state *state, const char *text)
{
    return (tess_factorization)cli_parse_name(state, "factorization", text, "tess_factorization");
}

/* A precision of all levels, or a list of those of the first ones, whose last goes on. */
static void parse_amg_precisions(struct argp_state *state, const char *text, tess_amg_options *amg)
{
    const char *rest = text;
    memset(amg->level_precision, 0, sizeof amg->level_precision);
    for (int l = 0; rest != NULL; l++) {
        char name[16];
        const size_t length = strcspn(rest, ",");
        if (length >= sizeof name || l == TESS_AMG_LEVEL_PRECISIONS) {
            argp_error(state, "--amg-precision: '%s' is not a list of up to %s such as fp32,fp16", text,
                       tess_count(TESS_AMG_LEVEL_PRECISIONS, "precision").text);
        }
        memcpy(name, rest, length);
        name[length] = '\0';
        amg->precision = (tess_amg_precision)cli_parse_name(state, "amg-precision", name, "tess_amg_precision");
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
        if (rest != NULL || l > 0) { amg->level_precision[l] = (uint8_t)amg->precision; }
    }
}

/* The options of amg; false: another one. */
static bool parse_amg(int key, const char *arg, struct argp_state *state, tess_amg_options *amg)
{
    switch (key) {
    case KEY_AMG_COARSENING:
        amg->coarsening = (tess_amg_coarsening)cli_parse_name(state, "amg-coarsening", arg, "tess_amg_coarsening");
        return true;
    case KEY_AMG_PRECISION: parse_amg_precisions(state, arg, amg); return true;
    case KEY_AMG_CYCLE:
        amg->cycle = (tess_amg_cycle)cli_parse_name(state, "amg-cycle", arg, "tess_amg_cycle");
        return true;
    case KEY_AMG_SMOOTHER:
        amg->smoother = (tess_amg_smoother)cli_parse_name(state, "amg-smoother", arg, "tess_amg_smoother");
        return true;
    case KEY_AMG_DEGREE: amg->degree = (int)cli_parse_integer(state, "amg-degree", arg, 1, 4); return true;
    case KEY_AMG_STRENGTH: amg->strength = cli_parse_real(state, "amg-strength", arg, 0.0, 1.0); return true;
    case KEY_AMG_AGGRESSIVE:
        amg->aggressive = (int)cli_parse_integer(state, "amg-aggressive", arg, 0, TESS_MAX_AMG_LEVELS);
        return true;
    case KEY_AMG_BLOCK_SIZE:
        amg->block_size = (int)cli_parse_integer(state, "amg-block-size", arg, 1, TESS_MAX_AMG_BLOCK);
        return true;
    default: return false;
    }
}

/* ---- what does not go together ---- */

bool cli_is_incomplete(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_ILU0 || kind == TESS_PRECOND_IC0 || kind == TESS_PRECOND_ILUT ||
           kind == TESS_PRECOND_ICT || kind == TESS_PRECOND_ILUK;
}

static bool is_direct(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY;
}

/* The first option of incomplete factors that was changed from its default; NULL: none was. */
static const char *find_triangular_option(const tess_precond_options *precond)
{
    tess_precond_options defaults;
    tess_precond_options_init(&defaults);
    const tess_storage_options *squares = &precond->incomplete.squares, *plain = &defaults.incomplete.squares;
    if (squares->format != plain->format) { return "precond-format"; }
    if (squares->policy.policy != plain->policy.policy) { return "precond-policy"; }
    if (memcmp(squares->policy.level, plain->policy.level, sizeof plain->policy.level) != 0 ||
        squares->policy.nlevels != plain->policy.nlevels) {
        return "precond-levels";
    }
    if (precond->incomplete.triangular != defaults.incomplete.triangular) { return "triangular"; }
    if (precond->incomplete.leaf != defaults.incomplete.leaf) { return "leaf"; }
    return precond->incomplete.factorization != defaults.incomplete.factorization ? "factorization" : NULL;
}

/* With a policy, csr stands for the format by blocks. */
static void settle_squares(struct argp_state *state, tess_precond_options *precond)
{
    tess_storage_options *squares = &precond->incomplete.squares;
    const char *option = find_triangular_option(precond);
    const bool policy = squares->policy.policy != TESS_POLICY_NONE;
    char parts[128];
    if (option != NULL && !cli_is_incomplete(precond->kind)) {
        argp_error(state, "--%s is for --precond ilu0, ic0, ilut, ict or iluk", option);
    }
    if (policy && squares->format == TESS_FORMAT_CSR) { squares->format = cli_find_format(cli_is_by_blocks); }
    if (policy && !cli_is_mixed(squares)) {
        argp_error(state, "--precond-policy needs --precond-format auto, %s, not %s",
                   cli_formats_text(cli_takes_parts, " or ", parts, sizeof parts), tess_format_name(squares->format));
    }
    if (option != NULL && strcmp(option, "precond-levels") == 0) {
        argp_error(state, "--precond-levels needs --precond-policy");
    }
    const bool whole = precond->incomplete.triangular == TESS_TRIANGULAR_LEVELS ||
                       precond->incomplete.triangular == TESS_TRIANGULAR_MERGED;
    if (whole && option != NULL && strncmp(option, "precond-", 8) == 0) {
        argp_error(state, "--%s needs --triangular blocks or auto", option);
    }
    if (precond->incomplete.triangular != TESS_TRIANGULAR_BLOCKS && option != NULL && strcmp(option, "leaf") == 0) {
        argp_error(state, "--leaf is for --triangular blocks");
    }
    if (squares->format == TESS_FORMAT_AUTO) { squares->policy.granularity = TESS_GRANULARITY_MATRIX; } /* left open */
    cli_settle_granularity(squares);
}

/* The first option of amg that was changed from its default; NULL: none was. */
static const char *find_amg_option(const tess_amg_options *amg)
{
    tess_precond_options defaults;
    tess_precond_options_init(&defaults);
    if (amg->coarsening != defaults.amg.coarsening) { return "amg-coarsening"; }
    if (amg->precision != defaults.amg.precision) { return "amg-precision"; }
    if (amg->cycle != defaults.amg.cycle) { return "amg-cycle"; }
    if (amg->smoother != defaults.amg.smoother) { return "amg-smoother"; }
    if (amg->degree != defaults.amg.degree) { return "amg-degree"; }
    if (amg->strength >= 0.0) { return "amg-strength"; }
    if (amg->block_size != 0) { return "amg-block-size"; }
    return amg->aggressive != defaults.amg.aggressive ? "amg-aggressive" : NULL;
}

static void check_precond(struct argp_state *state, tess_precond_options *precond)
{
    const char *amg = find_amg_option(&precond->amg);
    if (amg != NULL && precond->kind != TESS_PRECOND_AMG) { argp_error(state, "--%s is for --precond amg", amg); }
    if (precond->block_jacobi.adaptive && precond->kind != TESS_PRECOND_BLOCK_JACOBI) {
        argp_error(state, "--precond-precision adaptive is for --precond block-jacobi");
    }
    if (precond->role.given && (precond->kind == TESS_PRECOND_NONE || precond->kind == TESS_PRECOND_AUTO)) {
        argp_error(state, "--precond-precision needs --precond");
    }
    if (precond->polynomial.form != TESS_POLYNOMIAL_ROOTS && precond->kind != TESS_PRECOND_POLYNOMIAL) {
        argp_error(state, "--polynomial-form is for --precond polynomial");
    }
    if (precond->direct.memory_limit != 0 && !is_direct(precond->kind)) {
        argp_error(state, "--factor-memory is for --precond lu or cholesky");
    }
    cli_settle_sweeps(state, precond);
    settle_squares(state, precond);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    tess_precond_options *precond = state->input;
    switch (key) {
    case KEY_PRECOND: parse_precond(state, arg, precond); return 0;
    case KEY_PRECISION: parse_precision(state, arg, precond); return 0;
    case KEY_FORM: precond->polynomial.form = parse_form(state, arg); return 0;
    case KEY_TRIANGULAR: precond->incomplete.triangular = parse_triangular(state, arg); return 0;
    case KEY_FACTORIZATION: precond->incomplete.factorization = parse_factorization(state, arg); return 0;
    case KEY_LEAF: precond->incomplete.leaf = cli_parse_integer(state, "leaf", arg, 1, TESS_MAX_ROWS); return 0;
    case KEY_FORMAT:
        precond->incomplete.squares.format = precond->jacobi_sweeps.storage.format = parse_format(state, arg);
        return 0;
    case KEY_POLICY: cli_parse_policy(state, "precond-policy", arg, &precond->incomplete.squares.policy); return 0;
    case KEY_LEVELS: cli_parse_levels(state, "precond-levels", arg, &precond->incomplete.squares.policy); return 0;
    case KEY_STEPS: precond->jacobi_sweeps.schedule = cli_parse_schedule(state, arg); return 0;
    case KEY_OMEGA:
        precond->jacobi_sweeps.omega = cli_parse_real(state, "precond-omega", arg, DBL_MIN, DBL_MAX);
        return 0;
    case KEY_SHARE: cli_parse_share(state, "precond-share", arg, &precond->jacobi_sweeps.storage.policy); return 0;
    case KEY_FACTOR_MEMORY: precond->direct.memory_limit = cli_parse_bytes(state, "factor-memory", arg); return 0;
    case ARGP_KEY_END: check_precond(state, precond); return 0;
    default: return parse_amg(key, arg, state, &precond->amg) ? 0 : ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option precond_options[] = {
    {"precond", KEY_PRECOND, "NAME", 0,
     "{tess_precond_kind} (default auto)\n"
     "auto: chosen with solver auto, else none\n"
     "block-jacobi:K: K rows in a diagonal block, 1 to 64 (default 8)\n"
     "polynomial:D: the GMRES polynomial of degree D, 1 to 200 (default 10)\n"
     "ilu0, ic0: incomplete factors on the pattern of A\n"
     "ilut:T:F, ict:T:F: with fill; entries below T times the norm of the row "
     "are dropped, a row has up to F times the entries of A's (default 1e-3, 10)\n"
     "iluk:K: with the level of fill K, from 1 (default 1)\n"
     "lu, cholesky: complete factors by MUMPS, on the host\n"
     "jacobi-sweeps:K: K Jacobi iterations from zero, 1 to 1000 (default 3), by --precond-steps\n"
     "amg: a cycle of algebraic multigrid",
     CLI_GROUP_MAIN + 1},
    {"precond-precision", KEY_PRECISION, "P[/A]", 0,
     "storage P and arithmetic A (default fp64; gmres: --inner-precision)\n"
     "block-jacobi also takes adaptive: for each block the lowest precision "
     "that its condition number allows\n"
     "ilu0, ic0, ilut, ict, iluk: fp64, fp32/fp64, bf16/fp64 or fp16/fp64\n"
     "lu, cholesky: fp32 (default) or fp64",
     CLI_GROUP_PRECOND},
    {"polynomial-form", KEY_FORM, "NAME", 0, "how polynomial is evaluated: {tess_polynomial_form} (default roots)",
     CLI_GROUP_PRECOND},
    {"triangular", KEY_TRIANGULAR, "NAME", 0,
     "ilu0, ic0: {tess_triangular} (default auto)\n"
     "how triangles are solved: one level set after another, in recursive "
     "blocks, or with level sets merged into groups\n"
     "auto: blocks if --precond-format or --precond-policy is given, else "
     "merged on a GPU and levels on the host",
     CLI_GROUP_PRECOND},
    {"factorization", KEY_FACTORIZATION, "NAME", 0,
     "ilu0, ic0: {tess_factorization} (default auto)\n"
     "where factors are computed: by one thread of the host, or by the device\n"
     "auto: the device, or the host of a GPU where that takes less time",
     CLI_GROUP_PRECOND},
    {"leaf", KEY_LEAF, "N", 0, "triangular blocks: most rows of an uncut triangle (default 4096)", CLI_GROUP_PRECOND},
    {"precond-format", KEY_FORMAT, "NAME", 0,
     "triangular blocks: format of the squares, as --format "
     "(default csr; {by-blocks} with a policy)\n"
     "jacobi-sweeps: composite (default), split, csr or ellr",
     CLI_GROUP_PRECOND},
    {"precond-policy", KEY_POLICY, "NAME", 0,
     "triangular blocks: as --policy, within squares (default none)\n"
     "jacobi-sweeps: as --policy (default mean-range:0.1)",
     CLI_GROUP_PRECOND},
    {"precond-levels", KEY_LEVELS, "LIST", 0, "triangular blocks, jacobi-sweeps: as --levels (default fp64,fp32)",
     CLI_GROUP_PRECOND},
    {"precond-steps", KEY_STEPS, "LIST", 0,
     "jacobi-sweeps: precisions and mixed, as --steps (default for composite: fp32,mixed,fp64; for split: mixed)",
     CLI_GROUP_PRECOND},
    {"precond-omega", KEY_OMEGA, "W", 0,
     "jacobi-sweeps: weight of the update (default: 1, or less where the preconditioner would not be positive "
     "definite)",
     CLI_GROUP_PRECOND},
    {"precond-share", KEY_SHARE, "P", 0, "jacobi-sweeps: as --share (default 99)", CLI_GROUP_PRECOND},
    {"factor-memory", KEY_FACTOR_MEMORY, "BYTES", 0,
     "lu, cholesky: most memory of the factorization, such as 500M or 8G "
     "(default: half of what is free)",
     CLI_GROUP_PRECOND},
    {"amg-coarsening", KEY_AMG_COARSENING, "NAME", 0,
     "amg: {tess_amg_coarsening} (default auto)\n"
     "how the next level is found: a subset of the unknowns, or groups of them (plain: without smoothing, for strong "
     "convection)",
     CLI_GROUP_PRECOND},
    {"amg-precision", KEY_AMG_PRECISION, "P[,P...]", 0,
     "amg: {tess_amg_precision} (default auto)\n"
     "in which precision levels are stored; a list is for the first levels, and its last for all others\n"
     "auto: on a GPU as fp16, which leaves levels in fp32 whose entries do not allow it; on a CPU fp32",
     CLI_GROUP_PRECOND},
    {"amg-cycle", KEY_AMG_CYCLE, "NAME", 0,
     "amg: {tess_amg_cycle} (default v)\n"
     "k: coarser levels by two steps of flexible CG; use --solver fgmres",
     CLI_GROUP_PRECOND},
    {"amg-smoother", KEY_AMG_SMOOTHER, "NAME", 0, "amg: {tess_amg_smoother} (default chebyshev)", CLI_GROUP_PRECOND},
    {"amg-degree", KEY_AMG_DEGREE, "N", 0, "amg: products with the matrix in a smoothing, 1 to 4 (default 2)",
     CLI_GROUP_PRECOND},
    {"amg-strength", KEY_AMG_STRENGTH, "T", 0,
     "amg: a coupling counts from T times the strongest of its row (default 0.25; aggregation: 0, "
     "below the finest level at least 0.5)",
     CLI_GROUP_PRECOND},
    {"amg-aggressive", KEY_AMG_AGGRESSIVE, "N", 0,
     "amg classical: coarsen the first N levels twice at once: fewer entries, more iterations (default: as the matrix "
     "suggests)",
     CLI_GROUP_PRECOND},
    {"amg-block-size", KEY_AMG_BLOCK_SIZE, "K", 0,
     "amg aggregation: unknowns of a node, in adjacent rows, 1 to 6 (default: as the pattern or --coordinates show)",
     CLI_GROUP_PRECOND},
    {0}};
const struct argp cli_precond_argp = {.options = precond_options, .parser = parse_option};

/* ---- reports ---- */

const char *cli_precond_text(const tess_precond_options *precond, char *buffer, size_t size)
{
    const char *name = tess_precond_kind_name(precond->kind);
    switch (precond->kind) {
    case TESS_PRECOND_BLOCK_JACOBI: snprintf(buffer, size, "%s:%d", name, precond->block_jacobi.block_size); break;
    case TESS_PRECOND_POLYNOMIAL: snprintf(buffer, size, "%s:%d", name, precond->polynomial.degree); break;
    case TESS_PRECOND_JACOBI_SWEEPS: snprintf(buffer, size, "%s:%d", name, precond->jacobi_sweeps.count); break;
    case TESS_PRECOND_ILUT:
    case TESS_PRECOND_ICT:
        snprintf(buffer, size, "%s:%g:%g", name, precond->threshold.drop, precond->threshold.fill);
        break;
    case TESS_PRECOND_ILUK: snprintf(buffer, size, "%s:%d", name, precond->threshold.level); break;
    default: return name;
    }
    return buffer;
}

/* As --amg-precision takes it. */
static const char *amg_precisions_text(const tess_amg_options *amg, char *buffer, size_t size)
{
    size_t used = 0;
    for (int l = 0; l < TESS_AMG_LEVEL_PRECISIONS && amg->level_precision[l] != 0; l++) {
        const char *name = tess_amg_precision_name((tess_amg_precision)amg->level_precision[l]);
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", l > 0 ? "," : "", name);
    }
    return used > 0 ? buffer : tess_amg_precision_name(amg->precision);
}

/* Appends " NAME VALUE" unless the value is the default. */
static void append_option(const char *name, const char *value, bool standard, char *buffer, size_t size)
{
    const size_t used = strlen(buffer);
    if (!standard) { snprintf(buffer + used, size - used, " %s %s", name, value); }
}

const char *cli_amg_options_text(const tess_amg_options *amg, char *buffer, size_t size)
{
    char text[6 * TESS_AMG_LEVEL_PRECISIONS + 32];
    tess_precond_options defaults;
    tess_precond_options_init(&defaults);
    const tess_amg_options *d = &defaults.amg;
    buffer[0] = '\0';
    append_option("--amg-coarsening", tess_amg_coarsening_name(amg->coarsening), amg->coarsening == d->coarsening,
                  buffer, size);
    append_option("--amg-precision", amg_precisions_text(amg, text, sizeof text),
                  amg->precision == d->precision && amg->level_precision[0] == 0, buffer, size);
    append_option("--amg-cycle", tess_amg_cycle_name(amg->cycle), amg->cycle == d->cycle, buffer, size);
    append_option("--amg-smoother", tess_amg_smoother_name(amg->smoother), amg->smoother == d->smoother, buffer, size);
    snprintf(text, sizeof text, "%d", amg->degree);
    append_option("--amg-degree", text, amg->degree == d->degree, buffer, size);
    snprintf(text, sizeof text, "%g", amg->strength);
    append_option("--amg-strength", text, amg->strength < 0.0, buffer, size);
    snprintf(text, sizeof text, "%d", amg->aggressive);
    append_option("--amg-aggressive", text, amg->aggressive == d->aggressive, buffer, size);
    snprintf(text, sizeof text, "%d", amg->block_size);
    append_option("--amg-block-size", text, amg->block_size == d->block_size, buffer, size);
    return buffer;
}

void cli_add_precond_json(json_t *object, const tess_precond_options *precond)
{
    char levels[64], text[6 * TESS_AMG_LEVEL_PRECISIONS];
    const tess_storage_options *squares = &precond->incomplete.squares;
    json_object_set_new(object, "precond_precision",
                        precond->block_jacobi.adaptive ? json_string("adaptive") : cli_role_json(&precond->role));
    json_object_set_new(object, "polynomial_form", json_string(tess_polynomial_form_name(precond->polynomial.form)));
    json_object_set_new(object, "triangular", json_string(tess_triangular_name(precond->incomplete.triangular)));
    json_object_set_new(object, "factorization",
                        json_string(tess_factorization_name(precond->incomplete.factorization)));
    json_object_set_new(object, "leaf", json_integer(precond->incomplete.leaf));
    json_object_set_new(object, "factor_memory", json_integer(precond->direct.memory_limit));
    json_object_set_new(object, "amg_coarsening", json_string(tess_amg_coarsening_name(precond->amg.coarsening)));
    json_object_set_new(object, "amg_precision", json_string(amg_precisions_text(&precond->amg, text, sizeof text)));
    json_object_set_new(object, "amg_cycle", json_string(tess_amg_cycle_name(precond->amg.cycle)));
    json_object_set_new(object, "amg_smoother", json_string(tess_amg_smoother_name(precond->amg.smoother)));
    json_object_set_new(object, "amg_degree", json_integer(precond->amg.degree));
    json_object_set_new(object, "amg_strength",
                        precond->amg.strength < 0.0 ? json_null() : json_real(precond->amg.strength));
    json_object_set_new(object, "amg_block_size",
                        precond->amg.block_size > 0 ? json_integer(precond->amg.block_size) : json_null());
    json_object_set_new(object, "amg_aggressive",
                        precond->amg.aggressive < 0 ? json_null() : json_integer(precond->amg.aggressive));
    cli_add_sweeps_options_json(object, precond);
    json_object_set_new(object, "precond_format", json_string(tess_format_name(squares->format)));
    json_object_set_new(object, "precond_policy", json_string(tess_policy_name(squares->policy.policy)));
    json_object_set_new(object, "precond_levels",
                        json_string(cli_levels_text(&squares->policy, levels, sizeof levels)));
}
