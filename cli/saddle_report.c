/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the blocks of a saddle point: solve, info. */
#include "cli.h"

#include <math.h>

static bool find_parts(const tess_precond *m, tess_saddle_parts *out)
{
    *out = (tess_saddle_parts){.size = sizeof *out};
    return m != NULL && tess_precond_get_kind(m) == TESS_PRECOND_SADDLE &&
           tess_precond_get_saddle(m, out) == TESS_SUCCESS && out->a_precond != NULL;
}

/* ---- text ---- */

/* How many constraints were found by such diagonal entries; `found`: others were named before. */
static bool print_reason(const char *diagonals, int64_t count, bool found)
{
    if (count == 0) { return found; }
    printf("%s %s (%lld)", found ? "," : ", found by", diagonals, (long long)count);
    return true;
}

static void print_block(const char *name, const tess_precond *m)
{
    tess_amg_levels levels;
    printf("%s by %s", name, tess_precond_kind_name(tess_precond_get_kind(m)));
    if (cli_find_levels(m, &levels)) {
        printf(" (%s by %s, operator complexity %.2f)", tess_count(levels.count, "level").text,
               tess_amg_coarsening_name(levels.coarsening), levels.operator_complexity);
    }
}

void cli_print_saddle(const tess_precond *m)
{
    tess_saddle_parts parts;
    if (!find_parts(m, &parts)) { return; }
    printf("%-17s %s and %s", "saddle", tess_count(parts.unknowns, "unknown").text,
           tess_count(parts.constraints, "constraint").text);
    if (parts.index_given) { printf(", by the index"); }
    bool found = print_reason("zero diagonals", parts.zero_diagonals, false);
    found = print_reason("small diagonals", parts.small_diagonals, found);
    print_reason("diagonals of the other sign", parts.opposite_diagonals, found);
    printf("\n%-17s factors %s; ", "", tess_saddle_factorization_name(parts.factorization));
    print_block("A", parts.a_precond);
    printf("; Schur complement %s, ", tess_saddle_schur_name(parts.schur));
    print_block("solved", parts.schur_precond);
    putchar('\n');
}

/* ---- JSON ---- */

static json_t *block_json(const tess_precond *m)
{
    tess_amg_levels levels;
    return json_pack("{ss so}", "precond", tess_precond_kind_name(tess_precond_get_kind(m)), "amg",
                     cli_find_levels(m, &levels) ? cli_levels_json(&levels, NAN) : json_null());
}

json_t *cli_saddle_json(const tess_precond *m)
{
    tess_saddle_parts parts;
    if (!find_parts(m, &parts)) { return json_null(); }
    return json_pack("{sI sI sb sI sI sI ss ss so so}", "unknowns", (json_int_t)parts.unknowns, "constraints",
                     (json_int_t)parts.constraints, "index_given", (int)parts.index_given, "zero_diagonals",
                     (json_int_t)parts.zero_diagonals, "small_diagonals", (json_int_t)parts.small_diagonals,
                     "opposite_diagonals", (json_int_t)parts.opposite_diagonals, "factorization",
                     tess_saddle_factorization_name(parts.factorization), "schur", tess_saddle_schur_name(parts.schur),
                     "a", block_json(parts.a_precond), "s", block_json(parts.schur_precond));
}
