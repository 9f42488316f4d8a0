/* SPDX-License-Identifier: Apache-2.0 */
/* The list of options (tessera/options.h): defaults, texts there and back, limits, names, what belongs together. */
#include "support/test.h"

#include <ctype.h>

#include <tessera/gallery.h>
#include <tessera/names.h>
#include <tessera/options.h>
#include <tessera/papers.h>

typedef struct bundle {
    tess_solve_options solve;
    tess_papers_solve papers;
    tess_papers_storage tiles;
    char text[TESS_OPTION_TEXT];
} bundle;

static void start(bundle *b)
{
    tess_solve_options_init(&b->solve);
    tess_papers_solve_init(&b->papers);
    tess_papers_storage_init(&b->tiles);
    b->solve.papers = &b->papers;
    b->solve.storage.papers = &b->tiles;
}

static tess_status set(bundle *b, const char *name, const char *value)
{
    return tess_options_set(&b->solve, name, value, b->text, sizeof b->text);
}

static const char *get(bundle *b, const char *name)
{
    assert_int_equal(tess_options_get(&b->solve, name, b->text, sizeof b->text), TESS_SUCCESS);
    return b->text;
}

/* A text of each type that is not its default. */
static const char *other_value(const tess_option *option, char *buffer, size_t size)
{
    static const char *const values[][2] = {{"bytes", "500M"},
                                            {"seed", "7"},
                                            {"flag", "1"},
                                            {"text", "some.file"},
                                            {"role", "fp32/fp64"},
                                            {"precision", "fp32"},
                                            {"schedule", "fp32:20,mixed,fp64"},
                                            {"accuracy", "backward:1e-12"},
                                            {"precond", "ilut:0.01:5"},
                                            {"precisions", "fp32,fp16"},
                                            {"policy", "mean-3std:0.25"},
                                            {"levels", "fp64,fp16:scaled"},
                                            {"share", "at-most-one"},
                                            {"base", "ellr,sell"},
                                            {"thresholds", "0.05,0.3,0.8"},
                                            {"solver", "idr:3"},
                                            {"triangular", "sweeps:2"},
                                            {"factorization", "sweeps:2"}};

    if (option->words != NULL) {
        snprintf(buffer, size, "%s", strchr(option->words, '|') + 1);
        buffer[strcspn(buffer, "|")] = '\0';
        return buffer;
    }
    if (strncmp(option->type, "tess_", 5) == 0) {
        const tess_named_value *name = tess_enum_names(option->type);
        while (strcmp(name->name, option->standard) == 0 || strcmp(name->name, "shell") == 0) {
            name++;
        }
        return name->name;
    }
    if (strcmp(option->type, "integer") == 0 || strcmp(option->type, "real") == 0) {
        snprintf(buffer, size, "%g", option->low + 1.0 <= option->high ? option->low + 1.0 : 0.5 * option->high);
        if (strcmp(buffer, option->standard) == 0) { snprintf(buffer, size, "%g", option->low + 2.0); }
        return buffer;
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (strcmp(values[i][0], option->type) == 0) { return values[i][1]; }
    }
    fail_msg("the type %s of %s is not known here", option->type, option->name);
    return "";
}

/* ---- tests ---- */

static void defaults_are_those_of_the_structs(void **state)
{
    (void)state;
    bundle b;
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        start(&b);
        assert_string_equal(get(&b, option->name), option->standard);
        assert_true(!tess_options_is_set(&b.solve, option->name));
        b.solve.papers = NULL;
        b.solve.storage.papers = NULL;
        assert_string_equal(get(&b, option->name), option->standard);
    }
    assert_int_equal(tess_options_check(&b.solve, b.text, sizeof b.text), TESS_SUCCESS);
}

