/* SPDX-License-Identifier: Apache-2.0 */
/* What is solved for the goals and for each figure and table of Loe et al. (2021), section V. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "papers/gmres.h"

#define LAPLACE "gallery:laplace3d:150"
#define UNIFLOW "gallery:uniflow2d:2500"
#define BENTPIPE "gallery:bentpipe2d:1500"
#define STRETCHED "gallery:stretched2d:1500"
#define FINER "gallery:laplace3d:200"

#define BOTH "fp64,ir"
#define FOUR "cu-fp64,cu-fp64-delayed,cu-ir,cu-ir-delayed,fp64,ir"
#define PLACEMENTS "fp64,fp64-precond-fp32,ir"
#define RESTARTS "25,50,100,150,200,300,400"
#define COMPRESSED \
    "fp64-cgs2,fp64-basis-fp32,fp64-basis-fp16,ir-cgs2,ir-basis-bf16,ir-basis-fp16,ir-inner-bf16,ir-inner-fp16"

const gmres_row gmres_rows[] = {
    {.part = "goals", .matrix = LAPLACE, .contestants = FOUR "," COMPRESSED},
    {.part = "goals", .matrix = UNIFLOW, .contestants = FOUR},
    {.part = "goals", .matrix = BENTPIPE, .contestants = FOUR},
    {.part = "goals,fig6,table3",
     .matrix = STRETCHED,
     .contestants = PLACEMENTS ",ir-precond-fp16,ir-precond-bf16",
     .preconds = "polynomial:40"},
    {.part = "fig7",
     .matrix = STRETCHED,
     .contestants = "cu-fp64,cu-ir," PLACEMENTS ",ir-precond-fp16,ir-precond-bf16",
     .preconds = "polynomial:40"},
    {.part = "goals,degrees",
     .matrix = FINER,
     .contestants = PLACEMENTS,
     .preconds = "polynomial:10,polynomial:20,polynomial:30,polynomial:40,polynomial:50,polynomial:60,polynomial:70"},
    {.part = "goals,large,table3", .set = "large", .contestants = BOTH, .max_iterations = 15000},
    {.part = "goals,unsym,table3", .set = "unsym", .contestants = BOTH ",auto", .max_iterations = 5000},

    {.part = "fig1", .matrix = FINER, .contestants = BOTH, .switch_to = 4000, .switch_step = 200},
    {.part = "fig2", .matrix = UNIFLOW, .contestants = BOTH, .switch_to = 2800, .switch_step = 200},
    {.part = "fig3", .matrix = BENTPIPE, .contestants = "fp32,fp64,ir"},
    {.part = "fig4,fig5,table1,table3", .matrix = BENTPIPE, .contestants = FOUR, .profile = true},
    {.part = "fig5,table3", .matrix = LAPLACE, .contestants = FOUR, .profile = true},
    {.part = "fig5,table3", .matrix = UNIFLOW, .contestants = FOUR, .profile = true},
    {.part = "fig8", .matrix = LAPLACE, .contestants = FOUR, .restarts = RESTARTS, .profile = true},
    {.part = "table2", .matrix = BENTPIPE, .contestants = BOTH, .restarts = RESTARTS},
    {.part = "cache", .matrix = BENTPIPE, .contestants = FOUR, .max_iterations = 50, .profile = true},
    {.part = "cache", .matrix = UNIFLOW, .contestants = FOUR, .max_iterations = 50, .profile = true},
    {.part = "cache", .matrix = LAPLACE, .contestants = FOUR, .max_iterations = 50, .profile = true},
    {.part = "table3", .set = "spd", .contestants = BOTH, .max_iterations = 20000},
    {.part = "table3",
     .set = "large",
     .contestants = BOTH,
     .preconds = "block-jacobi:1,block-jacobi:42",
     .max_iterations = 15000,
     .reorder = TESS_REORDERING_RCM},
    {.part = "table3", .set = "large", .contestants = BOTH, .preconds = "polynomial:25", .max_iterations = 15000},
};
const int gmres_row_count = (int)(sizeof gmres_rows / sizeof *gmres_rows);

static bool is_number(const char *word)
{
    const char *s = word;

    while (isdigit((unsigned char)*s)) {
        s++;
    }
    return s > word && *s == '\0';
}

/* Not below 8, of copies not below 1. */
static long long smaller(long long value, int64_t factor, bool copies)
{
    const long long least = copies ? 1 : 8;

    if (value <= least) { return value; }
    return value / factor > least ? value / factor : least;
}

/* The first number is a size (of replicated matrices the count); later ones are sizes where they are large. */
void gmres_scale_down(int64_t factor, char *source, size_t size)
{
    enum { LARGE = 1000 };
    const bool copies = strncmp(source, "gallery:replicate:", 18) == 0;
    char text[512], *rest = NULL;
    bool first = true;
    size_t used = 0;

    if (factor <= 1 || strncmp(source, "gallery:", 8) != 0) { return; }
    snprintf(text, sizeof text, "%s", source);
    for (char *word = strtok_r(text, ":", &rest); word && used < size; word = strtok_r(NULL, ":", &rest)) {
        const bool number = is_number(word);
        const long long value = number ? strtoll(word, NULL, 10) : 0;
        char scaled[32];

        if (number && (first || value > LARGE)) {
            snprintf(scaled, sizeof scaled, "%lld", smaller(value, factor, copies));
            word = scaled;
            first = false;
        }
        used += (size_t)snprintf(source + used, size - used, "%s%s", used > 0 ? ":" : "", word);
    }
}
