/* SPDX-License-Identifier: Apache-2.0 */
/* What reports say of the factors of a preconditioner. */
#include "cli.h"

bool cli_is_incomplete(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_ILU0 || kind == TESS_PRECOND_IC0 || kind == TESS_PRECOND_ILUT ||
           kind == TESS_PRECOND_ICT || kind == TESS_PRECOND_ILUK;
}

/* Of the preconditioner that a solver has; false: it has no blocks. */
static bool find_blocks(const tess_solver *solver, tess_precond_factors *out)
{
    const tess_precond *m = solver == NULL ? NULL : tess_solver_precond(solver);
    return m != NULL && tess_precond_get_factors(m, out) == TESS_SUCCESS && out->squares > 0;
}

json_t *cli_blocks_json(const tess_solver *solver)
{
    tess_precond_factors f = {.size = sizeof f};
    if (!find_blocks(solver, &f)) { return json_null(); }
    return json_pack("{sI sI sI}", "leaves", (json_int_t)f.leaves, "squares", (json_int_t)f.squares, "square_nonzeros",
                     (json_int_t)f.square_nonzeros);
}

static void print_blocks(const tess_solver *solver)
{
    tess_precond_factors f = {.size = sizeof f};
    if (!find_blocks(solver, &f)) { return; }
    printf("%-17s %s and %s, which hold %.4g %% of the off-diagonal nonzeros\n", "blocks",
           tess_count(f.leaves, "leaf|leaves").text, tess_count(f.squares, "square").text,
           f.nonzeros > 0 ? 100.0 * (double)f.square_nonzeros / (double)f.nonzeros : 0.0);
}

static void print_triangles(const tess_precond_options *precond, const tess_solve_result *result)
{
    const int64_t *levels = result->precond.triangle_level_sets, *steps = result->precond.triangle_groups;

    if (precond->incomplete.triangular == TESS_TRIANGULAR_SWEEPS) {
        printf("%s with each triangle", tess_count(steps[0], "sweep").text);
        return;
    }
    printf("%s below the diagonal, %lld above", tess_count(levels[0], "level set").text, (long long)levels[1]);
    if (precond->incomplete.triangular == TESS_TRIANGULAR_COLORS) { printf(", in an order by colors"); }
    if (steps[0] + steps[1] < levels[0] + levels[1]) {
        printf(", in %lld and %s", (long long)steps[0], tess_count(steps[1], "group").text);
    }
}

/* "fp16"; NULL: squares have precisions of their own, or there are no factors. */
static const char *factor_precision(const tess_precond_options *precond, const tess_solver *solver)
{
    tess_precond_factors f = {.size = sizeof f};
    const tess_precond *m = solver == NULL ? NULL : tess_solver_precond(solver);
    const bool mixed =
        cli_is_incomplete(precond->kind) && precond->incomplete.squares.policy.policy != TESS_POLICY_NONE;
    if (mixed || m == NULL || tess_precond_get_factors(m, &f) != TESS_SUCCESS) { return NULL; }
    return tess_precision_name(f.precision);
}

json_t *cli_factor_precision_json(const tess_precond_options *precond, const tess_solver *solver)
{
    const char *name = factor_precision(precond, solver);
    return name == NULL ? json_null() : json_string(name);
}

static void print_precision(const tess_precond_options *precond, const tess_solver *solver)
{
    const char *name = factor_precision(precond, solver);
    if (name != NULL) { printf(", in %s", name); }
}

/* Factors that are computed approximately; others are the same wherever they come from. */
static void print_factorization(const tess_precond_options *precond, const tess_solve_result *result)
{
    if (result->precond.factorization != TESS_FACTORIZATION_SWEEPS) { return; }
    printf("; computed by %s", tess_count(precond->incomplete.factorization_sweeps, "fixed-point sweep").text);
}

void cli_print_factors(const tess_precond_options *precond, const tess_solve_result *result, const tess_solver *solver)
{
    if (precond->kind == TESS_PRECOND_LU || precond->kind == TESS_PRECOND_CHOLESKY) {
        printf("%-17s %s", "factors", tess_count(result->precond.factor_nonzeros, "nonzero").text);
        print_precision(precond, solver);
        printf("\n");
    }
    if (precond->kind == TESS_PRECOND_FSAI || precond->kind == TESS_PRECOND_ISAI) {
        printf("%-17s %s", "inverse", tess_count(result->precond.factor_nonzeros, "nonzero").text);
        print_precision(precond, solver);
        if (result->precond.shift > 0.0) {
            printf("; diagonals of small systems shifted by up to %g times themselves", result->precond.shift);
        }
        printf("\n");
    }
    if (!cli_is_incomplete(precond->kind)) { return; }
    printf("%-17s ", "factors");
    print_triangles(precond, result);
    print_precision(precond, solver);
    print_factorization(precond, result);
    if (result->precond.shift > 0.0) { printf("; diagonal shifted by %g times itself", result->precond.shift); }
    printf("\n");
    print_blocks(solver);
}