static void each_value_comes_back_as_it_was_given(void **state)
{
    (void)state;
    bundle b;
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        char buffer[64], given[64];
        snprintf(given, sizeof given, "%s", other_value(option, buffer, sizeof buffer));
        start(&b);
        assert_int_equal(set(&b, option->name, given), TESS_SUCCESS);
        assert_true(tess_options_is_set(&b.solve, option->name));
        if (strcmp(option->type, "flag") != 0 && strcmp(option->type, "bytes") != 0) {
            assert_string_equal(get(&b, option->name), given);
        }
        /* by its path, and with underscores */
        start(&b);
        assert_int_equal(set(&b, option->path, given), TESS_SUCCESS);
        assert_true(tess_options_is_set(&b.solve, option->name));
    }
}

static void names_and_paths_are_unique_and_found(void **state)
{
    (void)state;
    const tess_option *option = NULL;
    char petsc[64], other[64];
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        assert_true(tess_option_find(option->name) == option);
        assert_true(tess_option_find(option->path) == option);
        tess_option_petsc(option, petsc, sizeof petsc);
        for (int j = 0; j < i; j++) {
            assert_true(strcmp(tess_option_petsc(tess_option_at(j), other, sizeof other), petsc) != 0);
        }
        assert_true(option->help[0] != '\0' && option->standard != NULL && option->needs != NULL);
    }
    assert_string_equal(tess_option_petsc(tess_option_find("precond"), petsc, sizeof petsc), "-pc_tessera_type");
    assert_string_equal(tess_option_petsc(tess_option_find("precond-steps"), petsc, sizeof petsc), "-pc_tessera_steps");
    assert_string_equal(tess_option_petsc(tess_option_find("amg_cycle"), petsc, sizeof petsc), "-pc_tessera_amg_cycle");
    assert_string_equal(tess_option_petsc(tess_option_find("matrix-precision"), petsc, sizeof petsc),
                        "-mat_tessera_precision");
    assert_string_equal(tess_option_petsc(tess_option_find("restart"), petsc, sizeof petsc), "-ksp_tessera_restart");
    assert_true(tess_option_find("amg-cycles") == NULL);
}

/* The number after "(default " in the help, or the word, is the default. */
static void help_tells_the_default(void **state)
{
    (void)state;
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        const char *text = strstr(option->help, "(default ");
        char word[64], number[32];
        if (text == NULL || option->standard[0] == '\0') { continue; }
        snprintf(word, sizeof word, "%s", text + strlen("(default "));
        word[strcspn(word, " ;:),")] = '\0';
        if (strcmp(option->standard, "auto") == 0 && strcmp(word, "auto") != 0) { continue; } /* what auto means */
        snprintf(number, sizeof number, "%.17g", strtod(word, NULL));
        if (isdigit((unsigned char)word[0]) && strchr(word, 'x') == NULL) {
            assert_true(strtod(word, NULL) == strtod(option->standard, NULL));
        } else {
            assert_string_equal(word, option->standard);
        }
    }
}

static void numbers_outside_their_limits_are_refused(void **state)
{
    (void)state;
    bundle b;
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        char text[64];
        const int whole = strcmp(option->type, "integer") == 0;
        if (!whole && strcmp(option->type, "real") != 0) { continue; }
        start(&b);
        snprintf(text, sizeof text, "%.17g", whole ? option->low - 1.0 : option->low - 0.5);
        assert_int_equal(set(&b, option->name, text), TESS_INVALID_ARGUMENT);
        assert_true(strstr(b.text, "is out of range") != NULL && strstr(b.text, option->name) != NULL);
        assert_int_equal(set(&b, option->name, "many"), TESS_INVALID_ARGUMENT);
        assert_true(strstr(b.text, whole ? "is not an integer" : "is not a number") != NULL);
        assert_true(!tess_options_is_set(&b.solve, option->name));
    }
}

