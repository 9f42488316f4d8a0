/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation that the GPU sets up: the host's aggregates and patterns, values within rounding. */
#include "precond/multigrid/aggregation/aggregation.h"
#include "support/device_levels.h"
#include "support/elastic.h"
#include "support/gallery.h"
#include "support/heap.h"
#include "support/precond.h"
#include "support/solve.h"

static tess_context *gpu;

/* ---- problems ---- */

/* A matrix, the unknowns of a node, and vectors column after column; NULL: constants. */
typedef struct problem {
    oracle_csr a;
    int block, vectors;
    double *near;
} problem;

/* Elasticity with rigid-body modes. */
static problem elastic(int k)
{
    char request[32];

    (void)snprintf(request, sizeof request, "elasticity3d %d", k);
    return (problem){.a = generate_problem(request, 2), .block = 3, .vectors = 6, .near = elastic_modes(gpu, k)};
}

/* The first vector is zero on a quarter of the rows, the second on half of them: aggregates have 0, 1 or 2 unknowns. */
static problem with_ranks(void)
{
    problem p = {.a = generate_problem("laplace2d 24", 2), .block = 1, .vectors = 2};

    p.near = test_allocate(2 * p.a.nrows, sizeof *p.near);
    for (int64_t i = 0; i < p.a.nrows; i++) {
        p.near[i] = i < p.a.nrows / 4 ? 0.0 : 1.0;
        p.near[p.a.nrows + i] = i < p.a.nrows / 2 ? 0.0 : (double)i;
    }
    return p;
}

/* Rows of fixed unknowns, whose nodes have no blocks of one pattern, and nodes without neighbours. */
static problem with_fixed_rows(void)
{
    const oracle_csr whole = generate_problem("elasticity3d 5", 2);
    problem p = {.a = oracle_open(whole.nrows, whole.ncols), .block = 3, .vectors = 3};

    for (int64_t i = 0; i < whole.nrows; i++) {
        const bool fixed = i % 40 == 0 || i / 3 == 7;

        for (int64_t k = whole.row_ptr[i]; k < whole.row_ptr[i + 1]; k++) {
            const int64_t j = whole.col_ind[k];

            if (j == i || !(fixed || j % 40 == 0 || j / 3 == 7)) { oracle_push(&p.a, j, whole.val[k]); }
        }
        oracle_end_row(&p.a, i);
    }
    oracle_free((oracle_csr *)&whole);
    return p;
}

static problem of_gallery(const char *request, int block)
{
    return (problem){.a = generate_problem(request, 2), .block = block, .vectors = block};
}

enum { PROBLEMS = 8 };

static problem problem_of(int k)
{
    const bool small = on_gpu_or_emulated(0, 1);

    switch (k) {
    case 0: return of_gallery(small ? "laplace3d 9" : "laplace3d 30", 1);
    case 1: return elastic(small ? 6 : 20);
    case 2: return of_gallery(small ? "elasticity3d 6" : "elasticity3d 20", 3);
    case 3: return of_gallery(small ? "randomdiffusion3d 8 2.5" : "randomdiffusion3d 24 2.5", 1);
    case 4: return with_ranks();
    case 5: return with_fixed_rows();
    case 6: return of_gallery("laplace2d 24", 2); /* blocks that the pattern does not show */
    default: return of_gallery(small ? "unstructured2d 400" : "unstructured2d 6000", 1);
    }
}

static void discard_problem(problem *p)
{
    oracle_free(&p->a);
    free(p->near);
}

static tess_amg_options options_for(const problem *p, tess_amg_coarsening coarsening)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.amg.coarsening = coarsening;
    options.amg.coarsest = 20;
    options.amg.block_size = p->block;
    options.amg.near_nullspace = p->near;
    options.amg.near_nullspace_columns = p->near ? p->vectors : 0;
    return options.amg;
}

/* ---- aggregates ---- */

