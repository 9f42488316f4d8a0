/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the public enums: a table for each, in the order of the header, which tests/unit/test_names.c compares;
   and their functions, from the list enums.def. */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <tessera/papers.h>
#include <tessera/tessera.h>

/* ---- names ---- */

static const tess_named_value status_names[] = {{"success", TESS_SUCCESS},
                                                {"out_of_memory", TESS_OUT_OF_MEMORY},
                                                {"out_of_device_memory", TESS_OUT_OF_DEVICE_MEMORY},
                                                {"invalid_argument", TESS_INVALID_ARGUMENT},
                                                {"dimension_mismatch", TESS_DIMENSION_MISMATCH},
                                                {"out_of_range", TESS_OUT_OF_RANGE},
                                                {"unsupported", TESS_UNSUPPORTED},
                                                {"not_found", TESS_NOT_FOUND},
                                                {"io", TESS_IO},
                                                {"parse", TESS_PARSE},
                                                {"corrupt", TESS_CORRUPT},
                                                {"no_device", TESS_NO_DEVICE},
                                                {"device", TESS_DEVICE},
                                                {"callback", TESS_CALLBACK},
                                                {"singular", TESS_SINGULAR},
                                                {"internal", TESS_INTERNAL},
                                                {"timed_out", TESS_TIMED_OUT},
                                                {NULL, 0}};
static const tess_named_value arithmetic_names[] = {
    {"fp64", TESS_ARITHMETIC_FP64}, {"fp32", TESS_ARITHMETIC_FP32}, {"fp32x2", TESS_ARITHMETIC_FP32X2}, {NULL, 0}};
static const tess_named_value overflow_names[] = {
    {"infinity", TESS_OVERFLOW_INFINITY}, {"saturate", TESS_OVERFLOW_SATURATE}, {NULL, 0}};
static const tess_named_value device_names[] = {
    {"auto", TESS_DEVICE_AUTO}, {"cpu", TESS_DEVICE_CPU}, {"gpu", TESS_DEVICE_GPU}, {NULL, 0}};
static const tess_named_value memory_names[] = {{"host", TESS_MEMORY_HOST}, {"device", TESS_MEMORY_DEVICE}, {NULL, 0}};
static const tess_named_value ownership_names[] = {{"copy", TESS_COPY}, {"borrow", TESS_BORROW}, {NULL, 0}};
static const tess_named_value log_level_names[] = {
    {"none", TESS_LOG_NONE}, {"warn", TESS_LOG_WARN}, {"info", TESS_LOG_INFO}, {"debug", TESS_LOG_DEBUG}, {NULL, 0}};
static const tess_named_value operation_names[] = {{"none", TESS_OP_NONE}, {"transpose", TESS_OP_TRANSPOSE}, {NULL, 0}};
static const tess_named_value triangle_names[] = {{"lower", TESS_LOWER}, {"upper", TESS_UPPER}, {NULL, 0}};
static const tess_named_value unit_diagonal_names[] = {{"non-unit", TESS_NON_UNIT}, {"unit", TESS_UNIT}, {NULL, 0}};
#define FORMAT(name, number) {#name, (number)},
static const tess_named_value format_names[] = {
#include "registry/formats.def"
    {"shell", TESS_FORMAT_SHELL}, {"auto", TESS_FORMAT_AUTO}, {NULL, 0}};
#undef FORMAT
static const tess_named_value row_order_names[] = {{"original", TESS_ROW_ORDER_ORIGINAL},
                                                   {"permuted", TESS_ROW_ORDER_PERMUTED},
                                                   {"symmetric", TESS_ROW_ORDER_SYMMETRIC},
                                                   {NULL, 0}};
static const tess_named_value granularity_names[] = {{"matrix", TESS_GRANULARITY_MATRIX},
                                                     {"row", TESS_GRANULARITY_ROW},
                                                     {"entry", TESS_GRANULARITY_ENTRY},
                                                     {"block", TESS_GRANULARITY_BLOCK},
                                                     {NULL, 0}};
static const tess_named_value policy_names[] = {{"none", TESS_POLICY_NONE},
                                                {"fixed-range", TESS_POLICY_FIXED_RANGE},
                                                {"mean-range", TESS_POLICY_MEAN_RANGE},
                                                {"mean-3std", TESS_POLICY_MEAN_3STD},
                                                {"lossless", TESS_POLICY_LOSSLESS},
                                                {"error-bound", TESS_POLICY_ERROR_BOUND},
                                                {NULL, 0}};