static void unknown_words_name_the_nearest(void **state)
{
    (void)state;
    bundle b;
    start(&b);
    assert_int_equal(set(&b, "amg-cycel", "v"), TESS_NOT_FOUND);
    assert_string_equal(b.text, "there is no option 'amg-cycel'; did you mean 'amg-cycle'?");
    assert_int_equal(set(&b, "zzzzzzzzzzz", "v"), TESS_NOT_FOUND);
    assert_string_equal(b.text, "there is no option 'zzzzzzzzzzz'");
    assert_int_equal(set(&b, "solver", "gmress"), TESS_INVALID_ARGUMENT);
    assert_true(strstr(b.text, "--solver: unknown value 'gmress'; did you mean 'gmres'?") != NULL);
    assert_int_equal(set(&b, "amg-cycle", "zzzzzzz"), TESS_INVALID_ARGUMENT);
    assert_string_equal(b.text, "--amg-cycle: unknown value 'zzzzzzz'; available: v, w, k");
    assert_int_equal(tess_options_set(&b.solve, "amg-cycle", "z", NULL, 0), TESS_INVALID_ARGUMENT);
}

static void values_that_are_none_say_what_would_be(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"solver", "idr:0", "out of range (1 to 64)"},
        {"triangular", "sweeps:0", "out of range (1 to 100)"},
        {"triangular", "sweeps:x", "'x' is not an integer"},
        {"triangular", "swep", "did you mean 'sweeps'"},
        {"factorization", "sweeps:101", "out of range (1 to 100)"},
        {"precond", "block-jacobi:0", "is not a block size (1 to 64)"},
        {"precond", "iluk:x", "is not a level of fill"},
        {"precond", "cholesk", "did you mean 'cholesky'"},
        {"precond-precision", "fp64/fp32", "is not STORAGE or STORAGE/ARITHMETIC"},
        {"inner-precision", "fp65", "is not STORAGE or STORAGE/ARITHMETIC"},
        {"basis-precision", "fp23", "unknown value 'fp23'"},
        {"accuracy", "0", "is not a relative error above 0 and below 1"},
        {"accuracy", "forward:2", "is not a relative error above 0 and below 1"},
        {"steps", "fp32,,", "is not a list of up to 6"},
        {"factor-memory", "12Q", "is not a number of bytes"},
        {"factor-memory", "0", "is not a number of bytes"},
        {"amg-precision", "fp32,fp99", "unknown value 'fp99'"},
        {"amg-precision", "fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32,fp32",
         "is not a list of up to 16"},
        {"amg-precision", "averyveryverylongname", "is not a list of up to 16"},
        {"policy", "none:1", "the policy none takes no parameter"},
        {"policy", "mean-3std:x", "is not a number above 0 or auto"},
        {"policy", "fixed-range:-1", "is not a number above 0"},
        {"policy", "mean-rang", "did you mean 'mean-range'"},
        {"levels", "fp32,fp64", "does not go from high to low"},
        {"levels", "fp64,,", "is not a list of up to 4"},
        {"precond-levels", "fp32,fp64", "does not go from high to low"},
        {"precond-policy", "best", "unknown value 'best'"},
        {"precond-format", "shell", "unknown value 'shell'"},
        {"format", "shell", "unknown value 'shell'"},
        {"format", "pbb", "did you mean 'pbp'"},
        {"share", "0", "give a percentage above 0"},
        {"share", "101", "out of range"},
        {"block", "8x8", "unknown value '8x8'"},
        {"base", "tiles", "unknown value 'tiles'"},
        {"base", "csr,tiles", "unknown value 'tiles'"},
        {"tcki-thresholds", "0.1,0.2", "is not three numbers above 0"},
        {"tcki-thresholds", "0.1,0.9,0.2", "the second number is above the third"},
        {"layout", "rows", "unknown value 'rows'"},
        {"recurrence", "none", "unknown value 'none'"},
        {"iterate", "worst", "unknown value 'worst'"},
        {"timings", "2", "is not 1 or 0"},
        {"choices", "", "the value is empty"},
        {"amg.seed", "-1", "is not a seed"},
        {"restart", "", "is not an integer"},
        {"rtol", "", "is not a number"},
        {"rtol", "0000000000000000000000000000000000000000000000000000000000000000000.5", "is not a number"}};
    bundle b;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        start(&b);
        assert_int_equal(set(&b, wrong[i][0], wrong[i][1]), TESS_INVALID_ARGUMENT);
        if (strstr(b.text, wrong[i][2]) == NULL) {
            fail_msg("%s %s: '%s' is not in '%s'", wrong[i][0], wrong[i][1], wrong[i][2], b.text);
        }
        assert_true(!tess_options_is_set(&b.solve, wrong[i][0]));
    }
}