/* A graph's pattern and the bits of its weights. */
static void check_graph(const node_graph *expected, const device_csr *computed)
{
    const host_csr as_csr = {.nrows = expected->n,
                             .ncols = expected->n,
                             .row_ptr = expected->row_ptr,
                             .col_ind = expected->col_ind,
                             .val = expected->weight};

    check_same_csr(gpu, &as_csr, computed, 0.0);
}

/* Graph and aggregates of a matrix by both. */
static void check_aggregates(const oracle_csr *a, int block, double theta)
{
    const amg_nodes_ops *ops = amg_nodes_ops_of(gpu);
    tess_matrix *m = make_matrix(gpu, a);
    const host_csr h = {.nrows = a->nrows, .ncols = a->ncols, .row_ptr = a->row_ptr, .col_ind = a->col_ind, a->val};
    node_rows rows = {0};
    node_graph graph = {0};
    aggregates expected = {0};
    amg_device_nodes nodes = {.count = a->nrows / block, .nrows = a->nrows};
    device_csr d = {0}, blocks = {0}, computed = {0};
    int32_t *of = NULL, *copy = test_allocate(nodes.count, sizeof *copy);
    int64_t count = 0;

    assert_ok(gpu, node_rows_of_block(gpu, a->nrows, block, &rows));
    assert_ok(gpu, node_graph_of_matrix(gpu, &h, &rows, theta, &graph));
    assert_ok(gpu, aggregate_nodes(gpu, &graph, &expected));
    device_csr_borrow(m, &d);
    assert_ok(gpu, tess_device_allocate(gpu, nodes.count + 1, sizeof *nodes.first, (void **)&nodes.first));
    assert_ok(gpu, tess_device_allocate(gpu, nodes.nrows, sizeof *nodes.node_of, (void **)&nodes.node_of));
    assert_ok(gpu, tess_device_allocate(gpu, nodes.count, sizeof *of, (void **)&of));
    assert_ok(gpu, ops->fill_nodes(gpu, block, &nodes));
    assert_ok(gpu, ops->list_blocks(gpu, &d, &nodes, &blocks));
    assert_ok(gpu, ops->connect(gpu, &blocks, theta, &computed));
    check_graph(&graph, &computed);
    assert_ok(gpu, ops->aggregate(gpu, &computed, of, &count));
    assert_int_equal(count, expected.count);
    assert_ok(gpu, gpu->backend->download(gpu, copy, of, (size_t)nodes.count * sizeof *copy));
    assert_memory_equal(copy, expected.of, (size_t)nodes.count * sizeof *copy);
    free(copy);
    tess_device_release(gpu, of, nodes.count, sizeof *of);
    tess_device_release(gpu, nodes.first, nodes.count + 1, sizeof *nodes.first);
    tess_device_release(gpu, nodes.node_of, nodes.nrows, sizeof *nodes.node_of);
    device_csr_release(gpu, &blocks);
    device_csr_release(gpu, &computed);
    aggregates_release(gpu, &expected);
    node_graph_release(gpu, &graph);
    node_rows_release(gpu, &rows);
    tess_matrix_destroy(m);
}

/* Bit by bit, also for patterns that are not symmetric, whose edges get opposites. */
static void aggregates_are_those_of_the_host(void **state)
{
    oracle_csr others[] = {oracle_random(400, 400, 3, 5), oracle_with_empty_rows(300)};

    (void)state;
    for (int k = 0; k < PROBLEMS; k++) {
        problem p = problem_of(k);

        check_aggregates(&p.a, p.block, 0.0);
        check_aggregates(&p.a, p.block, 0.5);
        discard_problem(&p);
    }
    for (int k = 0; k < 2; k++) {
        check_aggregates(&others[k], 1, 0.0);
        check_aggregates(&others[k], 1, 0.5);
        check_aggregates(&others[k], 4, 0.25);
        oracle_free(&others[k]);
    }
}

/* ---- levels ---- */

