/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES on cuSPARSE and cuBLAS. All of an iteration is enqueued at once; its coefficients come to the host in
 * one copy, where the rotations are made while the device updates the new vectors.
 */
#include <type_traits>

#include "papers/gmres_peer_parts.cuh"
#include "papers/gmres_peer_polynomial.cuh"

namespace {

constexpr size_t blas_workspace_bytes = size_t(32) << 20; /* what cuBLAS recommends for Hopper */
constexpr int64_t column_unit = 64;                       /* columns of the basis begin at multiples of this */
constexpr int pair_calls = 3;                             /* of a way that is timed */
constexpr int most_stalled = 20;                          /* cycles without a new least residual before it gives up */

} // namespace

struct bench_gmres_handles {
    cublasHandle_t blas = nullptr;
    cudaStream_t stream = nullptr;
    void *workspace = nullptr;
    const tess_matrix *a = nullptr;
    const bench_csr *host = nullptr;
    bench_cusparse *product[2] = {}; /* the fastest in FP64, FP32; once they are wanted */
    const tess_polynomial *polynomial = nullptr;
};

struct bench_gmres {
    virtual ~bench_gmres() = default;
    virtual void solve(const double *b, double *x, const bench_gmres_limits &limits, bench_gmres_result *out) = 0;
    virtual void multiply_once() = 0;
    int64_t held = 0, matrix_bytes = 0;
    const char *product_name = "";
};

namespace {

enum { MARKS = 7 }; /* events of an iteration: its start, and the end of each of six operations */

/* Cycles in T, x and residuals in R. */
template <typename T, typename R>
class gmres : public bench_gmres {
  public:
    gmres(bench_gmres_handles *h, bool delayed, int restart);
    void solve(const double *b, double *x, const bench_gmres_limits &limits, bench_gmres_result *out) override;
    void multiply_once() override
    {
        multiply(inner_, 1.0, column(0), 0.0, column(1));
    }

  private:
    static constexpr bool mixed = !std::is_same_v<T, R>, narrow = std::is_same_v<R, float>;

    T *column(int j) const
    {
        return basis_.get() + static_cast<size_t>(j) * static_cast<size_t>(ld_);
    }
    void apply_operator(int from, int to);
    void allocate();
    void count_matrix(const bench_cusparse *product, size_t width);
    void choose_pairs();
    void start(const double *b, double *x);
    void find_residual();
    double residual_norm();
    void iterate(double norm, const bench_gmres_limits &limits, bench_gmres_result *out);
    void run_cycle(double norm, double tolerance, const bench_gmres_limits &limits, bench_gmres_result *out);
    void enqueue_step(int j, bool profile);
    void enqueue_delayed(int j, bool last, bool profile);
    void project_pair(int64_t columns, bool together);
    void subtract_pair(int64_t columns, bool together);
    void run_delayed(int64_t most, double tolerance, const bench_gmres_limits &limits, bench_gmres_result *out);
    double close_step(int j);
    void add_times(bench_gmres_result *out);
    void correct();
    void mark(int which, bool profile)
    {
        if (profile) { TRY(cudaEventRecord(marks_[which].get(), h_->stream)); }
    }