static void words_set_the_fields_that_they_name(void **state)
{
    (void)state;
    bundle b;
    start(&b);
    assert_int_equal(set(&b, "format", "pbp"), TESS_SUCCESS);
    assert_true(b.solve.storage.format == TESS_FORMAT_SPLIT && b.solve.automatic.format_given == 1);
    assert_true(b.solve.storage.policy.granularity == TESS_GRANULARITY_BLOCK);
    assert_true(b.solve.storage.policy.policy == TESS_POLICY_MEAN_3STD);
    start(&b);
    assert_int_equal(set(&b, "policy", "lossless"), TESS_SUCCESS);
    assert_int_equal(set(&b, "format", "tcki"), TESS_SUCCESS);
    assert_true(b.solve.storage.policy.policy == TESS_POLICY_LOSSLESS); /* that which was named */
    assert_int_equal(set(&b, "format", "auto"), TESS_SUCCESS);
    assert_true(b.solve.automatic.format_given == 0);
    assert_int_equal(set(&b, "recurrence", "one-reduction"), TESS_SUCCESS);
    assert_true(b.papers.one_reduction == 1 && b.solve.cg.recurrence == TESS_RECURRENCE_AUTO);
    assert_int_equal(set(&b, "recurrence", "standard"), TESS_SUCCESS);
    assert_true(b.papers.one_reduction == 0);
    assert_int_equal(set(&b, "layout", "tcki"), TESS_SUCCESS);
    assert_true(b.tiles.layout == TESS_LAYOUT_GROUPED);
    assert_int_equal(set(&b, "inner-precision", "auto"), TESS_SUCCESS);
    assert_true(b.solve.gmres.inner_auto == 1 && b.solve.gmres.inner.given == 0);
    assert_int_equal(set(&b, "precond-precision", "adaptive"), TESS_SUCCESS);
    assert_true(b.solve.precond.block_jacobi.adaptive == 1);
    assert_string_equal(get(&b, "precond-precision"), "adaptive");
    assert_int_equal(set(&b, "factor-memory", "8G"), TESS_SUCCESS);
    assert_true(b.solve.precond.direct.memory_limit == (int64_t)8 << 30);
    assert_int_equal(set(&b, "amg-strength", "auto"), TESS_SUCCESS);
    assert_true(b.solve.precond.amg.strength < 0.0);
    assert_int_equal(set(&b, "levels", "fp64,fp8"), TESS_SUCCESS);
    assert_string_equal(get(&b, "levels"), "fp64,fp8");
    b.solve.papers = NULL;
    assert_int_equal(set(&b, "recurrence", "one-reduction"), TESS_INVALID_ARGUMENT);
    assert_int_equal(set(&b, "narrowing", "safe"), TESS_INVALID_ARGUMENT);
    assert_true(strstr(b.text, "papers.h") != NULL);
}