static void levels_are_those_of_the_host(void **state)
{
    tess_context *cpu = open_cpu(2);
    int levels = 0;

    (void)state;
    for (int k = 0; k < PROBLEMS; k++) {
        for (int plain = 0; plain <= 1; plain++) {
            problem p = problem_of(k);
            const tess_amg_options options = options_for(&p, plain ? TESS_AMG_PLAIN : TESS_AMG_AGGREGATION);
            tess_matrix *on_cpu = make_matrix(cpu, &p.a), *on_gpu = make_matrix(gpu, &p.a);
            amg_hierarchy expected = build_levels(cpu, on_cpu, &options),
                          computed = build_levels(gpu, on_gpu, &options);

            assert_true(expected.count >= 2);
            assert_int_equal(computed.coarsening->kind, options.coarsening);
            check_same_levels(gpu, &expected, &computed);
            levels = expected.count > levels ? expected.count : levels;
            amg_hierarchy_close(&expected);
            amg_hierarchy_close(&computed);
            tess_matrix_destroy(on_cpu);
            tess_matrix_destroy(on_gpu);
            discard_problem(&p);
        }
    }
    assert_true(levels >= 3); /* coarse nodes too */
    tess_context_destroy(cpu);
}

/* New values: aggregates, T and patterns stay. The same bits as at first, if they are the first ones again. */
static void new_values_keep_the_patterns(void **state)
{
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int k = 1; k <= 3; k++) {
        problem p = problem_of(k);
        const tess_amg_options options = options_for(&p, TESS_AMG_AGGREGATION);
        double *factor = random_values(p.a.nrows, 3, 0.9, 1.1);
        tess_matrix *on_cpu = make_matrix(cpu, &p.a), *on_gpu = make_matrix(gpu, &p.a);
        amg_hierarchy expected = build_levels(cpu, on_cpu, &options), computed = build_levels(gpu, on_gpu, &options);

        for (int64_t i = 0; i < p.a.nrows; i++) { /* stays symmetric */
            for (int64_t e = p.a.row_ptr[i]; e < p.a.row_ptr[i + 1]; e++) {
                p.a.val[e] *= factor[i] * factor[p.a.col_ind[e]];
            }
        }
        assert_ok(cpu, tess_matrix_update_values(on_cpu, p.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(gpu, tess_matrix_update_values(on_gpu, p.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(cpu, amg_hierarchy_renew(&expected, on_cpu));
        assert_ok(gpu, amg_hierarchy_renew(&computed, on_gpu));
        check_same_levels(gpu, &expected, &computed);
        amg_hierarchy_close(&expected);
        amg_hierarchy_close(&computed);
        tess_matrix_destroy(on_cpu);
        tess_matrix_destroy(on_gpu);
        free(factor);
        discard_problem(&p);
    }
    tess_context_destroy(cpu);
}

static void runs_have_the_same_bits(void **state)
{
    problem p = problem_of(1);
    const tess_amg_options options = options_for(&p, TESS_AMG_AGGREGATION);
    tess_matrix *m = make_matrix(gpu, &p.a);
    amg_hierarchy first = build_levels(gpu, m, &options), second = build_levels(gpu, m, &options);

    (void)state;
    assert_int_equal(first.count, second.count);
    for (int l = 0; l < first.count; l++) {
        host_csr a = {0};

        assert_ok(gpu, device_csr_download(gpu, &first.device->level[l].a, &a));
        check_same_csr(gpu, &a, &second.device->level[l].a, 0.0);
        host_csr_release(gpu, &a);
        if (l + 1 == first.count) { continue; }
        assert_ok(gpu, device_csr_download(gpu, &first.device->level[l].p, &a));
        check_same_csr(gpu, &a, &second.device->level[l].p, 0.0);
        host_csr_release(gpu, &a);
    }
    amg_hierarchy_close(&first);
    amg_hierarchy_close(&second);
    tess_matrix_destroy(m);
    discard_problem(&p);
}

/* ---- solves ---- */

/* Iterations are those with levels of the host, up to one where the last residual is near the tolerance, and two in a
   hundred: sums have another order. */
static void iterations_are_those_of_the_host(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        problem p = problem_of(k);
        double *b = random_values(p.a.nrows, 5, -1.0, 1.0);
        tess_context *cpu = open_cpu(2);
        solved by[2];
        int64_t gap = 0;

        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg = options_for(&p, TESS_AMG_AGGREGATION);
        by[0] = solve_here(cpu, &p.a, &options, b);
        by[1] = solve_here(gpu, &p.a, &options, b);
        assert_true(by[0].result.converged && by[1].result.converged);
        check_honest(&p.a, b, by[1].x, &options, &by[1].result);
        gap = 1 + by[0].result.iterations / 50;
        assert_in_range(by[1].result.iterations + gap, by[0].result.iterations, by[0].result.iterations + 2 * gap);
        discard(&by[0]);
        discard(&by[1]);
        tess_context_destroy(cpu);
        free(b);
        discard_problem(&p);
    }
}

/* ---- memory ---- */

/* Device memory of another context, counted by a heap. */
static void *lend(void *user, size_t bytes)
{
    tess_context *lender = user;
    void *pointer = lender->backend->allocate(lender, bytes);

    assert_ok(lender, tess_context_synchronize(lender)); /* before another stream uses it */
    return pointer;
}

static void take_back(void *user, void *pointer, size_t bytes)
{
    ((tess_context *)user)->backend->release(user, pointer, bytes);
}

static tess_status build_and_renew(tess_context *ctx, const tess_matrix *a, const tess_amg_options *options)
{
    amg_hierarchy h = {.ctx = ctx, .options = *options};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, options->max_levels, sizeof *h.level, (void **)&h.level));
    memset(h.level, 0, (size_t)options->max_levels * sizeof *h.level);
    TESS_TRY(amg_device_build(&h, a));
    status = amg_device_renew(&h, a);
cleanup:
    amg_hierarchy_close(&h);
    return status;
}

