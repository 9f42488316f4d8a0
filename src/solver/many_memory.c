/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop of several columns takes of the memory, and so how many columns it has: for solves, and told before. */
#include "base/options.h"
#include "precond/precond.h"
#include "solver/complex/choice.h"
#include "solver/many.h"

/* Vectors of a column outside its loop: b, x, d, r; and the d that a pause keeps. */
enum { COLUMN_VECTORS = 4 };
/* Blocks of block CG. */
enum { OWN_BLOCKS = 5 };
/* Vectors by column of multigrid: three for each level, of which the coarse ones have a third. Of factors, whose rows
   on a GPU may wait for one another, and of what is applied column by column. */
enum { AMG_VECTORS = 4, OTHER_VECTORS = 2, OTHER_VECTORS_OF_GPU = 5 };
/* Below this no loop is looked at: asking the system takes longer. */
static const int64_t ALWAYS_FITS = INT64_C(100000000);

static bool is_diagonal(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_NONE || kind == TESS_PRECOND_JACOBI;
}

static bool is_complete(tess_precond_kind kind)
{
    const tess_precond_ops *ops = tess_find_precond(kind);

    return ops && ops->solve_on_host;
}

/* Columns whose cycles restart have their vectors one after another, and a product has two by rows. */
many_need many_need_of(const tess_method *method, const tess_solve_options *o, tess_precond_kind precond,
                       const tess_matrix *a, int64_t capacity)
{
    const int other = a->ctx->device == TESS_DEVICE_GPU ? OTHER_VECTORS_OF_GPU : OTHER_VECTORS;
    const int own = method->vectors(NULL) + (is_diagonal(precond) ? 0 : 1);

    return (many_need){.n = a->nrows,
                       .history = capacity,
                       .own = method->many ? method->many->bytes(o, a->nrows) : 0,
                       .alone = COLUMN_VECTORS + (method->pauses ? 1 : 0) + (method->many ? own : 0),
                       .shared = method->run_columns ? OWN_BLOCKS
                                 : method->many      ? 2
                                                     : 2 + own,
                       .precond = is_diagonal(precond)          ? 0
                                  : precond == TESS_PRECOND_AMG ? AMG_VECTORS
                                                                : other,
                       .shrinks = !method->run_columns && !method->many};
}

/* When half of the columns have ended, the others move to a block of half the width, while both are there. */
int64_t many_loop_bytes(const many_need *need, int columns)
{
    const int64_t width = many_width(columns), blocks = width + (need->shrinks ? width / 2 : 0);
    const int64_t vectors = need->alone * columns + need->shared * blocks + need->precond * width;

    return (int64_t)sizeof(double) * (vectors * need->n + need->history * columns) + need->own * columns;
}

int many_that_fit(const many_need *need, int columns, int64_t spare)
{
    while (columns > 1 && many_loop_bytes(need, columns) > spare) {
        columns = many_width(columns) / 2;
    }
    return columns;
}

int many_next(const method_solver *s, int64_t left)
{
    const tess_precond_kind precond = s->precond ? s->precond->kind : TESS_PRECOND_NONE;
    const many_need need = many_need_of(many_method(s), s->options, precond, s->original, s->head->history_capacity);
    const int most = many_most(s);
    int count = left < most ? (int)left : most;

    if (many_loop_bytes(&need, count) >= ALWAYS_FITS) {
        count = many_that_fit(&need, count, s->ctx->backend->spare(s->ctx));
    }
    return count >= many_least(s) ? count : 1;
}

/* Of least squares: b, x and a step by column; two vectors of the length of b, and four or five of that of x. */
static many_need need_of_sides(const tess_matrix *a, tess_solver_kind kind, int64_t capacity)
{
    return (many_need){.n = a->nrows > a->ncols ? a->nrows : a->ncols,
                       .history = capacity,
                       .alone = 3,
                       .shared = kind == TESS_SOLVER_LSMR ? 7 : 6};
}

int many_next_of(const tess_solver *s, const tess_method *method, const tess_matrix *a, int64_t left)
{
    const many_need need = need_of_sides(a, method->kind, s->history_capacity);
    const int most = many_limit(method, false, s->ctx->device);
    int count = left < most ? (int)left : most;

    if (many_loop_bytes(&need, count) >= ALWAYS_FITS) {
        count = many_that_fit(&need, count, s->ctx->backend->spare(s->ctx));
    }
    return count >= many_fewest(method, false, a) ? count : 1;
}

/* ---- before a solver is set up ---- */

static bool takes_columns_in(const tess_format_ops *format, const tess_solve_options *o)
{
    return o->storage.format == TESS_FORMAT_AUTO || (format && format->multiply_columns);
}

/* As many_takes, of what options tell: a preconditioner that takes columns may still not do so as it will be. */
static bool may_take(const tess_matrix *a, const tess_method *method, const tess_solve_options *o)
{
    const tess_precond_ops *precond = tess_find_precond(o->precond.kind);
    const tess_format_ops *format = tess_find_storage(&o->storage);

    if (o->guard != TESS_GUARD_REPAIR || o->timings || o->scale != TESS_SCALING_NONE ||
        o->reorder != TESS_REORDERING_NONE || wants_accuracy(o) || o->max_iterations == 0) {
        return false;
    }
    if (method->run_columns) { return true; }
    if (method->rectangular) { return takes_columns_in(format, o); }
    if (method->many && !many_refines(method, is_complete(o->precond.kind))) {
        return method->many->expects(o) && many_takes_form(o) && takes_columns_in(format, o) &&
               many_outweighs_bases(a, method->many->bases(o));
    }
    return (method->takes_columns || many_refines(method, is_complete(o->precond.kind))) && many_takes_form(o) &&
           takes_columns_in(format, o) &&
           (is_diagonal(o->precond.kind) || (precond && (precond->takes_columns || many_outweighs_moves(a))));
}

int many_expected(const tess_matrix *a, const tess_solve_options *o, int64_t columns, int64_t spare, many_need *need)
{
    const tess_method *in_complex = complex_method_of(a, o);
    const tess_method *method = in_complex ? in_complex : tess_find_method(o->solver);
    const bool complete = is_complete(o->precond.kind);
    const int most = method ? many_limit(method, complete, a->ctx->device) : 1;
    int count = columns < most ? (int)columns : most;
    many_need all;

    *need = (many_need){.n = a->nrows, .history = o->history_capacity, .alone = 2};
    if (!method || !a->ops || !may_take(a, method, o)) { return 1; }
    all = method->rectangular ? need_of_sides(a, method->kind, o->history_capacity)
                              : many_need_of(many_refines(method, complete) ? many_refinement() : method, o,
                                             o->precond.kind, a, o->history_capacity);
    if (many_loop_bytes(&all, count) >= ALWAYS_FITS) { count = many_that_fit(&all, count, spare); }
    if (count < many_fewest(method, complete, a)) { return 1; }
    *need = all;
    return count;
}
