/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface from C++: handles in unique_ptr, errors as exceptions. Assembles a convection-diffusion operator from
 * triplets in any order and solves it with BiCGSTAB.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/tessera.h>

namespace {

template <auto destroy>
struct Deleter {
    template <typename T>
    void operator()(T *handle) const
    {
        destroy(handle);
    }
};
using Context = std::unique_ptr<tess_context, Deleter<tess_context_destroy>>;
using Matrix = std::unique_ptr<tess_matrix, Deleter<tess_matrix_destroy>>;
using Vector = std::unique_ptr<tess_vector, Deleter<tess_vector_destroy>>;
using Solver = std::unique_ptr<tess_solver, Deleter<tess_solver_destroy>>;

void check(const tess_context *ctx, tess_status status)
{
    if (status == TESS_SUCCESS) { return; }
    const char *detail = ctx ? tess_context_last_error(ctx)->message : "";
    throw std::runtime_error(std::string(tess_status_text(status)) + ": " + detail);
}

struct Triplets {
    std::vector<std::int64_t> row, col;
    std::vector<double> val;

    void add(std::int64_t i, std::int64_t j, double value)
    {
        row.push_back(i);
        col.push_back(j);
        val.push_back(value);
    }
};

// -u'' - u'' + w u' on a grid of g x g points, first-order upwind; parts add up where they meet.
Triplets assemble(std::int64_t g, double wind)
{
    Triplets t;
    for (std::int64_t k = 0; k < g * g; k++) {
        const std::int64_t i = k % g, j = k / g;
        t.add(k, k, 4.0);
        t.add(k, k, wind);
        if (i > 0) { t.add(k, k - 1, -1.0 - wind); }
        if (i < g - 1) { t.add(k, k + 1, -1.0); }
        if (j > 0) { t.add(k, k - g, -1.0); }
        if (j < g - 1) { t.add(k, k + g, -1.0); }
    }
    return t;
}

Matrix make_matrix(tess_context *ctx, const Triplets &t, std::int64_t n)
{
    tess_coo_arrays arrays;
    tess_coo_arrays_init(&arrays);
    arrays.nrows = arrays.ncols = n;
    arrays.nnz = static_cast<std::int64_t>(t.val.size());
    arrays.row_ind = t.row.data();
    arrays.col_ind = t.col.data();
    arrays.val = t.val.data();
    arrays.index_bits = 64;
    arrays.where = TESS_MEMORY_HOST;
    tess_matrix *a = nullptr;
    check(ctx, tess_matrix_create_coo(ctx, &arrays, &a));
    return Matrix(a);
}

Vector make_vector(tess_context *ctx, std::int64_t n, double value)
{
    tess_vector *v = nullptr;
    check(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP64, &v));
    Vector owned(v);
    check(ctx, tess_vector_fill(v, value));
    return owned;
}

int run()
{
    const std::int64_t g = 80, n = g * g;
    tess_context *c = nullptr;
    check(nullptr, tess_context_create(nullptr, &c));
    const Context ctx(c);
    const Matrix a = make_matrix(c, assemble(g, 0.5), n);
    const Vector b = make_vector(c, n, 0.0), x = make_vector(c, n, 1.0);
    check(c, tess_matrix_spmv(a.get(), TESS_OP_NONE, 1.0, x.get(), 0.0, b.get())); // b = A * ones
    check(c, tess_vector_fill(x.get(), 0.0));

    tess_solve_options options;
    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_BICGSTAB;
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    options.rtol = 1e-11;
    tess_solver *s = nullptr;
    check(c, tess_solver_create(a.get(), &options, &s));
    const Solver solver(s);
    tess_solve_result result;
    tess_solve_result_init(&result);
    check(c, tess_solver_solve(s, b.get(), x.get(), &result));

    std::vector<double> answer(static_cast<std::size_t>(n));
    check(c, tess_vector_get(x.get(), answer.data(), TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    double worst = 0.0;
    for (const double value : answer) {
        worst = std::fmax(worst, std::fabs(value - 1.0));
    }
    std::printf("%s on %s: %s after %lld iterations, true relative residual %.2e, largest error %.2e\n",
                tess_solver_kind_name(result.solver), tess_context_device_name(c), tess_reason_text(result.reason),
                static_cast<long long>(result.iterations), result.relative_residual, worst);
    // ||A^-1|| stays below 1 / (8 sin^2(pi / 162)) = 333 and ||b|| below 30 here.
    return result.converged && worst < 333.0 * 30.0 * 1e-11 ? 0 : 1;
}

} // namespace

int main()
{
    try {
        return run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