/* The k-th allocation of one of the heaps fails, for all k. */
static void fail_each(tess_context *ctx, heap *failing, heap *const heaps[2], tess_status expected)
{
    problem p = problem_of((int)on_gpu_or_emulated(1, 4));
    const tess_amg_options options = options_for(&p, TESS_AMG_AGGREGATION);
    tess_matrix *m = make_matrix(ctx, &p.a);
    tess_status status = TESS_INTERNAL;
    int64_t k = 0;

    assert_ok(ctx, build_and_renew(ctx, m, &options)); /* workspaces have grown */
    for (; status != TESS_SUCCESS; k++) {
        const int64_t live[2] = {heaps[0]->live, heaps[1]->live};

        heap_fail_at(failing, k);
        status = build_and_renew(ctx, m, &options);
        heap_fail_at(failing, -1);
        if (status != TESS_SUCCESS) { assert_int_equal(status, expected); }
        assert_int_equal(heaps[0]->live, live[0]);
        assert_int_equal(heaps[1]->live, live[1]);
        assert_int_equal(heaps[0]->wrong_releases + heaps[1]->wrong_releases, 0);
    }
    assert_true(k > (failing == heaps[0] ? 2 : 80));
    tess_matrix_destroy(m);
    discard_problem(&p);
}

static void failed_allocations_leave_nothing(void **state)
{
    heap host = {.fail_at = -1}, device = {.fail_at = -1, .beneath = {lend, take_back, gpu}};
    heap *const heaps[] = {&host, &device};
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    options.host_allocator = heap_allocator(&host);
    options.device_allocator = heap_allocator(&device);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    fail_each(ctx, &device, heaps, TESS_OUT_OF_DEVICE_MEMORY);
    fail_each(ctx, &host, heaps, TESS_OUT_OF_MEMORY);
    tess_context_destroy(ctx);
    assert_int_equal(host.live + device.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aggregates_are_those_of_the_host), cmocka_unit_test(levels_are_those_of_the_host),
        cmocka_unit_test(new_values_keep_the_patterns),     cmocka_unit_test(runs_have_the_same_bits),
        cmocka_unit_test(iterations_are_those_of_the_host), cmocka_unit_test(failed_allocations_leave_nothing),
    };

    return run_gpu_tests(tests, &gpu);
}