    bench_gmres_handles *h_;
    const csr_view view_;
    int64_t n_, ld_;
    int m_;
    const bool delayed_;
    bool together_[2] = {false, false}; /* a pair of vectors by one GEMM: its projections, its subtractions */
    device_array<T> basis_, coefficients_, y_, correction_;
    device_array<R> residual_, norm_, own_b_, own_x_;
    peer_polynomial<T> polynomial_;
    device_array<float> low_values_;
    pinned_array<T> on_host_, y_host_;
    bench_cusparse *inner_, *outer_; /* of cycles, and of residuals */
    event ready_, marks_[MARKS];
    rotations small_;
    delayed_columns columns_;
    std::vector<double> history_;
    const R *b_ = nullptr;
    R *x_ = nullptr;
};

/* ---- set-up ---- */

template <typename T, typename R>
gmres<T, R>::gmres(bench_gmres_handles *h, bool delayed, int restart)
    : h_(h), view_(csr_of(h->a)->view), delayed_(delayed), inner_(h->product[sizeof(T) == 8 ? 0 : 1]),
      outer_(h->product[sizeof(R) == 8 ? 0 : 1])
{
    n_ = view_.nrows;
    m_ = static_cast<int>(std::max<int64_t>(std::min<int64_t>(restart, n_), 1));
    ld_ = (n_ + column_unit - 1) / column_unit * column_unit;
    product_name = bench_cusparse_name(bench_cusparse_kind_of(inner_));
    allocate();
    if (delayed_) { choose_pairs(); }
    ready_.create(cudaEventDisableTiming);
    for (event &mark : marks_) {
        mark.create(cudaEventDefault);
    }
    TRY(cudaStreamSynchronize(h_->stream));
}

template <typename T, typename R>
void gmres<T, R>::allocate()
{
    const size_t n = static_cast<size_t>(n_), m = static_cast<size_t>(m_);

    basis_.allocate(static_cast<size_t>(ld_) * (m + 1), &held);
    coefficients_.allocate(2 * m + 2, &held); /* of both passes or vectors, the norm, its inverse or two scalars */
    on_host_.allocate(2 * m + 2);
    y_.allocate(m, &held);
    y_host_.allocate(m);
    residual_.allocate(n, &held);
    norm_.allocate(1, &held);
    polynomial_.open(h_->polynomial, n_, &held);
    if (mixed || polynomial_.is_there()) { correction_.allocate(n, &held); }
    if constexpr (narrow) {
        own_b_.allocate(n, &held);
        own_x_.allocate(n, &held);
    }
    for (bench_cusparse *product : {inner_, mixed ? outer_ : nullptr}) {
        if (product) { count_matrix(product, product == inner_ ? sizeof(T) : sizeof(R)); }
    }
}

/* A product in CSR has the matrix's arrays, but for values in FP32. */
template <typename T, typename R>
void gmres<T, R>::count_matrix(const bench_cusparse *product, size_t width)
{
    const int64_t bytes = bench_cusparse_bytes(product) - 2 * n_ * static_cast<int64_t>(width);
    const bool csr = bench_cusparse_kind_of(product) <= BENCH_CUSPARSE_CSR_ALG2;

    matrix_bytes += bytes;
    held += !csr ? bytes : width == sizeof(float) ? 4 * view_.nnz : 0;
}

/* One GEMM reads the basis once, two GEMV read it twice, and are sometimes faster: by their times, in the middle of a
 * cycle. It is part of the set-up. */
template <typename T, typename R>
void gmres<T, R>::choose_pairs()
{
    const int64_t columns = m_ / 2 + 1;
    event from, to;

    from.create(cudaEventDefault);
    to.create(cudaEventDefault);
    TRY(cudaMemsetAsync(basis_.get(), 0, static_cast<size_t>(ld_) * static_cast<size_t>(m_ + 1) * sizeof(T),
                        h_->stream));
    for (int which = 0; which < 2; which++) {
        float milliseconds[2] = {};

        for (int call = -2; call < 2; call++) { /* below 0: warm-up */
            const bool together = call % 2 != 0;

            TRY(cudaEventRecord(from.get(), h_->stream));
            for (int k = 0; k < pair_calls; k++) {
                which == 0 ? project_pair(columns, together) : subtract_pair(columns, together);
            }
            TRY(cudaEventRecord(to.get(), h_->stream));
            TRY(cudaEventSynchronize(to.get()));
            TRY(cudaEventElapsedTime(&milliseconds[together ? 1 : 0], from.get(), to.get()));
        }
        together_[which] = milliseconds[1] < milliseconds[0];
    }
}

/* ---- residuals ---- */

/* x = 0, r = b */
template <typename T, typename R>
void gmres<T, R>::start(const double *b, double *x)
{
    const size_t bytes = static_cast<size_t>(n_) * sizeof(R);

    if constexpr (narrow) {
        scale_into(h_->stream, n_, 1.0, b, own_b_.get());
        b_ = own_b_.get();
        x_ = own_x_.get();
    } else {
        b_ = b;
        x_ = x;
    }
    TRY(cudaMemsetAsync(x_, 0, bytes, h_->stream));
    TRY(cudaMemcpyAsync(residual_.get(), b_, bytes, cudaMemcpyDeviceToDevice, h_->stream));
    history_.clear();
}

/* r = b - A x */
template <typename T, typename R>
void gmres<T, R>::find_residual()
{
    TRY(cudaMemcpyAsync(residual_.get(), b_, static_cast<size_t>(n_) * sizeof(R), cudaMemcpyDeviceToDevice,
                        h_->stream));
    multiply(outer_, -1.0, x_, 1.0, residual_.get());
}

template <typename T, typename R>
double gmres<T, R>::residual_norm()
{
    R norm = R(0);

    norm_into(h_->blas, n_, residual_.get(), norm_.get());
    TRY(cudaMemcpyAsync(&norm, norm_.get(), sizeof norm, cudaMemcpyDeviceToHost, h_->stream));
    TRY(cudaStreamSynchronize(h_->stream));
    return static_cast<double>(norm);
}

/* ---- a cycle ---- */

/* Column `to` = A M^-1 (column `from`) */
template <typename T, typename R>
void gmres<T, R>::apply_operator(int from, int to)
{
    const T *x = column(from);

    if (polynomial_.is_there()) {
        polynomial_.apply(h_->blas, h_->stream, inner_, x);
        x = polynomial_.result();
    }
    multiply(inner_, 1.0, x, 0.0, column(to));
}

/* w = A v_j, two passes of classical Gram-Schmidt, and the norm; then the host may go on, and w is scaled. */
template <typename T, typename R>
void gmres<T, R>::enqueue_step(int j, bool profile)
{
    const int64_t columns = j + 1;
    T *w = column(j + 1), *first = coefficients_.get(), *second = first + columns, *norm = second + columns;

    mark(0, profile);
    apply_operator(j, j + 1);
    mark(1, profile);
    gemv(h_->blas, CUBLAS_OP_T, n_, columns, 1.0, basis_.get(), ld_, w, 0.0, first);
    mark(2, profile);
    gemv(h_->blas, CUBLAS_OP_N, n_, columns, -1.0, basis_.get(), ld_, first, 1.0, w);
    mark(3, profile);
    gemv(h_->blas, CUBLAS_OP_T, n_, columns, 1.0, basis_.get(), ld_, w, 0.0, second);
    mark(4, profile);
    gemv(h_->blas, CUBLAS_OP_N, n_, columns, -1.0, basis_.get(), ld_, second, 1.0, w);
    mark(5, profile);
    norm_into(h_->blas, n_, w, norm);
    mark(6, profile);
    TRY(cudaMemcpyAsync(on_host_.get(), first, static_cast<size_t>(2 * columns + 1) * sizeof(T), cudaMemcpyDeviceToHost,
                        h_->stream));
    TRY(cudaEventRecord(ready_.get(), h_->stream));
    invert_kernel<<<1, 1, 0, h_->stream>>>(norm, norm + 1);
    TRY(cudaGetLastError());
    scale_by(h_->blas, n_, norm + 1, w);
}

/* The small problem's column j; returns the residual's estimate. */
template <typename T, typename R>
double gmres<T, R>::close_step(int j)
{
    const size_t columns = static_cast<size_t>(j) + 1;
    std::vector<double> h(columns);

    TRY(cudaEventSynchronize(ready_.get()));
    for (size_t k = 0; k < columns; k++) {
        h[k] = static_cast<double>(on_host_.get()[k]) + static_cast<double>(on_host_.get()[columns + k]);
    }
    return small_.close(std::move(h), static_cast<double>(on_host_.get()[2 * columns]));
}

/* Coefficients of the vectors `columns` - 1 and `columns` over the basis up to the former, one after another. */
template <typename T, typename R>
void gmres<T, R>::project_pair(int64_t columns, bool together)
{
    T *const pair = column(static_cast<int>(columns) - 1), *const out = coefficients_.get();

    if (together) {
        gemm(h_->blas, CUBLAS_OP_T, columns, n_, 1.0, basis_.get(), ld_, pair, ld_, 0.0, out, columns);
    } else {
        gemv(h_->blas, CUBLAS_OP_T, n_, columns, 1.0, basis_.get(), ld_, pair, 0.0, out);
        gemv(h_->blas, CUBLAS_OP_T, n_, columns, 1.0, basis_.get(), ld_, pair + ld_, 0.0, out + columns);
    }
}

/* The pair less its parts along the basis before it. */
template <typename T, typename R>
void gmres<T, R>::subtract_pair(int64_t columns, bool together)
{
    T *const pair = column(static_cast<int>(columns) - 1), *const h = coefficients_.get();

    if (columns == 1) { return; }
    if (together) {
        gemm(h_->blas, CUBLAS_OP_N, n_, columns - 1, -1.0, basis_.get(), ld_, h, columns, 1.0, pair, ld_);
    } else {
        gemv(h_->blas, CUBLAS_OP_N, n_, columns - 1, -1.0, basis_.get(), ld_, h, 1.0, pair);
        gemv(h_->blas, CUBLAS_OP_N, n_, columns - 1, -1.0, basis_.get(), ld_, h + columns, 1.0, pair + ld_);
    }
}

/* w = v_j, not normalised yet: u = A w, one reduction for both; then v_j is finished, and v_{j+1} has its first pass.
 * The last step of a cycle only holds w against the basis. */
template <typename T, typename R>
void gmres<T, R>::enqueue_delayed(int j, bool last, bool profile)
{
    const int64_t columns = j + 1, count = last ? columns : 2 * columns;
    T *const h = coefficients_.get(), *const scalars = h + 2 * m_, *const w = column(j);

    mark(0, profile);
    if (!last) { apply_operator(j, j + 1); }
    mark(1, profile);
    if (last) {
        gemv(h_->blas, CUBLAS_OP_T, n_, columns, 1.0, basis_.get(), ld_, w, 0.0, h);
    } else {
        project_pair(columns, together_[0]);
    }
    mark(2, profile);
    TRY(cudaMemcpyAsync(on_host_.get(), h, static_cast<size_t>(count) * sizeof(T), cudaMemcpyDeviceToHost, h_->stream));
    TRY(cudaEventRecord(ready_.get(), h_->stream));
    if (!last) {
        delay_kernel<<<1, 32, 0, h_->stream>>>(j, h, scalars);
        subtract_pair(columns, together_[1]);
        finish_pair_kernel<<<blocks_for(n_), kernel_threads, 0, h_->stream>>>(n_, scalars, w, column(j + 1));
        TRY(cudaGetLastError());
    }
    for (int k = 3; k < MARKS; k++) {
        mark(k, profile);
    }
}

template <typename T, typename R>
void gmres<T, R>::add_times(bench_gmres_result *out)
{
    static const bench_gmres_part part_of[MARKS - 1] = {BENCH_GMRES_PRODUCT, BENCH_GMRES_PROJECT,  BENCH_GMRES_SUBTRACT,
                                                        BENCH_GMRES_PROJECT, BENCH_GMRES_SUBTRACT, BENCH_GMRES_NORM};

    TRY(cudaEventSynchronize(marks_[MARKS - 1].get()));
    for (int k = 0; k + 1 < MARKS; k++) {
        float milliseconds = 0.0F;

        TRY(cudaEventElapsedTime(&milliseconds, marks_[k].get(), marks_[k + 1].get()));
        out->part_seconds[part_of[k]] += 1e-3 * static_cast<double>(milliseconds);
    }
}

/* x += M^-1 V y */
template <typename T, typename R>
void gmres<T, R>::correct()
{
    const std::vector<double> y = small_.solution();
    const int64_t columns = static_cast<int64_t>(y.size());

    std::copy(y.begin(), y.end(), y_host_.get());
    TRY(cudaMemcpyAsync(y_.get(), y_host_.get(), y.size() * sizeof(T), cudaMemcpyHostToDevice, h_->stream));
    if (mixed || polynomial_.is_there()) {
        const T *z = correction_.get();

        gemv(h_->blas, CUBLAS_OP_N, n_, columns, 1.0, basis_.get(), ld_, y_.get(), 0.0, correction_.get());
        if (polynomial_.is_there()) {
            polynomial_.apply(h_->blas, h_->stream, inner_, z);
            z = polynomial_.result();
        }
        add_kernel<<<blocks_for(n_), kernel_threads, 0, h_->stream>>>(n_, z, x_);
        TRY(cudaGetLastError());
    }
    if constexpr (!mixed) {
        if (!polynomial_.is_there()) {
            gemv(h_->blas, CUBLAS_OP_N, n_, columns, 1.0, basis_.get(), ld_, y_.get(), 1.0, x_);
        }
    }
}

/* Column j - 1 is known after step j. */
template <typename T, typename R>
void gmres<T, R>::run_delayed(int64_t most, double tolerance, const bench_gmres_limits &limits, bench_gmres_result *out)
{
    std::vector<double> h;
    double alpha = 0.0;

    columns_.start();
    for (int j = 0; j <= most; j++) {
        double estimate = 0.0;

        enqueue_delayed(j, j == most, limits.profile);
        TRY(cudaEventSynchronize(ready_.get()));
        if (limits.profile) { add_times(out); }
        if (!columns_.step(on_host_.get(), j == most, &h, &alpha)) { continue; }
        estimate = small_.close(h, alpha);
        out->iterations += 1;
        history_.push_back(estimate);
        if (!std::isfinite(estimate) || estimate <= tolerance) { break; }
    }
}

template <typename T, typename R>
void gmres<T, R>::run_cycle(double norm, double tolerance, const bench_gmres_limits &limits, bench_gmres_result *out)
{
    const int64_t most = std::min<int64_t>(m_, limits.max_iterations - out->iterations);

    small_.start(m_, norm);
    scale_into(h_->stream, n_, 1.0 / norm, residual_.get(), column(0));
    if (delayed_) { run_delayed(most, tolerance, limits, out); }
    for (int j = 0; j < most && !delayed_; j++) {
        double estimate = 0.0;

        enqueue_step(j, limits.profile);
        estimate = close_step(j);
        if (limits.profile) { add_times(out); }
        out->iterations += 1;
        history_.push_back(estimate);
        if (!std::isfinite(estimate) || estimate <= tolerance) { break; }
    }
    correct();
    out->cycles += 1;
}

template <typename T, typename R>
void gmres<T, R>::iterate(double norm, const bench_gmres_limits &limits, bench_gmres_result *out)
{
    const double tolerance = limits.rtol * norm;
    double least = norm;
    int stalled = 0;
    const char *reason = nullptr;

    history_.push_back(norm);
    while (!reason) {
        out->claimed = norm <= tolerance;
        reason = !std::isfinite(norm)                       ? "nan_or_inf"
                 : out->claimed                             ? "rtol"
                 : out->iterations >= limits.max_iterations ? "iterations"
                 : stalled >= most_stalled                  ? "stagnation"
                                                            : nullptr;
        if (reason) { break; }
        run_cycle(norm, tolerance, limits, out);
        find_residual();
        norm = residual_norm();
        stalled = norm < least ? 0 : stalled + 1;
        least = std::min(least, norm);
    }
    snprintf(out->reason, sizeof out->reason, "%s", reason);
}

template <typename T, typename R>
void gmres<T, R>::solve(const double *b, double *x, const bench_gmres_limits &limits, bench_gmres_result *out)
{
    *out = bench_gmres_result();
    start(b, x);
    iterate(residual_norm(), limits, out);
    if constexpr (narrow) { scale_into(h_->stream, n_, 1.0, x_, x); }
    TRY(cudaStreamSynchronize(h_->stream));
    out->history = history_.data();
    out->history_length = static_cast<int64_t>(history_.size());
}

void open_handles(bench_gmres_handles *h)
{
    h->stream = static_cast<cudaStream_t>(tess_context_stream(tess_matrix_context(h->a)));
    TRY(cublasCreate(&h->blas));
    TRY(cublasSetStream(h->blas, h->stream));
    TRY(cudaMalloc(&h->workspace, blas_workspace_bytes));
    TRY(cublasSetWorkspace(h->blas, h->workspace, blas_workspace_bytes));
}

} // namespace

