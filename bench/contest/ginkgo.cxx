/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ginkgo behind functions of C, for the contest (ginkgo.py). Arrays lie where the executor computes. A function that
 * fails returns NULL or -1, and ginkgo_failure tells why.
 */
#include <functional>
#include <map>
#include <string>

#include <ginkgo/ginkgo.hpp>

namespace {

using number = double;
using vector = gko::matrix::Dense<number>;
using matrix = gko::matrix::Csr<number, int>;
using factory = std::shared_ptr<const gko::LinOpFactory>;
using executor = std::shared_ptr<gko::Executor>;

std::string failure;

struct session {
    executor exec;
    std::shared_ptr<const matrix> a;
    std::unique_ptr<gko::LinOp> solver;
    std::shared_ptr<gko::log::Convergence<number>> log;
};

/* ---- preconditioners ---- */

template <typename T>
factory jacobi(const executor &exec)
{
    return gko::preconditioner::Jacobi<T, int>::build().with_max_block_size(1u).on(exec);
}

template <typename T>
factory damped_jacobi(const executor &exec, unsigned steps)
{
    return gko::solver::Ir<T>::build()
        .with_solver(jacobi<T>(exec))
        .with_relaxation_factor(static_cast<T>(0.9))
        .with_criteria(gko::stop::Iteration::build().with_max_iters(steps).on(exec))
        .on(exec);
}

template <typename T>
factory aggregation(const executor &exec)
{
    return gko::multigrid::Pgm<T, int>::build().with_deterministic(true).on(exec);
}

/* Levels of parallel graph matching. `mixed`: all but the finest in FP32. */
factory multigrid(const executor &exec, bool mixed)
{
    auto made = gko::solver::Multigrid::build()
                    .with_max_levels(12u)
                    .with_min_coarse_rows(64u)
                    .with_post_uses_pre(true)
                    .with_default_initial_guess(gko::solver::initial_guess_mode::zero)
                    .with_criteria(gko::stop::Iteration::build().with_max_iters(1u).on(exec));

    if (!mixed) {
        return made.with_mg_level(aggregation<number>(exec))
            .with_pre_smoother(damped_jacobi<number>(exec, 1))
            .with_coarsest_solver(damped_jacobi<number>(exec, 4))
            .on(exec);
    }
    return made.with_mg_level(aggregation<number>(exec), aggregation<float>(exec))
        .with_pre_smoother(damped_jacobi<number>(exec, 1), damped_jacobi<float>(exec, 1))
        .with_level_selector(
            [](const gko::size_type level, const gko::LinOp *) -> gko::size_type { return level > 0 ? 1 : 0; })
        .with_coarsest_solver(damped_jacobi<float>(exec, 4))
        .on(exec);
}

template <typename FACTORIZATION>
factory incomplete_lu(const executor &exec)
{
    factory factors = FACTORIZATION::build().on(exec);

    return gko::preconditioner::Ilu<>::build().with_factorization(factors).on(exec);
}

factory incomplete_cholesky(const executor &exec)
{
    factory factors = gko::factorization::ParIc<number, int>::build().on(exec);

    return gko::preconditioner::Ic<>::build().with_factorization(factors).on(exec);
}

/* ---- settings ---- */

struct criteria {
    std::shared_ptr<const gko::stop::CriterionFactory> iterations, residual;
};

template <typename BUILDER>
factory finish(const executor &exec, const criteria &stop, const factory &preconditioner, BUILDER builder)
{
    builder.with_criteria(stop.iterations, stop.residual);
    if (preconditioner) { builder.with_preconditioner(preconditioner); }
    return builder.on(exec);
}

using maker = std::function<factory(const executor &, const criteria &)>;

template <typename METHOD>
maker of(std::function<factory(const executor &)> preconditioner)
{
    return [=](const executor &exec, const criteria &stop) {
        return finish(exec, stop, preconditioner ? preconditioner(exec) : nullptr, METHOD::build());
    };
}

factory gmres(const executor &exec, const criteria &stop, const factory &preconditioner)
{
    return finish(exec, stop, preconditioner, gko::solver::Gmres<number>::build().with_krylov_dim(50u));
}

factory compressed_gmres(const executor &exec, const criteria &stop)
{
    return finish(exec, stop, jacobi<number>(exec),
                  gko::solver::CbGmres<number>::build().with_krylov_dim(50u).with_storage_precision(
                      gko::solver::cb_gmres::storage_precision::reduce1));
}

const std::map<std::string, maker> &settings()
{
    using namespace gko::solver;
    static const std::map<std::string, maker> made = {
        {"cg-jacobi", of<Cg<number>>(jacobi<number>)},
        {"cg-multigrid", of<Cg<number>>([](const executor &exec) { return multigrid(exec, false); })},
        {"cg-multigrid-mixed", of<Cg<number>>([](const executor &exec) { return multigrid(exec, true); })},
        {"cg-ic", of<Cg<number>>(incomplete_cholesky)},
        {"bicgstab-jacobi", of<Bicgstab<number>>(jacobi<number>)},
        {"bicgstab-ilu", of<Bicgstab<number>>(incomplete_lu<gko::factorization::Ilu<number, int>>)},
        {"bicgstab-parilu", of<Bicgstab<number>>(incomplete_lu<gko::factorization::ParIlu<number, int>>)},
        {"gmres-jacobi", [](const executor &e, const criteria &s) { return gmres(e, s, jacobi<number>(e)); }},
        {"gmres", [](const executor &e, const criteria &s) { return gmres(e, s, nullptr); }},
        {"minres", of<Minres<number>>(nullptr)},
        {"cb-gmres", compressed_gmres},
    };

    return made;
}

/* What `body` returns, or `otherwise` with the reason in `failure`. */
template <typename T, typename BODY>
T guarded(T otherwise, BODY body)
{
    try {
        return body();
    } catch (const std::exception &error) {
        failure = error.what();
    } catch (...) {
        failure = "an exception of another kind";
    }
    return otherwise;
}

std::unique_ptr<vector> column(const session *s, gko::size_type n, double *values)
{
    return vector::create(s->exec, gko::dim<2>(n, 1), gko::make_array_view(s->exec, n, values), 1);
}

} // namespace