static const tess_named_value scaling_names[] = {{"none", TESS_SCALING_NONE},
                                                 {"max-product", TESS_SCALING_MAX_PRODUCT},
                                                 {"symmetric", TESS_SCALING_SYMMETRIC},
                                                 {"rows", TESS_SCALING_ROWS},
                                                 {NULL, 0}};
static const tess_named_value reordering_names[] = {
    {"none", TESS_REORDERING_NONE}, {"rcm", TESS_REORDERING_RCM}, {"clusters", TESS_REORDERING_CLUSTERS}, {NULL, 0}};
static const tess_named_value precond_kind_names[] = {{"none", TESS_PRECOND_NONE},
                                                      {"jacobi", TESS_PRECOND_JACOBI},
                                                      {"block-jacobi", TESS_PRECOND_BLOCK_JACOBI},
                                                      {"polynomial", TESS_PRECOND_POLYNOMIAL},
                                                      {"ilu0", TESS_PRECOND_ILU0},
                                                      {"ic0", TESS_PRECOND_IC0},
                                                      {"ilut", TESS_PRECOND_ILUT},
                                                      {"ict", TESS_PRECOND_ICT},
                                                      {"iluk", TESS_PRECOND_ILUK},
                                                      {"lu", TESS_PRECOND_LU},
                                                      {"cholesky", TESS_PRECOND_CHOLESKY},
                                                      {"jacobi-sweeps", TESS_PRECOND_JACOBI_SWEEPS},
                                                      {"amg", TESS_PRECOND_AMG},
                                                      {"fsai", TESS_PRECOND_FSAI},
                                                      {"isai", TESS_PRECOND_ISAI},
                                                      {"saddle", TESS_PRECOND_SADDLE},
                                                      {"auto", TESS_PRECOND_AUTO},
                                                      {"shell", TESS_PRECOND_SHELL},
                                                      {NULL, 0}};
static const tess_named_value polynomial_form_names[] = {
    {"roots", TESS_POLYNOMIAL_ROOTS}, {"powers", TESS_POLYNOMIAL_POWERS}, {NULL, 0}};
static const tess_named_value amg_coarsening_names[] = {{"auto", TESS_AMG_AUTO},
                                                        {"classical", TESS_AMG_CLASSICAL},
                                                        {"aggregation", TESS_AMG_AGGREGATION},
                                                        {"plain", TESS_AMG_PLAIN},
                                                        {NULL, 0}};
static const tess_named_value amg_precision_names[] = {{"auto", TESS_AMG_PRECISION_AUTO},
                                                       {"fp64", TESS_AMG_PRECISION_FP64},
                                                       {"fp32", TESS_AMG_PRECISION_FP32},
                                                       {"fp16", TESS_AMG_PRECISION_FP16},
                                                       {"bf16", TESS_AMG_PRECISION_BF16},
                                                       {"fp8", TESS_AMG_PRECISION_FP8},
                                                       {NULL, 0}};
static const tess_named_value amg_cycle_names[] = {{"v", TESS_AMG_V}, {"w", TESS_AMG_W}, {"k", TESS_AMG_K}, {NULL, 0}};
static const tess_named_value amg_smoother_names[] = {{"chebyshev", TESS_AMG_CHEBYSHEV},
                                                      {"l1-jacobi", TESS_AMG_L1_JACOBI},
                                                      {"jacobi", TESS_AMG_JACOBI},
                                                      {"ilu0", TESS_AMG_ILU0},
                                                      {"block-jacobi", TESS_AMG_BLOCK_JACOBI},
                                                      {"auto", TESS_AMG_SMOOTHER_AUTO},
                                                      {"fc-jacobi", TESS_AMG_FC_JACOBI},
                                                      {"fsai", TESS_AMG_FSAI},
                                                      {NULL, 0}};
static const tess_named_value amg_split_names[] = {{"auto", TESS_AMG_SPLIT_AUTO},
                                                   {"pmis", TESS_AMG_SPLIT_PMIS},
                                                   {"ruge-stueben", TESS_AMG_SPLIT_RUGE_STUEBEN},
                                                   {NULL, 0}};
static const tess_named_value amg_restriction_names[] = {{"auto", TESS_AMG_RESTRICTION_AUTO},
                                                         {"transpose", TESS_AMG_RESTRICTION_TRANSPOSE},
                                                         {"air", TESS_AMG_RESTRICTION_AIR},
                                                         {NULL, 0}};
