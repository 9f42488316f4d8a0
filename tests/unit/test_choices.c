/* SPDX-License-Identifier: Apache-2.0 */
/* The file of choices: what is written after a solve of several attempts, and which lines a later solve follows. */
#include <unistd.h>

#include <tessera/automatic.h>

#include "support/solve.h"

enum { N = 300, MOST_TEXT = 4096 };

static tess_context *ctx;
static char path[] = "/tmp/tessera-choices-XXXXXX";

/* The second difference applied twice, times `factor`: CG with a diagonal is left for factors. With `extra`, of another
   pattern by one coupling of 0. */
static oracle_csr slow_system(double factor, bool extra)
{
    static const double values[] = {1.0, -4.0, 6.0, -4.0, 1.0};
    oracle_csr a = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        if (i == N - 1 && extra) { oracle_push(&a, 0, 0.0); }
        for (int64_t j = i - 2; j <= i + 2; j++) {
            if (j >= 0 && j < N) { oracle_push(&a, j, factor * values[j - i + 2]); }
        }
        if (i == 0 && extra) { oracle_push(&a, N - 1, 0.0); }
        oracle_end_row(&a, i);
    }
    return a;
}

typedef struct outcome {
    int count;
    tess_attempt first, last;
    bool told; /* that the file decided */
} outcome;

static tess_solve_options slow_options(void)
{
    tess_solve_options o = solve_options(TESS_SOLVER_AUTO);

    o.rtol = 1e-6;
    o.max_iterations = 100000;
    o.automatic.choices = path;
    return o;
}

static outcome solve_system(const oracle_csr *a, const tess_solve_options *o)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    const tess_attempt *attempts = NULL;
    double b[N], x[N] = {0.0};
    tess_solve_result r;
    outcome out = {0};

    for (int i = 0; i < N; i++) {
        b[i] = 1.0;
    }
    assert_ok(ctx, tess_solver_create(m, o, &solver));
    r = solve_with(solver, ctx, N, b, x);
    assert_true(r.verified);
    out.count = tess_solver_attempts(solver, &attempts);
    out.first = attempts[0];
    out.last = attempts[out.count - 1];
    out.told = strstr(tess_solver_why(solver), "from the file of choices") != NULL;
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    return out;
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

static void read_text(char text[MOST_TEXT])
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    text[fread(text, 1, MOST_TEXT - 1, file)] = '\0';
    fclose(file);
}

/* The key of the line that a solve writes into an empty file, and the solve. */
static outcome learn(const oracle_csr *a, const tess_solve_options *o, char key[17])
{
    char text[MOST_TEXT], expected[256];
    outcome out;

    write_text("");
    out = solve_system(a, o);
    read_text(text);
    assert_true(out.count >= 2 && !out.told);
    assert_int_equal(sscanf(text, "tessera-choice 2 %16[0-9a-f] ", key), 1);
    assert_int_equal(strlen(key), 16);
    snprintf(expected, sizeof expected, "tessera-choice 2 %s %s %s %s %s\n", key,
             tess_solver_kind_name(out.last.solver), tess_precond_kind_name(out.last.precond),
             tess_precision_name(out.last.factors), tess_scaling_name(out.last.scale));
    assert_string_equal(text, expected);
    return out;
}

static void line_of(const char *key, const tess_attempt *step, const char *factors, char line[256])
{
    snprintf(line, 256, "tessera-choice 2 %s %s %s %s %s\n", key, tess_solver_kind_name(step->solver),
             tess_precond_kind_name(step->precond), factors ? factors : tess_precision_name(step->factors),
             tess_scaling_name(step->scale));
}

static void the_step_that_solved_is_written(void **state)
{
    oracle_csr a = slow_system(1.0, false), easy = oracle_tridiagonal(N, -1.0, 4.0, -1.0);
    const tess_solve_options o = slow_options();
    char key[17], text[MOST_TEXT];

    (void)state;
    learn(&a, &o, key);
    write_text("");
    assert_int_equal(solve_system(&easy, &o).count, 1); /* nothing to remember */
    read_text(text);
    assert_string_equal(text, "");
    oracle_free(&a);
    oracle_free(&easy);
}

/* The pattern counts, not the values; and the options that change which steps there are. */
static void other_patterns_and_options_have_other_keys(void **state)
{
    oracle_csr a = slow_system(1.0, false), scaled = slow_system(3.0, false), other = slow_system(1.0, true);
    tess_solve_options o = slow_options();
    char key[17], text[MOST_TEXT], more[MOST_TEXT];
    outcome first, again;

    (void)state;
    first = learn(&a, &o, key);
    read_text(text);
    again = solve_system(&scaled, &o);
    assert_true(again.count == 1 && again.told && again.last.precond == first.last.precond);
    read_text(more);
    assert_string_equal(text, more); /* one attempt adds no line */
    for (int k = 0; k < 3; k++) {
        tess_solve_options p = o;

        if (k == 1) { p.automatic.fp64_only = 1; }
        if (k == 2) { p.storage.format = TESS_FORMAT_ELLR; }
        write_text(text);
        if (solve_system(k == 0 ? &other : &a, &p).told) { fail_msg("change %d", k); }
    }
    oracle_free(&a);
    oracle_free(&scaled);
    oracle_free(&other);
}

/* The last line of a key decides, and its step is not left. Lines of another key or version, with a step that the
   ladder lacks, or cut, do not count. */
static void the_last_line_decides(void **state)
{
    oracle_csr a = slow_system(1.0, false);
    const tess_solve_options o = slow_options();
    char key[17], other_key[17], winner[256], loser[256], other[256], absent[256], text[MOST_TEXT];
    outcome first, out;

    (void)state;
    first = learn(&a, &o, key);
    strcpy(other_key, key);
    other_key[15] = key[15] == '0' ? '1' : '0';
    line_of(key, &first.last, NULL, winner);
    line_of(key, &first.first, NULL, loser);
    line_of(other_key, &first.first, NULL, other);
    line_of(key, &first.last, "bf16", absent);
    snprintf(text, sizeof text, "%s%s", winner, loser);
    write_text(text);
    out = solve_system(&a, &o);
    assert_true(out.told && out.count == 1 && out.first.precond == first.first.precond);
    snprintf(text, sizeof text, "%s%s", loser, winner);
    write_text(text);
    out = solve_system(&a, &o);
    assert_true(out.told && out.count == 1 && out.first.precond == first.last.precond);
    snprintf(text, sizeof text, "%s%s%.40s\ntessera-choice 9%s", winner, other, loser, loser + 16);
    write_text(text);
    out = solve_system(&a, &o);
    assert_true(out.told && out.count == 1 && out.first.precond == first.last.precond);
    write_text(other);
    assert_false(solve_system(&a, &o).told);
    write_text(absent);
    out = solve_system(&a, &o);
    assert_true(!out.told && out.count >= 2);
    read_text(text);
    snprintf(other, sizeof other, "%s", text + strlen(absent));
    assert_string_equal(other, winner); /* behind what was there */
    oracle_free(&a);
}

static int open_all(void **state)
{
    const int descriptor = mkstemp(path);

    (void)state;
    ctx = open_cpu(1);
    assert_true(descriptor >= 0);
    close(descriptor);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    unlink(path);
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_step_that_solved_is_written),
        cmocka_unit_test(other_patterns_and_options_have_other_keys),
        cmocka_unit_test(the_last_line_decides),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
