/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of choices: a line for each pattern that took more than one attempt, with the step that solved it. The last
 * line of a pattern counts.
 *     tessera-choice 2 KEY SOLVER PRECOND FACTORS SCALING
 * Only a regular file that is empty or begins so is read and written: a wrong name does no harm.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto/auto.h"

enum { LINE_LENGTH = 256, MOST_BYTES = 1 << 20 };
#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* FNV-1a, by words of 32 bits. */
static uint64_t hash_words(uint64_t hash, const void *data, size_t words)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < words; i++) {
        uint32_t word = 0;

        memcpy(&word, bytes + 4 * i, sizeof word);
        hash = (hash ^ word) * FNV_PRIME;
    }
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
    }
    return hash;
}

/* Of the pattern, the device, and the options that change which steps there are. */
static tess_status key_of(const tess_solver *s, uint64_t *key)
{
    const tess_matrix *a = s->original;
    const int64_t size[] = {a->nrows, a->ncols, a->nnz};
    const int32_t choice[] = {(int32_t)s->options.precond.kind, s->options.automatic.fp64_only,
                              (int32_t)s->options.scale, (int32_t)s->options.storage.format};
    uint64_t hash = FNV_OFFSET, pattern = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(facts_ops_of(s->ctx)->pattern(a, &pattern));
    hash = hash_words(hash, size, sizeof size / 4);
    hash = hash_words(hash, &pattern, sizeof pattern / 4);
    hash = hash_words(hash, choice, sizeof choice / sizeof choice[0]);
    *key = hash_text(hash, s->ctx->device_name);
cleanup:
    return status;
}

/* A line's step; false for a line of another key or version. */
static bool read_line(const char *line, uint64_t key, ladder_step *step)
{
    char hex[32], solver[32], precond[32], factors[32], scale[32];

    if (sscanf(line, "tessera-choice 2 %31s %31s %31s %31s %31s", hex, solver, precond, factors, scale) != 5 ||
        strtoull(hex, NULL, 16) != key) {
        return false;
    }
    return tess_solver_kind_parse(solver, &step->solver) == TESS_SUCCESS &&
           tess_precond_kind_parse(precond, &step->precond) == TESS_SUCCESS &&
           tess_precision_parse(factors, &step->factors) == TESS_SUCCESS &&
           tess_scaling_parse(scale, &step->scale) == TESS_SUCCESS;
}

static const char own_word[] = "tessera-choice ";

/* Why a file is not one of choices; NULL: it is one. */
static const char *objection_to(int descriptor)
{
    char first[sizeof own_word - 1];
    struct stat facts;
    ssize_t got = 0;

    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) { return "it is no regular file"; }
    got = pread(descriptor, first, sizeof first, 0);
    if (facts.st_size == 0 && got == 0) { return NULL; } /* files of /proc say that they are empty */
    if (got != (ssize_t)sizeof first || memcmp(first, own_word, sizeof first) != 0) {
        return "it is another kind of file";
    }
    return NULL;
}

/* Never waits for the other end of a pipe. NULL: *objection says why. */
static FILE *open_choices(const char *path, bool to_write, const char **objection)
{
    const int access = to_write ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY;
    const int descriptor = open(path, access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    FILE *file = NULL;

    *objection = descriptor < 0 ? "it cannot be opened" : objection_to(descriptor);
    if (!*objection) {
        file = fdopen(descriptor, to_write ? "a+" : "r");
        if (!file) { *objection = "there is no memory"; }
    }
    if (!file && descriptor >= 0) { (void)close(descriptor); }
    return file;
}

static bool read_choice(const char *path, uint64_t key, ladder_step *step)
{
    char line[LINE_LENGTH];
    const char *objection = NULL;
    bool found = false;
    FILE *file = open_choices(path, false, &objection);

    if (!file) { return false; }
    while (fgets(line, sizeof line, file)) {
        found = read_line(line, key, step) || found;
    }
    (void)fclose(file);
    return found;
}

void recall_choice(tess_solver *s, auto_solve *state)
{
    const char *path = s->options.automatic.choices;
    ladder *l = &state->ladder;
    ladder_step wanted = {0};
    uint64_t key = 0;

    state->remembered = false;
    if (!path || key_of(s, &key) != TESS_SUCCESS || !read_choice(path, key, &wanted)) { return; }
    for (int i = 0; i < l->count; i++) {
        ladder_step step = l->step[i];

        if (step.solver != wanted.solver || step.precond != wanted.precond || step.factors != wanted.factors ||
            step.scale != wanted.scale) {
            continue;
        }
        memmove(&l->step[1], &l->step[0], (size_t)i * sizeof step);
        if (step.limit == LIMIT_BUDGET) { step.limit = LIMIT_NONE; } /* it has solved such a system before */
        l->step[0] = step;
        state->remembered = true;
        return;
    }
}

void store_choice(const tess_solver *s, const auto_solve *state)
{
    const char *path = s->options.automatic.choices;
    const ladder_step *step = &state->step;
    uint64_t key = 0;
    const char *objection = NULL;
    struct stat facts;
    FILE *file = NULL;

    if (!path || state->nattempts < 2 || key_of(s, &key) != TESS_SUCCESS) { return; }
    file = open_choices(path, true, &objection);
    if (!file) {
        tess_log(s->ctx, TESS_LOG_WARN,
                 "the file of choices %s cannot be written: what solved this system is forgotten: %s", path, objection);
        return;
    }
    if (fstat(fileno(file), &facts) == 0 && facts.st_size > MOST_BYTES) {
        tess_log(
            s->ctx, TESS_LOG_WARN,
            "the file of choices %s is above 1 MiB: what solved this system is forgotten; remove the file, or name "
            "another",
            path);
        (void)fclose(file);
        return;
    }
    (void)fprintf(file, "tessera-choice 2 %016" PRIx64 " %s %s %s %s\n", key, tess_solver_kind_name(step->solver),
                  tess_precond_kind_name(step->precond), tess_precision_name(step->factors),
                  tess_scaling_name(step->scale));
    (void)fclose(file);
}