static const tess_named_value amg_format_names[] = {
    {"auto", TESS_AMG_FORMAT_AUTO}, {"scalar", TESS_AMG_FORMAT_SCALAR}, {NULL, 0}};
static const tess_named_value saddle_factorization_names[] = {
    {"auto", TESS_SADDLE_AUTO},   {"diag", TESS_SADDLE_DIAG}, {"lower", TESS_SADDLE_LOWER},
    {"upper", TESS_SADDLE_UPPER}, {"full", TESS_SADDLE_FULL}, {NULL, 0}};
static const tess_named_value saddle_schur_names[] = {{"auto", TESS_SCHUR_AUTO},   {"local", TESS_SCHUR_LOCAL},
                                                      {"selfp", TESS_SCHUR_SELFP}, {"lsc", TESS_SCHUR_LSC},
                                                      {"user", TESS_SCHUR_USER},   {NULL, 0}};
static const tess_named_value triangular_names[] = {{"auto", TESS_TRIANGULAR_AUTO},
                                                    {"levels", TESS_TRIANGULAR_LEVELS},
                                                    {"blocks", TESS_TRIANGULAR_BLOCKS},
                                                    {"merged", TESS_TRIANGULAR_MERGED},
                                                    {"sweeps", TESS_TRIANGULAR_SWEEPS},
                                                    {"colors", TESS_TRIANGULAR_COLORS},
                                                    {NULL, 0}};
static const tess_named_value factorization_names[] = {{"auto", TESS_FACTORIZATION_AUTO},
                                                       {"host", TESS_FACTORIZATION_HOST},
                                                       {"device", TESS_FACTORIZATION_DEVICE},
                                                       {"sweeps", TESS_FACTORIZATION_SWEEPS},
                                                       {NULL, 0}};
static const tess_named_value solver_kind_names[] = {
    {"auto", TESS_SOLVER_AUTO},         {"cg", TESS_SOLVER_CG},         {"bicgstab", TESS_SOLVER_BICGSTAB},
    {"jacobi", TESS_SOLVER_JACOBI},     {"gmres", TESS_SOLVER_GMRES},   {"gmres-ir", TESS_SOLVER_GMRES_IR},
    {"gmres-fd", TESS_SOLVER_GMRES_FD}, {"minres", TESS_SOLVER_MINRES}, {"fgmres", TESS_SOLVER_FGMRES},
    {"idr", TESS_SOLVER_IDR},           {"lsqr", TESS_SOLVER_LSQR},     {"lsmr", TESS_SOLVER_LSMR},
    {"block-cg", TESS_SOLVER_BLOCK_CG}, {"nested", TESS_SOLVER_NESTED}, {NULL, 0}};
static const tess_named_value engine_names[] = {{"auto", TESS_ENGINE_AUTO},
                                                {"plain", TESS_ENGINE_PLAIN},
                                                {"graph", TESS_ENGINE_GRAPH},
                                                {"single-kernel", TESS_ENGINE_SINGLE_KERNEL},
                                                {NULL, 0}};
static const tess_named_value condition_source_names[] = {{"unknown", TESS_CONDITION_UNKNOWN},
                                                          {"factors", TESS_CONDITION_FACTORS},
                                                          {"lanczos", TESS_CONDITION_LANCZOS},
                                                          {NULL, 0}};
static const tess_named_value recurrence_names[] = {{"auto", TESS_RECURRENCE_AUTO},
                                                    {"standard", TESS_RECURRENCE_STANDARD},
                                                    {"one-reduction", TESS_RECURRENCE_ONE_REDUCTION},
                                                    {"predict-and-recompute", TESS_RECURRENCE_PREDICT_AND_RECOMPUTE},
                                                    {NULL, 0}};
static const tess_named_value orthogonalization_names[] = {
    {"cgs2", TESS_ORTHOGONALIZATION_CGS2}, {"cgs2-delayed", TESS_ORTHOGONALIZATION_CGS2_DELAYED}, {NULL, 0}};
static const tess_named_value stop_norm_names[] = {{"auto", TESS_STOP_NORM_AUTO},
                                                   {"given", TESS_STOP_NORM_GIVEN},
                                                   {"rows", TESS_STOP_NORM_ROWS},
                                                   {"both", TESS_STOP_NORM_BOTH},
                                                   {"preconditioned", TESS_STOP_NORM_PRECONDITIONED},
                                                   {NULL, 0}};