/* ---- interface ---- */

extern "C" bench_gmres_handles *bench_gmres_open(const tess_matrix *a, const bench_csr *host, char *reason,
                                                 size_t reason_size)
{
    bench_gmres_handles *h = new bench_gmres_handles;

    h->a = a;
    h->host = host;
    if (guarded(reason, reason_size, [&] { open_handles(h); })) { return h; }
    bench_gmres_close(h);
    return nullptr;
}

extern "C" void bench_gmres_close(bench_gmres_handles *h)
{
    if (!h) { return; }
    bench_cusparse_destroy(h->product[0]);
    bench_cusparse_destroy(h->product[1]);
    if (h->blas) { cublasDestroy(h->blas); }
    cudaFree(h->workspace);
    delete h;
}

extern "C" void bench_gmres_precondition(bench_gmres_handles *h, const struct tess_polynomial *polynomial)
{
    h->polynomial = polynomial;
}

extern "C" bool bench_gmres_choose(bench_gmres_handles *h, bench_gmres_kind kind, char *reason, size_t reason_size)
{
    const bool wanted[2] = {kind != BENCH_GMRES_FP32, kind != BENCH_GMRES_FP64};
    bool good = true;

    for (int low = 0; low < 2; low++) {
        double seconds = 0.0;

        if (!wanted[low] || h->product[low]) { continue; }
        h->product[low] = bench_cusparse_choose(h->a, h->host, low ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64,
                                                BENCH_CUSPARSE_KINDS, &seconds, reason, reason_size);
        good = good && h->product[low];
    }
    return good;
}