static void precond_and_storage_have_their_options_alone(void **state)
{
    (void)state;
    tess_precond_options precond;
    tess_storage_options storage;
    char text[TESS_OPTION_TEXT];
    tess_precond_options_init(&precond);
    tess_storage_options_init(&storage);
    assert_int_equal(tess_precond_options_set(&precond, "precond", "amg", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_precond_options_set(&precond, "amg.cycle", "w", text, sizeof text), TESS_SUCCESS);
    assert_true(precond.kind == TESS_PRECOND_AMG && precond.amg.cycle == TESS_AMG_W);
    assert_int_equal(tess_precond_options_get(&precond, "amg-cycle", text, sizeof text), TESS_SUCCESS);
    assert_string_equal(text, "w");
    assert_int_equal(tess_precond_options_check(&precond, text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_precond_options_set(&precond, "precond", "jacobi", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_precond_options_check(&precond, text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_string_equal(text, "--amg-cycle is for --precond amg or saddle");
    assert_int_equal(tess_precond_options_set(&precond, "restart", "3", text, sizeof text), TESS_NOT_FOUND);
    assert_int_equal(tess_precond_options_get(&precond, "restart", text, sizeof text), TESS_NOT_FOUND);
    assert_int_equal(tess_storage_options_set(&storage, "split.base", "ellr", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_storage_options_set(&storage, "matrix_precision", "fp33", text, sizeof text),
                     TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_storage_options_get(&storage, "base", text, sizeof text), TESS_SUCCESS);
    assert_string_equal(text, "ellr");
    assert_int_equal(tess_storage_options_get(&storage, "omega", text, sizeof text), TESS_NOT_FOUND);
    assert_int_equal(tess_storage_options_set(&storage, "omega", "1", text, sizeof text), TESS_NOT_FOUND);
}

/* ---- what goes together ---- */

/* A method and a preconditioner that few options fit. */
static const char *const methods[][2] = {
    {"cg", "none"},       {"lsqr", "jacobi"},      {"gmres", "polynomial"}, {"auto", "auto"}, {"cg", "amg"},
    {"gmres-fd", "ilu0"}, {"cg", "jacobi-sweeps"}, {"jacobi", "none"},      {"cg", "lu"},     {"nested", "none"},
    {"fgmres", "saddle"}, {"cg", "fsai"},          {"cg", "fsai:adaptive"}};

/* An option that some methods do not take is refused with each of these or fits one of them at least. */
static void options_without_effect_are_refused(void **state)
{
    (void)state;
    bundle b;
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        int refused = 0, taken = 0;
        char buffer[64], wanted[128];
        if (option->needs[0] == '\0' || strchr(option->name, '.') != NULL) { continue; }
        snprintf(wanted, sizeof wanted, "--%s ", option->name);
        for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
            start(&b);
            assert_int_equal(set(&b, "solver", methods[k][0]), TESS_SUCCESS);
            assert_int_equal(set(&b, "precond", methods[k][1]), TESS_SUCCESS);
            assert_int_equal(set(&b, option->name, other_value(option, buffer, sizeof buffer)), TESS_SUCCESS);
            if (tess_options_check(&b.solve, b.text, sizeof b.text) == TESS_SUCCESS) {
                taken++;
            } else if (strncmp(b.text, wanted, strlen(wanted)) == 0 && strstr(b.text, option->needs) != NULL) {
                refused++;
            }
        }
        if (refused == 0 || (taken == 0 && strcmp(option->needs, "--kernel paper") != 0 &&
                             strcmp(option->needs, "--narrowing paper or safe") != 0 &&
                             strcmp(option->name, "leaf") != 0 && strcmp(option->name, "precond-levels") != 0)) {
            fail_msg("--%s: refused with %d methods, taken by %d", option->name, refused, taken);
        }
    }
}

static void rules_of_several_options(void **state)
{
    (void)state;
    static const char *const rules[][7] = {
        {"solver", "jacobi", "precond", "jacobi", "", "", "--solver jacobi takes no preconditioner"},
        {"solver", "jacobi", "policy", "lossless", "", "", "--solver jacobi takes --policy lossless only with"},
        {"solver", "lsqr", "precond", "ilu0", "", "", "--solver lsqr takes no preconditioner but jacobi"},
        {"solver", "lsmr", "scale", "rows", "", "", "leave out --scale and --reorder"},
        {"solver", "lsqr", "engine", "graph", "", "", "--solver lsqr does not run in --engine graph"},
        {"solver", "lsqr", "accuracy", "1e-8", "", "", "leave out --accuracy"},
        {"solver", "lsqr", "stop-norm", "rows", "", "", "leave out --stop-norm"},
        {"solver", "gmres", "format", "composite", "row-order", "permuted", "--row-order is for products"},
        {"accuracy", "1e-8", "rtol", "1e-7", "", "", "leave out --rtol and --atol"},
        {"accuracy", "1e-8", "stop-norm", "preconditioned", "precond", "jacobi", "and not with preconditioned"},
        {"solver", "cg", "stop-norm", "preconditioned", "", "", "--stop-norm preconditioned needs --precond"},
        {"precond", "jacobi", "stop-norm", "preconditioned", "reorder", "rcm", "without --scale and --reorder"},
        {"precond", "jacobi", "precond-precision", "adaptive", "", "", "adaptive is for --precond block-jacobi"},
        {"precond", "lu", "precond-precision", "fp16/fp32", "", "", "is fp32 or fp64, not fp16/fp32"},
        {"precond", "ilu0", "precond-precision", "fp32/fp32", "", "", "is fp64, fp32/fp64, bf16/fp64 or fp16/fp64"},
        {"precond", "ic0", "precond-precision", "e4m3/fp64", "", "", "not e4m3/fp64"},
        {"precond", "jacobi-sweeps", "precond-precision", "fp32", "", "", "such as --precond-steps fp32,mixed"},
        {"precond", "saddle", "precond-precision", "fp32", "", "", "such as --amg-precision fp64"},
        {"precond", "ilu0", "precond-levels", "fp64,fp16", "", "", "--precond-levels needs --precond-policy"},
        {"precond", "ilu0", "triangular", "merged", "precond-format", "sell",
         "needs --triangular blocks, sweeps or auto"},
        {"precond", "ilu0", "leaf", "64", "", "", "--leaf is for --triangular blocks"},
        {"precond", "ic0", "triangular", "sweeps:2", "leaf", "64", "--leaf is for --triangular blocks"},
        {"solver", "cg", "choices", "some.file", "", "", "--choices is for --solver auto"},
        {"precision", "fp64", "matrix-precision", "fp32", "", "",
         "lower precisions; leave it out, or --matrix-precision"},
        {"precision", "fp64", "format", "auto", "policy", "lossless", "leave it out, or --policy lossless"},
        {"precision", "fp64", "format", "split", "arithmetic", "fp32", "leave it out, or --arithmetic fp32"},
        {"precision", "fp64", "precond", "lu", "precond-precision", "fp32", "or --precond-precision fp32"},
        {"precision", "fp64", "precond", "ilu0", "precond-precision", "fp32/fp64", "or --precond-precision fp32/fp64"},
        {"precision", "fp64", "precond", "block-jacobi", "precond-precision", "adaptive", "precond-precision adaptive"},
        {"precision", "fp64", "precond", "ilu0", "precond-policy", "mean-range", "or --precond-policy mean-range"},
        {"precision", "fp64", "precond", "jacobi-sweeps", "precond-format", "split", "or --precond-format split"},
        {"precision", "fp64", "precond", "jacobi-sweeps", "precond-steps", "mixed", "or --precond-steps mixed"},
        {"precision", "fp64", "precond", "amg", "amg-precision", "fp16", "or --amg-precision fp16"},
        {"precision", "fp64", "precond", "amg", "amg-precision", "fp64,fp32", "or --amg-precision fp64,fp32"}};
    bundle b;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        start(&b);
        for (int k = 0; k < 6; k += 2) {
            if (rules[i][k][0] != '\0') { assert_int_equal(set(&b, rules[i][k], rules[i][k + 1]), TESS_SUCCESS); }
        }
        assert_int_equal(tess_options_check(&b.solve, b.text, sizeof b.text), TESS_INVALID_ARGUMENT);
        if (strstr(b.text, rules[i][6]) == NULL) { fail_msg("'%s' is not in '%s'", rules[i][6], b.text); }
    }
    assert_int_equal(tess_options_check(&b.solve, NULL, 0), TESS_INVALID_ARGUMENT);
}

/* Beside --precision fp64, what names FP64 or leaves it open is no contradiction. */
static void fp64_beside_fp64_is_allowed(void **state)
{
    static const char *const allowed[][4] = {
        {"precond", "lu", "precond-precision", "fp64"}, {"precond", "ilu0", "precond-precision", "fp64"},
        {"precond", "amg", "amg-precision", "fp64"},    {"precond", "jacobi-sweeps", "precond-steps", "fp64"},
        {"precond", "cholesky", "format", "split"},     {"precond", "auto", "format", "auto"}};
    bundle b;

    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        start(&b);
        assert_int_equal(set(&b, "precision", "fp64"), TESS_SUCCESS);
        assert_int_equal(set(&b, allowed[i][0], allowed[i][1]), TESS_SUCCESS);
        assert_int_equal(set(&b, allowed[i][2], allowed[i][3]), TESS_SUCCESS);
        assert_int_equal(tess_options_check(&b.solve, b.text, sizeof b.text), TESS_SUCCESS);
    }
}

/* After a change of method and preconditioner nothing is left that has no effect. */
static void what_has_no_effect_is_left_out(void **state)
{
    static const char *const targets[][2] = {{"cg", "none"}, {"gmres", "ilu0"}, {"lsqr", "jacobi"}, {"jacobi", "none"}};
    bundle b;
    const tess_option *option = NULL;

    (void)state;
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
        for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
            char buffer[64];
            if (option->needs[0] == '\0' || strncmp(option->path, "storage.", 8) == 0 ||
                strncmp(option->path, "papers.", 7) == 0) {
                continue;
            }
            start(&b);
            assert_int_equal(set(&b, option->name, other_value(option, buffer, sizeof buffer)), TESS_SUCCESS);
            assert_int_equal(set(&b, "solver", targets[k][0]), TESS_SUCCESS);
            assert_int_equal(set(&b, "precond", targets[k][1]), TESS_SUCCESS);
            b.solve.precond.incomplete.triangular = TESS_TRIANGULAR_BLOCKS; /* which leaf and the squares need */
            if (strcmp(option->name, "precond-levels") == 0) { continue; }
            tess_options_prune(&b.solve);
            if (tess_options_check(&b.solve, b.text, sizeof b.text) != TESS_SUCCESS &&
                strstr(b.text, "--precond-precision") == NULL) { /* of another kind: a contradiction */
                fail_msg("--%s with %s: %s", option->name, targets[k][0], b.text);
            }
        }
    }
    start(&b);
    assert_int_equal(set(&b, "accuracy", "1e-8"), TESS_SUCCESS);
    assert_int_equal(set(&b, "rtol", "1e-9"), TESS_SUCCESS);
    tess_options_prune(&b.solve);
    assert_int_equal(tess_options_check(&b.solve, b.text, sizeof b.text), TESS_SUCCESS);
}