static const tess_named_value renewal_names[] = {{"auto", TESS_RENEWAL_AUTO},
                                                 {"counted", TESS_RENEWAL_COUNTED},
                                                 {"always", TESS_RENEWAL_ALWAYS},
                                                 {"never", TESS_RENEWAL_NEVER},
                                                 {NULL, 0}};
static const tess_named_value guess_names[] = {
    {"zero", TESS_GUESS_ZERO}, {"given", TESS_GUESS_GIVEN}, {"projected", TESS_GUESS_PROJECTED}, {NULL, 0}};
static const tess_named_value guard_names[] = {{"repair", TESS_GUARD_REPAIR}, {"report", TESS_GUARD_REPORT}, {NULL, 0}};
static const tess_named_value reason_names[] = {{"running", TESS_REASON_RUNNING},
                                                {"least_squares", TESS_REASON_LEAST_SQUARES},
                                                {"rtol", TESS_REASON_RTOL},
                                                {"atol", TESS_REASON_ATOL},
                                                {"happy_breakdown", TESS_REASON_HAPPY_BREAKDOWN},
                                                {"iterations", TESS_REASON_ITERATIONS},
                                                {"divergence", TESS_REASON_DIVERGENCE},
                                                {"breakdown", TESS_REASON_BREAKDOWN},
                                                {"nonsymmetric", TESS_REASON_NONSYMMETRIC},
                                                {"indefinite_precond", TESS_REASON_INDEFINITE_PRECOND},
                                                {"nan_or_inf", TESS_REASON_NAN_OR_INF},
                                                {"indefinite_matrix", TESS_REASON_INDEFINITE_MATRIX},
                                                {"precond_setup", TESS_REASON_PRECOND_SETUP},
                                                {"false_convergence", TESS_REASON_FALSE_CONVERGENCE},
                                                {"stagnation", TESS_REASON_STAGNATION},
                                                {"cancelled", TESS_REASON_CANCELLED},
                                                {"overflow", TESS_REASON_OVERFLOW},
                                                {"time_limit", TESS_REASON_TIME_LIMIT},
                                                {"interrupted", TESS_REASON_INTERRUPTED},
                                                {NULL, 0}};
static const tess_named_value phase_names[] = {{"other", TESS_PHASE_OTHER},
                                               {"spmv", TESS_PHASE_SPMV},
                                               {"gemv_t", TESS_PHASE_GEMV_T},
                                               {"gemv_n", TESS_PHASE_GEMV_N},
                                               {"norm", TESS_PHASE_NORM},
                                               {"precond", TESS_PHASE_PRECOND},
                                               {"refinement", TESS_PHASE_REFINEMENT},
                                               {NULL, 0}};
static const tess_named_value layout_names[] = {
    {"grouped", TESS_LAYOUT_GROUPED}, {"resident", TESS_LAYOUT_RESIDENT}, {NULL, 0}};
static const tess_named_value kernel_names[] = {
    {"default", TESS_KERNEL_DEFAULT}, {"paper", TESS_KERNEL_PAPER}, {NULL, 0}};
static const tess_named_value narrowing_names[] = {
    {"off", TESS_NARROWING_OFF}, {"paper", TESS_NARROWING_PAPER}, {"safe", TESS_NARROWING_SAFE}, {NULL, 0}};
#define NAMED(NAME, value, name, ...) {#name, TESS_PRECISION_##NAME},
static const tess_named_value precision_names[] = {TESS_PRECISION_LIST(NAMED){NULL, 0}};
#undef NAMED

static const tess_named_value status_texts[] = {
    {"success", TESS_SUCCESS},
    {"out of host memory", TESS_OUT_OF_MEMORY},
    {"out of device memory", TESS_OUT_OF_DEVICE_MEMORY},
    {"invalid argument", TESS_INVALID_ARGUMENT},
    {"dimensions do not match", TESS_DIMENSION_MISMATCH},
    {"size or index out of range", TESS_OUT_OF_RANGE},
    {"not supported", TESS_UNSUPPORTED},
    {"not found", TESS_NOT_FOUND},
    {"input or output failed", TESS_IO},
    {"malformed input", TESS_PARSE},
    {"the file is damaged or has another version", TESS_CORRUPT},
    {"no usable device", TESS_NO_DEVICE},
    {"the device runtime reported an error", TESS_DEVICE},
    {"a user callback reported failure", TESS_CALLBACK},
    {"a matrix, a diagonal block or a diagonal entry is singular", TESS_SINGULAR},
    {"internal error", TESS_INTERNAL},
    {"the limit of time is too short for the set-up", TESS_TIMED_OUT},
    {NULL, 0}};