extern "C" bench_gmres *bench_gmres_create(bench_gmres_handles *h, bench_gmres_kind kind, bool delayed, int restart,
                                           char *reason, size_t reason_size)
{
    bench_gmres *s = nullptr;
    const bool made = guarded(reason, reason_size, [&] {
        switch (kind) {
        case BENCH_GMRES_FP64: s = new gmres<double, double>(h, delayed, restart); break;
        case BENCH_GMRES_IR: s = new gmres<float, double>(h, delayed, restart); break;
        default: s = new gmres<float, float>(h, delayed, restart); break;
        }
    });

    return made ? s : nullptr;
}

extern "C" void bench_gmres_destroy(bench_gmres *s)
{
    delete s;
}

extern "C" bool bench_gmres_solve(bench_gmres *s, const double *b, double *x, const bench_gmres_limits *limits,
                                  bench_gmres_result *out)
{
    char reason[BENCH_GMRES_REASON];
    const bool done = guarded(reason, sizeof reason, [&] { s->solve(b, x, *limits, out); });

    if (!done) { snprintf(out->reason, sizeof out->reason, "%s", reason); }
    return done;
}

extern "C" int64_t bench_gmres_bytes(const bench_gmres *s)
{
    return s->held;
}

extern "C" int64_t bench_gmres_matrix_bytes(const bench_gmres *s)
{
    return s->matrix_bytes;
}

extern "C" const char *bench_gmres_product_name(const bench_gmres *s)
{
    return s->product_name;
}

extern "C" tess_status bench_gmres_product(void *user, int)
{
    char reason[BENCH_GMRES_REASON];

    return guarded(reason, sizeof reason, [&] { static_cast<bench_gmres *>(user)->multiply_once(); }) ? TESS_SUCCESS
                                                                                                      : TESS_DEVICE;
}