extern "C" {

const char *ginkgo_failure()
{
    return failure.c_str();
}

const char *ginkgo_version()
{
    static const auto v = gko::version_info::get().core_version;
    static const std::string text =
        std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) + " " + v.tag;

    return text.c_str();
}

/* The arrays stay the caller's. */
void *ginkgo_open(int on_gpu, int64_t n, int64_t nnz, int *row_ptr, int *col_ind, double *val)
{
    return guarded<void *>(nullptr, [&]() -> void * {
        auto s = std::make_unique<session>();
        const auto rows = static_cast<gko::size_type>(n), entries = static_cast<gko::size_type>(nnz);

        s->exec = gko::OmpExecutor::create();
        if (on_gpu) {
            s->exec = gko::CudaExecutor::create(0, s->exec, std::make_shared<gko::CudaAsyncAllocator>(nullptr));
        }
        s->a = matrix::create(s->exec, gko::dim<2>(rows, rows), gko::make_array_view(s->exec, entries, val),
                              gko::make_array_view(s->exec, entries, col_ind),
                              gko::make_array_view(s->exec, rows + 1, row_ptr));
        return s.release();
    });
}

int ginkgo_setup(void *handle, const char *setting, double tolerance, int64_t most)
{
    return guarded(-1, [&]() {
        auto *s = static_cast<session *>(handle);
        const criteria stop = {
            gko::stop::Iteration::build().with_max_iters(static_cast<gko::size_type>(most)).on(s->exec),
            gko::stop::ResidualNorm<number>::build()
                .with_baseline(gko::stop::mode::rhs_norm)
                .with_reduction_factor(tolerance)
                .on(s->exec)};

        s->solver.reset();
        s->solver = settings().at(setting)(s->exec, stop)->generate(s->a);
        s->log = gko::log::Convergence<number>::create();
        s->solver->add_logger(s->log);
        s->exec->synchronize();
        return 0;
    });
}

/* x: the initial guess, and the answer. */
int ginkgo_solve(void *handle, double *b, double *x, int64_t *iterations, int *converged)
{
    return guarded(-1, [&]() {
        auto *s = static_cast<session *>(handle);
        const auto n = s->a->get_size()[0];

        s->solver->apply(column(s, n, b), column(s, n, x));
        s->exec->synchronize();
        *iterations = static_cast<int64_t>(s->log->get_num_iterations());
        *converged = s->log->has_converged();
        return 0;
    });
}

void ginkgo_close(void *handle)
{
    delete static_cast<session *>(handle);
}
}