/* An automatic solve may take multigrid: the caller's vectors stay, and options that it refuses go. */
static void automatic_solves_keep_vectors(void **state)
{
    static const char *const solvers[] = {"auto", "cg"};
    bundle b;

    (void)state;
    for (int k = 0; k < 2; k++) {
        start(&b);
        b.solve.precond.amg.precision = TESS_AMG_PRECISION_FP64;
        b.solve.precond.amg.near_nullspace_columns = 3;
        assert_int_equal(set(&b, "solver", solvers[k]), TESS_SUCCESS);
        assert_int_equal(set(&b, "precond", k == 0 ? "auto" : "jacobi"), TESS_SUCCESS);
        tess_options_prune(&b.solve);
        assert_int_not_equal(b.solve.precond.amg.precision, TESS_AMG_PRECISION_FP64);
        assert_int_equal(b.solve.precond.amg.near_nullspace_columns, k == 0 ? 3 : 0);
    }
}

/* Of a struct by older headers nothing beyond its end is read or written. */
static void shorter_structs_keep_their_end(void **state)
{
    enum { KNOWN = offsetof(tess_solve_options, return_last), SHORT = offsetof(tess_precond_options, amg) };
    unsigned char *bytes = test_allocate(KNOWN + 16, 1);
    tess_solve_options *o = (tess_solve_options *)(void *)bytes;
    tess_precond_options *m = NULL;
    char text[TESS_OPTION_TEXT];

    (void)state;
    memset(bytes, 0xa5, KNOWN + 16);
    tess_solve_options_init_sized(o, KNOWN);
    assert_int_equal(tess_options_set(o, "iterate", "last", text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_non_null(strstr(text, "newer than the headers"));
    assert_int_equal(tess_options_get(o, "iterate", text, sizeof text), TESS_SUCCESS);
    assert_string_equal(text, "best");
    assert_int_equal(tess_options_is_set(o, "iterate"), 0);
    assert_int_equal(tess_options_set(o, "restart", "7", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_options_set(o, "solver", "cg", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_options_check(o, text, sizeof text), TESS_INVALID_ARGUMENT);
    tess_options_prune(o);
    assert_int_equal(o->gmres.restart, 50);
    assert_int_equal(o->size, KNOWN);
    for (int i = KNOWN; i < KNOWN + 16; i++) {
        assert_int_equal(bytes[i], 0xa5);
    }
    m = (tess_precond_options *)(void *)bytes;
    memset(bytes, 0xa5, KNOWN + 16);
    tess_precond_options_init_sized(m, SHORT);
    assert_int_equal(tess_precond_options_set(m, "leaf", "64", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_precond_options_set(m, "amg-cycle", "w", text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_get(m, "amg-cycle", text, sizeof text), TESS_SUCCESS);
    assert_int_equal(tess_precond_options_check(m, text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_int_equal(m->incomplete.leaf, 64);
    assert_int_equal(bytes[SHORT], 0xa5);
    o->size = 0;
    assert_int_equal(tess_options_set(o, "restart", "7", text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_non_null(strstr(text, "_init"));
    assert_int_equal(tess_options_get(o, "restart", text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_options_check(o, text, sizeof text), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_check(m, text, sizeof text), TESS_INVALID_ARGUMENT);
    tess_options_prune(o);
    free(bytes);
}

/* The set-up of a solver says the same. */
static void a_solver_refuses_what_the_check_refuses(void **state)
{
    (void)state;
    bundle b;
    tess_context *ctx = open_cpu(1);
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;
    const char *const size[] = {"4"};
    assert_int_equal(tess_gallery_create(ctx, "laplace2d", 1, size, &a), TESS_SUCCESS);
    start(&b);
    assert_int_equal(set(&b, "solver", "cg"), TESS_SUCCESS);
    assert_int_equal(set(&b, "restart", "7"), TESS_SUCCESS);
    assert_int_equal(tess_solver_create(a, &b.solve, &solver), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_context_last_error(ctx)->message,
                        "--restart is for --solver gmres, gmres-ir, gmres-fd, fgmres or nested");
    start(&b);
    assert_int_equal(set(&b, "solver", "cg"), TESS_SUCCESS);
    assert_int_equal(set(&b, "base", "ellr"), TESS_SUCCESS); /* csr has no parts */
    assert_int_equal(tess_solver_create(a, &b.solve, &solver), TESS_INVALID_ARGUMENT);
    assert_true(strstr(tess_context_last_error(ctx)->message, "--base") != NULL);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_are_those_of_the_structs),
                                       cmocka_unit_test(each_value_comes_back_as_it_was_given),
                                       cmocka_unit_test(names_and_paths_are_unique_and_found),
                                       cmocka_unit_test(help_tells_the_default),
                                       cmocka_unit_test(numbers_outside_their_limits_are_refused),
                                       cmocka_unit_test(unknown_words_name_the_nearest),
                                       cmocka_unit_test(values_that_are_none_say_what_would_be),
                                       cmocka_unit_test(words_set_the_fields_that_they_name),
                                       cmocka_unit_test(precond_and_storage_have_their_options_alone),
                                       cmocka_unit_test(options_without_effect_are_refused),
                                       cmocka_unit_test(fp64_beside_fp64_is_allowed),
                                       cmocka_unit_test(rules_of_several_options),
                                       cmocka_unit_test(automatic_solves_keep_vectors),
                                       cmocka_unit_test(what_has_no_effect_is_left_out),
                                       cmocka_unit_test(shorter_structs_keep_their_end),
                                       cmocka_unit_test(a_solver_refuses_what_the_check_refuses)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