static const tess_named_value reason_texts[] = {
    {"the solve is still running", TESS_REASON_RUNNING},
    {"converged: least-squares solution, the normal equations are met", TESS_REASON_LEAST_SQUARES},
    {"converged: relative tolerance met", TESS_REASON_RTOL},
    {"converged: absolute tolerance met", TESS_REASON_ATOL},
    {"converged: exact solution found at a breakdown", TESS_REASON_HAPPY_BREAKDOWN},
    {"iteration limit reached", TESS_REASON_ITERATIONS},
    {"the residual grew beyond the divergence limit", TESS_REASON_DIVERGENCE},
    {"the recurrence broke down", TESS_REASON_BREAKDOWN},
    {"the method needs a symmetric matrix", TESS_REASON_NONSYMMETRIC},
    {"the preconditioner is not positive definite", TESS_REASON_INDEFINITE_PRECOND},
    {"NaN or Inf appeared", TESS_REASON_NAN_OR_INF},
    {"the matrix is not positive definite", TESS_REASON_INDEFINITE_MATRIX},
    {"the preconditioner could not be set up", TESS_REASON_PRECOND_SETUP},
    {"the estimate met the tolerance, the true residual did not", TESS_REASON_FALSE_CONVERGENCE},
    {"no further progress in the working precision", TESS_REASON_STAGNATION},
    {"cancelled by the monitor", TESS_REASON_CANCELLED},
    {"a value overflowed in a low precision", TESS_REASON_OVERFLOW},
    {"the time limit was reached", TESS_REASON_TIME_LIMIT},
    {"interrupted by a signal", TESS_REASON_INTERRUPTED},
    {NULL, 0}};

static const struct {
    const char *type;
    const tess_named_value *names;
} tables[] = {
#define ENUM(noun) {"tess_" #noun, noun##_names},
#include "registry/enums.def"
#undef ENUM
};

const tess_named_value *tess_enum_names(const char *type)
{
    enum { PREFIX = 5 }; /* tess_, with which all begin; a set-up of a solver asks some 60 times */

    if (!type || strncmp(type, tables[0].type, PREFIX) != 0) { return NULL; }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (tables[i].type[PREFIX] == type[PREFIX] && strcmp(tables[i].type, type) == 0) { return tables[i].names; }
    }
    return NULL;
}

static const char *name_in(const tess_named_value *list, int value)
{
    for (; list->name; list++) {
        if (list->value == value) { return list->name; }
    }
    return "?";
}

_Static_assert(sizeof(tess_status) == sizeof(int) && sizeof(tess_reason) == sizeof(int), "enums are as wide as int");

/* `out` points to an enum. */
static tess_status value_in(const tess_named_value *list, const char *name, void *out)
{
    for (; name && out && list->name; list++) {
        if (strcasecmp(list->name, name) == 0) {
            memcpy(out, &list->value, sizeof list->value);
            return TESS_SUCCESS;
        }
    }
    return TESS_INVALID_ARGUMENT;
}

/* The name on the command line, which scripts rely on, for the one in the table. */
static const char *without_alias(const tess_named_value *list, const char *name)
{
    return list == layout_names && name && strcasecmp(name, "tcki") == 0 ? "grouped" : name;
}

#define ENUM(noun)                                                             \
    const char *tess_##noun##_name(tess_##noun value)                          \
    {                                                                          \
        return name_in(noun##_names, (int)value);                              \
    }                                                                          \
                                                                               \
    tess_status tess_##noun##_parse(const char *name, tess_##noun *out)        \
    {                                                                          \
        return value_in(noun##_names, without_alias(noun##_names, name), out); \
    }
#include "registry/enums.def"
#undef ENUM

const char *tess_status_text(tess_status status)
{
    const char *text = name_in(status_texts, (int)status);

    return strcmp(text, "?") == 0 ? "unknown status" : text;
}

const char *tess_reason_text(tess_reason reason)
{
    return name_in(reason_texts, (int)reason);
}
